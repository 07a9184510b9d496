//! A client of Firebird's wire protocol, version 13: that of Firebird 3, which 4 and 5 speak, too.
//!
//! Calls are written one after the other, and their answers arrive in the same order. So several calls go out together wherever
//! none needs another's answer: a batch is hundreds of executions in one packet.

mod describe;
mod login;
mod message;
mod srp;
mod status;
mod stream;

pub(crate) use describe::FirebirdStatement;
pub(crate) use login::Login;
pub(crate) use message::{Cell, FieldDescription, ReceivedRows, SentValue, ValueMessage, sql_type};
pub(crate) use status::{Status, WireError, WireResult};
pub(crate) use stream::ChannelSender;

use describe::{DESCRIBE, describe, rows_written};
use std::io;
use std::time::Duration;
use stream::{Packet, Receiver};

const OP_RESPONSE: i32 = 9;
const OP_DETACH: i32 = 21;
const OP_TRANSACTION: i32 = 29;
const OP_COMMIT: i32 = 30;
const OP_ROLLBACK: i32 = 31;
const OP_GET_SEGMENT: i32 = 36;
const OP_PUT_SEGMENT: i32 = 37;
const OP_CLOSE_BLOB: i32 = 39;
const OP_OPEN_BLOB: i32 = 56;
const OP_CREATE_BLOB: i32 = 57;
const OP_ALLOCATE: i32 = 62;
const OP_EXECUTE: i32 = 63;
const OP_EXECUTE_TEXT: i32 = 64;
const OP_FETCH: i32 = 65;
const OP_FETCH_RESPONSE: i32 = 66;
const OP_FREE: i32 = 67;
const OP_PREPARE: i32 = 68;
const OP_INFO: i32 = 70;
const OP_DUMMY: i32 = 71;
const OP_EXECUTE_FOR_ROW: i32 = 76;
const OP_ROW: i32 = 78;
const OP_CANCEL: i32 = 91;

/// The object that the call before has made.
const LAST: i32 = 0xffff;
/// The most bytes of a description.
const DESCRIPTION: i32 = 65_000;
/// The bytes of a BLOB that go at once.
const SEGMENT: usize = 32_000;
/// What the answer says with a BLOB's last part.
const BLOB_END: i32 = 2;
/// The rows that the client requests at once.
const ROWS: i32 = 400;

/// A connection to a database.
#[derive(Debug)]
pub(crate) struct FirebirdChannel {
    receiver: Receiver,
    sender: ChannelSender,
    packet: Packet,
    database: i32,
    /// Answers that nobody waits for.
    owed: usize,
    /// How long a call may take.
    call_timeout: Option<Duration>,
    /// Whether a call took longer, and was cancelled.
    pub timed_out: bool,
}

/// An answer that succeeded.
#[derive(Debug)]
pub(crate) struct FirebirdResponse {
    pub object: i32,
    pub blob: i64,
    pub data: Vec<u8>,
}

impl FirebirdChannel {
    fn new(receiver: Receiver, sender: ChannelSender) -> Self {
        Self {
            receiver,
            sender,
            packet: Packet::default(),
            database: 0,
            owed: 0,
            call_timeout: None,
            timed_out: false,
        }
    }

    /// The half that sends, for a thread that cancels.
    pub fn sender(&self) -> ChannelSender {
        self.sender.clone()
    }

    /// Whether the connection seems to be open.
    pub fn seems_open(&self) -> bool {
        self.owed > 0 || self.receiver.seems_open()
    }

    /// How long a call may take before it is cancelled; `None` for no limit.
    pub fn set_call_timeout(&mut self, time: Option<Duration>) -> WireResult<()> {
        self.call_timeout = time;
        Ok(self.receiver.limit(time)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sender.send(&mut self.packet.bytes)
    }

    /// The operation of the next answer that somebody waits for. Those before it come first, but of some the server sends
    /// them only with that to a later call.
    fn operation(&mut self) -> WireResult<i32> {
        if !self.packet.bytes.is_empty() {
            self.flush()?;
        }
        while self.owed > 0 {
            self.owed -= 1;
            match self.next_operation()? {
                OP_RESPONSE => match self.response_body() {
                    Err(WireError::Server(_)) | Ok(_) => {}
                    Err(error) => return Err(error),
                },
                other => return Err(unexpected(other)),
            }
        }
        self.next_operation()
    }

    fn next_operation(&mut self) -> WireResult<i32> {
        loop {
            match self.receiver.wait() {
                Err(error)
                    if is_timeout(&error) && self.call_timeout.is_some() && !self.timed_out =>
                {
                    self.timed_out = true;
                    cancel(&self.sender);
                    continue;
                }
                other => other?,
            }
            let operation = self.receiver.int()?;
            if operation != OP_DUMMY {
                return Ok(operation);
            }
        }
    }

    /// The answer to the next of the calls that were written.
    pub fn response(&mut self) -> WireResult<FirebirdResponse> {
        match self.operation()? {
            OP_RESPONSE => self.response_body(),
            other => Err(unexpected(other)),
        }
    }

    fn response_body(&mut self) -> WireResult<FirebirdResponse> {
        let object = self.receiver.int()?;
        let blob = self.receiver.long()?;
        let data = self.receiver.counted()?;
        match Status::read(&mut self.receiver)? {
            Some(status) => Err(WireError::Server(status)),
            None => Ok(FirebirdResponse { object, blob, data }),
        }
    }

    pub fn begin(&mut self, parameters: &[u8]) -> WireResult<i32> {
        let database = self.database;
        self.packet.int(OP_TRANSACTION).int(database).counted(parameters);
        self.response().map(|response| response.object)
    }

    pub fn end(&mut self, transaction: i32, commit: bool) -> WireResult<()> {
        self.packet.int(if commit { OP_COMMIT } else { OP_ROLLBACK }).int(transaction);
        self.response().map(drop)
    }

    /// As [`end`](Self::end), of a transaction that only read: nobody waits for the answer.
    pub fn end_later(&mut self, transaction: i32) {
        self.packet.int(OP_COMMIT).int(transaction);
        self.owed += 1;
    }

    /// Runs a text without parameters and rows.
    pub fn run_text(&mut self, transaction: i32, sql: &str) -> WireResult<()> {
        let database = self.database;
        self.packet.int(OP_EXECUTE_TEXT).int(transaction).int(database).int(3);
        self.packet.counted(sql.as_bytes()).counted(b"").int(0);
        self.response().map(drop)
    }

    pub fn prepare(&mut self, transaction: i32, sql: &str) -> WireResult<FirebirdStatement> {
        let database = self.database;
        self.packet.int(OP_ALLOCATE).int(database);
        self.packet.int(OP_PREPARE).int(transaction).int(LAST).int(3).counted(sql.as_bytes());
        self.packet.counted(&DESCRIBE).int(DESCRIPTION);
        let handle = self.response();
        let described = self.response();
        let handle = handle?.object;
        match described {
            Ok(response) => Ok(describe(handle, &response.data)),
            Err(error) => {
                self.free(handle);
                Err(error)
            }
        }
    }

    /// Forgets a prepared statement; nobody waits for the answer.
    pub fn free(&mut self, handle: i32) {
        self.packet.int(OP_FREE).int(handle).int(2);
        self.owed += 1;
    }

    /// Closes the cursor of a statement; nobody waits for the answer.
    pub fn close(&mut self, handle: i32) {
        self.packet.int(OP_FREE).int(handle).int(1);
        self.owed += 1;
    }

    fn push_execute(
        &mut self,
        operation: i32,
        transaction: i32,
        handle: i32,
        message: &ValueMessage,
    ) {
        self.packet.int(operation).int(handle).int(transaction);
        if message.blr.is_empty() {
            self.packet.counted(b"").int(0).int(0);
        } else {
            self.packet.counted(&message.blr).int(0).int(1);
            self.packet.bytes.extend_from_slice(&message.data);
        }
    }

    /// Executes a statement once, and returns how many rows it wrote.
    pub fn execute(
        &mut self,
        transaction: i32,
        statement: &FirebirdStatement,
        message: &ValueMessage,
    ) -> WireResult<u64> {
        self.push_execute(OP_EXECUTE, transaction, statement.handle, message);
        self.packet.int(OP_INFO).int(statement.handle).int(0).counted(&[23, 1]).int(128);
        let executed = self.response();
        let counted = self.response();
        executed?;
        Ok(rows_written(&counted?.data))
    }

    /// Executes a statement once for each message, in few packets. The outer error is the connection's; of the executions, one
    /// may fail after others have succeeded.
    pub fn execute_all(
        &mut self,
        transaction: i32,
        statement: &FirebirdStatement,
        messages: impl Iterator<Item = ValueMessage>,
        each: &mut dyn FnMut(WireResult<()>),
    ) -> WireResult<()> {
        let mut sent = 0;
        for message in messages {
            self.push_execute(OP_EXECUTE, transaction, statement.handle, &message);
            sent += 1;
            if self.packet.bytes.len() > 32 << 10 {
                self.flush()?;
                // Never more on the way than the buffers of both sides hold.
                while sent > 256 {
                    self.note(each)?;
                    sent -= 1;
                }
            }
        }
        (0..sent).try_for_each(|_| self.note(each))
    }

    fn note(&mut self, each: &mut dyn FnMut(WireResult<()>)) -> WireResult<()> {
        match self.response() {
            Err(WireError::Io(error)) => Err(WireError::Io(error)),
            other => {
                each(other.map(drop));
                Ok(())
            }
        }
    }

    /// Executes a statement whose one row comes with the execution; `false` if there is none.
    pub fn execute_for_row(
        &mut self,
        transaction: i32,
        statement: &FirebirdStatement,
        message: &ValueMessage,
        row: &mut ReceivedRows,
    ) -> WireResult<bool> {
        self.push_execute(OP_EXECUTE_FOR_ROW, transaction, statement.handle, message);
        self.packet.counted(&statement.format).int(0);
        match self.operation()? {
            OP_ROW => {
                let has_row = self.receiver.int()? > 0;
                if has_row {
                    row.read_row(&mut self.receiver, &statement.columns)?;
                }
                self.response().map(|_| has_row)
            }
            OP_RESPONSE => self.response_body().map(|_| false),
            other => Err(unexpected(other)),
        }
    }

    /// Executes a statement and fetches its first rows; `true` if there may be more.
    pub fn open_cursor(
        &mut self,
        transaction: i32,
        statement: &FirebirdStatement,
        message: &ValueMessage,
        rows: &mut ReceivedRows,
    ) -> WireResult<bool> {
        self.push_execute(OP_EXECUTE, transaction, statement.handle, message);
        self.push_fetch(statement);
        let executed = self.response();
        let fetched = self.fetched(statement, rows);
        if executed.is_ok() && fetched.is_err() {
            self.close(statement.handle);
        }
        executed?;
        fetched
    }

    /// Fetches more rows; `true` if there may be more.
    pub fn fetch(
        &mut self,
        statement: &FirebirdStatement,
        rows: &mut ReceivedRows,
    ) -> WireResult<bool> {
        self.push_fetch(statement);
        self.fetched(statement, rows)
    }

    fn push_fetch(&mut self, statement: &FirebirdStatement) {
        self.packet.int(OP_FETCH).int(statement.handle).counted(&statement.format);
        self.packet.int(0).int(ROWS);
    }

    fn fetched(
        &mut self,
        statement: &FirebirdStatement,
        rows: &mut ReceivedRows,
    ) -> WireResult<bool> {
        loop {
            match self.operation()? {
                OP_FETCH_RESPONSE => {
                    let status = self.receiver.int()?;
                    if self.receiver.int()? == 0 {
                        return Ok(status == 0);
                    }
                    rows.read_row(&mut self.receiver, &statement.columns)?;
                }
                OP_RESPONSE => {
                    return self.response_body().map(|_| false);
                }
                other => return Err(unexpected(other)),
            }
        }
    }

    /// Sends a BLOB, and returns its number, which is good in this transaction.
    pub fn create_blob(&mut self, transaction: i32, bytes: &[u8]) -> WireResult<i64> {
        self.packet.int(OP_CREATE_BLOB).counted(b"").int(transaction).long(0);
        let made = self.response()?;
        let parts = bytes.chunks(SEGMENT);
        let mut calls = 1;
        for part in parts {
            let length = i32::try_from(part.len()).unwrap_or(0);
            self.packet.int(OP_PUT_SEGMENT).int(made.object).int(length).counted(part);
            calls += 1;
            self.flush()?;
        }
        self.packet.int(OP_CLOSE_BLOB).int(made.object);
        self.responses(calls, drop).map(|()| made.blob)
    }

    /// The answers to so many calls; the first error counts.
    fn responses(
        &mut self,
        calls: usize,
        mut each: impl FnMut(FirebirdResponse),
    ) -> WireResult<()> {
        let mut failed = None;
        for _ in 0..calls {
            match self.response() {
                Err(WireError::Io(error)) => return Err(WireError::Io(error)),
                Err(error) => {
                    failed.get_or_insert(error);
                }
                Ok(response) => each(response),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Reads BLOBs, each to the end of `to`, and notes the ends.
    pub fn read_blobs(
        &mut self,
        transaction: i32,
        blobs: &[i64],
        to: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> WireResult<()> {
        for part in blobs.chunks(128) {
            for blob in part {
                self.packet.int(OP_OPEN_BLOB).counted(b"").int(transaction).long(*blob);
            }
            let mut handles = Vec::with_capacity(part.len());
            let opened = self.responses(part.len(), |response| handles.push(response.object));
            for handle in &handles {
                self.push_get_segment(*handle);
            }
            let mut firsts = Vec::with_capacity(handles.len());
            let read = self.responses(handles.len(), |response| firsts.push(response));
            opened.and(read)?;
            for (handle, first) in handles.iter().zip(firsts) {
                let mut response = first;
                loop {
                    push_segments(&response.data, to);
                    if response.object == BLOB_END {
                        break;
                    }
                    self.push_get_segment(*handle);
                    response = self.response()?;
                }
                ends.push(to.len());
                self.packet.int(OP_CLOSE_BLOB).int(*handle);
                self.owed += 1;
            }
        }
        Ok(())
    }

    fn push_get_segment(&mut self, handle: i32) {
        self.packet.int(OP_GET_SEGMENT).int(handle).int(65_000).counted(b"");
    }

    /// Says goodbye.
    pub fn detach(&mut self) {
        let database = self.database;
        self.packet.int(OP_DETACH).int(database);
        // The server ends the connection in any case.
        let _ = self.flush();
        self.sender.shut_down();
    }
}

/// Cancels what another thread's call does.
pub(crate) fn cancel(sender: &ChannelSender) {
    let mut packet = Packet::default();
    packet.int(OP_CANCEL).int(3);
    // If it cannot be sent, the connection is broken, which ends the call, too.
    let _ = sender.send(&mut packet.bytes);
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// The parts of a BLOB that came in one answer, each after its length in two bytes.
fn push_segments(mut data: &[u8], to: &mut Vec<u8>) {
    while let Some((length, rest)) = data.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (segment, later) = rest.split_at(length);
        to.extend_from_slice(segment);
        data = later;
    }
}

fn unexpected(operation: i32) -> WireError {
    let message = format!("the server sent the operation {operation}, which is no answer");
    WireError::Io(io::Error::new(io::ErrorKind::InvalidData, message))
}
