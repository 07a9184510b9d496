//! Persistent stores: after reopening, exactly the committed data is there.

use crate::{
    Check, Entry, Harness, NULL, Probe, Table, create, fails_in, holds, row, same, tables,
};
use bobak_core::{ErrorKind, OnError, SchemaChange, TransactionControl, Type, Value};
use std::sync::Arc;

/// Tables, rows, versions and unique values.
pub fn everything_is_there_again(harness: &dyn Harness) -> Check {
    let mut store = harness.fresh()?;
    let (person, document, seat) = (tables::person()?, tables::document()?, tables::seat()?);
    let probe = Probe::with_tables(store.engine(), &[&person, &document, &seat])?;
    probe.insert_all(&person, [row![1, "a", "a@x", 1], row![2, "b", NULL, NULL]])?;
    probe.insert(&document, row![1, "t", 5, 0])?;
    probe.update(&document, row![1, "u", 6, 0])?;
    let many: Vec<_> = (0..3_000).map(|n| Entry::insert(&seat, row![NULL, "A", n])).collect();
    probe.batch(&many, OnError::Stop).outcomes()?;
    probe.delete_where(&seat, Some(super::compare(2, bobak_core::Comparison::Less, 2_990)))?;
    drop(probe);
    if !store.reopen()? {
        return holds(
            "it says that it is not persistent",
            !store.engine().capabilities().persistent,
        );
    }
    let found = store.engine().tables()?;
    for table in [&person, &document, &seat] {
        let same_as = |there: &bobak_core::TableSchema| there.same_as(table);
        holds(&format!("{} is described as before", table.name()), found.iter().any(same_as))?;
    }
    let probe = Probe::new(store.engine())?;
    same("people", probe.all(&person)?, vec![row![1, "a", "a@x", 1], row![2, "b", NULL, NULL]])?;
    same("documents", probe.all(&document)?, vec![row![1, "u", 6, 1]])?;
    same("seats", probe.all(&seat)?, (2_990..3_000).map(|n| row![NULL, "A", n]).collect())?;
    let twice = probe.insert(&person, row![NULL, "c", "a@x", 1]);
    fails_in("unique values", twice, ErrorKind::Duplicate, "person")?;
    let next = probe.insert(&person, row![NULL, "c", NULL, 1])?;
    super::key_of(&probe, "keys go on", next, 3)?;
    let again = create(store.engine(), &[&person]);
    fails_in("the table is there", again, ErrorKind::Schema, "person")?;
    Ok(())
}

/// Reopened repeatedly, with writes in between.
pub fn it_is_opened_often(harness: &dyn Harness) -> Check {
    let mut store = harness.fresh()?;
    let mark = tables::mark()?;
    create(store.engine(), &[&mark])?;
    for n in 0..8_i64 {
        let probe = Probe::new(store.engine())?;
        probe.insert(&mark, row![Value::Int(n), 0])?;
        if n % 2 == 1 {
            probe.delete(&mark, row![Value::Int(n - 1), 0])?;
        }
        drop(probe);
        if !store.reopen()? {
            return Ok(());
        }
    }
    let probe = Probe::new(store.engine())?;
    same("rows", super::ids(&probe.all(&mark)?), vec![1, 3, 5, 7])
}

/// An open transaction is not committed.
pub fn what_was_not_committed_is_gone(harness: &dyn Harness) -> Check {
    let mut store = harness.fresh()?;
    let mark = tables::mark()?;
    let probe = Probe::with_tables(store.engine(), &[&mark])?;
    probe.insert(&mark, row![1, 0])?;
    probe.control(TransactionControl::Begin)?;
    probe.insert(&mark, row![2, 0])?;
    probe.control(TransactionControl::Rollback)?;
    probe.control(TransactionControl::Begin)?;
    probe.insert(&mark, row![3, 0])?;
    drop(probe);
    if !store.reopen()? {
        return Ok(());
    }
    let probe = Probe::new(store.engine())?;
    same("rows", super::ids(&probe.all(&mark)?), vec![1])
}

/// Every type's awkward values.
pub fn values_are_the_same_bits(harness: &dyn Harness) -> Check {
    let mut store = harness.fresh()?;
    if !store.engine().capabilities().untyped_columns {
        // Other cases test the values of each type by themselves.
        return Ok(());
    }
    let any = tables::of_type(Type::Any)?;
    let probe = Probe::with_tables(store.engine(), &[&any])?;
    let values = row![
        NULL,
        Value::Int(i64::MIN),
        Value::Int(i64::MAX),
        Value::Int((1 << 53) + 1),
        0.1,
        1.0,
        f64::INFINITY,
        5e-324,
        "",
        "\0",
        "a\0b",
        "ünïcödé 🦫",
        "1",
        vec![],
        vec![0_u8, 255],
        "x".repeat(1 << 20),
    ];
    for value in &values {
        probe.insert(&any, row![NULL, value.clone()])?;
    }
    drop(probe);
    if !store.reopen()? {
        return Ok(());
    }
    let probe = Probe::new(store.engine())?;
    let found: Vec<_> = probe.all(&any)?.into_iter().filter_map(|mut row| row.pop()).collect();
    same("values", found, values)
}

/// Added columns and indexes.
pub fn grown_tables_are_there_again(harness: &dyn Harness) -> Check {
    let mut store = harness.fresh()?;
    let tag = tables::tag()?;
    let probe = Probe::with_tables(store.engine(), &[&tag])?;
    probe.insert(&tag, row!["old", 1.0])?;
    drop(probe);
    let columns = || {
        let builder = bobak_core::TableSchema::builder("tag").key(["name"]);
        let all = tag.columns().iter().cloned();
        let note = bobak_core::ColumnSchema::of::<String>("note").default("none");
        all.chain([note]).fold(builder, bobak_core::TableSchemaBuilder::column)
    };
    let wider: Table = Arc::new(columns().build()?);
    let indexed: Table = Arc::new(columns().unique_index("tag_note", ["note"]).build()?);
    let add_column = SchemaChange::AddColumn { table: wider, column: 2 };
    let add_index = SchemaChange::AddIndex { table: Arc::clone(&indexed), index: 0 };
    store.engine().alter(&[add_column, add_index])?;
    if !store.reopen()? {
        return Ok(());
    }
    let found = store.engine().tables()?;
    holds("it is described as it is", found.iter().any(|there| there.same_as(&indexed)))?;
    let probe = Probe::new(store.engine())?;
    same("rows", probe.all(&indexed)?, vec![row!["old", 1.0, "none"]])?;
    let twice = probe.insert(&indexed, row!["new", 1.0, "none"]);
    fails_in("the index is kept", twice, ErrorKind::Duplicate, "tag")?;
    Ok(())
}

/// Keys that are never reused, after the rows with the largest ones were deleted, also when the table was altered since.
pub fn keys_of_deleted_rows_stay_used(harness: &dyn Harness) -> Check {
    let mut store = harness.fresh()?;
    let ticket = tables::ticket()?;
    if !store.engine().capabilities().unreused_keys {
        return Ok(());
    }
    let probe = Probe::with_tables(store.engine(), &[&ticket])?;
    probe.insert_all(&ticket, [row![1, "a"], row![7, "b"]])?;
    probe.delete(&ticket, row![7])?;
    drop(probe);
    if !store.reopen()? {
        return Ok(());
    }
    let insert = |probe: &Probe<'_>, table: &Table, values| -> Check<i64> {
        let made = super::keys_of("made", [probe.insert(table, values)?])?;
        Ok(made.last().copied().unwrap_or_default())
    };
    let probe = Probe::new(store.engine())?;
    let next = insert(&probe, &ticket, row![NULL, "c"])?;
    holds("a new key", next > 7)?;
    probe.delete_where(&ticket, None)?;
    let note = bobak_core::ColumnSchema::of::<Option<String>>("note");
    let wider = bobak_core::TableSchema::clone(&ticket).into_builder().column(note);
    let wider: Table = Arc::new(wider.build()?);
    probe.session.alter(&[SchemaChange::AddColumn { table: Arc::clone(&wider), column: 2 }])?;
    drop(probe);
    store.reopen()?;
    let probe = Probe::new(store.engine())?;
    holds("another one", insert(&probe, &wider, row![NULL, "d", NULL])? > next)
}
