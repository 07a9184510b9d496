//! Values that are read and written in parts, and plans.

use super::client_session::ClientSession;
use crate::connection::{Connection, Disconnect};
use crate::request_monitor::cancelled;
use bobak_core::plan::QueryPlan;
use bobak_core::{
    Error, ErrorKind, Result, RowBuffer, TableSchema, Value, ValueAddress, ValueRange,
};
use bobak_wire::{FrameHeader, FrameKind, OwnedSource, Request, encode_response, plan_rows};
use std::io::{self, Read};
use std::sync::Arc;

/// How many bytes of a value one response has at most, whatever the client wants.
const MAX_PART: usize = 1 << 20;

/// A value to be written.
pub(super) struct IncomingValue {
    table: Arc<TableSchema>,
    column: usize,
    key: Vec<Value<'static>>,
    length: u64,
    first: Vec<u8>,
}

impl IncomingValue {
    pub fn new(
        table: Arc<TableSchema>,
        column: usize,
        key: &[Value<'_>],
        length: u64,
        first: &[u8],
    ) -> Self {
        let key = key.iter().map(|value| value.clone().into_owned()).collect();
        Self { table, column, key, length, first: first.to_vec() }
    }
}

/// The bytes of a value, as its parts arrive.
struct ValueParts<'p, 's> {
    session: &'p ClientSession<'s>,
    connection: &'p mut Connection,
    id: u32,
    part: Vec<u8>,
    read: usize,
    more: bool,
    /// Why the connection ends, if it does.
    ended: Option<Disconnect>,
}

impl ClientSession<'_> {
    /// Reads a part of a value: a row of the number of its bytes, the part, and its row's version; no row if there is none.
    pub fn read_part(&self, value: &ValueAddress<'_>, range: ValueRange) -> Result<RowBuffer> {
        let range = ValueRange { limit: range.limit.min(MAX_PART), ..range };
        let (mut bytes, mut rows) = (Vec::new(), RowBuffer::default());
        let Some(state) = self.session.read_part(value, range, &mut bytes)? else {
            return Ok(rows);
        };
        let number = |number: Option<i64>| number.map_or(Value::Null, Value::Int);
        let length = state.length.and_then(|length| i64::try_from(length).ok());
        let part = if length.is_some() { Value::from(bytes) } else { Value::Null };
        rows.push(&[number(length), part, number(state.version)].as_slice())?;
        Ok(rows)
    }

    /// The plan of a query, as rows; `None` for a join that the engine does not run.
    pub fn explain(&self, mut source: OwnedSource) -> Result<Option<RowBuffer>> {
        if let OwnedSource::Select(select) = &mut source {
            select.condition = self.with_values(select.condition.take())?;
        }
        let query = source.as_query();
        let Some(steps) = QueryPlan::ask_steps(self.session, &query)? else { return Ok(None) };
        let plan = QueryPlan::new(steps.clone(), &query, &self.session.tables()?);
        plan_rows(&steps, &plan).map(Some)
    }

    /// Writes a value while its parts arrive.
    pub fn write_value(
        &mut self,
        connection: &mut Connection,
        header: FrameHeader,
        value: IncomingValue,
    ) -> Result<(), Disconnect> {
        let IncomingValue { table, column, key, length, first } = value;
        let address = ValueAddress { table: &table, key: &key, column };
        let (id, more) = (header.id, header.more);
        let session = &*self;
        let (read, ended) = (0, None);
        let mut parts = ValueParts { session, connection, id, part: first, read, more, ended };
        let written = self.session.write_value(&address, length, &mut parts);
        let (more, ended) = (parts.more, parts.ended);
        if let Some(ended) = ended {
            return Err(ended);
        }
        match written {
            Ok(found) => {
                encode_response::count(&mut connection.output, id, found.into());
                // An engine need not read a value for which there is no row.
                if more {
                    return self.skip_rest(connection, header);
                }
            }
            Err(error) if more => return self.skip_parts(connection, header, &error),
            Err(error) => self.send_error(connection, id, &error),
        }
        Ok(())
    }
}

impl ValueParts<'_, '_> {
    /// Waits for the next part.
    fn next_part(&mut self) -> Result<Result<()>, Disconnect> {
        loop {
            let header = self.session.next_frame(self.connection)?;
            match header.kind {
                FrameKind::WriteValue if header.id == self.id => {
                    self.more = header.more;
                    self.read = 0;
                    self.part.clear();
                    let Connection { input, handles, .. } = &*self.connection;
                    return Ok(match Request::decode(header, input.body(), handles) {
                        Ok(Request::WriteValue { bytes, .. }) => {
                            self.part.extend_from_slice(bytes);
                            Ok(())
                        }
                        Ok(_) => Ok(()),
                        Err(error) => Err(error),
                    });
                }
                FrameKind::Cancel if header.id == self.id => return Ok(Err(cancelled())),
                FrameKind::Cancel | FrameKind::Credit => {}
                _ => {
                    let message = "expected the next part of the value";
                    return Err(Error::new(ErrorKind::Misuse, message).into());
                }
            }
        }
    }
}

impl Read for ValueParts<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.part.len() && self.more {
            match self.next_part() {
                Ok(read) => read.map_err(io::Error::other)?,
                Err(ended) => {
                    self.ended = Some(ended);
                    let message = "the connection ended before the whole value had arrived";
                    return Err(io::Error::other(Error::new(ErrorKind::Unreachable, message)));
                }
            }
        }
        let mut rest = self.part.get(self.read..).unwrap_or_default();
        let count = rest.read(buffer)?;
        self.read += count;
        Ok(count)
    }
}
