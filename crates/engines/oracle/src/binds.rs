//! The values of statements in the form that the driver takes.

use crate::columns::oracle_type;
use crate::driver::OracleBind;
use crate::values::{encode, parameter};
use bobak_core::{Result, TableSchema};
use bobak_engine_common::StatementValue;

/// The values of a statement.
pub(crate) type Binds<'v> = Vec<OracleBind<'v>>;

/// Values as a statement takes them.
///
/// # Errors
/// As [`encode`], with the column.
pub(crate) fn binds<'v>(
    table: Option<&TableSchema>,
    values: &'v [StatementValue<'_>],
) -> Result<Binds<'v>> {
    StatementValue::all_sent(values, table, |given| match table.zip(given.place) {
        Some((table, place)) => encode(oracle_type(table, place)?, given.value.as_ref()),
        None => parameter(given.ty, given.value.as_ref()),
    })
}
