//! Random conditions: the rows that SQLite keeps are those of `Condition::evaluate`.

use crate::engine::Sqlite;
use crate::random::{Random, TEXTS, condition, filled, table, value};
use bobak_core::{
    ColumnSchema, Comparison, Condition, FieldSet, Row, Select, TableSchema, Type, Value, Verb,
};
use bobak_sql::{Dialect, create_table, insert, select};
use std::sync::Arc;

fn check(
    sqlite: &Sqlite,
    table: &Arc<TableSchema>,
    rows: &[Vec<Value<'static>>],
    condition: Condition,
) {
    let kept: Vec<_> = rows
        .iter()
        .filter(|row| condition.evaluate(table, &row.as_slice() as &dyn Row) == Some(true))
        .map(|row| row[..1].to_vec())
        .collect();
    let query = Select {
        columns: vec![bobak_core::Expr::Column(0)],
        condition: Some(condition),
        ..Select::all(table)
    };
    let statement = select(Dialect::Sqlite, &query);
    let found = sqlite.statement(&statement).unwrap();
    assert_eq!(found, kept, "{}\n{:?}", statement.text, statement.parameters);
}

#[test]
fn sqlite_keeps_the_rows_that_evaluate_keeps() {
    let mut random = Random(1);
    for _ in 0..20 {
        let (sqlite, table, rows) = filled(&mut random);
        for _ in 0..400 {
            let mut condition = condition(&mut random, 3);
            if random.below(2) == 0 {
                // What is unknown, and what is false, look the same without.
                condition = Condition::Not(Box::new(condition));
            }
            check(&sqlite, &table, &rows, condition);
        }
    }
}

#[test]
fn every_prefix_finds_what_begins_with_it() {
    let (sqlite, table, rows) = filled(&mut Random(2));
    for column in 0..9 {
        for prefix in TEXTS {
            let prefix = (*prefix).to_owned();
            check(&sqlite, &table, &rows, Condition::StartsWith { column, prefix });
        }
    }
}

#[test]
fn a_prefix_uses_the_index_of_a_binary_column() {
    let (sqlite, table, _) = filled(&mut Random(3));
    let condition = Condition::StartsWith { column: 1, prefix: "ab".to_owned() };
    let query = Select { condition: Some(condition), ..Select::all(&table) };
    let statement = select(Dialect::Sqlite, &query);
    let plan = sqlite
        .run(&format!("EXPLAIN QUERY PLAN {}", statement.text), &statement.parameters)
        .unwrap();
    assert!(format!("{plan:?}").contains("t_plain (plain>? AND plain<?)"), "{plan:?}");
}

#[test]
fn postgres_gets_a_long_list_as_an_array_that_an_index_can_use() {
    let columns = ["id", "order_id", "price"].map(|name| ColumnSchema::new(name, Type::I64));
    let table = TableSchema::builder("line").columns(columns.to_vec()).key(["id"]);
    let table = Arc::new(table.index("line_order", ["order_id"]).build().unwrap());
    let text = |column| {
        let values = (0..20).map(Value::Int).collect();
        let condition = Some(Condition::In { column, values });
        select(Dialect::Postgres, &Select { condition, ..Select::all(&table) }).text.to_string()
    };
    for (column, name) in [(0, "id"), (1, "order_id")] {
        assert!(text(column).contains(&format!("\"{name}\" = ANY ($1::int8[])")), "{name}");
    }
    assert!(text(2).contains("\"price\" IN (SELECT unnest($1::int8[]))"));
}

#[test]
fn long_lists_of_conditions_and_values_are_taken() {
    let (sqlite, table, rows) = filled(&mut Random(4));
    let equal = |id: usize| Condition::Compare {
        column: 0,
        comparison: Comparison::Equal,
        value: Value::Int(id as i64),
    };
    check(&sqlite, &table, &rows, Condition::Or((0..5_000).map(|id| equal(id * 3)).collect()));
    check(&sqlite, &table, &rows, Condition::And((0..5_000).map(|_| equal(7)).collect()));
    let nested = (0..1_500).fold(equal(7), |inner, _| Condition::And(vec![inner, equal(7)]));
    check(&sqlite, &table, &rows, nested);
    // More values than SQLite has parameters: the rest is in the text.
    for column in 0..9 {
        let random = &mut Random(5);
        let few = |random: &mut Random| (0..3).map(|_| value(random, column)).collect::<Vec<_>>();
        let values =
            std::iter::repeat_n(few(random), 11_000).flatten().chain(few(random)).collect();
        check(&sqlite, &table, &rows, Condition::In { column, values });
    }
    let values = (0..40_000).map(|at| format!("{at}\0'").into()).collect();
    let other = |column, comparison, text: &'static str| Condition::Compare {
        column,
        comparison,
        value: text.into(),
    };
    let parts = vec![
        Condition::In { column: 1, values },
        other(1, Comparison::NotEqual, "it's"),
        other(1, Comparison::NotEqual, "a\0b"),
        // Where any class may be: no number is greater than a text.
        other(7, Comparison::Greater, "\0"),
    ];
    check(&sqlite, &table, &rows, Condition::Or(parts));
}

#[test]
fn texts_go_on_after_a_nul() {
    let (sqlite, table) = (Sqlite::new(), table());
    sqlite.execute(&create_table(Dialect::Sqlite, &table).unwrap()[0]).unwrap();
    let text = insert(Dialect::Sqlite, &table, Verb::Insert, FieldSet::EMPTY, 1, false);
    let texts = ["", "\0", "a", "a\0", "a\0b", "a\0c", "A\0B", "b"];
    let mut rows = Vec::new();
    for (id, text_) in texts.into_iter().enumerate() {
        let mut row = vec![Value::Null; 9];
        row[0] = Value::Int(id as i64);
        // SQLite's own NOCASE and LIKE stop at a NUL: there is none for them here.
        for place in [1, 3, 7] {
            row[place] = text_.into();
        }
        sqlite.run(&text, &row).unwrap();
        rows.push(row);
    }
    for column in [1, 3, 7] {
        for text in texts {
            let value: Value<'static> = text.into();
            for comparison in [Comparison::Equal, Comparison::Less, Comparison::GreaterOrEqual] {
                let value = value.clone();
                let condition = Condition::Compare { column, comparison, value };
                check(&sqlite, &table, &rows, condition);
            }
            let prefix = text.to_owned();
            check(&sqlite, &table, &rows, Condition::StartsWith { column, prefix });
            check(
                &sqlite,
                &table,
                &rows,
                Condition::In { column, values: vec![value, "a\0".into()] },
            );
        }
    }
}
