//! Which tables there are.
//!
//! Bobak's own say what they are in extended properties, as JSON. Those of other programs are read from the catalog.

use crate::dialect::MssqlStatements;
use bobak_core::{ColumnSchema, Row, TableSchema, Type};
use bobak_engine_common::{
    AddTableRow, CheckDialect, ServerTable, catalog_integer, catalog_text as text,
    listed_reference, table_to_json,
};

/// How the names of the properties begin that describe one of Bobak's tables.
const PROPERTY: &str = "bobak_";
/// The characters of one property: it has 7,500 bytes.
const PART: usize = 3_500;

const TABLES: &str = "SELECT t.name, p.name, CAST(p.value AS nvarchar(4000)) FROM sys.tables t \
    LEFT JOIN sys.extended_properties p ON p.major_id = t.object_id AND p.class = 1 AND p.minor_id = 0 \
    AND p.name LIKE N'bobak[_]%' WHERE t.schema_id = SCHEMA_ID() ORDER BY t.object_id, p.name";

const COLUMNS: &str = "SELECT t.name, c.name, TYPE_NAME(c.system_type_id), CAST(c.max_length AS int), \
    CAST(c.scale AS int), c.is_nullable, c.is_identity FROM sys.columns c \
    JOIN sys.tables t ON t.object_id = c.object_id \
    WHERE t.schema_id = SCHEMA_ID() AND c.is_computed = 0 ORDER BY t.object_id, c.column_id";

const INDEXES: &str = "SELECT t.name, i.name, i.is_unique, i.is_primary_key, c.name, i.has_filter \
    FROM sys.indexes i JOIN sys.tables t ON t.object_id = i.object_id \
    JOIN sys.index_columns k ON k.object_id = i.object_id AND k.index_id = i.index_id \
    JOIN sys.columns c ON c.object_id = k.object_id AND c.column_id = k.column_id \
    WHERE t.schema_id = SCHEMA_ID() AND i.type > 0 AND k.key_ordinal > 0 \
    ORDER BY t.object_id, i.index_id, k.key_ordinal";

const REFERENCES: &str = "SELECT t.name, f.name, p.name, c.name, o.name, \
    CAST(f.delete_referential_action AS int), CAST(f.update_referential_action AS int) \
    FROM sys.foreign_keys f JOIN sys.tables t ON t.object_id = f.parent_object_id \
    JOIN sys.tables p ON p.object_id = f.referenced_object_id \
    JOIN sys.foreign_key_columns k ON k.constraint_object_id = f.object_id \
    JOIN sys.columns c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id \
    JOIN sys.columns o ON o.object_id = k.referenced_object_id AND o.column_id = k.referenced_column_id \
    WHERE t.schema_id = SCHEMA_ID() ORDER BY f.object_id, k.constraint_column_id";

/// The table and the columns of a foreign key, by its name in the database.
pub(crate) const CONSTRAINT: &str = "SELECT t.name, c.name FROM sys.foreign_keys f JOIN sys.tables t ON t.object_id = f.parent_object_id \
    JOIN sys.foreign_key_columns k ON k.constraint_object_id = f.object_id \
    JOIN sys.columns c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id \
    WHERE f.name = @P1 ORDER BY k.constraint_column_id";

fn integer(row: &dyn Row, place: usize) -> i64 {
    catalog_integer(row, place).unwrap_or(0)
}

/// The statements that describe a table in its properties.
pub(crate) fn remarks(schema: &str, table: &TableSchema) -> Vec<String> {
    let json: Vec<char> = table_to_json(table).to_string().chars().collect();
    let parts = (1..).zip(json.chunks(PART));
    parts
        .map(|(number, part)| remark(schema, table, number, &part.iter().collect::<String>()))
        .collect()
}

fn remark(schema: &str, table: &TableSchema, number: usize, part: &str) -> String {
    let [schema, name, part] =
        [schema, table.name(), part].map(|text| MssqlStatements.text_literal(text));
    let property = MssqlStatements.text_literal(&format!("{PROPERTY}{number:02}"));
    let arguments = format!(
        "@name = {property}, @value = {part}, @level0type = N'SCHEMA', @level0name = {schema}, \
         @level1type = N'TABLE', @level1name = {name}"
    );
    format!(
        "IF EXISTS (SELECT 1 FROM sys.extended_properties p JOIN sys.tables t ON t.object_id = p.major_id \
         WHERE p.class = 1 AND p.minor_id = 0 AND p.name = {property} AND t.name = {name} AND t.schema_id = SCHEMA_ID()) \
         EXEC sys.sp_updateextendedproperty {arguments} ELSE EXEC sys.sp_addextendedproperty {arguments}"
    )
}

/// The queries for the tables that have a key, and what takes note of their rows.
pub(crate) const QUERIES: [(&str, AddTableRow); 4] =
    [(TABLES, add_table), (COLUMNS, add_column), (INDEXES, add_index), (REFERENCES, add_reference)];

/// A table, or another part of its description.
fn add_table(table: &mut ServerTable, row: &dyn Row) {
    table.name = text(row, 0);
    let number = u32::try_from(table.description.len()).unwrap_or(u32::MAX);
    table.description.insert(number, text(row, 2));
}

/// What a type of another program's column is to Bobak.
fn column_type(name: &str, scale: i64) -> Type {
    match name {
        "bit" => Type::Bool,
        "tinyint" => Type::U8,
        "smallint" => Type::I16,
        "int" => Type::I32,
        "bigint" => Type::I64,
        "real" | "float" => Type::F64,
        "money" | "smallmoney" => Type::Currency,
        "decimal" | "numeric" if scale == 4 => Type::Currency,
        "date" => Type::Date,
        "time" => Type::Time,
        "datetime" | "datetime2" | "smalldatetime" => Type::DateTime,
        "datetimeoffset" => Type::Timestamp,
        "uniqueidentifier" => Type::Uuid,
        "binary" | "varbinary" | "image" | "timestamp" | "rowversion" => Type::Bytes,
        _ => Type::Text,
    }
}

fn add_column(table: &mut ServerTable, row: &dyn Row) {
    let (name, length, scale) = (text(row, 2), integer(row, 3), integer(row, 4));
    let ty = column_type(&name, scale);
    let mut column = ColumnSchema::new(text(row, 1), ty).nullable(integer(row, 5) != 0);
    match name.as_str() {
        "nvarchar" | "nchar" => column.max_chars = u32::try_from(length / 2).ok(),
        "varchar" | "char" => column.max_chars = u32::try_from(length).ok(),
        "decimal" | "numeric" if ty == Type::Text => {
            column.declared = Some(bobak_sql::LONG_DECIMAL.into());
        }
        _ => {}
    }
    column.max_chars = column.max_chars.filter(|chars| *chars > 0);
    table.is_made |= integer(row, 6) != 0;
    table.columns.push(column);
}

fn add_index(table: &mut ServerTable, row: &dyn Row) {
    let (name, column) = (text(row, 1), text(row, 4));
    if integer(row, 3) != 0 {
        table.key.push(column);
        return;
    }
    // Of an index that leaves rows out, nothing can be said.
    let is_plain = integer(row, 5) == 0;
    table.add_index_column((name.clone(), name), integer(row, 2) != 0, is_plain, column);
}

fn add_reference(table: &mut ServerTable, row: &dyn Row) {
    table.add_reference_column(text(row, 1), text(row, 3), text(row, 4), || {
        let rule = |place: usize| match integer(row, place) {
            1 => "CASCADE",
            2 => "SET NULL",
            _ => "NO ACTION",
        };
        listed_reference(text(row, 2), rule(5), rule(6))
    });
}
