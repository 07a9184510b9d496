//! Statements that read one value, in parts.

use crate::Dialect;
use crate::write::where_key;
use crate::writer::Writer;
use bobak_core::TableSchema;

/// A part of a value of the row with a key: the number of the value's bytes, the part, and the row's version if the table has
/// versions. Parameters: the first byte, counted from 1, the most bytes, and the key in key order.
#[must_use]
pub fn read_part(dialect: Dialect, table: &TableSchema, column: usize) -> String {
    let mut writer = Writer::new(dialect);
    writer.raw("SELECT octet_length(").column(table, column).raw("), substring(");
    writer.column(table, column);
    let cast = if dialect == Dialect::Postgres { "::integer" } else { "" };
    writer.raw(", ").placeholder().raw(cast);
    writer.raw(", ").placeholder().raw(cast).raw(")");
    push_version(&mut writer, table);
    writer.into_text()
}

/// Where SQLite stores a value of the row with a key: the number of its bytes, its storage class, what `rowid` is, and the
/// row's version if the table has versions. Parameters: the key in key order.
#[must_use]
pub fn find_value(table: &TableSchema, column: usize, rowid: &str) -> String {
    let mut writer = Writer::new(Dialect::Sqlite);
    writer.raw("SELECT octet_length(").column(table, column).raw("), typeof(");
    writer.column(table, column).raw("), ").raw(rowid);
    push_version(&mut writer, table);
    writer.into_text()
}

fn push_version(writer: &mut Writer<'_>, table: &TableSchema) {
    if let Some(version) = table.version() {
        writer.raw(", ").column(table, version);
    }
    writer.raw(" FROM ").name(table.name());
    where_key(writer, table);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::{ColumnRole, ColumnSchema, Type};

    #[test]
    fn parts_are_read_by_each_database() {
        let mut version = ColumnSchema::new("version", Type::I64);
        version.role = ColumnRole::Version;
        let columns =
            vec![ColumnSchema::of::<i64>("id"), ColumnSchema::of::<Vec<u8>>("data"), version];
        let table = TableSchema::builder("photo").columns(columns).key(["id"]).build().unwrap();
        assert_eq!(
            read_part(Dialect::Postgres, &table, 1),
            "SELECT octet_length(\"data\"), substring(\"data\", $1::integer, $2::integer), \"version\" \
             FROM \"photo\" WHERE \"id\" = $3"
        );
        assert_eq!(
            read_part(Dialect::MariaDb, &table, 1),
            "SELECT octet_length(`data`), substring(`data`, ?, ?), `version` FROM `photo` WHERE `id` = ?"
        );
        assert_eq!(
            find_value(&table, 1, "rowid"),
            "SELECT octet_length(\"data\"), typeof(\"data\"), rowid, \"version\" FROM \"photo\" WHERE \
             \"id\" = ?"
        );
    }
}
