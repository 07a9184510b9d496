//! Reading a table in several threads.
//!
//! The table is cut into parts by its key. Each thread has a transaction of its own, and all of them see the same state: while
//! they begin, a transaction of the calling thread keeps others from committing. The calling thread passes the batches on, in
//! the order of the parts, and hands out a new part only when it has passed on an old one: that bounds the batches in memory.

use super::{BatchBuilder, RecordBatch};
use crate::access::TableAccess;
use crate::handle::SessionSource;
use bobak_core::statements::CallSite;
use bobak_core::{
    Comparison, Condition, Deadline, Engine, Expr, Interrupt, Order, Result, Select, Session,
    Source, TransactionControl, Type, Value, ValueRef,
};
use std::collections::VecDeque;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::panic::Location;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A part has at least so many keys.
const PART_KEYS: u64 = 65_536;
/// If the keys are spread widely, parts have more of them, so that there are not more parts than this.
const MAX_PARTS: i128 = 1_024;
/// How many batches of a part wait to be passed on.
const BATCHES_AHEAD: usize = 2;
/// How long a connection is waited for, before the table is read with those that there are.
const CONNECTION_WAIT: Duration = Duration::from_millis(50);
/// How often a thread that waits for rows checks whether it was interrupted.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// A query whose rows several threads can read.
pub(super) struct ThreadedQuery {
    engine: Arc<dyn Engine>,
    select: Select,
    /// The key's column.
    key: usize,
    /// The most rows of a batch.
    rows: usize,
    threads: usize,
    place: &'static Location<'static>,
}

/// The keys of a part: from the first to the last, both included.
type KeyRange = RangeInclusive<i64>;

/// Keys, and where their batches go.
struct TablePart {
    keys: KeyRange,
    batches: SyncSender<Result<RecordBatch>>,
}

impl ThreadedQuery {
    /// The query in `threads` threads, 0 for as many as there are processors; `None` if one thread has to read it.
    #[track_caller]
    pub(super) fn new(
        access: &TableAccess<'_>,
        select: &Select,
        rows: usize,
        threads: usize,
    ) -> Result<Option<Self>> {
        let SessionSource::Engine(handle) = &access.source else { return Ok(None) };
        let engine = handle.engine()?;
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, NonZero::get),
            threads => threads,
        };
        let Some(key) = part_key(select).filter(|_| threads > 1 && shares_a_state(&**engine))
        else {
            return Ok(None);
        };
        let (engine, select, rows) = (Arc::clone(engine), select.clone(), rows.max(1));
        Ok(Some(Self { engine, select, key, rows, threads, place: Location::caller() }))
    }

    /// Passes the batches on until `each` returns `false`; `None` if one thread has to read the table after all.
    pub(super) fn run(
        &self,
        each: &mut dyn FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<Option<()>> {
        let session = self.engine.session()?;
        let begin = || session.control(TransactionControl::Begin);
        // A writer that is busy for long, or a database that is open for reading only.
        if Deadline::after(CONNECTION_WAIT).run(begin).is_err() {
            return Ok(None);
        }
        let end = || session.control(TransactionControl::Rollback);
        match self.bounds(&*session).map(|bounds| bounds.map(|bounds| self.parts(&bounds))) {
            Ok(Some(parts)) if parts.len() > 1 => self.run_threads(parts, end, each),
            other => end().and(other.map(|_| None)),
        }
    }

    /// Starts the threads, calls `begun` when all of them see their state, and passes their batches on.
    fn run_threads(
        &self,
        parts: Vec<KeyRange>,
        begun: impl FnOnce() -> Result<()>,
        each: &mut dyn FnMut(RecordBatch) -> Result<bool>,
    ) -> Result<Option<()>> {
        let stop = Interrupt::new();
        std::thread::scope(|scope| {
            let (tasks, waiting) = mpsc::channel();
            let (ready, beginnings) = mpsc::channel();
            let waiting = Arc::new(Mutex::new(waiting));
            for _ in 0..self.threads.min(parts.len()) {
                let (waiting, ready, stop) = (Arc::clone(&waiting), ready.clone(), stop.clone());
                scope.spawn(move || stop.run(|| self.read_parts(ready, &waiting)));
            }
            drop((ready, waiting));
            let threads = beginnings.iter().filter(|begun| *begun).count();
            begun()?;
            if threads == 0 {
                return Ok(None);
            }
            let passed = pass_on(parts, threads, tasks, each);
            stop.interrupt();
            if passed? == 0 {
                each(BatchBuilder::for_table(&self.select.table, self.rows).finish()?)?;
            }
            Ok(Some(()))
        })
    }

    /// The smallest and the largest key; `None` if there are keys that are no integers.
    fn bounds(&self, session: &dyn Session) -> Result<Option<KeyRange>> {
        let none = Condition::IsNull { column: self.key };
        if self.engine.capabilities().weak_types
            && self.integer(session, Expr::Count, Some(none))? != Some(0)
        {
            return Ok(None);
        }
        let min = self.integer(session, Expr::Min(self.key), None)?;
        let max = self.integer(session, Expr::Max(self.key), None)?;
        Ok(min.zip(max).map(|(min, max)| min..=max))
    }

    /// An aggregate of the table, if it is an integer.
    fn integer(
        &self,
        session: &dyn Session,
        expr: Expr,
        condition: Option<Condition>,
    ) -> Result<Option<i64>> {
        let (columns, order) = (vec![expr], Vec::new());
        let select = Select { columns, condition, order, ..self.select.clone() };
        let mut found = None;
        session.query(&Source::Select(&select), &mut |row| {
            if let ValueRef::Int(integer) = row.get(0) {
                found = Some(integer);
            }
            Ok(true)
        })?;
        Ok(found)
    }

    /// The keys of the parts. If no key is missing, all batches but the last are full.
    fn parts(&self, bounds: &KeyRange) -> Vec<KeyRange> {
        let (min, max) = (i128::from(*bounds.start()), i128::from(*bounds.end()));
        let rows = self.rows as u64;
        let full = i128::from(rows) * i128::from(PART_KEYS.div_ceil(rows));
        let step = full.max((max - min) / MAX_PARTS + 1);
        let starts = (0..).map(|part| min + part * step).take_while(|start| *start <= max);
        starts.map(|start| start as i64..=(start + step - 1).min(max) as i64).collect()
    }

    /// Begins to read, says whether it could, and reads the parts that are handed out.
    fn read_parts(&self, begun: Sender<bool>, waiting: &Mutex<Receiver<TablePart>>) {
        let _at = CallSite::enter_at(self.place);
        let Ok(session) = self.engine.session() else { return };
        let has_begun = Deadline::after(CONNECTION_WAIT).run(|| session.begin_reading()).is_ok();
        let _ = begun.send(has_begun);
        drop(begun);
        if !has_begun {
            return;
        }
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let mut builder = BatchBuilder::for_table(&self.select.table, self.rows);
        while let Ok(part) = next() {
            if let Err(error) = self.read_part(&*session, &part, &mut builder) {
                // Nobody waits for it if the batches are no longer wanted.
                let _ = part.batches.send(Err(error));
                break;
            }
        }
        // It has read only: a rollback that fails leaves nothing.
        let _ = session.control(TransactionControl::Rollback);
    }

    fn read_part(
        &self,
        session: &dyn Session,
        part: &TablePart,
        builder: &mut BatchBuilder,
    ) -> Result<()> {
        let mut select = self.select.clone();
        select.condition = Some(self.condition(&part.keys));
        builder.count_from_zero();
        session.query(&Source::Select(&select), &mut |row| {
            builder.push(row)?;
            Ok(!builder.is_full() || part.batches.send(builder.finish()).is_ok())
        })?;
        if builder.rows() > 0 {
            let _ = part.batches.send(builder.finish());
        }
        Ok(())
    }

    fn condition(&self, keys: &KeyRange) -> Condition {
        let bound = |comparison, key: i64| {
            let value = Value::Int(key);
            Condition::Compare { column: self.key, comparison, value }
        };
        // Up to the next part, because a number that is no integer, which a file of another program may have as a key, can be
        // between two.
        let end = match keys.end().checked_add(1) {
            Some(next) => bound(Comparison::Less, next),
            None => bound(Comparison::LessOrEqual, i64::MAX),
        };
        let bounds = [bound(Comparison::GreaterOrEqual, *keys.start()), end];
        Condition::And(self.select.condition.clone().into_iter().chain(bounds).collect())
    }
}

/// The column that cuts the rows of a query into parts: the key, if it is an integer, the rows have its order, and no index
/// would find them faster.
fn part_key(select: &Select) -> Option<usize> {
    let table = &select.table;
    let &[key] = table.key() else { return None };
    let by_key = [Order { column: key, descending: false }];
    let is_plain = select.search.is_none()
        && select.nearest.is_none()
        && select.lock.is_none()
        && select.limit.is_none()
        && select.offset == 0
        && select.group.is_empty()
        && (select.order.is_empty() || select.order == by_key);
    let mut is_scan = true;
    if let Some(condition) = &select.condition {
        is_scan = !condition.has_subquery();
        condition.for_each_column(&mut |column| {
            is_scan &= column != key && !table.is_indexed(column);
        });
    }
    // Of a column without a type, the first batch decides what the others have.
    let is_typed = table.columns().iter().all(|column| column.ty != Type::Any);
    let has_parts = is_plain && is_scan && is_typed && table.columns()[key].ty.is_integer();
    has_parts.then_some(key)
}

/// Whether sessions that begin while a transaction is open see the same state.
fn shares_a_state(engine: &dyn Engine) -> bool {
    let capabilities = engine.capabilities();
    capabilities.concurrent_readers && !capabilities.concurrent_writers && !capabilities.served
}

/// Hands the parts out to the threads, and passes their batches on in the order of the parts. Returns how many there were.
fn pass_on(
    parts: Vec<KeyRange>,
    threads: usize,
    tasks: Sender<TablePart>,
    each: &mut dyn FnMut(RecordBatch) -> Result<bool>,
) -> Result<u64> {
    let mut parts = parts.into_iter();
    let mut handed_out = VecDeque::new();
    let (mut rows, mut passed) = (0, 0);
    loop {
        while handed_out.len() < 2 * threads
            && let Some(keys) = parts.next()
        {
            let (batches, received) = mpsc::sync_channel(BATCHES_AHEAD);
            // The threads wait for parts until all parts are passed on.
            let _ = tasks.send(TablePart { keys, batches });
            handed_out.push_back(received);
        }
        let Some(part) = handed_out.pop_front() else { return Ok(passed) };
        let before = rows;
        while let Some(batch) = next_batch(&part)? {
            let batch = batch.map_err(|error| match error.row() {
                Some(row) => error.at_row(before + row),
                None => error,
            })?;
            rows += batch.num_rows() as u64;
            passed += 1;
            if !each(batch)? {
                return Ok(passed);
            }
        }
    }
}

/// The next batch of a part; `None` after the last.
fn next_batch(part: &Receiver<Result<RecordBatch>>) -> Result<Option<Result<RecordBatch>>> {
    loop {
        Interrupt::check()?;
        match part.recv_timeout(CHECK_INTERVAL) {
            Ok(batch) => return Ok(Some(batch)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
