//! Existing tables change into other forms: names, columns, rules and indexes.

use super::{equal, with};
use crate::{
    Check, Harness, NULL, Probe, Table, create, fails, fails_in, holds, row, same, tables,
};
use bobak_core::{
    Collation, ColumnSchema, Engine, ErrorKind, OnDelete, SchemaChange, TableAlteration,
    TableSchema, TableSchemaBuilder, TransactionControl, change_log,
};
use std::sync::Arc;

/// Whether the engine alters tables. If not, it says so.
fn can_alter(engine: &dyn Engine) -> Check<bool> {
    if engine.capabilities().alter_table {
        return Ok(true);
    }
    let tag = tables::tag()?;
    create(engine, &[&tag])?;
    let change = TableAlteration::new(Arc::clone(&tag), named(&tag, "label", &[])?, &[], &[])?;
    let rejected = engine.alter(&[SchemaChange::AlterTable(Arc::new(change))]);
    fails("altering", rejected, ErrorKind::Unsupported)?;
    let rejected = engine.alter(&[SchemaChange::DropTable(tag)]);
    fails("dropping", rejected, ErrorKind::Unsupported)?;
    Ok(false)
}

fn named(table: &Table, name: &str, columns: &[(&str, &'static str)]) -> Check<Table> {
    let new = |old: &str| columns.iter().find(|pair| pair.0 == old).map(|pair| pair.1);
    Ok(Arc::new(table.rename(name, new)?))
}

/// Changes the table that the engine has into another form, and checks what the engine then describes.
fn alter(
    engine: &dyn Engine,
    to: &Table,
    name: &str,
    renamed: &[(&str, &str)],
    dropped: &[&str],
) -> Check {
    change(engine, to, name, renamed, dropped)??;
    let found = TableSchema::find_in(engine.tables()?, to.name())?;
    let columns = |table: &TableSchema| {
        let mut columns = table.columns().to_vec();
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        columns
    };
    same("columns", columns(&found), columns(to))?;
    let indexes = |table: &TableSchema| {
        let name = |place: &usize| table.columns().get(*place).map(|column| column.name.clone());
        let mut indexes: Vec<_> = table
            .indexes()
            .iter()
            .map(|index| {
                let columns: Vec<_> = index.columns.iter().filter_map(name).collect();
                (index.name.clone(), columns, index.unique)
            })
            .collect();
        indexes.sort();
        indexes
    };
    same("indexes", indexes(&found), indexes(to))
}

/// The result of the change.
fn change(
    engine: &dyn Engine,
    to: &Table,
    name: &str,
    renamed: &[(&str, &str)],
    dropped: &[&str],
) -> Check<bobak_core::Result<()>> {
    let from = Arc::new(TableSchema::find_in(engine.tables()?, name)?);
    Ok(TableAlteration::new(from, Arc::clone(to), renamed, dropped)
        .and_then(|change| engine.alter(&[SchemaChange::AlterTable(Arc::new(change))])))
}

fn staff(
    build: impl FnOnce(TableSchemaBuilder) -> TableSchemaBuilder,
) -> bobak_core::Result<Table> {
    let table = TableSchema::builder("staff").column(ColumnSchema::of::<i64>("id")).key(["id"]);
    build(table).build().map(Arc::new)
}

/// A table and its columns get other names; rows, keys, indexes, rules and foreign keys follow.
pub fn tables_and_columns_are_renamed(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !can_alter(store.engine())? {
        return Ok(());
    }
    let person = tables::person()?;
    let probe = Probe::with_tables(store.engine(), &[&person])?;
    let rows = vec![row![1, "ada", "a@x", 36], row![2, "bob", NULL, NULL]];
    probe.insert_all(&person, rows.clone())?;
    let renamed: &[(&str, &str)] = &[("name", "title"), ("email", "mail"), ("age", "years")];
    let user = Arc::new(
        person
            .rename("user", |old| renamed.iter().find(|pair| pair.0 == old).map(|pair| pair.1))?,
    );
    alter(store.engine(), &user, "person", renamed, &[])?;
    same("rows", probe.all(&user)?, rows.clone())?;
    same("by index", probe.filter(&user, equal(3, 36))?, vec![row![1, "ada", "a@x", 36]])?;
    let again = probe.insert(&user, row![3, "eve", "a@x", 1]);
    fails_in("a duplicate", again, ErrorKind::Duplicate, "user")?;
    fails("the old name", probe.all(&person), ErrorKind::Schema)?;
    // Two names change places.
    let swapped = Arc::new(user.rename("user", |old| match old {
        "title" => Some("mail"),
        "mail" => Some("title"),
        _ => None,
    })?);
    alter(store.engine(), &swapped, "user", &[("title", "mail"), ("mail", "title")], &[])?;
    same("rows", probe.all(&swapped)?, rows.clone())?;
    // One name is free only when another column has a new one.
    let renamed: &[(&str, &str)] = &[("mail", "title"), ("title", "note")];
    let moved = swapped
        .rename("user", |old| renamed.iter().find(|pair| pair.0 == old).map(|pair| pair.1))?;
    let moved = Arc::new(moved);
    alter(store.engine(), &moved, "user", renamed, &[])?;
    same("rows", probe.all(&moved)?, rows)
}

/// A foreign key follows the new names of the table and the column that it references.
pub fn foreign_keys_follow_new_names(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !can_alter(store.engine())? {
        return Ok(());
    }
    let (team, player) = (tables::team()?, tables::player(OnDelete::Cascade)?);
    match create(store.engine(), &[&team, &player]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        created => created?,
    }
    let probe = Probe::new(store.engine())?;
    probe.insert(&team, row![1, "red"])?;
    probe.insert(&player, row![1, "ada", 1])?;
    let club = named(&team, "club", &[("id", "number")])?;
    alter(store.engine(), &club, "team", &[("id", "number")], &[])?;
    let found = TableSchema::find_in(store.engine().tables()?, "player")?;
    let reference = found.columns().get(2).and_then(|column| column.reference.clone());
    let reference = reference.map(|to| (to.table.into_owned(), to.column.into_owned()));
    same("the reference", reference, Some(("club".to_owned(), "number".to_owned())))?;
    let player = Arc::new(found);
    let orphan = probe.insert(&player, row![2, "bob", 9]);
    fails("an orphan", orphan, ErrorKind::Constraint)?;
    drop_both(&probe, store.engine(), club, player)
}

/// The parent is dropped after the child.
fn drop_both(probe: &Probe<'_>, engine: &dyn Engine, club: Table, player: Table) -> Check {
    let referenced = engine.alter(&[SchemaChange::DropTable(Arc::clone(&club))]);
    fails("dropping a referenced table", referenced, ErrorKind::Constraint)?;
    probe.delete(&club, row![1])?;
    same("players", probe.count(&player)?, 0)?;
    engine.alter(&[SchemaChange::DropTable(player)])?;
    engine.alter(&[SchemaChange::DropTable(Arc::clone(&club))])?;
    same("tables", engine.tables()?.len(), 0)?;
    let missing = engine.alter(&[SchemaChange::DropTable(club)]);
    fails_in("a table that is not there", missing, ErrorKind::Schema, "club").map(drop)
}

/// Columns come and go; what is dropped must be named.
pub fn columns_are_dropped_and_added(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !can_alter(store.engine())? {
        return Ok(());
    }
    let person = tables::person()?;
    let probe = Probe::with_tables(store.engine(), &[&person])?;
    probe.insert_all(&person, [row![1, "ada", "a@x", 36], row![2, "bob", NULL, NULL]])?;
    let build = TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("name"))
        .column(ColumnSchema::of::<i64>("rank").default(7))
        .column(ColumnSchema::of::<Option<String>>("email"))
        .key(["id"])
        .index("person_rank", ["rank", "name"]);
    let table = Arc::new(build.build()?);
    let unnamed = change(store.engine(), &table, "person", &[], &[])?;
    fails_in("a column that is not named", unnamed, ErrorKind::Schema, "person")?;
    alter(store.engine(), &table, "person", &[("email", "email")], &["age"])?;
    let rows = vec![row![1, "ada", 7, "a@x"], row![2, "bob", 7, NULL]];
    same("rows", probe.all(&table)?, rows)?;
    // A new column with the name of the dropped one; the emails are not unique any more.
    let build = TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("rank").default("none"))
        .column(ColumnSchema::of::<Option<String>>("email"))
        .key(["id"]);
    let table = Arc::new(build.build()?);
    alter(store.engine(), &table, "person", &[("name", "rank")], &["rank"])?;
    same("rows", probe.all(&table)?, vec![row![1, "ada", "a@x"], row![2, "bob", NULL]])?;
    probe.insert(&table, row![3, "eve", "a@x"])?;
    // The last column alone.
    let build = TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("rank").default("none"))
        .key(["id"]);
    let table = Arc::new(build.build()?);
    alter(store.engine(), &table, "person", &[], &["email"])?;
    same("rows", probe.all(&table)?, vec![row![1, "ada"], row![2, "bob"], row![3, "eve"]])
}

/// NOT NULL, defaults, lengths, CHECKs, types, collations and unique values change in place.
pub fn rules_change(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !can_alter(store.engine())? {
        return Ok(());
    }
    let first = staff(|table| {
        table
            .column(ColumnSchema::of::<Option<String>>("name").max_chars(10))
            .column(ColumnSchema::of::<i16>("age").check("age >= 0"))
            .column(ColumnSchema::of::<Option<i64>>("pay").default(5))
            .column(ColumnSchema::of::<String>("code").max_chars(20).unique())
    })?;
    let probe = Probe::with_tables(store.engine(), &[&first])?;
    let rows = vec![row![1, "ada", 36, 7, "x"], row![2, "bob", 40, 8, "y"]];
    probe.insert_all(&first, rows.clone())?;
    let second = staff(|table| {
        table
            .column(ColumnSchema::of::<String>("name").max_chars(40).default("nobody"))
            .column(ColumnSchema::of::<i64>("age").check("age >= 18 AND pay > 0"))
            .column(ColumnSchema::of::<i64>("pay"))
            .column(ColumnSchema::of::<Option<String>>("code").max_chars(20))
            .unique_index("staff_name", ["name", "age"])
    })?;
    alter(store.engine(), &second, "staff", &[], &[])?;
    same("rows", probe.all(&second)?, rows.clone())?;
    let long = "a name of more than ten characters";
    probe.insert(&second, row![3, long, 1_000_000, 1, "x"])?;
    for (what, wrong, kind) in [
        ("a child", row![4, "tim", 17, 1, NULL], ErrorKind::Constraint),
        ("no name", row![4, NULL, 18, 1, NULL], ErrorKind::Constraint),
        ("no pay", row![4, "tim", 18, NULL, NULL], ErrorKind::Constraint),
        ("a namesake", row![4, "ada", 36, 1, NULL], ErrorKind::Duplicate),
    ] {
        fails_in(what, probe.insert(&second, wrong), kind, "staff")?;
    }
    probe.delete(&second, row![3])?;
    let third = staff(|table| {
        table
            .column(
                ColumnSchema::of::<Option<String>>("name")
                    .max_chars(3)
                    .collation(Collation::NoCase),
            )
            .column(ColumnSchema::of::<i64>("age"))
            .column(ColumnSchema::of::<Option<i64>>("pay").check("pay < 100"))
            .column(ColumnSchema::of::<Option<String>>("code").max_chars(20).unique())
            .index("staff_by_name", ["name"])
    })?;
    alter(store.engine(), &third, "staff", &[], &[])?;
    same("rows", probe.all(&third)?, rows)?;
    probe.insert(&third, row![3, NULL, -1, NULL, NULL])?;
    let found = probe.filter(&third, equal(1, "ADA"))?;
    same("by a text in another case", found, vec![row![1, "ada", 36, 7, "x"]])?;
    let dear = probe.insert(&third, row![4, "eve", 1, 100, NULL]);
    fails_in("too much", dear, ErrorKind::Constraint, "staff").map(drop)
}

/// Rows that break a new rule stop the change, which leaves everything as it was.
pub fn a_rule_that_rows_break_changes_nothing(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !can_alter(store.engine())? {
        return Ok(());
    }
    let text = || ColumnSchema::of::<Option<String>>("name").max_chars(40);
    let age = || ColumnSchema::of::<i64>("age");
    let table = staff(|table| table.column(text()).column(age()))?;
    let probe = Probe::with_tables(store.engine(), &[&table])?;
    let rows = vec![row![1, "a long name", 36], row![2, NULL, 36]];
    probe.insert_all(&table, rows.clone())?;
    let text = || ColumnSchema::of::<Option<String>>("name");
    for (what, to, kind) in [
        (
            "NOT NULL",
            staff(|t| t.column(text().nullable(false).max_chars(40)).column(age()))?,
            ErrorKind::Constraint,
        ),
        ("a length", staff(|t| t.column(text().max_chars(5)).column(age()))?, ErrorKind::TooLong),
        (
            "a check",
            staff(|t| t.column(text().max_chars(40)).column(age().check("age > 40")))?,
            ErrorKind::Constraint,
        ),
        (
            "unique",
            staff(|t| t.column(text().max_chars(40)).column(age().unique()))?,
            ErrorKind::Duplicate,
        ),
    ] {
        let rejected = change(store.engine(), &to, "staff", &[], &[])?;
        fails(what, rejected, kind)?;
        let found = TableSchema::find_in(store.engine().tables()?, "staff")?;
        same(what, found.columns(), table.columns())?;
        same("indexes", found.indexes().len(), 0)?;
        same("rows", probe.all(&table)?, rows.clone())?;
    }
    probe.insert(&table, row![3, "eve", 1]).map(drop)?;
    Ok(())
}

/// A foreign key is added to rows that keep it, changed, and removed.
pub fn foreign_keys_come_and_go(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !can_alter(store.engine())? {
        return Ok(());
    }
    let team = tables::team()?;
    let plain = staff(|table| table.column(ColumnSchema::of::<Option<i64>>("team")))?;
    let linked = |action| {
        let team = ColumnSchema::of::<Option<i64>>("team").references("team", "id", action);
        staff(|table| table.column(team))
    };
    let probe = Probe::with_tables(store.engine(), &[&team, &plain])?;
    probe.insert(&team, row![1, "red"])?;
    probe.insert_all(&plain, [row![1, 1], row![2, NULL], row![3, 9]])?;
    let (cascade, set_null) = (linked(OnDelete::Cascade)?, linked(OnDelete::SetNull)?);
    match change(store.engine(), &cascade, "staff", &[], &[])? {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let found = TableSchema::find_in(store.engine().tables()?, "staff")?;
            let created = create(store.engine(), &[&tables::player(OnDelete::Cascade)?]);
            fails("a foreign key", created, ErrorKind::Unsupported)?;
            return same("columns", found.columns(), plain.columns());
        }
        rejected => fails("an orphan", rejected, ErrorKind::Constraint)?,
    };
    probe.delete(&plain, row![3])?;
    alter(store.engine(), &cascade, "staff", &[], &[])?;
    fails("an orphan", probe.insert(&cascade, row![4, 9]), ErrorKind::Constraint)?;
    alter(store.engine(), &set_null, "staff", &[], &[])?;
    probe.delete(&team, row![1])?;
    same("rows", probe.all(&set_null)?, vec![row![1, NULL], row![2, NULL]])?;
    alter(store.engine(), &plain, "staff", &[], &[])?;
    probe.insert(&plain, row![4, 9])?;
    same("rows", probe.count(&plain)?, 3)
}

/// A change starts from the table that is there, and takes no other table's name.
pub fn a_change_of_another_table_is_rejected(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !can_alter(store.engine())? {
        return Ok(());
    }
    let (tag, mark) = (tables::tag()?, tables::mark()?);
    let label = named(&tag, "label", &[])?;
    let change = TableAlteration::new(Arc::clone(&tag), Arc::clone(&label), &[], &[])?;
    let change = [SchemaChange::AlterTable(Arc::new(change))];
    let missing = store.engine().alter(&change);
    fails_in("no such table", missing, ErrorKind::Schema, "tag")?;
    create(store.engine(), &[&tag, &mark])?;
    let taken = named(&tag, mark.name(), &[])?;
    let taken = TableAlteration::new(Arc::clone(&tag), taken, &[], &[])?;
    let taken = store.engine().alter(&[SchemaChange::AlterTable(Arc::new(taken))]);
    fails("a name that is taken", taken, ErrorKind::Schema)?;
    store.engine().alter(&change)?;
    let twice = store.engine().alter(&change);
    fails_in("a second time", twice, ErrorKind::Schema, "tag")?;
    // The engine has the column under another name meanwhile.
    let found = Arc::new(TableSchema::find_in(store.engine().tables()?, "label")?);
    let other = named(&found, "label", &[("weight", "size")])?;
    alter(store.engine(), &other, "label", &[("weight", "size")], &[])?;
    let stale = TableAlteration::new(Arc::clone(&found), found, &[], &[])?;
    let stale = store.engine().alter(&[SchemaChange::AlterTable(Arc::new(stale))]);
    fails("a table of another form", stale, ErrorKind::Schema).map(drop)
}

/// Inside a transaction a change is part of it, or is rejected.
pub fn a_change_rolls_back_with_its_transaction(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !can_alter(store.engine())? {
        return Ok(());
    }
    let tag = tables::tag()?;
    let probe = Probe::with_tables(store.engine(), &[&tag])?;
    probe.insert(&tag, row!["a", 1.5])?;
    let label = named(&tag, "label", &[("weight", "size")])?;
    let change =
        TableAlteration::new(Arc::clone(&tag), Arc::clone(&label), &[("weight", "size")], &[])?;
    let change = [SchemaChange::AlterTable(Arc::new(change))];
    probe.control(TransactionControl::Begin)?;
    let altered = probe.session.alter(&change);
    if probe.capabilities.implicit_ddl_commit {
        fails("in a transaction", altered, ErrorKind::Unsupported)?;
    } else {
        altered?;
        same("rows", probe.all(&label)?, vec![row!["a", 1.5]])?;
        probe.insert(&label, row!["b", NULL])?;
    }
    probe.control(TransactionControl::Rollback)?;
    same("rows", probe.all(&tag)?, vec![row!["a", 1.5]])
}

/// A tracked table changes as far as its log can follow.
pub fn a_tracked_table_keeps_its_log(harness: &dyn Harness) -> Check {
    let staff = |rank: bool| {
        staff(|table| {
            let table = table.column(ColumnSchema::of::<Option<String>>("name"));
            if rank { table.column(ColumnSchema::of::<Option<i64>>("rank")) } else { table }
        })
    };
    let table = staff(false)?;
    with(harness, &[&table], |probe| {
        let track = SchemaChange::Track { table: Arc::clone(&table), history: false };
        if !probe.capabilities.alter_table {
            return Ok(());
        }
        match probe.session.alter(&[track]) {
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
            tracked => tracked?,
        }
        probe.insert(&table, row![1, "ada"])?;
        let log = |probe: &Probe<'_>, table: &Table| -> Check<u64> {
            Ok(probe.count(&Arc::new(change_log::log_schema(table, false)?))? as u64)
        };
        same("changes", log(probe, &table)?, 1)?;
        let other = named(&table, "crew", &[("name", "title")])?;
        let rename = |from: &Table, to: &Table, columns: &[(&str, &str)]| {
            let change = TableAlteration::new(Arc::clone(from), Arc::clone(to), columns, &[])?;
            probe.session.alter(&[SchemaChange::AlterTable(Arc::new(change))])
        };
        rename(&table, &other, &[("name", "title")])?;
        let logged = log(probe, &other);
        if logged.is_err() {
            // A layer of the test kit stops tracking a table that changes.
            return Ok(rename(&other, &table, &[("title", "name")])?);
        }
        same("changes under another name", logged?, 1)?;
        probe.insert(&other, row![7, "kim"])?;
        rename(&other, &table, &[("title", "name")])?;
        probe.delete(&table, row![7])?;
        same("changes under the old name", log(probe, &table)?, 3)?;
        let dropped = probe.session.alter(&[SchemaChange::DropTable(Arc::clone(&table))]);
        fails_in("a drop", dropped, ErrorKind::Unsupported, "staff")?;
        let wider = staff(true)?;
        let change = TableAlteration::new(Arc::clone(&table), Arc::clone(&wider), &[], &[])?;
        probe.session.alter(&[SchemaChange::AlterTable(Arc::new(change))])?;
        probe.insert(&wider, row![2, "bob", 3])?;
        same("changes", log(probe, &wider)?, 4)?;
        let strict = staff(true)?.as_ref().clone().map_columns(|column| {
            if column.name == "name" { column.nullable(false) } else { column }
        })?;
        let strict = Arc::new(strict);
        let change = TableAlteration::new(wider, Arc::clone(&strict), &[], &[])?;
        probe.session.alter(&[SchemaChange::AlterTable(Arc::new(change))])?;
        probe.insert(&strict, row![3, "eve", NULL])?;
        same("changes", log(probe, &strict)?, 5)?;
        holds("the last is logged", probe.count(&strict)? == 3)
    })
}
