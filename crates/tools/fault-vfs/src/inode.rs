//! The content of a file: as programs see it, as it is on the disk, and the changes between.

use crate::locks::{FileLocks, SharedMemory};
use crate::random::Random;
use std::sync::Arc;

/// The bytes of a sector, which a disk writes at once.
const SECTOR: u64 = 512;

/// Which of the changes that no sync has covered are lost at a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// None: the program crashes, the system continues.
    Nothing,
    /// All.
    All,
    /// The latest ones: every change that is kept is older than every one that is lost.
    Latest,
    /// Some, in any order.
    Some,
    /// Some of their sectors or bytes; the new end of a grown file may contain anything.
    Torn,
}

impl Loss {
    /// Everything that a power cut can do.
    pub const POWER: [Self; 4] = [Self::All, Self::Latest, Self::Some, Self::Torn];
}

/// A file. Its name may be removed while it is open.
#[derive(Debug, Default)]
pub(crate) struct Inode {
    pub name: Option<String>,
    /// The number of its creation, while that can be lost.
    pub created: Option<u64>,
    /// The number of its deletion, while that can be lost.
    pub removed: Option<u64>,
    pub handles: usize,
    pub locks: FileLocks,
    pub memory: Option<Arc<SharedMemory>>,
    seen: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<PendingChange>,
}

/// A change that no sync has covered.
#[derive(Debug)]
struct PendingChange {
    number: u64,
    change: FileChange,
    /// Whether a sync of it has failed: operating systems then consider it written, and later syncs
    /// skip it.
    abandoned: bool,
}

#[derive(Debug)]
enum FileChange {
    Write { at: u64, bytes: Vec<u8> },
    Resize(u64),
}

impl Inode {
    /// A new file, created by the change with this number.
    pub(crate) fn new(name: Option<String>, number: u64) -> Self {
        Self { name, created: Some(number), ..Self::default() }
    }

    /// A file that is entirely on the disk.
    pub(crate) fn durable(name: String, content: Vec<u8>) -> Self {
        Self { name: Some(name), seen: content.clone(), durable: content, ..Self::default() }
    }

    pub(crate) fn content(&self) -> &[u8] {
        &self.seen
    }

    /// The number of bytes written since the last sync.
    pub(crate) fn unsynced(&self) -> u64 {
        let bytes = |pending: &PendingChange| match &pending.change {
            FileChange::Write { bytes, .. } => bytes.len() as u64,
            FileChange::Resize(_) => 1,
        };
        self.pending.iter().map(bytes).sum()
    }

    /// The number of the first change that can be lost.
    pub(crate) fn earliest_pending(&self) -> Option<u64> {
        let written = self.pending.first().map(|pending| pending.number);
        [written, self.created, self.removed].into_iter().flatten().min()
    }

    pub(crate) fn write(&mut self, number: u64, at: u64, bytes: &[u8]) {
        put(&mut self.seen, at, bytes);
        let change = FileChange::Write { at, bytes: bytes.to_vec() };
        self.pending.push(PendingChange { number, change, abandoned: false });
    }

    pub(crate) fn truncate(&mut self, number: u64, length: u64) {
        let shorter = length.min(self.seen.len() as u64);
        self.seen.truncate(index(shorter));
        let change = FileChange::Resize(shorter);
        self.pending.push(PendingChange { number, change, abandoned: false });
    }

    /// Makes the changes up to a number durable, except for those whose sync has failed.
    pub(crate) fn sync(&mut self, number: u64) {
        self.created = None;
        let rest = self.pending.partition_point(|pending| pending.number <= number);
        for pending in self.pending.drain(..rest) {
            match pending.change {
                _ if pending.abandoned => {}
                FileChange::Write { at, bytes } => put(&mut self.durable, at, &bytes),
                FileChange::Resize(length) => self.durable.resize(index(length), 0),
            }
        }
    }

    /// Records a failed sync.
    pub(crate) fn fail_sync(&mut self) {
        self.pending.iter_mut().for_each(|pending| pending.abandoned = true);
    }

    /// The content after a power cut; `None` if the file does not exist then.
    pub(crate) fn after_cut(&self, fate: &mut CrashOutcome) -> Option<Vec<u8>> {
        if self.created.is_some_and(|number| !fate.keeps(number))
            || self.removed.is_some_and(|number| fate.keeps(number))
        {
            return None;
        }
        let mut content = self.durable.clone();
        for pending in self.pending.iter().filter(|pending| !pending.abandoned) {
            match &pending.change {
                FileChange::Write { at, bytes } => {
                    fate.write(&mut content, self.durable.len() as u64, pending.number, *at, bytes);
                }
                FileChange::Resize(length) if fate.keeps(pending.number) => {
                    content.resize(index(*length), 0);
                }
                FileChange::Resize(_) => {}
            }
        }
        Some(content)
    }
}

/// Decides which changes a power cut keeps.
#[derive(Debug)]
pub(crate) struct CrashOutcome {
    loss: Loss,
    random: Random,
    /// The percentage of changes that are kept.
    kept: u64,
    /// For [`Loss::Latest`]: the first that is lost.
    first_lost: u64,
}

impl CrashOutcome {
    /// `earliest` is the number of the first pending change, `next` that of the next one.
    pub(crate) fn new(loss: Loss, mut random: Random, earliest: u64, next: u64) -> Self {
        let kept = [10, 50, 90][index(random.below(3))];
        let first_lost = earliest + random.below(next.saturating_sub(earliest) + 1);
        Self { loss, random, kept, first_lost }
    }

    fn keeps(&mut self, number: u64) -> bool {
        match self.loss {
            Loss::Nothing => true,
            Loss::All => false,
            Loss::Latest => number < self.first_lost,
            Loss::Some | Loss::Torn => self.random.percent(self.kept),
        }
    }

    fn write(&mut self, content: &mut Vec<u8>, durable: u64, number: u64, at: u64, bytes: &[u8]) {
        if self.loss != Loss::Torn {
            if self.keeps(number) {
                put(content, at, bytes);
            }
            return;
        }
        let (mut at, mut rest) = (at, bytes);
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.len().min(index(SECTOR - at % SECTOR)));
            if self.keeps(number) {
                let whole = self.random.percent(90);
                let length = if whole { part.len() as u64 } else { self.below(part) };
                put(content, at, part.get(..index(length)).unwrap_or_default());
            } else if at >= durable && self.random.percent(25) {
                let garbage: Vec<u8> = part.iter().map(|_| self.random.number() as u8).collect();
                put(content, at, &garbage);
            }
            at += part.len() as u64;
            rest = after;
        }
    }

    fn below(&mut self, part: &[u8]) -> u64 {
        self.random.below(part.len() as u64)
    }
}

fn put(content: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    let at = index(at);
    let end = at + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    if let Some(place) = content.get_mut(at..end) {
        place.copy_from_slice(bytes);
    }
}

/// Files are in memory, so their offsets are `usize`s.
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Inode {
        let mut file = Inode::durable("a".to_owned(), vec![1; 2048]);
        file.write(1, 0, &[2; 1024]);
        file.sync(1);
        file.write(2, 0, &[3; 2048]);
        file.write(3, 4000, &[4; 10]);
        file.truncate(4, 100);
        file
    }

    fn cut(loss: Loss, seed: u64) -> Option<Vec<u8>> {
        file().after_cut(&mut CrashOutcome::new(loss, Random::new(seed), 2, 5))
    }

    #[test]
    fn power_cut_keeps_synced_changes_and_may_lose_others() {
        let durable = [[2_u8; 1024], [1; 1024]].concat();
        assert_eq!(cut(Loss::All, 7), Some(durable.clone()));
        assert_eq!(cut(Loss::Nothing, 7), Some(vec![3; 100]));
        let lengths = [100, 2048, 4010];
        let mut seen = [false; 3];
        for seed in 0..50 {
            let content = cut(Loss::Latest, seed).expect("it was made long ago");
            let place = lengths.iter().position(|length| *length == content.len());
            seen[place.expect("a state that there was")] = true;
            assert_eq!(cut(Loss::Latest, seed), Some(content), "the same for the same seed");
        }
        assert_eq!(seen, [true; 3]);
        let torn = |seed| cut(Loss::Torn, seed).expect("it is there");
        let mixed = |content: &[u8]| content.contains(&3) && content.contains(&2);
        assert!((0..50).any(|seed| mixed(&torn(seed))));
        assert!((0..50).all(|seed| torn(seed)[..100].iter().all(|byte| [2, 3].contains(byte))));
    }

    #[test]
    fn changes_of_a_failed_sync_are_not_synced_later() {
        let mut file = Inode::durable("a".to_owned(), vec![1]);
        file.write(1, 0, &[2]);
        file.fail_sync();
        file.write(2, 1, &[3]);
        file.sync(2);
        assert_eq!(file.content(), [2, 3]);
        let left = file.after_cut(&mut CrashOutcome::new(Loss::All, Random::new(0), 0, 0));
        assert_eq!(left.as_deref(), Some(&[1, 3][..]));
    }
}
