//! Tables are created and extended, and described as they were created.

use super::with;
use crate::{
    Check, Entry, Harness, NULL, Probe, Table, create, fails, fails_in, holds, row, same, tables,
};
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, OnDelete, SchemaChange, TableSchema, TableSchemaBuilder, Verb,
};
use std::sync::Arc;

fn is_there(engine: &dyn Engine, table: &Table) -> Check<bool> {
    let found = engine.tables()?;
    Ok(found.iter().any(|there| there.name() == table.name()))
}

fn found_as(engine: &dyn Engine, table: &Table) -> Check {
    let found = engine.tables()?;
    let Some(found) = found.iter().find(|found| found.name() == table.name()) else {
        return holds(&format!("table {} is there", table.name()), false);
    };
    same("columns", found.columns(), table.columns())?;
    same("key", found.key(), table.key())?;
    same("key generation", found.key_generation(), table.key_generation())?;
    same("indexes", found.indexes(), table.indexes())?;
    holds("the description is the same", found.same_as(table))
}

/// A table with one more column or index.
fn grown(
    table: &Table,
    grow: impl FnOnce(TableSchemaBuilder) -> TableSchemaBuilder,
) -> Check<Table> {
    let mut builder = TableSchema::builder(table.name().to_owned());
    for column in table.columns() {
        builder = builder.column(column.clone());
    }
    let name = |place: &usize| table.columns().get(*place).map(|c| c.name.clone());
    let key: Vec<_> = table.key().iter().filter_map(name).collect();
    Ok(Arc::new(grow(builder.key(key)).build()?))
}

fn add_column(table: &Table) -> SchemaChange {
    SchemaChange::AddColumn { table: Arc::clone(table), column: table.columns().len() - 1 }
}

fn add_index(table: &Table) -> SchemaChange {
    SchemaChange::AddIndex { table: Arc::clone(table), index: table.indexes().len() - 1 }
}

/// A new store has no table.
pub fn a_new_store_is_empty(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    same("tables", store.engine().tables()?.len(), 0)?;
    holds("the engine has a name", !store.engine().name().is_empty())
}

/// Every kind of table is described as it was created.
pub fn tables_come_back_as_they_were_made(harness: &dyn Harness) -> Check {
    let capabilities = harness.fresh()?.engine().capabilities();
    for table in [
        tables::person()?,
        tables::document()?,
        tables::tag()?,
        tables::device()?,
        tables::seat()?,
        tables::mark()?,
        tables::word()?,
        tables::slot()?,
        tables::every_type(capabilities)?,
    ] {
        let store = harness.fresh()?;
        create(store.engine(), &[&table])?;
        found_as(store.engine(), &table)?;
    }
    Ok(())
}

/// So are defaults, checks, lengths, roles, text forms and foreign keys.
pub fn rules_come_back_as_they_were_made(harness: &dyn Harness) -> Check {
    let team = tables::team()?;
    let table = Arc::new(
        TableSchema::builder("detail")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<String>("title").max_chars(40).default("it's"))
            .column(ColumnSchema::of::<Option<f64>>("rate").default(-0.5))
            .column(ColumnSchema::of::<i64>("big").default(bobak_core::Value::Int(i64::MIN)))
            .column(ColumnSchema::of::<Vec<u8>>("bytes").default(vec![0_u8, 255]))
            .column(ColumnSchema::of::<bobak_core::Date>("day").as_text())
            .column(ColumnSchema::of::<bobak_core::Currency>("price"))
            .column(
                ColumnSchema::of::<bobak_core::Timestamp>("made")
                    .role(bobak_core::ColumnRole::CreatedAt),
            )
            .column(
                ColumnSchema::of::<bobak_core::Timestamp>("seen")
                    .role(bobak_core::ColumnRole::ModifiedAt),
            )
            .column(ColumnSchema::of::<i64>("version").role(bobak_core::ColumnRole::Version))
            .column(ColumnSchema::of::<Option<i64>>("team").references(
                "team",
                "id",
                OnDelete::SetNull,
            ))
            .key(["id"])
            .given_key()
            .index("detail_price", ["price", "rate"])
            .unique_index("detail_day", ["day", "title"])
            .build()?,
    );
    let store = harness.fresh()?;
    match create(store.engine(), &[&team, &table]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        other => other?,
    }
    found_as(store.engine(), &table)?;
    let bill = tables::bill()?;
    match create(store.engine(), &[&bill]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        other => other?,
    }
    found_as(store.engine(), &bill)
}

/// Names may contain any characters and SQL keywords.
pub fn names_may_be_strange(harness: &dyn Harness) -> Check {
    let table = Arc::new(
        TableSchema::builder("order \"of\" things; -- ü")
            .column(ColumnSchema::of::<i64>("select"))
            .column(ColumnSchema::of::<Option<String>>("it's a ?1 \"name\""))
            .column(ColumnSchema::of::<Option<i64>>("[group]`by`"))
            .key(["select"])
            .unique_index("the \"index\"", ["it's a ?1 \"name\"", "[group]`by`"])
            .build()?,
    );
    if let Some(check) = rejected_by_limits(harness, &table)? {
        return check;
    }
    with(harness, &[&table], |probe| {
        probe.insert(&table, row![1, "x", 1])?;
        let again = probe.insert(&table, row![NULL, "x", 1]);
        fails_in("a second one", again, ErrorKind::Duplicate, table.name())?;
        probe.write(&table, Verb::Upsert, row![1, "y", 2])?;
        probe.update(&table, row![1, "z", 3])?;
        same("rows", probe.all(&table)?, vec![row![1, "z", 3]])?;
        let strange = super::equal(1, "z");
        same("deleted", probe.delete_where(&table, Some(strange))?, 1)
    })
}

/// If an engine has limited values: whether it rejects a table.
fn rejected_by_limits(harness: &dyn Harness, table: &crate::Table) -> Check<Option<Check>> {
    let store = harness.fresh()?;
    if !store.engine().capabilities().limited_values {
        return Ok(None);
    }
    let created = create(store.engine(), &[table]);
    Ok(Some(fails_in("its limits", created, ErrorKind::Unsupported, table.name()).map(drop)))
}

/// A table may have 256 columns.
pub fn a_table_may_have_256_columns(harness: &dyn Harness) -> Check {
    let columns = (1..256).map(|n| ColumnSchema::of::<Option<i64>>(format!("c{n}")));
    let builder = TableSchema::builder("wide").column(ColumnSchema::of::<i64>("id")).key(["id"]);
    let table = Arc::new(columns.fold(builder, TableSchemaBuilder::column).build()?);
    let values = |id: i64| -> crate::Values {
        let rest = (1..256_i64).map(|n| bobak_core::Value::Int(n * id));
        std::iter::once(bobak_core::Value::Int(id)).chain(rest).collect()
    };
    if let Some(check) = rejected_by_limits(harness, &table)? {
        return check;
    }
    with(harness, &[&table], |probe| {
        probe.insert(&table, values(1))?;
        let many: Vec<_> = (2..300).map(|id| Entry::insert(&table, values(id))).collect();
        probe.batch(&many, bobak_core::OnError::Stop).outcomes()?;
        probe.update(&table, values(1))?;
        let all: Vec<_> = (1..300).map(values).collect();
        same("rows", probe.all(&table)?, all)
    })
}

/// The name of an index may be that of another table, or of another table's index: where they share one
/// name space, an error would reveal tables that a client may not see.
pub fn names_of_indexes_belong_to_their_table(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let table = |name: &str| {
        let table = TableSchema::builder(name.to_owned()).column(ColumnSchema::of::<i64>("id"));
        table.column(ColumnSchema::of::<Option<String>>("title").max_chars(40)).key(["id"])
    };
    let team = Arc::new(table("team").index("by_title", ["title"]).build()?);
    let player = Arc::new(
        table("player")
            .index("by_title", ["title", "id"])
            .unique_index("team", ["title"])
            .index("player", ["title"])
            .build()?,
    );
    create(store.engine(), &[&team, &player])?;
    found_as(store.engine(), &team)?;
    found_as(store.engine(), &player)?;
    let thing = Arc::new(table("thing").build()?);
    create(store.engine(), &[&thing])?;
    let one = grown(&thing, |b| b.unique_index("by_title", ["title"]))?;
    store.engine().alter(&[add_index(&one)])?;
    let two = Arc::new(
        table("thing").unique_index("by_title", ["title"]).index("player", ["title"]).build()?,
    );
    store.engine().alter(&[add_index(&two)])?;
    found_as(store.engine(), &two)?;
    let again = store.engine().alter(&[add_index(&two)]);
    let message = again.as_ref().map_err(ToString::to_string);
    holds("the index's own name", message.is_err_and(|text| !text.contains("bobak_index")))?;
    fails_in("the same index twice", again, ErrorKind::Schema, "thing")?;
    let probe = Probe::new(store.engine())?;
    for table in [&player, &two] {
        probe.insert(table, row![1, "x"])?;
        let again = probe.insert(table, row![2, "x"]);
        fails_in("a duplicate", again, ErrorKind::Duplicate, table.name())?;
    }
    Ok(())
}

/// Indexes over many texts without limits, with names longer than those of a server.
pub fn indexes_may_be_wide_and_have_long_names(harness: &dyn Harness) -> Check {
    const COLUMNS: [&str; 5] = ["scheme", "host", "path", "purpose", "digest"];
    let once = format!("{}_unique", COLUMNS.join("_").repeat(3));
    let all = format!("{}_index", COLUMNS.join("_").repeat(3));
    let name = "resource_of_the_network_with_a_long_name";
    let store = harness.fresh()?;
    let table = || {
        let mut table = TableSchema::builder(name).column(ColumnSchema::of::<i64>("id"));
        for column in COLUMNS {
            table = table.column(ColumnSchema::of::<String>(column));
        }
        let title = ColumnSchema::of::<Option<String>>("title_by_which_it_is_found").max_chars(9);
        table.column(title.unique()).key(["id"]).index("by_host", ["host"])
    };
    let plain = Arc::new(table().index(all.clone(), COLUMNS).build()?);
    if let Some(check) = rejected_by_limits(harness, &plain)? {
        return check;
    }
    create(store.engine(), &[&plain])?;
    found_as(store.engine(), &plain)?;
    let table = Arc::new(table().index(all, COLUMNS).unique_index(once, COLUMNS).build()?);
    store.engine().alter(&[add_index(&table)])?;
    found_as(store.engine(), &table)?;
    let again = store.engine().alter(&[add_index(&table)]);
    fails_in("the same index twice", again, ErrorKind::Schema, name)?;
    let probe = Probe::new(store.engine())?;
    probe.insert(&table, row![1, "https", "a.example", "/", "x", "y", "t"])?;
    let again = probe.insert(&table, row![2, "https", "a.example", "/", "x", "y", "u"]);
    fails_in("a duplicate", again, ErrorKind::Duplicate, name)?;
    let again = probe.insert(&table, row![2, "https", "a.example", "/", "x", "z", "t"]);
    fails_in("a duplicate title", again, ErrorKind::Duplicate, name)?;

    let other = harness.fresh()?;
    create(other.engine(), &[&table])?;
    found_as(other.engine(), &table)
}

/// Creating an existing table fails.
pub fn a_table_is_created_once(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let table = tables::person()?;
    create(store.engine(), &[&table])?;
    let again = create(store.engine(), &[&tables::person()?]);
    fails_in("a second time", again, ErrorKind::Schema, "person")?;
    same("tables", store.engine().tables()?.len(), 1)
}

/// A failed list of changes leaves nothing, including the changes before the failure.
pub fn changes_are_made_all_or_none(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let (person, tag) = (tables::person()?, tables::tag()?);
    let twice = create(store.engine(), &[&tag, &person, &person]);
    fails("a table twice", twice, ErrorKind::Schema)?;
    same("tables", store.engine().tables()?.len(), 0)?;
    create(store.engine(), &[&tag])?;
    let with_note = grown(&tag, |b| b.column(ColumnSchema::of::<Option<i64>>("note")))?;
    let changes = [add_column(&with_note), SchemaChange::CreateTable(Arc::clone(&tag))];
    let failed = store.engine().alter(&changes);
    fails("a column, then a table that is there", failed, ErrorKind::Schema)?;
    found_as(store.engine(), &tag)?;
    let probe = Probe::new(store.engine())?;
    probe.insert(&tag, row!["a", 1.5])?;
    same("rows", probe.all(&tag)?, vec![row!["a", 1.5]])
}

/// Existing rows get the default of a new column.
pub fn an_added_column_gives_old_rows_its_default(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let tag = tables::tag()?;
    let probe = Probe::with_tables(store.engine(), &[&tag])?;
    probe.insert(&tag, row!["old", 1.5])?;
    let note = |name: &'static str, text| ColumnSchema::of::<String>(name).default(text);
    let step1 = grown(&tag, |b| b.column(note("note", "é ☕ 'x'")).column(note("path", "C:\\é")))?;
    let columns =
        [2, 3].map(|column| SchemaChange::AddColumn { table: Arc::clone(&step1), column });
    store.engine().alter(&columns)?;
    let step2 = grown(&step1, |b| b.column(ColumnSchema::of::<Option<i64>>("hits").default(7)))?;
    store.engine().alter(&[add_column(&step2)])?;
    found_as(store.engine(), &step2)?;
    let old = row!["old", 1.5, "é ☕ 'x'", "C:\\é", 7];
    same("rows", probe.all(&step2)?, vec![old.clone()])?;
    let new = row!["new", NULL, "", "", NULL];
    probe.insert(&step2, new.clone())?;
    let kept = probe.filter(&step2, super::equal(4, 7))?;
    same("the default is found by a condition", kept, vec![old])?;
    same("by key", probe.get(&step2, row!["new"])?, Some(new))
}

/// Without a default they get NULL, or the type's empty value if the column is NOT NULL.
pub fn an_added_column_without_a_default_is_null_or_empty(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let tag = tables::tag()?;
    let probe = Probe::with_tables(store.engine(), &[&tag])?;
    probe.insert(&tag, row!["old", NULL])?;
    let mut table = tag;
    for column in [
        ColumnSchema::of::<Option<String>>("maybe"),
        ColumnSchema::of::<i64>("number"),
        ColumnSchema::of::<f64>("float"),
        ColumnSchema::of::<String>("text"),
        ColumnSchema::of::<Vec<u8>>("bytes"),
    ] {
        table = grown(&table, |b| b.column(column))?;
        store.engine().alter(&[add_column(&table)])?;
    }
    let old = row!["old", NULL, NULL, 0, 0.0, "", Vec::<u8>::new()];
    same("rows", probe.all(&table)?, vec![old])?;
    let null = probe.insert(&table, row!["new", NULL, NULL, NULL, 0.0, "", vec![1_u8]]);
    fails_in("NULL in it", null, ErrorKind::Constraint, "tag")?;
    Ok(())
}

/// A column can be added once, to an existing table.
pub fn a_wrong_column_is_rejected(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let tag = tables::tag()?;
    let with_note = grown(&tag, |b| b.column(ColumnSchema::of::<Option<i64>>("note")))?;
    let missing = store.engine().alter(&[add_column(&with_note)]);
    fails_in("no such table", missing, ErrorKind::Schema, "tag")?;
    create(store.engine(), &[&tag])?;
    store.engine().alter(&[add_column(&with_note)])?;
    let again = store.engine().alter(&[add_column(&with_note)]);
    fails_in("a second time", again, ErrorKind::Schema, "tag")?;
    found_as(store.engine(), &with_note)
}

/// An index changes no row; a unique index is enforced from then on.
pub fn an_index_is_added_to_a_full_table(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let tag = tables::tag()?;
    let probe = Probe::with_tables(store.engine(), &[&tag])?;
    let rows = || (0..50).map(|n| row![format!("t{n:02}"), f64::from(n % 25)]);
    probe.insert_all(&tag, rows())?;
    let indexed = grown(&tag, |b| b.index("tag_weight", ["weight"]))?;
    store.engine().alter(&[add_index(&indexed)])?;
    found_as(store.engine(), &indexed)?;
    let found = probe.filter(&indexed, super::equal(1, 3.0))?;
    same("by index", found, vec![row!["t03", 3.0], row!["t28", 3.0]])?;
    let again = store.engine().alter(&[add_index(&indexed)]);
    fails("a second time", again, ErrorKind::Schema)?;
    probe.delete_where(
        &indexed,
        Some(super::compare(0, bobak_core::Comparison::GreaterOrEqual, "t25")),
    )?;
    let unique = grown(&tag, |b| {
        b.index("tag_weight", ["weight"]).unique_index("tag_weight_once", ["weight"])
    })?;
    store.engine().alter(&[add_index(&unique)])?;
    found_as(store.engine(), &unique)?;
    let twice = probe.insert(&unique, row!["x", 3.0]);
    fails_in("a duplicate", twice, ErrorKind::Duplicate, "tag")?;
    probe.insert(&unique, row!["x", NULL])?;
    same("rows", probe.count(&unique)?, 26)
}

/// A unique index on duplicate rows fails, and leaves nothing.
pub fn a_unique_index_over_duplicates_is_rejected(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let tag = tables::tag()?;
    let probe = Probe::with_tables(store.engine(), &[&tag])?;
    probe.insert_all(&tag, [row!["a", 1.0], row!["b", 1.0]])?;
    let unique = grown(&tag, |b| b.unique_index("once", ["weight"]))?;
    let rejected = store.engine().alter(&[add_index(&unique)]);
    fails("a unique index over duplicates", rejected, ErrorKind::Duplicate)?;
    found_as(store.engine(), &tag)?;
    probe.insert(&tag, row!["c", 1.0])?;
    same("rows", probe.count(&tag)?, 3)
}

/// Open sessions see a table that another session created.
pub fn open_sessions_see_changes(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let (tag, mark) = (tables::tag()?, tables::mark()?);
    let probe = Probe::with_tables(store.engine(), &[&tag])?;
    probe.insert(&tag, row!["a", NULL])?;
    holds("not there yet", !is_there(store.engine(), &mark)?)?;
    create(store.engine(), &[&mark])?;
    probe.insert(&mark, row![1, 2])?;
    let wider = grown(&tag, |b| b.column(ColumnSchema::of::<Option<i64>>("note")))?;
    store.engine().alter(&[add_column(&wider)])?;
    probe.insert(&wider, row!["b", NULL, 5])?;
    let rows = vec![row!["a", NULL, NULL], row!["b", NULL, 5]];
    same("rows", probe.all(&wider)?, rows)
}
