//! Encodes and decodes table schemas and schema changes.

use crate::reader::{MessageReader, corrupt, wrong};
use crate::value;
use crate::writer::Encode;
use bobak_core::search::SearchLanguage;
use bobak_core::{
    Collation, ColumnRole, ColumnSchema, ForeignKey, IndexSchema, KeyGeneration, OnDelete,
    OnUpdate, Reference, Result, SchemaChange, TableSchema, TextOrder, Type, Value,
};
use std::sync::Arc;

/// The number of a type is its position in this list, except [`VECTOR`].
const TYPES: &[Type] = &[
    Type::Bool,
    Type::I8,
    Type::I16,
    Type::I32,
    Type::I64,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::F32,
    Type::F64,
    Type::Text,
    Type::Bytes,
    Type::Uuid,
    Type::Currency,
    Type::Date,
    Type::Time,
    Type::DateTime,
    Type::Timestamp,
    Type::Json,
    Type::Any,
    Type::Decimal,
];
/// The number of vectors, whose length follows: the first after those of the list.
const VECTOR: u8 = 22;
const COLLATIONS: &[Collation] = &[Collation::Binary, Collation::NoCase, Collation::UnicodeNoCase];
const ROLES: &[ColumnRole] =
    &[ColumnRole::Plain, ColumnRole::CreatedAt, ColumnRole::ModifiedAt, ColumnRole::Version];
const ON_DELETE: &[OnDelete] =
    &[OnDelete::Restrict, OnDelete::Cascade, OnDelete::SetNull, OnDelete::NoAction];
/// In the two bits above those of ON DELETE.
const ON_UPDATE: &[OnUpdate] =
    &[OnUpdate::NoAction, OnUpdate::Restrict, OnUpdate::Cascade, OnUpdate::SetNull];
/// The bit above those: the foreign key is checked at the commit.
const DEFERRED: u8 = 16;
const GENERATIONS: &[KeyGeneration] =
    &[KeyGeneration::Engine, KeyGeneration::Uuid, KeyGeneration::Given];
/// A bit above those of the key generation: keys are never reused.
const NEVER_REUSED: u8 = 4;
/// The bit above that: foreign keys follow the indexes.
const FOREIGN_KEYS: u8 = 8;
/// The bit above that: a view, which may have no key.
const VIEW: u8 = 16;
/// The bit above that: what the table is searched by follows the foreign keys.
const SEARCHED: u8 = 32;

const NULLABLE: u8 = 1;
const UNIQUE: u8 = 2;
const AS_TEXT: u8 = 4;
/// The column's expression follows its reference.
const GENERATED: u8 = 8;
/// The engine has rules of its own for the texts.
const ENGINE_ORDER: u8 = 16;
/// The engine has another type there.
const CONVERTED: u8 = 32;

const CREATE_TABLE: u8 = 0;
const ADD_COLUMN: u8 = 1;
const ADD_INDEX: u8 = 2;
const TRACK: u8 = 3;
const UNTRACK: u8 = 4;
const ADD_REFERENCE: u8 = 5;
const ADD_FOREIGN_KEY: u8 = 6;

/// The number of a value: its position in the list of all.
pub(crate) fn number_of<T: PartialEq>(list: &[T], thing: &T) -> u8 {
    list.iter().position(|other| other == thing).unwrap_or(0) as u8
}

/// The value with this number.
pub(crate) fn of_number<T: Copy>(list: &[T], number: u8, what: &str) -> Result<T> {
    list.get(usize::from(number)).copied().ok_or_else(|| wrong(what, number))
}

/// Encodes a type: its number, and of vectors the length.
pub(crate) fn encode_type(out: &mut Vec<u8>, ty: Type) {
    out.encode_u8(type_number(ty));
    if let Type::Vector(numbers) = ty {
        out.encode_u16(numbers);
    }
}

/// The number of a type.
pub(crate) fn type_number(ty: Type) -> u8 {
    if matches!(ty, Type::Vector(_)) { VECTOR } else { number_of(TYPES, &ty) }
}

/// The type of a parameter or of a result column.
pub(crate) fn read_type(reader: &mut MessageReader<'_>) -> Result<Type> {
    let number = reader.u8()?;
    numbered_type(number, if number == VECTOR { reader.u16()? } else { 0 })
}

/// The type with this number, and so many numbers of a vector.
pub(crate) fn numbered_type(number: u8, numbers: u16) -> Result<Type> {
    match (number, numbers) {
        (VECTOR, 0) => Err(corrupt("a vector without numbers")),
        (VECTOR, numbers) => Ok(Type::Vector(numbers)),
        _ => of_number(TYPES, number, "a type"),
    }
}

pub(crate) fn encode(out: &mut Vec<u8>, table: &TableSchema) -> Result<()> {
    out.encode_text(table.name())?;
    out.encode_position(table.columns().len())?;
    table.columns().iter().try_for_each(|column| encode_column(out, column))?;
    encode_positions(out, table.key())?;
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    out.encode_u8(
        number_of(GENERATIONS, &table.key_generation())
            | flag(table.never_reuses_keys(), NEVER_REUSED)
            | flag(!table.foreign_keys().is_empty(), FOREIGN_KEYS)
            | flag(table.is_view(), VIEW)
            | flag(table.search().is_some(), SEARCHED),
    );
    // The indexes of unique columns follow from the columns.
    let own = table.indexes().get(unique_columns(table)..).unwrap_or_default();
    out.encode_position(own.len())?;
    own.iter().try_for_each(|index| encode_index(out, index))?;
    if !table.foreign_keys().is_empty() {
        out.encode_position(table.foreign_keys().len())?;
        table.foreign_keys().iter().try_for_each(|key| encode_foreign_key(out, key))?;
    }
    if let Some(search) = table.search() {
        encode_positions(out, &search.columns)?;
        out.encode_text(search.language.name())?;
    }
    Ok(())
}

fn encode_foreign_key(out: &mut Vec<u8>, key: &ForeignKey) -> Result<()> {
    encode_positions(out, &key.columns)?;
    out.encode_text(&key.table)?;
    key.referenced.iter().try_for_each(|name| out.encode_text(name))?;
    out.encode_u8(actions(key.on_delete, key.on_update, key.deferred));
    Ok(())
}

/// What a foreign key does, and when it is checked.
fn actions(on_delete: OnDelete, on_update: OnUpdate, deferred: bool) -> u8 {
    let deferred = if deferred { DEFERRED } else { 0 };
    number_of(ON_DELETE, &on_delete) | number_of(ON_UPDATE, &on_update) << 2 | deferred
}

fn read_actions(reader: &mut MessageReader<'_>) -> Result<(OnDelete, OnUpdate, bool)> {
    let actions = reader.u8()?;
    if actions >= DEFERRED * 2 {
        return Err(wrong("a foreign key's actions", actions));
    }
    let on_delete = of_number(ON_DELETE, actions & 3, "an ON DELETE action")?;
    let on_update = of_number(ON_UPDATE, actions >> 2 & 3, "an ON UPDATE action")?;
    Ok((on_delete, on_update, actions & DEFERRED != 0))
}

/// How many indexes a table has because of unique columns. They are the first.
fn unique_columns(table: &TableSchema) -> usize {
    let own_index =
        |(place, column): &(usize, &ColumnSchema)| column.unique && table.key() != [*place];
    table.columns().iter().enumerate().filter(own_index).count()
}

fn encode_positions(out: &mut Vec<u8>, places: &[usize]) -> Result<()> {
    out.encode_position(places.len())?;
    places.iter().try_for_each(|place| out.encode_position(*place))
}

fn encode_index(out: &mut Vec<u8>, index: &IndexSchema) -> Result<()> {
    out.encode_text(&index.name)?;
    out.encode_u8(index.unique.into());
    encode_positions(out, &index.columns)
}

fn encode_column(out: &mut Vec<u8>, column: &ColumnSchema) -> Result<()> {
    out.encode_text(&column.name)?;
    encode_type(out, column.ty);
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    out.encode_u8(
        flag(column.nullable, NULLABLE)
            | flag(column.unique, UNIQUE)
            | flag(column.is_kept_as_text(), AS_TEXT)
            | flag(column.generated.is_some(), GENERATED)
            | flag(column.text_order == TextOrder::Engine, ENGINE_ORDER)
            | flag(column.text_order == TextOrder::Converted, CONVERTED),
    );
    out.encode_u8(number_of(COLLATIONS, &column.collation));
    out.encode_u8(number_of(ROLES, &column.role));
    out.encode_option(column.max_chars, |out, max| {
        out.encode_u32(max);
        Ok(())
    })?;
    out.encode_option(column.default.as_ref(), |out, v| value::encode(out, v.as_ref()))?;
    out.encode_option(column.check.as_ref(), |out, check| out.encode_text(check))?;
    out.encode_option(column.reference.as_ref(), |out, reference| {
        out.encode_text(&reference.table)?;
        out.encode_text(&reference.column)?;
        out.encode_u8(actions(reference.on_delete, reference.on_update, reference.deferred));
        Ok(())
    })?;
    column.generated.as_ref().map_or(Ok(()), |expression| out.encode_text(expression))
}

/// Decodes a table schema, as [`FrameKind::Define`](crate::FrameKind::Define) and
/// [`FrameKind::Schemas`](crate::FrameKind::Schemas) carry it.
///
/// # Errors
/// `Corrupt` if the bytes are not a schema; `Schema` if the schema is invalid.
pub fn read_schema(bytes: &[u8]) -> Result<TableSchema> {
    let mut reader = MessageReader::new(bytes);
    let table = read(&mut reader)?;
    reader.finish()?;
    Ok(table)
}

pub(crate) fn read(reader: &mut MessageReader<'_>) -> Result<TableSchema> {
    let mut builder = TableSchema::builder(reader.text()?.to_owned());
    let mut names = Vec::new();
    for _ in 0..reader.u16()? {
        let column = read_column(reader)?;
        names.push(column.name.clone());
        builder = builder.column(column);
    }
    let named = |places: Vec<usize>| {
        let name = |place: usize| names.get(place).cloned();
        let found: Option<Vec<_>> = places.into_iter().map(name).collect();
        found.ok_or_else(|| corrupt("a key or index names an unknown column"))
    };
    builder = builder.key(named(read_positions(reader)?)?);
    let keys = reader.u8()?;
    if keys >= SEARCHED * 2 {
        return Err(wrong("a key generation", keys));
    }
    if of_number(GENERATIONS, keys & 3, "a key generation")? == KeyGeneration::Given {
        builder = builder.given_key();
    }
    if keys & NEVER_REUSED != 0 {
        builder = builder.never_reuse_keys();
    }
    if keys & VIEW != 0 {
        builder = builder.view();
    }
    for _ in 0..reader.u16()? {
        let name = reader.text()?.to_owned();
        let unique = reader.bool()?;
        let columns = named(read_positions(reader)?)?;
        builder =
            if unique { builder.unique_index(name, columns) } else { builder.index(name, columns) };
    }
    for _ in 0..if keys & FOREIGN_KEYS == 0 { 0 } else { reader.u16()? } {
        let columns = named(read_positions(reader)?)?;
        let key = read_foreign_key(reader, columns.len())?;
        builder = builder.foreign_key(columns, key);
    }
    if keys & SEARCHED != 0 {
        let columns = named(read_positions(reader)?)?;
        builder = builder.search(columns, SearchLanguage::from_name(reader.text()?)?);
    }
    builder.build()
}

/// The rest of a foreign key of this many columns.
fn read_foreign_key(reader: &mut MessageReader<'_>, columns: usize) -> Result<ForeignKey> {
    let table = reader.text()?.to_owned();
    let referenced = (0..columns).map(|_| reader.text().map(str::to_owned));
    let referenced = referenced.collect::<Result<Vec<_>>>()?;
    let (on_delete, on_update, deferred) = read_actions(reader)?;
    let mut key = ForeignKey::new(table, referenced, on_delete).on_update(on_update);
    key.deferred = deferred;
    Ok(key)
}

fn read_positions(reader: &mut MessageReader<'_>) -> Result<Vec<usize>> {
    (0..reader.u16()?).map(|_| reader.position()).collect()
}

fn read_column(reader: &mut MessageReader<'_>) -> Result<ColumnSchema> {
    let name = reader.text()?.to_owned();
    let mut column = ColumnSchema::new(name, read_type(reader)?);
    let flags = reader.u8()?;
    if flags >= CONVERTED * 2 {
        return Err(wrong("a column's flags", flags));
    }
    column.nullable = flags & NULLABLE != 0;
    column.unique = flags & UNIQUE != 0;
    if flags & AS_TEXT != 0 {
        column = column.as_text();
    }
    column.text_order = match flags & (ENGINE_ORDER | CONVERTED) {
        0 => TextOrder::Collation,
        ENGINE_ORDER => TextOrder::Engine,
        CONVERTED => TextOrder::Converted,
        _ => return Err(wrong("a column's flags", flags)),
    };
    column.collation = of_number(COLLATIONS, reader.u8()?, "a collation")?;
    column.role = of_number(ROLES, reader.u8()?, "a role")?;
    column.max_chars = reader.option(MessageReader::u32)?;
    column.default = reader.option(value::read)?;
    column.check = reader.option(MessageReader::text)?.map(|check| check.to_owned().into());
    column.reference = reader.option(|reader| {
        let (table, to) = (reader.text()?.to_owned(), reader.text()?.to_owned());
        let mut reference = Reference::new(table, to, OnDelete::Restrict);
        (reference.on_delete, reference.on_update, reference.deferred) = read_actions(reader)?;
        Ok(reference)
    })?;
    if flags & GENERATED != 0 {
        column.generated = Some(reader.text()?.to_owned().into());
    }
    Ok(column)
}

pub(crate) fn encode_change(out: &mut Vec<u8>, change: &SchemaChange) -> Result<()> {
    let (kind, table, place) = match change {
        SchemaChange::CreateTable(table) => (CREATE_TABLE, table, 0),
        SchemaChange::AddColumn { table, column } => (ADD_COLUMN, table, *column),
        SchemaChange::AddIndex { table, index } => (ADD_INDEX, table, *index),
        SchemaChange::AddReference { table, column } => (ADD_REFERENCE, table, *column),
        SchemaChange::AddForeignKey { table, foreign_key } => {
            (ADD_FOREIGN_KEY, table, *foreign_key)
        }
        SchemaChange::Track { table, history } => (TRACK, table, usize::from(*history)),
        SchemaChange::Untrack(table) => (UNTRACK, table, 0),
        _ => {
            return Err(bobak_core::Error::new(
                bobak_core::ErrorKind::Unsupported,
                "the protocol cannot express this schema change",
            ));
        }
    };
    out.encode_u8(kind);
    out.encode_position(place)?;
    encode(out, table)
}

pub(crate) fn read_change(reader: &mut MessageReader<'_>) -> Result<SchemaChange> {
    let kind = reader.u8()?;
    let place = reader.position()?;
    let table = Arc::new(read(reader)?);
    let inside = |count: usize| {
        let message = "a schema change names an unknown column, index or foreign key";
        if place < count { Ok(()) } else { Err(corrupt(message)) }
    };
    match kind {
        CREATE_TABLE => Ok(SchemaChange::CreateTable(table)),
        ADD_COLUMN | ADD_REFERENCE => {
            inside(table.columns().len())?;
            Ok(match kind {
                ADD_COLUMN => SchemaChange::AddColumn { table, column: place },
                _ => SchemaChange::AddReference { table, column: place },
            })
        }
        ADD_FOREIGN_KEY => {
            inside(table.foreign_keys().len())?;
            Ok(SchemaChange::AddForeignKey { table, foreign_key: place })
        }
        ADD_INDEX => {
            inside(table.indexes().len())?;
            Ok(SchemaChange::AddIndex { table, index: place })
        }
        TRACK => Ok(SchemaChange::Track { table, history: place != 0 }),
        UNTRACK => Ok(SchemaChange::Untrack(table)),
        other => Err(wrong("a schema change", other)),
    }
}

/// Checks that a column can contain a value.
pub(crate) fn check_value(table: &TableSchema, column: usize, value: &Value<'_>) -> Result<()> {
    match table.columns().get(column) {
        Some(column) => {
            column.check_stored(value.as_ref()).map_err(|error| error.in_table(table.name()))
        }
        None => Err(no_column(table, column)),
    }
}

/// Reads a column's index and checks it.
pub(crate) fn read_column_of(reader: &mut MessageReader<'_>, table: &TableSchema) -> Result<usize> {
    let index = reader.position()?;
    if index < table.columns().len() { Ok(index) } else { Err(no_column(table, index)) }
}

#[cold]
fn no_column(table: &TableSchema, index: usize) -> bobak_core::Error {
    let message = format!("there is no column with index {index}");
    bobak_core::Error::new(bobak_core::ErrorKind::Schema, message).in_table(table.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_number() {
        let columns = TYPES.strip_suffix(&[Type::Decimal]);
        assert_eq!(columns, Some(Type::ALL));
    }

    #[test]
    fn table_schemas_round_trip() {
        let table = TableSchema::builder("détail")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::of::<Option<String>>("t").max_chars(9).unique().default("x"))
            .column(ColumnSchema::new("day", Type::Date).as_text().check("day > 'x'"))
            .column(ColumnSchema::new("known", Type::Bool).generated("day is not null"))
            .column(ColumnSchema::new("v", Type::I64).role(ColumnRole::Version))
            .column(
                ColumnSchema::of::<Option<i64>>("team")
                    .references("team", "id", OnDelete::SetNull)
                    .collation(Collation::NoCase),
            )
            .key(["id"])
            .given_key()
            .index("by_day", ["day", "t"])
            .unique_index("by_v", ["v"])
            .build()
            .unwrap();
        round_trips(&table);
        let key = ForeignKey::new("shop", ["city", "number"], OnDelete::SetNull)
            .on_update(OnUpdate::Cascade);
        let table = TableSchema::builder("visit")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::of::<Option<i64>>("number"))
            .column(ColumnSchema::of::<Option<String>>("city"))
            .key(["id"])
            .never_reuse_keys()
            .foreign_key(["city", "number"], key.deferred())
            .search(["city"], SearchLanguage::German)
            .build()
            .unwrap();
        round_trips(&table);
        let mut builder = TableSchema::builder("other").column(ColumnSchema::new("id", Type::I64));
        for (name, order) in [("word", TextOrder::Engine), ("address", TextOrder::Converted)] {
            let mut column = ColumnSchema::new(name, Type::Text);
            column.text_order = order;
            builder = builder.column(column);
        }
        round_trips(&builder.key(["id"]).build().unwrap());
    }

    fn round_trips(table: &TableSchema) {
        let mut bytes = Vec::new();
        encode(&mut bytes, table).unwrap();
        assert!(read_schema(&bytes).unwrap().same_as(table));
        for cut in 0..bytes.len() {
            assert!(read_schema(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }
}
