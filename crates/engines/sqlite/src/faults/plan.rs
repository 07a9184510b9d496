//! Which call fails, and at which the power goes.

use super::Loss;

/// What SQLite asks of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Opens or makes it.
    Open,
    /// Reads from it.
    Read,
    /// Writes to it.
    Write,
    /// Waits until it is on the disk.
    Sync,
    /// Makes it shorter.
    Truncate,
    /// Removes it.
    Delete,
    /// Locks it, or the memory that its connections share.
    Lock,
}

impl Call {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Open, Self::Read, Self::Write, Self::Sync, Self::Truncate, Self::Delete, Self::Lock];

    const fn is_change(self) -> bool {
        matches!(self, Self::Write | Self::Sync | Self::Truncate | Self::Delete)
    }
}

/// The failures to come, and the calls so far.
#[derive(Debug, Default)]
pub(super) struct Plan {
    counts: [u64; Call::ALL.len()],
    /// Of these calls the numbers from the first to the last fail.
    faults: Vec<(Call, u64, u64)>,
    changes: u64,
    cut: Option<(u64, Loss)>,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done,
    Failed,
    /// The power goes while it runs.
    Cut(Loss),
}

impl Plan {
    pub(super) fn count(&self, call: Call) -> u64 {
        self.counts[call as usize]
    }

    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    /// The `nth` from now fails, and so many after it.
    pub(super) fn fail(&mut self, call: Call, nth: u64, more: u64) {
        let first = self.count(call) + nth;
        self.faults.push((call, first, first.saturating_add(more)));
    }

    pub(super) fn cut_at(&mut self, nth: u64, loss: Loss) {
        self.cut = Some((self.changes + nth, loss));
    }

    pub(super) fn clear(&mut self) {
        self.faults.clear();
        self.cut = None;
    }

    pub(super) fn next(&mut self, call: Call) -> Verdict {
        self.counts[call as usize] += 1;
        self.changes += u64::from(call.is_change());
        if let Some((at, loss)) = self.cut
            && self.changes >= at
        {
            self.cut = None;
            return Verdict::Cut(loss);
        }
        let now = self.count(call);
        let planned = |&(other, first, last): &(Call, u64, u64)| {
            other == call && (first..=last).contains(&now)
        };
        if self.faults.iter().any(planned) { Verdict::Failed } else { Verdict::Done }
    }
}
