//! How far a follower has come: one row in its database, written with what it tells of.

use bobak_core::change_log::replica_schema;
use bobak_core::{
    Assign, BulkChange, Comparison, Condition, Engine, Error, ErrorKind, FieldSet, Result, Row,
    SchemaChange, Select, Session, Source, Value, ValueRef, Verb, Write,
};
use std::sync::Arc;

/// What the row says.
pub(super) struct Place {
    pub at: u64,
    /// Whether the first copy is whole.
    pub filled: bool,
    /// The time of the last change that was made, in microseconds since 1970; `None` where an older
    /// version noted none, or there was none.
    pub made: Option<i64>,
    /// The followed tables' names.
    pub tables: Vec<String>,
}

/// Where the first copy is whole, the time of the last change that was made, where there was one.
pub(super) type Filled = Option<Option<i64>>;

/// The row; `None` in a database that follows nobody yet.
pub(super) fn read(to: &dyn Engine) -> Result<Option<Place>> {
    let mut place = None;
    let select = Select::all(replica_schema());
    let read = to.session()?.query(&Source::Select(&select), &mut |row: &dyn Row| {
        if let (ValueRef::Int(at), ValueRef::Int(filled), ValueRef::Text(names)) =
            (row.get(1), row.get(2), row.get(3))
        {
            let tables = names.lines().map(str::to_owned).collect();
            place = Some(Place {
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
        read => read.map(|()| place),
    }
}

/// Notes that a copy is being made of what was there at this place.
pub(super) fn begin(to: &dyn Engine, at: u64, tables: &[&str]) -> Result<()> {
    let session = to.session()?;
    let names = tables.join("\n");
    let table = replica_schema();
    let values = [Value::Int(1), number(at), Value::Int(0), Value::from(names)];
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

/// Takes the row out.
pub(super) fn forget(to: &dyn Engine) -> Result<()> {
    let change = BulkChange { table: replica_schema(), condition: None, assign: None };
    to.session()?.change(&change).map(|_| ())
}

/// Notes that the copy, which ends at this place, is whole.
///
/// # Errors
/// As [`write`].
pub(super) fn finish(to: &dyn Engine, at: u64, made: Option<i64>) -> Result<()> {
    write(&*to.session()?, (at, None), (at, Some(made)))
}

/// Notes how far the target is, which was here `before`; where the first copy is whole, with the time of the last change.
///
/// # Errors
/// `Conflict` where it was not: another follower has gone on with it; those of the engine.
pub(super) fn write(
    session: &dyn Session,
    before: (u64, Filled),
    (at, filled): (u64, Filled),
) -> Result<()> {
    if before == (at, filled) {
        return Ok(());
    }
    let assign = [
        Assign::Set { column: 1, value: number(at) },
        Assign::Set { column: 2, value: Value::Int(noted(filled)) },
    ];
    let was = |column, value| Condition::Compare { column, comparison: Comparison::Equal, value };
    let here = Condition::And(vec![was(1, number(before.0)), was(2, Value::Int(noted(before.1)))]);
    let change =
        BulkChange { table: replica_schema(), condition: Some(&here), assign: Some(&assign) };
    if session.change(&change)? == 1 {
        return Ok(());
    }
    let message = format!(
        "the target is no longer at change {}, where this follower left it: another one writes to it. Let \
         only one do so, and make it anew",
        before.0
    );
    Err(Error::new(ErrorKind::Conflict, message))
}

/// What is noted of the first copy.
fn noted(filled: Filled) -> i64 {
    // A time that is none of the numbers that mean something else.
    filled.map_or(0, |made| made.filter(|made| *made > 1).unwrap_or(1))
}

fn number(at: u64) -> Value<'static> {
    Value::Int(i64::try_from(at).unwrap_or(i64::MAX))
}

/// What fields an update sets is of no concern to inserts and deletes.
pub(super) const NO_FIELDS: FieldSet = FieldSet::EMPTY;
