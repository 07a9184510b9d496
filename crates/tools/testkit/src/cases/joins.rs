//! Queries of expressions, for engines that run them: compared with what the rows say.

use super::conditions::{INT, INT2, PLAIN, rows, thing};
use super::subqueries::filled;
use crate::{Check, Harness, Table, Values, same};
use bobak_core::join::{
    JoinColumn, JoinCondition, JoinExpr, JoinFunction, JoinOrder, JoinSubquery, JoinTable,
    JoinWindow, WindowFunction,
};
use bobak_core::{Comparison, Join, Type, Value, ValueRef};
use std::sync::Arc;

fn column(table: usize, column: usize) -> JoinExpr {
    JoinExpr::Column(JoinColumn { table, column })
}

fn by_id(table: usize) -> Vec<JoinOrder> {
    vec![JoinOrder { expr: column(table, 0), descending: false, nulls_first: true }]
}

/// A query of these columns, by the key.
fn query(table: &Table, columns: Vec<JoinExpr>) -> Join {
    let tables = vec![JoinTable { table: Arc::clone(table), link: None, rows: None }];
    Join { tables, columns, order: by_id(0), ..Join::default() }
}

/// A query inside of one of the same table: its own rows are those of table 1.
fn inside(table: &Table, columns: Vec<JoinExpr>, filters: Vec<JoinCondition>) -> Box<JoinSubquery> {
    let of_table = || JoinTable { table: Arc::clone(table), link: None, rows: None };
    let tables = vec![of_table(), of_table()];
    let join = Join { tables, outer: 1, columns, filters, order: by_id(1), ..Join::default() };
    Box::new(JoinSubquery::of_join(join))
}

fn text(row: &Values, column: usize) -> Option<&str> {
    if let Some(Value::Text(text)) = row.get(column) { Some(text) } else { None }
}

fn value(row: &Values, column: usize) -> Value<'static> {
    row.get(column).cloned().unwrap_or_default()
}

fn integer(number: usize) -> Value<'static> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Runs a query on the engine, if it does, and compares its rows with what `expected` makes of all rows.
fn check(
    harness: &dyn Harness,
    join: impl Fn(&Table) -> Join,
    expected: impl Fn(&[Values]) -> Vec<Values>,
) -> Check {
    let store = harness.fresh()?;
    let capabilities = store.engine().capabilities();
    let table = thing(true, capabilities)?;
    drop(filled(store.engine(), &table)?);
    let mut found: Vec<Values> = Vec::new();
    let join = join(&table);
    let session = store.engine().session()?;
    let ran = session.join(&join, &mut |row| {
        found.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
        Ok(true)
    })?;
    if !ran {
        return same("rows of a query that the engine does not run", found.len(), 0);
    }
    let mut all = rows(capabilities);
    all.sort_by(|a, b| bobak_core::compare_values(key(a), key(b)));
    same("rows", found, expected(&all))
}

fn key(row: &Values) -> ValueRef<'_> {
    row.first().map_or(ValueRef::Null, Value::as_ref)
}

/// Functions of texts, NULLs included.
pub fn functions_of_rows(harness: &dyn Harness) -> Check {
    let function = |function| JoinExpr::Function(function, vec![column(0, PLAIN)]);
    let none = JoinExpr::Value(Value::from("none"), Type::Text);
    let join = |table: &Table| {
        let coalesced = vec![column(0, PLAIN), none.clone()];
        let columns = vec![
            column(0, 0),
            function(JoinFunction::Length),
            function(JoinFunction::Lower),
            JoinExpr::Function(JoinFunction::Coalesce, coalesced),
        ];
        query(table, columns)
    };
    check(harness, join, |all| {
        let row = |row: &Values| {
            let plain = text(row, PLAIN);
            let length = plain.map_or(Value::Null, |plain| integer(plain.chars().count()));
            let lower = plain.map_or(Value::Null, |plain| plain.to_ascii_lowercase().into());
            let coalesced = Value::from(plain.unwrap_or("none").to_owned());
            vec![value(row, 0), length, lower, coalesced]
        };
        all.iter().map(row).collect()
    })
}

/// The number of each row among those with the same value.
pub fn window_functions(harness: &dyn Harness) -> Check {
    let join = |table: &Table| {
        let window = JoinWindow {
            function: WindowFunction::RowNumber,
            argument: None,
            partition: vec![column(0, INT)],
            order: by_id(0),
        };
        query(table, vec![column(0, 0), JoinExpr::Window(Box::new(window))])
    };
    check(harness, join, |all| {
        let number = |(at, row): (usize, &Values)| {
            let before = all.iter().take(at).filter(|other| value(other, INT) == value(row, INT));
            vec![value(row, 0), integer(before.count() + 1)]
        };
        all.iter().enumerate().map(number).collect()
    })
}

/// Rows that an earlier row equals in a column, and whose value another column has: neither NULL equals NULL.
pub fn queries_inside_of_others(harness: &dyn Harness) -> Check {
    let join = |table: &Table| {
        let same = JoinCondition::Compare(column(1, INT), Comparison::Equal, column(0, INT));
        let earlier = JoinCondition::Compare(column(1, 0), Comparison::Less, column(0, 0));
        let exists = JoinCondition::Exists(inside(table, vec![column(1, 0)], vec![same, earlier]));
        let values = inside(table, vec![column(1, INT2)], Vec::new());
        let within = JoinCondition::InQuery(column(0, INT), values);
        let within = JoinCondition::Not(Box::new(within));
        let filters = vec![JoinCondition::AnyOf(vec![exists, within])];
        Join { filters, ..query(table, vec![column(0, 0)]) }
    };
    check(harness, join, |all| {
        let is_found = |(at, row): &(usize, &Values)| {
            let own = value(row, INT);
            let exists = all.iter().take(*at).any(|other| value(other, INT) == own);
            let within = all.iter().any(|other| value(other, INT2) == own);
            !own.is_null() && (exists || !within)
        };
        all.iter().enumerate().filter(is_found).map(|(_, row)| vec![value(row, 0)]).collect()
    })
}

/// A query of the rows of a limited one.
pub fn rows_of_queries(harness: &dyn Harness) -> Check {
    let join = |table: &Table| {
        let limited = Join { limit: Some(9), ..query(table, vec![column(0, 0), column(0, PLAIN)]) };
        let rows = limited.clone().into_rows().unwrap_or(limited);
        let not_null = JoinCondition::IsNull(column(0, 1), false);
        Join { filters: vec![not_null], ..rows }
    };
    check(harness, join, |all| {
        let first = all.iter().take(9).filter(|row| text(row, PLAIN).is_some());
        first.map(|row| vec![value(row, 0), value(row, PLAIN)]).collect()
    })
}
