//! One value, read and written in parts.

use super::PgSession;
use crate::connection::{Connection, PreparedStatement};
use crate::error::{locate, without_row};
use crate::protocol::value::Outside;
use crate::session::query::{self, PreparedSource};
use crate::session::sql_text;
use crate::session::state::SessionState;
use crate::table_info::SQL;
use bobak_core::engine::fallback;
use bobak_core::{
    BulkChange, ErrorKind, Interrupt, Result, Session, Value, ValueAddress, ValueInput, ValueRange,
    ValueRef, ValueState,
};
use std::io::Read;

/// The number of bytes that are in memory while a value is written.
const PART: usize = 256 << 10;

/// The largest value: the server takes messages below 1 GiB, and the key is in the message, too.
const LARGEST: u32 = (1 << 30) - (1 << 20);

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

    /// See [`write_value`](bobak_core::Session::write_value).
    pub(super) fn write_value_of(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        if length <= PART as u64 {
            return fallback::write_value(value, length, source, |change| self.change(change));
        }
        value.check_written()?;
        let Some(length) = u32::try_from(length).ok().filter(|length| *length <= LARGEST) else {
            let message =
                format!("the server stores values of up to {LARGEST} bytes, not {length}");
            return Err(value.error(ErrorKind::TooLong, message));
        };
        let assigns = value.assignments(Value::from(Vec::new()));
        let input = ValueInput::new(source, u64::from(length));
        let mut streamed = StreamedValue { length, input };
        let (condition, assign) = (value.condition(), Some(&*assigns));
        let change = BulkChange { table: value.table, condition: Some(&condition), assign };
        let statement = bobak_sql::change(SQL, &change);
        let mut state = self.state()?;
        let written = state.with(|state, connection| {
            let prepared = state.prepare(connection, &statement.text, &[])?;
            streamed.write(state, connection, &prepared, &statement.parameters)
        });
        written.map_err(|error| locate(error, value.table))
    }
}

/// A value that is sent while it is read.
struct StreamedValue<'s> {
    length: u32,
    input: ValueInput<'s>,
}

impl StreamedValue<'_> {
    /// Runs an update whose first parameter it is; returns whether there is a row.
    fn write(
        &mut self,
        state: &mut SessionState<'_>,
        connection: &mut Connection,
        prepared: &PreparedStatement,
        parameters: &[Value<'_>],
    ) -> Result<bool> {
        let mut read = Ok(());
        let changed = sql_text::run_with(state, connection, |connection| {
            let value = |at: usize| parameters.get(at).map_or(ValueRef::Null, Value::as_ref);
            let gap = Some((0, self.length));
            let rest = connection
                .bind_around(prepared, "", Outside::Rejected, value, gap)
                .map_err(|error| without_row(error, None))?;
            // If the source panics, the message has no end.
            connection.is_broken = true;
            read = self.send(connection)?;
            connection.is_broken = false;
            connection.out.extend(rest);
            if read.is_ok() {
                connection.execute("", 0);
            }
            Ok(())
        });
        read.and(changed).map(|rows| rows > 0)
    }

    /// Sends the value, after what is in the buffer. If it can't be read, zeros are sent, so that the message is whole, and
    /// the inner result says why.
    fn send(&mut self, connection: &mut Connection) -> Result<Result<()>> {
        let mut rest = self.length as usize;
        let read = loop {
            let before = connection.out.len();
            let next =
                Interrupt::check().and_then(|()| self.input.next_part(&mut connection.out, PART));
            rest -= connection.out.len() - before;
            match next {
                Ok(true) => connection.send_much("sending a value")?,
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        while rest > 0 {
            let part = rest.min(PART);
            connection.out.resize(connection.out.len() + part, 0);
            connection.send_much("sending a value")?;
            rest -= part;
        }
        Ok(read)
    }
}
