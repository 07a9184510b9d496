//! Tables in memory that are written to another database a moment later.

use super::Replica;
use crate::copy::{self, CopyProgress};
use crate::retention::{self, Keep};
use bobak_changes::is_tracked;
use bobak_core::engine::fallback::has_rows;
use bobak_core::{BulkChange, Engine, Error, ErrorKind, Result, SchemaChange, TableSchema};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Writes the changes of tables to another database in the background: see [`start`](Self::start).
///
/// Dropping it writes what is left and waits for that. An error is lost then, so call [`stop`](Self::stop).
pub struct WriteBehind {
    from: Arc<dyn Engine>,
    writer: Arc<BackgroundWriter>,
    thread: Option<JoinHandle<()>>,
}

/// How far a [`WriteBehind`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteBehindStatus {
    /// How many changes the target does not have yet.
    pub waiting: u64,
    /// Why the last attempt to write failed; `None` if it did not. Another follows after the interval.
    pub error: Option<String>,
}

#[derive(Default)]
struct BackgroundWriter {
    state: Mutex<WriterState>,
    changed: Condvar,
}

#[derive(Default)]
struct WriterState {
    /// The number of the last change that the target has.
    position: u64,
    /// The number of attempts that were requested, and of those that are done.
    requested: u64,
    done: u64,
    error: Option<Error>,
    is_stopping: bool,
}

impl WriteBehind {
    /// Begins to write the changes of the source's tables to the target, `interval` after each other at the latest.
    ///
    /// The source is usually in memory, and empty: its tables then get the rows that the target has, which is how a program
    /// continues after its end. If the target has no such tables, it gets them, with the rows of the source. A source that has kept its
    /// rows and its change log goes on where it stopped.
    ///
    /// Each part that is written has whole transactions of the source, in their order. So after a crash the target has the
    /// state of some moment before, at most about one interval earlier, unless it was unreachable. Each row is written once for each part,
    /// however often it has changed. The target's tables have no foreign keys and no triggers, and nothing else may write
    /// to them.
    ///
    /// # Errors
    /// `Schema` if a table does not exist in the source; `Conflict` if both have rows, and as [`Replica::begin`];
    /// `Unsupported` if the target's table has foreign keys or triggers; those of both engines.
    pub fn start(
        source: Arc<dyn Engine>,
        target: Arc<dyn Engine>,
        tables: &[&str],
        interval: Duration,
        mut progress: impl FnMut(CopyProgress<'_>),
    ) -> Result<Self> {
        let mut replica = begin(Arc::clone(&source), target, tables, &mut progress)?;
        let writer = Arc::new(BackgroundWriter::default());
        writer.lock().position = replica.position().unwrap_or_default();
        let of_thread = Arc::clone(&writer);
        let run = move || of_thread.run(&mut replica, interval.max(Duration::from_millis(1)));
        let thread = std::thread::Builder::new().name("bobak write-behind".to_owned()).spawn(run);
        let thread = thread.map_err(|error| {
            Error::new(ErrorKind::Io, "the thread that writes could not start").with_source(error)
        })?;
        Ok(Self { from: source, writer, thread: Some(thread) })
    }

    /// Writes all changes that were committed before this call, and waits for that.
    ///
    /// # Errors
    /// Those of [`Replica::step`]. The changes stay, and are written later.
    pub fn flush(&self) -> Result<()> {
        let mut state = self.writer.lock();
        state.requested += 1;
        let request = state.requested;
        self.writer.changed.notify_all();
        while state.done < request {
            state = self.writer.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.error.take().map_or(Ok(()), Err)
    }

    /// How far it is.
    ///
    /// # Errors
    /// Those of the source.
    pub fn status(&self) -> Result<WriteBehindStatus> {
        let logs = bobak_changes::logs(&*self.from)?;
        let last = bobak_changes::last_id(&*self.from.session()?, &logs)?;
        let state = self.writer.lock();
        let error = state.error.as_ref().map(ToString::to_string);
        Ok(WriteBehindStatus { waiting: last.saturating_sub(state.position), error })
    }

    /// Writes what is left, and ends.
    ///
    /// # Errors
    /// As [`flush`](Self::flush): then changes are lost with the memory that has them.
    pub fn stop(mut self) -> Result<()> {
        let flushed = self.flush();
        self.end();
        flushed
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.writer.lock().is_stopping = true;
        self.writer.changed.notify_all();
        // The thread does not panic, and if it did, nothing more could be done here.
        let _ = thread.join();
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for WriteBehind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteBehind").field("from", &self.from.name()).finish_non_exhaustive()
    }
}

impl BackgroundWriter {
    fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, replica: &mut Replica, interval: Duration) {
        loop {
            let (request, is_stopping) = self.wait(interval);
            let written = write(replica);
            let mut state = self.lock();
            state.position = replica.position().unwrap_or(state.position);
            state.error = written.err();
            state.done = state.done.max(request);
            drop(state);
            self.changed.notify_all();
            if is_stopping {
                return;
            }
        }
    }

    /// Waits until the interval has passed, or someone requests an attempt or the end.
    fn wait(&self, interval: Duration) -> (u64, bool) {
        let start = Instant::now();
        let mut state = self.lock();
        while state.done == state.requested && !state.is_stopping {
            let left = interval.saturating_sub(start.elapsed());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        (state.requested, state.is_stopping)
    }
}

/// Applies the changes of the source that there are, and removes them from its log.
fn write(replica: &mut Replica) -> Result<()> {
    let mut has_changed = false;
    while replica.step(Duration::ZERO)?.changes > 0 {
        has_changed = true;
    }
    // Without changes there is nothing to remove, and the source's writers do not wait for it.
    if let Some(position) = replica.position().filter(|_| has_changed) {
        retention::prune(&*replica.from, Keep::Since(position))?;
    }
    Ok(())
}

/// Makes a replica of the source's tables, which it tracks. First it fills them with the target's rows, unless they have rows.
fn begin(
    source: Arc<dyn Engine>,
    target: Arc<dyn Engine>,
    names: &[&str],
    progress: &mut dyn FnMut(CopyProgress<'_>),
) -> Result<Replica> {
    let tables = LoadedTable::all(&*source, &*target, names)?;
    if tables.iter().all(|table| table.is_tracked) {
        let mut replica = Replica::new(source, target, names)?;
        return replica.begin(progress).map(|_| replica);
    }
    let full = tables.iter().find(|table| table.is_full);
    let is_loaded = full.is_none();
    if let Some(full) = full
        && let Some(there) = tables.iter().find(|table| table.is_full_there)
    {
        let name = there.table.name();
        let message = format!(
            "there are rows here, and of the table {name} in the target: empty one database"
        );
        return Err(Error::new(ErrorKind::Conflict, message).in_table(full.table.name().to_owned()));
    }
    let from = Arc::clone(&source);
    begin_loaded(source, target, &tables, is_loaded, progress).inspect_err(|_| {
        // The first error says more than those of undoing it.
        tables.iter().for_each(|table| drop(table.undo(&*from, is_loaded)));
    })
}

fn begin_loaded(
    source: Arc<dyn Engine>,
    target: Arc<dyn Engine>,
    tables: &[LoadedTable],
    is_loaded: bool,
    progress: &mut dyn FnMut(CopyProgress<'_>),
) -> Result<Replica> {
    for LoadedTable { table, there, .. } in tables {
        if is_loaded && let Some(there) = there {
            let filled = copy::fill(&*target, &*source, there, table, progress);
            filled.map_err(|error| error.in_table(table.name().to_owned()))?;
        }
        source.alter(&[SchemaChange::Track { table: Arc::clone(table), history: false }])?;
    }
    let names: Vec<_> = tables.iter().map(|table| table.table.name()).collect();
    let mut replica = Replica::new(source, target, &names)?;
    match is_loaded {
        true => replica.begin_equal()?,
        false => replica.begin(progress).map(drop)?,
    }
    Ok(replica)
}

/// A table of the source, and that of the target.
struct LoadedTable {
    table: Arc<TableSchema>,
    there: Option<Arc<TableSchema>>,
    is_tracked: bool,
    is_full: bool,
    is_full_there: bool,
}

impl LoadedTable {
    fn all(source: &dyn Engine, target: &dyn Engine, names: &[&str]) -> Result<Vec<Self>> {
        let (here, there) = (source.tables()?, target.tables()?);
        let (session, session_there) = (source.session()?, target.session()?);
        let find = |name: &&str| {
            let table = Arc::new(TableSchema::find_in(here.clone(), name)?);
            let found = there.iter().find(|other| other.name().eq_ignore_ascii_case(name));
            let there = found.cloned().map(Arc::new);
            let has_rows_there = |table: &Arc<TableSchema>| has_rows(&*session_there, table);
            Ok(Self {
                is_tracked: is_tracked(&*session, table.name())?,
                is_full: has_rows(&*session, &table)?,
                is_full_there: there.as_ref().map_or(Ok(false), has_rows_there)?,
                table,
                there,
            })
        };
        names.iter().map(find).collect()
    }

    /// Leaves the source's table as it was.
    fn undo(&self, source: &dyn Engine, is_loaded: bool) -> Result<()> {
        if self.is_tracked {
            return Ok(());
        }
        if is_loaded {
            let all = BulkChange { table: &self.table, condition: None, assign: None };
            source.session()?.change(&all)?;
        }
        source.alter(&[SchemaChange::Untrack(Arc::clone(&self.table))])
    }
}
