//! The triggers of a database, and which of them are the feed's.

use super::LOG_PREFIX;

/// A trigger of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The table's name.
    pub table: String,
    /// Its own name.
    pub name: String,
}

/// How many a tracked table has, on each engine that has triggers.
const OWN: usize = 3;

/// Whether a trigger is one that writes changes down.
#[must_use]
pub fn is_capture_trigger(name: &str) -> bool {
    let begins = |prefix: &str| {
        name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    ["insert_", "update_", "delete_"].iter().any(|verb| begins(&format!("{LOG_PREFIX}{verb}")))
        || ["bobak_lock", "bobak_whole", "bobak_log"].contains(&name)
}

/// Whether all of a tracked table's are there: not where it was dropped and made anew by SQL.
#[must_use]
pub fn is_captured(triggers: &[Trigger], table: &str) -> bool {
    let own = |trigger: &&Trigger| {
        trigger.table.eq_ignore_ascii_case(table) && is_capture_trigger(&trigger.name)
    };
    triggers.iter().filter(own).count() >= OWN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_watched_by_three() {
        let trigger = |table: &str, name: &str| Trigger { table: table.into(), name: name.into() };
        let mut triggers = vec![
            trigger("City", "bobak_log_insert_city"),
            trigger("city", "BOBAK_LOG_update_city"),
            trigger("city", "log"),
            trigger("street", "bobak_log_delete_city"),
        ];
        assert!(!is_captured(&triggers, "city"));
        triggers.push(trigger("city", "bobak_log_delete_city"));
        assert!(is_captured(&triggers, "city") && !is_captured(&triggers, "street"));
        assert!(is_capture_trigger("bobak_whole") && !is_capture_trigger("bobak_logbook"));
    }
}
