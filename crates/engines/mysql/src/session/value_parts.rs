//! One value, read in parts.

use super::MySqlSession;
use crate::keys::push_bare_key;
use crate::values::decode::BorrowedRow;
use crate::values::encode::plain;
use bobak_core::{Result, ValueAddress, ValueRange, ValueRef, ValueState};
use bobak_engine_common::ServerPhase;
use std::cell::RefCell;

impl MySqlSession<'_> {
    /// See [`read_part`](bobak_core::Session::read_part).
    pub(super) fn read_part_of(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        value.check()?;
        let (first, most) = range.in_sql();
        let mut parameters = vec![plain(ValueRef::Int(first)), plain(ValueRef::Int(most))];
        push_bare_key(value.table, &value.key, &mut parameters)?;
        let text = bobak_sql::read_part(self.engine.dialect, value.table, value.column);
        let found = RefCell::new(None);
        self.run(
            ServerPhase::Read,
            || found.borrow().is_none(),
            |connection| {
                let parameters = parameters.clone();
                connection.each(Some(value.table), &text, parameters, &mut |cells, columns| {
                    let state = ValueState::of_row(&BorrowedRow { cells, columns }, bytes);
                    *found.borrow_mut() = Some(state);
                    Ok(true)
                })
            },
        )?;
        Ok(found.into_inner())
    }
}
