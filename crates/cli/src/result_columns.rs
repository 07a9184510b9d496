//! The names and types of the columns of an SQL statement's result, found before it runs.
//!
//! A timestamp is stored as an integer, and only the table's schema says what the integer means.
//! Rows from the engine carry no types. So this module creates the database's tables, empty, in an
//! in-memory SQLite database and defines the statement as a view there: SQLite reports the declared
//! type of each view column that comes straight from a table, and none for an expression.

use crate::export::OutputColumn;
use bobak::schema::Type;
use bobak::{Db, Result};
use bobak_sql::token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};
use bobak_sql::{Dialect, parse_declared};

/// The columns of the statement's result; `None` if they can't be determined.
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

/// Replaces each parameter with NULL: a view may not have parameters, and types don't depend on them.
fn without_parameters(sql: &str) -> String {
    let text = |token: SqlToken<'_>| match token.kind {
        SqlTokenKind::Parameter => "NULL".to_owned(),
        _ => token.text.to_owned(),
    };
    SqlTokenizer::new(SqlSyntax::Sqlite, sql).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak::schema::{ColumnSchema, TableSchema};

    #[test]
    fn parameters_inside_quotes_and_comments_are_kept() {
        assert_eq!(
            without_parameters("SELECT '?''?', \"?\", [?], é, ?2 /* ? */ WHERE a = ? -- ?"),
            "SELECT '?''?', \"?\", [?], é, NULL /* ? */ WHERE a = NULL -- ?"
        );
    }

    #[test]
    fn column_types_come_from_table_schema() {
        let db = Db::open("sqlite::memory:").expect("opens");
        let table = TableSchema::builder("t")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::new("at", Type::Timestamp))
            .column(ColumnSchema::new("ok", Type::Bool))
            .key(["id"])
            .build()
            .expect("a valid table");
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
