//! Another key for a file: the whole of it is written anew beside it and put in its place. So the
//! file opens at every moment with the old key or with the new one, whatever happens; SQLCipher's
//! own way, in place, has a moment when its journal has both.

use crate::backup::{check_file, count_rows, make, put_over, take_over};
use crate::connection::Connection;
use crate::error::{misuse, translate};
use crate::key::Key;
use crate::open;
use crate::page_size;
use crate::settings::Settings;
use bobak_core::{Aside, Error, ErrorKind, Result};
use std::path::Path;

/// Gives a file another key; none makes it plain.
///
/// # Errors
/// `Denied` for a wrong key; `Busy` where somebody has it open; `Full`, `Io`.
pub(crate) fn change_key(path: &Path, settings: &Settings, new: Option<&Key>) -> Result<()> {
    let file = |error| Error::io(&format!("open {}", path.display()), error);
    let path = path.canonicalize().map_err(file)?;
    let aside = Aside::one_of_many(&path)?;
    let target = Settings { path: Some(aside.path().to_owned()), ..settings.clone() };
    let new = new.map(|key| key.for_file(&target)).transpose()?;
    let (old, holder) = settings
        .for_file(&path)?
        .fitting(|settings| take_over(&settings).map(|holder| (settings, holder)))?;
    let mut holder = Connection::boxed(holder, true);
    let before = count_rows(&mut holder).map_err(|error| open::name_file(error, &old))?;
    let page_size =
        copy(&mut holder, &aside, new.as_ref()).map_err(|error| name_place(error, &path))?;
    let written = Settings { key: new, page_size: Some(page_size), ..target };
    let after = check_file(aside.path(), &written, false)?;
    if after.tables != before {
        let message = format!("the new {} has other rows: nothing was done", path.display());
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    put_over(aside, holder)
}

/// The error, with the file that is written: what is beside it means nothing to anybody.
fn name_place(error: Error, path: &Path) -> Error {
    let message = format!("could not write {} anew: {}", path.display(), error.message());
    Error::new(error.kind(), message).with_source(error)
}

/// Writes the whole database to a new file; gives its page size.
fn copy(holder: &mut Connection, aside: &Aside, new: Option<&Key>) -> Result<u32> {
    let target = aside.path().to_str().ok_or_else(|| misuse("the path must be UTF-8"))?;
    make(aside.path(), Some(aside.place()))
        .map_err(|error| Error::io(&format!("make {target}"), error))?;
    // That of a plain file. Its own is not given here: what a statement is given is not cleared from
    // memory.
    holder.run_text("ATTACH DATABASE ? AS bobak_new KEY ''", &[target.into()])?;
    let copied = fill(holder, new);
    let detached = holder.run_owned("DETACH DATABASE bobak_new");
    copied.and_then(|size| detached.map(|()| size))
}

fn fill(holder: &mut Connection, new: Option<&Key>) -> Result<u32> {
    let failed = |failure| translate(failure, None);
    let size = holder.first_integer("PRAGMA main.page_size")?;
    let mut size = u32::try_from(size).unwrap_or(0);
    if let Some(key) = new {
        size = size.max(page_size::SMALLEST);
        holder.db.set_key(c"bobak_new", &key.literal()).map_err(failed)?;
    }
    holder.run_owned(&format!("PRAGMA bobak_new.page_size = {size}"))?;
    // Nothing of it is worth a journal: it is whole, or thrown away.
    holder.db.exec("PRAGMA bobak_new.journal_mode = off").map_err(failed)?;
    holder.db.exec("PRAGMA bobak_new.synchronous = full").map_err(failed)?;
    // Before there is a table, or never.
    let vacuum = holder.first_integer("PRAGMA main.auto_vacuum")?;
    holder.run_owned(&format!("PRAGMA bobak_new.auto_vacuum = {vacuum}"))?;
    holder.db.exec("SELECT sqlcipher_export('bobak_new')").map_err(failed)?;
    for name in ["user_version", "application_id"] {
        let value = holder.first_integer(&format!("PRAGMA main.{name}"))?;
        holder.run_owned(&format!("PRAGMA bobak_new.{name} = {value}"))?;
    }
    Ok(size)
}
