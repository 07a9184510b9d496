//! The changes that the thread of a change feed has read last, as far as it keeps them.

use bobak::changes::{Change, ChangePage};
use bobak_core::{DynRow, Value};
use std::sync::Arc;

/// How many changes are kept, and how many bytes of texts and BLOBs. Subscribers that are further behind read themselves.
const KEPT_CHANGES: usize = 1_000;
const KEPT_BYTES: usize = 1 << 20;

/// Changes of all tracked tables, in the order of their commits.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatestChanges {
    /// The number of the change before them.
    after: u64,
    /// The number of the last one.
    pub last: u64,
    pages: Vec<Arc<KeptPage>>,
}

/// Changes that were read together.
#[derive(Debug)]
struct KeptPage {
    changes: Vec<Change>,
    last: u64,
    bytes: usize,
}

impl LatestChanges {
    /// No changes: the last one has this number.
    pub fn none(last: u64) -> Self {
        Self { after: last, last, pages: Vec::new() }
    }

    /// The changes of a page that follows the change `after`.
    pub fn of_page(after: u64, page: ChangePage) -> Self {
        let mut changes = Self::none(after);
        changes.add(page);
        changes
    }

    /// Adds the changes of the next page.
    pub fn add(&mut self, page: ChangePage) {
        let (last, bytes) = (page.next, bytes(&page.changes));
        self.pages.push(Arc::new(KeptPage { changes: page.changes, last, bytes }));
        self.last = last;
    }

    /// Drops the oldest changes if there are too many.
    pub fn drop_oldest(&mut self) {
        let (mut count, mut bytes) = (0, 0);
        let is_kept = |page: &&Arc<KeptPage>| {
            count += page.changes.len();
            bytes += page.bytes;
            count <= KEPT_CHANGES && bytes <= KEPT_BYTES
        };
        let kept = self.pages.iter().rev().take_while(is_kept).count();
        let left_out = self.pages.len() - kept;
        if let Some(page) = self.pages.drain(..left_out).next_back() {
            self.after = page.last;
        }
    }

    /// Whether they contain all changes after `since`, and there may be some.
    pub fn follow(&self, since: u64) -> bool {
        (self.after..self.last).contains(&since)
    }

    /// The changes after `since`.
    pub fn since(&self, since: u64) -> impl Iterator<Item = &Change> {
        let pages = self.pages.iter().filter(move |page| page.last > since);
        pages.flat_map(|page| &page.changes).filter(move |change| change.id > since)
    }
}

/// The bytes of the texts and BLOBs of some changes.
fn bytes(changes: &[Change]) -> usize {
    let rows = changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
    let length = |value: &Value<'_>| match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    rows.flat_map(DynRow::values).map(length).sum()
}
