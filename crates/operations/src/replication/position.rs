//! The position of a replica: one row in its database, written in the transaction of the changes.

use bobak_core::change_log::replica_schema;
use bobak_core::{
    Assign, BulkChange, Comparison, Condition, Engine, Error, ErrorKind, FieldSet, Result, Row,
    SchemaChange, Select, Session, Source, Value, ValueRef, Verb, Write,
};
use std::sync::Arc;

/// The content of the row.
pub(super) struct ReplicaPosition {
    pub at: u64,
    /// Whether the first copy is complete.
    pub filled: bool,
    /// The time of the last applied change, in microseconds since 1970; `None` if there was none, or an older version did not
    /// record it.
    pub made: Option<i64>,
    /// The names of the replicated tables.
    pub tables: Vec<String>,
}

/// `Some` once the first copy is complete: the time of the last applied change, if there was one.
pub(super) type CopyState = Option<Option<i64>>;

/// The row; `None` in a database that is no replica yet.
pub(super) fn read(to: &dyn Engine) -> Result<Option<ReplicaPosition>> {
    let mut position = None;
    let select = Select { condition: Some(is_row(1)), ..Select::all(replica_schema()) };
    let read = to.session()?.query(&Source::Select(&select), &mut |row: &dyn Row| {
        if let (ValueRef::Int(at), ValueRef::Int(filled), ValueRef::Text(names)) =
            (row.get(1), row.get(2), row.get(3))
        {
            let tables = names.lines().map(str::to_owned).collect();
            position = Some(ReplicaPosition {
                at: at.unsigned_abs(),
                filled: filled != 0,
                made: (filled > 1).then_some(filled),
                tables,
            });
        }
        Ok(true)
    });
    match read {
        Err(error) if error.kind() == ErrorKind::Schema => Ok(None),
        read => read.map(|()| position),
    }
}

/// The condition of a row's key: 1 has the position, 2 the number of the last seen [move](bobak_changes::table_moves).
fn is_row(id: i64) -> Condition {
    let (comparison, value) = (Comparison::Equal, Value::Int(id));
    Condition::Compare { column: 0, comparison, value }
}

/// The number of the last move of the source's tables that the target has seen.
pub(super) fn moved(to: &dyn Engine) -> Result<u64> {
    let mut moved = 0;
    let select = Select { condition: Some(is_row(2)), ..Select::all(replica_schema()) };
    to.session()?.query(&Source::Select(&select), &mut |row: &dyn Row| {
        if let ValueRef::Int(number) = row.get(1) {
            moved = number.unsigned_abs();
        }
        Ok(true)
    })?;
    Ok(moved)
}

/// Records that the target has seen a move, and the names of its tables since.
pub(super) fn move_on(session: &dyn Session, moved: u64, tables: &[String]) -> Result<()> {
    let values = [Value::Int(2), number(moved), Value::Int(0), Value::from("")];
    let (table, verb, fields) = (replica_schema(), Verb::InsertOrReplace, NO_FIELDS);
    session.write(&Write { table, verb, fields, values: &values })?;
    let assign = [Assign::Set { column: 3, value: Value::from(tables.join("\n")) }];
    let here = is_row(1);
    let change = BulkChange { table, condition: Some(&here), assign: Some(&assign) };
    session.change(&change).map(drop)
}

/// Records that a copy is being made of the state after this change.
pub(super) fn begin(to: &dyn Engine, at: u64, tables: &[&str]) -> Result<()> {
    put(to, at, None, tables)
}

/// Records that the target is at this change, wherever it was.
pub(super) fn put(to: &dyn Engine, at: u64, filled: CopyState, tables: &[&str]) -> Result<()> {
    let session = to.session()?;
    let names = tables.join("\n");
    let table = replica_schema();
    let values = [Value::Int(1), number(at), Value::Int(noted(filled)), Value::from(names)];
    let insert = || {
        let write =
            Write { table, verb: Verb::InsertOrReplace, fields: NO_FIELDS, values: &values };
        session.write(&write).map(|_| ())
    };
    match insert() {
        Err(error) if error.kind() == ErrorKind::Schema => {
            to.alter(&[SchemaChange::CreateTable(Arc::clone(table))])?;
            insert()
        }
        written => written,
    }
}

/// Deletes the row.
pub(super) fn forget(to: &dyn Engine) -> Result<()> {
    let change = BulkChange { table: replica_schema(), condition: None, assign: None };
    to.session()?.change(&change).map(|_| ())
}

/// Records that the copy, which ends with this change, is complete.
///
/// # Errors
/// As [`write`].
pub(super) fn finish(to: &dyn Engine, at: u64, made: Option<i64>) -> Result<()> {
    write(&*to.session()?, (at, None), (at, Some(made)))
}

/// Moves the position on from `before`.
///
/// # Errors
/// `Conflict` if it is not there: another replica has moved it; those of the engine.
pub(super) fn write(
    session: &dyn Session,
    before: (u64, CopyState),
    (at, filled): (u64, CopyState),
) -> Result<()> {
    if before == (at, filled) {
        return Ok(());
    }
    let assign = [
        Assign::Set { column: 1, value: number(at) },
        Assign::Set { column: 2, value: Value::Int(noted(filled)) },
    ];
    let was = |column, value| Condition::Compare { column, comparison: Comparison::Equal, value };
    let here = Condition::And(vec![
        is_row(1),
        was(1, number(before.0)),
        was(2, Value::Int(noted(before.1))),
    ]);
    let change =
        BulkChange { table: replica_schema(), condition: Some(&here), assign: Some(&assign) };
    if session.change(&change)? == 1 {
        return Ok(());
    }
    let message = format!(
        "the target is no longer at change {}, where this replica left it: another replica \
         writes to the target. Let only one do so, and recreate it",
        before.0
    );
    Err(Error::new(ErrorKind::Conflict, message))
}

/// The stored form of a copy state.
fn noted(filled: CopyState) -> i64 {
    // 0 and 1 have other meanings than a time.
    filled.map_or(0, |made| made.filter(|made| *made > 1).unwrap_or(1))
}

fn number(at: u64) -> Value<'static> {
    Value::Int(i64::try_from(at).unwrap_or(i64::MAX))
}

/// Inserts and deletes have no set of updated fields.
pub(super) const NO_FIELDS: FieldSet = FieldSet::EMPTY;
