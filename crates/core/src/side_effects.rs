//! What writes change beside the rows that they name.

use crate::change_log::{Trigger, is_capture_trigger};
use crate::{OnDelete, Result, Session, Source, TableSchema, ValueRef, Verb};

/// Tables of a database whose rows change with writes to others: by triggers, and by what foreign
/// keys do. For who keeps rows in memory, and has to know which are old.
///
/// What Bobak's own triggers do is left out: they write to the feed alone. Names are looked for
/// without case, which can only say too much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideEffects {
    tables: Vec<(String, When)>,
}

/// Which writes to a table may change other rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Written,
    /// Rows refer to it that go, or lose a value, when what they refer to is deleted.
    Deleted,
    /// As before, when that gets another value.
    Updated,
}

impl SideEffects {
    /// Those of the session's [triggers](Session::triggers), and what a statement tells besides, whose
    /// rows are a name, and one of `written`, `deleted` and `updated`.
    ///
    /// # Errors
    /// Those of the session.
    pub fn read(session: &dyn Session, text: &str) -> Result<Self> {
        let mut effects = Self::of_triggers(&session.triggers()?.unwrap_or_default());
        session.query(&Source::Sql { text, parameters: &[] }, &mut |row| {
            if let (ValueRef::Text(name), ValueRef::Text(what)) = (row.get(0), row.get(1)) {
                effects.add(name, what);
            }
            Ok(true)
        })?;
        Ok(effects)
    }

    /// Those of triggers, but for the feed's own.
    #[must_use]
    pub fn of_triggers(triggers: &[Trigger]) -> Self {
        let mut effects = Self::default();
        let others = triggers.iter().filter(|trigger| !is_capture_trigger(&trigger.name));
        others.for_each(|trigger| effects.add(&trigger.table, "written"));
        effects
    }

    /// Leaves out what writes to other tables do than those with a name that `keep` takes.
    #[must_use]
    pub fn only(mut self, keep: impl Fn(&str) -> bool) -> Self {
        self.tables.retain(|(name, _)| keep(name));
        self
    }

    /// What the references of tables do.
    #[must_use]
    pub fn of_references(tables: &[TableSchema]) -> Self {
        let columns = tables.iter().flat_map(TableSchema::columns);
        let references = columns.filter_map(|column| column.reference.as_ref());
        let acting = references.filter(|reference| reference.on_delete != OnDelete::Restrict);
        let tables = acting.map(|reference| (reference.table.to_string(), When::Deleted)).collect();
        Self { tables }
    }

    /// Whether such a write to a table may change rows of others, or others of its own.
    #[must_use]
    pub fn has(&self, table: &str, verb: Verb) -> bool {
        let hits = |when: When| match when {
            When::Written => true,
            When::Deleted => matches!(verb, Verb::Delete | Verb::InsertOrReplace),
            When::Updated => matches!(verb, Verb::Update | Verb::Upsert),
        };
        let here = |(name, when): &(String, When)| hits(*when) && name.eq_ignore_ascii_case(table);
        self.tables.iter().any(here)
    }

    /// Adds a table, and when writes to it change other rows: `written`, `deleted` or `updated`.
    pub fn add(&mut self, name: &str, what: &str) {
        let when = match what {
            "deleted" => When::Deleted,
            "updated" => When::Updated,
            _ => When::Written,
        };
        self.tables.push((name.to_owned(), when));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_hit_what_they_are_said_to() {
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
