//! Reads the entries that a query needs: ranges of the keys, or of an index.

use crate::catalog::KvTable;
use crate::data::{Data, prefix, row_key};
use crate::error::failed;
use bobak_core::codec::EncodedRow;
use bobak_core::{Condition, Result};
use bobak_engine_common::{EachRow, KeyRanges};
use std::collections::BTreeSet;
use std::ops::Bound;

/// Passes on the rows that the condition may keep, by key.
///
/// # Errors
/// Those of the storage and of `each`.
pub(super) fn scan(
    data: &Data<'_>,
    table: &KvTable,
    condition: Option<&Condition>,
    each: &mut EachRow<'_>,
) -> Result<()> {
    let plan = KeyRanges::best(&table.stored, condition);
    let prefix = prefix(table.id, plan.index);
    let mut keys = BTreeSet::new();
    for (from, to) in &plan.ranges {
        let (from, to) = ([&prefix, &**from].concat(), [&prefix, &**to].concat());
        for entry in data.range(Bound::Included(&from), &to)? {
            let (key, row) = entry.map_err(|error| failed("read", error))?;
            if plan.index > 0 {
                keys.insert(row_key(table, key.value(), row.value()));
            } else if !each(EncodedRow::new(row.value()))? {
                return Ok(());
            }
        }
    }
    for key in keys {
        if let Some(row) = data.get(&key)?
            && !each(EncodedRow::new(row.value()))?
        {
            break;
        }
    }
    Ok(())
}
