//! The part of a condition that goes to the server.

use crate::columns::text_bytes;
use crate::connection::GivenValue;
use crate::names::Names;
use crate::values::{is_day, is_text};
use bobak_core::{Collation, Comparison, Condition, TableSchema, Type, Value, ValueRef};
use bobak_engine_common::kept_type;

/// The most values of a list that the server compares.
const LIST: usize = 200;

/// The part of a condition that the server looks at.
pub(crate) struct PushedCondition<'c> {
    pub texts: Vec<String>,
    values: Vec<(Type, Value<'c>)>,
    /// Whether it is all of the condition.
    pub is_whole: bool,
    /// Whether it names the values of the key's first column.
    pub names_key: bool,
}

impl<'c> PushedCondition<'c> {
    pub(crate) fn of(names: Names, table: &TableSchema, condition: Option<&'c Condition>) -> Self {
        let mut pushed =
            Self { texts: Vec::new(), values: Vec::new(), is_whole: true, names_key: false };
        if let Some(condition) = condition {
            pushed.push(names, table, condition);
        }
        pushed
    }

    pub(crate) fn condition(&self) -> String {
        match self.texts.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", self.texts.join(" AND ")),
        }
    }

    pub(crate) fn values(&self) -> Vec<GivenValue<'_>> {
        self.values.iter().map(|(ty, value)| (*ty, value.as_ref())).collect()
    }

    fn push(&mut self, names: Names, table: &TableSchema, condition: &'c Condition) {
        match condition {
            Condition::And(parts) => parts.iter().for_each(|part| self.push(names, table, part)),
            Condition::IsNull { column } => {
                self.texts.push(format!("{} IS NULL", names.column(table, *column)));
            }
            Condition::Compare { column, comparison, value: Value::Int(_) }
                if kept_type(table, *column) == Type::I64
                    && !matches!(comparison, Comparison::Equal | Comparison::NotEqual) =>
            {
                self.push_wide(names, table, condition);
            }
            Condition::Compare { column, comparison, value } => {
                let cast = cast(table, *column, value.as_ref());
                match (cast, operator(*comparison)) {
                    (Some(cast), Some(operator)) => {
                        self.names_key |= operator == "=" && table.key().first() == Some(column);
                        let name = names.column(table, *column);
                        self.texts.push(format!("{name} {operator} {cast}"));
                        self.values.push((kept_type(table, *column), value.as_ref().into()));
                    }
                    _ => self.is_whole = false,
                }
            }
            Condition::In { column, values } => self.push_list(names, table, *column, values),
            _ => self.is_whole = false,
        }
    }
}

impl<'c> PushedCondition<'c> {
    fn push_list(
        &mut self,
        names: Names,
        table: &TableSchema,
        column: usize,
        values: &'c [Value<'static>],
    ) {
        let casts = values.iter().map(|value| cast(table, column, value.as_ref()));
        let casts: Option<Vec<String>> = casts.collect();
        let Some(casts) = casts.filter(|casts| (1..=LIST).contains(&casts.len())) else {
            self.is_whole = false;
            return;
        };
        self.names_key |= table.key().first() == Some(&column);
        self.texts.push(format!("{} IN ({})", names.column(table, column), casts.join(", ")));
        let ty = kept_type(table, column);
        self.values.extend(values.iter().map(|value| (ty, value.as_ref().into())));
    }

    /// A range of 64-bit integers. Firebird's indexes have the smallest of all in a wrong place.
    fn push_wide(&mut self, names: Names, table: &TableSchema, condition: &'c Condition) {
        let Condition::Compare { column, comparison, value } = condition else { return };
        let Some(operator) = operator(*comparison) else { return };
        let name = names.column(table, *column);
        let is_below = matches!(comparison, Comparison::Less | Comparison::LessOrEqual);
        if *value == Value::Int(i64::MIN) {
            self.is_whole = false;
            return;
        }
        let smallest = match is_below {
            true => format!(" OR {name} = {}", i64::MIN),
            false => format!(" AND {name} <> {}", i64::MIN),
        };
        self.texts.push(format!("({name} {operator} CAST(? AS BIGINT){smallest})"));
        self.values.push((Type::I64, value.as_ref().into()));
    }
}

const fn operator(comparison: Comparison) -> Option<&'static str> {
    match comparison {
        Comparison::Equal => Some("="),
        Comparison::Less => Some("<"),
        Comparison::LessOrEqual => Some("<="),
        Comparison::Greater => Some(">"),
        Comparison::GreaterOrEqual => Some(">="),
        _ => None,
    }
}

/// A parameter that a column is compared with, of a type that has the value; `None` if the server's comparison would not be
/// Bobak's.
fn cast(table: &TableSchema, place: usize, value: ValueRef<'_>) -> Option<String> {
    let column = table.columns().get(place)?;
    match (column.ty, value) {
        _ if is_text(column) => {
            let ValueRef::Text(text) = value else { return None };
            let bytes = text_bytes(table, place)?;
            let is_there = column.collation == Collation::Binary && table.key().contains(&place);
            let fits = text.len() <= bytes && !text.contains('\0');
            (is_there && fits).then(|| format!("CAST(? AS VARCHAR({bytes}) CHARACTER SET OCTETS)"))
        }
        (Type::Currency, ValueRef::Int(_)) => Some("CAST(? AS NUMERIC(18, 4))".to_owned()),
        (Type::Date, ValueRef::Int(days)) => is_day(days).then(|| "CAST(? AS DATE)".to_owned()),
        (Type::Uuid, ValueRef::Bytes(bytes)) => {
            (bytes.len() == 16).then(|| "CAST(? AS CHAR(16) CHARACTER SET OCTETS)".to_owned())
        }
        (Type::Bool, _) => None,
        // Of another program's table a time is no integer.
        (ty, ValueRef::Int(_)) if ty.is_integer() => Some("CAST(? AS BIGINT)".to_owned()),
        _ => None,
    }
}
