//! What somebody sees of a change: a row that comes into sight is new, one that goes out of sight is
//! gone, whatever was done to it.

use crate::json::{Numbers, write_cell};
use bobak::changes::{Change, ChangeKind};
use bobak_core::{Condition, DynRow, Field, Type};
use bobak_text::json::write_string;

/// Which rows somebody sees.
pub(crate) struct Sight {
    /// Those that were asked for.
    pub filter: Option<Condition>,
    /// Those that may be read.
    pub readable: Option<Condition>,
}

impl Sight {
    /// What the change is to who sees so much of it; `None` where nothing is seen.
    pub fn kind_of(&self, change: &Change) -> Option<ChangeKind> {
        match (self.sees(change, &change.before), self.sees(change, &change.after)) {
            (false, false) => None,
            (true, true) => Some(ChangeKind::Update),
            (false, true) => Some(ChangeKind::Insert),
            (true, false) => Some(ChangeKind::Delete),
        }
    }

    /// Whether a row of the change, before or after it, is seen.
    pub fn sees(&self, change: &Change, row: &Option<DynRow>) -> bool {
        let Some(row) = row else { return false };
        let keeps = |condition: &Condition| condition.evaluate(&change.table, row) == Some(true);
        self.filter.as_ref().is_none_or(keeps) && self.readable.as_ref().is_none_or(keeps)
    }
}

/// Writes when a change was made, and by whom, as members of an object.
pub(crate) fn write_head(out: &mut String, change: &Change, numbers: Numbers) {
    out.push_str("\"at\":");
    let at = change.at.to_value().unwrap_or_default();
    write_cell(out, Type::Timestamp, numbers, at.as_ref());
    out.push_str(",\"who\":");
    match &change.who {
        Some(who) => write_string(out, who),
        None => out.push_str("null"),
    }
}
