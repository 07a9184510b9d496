//! Sample data: plausible rows from the schema.

mod limits;
mod random;
mod references;
mod server_types;
mod table;
mod value;
mod words;

pub use random::Random;

use bobak::copy::by_reference;
use bobak::schema::{TableSchema, Type};
use bobak::stored_types::declared_types;
use bobak::{BatchOptions, Db, Query, Record, Result, Transaction, Value};
use std::sync::Arc;
use table::TableSample;

/// A function that makes the values of a column.
pub(crate) type ColumnFunction = Box<dyn Fn(&mut Random, u64) -> Value<'static> + Send + Sync>;

/// The rows of a table that nobody asked for a number of.
const DEFAULT_ROWS: u64 = 100;

/// Fills tables with plausible rows: any number of them, and the same ones for the same seed in an empty database.
///
/// Values follow the type and the name of their column: a column `email` has e-mail addresses, `price` amounts,
/// `birthday` dates. They satisfy NOT NULL, lengths, CHECKs and unique indexes, and foreign keys refer to rows that exist.
/// A tenth of the values of a nullable column is NULL. Time stamps that Bobak sets are those of the call.
///
/// ```
/// use bobak::prelude::*;
/// use bobak_testing::Sample;
///
/// #[derive(Record)]
/// struct Customer {
///     id: i64,
///     #[record(max = 60)]
///     name: String,
///     #[record(max = 80, unique)]
///     email: String,
/// }
/// #[derive(Record)]
/// struct Order {
///     id: i64,
///     #[record(references = Customer, index)]
///     customer_id: i64,
///     #[record(check = "total > 0")]
///     total: Currency,
/// }
///
/// let db = Db::builder().record::<Customer>().record::<Order>().open("memory:")?;
/// db.create_missing_tables()?;
/// let filled = Sample::new(7).records::<Order>(1_000).fill(&db)?;
/// assert_eq!(filled, [("customer".to_owned(), 100), ("order".to_owned(), 1_000)]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Default)]
pub struct Sample {
    seed: u64,
    rows: Vec<(String, u64)>,
    functions: Vec<(String, String, ColumnFunction)>,
}

impl Sample {
    /// The sample of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Asks for rows of a table. An empty table that it cannot do without gets rows too: a tenth as many, or as many if
    /// each row needs one of its own. Default, if no table is named: 100 rows of every table.
    #[must_use]
    pub fn rows(mut self, table: &str, count: u64) -> Self {
        self.rows.push((table.to_owned(), count));
        self
    }

    /// As [`rows`](Sample::rows), of a record type.
    #[must_use]
    pub fn records<T: Record>(self, count: u64) -> Self {
        self.rows(T::schema().name(), count)
    }

    /// Makes the values of a column by a function of the row's number, which begins at 0. They are in stored form.
    #[must_use]
    pub fn column(
        mut self,
        table: &str,
        column: &str,
        value: impl Fn(&mut Random, u64) -> Value<'static> + Send + Sync + 'static,
    ) -> Self {
        self.functions.push((table.to_owned(), column.to_owned(), Box::new(value)));
        self
    }

    /// Inserts the rows into the main engine, all or none; returns the tables with their numbers of rows.
    ///
    /// # Errors
    /// `Schema` if there is no table of a name; `Constraint` or `Duplicate`, naming table and column, if no values
    /// satisfy a rule, and for a row that must refer to another one if there is none; those of the engine.
    pub fn fill(&self, db: &Db) -> Result<Vec<(String, u64)>> {
        let mut tables = db.tables()?;
        tables.retain(|table| table.name() != bobak::migration::LEDGER);
        let tables =
            tables.into_iter().map(|table| typed(db, table)).collect::<Result<Vec<_>>>()?;
        for (table, column) in self.functions.iter().map(|(table, column, _)| (table, column)) {
            TableSchema::find_in(tables.clone(), table)?.column(column)?;
        }
        let tables = by_reference(tables);
        let counts = self.counts(db, &tables)?;
        let (engine, transaction) = (db.engine()?, db.begin()?);
        let mut filled = Vec::new();
        for (table, count) in tables.into_iter().zip(counts) {
            if count > 0 {
                let name = table.name().to_owned();
                self.fill_table(&transaction, engine.name(), table, count)?;
                filled.push((name, count));
            }
        }
        transaction.commit()?;
        Ok(filled)
    }

    /// The number of rows of each table.
    fn counts(&self, db: &Db, tables: &[TableSchema]) -> Result<Vec<u64>> {
        if self.rows.is_empty() {
            return Ok(vec![DEFAULT_ROWS; tables.len()]);
        }
        let mut counts = vec![0; tables.len()];
        for (name, count) in &self.rows {
            let table = TableSchema::find_in(tables.to_vec(), name)?;
            let place = tables.iter().position(|other| other.name() == table.name());
            if let Some(slot) = place.and_then(|place| counts.get_mut(place)) {
                *slot = *count;
            }
        }
        // Tables that others refer to come first in the list.
        for (place, table) in tables.iter().enumerate().rev() {
            let count = counts.get(place).copied().unwrap_or_default();
            for key in table.all_foreign_keys().iter().filter(|_| count > 0) {
                let is_it = |other: &TableSchema| other.name().eq_ignore_ascii_case(&key.table);
                let may_lack = |c: &usize| table.columns().get(*c).is_some_and(|c| c.nullable);
                if is_it(table) || key.columns.iter().any(may_lack) {
                    continue;
                }
                let Some(parent) = tables.iter().position(is_it) else { continue };
                let Some(slot) = counts.get_mut(parent) else { continue };
                let each = references::is_unique(table, &key.columns);
                let needed = if each { count } else { (count / 10).max(10) };
                if *slot < needed
                    && !self.rows.iter().any(|(name, _)| name.eq_ignore_ascii_case(&key.table))
                    && db.dynamic(&key.table)?.count(Query::all())? == 0
                {
                    *slot = needed;
                }
            }
        }
        Ok(counts)
    }

    fn fill_table(
        &self,
        transaction: &Transaction<'_>,
        engine: &str,
        table: TableSchema,
        count: u64,
    ) -> Result<()> {
        let schema = Arc::new(table);
        let mut limits = limits::of_columns(&schema);
        server_types::narrow(transaction, engine, &schema, &mut limits)?;
        let mut sample = TableSample::new(&schema, limits, &self.functions, self.seed)?;
        sample.read_used(transaction)?;
        sample.load(transaction, false)?;
        // Rows that refer to others of their own table come after the first tenth.
        let is_own = sample.references.iter().any(|reference| reference.is_own);
        let first = if is_own { count.div_ceil(10) } else { count };
        insert(transaction, &schema, &mut sample, 0..first)?;
        if is_own {
            sample.load(transaction, true)?;
            insert(transaction, &schema, &mut sample, first..count)?;
        }
        Ok(())
    }
}

/// The table with types for its untyped columns: those of their values, or that their declared names say. Texts may be dates
/// in a form of another program.
fn typed(db: &Db, table: TableSchema) -> Result<TableSchema> {
    if table.columns().iter().all(|column| column.ty != Type::Any) {
        return Ok(table);
    }
    let found = db.stored_types(&table, &[])?.table;
    let mut found = found.columns().iter();
    let typed = table.map_columns(|column| match found.next() {
        Some(typed) if column.ty == Type::Any && typed.ty != Type::Text => typed.clone(),
        _ => column,
    })?;
    declared_types(&typed)
}

fn insert(
    transaction: &Transaction<'_>,
    schema: &TableSchema,
    sample: &mut TableSample<'_>,
    rows: std::ops::Range<u64>,
) -> Result<()> {
    let table = transaction.dynamic(schema.name())?;
    let mut batch = transaction.batch(BatchOptions::new());
    for number in rows {
        batch.insert_given(&table, sample.given, sample.row(number)?)?;
    }
    batch.finish().map(drop)
}
