//! Runs the queries of a shape.

use super::Shape;
use super::join::select_shape;
use super::rows::{ShapeColumns, ShapeLevel, ShapeRows};
use crate::handle::{LendSession, SessionSource, TransactionSession};
use crate::table::Table;
use bobak_core::statements::CallSite;
use bobak_core::{ErrorKind, Filter, Key, Query, Record, Result, Row, Select, TransactionControl};

impl<T: Record> Table<'_, T> {
    /// Loads [shapes](trait@crate::Shape) of the records of a query: some fields of each, and related records with them. The
    /// number of queries depends on the shape alone. SQLite, PostgreSQL and MariaDB read records and those that they refer to
    /// by one, and for each other related field one; other engines, for each related field, one for each step of its
    /// relation. `with` are the shape's parameters.
    ///
    /// The order, limit and offset of the query apply to the records; those of a related field apply to the related records
    /// of each record. All queries see one state of the database if the engine has read-only transactions, as SQLite has.
    ///
    /// # Errors
    /// As [`list`](Table::list); `NotFound` if a related record is required and missing; `Mismatch` if there are several.
    #[track_caller]
    pub fn load<S: Shape<Record = T>>(
        &self,
        query: impl Into<Query<T>>,
        with: &S::With,
    ) -> Result<Vec<S>> {
        let _at = CallSite::enter();
        let query = query.into();
        let load = |source: &SessionSource<'_>| load_from(source, &query, with);
        in_snapshot(&self.access.source, load).map_err(|error| self.access.in_table(error))
    }

    /// Loads the [shape](trait@crate::Shape) of the record with this key, or `None`.
    ///
    /// # Errors
    /// As [`load`](Table::load).
    #[track_caller]
    pub fn load_one<S: Shape<Record = T>>(
        &self,
        key: impl Into<T::Key>,
        with: &S::With,
    ) -> Result<Option<S>> {
        let _at = CallSite::enter();
        let condition = key.into().with_values(|key| self.access.key_condition(key));
        Ok(self.load(Filter::new(condition), with)?.pop())
    }
}

/// Runs queries that see one state of the engine, if it has read-only transactions, or if the source is a transaction.
pub(crate) fn in_snapshot<R>(
    source: &SessionSource<'_>,
    run: impl FnOnce(&SessionSource<'_>) -> Result<R>,
) -> Result<R> {
    let SessionSource::Engine(handle) = source else { return run(source) };
    let session = handle.engine()?.session()?;
    match session.begin_reading() {
        Ok(()) => {
            let index = source.engine_index();
            let session = TransactionSession::new(session, source.engines(), index);
            let result = run(&SessionSource::Transaction(&session));
            let end =
                |session: &dyn bobak_core::Session| session.control(TransactionControl::Rollback);
            let ended = (&session as &dyn LendSession).with(end);
            result.and_then(|result| ended.map(|()| result))
        }
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            drop(session);
            run(source)
        }
        Err(error) => Err(error),
    }
}

fn load_from<S: Shape>(
    source: &SessionSource<'_>,
    query: &Query<S::Record>,
    with: &S::With,
) -> Result<Vec<S>> {
    let columns = ShapeColumns::of::<S>(query.requested());
    let select = query.to_select(S::Record::schema(), columns.exprs())?;
    if columns.has_relations() {
        return build(source, &select_shape::<S>(source, columns, select, with)?, with);
    }
    let mut shapes = Vec::new();
    build_rows(source, columns, select, with, |_, shape| shapes.push(shape))?;
    Ok(shapes)
}

/// The shapes of rows.
pub(super) fn build<S: Shape>(
    source: &SessionSource<'_>,
    rows: &ShapeRows,
    with: &S::With,
) -> Result<Vec<S>> {
    let mut parts = S::load_parts(&ShapeLevel { source, rows }, with)?;
    (0..rows.len()).map(|number| S::build(&rows.row(number), number, &mut parts)).collect()
}

/// Calls `each` with the shapes of the rows of a query, of a shape without related records.
pub(super) fn build_rows<S: Shape>(
    source: &SessionSource<'_>,
    columns: ShapeColumns,
    select: Select,
    with: &S::With,
    mut each: impl FnMut(&dyn Row, S),
) -> Result<()> {
    let rows = ShapeRows::of_columns(columns);
    let mut parts = S::load_parts(&ShapeLevel { source, rows: &rows }, with)?;
    source.query(select, &mut |row| {
        each(row, S::build(row, 0, &mut parts)?);
        Ok(true)
    })
}
