//! Reserves generated keys before changes are replayed.

use crate::replication::TablePair;
use bobak_changes::Change;
use bobak_core::{FieldSet, KeyGeneration, Result, Session, Value, Verb, Write};

/// Inserts the row with the largest key that each table had, before the changes are replayed, which may
/// delete it again: an engine that never reuses keys (AUTOINCREMENT) must learn that the key was used.
pub(super) fn reserve_keys(
    session: &dyn Session,
    pairs: &[TablePair],
    changes: &[Change],
) -> Result<()> {
    for pair in pairs.iter().filter(|pair| pair.source.key_generation() == KeyGeneration::Engine) {
        let name = pair.source.name();
        let own = changes.iter().filter(|change| change.table.name() == name);
        let key = |change: &&Change| match change.key().as_slice() {
            [Value::Int(key)] => *key,
            _ => i64::MIN,
        };
        let Some(largest) = own.max_by_key(key) else { continue };
        if let Some(row) = largest.after.as_ref().or(largest.before.as_ref()) {
            let mut values = Vec::new();
            pair.columns.values(row, &mut values)?;
            let (table, verb) = (&pair.target, Verb::InsertOrReplace);
            session.write(&Write { table, verb, fields: FieldSet::EMPTY, values: &values })?;
        }
    }
    Ok(())
}
