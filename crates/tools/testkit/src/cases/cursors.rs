//! Cursors: they return the rows as of their opening, whatever happens later.

use super::{ids, names, with};
use crate::{Check, Entry, Harness, NULL, Probe, Table, Values, fails, holds, row, same, tables};
use bobak_core::{
    Assign, ColumnSchema, Comparison, Cursor, CursorId, ErrorKind, OnError, RowBuffer,
    SchemaChange, Select, Source, TableSchema, TableSchemaBuilder,
    TransactionControl::{Begin, Commit, Rollback, RollbackTo, Savepoint},
    Value,
};
use std::sync::Arc;

const ROWS: i64 = 5_000;

/// Some hundred KiB: several parts.
fn many(n: i64) -> Values {
    row![Value::Int(n), format!("name {n} {}", "x".repeat(60)), NULL, Value::Int(n % 100)]
}

fn on_many(harness: &dyn Harness, case: impl FnOnce(&Probe<'_>, &Table) -> Check) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        fill(probe, &person)?;
        case(probe, &person)
    })
}

fn fill(probe: &Probe<'_>, person: &Table) -> Check {
    let entries: Vec<_> = (1..=ROWS).map(|n| Entry::insert(person, many(n))).collect();
    probe.batch(&entries, OnError::Stop).outcomes()?;
    Ok(())
}

fn open(probe: &Probe<'_>, table: &Table) -> Check<Cursor> {
    Ok(probe.session.open(&Source::Select(&Select::all(table)))?)
}

/// The cursor's rows after `first` are those that the table was filled with.
fn rest_is_whole(what: &str, probe: &Probe<'_>, mut cursor: Cursor, first: Vec<Values>) -> Check {
    let mut rows = first;
    rows.extend(probe.drain(&mut cursor)?);
    same(what, rows.len() as i64, ROWS)?;
    holds(what, rows.iter().zip(1..).all(|(row, n)| *row == many(n)))
}

/// Parts of about 64 KiB, names, and nothing after the last.
pub fn parts_of_64_kib(harness: &dyn Harness) -> Check {
    on_many(harness, |probe, person| {
        let mut cursor = probe.session.open(&Source::Select(&Select::all(person)))?;
        same("names", names(&cursor.columns), vec!["id", "name", "email", "age"])?;
        let mut buffer = RowBuffer::default();
        buffer.push(&row![1, "left over"].as_slice())?;
        let (mut parts, mut rows) = (0, 0);
        loop {
            probe.session.fetch(&mut cursor, &mut buffer)?;
            if buffer.rows() == 0 {
                break;
            }
            holds("no part is much over 64 KiB", buffer.bytes() < 160 << 10)?;
            let found = crate::rows_of(&mut buffer)?;
            holds("in order", found.iter().zip(rows + 1..).all(|(row, n)| *row == many(n)))?;
            rows += found.len() as i64;
            parts += 1;
        }
        same("rows", rows, ROWS)?;
        holds("several parts", parts > 3)?;
        holds("the last one too has no bytes", buffer.bytes() == 0)?;
        same("again nothing", probe.fetch(&mut cursor)?.len(), 0)?;
        probe.session.close(&mut cursor);
        Ok(())
    })
}

/// A row larger than a part is a part of its own.
pub fn rows_larger_than_a_part(harness: &dyn Harness) -> Check {
    let tag = tables::of_type(bobak_core::Type::Text)?;
    with(harness, &[&tag], |probe| {
        let sizes = [10, 300_000, 5, 5, 200_000, 1 << 20, 0];
        let rows: Vec<_> = (1..).zip(sizes).map(|(id, size)| row![id, "x".repeat(size)]).collect();
        probe.insert_all(&tag, rows.clone())?;
        let mut cursor = open(probe, &tag)?;
        holds("rows", probe.drain(&mut cursor)? == rows)
    })
}

/// An empty result has no part.
pub fn an_empty_cursor(harness: &dyn Harness) -> Check {
    let tag = tables::tag()?;
    with(harness, &[&tag], |probe| {
        let mut cursor = open(probe, &tag)?;
        probe.insert(&tag, row!["later", 1.0])?;
        same("rows", probe.fetch(&mut cursor)?.len(), 0)?;
        same("again", probe.fetch(&mut cursor)?.len(), 0)
    })
}

/// A cursor does not see the session's own writes, before or after the first part.
pub fn steady_while_the_session_writes(harness: &dyn Harness) -> Check {
    on_many(harness, |probe, person| {
        let early = open(probe, person)?;
        probe.delete(person, row![1])?;
        probe.insert(person, row![0, "before", NULL, NULL])?;
        rest_is_whole("opened before", probe, early, Vec::new())?;
        probe.delete(person, row![0])?;
        probe.insert(person, many(1))?;

        let mut cursor = open(probe, person)?;
        let first = probe.fetch(&mut cursor)?;
        probe.update(person, row![4_000, "changed", "c@x", 1])?;
        probe.delete(person, row![4_500])?;
        probe.insert(person, row![NULL, "new", NULL, NULL])?;
        probe.change(person, None, &[Assign::Set { column: 1, value: "all".into() }])?;
        probe.delete_where(person, Some(super::compare(0, Comparison::Greater, 3_000)))?;
        probe
            .batch(&[Entry::insert(person, row![9_999, "batch", NULL, NULL])], OnError::Stop)
            .outcomes()?;
        rest_is_whole("opened in the midst", probe, cursor, first)?;
        same("the table itself changed", probe.count(person)?, 3_001)
    })
}

/// It is stable in a transaction, too, and stays valid after commit and rollback.
pub fn steady_over_the_ends_of_transactions(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    for (step, remaining) in [(Commit, ROWS - 1), (Rollback, 0)] {
        with(harness, &[&person], |probe| {
            probe.control(Begin)?;
            fill(probe, &person)?;
            let mut fetched = open(probe, &person)?;
            let first = probe.fetch(&mut fetched)?;
            let untouched = open(probe, &person)?;
            probe.delete(&person, row![2_500])?;
            probe.control(step)?;
            rest_is_whole(&format!("after {step:?}"), probe, fetched, first)?;
            rest_is_whole(&format!("first read after {step:?}"), probe, untouched, Vec::new())?;
            same("the table", probe.count(&person)? as i64, remaining)
        })?;
    }
    Ok(())
}

/// It stays valid after a rollback to a savepoint.
pub fn steady_over_savepoints(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.control(Begin)?;
        probe.control(Savepoint("s"))?;
        fill(probe, &person)?;
        let mut cursor = open(probe, &person)?;
        let first = probe.fetch(&mut cursor)?;
        probe.control(RollbackTo("s"))?;
        same("the table", probe.count(&person)?, 0)?;
        probe.insert(&person, row![1, "other", NULL, NULL])?;
        rest_is_whole("after the rollback", probe, cursor, first)?;
        probe.control(Commit)?;
        same("the table", ids(&probe.all(&person)?), vec![1])
    })
}

/// A cursor opened before a transaction continues during it.
pub fn steady_through_a_transaction(harness: &dyn Harness) -> Check {
    on_many(harness, |probe, person| {
        let mut cursor = open(probe, person)?;
        let first = probe.fetch(&mut cursor)?;
        probe.control(Begin)?;
        probe.delete_where(person, None)?;
        let second = probe.fetch(&mut cursor)?;
        probe.control(Commit)?;
        probe.control(Begin)?;
        probe.insert(person, row![1, "new", NULL, NULL])?;
        probe.control(Rollback)?;
        let first = [first, second].concat();
        rest_is_whole("through it", probe, cursor, first)?;
        same("the table", probe.count(person)?, 0)
    })
}

/// Many cursors at once, opened on the same table at different times, read interleaved.
pub fn many_open_at_once(harness: &dyn Harness) -> Check {
    let mark = tables::mark()?;
    with(harness, &[&mark], |probe| {
        let mut cursors = Vec::new();
        for n in 0..60_i64 {
            cursors.push(open(probe, &mark)?);
            probe.insert(&mark, row![Value::Int(n), 0])?;
        }
        for (at, cursor) in cursors.iter_mut().enumerate().rev() {
            if at % 3 == 0 {
                probe.session.close(cursor);
            }
        }
        for (at, cursor) in cursors.iter_mut().enumerate() {
            if at % 3 != 0 {
                same("rows", ids(&probe.drain(cursor)?), (0..at as i64).collect())?;
            }
        }
        Ok(())
    })
}

/// More open cursors than the engine has connections.
pub fn more_than_there_are_connections(harness: &dyn Harness) -> Check {
    on_many(harness, |probe, person| {
        let mut cursors = Vec::new();
        for _ in 0..24 {
            let mut cursor = open(probe, person)?;
            let first = probe.fetch(&mut cursor)?;
            cursors.push((cursor, first));
        }
        probe.delete_where(person, Some(super::compare(0, Comparison::Greater, 10)))?;
        for (cursor, first) in cursors {
            rest_is_whole("each of them", probe, cursor, first)?;
        }
        same("the table", probe.count(person)?, 10)
    })
}

/// A schema change does not change the rows of an open cursor.
pub fn steady_while_the_schema_changes(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let person = tables::person()?;
    let probe = Probe::with_tables(store.engine(), &[&person])?;
    fill(&probe, &person)?;
    let mut cursor = open(&probe, &person)?;
    let first = probe.fetch(&mut cursor)?;
    let builder = TableSchema::builder("person").key(["id"]);
    let note = ColumnSchema::of::<Option<i64>>("note").default(5);
    let columns = person.columns().iter().cloned().chain([note]);
    let wider = columns.fold(builder, TableSchemaBuilder::column);
    let wider = Arc::new(wider.index("person_age", ["age", "name"]).index("n", ["note"]).build()?);
    let changes = [
        SchemaChange::AddColumn { table: Arc::clone(&wider), column: 4 },
        SchemaChange::AddIndex { table: Arc::clone(&wider), index: 2 },
        SchemaChange::CreateTable(tables::tag()?),
    ];
    let writers = store.engine().capabilities().concurrent_writers;
    match store.engine().alter(&changes) {
        // A server may lock a table against changes while another session reads it; a session's own
        // changes must succeed while its cursors are open.
        Err(error) if writers && error.kind() == ErrorKind::Busy => {
            probe.session.alter(&changes)?
        }
        other => other?,
    }
    probe.change(&wider, None, &[Assign::Set { column: 4, value: 6.into() }])?;
    rest_is_whole("over it", &probe, cursor, first)?;
    let row = probe.get(&wider, row![1])?.and_then(|mut row| row.pop());
    same("the table", row, Some(6.into()))
}

/// Closed early, closed twice, read after closing.
pub fn closed_cursors(harness: &dyn Harness) -> Check {
    on_many(harness, |probe, person| {
        let (mut cursor, other) = (open(probe, person)?, open(probe, person)?);
        probe.fetch(&mut cursor)?;
        probe.session.close(&mut cursor);
        let mut unknown = Cursor::new(CursorId(u64::MAX), std::sync::Arc::default());
        fails("closed", probe.fetch(&mut cursor), ErrorKind::Misuse)?;
        probe.session.close(&mut cursor);
        fails("never open", probe.fetch(&mut unknown), ErrorKind::Misuse)?;
        probe.session.close(&mut unknown);
        probe.delete_where(person, None)?;
        rest_is_whole("the other one", probe, other, Vec::new())?;
        same("the session goes on", probe.count(person)?, 0)
    })
}

/// Dropping a session with open cursors does not block other sessions.
pub fn a_session_goes_with_its_cursors(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let person = tables::person()?;
    let probe = Probe::with_tables(store.engine(), &[&person])?;
    fill(&probe, &person)?;
    for _ in 0..20 {
        let session = Probe::new(store.engine())?;
        let mut cursor = open(&session, &person)?;
        session.fetch(&mut cursor)?;
        open(&session, &person)?;
    }
    probe.delete_where(&person, None)?;
    same("rows", probe.count(&person)?, 0)
}

/// Conditions, orders, limits and aggregates work through cursors as through queries.
pub fn cursors_agree_with_queries(harness: &dyn Harness) -> Check {
    on_many(harness, |probe, person| {
        let order = |column, descending| bobak_core::Order { column, descending };
        let all = Select::all(person);
        let selects = [
            Select { condition: Some(super::equal(3, 7)), ..all.clone() },
            Select { order: vec![order(3, true), order(0, false)], ..all.clone() },
            Select { limit: Some(1_500), offset: 700, order: vec![order(0, true)], ..all.clone() },
            Select {
                columns: vec![bobak_core::Expr::Count, bobak_core::Expr::Sum(3)],
                order: vec![],
                ..all.clone()
            },
            Select {
                columns: vec![bobak_core::Expr::Column(3)],
                group: vec![3],
                order: vec![order(3, false)],
                ..all
            },
        ];
        for select in &selects {
            let mut cursor = probe.session.open(&Source::Select(select))?;
            let expected = probe.select(select)?;
            probe.update(person, row![7, "x", NULL, 7])?;
            holds("the same rows", probe.drain(&mut cursor)? == expected)?;
            probe.update(person, many(7))?;
        }
        Ok(())
    })
}

/// A cursor that cannot be opened returns the error, and uses no number.
pub fn opening_may_fail(harness: &dyn Harness) -> Check {
    let tag = tables::tag()?;
    with(harness, &[&tag], |probe| {
        let missing = probe.session.open(&Source::Select(&Select::all(&tables::mark()?)));
        fails("no such table", missing, ErrorKind::Schema)?;
        probe.insert(&tag, row!["a", 1.0])?;
        let mut cursor = open(probe, &tag)?;
        same("the next one", probe.drain(&mut cursor)?, vec![row!["a", 1.0]])
    })
}
