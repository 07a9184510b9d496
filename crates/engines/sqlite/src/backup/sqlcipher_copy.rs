//! Copies between SQLCipher's files and others.

use super::change_key::NewKey;
use crate::connection::Connection;
use crate::error::translate;
use crate::ffi;
use crate::open;
use crate::settings::{Cipher, Settings};
use bobak_core::Result;

/// Writes the whole database to an empty file with a page size.
pub(super) fn copy(
    holder: &mut Connection,
    old: &Settings,
    target: &str,
    new: Option<&NewKey>,
    size: u32,
) -> Result<()> {
    let cipher = new.map(|new| new.cipher);
    let vfs = super::change_key::target_vfs(old, cipher)?;
    let uri = ffi::file_uri(target, &vfs);
    // The empty key of a file that SQLCipher does not encrypt. The real key is not passed here: SQLite does not clear the
    // parameters of statements from memory.
    let given =
        new.filter(|new| new.cipher == Cipher::Aegis256).and_then(|new| new.key.raw().cloned());
    ffi::lending(given, || {
        holder.run_text("ATTACH DATABASE ? AS bobak_new KEY ''", &[uri.as_str().into()])
    })?;
    let copied = fill(holder, new, size);
    let detached = holder.run_owned("DETACH DATABASE bobak_new");
    copied.and(detached)
}

fn fill(holder: &mut Connection, new: Option<&NewKey>, size: u32) -> Result<()> {
    let failed = |failure| translate(failure, None);
    match new {
        Some(new) if new.cipher == Cipher::Sqlcipher => {
            holder.db.set_key(c"bobak_new", &open::literal(&new.key)).map_err(failed)?;
        }
        Some(_) => holder.db.reserve_bytes(c"bobak_new").map_err(failed)?,
        None => {}
    }
    holder.run_owned(&format!("PRAGMA bobak_new.page_size = {size}"))?;
    // No journal: the file is either complete or deleted.
    holder.db.exec("PRAGMA bobak_new.journal_mode = off").map_err(failed)?;
    holder.db.exec("PRAGMA bobak_new.synchronous = full").map_err(failed)?;
    // Must be set before the first table is created.
    let vacuum = holder.first_integer("PRAGMA main.auto_vacuum")?;
    holder.run_owned(&format!("PRAGMA bobak_new.auto_vacuum = {vacuum}"))?;
    holder.db.exec("SELECT sqlcipher_export('bobak_new')").map_err(failed)?;
    for name in ["user_version", "application_id"] {
        let value = holder.first_integer(&format!("PRAGMA main.{name}"))?;
        holder.run_owned(&format!("PRAGMA bobak_new.{name} = {value}"))?;
    }
    Ok(())
}
