//! The table of docs/types.md: what each of Bobak's types becomes on each engine. It is made here;
//! `BOBAK_WRITE_DOCS=1` writes it.

use bobak_core::{ColumnSchema, Type};
use bobak_sql::{Dialect, declared_type};
use std::fmt::Write;
use std::path::PathBuf;

const BEGIN: &str = "<!-- begin: made by crates/sql/tests/it/types.rs -->\n";
const END: &str = "<!-- end -->";

/// The engines that have SQL, by the names of their columns.
const DIALECTS: &[(&str, Dialect)] = &[
    ("SQLite", Dialect::Sqlite),
    ("PostgreSQL", Dialect::Postgres),
    ("MariaDB", Dialect::MariaDb),
];

fn table() -> String {
    let mut text = String::from("| Bobak | kept as |");
    let line = |text: &mut String, cells: &mut dyn Iterator<Item = String>| {
        cells.for_each(|cell| write!(text, " {cell} |").unwrap());
        text.push('\n');
    };
    line(&mut text, &mut DIALECTS.iter().map(|(name, _)| (*name).to_owned()));
    text.push_str("|---|---|");
    line(&mut text, &mut DIALECTS.iter().map(|_| "---".to_owned()));
    let mut row = |name: &str, column: &ColumnSchema| {
        let stored = if column.is_kept_as_text() { "text" } else { column.ty.storage().name() };
        write!(text, "| `{name}` | {stored} |").unwrap();
        let cell = |(_, dialect): &(&str, Dialect)| match (*dialect, column.ty) {
            (Dialect::Postgres | Dialect::MariaDb, Type::Any) => "rejected".to_owned(),
            (dialect, _) => match declared_type(dialect, column) {
                empty if empty.is_empty() => "no type".to_owned(),
                name => format!("`{name}`"),
            },
        };
        line(&mut text, &mut DIALECTS.iter().map(cell));
    };
    for &ty in Type::ALL {
        row(ty.name(), &ColumnSchema::new("x", ty));
        if ty == Type::Text {
            row("text, max_chars = 40", &ColumnSchema::new("x", ty).max_chars(40));
        }
        if ty.has_text_form() {
            let name = format!("{}, store = \"text\"", ty.name());
            row(&name, &ColumnSchema::new("x", ty).as_text());
        }
    }
    text
}

#[test]
fn the_table_of_types_is_current() {
    current("types.md", BEGIN, &table());
}

/// Compares a table with the one of a page after `begin`, or writes it there.
pub fn current(page: &str, begin: &str, table: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once(begin).expect("docs/types.md has a place for the table");
    let (found, tail) = rest.split_once(END).expect("the table has an end");
    if std::env::var_os("BOBAK_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{begin}{table}{END}{tail}")).unwrap();
        return;
    }
    assert_eq!(found, table, "run this test with BOBAK_WRITE_DOCS=1");
}
