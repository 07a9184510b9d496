//! One change of one row.

use bobak_core::change_log::{ACTOR, AT, LoggedVerb, SEQ, VERB, new_column, old_column};
use bobak_core::{
    DynRow, Error, ErrorKind, Field, Record, Result, ResultColumn, Row, TableSchema, Timestamp,
    Value, ValueRef,
};
use std::sync::Arc;

/// What happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// Inserted: there is a row after, and none before.
    Insert,
    /// Updated, possibly with the same values.
    Update,
    /// Deleted: there is a row before, and none after.
    Delete,
}

impl ChangeKind {
    /// The kind in lower case: `insert`, `update`, `delete`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// One change of one row of a tracked table. See [`Changes`](crate::Changes).
#[derive(Clone, Debug)]
pub struct Change {
    /// The change's number, from 1: larger than that of every change committed before it, in all tracked
    /// tables of the engine. Numbers may be skipped.
    pub id: u64,
    /// The table, with its current schema.
    pub table: Arc<TableSchema>,
    /// What happened.
    pub kind: ChangeKind,
    /// The time of the change by the clock of the engine's machine, never earlier than that of the change
    /// before it.
    pub at: Timestamp,
    /// Who made the change, if known: see [`set_actor`](bobak_core::Session::set_actor).
    pub actor: Option<String>,
    /// The row before: values in stored form, in the order of the table's columns. Columns that were
    /// added later are NULL.
    pub before: Option<DynRow>,
    /// The row after.
    pub after: Option<DynRow>,
}

impl Change {
    /// The key of the row: after the change, or before it if the row was deleted.
    #[must_use]
    pub fn key(&self) -> Vec<Value<'static>> {
        let row = self.after.as_ref().or(self.before.as_ref());
        let values = row.map_or(&[][..], DynRow::values);
        let value = |&place: &usize| values.get(place).cloned().unwrap_or(Value::Null);
        self.table.key().iter().map(value).collect()
    }

    /// The record before the change.
    ///
    /// # Errors
    /// `Schema` if the record has a column that the table lacks; as [`Record::read`].
    pub fn before_as<T: Record>(&self) -> Result<Option<T>> {
        self.before.as_ref().map(|row| self.read(row)).transpose()
    }

    /// The record after the change.
    ///
    /// # Errors
    /// As [`before_as`](Self::before_as).
    pub fn after_as<T: Record>(&self) -> Result<Option<T>> {
        self.after.as_ref().map(|row| self.read(row)).transpose()
    }

    fn read<T: Record>(&self, row: &DynRow) -> Result<T> {
        let place = |column: &bobak_core::ColumnSchema| self.table.column(&column.name);
        let places: Vec<usize> = T::schema().columns().iter().map(place).collect::<Result<_>>()?;
        T::read(&Projection { row, places: &places })
    }

    /// The change as a row of the log: number, time, actor, verb, and for each column the values before
    /// and after.
    #[must_use]
    pub fn log_values(&self) -> Vec<Value<'static>> {
        let verb = match self.kind {
            ChangeKind::Insert => LoggedVerb::Inserted,
            ChangeKind::Update => LoggedVerb::Updated,
            ChangeKind::Delete => LoggedVerb::Deleted,
        };
        let id = i64::try_from(self.id).unwrap_or(i64::MAX);
        let actor = self.actor.clone().map_or(Value::Null, Value::from);
        let at = self.at.as_microsecond();
        let mut values = vec![Value::Int(id), Value::Int(at), actor, Value::Int(verb as i64)];
        let value = |row: &Option<DynRow>, place: usize| {
            let value = row.as_ref().and_then(|row| row.values().get(place));
            value.cloned().unwrap_or(Value::Null)
        };
        for place in 0..self.table.columns().len() {
            values.push(value(&self.before, place));
            values.push(value(&self.after, place));
        }
        values
    }

    /// The change in a row of a table's log. `columns` are those of the table.
    ///
    /// # Errors
    /// `Corrupt` if the row is no change.
    pub fn from_log(
        table: &Arc<TableSchema>,
        columns: &Arc<Vec<ResultColumn>>,
        row: &dyn Row,
    ) -> Result<Self> {
        let kind = match LoggedVerb::of_number(integer(row, VERB)?)? {
            LoggedVerb::Inserted => ChangeKind::Insert,
            LoggedVerb::Updated => ChangeKind::Update,
            LoggedVerb::Deleted => ChangeKind::Delete,
        };
        let image = |place: fn(usize) -> usize| {
            let places: Vec<usize> = (0..columns.len()).map(place).collect();
            DynRow::from_parts(Arc::clone(columns), &Projection { row, places: &places })
        };
        Ok(Self {
            id: integer(row, SEQ)?.unsigned_abs(),
            table: Arc::clone(table),
            kind,
            at: Timestamp::from_value(row.get(AT))?,
            actor: Option::from_value(row.get(ACTOR))?,
            before: (kind != ChangeKind::Insert).then(|| image(old_column)),
            after: (kind != ChangeKind::Delete).then(|| image(new_column)),
        })
    }
}

/// A row with other columns: those at the given indexes.
pub(crate) struct Projection<'a> {
    pub row: &'a dyn Row,
    pub places: &'a [usize],
}

impl Row for Projection<'_> {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        self.places.get(column).map_or(ValueRef::Null, |&place| self.row.get(place))
    }
}

/// The integer in a column of a log's row.
pub(crate) fn integer(row: &dyn Row, place: usize) -> Result<i64> {
    match row.get(place) {
        ValueRef::Int(integer) => Ok(integer),
        other => {
            let message = format!("expected a number in the change log, found {}", other.class());
            Err(Error::new(ErrorKind::Corrupt, message))
        }
    }
}
