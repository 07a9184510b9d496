//! Runs the queries of a shape.

use super::Shape;
use super::rows::{ShapeColumns, ShapeLevel, ShapeRows};
use crate::handle::{LendSession, SessionSource, TransactionSession};
use bobak_core::{ErrorKind, Query, Record, Result, TransactionControl};

/// The shapes of a query. Outside a transaction all queries of a shape with parts see one state of the engine, if it has
/// read-only transactions.
pub(crate) fn load<S: Shape>(
    source: &SessionSource<'_>,
    query: Query<S::Record>,
    with: &S::With,
) -> Result<Vec<S>> {
    let SessionSource::Engine(handle) = source else { return load_from(source, query, with) };
    let session = handle.engine()?.session()?;
    match session.begin_reading() {
        Ok(()) => {
            let index = source.engine_index();
            let session = TransactionSession::new(session, source.catalog(), index);
            let snapshot = SessionSource::Transaction(&session);
            let loaded = load_from(&snapshot, query, with);
            let end =
                |session: &dyn bobak_core::Session| session.control(TransactionControl::Rollback);
            let ended = (&session as &dyn LendSession).with(end);
            loaded.and_then(|shapes| ended.map(|()| shapes))
        }
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            drop(session);
            load_from(source, query, with)
        }
        Err(error) => Err(error),
    }
}

fn load_from<S: Shape>(
    source: &SessionSource<'_>,
    query: Query<S::Record>,
    with: &S::With,
) -> Result<Vec<S>> {
    let mut columns = ShapeColumns::default();
    S::columns(&mut columns);
    let table = S::Record::schema();
    let rows = ShapeRows::query(source, table, columns, &query)?;
    let parts = S::load_parts(&ShapeLevel { source, rows: &rows }, with)?;
    (0..rows.len()).map(|number| S::build(&rows.row(number), number, &parts)).collect()
}
