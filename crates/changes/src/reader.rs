//! Reading the change log, and waiting for more changes.

use crate::boundary::last_id;
use crate::change::Change;
use crate::log::{self, ChangeLog, TableLayout};
use crate::page::{self, ChangePage};
use bobak_core::{Engine, Error, ErrorKind, Record, Result, Timestamp};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The default of [`Changes::limit`].
const DEFAULT_LIMIT: usize = 1_000;
/// The first and the longest pause of a waiting reader; ten times as long if the engine is a distant
/// server.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
const LONGEST_INTERVAL: Duration = Duration::from_millis(25);
const DISTANT_FACTOR: u32 = 10;
/// How often to check that the tables have not changed and are still captured.
const RECHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Reads the changes of all or some tracked tables, in the order of their commits, a page at a time;
/// and waits for more.
#[derive(Clone)]
pub struct Changes {
    engine: Arc<dyn Engine>,
    since: u64,
    limit: usize,
    /// All tables if empty.
    tables: Vec<String>,
    /// The logs of all tracked tables, and of the wanted ones.
    logs: Option<(Vec<ChangeLog>, Vec<ChangeLog>)>,
    /// When the logs were listed.
    listed_at: Option<Instant>,
    /// Whether reading goes on over the time in which a table was not tracked.
    over_untracked: bool,
}

impl Changes {
    /// The changes of an engine's tracked tables, from the first on.
    #[must_use]
    pub fn of(engine: Arc<dyn Engine>) -> Self {
        Self {
            engine,
            since: 0,
            limit: DEFAULT_LIMIT,
            tables: Vec::new(),
            logs: None,
            listed_at: None,
            over_untracked: false,
        }
    }

    /// Starts after the change with this number. Default: 0, the beginning.
    #[must_use]
    pub const fn since(mut self, id: u64) -> Self {
        self.since = id;
        self
    }

    /// Selects the table of this record type, in addition to other selected tables.
    #[must_use]
    pub fn table<T: Record>(self) -> Self {
        self.table_named(T::TABLE)
    }

    /// Selects a table by name, in addition to other selected tables.
    #[must_use]
    pub fn table_named(mut self, name: &str) -> Self {
        self.tables.push(name.to_owned());
        self.logs = None;
        self
    }

    /// The largest number of changes in a page, at least 1. Default: 1,000. Pages of long rows have fewer:
    /// about 8 MiB from each table.
    #[must_use]
    pub const fn limit(mut self, changes: usize) -> Self {
        self.limit = if changes == 0 { 1 } else { changes };
        self
    }

    /// Reads on over the time in which a table was not tracked, whose changes are unknown: an archive records it. Otherwise a
    /// reader positioned before that time gets `NotFound`.
    #[must_use]
    pub const fn over_untracked(mut self) -> Self {
        self.over_untracked = true;
        self
    }

    /// The number of the last committed change of any tracked table; 0 if there is none.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub fn last_id(&mut self) -> Result<u64> {
        let engine = Arc::clone(&self.engine);
        let (all, _) = self.logs()?;
        last_id(&*engine.session()?, all)
    }

    /// The number of the last change that was removed from the selected tables' logs; 0 if none was. This
    /// is the smallest number to start after.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub fn first_id(&mut self) -> Result<u64> {
        let engine = Arc::clone(&self.engine);
        let over_untracked = self.over_untracked;
        let (_, wanted) = self.logs()?;
        page::pruned(&*engine.session()?, wanted, over_untracked)
    }

    /// The next page, without waiting.
    ///
    /// # Errors
    /// `Schema` if nothing is tracked, or not a selected table; `NotFound` if changes after the starting
    /// number were removed; those of the engine.
    pub fn page(&mut self) -> Result<ChangePage> {
        match self.look() {
            // A column was added since the logs were listed.
            Err(error) if error.kind() == ErrorKind::Schema && self.logs.is_some() => {
                self.logs = None;
                self.look()
            }
            page => page,
        }
    }

    /// As [`page`](Self::page), and moves on to the next page.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub fn next_page(&mut self) -> Result<ChangePage> {
        let page = self.page()?;
        self.since = page.next;
        Ok(page)
    }

    /// As [`page`](Self::page), but waits up to `time` for a change if there is none yet. If the time is
    /// over, the page is empty; its `next` may have advanced nevertheless.
    ///
    /// Polls the database every few milliseconds, so it sees changes of other processes too.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub fn wait(&mut self, time: Duration) -> Result<ChangePage> {
        let deadline = Instant::now() + time;
        let mut interval = POLL_INTERVAL;
        loop {
            let page = self.page()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if !page.changes.is_empty() || left.is_zero() {
                return Ok(page);
            }
            self.since = page.next;
            std::thread::sleep(self.scaled(interval).min(left));
            interval = (interval * 2).min(LONGEST_INTERVAL);
        }
    }

    /// As [`wait`](Self::wait), and then checks that every change up to the end of the page was captured with the columns
    /// that its table had: no program altered a tracked table, dropped it, or stopped tracking it, before the page was read.
    ///
    /// # Errors
    /// As [`page`](Self::page); `Schema` if a tracked table was altered by SQL, or is gone.
    pub fn wait_checked(&mut self, time: Duration) -> Result<CheckedPage> {
        self.logs = None;
        loop {
            let page = self.wait(time)?;
            let used = self.layouts();
            self.logs = None;
            let checked = Timestamp::now();
            self.logs()?;
            let layouts = self.layouts();
            if used == layouts {
                return Ok(CheckedPage { page, layouts, checked });
            }
        }
    }

    /// The layouts of all tracked tables.
    fn layouts(&self) -> Vec<TableLayout> {
        let all = self.logs.iter().flat_map(|(all, _)| all);
        all.flat_map(|log| log.layouts.iter().cloned()).collect()
    }

    /// All changes up to the current end, read a page at a time.
    #[must_use]
    pub fn iter(&self) -> ChangesIter {
        ChangesIter { changes: self.clone(), read: VecDeque::new(), done: false }
    }

    fn look(&mut self) -> Result<ChangePage> {
        let (engine, since, limit) = (Arc::clone(&self.engine), self.since, self.limit);
        let over_untracked = self.over_untracked;
        let (all, wanted) = self.logs()?;
        let session = engine.session()?;
        let page = page::read(&*session, all, wanted, since, limit)?;
        if page.next > since {
            page::check(&*session, wanted, since, over_untracked)?;
        }
        Ok(page)
    }

    fn logs(&mut self) -> Result<&(Vec<ChangeLog>, Vec<ChangeLog>)> {
        if self.listed_at.is_some_and(|listed_at| listed_at.elapsed() > RECHECK_INTERVAL) {
            self.logs = None;
        }
        if self.logs.is_none() {
            let all = log::logs(&*self.engine)?;
            if all.is_empty() {
                let message = "no table is tracked: call track first";
                return Err(Error::new(ErrorKind::Schema, message));
            }
            let find = |name: &String| {
                let same = |log: &&ChangeLog| log.table.name().eq_ignore_ascii_case(name);
                all.iter().find(same).cloned().ok_or_else(|| {
                    let message = "the table is not tracked: call track first";
                    Error::new(ErrorKind::Schema, message).in_table(name.clone())
                })
            };
            let wanted = match self.tables.is_empty() {
                true => all.clone(),
                false => self.tables.iter().map(find).collect::<Result<_>>()?,
            };
            self.listed_at = Some(Instant::now());
            return Ok(self.logs.insert((all, wanted)));
        }
        self.logs.as_ref().ok_or_else(|| Error::new(ErrorKind::Schema, "no table is tracked"))
    }

    fn scaled(&self, interval: Duration) -> Duration {
        let near = match &self.logs {
            Some((all, _)) => {
                all.first().is_some_and(|log| self.engine.estimate(&log.schema).call < 100)
            }
            None => true,
        };
        if near { interval } else { interval * DISTANT_FACTOR }
    }
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes")
            .field("engine", &self.engine.name())
            .field("since", &self.since)
            .field("tables", &self.tables)
            .finish_non_exhaustive()
    }
}

/// A page whose changes are complete. See [`Changes::wait_checked`].
#[derive(Clone, Debug)]
pub struct CheckedPage {
    /// The changes.
    pub page: ChangePage,
    /// The layouts of all tracked tables when the page was read.
    pub layouts: Vec<TableLayout>,
    /// The tables had these layouts at this moment, after the page was read.
    pub checked: Timestamp,
}

/// An iterator over changes, as `Result<Change>`. See [`Changes::iter`].
#[derive(Debug)]
pub struct ChangesIter {
    changes: Changes,
    read: VecDeque<Change>,
    done: bool,
}

impl Iterator for ChangesIter {
    type Item = Result<Change>;

    fn next(&mut self) -> Option<Result<Change>> {
        while self.read.is_empty() && !self.done {
            let before = self.changes.since;
            match self.changes.next_page() {
                Ok(page) => {
                    self.done = page.next == before;
                    self.read.extend(page.changes);
                }
                Err(error) => {
                    self.done = true;
                    return Some(Err(error));
                }
            }
        }
        self.read.pop_front().map(Ok)
    }
}
