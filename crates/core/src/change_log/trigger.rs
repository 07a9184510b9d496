//! The triggers of a database, and which of them capture changes.

use super::LOG_PREFIX;

/// A trigger of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The table's name.
    pub table: String,
    /// The trigger's name.
    pub name: String,
    /// Whether it captures changes as an earlier version of Bobak did: tracking the table again replaces it.
    pub is_outdated: bool,
}

/// The number of capture triggers of a tracked table, on every engine with triggers.
const TRIGGERS_PER_TABLE: usize = 3;

/// Whether a trigger with this name captures changes.
#[must_use]
pub fn is_capture_trigger(name: &str) -> bool {
    let begins = |prefix: &str| {
        name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    ["insert_", "update_", "delete_"].iter().any(|verb| begins(&format!("{LOG_PREFIX}{verb}")))
        || ["bobak_lock", "bobak_whole", "bobak_log", "!bobak_log"].contains(&name)
}

/// Whether a tracked table has all of its capture triggers. They are gone if SQL dropped and recreated
/// the table.
#[must_use]
pub fn is_captured(triggers: &[Trigger], table: &str) -> bool {
    let own = |trigger: &&Trigger| {
        trigger.table.eq_ignore_ascii_case(table) && is_capture_trigger(&trigger.name)
    };
    triggers.iter().filter(own).count() >= TRIGGERS_PER_TABLE
}

/// Whether a tracked table has all of its capture triggers, and none of an earlier version.
#[must_use]
pub fn is_captured_as_now(triggers: &[Trigger], table: &str) -> bool {
    let is_outdated =
        |trigger: &Trigger| trigger.is_outdated && trigger.table.eq_ignore_ascii_case(table);
    is_captured(triggers, table) && !triggers.iter().any(is_outdated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_table_has_three_triggers() {
        let trigger = |table: &str, name: &str| Trigger {
            table: table.into(),
            name: name.into(),
            is_outdated: false,
        };
        let mut triggers = vec![
            trigger("City", "bobak_log_insert_city"),
            trigger("city", "BOBAK_LOG_update_city"),
            trigger("city", "log"),
            trigger("street", "bobak_log_delete_city"),
        ];
        assert!(!is_captured(&triggers, "city"));
        triggers.push(trigger("city", "bobak_log_delete_city"));
        assert!(is_captured(&triggers, "city") && !is_captured(&triggers, "street"));
        assert!(is_captured_as_now(&triggers, "city"));
        triggers[1].is_outdated = true;
        assert!(is_captured(&triggers, "city") && !is_captured_as_now(&triggers, "city"));
        assert!(is_capture_trigger("bobak_whole") && !is_capture_trigger("bobak_logbook"));
    }
}
