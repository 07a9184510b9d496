//! What writes change beyond the rows that they name.

use crate::change_log::{Trigger, is_capture_trigger};
use crate::{TableSchema, Verb};

/// The tables in which writes to other tables change rows, by triggers and foreign keys. For caches,
/// which must know which of their rows are stale.
///
/// Capture triggers are left out: they write only to the change log. Table names are compared without
/// case, which can only report too many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideEffects {
    tables: Vec<(String, CausingWrite)>,
}

/// Which writes to a table may change other rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CausingWrite {
    Written,
    /// Deletes: rows that reference a deleted row are deleted or lose the reference.
    Deleted,
    /// Updates: rows that reference a changed value change too.
    Updated,
}

impl SideEffects {
    /// The effects of triggers, except capture triggers.
    #[must_use]
    pub fn of_triggers(triggers: &[Trigger]) -> Self {
        let mut effects = Self::default();
        let others = triggers.iter().filter(|trigger| !is_capture_trigger(&trigger.name));
        others.for_each(|trigger| effects.add(&trigger.table, "written"));
        effects
    }

    /// Keeps only tables whose names `keep` accepts.
    #[must_use]
    pub fn only(mut self, keep: impl Fn(&str) -> bool) -> Self {
        self.tables.retain(|(name, _)| keep(name));
        self
    }

    /// The effects of foreign keys.
    #[must_use]
    pub fn of_references(tables: &[TableSchema]) -> Self {
        let mut effects = Self::default();
        for reference in tables.iter().flat_map(TableSchema::all_foreign_keys) {
            if reference.on_delete.changes_rows() {
                effects.add(&reference.table, "deleted");
            }
            if reference.on_update.changes_rows() {
                effects.add(&reference.table, "updated");
            }
        }
        effects
    }

    /// Whether a write to a table may change rows of other tables, or other rows of its own.
    #[must_use]
    pub fn has(&self, table: &str, verb: Verb) -> bool {
        let hits = |when: CausingWrite| match when {
            CausingWrite::Written => true,
            CausingWrite::Deleted => matches!(verb, Verb::Delete | Verb::InsertOrReplace),
            CausingWrite::Updated => verb.sets_fields(),
        };
        let here =
            |(name, when): &(String, CausingWrite)| hits(*when) && name.eq_ignore_ascii_case(table);
        self.tables.iter().any(here)
    }

    /// Adds a table, and which writes to it change other rows: `written`, `deleted` or `updated`.
    pub fn add(&mut self, name: &str, what: &str) {
        let when = match what {
            "deleted" => CausingWrite::Deleted,
            "updated" => CausingWrite::Updated,
            _ => CausingWrite::Written,
        };
        self.tables.push((name.to_owned(), when));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_have_the_declared_side_effects() {
        let mut effects = SideEffects::default();
        for (name, what) in [("a", "written"), ("b", "deleted"), ("c", "updated")] {
            effects.add(name, what);
        }
        let has = |table: &str| {
            [Verb::Insert, Verb::Upsert, Verb::InsertOrReplace, Verb::Delete]
                .map(|verb| effects.has(table, verb))
        };
        assert_eq!(has("A"), [true; 4]);
        assert_eq!(has("b"), [false, false, true, true]);
        assert_eq!(has("c"), [false, true, false, false]);
        assert_eq!(has("d"), [false; 4]);
    }
}
