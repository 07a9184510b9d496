//! Which tables there are.
//!
//! Bobak's own say what they are in a comment, as JSON. Those of other programs are read from Firebird's catalog.

use crate::comment::TableComment;
use crate::connection::Connection;
use crate::names::{quoted, swap_case};
use bobak_core::{ColumnSchema, Result, Row, TableSchema, TableSchemaBuilder, TextOrder, Type};
use bobak_engine_common::{
    AddTableRow, ServerOperations, ServerTable, StatementConnection, StatementValue,
    catalog_integer, listed_reference,
};

pub(crate) use bobak_engine_common::catalog_text as text;

const TABLES: &str = "SELECT TRIM(RDB$RELATION_NAME), RDB$DESCRIPTION FROM RDB$RELATIONS \
    WHERE COALESCE(RDB$SYSTEM_FLAG, 0) = 0 AND RDB$VIEW_BLR IS NULL ORDER BY RDB$RELATION_ID";

const COLUMNS: &str = "SELECT TRIM(R.RDB$RELATION_NAME), TRIM(R.RDB$FIELD_NAME), F.RDB$FIELD_TYPE, \
    COALESCE(F.RDB$FIELD_SUB_TYPE, 0), COALESCE(F.RDB$FIELD_SCALE, 0), \
    COALESCE(F.RDB$CHARACTER_LENGTH, F.RDB$FIELD_LENGTH), COALESCE(F.RDB$CHARACTER_SET_ID, 0), \
    COALESCE(R.RDB$NULL_FLAG, F.RDB$NULL_FLAG, 0), COALESCE(R.RDB$IDENTITY_TYPE, -1) \
    FROM RDB$RELATION_FIELDS R JOIN RDB$FIELDS F ON F.RDB$FIELD_NAME = R.RDB$FIELD_SOURCE \
    WHERE COALESCE(R.RDB$SYSTEM_FLAG, 0) = 0 AND F.RDB$COMPUTED_SOURCE IS NULL \
    ORDER BY R.RDB$RELATION_NAME, R.RDB$FIELD_POSITION";

/// The columns of views as [`COLUMNS`] has them, with the table and the column that each one shows.
const VIEW_COLUMNS: &str = "SELECT TRIM(R.RDB$RELATION_NAME), TRIM(R.RDB$FIELD_NAME), F.RDB$FIELD_TYPE, \
    COALESCE(F.RDB$FIELD_SUB_TYPE, 0), COALESCE(F.RDB$FIELD_SCALE, 0), \
    COALESCE(F.RDB$CHARACTER_LENGTH, F.RDB$FIELD_LENGTH), COALESCE(F.RDB$CHARACTER_SET_ID, 0), \
    0, -1, TRIM(COALESCE(B.RDB$RELATION_NAME, '')), TRIM(COALESCE(R.RDB$BASE_FIELD, '')) \
    FROM RDB$RELATIONS V JOIN RDB$RELATION_FIELDS R ON R.RDB$RELATION_NAME = V.RDB$RELATION_NAME \
    JOIN RDB$FIELDS F ON F.RDB$FIELD_NAME = R.RDB$FIELD_SOURCE \
    LEFT JOIN RDB$VIEW_RELATIONS B ON B.RDB$VIEW_NAME = R.RDB$RELATION_NAME \
    AND B.RDB$VIEW_CONTEXT = R.RDB$VIEW_CONTEXT \
    WHERE COALESCE(V.RDB$SYSTEM_FLAG, 0) = 0 AND V.RDB$VIEW_BLR IS NOT NULL \
    ORDER BY R.RDB$RELATION_NAME, R.RDB$FIELD_POSITION";

const INDEXES: &str = "SELECT TRIM(I.RDB$RELATION_NAME), TRIM(I.RDB$INDEX_NAME), \
    COALESCE(I.RDB$UNIQUE_FLAG, 0), TRIM(S.RDB$FIELD_NAME), TRIM(COALESCE(C.RDB$CONSTRAINT_TYPE, '')), \
    TRIM(COALESCE(P.RDB$RELATION_NAME, '')), TRIM(COALESCE(Q.RDB$FIELD_NAME, '')), \
    TRIM(COALESCE(X.RDB$DELETE_RULE, '')), TRIM(COALESCE(X.RDB$UPDATE_RULE, '')) \
    FROM RDB$INDICES I LEFT JOIN RDB$INDEX_SEGMENTS S ON S.RDB$INDEX_NAME = I.RDB$INDEX_NAME \
    LEFT JOIN RDB$RELATION_CONSTRAINTS C ON C.RDB$INDEX_NAME = I.RDB$INDEX_NAME \
    LEFT JOIN RDB$REF_CONSTRAINTS X ON X.RDB$CONSTRAINT_NAME = C.RDB$CONSTRAINT_NAME \
    LEFT JOIN RDB$RELATION_CONSTRAINTS P ON P.RDB$CONSTRAINT_NAME = X.RDB$CONST_NAME_UQ \
    LEFT JOIN RDB$INDEX_SEGMENTS Q ON Q.RDB$INDEX_NAME = P.RDB$INDEX_NAME \
    AND Q.RDB$FIELD_POSITION = S.RDB$FIELD_POSITION \
    WHERE COALESCE(I.RDB$SYSTEM_FLAG, 0) = 0 AND COALESCE(I.RDB$INDEX_INACTIVE, 0) = 0 \
    ORDER BY I.RDB$INDEX_ID, I.RDB$INDEX_NAME, S.RDB$FIELD_POSITION";

/// The table and the columns of a constraint or an index, by its name in the database.
pub(crate) const CONSTRAINT: &str = "SELECT TRIM(I.RDB$RELATION_NAME), TRIM(S.RDB$FIELD_NAME) FROM RDB$INDICES I \
    JOIN RDB$INDEX_SEGMENTS S ON S.RDB$INDEX_NAME = I.RDB$INDEX_NAME \
    WHERE I.RDB$INDEX_NAME = ? ORDER BY S.RDB$FIELD_POSITION";

pub(crate) fn integer(row: &dyn Row, place: usize) -> i64 {
    catalog_integer(row, place).unwrap_or(0)
}

/// A name as Bobak has it.
fn name(row: &dyn Row, place: usize) -> String {
    swap_case(&text(row, place)).into_owned()
}

/// The queries for the tables that have a key, and what takes note of their rows.
pub(crate) const QUERIES: [(&str, AddTableRow); 3] =
    [(TABLES, add_table), (COLUMNS, add_column), (INDEXES, add_index)];

fn add_table(table: &mut ServerTable, row: &dyn Row) {
    table.name = name(row, 0);
    match TableComment::read(&text(row, 1)) {
        Some(TableComment::Copy(_) | TableComment::Moved(..)) => table.is_hidden = true,
        Some(TableComment::Whole(described)) => table.described = Some(described),
        Some(TableComment::Changed(_, described)) => {
            (table.described, table.is_changing) = (Some(described), true);
        }
        None => {}
    }
}

fn add_column(table: &mut ServerTable, row: &dyn Row) {
    table.columns.push(column(row));
    table.is_made |= integer(row, 8) >= 0;
}

/// The views. A column that shows one of a table has its type.
///
/// # Errors
/// Those of the server and the connection.
pub(crate) fn views(connection: &mut Connection) -> Result<Vec<TableSchema>> {
    let tables = connection.tables()?;
    let mut views: Vec<(String, Vec<ColumnSchema>)> = Vec::new();
    connection.each(None, VIEW_COLUMNS, &[], &mut |row| {
        let view = name(row, 0);
        let column = view_column(&tables, row);
        match views.last_mut() {
            Some((known, columns)) if *known == view => columns.push(column),
            _ => views.push((view, vec![column])),
        }
        Ok(true)
    })?;
    let view = |(name, columns): (String, Vec<ColumnSchema>)| {
        let builder = TableSchema::builder(name).view();
        columns.into_iter().fold(builder, TableSchemaBuilder::column).build().ok()
    };
    Ok(views.into_iter().filter_map(view).collect())
}

fn view_column(tables: &[TableSchema], row: &dyn Row) -> ColumnSchema {
    let found = column(row);
    let (table, shown) = (name(row, 9), name(row, 10));
    let table = tables.iter().find(|one| one.name().eq_ignore_ascii_case(&table));
    let shown = table.and_then(|table| {
        table.columns().iter().find(|column| column.name.eq_ignore_ascii_case(&shown))
    });
    let Some(shown) = shown else { return found };
    let max_chars = shown.max_chars;
    let (ty, text_order) = (shown.ty, shown.text_order);
    ColumnSchema { max_chars, declared: shown.declared.clone(), ty, text_order, ..found }
}

/// What a type of another program's column is to Bobak.
fn column_type(row: &dyn Row, scale: i64, length: i64) -> Type {
    let is_octets = integer(row, 6) == 1;
    match integer(row, 2) {
        7 | 8 | 16 if scale > 0 => {
            if scale <= 4 {
                Type::Currency
            } else {
                Type::Text
            }
        }
        7 => Type::I16,
        8 => Type::I32,
        16 => Type::I64,
        10 | 27 => Type::F64,
        12 => Type::Date,
        13 => Type::Time,
        35 => Type::DateTime,
        23 => Type::Bool,
        14 if is_octets && length == 16 => Type::Uuid,
        14 | 37 if is_octets => Type::Bytes,
        261 if integer(row, 3) != 1 => Type::Bytes,
        _ => Type::Text,
    }
}

fn column(row: &dyn Row) -> ColumnSchema {
    let (scale, length) = (-integer(row, 4), integer(row, 5));
    let ty = column_type(row, scale, length);
    let mut column = ColumnSchema::new(name(row, 1), ty).nullable(integer(row, 7) == 0);
    if ty == Type::Text && matches!(integer(row, 2), 14 | 37) {
        column.max_chars = u32::try_from(length).ok();
    }
    if ty == Type::Text && matches!(integer(row, 2), 7 | 8 | 16) {
        column.declared = Some(bobak_sql::LONG_DECIMAL.into());
    } else if ty == Type::Text {
        // Spaces at the end do not count.
        column.text_order = TextOrder::Engine;
    }
    column
}

/// Takes note of one column of an index. Of an index of an expression nothing can be said.
fn add_index(table: &mut ServerTable, row: &dyn Row) {
    let column = name(row, 3);
    match text(row, 4).as_str() {
        "PRIMARY KEY" => table.key.push(column),
        "FOREIGN KEY" => table.add_reference_column(text(row, 1), column, name(row, 6), || {
            listed_reference(name(row, 5), &text(row, 7), &text(row, 8))
        }),
        _ => {
            let names = (text(row, 1), name(row, 1));
            table.add_index_column(names, integer(row, 2) != 0, !column.is_empty(), column);
        }
    }
}

/// The generator of a table's keys, in quotes, by the table's name in the catalog; `None` if it has none.
pub(crate) fn generator(connection: &mut Connection, table: &str) -> Result<Option<String>> {
    let sql = "SELECT TRIM(RDB$GENERATOR_NAME) FROM RDB$RELATION_FIELDS \
               WHERE RDB$RELATION_NAME = ? AND RDB$GENERATOR_NAME IS NOT NULL";
    let name = [StatementValue::of_type(Type::Text, table)];
    Ok(connection.texts(sql, &name)?.pop().map(|name| quoted(&name)))
}
