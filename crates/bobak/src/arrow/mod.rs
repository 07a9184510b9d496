//! Results as Arrow record batches, one array for each column, and record batches as rows to insert.
//!
//! ```
//! use bobak::arrow::{BATCH_ROWS, RecordBatch};
//! use bobak::prelude::*;
//!
//! #[derive(Record)]
//! struct City {
//!     id: i64,
//!     name: String,
//!     area: Option<f64>,
//! }
//!
//! let db = Db::builder().record::<City>().open("memory:")?;
//! db.create_missing_tables()?;
//! let cities = db.table::<City>()?;
//! cities.insert(&City { id: 0, name: "Bern".into(), area: Some(51.6) })?;
//!
//! let mut batches: Vec<RecordBatch> = Vec::new();
//! cities.for_each_record_batch(Query::all(), BATCH_ROWS, |batch| {
//!     batches.push(batch);
//!     Ok(true)
//! })?;
//! assert_eq!((batches[0].num_rows(), batches[0].num_columns()), (1, 3));
//! # Ok::<(), Error>(())
//! ```
//!
//! [`Table::for_each_record_batch`] is the fastest way to read columns, [`Table::record_batches`] an iterator,
//! [`Db::for_each_record_batch`] is for joins and selections, [`Db::for_each_sql_record_batch`] for SQL, and
//! [`Batch::insert_record_batch`](crate::Batch::insert_record_batch) inserts. Every way to read yields at least one batch:
//! that of an empty result has the columns and no rows.

mod threads;

pub use bobak_arrow::*;

use crate::access::TableAccess;
use crate::handle::SessionSource;
use crate::join;
use crate::rows::RowCursor;
use crate::sql::RunText;
use crate::{Db, DynTable, Parameters, Query, Record, Result, Table, Transaction};
use bobak_core::join::JoinExpr;
use bobak_core::statements::CallSite;
use bobak_core::{DynRow, Join, JoinQuery, ResultColumn, Row, Select};
use threads::ThreadedQuery;

impl<T: Record> Table<'_, T> {
    /// Calls `each` with the records of a query as record batches of at most `rows` rows, until it returns `false`: see the
    /// [module](crate::arrow). The arrays are filled straight from the engine's rows.
    ///
    /// The connection is busy meanwhile, as that of [`for_each`](Table::for_each).
    ///
    /// # Errors
    /// As [`for_each`](Table::for_each), and those of `each`; `TooLong` for a value of about 2 GiB.
    #[track_caller]
    pub fn for_each_record_batch(
        &self,
        query: impl Into<Query<T>>,
        rows: usize,
        each: impl FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        for_each_batch(&self.access, &query.into(), rows, each)
    }

    /// As [`for_each_record_batch`](Self::for_each_record_batch), but several threads read the table: as many as `threads` says, or
    /// as there are processors if it is 0. `each` is called on this thread.
    ///
    /// The batches are those of one state of the table, in the order of its key. A batch may have fewer rows than `rows` although
    /// others follow. Each thread has a reading connection while it reads, and the database has only a limited number of them.
    ///
    /// One thread reads if more cannot help or are not possible: if the table has fewer than about 65,000 keys, or a key that is not
    /// one integer, or a column without a type; if the query has an order other than the key's, a limit, a search, a subquery, or a
    /// condition on the key or an indexed column; in a transaction; and on engines other than files of SQLite with a write-ahead log,
    /// the default, and of redb.
    ///
    /// ```
    /// # use bobak::arrow::BATCH_ROWS;
    /// # use bobak::prelude::*;
    /// #[derive(Record)]
    /// struct City {
    ///     id: i64,
    ///     people: i64,
    /// }
    ///
    /// # let folder = std::env::temp_dir().join(format!("bobak-cities-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let file = folder.join("cities.db");
    /// # {
    /// let db = Db::builder().record::<City>().open(&format!("sqlite:{}", file.display()))?;
    /// db.create_missing_tables()?;
    /// let cities = db.table::<City>()?;
    /// cities.insert(&City { id: 0, people: 134_794 })?;
    ///
    /// let mut rows = 0;
    /// cities.for_each_record_batch_in_threads(Query::all(), BATCH_ROWS, 0, |batch| {
    ///     rows += batch.num_rows();
    ///     Ok(true)
    /// })?;
    /// assert_eq!(rows, 1);
    /// # }
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`for_each_record_batch`](Self::for_each_record_batch).
    ///
    /// # Panics
    /// If the system cannot start a thread.
    #[track_caller]
    pub fn for_each_record_batch_in_threads(
        &self,
        query: impl Into<Query<T>>,
        rows: usize,
        threads: usize,
        each: impl FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        for_each_batch_in_threads(&self.access, &query.into(), rows, threads, each)
    }

    /// Iterates over the records of a query as record batches of at most `rows` rows. It sees the records as of its creation,
    /// and the table may be written meanwhile.
    ///
    /// # Errors
    /// As [`iter`](Table::iter). Those of an item: as [`for_each_record_batch`](Table::for_each_record_batch).
    #[track_caller]
    pub fn record_batches(
        &self,
        query: impl Into<Query<T>>,
        rows: usize,
    ) -> Result<RecordBatches<'_>> {
        RecordBatches::open(&self.access, &query.into(), rows)
    }
}

impl DynTable<'_> {
    /// As [`Table::for_each_record_batch`].
    ///
    /// # Errors
    /// As [`Table::for_each_record_batch`].
    #[track_caller]
    pub fn for_each_record_batch(
        &self,
        query: impl Into<Query<DynRow>>,
        rows: usize,
        each: impl FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        for_each_batch(&self.access, &query.into(), rows, each)
    }

    /// As [`Table::for_each_record_batch_in_threads`].
    ///
    /// # Errors
    /// As [`Table::for_each_record_batch_in_threads`].
    ///
    /// # Panics
    /// If the system cannot start a thread.
    #[track_caller]
    pub fn for_each_record_batch_in_threads(
        &self,
        query: impl Into<Query<DynRow>>,
        rows: usize,
        threads: usize,
        each: impl FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        for_each_batch_in_threads(&self.access, &query.into(), rows, threads, each)
    }

    /// As [`Table::record_batches`].
    ///
    /// # Errors
    /// As [`Table::record_batches`].
    #[track_caller]
    pub fn record_batches(
        &self,
        query: impl Into<Query<DynRow>>,
        rows: usize,
    ) -> Result<RecordBatches<'_>> {
        RecordBatches::open(&self.access, &query.into(), rows)
    }
}

impl Db {
    /// Calls `each` with the rows of a join or a selection as record batches of at most `rows` rows, until it returns `false`:
    /// see [`Db::list`]. The arrays are filled straight from the rows.
    ///
    /// A column has the name of its field. An expression is a `column` with its number, and a second field of the same name
    /// has its number, too: `column_2`, `id_5`. Any column may be NULL.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// #[derive(Record)]
    /// struct City {
    ///     id: i64,
    ///     country: String,
    ///     people: i64,
    /// }
    ///
    /// # let db = Db::builder().record::<City>().open("memory:")?;
    /// # db.create_missing_tables()?;
    /// let people = Query::<City>::all().group_by(City::COUNTRY).select((City::COUNTRY, City::PEOPLE.sum()));
    /// db.for_each_record_batch(&people, 1_000, |batch| {
    ///     let schema = batch.schema();
    ///     assert_eq!((schema.field(0).name().as_str(), schema.field(1).name().as_str()), ("country", "column_2"));
    ///     Ok(true)
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Db::list`], and those of `each`; `TooLong` for a value of about 2 GiB.
    #[track_caller]
    pub fn for_each_record_batch<L, R>(
        &self,
        query: &JoinQuery<L, R>,
        rows: usize,
        each: impl FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        for_each_batch_of_join(&self.source_of(query)?, query, rows, each)
    }

    /// Runs SQL, and calls `each` with its rows as record batches of at most `rows` rows until it returns `false`. See
    /// [`Db::sql`], and [`BatchBuilder`] about columns whose type the engine does not know.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// let db = Db::open("sqlite::memory:")?;
    /// db.for_each_sql_record_batch("SELECT ? + 1 AS answer", [41], 1_000, |batch| {
    ///     assert_eq!(batch.schema_ref().field(0).name(), "answer");
    ///     Ok(true)
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Db::sql`], and those of `each`; `Mismatch` if a column has values of several types.
    #[track_caller]
    pub fn for_each_sql_record_batch(
        &self,
        text: &str,
        parameters: impl Parameters,
        rows: usize,
        each: impl FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        for_each_batch_of_text(&**self.catalog(), text, parameters, rows, each)
    }
}

impl Transaction<'_> {
    /// As [`Db::for_each_record_batch`], in the transaction.
    ///
    /// # Errors
    /// As [`Db::for_each_record_batch`].
    #[track_caller]
    pub fn for_each_record_batch<L, R>(
        &self,
        query: &JoinQuery<L, R>,
        rows: usize,
        each: impl FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        for_each_batch_of_join(&self.source(), query, rows, each)
    }

    /// As [`Db::for_each_sql_record_batch`], in the transaction.
    ///
    /// # Errors
    /// As [`Db::for_each_sql_record_batch`].
    #[track_caller]
    pub fn for_each_sql_record_batch(
        &self,
        text: &str,
        parameters: impl Parameters,
        rows: usize,
        each: impl FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        for_each_batch_of_text(self, text, parameters, rows, each)
    }
}

/// An iterator over record batches, `Result<RecordBatch>`: at least one. Ends after an error.
pub struct RecordBatches<'a> {
    cursor: RowCursor<'a>,
    builder: BatchBuilder,
    begun: bool,
    ended: bool,
}

impl<'a> RecordBatches<'a> {
    #[track_caller]
    fn open<T>(access: &'a TableAccess<'_>, query: &Query<T>, rows: usize) -> Result<Self> {
        let (cursor, builder) =
            (access.cursor(query)?, BatchBuilder::for_table(&access.schema, rows));
        Ok(Self { cursor, builder, begun: false, ended: false })
    }

    fn fill(&mut self) -> Result<Option<RecordBatch>> {
        while !self.builder.is_full() {
            let Some(row) = self.cursor.next_row()? else {
                self.ended = true;
                break;
            };
            self.builder.push(&row)?;
        }
        if self.begun && self.builder.rows() == 0 {
            return Ok(None);
        }
        self.begun = true;
        self.builder.finish().map(Some)
    }
}

impl Iterator for RecordBatches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if self.ended {
            return None;
        }
        let next = self.fill();
        self.ended |= next.is_err();
        next.transpose()
    }
}

/// Passes record batches on as they are filled.
struct BatchOutput<'a, E> {
    each: E,
    /// The table that errors name.
    access: Option<&'a TableAccess<'a>>,
    begun: bool,
    wanted: bool,
}

impl<'a, E: FnMut(RecordBatch) -> Result<bool>> BatchOutput<'a, E> {
    const fn new(each: E, access: Option<&'a TableAccess<'a>>) -> Self {
        Self { each, access, begun: false, wanted: true }
    }

    /// Appends a row; returns whether more are wanted.
    #[inline]
    fn push(&mut self, builder: &mut BatchBuilder, row: &dyn Row) -> Result<bool> {
        builder.push(row)?;
        if builder.is_full() {
            self.pass_on(builder)?;
        }
        Ok(self.wanted)
    }

    /// Passes the last rows on, and a batch without rows if there were none.
    fn end(mut self, mut builder: BatchBuilder) -> Result<()> {
        if self.wanted && (builder.rows() > 0 || !self.begun) {
            self.pass_on(&mut builder)?;
        }
        Ok(())
    }

    fn pass_on(&mut self, builder: &mut BatchBuilder) -> Result<()> {
        self.begun = true;
        let batch = builder.finish().map_err(|error| match self.access {
            Some(access) => access.in_table(error),
            None => error,
        })?;
        self.wanted = (self.each)(batch)?;
        Ok(())
    }
}

#[track_caller]
fn for_each_batch<T>(
    access: &TableAccess<'_>,
    query: &Query<T>,
    rows: usize,
    each: impl FnMut(RecordBatch) -> Result<bool>,
) -> Result<()> {
    for_each_batch_of(access, &access.select_all(query)?, rows, each)
}

#[track_caller]
fn for_each_batch_of(
    access: &TableAccess<'_>,
    select: &Select,
    rows: usize,
    each: impl FnMut(RecordBatch) -> Result<bool>,
) -> Result<()> {
    let mut builder = BatchBuilder::for_table(&access.schema, rows);
    let mut output = BatchOutput::new(each, Some(access));
    access.scan(select, |row| output.push(&mut builder, row))?;
    output.end(builder)
}

#[track_caller]
fn for_each_batch_in_threads<T>(
    access: &TableAccess<'_>,
    query: &Query<T>,
    rows: usize,
    threads: usize,
    mut each: impl FnMut(RecordBatch) -> Result<bool>,
) -> Result<()> {
    let select = access.select_all(query)?;
    if let Some(threaded) = ThreadedQuery::new(access, &select, rows, threads)?
        && let Some(()) = threaded.run(&mut each).map_err(|error| access.in_table(error))?
    {
        return Ok(());
    }
    for_each_batch_of(access, &select, rows, each)
}

#[track_caller]
fn for_each_batch_of_join<L, R>(
    source: &SessionSource<'_>,
    query: &JoinQuery<L, R>,
    rows: usize,
    each: impl FnMut(RecordBatch) -> Result<bool>,
) -> Result<()> {
    let _at = CallSite::enter();
    let join = query.to_join()?;
    let mut builder = BatchBuilder::new(&columns_of(&join), rows);
    let mut output = BatchOutput::new(each, None);
    join::run(source, &join, &mut |row| output.push(&mut builder, row))?;
    output.end(builder)
}

/// The columns of a join's rows: see [`Db::for_each_record_batch`].
fn columns_of(join: &Join) -> Vec<ResultColumn> {
    let mut columns: Vec<ResultColumn> = Vec::with_capacity(join.columns.len());
    for (number, expr) in (1..).zip(&join.columns) {
        let field = match expr {
            JoinExpr::Column(column) => join.column(*column).map(|column| &*column.name),
            _ => None,
        };
        let is_new = |name: &&str| columns.iter().all(|column| column.name != *name);
        let name = match field.filter(is_new) {
            Some(name) => name.to_owned(),
            None => format!("{}_{number}", field.unwrap_or("column")),
        };
        columns.push(ResultColumn::new(name, expr.ty(join)));
    }
    columns
}

#[track_caller]
fn for_each_batch_of_text(
    runner: &dyn RunText,
    text: &str,
    parameters: impl Parameters,
    rows: usize,
    each: impl FnMut(RecordBatch) -> Result<bool>,
) -> Result<()> {
    let _at = CallSite::enter();
    let (text, parameters) = parameters.into_arguments()?.bind(text)?;
    let (mut builder, mut output) = (None, BatchOutput::new(each, None));
    let mut row = |row: &dyn Row| {
        let made = || BatchBuilder::new(&ResultColumn::of_row(row), rows);
        output.push(builder.get_or_insert_with(made), row)
    };
    let mut columns = Vec::new();
    runner.query_text(&text, &parameters, &mut row, Some(&mut columns))?;
    output.end(builder.unwrap_or_else(|| BatchBuilder::new(&columns, rows)))
}
