//! The steps that a random program is made of.

use crate::{Entry, Table, Values};
use bobak_core::{Assign, Condition, OnError, SchemaChange, Select, TransactionControl};
use std::fmt;
use std::sync::Arc;

/// One step. A program is a list of steps, the same for every engine.
#[derive(Clone)]
pub(crate) enum Step {
    Write(Entry),
    Batch(Vec<Entry>, OnError),
    Change(Table, Option<Condition>, Option<Vec<Assign>>),
    Get(Table, Values),
    Query(Select),
    /// The same, in another session.
    Elsewhere(Select),
    Control(Mark),
    /// Adds a column or an index: the last one of the table.
    Alter(Change),
    /// Opens a cursor in a slot, and closes the one that was there.
    Open(usize, Select),
    Fetch(usize),
    /// Reads the remaining rows of a cursor.
    Drain(usize),
    Close(usize),
    /// Drops the session with its transaction and cursors, and opens another.
    NewSession,
    Reopen,
}

/// A table that gains a column or an index.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) old: Table,
    pub(crate) new: Table,
    pub(crate) addition: Addition,
}

/// What a schema change adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addition {
    Column,
    Index,
}

impl Change {
    pub(crate) fn as_schema_change(&self) -> SchemaChange {
        let table = Arc::clone(&self.new);
        match self.addition {
            Addition::Column => {
                let column = table.columns().len().saturating_sub(1);
                SchemaChange::AddColumn { table, column }
            }
            Addition::Index => {
                let index = table.indexes().len().saturating_sub(1);
                SchemaChange::AddIndex { table, index }
            }
        }
    }
}

/// A [`TransactionControl`] without borrowed data: savepoint names are one letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Begin,
    Commit,
    Rollback,
    Savepoint(&'static str),
    Release(&'static str),
    RollbackTo(&'static str),
}

impl Mark {
    pub(crate) const fn as_control(self) -> TransactionControl<'static> {
        match self {
            Self::Begin => TransactionControl::Begin,
            Self::Commit => TransactionControl::Commit,
            Self::Rollback => TransactionControl::Rollback,
            Self::Savepoint(name) => TransactionControl::Savepoint(name),
            Self::Release(name) => TransactionControl::Release(name),
            Self::RollbackTo(name) => TransactionControl::RollbackTo(name),
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(entry) => write!(f, "{entry:?}"),
            Self::Batch(entries, on_error) => {
                write!(f, "batch of {} that does {on_error:?}", entries.len())?;
                entries.iter().try_for_each(|entry| write!(f, "\n        {entry:?}"))
            }
            Self::Change(table, condition, assign) => {
                let name = table.name();
                write!(f, "change {name} where {condition:?} to {assign:?}")
            }
            Self::Get(table, key) => write!(f, "get {} {key:?}", table.name()),
            Self::Query(select) => show(f, "query", select),
            Self::Elsewhere(select) => show(f, "elsewhere query", select),
            Self::Control(mark) => write!(f, "{mark:?}"),
            Self::Alter(Change { new, addition: Addition::Column, .. }) => {
                write!(f, "add to {} {:?}", new.name(), new.columns().last())
            }
            Self::Alter(Change { new, addition: Addition::Index, .. }) => {
                write!(f, "add to {} {:?}", new.name(), new.indexes().last())
            }
            Self::Open(slot, select) => show(f, &format!("open cursor {slot}"), select),
            Self::Fetch(slot) => write!(f, "fetch from cursor {slot}"),
            Self::Drain(slot) => write!(f, "drain cursor {slot}"),
            Self::Close(slot) => write!(f, "close cursor {slot}"),
            Self::NewSession => f.write_str("new session"),
            Self::Reopen => f.write_str("reopen"),
        }
    }
}

fn show(f: &mut fmt::Formatter<'_>, what: &str, select: &Select) -> fmt::Result {
    let Select { table, columns, condition, group, order, limit, offset, .. } = select;
    let order: Vec<_> = order
        .iter()
        .map(|step| format!("{}{}", step.column, if step.descending { " down" } else { "" }))
        .collect();
    write!(
        f,
        "{what} {} columns {columns:?} where {condition:?} group {group:?} order {order:?} limit {limit:?} offset {offset}",
        table.name()
    )
}
