//! Records as a stream: a cursor whose parts are fetched by the threads, one ahead of the reader.

use super::answer::{Answer, lock};
use super::db::AsyncDb;
use super::workers::Workers;
use crate::Db;
use crate::handle::SessionSource;
use crate::rows::RowCursor;
use bobak_core::{Error, ErrorKind, Query, Record, Result, Source};
use futures_core::Stream;
use self_cell::self_cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::vec::IntoIter;

self_cell!(
    struct Held {
        owner: SessionSource<'static>,
        #[not_covariant]
        dependent: RowCursor,
    }
);

/// Records one after the other, in constant memory: those of the moment when the stream was polled
/// first, whatever is written meanwhile.
///
/// A part of about 64 KiB is read by one of the database's threads while the part before it is
/// used. Between its parts a stream keeps no thread.
///
/// It is a [`Stream`], for the adapters of the crate `futures` and others, and has
/// [`next`](AsyncRows::next) and [`next_part`](AsyncRows::next_part) of its own.
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
    cursor: Arc<Mutex<Option<Held>>>,
    part: IntoIter<T>,
    ahead: Option<Answer<Result<Vec<T>>>>,
}

impl<T: Record + Send> AsyncRows<T> {
    pub(super) fn new(db: &AsyncDb, query: Query<T>) -> Self {
        let cursor = Arc::new(Mutex::new(None));
        let (place, workers) = (Arc::clone(&cursor), db.workers().clone());
        let open = db.run(move |db| {
            let mut held = open(db, &query)?;
            let part = fetch(&mut held)?;
            *lock(&place) = Some(held);
            Ok(part)
        });
        Self { workers, cursor, part: Vec::new().into_iter(), ahead: Some(open) }
    }

    /// The next record; `None` after the last one, or after an error.
    pub async fn next(&mut self) -> Option<Result<T>> {
        poll_fn(|context| self.poll_record(context)).await
    }

    /// The records that are there already, else the next part; none after the last one.
    ///
    /// # Errors
    /// As [`Table::list`](crate::Table::list).
    pub async fn next_part(&mut self) -> Result<Vec<T>> {
        poll_fn(|context| {
            let filled = ready!(self.poll_part(context));
            Poll::Ready(filled.map(|()| std::mem::take(&mut self.part).collect()))
        })
        .await
    }

    fn poll_record(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        if let Some(record) = self.part.next() {
            return Poll::Ready(Some(Ok(record)));
        }
        match ready!(self.poll_part(context)) {
            Ok(()) => Poll::Ready(self.part.next().map(Ok)),
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }

    /// Has records in `part`, if there are any more, and the next ones on their way.
    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.part.len() > 0 {
            return Poll::Ready(Ok(()));
        }
        let Some(ahead) = &mut self.ahead else { return Poll::Ready(Ok(())) };
        let part = ready!(Future::poll(Pin::new(ahead), context));
        self.ahead = None;
        let part = part?;
        if !part.is_empty() {
            let cursor = Arc::clone(&self.cursor);
            let mut ahead = self.workers.run(move || match &mut *lock(&cursor) {
                Some(held) => fetch(held),
                None => Err(Error::new(ErrorKind::Misuse, "the stream has ended")),
            });
            ahead.start();
            self.ahead = Some(ahead);
        }
        self.part = part.into_iter();
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
        // Closing a cursor may mean to talk to a server, which the task must not wait for.
        self.ahead = None;
        let cursor = Arc::clone(&self.cursor);
        self.workers.detach(move || {
            let held = lock(&cursor).take();
            drop(held);
        });
    }
}

impl<T> std::fmt::Debug for AsyncRows<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsyncRows").field("waiting", &self.part.len()).finish_non_exhaustive()
    }
}

fn open<T: Record>(db: &Db, query: &Query<T>) -> Result<Held> {
    let catalog = db.catalog();
    let engine = Arc::clone(catalog.engine(catalog.bind::<T>()?)?);
    let table = T::schema();
    let columns = (0..table.columns().len()).map(bobak_core::Expr::Column).collect();
    let select = query.to_select(table, columns)?;
    let name = |error: Error| error.in_table(T::TABLE);
    Held::try_new(SessionSource::Engine(engine), |handle| {
        RowCursor::open(handle, &Source::Select(&select)).map_err(name)
    })
}

/// The records of one part of the engine's; none at the end.
fn fetch<T: Record>(held: &mut Held) -> Result<Vec<T>> {
    held.with_dependent_mut(|_, lines| {
        let mut part = Vec::new();
        while let Some(row) = lines.next_row()? {
            part.push(T::read(&row)?);
            if lines.is_between_chunks() {
                break;
            }
        }
        Ok(part)
    })
}
