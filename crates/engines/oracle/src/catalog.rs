//! Which tables there are.
//!
//! Bobak's own say what they are in comments, as JSON. Those of other programs are read from the catalog.

use crate::dialect::OracleStatements;
use crate::names::swap_case;
use bobak_core::{ColumnSchema, Error, ErrorKind, Result, Row, TableSchema, Type};
use bobak_engine_common::{
    AddTableRow, CheckDialect, ServerTable, StatementDialect, catalog_integer as integer,
    catalog_text as text, listed_reference, table_to_json,
};

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

/// The table and the columns of a constraint, by its name in the database.
pub(crate) const CONSTRAINT: &str = "SELECT TABLE_NAME, COLUMN_NAME FROM USER_CONS_COLUMNS \
    WHERE CONSTRAINT_NAME = :1 ORDER BY POSITION";

/// The queries for the tables that have a key, and what takes note of their rows.
pub(crate) const QUERIES: [(&str, AddTableRow); 6] = [
    (TABLES, |table, row| table.name = name(row, 0)),
    (COMMENTS, add_comment),
    (COLUMNS, add_column),
    (KEYS, add_key),
    (INDEXES, add_index),
    (REFERENCES, add_reference),
];

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
    let to = OracleStatements.quoted(table.name());
    let places = table
        .columns()
        .iter()
        .map(|column| format!("COLUMN {to}.{}", OracleStatements.quoted(&column.name)));
    let places = std::iter::once(format!("TABLE {to}")).chain(places);
    let texts = places.zip(parts.iter().enumerate()).map(|(place, (number, part))| {
        format!(
            "COMMENT ON {place} IS {}",
            OracleStatements.text_literal(&format!("{MARK}{number}:{part}"))
        )
    });
    let mut texts: Vec<String> = texts.collect();
    texts.reverse();
    Ok(texts)
}

fn add_comment(table: &mut ServerTable, row: &dyn Row) {
    let comment = text(row, 1);
    let part = comment.strip_prefix(MARK).and_then(|rest| rest.split_once(':'));
    if let Some((number, part)) = part
        && let Ok(number) = number.parse()
    {
        table.description.insert(number, part.to_owned());
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

fn add_column(table: &mut ServerTable, row: &dyn Row) {
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

fn add_key(table: &mut ServerTable, row: &dyn Row) {
    table.key_name = text(row, 1);
    table.key.push(name(row, 3));
}

fn add_index(table: &mut ServerTable, row: &dyn Row) {
    let names = (text(row, 1), name(row, 1));
    // Of one of expressions, nothing can be said.
    let is_plain = !text(row, 3).starts_with("FUNCTION");
    table.add_index_column(names, text(row, 2) == "UNIQUE", is_plain, name(row, 4));
}

fn add_reference(table: &mut ServerTable, row: &dyn Row) {
    table.add_reference_column(text(row, 1), name(row, 3), name(row, 4), || {
        listed_reference(name(row, 2), &text(row, 5), "")
    });
}
