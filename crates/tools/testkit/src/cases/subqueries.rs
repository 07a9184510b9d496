//! Conditions over the rows of other tables, for engines that take such: compared with the values of the subquery.

use super::conditions::{
    BYTES, FLOAT, INT, INT2, NOCASE, NOCASE2, PLAIN, PLAIN2, UNICODE, rows, thing,
};
use crate::{Check, Entry, Harness, Probe, Table, Values, same};
use bobak_core::{
    Assign, ColumnPair, Comparison, Condition, OnError, SubQuery, SubQueryRows, Value,
};

/// Columns of each type, compared with themselves and with others of the type; NULLs on both sides.
pub fn columns_of_subqueries(harness: &dyn Harness) -> Check {
    check_each(harness, |table| {
        let pairs = [
            (INT, INT2),
            (INT, 0),
            (0, INT),
            (FLOAT, FLOAT + 1),
            (PLAIN, PLAIN2),
            (NOCASE, NOCASE2),
            (UNICODE, UNICODE),
            (BYTES, BYTES),
        ];
        let conditions = [
            None,
            Some(super::compare(INT2, Comparison::Less, Value::Int(2))),
            Some(Condition::And(Vec::new())),
            Some(Condition::Or(Vec::new())),
        ];
        let each = |(column, selected)| {
            let query = move |condition: &Option<Condition>| {
                within(table, column, selected, condition.clone())
            };
            conditions.iter().map(query).collect::<Vec<_>>()
        };
        pairs.into_iter().flat_map(each).collect()
    })
}

/// Several columns at a time: all have to be the same in one row, and NULL in one of them is in no row.
pub fn subqueries_of_several_columns(harness: &dyn Harness) -> Check {
    check_each(harness, |table| {
        let pair = |from, to| ColumnPair { from, to };
        let several = |condition: Option<Condition>, more: &[ColumnPair]| {
            let mut within = within(table, INT, INT2, condition);
            if let Condition::InQuery { query, .. } = &mut within {
                query.more = more.to_vec();
            }
            within
        };
        let small = super::compare(INT2, Comparison::Less, Value::Int(3));
        let swapped = several(None, &[pair(INT2, INT)]);
        vec![
            several(None, &[pair(NOCASE, NOCASE2)]),
            several(Some(small.clone()), &[pair(INT2, INT2)]),
            several(Some(swapped.clone()), &[pair(0, 0), pair(PLAIN, PLAIN)]),
            Condition::And(vec![small, swapped]),
        ]
    })
}

/// Subqueries in subqueries, along with other conditions, and negated.
pub fn nested_subqueries(harness: &dyn Harness) -> Check {
    check_each(harness, |table| {
        let small = super::compare(0, Comparison::LessOrEqual, Value::Int(20));
        let inner = within(table, INT, INT2, Some(small.clone()));
        let negated = Condition::Not(Box::new(inner.clone()));
        vec![
            within(table, 0, 0, Some(inner.clone())),
            within(table, PLAIN, PLAIN2, Some(Condition::Or(vec![negated.clone(), small.clone()]))),
            Condition::And(vec![small, negated]),
            Condition::Or(vec![Condition::IsNull { column: INT }, inner]),
        ]
    })
}

/// Updates and deletes of the rows of a table by a subquery over the same table, which sees the rows before the change.
pub fn changes_by_subqueries(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let capabilities = store.engine().capabilities();
    if !capabilities.subqueries {
        return Ok(());
    }
    let table = thing(true, capabilities)?;
    let probe = filled(store.engine(), &table)?;
    let condition = within(&table, 0, INT, None);
    let before = rows(capabilities);
    let kept = count(&table, &before, &condition);
    let assign = [Assign::Set { column: INT2, value: Value::Int(77) }];
    same("updated", probe.change(&table, Some(condition.clone()), &assign)?, kept)?;
    let updated = super::compare(INT2, Comparison::Equal, Value::Int(77));
    same("rows", probe.filter(&table, updated)?.len() as u64, kept)?;
    same("deleted", probe.delete_where(&table, Some(condition))?, kept)?;
    same("left", probe.count(&table)? as u64, before.len() as u64 - kept)
}

/// The column has a value of another column of the table.
fn within(
    table: &Table,
    column: usize,
    selected: usize,
    condition: Option<Condition>,
) -> Condition {
    let query = SubQuery { table: table.clone(), column: selected, condition, more: Vec::new() };
    Condition::InQuery { column, query: Box::new(query) }
}

pub(super) fn filled<'e>(engine: &'e dyn bobak_core::Engine, table: &Table) -> Check<Probe<'e>> {
    let probe = Probe::with_tables(engine, &[table])?;
    let insert = |row| Entry::insert(table, row);
    let entries: Vec<_> = rows(engine.capabilities()).into_iter().map(insert).collect();
    probe.batch(&entries, OnError::Stop).outcomes()?;
    Ok(probe)
}

fn check_each(harness: &dyn Harness, conditions: impl Fn(&Table) -> Vec<Condition>) -> Check {
    for indexed in [false, true] {
        let store = harness.fresh()?;
        let capabilities = store.engine().capabilities();
        if !capabilities.subqueries {
            return Ok(());
        }
        let table = thing(indexed, capabilities)?;
        let probe = filled(store.engine(), &table)?;
        for condition in conditions(&table) {
            for condition in [condition.clone(), Condition::Not(Box::new(condition))] {
                let all = rows(capabilities);
                let replaced = replace(&table, &all, condition.clone())?;
                let kept = |row: &Values| replaced.evaluate(&table, &row.as_slice()) == Some(true);
                let expected: Vec<Values> = all.into_iter().filter(kept).collect();
                let found = probe.filter(&table, condition.clone())?;
                same(&format!("{condition:?}"), super::ids(&found), super::ids(&expected))?;
            }
        }
    }
    Ok(())
}

fn count(table: &Table, all: &[Values], condition: &Condition) -> u64 {
    let Ok(replaced) = replace(table, all, condition.clone()) else { return 0 };
    let kept = |row: &&Values| replaced.evaluate(table, &row.as_slice()) == Some(true);
    all.iter().filter(kept).count() as u64
}

/// The condition with the values of its subqueries, which are all over this table.
fn replace(table: &Table, all: &[Values], condition: Condition) -> bobak_core::Result<Condition> {
    condition.replace_subqueries(&mut |column, query| {
        let kept = |row: &&Values| {
            let condition = query.condition.as_ref();
            condition.is_none_or(|c| c.evaluate(table, &row.as_slice()) == Some(true))
        };
        let value = |row: &Values, place| row.get(place).cloned().unwrap_or_default();
        let mut found = SubQueryRows::new(&query, column);
        for row in all.iter().filter(kept) {
            let values = query.pairs(column).map(|pair| value(row, pair.to));
            found.push(&values.collect::<Vec<_>>().as_slice());
        }
        Ok(found.into_condition())
    })
}
