//! The table of docs/sql.md: what each engine receives of the shared vocabulary. It is made here;
//! `BOBAK_WRITE_DOCS=1` writes it.

use crate::types::current;
use bobak_core::{Result, Type};
use bobak_sql::{Dialect, translate};
use bobak_sql_typing::{Relation, Relations, TableColumn, analyze};
use std::fmt::Write;

/// What is said, and how. The columns are those of [`Orders`].
const WORDS: &[(&str, &str)] = &[
    ("a date", "CAST('2013-01-31' AS DATE)"),
    ("a time", "CAST('10:30:00' AS TIME)"),
    ("a date-time", "CAST('2013-01-31 10:30:00' AS DATETIME)"),
    ("an instant", "CAST('2013-01-31T10:30:00+02:00' AS TIMESTAMP)"),
    ("an amount", "CAST(5 AS DECIMAL(19, 4))"),
    ("a UUID", "CAST('0190163d-8694-739b-aea5-966c26f8ad90' AS UUID)"),
    ("now", "now()"),
    ("a part", "date_part('month', placed)"),
    ("an ISO week", "date_part('week', placed)"),
    ("the start of a unit", "date_trunc('month', placed)"),
    ("a format", "strftime('%d.%m.%Y', placed)"),
    ("joined texts", "name || '-' || note"),
    ("a value in JSON", "json_value(note, '$.tags[0]')"),
    ("as text", "CAST(total AS TEXT)"),
    ("as an integer", "CAST(name AS BIGINT)"),
    ("as a float", "CAST(name AS DOUBLE PRECISION)"),
];

struct Orders;

impl Relations for Orders {
    fn relation(&self, _: Option<&str>, name: &str) -> Result<Option<Relation>> {
        let columns = [
            ("placed", Type::Timestamp),
            ("total", Type::Currency),
            ("name", Type::Text),
            ("note", Type::Json),
        ];
        let column = |(name, ty): (&str, Type)| TableColumn {
            name: name.to_owned(),
            ty: Some(ty),
            hidden: false,
            generated: false,
        };
        Ok((name == "orders").then(|| Relation::Table(columns.map(column).into())))
    }
}

/// An expression as SQLite receives it.
fn sqlite(word: &str) -> String {
    let sql = format!("SELECT {word} AS x FROM orders");
    let rewritten = analyze(&sql, &Orders, &[]).unwrap().sql.unwrap_or(sql);
    let inside = rewritten.strip_prefix("SELECT ").and_then(|rest| rest.split_once(" AS x FROM"));
    inside.unwrap().0.replace(" (", "(")
}

fn cell(sql: &str, word: &str) -> String {
    if sql == word { "the same".to_owned() } else { format!("`{}`", sql.replace('|', "\\|")) }
}

#[test]
fn the_table_of_the_vocabulary_is_current() {
    let mut table =
        String::from("| to say | write | SQLite | PostgreSQL | MariaDB |\n|---|---|---|---|---|\n");
    for (what, word) in WORDS {
        let server =
            |dialect| translate(dialect, &format!("SELECT {word}")).unwrap()[7..].to_owned();
        let [own, first, second] =
            [sqlite(word), server(Dialect::Postgres), server(Dialect::MariaDb)];
        let cells = [own, first, second].map(|sql| cell(&sql, word)).join(" | ");
        writeln!(table, "| {what} | `{}` | {cells} |", word.replace('|', "\\|")).unwrap();
    }
    current("sql.md", "<!-- begin: made by crates/sql/tests/it/vocabulary.rs -->\n", &table);
}
