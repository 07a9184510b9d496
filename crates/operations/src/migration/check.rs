//! Tries migrations on a copy.

use super::files::Migrations;
use super::run::up;
use crate::copy::{CopyOptions, copy_tables};
use bobak_core::{Engine, Result};
use bobak_memory::Memory;

/// Carries the pending migrations out on a copy of the database, which is deleted; returns their names. The
/// database itself does not change.
///
/// The copy of an SQLite file is an SQLite file in the system's temporary folder. The tables of other engines
/// are copied into memory, where steps in SQL fail.
///
/// # Errors
/// As [`up`]; those of the copy.
pub fn check(engine: &dyn Engine, migrations: &Migrations) -> Result<Vec<String>> {
    // By name, since only a backup of this engine is a file that can be opened as a database with the same SQL.
    #[cfg(feature = "sqlite")]
    if engine.name() == "sqlite" && !engine.capabilities().encrypted {
        let folder = crate::backup::temp_dir::TempDir::new()?;
        let file = folder.file("migrated.db");
        let options = crate::backup::BackupOptions::new();
        crate::backup::backup(engine, &file, &options, &mut |_| Ok(()))?;
        let copy = bobak_sqlite::Sqlite::builder().open(&file)?;
        return up(&copy, migrations);
    }
    let copy = Memory::new();
    let options = CopyOptions::new().allow_loss(true);
    copy_tables(engine, &copy, &[], &options, &mut |_| {})?;
    up(&copy, migrations)
}
