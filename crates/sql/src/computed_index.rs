//! Indexes over expressions, and of the rows that match a condition.

use crate::check::push_stored_expression;
use crate::dialect::Dialect;
use crate::writer::Writer;
use bobak_core::{ComputedIndex, Error, ErrorKind, Result, TableSchema};

/// Creates an index of an SQLite file's table under a name, on SQLite or PostgreSQL.
///
/// # Errors
/// `Unsupported` for another database, and for an expression outside the [grammar of CHECKs](bobak_core::check); `Schema`
/// for a column that the table does not have.
pub fn create_computed_index(
    dialect: Dialect,
    table: &TableSchema,
    index: &ComputedIndex,
    name: &str,
) -> Result<String> {
    if !matches!(dialect, Dialect::Sqlite | Dialect::Postgres) {
        let message = "the database has no such index";
        return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()));
    }
    let mut writer = Writer::new(dialect);
    let unique = if index.unique { "UNIQUE " } else { "" };
    writer.raw("CREATE ").raw(unique).raw("INDEX ").name(name);
    writer.raw(" ON ").name(table.name()).raw(" (");
    writer.list(", ", &index.parts, |writer, part| {
        push_stored_expression(writer, table, part, false);
    });
    writer.raw(")");
    if let Some(condition) = &index.condition {
        writer.raw(" WHERE ");
        push_stored_expression(&mut writer, table, condition, true);
    }
    writer.into_result()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::{ColumnSchema, SchemaLoss};

    fn sql(parts: &[&str], condition: Option<&str>) -> [String; 2] {
        let table = TableSchema::builder("t")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<Option<String>>("name"))
            .key(["id"])
            .build()
            .unwrap();
        let index = ComputedIndex {
            loss: SchemaLoss::new("t", "index i"),
            name: "i".to_owned(),
            unique: true,
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            condition: condition.map(str::to_owned),
        };
        [Dialect::Sqlite, Dialect::Postgres].map(|dialect| {
            create_computed_index(dialect, &table, &index, "i")
                .unwrap_or_else(|error| format!("{:?}", error.kind()))
        })
    }

    #[test]
    fn indexes_are_rendered_or_rejected() {
        let partial = sql(&["name"], Some("id > 5"));
        assert_eq!(partial[0], "CREATE UNIQUE INDEX \"i\" ON \"t\" ((\"name\")) WHERE \"id\" > 5");
        assert!(partial[1].ends_with("WHERE \"id\" > 5"), "{}", partial[1]);
        let lower = sql(&["id", "lower(name)"], None);
        assert!(lower[1].contains("lower("), "{}", lower[1]);
        // What only SQLite has stays as it is there, unless it could end the index.
        let own = sql(&["substr(name, 2)"], None);
        assert_eq!(own[0], "CREATE UNIQUE INDEX \"i\" ON \"t\" ((substr(name, 2)))");
        assert_eq!(own[1], "Unsupported");
        for part in ["1) WHERE (1", "(SELECT 1)", "id; DROP TABLE t"] {
            assert_eq!(sql(&[part], None), ["Unsupported", "Unsupported"], "{part}");
        }
    }
}
