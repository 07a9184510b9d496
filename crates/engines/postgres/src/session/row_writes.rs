//! Row writes: one row per statement, but several statements per round trip. Used for single writes, and for rows of
//! batches for which there is no bulk plan.

use crate::connection::{Connection, PreparedStatement};
use crate::error::{is_taken_key, locate};
use crate::protocol::message::Message;
use crate::protocol::value::Outside;
use crate::session::outcome::{RowReply, not_updated};
use crate::session::state::SessionState;
use crate::table_info::{MOVE_SEQUENCE, SQL, TableInfo};
use bobak_core::{
    ColumnSchema, Error, ErrorKind, FieldSet, KeyGeneration, Outcome, Result, Row, TableSchema,
    Value, ValueRef, Verb, Write,
};
use std::sync::Arc;

/// The write of one row.
pub(crate) struct RowWrite<'a> {
    pub table: &'a Arc<TableSchema>,
    pub table_info: Arc<TableInfo>,
    pub verb: Verb,
    pub fields: FieldSet,
    pub row: &'a dyn Row,
}

/// The prepared statements of a row write.
pub(crate) struct Steps {
    clear: Option<(Arc<PreparedStatement>, Vec<usize>)>,
    main: Arc<PreparedStatement>,
    /// The columns of the main statement's parameters.
    places: Vec<usize>,
    bump: Option<(Arc<PreparedStatement>, i64)>,
    /// Whether the sequence generates the key.
    pub made: bool,
}

/// Writes one row.
///
/// # Errors
/// As [`Session::write`](bobak_core::Session::write).
pub(crate) fn write(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    write: &Write<'_>,
) -> Result<Outcome> {
    let table_info = state.table_info(connection, write.table)?;
    let row: &dyn Row = &write.values;
    let row_write =
        RowWrite { table: write.table, table_info, verb: write.verb, fields: write.fields, row };
    let mut done = write_once(state, connection, &row_write);
    if row_write.makes_key()
        && done.as_ref().is_err_and(|error| is_taken_key(error, write.table))
        && (!state.open || !state.failed)
    {
        // Another program has inserted keys without using the sequence.
        resync(state, connection, &row_write.table_info, write.table)?;
        done = write_once(state, connection, &row_write);
    }
    done.map_err(|error| locate(error, write.table))
}

fn write_once(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    row_write: &RowWrite<'_>,
) -> Result<Outcome> {
    let steps = row_write.prepare(state, connection)?;
    let mut replies = RowReply::default();
    let mut spans = std::mem::take(&mut state.spans);
    let done = state.operation(
        connection,
        true,
        |connection| steps.ask(connection, row_write),
        |message| {
            replies.note(message, &steps.main.columns, &mut spans);
            Ok(())
        },
    );
    state.spans = spans;
    done?;
    steps.reached(row_write, &replies);
    match replies.outcome(row_write.table, row_write.verb, steps.made) {
        Some(outcome) => Ok(outcome),
        None => Err(row_write.not_updated(state, connection)?),
    }
}

impl RowWrite<'_> {
    /// Whether the sequence generates the key of this row.
    pub fn makes_key(&self) -> bool {
        let new = !matches!(self.verb, Verb::Update | Verb::Delete);
        let missing = self.table.key().first().is_some_and(|place| self.row.get(*place).is_null());
        new && missing && self.table.key_generation() == KeyGeneration::Engine
    }

    /// Prepares the statements of this row.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub fn prepare(
        &self,
        state: &mut SessionState<'_>,
        connection: &mut Connection,
    ) -> Result<Steps> {
        let made = self.makes_key();
        let sql_texts = &self.table_info.sql_texts;
        let written;
        let text = match self.verb {
            Verb::Insert | Verb::InsertOrReplace => &sql_texts.insert[usize::from(made)],
            Verb::InsertOrIgnore => &sql_texts.ignore[usize::from(made)],
            Verb::Upsert | Verb::UpsertOn(_) => {
                written = bobak_sql::insert(SQL, self.table, self.verb, self.fields, 1, made);
                &written
            }
            Verb::Update => {
                written = bobak_sql::update(SQL, self.table, self.fields);
                &written
            }
            Verb::Delete => &sql_texts.delete,
        };
        let main = state.prepare(connection, text, &[])?;
        let mut clear = None;
        if self.verb == Verb::InsertOrReplace
            && let Some((text, places)) = &sql_texts.clear[usize::from(made)]
        {
            clear = Some((state.prepare(connection, text, &[])?, places.clone()));
        }
        let mut bump = None;
        if let Some(key) = self.given_key()
            && self.table_info.sequence_behind(key).is_some()
        {
            bump = Some((state.prepare(connection, MOVE_SEQUENCE, &[])?, key));
        }
        Ok(Steps { clear, main, places: self.places(made), bump, made })
    }

    /// The given key, if the sequence could have generated it.
    pub fn given_key(&self) -> Option<i64> {
        if self.table.key_generation() != KeyGeneration::Engine
            || matches!(self.verb, Verb::Update | Verb::Delete)
        {
            return None;
        }
        match self.row.get(*self.table.key().first()?) {
            ValueRef::Int(key) => Some(key),
            _ => None,
        }
    }

    fn places(&self, made: bool) -> Vec<usize> {
        let columns = self.table.written_columns();
        match self.verb {
            Verb::Update => {
                let mut places: Vec<usize> = self.fields.iter().collect();
                places.extend(self.table.key());
                places.extend(self.table.version());
                places
            }
            // A delete's row is its key.
            Verb::Delete => (0..self.table.key().len()).collect(),
            _ if made => columns.filter(|place| !self.table.key().contains(place)).collect(),
            _ => columns.collect(),
        }
    }

    /// The column of one of the row's places.
    fn column(&self, place: usize) -> Option<&ColumnSchema> {
        let place = match self.verb {
            Verb::Delete => *self.table.key().get(place)?,
            _ => place,
        };
        self.table.columns().get(place)
    }

    /// Why an update found no row.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub fn not_updated(
        &self,
        state: &mut SessionState<'_>,
        connection: &mut Connection,
    ) -> Result<Error> {
        let mut is_there = false;
        if self.table.version().is_some() {
            let statement = state.prepare(connection, &self.table_info.sql_texts.exists, &[])?;
            state.operation(
                connection,
                false,
                |connection| {
                    bind(connection, &statement, self, self.table.key())?;
                    Ok(())
                },
                |message| {
                    is_there |= matches!(message, Message::Row(_));
                    Ok(())
                },
            )?;
        }
        Ok(not_updated(self.table, is_there))
    }
}

impl Steps {
    /// The number of statements.
    pub fn count(&self) -> usize {
        1 + usize::from(self.clear.is_some()) + usize::from(self.bump.is_some())
    }

    /// Appends the requests.
    ///
    /// # Errors
    /// Those of a value that can't be sent.
    pub fn ask(&self, connection: &mut Connection, row_write: &RowWrite<'_>) -> Result<()> {
        if row_write.verb != Verb::Delete {
            row_write.table_info.narrow.check_row(row_write.table, row_write.row)?;
        }
        if let Some((clear, places)) = &self.clear {
            bind(connection, clear, row_write, places)?;
        }
        if let (Some((bump, key)), Some(sequence)) = (&self.bump, &row_write.table_info.sequence) {
            let values = [Value::from(sequence.as_str()), Value::Int(*key)];
            let value = |place: usize| values.get(place).map_or(ValueRef::Null, Value::as_ref);
            connection.bind(bump, "", Outside::Rejected, value)?;
            connection.execute("", 0);
        }
        bind(connection, &self.main, row_write, &self.places)
    }

    /// The columns of the result.
    pub fn columns(&self) -> &[crate::protocol::row::PgColumn] {
        &self.main.columns
    }

    /// Notes how far the sequence is.
    pub fn reached(&self, row_write: &RowWrite<'_>, replies: &RowReply) {
        if let Some((_, key)) = &self.bump {
            row_write.table_info.reached(*key);
        }
        if let Some(key) = replies.key(row_write.table, row_write.verb, self.made) {
            row_write.table_info.reached(key);
        }
    }
}

fn bind(
    connection: &mut Connection,
    prepared: &PreparedStatement,
    row_write: &RowWrite<'_>,
    places: &[usize],
) -> Result<()> {
    let value =
        |at: usize| places.get(at).map_or(ValueRef::Null, |place| row_write.row.get(*place));
    connection.bind(prepared, "", Outside::Rejected, value).map_err(|error| {
        let at = error.row().and_then(|at| usize::try_from(at).ok()).unwrap_or_default();
        let column = places.get(at).and_then(|place| row_write.column(*place));
        let clean = error.to_bare().in_table(row_write.table.name().to_owned());
        match column {
            Some(column) => clean.in_column(column.name.to_string()),
            None => clean,
        }
    })?;
    connection.execute("", 0);
    Ok(())
}

/// Advances a table's sequence beyond all existing keys.
///
/// # Errors
/// Those of the server and the connection; `Full` if no key is left.
pub(crate) fn resync(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    table_info: &TableInfo,
    table: &Arc<TableSchema>,
) -> Result<()> {
    let (Some(sequence), Some(key)) =
        (&table_info.sequence, table.key().first().and_then(|place| table.columns().get(*place)))
    else {
        return Err(Error::new(
            ErrorKind::Duplicate,
            "the server generated a key that already exists",
        ));
    };
    table_info.forget_reached();
    let (key, name) = (bobak_sql::quote(SQL, &key.name), bobak_sql::quote(SQL, table.name()));
    let text = format!(
        "SELECT setval($1::regclass, greatest((SELECT max({key}) FROM {name}), \
         coalesce(pg_sequence_last_value($1::regclass), 1)))"
    );
    state.ask(connection, &text, &[Value::from(sequence.as_str())], |_| ())
}
