//! Notices writes of others (other processes, other handles on the same database) through the change log.
//!
//! There is no polling thread. A caller that looks up a row reads the change log if the last check is older than the
//! interval; other callers update the engine meanwhile. A row that was overwritten longer ago than the interval is never
//! returned. Tables that are not tracked cost no query and no clock read.

use super::record_cache::{CacheKey, RecordCache};
use super::staleness::PendingWrite;
use bobak_changes::{ChangeLog, TrackedTable, check_capture, compare_number};
use bobak_core::change_log::{SEQ, new_column, old_column};
use bobak_core::{
    Comparison, Condition, Engine, ErrorKind, Expr, Result, Row, Select, Session, SideEffects,
    Source, TableSchema, Value,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// If more rows of a table than this have changed, its cache is emptied, which costs less.
const MAX_STALE_ROWS: u64 = 1_000;
/// No check is ever due: no table is tracked.
const NEVER: u64 = u64::MAX;

/// Where a row comes from that is not cached.
#[derive(Clone, Copy)]
pub(super) enum UncachedSource<'a> {
    Engine(&'a dyn Engine),
    /// A session outside of a transaction.
    Session(&'a dyn Session),
}

/// Reads the change log for an engine's caches.
#[derive(Debug)]
pub(crate) struct ChangeWatcher {
    stores: Vec<Arc<RecordCache>>,
    interval: Duration,
    begin: Instant,
    /// When the next check is due, in nanoseconds since `begin`.
    due: AtomicU64,
    /// Whether the last check found that changes of a tracked table are not captured. The caches are not used then.
    capture_lost: AtomicBool,
    state: Mutex<WatchState>,
    known: Mutex<KnownEffects>,
}

/// Side effects of writes: triggers and foreign keys that change other rows.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownEffects {
    /// Raised each time the known effects change.
    pub version: u64,
    /// `None` until they are read, and after a change of the schema.
    pub effects: Option<Arc<SideEffects>>,
}

/// The state of reading the change log.
#[derive(Debug, Default)]
struct WatchState {
    /// The change logs of the cached tables that are tracked; `None` until they are read.
    logs: Option<Vec<WatchedTable>>,
    /// The id of the last change that was processed.
    since: u64,
}

/// A table's change log, and the cache whose rows it removes.
#[derive(Debug)]
struct WatchedTable {
    store: Arc<RecordCache>,
    log: ChangeLog,
    /// The positions of the key columns in the table.
    key: Vec<usize>,
}

impl UncachedSource<'_> {
    pub(super) fn get(
        self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        match self {
            Self::Engine(engine) => engine.get(table, key, row),
            Self::Session(session) => session.get(table, key, row),
        }
    }

    fn with_session<R>(self, work: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        match self {
            Self::Engine(engine) => work(&*engine.session()?),
            Self::Session(session) => work(session),
        }
    }
}

impl ChangeWatcher {
    pub(super) fn new(stores: Vec<Arc<RecordCache>>) -> Self {
        let interval = stores.iter().map(|store| store.watch).min().unwrap_or(Duration::MAX);
        let (state, known) = (Mutex::default(), Mutex::default());
        let (due, capture_lost) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { stores, interval, begin: Instant::now(), due, capture_lost, state, known }
    }

    /// Whether the caches may be used: all writes of others older than the interval were processed. Checks the change log
    /// if a check is due.
    #[inline]
    pub(super) fn is_fresh(&self, source: UncachedSource<'_>) -> bool {
        let due = self.due.load(Ordering::Acquire);
        due == NEVER || if self.now() < due { self.is_captured() } else { self.check(source) }
    }

    #[inline]
    fn is_captured(&self) -> bool {
        !self.capture_lost.load(Ordering::Acquire)
    }

    /// Call this after a change of the schema, while its [`PendingWrite`]s are still held: a table may be tracked now, or
    /// have triggers.
    pub(super) fn forget(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.logs = None;
        self.know(None);
        self.due.store(0, Ordering::Release);
    }

    /// The side effects, as far as they are known.
    pub(super) fn known(&self) -> KnownEffects {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn know(&self, effects: Option<SideEffects>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = KnownEffects { version: known.version + 1, effects: effects.map(Arc::new) };
    }

    /// Reads the side effects unless they are known, then the changes that others made.
    fn update(&self, state: &mut WatchState, session: &dyn Session) -> Result<bool> {
        if self.known().effects.is_none() {
            // The effects are set before the caches are emptied, so that no older row remains.
            self.know(Some(session.side_effects()?));
            state.logs = None;
        }
        state.check(session, &self.stores)
    }

    #[cold]
    fn check(&self, source: UncachedSource<'_>) -> bool {
        let mut state: MutexGuard<'_, WatchState> = match self.state.try_lock() {
            Ok(state) => state,
            // The shared state is changed last, so a panic before that leaves it valid.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let now = self.now();
        if now < self.due.load(Ordering::Acquire) {
            return self.is_captured();
        }
        let checked = source.with_session(|session| self.update(&mut state, session));
        let capture_lost = checked.as_ref().is_err_and(|error| error.kind() == ErrorKind::Schema);
        // If the check fails, the writes of others are unknown. The engine reports the error when the caller asks it.
        if checked.is_err() && !capture_lost {
            return false;
        }
        let next = now.saturating_add(nanoseconds(self.interval)).min(NEVER - 1);
        self.capture_lost.store(capture_lost, Ordering::Release);
        self.due.store(
            if checked.is_ok_and(|watched| !watched) { NEVER } else { next },
            Ordering::Release,
        );
        !capture_lost
    }

    fn now(&self) -> u64 {
        nanoseconds(self.begin.elapsed())
    }
}

impl WatchState {
    /// Removes rows that changed since the last check from the caches; `false` if no table is tracked.
    ///
    /// # Errors
    /// `Schema` if changes of a tracked table are not captured, as after SQL that dropped and recreated it. The caches are
    /// empty then.
    fn check(&mut self, session: &dyn Session, stores: &[Arc<RecordCache>]) -> Result<bool> {
        let tracked = bobak_changes::tracked(session)?;
        let fits = |logs: &Vec<WatchedTable>| {
            stores.iter().all(|store| {
                let watched = logs.iter().any(|watched| Arc::ptr_eq(&watched.store, store));
                watched == find(&tracked, store).is_some()
            })
        };
        if !self.logs.as_ref().is_some_and(fits) {
            self.logs = None;
            return self.begin(session, stores, &tracked);
        }
        let Some(logs) = &self.logs else {
            return Ok(false);
        };
        let seen = check_all_captured(session, logs);
        match seen.and_then(|()| remove_changed_rows(session, logs, &tracked, self.since)) {
            Ok(last) => {
                self.since = last;
                Ok(!logs.is_empty())
            }
            // A table or a change log was recreated, or its columns changed.
            Err(error) if error.kind() == ErrorKind::Schema => {
                self.logs = None;
                self.begin(session, stores, &tracked)
            }
            Err(error) => Err(error),
        }
    }

    /// Finds the change logs, empties the caches, and starts after the last change.
    fn begin(
        &mut self,
        session: &dyn Session,
        stores: &[Arc<RecordCache>],
        tracked: &[TrackedTable],
    ) -> Result<bool> {
        let tables = match stores.iter().any(|store| find(tracked, store).is_some()) {
            true => session.tables()?,
            false => Vec::new(),
        };
        let mut logs = Vec::new();
        for store in stores.iter().filter(|store| find(tracked, store).is_some()) {
            let same = |table: &&TableSchema| is_named(table.name(), store);
            // SQL dropped the table, and it is still registered as tracked: there is nothing to cache.
            let Some(table) = tables.iter().find(same) else { continue };
            logs.push(WatchedTable::new(store, table)?);
        }
        let seen = check_all_captured(session, &logs);
        let last = last_id(session, &logs, tracked);
        // Also the caches of tables that are no longer tracked.
        stores.iter().for_each(|store| drop(PendingWrite::all(store)));
        seen?;
        let last = last?;
        let watches = !logs.is_empty();
        (self.since, self.logs) = (last, Some(logs));
        Ok(watches)
    }
}

impl WatchedTable {
    fn new(store: &Arc<RecordCache>, table: &TableSchema) -> Result<Self> {
        let own = |&place: &usize| {
            let name = store.table.columns().get(place).map_or("", |column| column.name.as_ref());
            table.column(name)
        };
        let key = store.table.key().iter().map(own).collect::<Result<_>>()?;
        let log = ChangeLog::new(Arc::new(table.clone()))?;
        Ok(Self { store: Arc::clone(store), log, key })
    }

    /// Removes the rows that changed from the cache.
    fn remove_changed_rows(&self, session: &dyn Session, above: u64, to: u64) -> Result<()> {
        let condition = Condition::And(vec![
            compare_number(SEQ, Comparison::Greater, above),
            compare_number(SEQ, Comparison::LessOrEqual, to),
        ]);
        let places = |side: fn(usize) -> usize| self.key.iter().map(move |&place| side(place));
        let select = Select {
            columns: places(old_column).chain(places(new_column)).map(Expr::Column).collect(),
            condition: Some(condition.resolve(&self.log.schema)?),
            limit: Some(MAX_STALE_ROWS + 1),
            ..Select::all(&self.log.schema)
        };
        let mut rows = 0;
        session.query(&Source::Select(&select), &mut |row| {
            let values: Vec<Value<'_>> =
                (0..row.len()).map(|place| Value::from(row.get(place))).collect();
            for key in values.chunks(self.key.len().max(1)) {
                // An insert has no row before, a delete none after.
                if key.iter().all(|value| *value == Value::Null) {
                    continue;
                }
                drop(PendingWrite::row(&self.store, CacheKey::of(key)));
            }
            rows += 1;
            Ok(true)
        })?;
        if rows > MAX_STALE_ROWS {
            drop(PendingWrite::all(&self.store));
        }
        Ok(())
    }
}

/// Rejects tables whose changes are no longer captured.
fn check_all_captured(session: &dyn Session, logs: &[WatchedTable]) -> Result<()> {
    match logs {
        [] => Ok(()),
        logs => check_capture(session, logs.iter().map(|watched| &*watched.log.table)),
    }
}

/// Removes rows that changed after `since` from the caches; returns the id of the last change.
fn remove_changed_rows(
    session: &dyn Session,
    logs: &[WatchedTable],
    tracked: &[TrackedTable],
    since: u64,
) -> Result<u64> {
    let last = last_id(session, logs, tracked)?;
    for watched in logs {
        let pruned = find(tracked, &watched.store).map_or(0, |tracked| tracked.pruned);
        // Changes were pruned before they were read, or the database was replaced by an older one.
        if pruned > since || last < since {
            drop(PendingWrite::all(&watched.store));
        } else if last > since {
            watched.remove_changed_rows(session, since, last)?;
        }
    }
    Ok(last)
}

/// The largest id of a change, pruned ones included.
fn last_id(session: &dyn Session, logs: &[WatchedTable], tracked: &[TrackedTable]) -> Result<u64> {
    let mut last = 0;
    for watched in logs {
        let pruned = find(tracked, &watched.store).map_or(0, |tracked| tracked.pruned);
        last = last.max(pruned).max(watched.log.last(session, None)?);
    }
    Ok(last)
}

fn find<'t>(tracked: &'t [TrackedTable], store: &RecordCache) -> Option<&'t TrackedTable> {
    tracked.iter().find(|tracked| is_named(&tracked.name, store))
}

fn is_named(name: &str, store: &RecordCache) -> bool {
    name.eq_ignore_ascii_case(store.table.name())
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
