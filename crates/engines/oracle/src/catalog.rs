//! Which tables there are.
//!
//! Bobak's own say what they are in comments, as JSON. Those of other programs are read from the catalog.

use crate::connection::{Connection, OracleParameter};
use crate::names::{index_name, key_name, literal, quoted, stored, swap_case};
use bobak_core::{
    ColumnSchema, Error, ErrorKind, ForeignKey, OnDelete, Result, Row, TableSchema,
    TableSchemaBuilder, Type, ValueRef,
};
use bobak_engine_common::{table_from_json, table_to_json};
use std::collections::BTreeMap;

/// How the comments of Bobak's tables begin, before their number.
const MARK: &str = "bobak:";
/// The bytes of one comment's part: it has 4,000 as a literal.
const PART: usize = 3_900;

/// The table's own comment comes first, then those of its columns, which have the rest of a long description.
const COMMENTS: &str = "SELECT TABLE_NAME, COMMENTS, 0 AS PLACE FROM USER_TAB_COMMENTS \
    WHERE TABLE_TYPE = 'TABLE' AND COMMENTS LIKE 'bobak:%' \
    UNION ALL SELECT C.TABLE_NAME, C.COMMENTS, T.COLUMN_ID FROM USER_COL_COMMENTS C \
    JOIN USER_TAB_COLUMNS T ON T.TABLE_NAME = C.TABLE_NAME AND T.COLUMN_NAME = C.COLUMN_NAME \
    WHERE C.COMMENTS LIKE 'bobak:%' ORDER BY 1, 3";

const TABLES: &str = "SELECT TABLE_NAME FROM USER_TABLES WHERE NESTED = 'NO' AND SECONDARY = 'N' \
    AND DROPPED = 'NO' ORDER BY TABLE_NAME";

const COLUMNS: &str = "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, DATA_PRECISION, DATA_SCALE, \
    CHAR_LENGTH, DATA_LENGTH, NULLABLE, IDENTITY_COLUMN FROM USER_TAB_COLUMNS \
    ORDER BY TABLE_NAME, COLUMN_ID";

const KEYS: &str = "SELECT C.TABLE_NAME, C.CONSTRAINT_NAME, C.CONSTRAINT_TYPE, K.COLUMN_NAME \
    FROM USER_CONSTRAINTS C JOIN USER_CONS_COLUMNS K ON K.CONSTRAINT_NAME = C.CONSTRAINT_NAME \
    WHERE C.CONSTRAINT_TYPE = 'P' ORDER BY C.TABLE_NAME, K.POSITION";

const INDEXES: &str = "SELECT I.TABLE_NAME, I.INDEX_NAME, I.UNIQUENESS, I.INDEX_TYPE, K.COLUMN_NAME \
    FROM USER_INDEXES I JOIN USER_IND_COLUMNS K ON K.INDEX_NAME = I.INDEX_NAME \
    WHERE I.INDEX_TYPE <> 'LOB' ORDER BY I.TABLE_NAME, I.INDEX_NAME, K.COLUMN_POSITION";

const REFERENCES: &str = "SELECT C.TABLE_NAME, C.CONSTRAINT_NAME, P.TABLE_NAME AS TARGET, K.COLUMN_NAME, \
    O.COLUMN_NAME AS REFERENCED, C.DELETE_RULE \
    FROM USER_CONSTRAINTS C JOIN USER_CONSTRAINTS P ON P.CONSTRAINT_NAME = C.R_CONSTRAINT_NAME \
    JOIN USER_CONS_COLUMNS K ON K.CONSTRAINT_NAME = C.CONSTRAINT_NAME \
    JOIN USER_CONS_COLUMNS O ON O.CONSTRAINT_NAME = P.CONSTRAINT_NAME AND O.POSITION = K.POSITION \
    WHERE C.CONSTRAINT_TYPE = 'R' ORDER BY C.TABLE_NAME, C.CONSTRAINT_NAME, K.POSITION";

const CONSTRAINT: &str = "SELECT TABLE_NAME, COLUMN_NAME FROM USER_CONS_COLUMNS \
    WHERE CONSTRAINT_NAME = :1 ORDER BY POSITION";

/// The queries of the catalog, for tests.
pub(crate) const QUERIES: [&str; 7] =
    [COMMENTS, TABLES, COLUMNS, KEYS, INDEXES, REFERENCES, CONSTRAINT];

fn text(row: &dyn Row, place: usize) -> String {
    match row.get(place) {
        ValueRef::Text(text) => text.to_owned(),
        _ => String::new(),
    }
}

fn integer(row: &dyn Row, place: usize) -> Option<i64> {
    match row.get(place) {
        ValueRef::Int(integer) => Some(integer),
        _ => None,
    }
}

/// A name as Bobak has it.
fn name(row: &dyn Row, place: usize) -> String {
    swap_case(&text(row, place)).into_owned()
}

/// The statements that describe a table in its comments. Those of the columns come first: without the table's own, there is no
/// description.
///
/// # Errors
/// `Unsupported` if the description is longer than the comments of the table and its columns are.
pub(crate) fn remarks(table: &TableSchema) -> Result<Vec<String>> {
    let json = table_to_json(table).to_string();
    let mut parts = Vec::new();
    let mut part = String::new();
    for letter in json.chars() {
        // A quote is two in a literal.
        let bytes = if letter == '\'' { 2 } else { letter.len_utf8() };
        if part.len() + part.matches('\'').count() + bytes > PART {
            parts.push(std::mem::take(&mut part));
        }
        part.push(letter);
    }
    parts.push(part);
    if parts.len() > table.columns().len() + 1 {
        let message = "the description of the table is longer than its comments in Oracle";
        return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()));
    }
    let to = quoted(table.name());
    let places =
        table.columns().iter().map(|column| format!("COLUMN {to}.{}", quoted(&column.name)));
    let places = std::iter::once(format!("TABLE {to}")).chain(places);
    let texts = places.zip(parts.iter().enumerate()).map(|(place, (number, part))| {
        format!("COMMENT ON {place} IS {}", literal(&format!("{MARK}{number}:{part}")))
    });
    let mut texts: Vec<String> = texts.collect();
    texts.reverse();
    Ok(texts)
}

/// An index as the catalog has it.
#[derive(Debug)]
struct FoundIndex {
    name: String,
    is_unique: bool,
    /// Whether it is of expressions.
    is_computed: bool,
    columns: Vec<String>,
}

/// A table as the catalog has it.
#[derive(Debug, Default)]
struct FoundTable {
    name: String,
    /// The parts of the description, by their numbers.
    json: BTreeMap<u32, String>,
    columns: Vec<ColumnSchema>,
    is_made: bool,
    key_name: String,
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
    let mut found: BTreeMap<String, FoundTable> = BTreeMap::new();
    connection.each(None, TABLES, &[], None, &mut |row| {
        let name = text(row, 0);
        found.insert(name.clone(), FoundTable { name, ..FoundTable::default() });
        Ok(true)
    })?;
    let parts: [(&str, AddRow); 5] = [
        (COMMENTS, add_comment),
        (COLUMNS, add_column),
        (KEYS, add_key),
        (INDEXES, add_index),
        (REFERENCES, add_reference),
    ];
    for (sql, add) in parts {
        connection.each(None, sql, &[], None, &mut |row| {
            if let Some(table) = found.get_mut(&text(row, 0)) {
                add(table, row);
            }
            Ok(true)
        })?;
    }
    let tables = found.into_values();
    Ok(tables.filter_map(|table| table.own().or_else(|| table.foreign())).collect())
}

fn add_comment(table: &mut FoundTable, row: &dyn Row) {
    let comment = text(row, 1);
    let part = comment.strip_prefix(MARK).and_then(|rest| rest.split_once(':'));
    if let Some((number, part)) = part
        && let Ok(number) = number.parse()
    {
        table.json.insert(number, part.to_owned());
    }
}

/// What a type of another program's column is to Bobak.
fn column_type(name: &str, precision: Option<i64>, scale: Option<i64>, bytes: Option<i64>) -> Type {
    // With a precision of its digits, as in `TIMESTAMP(6) WITH TIME ZONE`.
    let base = name.split('(').next().unwrap_or(name);
    match (base, precision, scale) {
        ("NUMBER", Some(..=2), Some(0)) => Type::I8,
        ("NUMBER", Some(..=4), Some(0)) => Type::I16,
        ("NUMBER", Some(..=9), Some(0)) => Type::I32,
        ("NUMBER", Some(..=19), Some(0)) | ("NUMBER", None, Some(0)) => Type::I64,
        ("NUMBER", Some(..=19), Some(1..=4)) => Type::Currency,
        ("BINARY_DOUBLE" | "BINARY_FLOAT" | "FLOAT", ..) => Type::F64,
        // A DATE has seconds.
        ("TIMESTAMP", ..) if name.ends_with("TIME ZONE") => Type::Timestamp,
        ("TIMESTAMP" | "DATE", ..) => Type::DateTime,
        ("INTERVAL DAY", ..) => Type::Time,
        ("RAW", ..) if bytes == Some(16) => Type::Uuid,
        ("RAW" | "BLOB" | "LONG RAW", ..) => Type::Bytes,
        ("BOOLEAN", ..) => Type::Bool,
        _ => Type::Text,
    }
}

fn add_column(table: &mut FoundTable, row: &dyn Row) {
    let kind = text(row, 2);
    let ty = column_type(&kind, integer(row, 3), integer(row, 4), integer(row, 6));
    let mut column = ColumnSchema::new(name(row, 1), ty).nullable(text(row, 7) == "Y");
    match kind.as_str() {
        "VARCHAR2" | "NVARCHAR2" | "CHAR" | "NCHAR" => {
            column.max_chars = integer(row, 5).and_then(|chars| u32::try_from(chars).ok());
        }
        "NUMBER" if ty == Type::Text => {
            column.declared = Some(bobak_sql::LONG_DECIMAL.into());
        }
        _ => {}
    }
    column.max_chars = column.max_chars.filter(|chars| *chars > 0);
    table.is_made |= text(row, 8) == "YES";
    table.columns.push(column);
}

fn add_key(table: &mut FoundTable, row: &dyn Row) {
    table.key_name = text(row, 1);
    table.key.push(name(row, 3));
}

fn add_index(table: &mut FoundTable, row: &dyn Row) {
    let (index, column) = (text(row, 1), name(row, 4));
    match table.indexes.last_mut() {
        Some(known) if known.name == index => known.columns.push(column),
        _ => table.indexes.push(FoundIndex {
            name: index,
            is_unique: text(row, 2) == "UNIQUE",
            is_computed: text(row, 3).starts_with("FUNCTION"),
            columns: vec![column],
        }),
    }
}

fn add_reference(table: &mut FoundTable, row: &dyn Row) {
    let constraint = text(row, 1);
    if table.references.last().is_none_or(|(known, ..)| *known != constraint) {
        let on_delete = match text(row, 5).as_str() {
            "CASCADE" => OnDelete::Cascade,
            "SET NULL" => OnDelete::SetNull,
            _ => OnDelete::NoAction,
        };
        let key = ForeignKey::new(name(row, 2), Vec::<String>::new(), on_delete);
        table.references.push((constraint, Vec::new(), key));
    }
    if let Some((_, columns, key)) = table.references.last_mut() {
        columns.push(name(row, 3));
        key.referenced.push(name(row, 4).into());
    }
}

impl FoundTable {
    /// The description in the comments, unless another program has changed the columns since.
    fn own(&self) -> Option<TableSchema> {
        let json: String = self.json.values().map(String::as_str).collect();
        let table = table_from_json(&serde_json::from_str(&json).ok()?).ok()?;
        let has_index = |name: String| self.indexes.iter().any(|known| known.name == name);
        let is_same = stored(table.name()) == self.name
            && (!self.key.is_empty() || has_index(key_name(&table)))
            && table.columns().len() == self.columns.len()
            && table.indexes().iter().all(|index| has_index(index_name(&table, &index.name)))
            && table.columns().iter().all(|column| {
                self.columns.iter().any(|known| *known.name == *swap_case(&stored(&column.name)))
            });
        is_same.then_some(table)
    }

    fn foreign(self) -> Option<TableSchema> {
        if self.key.is_empty() {
            return None;
        }
        let mut builder = TableSchema::builder(swap_case(&self.name).into_owned());
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
        builder = builder.key(self.key.clone());
        if !self.is_made {
            builder = builder.given_key();
        }
        let add = |builder: TableSchemaBuilder, index: FoundIndex| {
            let name = swap_case(&index.name).into_owned();
            match index.is_unique {
                true => builder.unique_index(name, index.columns),
                false => builder.index(name, index.columns),
            }
        };
        // The key has one of its own; of one of expressions, nothing can be said.
        let (key, key_name) = (self.key, self.key_name);
        let others = self
            .indexes
            .into_iter()
            .filter(|index| !index.is_computed && index.name != key_name && index.columns != key);
        others.fold(builder, add).build().ok()
    }
}

/// The table and the columns of a constraint, by its name in the database.
pub(crate) fn constraint(connection: &mut Connection, named: &str) -> Option<(String, String)> {
    let value: OracleParameter<'_> = (Type::Text, ValueRef::Text(named));
    let mut found: Vec<(String, String)> = Vec::new();
    let requested = connection.each(None, CONSTRAINT, &[value], None, &mut |row| {
        found.push((name(row, 0), name(row, 1)));
        Ok(true)
    });
    // The error that is looked into matters more than that of the look.
    requested.ok()?;
    let table = found.first()?.0.clone();
    let columns: Vec<String> = found.into_iter().map(|(_, column)| column).collect();
    Some((table, columns.join(", ")))
}
