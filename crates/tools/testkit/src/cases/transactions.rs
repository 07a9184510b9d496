//! Commit, rollback, savepoints, and invalid steps.

use super::{ids, with};
use crate::{Check, Harness, NULL, Probe, Table, fails, fails_in, row, same, tables};
use bobak_core::{
    ColumnSchema, ErrorKind, SchemaChange, TableSchema, TableSchemaBuilder,
    TransactionControl::{Begin, Commit, Release, Rollback, RollbackTo, Savepoint},
};
use std::sync::Arc;

fn on_marks(
    harness: &dyn Harness,
    case: impl FnOnce(&Probe<'_>, &dyn Fn(i32) -> Check, &dyn Fn() -> Check<Vec<i64>>) -> Check,
) -> Check {
    let mark = tables::mark()?;
    with(harness, &[&mark], |probe| {
        let add = |n: i32| Ok(probe.insert(&mark, row![n, 0]).map(drop)?);
        let there = || Ok(ids(&probe.all(&mark)?));
        case(probe, &add, &there)
    })
}

/// Commit keeps changes, rollback discards them; another session sees the same.
pub fn commit_and_rollback(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let mark = tables::mark()?;
    let probe = Probe::with_tables(store.engine(), &[&mark])?;
    let other = Probe::new(store.engine())?;
    probe.control(Begin)?;
    probe.insert(&mark, row![1, 0])?;
    probe.control(Commit)?;
    same("committed", ids(&other.all(&mark)?), vec![1])?;
    probe.control(Begin)?;
    probe.insert(&mark, row![2, 0])?;
    probe.delete(&mark, row![1, 0])?;
    same("inside", ids(&probe.all(&mark)?), vec![2])?;
    probe.control(Rollback)?;
    same("rolled back", ids(&probe.all(&mark)?), vec![1])?;
    same("elsewhere", ids(&other.all(&mark)?), vec![1])?;
    probe.control(Begin)?;
    probe.control(Commit)?;
    probe.control(Begin)?;
    probe.control(Rollback)?;
    same("nothing done", ids(&other.all(&mark)?), vec![1])
}

/// A rollback undoes every kind of write, in every table.
pub fn a_rollback_undoes_every_verb(harness: &dyn Harness) -> Check {
    let (person, tag) = (tables::person()?, tables::tag()?);
    with(harness, &[&person, &tag], |probe| {
        probe
            .insert_all(&person, (1..=5).map(|n| row![n, format!("n{n}"), format!("{n}@x"), n]))?;
        probe.insert_all(&tag, [row!["a", 1.0], row!["b", 2.0]])?;
        let before = (probe.all(&person)?, probe.all(&tag)?);
        for mark in [None, Some("inner")] {
            probe.control(Begin)?;
            if let Some(mark) = mark {
                probe.control(Savepoint(mark))?;
            }
            every_verb(probe, &person, &tag)?;
            probe.control(mark.map_or(Rollback, RollbackTo))?;
            same("as before", (probe.all(&person)?, probe.all(&tag)?), before.clone())?;
            if mark.is_some() {
                probe.control(Commit)?;
            }
        }
        let taken = probe.insert(&person, row![NULL, "x", "3@x", 1]);
        fails_in("unique values are back", taken, ErrorKind::Duplicate, "person")?;
        let free = probe.insert(&person, row![NULL, "x", "new@x", 1])?;
        super::key_of(probe, "new ones are free, keys too", free, 6)?;
        let found = probe.filter(&person, super::equal(3, 4))?;
        same("indexes are back", ids(&found), vec![4])
    })
}

fn every_verb(probe: &Probe<'_>, person: &Table, tag: &Table) -> Check {
    use bobak_core::Verb;
    probe.insert(person, row![NULL, "x", "new@x", 1])?;
    probe.update(person, row![1, "y", "1b@x", 9])?;
    probe.update(person, row![2, "y", "1@x", 9])?;
    probe.delete(person, row![3])?;
    probe.write(person, Verb::InsertOrReplace, row![3, "z", "4@x", 9])?;
    probe.write(person, Verb::Upsert, row![5, "u", NULL, 9])?;
    probe.write(person, Verb::InsertOrIgnore, row![NULL, "i", "i@x", 9])?;
    let add = bobak_core::Assign::Add { column: 3, value: 1.into() };
    probe.change(person, None, &[add])?;
    probe.delete_where(tag, None)?;
    let many: Vec<_> =
        (0..300).map(|n| crate::Entry::insert(tag, row![format!("t{n}"), NULL])).collect();
    probe.batch(&many, bobak_core::OnError::Stop).outcomes()?;
    probe.delete_where(person, Some(super::equal(0, 1)))?;
    Ok(())
}

/// A failed operation neither ends the transaction nor undoes earlier changes in it.
pub fn an_error_leaves_the_transaction(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.control(Begin)?;
        probe.insert(&person, row![1, "a", "a@x", 1])?;
        let twice = probe.insert(&person, row![1, "b", NULL, 1]);
        fails("a duplicate", twice, ErrorKind::Duplicate)?;
        let null = probe.insert(&person, row![2, NULL, NULL, 1]);
        fails("NULL", null, ErrorKind::Constraint)?;
        let missing = probe.update(&person, row![9, "x", NULL, 1]);
        fails("no such row", missing, ErrorKind::NotFound)?;
        let table = probe.insert(&tables::tag()?, row!["a", 1.0]);
        fails("no such table", table, ErrorKind::Schema)?;
        probe.insert(&person, row![3, "c", NULL, 1])?;
        fails("a begin inside", probe.control(Begin), ErrorKind::Misuse)?;
        probe.control(Commit)?;
        same("rows", ids(&probe.all(&person)?), vec![1, 3])
    })
}

/// Nested savepoints: rolling back to one undoes what follows it.
pub fn savepoints_nest(harness: &dyn Harness) -> Check {
    on_marks(harness, |probe, add, there| {
        probe.control(Begin)?;
        add(1)?;
        probe.control(Savepoint("a"))?;
        add(2)?;
        probe.control(Savepoint("b"))?;
        add(3)?;
        probe.control(RollbackTo("b"))?;
        same("to b", there()?, vec![1, 2])?;
        add(4)?;
        probe.control(RollbackTo("b"))?;
        same("to b again", there()?, vec![1, 2])?;
        add(5)?;
        probe.control(Release("b"))?;
        same("released", there()?, vec![1, 2, 5])?;
        fails("b is forgotten", probe.control(RollbackTo("b")), ErrorKind::Misuse)?;
        probe.control(RollbackTo("a"))?;
        same("to a", there()?, vec![1])?;
        add(6)?;
        probe.control(Commit)?;
        same("committed", there()?, vec![1, 6])
    })
}

/// Rolling back to or releasing an outer savepoint discards the inner ones.
pub fn outer_marks_take_inner_ones_along(harness: &dyn Harness) -> Check {
    on_marks(harness, |probe, add, there| {
        probe.control(Begin)?;
        for name in ["a", "b", "c"] {
            probe.control(Savepoint(name))?;
            add(there()?.len() as i32 + 1)?;
        }
        probe.control(Release("b"))?;
        fails("c went with b", probe.control(Release("c")), ErrorKind::Misuse)?;
        same("nothing is undone", there()?, vec![1, 2, 3])?;
        probe.control(Savepoint("d"))?;
        probe.control(RollbackTo("a"))?;
        fails("d went back with a", probe.control(RollbackTo("d")), ErrorKind::Misuse)?;
        same("undone", there()?, vec![])?;
        probe.control(Release("a"))?;
        add(7)?;
        probe.control(Commit)?;
        same("committed", there()?, vec![7])
    })
}

/// Of two savepoints with the same name the later one is used, until it is released.
pub fn marks_of_the_same_name(harness: &dyn Harness) -> Check {
    on_marks(harness, |probe, add, there| {
        probe.control(Begin)?;
        probe.control(Savepoint("s"))?;
        add(1)?;
        probe.control(Savepoint("s"))?;
        add(2)?;
        probe.control(RollbackTo("s"))?;
        same("to the later", there()?, vec![1])?;
        probe.control(Release("s"))?;
        add(3)?;
        probe.control(RollbackTo("s"))?;
        same("to the earlier", there()?, vec![])?;
        probe.control(Release("s"))?;
        fails("none is left", probe.control(Release("s")), ErrorKind::Misuse)?;
        probe.control(Rollback)?;
        Ok(())
    })
}

/// Invalid steps fail with `Misuse`, and change nothing.
pub fn steps_that_do_not_fit(harness: &dyn Harness) -> Check {
    on_marks(harness, |probe, add, there| {
        let misuse =
            |what: &str, step| fails(what, probe.control(step), ErrorKind::Misuse).map(drop);
        misuse("commit without begin", Commit)?;
        misuse("rollback without begin", Rollback)?;
        misuse("savepoint without begin", Savepoint("a"))?;
        misuse("release without begin", Release("a"))?;
        misuse("rollback to without begin", RollbackTo("a"))?;
        add(1)?;
        probe.control(Begin)?;
        add(2)?;
        misuse("begin inside", Begin)?;
        misuse("unknown mark", RollbackTo("nothing"))?;
        misuse("unknown mark", Release("nothing"))?;
        probe.control(Commit)?;
        misuse("commit twice", Commit)?;
        misuse("rollback after commit", Rollback)?;
        same("rows", there()?, vec![1, 2])?;
        probe.control(Begin)?;
        probe.control(Savepoint("a"))?;
        probe.control(Rollback)?;
        misuse("a mark of the last transaction", RollbackTo("a"))?;
        probe.control(Begin)?;
        misuse("also inside the next", RollbackTo("a"))?;
        probe.control(Commit)?;
        same("rows", there()?, vec![1, 2])
    })
}

/// Savepoint names are letters, digits and `_`, including SQL keywords.
pub fn names_of_marks(harness: &dyn Harness) -> Check {
    on_marks(harness, |probe, add, there| {
        probe.control(Begin)?;
        for name in ["select", "_", "1", "to", "Ab_9", "savepoint", "x".repeat(100).as_str()] {
            probe.control(Savepoint(name))?;
            add(1)?;
            probe.control(RollbackTo(name))?;
            same(name, there()?, vec![])?;
            probe.control(Release(name))?;
        }
        probe.control(Commit)?;
        Ok(())
    })
}

/// Dropping a session rolls its open transaction back.
pub fn a_dropped_session_rolls_back(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let mark = tables::mark()?;
    let probe = Probe::with_tables(store.engine(), &[&mark])?;
    probe.insert(&mark, row![1, 0])?;
    for _ in 0..3 {
        let session = Probe::new(store.engine())?;
        session.control(Begin)?;
        session.insert(&mark, row![2, 0])?;
        session.control(Savepoint("a"))?;
        session.insert(&mark, row![3, 0])?;
        drop(session);
        same("rows", ids(&probe.all(&mark)?), vec![1])?;
    }
    let next = Probe::new(store.engine())?;
    fails("none is open", next.control(Commit), ErrorKind::Misuse)?;
    next.control(Begin)?;
    next.insert(&mark, row![4, 0])?;
    next.control(Commit)?;
    same("others write", ids(&probe.all(&mark)?), vec![1, 4])
}

/// A schema change is part of the transaction, and visible in it.
pub fn tables_are_made_and_undone(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let (mark, tag) = (tables::mark()?, tables::tag()?);
    let probe = Probe::with_tables(store.engine(), &[&mark])?;
    let other = Probe::new(store.engine())?;
    let make = |table: &Table| probe.session.alter(&[SchemaChange::CreateTable(table.clone())]);
    if store.engine().capabilities().implicit_ddl_commit {
        return rejected_inside(&probe, &mark, &|| make(&tag));
    }
    let count = |probe: &Probe<'_>| Ok::<_, crate::Failure>(probe.session.tables()?.len());
    for _ in 0..3 {
        probe.control(Begin)?;
        probe.insert(&mark, row![1, 0])?;
        make(&tag)?;
        fails("a second time", make(&tag), ErrorKind::Schema)?;
        same("inside", count(&probe)?, 2)?;
        probe.insert(&tag, row!["a", 1.0])?;
        same("its rows", probe.count(&tag)?, 1)?;
        probe.control(Rollback)?;
        same("rolled back", (count(&probe)?, count(&other)?), (1, 1))?;
        fails("its table is gone", probe.insert(&tag, row!["a", 1.0]), ErrorKind::Schema)?;
        same("rows", probe.count(&mark)?, 0)?;
    }
    probe.control(Begin)?;
    probe.control(Savepoint("s"))?;
    make(&tag)?;
    probe.insert(&tag, row!["a", 1.0])?;
    probe.control(RollbackTo("s"))?;
    same("to the mark", count(&probe)?, 1)?;
    make(&tag)?;
    probe.insert(&tag, row!["b", 1.0])?;
    probe.control(Commit)?;
    same("committed", (count(&probe)?, count(&other)?), (2, 2))?;
    same("rows", other.all(&tag)?, vec![row!["b", 1.0]])
}

/// If a schema change commits by itself, the engine rejects it in a transaction, which continues as
/// before; outside a transaction the change succeeds.
fn rejected_inside(
    probe: &Probe<'_>,
    mark: &Table,
    change: &dyn Fn() -> bobak_core::Result<()>,
) -> Check {
    probe.control(Begin)?;
    probe.insert(mark, row![1, 0])?;
    fails("inside a transaction", change(), ErrorKind::Unsupported)?;
    probe.insert(mark, row![2, 0])?;
    probe.control(Rollback)?;
    same("rows", probe.count(mark)?, 0)?;
    change()?;
    probe.insert(mark, row![3, 0])?;
    same("rows", ids(&probe.all(mark)?), vec![3])
}

/// So are a column and an index of a table with rows; prepared statements stay correct.
pub fn columns_are_added_and_undone(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let tag = tables::tag()?;
    let probe = Probe::with_tables(store.engine(), &[&tag])?;
    let builder = TableSchema::builder("tag").key(["name"]);
    let note = ColumnSchema::of::<i64>("note").default(5);
    let columns = tag.columns().iter().cloned().chain([note]);
    let wide = columns.fold(builder, TableSchemaBuilder::column).index("tag_note", ["note"]);
    let wide: Table = Arc::new(wide.build()?);
    let grow = [
        SchemaChange::AddColumn { table: Arc::clone(&wide), column: 2 },
        SchemaChange::AddIndex { table: Arc::clone(&wide), index: 0 },
    ];
    if store.engine().capabilities().implicit_ddl_commit {
        let mark = tables::mark()?;
        crate::create(store.engine(), &[&mark])?;
        return rejected_inside(&probe, &mark, &|| probe.session.alter(&grow));
    }
    probe.insert_all(&tag, [row!["a", 1.0], row!["b", 2.0]])?;
    for _ in 0..3 {
        probe.control(Begin)?;
        probe.session.alter(&grow)?;
        probe.insert(&wide, row!["c", 3.0, 6])?;
        let rows = vec![row!["a", 1.0, 5], row!["b", 2.0, 5], row!["c", 3.0, 6]];
        same("inside", probe.all(&wide)?, rows)?;
        let found = probe.filter(&wide, super::equal(2, 6))?;
        same("by its index", found, vec![row!["c", 3.0, 6]])?;
        probe.control(Rollback)?;
        same("rolled back", probe.all(&tag)?, vec![row!["a", 1.0], row!["b", 2.0]])?;
        fails("the column is gone", probe.all(&wide), ErrorKind::Schema)?;
        probe.update(&tag, row!["b", 2.0])?;
    }
    probe.session.alter(&grow)?;
    probe.update(&wide, row!["b", 2.0, 7])?;
    same("rows", probe.all(&wide)?, vec![row!["a", 1.0, 5], row!["b", 2.0, 7]])
}

/// A long transaction: many rows, many savepoints.
pub fn a_long_transaction(harness: &dyn Harness) -> Check {
    on_marks(harness, |probe, add, there| {
        probe.control(Begin)?;
        for n in 0..200 {
            probe.control(Savepoint("s"))?;
            add(n)?;
            match n % 3 {
                0 => probe.control(RollbackTo("s"))?,
                1 => probe.control(Release("s"))?,
                _ => {}
            }
        }
        probe.control(Commit)?;
        let expected: Vec<_> = (0..200_i64).filter(|n| n % 3 != 0).collect();
        same("rows", there()?, expected)
    })
}
