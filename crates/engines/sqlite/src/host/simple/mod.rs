//! SQL that is simple enough to be a query of one engine, whatever that engine speaks.
//!
//! What is recognised here has the same meaning there, to the letter; all other texts, and values
//! that SQLite would convert in its own way, are left to SQLite.

mod lexer;
mod parser;

use super::fit::{self, Fit};
use bobak_core::{
    Collation, Comparison, Condition, Expr, Order, Select, Storage, TableSchema, Type, Value,
};
use std::sync::Arc;

/// A simple query, its parameters still open.
#[derive(Clone, Debug)]
pub struct Simple {
    table: Arc<TableSchema>,
    parsed: Parsed,
}

#[derive(Clone, Debug, Default)]
struct Parsed {
    columns: Vec<Expr>,
    condition: Option<Node>,
    group: Vec<usize>,
    order: Vec<Order>,
    limit: Option<Bound>,
    offset: Option<Bound>,
    parameters: usize,
}

/// A condition as it is written.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Compare(usize, Comparison, Operand),
    In(usize, Vec<Operand>),
    Like(usize, Operand),
    IsNull(usize),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
}

/// A value, or the parameter that gives it.
#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Value(Value<'static>),
    Parameter(usize),
}

type Bound = Operand;

impl Simple {
    /// The query that a text is over a table; `None` where it is no simple one.
    #[must_use]
    pub fn parse(text: &str, table: &Arc<TableSchema>) -> Option<Self> {
        let tokens = lexer::tokens(text)?;
        let parsed = parser::Parser::new(&tokens, table).query()?;
        let simple = Self { table: Arc::clone(table), parsed };
        simple.is_alike().then_some(simple)
    }

    /// The query with its parameters; `None` where only SQLite knows what it means.
    #[must_use]
    pub fn select(&self, parameters: &[Value<'_>]) -> Option<Select> {
        let parsed = &self.parsed;
        if parsed.parameters != parameters.len() {
            return None;
        }
        let with = With { table: &self.table, parameters };
        let condition = match &parsed.condition {
            Some(node) => Some(with.condition(node, true)?),
            None => None,
        };
        let bound = |bound: &Option<Bound>| match bound {
            None => Some(None),
            Some(bound) => match with.value(bound)? {
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
        })
    }

    fn is_grouped(&self) -> bool {
        !self.parsed.group.is_empty() || self.parsed.columns.iter().any(|e| e.is_aggregate())
    }

    /// Whether the engine's groups and aggregates are SQLite's.
    fn is_alike(&self) -> bool {
        let column = |place: usize| self.table.columns().get(place);
        let looks_alike = |place: usize| {
            column(place).is_some_and(|column| match column.storage {
                Storage::Int | Storage::Bytes => true,
                Storage::Text => column.collation == Collation::Binary,
                // SQLite adds floats in a way of its own; others keep no single zero.
                Storage::Float | Storage::Any => false,
            })
        };
        let is_number = |place: usize| {
            column(place).is_some_and(|c| c.storage == Storage::Int && c.ty != Type::Currency)
        };
        let is_sum = |place: usize| column(place).is_some_and(|c| c.storage == Storage::Int);
        let group = &self.parsed.group;
        let grouped = self.is_grouped();
        let item = |expr: &Expr| match *expr {
            Expr::Column(place) => !grouped || group.contains(&place),
            Expr::Count | Expr::CountOf(_) => true,
            Expr::Sum(place) => is_sum(place),
            Expr::Avg(place) => is_number(place),
            Expr::Min(place) | Expr::Max(place) => looks_alike(place),
            _ => false,
        };
        self.parsed.columns.iter().all(item)
            && group.iter().all(|&place| looks_alike(place))
            && (!grouped || self.parsed.order.iter().all(|step| group.contains(&step.column)))
    }

    /// Complete where there is one; groups come in the order of their columns.
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

/// The values of a query's parameters.
struct With<'a> {
    table: &'a TableSchema,
    parameters: &'a [Value<'a>],
}

impl With<'_> {
    fn value(&self, operand: &Operand) -> Option<Value<'static>> {
        match operand {
            Operand::Value(value) => Some(value.clone()),
            Operand::Parameter(place) => {
                self.parameters.get(*place).map(|value| value.clone().into_owned())
            }
        }
    }

    /// The condition. Where it stands under no NOT (`positive`) it may be false where SQLite's is
    /// unknown.
    fn condition(&self, node: &Node, positive: bool) -> Option<Condition> {
        let all = |nodes: &[Node]| {
            nodes.iter().map(|node| self.condition(node, positive)).collect::<Option<Vec<_>>>()
        };
        let fitted = |fit: Fit| match fit {
            // False where SQLite's comparison is unknown: the column is NULL.
            Fit::Exact(Condition::Not(_)) if !positive => None,
            Fit::Exact(condition) => Some(condition),
            Fit::Never if positive => Some(Condition::Or(Vec::new())),
            Fit::Never | Fit::Wider(_) | Fit::Unknown => None,
        };
        match node {
            Node::Compare(place, comparison, operand) => {
                let (column, value) = (self.table.columns().get(*place)?, self.value(operand)?);
                fitted(fit::compare(*place, column, *comparison, value.as_ref()))
            }
            Node::In(place, operands) => {
                let column = self.table.columns().get(*place)?;
                let mut values = Vec::with_capacity(operands.len());
                for operand in operands {
                    let value = self.value(operand)?;
                    match fit::point(column, value.as_ref()) {
                        fit::Point::Value(value) => values.push(value.to_owned()),
                        fit::Point::Never if positive => {}
                        fit::Point::Never | fit::Point::Unknown => return None,
                    }
                }
                if values.is_empty() {
                    return Some(Condition::Or(Vec::new()));
                }
                Some(Condition::In { column: *place, values })
            }
            Node::Like(place, operand) => {
                let is_text = self.table.columns().get(*place)?.storage == Storage::Text;
                let value = self.value(operand)?;
                if is_text { fitted(fit::like(*place, value.as_ref())) } else { None }
            }
            Node::IsNull(place) => Some(Condition::IsNull { column: *place }),
            Node::And(parts) => all(parts).map(Condition::And),
            Node::Or(parts) => all(parts).map(Condition::Or),
            Node::Not(part) => {
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
    fn simple_texts_are_recognised() {
        for text in [
            "select * from item",
            "SELECT i.id, name AS n FROM main.\"item\" i WHERE ? < i.id ORDER BY n DESC, 1 LIMIT ?;",
            "select count(*), max(id) from item where not (name like 'a%' or id in (1, -2))",
            "select id, count(name) from item where id between 1 and 2 and name is not null group by id",
        ] {
            assert!(Simple::parse(text, &table()).is_some(), "{text}");
        }
    }

    #[test]
    fn others_are_left_alone() {
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
            "with item as (select 1 as id) select id from item",
            "delete from item",
            "select id from item -- and more",
        ] {
            assert!(Simple::parse(text, &table()).is_none(), "{text}");
        }
    }

    #[test]
    fn values_that_sqlite_converts_are_left_to_it() {
        let simple = |text| Simple::parse(text, &table()).unwrap();
        let compared = simple("select id from item where name = ?");
        assert!(compared.select(&[Value::from("a")]).is_some());
        assert!(compared.select(&[Value::Int(1)]).is_none());
        assert!(compared.select(&[]).is_none());
        let never = simple("select id from item where id = 'x'").select(&[]).unwrap();
        assert_eq!(never.condition, Some(Condition::Or(Vec::new())));
        assert!(simple("select id from item where not id = 'x'").select(&[]).is_none());
        let limit = simple("select id from item order by name limit ? offset 2");
        let select = limit.select(&[Value::Int(3)]).unwrap();
        assert_eq!((select.limit, select.offset, select.order.len()), (Some(3), 2, 2));
        assert!(limit.select(&[Value::Null]).is_none());
    }
}
