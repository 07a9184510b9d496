//! Reading the feed, and waiting for more.

use crate::boundary::last_id;
use crate::change::Change;
use crate::log::{self, ChangeLog};
use crate::page::{self, ChangePage};
use bobak_core::{Engine, Error, ErrorKind, Record, Result};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many changes a page has unless another number is asked for.
const PAGE: usize = 1_000;
/// How long a waiting reader sleeps at first, and at most; ten times as long before an engine that
/// is far away.
const NAP: Duration = Duration::from_millis(2);
const LONGEST_NAP: Duration = Duration::from_millis(25);
const FAR: u32 = 10;
/// How often tables are looked at anew: whether they are as they were, and their changes still written down.
const LOOK: Duration = Duration::from_secs(5);

/// Changes of tracked tables, in the order of their commits: a page at a time, from any number on, of
/// all tables or of some; and those that are still to come.
#[derive(Clone)]
pub struct Changes {
    engine: Arc<dyn Engine>,
    since: u64,
    limit: usize,
    /// All where there is none.
    tables: Vec<String>,
    /// The logs of all tracked tables, and of those that are wanted.
    logs: Option<(Vec<ChangeLog>, Vec<ChangeLog>)>,
    /// When those were found.
    looked: Option<Instant>,
}

impl Changes {
    /// The changes of an engine's tracked tables, from the first on.
    #[must_use]
    pub fn of(engine: Arc<dyn Engine>) -> Self {
        Self { engine, since: 0, limit: PAGE, tables: Vec::new(), logs: None, looked: None }
    }

    /// Only changes with numbers above this one. Default: 0, from the beginning.
    #[must_use]
    pub const fn since(mut self, id: u64) -> Self {
        self.since = id;
        self
    }

    /// Only changes of this record type's table, and of others that are named.
    #[must_use]
    pub fn table<T: Record>(self) -> Self {
        self.table_named(T::TABLE)
    }

    /// Only changes of this table, and of others that are named.
    #[must_use]
    pub fn table_named(mut self, name: &str) -> Self {
        self.tables.push(name.to_owned());
        self.logs = None;
        self
    }

    /// How many changes a page has at most, 1 at least. Default: 1,000. Where rows are long it has
    /// fewer: about 8 MiB of each table.
    #[must_use]
    pub const fn limit(mut self, changes: usize) -> Self {
        self.limit = if changes == 0 { 1 } else { changes };
        self
    }

    /// The number of the last change that was committed, of any tracked table; 0 where there was
    /// none.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub fn last_id(&mut self) -> Result<u64> {
        let engine = Arc::clone(&self.engine);
        let (all, _) = self.logs()?;
        last_id(&*engine.session()?, all)
    }

    /// The number of the last change that was taken out of the feed, of the tables that are wanted; 0
    /// where there was none: that from which reading can begin.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub fn first_id(&mut self) -> Result<u64> {
        let engine = Arc::clone(&self.engine);
        let (_, wanted) = self.logs()?;
        page::pruned(&*engine.session()?, wanted)
    }

    /// The first changes that there are, without waiting.
    ///
    /// # Errors
    /// `Schema` where nothing is tracked, or not a table that was named; `NotFound` where changes
    /// after the number were taken out of the feed; those of the engine.
    pub fn page(&mut self) -> Result<ChangePage> {
        match self.look() {
            // A column was added since the tables were looked at.
            Err(error) if error.kind() == ErrorKind::Schema && self.logs.is_some() => {
                self.logs = None;
                self.look()
            }
            page => page,
        }
    }

    /// As [`page`](Self::page), and goes on behind it the next time.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub fn next_page(&mut self) -> Result<ChangePage> {
        let page = self.page()?;
        self.since = page.next;
        Ok(page)
    }

    /// As [`page`](Self::page); where there is no change yet it waits for one, at most so long. An
    /// empty page says that the time is over; its `next` may have gone on even so.
    ///
    /// The database is looked at every few milliseconds: changes of other processes are seen as
    /// those of this one.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub fn wait(&mut self, time: Duration) -> Result<ChangePage> {
        let deadline = Instant::now() + time;
        let mut nap = NAP;
        loop {
            let page = self.page()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if !page.changes.is_empty() || left.is_zero() {
                return Ok(page);
            }
            self.since = page.next;
            std::thread::sleep(self.scaled(nap).min(left));
            nap = (nap * 2).min(LONGEST_NAP);
        }
    }

    /// All changes one after the other, a page at a time, up to the end that there is then.
    #[must_use]
    pub fn iter(&self) -> ChangesIter {
        ChangesIter { changes: self.clone(), read: VecDeque::new(), done: false }
    }

    fn look(&mut self) -> Result<ChangePage> {
        let (engine, since, limit) = (Arc::clone(&self.engine), self.since, self.limit);
        let (all, wanted) = self.logs()?;
        page::page(&*engine.session()?, all, wanted, since, limit)
    }

    fn logs(&mut self) -> Result<&(Vec<ChangeLog>, Vec<ChangeLog>)> {
        if self.looked.is_some_and(|looked| looked.elapsed() > LOOK) {
            self.logs = None;
        }
        if self.logs.is_none() {
            let all = log::logs(&*self.engine)?;
            if all.is_empty() {
                let message = "no table is tracked: ask for it with track";
                return Err(Error::new(ErrorKind::Schema, message));
            }
            let find = |name: &String| {
                let same = |log: &&ChangeLog| log.table.name().eq_ignore_ascii_case(name);
                all.iter().find(same).cloned().ok_or_else(|| {
                    let message = "the table is not tracked: ask for it with track";
                    Error::new(ErrorKind::Schema, message).in_table(name.clone())
                })
            };
            let wanted = match self.tables.is_empty() {
                true => all.clone(),
                false => self.tables.iter().map(find).collect::<Result<_>>()?,
            };
            self.looked = Some(Instant::now());
            return Ok(self.logs.insert((all, wanted)));
        }
        self.logs.as_ref().ok_or_else(|| Error::new(ErrorKind::Schema, "no table is tracked"))
    }

    fn scaled(&self, nap: Duration) -> Duration {
        let near = match &self.logs {
            Some((all, _)) => {
                all.first().is_some_and(|log| self.engine.estimate(&log.schema).call < 100)
            }
            None => true,
        };
        if near { nap } else { nap * FAR }
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

/// Changes one after the other: an iterator of `Result<Change>`. See [`Changes::iter`].
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
