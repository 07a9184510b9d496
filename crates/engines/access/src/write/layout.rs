//! What a table of Bobak is in a file: the kinds of its columns, and a definition for it.

use super::bytes::{as_short, damaged, put};
use super::definition::{
    ColumnEntry, Definition, LogicalIndex, LongColumn, MAGIC, MAX_INDEX_COLUMNS, PhysicalIndex,
};
use super::format::FileFormat;
use super::key::{
    BINARY, BYTE, DATE_TIME, DECIMAL, DOUBLE, GUID, INTEGER, LARGE_NUMBER, LONG, LONG_BINARY,
    LONG_TEXT, MONEY, SINGLE, TEXT,
};
use super::pages::Pages;
use super::relations::{AccessRelation, TableSides};
use super::row::YES_NO;
use super::table::UNIQUE;
use super::usage_map;
use bobak_core::{Error, ErrorKind, KeyGeneration, Result, TableSchema, Type};
use std::sync::Arc;

/// The characters of a short text.
pub(super) const SHORT_TEXT: u32 = 255;
/// The limits of Access.
const MAX_COLUMNS: usize = 255;
const MAX_INDEXES: usize = 32;
const MAX_NAME: usize = 64;
/// The flags of an index of Access 2000 and later; of a unique one; of one whose values are required.
const ANY_INDEX: u8 = 0x80;
const UNIQUE_INDEX: u8 = 0x81;
const KEY_INDEX: u8 = 0x89;
/// The kinds of logical indexes.
const KEY: u8 = 1;
const OF_RELATION: u8 = 2;

/// What a column is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnKind {
    pub kind: u8,
    length: u16,
    /// Of a decimal.
    digits: u8,
}

/// All tables of a commit, by name.
#[derive(Clone, Copy)]
pub(super) struct Schemas<'t>(pub &'t [Arc<TableSchema>]);

impl<'t> Schemas<'t> {
    pub fn find(self, name: &str) -> Option<&'t Arc<TableSchema>> {
        self.0.iter().find(|table| table.name().eq_ignore_ascii_case(name))
    }
}

/// A column's kind. A foreign key is of the kind of what it references.
///
/// # Errors
/// `Unsupported` for a type without a counterpart.
pub(super) fn kind_of(
    table: &TableSchema,
    column: usize,
    tables: Schemas<'_>,
    format: FileFormat,
) -> Result<ColumnKind> {
    let (mut table, mut column) = (table, column);
    // Keys that reference each other in a circle have the kind of one of them.
    for _ in 0..16 {
        match referenced(table, column, tables) {
            Some(next) if !std::ptr::eq(next.0, table) || next.1 != column => {
                (table, column) = next;
            }
            _ => break,
        }
    }
    own_kind(table, column, format)
}

fn referenced<'t>(
    table: &TableSchema,
    column: usize,
    tables: Schemas<'t>,
) -> Option<(&'t TableSchema, usize)> {
    table.all_foreign_keys().into_iter().find_map(|key| {
        let at = key.columns.iter().position(|own| *own == column)?;
        let parent = tables.find(&key.table)?;
        Some((&**parent, parent.column(key.referenced.get(at)?).ok()?))
    })
}

fn own_kind(table: &TableSchema, column: usize, format: FileFormat) -> Result<ColumnKind> {
    let schema = table.column_at(column)?;
    let fixed = |kind, length| Ok(ColumnKind { kind, length, digits: 0 });
    let decimal = |digits| Ok(ColumnKind { kind: DECIMAL, length: 17, digits });
    let is_indexed = table.key().contains(&column)
        || table.indexes().iter().any(|index| index.columns.contains(&column))
        || table.all_foreign_keys().iter().any(|key| key.columns.contains(&column));
    match schema.ty {
        Type::Bool if !schema.nullable => fixed(YES_NO, 1),
        Type::Bool | Type::U8 => fixed(BYTE, 1),
        Type::I8 | Type::I16 => fixed(INTEGER, 2),
        Type::I64 if is_made(table, column) => fixed(LONG, 4),
        Type::U16 | Type::I32 => fixed(LONG, 4),
        Type::U32 => decimal(10),
        Type::I64 | Type::U64 if format.has_large_numbers() => fixed(LARGE_NUMBER, 8),
        Type::I64 | Type::U64 => decimal(19),
        Type::F32 => fixed(SINGLE, 4),
        Type::F64 => fixed(DOUBLE, 8),
        Type::Currency => fixed(MONEY, 8),
        Type::Uuid => fixed(GUID, 16),
        Type::Date | Type::Time | Type::DateTime | Type::Timestamp => fixed(DATE_TIME, 8),
        Type::Text | Type::Json => {
            let chars = schema.max_chars.filter(|chars| *chars <= SHORT_TEXT);
            match chars.or(is_indexed.then_some(SHORT_TEXT)) {
                Some(chars) => fixed(TEXT, as_short(2 * chars.max(1) as usize)?),
                None => fixed(LONG_TEXT, 0),
            }
        }
        Type::Bytes if is_indexed => fixed(BINARY, 255),
        Type::Bytes => fixed(LONG_BINARY, 0),
        _ => {
            let message = format!("Access has no fields for columns of type {}", schema.ty.name());
            Err(Error::new(ErrorKind::Unsupported, message).in_column(schema.name.clone()))
        }
    }
}

/// Whether the engine makes the values of a column.
fn is_made(table: &TableSchema, column: usize) -> bool {
    table.key_generation() == KeyGeneration::Engine
        && !table.has_hidden_key()
        && table.key() == [column]
}

/// The positions of the columns that a file has: all but a hidden key.
pub(super) fn stored_columns(table: &TableSchema) -> Vec<usize> {
    let hidden = table.has_hidden_key().then(|| table.key().first().copied()).flatten();
    (0..table.columns().len()).filter(|column| Some(*column) != hidden).collect()
}

/// Rejects what Access has no room for, and names that it has not.
///
/// # Errors
/// `Unsupported`.
pub(super) fn check(table: &TableSchema) -> Result<()> {
    let reject = |message: String| {
        Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
    };
    let names = std::iter::once(table.name())
        .chain(table.columns().iter().map(|column| &*column.name))
        .chain(table.indexes().iter().map(|index| &*index.name));
    for name in names {
        let is_wrong = |c: char| c.is_control() || ".!`[]".contains(c);
        let length = name.encode_utf16().count();
        if length > MAX_NAME || name.starts_with(' ') || name.contains(is_wrong) {
            return reject(format!(
                "Access cannot have the name '{name}': at most {MAX_NAME} characters, none of . ! ` [ ], no space at the \
                 start"
            ));
        }
    }
    if table.columns().len() > MAX_COLUMNS {
        return reject(format!("Access has at most {MAX_COLUMNS} fields in a table"));
    }
    let long = |columns: &[usize]| columns.len() > MAX_INDEX_COLUMNS;
    if long(table.key()) || table.indexes().iter().any(|index| long(&index.columns)) {
        return reject(format!("Access has at most {MAX_INDEX_COLUMNS} fields in an index"));
    }
    Ok(())
}

impl ColumnKind {
    const fn is_fixed(self) -> bool {
        !matches!(self.kind, TEXT | LONG_TEXT | BINARY | LONG_BINARY | DECIMAL)
    }

    const fn is_long(self) -> bool {
        matches!(self.kind, LONG_TEXT | LONG_BINARY)
    }

    fn entry(self, name: &str, is_made: bool, format: FileFormat) -> Result<ColumnEntry> {
        let mut raw = [0; 25];
        put(&mut raw, 0, &[self.kind])?;
        put(&mut raw, 1, &MAGIC.to_le_bytes())?;
        match self.kind {
            TEXT | LONG_TEXT => put(&mut raw, 11, &format.sort_order().bytes())?,
            DECIMAL => put(&mut raw, 11, &[self.digits])?,
            _ => {}
        }
        let made = if is_made { 4 } else { 0 };
        put(&mut raw, 15, &[2 | made | u8::from(self.is_fixed())])?;
        put(&mut raw, 16, &[u8::from(matches!(self.kind, TEXT | LONG_TEXT))])?;
        put(&mut raw, 23, &self.length.to_le_bytes())?;
        Ok(ColumnEntry { raw, name: name.to_owned() })
    }

    fn of(entry: &ColumnEntry) -> Self {
        let digits = if entry.kind() == DECIMAL { entry.raw[11] } else { 0 };
        let length = as_short(entry.length()).unwrap_or_default();
        Self { kind: entry.kind(), length, digits }
    }
}

/// A new definition for a table. What the old one has for columns of the same kind stays as it is.
///
/// # Errors
/// `Unsupported` for what Access has not; `Full`.
pub(super) fn define(
    pages: &mut Pages,
    table: &TableSchema,
    tables: Schemas<'_>,
    old: Option<&Definition>,
    relations: &TableSides<'_>,
) -> Result<Definition> {
    check(table)?;
    let mut definition = match old {
        Some(old) => {
            let mut kept = old.clone();
            kept.columns.clear();
            kept
        }
        None => {
            let maps = usage_map::create(pages, 2)?;
            let &[owned, with_room] = &maps[..] else { return Err(damaged()) };
            Definition::new(owned, with_room, false)?
        }
    };
    let mut former_numbers = Vec::new();
    for column in stored_columns(table) {
        let (kind, name) =
            (kind_of(table, column, tables, pages.format)?, &table.column_at(column)?.name);
        let kept = old.and_then(|old| {
            let same = |entry: &&ColumnEntry| entry.name == **name && ColumnKind::of(entry) == kind;
            old.columns.iter().find(same)
        });
        former_numbers.push(kept.filter(|_| kind.is_long()).map(ColumnEntry::number));
        definition.columns.push(match kept {
            Some(entry) => entry.clone(),
            None => kind.entry(name, is_made(table, column), pages.format)?,
        });
    }
    place_columns(&mut definition)?;
    place_long_columns(pages, &mut definition, &former_numbers)?;
    place_indexes(pages, table, &mut definition, relations)?;
    definition.forget_dropped_columns()?;
    Ok(definition)
}

/// Numbers the columns, and gives each its place in rows: long values come last.
fn place_columns(definition: &mut Definition) -> Result<()> {
    let is_long = |entry: &ColumnEntry| ColumnKind::of(entry).is_long();
    let columns = &mut definition.columns;
    let mut long = columns.iter().filter(|c| !c.is_fixed() && !is_long(c)).count();
    let (mut variable, mut place) = (0, 0);
    for (number, column) in columns.iter_mut().enumerate() {
        let number = as_short(number)?;
        if column.kind() == YES_NO {
            column.put(number, 0, 0);
        } else if column.is_fixed() {
            column.put(number, as_short(variable)?, as_short(place)?);
            place += column.length();
        } else {
            let next = if is_long(column) { &mut long } else { &mut variable };
            column.put(number, as_short(*next)?, 0);
            *next += 1;
        }
    }
    Ok(())
}

/// Gives each column of long values its usage maps: those that it has, or new ones.
fn place_long_columns(
    pages: &mut Pages,
    definition: &mut Definition,
    former_numbers: &[Option<u16>],
) -> Result<()> {
    let old = std::mem::take(&mut definition.long);
    for (column, former) in definition.columns.iter().zip(former_numbers) {
        if !ColumnKind::of(column).is_long() {
            continue;
        }
        let number = column.number();
        let known = old.iter().find(|long| Some(long.number) == *former);
        definition.long.push(match known {
            Some(long) => LongColumn { number, ..*long },
            None => {
                let maps = usage_map::create(pages, 2)?;
                let &[owned, with_room] = &maps[..] else { return Err(damaged()) };
                LongColumn { number, owned, with_room }
            }
        });
    }
    Ok(())
}

/// An index that users see, before it has pages.
struct IndexPlan {
    name: String,
    kind: u8,
    flags: u8,
    columns: Vec<u16>,
    /// What a logical index says of a relation.
    relation: [u8; 11],
}

/// The indexes of the key, of the table, and of its relations.
fn place_indexes(
    pages: &mut Pages,
    table: &TableSchema,
    definition: &mut Definition,
    relations: &TableSides<'_>,
) -> Result<()> {
    let mut maps = Vec::new();
    for index in &definition.physical {
        maps.push(index.map()?);
    }
    let plans = plans(table, definition, relations)?;
    if plans.len() > MAX_INDEXES {
        let message = format!(
            "Access has at most {MAX_INDEXES} indexes in a table, those of relationships included"
        );
        return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()));
    }
    let mut physical: Vec<(Vec<u16>, u8)> = Vec::new();
    definition.logical.clear();
    for (number, plan) in plans.into_iter().enumerate() {
        let is_same = |(columns, flags): &(Vec<u16>, u8)| {
            let is_enough = plan.kind == OF_RELATION && plan.flags & !flags & UNIQUE == 0;
            *columns == plan.columns && (*flags == plan.flags || is_enough)
        };
        let found = physical.iter().position(is_same);
        let place = found.unwrap_or(physical.len());
        if found.is_none() {
            physical.push((plan.columns.clone(), plan.flags));
        }
        let mut raw = [0; 28];
        put(&mut raw, 0, &MAGIC.to_le_bytes())?;
        put(&mut raw, 4, &u32::from(as_short(number)?).to_le_bytes())?;
        put(&mut raw, 8, &u32::from(as_short(place)?).to_le_bytes())?;
        put(&mut raw, 12, &plan.relation)?;
        put(&mut raw, 23, &[plan.kind])?;
        definition.logical.push(LogicalIndex { raw, name: plan.name });
    }
    if let Some(missing) = physical.len().checked_sub(maps.len()) {
        maps.extend(usage_map::create(pages, missing)?);
    }
    definition.physical.clear();
    for ((columns, flags), map) in physical.into_iter().zip(maps) {
        let columns: Vec<(u16, bool)> = columns.into_iter().map(|number| (number, true)).collect();
        definition.physical.push(PhysicalIndex::new(&columns, flags, map)?);
    }
    Ok(())
}

fn plans(
    table: &TableSchema,
    definition: &Definition,
    relations: &TableSides<'_>,
) -> Result<Vec<IndexPlan>> {
    let number = |name: &str| {
        let mut columns = definition.columns.iter();
        let found = columns.find(|column| column.name == name).map(ColumnEntry::number);
        found.ok_or_else(damaged)
    };
    let numbers = |columns: &[usize]| -> Result<Vec<u16>> {
        columns.iter().map(|column| number(&table.column_at(*column)?.name)).collect()
    };
    // What a logical index says of a relation if it has none.
    let relation = [0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0];
    let mut plans = Vec::new();
    if !table.has_hidden_key() && !table.key().is_empty() {
        let (name, columns) = ("PrimaryKey".to_owned(), numbers(table.key())?);
        plans.push(IndexPlan { name, kind: KEY, flags: KEY_INDEX, columns, relation });
    }
    for index in table.indexes() {
        let flags = if index.unique { UNIQUE_INDEX } else { ANY_INDEX };
        let (name, columns) =
            (index_name(table, definition, &index.name), numbers(&index.columns)?);
        plans.push(IndexPlan { name, kind: 0, flags, columns, relation });
    }
    for (place, side) in relations.sides().into_iter().enumerate() {
        let AccessRelation { child_columns, parent_columns, .. } = side.relation;
        let (columns, flags) = match side.is_parent {
            true => (parent_columns, UNIQUE_INDEX),
            false => (child_columns, ANY_INDEX),
        };
        let columns = columns.iter().map(|name| number(name)).collect::<Result<Vec<_>>>()?;
        let name = side.index_name(place);
        let relation = side.description()?;
        plans.push(IndexPlan { name, kind: OF_RELATION, flags, columns, relation });
    }
    Ok(plans)
}

/// The name of an index in the file: an index that Access made is read with the table's name before its own.
fn index_name(table: &TableSchema, old: &Definition, name: &str) -> String {
    let own = name.strip_prefix(table.name()).and_then(|rest| rest.strip_prefix('_'));
    let is_stored = |own: &&str| old.logical.iter().any(|index| index.name == **own);
    own.filter(is_stored).unwrap_or(name).to_owned()
}

/// The number of indexes before those of relations: see [`plans`].
pub(super) fn own_indexes(table: &TableSchema) -> usize {
    usize::from(!table.has_hidden_key() && !table.key().is_empty()) + table.indexes().len()
}
