//! Replication: a database that has the same rows as another, a moment later, on any engine.
//!
//! `position` is what a replica knows of its progress; `apply` applies changes, and `check` compares both databases.

mod apply;
mod check;
mod moves;
mod pair;
mod position;
mod state;
mod write_behind;

pub use check::{CheckedTable, ReplicaCheck};
pub use state::{ReplicaState, replica_state};
pub use write_behind::{WriteBehind, WriteBehindStatus};

use crate::copy::CopyProgress;
pub(crate) use apply::{MAX_CHANGES, apply_changes, in_transaction};
use bobak_changes::{ChangePage, Changes, TableLayout, table_moves};
use bobak_core::{Engine, Error, ErrorKind, Result};
pub(crate) use pair::TablePair;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How many changes are read together.
const PAGE_CHANGES: usize = 1_000;

/// Keeps the tables of one database up to date with those of another.
///
/// It reads the change log of the source, so all replicated tables must be tracked there. It may run next to the source or
/// to the target: a database on another machine is opened by its URL. First it creates the tables in the target and copies
/// the rows. Then it applies one change after the other and records its position in the target, in the same transaction.
/// So it continues where it stopped, however it ended.
///
/// The target's tables have no foreign keys and no triggers, which would act a second time. Nothing else may write to them.
pub struct Replica {
    from: Arc<dyn Engine>,
    to: Arc<dyn Engine>,
    /// The wanted tables, all tracked ones if empty; those of the first copy once it has begun.
    names: Vec<String>,
    pairs: Vec<TablePair>,
    /// The layouts of the source's tables that they were compared with.
    layouts: Vec<TableLayout>,
    /// The change up to which the target has all changes; `None` before the first copy is complete.
    position: Option<u64>,
    /// The time of the last applied change, in microseconds.
    made: Option<i64>,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplicationReport {
    /// How many changes were applied; 0 if there was none in time.
    pub changes: usize,
    /// The number of the source's change up to which the target has all changes.
    pub position: u64,
    /// Whether the target has the state of the source between two transactions: not while it is more than 100,000 changes
    /// behind.
    pub whole: bool,
}

impl Replica {
    /// A replica of the tables with these names, or of all tracked tables if none is named. Compares the tables that exist
    /// in both.
    ///
    /// # Errors
    /// `Schema` if a table is not tracked, or has other columns in the target; `Unsupported` if it has foreign keys or
    /// triggers there; `Config` for other tables than before; those of both engines.
    pub fn new(source: Arc<dyn Engine>, target: Arc<dyn Engine>, tables: &[&str]) -> Result<Self> {
        let (from, to) = (source, target);
        let names = tables.iter().map(|name| (*name).to_owned()).collect();
        let (pairs, layouts) = (Vec::new(), Vec::new());
        let mut replica = Self { from, to, names, pairs, layouts, position: None, made: None };
        if let Some(position) = position::read(&*replica.to)? {
            replica.must_replicate(&position.tables)?;
            replica.names = position.tables;
            replica.position = position.filled.then_some(position.at);
            replica.made = position.made;
        }
        replica.pair()?;
        Ok(replica)
    }

    /// Makes the first copy, unless it is complete. Rows of an interrupted copy are deleted first.
    ///
    /// Writers of the source continue. Their changes are applied before this returns: from then on the target has the state
    /// of the source at one moment.
    ///
    /// # Errors
    /// `Conflict` if a table of the target has rows that are not the replica's; `Misuse` if the target is the source itself; as [`step`](Self::step).
    pub fn begin(&mut self, mut progress: impl FnMut(CopyProgress<'_>)) -> Result<u64> {
        if let Some(position) = self.position {
            return Ok(position);
        }
        let first = self.changes().last_id()?;
        let begun_before = position::read(&*self.to)?.is_some();
        if !begun_before {
            self.pairs.iter().try_for_each(|pair| pair.must_be_empty(&*self.to))?;
        }
        self.must_be_another()?;
        position::begin(&*self.to, first, &self.tables())?;
        self.names = self.tables().into_iter().map(str::to_owned).collect();
        if !begun_before {
            self.skip_moves()?;
        }
        for pair in &mut self.pairs {
            pair.create_target(&*self.to)?;
            if begun_before {
                pair.empty(&*self.to)?;
            }
            pair.fill(&*self.from, &*self.to, &mut progress)?;
        }
        let last = self.changes().last_id()?;
        let mut at = first;
        while at < last {
            at = self.advance(at, Duration::ZERO, false)?.position;
        }
        self.made = self.last_of_source(at)?;
        position::finish(&*self.to, at, self.made)?;
        self.to.flush()?;
        self.position = Some(at);
        Ok(at)
    }

    /// As [`begin`](Self::begin), for a source that has the same rows as the target, and is not written to meanwhile: copies nothing.
    fn begin_equal(&mut self) -> Result<()> {
        let before = position::read(&*self.to)?;
        if before.as_ref().is_some_and(|before| !before.filled) {
            let message = "the first copy into the target was interrupted: empty its tables, and drop its table bobak_follow";
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        if before.is_none() {
            self.must_be_another()?;
        }
        self.pairs.iter_mut().try_for_each(|pair| pair.create_target(&*self.to))?;
        let at = self.changes().last_id()?;
        self.made = self.last_of_source(at)?;
        position::put(&*self.to, at, Some(self.made), &self.tables())?;
        self.names = self.tables().into_iter().map(str::to_owned).collect();
        self.skip_moves()?;
        self.position = Some(at);
        Ok(())
    }

    /// Records that the target has the source's tables as they are now.
    fn skip_moves(&self) -> Result<()> {
        let moved = table_moves(&*self.from.session()?)?.last().map_or(0, |(id, _)| *id);
        position::move_on(&*self.to.session()?, moved, &self.names)
    }

    /// Applies the next changes in one transaction, up to the end of the change log at the beginning of the step. If there
    /// is no change, waits for one, at most this long. A target that is killed during a step has all of its changes, or
    /// none.
    ///
    /// Readers of the target see whole transactions of the source. If it is more than 100,000 changes behind, a step applies
    /// about so many, and the last transaction may be visible in part until the next step: see
    /// [`ReplicationReport::whole`].
    ///
    /// # Errors
    /// `Misuse` before [`begin`](Self::begin); `Schema` if a table of the source was altered other than by Bobak; `NotFound` if changes were pruned before they were read; `Conflict` if the source ends before the
    /// replica's position or differs there, since an older state was restored: begin again with an empty target; `Conflict`
    /// also if another replica writes to the target; those of both engines.
    pub fn step(&mut self, wait: Duration) -> Result<ReplicationReport> {
        let Some(position) = self.position else {
            let message = "the replica has no first copy yet: call begin first";
            return Err(Error::new(ErrorKind::Misuse, message));
        };
        let step = self.advance(position, wait, true)?;
        self.position = Some(step.position);
        Ok(step)
    }

    /// The names of the replicated tables.
    #[must_use]
    pub fn tables(&self) -> Vec<&str> {
        self.pairs.iter().map(|pair| pair.source.name()).collect()
    }

    /// The number of the source's change up to which the target has all changes; `None` before the first copy is complete.
    #[must_use]
    pub const fn position(&self) -> Option<u64> {
        self.position
    }

    fn advance(&mut self, from: u64, wait: Duration, filled: bool) -> Result<ReplicationReport> {
        let (changes, page) = self.next_page(from, wait)?;
        if page.next <= from {
            return Ok(ReplicationReport {
                changes: 0,
                position: page.next,
                whole: page.is_whole(),
            });
        }
        if filled {
            self.must_be_same(from)?;
        }
        let mut made = filled.then_some(self.made);
        let more = |position| {
            let page = changes.clone().since(position).wait_checked(Duration::ZERO);
            page.map(|checked| checked.page)
        };
        let done = apply::apply(&*self.to, &self.pairs, from, page, &mut made, more)?;
        self.made = made.unwrap_or(self.made);
        Ok(done)
    }

    /// The next page, once the pairs are those of the tables that it was read from.
    fn next_page(&mut self, from: u64, wait: Duration) -> Result<(Changes, ChangePage)> {
        let mut is_again = false;
        loop {
            let mut changes = self.changes().since(from).limit(PAGE_CHANGES);
            let read = changes.last_id().and_then(|last| {
                must_reach(last, from)?;
                changes.wait_checked(wait)
            });
            match read {
                // A table was renamed or dropped.
                Err(error) if error.kind() == ErrorKind::Schema && !is_again => self.pair()?,
                Ok(checked) if checked.layouts != self.layouts => self.pair()?,
                read => return Ok((changes, read?.page)),
            }
            is_again = true;
        }
    }

    /// Rejects a source whose last change up to the replica's position differs from the one applied: it is another database,
    /// or a backup was restored over it.
    fn must_be_same(&self, position: u64) -> Result<()> {
        let Some(made) = self.made else { return Ok(()) };
        match self.last_of_source(position)? {
            Some(found) if found != made => {
                let message = format!(
                    "the source's changes up to {position} differ from those that were replicated: it \
                     is another database, or a backup was restored over it; begin again with an \
                     empty target"
                );
                Err(Error::new(ErrorKind::Conflict, message))
            }
            _ => Ok(()),
        }
    }

    /// Rejects a target that is the source by another name, before anything in it changes: a random mark written to the target
    /// would then be found in the source.
    fn must_be_another(&self) -> Result<()> {
        let mark = RandomState::new().hash_one(SystemTime::now()) >> 2;
        position::begin(&*self.to, mark, &self.tables())?;
        let found = match position::read(&*self.from) {
            // The source does not show its tables, so it is not the target, which was just written to.
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

    /// The time of the last change of the replicated tables up to a change.
    fn last_of_source(&self, position: u64) -> Result<Option<i64>> {
        let mut logs = bobak_changes::logs(&*self.from)?;
        let is = |log: &bobak_changes::ChangeLog, pair: &TablePair| {
            log.table.name().eq_ignore_ascii_case(pair.source.name())
        };
        logs.retain(|log| self.pairs.iter().any(|pair| is(log, pair)));
        let last = bobak_changes::last_up_to(&*self.from.session()?, &logs, position)?;
        Ok(last.map(|(_, at)| at))
    }

    fn changes(&self) -> Changes {
        let names = self.pairs.iter().map(|pair| pair.source.name());
        names.fold(Changes::of(Arc::clone(&self.from)), Changes::table_named)
    }

    /// Rejects other tables than those that the target replicates already.
    fn must_replicate(&self, tables: &[String]) -> Result<()> {
        let has =
            |list: &[String], name: &String| list.iter().any(|n| n.eq_ignore_ascii_case(name));
        let same = self.names.iter().all(|name| has(tables, name))
            && tables.iter().all(|name| has(&self.names, name));
        if self.names.is_empty() || same {
            return Ok(());
        }
        let message = format!("the target replicates {} already, and no others", tables.join(", "));
        Err(Error::new(ErrorKind::Config, message))
    }

    /// Compares the current tables of both databases.
    fn pair(&mut self) -> Result<()> {
        let logs = bobak_changes::logs(&*self.from)?;
        let all_dropped = self.position.is_some() && self.names.is_empty();
        if logs.is_empty() || all_dropped {
            let message = "no table of the source is tracked: track those to replicate";
            return Err(Error::new(ErrorKind::Schema, message));
        }
        let mut is_dropped = false;
        if position::read(&*self.to)?.is_some() {
            is_dropped = moves::follow(&*self.from, &*self.to, &mut self.names)?;
        }
        if self.position.is_some() {
            pair::widen_targets(&logs, &*self.to)?;
        }
        let there = self.to.tables()?;
        let triggers = self.to.session()?.triggers()?.unwrap_or_default();
        self.layouts = logs.iter().flat_map(|log| log.layouts.iter().cloned()).collect();
        self.pairs = TablePair::all(logs, &self.names, &there, &triggers)?;
        match self.position {
            Some(position) if is_dropped => self.forget_dropped(position),
            _ => Ok(()),
        }
    }

    /// The last change of the replicated tables may be one of a table that was dropped.
    fn forget_dropped(&mut self, position: u64) -> Result<()> {
        let made = self.last_of_source(position)?;
        let (before, after) = (Some(self.made), Some(made));
        position::write(&*self.to.session()?, (position, before), (position, after))?;
        self.made = made;
        Ok(())
    }
}

/// Rejects a source that ends before the target's position.
fn must_reach(last: u64, from: u64) -> Result<()> {
    if last >= from {
        return Ok(());
    }
    let message = format!(
        "the source ends before change {from}, up to which it was replicated: it is older \
         than the target, so begin again with an empty one"
    );
    Err(Error::new(ErrorKind::Conflict, message))
}

impl std::fmt::Debug for Replica {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replica")
            .field("from", &self.from.name())
            .field("to", &self.to.name())
            .field("tables", &self.tables())
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
