//! What aggregates, groups, changes and verbs give on a real engine.

use crate::engine::{Rows, Sqlite};
use crate::tables;
use bobak_core::{
    Assign, BulkChange, Collation, ColumnSchema, Currency, Expr, FieldSet, Order, Select,
    TableSchema, Type, Value, Verb,
};
use bobak_sql::{Dialect, change, create_table, delete, get, insert, select, update};
use std::sync::Arc;

const SQLITE: Dialect = Dialect::Sqlite;

fn create(table: &TableSchema) -> Sqlite {
    let sqlite = Sqlite::new();
    for text in create_table(SQLITE, table).unwrap() {
        sqlite.execute(&text).unwrap();
    }
    sqlite
}

/// Integers and texts as a row.
macro_rules! row {
    ($($value:expr),*) => {
        [$(Value::from($value)),*]
    };
}

fn people() -> (Sqlite, Arc<TableSchema>) {
    let table = tables::person();
    let sqlite = create(&table);
    let text = insert(SQLITE, &table, Verb::Insert, FieldSet::EMPTY, 2, false);
    let two = row![1, "a@b", 30, 15_000_i64, 1, 2, "c@d", None::<i64>, 20_000_i64, 1];
    sqlite.run(&text, &two).unwrap();
    (sqlite, table)
}

fn all(sqlite: &Sqlite, table: &Arc<TableSchema>) -> Rows {
    sqlite.statement(&select(SQLITE, &Select::all(table))).unwrap()
}

#[test]
fn or_ignore_ignores_duplicates_only() {
    let (sqlite, table) = people();
    let text = insert(SQLITE, &table, Verb::InsertOrIgnore, FieldSet::EMPTY, 1, false);
    let before = all(&sqlite, &table);
    sqlite.run(&text, &row![1, "new", 1, 1, 1]).unwrap();
    sqlite.run(&text, &row![9, "A@B", 1, 1, 1]).unwrap();
    assert_eq!(all(&sqlite, &table), before);
    let null = sqlite.run(&text, &row![9, None::<i64>, 1, 1, 1]).unwrap_err();
    assert!(null.contains("NOT NULL"), "{null}");
    let check = sqlite.run(&text, &row![9, "new", -1, 1, 1]).unwrap_err();
    assert!(check.contains("CHECK"), "{check}");
    let visits = tables::visit();
    for text in create_table(SQLITE, &visits).unwrap() {
        sqlite.execute(&text).unwrap();
    }
    let text = insert(SQLITE, &visits, Verb::InsertOrIgnore, FieldSet::EMPTY, 1, false);
    let visit = row!["2024-02-29", 77, None::<i64>, "x"];
    let foreign = sqlite.run(&text, &visit).unwrap_err();
    assert!(foreign.contains("FOREIGN KEY"), "{foreign}");
}

#[test]
fn or_replace_deletes_what_is_in_the_way() {
    let (sqlite, table) = people();
    let text = insert(SQLITE, &table, Verb::InsertOrReplace, FieldSet::EMPTY, 1, false);
    sqlite.run(&text, &row![1, "C@D", 9, 8, 7]).unwrap();
    assert_eq!(all(&sqlite, &table), [row![1, "C@D", 9, 8, 7]]);
}

#[test]
fn upsert_updates_on_the_key_only_and_raises_the_version() {
    let (sqlite, table) = people();
    let fields = FieldSet::from_iter([1, 2]);
    let text = insert(SQLITE, &table, Verb::Upsert, fields, 1, false);
    // The same unique value as before is no obstacle; another row's is.
    sqlite.run(&text, &row![1, "A@b", 31, 5, 5]).unwrap();
    sqlite.run(&text, &row![3, "new", 1, 2, 3]).unwrap();
    for row in [row![4, "c@d", 1, 1, 1], row![1, "c@d", 1, 1, 1]] {
        let error = sqlite.run(&text, &row).unwrap_err();
        assert!(error.contains("UNIQUE constraint failed: person.email"), "{error}");
    }
    let rows = all(&sqlite, &table);
    assert_eq!(rows[0], row![1, "A@b", 31, 15_000_i64, 2]);
    assert_eq!(rows[2], row![3, "new", 1, 2, 3]);
    let nothing = insert(SQLITE, &table, Verb::Upsert, FieldSet::EMPTY, 1, false);
    sqlite.run(&nothing, &row![1, "zzz", 0, 0, 0]).unwrap();
    assert_eq!(all(&sqlite, &table)[0], row![1, "A@b", 31, 15_000_i64, 3]);
}

#[test]
fn the_engine_makes_keys_also_where_there_is_nothing_else() {
    let (sqlite, table) = people();
    let text = insert(SQLITE, &table, Verb::Insert, FieldSet::EMPTY, 2, true);
    sqlite.run(&text, &row!["e", 1, 1, 1, "f", 1, 1, 1]).unwrap();
    assert_eq!(all(&sqlite, &table)[3][0], Value::Int(4));
    let table = tables::only_key();
    let sqlite = create(&table);
    let text = insert(SQLITE, &table, Verb::Insert, FieldSet::EMPTY, 3, true);
    sqlite.run(&text, &[]).unwrap();
    let upsert = insert(SQLITE, &table, Verb::Upsert, FieldSet::EMPTY, 1, false);
    sqlite.run(&upsert, &row![3]).unwrap();
    assert_eq!(all(&sqlite, &table), [row![1], row![2], row![3]]);
}

#[test]
fn an_update_asks_for_the_version_and_raises_it() {
    let (sqlite, table) = people();
    let text = update(SQLITE, &table, FieldSet::from_iter([3, 2]));
    sqlite.run(&text, &row![50, 60, 1, 1]).unwrap();
    sqlite.run(&text, &row![70, 80, 1, 1]).unwrap();
    assert_eq!(all(&sqlite, &table)[0], row![1, "a@b", 50, 60, 2]);
    sqlite.run(&update(SQLITE, &table, FieldSet::EMPTY), &row![1, 2]).unwrap();
    let found = sqlite.run(&get(SQLITE, &table), &row![1]).unwrap();
    assert_eq!(found, [row![1, "a@b", 50, 60, 3]]);
    sqlite.run(&delete(SQLITE, &table), &row![1]).unwrap();
    assert_eq!(all(&sqlite, &table).len(), 1);
}

/// Adds to a column of all rows.
fn add(
    sqlite: &Sqlite,
    table: &Arc<TableSchema>,
    column: usize,
    value: impl Into<Value<'static>>,
) -> Result<Rows, String> {
    let assigns = [Assign::Add { column, value: value.into() }];
    let change_all = BulkChange { table, condition: None, assign: Some(&assigns) };
    sqlite.statement(&change(SQLITE, &change_all))
}

#[test]
fn sums_that_do_not_fit_are_errors_and_change_nothing() {
    let (sqlite, table) = people();
    add(&sqlite, &table, 2, 97).unwrap();
    add(&sqlite, &table, 3, i64::MAX - 20_000).unwrap();
    let before = all(&sqlite, &table);
    assert_eq!(before[0], row![1, "a@b", 127, i64::MAX - 5_000, 3]);
    assert_eq!(before[1], row![2, "c@d", None::<i64>, i64::MAX, 3]);
    for (column, value) in [(2, 1), (2, -256), (3, 1), (3, i64::MAX)] {
        let error = add(&sqlite, &table, column, value).unwrap_err();
        assert!(error.contains("integer overflow"), "{error}");
        assert_eq!(all(&sqlite, &table), before);
    }
    // One below the smallest integer: as a float it would be the smallest itself.
    sqlite.execute("UPDATE person SET pay = -9223372036854775808").unwrap();
    add(&sqlite, &table, 3, -1).unwrap_err();
    add(&sqlite, &table, 3, None::<i64>).unwrap_err();
    add(&sqlite, &table, 2, None::<i64>).unwrap();
    let small = Value::Int(i64::MIN);
    assert!(all(&sqlite, &table).iter().all(|row| row[3] == small && row[2].is_null()));
}

#[test]
fn infinities_that_cancel_are_an_error_not_a_null() {
    let table = TableSchema::builder("t")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<f64>>("x"))
        .key(["id"]);
    let table = Arc::new(table.build().unwrap());
    let sqlite = create(&table);
    let text = insert(SQLITE, &table, Verb::Insert, FieldSet::EMPTY, 2, false);
    sqlite.run(&text, &row![1, 1.5, 2, None::<f64>]).unwrap();
    add(&sqlite, &table, 1, f64::INFINITY).unwrap();
    assert!(add(&sqlite, &table, 1, f64::NEG_INFINITY).is_err());
    assert_eq!(all(&sqlite, &table), [row![1, f64::INFINITY], row![2, None::<f64>]]);
}

#[test]
fn aggregates_have_their_types() {
    let (sqlite, table) = people();
    let exprs =
        [Expr::Count, Expr::CountOf(2), Expr::Sum(3), Expr::Avg(3), Expr::Avg(2), Expr::Min(1)];
    let query = Select { columns: exprs.to_vec(), order: Vec::new(), ..Select::all(&table) };
    let rows = sqlite.statement(&select(SQLITE, &query)).unwrap();
    assert_eq!(rows, [row![2, 1, 35_000_i64, 1.75, 30.0, "a@b"]]);
    assert_eq!(Currency::from_scaled(17_500).to_f64(), 1.75);
    sqlite.execute("DELETE FROM person").unwrap();
    let rows = sqlite.statement(&select(SQLITE, &query)).unwrap();
    let null = None::<i64>;
    assert_eq!(rows, [row![0, 0, null, null, null, null]]);
}

#[test]
fn a_group_shows_the_value_of_its_first_row_by_key() {
    // The key is a text, so that rows lie in the table in another order than by key.
    let text =
        |name: &'static str, collation| ColumnSchema::of::<String>(name).collation(collation);
    let table = TableSchema::builder("t")
        .column(text("c0", Collation::NoCase))
        .column(ColumnSchema::of::<i32>("c1"))
        .column(text("key", Collation::Binary))
        .column(ColumnSchema::new("any", Type::Any))
        .key(["key"]);
    let table = Arc::new(table.build().unwrap());
    let sqlite = create(&table);
    let text = insert(SQLITE, &table, Verb::Insert, FieldSet::EMPTY, 1, false);
    for row in [
        row!["b", 1, "5", 1],
        row!["A", 2, "4", 1.0],
        row!["a", 3, "3", 1],
        row!["B", 4, "2", 1.0],
        row!["b", 5, "1", 2],
        row!["a", 6, "9", 1.0],
    ] {
        sqlite.run(&text, &row).unwrap();
    }
    let by = |column, descending| Order { column, descending };
    let mut query = Select {
        columns: vec![Expr::Column(0), Expr::Count, Expr::Sum(1), Expr::Max(2)],
        group: vec![0],
        order: vec![by(0, true)],
        limit: Some(5),
        ..Select::all(&table)
    };
    let rows = sqlite.statement(&select(SQLITE, &query)).unwrap();
    assert_eq!(rows, [row!["b", 3, 10, "5"], row!["a", 3, 11, "9"]]);
    query.group = vec![0, 3];
    query.columns = vec![Expr::Column(3), Expr::Column(0), Expr::Count];
    query.order = vec![by(0, false), by(3, false)];
    let rows = sqlite.statement(&select(SQLITE, &query)).unwrap();
    assert_eq!(rows, [row![1, "a", 3], row![1.0, "B", 2], row![2, "b", 1]]);
}
