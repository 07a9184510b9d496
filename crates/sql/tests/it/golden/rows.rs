//! Statements that write rows, one by its key or many by a condition.

use super::{Texts, age};
use crate::tables::{only_key, person, visit};
use bobak_core::{Assign, BulkChange, Comparison, Condition, FieldSet, TableSchema, Value, Verb};
use bobak_sql::{change, delete, get, insert, update};
use std::sync::Arc;

#[test]
fn new_rows() {
    let fields = FieldSet::from_iter([1, 3]);
    let person_by = |verb, rows, without_key| {
        move |dialect| vec![insert(dialect, &person(), verb, fields, rows, without_key)]
    };
    Texts {
        sqlite: &[concat!(
            "INSERT INTO \"person\" (\"id\", \"email\", \"age\", \"pay\", \"version\") ",
            "VALUES (?, ?, ?, ?, ?)",
        )],
    }
    .check_prepared(person_by(Verb::Insert, 1, false));
    Texts {
        sqlite: &[concat!(
            "INSERT INTO \"person\" (\"email\", \"age\", \"pay\", \"version\") ",
            "VALUES (?, ?, ?, ?), (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        )],
    }
    .check_prepared(person_by(Verb::InsertOrIgnore, 2, true));
    Texts {
        sqlite: &[concat!(
            "INSERT OR REPLACE INTO \"person\" (\"id\", \"email\", \"age\", \"pay\", \"version\") ",
            "VALUES (?, ?, ?, ?, ?)",
        )],
    }
    .check_prepared(person_by(Verb::InsertOrReplace, 1, false));
    Texts {
        sqlite: &[concat!(
            "INSERT INTO \"person\" (\"id\", \"email\", \"age\", \"pay\", \"version\") ",
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT (\"id\") DO UPDATE SET ",
            "\"email\" = excluded.\"email\", \"pay\" = excluded.\"pay\", ",
            "\"version\" = CASE WHEN \"version\" < 9223372036854775807 THEN \"version\" + 1 ELSE abs(-9223372036854775808) END",
        )],
    }
    .check_prepared(person_by(Verb::Upsert, 1, false));
    Texts {
        sqlite: &[
            concat!(
                "INSERT INTO \"the \"\"visit\"\"\" (\"on\", \"person\", \"order\", \"note\") ",
                "VALUES (?, ?, ?, ?) ON CONFLICT (\"person\", \"on\") DO UPDATE SET ",
                "\"person\" = \"person\"",
            ),
            "INSERT INTO \"ticket\" (\"id\") VALUES (NULL), (NULL)",
        ],
    }
    .check_prepared(|dialect| {
        vec![
            insert(dialect, &visit(), Verb::Upsert, FieldSet::EMPTY, 1, false),
            insert(dialect, &only_key(), Verb::Insert, FieldSet::EMPTY, 2, true),
        ]
    });
}

#[test]
fn rows_by_key() {
    Texts {
        sqlite: &[
            concat!(
                "UPDATE \"person\" SET \"email\" = ?, \"pay\" = ?, \"version\" = CASE WHEN \"version\" < 9223372036854775807 THEN \"version\" + 1 ELSE abs(-9223372036854775808) END ",
                "WHERE \"id\" = ? AND \"version\" = ?",
            ),
            concat!(
                "UPDATE \"person\" SET \"version\" = CASE WHEN \"version\" < 9223372036854775807 THEN \"version\" + 1 ELSE abs(-9223372036854775808) END ",
                "WHERE \"id\" = ? AND \"version\" = ?",
            ),
            "UPDATE \"the \"\"visit\"\"\" SET \"note\" = ? WHERE \"person\" = ? AND \"on\" = ?",
            concat!(
                "UPDATE \"the \"\"visit\"\"\" SET \"person\" = \"person\" ",
                "WHERE \"person\" = ? AND \"on\" = ?",
            ),
            "DELETE FROM \"the \"\"visit\"\"\" WHERE \"person\" = ? AND \"on\" = ?",
            concat!(
                "SELECT \"on\", \"person\", \"order\", \"note\" FROM \"the \"\"visit\"\"\" ",
                "WHERE \"person\" = ? AND \"on\" = ?",
            ),
        ],
    }
    .check_prepared(|dialect| {
        vec![
            update(dialect, &person(), FieldSet::from_iter([3, 1])),
            update(dialect, &person(), FieldSet::EMPTY),
            update(dialect, &visit(), FieldSet::from_iter([3])),
            update(dialect, &visit(), FieldSet::EMPTY),
            delete(dialect, &visit()),
            get(dialect, &visit()),
        ]
    });
}

fn change_text(
    table: &Arc<TableSchema>,
    condition: Option<&Condition>,
    assign: Option<&[Assign]>,
    parameters: &[Value<'_>],
    texts: &Texts,
) {
    let many = BulkChange { table, condition, assign };
    texts.check_statement(parameters, |dialect| change(dialect, &many));
}

#[test]
fn changes_of_many_rows() {
    let (person, visit) = (person(), visit());
    let condition = age(Comparison::Equal, 9);
    let set = |column, value: &'static str| Assign::Set { column, value: value.into() };
    let plus = |column, value: i64| Assign::Add { column, value: value.into() };
    change_text(
        &person,
        Some(&condition),
        Some(&[set(1, "lost"), plus(4, 7), set(1, "x"), plus(2, 1), plus(3, 5)]),
        &["x".into(), 1.into(), 1.into(), 5.into(), 5.into(), 9.into()],
        &Texts {
            sqlite: &[concat!(
                "UPDATE \"person\" SET \"email\" = ?, ",
                "\"age\" = CASE WHEN \"age\" + ? BETWEEN -128 AND 127 THEN \"age\" + ? ",
                "WHEN \"age\" IS NOT NULL THEN abs(-9223372036854775808) END, ",
                "\"pay\" = CASE WHEN typeof(\"pay\" + ?) = typeof(\"pay\") THEN \"pay\" + ? ",
                "WHEN \"pay\" IS NOT NULL THEN abs(-9223372036854775808) END, ",
                "\"version\" = CASE WHEN \"version\" < 9223372036854775807 THEN \"version\" + 1 ELSE abs(-9223372036854775808) END WHERE \"age\" = ?",
            )],
        },
    );
    let nothing = Some(&[][..]);
    let texts = Texts { sqlite: &["UPDATE \"the \"\"visit\"\"\" SET \"person\" = \"person\""] };
    change_text(&visit, None, nothing, &[], &texts);
    let texts = Texts { sqlite: &["DELETE FROM \"person\" WHERE \"age\" = ?"] };
    change_text(&person, Some(&condition), None, &[9.into()], &texts);
    let texts = Texts { sqlite: &["DELETE FROM \"person\""] };
    change_text(&person, None, None, &[], &texts);
}
