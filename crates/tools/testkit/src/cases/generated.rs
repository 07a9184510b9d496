//! Generated columns: every engine computes the same values, on every way to write.

use super::{NEW, ONE, made};
use crate::{Check, Entry, Harness, NULL, Probe, Table, Values, fails_in, holds, row, same};
use bobak_core::{
    Assign, ColumnSchema, Comparison, Condition, Currency, Engine, ErrorKind, Field, OnError,
    Result, SchemaChange, TableSchema, Timestamp, Type, Value, Verb,
};
use std::sync::Arc;

fn of(name: &'static str, ty: Type, expression: &'static str) -> ColumnSchema {
    ColumnSchema::new(name, ty).generated(expression)
}

fn column<F: Field>(name: &'static str) -> ColumnSchema {
    ColumnSchema::of::<F>(name)
}

/// Columns before, between and after the generated ones.
fn line() -> Result<Table> {
    let table = TableSchema::builder("line")
        .column(of("total", Type::Currency, "price * quantity"))
        .column(column::<i64>("id"))
        .column(column::<Currency>("price").check("total < 1000000"))
        .column(of("label", Type::Text, "upper(trim(name)) || '/' || lower(name)"))
        .column(column::<i32>("quantity"))
        .column(column::<String>("name"))
        .column(column::<Option<Timestamp>>("paid"))
        .column(of("open", Type::Bool, "paid is null"))
        .column(of("half", Type::I64, "quantity / 2 + 1"))
        .column(column::<f64>("rate"))
        .column(of("double", Type::F64, "rate * 2 + quantity"))
        .column(of("share", Type::I64, "100 / nullif(quantity, 7)").nullable(true))
        .key(["id"]);
    table.build().map(Arc::new)
}

/// A row to be written: what it has in generated columns is ignored.
fn given(id: i64, price: i64, quantity: i64, name: &'static str, rate: f64) -> Values {
    let (sevens, empty) = (77_777, "");
    row![sevens, id, price, empty, quantity, name, NULL, 0, sevens, rate, 0.5, NULL]
}

/// The same row as it is stored.
fn stored(id: i64, price: i64, quantity: i64, name: &'static str, rate: f64) -> Values {
    let label = format!("{}/{}", name.trim().to_ascii_uppercase(), name.to_ascii_lowercase());
    let share = if quantity == 7 || quantity == 0 { NULL } else { (100 / quantity).into() };
    let (total, half) = (price * quantity, quantity / 2 + 1);
    let double = rate * 2.0 + quantity as f64;
    row![total, id, price, label, quantity, name, NULL, 1, half, rate, double, share]
}

/// The store with the table; `None` if its engine has no generated columns and says so.
fn probe<'e>(engine: &'e dyn Engine, table: &Table) -> Check<Option<Probe<'e>>> {
    let promised = engine.capabilities().generated_columns;
    match Probe::with_tables(engine, &[table]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            holds("it says so", !promised)?;
            same("no table is left", engine.tables()?.len(), 0)?;
            Ok(None)
        }
        probe => {
            holds("it says so", promised)?;
            Ok(Some(probe?))
        }
    }
}

/// Single writes: inserts, updates, upserts, assignments.
pub fn generated_columns_follow_every_write(harness: &dyn Harness) -> Check {
    let (store, table) = (harness.fresh()?, line()?);
    let Some(probe) = probe(store.engine(), &table)? else { return Ok(()) };
    let found = TableSchema::find_in(store.engine().tables()?, "line")?;
    for (column, described) in found.columns().iter().zip(table.columns()) {
        let text = |column: &ColumnSchema, table: &TableSchema| column.generated_text(table);
        same(&column.name, text(column, &found), text(described, &table))?;
        same(&column.name, column.nullable, described.nullable)?;
    }
    same("made", probe.insert(&table, given(1, 15_000, 3, " Spade ", 0.1))?, NEW)?;
    same(
        "ignored",
        probe.write(&table, Verb::InsertOrIgnore, given(1, 1, 1, "x", 1.0))?,
        bobak_core::Outcome::Ignored,
    )?;
    same("one", probe.all(&table)?, vec![stored(1, 15_000, 3, " Spade ", 0.1)])?;
    same("updated", probe.update(&table, given(1, -5_000, 7, "Ünder", -1.5))?, ONE)?;
    same("one", probe.all(&table)?, vec![stored(1, -5_000, 7, "Ünder", -1.5)])?;
    same("upserted", probe.write(&table, Verb::Upsert, given(1, 1, 8, "c", 0.0))?, ONE)?;
    same("upserted", probe.write(&table, Verb::Upsert, given(2, 2, 9, "d", 0.25))?, NEW)?;
    probe.write(&table, Verb::InsertOrReplace, given(2, 3, 0, "e", 0.5))?;
    let rows = vec![stored(1, 1, 8, "c", 0.0), stored(2, 3, 0, "e", 0.5)];
    same("two", probe.all(&table)?, rows)?;
    generated_columns_follow_some_fields(&probe, &table)
}

/// Updates of some fields, and assignments, of two rows.
fn generated_columns_follow_some_fields(probe: &Probe<'_>, table: &Table) -> Check {
    let some = Entry::new(table, Verb::Update, given(2, 10_000, 99, "ignored", 9.0)).fields(&[2]);
    same("one field", probe.send(&some)?, ONE)?;
    let set = [Assign::Set { column: 4, value: 5.into() }];
    same("assigned", probe.change(table, None, &set)?, 2)?;
    let rows = vec![stored(1, 1, 5, "c", 0.0), stored(2, 10_000, 5, "e", 0.5)];
    same("both", probe.all(table)?, rows)?;
    let condition =
        Condition::Compare { column: 0, comparison: Comparison::Greater, value: 40_000.into() };
    same(
        "by a generated column",
        probe.filter(table, condition)?,
        vec![stored(2, 10_000, 5, "e", 0.5)],
    )
}

/// Batches, small and large, of all verbs.
pub fn generated_columns_follow_batches(harness: &dyn Harness) -> Check {
    let (store, table) = (harness.fresh()?, line()?);
    let Some(probe) = probe(store.engine(), &table)? else { return Ok(()) };
    let names = ["ax", "Bee", " c", "dD "];
    let values = |id: i64, step: i64| {
        let name = names.get(id as usize % 4).copied().unwrap_or_default();
        (id, id * step, id % 11, name, id as f64 / 4.0)
    };
    let entry =
        |verb: Verb, (id, price, quantity, name, rate): (i64, i64, i64, &'static str, f64)| {
            Entry::new(&table, verb, given(id, price, quantity, name, rate))
        };
    for (verb, step) in [
        (Verb::Insert, 3),
        (Verb::InsertOrIgnore, 5),
        (Verb::Update, 7),
        (Verb::Upsert, 9),
        (Verb::InsertOrReplace, 11),
    ] {
        let batch: Vec<Entry> = (1..=200).map(|id| entry(verb, values(id, step))).collect();
        probe.batch(&batch, OnError::Stop).outcomes()?;
        let step = if verb == Verb::InsertOrIgnore { 3 } else { step };
        let rows = (1..=200).map(|id| {
            let (id, price, quantity, name, rate) = values(id, step);
            stored(id, price, quantity, name, rate)
        });
        same(&format!("{verb:?}"), probe.all(&table)?, rows.collect())?;
    }
    generated_columns_with_generated_keys(&probe, &table)
}

fn generated_columns_with_generated_keys(probe: &Probe<'_>, table: &Table) -> Check {
    probe.delete_where(table, None)?;
    let mut row = given(0, 20_000, 2, "x", 0.0);
    if let Some(id) = row.get_mut(1) {
        *id = NULL;
    }
    let batch: Vec<Entry> = (0..100).map(|_| Entry::insert(table, row.clone())).collect();
    let outcomes = probe.batch(&batch, OnError::Stop).outcomes()?;
    if probe.capabilities.sequential_keys {
        same("keys", outcomes, (1..=100).map(made).collect())?;
    }
    let totals: Vec<_> =
        probe.all(table)?.into_iter().filter_map(|row| row.first().cloned()).collect();
    same("totals", totals, vec![40_000.into(); 100])
}

/// A value that its column can't hold is an error, and nothing is written.
pub fn generated_values_must_fit(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let table = TableSchema::builder("sums")
        .column(column::<i64>("id"))
        .column(column::<Option<i64>>("a"))
        .column(column::<i64>("b"))
        .column(of("product", Type::I64, "a * b").check("product <> 13"))
        .column(of("ratio", Type::I64, "100 / b"))
        .key(["id"]);
    let table = Arc::new(table.build()?);
    let Some(probe) = probe(store.engine(), &table)? else { return Ok(()) };
    let row = |a: bobak_core::Value<'static>, b: i64| row![1, a, b, 0, 0];
    probe.insert(&table, row(i64::MAX.into(), 1))?;
    for (what, a, b, kind) in [
        ("too large", i64::MAX.into(), 2, ErrorKind::OutOfRange),
        ("too small", i64::MIN.into(), 2, ErrorKind::OutOfRange),
        ("NULL", NULL, 2, ErrorKind::Constraint),
        ("a division by zero", 1.into(), 0, ErrorKind::Constraint),
        ("a check", 13.into(), 1, ErrorKind::Constraint),
    ] {
        let mut new = row(a.clone(), b);
        fails_in(what, probe.update(&table, new.clone()), kind, "sums")?;
        if let Some(id) = new.first_mut() {
            *id = 2.into();
        }
        fails_in(what, probe.insert(&table, new), kind, "sums")?;
    }
    same("rows", probe.all(&table)?, vec![row![1, i64::MAX, 1, i64::MAX, 100]])
}

/// A generated column is added to rows that exist, keeps up with renames, and is dropped.
pub fn generated_columns_come_and_go(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().generated_columns {
        return Ok(());
    }
    let start = || TableSchema::builder("item").column(column::<i64>("id"));
    let (price, pieces) = (column::<Currency>("price"), column::<i64>("pieces"));
    let plain = start().column(price.clone()).column(pieces.clone()).key(["id"]);
    let plain = Arc::new(plain.build()?);
    let probe = Probe::with_tables(store.engine(), &[&plain])?;
    probe.insert_all(&plain, [row![1, 10_000, 3], row![2, 5, 4]])?;
    let total = of("total", Type::Currency, "price * pieces");
    let wide = start()
        .column(price)
        .column(pieces)
        .column(total)
        .key(["id"])
        .index("item_total", ["total"]);
    let wide = Arc::new(wide.build()?);
    let add = SchemaChange::AddColumn { table: Arc::clone(&wide), column: 3 };
    let index = SchemaChange::AddIndex { table: Arc::clone(&wide), index: 0 };
    store.engine().alter(&[add, index])?;
    same("added", probe.all(&wide)?, vec![row![1, 10_000, 3, 30_000], row![2, 5, 4, 20]])?;
    let found = TableSchema::find_in(store.engine().tables()?, "item")?;
    same("the index", found.indexes().len(), 1)?;
    match store.engine().capabilities().alter_table {
        true => generated_columns_follow_names(store.engine(), &probe, &wide, found),
        false => Ok(()),
    }
}

/// A base column gets another name; then the generated column goes.
fn generated_columns_follow_names(
    engine: &dyn Engine,
    probe: &Probe<'_>,
    wide: &Table,
    found: TableSchema,
) -> Check {
    let renamed = Arc::new(wide.rename("goods", |name| (name == "pieces").then_some("count"))?);
    let change = bobak_core::TableAlteration::new(
        Arc::new(found),
        Arc::clone(&renamed),
        &[("pieces", "count")],
        &[],
    )?;
    engine.alter(&[SchemaChange::AlterTable(change.into())])?;
    probe.insert(&renamed, row![3, 7, 7, 0])?;
    let found = TableSchema::find_in(engine.tables()?, "goods")?;
    let texts = found.columns().iter().filter_map(|column| column.generated_text(&found));
    same("its expression", texts.collect::<Vec<_>>(), vec!["price * count".to_owned()])?;
    let columns = renamed.columns().iter().filter(|column| column.generated.is_none()).cloned();
    let narrow = TableSchema::builder("goods").columns(columns.collect());
    let narrow = Arc::new(narrow.key(["id"]).build()?);
    let change =
        bobak_core::TableAlteration::new(Arc::new(found), Arc::clone(&narrow), &[], &["total"])?;
    engine.alter(&[SchemaChange::AlterTable(change.into())])?;
    let rows = vec![row![1, 10_000, 3], row![2, 5, 4], row![3, 7, 7]];
    same("without it", probe.all(&narrow)?, rows)?;
    let is_there = engine.tables()?.iter().any(TableSchema::has_generated_columns);
    holds("the column is gone", !is_there)
}

/// Unique values of an expression, and of some rows only: NULLs are never equal.
pub fn unique_generated_columns(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let live = of("live_email", Type::Text, "iif(deleted, null, lower(email))");
    let table = TableSchema::builder("user")
        .column(column::<i64>("id"))
        .column(column::<String>("email").max_chars(80))
        .column(column::<bool>("deleted"))
        .column(live.nullable(true).unique())
        .key(["id"]);
    let table = Arc::new(table.build()?);
    let Some(probe) = probe(store.engine(), &table)? else { return Ok(()) };
    let user = |id: i64, email: &'static str, deleted: i64| row![id, email, deleted, NULL];
    probe.insert(&table, user(1, "Ada@x", 0))?;
    probe.insert(&table, user(2, "ada@x", 1))?;
    probe.insert(&table, user(3, "ADA@x", 1))?;
    let twice = probe.insert(&table, user(4, "aDA@x", 0));
    fails_in("a live one in other letters", twice, ErrorKind::Duplicate, "user")?;
    let ignored = probe.write(&table, Verb::InsertOrIgnore, user(4, "aDA@x", 0))?;
    same("ignored", ignored, bobak_core::Outcome::Ignored)?;
    for verb in [Verb::Update, Verb::Upsert] {
        let revived = probe.write(&table, verb, user(2, "ada@x", 0));
        fails_in("a second live one", revived, ErrorKind::Duplicate, "user")?;
    }
    unique_generated_columns_of_many_rows(&probe, &table)?;
    unique_generated_columns_in_batches(&probe, &table)?;
    probe.delete(&table, row![1])?;
    same("revived", probe.update(&table, user(2, "ada@x", 0))?, ONE)?;
    let found = TableSchema::find_in(store.engine().tables()?, "user")?;
    let column = found.column_at(3)?;
    holds("it is described", column.unique && column.generated.is_some())
}

fn unique_generated_columns_of_many_rows(probe: &Probe<'_>, table: &Table) -> Check {
    let user = |id: i64, email: &'static str, deleted: i64| row![id, email, deleted, NULL];
    let set = [Assign::Set { column: 2, value: 0.into() }];
    let revived = probe.change(table, None, &set);
    fails_in("all live", revived, ErrorKind::Duplicate, "user")?;
    let replaced = probe.write(table, Verb::InsertOrReplace, user(9, "ada@x", 0));
    fails_in("replaced", replaced, ErrorKind::Unsupported, "user")?;
    holds("no upsert by it", Verb::upsert_by(table, &[3]).is_err())
}

fn unique_generated_columns_in_batches(probe: &Probe<'_>, table: &Table) -> Check {
    let user = |id: i64, email: &'static str, deleted: i64| row![id, email, deleted, NULL];
    let batch: Vec<Entry> = (1..=60)
        .map(|at| user(at + 10, if at == 7 { "ADA@X" } else { "gone" }, i64::from(at != 7)))
        .map(|row| Entry::insert(table, row))
        .collect();
    let sent = probe.batch(&batch, OnError::Continue);
    sent.whole?;
    let failed: Vec<_> = (0..).zip(&sent.rows).filter(|(_, row)| row.is_err()).collect();
    same("one failed", failed.iter().map(|(at, _)| *at).collect(), vec![6])
}

/// The parts of documents, and what is no such part; the columns come to a table with rows, too.
pub fn generated_parts_of_documents(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().generated_columns {
        return Ok(());
    }
    let plain = TableSchema::builder("event")
        .column(column::<i64>("id"))
        .column(ColumnSchema::new("data", Type::Json).nullable(true))
        .column(column::<i64>("size"));
    let plain = Arc::new(plain.key(["id"]).build()?);
    let probe = Probe::with_tables(store.engine(), &[&plain])?;
    let documents = parts_of_documents();
    let ids = || 1_i64..;
    probe.insert_all(&plain, ids().zip(&documents).map(|(id, (text, _))| row![id, *text, id]))?;
    let part = |name, ty, text| of(name, ty, text).nullable(true);
    let mut columns = plain.columns().to_vec();
    columns.extend([
        part("name", Type::Text, "json_text(data, '$.user.\"the name\"')"),
        part("level", Type::I64, "json_integer(data, '$.\"level\"')"),
        part("rate", Type::F64, "json_float(data, '$.level')"),
        part("done", Type::Bool, "json_truth(data, '$.tags[1]')"),
        part("tags", Type::I64, "json_length(data, '$.tags')"),
        of("large", Type::Bool, "coalesce(json_integer(data, '$.level'), 0) > size"),
    ]);
    let wide = TableSchema::builder("event").columns(columns);
    let wide = Arc::new(wide.key(["id"]).index("event_level", ["level"]).build()?);
    let mut changes: Vec<_> =
        (3..9).map(|column| SchemaChange::AddColumn { table: Arc::clone(&wide), column }).collect();
    changes.push(SchemaChange::AddIndex { table: Arc::clone(&wide), index: 0 });
    store.engine().alter(&changes)?;
    let rows = ids().zip(documents).map(|(id, (text, mut parts))| {
        let is_large = matches!(parts.get(1), Some(Value::Int(level)) if *level > id);
        parts.splice(0..0, row![id, text, id]);
        parts.push(i64::from(is_large).into());
        parts
    });
    let rows: Vec<Values> = rows.collect();
    same("added", probe.all(&wide)?, rows.clone())?;
    parts_follow_writes(&probe, &wide, rows)?;
    let found = TableSchema::find_in(store.engine().tables()?, "event")?;
    for (column, described) in found.columns().iter().zip(wide.columns()) {
        let text = |column: &ColumnSchema, table: &TableSchema| column.generated_text(table);
        same(&column.name, text(column, &found), text(described, &wide))?;
    }
    same("the index", found.indexes().len(), 1)
}

/// Documents; their text, integer, float, truth value and length at paths.
fn parts_of_documents() -> Vec<(&'static str, Values)> {
    vec![
        (
            r#"{"user":{"the name":"Zo\u00eb \ud83d\ude00\n\""},"level":7,"tags":["a",true,null]}"#,
            row!["Zoë 😀\n\"", 7, 7.0, 1, 3],
        ),
        (r#"{"user":{"the name":"7"},"level":2.5,"tags":[[],false]}"#, row!["7", NULL, 2.5, 0, 2]),
        (
            r#"{"level":9223372036854775808,"tags":{"1":true}}"#,
            row![NULL, NULL, 9_223_372_036_854_775_808.0, NULL, NULL],
        ),
        (
            r#"{"level":-9223372036854775808,"tags":[]}"#,
            row![NULL, i64::MIN, -9_223_372_036_854_775_808.0, NULL, 0],
        ),
        (
            r#"{"level":12345678901234567890123,"tags":"x"}"#,
            row![NULL, NULL, 12_345_678_901_234_567_890_123.0, NULL, NULL],
        ),
        (r#"{"level":70e-1,"user":["the name"],"tags":[1,1]}"#, row![NULL, NULL, 7.0, NULL, 2]),
        (r#"{"level":-0,"user":"the name","tags":[1,"true"]}"#, row![NULL, NULL, 0.0, NULL, 2]),
        (r#"{"level":"7","user":{"the name":null}}"#, row![NULL, NULL, NULL, NULL, NULL]),
        (r#"[{"level":7},true]"#, row![NULL, NULL, NULL, NULL, NULL]),
        ("true", row![NULL, NULL, NULL, NULL, NULL]),
        (" null ", row![NULL, NULL, NULL, NULL, NULL]),
    ]
}

/// Inserts, updates, assignments, and a filter by the index.
fn parts_follow_writes(probe: &Probe<'_>, table: &Table, rows: Vec<Values>) -> Check {
    probe.delete_where(table, None)?;
    probe.insert_all(table, rows.clone())?;
    same("inserted", probe.all(table)?, rows.clone())?;
    let set = [Assign::Set { column: 1, value: NULL }];
    probe.change(table, None, &set)?;
    let nothing = rows.iter().map(|row| {
        row.first().map(|id| row![id.clone(), NULL, id.clone(), NULL, NULL, NULL, NULL, NULL, 0])
    });
    same("NULL", probe.all(table)?, nothing.flatten().collect())?;
    let batch: Vec<Entry> =
        rows.iter().map(|row| Entry::new(table, Verb::Update, row.clone())).collect();
    probe.batch(&batch, OnError::Stop).outcomes()?;
    same("updated", probe.all(table)?, rows.clone())?;
    let condition =
        Condition::Compare { column: 4, comparison: Comparison::Equal, value: 7.into() };
    same("by level", probe.filter(table, condition)?, rows.into_iter().take(1).collect())
}
