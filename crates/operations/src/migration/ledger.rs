//! The table that lists the migrations of a database.

use bobak_core::{
    ColumnSchema, Engine, Error, ErrorKind, Result, SchemaChange, Select, Session, Source,
    TableSchema, Timestamp, Value, ValueRef, Verb, Write, now,
};
use std::sync::{Arc, OnceLock};

/// The name of the table.
pub const LEDGER: &str = "bobak_migrations";

/// The row that a process locks while it migrates.
const LOCK: &str = "";
/// What the column `step` has when all steps are done. Below it, `-2 - n`: so many steps of `down` are done.
const DONE: i64 = -1;

/// How far a migration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MigrationProgress {
    Done,
    /// So many of its steps are done.
    Up(usize),
    /// So many of the steps that undo it are done.
    Down(usize),
}

impl MigrationProgress {
    fn to_number(self) -> i64 {
        let number = |steps: usize| i64::try_from(steps).unwrap_or(i64::MAX);
        match self {
            Self::Done => DONE,
            Self::Up(steps) => number(steps),
            Self::Down(steps) => (DONE - 1).saturating_sub(number(steps)),
        }
    }

    fn of_number(number: i64) -> Self {
        let steps = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        match number {
            DONE => Self::Done,
            0.. => Self::Up(steps(number)),
            _ => Self::Down(steps((DONE - 1).saturating_sub(number))),
        }
    }
}

/// A migration that a database has, or has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub name: String,
    pub checksum: String,
    pub progress: MigrationProgress,
    /// When, in microseconds since 1970.
    pub at: i64,
}

pub(super) fn schema() -> &'static Arc<TableSchema> {
    static SCHEMA: OnceLock<Arc<TableSchema>> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let table = TableSchema::builder(LEDGER)
            .column(ColumnSchema::of::<String>("name").max_chars(200))
            .column(ColumnSchema::of::<String>("checksum").max_chars(16))
            .column(ColumnSchema::of::<i64>("step"))
            .column(ColumnSchema::of::<Timestamp>("at"))
            .key(["name"]);
        Arc::new(table.build().expect("the ledger's schema is valid"))
    })
}

/// Creates the table and the row to lock, if they are not there.
pub(super) fn create(engine: &dyn Engine) -> Result<()> {
    let is_there = || Ok(engine.tables()?.iter().any(|table| table.name() == LEDGER));
    if !is_there()? {
        match engine.alter(&[SchemaChange::CreateTable(Arc::clone(schema()))]) {
            // Another process created it meanwhile.
            Err(error) if !is_there()? => return Err(error),
            _ => {}
        }
    }
    let session = engine.session()?;
    let mut has_lock = false;
    session.get(schema(), &[Value::from(LOCK)], &mut |_| {
        has_lock = true;
        Ok(())
    })?;
    if has_lock {
        return Ok(());
    }
    write(&*session, Verb::InsertOrIgnore, &entry_of(LOCK, "", MigrationProgress::Done))
}

/// Waits for other processes: they update the same row in a transaction.
pub(super) fn lock(session: &dyn Session) -> Result<()> {
    write(session, Verb::Update, &entry_of(LOCK, "", MigrationProgress::Done))
}

pub(super) fn entry_of(name: &str, checksum: &str, progress: MigrationProgress) -> Entry {
    Entry { name: name.to_owned(), checksum: checksum.to_owned(), progress, at: now() }
}

/// Inserts or updates an entry.
pub(super) fn put(session: &dyn Session, entry: &Entry) -> Result<()> {
    write(session, Verb::Upsert, entry)
}

pub(super) fn remove(session: &dyn Session, name: &str) -> Result<()> {
    let (table, verb, fields) = (schema(), Verb::Delete, schema().updated_fields());
    let values = [Value::from(name)];
    session.write(&Write { table, verb, fields, values: &values }).map(drop)
}

/// The entries; none if there is no ledger.
pub(super) fn read(session: &dyn Session) -> Result<Vec<Entry>> {
    if session.tables()?.iter().all(|table| table.name() != LEDGER) {
        return Ok(Vec::new());
    }
    let select = Select::all(schema());
    let mut entries = Vec::new();
    session.query(&Source::Select(&select), &mut |row| {
        let (
            ValueRef::Text(name),
            ValueRef::Text(checksum),
            ValueRef::Int(step),
            ValueRef::Int(at),
        ) = (row.get(0), row.get(1), row.get(2), row.get(3))
        else {
            let message = "the table of migrations has a row of another form";
            return Err(Error::new(ErrorKind::Corrupt, message).in_table(LEDGER));
        };
        if name != LOCK {
            let progress = MigrationProgress::of_number(step);
            let (name, checksum) = (name.to_owned(), checksum.to_owned());
            entries.push(Entry { name, checksum, progress, at });
        }
        Ok(true)
    })?;
    Ok(entries)
}

fn write(session: &dyn Session, verb: Verb, entry: &Entry) -> Result<()> {
    let values = [
        Value::from(entry.name.as_str()),
        Value::from(entry.checksum.as_str()),
        Value::Int(entry.progress.to_number()),
        Value::Int(entry.at),
    ];
    let (table, fields) = (schema(), schema().updated_fields());
    session.write(&Write { table, verb, fields, values: &values }).map(drop)
}
