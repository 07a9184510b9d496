//! `bobak rekey`: encrypts a file, changes its key, or decrypts it.

use crate::commands::arguments::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::Terminal;
use bobak::Db;
use clap::Args;
use std::path::PathBuf;

/// Encrypt an SQLite file, change its key or cipher, or decrypt it.
///
/// The file can also be a snapshot of the memory engine (memory:FILE), or a compressed or encrypted backup.
///
/// The current key is given as for other commands: by --key-file, --password-file or in the URL. The file is rewritten to
/// a temporary file and renamed into place, so it always opens with either the old or the new key. Stop the programs
/// that use it first.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RekeyCommand {
    /// Database: an SQLite file, such as app.db, or its URL; or a backup
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// File with the new key: 32 bytes or 64 hexadecimal digits
    #[arg(long, value_name = "FILE", conflicts_with_all = ["new_password_file", "decrypt"])]
    new_key_file: Option<PathBuf>,

    /// File with the new password in its first line
    #[arg(long, value_name = "FILE", conflicts_with = "decrypt")]
    new_password_file: Option<PathBuf>,

    /// Decrypt the file
    #[arg(long)]
    decrypt: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak rekey app.db --new-password-file password.txt
  bobak rekey app.db --password-file password.txt --new-key-file key.bin
  bobak rekey app.db --key-file key.bin --new-key-file key.bin --cipher sqlcipher
  bobak rekey \"sqlite:app.db?key_file=key.bin\" --decrypt";

impl RekeyCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the key is wrong, the program does not have the cipher, another program has the file open, or the disk is full.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        use bobak::engine::EncryptionKey;
        let new = match (&self.new_key_file, &self.new_password_file) {
            (Some(file), _) => Some(EncryptionKey::from_file(file)?),
            (None, Some(file)) => Some(EncryptionKey::from_password_file(file)?),
            (None, None) if self.decrypt => None,
            (None, None) => {
                let message = "pass --new-key-file, --new-password-file or --decrypt";
                return Err(Error::usage(message));
            }
        };
        Db::change_key(&database::with_key(&self.database), new.as_ref())?;
        screen.note(if new.is_some() {
            "the file has its new key"
        } else {
            "the file is decrypted"
        });
        Ok(())
    }
}
