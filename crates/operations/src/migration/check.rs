//! Tries migrations on a copy.

use super::files::Migrations;
use super::run::up;
use super::sql_steps;
use super::step::MigrationStep;
use crate::backup::{BackupOptions, backup};
use crate::copy::{CopyOptions, copy_tables};
use crate::temp_dir::TempDir;
use bobak_core::{Engine, Result};
use bobak_memory::Memory;

/// Carries the pending migrations out on a copy of the database, which is deleted; returns their names. The
/// database itself does not change.
///
/// If the engine can [open its backups](Engine::open_backup), as SQLite can, the copy is a backup in the system's
/// temporary folder. Other tables are copied into memory, where steps in SQL are left out: only their engines' names, and
/// statements of transactions, are checked.
///
/// # Errors
/// As [`up`]; those of the copy.
pub fn check(engine: &dyn Engine, migrations: &Migrations) -> Result<Vec<String>> {
    if engine.backup_format().is_some() {
        let folder = TempDir::new()?;
        let file = folder.file("migrated");
        backup(engine, &file, &BackupOptions::new(), &mut |_| Ok(()))?;
        if let Some(copy) = engine.open_backup(&file)? {
            return up(&*copy, migrations);
        }
    }
    let mut others = migrations.clone();
    for migration in &mut others.all {
        sql_steps::check(engine, &migration.name, &migration.up)?;
        migration.up.retain(|step| !matches!(step, MigrationStep::Sql { .. }));
    }
    let copy = Memory::new();
    let options = CopyOptions::new().allow_loss(true);
    copy_tables(engine, &copy, &[], &options, &mut |_| {})?;
    up(&copy, &others)
}
