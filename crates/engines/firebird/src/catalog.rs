//! Which tables there are.
//!
//! Bobak's own say what they are in a comment, as JSON. Those of other programs are read from Firebird's catalog.

use crate::comment::TableComment;
use crate::connection::{Connection, GivenValue};
use crate::names::{Names, index_name, quoted, swap_case};
use bobak_core::{
    ColumnSchema, ForeignKey, OnDelete, OnUpdate, Result, Row, TableSchema, TableSchemaBuilder,
    Type, ValueRef,
};
use std::collections::BTreeMap;

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

pub(crate) fn text(row: &dyn Row, place: usize) -> String {
    match row.get(place) {
        ValueRef::Text(text) => text.to_owned(),
        _ => String::new(),
    }
}

pub(crate) fn integer(row: &dyn Row, place: usize) -> i64 {
    match row.get(place) {
        ValueRef::Int(integer) => integer,
        _ => 0,
    }
}

/// A table as the catalog has it.
#[derive(Debug, Default)]
struct FoundTable {
    name: String,
    comment: String,
    columns: Vec<(String, ColumnSchema)>,
    is_made: bool,
    key: Vec<String>,
    indexes: Vec<(String, bool, Vec<String>)>,
    references: Vec<(String, Vec<String>, ForeignKey)>,
}

/// The tables that have a key.
///
/// # Errors
/// Those of the server and the connection.
pub(crate) fn tables(connection: &mut Connection) -> Result<Vec<TableSchema>> {
    let mut order = Vec::new();
    let mut found: BTreeMap<String, FoundTable> = BTreeMap::new();
    connection.each(None, TABLES, &[], None, &mut |row| {
        let name = text(row, 0);
        order.push(name.clone());
        found.insert(
            name.clone(),
            FoundTable { name, comment: text(row, 1), ..FoundTable::default() },
        );
        Ok(true)
    })?;
    connection.each(None, COLUMNS, &[], None, &mut |row| {
        if let Some(table) = found.get_mut(&text(row, 0)) {
            table.columns.push((text(row, 1), column(row)));
            table.is_made |= integer(row, 8) >= 0;
        }
        Ok(true)
    })?;
    connection.each(None, INDEXES, &[], None, &mut |row| {
        if let Some(table) = found.get_mut(&text(row, 0)) {
            add_index(table, row);
        }
        Ok(true)
    })?;
    let tables = order.iter().filter_map(|name| found.remove(name));
    Ok(tables.filter_map(|table| table.build(connection)).collect())
}

/// The views. A column that shows one of a table has its type.
///
/// # Errors
/// Those of the server and the connection.
pub(crate) fn views(connection: &mut Connection) -> Result<Vec<TableSchema>> {
    let tables = tables(connection)?;
    let mut views: Vec<(String, Vec<ColumnSchema>)> = Vec::new();
    connection.each(None, VIEW_COLUMNS, &[], None, &mut |row| {
        let name = swap_case(&text(row, 0)).into_owned();
        let column = view_column(&tables, row);
        match views.last_mut() {
            Some((known, columns)) if *known == name => columns.push(column),
            _ => views.push((name, vec![column])),
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
    let (table, shown) =
        (swap_case(&text(row, 9)).into_owned(), swap_case(&text(row, 10)).into_owned());
    let table = tables.iter().find(|one| one.name().eq_ignore_ascii_case(&table));
    let shown = table.and_then(|table| {
        table.columns().iter().find(|column| column.name.eq_ignore_ascii_case(&shown))
    });
    let Some(shown) = shown else { return found };
    let max_chars = shown.max_chars;
    ColumnSchema { max_chars, declared: shown.declared.clone(), ty: shown.ty, ..found }
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
    let name = swap_case(&text(row, 1)).into_owned();
    let mut column = ColumnSchema::new(name, ty).nullable(integer(row, 7) == 0);
    if ty == Type::Text && matches!(integer(row, 2), 14 | 37) {
        column.max_chars = u32::try_from(length).ok();
    }
    if ty == Type::Text && matches!(integer(row, 2), 7 | 8 | 16) {
        column.declared = Some(bobak_sql::LONG_DECIMAL.into());
    }
    column
}

/// The foreign key that an index is of, without columns.
fn foreign_key(row: &dyn Row) -> ForeignKey {
    let on_delete = match text(row, 7).as_str() {
        "CASCADE" => OnDelete::Cascade,
        "SET NULL" => OnDelete::SetNull,
        _ => OnDelete::NoAction,
    };
    let to = swap_case(&text(row, 5)).into_owned();
    let key = ForeignKey::new(to, Vec::<String>::new(), on_delete);
    key.on_update(match text(row, 8).as_str() {
        "CASCADE" => OnUpdate::Cascade,
        "SET NULL" => OnUpdate::SetNull,
        _ => OnUpdate::NoAction,
    })
}

/// Takes note of one column of an index.
fn add_index(table: &mut FoundTable, row: &dyn Row) {
    let (name, field) = (text(row, 1), text(row, 3));
    match text(row, 4).as_str() {
        "PRIMARY KEY" => table.key.push(field),
        "FOREIGN KEY" => {
            if table.references.last().is_none_or(|(known, ..)| *known != name) {
                table.references.push((name, Vec::new(), foreign_key(row)));
            }
            if let Some((_, columns, key)) = table.references.last_mut() {
                columns.push(swap_case(&field).into_owned());
                key.referenced.push(swap_case(&text(row, 6)).into_owned().into());
            }
        }
        _ => match table.indexes.last_mut() {
            Some((known, _, columns)) if *known == name => columns.push(field),
            _ => table.indexes.push((name, integer(row, 2) != 0, vec![field])),
        },
    }
}

impl FoundTable {
    fn build(self, connection: &Connection) -> Option<TableSchema> {
        match TableComment::read(&self.comment) {
            Some(TableComment::Copy(_) | TableComment::Moved(..)) => None,
            Some(TableComment::Whole(table)) if self.is(connection.names, &table, true) => {
                Some(table)
            }
            Some(TableComment::Changed(_, table)) if self.is(connection.names, &table, false) => {
                Some(table)
            }
            _ => self.foreign(),
        }
    }

    /// Whether the table is as its comment describes it: otherwise another program has changed it since. One that is being
    /// changed may lack indexes.
    fn is(&self, names: Names, table: &TableSchema, is_whole: bool) -> bool {
        let is_there = |index: &bobak_core::IndexSchema| {
            let name = index_name(table, &index.name);
            self.indexes.iter().any(|(known, ..)| *known == name)
        };
        *names.stored(table.name()) == *self.name
            && table.columns().len() == self.columns.len()
            && (!is_whole || table.indexes().iter().all(is_there))
            && table.columns().iter().all(|column| {
                self.columns.iter().any(|(name, _)| *name == *names.stored(&column.name))
            })
    }

    fn foreign(self) -> Option<TableSchema> {
        let own = |names: &[String]| -> Vec<String> {
            names.iter().map(|name| swap_case(name).into_owned()).collect()
        };
        if self.key.is_empty() {
            return None;
        }
        let mut builder = TableSchema::builder(swap_case(&self.name).into_owned());
        for (stored, mut column) in self.columns {
            column.nullable &= !self.key.contains(&stored);
            // A key of another width that the server makes is what a key of 64 bits is to a program.
            if self.is_made && self.key == [stored.clone()] {
                column.ty = Type::I64;
            }
            builder = builder.column(column);
        }
        for (_, columns, key) in self.references {
            builder = builder.foreign_key(columns, key);
        }
        builder = builder.key(own(&self.key));
        if !self.is_made {
            builder = builder.given_key();
        }
        // Of an index of an expression nothing can be said.
        let plain = self
            .indexes
            .into_iter()
            .filter(|(.., columns)| columns.iter().all(|name| !name.is_empty()));
        let add = |builder: TableSchemaBuilder,
                   (name, unique, columns): (String, bool, Vec<String>)| {
            let (name, columns) = (swap_case(&name).into_owned(), own(&columns));
            if unique { builder.unique_index(name, columns) } else { builder.index(name, columns) }
        };
        plain.fold(builder, add).build().ok()
    }
}

/// The table and the columns of a constraint or an index, by its name in the database.
pub(crate) fn constraint(connection: &mut Connection, name: &str) -> Option<(String, String)> {
    let is_open = connection.in_transaction();
    let requested = if is_open {
        segments(connection, name)
    } else {
        connection.in_mode(crate::mode::Mode::Read, |connection| segments(connection, name))
    };
    // The error that is looked into matters more than that of the look.
    let found = requested.ok()?;
    let (table, _) = found.first()?.clone();
    let columns: Vec<String> =
        found.iter().map(|(_, column)| swap_case(column).into_owned()).collect();
    Some((swap_case(&table).into_owned(), columns.join(", ")))
}

fn segments(connection: &mut Connection, name: &str) -> Result<Vec<(String, String)>> {
    let sql = "SELECT TRIM(I.RDB$RELATION_NAME), TRIM(S.RDB$FIELD_NAME) FROM RDB$INDICES I \
               JOIN RDB$INDEX_SEGMENTS S ON S.RDB$INDEX_NAME = I.RDB$INDEX_NAME \
               WHERE I.RDB$INDEX_NAME = ? ORDER BY S.RDB$FIELD_POSITION";
    let mut found = Vec::new();
    let value: GivenValue<'_> = (Type::Text, ValueRef::Text(name));
    connection.each(None, sql, &[value], None, &mut |row| {
        found.push((text(row, 0), text(row, 1)));
        Ok(true)
    })?;
    Ok(found)
}

/// The generator of a table's keys, in quotes, by the table's name in the catalog; `None` if it has none.
pub(crate) fn generator(connection: &mut Connection, table: &str) -> Result<Option<String>> {
    let sql = "SELECT TRIM(RDB$GENERATOR_NAME) FROM RDB$RELATION_FIELDS \
               WHERE RDB$RELATION_NAME = ? AND RDB$GENERATOR_NAME IS NOT NULL";
    let mut found = None;
    let value: GivenValue<'_> = (Type::Text, ValueRef::Text(table));
    connection.each(None, sql, &[value], None, &mut |row| {
        found = Some(quoted(&text(row, 0)));
        Ok(true)
    })?;
    Ok(found)
}
