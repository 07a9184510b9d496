//! SQL that is simple enough to run as a query of one engine, whatever its dialect.
//!
//! A recognized text has exactly the same meaning as a query of the engine. All other texts, and
//! parameters that SQLite would convert before comparing them, are left to SQLite.

mod parser;

use crate::best_index::has_own_order;
use crate::coercion::{self, Coercion, EqualValue};
use bobak_core::{
    Collation, ColumnSchema, Comparison, Condition, Expr, Order, Parameter, Select, Storage,
    TableSchema, Type, Value,
};
use std::sync::Arc;

/// A parsed simple query whose parameters are not bound yet.
#[derive(Clone, Debug)]
pub struct SimpleQuery {
    table: Arc<TableSchema>,
    parsed: ParsedQuery,
}

#[derive(Clone, Debug, Default)]
struct ParsedQuery {
    columns: Vec<Expr>,
    condition: Option<Predicate>,
    group: Vec<usize>,
    order: Vec<Order>,
    limit: Option<BoundOperand>,
    offset: Option<BoundOperand>,
    parameters: usize,
}

/// A condition of the text.
#[derive(Clone, Debug, PartialEq)]
enum Predicate {
    Compare(usize, Comparison, BoundOperand),
    In(usize, Vec<BoundOperand>),
    Like(usize, BoundOperand),
    IsNull(usize),
    And(Vec<Predicate>),
    Or(Vec<Predicate>),
    Not(Box<Predicate>),
}

/// A literal value, or a parameter.
#[derive(Clone, Debug, PartialEq)]
enum BoundOperand {
    Value(Value<'static>),
    Parameter(usize),
}

impl SimpleQuery {
    /// Parses a text as a simple query over a table; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str, table: &Arc<TableSchema>) -> Option<Self> {
        let parsed = parser::parse(text, table)?;
        let simple = Self { table: Arc::clone(table), parsed };
        simple.has_same_meaning().then_some(simple)
    }

    /// Binds the parameters; `None` if only SQLite can evaluate the query with these values.
    #[must_use]
    pub fn select(&self, parameters: &[Parameter<'_>]) -> Option<Select> {
        let parsed = &self.parsed;
        if parsed.parameters != parameters.len() {
            return None;
        }
        let bound_parameters = BoundParameters { table: &self.table, parameters };
        let condition = match &parsed.condition {
            Some(node) => Some(bound_parameters.condition(node, true)?),
            None => None,
        };
        let bound = |bound: &Option<BoundOperand>| match bound {
            None => Some(None),
            Some(bound) => match bound_parameters.value(bound)? {
                Value::Int(number) => Some(Some(number)),
                _ => None,
            },
        };
        let limit = bound(&parsed.limit)?.and_then(|limit| u64::try_from(limit).ok());
        let offset = bound(&parsed.offset)?.and_then(|offset| u64::try_from(offset).ok());
        Some(Select {
            table: Arc::clone(&self.table),
            columns: parsed.columns.clone(),
            condition,
            group: parsed.group.clone(),
            order: self.order(),
            limit,
            offset: offset.unwrap_or(0),
            search: None,
            nearest: None,
            lock: None,
        })
    }

    /// The types of its columns.
    pub fn types(&self) -> impl Iterator<Item = Type> {
        self.parsed.columns.iter().map(|expr| expr.ty(&self.table))
    }

    fn is_grouped(&self) -> bool {
        !self.parsed.group.is_empty() || self.parsed.columns.iter().any(|e| e.is_aggregate())
    }

    /// Whether the engine groups and aggregates these columns as SQLite does.
    fn has_same_meaning(&self) -> bool {
        let column = |position: usize| self.table.columns().get(position);
        let compares_alike = |position: usize| {
            column(position).is_some_and(|column| match column.storage {
                Storage::Int | Storage::Bytes => true,
                Storage::Text => column.collation == Collation::Binary && !has_own_order(column),
                // SQLite sums floats with compensation; engines differ on whether -0.0 equals 0.0.
                Storage::Float | Storage::Any => false,
            })
        };
        let is_number = |position: usize| {
            column(position).is_some_and(|c| c.storage == Storage::Int && c.ty != Type::Currency)
        };
        let is_sum = |position: usize| column(position).is_some_and(|c| c.storage == Storage::Int);
        let group = &self.parsed.group;
        let grouped = self.is_grouped();
        let item = |expr: &Expr| match *expr {
            Expr::Column(position) => !grouped || group.contains(&position),
            Expr::Count | Expr::CountOf(_) => true,
            Expr::Sum(position) => is_sum(position),
            Expr::Avg(position) => is_number(position),
            Expr::Min(position) | Expr::Max(position) => compares_alike(position),
            _ => false,
        };
        let sorts_alike = |step: &Order| column(step.column).is_some_and(|c| !has_own_order(c));
        self.parsed.columns.iter().all(item)
            && self.parsed.order.iter().all(sorts_alike)
            && group.iter().all(|&position| compares_alike(position))
            && (!grouped || self.parsed.order.iter().all(|step| group.contains(&step.column)))
    }

    /// The order, completed to a total one; groups are ordered by their columns.
    fn order(&self) -> Vec<Order> {
        let mut order: Vec<Order> = Vec::new();
        for step in &self.parsed.order {
            if order.iter().all(|other| other.column != step.column) {
                order.push(*step);
            }
        }
        let tail = if self.is_grouped() { &self.parsed.group[..] } else { self.table.key() };
        if !order.is_empty() || self.is_grouped() {
            for &column in tail {
                if order.iter().all(|step| step.column != column) {
                    order.push(Order { column, descending: false });
                }
            }
        }
        order
    }
}

/// A query's table and the values of its parameters.
struct BoundParameters<'a> {
    table: &'a TableSchema,
    parameters: &'a [Parameter<'a>],
}

impl BoundParameters<'_> {
    fn value(&self, operand: &BoundOperand) -> Option<Value<'static>> {
        match operand {
            BoundOperand::Value(value) => Some(value.clone()),
            BoundOperand::Parameter(position) => {
                self.parameters.get(*position).map(|one| one.value.clone().into_owned())
            }
        }
    }

    /// The value that a column is compared with. `None` if it must be converted to the column's
    /// stored units (see `bobak_sql_typing`), or compared by other rules.
    fn compared(&self, column: &ColumnSchema, operand: &BoundOperand) -> Option<Value<'static>> {
        if has_own_order(column) {
            return None;
        }
        let has_unit = |ty: Type| ty == Type::Currency || ty.has_text_form();
        let given = match operand {
            BoundOperand::Value(_) => Type::Any,
            BoundOperand::Parameter(position) => self.parameters.get(*position)?.ty,
        };
        let column_unit = has_unit(column.ty) && !column.is_kept_as_text();
        let is_alike = if column_unit { given == column.ty } else { !has_unit(given) };
        if is_alike { self.value(operand) } else { None }
    }

    /// The condition with its values. Outside of NOT (`positive`) it may be false where SQLite's
    /// result is NULL.
    fn condition(&self, node: &Predicate, positive: bool) -> Option<Condition> {
        let all = |nodes: &[Predicate]| {
            nodes.iter().map(|node| self.condition(node, positive)).collect::<Option<Vec<_>>>()
        };
        let coerced = |coercion: Coercion| match coercion {
            // False for a NULL column, for which SQLite's result is NULL.
            Coercion::Exact(Condition::Not(_)) if !positive => None,
            Coercion::Exact(condition) => Some(condition),
            Coercion::NoRows if positive => Some(Condition::Or(Vec::new())),
            Coercion::NoRows | Coercion::Wider(_) | Coercion::Undecided => None,
        };
        match node {
            Predicate::Compare(position, comparison, operand) => {
                let column = self.table.columns().get(*position)?;
                let value = self.compared(column, operand)?;
                coerced(coercion::compare(*position, column, *comparison, value.as_ref()))
            }
            Predicate::In(position, operands) => {
                let column = self.table.columns().get(*position)?;
                let mut values = Vec::with_capacity(operands.len());
                for operand in operands {
                    let value = self.compared(column, operand)?;
                    match coercion::equal_value(column, value.as_ref()) {
                        EqualValue::Value(value) => values.push(value.to_owned()),
                        EqualValue::Nothing if positive => {}
                        EqualValue::Nothing | EqualValue::Undecided => return None,
                    }
                }
                if values.is_empty() {
                    return Some(Condition::Or(Vec::new()));
                }
                Some(Condition::In { column: *position, values })
            }
            Predicate::Like(position, operand) => {
                let column = self.table.columns().get(*position)?;
                let is_text = column.storage == Storage::Text && !has_own_order(column);
                let value = self.value(operand)?;
                if is_text { coerced(coercion::like(*position, value.as_ref())) } else { None }
            }
            Predicate::IsNull(position) => Some(Condition::IsNull { column: *position }),
            Predicate::And(parts) => all(parts).map(Condition::And),
            Predicate::Or(parts) => all(parts).map(Condition::Or),
            Predicate::Not(part) => {
                self.condition(part, false).map(|part| Condition::Not(Box::new(part)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::ColumnSchema;

    fn table() -> Arc<TableSchema> {
        let table = TableSchema::builder("item")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<Option<String>>("name"))
            .column(ColumnSchema::of::<Option<f64>>("price"))
            .key(["id"])
            .build();
        Arc::new(table.unwrap())
    }

    #[test]
    fn simple_texts_are_recognized() {
        for text in [
            "select * from item",
            "SELECT i.id, name AS n FROM main.\"item\" i WHERE ? < i.id ORDER BY n DESC, 1 LIMIT ?;",
            "select count(*), max(id) from item where not (name like 'a%' or id in (1, -2))",
            "select id, count(name) from item where id between 1 and 2 and name is not null group by id",
        ] {
            assert!(SimpleQuery::parse(text, &table()).is_some(), "{text}");
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in [
            "select 1",
            "select distinct id from item",
            "select id + 1 from item",
            "select id from item where id = 1 + 1",
            "select id from item, item",
            "select id from item join item",
            "select id from item where name = 'a' collate nocase",
            "select id from item where id = x'00'",
            "select id from item where rowid = 1",
            "select id from item order by id nulls last",
            "select id from item order by length(name)",
            "select name from item group by id",
            "select sum(price) from item",
            "select id from item having id",
            "select id from item where id = ?1",
            "select id from item where id is 1",
            "select id from item limit 1, 2",
            "select id from (select id from item)",
            "bound_parameters item as (select 1 as id) select id from item",
            "delete from item",
            "select id from item -- and more",
        ] {
            assert!(SimpleQuery::parse(text, &table()).is_none(), "{text}");
        }
    }

    #[test]
    fn parameters_that_sqlite_converts_are_rejected() {
        let simple = |text| SimpleQuery::parse(text, &table()).unwrap();
        let compared = simple("select id from item where name = ?");
        assert!(compared.select(&["a".into()]).is_some());
        assert!(compared.select(&[1.into()]).is_none());
        assert!(compared.select(&[]).is_none());
        let never = simple("select id from item where id = 'x'").select(&[]).unwrap();
        assert_eq!(never.condition, Some(Condition::Or(Vec::new())));
        assert!(simple("select id from item where not id = 'x'").select(&[]).is_none());
        let limit = simple("select id from item order by name limit ? offset 2");
        let select = limit.select(&[3.into()]).unwrap();
        assert_eq!((select.limit, select.offset, select.order.len()), (Some(3), 2, 2));
        assert!(limit.select(&[Value::Null.into()]).is_none());
    }
}
