//! What can be told of an SQL statement before it runs: whether it gives rows, and the names and
//! types of their columns.
//!
//! The types matter: a timestamp is an integer in the database, and only the table's schema says
//! what it means. The engine's rows don't carry types, so the statement is shown to an empty copy
//! of the database's tables, in memory, as a view: SQLite tells of each of a view's columns which
//! declared type it comes from, and nothing of an expression's.

use crate::export::OutputColumn;
use bobak::{Db, Result, Type};
use bobak_sql::{Dialect, parse_declared};

/// Words that a statement begins with when it changes something.
const CHANGES: [&str; 10] = [
    "insert", "update", "delete", "replace", "create", "drop", "alter", "reindex", "analyze",
    "vacuum",
];

/// Whether the statement may give rows; otherwise it changes something.
#[must_use]
pub fn gives_rows(sql: &str) -> bool {
    let mut words = Words::new(sql);
    !words.next().is_some_and(changes) || words.any(|word| word.eq_ignore_ascii_case("returning"))
}

/// Whether the statement can only read. Where it can't be told, it is taken to change something.
#[must_use]
pub fn only_reads(sql: &str) -> bool {
    let mut words = Words::new(sql);
    match words.next().map(str::to_ascii_lowercase).as_deref() {
        Some("select" | "values" | "explain") => true,
        // WITH may lead to an INSERT as well as to a SELECT.
        Some("with") => !words.any(changes),
        _ => false,
    }
}

fn changes(word: &str) -> bool {
    CHANGES.iter().any(|change| word.eq_ignore_ascii_case(change))
}

/// The columns of a statement's rows; `None` where they can't be told.
#[must_use]
pub fn result_columns(db: &Db, sql: &str) -> Option<Vec<OutputColumn>> {
    columns_in_copy(db, sql).ok().filter(|columns| !columns.is_empty())
}

fn columns_in_copy(db: &Db, sql: &str) -> Result<Vec<OutputColumn>> {
    let copy = Db::open("sqlite::memory:")?;
    for table in db.tables()? {
        copy.create_table(table)?;
    }
    let view = without_parameters(sql.trim().trim_end_matches(';'));
    copy.execute(&format!("CREATE VIEW bobak_result AS {view}"), ())?;
    let names_and_types = copy
        .sql::<(String, String)>("SELECT name, type FROM pragma_table_info('bobak_result')", ())?;
    let column = |(name, declared): (String, String)| {
        let declared = parse_declared(Dialect::Sqlite, &declared);
        OutputColumn { name, ty: if declared.as_text { Type::Text } else { declared.ty } }
    };
    Ok(names_and_types.into_iter().map(column).collect())
}

/// The statement with NULL for each parameter, which no view may have: types don't depend on it.
fn without_parameters(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let length = skip_length(rest);
        let taken = if length > 0 { length } else { c.len_utf8() };
        let (part, after) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        rest = after;
        if part == "?" {
            text.push_str("NULL");
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        } else {
            text.push_str(part);
        }
    }
    text
}

/// The words of a statement outside quotes and comments.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    const fn new(sql: &'a str) -> Self {
        Self { rest: sql }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        loop {
            let first = self.rest.chars().next()?;
            if is_part(first) {
                let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at_checked(end)?;
                self.rest = rest;
                return Some(word);
            }
            let length = skip_length(self.rest).max(first.len_utf8());
            self.rest = self.rest.get(length..)?;
        }
    }
}

/// How long the quoted text or comment is that `sql` begins with; 0 where it begins with none.
fn skip_length(sql: &str) -> usize {
    let to = |end: &str, from: usize| {
        let found = sql.get(from..).and_then(|rest| rest.find(end));
        found.map_or(sql.len(), |place| from + place + end.len())
    };
    match sql.as_bytes() {
        // A doubled quote inside ends one text and begins the next: the same characters are skipped.
        [b'\'', ..] => to("'", 1),
        [b'"', ..] => to("\"", 1),
        [b'`', ..] => to("`", 1),
        [b'[', ..] => to("]", 1),
        [b'-', b'-', ..] => to("\n", 2),
        [b'/', b'*', ..] => to("*/", 2),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak::{ColumnSchema, TableSchema};

    #[test]
    fn statements_that_change_are_told_from_those_that_read() {
        for sql in [
            "SELECT 1",
            " with a as (select 1) select * from a",
            "-- drop\nvalues (1)",
            "pragma user_version",
            "INSERT INTO t VALUES (1) RETURNING id",
            "(select 1)",
            "explain delete from t",
            "",
        ] {
            assert!(gives_rows(sql), "{sql}");
        }
        for sql in [
            "insert into t values ('returning')",
            "/* select */ DELETE FROM t",
            "Create Table t(a)",
            "update t set a = \"returning\" -- returning",
        ] {
            assert!(!gives_rows(sql), "{sql}");
        }
    }

    #[test]
    fn statements_that_only_read() {
        for sql in [
            "SELECT replace(a, 'x', 'y') FROM t",
            "with a as (select 1) select 'insert'",
            "values (1)",
        ] {
            assert!(only_reads(sql), "{sql}");
        }
        for sql in [
            "with a as (select 1) insert into t select * from a",
            "pragma journal_mode = wal",
            "insert into t values (1) returning id",
            "",
        ] {
            assert!(!only_reads(sql), "{sql}");
        }
    }

    #[test]
    fn parameters_are_found_outside_quotes_and_comments() {
        assert_eq!(
            without_parameters("SELECT '?''?', \"?\", [?], é, ?2 /* ? */ WHERE a = ? -- ?"),
            "SELECT '?''?', \"?\", [?], é, NULL /* ? */ WHERE a = NULL -- ?"
        );
    }

    #[test]
    fn types_come_from_the_tables() {
        let db = Db::open("sqlite::memory:").expect("opens");
        let table = TableSchema::builder("t")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::new("at", Type::Timestamp))
            .column(ColumnSchema::new("ok", Type::Bool))
            .key(["id"])
            .build()
            .expect("a sound table");
        db.create_table(table).expect("creates");
        let columns = |sql: &str| {
            let columns = result_columns(&db, sql).unwrap_or_default();
            columns.into_iter().map(|column| (column.name, column.ty)).collect::<Vec<_>>()
        };
        let named = |name: &str, ty| (name.to_owned(), ty);
        assert_eq!(
            columns("SELECT at AS t, ok FROM t WHERE id = ?;"),
            [named("t", Type::Timestamp), named("ok", Type::Bool)]
        );
        let grouped = columns("SELECT id AS at, count(*) AS ok FROM t GROUP BY id");
        assert_eq!(grouped[0], named("at", Type::I64));
        assert_ne!(grouped[1].1, Type::Bool);
        assert_eq!(columns("SELECT nothing FROM nowhere"), []);
    }
}
