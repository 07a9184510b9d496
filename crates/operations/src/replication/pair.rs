//! A table in the source and in the target.

use crate::copy::CopyProgress;
use crate::copy::{self, Columns};
use bobak_core::change_log::{Trigger, is_capture_trigger};
use bobak_core::{
    BulkChange, Engine, Error, ErrorKind, Result, SchemaChange, Select, Source, TableSchema,
    TableSchemaBuilder,
};
use std::sync::Arc;

/// A replicated table.
pub(crate) struct TablePair {
    pub source: Arc<TableSchema>,
    /// As it is, or as it will be created.
    pub target: Arc<TableSchema>,
    /// Whether it exists in the target.
    exists: bool,
    pub columns: Columns,
}

impl TablePair {
    /// The tracked tables with these names, or all of them if none is named, with those of the target.
    pub fn all(
        tracked: impl Iterator<Item = Arc<TableSchema>>,
        names: &[String],
        there: &[TableSchema],
        triggers: &[Trigger],
    ) -> Result<Vec<Self>> {
        let tracked: Vec<_> = tracked.collect();
        let is = |table: &Arc<TableSchema>, name: &String| table.name().eq_ignore_ascii_case(name);
        if let Some(name) = names.iter().find(|name| !tracked.iter().any(|t| is(t, name))) {
            let message = "the table is not tracked in the source: track it first";
            return Err(Error::new(ErrorKind::Schema, message).in_table(name.clone()));
        }
        let wanted =
            |table: &Arc<TableSchema>| names.is_empty() || names.iter().any(|name| is(table, name));
        let tables = tracked.into_iter().filter(wanted);
        tables.map(|source| Self::new(source, there, triggers)).collect()
    }

    fn new(source: Arc<TableSchema>, there: &[TableSchema], triggers: &[Trigger]) -> Result<Self> {
        let found = there.iter().find(|table| table.name().eq_ignore_ascii_case(source.name()));
        let target = match found {
            Some(found) => Arc::new(found.clone()),
            None => Arc::new(without_references(&source)?),
        };
        let name = |error: Error| error.in_table(source.name());
        if let Some(column) = target.columns().iter().find(|column| column.reference.is_some()) {
            let message = "the target's table has a foreign key, which would act a second time: \
                           let the replica create its tables";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(name(error.in_column(column.name.clone())));
        }
        let of_target = |trigger: &&Trigger| {
            trigger.table.eq_ignore_ascii_case(target.name()) && !is_capture_trigger(&trigger.name)
        };
        if let Some(trigger) = triggers.iter().find(of_target) {
            let message = format!(
                "the target's table has the trigger '{}', which would act a second time: drop it, \
                 or let the replica create its tables",
                trigger.name
            );
            return Err(name(Error::new(ErrorKind::Unsupported, message)));
        }
        let columns = Columns::new(&source, &target).map_err(name)?;
        Ok(Self { target, exists: found.is_some(), columns, source })
    }

    /// A table whose own changes are replayed.
    pub fn same(table: &Arc<TableSchema>) -> Result<Self> {
        let columns = Columns::new(table, table)?;
        Ok(Self { source: Arc::clone(table), target: Arc::clone(table), exists: true, columns })
    }

    /// Rejects a table that has rows.
    pub fn must_be_empty(&self, to: &dyn Engine) -> Result<()> {
        let mut empty = true;
        if self.exists {
            let first = Select { limit: Some(1), ..Select::all(&self.target) };
            to.session()?.query(&Source::Select(&first), &mut |_| {
                empty = false;
                Ok(false)
            })?;
        }
        if empty {
            return Ok(());
        }
        let message = "the target's table has rows that are not the replica's: empty it first, unless it is the source itself";
        Err(Error::new(ErrorKind::Conflict, message).in_table(self.source.name()))
    }

    /// Creates the table if it does not exist.
    pub fn create_target(&mut self, to: &dyn Engine) -> Result<()> {
        if !self.exists {
            to.alter(&[SchemaChange::CreateTable(Arc::clone(&self.target))])?;
            self.target = Arc::new(TableSchema::find_in(to.tables()?, self.source.name())?);
            self.columns = Columns::new(&self.source, &self.target)?;
            self.exists = true;
        }
        Ok(())
    }

    pub fn empty(&self, to: &dyn Engine) -> Result<()> {
        let all = BulkChange { table: &self.target, condition: None, assign: None };
        to.session()?.change(&all).map(|_| ())
    }

    pub fn fill(
        &self,
        from: &dyn Engine,
        to: &dyn Engine,
        progress: &mut dyn FnMut(CopyProgress<'_>),
    ) -> Result<u64> {
        let filled = copy::fill(from, to, &self.source, &self.target, progress);
        filled.map_err(|error| error.in_table(self.source.name()))
    }
}

/// The table as a replica has it, without foreign keys.
fn without_references(table: &TableSchema) -> Result<TableSchema> {
    let name =
        |position: &usize| table.columns().get(*position).map(|column| column.name.to_string());
    let key: Vec<String> = table.key().iter().filter_map(name).collect();
    let mut builder: TableSchemaBuilder = TableSchema::builder(table.name().to_owned()).key(key);
    if table.key_generation() == bobak_core::KeyGeneration::Given {
        builder = builder.given_key();
    }
    for column in table.columns() {
        let mut column = column.clone();
        column.reference = None;
        builder = builder.column(column);
    }
    for index in table.indexes() {
        let columns: Vec<String> = index.columns.iter().filter_map(name).collect();
        let of_column = |position: &usize| table.columns().get(*position).is_some_and(|c| c.unique);
        let own = format!("{}_unique", [table.name(), columns.first().map_or("", |c| c)].join("_"));
        let is_rule = index.unique && columns.len() == 1 && index.columns.iter().all(of_column);
        builder = match (is_rule && index.name == own, index.unique) {
            // The column's own constraint creates it.
            (true, _) => builder,
            (false, true) => builder.unique_index(index.name.clone(), columns),
            (false, false) => builder.index(index.name.clone(), columns),
        };
    }
    builder.build()
}
