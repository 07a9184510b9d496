//! A call of an engine, and its shape.

use super::sql_text::{first_word, syntax_of, write_shape};
use super::{join_text, text};
use crate::statements::MonitoredCall;
use crate::{
    BulkChange, Join, Outcome, SchemaChange, Select, Source, TableSchema, TransactionControl,
    ValueAddress, Verb, Write, WriteBatch,
};
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

/// A call of a session.
pub(super) enum EngineCall<'a> {
    Write(&'a Write<'a>),
    Get(&'a TableSchema),
    Select(&'a Select),
    Join(&'a Join),
    Sql(&'a str),
    Change(&'a BulkChange<'a>),
    ReadPart(&'a ValueAddress<'a>),
    WriteValue(&'a ValueAddress<'a>),
    Batch(&'a WriteBatch),
    Control(TransactionControl<'a>),
    BeginReading,
    Alter(&'a [SchemaChange]),
    /// Reads which tables there are.
    ReadSchema,
}

impl<'a> EngineCall<'a> {
    pub const fn of_source(source: &Source<'a>) -> Self {
        match source {
            Source::Select(select) => Self::Select(select),
            Source::Sql { text, .. } => Self::Sql(text),
        }
    }
}

impl MonitoredCall for EngineCall<'_> {
    fn key(&self, engine: &'static str, hasher: &RandomState) -> u64 {
        let mut state = hasher.build_hasher();
        engine.hash(&mut state);
        match self {
            // The most frequent ones, without writing their text.
            Self::Get(table) => (0, table.name()).hash(&mut state),
            Self::Write(write) => {
                let fields =
                    if write.verb.sets_fields() { write.fields } else { Default::default() };
                (1, write.verb, fields, write.table.name()).hash(&mut state);
            }
            // Writing to a hasher does not fail.
            other => drop(other.write_text(engine, &mut HashText(&mut state))),
        }
        state.finish()
    }

    fn write_text(&self, engine: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        match self {
            Self::Write(write) => text::write_row(write, out),
            Self::Get(table) => text::get(table, out),
            Self::Select(select) => text::select(select, out),
            Self::Join(join) => join_text::join(join, out),
            Self::Sql(sql) => write_shape(syntax_of(engine), sql, out),
            Self::Change(change) => text::change(change, out),
            Self::ReadPart(value) => text::read_part(value, out),
            Self::WriteValue(value) => text::write_value(value, out),
            Self::Batch(batch) => text::batch(batch, out),
            Self::Control(step) => out.write_str(step_name(*step)),
            Self::BeginReading => out.write_str("BEGIN READ ONLY"),
            Self::Alter(changes) => text::alter(changes, out),
            Self::ReadSchema => out.write_str("READ SCHEMA"),
        }
    }

    fn verb(&self, engine: &str) -> String {
        let verb = match self {
            Self::Write(write) => verb_name(write.verb),
            Self::Get(_) => "get",
            Self::Select(_) | Self::Join(_) => "select",
            Self::Sql(sql) => return first_word(syntax_of(engine), sql).to_ascii_lowercase(),
            Self::Change(change) if change.assign.is_some() => "update",
            Self::Change(_) => "delete",
            Self::ReadPart(_) => "get",
            Self::WriteValue(_) => "update",
            Self::Batch(_) => "batch",
            Self::Control(step) => return step_name(*step).to_ascii_lowercase(),
            Self::BeginReading => "begin",
            Self::Alter(_) => "alter",
            Self::ReadSchema => "schema",
        };
        verb.to_owned()
    }

    fn table(&self) -> Option<&str> {
        Some(match self {
            Self::Write(write) => write.table.name(),
            Self::Get(table) => table.name(),
            Self::Select(select) => select.table.name(),
            Self::Join(join) => join.tables.first()?.table.name(),
            Self::Change(change) => change.table.name(),
            Self::ReadPart(value) | Self::WriteValue(value) => value.table.name(),
            Self::Alter(changes) => changes.first()?.table().name(),
            _ => return None,
        })
    }

    fn is_waiting(&self) -> bool {
        matches!(self, Self::Control(TransactionControl::Begin))
    }

    fn is_sql(&self) -> bool {
        matches!(self, Self::Sql(_))
    }
}

/// How many rows a write has changed.
pub(super) const fn rows_of(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Changed(rows) => *rows,
        Outcome::Ignored => 0,
        Outcome::Inserted(_) | Outcome::Updated(_) => 1,
    }
}

/// The name of a verb, in lower case.
const fn verb_name(verb: Verb) -> &'static str {
    match verb {
        Verb::Insert | Verb::InsertOrIgnore | Verb::InsertOrReplace => "insert",
        Verb::Upsert | Verb::UpsertOn(_) => "upsert",
        Verb::Update => "update",
        Verb::Delete => "delete",
    }
}

const fn step_name(step: TransactionControl<'_>) -> &'static str {
    match step {
        TransactionControl::Begin => "BEGIN",
        TransactionControl::Commit => "COMMIT",
        TransactionControl::Rollback => "ROLLBACK",
        TransactionControl::Savepoint(_) => "SAVEPOINT",
        TransactionControl::Release(_) => "RELEASE",
        TransactionControl::RollbackTo(_) => "ROLLBACK TO",
    }
}

/// Hashes text as it is written.
struct HashText<'h, H>(&'h mut H);

impl<H: Hasher> fmt::Write for HashText<'_, H> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
