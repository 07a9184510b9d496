//! Which changes a client sees, and as what.
//!
//! A filter or a permission shows a client only some rows. An update that moves a row into that set
//! looks like an insert, and one that moves it out of the set like a delete.

use bobak::changes::{Change, ChangeKind};
use bobak_core::{Condition, DynRow};

/// The rows that a client sees: those that match all conditions.
pub(crate) struct RowVisibility {
    /// The client's filter.
    pub filter: Option<Condition>,
    /// The rows that the client may read.
    pub readable: Option<Condition>,
}

impl RowVisibility {
    /// What the change looks like to the client; `None` if they see nothing of it.
    pub fn visible_kind(&self, change: &Change) -> Option<ChangeKind> {
        let sees = |row| self.is_visible(change, row);
        match (sees(&change.before), sees(&change.after)) {
            (false, false) => None,
            (true, true) => Some(ChangeKind::Update),
            (false, true) => Some(ChangeKind::Insert),
            (true, false) => Some(ChangeKind::Delete),
        }
    }

    /// Whether the client sees a row of the change, the one before or the one after it.
    pub fn is_visible(&self, change: &Change, row: &Option<DynRow>) -> bool {
        let Some(row) = row else { return false };
        let matches = |condition: &Condition| condition.evaluate(&change.table, row) == Some(true);
        self.filter.as_ref().is_none_or(matches) && self.readable.as_ref().is_none_or(matches)
    }
}
