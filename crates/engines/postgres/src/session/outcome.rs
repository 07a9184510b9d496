//! Determines the outcome of a row write from the server's replies.

use crate::protocol::message::{Message, rows_of_tag};
use crate::protocol::row::{PgColumn, ValueSpans};
use bobak_core::{Error, ErrorKind, GeneratedKey, Outcome, Row, TableSchema, ValueRef, Verb};

/// A value of a returned key.
#[derive(Clone, Copy, Debug)]
enum ReturnedKey {
    Int(i64),
    Uuid([u8; 16]),
}

/// The replies to the statements of one row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowReply {
    /// The first value of the returned row.
    first: Option<i64>,
    /// The second.
    second: Option<ReturnedKey>,
    /// How many rows the last statement changed.
    pub count: u64,
    /// How many statements have ended.
    pub done: usize,
}

impl RowReply {
    /// The replies for a row that was not sent.
    pub const fn unknown() -> Self {
        Self { first: None, second: None, count: 0, done: usize::MAX }
    }

    /// Whether the row was not sent.
    pub const fn is_unknown(&self) -> bool {
        self.done == usize::MAX
    }

    /// Records a message.
    pub fn note(&mut self, message: Message<'_>, columns: &[PgColumn], spans: &mut ValueSpans) {
        match message {
            Message::Row(body) => {
                let row = spans.of(body, columns);
                self.first = match row.get(0) {
                    ValueRef::Int(integer) => Some(integer),
                    _ => None,
                };
                self.second = match row.get(1) {
                    ValueRef::Int(integer) => Some(ReturnedKey::Int(integer)),
                    ValueRef::Bytes(bytes) => bytes.try_into().ok().map(ReturnedKey::Uuid),
                    _ => None,
                };
            }
            Message::Done(tag) if !is_utility(tag) => {
                self.count = rows_of_tag(tag);
                self.done += 1;
            }
            _ => {}
        }
    }

    /// The outcome; `None` for an update that found no row.
    pub fn outcome(&self, table: &TableSchema, verb: Verb, made: bool) -> Option<Outcome> {
        let key = |key: Option<i64>| Outcome::Inserted(key.filter(|_| made).map(GeneratedKey::Int));
        let second = match self.second {
            Some(ReturnedKey::Int(key)) => Some(key),
            _ => None,
        };
        Some(match verb {
            Verb::Insert | Verb::InsertOrReplace => key(self.first),
            Verb::InsertOrIgnore if self.count == 0 => Outcome::Ignored,
            Verb::InsertOrIgnore => key(self.first),
            Verb::Upsert | Verb::UpsertOn(_) if self.first == Some(1) => key(second),
            Verb::Upsert => Outcome::Changed(1),
            Verb::UpsertOn(_) => Outcome::of_updated(table, |_| match &self.second {
                Some(ReturnedKey::Int(key)) => ValueRef::Int(*key),
                Some(ReturnedKey::Uuid(key)) => ValueRef::Bytes(key),
                None => ValueRef::Null,
            }),
            Verb::Update if self.count == 0 => return None,
            Verb::Update => Outcome::Changed(1),
            Verb::Delete => Outcome::Changed(self.count),
        })
    }

    /// The generated key, if there is one.
    pub fn key(&self, table: &TableSchema, verb: Verb, made: bool) -> Option<i64> {
        match self.outcome(table, verb, made) {
            Some(Outcome::Inserted(Some(GeneratedKey::Int(key)))) => Some(key),
            _ => None,
        }
    }
}

/// Whether a statement only controls the transaction, such as the savepoints around a row.
pub(crate) fn is_utility(tag: &[u8]) -> bool {
    matches!(tag, b"SAVEPOINT" | b"RELEASE" | b"ROLLBACK" | b"BEGIN" | b"COMMIT")
}

/// The error of an update that found no row: `Conflict` if the row exists with another version, else `NotFound`.
pub(crate) fn not_updated(table: &TableSchema, is_there: bool) -> Error {
    let error = if is_there {
        Error::new(ErrorKind::Conflict, "the row was changed since it was read")
    } else {
        Error::new(ErrorKind::NotFound, "no row has this key")
    };
    error.in_table(table.name().to_owned())
}
