//! Serves requests, one after the other.

use crate::database::Database;
use crate::input::{Input, ProtocolError};
use crate::log::Log;
use crate::output::ReplyWriter;
use crate::parameters::{self, ParameterRuns};
use crate::tag::{EXEC, QUERY, QUIT, Tag};
use bobak_sqlite::raw::Value;
use std::io::{Read, Write};

/// Serves requests until the client quits. The database is closed before the client gets the reply to
/// QUIT. If `database` is an error, it is the reply to all other requests.
///
/// # Errors
/// [`ProtocolError::EndOfInput`] if the input ends between two requests; other errors if the program
/// can't continue. Malformed requests have got an error reply.
pub fn serve<R: Read, W: Write + Send + 'static>(
    input: R,
    output: W,
    database: Result<Database, String>,
    log: &Log,
) -> Result<(), ProtocolError> {
    let (max_count, max_length) = database.as_ref().map_or((0, 0), Database::limits);
    let mut server = Server {
        input: Input::new(input),
        output: ReplyWriter::new(output),
        database,
        parameters: ParameterRuns::new(max_count, max_length),
        columns: Vec::new(),
        log,
    };
    loop {
        let code = server.input.request()?;
        let result = match code {
            EXEC => server.exec(),
            QUERY => server.query(),
            QUIT => {
                server.database = Err("the database is closed".to_owned());
                server.output.push_byte(1);
                return server.output.finish().map_err(ProtocolError::Io);
            }
            code => Err(ProtocolError::Malformed(format!("unknown request code {code}"))),
        };
        if let Err(error) = result {
            server.report_error(code, &error);
            return Err(error);
        }
    }
}

/// The session of one client.
struct Server<'l, R, W> {
    input: Input<R>,
    output: ReplyWriter<W>,
    database: Result<Database, String>,
    parameters: ParameterRuns,
    /// The requested column types.
    columns: Vec<Tag>,
    log: &'l Log,
}

impl<R: Read, W: Write + Send + 'static> Server<'_, R, W> {
    /// Runs a statement repeatedly, each time with the next parameters.
    fn exec(&mut self) -> Result<(), ProtocolError> {
        let length = self.input.length()?;
        let sql = self.input.string(length)?;
        let runs = self.input.int32()?;
        let each = count(self.input.int32()?, "number of parameters")?;
        let sql = self.input.bytes(sql);
        self.log.debug(|| format!("exec {runs} × {each}: {}", String::from_utf8_lossy(sql)));
        let mut prepared = match &mut self.database {
            Ok(database) => database.prepare(sql).map(|statement| (database, statement)),
            Err(error) => Err(error.clone()),
        };
        let mut failed = prepared.as_ref().err().cloned();
        for _ in 0..runs {
            match &mut prepared {
                Ok((database, statement)) if failed.is_none() => {
                    failed = self.parameters.read(&mut self.input, each)?;
                    if failed.is_none() {
                        let values = self.parameters.values(&self.input);
                        failed = database.execute(statement, values).err().map(message);
                    }
                }
                _ if each == 0 => break,
                _ => parameters::skip(&mut self.input, each)?,
            }
        }
        if let Ok((database, statement)) = prepared {
            database.release(statement);
        }
        self.reply(failed)
    }

    /// Runs a query, and sends its rows.
    fn query(&mut self) -> Result<(), ProtocolError> {
        let length = self.input.length()?;
        let sql = self.input.string(length)?;
        let parameters = count(self.input.int32()?, "number of parameters")?;
        let mut failed = self.parameters.read_in_group(&mut self.input, parameters)?;
        // Skipping parameters starts a new group, which does not contain the text.
        let was_skipped = failed.is_some();
        let invalid = self.read_columns()?;
        let sql = if was_skipped { &[] } else { self.input.bytes(sql) };
        self.log.debug(|| format!("query {parameters}: {}", String::from_utf8_lossy(sql)));
        if failed.is_none() {
            failed = invalid;
        }
        if failed.is_none() {
            failed = match &mut self.database {
                Ok(database) => match database.prepare(sql) {
                    Ok(statement) => {
                        let values = self.parameters.values(&self.input);
                        let sent =
                            rows(database, &statement, values, &self.columns, &mut self.output);
                        database.release(statement);
                        sent?
                    }
                    Err(error) => Some(error),
                },
                Err(error) => Some(error.clone()),
            };
        }
        self.output.push_byte(0);
        self.reply(failed)
    }

    /// Reads the requested column types; returns a message if they are invalid.
    fn read_columns(&mut self) -> Result<Option<String>, ProtocolError> {
        let count = count(self.input.int32()?, "number of columns")?;
        let mut invalid = None;
        self.columns.clear();
        for column in 0..count {
            let byte = self.input.byte()?;
            match Tag::from_byte(byte) {
                Some(tag) if tag.kind().is_some() => self.columns.push(tag),
                _ => invalid = Some(format!("invalid type {byte} for column {column}")),
            }
        }
        Ok(invalid)
    }

    fn reply(&mut self, failed: Option<String>) -> Result<(), ProtocolError> {
        match failed {
            None => self.output.push_byte(1),
            Some(error) => {
                self.log.info(|| format!("failed: {error}"));
                self.output.push_byte(0);
                self.output.push_text(&error);
            }
        }
        self.output.finish().map_err(ProtocolError::Io)
    }

    /// Reports the error that ends the session, to a client that may still read.
    fn report_error(&mut self, code: u8, error: &ProtocolError) {
        if matches!(error, ProtocolError::Malformed(_) | ProtocolError::OutOfMemory(_)) {
            if code == QUERY {
                self.output.push_byte(0);
            }
            // The client may have disconnected.
            let _ = self.reply(Some(error.to_string()));
        }
    }
}

/// Sends a query's rows; returns the message of an error that ended them early.
fn rows<'v, W: Write + Send + 'static>(
    database: &'v mut Database,
    statement: &crate::database::CachedStatement,
    values: impl ExactSizeIterator<Item = Value<'v>>,
    columns: &[Tag],
    output: &mut ReplyWriter<W>,
) -> Result<Option<String>, ProtocolError> {
    let mut rows = match database.query(statement, values) {
        Ok(rows) => rows,
        Err(error) => return Ok(Some(message(error))),
    };
    loop {
        let mut row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(message(error))),
        };
        let (mut tags, mut writer) = (columns.iter(), output.row());
        let kinds = columns.iter().filter_map(|tag| tag.kind());
        let read = row.read(kinds, |value| {
            if let Some(&tag) = tags.next() {
                writer.value(tag, value);
            }
        });
        writer.finish().map_err(ProtocolError::Io)?;
        if let Err(error) = read {
            return Ok(Some(message(error)));
        }
    }
}

fn message(error: bobak_sqlite::SqliteError) -> String {
    error.message().to_owned()
}

fn count(number: i32, what: &str) -> Result<usize, ProtocolError> {
    usize::try_from(number)
        .map_err(|_| ProtocolError::Malformed(format!("invalid {what}: {number}")))
}
