//! A program may describe some columns of a table, in any order: columns are found by their names.

use super::{NEW, ONE, equal};
use crate::{Check, Entry, Harness, NULL, Probe, Table, fails, fails_in, holds, row, same, tables};
use bobak_core::{
    Assign, ColumnSchema, ErrorKind, Expr, OnError, Order, Outcome, SchemaChange, Select, Source,
    TableSchema, Verb,
};
use std::sync::Arc;

/// `person` without its age, in another order.
fn contact() -> Check<Table> {
    let table = TableSchema::builder("person")
        .column(ColumnSchema::of::<Option<String>>("email").unique())
        .column(ColumnSchema::of::<String>("name"))
        .column(ColumnSchema::of::<i64>("id"))
        .key(["id"]);
    Ok(Arc::new(table.build()?))
}

/// Each verb writes the described columns; the others keep their values, and are NULL in new rows.
pub fn other_columns_keep_their_values(harness: &dyn Harness) -> Check {
    let (person, contact) = (tables::person()?, contact()?);
    super::with(harness, &[&person], |probe| {
        probe.insert(&contact, row!["a@x", "a", 1])?;
        probe.insert(&person, row![2, "b", "b@x", 40])?;
        same("updated", probe.update(&contact, row!["c@x", "B", 2])?, ONE)?;
        let both = vec![row![1, "a", "a@x", NULL], row![2, "B", "c@x", 40]];
        same("after the update", probe.all(&person)?, both)?;
        same("upserted", probe.write(&contact, Verb::Upsert, row![NULL, "C", 2])?, ONE)?;
        same("a new one", probe.write(&contact, Verb::Upsert, row!["d@x", "d", 3])?, NEW)?;
        let ignored = probe.write(&contact, Verb::InsertOrIgnore, row!["a@x", "x", 9])?;
        same("ignored", ignored, Outcome::Ignored)?;
        probe.change(&person, None, &[Assign::Set { column: 3, value: 50.into() }])?;
        probe.write(&contact, Verb::UpsertOn(0), row!["d@x", "D", 7])?;
        probe.write(&contact, Verb::InsertOrReplace, row!["a@x", "A", 1])?;
        let rows = vec![row![1, "A", "a@x", NULL], row![2, "C", NULL, 50], row![3, "D", "d@x", 50]];
        same("after all verbs", probe.all(&person)?, rows)
    })
}

/// So do changes and deletes.
pub fn changes_find_columns_by_name(harness: &dyn Harness) -> Check {
    let (person, contact) = (tables::person()?, contact()?);
    super::with(harness, &[&person], |probe| {
        let rows = [row![1, "A", "a@x", NULL], row![2, "C", NULL, 50], row![3, "D", "d@x", 50]];
        probe.insert_all(&person, rows)?;
        let assign = [Assign::Set { column: 1, value: "E".into() }];
        same("changed", probe.change(&contact, Some(equal(0, "d@x")), &assign)?, 1)?;
        same("deleted where", probe.delete_where(&contact, Some(equal(1, "C")))?, 1)?;
        same("deleted", probe.delete(&contact, row![1])?, ONE)?;
        same("what is left", probe.all(&person)?, vec![row![3, "E", "d@x", 50]])
    })
}

/// Batches do the same, and leave out failing rows only.
pub fn batches_find_columns_by_name(harness: &dyn Harness) -> Check {
    let (person, contact) = (tables::person()?, contact()?);
    super::with(harness, &[&person], |probe| {
        let insert = |email: &'static str, name: &'static str| {
            Entry::insert(&contact, row![email, name, NULL])
        };
        let batch =
            [insert("a@x", "a"), insert("b@x", "b"), insert("a@x", "c"), insert("c@x", "d")];
        let stopped = probe.batch(&batch, OnError::Stop).outcomes();
        fails_in("a duplicate", stopped, ErrorKind::Duplicate, "person")?;
        same("nothing is there", probe.count(&person)?, 0)?;
        let results = probe.batch(&batch, OnError::Continue);
        let kinds = results.rows.iter().map(|row| row.as_ref().err().map(|error| error.kind()));
        let one = Some(ErrorKind::Duplicate);
        same("one row failed", kinds.collect::<Vec<_>>(), vec![None, None, one, None])?;
        let names: Vec<_> = probe.all(&person)?.into_iter().map(|row| row[1..].to_vec()).collect();
        let wanted = [("a", "a@x"), ("b", "b@x"), ("d", "c@x")];
        same("rows", names, wanted.map(|(name, email)| row![name, email, NULL]).into())
    })
}

/// Reads return the described columns in the described order.
pub fn reads_find_columns_by_name(harness: &dyn Harness) -> Check {
    let (person, contact) = (tables::person()?, contact()?);
    super::with(harness, &[&person], |probe| {
        let rows = [row![1, "b", "a@x", 1], row![2, "a", NULL, 2], row![3, "b", "c@x", 3]];
        probe.insert_all(&person, rows)?;
        same("by key", probe.get(&contact, row![3])?, Some(row!["c@x", "b", 3]))?;
        same("no such key", probe.get(&contact, row![4])?, None)?;
        same("a condition", probe.filter(&contact, equal(1, "a"))?, vec![row![NULL, "a", 2]])?;
        let mut select = Select::all(&contact);
        select.order.insert(0, Order { column: 0, descending: true });
        let sorted = vec![row!["c@x", "b", 3], row!["a@x", "b", 1], row![NULL, "a", 2]];
        same("sorted", probe.select(&select)?, sorted.clone())?;
        let mut cursor = probe.session.open(&Source::Select(&select))?;
        same("by cursor", probe.drain(&mut cursor)?, sorted)?;
        select.columns = vec![Expr::Column(1), Expr::Count, Expr::Max(2), Expr::CountOf(0)];
        select.group = vec![1];
        select.order = vec![Order { column: 1, descending: false }];
        same("groups", probe.select(&select)?, vec![row!["a", 1, 2, 0], row!["b", 2, 3, 2]])
    })
}

/// A new row has the defaults of the other columns; one that needs a value is missed.
pub fn other_columns_have_their_defaults(harness: &dyn Harness) -> Check {
    let described = || {
        TableSchema::builder("detail")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<String>("title"))
            .key(["id"])
            .given_key()
    };
    let part: Table = Arc::new(described().build()?);
    let rate = ColumnSchema::of::<f64>("rate").default(1.5);
    let stored: Table = Arc::new(described().first_column(rate).build()?);
    super::with(harness, &[&stored], |probe| {
        same("inserted", probe.insert(&part, row![1, "a"])?, NEW)?;
        same("rows", probe.all(&stored)?, vec![row![1.5, 1, "a"]])
    })?;
    let required = described().column(ColumnSchema::of::<f64>("rate"));
    let required: Table = Arc::new(required.build()?);
    super::with(harness, &[&required], |probe| {
        let missing = probe.insert(&part, row![1, "a"]);
        fails_in("a missing value", missing, ErrorKind::Constraint, "detail")?;
        same("rows", probe.count(&required)?, 0)
    })
}

/// A column is added to a table that has others than those described; their values stay.
pub fn a_column_is_added_to_a_wider_table(harness: &dyn Harness) -> Check {
    let stored = tables::tag()?;
    let store = harness.fresh()?;
    let probe = Probe::with_tables(store.engine(), &[&stored])?;
    probe.insert(&stored, row!["old", 1.0])?;
    let described: Table = Arc::new(
        TableSchema::builder("tag")
            .column(ColumnSchema::of::<String>("name"))
            .column(ColumnSchema::of::<Option<String>>("note"))
            .key(["name"])
            .build()?,
    );
    let add = SchemaChange::AddColumn { table: Arc::clone(&described), column: 1 };
    probe.session.alter(&[add])?;
    probe.update(&described, row!["old", "n"])?;
    same("rows", probe.all(&described)?, vec![row!["old", "n"]])?;
    same("others", probe.all(&stored)?, vec![row!["old", 1.0]])?;
    let tables = store.engine().tables()?;
    let found = tables.iter().find(|table| table.name() == "tag");
    holds("three columns", found.is_some_and(|table| table.columns().len() == 3))
}

/// A missing column, and one that is stored in another form, are rejected.
pub fn missing_columns_are_rejected(harness: &dyn Harness) -> Check {
    let stored = tables::tag()?;
    let more = TableSchema::clone(&stored).into_builder();
    let more: Table = Arc::new(more.column(ColumnSchema::of::<Option<i64>>("more")).build()?);
    super::with(harness, &[&stored], |probe| {
        let missing = probe.insert(&more, row!["a", 1.0, 1]);
        fails_in("written", missing, ErrorKind::Schema, "tag")?;
        let missing = probe.all(&more);
        fails("read", missing, ErrorKind::Schema).map(|_| ())
    })
}
