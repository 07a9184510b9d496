//! Reads the tables of a file into the memory engine.

use crate::columns::{AccessColumn, has_fixed_length};
use crate::description::described;
use crate::file::MsAccessFile;
use crate::values::stored;
use crate::write::{ReadOnlyTables, schema_property};
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, FieldSet, ForeignKey, Interrupt, OnDelete, OnError, OnUpdate,
    Result, SchemaChange, SchemaLoss, Session, TableSchema, TableSchemaBuilder, Type, Value, Verb,
    Write, WriteBatch,
};
use bobak_memory::Memory;
use jetdb::{
    CatalogEntry, ColumnDef, ColumnType, IndexColumnOrder, IndexDef, ObjectType, Relationship,
    TableDef, TableRows, calculated_column_types_in, index_flags, index_type, read_catalog,
    read_relationships_in, read_table_def, relationship_flags,
};
use std::collections::HashMap;
use std::sync::Arc;

/// The flag of a relationship whose deletes set NULL, which `jetdb` does not name.
const SET_NULL: u32 = 0x2000;
/// The rows of one batch.
const ROWS: u64 = 1_000;

/// A table of the file.
struct AccessTable {
    definition: TableDef,
    calculated: HashMap<String, ColumnType>,
    columns: Vec<AccessColumn>,
    schema: Arc<TableSchema>,
    /// Why it cannot be written.
    read_only: Option<&'static str>,
}

/// Reads all tables with their rows into the memory engine; lists what Bobak has no counterpart of, and the tables that
/// cannot be written.
///
/// # Errors
/// As [`MsAccessBuilder::open`](crate::MsAccessBuilder::open).
pub(crate) fn load(
    file: &mut MsAccessFile,
    memory: &Memory,
) -> Result<(Vec<SchemaLoss>, ReadOnlyTables)> {
    let catalog = file.read(read_catalog)?;
    let (mut losses, mut read_only) = (Vec::new(), ReadOnlyTables::new());
    let mut schemas = Vec::new();
    for entry in catalog.iter().filter(|entry| !entry.is_system_or_hidden()) {
        let kind = match entry.object_type {
            ObjectType::Table => {
                let Some(table) = load_table(file, &catalog, entry, memory, &mut losses)
                    .map_err(|error| error.in_table(entry.name.clone()))?
                else {
                    // Nor is a new table of this name created in its place.
                    let reason = "it has a value that Bobak cannot represent";
                    read_only.insert(entry.name.to_lowercase(), reason.to_owned());
                    continue;
                };
                if let Some(reason) = table.read_only {
                    read_only.insert(entry.name.to_lowercase(), reason.to_owned());
                }
                schemas.push(table.schema);
                continue;
            }
            ObjectType::LinkedTable | ObjectType::LinkedOdbcTable => "table in another database",
            ObjectType::Query if !entry.name.starts_with('~') => "saved query",
            _ => continue,
        };
        losses.push(SchemaLoss::new(entry.name.clone(), kind));
    }
    for relationship in file.read(|reader| read_relationships_in(reader, &catalog))? {
        if relationship.has_referential_integrity()
            && !add_foreign_key(memory, &mut schemas, &relationship, &mut losses)?
        {
            for table in [&relationship.from_table, &relationship.to_table] {
                let reason = "it has a relationship that Bobak cannot keep";
                read_only.insert(table.to_lowercase(), reason.to_owned());
            }
        }
    }
    Ok((losses, read_only))
}

/// Reads a table as Bobak described it in the file; if its rows break Bobak's rules since another program changed them,
/// as Access has it. A table with a value that Bobak cannot represent is a loss, and none of the memory engine.
fn load_table(
    file: &mut MsAccessFile,
    catalog: &[CatalogEntry],
    entry: &CatalogEntry,
    memory: &Memory,
    losses: &mut Vec<SchemaLoss>,
) -> Result<Option<AccessTable>> {
    let mut table = AccessTable::read(file, catalog, entry, losses)?;
    let plain = (Arc::clone(&table.schema), table.columns.clone());
    if table.use_description(entry) {
        match table.load(file, memory) {
            Ok(()) => return Ok(Some(table)),
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Io) => {
                return Err(error);
            }
            Err(error) => {
                let what = format!("a rule of Bobak, which a row breaks: {error}");
                losses.push(SchemaLoss::new(entry.name.clone(), what));
                memory.alter(&[SchemaChange::DropTable(Arc::clone(&table.schema))])?;
                (table.schema, table.columns) = plain;
            }
        }
    }
    match table.load(file, memory) {
        Ok(()) => Ok(Some(table)),
        Err(error) if error.kind() == ErrorKind::OutOfRange => {
            losses.push(SchemaLoss::new(entry.name.clone(), format!("the table: {error}")));
            memory.alter(&[SchemaChange::DropTable(table.schema)])?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl AccessTable {
    fn read(
        file: &mut MsAccessFile,
        catalog: &[CatalogEntry],
        entry: &CatalogEntry,
        losses: &mut Vec<SchemaLoss>,
    ) -> Result<Self> {
        let mut definition =
            file.read(|reader| read_table_def(reader, &entry.name, entry.table_page))?;
        let calculated = calculated_column_types_in(catalog, &definition);
        let (mut columns, mut read_only) = (Vec::new(), why_read_only(&definition));
        for (position, column) in definition.columns.iter().enumerate() {
            if !column.is_shown(false) {
                continue;
            }
            let ty = calculated.get(&column.name.to_lowercase()).copied();
            let ty = ty.unwrap_or(column.col_type);
            let is_small = is_small(file, &definition, &calculated, position)?;
            match AccessColumn::new(&definition, position, column, ty, is_small) {
                Some(column) => columns.push(column),
                None => {
                    let kind = match ty {
                        ColumnType::Unknown(number) => format!("of the unknown type {number}"),
                        _ => "with several values or attachments".to_owned(),
                    };
                    let what = format!("field '{}' {kind}", column.name);
                    losses.push(SchemaLoss::new(entry.name.clone(), what));
                }
            }
        }
        lose_expressions_and_order(&definition, losses);
        if columns.len() < definition.columns.len() {
            read_only = Some("it has fields that Bobak does not read");
        }
        let is_text = |column: &AccessColumn| column.schema.ty == Type::Text;
        let is_decimal = |column: &&AccessColumn| {
            let found = definition.columns.get(column.position);
            found.is_some_and(|found| found.col_type == ColumnType::Numeric)
        };
        if columns.iter().filter(is_decimal).any(is_text) {
            read_only = Some("it has decimals of more digits than Bobak's numbers");
        }
        let schema = Arc::new(schema(&definition, &mut columns)?);
        // `jetdb` returns NULL for these, and the bytes of types that it does not know.
        for column in definition.columns.iter_mut().filter(|column| has_fixed_length(column)) {
            column.col_type = ColumnType::Unknown(column.col_type.to_byte());
        }
        Ok(Self { definition, calculated, columns, schema, read_only })
    }

    /// Takes Bobak's description of the table, if the file has one that fits what is in the file.
    fn use_description(&mut self, entry: &CatalogEntry) -> bool {
        let Some(found) = entry.lv_prop.as_deref().and_then(schema_property) else { return false };
        let Some(table) = described(&found).filter(|table| table.name() == entry.name) else {
            return false;
        };
        let hidden = table.has_hidden_key().then(|| table.key().first().copied()).flatten();
        let stored = table.columns().iter().enumerate().filter(|(at, _)| Some(*at) != hidden);
        let find = |(_, schema): (usize, &ColumnSchema)| {
            let mut columns = self.columns.iter();
            let own = columns.find(|column| column.schema.name == schema.name)?;
            own.described(self.definition.columns.get(own.position)?, schema)
        };
        let Some(columns) = stored.map(find).collect::<Option<Vec<_>>>() else { return false };
        let fits = self.read_only.is_none()
            && columns.len() == self.columns.len()
            && table.has_hidden_key() == self.schema.has_hidden_key()
            && (table.has_hidden_key() || key_names(&table) == key_names(&self.schema))
            && index_columns(&table) == index_columns(&self.schema);
        if fits {
            (self.schema, self.columns) = (Arc::new(table), columns);
        }
        fits
    }

    /// Writes the rows to the table of the memory engine, which is created.
    fn load(&self, file: &mut MsAccessFile, memory: &Memory) -> Result<()> {
        memory.alter(&[SchemaChange::CreateTable(Arc::clone(&self.schema))])?;
        let session = memory.session()?;
        let mut rows = TableRows::new(&self.definition, &self.calculated);
        let mut batch = WriteBatch::new();
        let mut number = 0;
        while let Some(row) = file.read(|reader| rows.next_row(reader))? {
            number += 1;
            let values = self
                .values(row.values, number)
                .map_err(|error| error.at_row(number.unsigned_abs()))?;
            let (table, verb, fields) = (&self.schema, Verb::Insert, FieldSet::EMPTY);
            batch.push(&Write { table, verb, fields, values: &values })?;
            if batch.rows() == ROWS {
                Interrupt::check()?;
                insert(&*session, &mut batch)?;
            }
        }
        if rows.skipped_rows() > 0 {
            return Err(file.damaged(&format!("{} rows cannot be read", rows.skipped_rows())));
        }
        // A page of rows that is overwritten is no page of the table any more.
        let expected = i64::from(self.definition.num_rows);
        if number < expected {
            return Err(
                file.damaged(&format!("{} of {expected} rows are missing", expected - number))
            );
        }
        insert(&*session, &mut batch)
    }

    /// A row in its stored form; the row's number is the key of a table without one.
    fn values(&self, mut row: Vec<jetdb::Value>, number: i64) -> Result<Vec<Value<'static>>> {
        let mut values = Vec::with_capacity(self.columns.len() + 1);
        for column in &self.columns {
            let null = jetdb::Value::Null;
            let found = row.get_mut(column.position).map(|found| std::mem::replace(found, null));
            let value = stored(column, found.unwrap_or(jetdb::Value::Null));
            values.push(value.map_err(|error| error.in_column(column.schema.name.to_string()))?);
        }
        if let (true, [hidden]) = (self.schema.has_hidden_key(), self.schema.key()) {
            values.insert((*hidden).min(values.len()), Value::Int(number));
        }
        Ok(values)
    }
}

/// Lists the calculated fields, of which only the values are read, and the descending indexes, which ascend here.
fn lose_expressions_and_order(table: &TableDef, losses: &mut Vec<SchemaLoss>) {
    let calculated = table.columns.iter().filter(|column| column.is_calculated);
    let mut found: Vec<_> =
        calculated.map(|column| format!("generated column {}", column.name)).collect();
    for index in table.indexes.iter().filter(|index| is_users(index)) {
        if index.columns.iter().any(|part| part.order == IndexColumnOrder::Descending) {
            found.push(format!("descending order of index {}_{}", table.name, index.name));
        }
    }
    losses.extend(found.into_iter().map(|what| SchemaLoss::new(table.name.clone(), what)));
}

/// Why a table with this definition cannot be written.
fn why_read_only(table: &TableDef) -> Option<&'static str> {
    if table.columns.iter().any(|column| column.is_calculated) {
        return Some("it has calculated fields");
    }
    if table.columns.iter().any(|column| column.col_type == ColumnType::DateTimeExtended) {
        return Some("it has fields of type Date/Time Extended");
    }
    if table.columns.iter().any(has_fixed_length) {
        return Some("it has texts or bytes of fixed length");
    }
    let is_long = |part: &jetdb::IndexColumn| {
        let mut columns = table.columns.iter();
        let found = columns.find(|column| column.col_num == part.col_num);
        found.is_none_or(|column| matches!(column.col_type, ColumnType::Memo | ColumnType::Ole))
    };
    let mut indexes = table.indexes.iter();
    let is_indexed = indexes.any(|index| index.columns.iter().any(is_long));
    is_indexed.then_some("it has an index over a field of type Long Text")
}

/// Whether a column has decimals of 19 digits that are all in the range of `i64`.
fn is_small(
    file: &mut MsAccessFile,
    table: &TableDef,
    calculated: &HashMap<String, ColumnType>,
    position: usize,
) -> Result<bool> {
    let is_wide = |column: &ColumnDef| {
        column.col_type == ColumnType::Numeric && column.scale == 0 && column.precision == 19
    };
    if !table.columns.get(position).is_some_and(is_wide) {
        return Ok(false);
    }
    let mut rows = TableRows::new(table, calculated);
    while let Some(row) = file.read(|reader| rows.next_row(reader))? {
        if let Some(jetdb::Value::Numeric(digits)) = row.values.get(position)
            && digits.parse::<i64>().is_err()
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The names of the key's columns.
fn key_names(table: &TableSchema) -> Vec<&str> {
    let columns = table.key().iter().filter_map(|column| table.columns().get(*column));
    columns.map(|column| &*column.name).collect()
}

/// The columns of each index, and whether it is unique.
fn index_columns(table: &TableSchema) -> Vec<(Vec<&str>, bool)> {
    let name = |column: &usize| table.columns().get(*column).map(|column| &*column.name);
    let columns = |columns: &[usize]| columns.iter().filter_map(name).collect();
    let mut all: Vec<(Vec<&str>, bool)> =
        table.indexes().iter().map(|index| (columns(&index.columns), index.unique)).collect();
    all.sort();
    all.dedup();
    all
}

fn insert(session: &dyn Session, batch: &mut WriteBatch) -> Result<()> {
    let mut failed = None;
    session.batch(batch, OnError::Stop, &mut |outcome| {
        if let Err(error) = outcome {
            failed.get_or_insert(error);
        }
    })?;
    batch.clear();
    failed.map_or(Ok(()), Err)
}

/// The table's schema. Columns of the key are not NULL.
fn schema(table: &TableDef, columns: &mut [AccessColumn]) -> Result<TableSchema> {
    let key = table.indexes.iter().find(|index| index.index_type == index_type::PRIMARY);
    let key = key.and_then(|index| names(table, index, columns)).unwrap_or_default();
    for column in columns.iter_mut().filter(|column| key.contains(&column.schema.name.to_string()))
    {
        column.schema.nullable = false;
    }
    let builder = TableSchema::builder(table.name.clone());
    let builder =
        columns.iter().fold(builder, |builder, column| builder.column(column.schema.clone()));
    let builder = with_key(builder, table, columns, &key);
    with_indexes(builder, table, columns).build()
}

/// The table with its key, or with the row's number if it has none.
fn with_key(
    builder: TableSchemaBuilder,
    table: &TableDef,
    columns: &[AccessColumn],
    key: &[String],
) -> TableSchemaBuilder {
    if key.is_empty() {
        let is_free =
            |name: &&str| !columns.iter().any(|c| c.schema.name.eq_ignore_ascii_case(name));
        let name = ["rowid", "_rowid_", "oid", "bobak_row"].into_iter().find(is_free);
        let name = name.unwrap_or("bobak_row");
        return builder.first_column(ColumnSchema::new(name, Type::I64)).key([name]).hidden_key();
    }
    let is_made = |column: &ColumnDef| column.is_auto_number() && key.contains(&column.name);
    let builder = builder.key(key.to_vec());
    match key.len() == 1 && table.columns.iter().any(is_made) {
        true => builder,
        false => builder.given_key(),
    }
}

fn with_indexes(
    mut builder: TableSchemaBuilder,
    table: &TableDef,
    columns: &[AccessColumn],
) -> TableSchemaBuilder {
    let mut taken = Vec::new();
    for index in table.indexes.iter().filter(|index| is_users(index)) {
        let Some(names) = names(table, index, columns) else { continue };
        let unique = index.flags & index_flags::UNIQUE != 0;
        // Access has an index of its own for each relationship, along with the user's.
        if taken.contains(&(names.clone(), unique)) {
            continue;
        }
        // Names of indexes are those of the whole database in Bobak, and of a table in Access.
        let name = format!("{}_{}", table.name, index.name);
        builder = match unique {
            true => builder.unique_index(name, names.clone()),
            false => builder.index(name, names.clone()),
        };
        taken.push((names, unique));
    }
    builder
}

/// Whether it is an index that a user made, not that of the key or of a relationship.
const fn is_users(index: &IndexDef) -> bool {
    index.index_type != index_type::PRIMARY && index.index_type != index_type::FOREIGN_KEY
}

/// The names of an index's columns; `None` if one of them cannot be read.
fn names(table: &TableDef, index: &IndexDef, columns: &[AccessColumn]) -> Option<Vec<String>> {
    let name = |part: &jetdb::IndexColumn| {
        let place = table.columns.iter().position(|column| column.col_num == part.col_num)?;
        let column = columns.iter().find(|column| column.position == place)?;
        Some(column.schema.name.to_string())
    };
    let names: Option<Vec<String>> = index.columns.iter().map(name).collect();
    names.filter(|names| !names.is_empty())
}

/// Adds a foreign key to its table. Access compares texts without case, so rows may break it here: then it is a loss, and the
/// result `false`.
fn add_foreign_key(
    memory: &Memory,
    schemas: &mut [Arc<TableSchema>],
    relationship: &Relationship,
    losses: &mut Vec<SchemaLoss>,
) -> Result<bool> {
    let of_table = |schema: &&mut Arc<TableSchema>| schema.name() == relationship.from_table;
    let Some(schema) = schemas.iter_mut().find(of_table) else { return Ok(false) };
    let changed = with_foreign_key(schema, relationship).and_then(|table| {
        let table = Arc::new(table);
        let foreign_key = table.foreign_keys().len().saturating_sub(1);
        let change = match table.foreign_keys().len() > schema.foreign_keys().len() {
            true => SchemaChange::AddForeignKey { table: Arc::clone(&table), foreign_key },
            false => {
                let column = first_column(&table, relationship)?;
                SchemaChange::AddReference { table: Arc::clone(&table), column }
            }
        };
        memory.alter(&[change]).map(|()| table)
    });
    match changed {
        Ok(table) => {
            *schema = table;
            Ok(true)
        }
        Err(error) => {
            let what = format!("relationship '{}': {}", relationship.name, error.message());
            losses.push(SchemaLoss::new(relationship.from_table.clone(), what));
            Ok(false)
        }
    }
}

fn first_column(table: &TableSchema, relationship: &Relationship) -> Result<usize> {
    let first = relationship.columns.first().map(|pair| pair.from_column.as_str());
    table.column(first.unwrap_or_default())
}

/// The table with the foreign key of a relationship.
fn with_foreign_key(table: &TableSchema, relationship: &Relationship) -> Result<TableSchema> {
    let flag = |flag| relationship.flags & flag != 0;
    let on_delete = if flag(relationship_flags::CASCADE_DELETE) {
        OnDelete::Cascade
    } else if flag(SET_NULL) {
        OnDelete::SetNull
    } else {
        OnDelete::Restrict
    };
    let on_update = match flag(relationship_flags::CASCADE_UPDATE) {
        true => OnUpdate::Cascade,
        false => OnUpdate::NoAction,
    };
    let parent = relationship.to_table.clone();
    let place = first_column(table, relationship)?;
    let is_free = table.column_at(place)?.reference.is_none();
    let builder = table.clone().into_builder();
    if let ([pair], true) = (&relationship.columns[..], is_free) {
        let refer = |column: ColumnSchema| match column.name == pair.from_column {
            true => column
                .references(parent.clone(), pair.to_column.clone(), on_delete)
                .on_update(on_update),
            false => column,
        };
        return builder.map_columns(refer).build();
    }
    let referenced = relationship.columns.iter().map(|pair| pair.to_column.clone());
    let key = ForeignKey::new(parent, referenced, on_delete).on_update(on_update);
    let columns = relationship.columns.iter().map(|pair| pair.from_column.clone());
    builder.foreign_key(columns, key).build()
}
