//! One value, read in parts.

use super::PgSession;
use crate::session::query::{self, PreparedSource};
use crate::table_info::SQL;
use bobak_core::{Result, Value, ValueAddress, ValueRange, ValueState};

impl PgSession<'_> {
    /// See [`read_part`](bobak_core::Session::read_part).
    pub(super) fn read_part_of(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        value.check()?;
        let text = bobak_sql::read_part(SQL, value.table, value.column);
        let (first, most) = range.in_sql();
        let mut parameters = vec![Value::Int(first), Value::Int(most)];
        parameters.extend(value.key.iter().map(|key| key.as_ref().into()));
        let mut found = None;
        let mut each = |row: &dyn bobak_core::Row| {
            found = Some(ValueState::of_row(row, bytes));
            Ok(false)
        };
        let mut state = self.state()?;
        state.with(|state, connection| {
            query::run_prepared(state, connection, &mut each, |state, connection| {
                Ok(PreparedSource {
                    prepared: state.prepare(connection, &text, &[])?,
                    parameters: parameters.clone(),
                    table: Some(value.table),
                    may_fail: true,
                    is_short: true,
                    lock_wait: None,
                })
            })
        })?;
        Ok(found)
    }
}
