//! A database that follows another one: it has the same rows, a moment later, on whatever engine.
//!
//! `place` is what it knows of how far it has come; `apply` makes changes, and `check` compares.

mod apply;
mod check;
mod pair;
mod position;

pub use check::{CheckedTable, ReplicaCheck};

use crate::copy::CopyProgress;
pub(crate) use apply::{LONGEST, in_transaction, make};
use bobak_changes::Changes;
use bobak_core::{Engine, Error, ErrorKind, Result};
pub(crate) use pair::Pair;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How many changes are read at once.
const PAGE: usize = 1_000;

/// Keeps the tables of one database as those of another are.
///
/// It reads the source's feed, so all of the tables must be tracked there: see
/// [`feed`](crate::feed). It may run beside the source or beside the target: what lies on another
/// machine is opened by its URL. At first it makes the tables in the target and copies the rows;
/// then it makes one change after the other, and notes in the target, in the same transaction, how
/// far it is. So it goes on where it stopped, however it did.
///
/// The target's tables have no foreign keys and no triggers, which would act a second time. Nobody else may write
/// to them.
pub struct Replica {
    from: Arc<dyn Engine>,
    to: Arc<dyn Engine>,
    /// All that are tracked where there is none; those of the first copy once it has begun.
    names: Vec<String>,
    pairs: Vec<Pair>,
    /// Up to where the target has what the source had; `None` before its first copy is whole.
    place: Option<u64>,
    /// The time of the last change that was made, in microseconds.
    made: Option<i64>,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplicationReport {
    /// How many changes were made; 0 where there was none in time.
    pub changes: usize,
    /// The number of the source's change up to which the target has all of them.
    pub place: u64,
    /// Whether the target is as the source was between two transactions: not while more than 100,000
    /// changes are left.
    pub whole: bool,
}

impl Replica {
    /// A follower of the tables with these names, of all that are tracked where there is none; from
    /// the main engine of one database to that of another. Compares the tables that are there.
    ///
    /// # Errors
    /// `Schema` where a table is not tracked, or has other columns in the target; `Unsupported`
    /// where it has foreign keys or triggers there; `Config` for other tables than before; those of both
    /// engines.
    pub fn new(source: Arc<dyn Engine>, target: Arc<dyn Engine>, tables: &[&str]) -> Result<Self> {
        let (from, to) = (source, target);
        let names = tables.iter().map(|name| (*name).to_owned()).collect();
        let mut follower = Self { from, to, names, pairs: Vec::new(), place: None, made: None };
        if let Some(place) = position::read(&*follower.to)? {
            follower.must_follow(&place.tables)?;
            follower.names = place.tables;
            follower.place = place.filled.then_some(place.at);
            follower.made = place.made;
        }
        follower.pair()?;
        Ok(follower)
    }

    /// Makes the first copy, where it is not whole yet; else it does nothing. Rows that a copy left
    /// which was broken off are taken out first.
    ///
    /// Writers of the source go on. What they do meanwhile is made good before this returns: from
    /// then on the target is as the source was at one moment.
    ///
    /// # Errors
    /// `Conflict` where a table has rows in the target that are not the follower's; `Misuse` where the target is the
    /// source itself; as [`step`](Self::step).
    pub fn begin(&mut self, mut progress: impl FnMut(CopyProgress<'_>)) -> Result<u64> {
        if let Some(place) = self.place {
            return Ok(place);
        }
        let first = self.changes().last_id()?;
        let begun_before = position::read(&*self.to)?.is_some();
        if !begun_before {
            self.pairs.iter().try_for_each(|pair| pair.must_be_empty(&*self.to))?;
        }
        self.must_be_another()?;
        position::begin(&*self.to, first, &self.tables())?;
        for pair in &mut self.pairs {
            pair.make_target(&*self.to)?;
            if begun_before {
                pair.empty(&*self.to)?;
            }
            pair.fill(&*self.from, &*self.to, &mut progress)?;
        }
        let last = self.changes().last_id()?;
        let mut at = first;
        while at < last {
            at = self.advance(at, Duration::ZERO, false)?.place;
        }
        self.made = self.last_of_source(at)?;
        position::finish(&*self.to, at, self.made)?;
        self.to.flush()?;
        self.names = self.tables().into_iter().map(str::to_owned).collect();
        self.place = Some(at);
        Ok(at)
    }

    /// Makes the next changes in one transaction, up to the end that the feed has at its beginning; where
    /// there is none it waits for one, at most so long. A target that is killed in the middle has all of
    /// them, or none.
    ///
    /// Whoever reads the target meanwhile sees whole transactions of the source; but where it is more than
    /// 100,000 changes behind, it makes about so many at a time, and the last transaction of these may
    /// be seen in part until the next step: [`ReplicationReport::whole`].
    ///
    /// # Errors
    /// `Misuse` before [`begin`](Self::begin); `Schema` where a column was added in the source: add
    /// it in the target, then go on; `NotFound` where changes that were not read yet were taken out
    /// of the feed; `Conflict` where the source ends before the follower's place, or its change there is
    /// another, since an older state of it was restored: begin again with an empty target; `Conflict` too where another
    /// follower writes to the target; those of both engines.
    pub fn step(&mut self, wait: Duration) -> Result<ReplicationReport> {
        let Some(place) = self.place else {
            let message = "the follower has made no copy yet: call begin first";
            return Err(Error::new(ErrorKind::Misuse, message));
        };
        let step = self.advance(place, wait, true)?;
        self.place = Some(step.place);
        Ok(step)
    }

    /// The names of its tables.
    #[must_use]
    pub fn tables(&self) -> Vec<&str> {
        self.pairs.iter().map(|pair| pair.source.name()).collect()
    }

    /// Up to which of the source's changes the target has them; `None` before the first copy is
    /// whole.
    #[must_use]
    pub const fn place(&self) -> Option<u64> {
        self.place
    }

    fn advance(&mut self, from: u64, wait: Duration, filled: bool) -> Result<ReplicationReport> {
        let mut changes = self.changes().since(from).limit(PAGE);
        if changes.last_id()? < from {
            let message = format!(
                "the source ends before change {from}, up to which it was followed: it is older \
                 than the target, so begin again with an empty one"
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        let page = changes.wait(wait)?;
        if page.next <= from {
            return Ok(ReplicationReport { changes: 0, place: page.next, whole: page.is_whole() });
        }
        self.pair()?;
        if filled {
            self.must_be_same(from)?;
        }
        let mut made = filled.then_some(self.made);
        let more = |place| changes.clone().since(place).page();
        let done = apply::apply(&*self.to, &self.pairs, from, page, &mut made, more)?;
        self.made = made.unwrap_or(self.made);
        Ok(done)
    }

    /// Refuses a source whose last change up to the follower's place is another than the one that was
    /// made: it is another database, or a backup was restored over it.
    fn must_be_same(&self, place: u64) -> Result<()> {
        let Some(made) = self.made else { return Ok(()) };
        match self.last_of_source(place)? {
            Some(found) if found != made => {
                let message = format!(
                    "the source's changes up to {place} are others than those that were followed: it \
                     is another database, or a backup was restored over it; begin again with an \
                     empty target"
                );
                Err(Error::new(ErrorKind::Conflict, message))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a target that is the source by another name, before anything of it is changed: what is noted in it for a
    /// moment is then found in the source.
    fn must_be_another(&self) -> Result<()> {
        let mark = RandomState::new().hash_one(SystemTime::now()) >> 2;
        position::begin(&*self.to, mark, &self.tables())?;
        let found = match position::read(&*self.from) {
            // Whose tables may not be seen: nobody writes to those of his own.
            Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Unsupported) => {
                None
            }
            found => found?,
        };
        if found.is_none_or(|found| found.at != mark) {
            return Ok(());
        }
        position::forget(&*self.to)?;
        let message = "the target is the source itself, by another name: name another database";
        Err(Error::new(ErrorKind::Misuse, message))
    }

    /// The time of the last change of the followed tables up to a place.
    fn last_of_source(&self, place: u64) -> Result<Option<i64>> {
        let mut logs = bobak_changes::logs(&*self.from)?;
        let is = |log: &bobak_changes::ChangeLog, pair: &Pair| {
            log.table.name().eq_ignore_ascii_case(pair.source.name())
        };
        logs.retain(|log| self.pairs.iter().any(|pair| is(log, pair)));
        let last = bobak_changes::last_up_to(&*self.from.session()?, &logs, place)?;
        Ok(last.map(|(_, at)| at))
    }

    fn changes(&self) -> Changes {
        let names = self.pairs.iter().map(|pair| pair.source.name());
        names.fold(Changes::of(Arc::clone(&self.from)), Changes::table_named)
    }

    /// Refuses other tables than those that the target follows already.
    fn must_follow(&self, tables: &[String]) -> Result<()> {
        let has =
            |list: &[String], name: &String| list.iter().any(|n| n.eq_ignore_ascii_case(name));
        let same = self.names.iter().all(|name| has(tables, name))
            && tables.iter().all(|name| has(&self.names, name));
        if self.names.is_empty() || same {
            return Ok(());
        }
        let message = format!("the target follows {} already, and no others", tables.join(", "));
        Err(Error::new(ErrorKind::Config, message))
    }

    /// Compares the tables as they are now.
    fn pair(&mut self) -> Result<()> {
        let logs = bobak_changes::logs(&*self.from)?;
        if logs.is_empty() {
            let message = "no table of the source is tracked: track those that are to be followed";
            return Err(Error::new(ErrorKind::Schema, message));
        }
        let there = self.to.tables()?;
        let triggers = self.to.session()?.triggers()?.unwrap_or_default();
        let tables = logs.into_iter().map(|log| log.table);
        self.pairs = Pair::all(tables, &self.names, &there, &triggers)?;
        Ok(())
    }
}

impl std::fmt::Debug for Replica {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replica")
            .field("from", &self.from.name())
            .field("to", &self.to.name())
            .field("tables", &self.tables())
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}
