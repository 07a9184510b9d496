//! A table taken apart.

use bobak_core::search::SearchLanguage;
use bobak_core::{ColumnSchema, Error, ErrorKind, ForeignKey, Result, TableSchema};
use bobak_engine_common::{assemble_table, index_parts};

/// A table taken apart, to be put together otherwise.
pub(super) struct TableParts<'t> {
    table: &'t TableSchema,
    pub columns: Vec<ColumnSchema>,
    pub indexes: Vec<(String, Vec<String>, bool)>,
    /// What it is searched by.
    pub search: Option<(Vec<String>, SearchLanguage)>,
}

impl<'t> TableParts<'t> {
    pub fn of(table: &'t TableSchema) -> Self {
        let is_of_column = |columns: &[usize], unique: bool| match columns {
            [place] => unique && table.columns().get(*place).is_some_and(|column| column.unique),
            _ => false,
        };
        let indexes = table.indexes().iter();
        let indexes = indexes.filter(|index| !is_of_column(&index.columns, index.unique));
        let indexes = indexes.map(|index| index_parts(table, index)).collect();
        let search = search_of(table);
        Self { table, columns: table.columns().to_vec(), indexes, search }
    }

    /// The table without an index.
    pub fn without_index(mut self, name: &str) -> Result<Self> {
        let count = self.indexes.len();
        self.indexes.retain(|index| !index.0.eq_ignore_ascii_case(name));
        if self.indexes.len() < count {
            return Ok(self);
        }
        let message = format!("there is no index '{name}'");
        Err(Error::new(ErrorKind::Schema, message).in_table(self.table.name().to_owned()))
    }

    /// The table without its search.
    pub fn without_search(mut self) -> Result<Self> {
        if self.search.take().is_some() {
            return Ok(self);
        }
        let message = "the table is not searched";
        Err(Error::new(ErrorKind::Schema, message).in_table(self.table.name().to_owned()))
    }

    /// Removes a column from the search.
    pub fn drop_from_search(&mut self, column: &str) {
        if let Some((columns, _)) = &mut self.search {
            columns.retain(|name| !name.eq_ignore_ascii_case(column));
        }
        self.search.take_if(|(columns, _)| columns.is_empty());
    }

    pub fn build(self) -> Result<TableSchema> {
        let column_name =
            |place: &usize| self.table.columns().get(*place).map(|c| c.name.to_string());
        let key = self.table.key().iter().filter_map(column_name).collect();
        let generation = self.table.key_generation();
        let (name, keys) = (self.table.name(), self.table.foreign_keys());
        let table = assemble_table(name, self.columns, key, generation, &self.indexes)?;
        let mut builder = table.into_builder();
        if self.table.never_reuses_keys() {
            builder = builder.never_reuse_keys();
        }
        if self.table.has_hidden_key() {
            builder = builder.hidden_key();
        }
        if let Some((columns, language)) = self.search {
            builder = builder.search(columns, language);
        }
        for key in keys {
            let columns: Vec<_> = key.columns.iter().filter_map(column_name).collect();
            builder = builder.foreign_key(columns, key.clone());
        }
        builder.build()
    }
}

/// The names of the columns and the language of a table's search.
pub(super) fn search_of(table: &TableSchema) -> Option<(Vec<String>, SearchLanguage)> {
    let search = table.search()?;
    let columns = search.columns.iter().filter_map(|place| table.columns().get(*place));
    Some((columns.map(|column| column.name.to_string()).collect(), search.language))
}

/// The foreign key of these columns, in any order.
pub(super) fn foreign_key_of<'t>(
    table: &'t TableSchema,
    columns: &[String],
) -> Result<&'t ForeignKey> {
    let places = columns.iter().map(|name| table.column(name)).collect::<Result<Vec<_>>>()?;
    let same = |key: &&ForeignKey| {
        key.columns.len() == places.len() && places.iter().all(|at| key.columns.contains(at))
    };
    table.foreign_keys().iter().find(same).ok_or_else(|| {
        let message = format!("there is no foreign key of ({})", columns.join(", "));
        Error::new(ErrorKind::Schema, message).in_table(table.name().to_owned())
    })
}
