//! Updates and deletes by a condition.

use super::{compare, equal, ids, with};
use crate::{Check, Harness, NULL, Probe, Table, fails_in, row, same, tables};
use bobak_core::{Assign, Comparison, Condition, ErrorKind, TransactionControl, Value};

fn set(column: usize, value: impl Into<Value<'static>>) -> Assign {
    Assign::Set { column, value: value.into() }
}

fn add(column: usize, value: impl Into<Value<'static>>) -> Assign {
    Assign::Add { column, value: value.into() }
}

/// Five people: ages 10, 20, NULL, 40, 50; the e-mail of the fourth is NULL.
fn people(harness: &dyn Harness, case: impl FnOnce(&Probe<'_>, &Table) -> Check) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.insert_all(
            &person,
            [
                row![1, "a", "a@x", 10],
                row![2, "b", "b@x", 20],
                row![3, "c", "c@x", NULL],
                row![4, "d", NULL, 40],
                row![5, "e", "e@x", 50],
            ],
        )?;
        case(probe, &person)
    })
}

fn ages(probe: &Probe<'_>, person: &Table) -> Check<Vec<Value<'static>>> {
    let rows = probe.all(person)?;
    Ok(rows.into_iter().filter_map(|mut row| row.pop()).collect())
}

/// Set changes the rows that match the condition, and no others.
pub fn set_values(harness: &dyn Harness) -> Check {
    people(harness, |probe, person| {
        let old = compare(3, Comparison::GreaterOrEqual, 20);
        same("count", probe.change(person, Some(old), &[set(3, 1), set(1, "old")])?, 3)?;
        same("ages", ages(probe, person)?, row![10, 1, NULL, 1, 1])?;
        let named = probe.filter(person, equal(1, "old"))?;
        same("names", ids(&named), vec![2, 4, 5])?;
        same("nothing to do", probe.change(person, Some(equal(0, 9)), &[set(3, 7)])?, 0)?;
        same("to NULL", probe.change(person, None, &[set(3, NULL)])?, 5)?;
        same("ages", ages(probe, person)?, row![NULL, NULL, NULL, NULL, NULL])
    })
}

/// The condition applies to the rows before the change, even if the change makes others match.
pub fn the_condition_sees_the_rows_as_they_were(harness: &dyn Harness) -> Check {
    people(harness, |probe, person| {
        let young = compare(3, Comparison::Less, 45);
        same("count", probe.change(person, Some(young), &[add(3, 10)])?, 3)?;
        same("ages", ages(probe, person)?, row![20, 30, NULL, 50, 50])?;
        let high = compare(3, Comparison::Greater, 0);
        same("count", probe.change(person, Some(high), &[add(3, 100)])?, 4)?;
        same("ages", ages(probe, person)?, row![120, 130, NULL, 150, 150])
    })
}

/// Add: integers exactly, floats, NULL stays NULL.
pub fn add_numbers(harness: &dyn Harness) -> Check {
    let (document, tag) = (tables::document()?, tables::tag()?);
    with(harness, &[&document, &tag], |probe| {
        let big = Value::Int((1 << 53) + 1);
        probe.insert_all(
            &document,
            [row![1, "a", big, 0], row![2, "b", NULL, 0], row![3, "c", -1, 0]],
        )?;
        same("count", probe.change(&document, None, &[add(2, Value::Int(1 << 53))])?, 3)?;
        let sum = |n: i64| Value::Int(n);
        let rows = vec![
            row![1, "a", sum((1 << 54) + 1), 1],
            row![2, "b", NULL, 1],
            row![3, "c", sum((1 << 53) - 1), 1],
        ];
        same("rows", probe.all(&document)?, rows)?;
        probe.insert_all(&tag, [row!["a", 0.5], row!["b", NULL], row!["c", -2.0]])?;
        same("count", probe.change(&tag, None, &[add(1, 1.25)])?, 3)?;
        same("floats", probe.all(&tag)?, vec![row!["a", 1.75], row!["b", NULL], row!["c", -0.75]])
    })
}

/// An overflow in any row is `OutOfRange`, and no row changes.
pub fn an_overflow_changes_nothing(harness: &dyn Harness) -> Check {
    let document = tables::document()?;
    with(harness, &[&document], |probe| {
        let (max, min) = (Value::Int(i64::MAX), Value::Int(i64::MIN));
        probe.insert_all(
            &document,
            [row![1, "a", 5, 0], row![2, "b", max.clone(), 0], row![3, "c", min.clone(), 0]],
        )?;
        let before = probe.all(&document)?;
        let over = probe.change(&document, None, &[set(1, "x"), add(2, 1)]);
        fails_in("upwards", over, ErrorKind::OutOfRange, "document")?;
        let under =
            probe.change(&document, Some(compare(0, Comparison::Greater, 2)), &[add(2, -1)]);
        fails_in("downwards", under, ErrorKind::OutOfRange, "document")?;
        same("rows", probe.all(&document)?, before)?;
        same("as far as it goes", probe.change(&document, Some(equal(0, 2)), &[add(2, min)])?, 1)?;
        same("row", probe.get(&document, row![2])?, Some(row![2, "b", -1, 1]))?;
        probe.control(TransactionControl::Begin)?;
        let over = probe.change(&document, None, &[add(2, max)]);
        fails_in("in a transaction", over, ErrorKind::OutOfRange, "document")?;
        probe.insert(&document, row![4, "d", 0, 0])?;
        probe.control(TransactionControl::Commit)?;
        same("the transaction goes on", probe.count(&document)?, 4)
    })
}

/// So is a sum that is not a value of its column's type: an `i32` out of range, infinities
/// that cancel out.
pub fn a_sum_must_be_a_value_of_its_column(harness: &dyn Harness) -> Check {
    let (person, tag) = (tables::person()?, tables::tag()?);
    with(harness, &[&person, &tag], |probe| {
        probe.insert_all(&person, [row![1, "a", NULL, 5], row![2, "b", NULL, i32::MAX]])?;
        let over = probe.change(&person, None, &[add(3, 1)]);
        fails_in("beyond an i32", over, ErrorKind::OutOfRange, "person")?;
        same("ages", ages(probe, &person)?, row![5, i32::MAX])?;
        same("down", probe.change(&person, None, &[add(3, i32::MIN)])?, 2)?;
        same("ages", ages(probe, &person)?, row![5 + i32::MIN, -1])?;
        if probe.capabilities.finite_floats {
            probe.insert(&tag, row!["a", f64::MAX])?;
            let over = probe.change(&tag, None, &[add(1, f64::MAX)]);
            fails_in("beyond the largest", over, ErrorKind::OutOfRange, "tag")?;
            return same("floats", probe.all(&tag)?, vec![row!["a", f64::MAX]]);
        }
        probe.insert_all(&tag, [row!["a", 1.0], row!["b", f64::INFINITY]])?;
        let none = probe.change(&tag, None, &[add(1, f64::NEG_INFINITY)]);
        fails_in("no number", none, ErrorKind::OutOfRange, "tag")?;
        same("one of them", probe.change(&tag, Some(equal(0, "a")), &[add(1, f64::MAX)])?, 1)?;
        let largest = vec![row!["a", f64::MAX], row!["b", f64::INFINITY]];
        same("the largest", probe.all(&tag)?, largest)?;
        same("up to infinity", probe.change(&tag, None, &[add(1, f64::MAX)])?, 2)?;
        let infinite = vec![row!["a", f64::INFINITY], row!["b", f64::INFINITY]];
        same("floats", probe.all(&tag)?, infinite)
    })
}

/// If two rows would get the same unique value, the engine rejects the change, and no row changes.
pub fn a_duplicate_changes_nothing(harness: &dyn Harness) -> Check {
    people(harness, |probe, person| {
        let before = probe.all(person)?;
        let twice = probe.change(person, None, &[set(2, "z@x")]);
        fails_in("all the same", twice, ErrorKind::Duplicate, "person")?;
        let twice = probe.change(person, Some(equal(0, 1)), &[set(2, "b@x"), set(1, "x")]);
        fails_in("another's", twice, ErrorKind::Duplicate, "person")?;
        same("rows", probe.all(person)?, before)?;
        same("one", probe.change(person, Some(equal(0, 1)), &[set(2, "z@x")])?, 1)?;
        same("to NULL", probe.change(person, None, &[set(2, NULL)])?, 5)
    })
}

/// Delete removes the rows that match; rows for which the condition is unknown stay.
pub fn delete_rows(harness: &dyn Harness) -> Check {
    people(harness, |probe, person| {
        let young = Condition::Not(Box::new(compare(3, Comparison::Greater, 20)));
        same("count", probe.delete_where(person, Some(young))?, 2)?;
        same("rest", ids(&probe.all(person)?), vec![3, 4, 5])?;
        same("none", probe.delete_where(person, Some(equal(0, 1)))?, 0)?;
        let null = Condition::IsNull { column: 2 };
        same("NULL", probe.delete_where(person, Some(null))?, 1)?;
        same("all", probe.delete_where(person, None)?, 2)?;
        same("of none", probe.delete_where(person, None)?, 0)?;
        let new = probe.insert(person, row![NULL, "n", "a@x", 1])?;
        let new = super::key_of(probe, "made", new, 1)?;
        same("rows", probe.all(person)?, vec![row![new, "n", "a@x", 1]])
    })
}

/// A rollback undoes both.
pub fn changes_are_rolled_back(harness: &dyn Harness) -> Check {
    people(harness, |probe, person| {
        let before = probe.all(person)?;
        probe.control(TransactionControl::Begin)?;
        probe.change(person, None, &[add(3, 1), set(1, "z")])?;
        probe.delete_where(person, Some(compare(3, Comparison::Less, 30)))?;
        same("inside", ids(&probe.all(person)?), vec![3, 4, 5])?;
        probe.control(TransactionControl::Rollback)?;
        same("after", probe.all(person)?, before)?;
        same("by its unique value", ids(&probe.filter(person, equal(2, "a@x"))?), vec![1])?;
        same("by its index", ids(&probe.filter(person, equal(3, 20))?), vec![2])
    })
}
