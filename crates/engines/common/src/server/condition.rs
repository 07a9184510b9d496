//! The part of a condition that goes to a server, where that compares as Bobak does.

use crate::{StatementDialect, kept_type};
use bobak_core::{Comparison, Condition, TableSchema, Type, Value, ValueRef};

/// What a server can compare of a column and a value as Bobak does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparability {
    /// Whether they are equal.
    Equality,
    /// Which is larger, too.
    Order,
}

/// The most values of a list that the server compares.
const LIST: usize = 200;

/// The part of a condition that the server looks at.
#[derive(Debug)]
pub struct ServerCondition<'c> {
    texts: Vec<String>,
    values: Vec<(Type, Value<'c>)>,
    /// Whether it is all of the condition.
    pub is_whole: bool,
}

impl<'c> ServerCondition<'c> {
    /// The part of a condition in the words of a database.
    #[must_use]
    pub fn of<D: StatementDialect>(
        dialect: &D,
        table: &TableSchema,
        condition: Option<&'c Condition>,
    ) -> Self {
        let mut pushed = Self { texts: Vec::new(), values: Vec::new(), is_whole: true };
        if let Some(condition) = condition {
            pushed.push(dialect, table, condition);
        }
        pushed
    }

    /// ` WHERE …`, or nothing.
    #[must_use]
    pub fn text(&self) -> String {
        match self.texts.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", self.texts.join(" AND ")),
        }
    }

    /// The parameters, each with the type that it is of for Bobak.
    #[must_use]
    pub fn values(&self) -> Vec<(Type, ValueRef<'_>)> {
        self.values.iter().map(|(ty, value)| (*ty, value.as_ref())).collect()
    }

    fn push<D: StatementDialect>(
        &mut self,
        dialect: &D,
        table: &TableSchema,
        condition: &'c Condition,
    ) {
        match condition {
            Condition::And(parts) => parts.iter().for_each(|part| self.push(dialect, table, part)),
            Condition::IsNull { column } => {
                self.texts.push(format!("{} IS NULL", dialect.column(table, *column)));
            }
            Condition::Compare { column, comparison, value } => {
                self.push_comparison(dialect, table, *column, *comparison, value.as_ref());
            }
            Condition::In { column, values } => self.push_list(dialect, table, *column, values),
            _ => self.is_whole = false,
        }
    }

    fn push_comparison<D: StatementDialect>(
        &mut self,
        dialect: &D,
        table: &TableSchema,
        place: usize,
        comparison: Comparison,
        value: ValueRef<'c>,
    ) {
        let number = self.values.len() + 1;
        let text = match (dialect.comparability(table, place, value), comparison) {
            (None, _) => None,
            (Some(_), Comparison::Equal) => Some(dialect.all_equal(table, &[place], number)),
            (Some(Comparability::Equality), _) => None,
            (Some(Comparability::Order), comparison) => operator(comparison).map(|operator| {
                let parameter = dialect.parameter(table, place, number);
                format!("{} {operator} {parameter}", dialect.column(table, place))
            }),
        };
        match text {
            Some(text) => {
                self.texts.push(text);
                self.values.push((kept_type(table, place), value.into()));
            }
            None => self.is_whole = false,
        }
    }

    fn push_list<D: StatementDialect>(
        &mut self,
        dialect: &D,
        table: &TableSchema,
        place: usize,
        values: &'c [Value<'static>],
    ) {
        let are_comparable = values
            .iter()
            .all(|value| dialect.comparability(table, place, value.as_ref()).is_some());
        if !are_comparable || !(1..=LIST).contains(&values.len()) {
            self.is_whole = false;
            return;
        }
        let first = self.values.len() + 1;
        let parts =
            (first..first + values.len()).map(|number| dialect.all_equal(table, &[place], number));
        self.texts.push(format!("({})", parts.collect::<Vec<_>>().join(" OR ")));
        let ty = kept_type(table, place);
        self.values.extend(values.iter().map(|value| (ty, value.as_ref().into())));
    }
}

const fn operator(comparison: Comparison) -> Option<&'static str> {
    match comparison {
        Comparison::Less => Some("<"),
        Comparison::LessOrEqual => Some("<="),
        Comparison::Greater => Some(">"),
        Comparison::GreaterOrEqual => Some(">="),
        _ => None,
    }
}
