//! A table in the source and in the target.

use crate::copy::CopyProgress;
use crate::copy::{self, Columns};
use bobak_changes::ChangeLog;
use bobak_core::change_log::{Trigger, is_capture_trigger};
use bobak_core::{
    BulkChange, ColumnSchema, DynRow, Engine, Error, ErrorKind, Result, Row, SchemaChange, Select,
    Source, TableSchema, Value, ValueRef,
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
    /// The source's columns that were added after its first layout, and the last change before that.
    added: Vec<AddedColumn>,
}

struct AddedColumn {
    /// The position in the source.
    position: usize,
    since: u64,
    /// What rows got that were there already.
    value: Value<'static>,
}

/// A row that was captured before columns were added to its table, with the values that they gave it.
pub(crate) struct WidenedRow<'p> {
    row: &'p DynRow,
    added: &'p [AddedColumn],
    change: u64,
}

impl Row for WidenedRow<'_> {
    fn len(&self) -> usize {
        Row::len(self.row)
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        let is_later =
            |added: &&AddedColumn| added.position == column && self.change <= added.since;
        match self.added.iter().find(is_later) {
            Some(added) => added.value.as_ref(),
            None => Row::get(self.row, column),
        }
    }
}

impl TablePair {
    /// The tracked tables with these names, or all of them if none is named, with those of the target.
    pub fn all(
        tracked: Vec<ChangeLog>,
        names: &[String],
        there: &[TableSchema],
        triggers: &[Trigger],
    ) -> Result<Vec<Self>> {
        let is = |log: &ChangeLog, name: &String| log.table.name().eq_ignore_ascii_case(name);
        if let Some(name) = names.iter().find(|name| !tracked.iter().any(|t| is(t, name))) {
            let message = "the table is not tracked in the source: track it first";
            return Err(Error::new(ErrorKind::Schema, message).in_table(name.clone()));
        }
        let wanted = |log: &ChangeLog| names.is_empty() || names.iter().any(|name| is(log, name));
        let logs = tracked.into_iter().filter(wanted);
        logs.map(|log| Self::new(&log, there, triggers)).collect()
    }

    fn new(log: &ChangeLog, there: &[TableSchema], triggers: &[Trigger]) -> Result<Self> {
        let source = Arc::clone(&log.table);
        let found = there.iter().find(|table| table.name().eq_ignore_ascii_case(source.name()));
        let target = match found {
            Some(found) => Arc::new(found.clone()),
            None => Arc::new(without_references(&source)?),
        };
        let name = |error: Error| error.in_table(source.name());
        if let Some(key) = target.all_foreign_keys().first() {
            let message = "the target's table has a foreign key, which would act a second time: \
                           let the replica create its tables";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(name(error.in_column(target.column_names(&key.columns))));
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
        let added = added_columns(log);
        Ok(Self { target, exists: found.is_some(), columns, source, added })
    }

    /// The source's row after a change, as it was when the source's last column was added.
    pub fn widened<'p>(&'p self, row: &'p DynRow, change: u64) -> WidenedRow<'p> {
        WidenedRow { row, added: &self.added, change }
    }

    /// A table whose own changes are replayed.
    pub fn same(table: &Arc<TableSchema>) -> Result<Self> {
        let columns = Columns::new(table, table)?;
        let (source, target) = (Arc::clone(table), Arc::clone(table));
        Ok(Self { source, target, exists: true, columns, added: Vec::new() })
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

/// Adds the columns to the target that were added to the source since it was tracked.
pub(crate) fn widen_targets(logs: &[ChangeLog], to: &dyn Engine) -> Result<()> {
    for target in to.tables()? {
        let is_same = |log: &&ChangeLog| log.table.name().eq_ignore_ascii_case(target.name());
        let Some(log) = logs.iter().find(is_same) else { continue };
        let mut target = target;
        for added in added_columns(log) {
            let Some(column) = log.table.columns().get(added.position) else { continue };
            if target.column(&column.name).is_err() {
                target = with_columns(&target, std::slice::from_ref(column))?;
                let column = target.columns().len().saturating_sub(1);
                let table = Arc::new(target.clone());
                to.alter(&[SchemaChange::AddColumn { table, column }])?;
            }
        }
    }
    Ok(())
}

fn added_columns(log: &ChangeLog) -> Vec<AddedColumn> {
    let mut added = Vec::new();
    for (position, column) in log.table.columns().iter().enumerate() {
        let first = log.layouts.iter().position(|layout| layout.has_column(&column.name));
        if let Some(layout) = first.filter(|first| *first > 0).and_then(|at| log.layouts.get(at)) {
            let (since, value) = (layout.since, column.added_value());
            added.push(AddedColumn { position, since, value });
        }
    }
    added
}

/// The table as a replica has it, without foreign keys.
fn without_references(table: &TableSchema) -> Result<TableSchema> {
    with_columns(table, &[])
}

/// The table as a replica has it, with more columns.
fn with_columns(table: &TableSchema, more: &[ColumnSchema]) -> Result<TableSchema> {
    // The source makes the keys.
    let mut builder = table.clone().into_builder().reuse_keys().map_foreign_keys(|_| None);
    for column in more {
        let mut column = column.clone();
        // A column is added without a unique index.
        column.unique = false;
        builder = builder.column(column);
    }
    let builder = builder.map_columns(|mut column| {
        column.reference = None;
        column
    });
    builder.build()
}
