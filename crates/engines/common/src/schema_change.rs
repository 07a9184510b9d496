//! Columns and indexes that are added to stored tables.

use bobak_core::codec::EncodedRow;
use bobak_core::{
    ColumnSchema, Error, ErrorKind, ForeignKey, IndexSchema, KeyGeneration, Result, SchemaChange,
    TableAlteration, TableSchema, TableSchemaBuilder, Value, ValueRef,
};
use std::sync::Arc;

/// The columns and indexes that a list of [`SchemaChange`]s adds to one table.
///
/// For engines that rewrite a table's rows when its schema changes: [`rebuild`](Self::rebuild) checks
/// the additions against the stored table and says what the rows become.
#[derive(Clone, Debug)]
pub struct TableAdditions {
    table: Arc<TableSchema>,
    columns: Vec<String>,
    indexes: Vec<String>,
}

/// How the rows of a table change when columns or indexes are added to it.
#[derive(Clone, Debug)]
pub struct TableRebuild {
    /// The table with the additions. Columns, foreign keys and indexes that only the stored table has are kept.
    pub schema: Arc<TableSchema>,
    sources: Vec<Source>,
    /// The number of columns before.
    stored_columns: usize,
}

impl TableAdditions {
    /// The columns that are added to a table, which is given as it will be.
    #[must_use]
    pub const fn of_columns(table: Arc<TableSchema>, columns: Vec<String>) -> Self {
        Self { table, columns, indexes: Vec::new() }
    }

    /// The additions of a list of changes, table by table. Changes of other kinds are skipped.
    ///
    /// # Errors
    /// `Schema` if a change names a column or an index that its table does not have.
    pub fn collect(changes: &[SchemaChange]) -> Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        for change in changes {
            match change {
                SchemaChange::AddColumn { table, column } => {
                    let name = table.column_at(*column)?.name.clone();
                    Self::of(&mut all, table).columns.push(name.into_owned());
                }
                SchemaChange::AddIndex { table, index } => {
                    let index = table.indexes().get(*index).ok_or_else(|| {
                        let message = format!("there is no index number {index}");
                        Error::new(ErrorKind::Schema, message).in_table(table.name())
                    })?;
                    let name = index.name.clone().into_owned();
                    Self::of(&mut all, table).indexes.push(name);
                }
                SchemaChange::AddReference { table, .. }
                | SchemaChange::AddForeignKey { table, .. } => {
                    Self::of(&mut all, table);
                }
                _ => {}
            }
        }
        Ok(all)
    }

    fn of<'a>(all: &'a mut Vec<Self>, table: &Arc<TableSchema>) -> &'a mut Self {
        let same = |other: &Self| other.table.name().eq_ignore_ascii_case(table.name());
        let position = all.iter().position(same).unwrap_or_else(|| {
            all.push(Self::of_columns(Arc::clone(table), Vec::new()));
            all.len() - 1
        });
        let found = all.get_mut(position).expect("found or pushed just now");
        // If each change shows the table one step further, the last shows it whole.
        found.table = Arc::clone(table);
        found
    }

    /// The table as it will be, as the caller describes it.
    #[must_use]
    pub const fn table(&self) -> &Arc<TableSchema> {
        &self.table
    }

    /// The names of the added columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Checks the additions against the stored table, which may have more columns.
    ///
    /// # Errors
    /// `Schema` if an addition exists already, or the tables differ in anything else.
    pub fn rebuild(&self, old: &TableSchema) -> Result<TableRebuild> {
        let whole = Self { table: self.with_old_parts(old)?, ..self.clone() };
        let sources = whole.sources(old)?;
        let stored_columns = old.columns().len();
        Ok(TableRebuild { schema: whole.table, sources, stored_columns })
    }

    /// The source of each column's values.
    fn sources(&self, old: &TableSchema) -> Result<Vec<Source>> {
        let reject = |column: &str, message: &str| {
            Error::new(ErrorKind::Schema, message).in_table(old.name()).in_column(column)
        };
        for index in &self.indexes {
            if old.indexes().iter().any(|other| other.name.eq_ignore_ascii_case(index)) {
                let message = format!("the index '{index}' already exists");
                return Err(Error::new(ErrorKind::Schema, message).in_table(old.name()));
            }
        }
        let key_names = |table: &TableSchema| -> Vec<String> {
            let key = table.key().iter();
            key.filter_map(|position| {
                Some(table.columns().get(*position)?.name.to_ascii_lowercase())
            })
            .collect()
        };
        if key_names(old) != key_names(&self.table) {
            let message = "the key of an existing table cannot be changed";
            return Err(Error::new(ErrorKind::Schema, message).in_table(old.name()));
        }
        let source = |column: &ColumnSchema| {
            let added = self.columns.iter().any(|name| *name == column.name);
            match old.column(&column.name) {
                Ok(_) if added => Err(reject(&column.name, "the column already exists")),
                Ok(position) => match old.columns().get(position) {
                    Some(old) if old.storage != column.storage => {
                        Err(reject(&column.name, "the column is stored differently"))
                    }
                    _ => Ok(Source::Old(position)),
                },
                Err(_) if added => filling(column).map(Source::New),
                Err(_) => Err(reject(&column.name, "the stored table has no such column")),
            }
        };
        self.table.columns().iter().map(source).collect()
    }

    /// The table's new schema. Columns, foreign keys and indexes that only the old schema has are kept, the columns after
    /// the others.
    fn with_old_parts(&self, old: &TableSchema) -> Result<Arc<TableSchema>> {
        let table = &self.table;
        let columns = old.columns().iter().filter(|column| table.column(&column.name).is_err());
        let columns: Vec<&ColumnSchema> = columns.collect();
        let names = |key: &ForeignKey, table: &TableSchema| {
            (table.column_names(&key.columns), key.table.clone(), key.referenced.clone())
        };
        let known: Vec<_> = table.foreign_keys().iter().map(|key| names(key, table)).collect();
        let foreign_keys =
            old.foreign_keys().iter().filter(|key| !known.contains(&names(key, old)));
        let foreign_keys: Vec<&ForeignKey> = foreign_keys.collect();
        let missing = |index: &&IndexSchema| {
            let mut indexes = table.indexes().iter();
            !indexes.any(|other| other.name.eq_ignore_ascii_case(&index.name))
        };
        let kept: Vec<_> =
            old.indexes().iter().filter(missing).map(|i| index_parts(old, i)).collect();
        if kept.is_empty() && columns.is_empty() && foreign_keys.is_empty() {
            return Ok(Arc::clone(table));
        }
        let builder = TableSchema::clone(table).into_builder();
        let builder = columns.into_iter().cloned().fold(builder, TableSchemaBuilder::column);
        let builder = foreign_keys.into_iter().fold(builder, |builder, key| {
            let columns = key.columns.iter().filter_map(|&column| old.columns().get(column));
            builder.foreign_key(columns.map(|column| column.name.clone()), key.clone())
        });
        let add = |builder: TableSchemaBuilder,
                   (name, columns, unique): (String, Vec<String>, bool)| {
            if unique { builder.unique_index(name, columns) } else { builder.index(name, columns) }
        };
        kept.into_iter().fold(builder, add).build().map(Arc::new)
    }
}

impl TableRebuild {
    /// What the rows of a stored table become by an alteration.
    ///
    /// # Errors
    /// `Schema` if the stored table is not the one that the alteration starts from; as
    /// [`TableAlteration::check_tracked`].
    pub fn of(
        alteration: &TableAlteration,
        stored: &TableSchema,
        is_tracked: bool,
    ) -> Result<Self> {
        alteration.check_stored(stored)?;
        alteration.check_tracked(is_tracked)?;
        let source = |(place, column): (usize, &ColumnSchema)| match alteration.source(place) {
            Some(old) => Ok(Source::Old(old)),
            None => filling(column).map(Source::New),
        };
        let columns = alteration.to().columns().iter().enumerate();
        let sources = columns.map(source).collect::<Result<_>>()?;
        let stored_columns = stored.columns().len();
        Ok(Self { schema: Arc::clone(alteration.to()), sources, stored_columns })
    }

    /// Whether rows stay as they are: only indexes are added.
    #[must_use]
    pub fn keeps_rows(&self) -> bool {
        let mut sources = self.sources.iter().enumerate();
        self.sources.len() == self.stored_columns
            && sources.all(|(position, source)| *source == Source::Old(position))
    }

    /// The value of a column in the new form of a row.
    #[must_use]
    pub fn value<'v>(&'v self, old: EncodedRow<'v>, column: usize) -> ValueRef<'v> {
        match self.sources.get(column) {
            Some(Source::Old(position)) => old.value(*position),
            Some(Source::New(value)) => value.as_ref(),
            None => ValueRef::Null,
        }
    }
}

/// Where a column's values come from.
#[derive(Clone, Debug, PartialEq)]
enum Source {
    /// This column of the old table.
    Old(usize),
    /// This value, in all rows.
    New(Value<'static>),
}

/// The value of an added column in existing rows.
fn filling(column: &ColumnSchema) -> Result<Value<'static>> {
    match &column.default {
        Some(value) => column.accept(value.clone()),
        None => Ok(column.added_value()),
    }
}

/// A table of these parts. The indexes of unique columns may be left out.
///
/// # Errors
/// As `TableSchemaBuilder::build`.
pub fn assemble_table(
    name: &str,
    columns: Vec<ColumnSchema>,
    key: Vec<String>,
    generation: KeyGeneration,
    indexes: &[(String, Vec<String>, bool)],
) -> Result<TableSchema> {
    let own: Vec<String> = columns
        .iter()
        .filter(|column| column.unique)
        .map(|column| format!("{name}_{}_unique", column.name))
        .collect();
    let mut builder = TableSchema::builder(name.to_owned()).key(key);
    if generation == KeyGeneration::Given {
        builder = builder.given_key();
    }
    for column in columns {
        builder = builder.column(column);
    }
    for (index, columns, unique) in indexes {
        let columns = columns.iter().cloned();
        builder = match (unique, own.contains(index)) {
            (true, true) => builder,
            (true, false) => builder.unique_index(index.clone(), columns),
            (false, _) => builder.index(index.clone(), columns),
        };
    }
    builder.build()
}

/// An index's name, its columns' names, and whether it is unique.
#[must_use]
pub fn index_parts(table: &TableSchema, index: &IndexSchema) -> (String, Vec<String>, bool) {
    let columns = index.columns.iter();
    let names =
        columns.filter_map(|position| Some(table.columns().get(*position)?.name.to_string()));
    (index.name.to_string(), names.collect(), index.unique)
}
