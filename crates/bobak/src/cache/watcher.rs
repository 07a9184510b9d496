//! Writes of others (other processes, other handles on the same database), seen through the change
//! feed.
//!
//! There is no thread that looks: who asks a cache for a row does, where the last look is older than
//! the interval. Meanwhile others ask the engine. So nothing is handed out that was written over
//! longer than that ago. Tables of which nothing is written down cost no look and no clock.

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

/// Where more rows of a table than this have changed its cache is emptied, which costs less.
const MANY: u64 = 1_000;
/// Never: nothing is tracked.
const NEVER: u64 = u64::MAX;

/// Who is asked for rows that no cache has.
#[derive(Clone, Copy)]
pub(super) enum RowSource<'a> {
    Engine(&'a dyn Engine),
    /// A session outside of a transaction.
    Session(&'a dyn Session),
}

/// What looks at the feed for an engine's caches.
#[derive(Debug)]
pub(crate) struct ChangeWatcher {
    stores: Vec<Arc<RecordCache>>,
    interval: Duration,
    begin: Instant,
    /// When the next look is due, in nanoseconds since `begin`.
    due: AtomicU64,
    /// Whether changes of a table go unseen, as the last look found: no cache may answer then.
    blind: AtomicBool,
    state: Mutex<WatchState>,
    known: Mutex<KnownEffects>,
}

/// What writes change beside the rows that they name.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownEffects {
    /// Another each time that something else is known.
    pub version: u64,
    /// Unknown at first, and when the schema was changed.
    pub effects: Option<Arc<SideEffects>>,
}

/// What is known of the feed.
#[derive(Debug, Default)]
struct WatchState {
    /// The logs of the caches' tables that are tracked; unknown at first.
    logs: Option<Vec<WatchedTable>>,
    /// The number of the last change that was seen.
    since: u64,
}

/// A table's log, and the cache that it empties.
#[derive(Debug)]
struct WatchedTable {
    store: Arc<RecordCache>,
    log: ChangeLog,
    /// The places of the key's columns in the table.
    key: Vec<usize>,
}

impl RowSource<'_> {
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
        let (due, blind) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { stores, interval, begin: Instant::now(), due, blind, state, known }
    }

    /// Whether caches may answer: all that others wrote an interval ago was seen. Looks at the feed
    /// where that is due.
    #[inline]
    pub(super) fn is_fresh(&self, asked: RowSource<'_>) -> bool {
        let due = self.due.load(Ordering::Acquire);
        due == NEVER || if self.now() < due { self.sees() } else { self.look(asked) }
    }

    #[inline]
    fn sees(&self) -> bool {
        !self.blind.load(Ordering::Acquire)
    }

    /// To be called when the schema was changed: a table may be tracked now, or have triggers. What
    /// the change has [`PendingWrite`] is to be held still.
    pub(super) fn forget(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.logs = None;
        self.know(None);
        self.due.store(0, Ordering::Release);
    }

    /// What writes change besides, as far as somebody has asked.
    pub(super) fn known(&self) -> KnownEffects {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn know(&self, effects: Option<SideEffects>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = KnownEffects { version: known.version + 1, effects: effects.map(Arc::new) };
    }

    /// Asks what writes change besides where nobody knows, and then for what others wrote.
    fn ask(&self, state: &mut WatchState, session: &dyn Session) -> Result<bool> {
        if self.known().effects.is_none() {
            // KnownEffects before the caches begin anew, so that none has a row of before.
            self.know(Some(session.side_effects()?));
            state.logs = None;
        }
        state.look(session, &self.stores)
    }

    #[cold]
    fn look(&self, asked: RowSource<'_>) -> bool {
        let mut state: MutexGuard<'_, WatchState> = match self.state.try_lock() {
            Ok(state) => state,
            // What it knows is changed last, when all else is done.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let now = self.now();
        if now < self.due.load(Ordering::Acquire) {
            return self.sees();
        }
        let looked = asked.with_session(|session| self.ask(&mut state, session));
        let blind = looked.as_ref().is_err_and(|error| error.kind() == ErrorKind::Schema);
        // Where it fails nobody knows what others wrote, and the engine says why when it is asked.
        if looked.is_err() && !blind {
            return false;
        }
        let next = now.saturating_add(nanoseconds(self.interval)).min(NEVER - 1);
        self.blind.store(blind, Ordering::Release);
        self.due.store(
            if looked.is_ok_and(|watched| !watched) { NEVER } else { next },
            Ordering::Release,
        );
        !blind
    }

    fn now(&self) -> u64 {
        nanoseconds(self.begin.elapsed())
    }
}

impl WatchState {
    /// Has caches forget what changed since the last look; `false` where no table is tracked.
    ///
    /// # Errors
    /// `Schema` where changes of a tracked table go unseen, as where SQL dropped it and made it anew;
    /// the caches are empty then.
    fn look(&mut self, session: &dyn Session, stores: &[Arc<RecordCache>]) -> Result<bool> {
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
        let seen = must_all_be_watched(session, logs);
        match seen.and_then(|()| forget_changes(session, logs, &tracked, self.since)) {
            Ok(last) => {
                self.since = last;
                Ok(!logs.is_empty())
            }
            // A table or a log was made anew, or has other columns now.
            Err(error) if error.kind() == ErrorKind::Schema => {
                self.logs = None;
                self.begin(session, stores, &tracked)
            }
            Err(error) => Err(error),
        }
    }

    /// Finds the logs, and begins behind the last change with empty caches.
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
            // Dropped by SQL, and tracked still: there is nothing to keep either.
            let Some(table) = tables.iter().find(same) else { continue };
            logs.push(WatchedTable::new(store, table)?);
        }
        let seen = must_all_be_watched(session, &logs);
        let last = last_id(session, &logs, tracked);
        // Also of tables that were tracked and are no longer.
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
        let log = ChangeLog::of(Arc::new(table.clone()))?;
        Ok(Self { store: Arc::clone(store), log, key })
    }

    /// Has the cache forget the rows that changed.
    fn forget_changes(&self, session: &dyn Session, above: u64, to: u64) -> Result<()> {
        let condition = Condition::And(vec![
            compare_number(SEQ, Comparison::Greater, above),
            compare_number(SEQ, Comparison::LessOrEqual, to),
        ]);
        let places = |side: fn(usize) -> usize| self.key.iter().map(move |&place| side(place));
        let select = Select {
            columns: places(old_column).chain(places(new_column)).map(Expr::Column).collect(),
            condition: Some(condition.resolve(&self.log.schema)?),
            limit: Some(MANY + 1),
            ..Select::all(&self.log.schema)
        };
        let mut rows = 0;
        session.query(&Source::Select(&select), &mut |row| {
            let values: Vec<Value<'_>> =
                (0..row.len()).map(|place| Value::from(row.get(place))).collect();
            for key in values.chunks(self.key.len().max(1)) {
                // A row that was not there on this side.
                if key.iter().all(|value| *value == Value::Null) {
                    continue;
                }
                drop(PendingWrite::row(&self.store, CacheKey::of(key)));
            }
            rows += 1;
            Ok(true)
        })?;
        if rows > MANY {
            drop(PendingWrite::all(&self.store));
        }
        Ok(())
    }
}

/// Refuses tables whose changes are not written down any more.
fn must_all_be_watched(session: &dyn Session, logs: &[WatchedTable]) -> Result<()> {
    match logs {
        [] => Ok(()),
        logs => check_capture(session, logs.iter().map(|watched| &*watched.log.table)),
    }
}

/// Has caches forget what changed behind a number; gives the last change's.
fn forget_changes(
    session: &dyn Session,
    logs: &[WatchedTable],
    tracked: &[TrackedTable],
    since: u64,
) -> Result<u64> {
    let last = last_id(session, logs, tracked)?;
    for watched in logs {
        let pruned = find(tracked, &watched.store).map_or(0, |tracked| tracked.pruned);
        // Changes were taken out before they were seen; or an older database is in the place.
        if pruned > since || last < since {
            drop(PendingWrite::all(&watched.store));
        } else if last > since {
            watched.forget_changes(session, since, last)?;
        }
    }
    Ok(last)
}

/// The largest number of a change, of those taken out too.
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
