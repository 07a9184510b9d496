//! `bobak rekey`: an SQLite file encrypted, with another key, or plain again.

use crate::commands::parse::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::Screen;
use bobak::Db;
use clap::Args;
use std::path::PathBuf;

/// Encrypt an SQLite file, give it another key, or make it plain.
///
/// The key that it has is named as for every command, by --key-file, --password-file or in the URL; a plain file has none.
/// The file is written anew beside its place and put there at once: whatever happens, it opens with the old key or with
/// the new one. Stop the programs that use it before.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Rekey {
    /// The database, a URL or an SQLite file, such as app.db
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// The file with the new key: 32 bytes or 64 hexadecimal digits
    #[arg(long, value_name = "FILE", conflicts_with_all = ["new_password_file", "plain"])]
    new_key_file: Option<PathBuf>,

    /// The file with the new password in its first line
    #[arg(long, value_name = "FILE", conflicts_with = "plain")]
    new_password_file: Option<PathBuf>,

    /// Take the encryption away
    #[arg(long)]
    plain: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak rekey sqlite:app.db --new-password-file password.txt
  bobak rekey sqlite:app.db --password-file password.txt --new-key-file key.bin
  bobak rekey \"sqlite:app.db?key_file=key.bin\" --plain";

impl Rekey {
    /// Runs the command.
    ///
    /// # Errors
    /// A wrong key; a file that somebody has open; a full disk.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        use bobak::engine::sqlite::Key;
        let new = match (&self.new_key_file, &self.new_password_file) {
            (Some(file), _) => Some(Key::from_file(file)?),
            (None, Some(file)) => Some(Key::from_password_file(file)?),
            (None, None) if self.plain => None,
            (None, None) => {
                let message = "say what is new: --new-key-file, --new-password-file or --plain";
                return Err(Error::usage(message));
            }
        };
        Db::change_key(&database::with_key(&self.database), new.as_ref())?;
        screen.note(if new.is_some() { "the file has its new key" } else { "the file is plain" });
        Ok(())
    }
}
