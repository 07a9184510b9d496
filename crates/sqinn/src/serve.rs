//! The requests, one after the other.

use crate::database::Database;
use crate::input::{Broken, Input};
use crate::log::Log;
use crate::output::Output;
use crate::parameters::{self, Parameters};
use crate::tag::{EXEC, QUERY, QUIT, Tag};
use bobak_sqlite::raw::Value;
use std::io::{Read, Write};

/// Answers requests until the client says that it is done.
///
/// The database is closed before that is confirmed. `database` may be why it could not be opened:
/// requests are then answered with that.
///
/// # Errors
/// [`Broken::End`] where the input ends between two requests; the others where it can't go on. What
/// was malformed has been answered with an error.
pub fn serve<R: Read, W: Write + Send + 'static>(
    input: R,
    output: W,
    database: Result<Database, String>,
    log: &Log,
) -> Result<(), Broken> {
    let (most, longest) = database.as_ref().map_or((0, 0), Database::limits);
    let mut server = Server {
        input: Input::new(input),
        output: Output::new(output),
        database,
        parameters: Parameters::new(most, longest),
        columns: Vec::new(),
        log,
    };
    loop {
        let code = server.input.request()?;
        let answered = match code {
            EXEC => server.exec(),
            QUERY => server.query(),
            QUIT => {
                server.database = Err("the database is closed".to_owned());
                server.output.byte(1);
                return server.output.finish().map_err(Broken::Io);
            }
            code => Err(Broken::Malformed(format!("there is no request {code}"))),
        };
        if let Err(broken) = answered {
            server.last_words(code, &broken);
            return Err(broken);
        }
    }
}

/// All that one client has.
struct Server<'l, R, W> {
    input: Input<R>,
    output: Output<W>,
    database: Result<Database, String>,
    parameters: Parameters,
    /// The types that the client wants.
    columns: Vec<Tag>,
    log: &'l Log,
}

impl<R: Read, W: Write + Send + 'static> Server<'_, R, W> {
    /// Runs a statement so many times, each time with the next parameters.
    fn exec(&mut self) -> Result<(), Broken> {
        let length = self.input.length()?;
        let sql = self.input.string(length)?;
        let runs = self.input.int32()?;
        let each = count(self.input.int32()?, "number of parameters")?;
        let sql = self.input.bytes(sql);
        self.log.debug(|| format!("exec {runs} × {each}: {}", String::from_utf8_lossy(sql)));
        let mut prepared = match &mut self.database {
            Ok(database) => database.prepare(sql).map(|statement| (database, statement)),
            Err(why) => Err(why.clone()),
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
        self.outcome(failed)
    }

    /// Runs a statement and sends its rows.
    fn query(&mut self) -> Result<(), Broken> {
        let length = self.input.length()?;
        let sql = self.input.string(length)?;
        let parameters = count(self.input.int32()?, "number of parameters")?;
        let mut failed = self.parameters.read_on(&mut self.input, parameters)?;
        // After a refused parameter the group has begun anew, without the text.
        let refused = failed.is_some();
        let wrong = self.read_columns()?;
        let sql = if refused { &[] } else { self.input.bytes(sql) };
        self.log.debug(|| format!("query {parameters}: {}", String::from_utf8_lossy(sql)));
        if failed.is_none() {
            failed = wrong;
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
                    Err(why) => Some(why),
                },
                Err(why) => Some(why.clone()),
            };
        }
        self.output.byte(0);
        self.outcome(failed)
    }

    /// Reads which types are wanted; the text is what is wrong with them.
    fn read_columns(&mut self) -> Result<Option<String>, Broken> {
        let count = count(self.input.int32()?, "number of columns")?;
        let mut wrong = None;
        self.columns.clear();
        for column in 0..count {
            let byte = self.input.byte()?;
            match Tag::from_byte(byte) {
                Some(tag) if tag.kind().is_some() => self.columns.push(tag),
                _ => wrong = Some(format!("column {column} is asked for as the type {byte}")),
            }
        }
        Ok(wrong)
    }

    fn outcome(&mut self, failed: Option<String>) -> Result<(), Broken> {
        match failed {
            None => self.output.byte(1),
            Some(why) => {
                self.log.info(|| format!("failed: {why}"));
                self.output.byte(0);
                self.output.text(&why);
            }
        }
        self.output.finish().map_err(Broken::Io)
    }

    /// Says why no more will be answered, to a client that may still be reading.
    fn last_words(&mut self, code: u8, broken: &Broken) {
        if matches!(broken, Broken::Malformed(_) | Broken::Memory(_)) {
            if code == QUERY {
                self.output.byte(0);
            }
            // It may be gone: then there is nobody to tell.
            let _ = self.outcome(Some(broken.to_string()));
        }
    }
}

/// Sends a statement's rows; the text is why they ended early.
fn rows<'v, W: Write + Send + 'static>(
    database: &'v mut Database,
    statement: &crate::database::Statement,
    values: impl ExactSizeIterator<Item = Value<'v>>,
    columns: &[Tag],
    output: &mut Output<W>,
) -> Result<Option<String>, Broken> {
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
        let mut tags = columns.iter();
        let mut writer = output.row();
        let kinds = columns.iter().filter_map(|tag| tag.kind());
        let read = row.read(kinds, |value| {
            if let Some(&tag) = tags.next() {
                writer.value(tag, value);
            }
        });
        writer.finish().map_err(Broken::Io)?;
        if let Err(error) = read {
            return Ok(Some(message(error)));
        }
    }
}

fn message(error: bobak_sqlite::SqliteError) -> String {
    error.message().to_owned()
}

fn count(number: i32, what: &str) -> Result<usize, Broken> {
    usize::try_from(number).map_err(|_| Broken::Malformed(format!("the {what} is {number}")))
}
