//! Every kind of text, all dialects next to each other. If the engine is available, it prepares each text.

mod conditions; // WHERE
mod postgres; // texts that differ for PostgreSQL
mod queries; // SELECT
mod rows; // INSERT, UPDATE, DELETE
mod schema; // CREATE, ALTER

use crate::engine::Sqlite;
use crate::tables::{everything, only_key, person, visit};
use bobak_core::{Comparison, Condition, Value};
use bobak_sql::{Dialect, Statement, create_table};

/// The same statements in each dialect: a new dialect is a new field, and every test asks for it.
struct Texts {
    sqlite: &'static [&'static str],
}

impl Texts {
    fn check(&self, write: impl Fn(Dialect) -> Vec<String>) {
        assert_eq!(write(Dialect::Sqlite), self.sqlite);
    }

    /// Checks statements over the tables, on their engine too.
    fn check_prepared(&self, write: impl Fn(Dialect) -> Vec<String>) {
        self.check(&write);
        let sqlite = Sqlite::new();
        for table in [person(), visit(), only_key(), everything()] {
            for text in create_table(Dialect::Sqlite, &table).unwrap() {
                sqlite.execute(&text).unwrap();
            }
        }
        for text in write(Dialect::Sqlite) {
            let parameters = text.matches('?').count();
            assert_eq!(sqlite.check(&text), Ok(parameters), "{text}");
        }
    }

    /// Checks one query or change, and its parameters.
    fn check_statement<'a>(
        &self,
        parameters: &[Value<'_>],
        write: impl Fn(Dialect) -> Statement<'a>,
    ) {
        self.check_prepared(|dialect| vec![write(dialect).text]);
        assert_eq!(write(Dialect::Sqlite).parameters, parameters);
    }
}

/// `"age"` against an integer.
fn age(comparison: Comparison, value: i64) -> Condition {
    Condition::Compare { column: 2, comparison, value: Value::Int(value) }
}
