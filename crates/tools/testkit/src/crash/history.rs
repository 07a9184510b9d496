//! The states that a store went through, commit by commit.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A row's serial number, unlike any other, and its text.
pub(super) type Content = (i64, Arc<str>);

/// All rows by key.
pub(super) type Rows = BTreeMap<i64, Content>;

/// The states since the last check.
#[derive(Debug)]
pub(super) struct History {
    /// After each acknowledged commit; the first is the one at the beginning.
    states: Vec<Rows>,
    /// After the commit that was under way at the crash.
    under_way: Option<Rows>,
    /// The place of the state that was flushed last.
    flushed: usize,
}

/// What a store contains after a crash, compared with its history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    /// How many acknowledged commits are lost.
    pub lost: u64,
    /// Whether even flushed commits are lost.
    pub before_flush: bool,
}

impl Default for History {
    fn default() -> Self {
        Self { states: vec![Rows::new()], under_way: None, flushed: 0 }
    }
}

impl History {
    /// The state after the last acknowledged commit.
    pub(super) fn now(&self) -> &Rows {
        self.states.last().expect("there is the one of the beginning")
    }

    /// How many commits were acknowledged since the last check.
    pub(super) fn acknowledged(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    pub(super) fn begin(&mut self, next: Rows) {
        self.under_way = Some(next);
    }

    pub(super) fn acknowledge(&mut self) {
        self.states.extend(self.under_way.take());
    }

    /// The commit under way was undone.
    pub(super) fn undo(&mut self) {
        self.under_way = None;
    }

    pub(super) fn flush(&mut self) {
        self.flushed = self.states.len() - 1;
    }

    /// Finds out which state was recovered, and continues from it.
    ///
    /// # Errors
    /// A sentence if it is none of the possible states.
    pub(super) fn settle(&mut self, rows: Rows) -> Result<Recovery, String> {
        let last = self.states.len() - 1;
        let place = if self.under_way.as_ref() == Some(&rows) {
            last
        } else {
            let place = self.states.iter().rposition(|state| *state == rows);
            place.ok_or_else(|| self.differs(&rows))?
        };
        let found = Recovery { lost: (last - place) as u64, before_flush: place < self.flushed };
        *self = Self { states: vec![rows], under_way: None, flushed: 0 };
        Ok(found)
    }

    fn differs(&self, rows: &Rows) -> String {
        let now = self.now();
        let missing: Vec<_> = now.keys().filter(|key| !rows.contains_key(key)).collect();
        let other: Vec<_> = rows
            .iter()
            .filter(|(key, row)| now.get(key) != Some(row))
            .map(|(key, _)| key)
            .collect();
        format!(
            "what is there is the state after no commit: of {} rows {missing:?} are missing, and \
             {other:?} are other or new; under way: {}",
            now.len(),
            self.under_way.is_some()
        )
    }
}
