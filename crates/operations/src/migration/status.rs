//! Which migrations a database has.

use super::files::{Migration, Migrations};
use super::ledger::{self, Entry, MigrationProgress};
use bobak_core::{Engine, Error, ErrorKind, Field, Result, Timestamp, ValueRef};

/// The length of a migration's checksum. That of an interrupted one has the checksum of the finished steps after it.
const CHECKSUM: usize = 8;

/// Whether a database has a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MigrationState {
    /// It was carried out, at this time.
    Done(Timestamp),
    /// It was interrupted after so many steps. `up` goes on there.
    Interrupted(usize),
    /// Undoing it was interrupted after so many steps. `down` goes on there.
    UndoInterrupted(usize),
    /// It is still to be carried out.
    Pending,
}

/// A migration and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrationStatus {
    /// The migration's name.
    pub name: String,
    /// Its state.
    pub state: MigrationState,
}

/// The state of each migration, in order.
///
/// # Errors
/// `Conflict` if a migration was edited after it ran, or the database has one that is not among these.
pub fn status(engine: &dyn Engine, migrations: &Migrations) -> Result<Vec<MigrationStatus>> {
    let entries = ledger::read(&*engine.session()?)?;
    check(migrations, &entries)?;
    let status = |migration: &Migration| {
        let entry = entries.iter().find(|entry| entry.name == migration.name);
        let state = match entry.map(|entry| (entry.progress, entry.at)) {
            None => MigrationState::Pending,
            Some((MigrationProgress::Up(step), _)) => MigrationState::Interrupted(step),
            Some((MigrationProgress::Down(step), _)) => MigrationState::UndoInterrupted(step),
            Some((MigrationProgress::Done, at)) => {
                MigrationState::Done(Timestamp::from_value(ValueRef::Int(at))?)
            }
        };
        Ok(MigrationStatus { name: migration.name.clone(), state })
    };
    migrations.iter().map(status).collect()
}

/// Rejects a database that is older or newer than the program's migrations.
///
/// # Errors
/// `Schema`, naming the first migration that is missing; as [`status`].
pub fn verify(engine: &dyn Engine, migrations: &Migrations) -> Result<()> {
    let statuses = status(engine, migrations)?;
    let missing = statuses.iter().find(|status| !matches!(status.state, MigrationState::Done(_)));
    match missing {
        None => Ok(()),
        Some(status) => {
            let message = format!(
                "the database is older than the program: it lacks migration {}; migrate it first",
                status.name
            );
            Err(Error::new(ErrorKind::Schema, message))
        }
    }
}

/// Rejects migrations that do not fit the database.
pub(super) fn check(migrations: &Migrations, entries: &[Entry]) -> Result<()> {
    let conflict = |message: String| Err(Error::new(ErrorKind::Conflict, message));
    for entry in entries {
        let Some(migration) = migrations.iter().find(|migration| migration.name == entry.name)
        else {
            return conflict(format!(
                "the database is newer than the migrations: it has {}, which is not among them",
                entry.name
            ));
        };
        if entry.checksum.get(..CHECKSUM) != Some(&*migration.checksum) {
            let done = entry.checksum.get(CHECKSUM..).filter(|done| !done.is_empty());
            let name = &entry.name;
            match done {
                None => {
                    let message = "was edited after it ran: restore it, and write a new one";
                    return conflict(format!("migration {name} {message}"));
                }
                Some(done) if !migration.checksum_after(entry.progress).ends_with(done) => {
                    let message =
                        "was interrupted, and the steps that are done were edited: restore these";
                    return conflict(format!("migration {name} {message}"));
                }
                // Only later steps were edited.
                Some(_) => {}
            }
        }
    }
    let is_there =
        |migration: &&Migration| entries.iter().any(|entry| entry.name == migration.name);
    let gap = migrations.iter().skip_while(is_there).find(is_there);
    match gap {
        None => Ok(()),
        Some(later) => conflict(format!(
            "the database has migration {}, but not all before it: put the new ones after it",
            later.name
        )),
    }
}

/// The first migration that is not done.
pub(super) fn next<'m>(
    migrations: &'m Migrations,
    entries: &[Entry],
) -> Result<Option<&'m Migration>> {
    check(migrations, entries)?;
    if let Some(entry) =
        entries.iter().find(|entry| matches!(entry.progress, MigrationProgress::Down(_)))
    {
        let message =
            format!("undoing migration {} was interrupted: undo it to its end first", entry.name);
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    let is_done = |migration: &&Migration| {
        let mut entries = entries.iter();
        entries
            .any(|entry| entry.name == migration.name && entry.progress == MigrationProgress::Done)
    };
    Ok(migrations.iter().find(|migration| !is_done(migration)))
}

/// The last migration that is there.
pub(super) fn last<'m>(
    migrations: &'m Migrations,
    entries: &[Entry],
) -> Result<Option<&'m Migration>> {
    check(migrations, entries)?;
    if let Some(entry) =
        entries.iter().find(|entry| matches!(entry.progress, MigrationProgress::Up(_)))
    {
        let message =
            format!("migration {} was interrupted: carry it out to its end first", entry.name);
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    let is_there =
        |migration: &&Migration| entries.iter().any(|entry| entry.name == migration.name);
    Ok(migrations.iter().filter(is_there).last())
}
