//! Records as a stream: the threads fetch chunks of a cursor, one ahead of the reader.

use super::future::{DbFuture, lock};
use crate::Db;
use crate::handle::{EngineHandle, SessionSource};
use crate::on_request::{columns_without, left_out, with_places};
use crate::rows::RowCursor;
use crate::workers::Workers;
use bobak_core::{Error, ErrorKind, FieldSet, Query, Record, Result, Source};
use futures_core::Stream;
use self_cell::self_cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use std::vec::IntoIter;

self_cell!(
    struct StreamCursor {
        // With the columns that are left out.
        owner: (SessionSource<'static>, FieldSet),
        #[not_covariant]
        dependent: RowCursor,
    }
);

/// A stream of records, in constant memory. It sees the records as of its first poll, whatever is written meanwhile.
///
/// One of the database's threads reads the next chunk of about 64 KiB while the current one is used. Between chunks the
/// stream occupies no thread.
///
/// It implements [`Stream`], for the adapters of the crate `futures` and others, and has the methods
/// [`next`](AsyncRows::next) and [`next_chunk`](AsyncRows::next_chunk).
///
/// ```
/// # use bobak::{aio::AsyncDb, prelude::*};
/// # #[derive(Record)] struct City { id: i64, name: String }
/// # async fn program(db: AsyncDb) -> Result<(), Error> {
/// let mut cities = db.table::<City>().stream(Query::all());
/// while let Some(city) = cities.next().await {
///     println!("{}", city?.name);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is read before the stream is polled"]
pub struct AsyncRows<T> {
    workers: Workers,
    cursor: Arc<Mutex<Option<StreamCursor>>>,
    chunk: IntoIter<T>,
    next: Option<DbFuture<Result<Vec<T>>>>,
}

impl<T: Record + Send> AsyncRows<T> {
    pub(super) fn new(db: &Db, workers: &Workers, query: Query<T>) -> Self {
        let cursor = Arc::new(Mutex::new(None));
        let (shared, db) = (Arc::clone(&cursor), db.clone());
        let first = workers.run(move || {
            let mut opened = open(&db, &query)?;
            let chunk = fetch(&mut opened)?;
            *lock(&shared) = Some(opened);
            Ok(chunk)
        });
        let workers = workers.clone();
        Self { workers, cursor, chunk: Vec::new().into_iter(), next: Some(first) }
    }

    /// The next record; `None` after the last one, or after an error.
    pub async fn next(&mut self) -> Option<Result<T>> {
        poll_fn(|context| self.poll_record(context)).await
    }

    /// The remaining records of the current chunk, or else the next chunk; empty after the last record.
    ///
    /// # Errors
    /// As [`Table::list`](crate::Table::list).
    pub async fn next_chunk(&mut self) -> Result<Vec<T>> {
        poll_fn(|context| {
            let filled = ready!(self.poll_chunk(context));
            Poll::Ready(filled.map(|()| std::mem::take(&mut self.chunk).collect()))
        })
        .await
    }

    fn poll_record(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        if let Some(record) = self.chunk.next() {
            return Poll::Ready(Some(Ok(record)));
        }
        match ready!(self.poll_chunk(context)) {
            Ok(()) => Poll::Ready(self.chunk.next().map(Ok)),
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }

    /// Fills `chunk` if there are more records, and starts to fetch the next chunk.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.chunk.len() > 0 {
            return Poll::Ready(Ok(()));
        }
        let Some(next) = &mut self.next else { return Poll::Ready(Ok(())) };
        let chunk = ready!(Future::poll(Pin::new(next), context));
        self.next = None;
        let chunk = chunk?;
        if !chunk.is_empty() {
            let cursor = Arc::clone(&self.cursor);
            let mut next = self.workers.run(move || match &mut *lock(&cursor) {
                Some(open) => fetch(open),
                None => Err(Error::new(ErrorKind::Misuse, "the stream has ended")),
            });
            // The first poll queues the work; the reader polls it again.
            let queued = Pin::new(&mut next).poll(&mut Context::from_waker(Waker::noop()));
            debug_assert!(queued.is_pending(), "no result before the work is queued");
            self.next = Some(next);
        }
        self.chunk = chunk.into_iter();
        Poll::Ready(Ok(()))
    }
}

impl<T: Record + Send + Unpin> Stream for AsyncRows<T> {
    type Item = Result<T>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        self.get_mut().poll_record(context)
    }
}

impl<T> Drop for AsyncRows<T> {
    fn drop(&mut self) {
        // Closing a cursor may need a round trip to a server, for which the task must not block.
        self.next = None;
        let cursor = Arc::clone(&self.cursor);
        self.workers.detach(move || {
            let open = lock(&cursor).take();
            drop(open);
        });
    }
}

impl<T> std::fmt::Debug for AsyncRows<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsyncRows").field("waiting", &self.chunk.len()).finish_non_exhaustive()
    }
}

fn open<T: Record>(db: &Db, query: &Query<T>) -> Result<StreamCursor> {
    let catalog = db.catalog();
    let engine = EngineHandle::new(Arc::clone(catalog) as Arc<_>, catalog.bind::<T>()?)?;
    let table = T::schema();
    let left_out = left_out(query);
    let select = query.to_select(table, columns_without(table, left_out))?;
    let name = |error: Error| error.in_table(T::TABLE);
    let source = SessionSource::Engine(engine);
    let select = source.with_values_of_subqueries(select)?;
    StreamCursor::try_new((source, left_out), |(handle, _)| {
        RowCursor::open(handle, &Source::Select(&select)).map_err(name)
    })
}

/// The records of the next chunk; empty at the end.
fn fetch<T: Record>(open: &mut StreamCursor) -> Result<Vec<T>> {
    open.with_dependent_mut(|(_, left_out), cursor| {
        let mut chunk = Vec::new();
        while let Some(row) = cursor.next_row()? {
            chunk.push(with_places(&row, *left_out, T::read)?);
            if cursor.is_between_chunks() {
                break;
            }
        }
        Ok(chunk)
    })
}
