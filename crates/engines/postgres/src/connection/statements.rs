//! Prepared statements of a connection, and how values are bound to them.

use crate::connection::Connection;
use crate::protocol::message::{self, Message};
use crate::protocol::row::PgColumn;
use crate::protocol::value::{self, ColumnFormat, Outside};
use bobak_core::{Result, ValueRef};
use std::sync::Arc;

/// A prepared statement.
#[derive(Debug)]
pub(crate) struct PreparedStatement {
    /// Its name on the connection; empty if it is prepared again for each use.
    name: String,
    /// Its SQL text, for the latter case.
    sql: Box<str>,
    pub parameters: Vec<u32>,
    pub columns: Vec<PgColumn>,
}

/// How many statements a connection caches. When the cache is full, which is rare, all are dropped.
const CACHE_CAPACITY: usize = 512;

/// The longest cached SQL text, in bytes. Longer ones contain lists of values, and are not used again.
const MAX_CACHED_LENGTH: usize = 16 << 10;

impl Connection {
    /// The cached statement with this SQL text.
    pub fn prepared(&self, sql: &str) -> Option<Arc<PreparedStatement>> {
        self.statements.get(sql).cloned()
    }

    /// The cached statement of a shape with these words.
    pub fn prepared_shape(&self, words: &[u64]) -> Option<Arc<PreparedStatement>> {
        self.shapes.get(words).cloned()
    }

    /// Caches a statement by its shape, too.
    pub fn cache_shape(&mut self, words: &[u64], statement: &Arc<PreparedStatement>) {
        if self.shapes.len() >= CACHE_CAPACITY {
            self.shapes.clear();
        }
        self.shapes.insert(words.into(), Arc::clone(statement));
    }

    /// Appends the requests that prepare a statement; [`prepare_end`](Self::prepare_end) receives the replies.
    pub fn prepare_begin(&mut self, sql: &str, types: &[u32]) -> String {
        if self.statements.len() >= CACHE_CAPACITY {
            self.shapes.clear();
            for (_, old) in self.statements.drain() {
                if !old.name.is_empty() {
                    message::close(&mut self.out, b'S', &old.name);
                }
            }
        }
        let mut name = String::new();
        if self.settings.prepared && sql.len() <= MAX_CACHED_LENGTH {
            self.made += 1;
            name = format!("b{}", self.made);
        }
        message::parse(&mut self.out, &name, sql, types);
        message::describe(&mut self.out, &name);
        name
    }

    /// Receives the replies to [`prepare_begin`](Self::prepare_begin), until the server is ready.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub fn prepare_end(&mut self, sql: &str, name: String) -> Result<Arc<PreparedStatement>> {
        let (mut parameters, mut columns) = (Vec::new(), Vec::new());
        self.finish(|message| {
            match message {
                Message::Parameters(body) => parameters = oids(body),
                Message::Columns(body) => columns = columns_of(body),
                _ => {}
            }
            Ok(())
        })?;
        let sql: Box<str> = sql.into();
        let long = sql.len() > MAX_CACHED_LENGTH;
        let prepared = Arc::new(PreparedStatement { name, sql: sql.clone(), parameters, columns });
        if !long {
            self.statements.insert(sql, Arc::clone(&prepared));
        }
        Ok(prepared)
    }

    /// Drops all cached statements, since tables have changed.
    pub fn forget_statements(&mut self) {
        self.statements.clear();
        self.shapes.clear();
    }

    /// Appends a request that binds the parameters returned by `value` to a portal.
    ///
    /// # Errors
    /// Those of a value that cannot be sent; nothing is appended then.
    pub fn bind<'v>(
        &mut self,
        prepared: &PreparedStatement,
        portal: &str,
        outside: Outside,
        value: impl FnMut(usize) -> ValueRef<'v>,
    ) -> Result<()> {
        self.bind_around(prepared, portal, outside, value, None).map(drop)
    }

    /// As [`bind`](Self::bind), with a gap for a value of this length at this place, where `value` returns no bytes: the
    /// buffer then ends before the gap. Returns what belongs behind it.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_around<'v>(
        &mut self,
        prepared: &PreparedStatement,
        portal: &str,
        outside: Outside,
        mut value: impl FnMut(usize) -> ValueRef<'v>,
        gap: Option<(usize, u32)>,
    ) -> Result<Vec<u8>> {
        let start = self.out.len();
        if prepared.name.is_empty() {
            message::parse(&mut self.out, "", &prepared.sql, &prepared.parameters);
        }
        let (mut wrong, message) = (None, self.out.len());
        let mut end = message;
        message::write(&mut self.out, b'B', |out| {
            message::push_text(out, portal);
            message::push_text(out, &prepared.name);
            let types = &prepared.parameters;
            let textual = (0..types.len())
                .any(|place| types.get(place).is_some_and(|oid| as_text(value(place), *oid)));
            if textual {
                push_count(out, types.len());
                for (place, oid) in types.iter().enumerate() {
                    let format = u16::from(!as_text(value(place), *oid));
                    out.extend_from_slice(&format.to_be_bytes());
                }
            } else {
                out.extend_from_slice(&[0, 1, 0, 1]);
            }
            push_count(out, types.len());
            for (place, oid) in types.iter().enumerate() {
                let value = value(place);
                let oid = if as_text(value, *oid) { value::oid::TEXT } else { *oid };
                if let Err(error) = value::encode(out, value, oid, outside) {
                    wrong.get_or_insert((place, error));
                }
                if gap.is_some_and(|(gap, _)| gap == place) {
                    end = out.len();
                }
            }
            push_formats(out, &prepared.columns);
        });
        if let Some((place, error)) = wrong {
            self.out.truncate(start);
            return Err(error.at_row(place as u64));
        }
        let Some((_, length)) = gap else { return Ok(Vec::new()) };
        message::add_to_length(&mut self.out, message + 1, length);
        message::add_to_length(&mut self.out, end - message::LENGTH, length);
        Ok(self.out.split_off(end))
    }

    /// As [`bind`](Self::bind), to the unnamed portal, with encoded parameters.
    pub fn bind_raw(&mut self, prepared: &PreparedStatement, parameters: &[Vec<u8>]) {
        if prepared.name.is_empty() {
            message::parse(&mut self.out, "", &prepared.sql, &prepared.parameters);
        }
        message::write(&mut self.out, b'B', |out| {
            out.push(0);
            message::push_text(out, &prepared.name);
            out.extend_from_slice(&[0, 1, 0, 1]);
            push_count(out, parameters.len());
            for parameter in parameters {
                out.extend_from_slice(&(parameter.len() as u32).to_be_bytes());
                out.extend_from_slice(parameter);
            }
            push_formats(out, &prepared.columns);
        });
    }
}

/// Whether a value is sent in its text form.
fn as_text(value: ValueRef<'_>, oid: u32) -> bool {
    !value::is_binary(oid) || value::goes_as_text(value, oid)
}

fn push_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&(count as u16).to_be_bytes());
}

/// Requests columns in binary form if their type's binary form is known, else as text.
fn push_formats(out: &mut Vec<u8>, columns: &[PgColumn]) {
    if columns.iter().all(PgColumn::is_binary) {
        out.extend_from_slice(&[0, 1, 0, 1]);
        return;
    }
    push_count(out, columns.len());
    for column in columns {
        out.extend_from_slice(&u16::from(column.is_binary()).to_be_bytes());
    }
}

fn oids(body: &[u8]) -> Vec<u32> {
    let (all, _) = body.get(2..).unwrap_or_default().as_chunks::<4>();
    all.iter().map(|bytes| u32::from_be_bytes(*bytes)).collect()
}

/// The columns of a RowDescription: a name, then table, number, type, length, modifier, format.
fn columns_of(body: &[u8]) -> Vec<PgColumn> {
    let mut rest = body.get(2..).unwrap_or_default();
    let mut columns = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let name = String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned();
        let Some(description) = rest.get(end + 1..end + 19) else { break };
        let number = |at: usize| {
            description
                .get(at..at + 4)
                .and_then(|bytes| bytes.first_chunk())
                .map_or(0, |b| u32::from_be_bytes(*b))
        };
        let (oid, modifier) = (number(6), number(12).cast_signed());
        columns.push(PgColumn { name, oid, modifier, kind: ColumnFormat::of(oid, modifier) });
        rest = rest.get(end + 19..).unwrap_or_default();
    }
    columns
}
