//! The part of a condition that goes to the server.

use crate::columns::{all_equal, mark, oracle_type};
use crate::connection::OracleParameter;
use crate::names::column as name_of;
use crate::values::{OracleType, fits, is_text};
use bobak_core::{Collation, Comparison, Condition, TableSchema, Type, Value, ValueRef};
use bobak_engine_common::kept_type;

/// The most values of a list that the server compares.
const LIST: usize = 200;

/// The bytes of a text that is bound as a VARCHAR2 of any database.
const SHORT: usize = 4_000;

/// The part of a condition that the server looks at.
pub(crate) struct OracleCondition<'c> {
    texts: Vec<String>,
    values: Vec<(Type, Value<'c>)>,
    /// Whether it is all of the condition.
    pub is_whole: bool,
}

impl<'c> OracleCondition<'c> {
    pub(crate) fn of(table: &TableSchema, condition: Option<&'c Condition>) -> Self {
        let mut pushed = Self { texts: Vec::new(), values: Vec::new(), is_whole: true };
        if let Some(condition) = condition {
            pushed.push(table, condition);
        }
        pushed
    }

    pub(crate) fn condition(&self) -> String {
        match self.texts.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", self.texts.join(" AND ")),
        }
    }

    pub(crate) fn values(&self) -> Vec<OracleParameter<'_>> {
        self.values.iter().map(|(ty, value)| (*ty, value.as_ref())).collect()
    }

    fn push(&mut self, table: &TableSchema, condition: &'c Condition) {
        match condition {
            Condition::And(parts) => parts.iter().for_each(|part| self.push(table, part)),
            Condition::IsNull { column } => {
                self.texts.push(format!("{} IS NULL", name_of(table, *column)));
            }
            Condition::Compare { column, comparison, value } => {
                let value = value.as_ref();
                let at = self.values.len() + 1;
                let text = match (comparability(table, *column, value), comparison) {
                    (None, _) => None,
                    (Some(_), Comparison::Equal) => Some(all_equal(table, &[*column], at)),
                    (Some(Comparability::Equality), _) => None,
                    (Some(Comparability::Order), comparison) => {
                        operator(*comparison).map(|operator| {
                            format!(
                                "{} {operator} {}",
                                name_of(table, *column),
                                mark(table, *column, at)
                            )
                        })
                    }
                };
                match text {
                    Some(text) => {
                        self.texts.push(text);
                        self.values.push((kept_type(table, *column), value.into()));
                    }
                    None => self.is_whole = false,
                }
            }
            Condition::In { column, values } => self.push_list(table, *column, values),
            _ => self.is_whole = false,
        }
    }

    fn push_list(&mut self, table: &TableSchema, column: usize, values: &'c [Value<'static>]) {
        let are_comparable =
            values.iter().all(|value| comparability(table, column, value.as_ref()).is_some());
        if !are_comparable || !(1..=LIST).contains(&values.len()) {
            self.is_whole = false;
            return;
        }
        let first = self.values.len() + 1;
        let parts = (first..first + values.len()).map(|at| all_equal(table, &[column], at));
        self.texts.push(format!("({})", parts.collect::<Vec<_>>().join(" OR ")));
        let ty = kept_type(table, column);
        self.values.extend(values.iter().map(|value| (ty, value.as_ref().into())));
    }
}

fn operator(comparison: Comparison) -> Option<&'static str> {
    match comparison {
        Comparison::Equal => Some("="),
        Comparison::Less => Some("<"),
        Comparison::LessOrEqual => Some("<="),
        Comparison::Greater => Some(">"),
        Comparison::GreaterOrEqual => Some(">="),
        _ => None,
    }
}

/// What the server can compare as Bobak does.
enum Comparability {
    Equality,
    Order,
}

fn comparability(table: &TableSchema, place: usize, value: ValueRef<'_>) -> Option<Comparability> {
    let column = table.columns().get(place)?;
    match (column.ty, value) {
        (_, ValueRef::Null) => None,
        _ if oracle_type(table, place).map_or(true, OracleType::is_lob) => None,
        (_, ValueRef::Text(text)) if is_text(column) => match column.collation {
            // The value is not folded, and short texts only are bound without a conversion.
            Collation::Binary if text.len() <= SHORT && !text.contains('\0') => {
                // Of texts that stand for other values, the order is another.
                let is_plain = column.ty == Type::Text && !column.is_kept_as_text();
                Some(if is_plain { Comparability::Order } else { Comparability::Equality })
            }
            _ => None,
        },
        _ if is_text(column) => None,
        (Type::Uuid, ValueRef::Bytes(bytes)) => (bytes.len() == 16).then_some(Comparability::Order),
        (Type::Bytes, ValueRef::Bytes(bytes)) => {
            (bytes.len() < SHORT / 2).then_some(Comparability::Order)
        }
        (
            Type::Currency | Type::Date | Type::Time | Type::DateTime | Type::Timestamp,
            ValueRef::Int(_),
        ) => fits(column.ty, value).then_some(Comparability::Order),
        (ty, ValueRef::Int(_)) if ty.is_integer() => Some(Comparability::Order),
        _ => None,
    }
}
