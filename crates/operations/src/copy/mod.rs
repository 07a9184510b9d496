//! Copies tables between databases of any engine, in batches that are committed one by one, so that an interrupted copy
//! can be resumed.

mod adapt;
mod columns;
mod computed_indexes;
mod inferred;
mod key_counter;
mod lengths;
mod order;
mod plan;
mod progress;
mod table_copy;
mod values;

pub(crate) use columns::Columns;
pub(crate) use table_copy::{sum_row, walk};
pub(crate) use values::as_currency;

use bobak_core::{
    Engine, Error, ErrorKind, ForeignKey, Result, SchemaChange, SchemaLoss, TableSchema, Type,
    settings,
};
pub use order::by_reference;
use plan::{CircularKeys, PlannedTable};
pub use progress::CopyProgress;
use std::sync::Arc;
use table_copy::TableCopy;

settings! {
    /// Options of a copy.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct CopyOptions with pub settings {
        /// Rows per batch; each batch is one transaction.
        ///
        /// Fewer rows if they exceed about 4 MiB.
        batch_rows: u64 = 10_000, key = "batch", unit = "rows", min = 1;
        /// Continue an interrupted copy after the largest key in the target table.
        ///
        /// The copy first checks that the source has as many rows up to that key. Without it, a table with rows is
        /// rejected.
        resume: bool = false;
        /// Read both tables again at the end, and compare a checksum of all values.
        ///
        /// Without it, only the row counts are compared.
        checksum: bool = false;
        /// Copy although rules or objects of the source are lost.
        ///
        /// Without it, nothing is written then: see [`CopyPlan::losses`].
        allow_loss: bool = false;
    }
}

impl CopyOptions {
    /// Batches of 10,000 rows, into tables that are missing or empty, without a checksum and without losses.
    pub fn new() -> Self {
        Self::default()
    }
}

/// The result for one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyReport {
    /// The table.
    pub table: String,
    /// Whether it was created in the target.
    pub created: bool,
    /// The number of rows that existed before.
    pub found: u64,
    /// The number of copied rows.
    pub copied: u64,
    /// The checksum over all values, equal in both tables, if the options request it. Other versions of Bobak may compute another.
    pub checksum: Option<u64>,
}

/// Copies tables of one engine to another, all of them if `tables` is empty: [`CopyPlan::new`], then [`CopyPlan::run`].
///
/// # Errors
/// As those two.
pub fn copy_tables(
    from: &dyn Engine,
    to: &dyn Engine,
    tables: &[&str],
    options: &CopyOptions,
    progress: &mut dyn FnMut(CopyProgress<'_>),
) -> Result<Vec<CopyReport>> {
    CopyPlan::new(from, to, tables, options)?.run(progress)
}

/// A planned copy: what it would lose is known, and nothing is written yet.
///
/// A table that the target lacks is created there with the same columns, key, constraints and indexes. An existing table
/// must have the columns of the source, of the same types, in any order; additional columns must be nullable or have
/// defaults. Tables that others refer to are copied first. Keys, timestamps and versions are copied unchanged. Rows are
/// read in key order, as of the moment when the copy of their table begins, and written in batches, each of which is
/// committed: a copy that fails leaves the beginning of a table, and one with [`CopyOptions::resume`] continues there.
/// Every table has a key: if the engine found none, the number that it gives rows itself, which a copy keeps as a column.
///
/// ```
/// use bobak_core::{ColumnSchema, Engine, SchemaChange, TableSchema, Type};
/// use bobak_memory::Memory;
/// use bobak_operations::copy::{CopyOptions, CopyPlan};
/// let (from, to) = (Memory::new(), Memory::new());
/// let city = TableSchema::builder("city").column(ColumnSchema::new("id", Type::I64)).key(["id"]).build()?;
/// from.alter(&[SchemaChange::CreateTable(city.into())])?;
/// let plan = CopyPlan::new(&from, &to, &[], &CopyOptions::new())?;
/// assert!(plan.losses().is_empty());
/// assert_eq!(plan.run(&mut |_| {})?[0].table, "city");
/// # Ok::<(), bobak_core::Error>(())
/// ```
pub struct CopyPlan<'a> {
    from: &'a dyn Engine,
    to: &'a dyn Engine,
    options: CopyOptions,
    tables: Vec<PlannedTable>,
    losses: Vec<SchemaLoss>,
}

impl<'a> CopyPlan<'a> {
    /// Plans the copy of these tables, of all if none is named. Writes nothing.
    ///
    /// # Errors
    /// `Schema` for a table that does not exist; `TooLong` for values that the target cannot store in a key or a unique
    /// index; those of both engines.
    pub fn new(
        from: &'a dyn Engine,
        to: &'a dyn Engine,
        tables: &[&str],
        options: &CopyOptions,
    ) -> Result<Self> {
        Self::with_types(from, to, tables, options, &[])
    }

    /// As [`new`](Self::new). The named columns (`price`, or `item.price`) get these types in new tables.
    ///
    /// A column of an SQLite file can hold values of every type. In a database with strict types it gets the type that
    /// all of its values have, so all rows are read once; the declared type decides between types that are stored alike
    /// (`DATETIME`, `BOOL`, `DECIMAL(10,2)`).
    ///
    /// # Errors
    /// As [`new`](Self::new); `Mismatch` or `OutOfRange` for a value that does not have the given type.
    pub fn with_types(
        from: &'a dyn Engine,
        to: &'a dyn Engine,
        tables: &[&str],
        options: &CopyOptions,
        types: &[(&str, Type)],
    ) -> Result<Self> {
        let (tables, losses) = plan::plan(from, to, tables, types)?;
        Ok(Self { from, to, options: *options, tables, losses })
    }

    /// The rules and objects of the source that the target will not have: those that Bobak's schemas do not express,
    /// and those that the target's engine does not keep. Tables that exist in the target have the rules that they have.
    #[must_use]
    pub fn losses(&self) -> &[SchemaLoss] {
        &self.losses
    }

    /// Creates the missing tables, all or none, and copies the rows.
    ///
    /// At the end the row counts are compared: rows written to either side meanwhile are detected there.
    ///
    /// # Errors
    /// `Unsupported` if something would be lost and [`CopyOptions::allow_loss`] is not set, and for a constraint or a
    /// value that the target's engine cannot keep; `Mismatch` for dates that do not exist in a column that may not be
    /// NULL; `Schema` if columns differ in the target; `Conflict` if the target has rows that it should not have, and if
    /// row counts or checksums differ at the end; those of both engines. What was committed before stays.
    pub fn run(&self, progress: &mut dyn FnMut(CopyProgress<'_>)) -> Result<Vec<CopyReport>> {
        if !self.losses.is_empty() && !self.options.allow_loss {
            return Err(would_lose(&self.losses));
        }
        self.reject_invalid_dates()?;
        self.create_tables()?;
        let mut reports = Vec::with_capacity(self.tables.len());
        for table in &self.tables {
            let report = self.copy_table(table, progress);
            reports.push(report.map_err(|error| error.in_table(table.source.name().to_owned()))?);
        }
        self.add_references()?;
        // Closing the target would flush it too, but its owner may never close it.
        self.to.flush()?;
        Ok(reports)
    }

    /// Rejects dates that do not exist in columns that may not be NULL, which nothing can stand for.
    fn reject_invalid_dates(&self) -> Result<()> {
        let all = self.tables.iter().flat_map(|t| t.invalid_dates.iter().map(|d| (&t.source, d)));
        for (table, dates) in all {
            if !plan::may_be_null(table, &dates.column) {
                let rows = if dates.rows == 1 { "row has" } else { "rows have" };
                let message = format!(
                    "{} {rows} dates that do not exist, such as 0000-00-00, in a column that may not be NULL: \
                     correct them, or permit NULL there",
                    dates.rows
                );
                return Err(Error::new(ErrorKind::Mismatch, message)
                    .in_table(dates.table.clone())
                    .in_column(dates.column.clone()));
            }
        }
        Ok(())
    }

    /// Whether references between tables that name each other are added after the rows.
    fn adds_references(&self) -> bool {
        self.to.capabilities().add_reference
    }

    fn create_tables(&self) -> Result<()> {
        let mut changes = Vec::new();
        for table in &self.tables {
            let Some(created) = &table.created else { continue };
            let created = match self.adds_references() && !table.circular.is_empty() {
                true => Arc::new(without_circular(created, &table.circular)?),
                false => Arc::clone(created),
            };
            changes.push(SchemaChange::CreateTable(created));
        }
        if !changes.is_empty() {
            self.to.alter(&changes).inspect_err(|error| {
                // The table of the step that failed may be another program's.
                let is_it = |change: &SchemaChange| error.table() == Some(change.table().name());
                let failed = changes.iter().position(is_it).unwrap_or_default();
                self.drop_created(changes.get(..failed).unwrap_or_default());
            })?;
        }
        self.create_indexes().inspect_err(|_| self.drop_created(&changes))
    }

    /// Drops tables that were created, and are empty. An engine with transactional changes has done so already.
    fn drop_created(&self, created: &[SchemaChange]) {
        // If a table stays, the error that led here still says why the copy failed.
        let Ok(there) = self.to.tables() else { return };
        for change in created.iter().rev() {
            let name = change.table().name();
            if let Some(table) = there.iter().find(|table| table.name().eq_ignore_ascii_case(name))
            {
                let _ = self.to.alter(&[SchemaChange::DropTable(Arc::new(table.clone()))]);
            }
        }
    }

    fn create_indexes(&self) -> Result<()> {
        let session = self.to.session()?;
        for table in &self.tables {
            for sql in &table.indexes {
                let done = session.execute(sql, &[]);
                done.map_err(|error| error.in_table(table.source.name().to_owned()))?;
            }
        }
        Ok(())
    }

    /// Adds the references that were left out when the tables were created, by this copy or by the one that it
    /// resumes.
    fn add_references(&self) -> Result<()> {
        if !self.adds_references() || self.tables.iter().all(|table| table.circular.is_empty()) {
            return Ok(());
        }
        let there = self.to.tables()?;
        for table in self.tables.iter().filter(|t| t.created.is_some() || self.options.resume) {
            let Some(mut found) = find(&there, table.source.name()).cloned() else { continue };
            let wanted = table.created.as_ref().unwrap_or(&table.source);
            for &position in &table.circular.columns {
                found = self.add_reference(found, wanted, position)?;
            }
            for &position in &table.circular.foreign_keys {
                found = self.add_foreign_key(found, wanted, position)?;
            }
        }
        Ok(())
    }

    /// Adds the reference of the column at this position of `wanted` to the table `found`, unless it has one.
    fn add_reference(
        &self,
        found: TableSchema,
        wanted: &TableSchema,
        position: usize,
    ) -> Result<TableSchema> {
        let Some(wanted) = wanted.columns().get(position) else { return Ok(found) };
        let column = found.column(&wanted.name)?;
        if found.column_at(column)?.reference.is_some() {
            return Ok(found);
        }
        let name = found.column_at(column)?.name.clone();
        let found = found.map_columns(|mut column| {
            if column.name == name {
                column.reference.clone_from(&wanted.reference);
            }
            column
        })?;
        let table = Arc::new(found.clone());
        self.to.alter(&[SchemaChange::AddReference { table, column }])?;
        Ok(found)
    }

    /// Adds the foreign key at this position of `wanted` to the table `found`, unless it has that.
    fn add_foreign_key(
        &self,
        found: TableSchema,
        wanted: &TableSchema,
        position: usize,
    ) -> Result<TableSchema> {
        let Some(key) = wanted.foreign_keys().get(position) else { return Ok(found) };
        let names = key.columns.iter().filter_map(|&at| wanted.columns().get(at));
        let names: Vec<String> = names.map(|column| column.name.to_string()).collect();
        let foreign_key = found.foreign_keys().len();
        let more = found.clone().into_builder().foreign_key(names, key.clone()).build()?;
        if found.foreign_keys().iter().any(|key| Some(key) == more.foreign_keys().last()) {
            return Ok(found);
        }
        let table = Arc::new(more.clone());
        self.to.alter(&[SchemaChange::AddForeignKey { table, foreign_key }])?;
        Ok(more)
    }

    fn copy_table(
        &self,
        table: &PlannedTable,
        progress: &mut dyn FnMut(CopyProgress<'_>),
    ) -> Result<CopyReport> {
        let (source, options) = (&table.source, &self.options);
        let target = find(&self.to.tables()?, source.name()).cloned().ok_or_else(|| {
            Error::new(ErrorKind::Schema, "the table was created, but is not visible")
        })?;
        let mut rows = TableCopy::new(self.from, self.to, source, Arc::new(target), table.casts)?;
        if !table.circular.is_empty() && !self.adds_references() {
            rows = rows.without_foreign_keys();
        }
        rows.has_invalid_dates = !table.invalid_dates.is_empty();
        let found = rows.begin(options.resume)?;
        if let Some(key) = table.last_key.filter(|_| found.rows == 0) {
            rows.use_key(key)?;
        }
        let copied = rows.copy(&found, options.batch_rows, progress)?;
        rows.check_count()?;
        let checksum = if options.checksum { Some(rows.check_sum(progress)?) } else { None };
        let created = table.created.is_some();
        Ok(CopyReport {
            table: source.name().to_owned(),
            created,
            found: found.rows,
            copied,
            checksum,
        })
    }
}

/// The table without the foreign keys that are added after all rows.
fn without_circular(table: &TableSchema, circular: &CircularKeys) -> Result<TableSchema> {
    let mut position = 0;
    let builder = table.clone().into_builder().map_columns(|mut column| {
        column.reference = column.reference.filter(|_| !circular.columns.contains(&position));
        position += 1;
        column
    });
    let is_circular = |key: &ForeignKey| {
        let position = table.foreign_keys().iter().position(|other| other == key);
        position.is_some_and(|position| circular.foreign_keys.contains(&position))
    };
    builder.map_foreign_keys(|key| (!is_circular(&key)).then_some(key)).build()
}

fn find<'t>(tables: &'t [TableSchema], name: &str) -> Option<&'t TableSchema> {
    tables.iter().find(|table| table.name().eq_ignore_ascii_case(name))
}

fn would_lose(losses: &[SchemaLoss]) -> Error {
    let list: Vec<String> = losses.iter().map(ToString::to_string).collect();
    let message = format!(
        "the copy would lose what the target cannot have ({}): allow it, or copy other tables",
        list.join("; ")
    );
    Error::new(ErrorKind::Unsupported, message)
}

/// Copies the rows of a table to an empty one, while both may be in use.
pub(crate) fn fill(
    from: &dyn Engine,
    to: &dyn Engine,
    source: &Arc<TableSchema>,
    target: &Arc<TableSchema>,
    progress: &mut dyn FnMut(CopyProgress<'_>),
) -> Result<u64> {
    let rows = TableCopy::new(from, to, source, Arc::clone(target), false)?;
    let found = rows.begin(false)?;
    rows.copy(&found, CopyOptions::new().batch_rows, progress)
}
