//! Planned faults: which call fails, and which one cuts the power.

use crate::Loss;

/// A call of SQLite that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiskCall {
    /// Opens or creates a file.
    Open,
    /// Reads from a file.
    Read,
    /// Writes to a file.
    Write,
    /// Makes a file, or a directory, durable.
    Sync,
    /// Shortens a file.
    Truncate,
    /// Deletes a file.
    Delete,
    /// Locks a file, or the memory that its connections share.
    Lock,
}

impl DiskCall {
    /// All calls.
    pub const ALL: [Self; 7] =
        [Self::Open, Self::Read, Self::Write, Self::Sync, Self::Truncate, Self::Delete, Self::Lock];

    const fn is_change(self) -> bool {
        matches!(self, Self::Write | Self::Sync | Self::Truncate | Self::Delete)
    }
}

/// The planned faults, and the number of calls so far.
#[derive(Debug, Default)]
pub(crate) struct FaultPlan {
    counts: [u64; DiskCall::ALL.len()],
    /// Calls of a kind with numbers from the first to the last fail.
    faults: Vec<(DiskCall, u64, u64)>,
    changes: u64,
    cut: Option<(u64, Loss)>,
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    Proceed,
    Fail,
    /// The power fails during the call.
    CutPower(Loss),
}

impl FaultPlan {
    pub(crate) fn count(&self, call: DiskCall) -> u64 {
        self.counts[call as usize]
    }

    pub(crate) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Plans that the `nth` call from now fails, and `more` after it.
    pub(crate) fn fail(&mut self, call: DiskCall, nth: u64, more: u64) {
        let first = self.count(call) + nth;
        self.faults.push((call, first, first.saturating_add(more)));
    }

    pub(crate) fn cut_at(&mut self, nth: u64, loss: Loss) {
        self.cut = Some((self.changes + nth, loss));
    }

    pub(crate) fn clear(&mut self) {
        self.faults.clear();
        self.cut = None;
    }

    pub(crate) fn next(&mut self, call: DiskCall) -> CallOutcome {
        self.counts[call as usize] += 1;
        self.changes += u64::from(call.is_change());
        if let Some((at, loss)) = self.cut
            && self.changes >= at
        {
            self.cut = None;
            return CallOutcome::CutPower(loss);
        }
        let now = self.count(call);
        let planned = |&(other, first, last): &(DiskCall, u64, u64)| {
            other == call && (first..=last).contains(&now)
        };
        if self.faults.iter().any(planned) { CallOutcome::Fail } else { CallOutcome::Proceed }
    }
}
