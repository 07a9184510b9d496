//! Which tables there are.
//!
//! Bobak's own say what they are in extended properties, as JSON. Those of other programs are read from the catalog.

use crate::connection::{Connection, TypedValue};
use crate::names::{index_name, key_name, literal};
use bobak_core::{
    ColumnSchema, ForeignKey, OnDelete, OnUpdate, Result, Row, TableSchema, TableSchemaBuilder,
    Type, ValueRef,
};
use bobak_engine_common::{table_from_json, table_to_json};
use std::collections::BTreeMap;

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

fn text(row: &dyn Row, place: usize) -> String {
    match row.get(place) {
        ValueRef::Text(text) => text.to_owned(),
        _ => String::new(),
    }
}

fn integer(row: &dyn Row, place: usize) -> i64 {
    match row.get(place) {
        ValueRef::Int(integer) => integer,
        _ => 0,
    }
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
    let (schema, name) = (literal(schema), literal(table.name()));
    let property = literal(&format!("{PROPERTY}{number:02}"));
    let arguments = format!(
        "@name = {property}, @value = {}, @level0type = N'SCHEMA', @level0name = {schema}, \
         @level1type = N'TABLE', @level1name = {name}",
        literal(part)
    );
    format!(
        "IF EXISTS (SELECT 1 FROM sys.extended_properties p JOIN sys.tables t ON t.object_id = p.major_id \
         WHERE p.class = 1 AND p.minor_id = 0 AND p.name = {property} AND t.name = {name} AND t.schema_id = SCHEMA_ID()) \
         EXEC sys.sp_updateextendedproperty {arguments} ELSE EXEC sys.sp_addextendedproperty {arguments}"
    )
}

/// An index as the catalog has it.
#[derive(Debug)]
struct FoundIndex {
    name: String,
    is_unique: bool,
    /// Whether rows are left out.
    is_partial: bool,
    columns: Vec<String>,
}

/// A table as the catalog has it.
#[derive(Debug, Default)]
struct FoundTable {
    name: String,
    json: String,
    columns: Vec<ColumnSchema>,
    is_made: bool,
    key: Vec<String>,
    indexes: Vec<FoundIndex>,
    references: Vec<(String, Vec<String>, ForeignKey)>,
}

/// Takes note of a row of the catalog.
type AddRow = fn(&mut FoundTable, &dyn Row);

/// The tables that have a key.
///
/// # Errors
/// Those of the server and the connection.
pub(crate) fn tables(connection: &mut Connection) -> Result<Vec<TableSchema>> {
    let mut order = Vec::new();
    let mut found: BTreeMap<String, FoundTable> = BTreeMap::new();
    connection.each(None, TABLES, &[], None, &mut |row| {
        let name = text(row, 0);
        let table = found.entry(name.clone()).or_insert_with(|| {
            order.push(name.clone());
            FoundTable { name, ..FoundTable::default() }
        });
        table.json.push_str(&text(row, 2));
        Ok(true)
    })?;
    let parts: [(&str, AddRow); 3] =
        [(COLUMNS, add_column), (INDEXES, add_index), (REFERENCES, add_reference)];
    for (sql, add) in parts {
        connection.each(None, sql, &[], None, &mut |row| {
            if let Some(table) = found.get_mut(&text(row, 0)) {
                add(table, row);
            }
            Ok(true)
        })?;
    }
    let tables = order.iter().filter_map(|name| found.remove(name));
    Ok(tables.filter_map(|table| table.own().or_else(|| table.foreign())).collect())
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

fn add_column(table: &mut FoundTable, row: &dyn Row) {
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

fn add_index(table: &mut FoundTable, row: &dyn Row) {
    let (name, column) = (text(row, 1), text(row, 4));
    if integer(row, 3) != 0 {
        table.key.push(column);
        return;
    }
    match table.indexes.last_mut() {
        Some(index) if index.name == name => index.columns.push(column),
        _ => table.indexes.push(FoundIndex {
            name,
            is_unique: integer(row, 2) != 0,
            is_partial: integer(row, 5) != 0,
            columns: vec![column],
        }),
    }
}

fn add_reference(table: &mut FoundTable, row: &dyn Row) {
    let name = text(row, 1);
    if table.references.last().is_none_or(|(known, ..)| *known != name) {
        let on_delete = match integer(row, 5) {
            1 => OnDelete::Cascade,
            2 => OnDelete::SetNull,
            _ => OnDelete::NoAction,
        };
        let on_update = match integer(row, 6) {
            1 => OnUpdate::Cascade,
            2 => OnUpdate::SetNull,
            _ => OnUpdate::NoAction,
        };
        let key = ForeignKey::new(text(row, 2), Vec::<String>::new(), on_delete);
        table.references.push((name, Vec::new(), key.on_update(on_update)));
    }
    if let Some((_, columns, key)) = table.references.last_mut() {
        columns.push(text(row, 3));
        key.referenced.push(text(row, 4).into());
    }
}

impl FoundTable {
    /// The description in the properties, unless another program has changed the columns since.
    fn own(&self) -> Option<TableSchema> {
        let json = serde_json::from_str(&self.json).ok()?;
        let table = table_from_json(&json).ok()?;
        let has_index = |name: String| self.indexes.iter().any(|known| known.name == name);
        let is_same = table.name() == self.name
            && (!self.key.is_empty() || has_index(key_name(&table)))
            && table.columns().len() == self.columns.len()
            && table.indexes().iter().all(|index| has_index(index_name(&table, &index.name)))
            && table
                .columns()
                .iter()
                .all(|column| self.columns.iter().any(|known| known.name == column.name));
        is_same.then_some(table)
    }

    fn foreign(self) -> Option<TableSchema> {
        if self.key.is_empty() {
            return None;
        }
        let mut builder = TableSchema::builder(self.name);
        for mut column in self.columns {
            // A key of another width that the server makes is what a key of 64 bits is to a program.
            if self.is_made && self.key == [column.name.to_string()] {
                column.ty = Type::I64;
            }
            builder = builder.column(column);
        }
        for (_, columns, key) in self.references {
            builder = builder.foreign_key(columns, key);
        }
        builder = builder.key(self.key);
        if !self.is_made {
            builder = builder.given_key();
        }
        let add = |builder: TableSchemaBuilder, index: FoundIndex| match index.is_unique {
            true => builder.unique_index(index.name, index.columns),
            false => builder.index(index.name, index.columns),
        };
        // Of an index that leaves rows out, nothing can be said.
        let whole = self.indexes.into_iter().filter(|index| !index.is_partial);
        whole.fold(builder, add).build().ok()
    }
}

/// The table and the columns of a foreign key, by its name in the database.
pub(crate) fn constraint(connection: &mut Connection, name: &str) -> Option<(String, String)> {
    let sql = "SELECT t.name, c.name FROM sys.foreign_keys f JOIN sys.tables t ON t.object_id = f.parent_object_id \
               JOIN sys.foreign_key_columns k ON k.constraint_object_id = f.object_id \
               JOIN sys.columns c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id \
               WHERE f.name = @P1 ORDER BY k.constraint_column_id";
    let value: TypedValue<'_> = (Type::Text, ValueRef::Text(name));
    let mut found: Vec<(String, String)> = Vec::new();
    let requested = connection.each(None, sql, &[value], None, &mut |row| {
        found.push((text(row, 0), text(row, 1)));
        Ok(true)
    });
    // The error that is looked into matters more than that of the look.
    requested.ok()?;
    let table = found.first()?.0.clone();
    let columns: Vec<String> = found.into_iter().map(|(_, column)| column).collect();
    Some((table, columns.join(", ")))
}
