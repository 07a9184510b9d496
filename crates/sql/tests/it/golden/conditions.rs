//! Conditions.

use super::{Texts, age};
use crate::tables::person;
use bobak_core::{ColumnPair, Comparison, Condition, Expr, Select, SubQuery, Value};
use bobak_sql::select;

fn where_text(condition: Condition, parameters: &[Value<'_>], texts: &Texts) {
    let table = person();
    let columns = vec![Expr::Column(0)];
    let condition = Some(condition);
    let query = Select { columns, condition, order: Vec::new(), ..Select::all(&table) };
    texts.check_statement(parameters, |dialect| select(dialect, &query));
}

#[test]
fn conditions_over_values() {
    use Comparison::{Equal, GreaterOrEqual, Less, NotEqual};
    where_text(
        Condition::Or(vec![
            Condition::And(vec![age(GreaterOrEqual, 18), age(Less, 65)]),
            Condition::IsNull { column: 2 },
            Condition::Not(Box::new(age(NotEqual, 7))),
            Condition::CompareColumns { left: 0, comparison: Equal, right: 3 },
            Condition::CompareColumns { left: 1, comparison: Less, right: 3 },
        ]),
        &[18, 65, 7].map(Value::from),
        &Texts {
            sqlite: &[concat!(
                "SELECT \"id\" FROM \"person\" WHERE (\"age\" >= ? AND \"age\" < ?) ",
                "OR \"age\" IS NULL OR NOT (\"age\" <> ?) OR \"id\" = \"pay\" OR +\"email\" < +\"pay\"",
            )],
        },
    );
    where_text(
        Condition::And(vec![
            Condition::In { column: 2, values: vec![1.into(), 2.into()] },
            Condition::Not(Box::new(Condition::In { column: 1, values: Vec::new() })),
            Condition::Or(Vec::new()),
            Condition::And(vec![age(Equal, 3), Condition::And(Vec::new())]),
        ]),
        &[1, 2, 3].map(Value::from),
        &Texts {
            sqlite: &[concat!(
                "SELECT \"id\" FROM \"person\" ",
                "WHERE \"age\" IN (?, ?) AND NOT (0) AND (0) AND \"age\" = ?",
            )],
        },
    );
}

#[test]
fn conditions_over_texts() {
    let prefix = |column, prefix: &str| Condition::StartsWith { column, prefix: prefix.to_owned() };
    where_text(
        Condition::And(vec![
            Condition::Like { column: 1, pattern: "%@x_".to_owned() },
            Condition::Like { column: 2, pattern: "1%".to_owned() },
            prefix(1, "ab"),
            prefix(1, ""),
            prefix(1, "\u{10ffff}"),
            prefix(1, "a\u{d7ff}\u{10ffff}"),
            prefix(2, "1"),
        ]),
        &["%@x_", "1%", "ab", "ac", "", "\u{10ffff}", "a\u{d7ff}\u{10ffff}", "a\u{e000}", "1", "2"]
            .map(Value::from),
        &Texts {
            sqlite: &[concat!(
                "SELECT \"id\" FROM \"person\" WHERE \"email\" LIKE ? ",
                "AND CASE WHEN typeof(\"age\") = 'text' THEN \"age\" LIKE ? END ",
                "AND (\"email\" >= ? COLLATE BINARY AND \"email\" < ? COLLATE BINARY) ",
                "AND (\"email\" >= ? COLLATE BINARY) ",
                "AND (\"email\" >= ? COLLATE BINARY) ",
                "AND (\"email\" >= ? COLLATE BINARY AND \"email\" < ? COLLATE BINARY) ",
                "AND CASE WHEN typeof(\"age\") = 'text' THEN ",
                "(\"age\" >= ? COLLATE BINARY AND \"age\" < ? COLLATE BINARY) END",
            )],
        },
    );
}

/// For a row that it does not find, SQLite would look for NULL in all rows, if NULL were not as good as false.
#[test]
fn conditions_over_rows_of_several_columns() {
    let (table, more) = (person(), vec![ColumnPair { from: 2, to: 2 }]);
    let query = SubQuery { table, column: 0, more, condition: None };
    let found = Condition::InQuery { column: 0, query: Box::new(query) };
    where_text(
        Condition::And(vec![found.clone(), Condition::Not(Box::new(found))]),
        &[],
        &Texts {
            sqlite: &[concat!(
                "SELECT \"id\" FROM \"person\" WHERE (\"age\" IS NOT NULL AND (\"id\", \"age\") IN ",
                "(SELECT \"id\", \"age\" FROM \"person\" WHERE \"age\" IS NOT NULL)) ",
                "AND NOT (CASE WHEN (\"age\" IS NOT NULL AND (\"id\", \"age\") IN ",
                "(SELECT \"id\", \"age\" FROM \"person\" WHERE \"age\" IS NOT NULL)) ",
                "THEN 1 ELSE 0 END)",
            )],
        },
    );
}
