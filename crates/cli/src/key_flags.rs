//! The flags for the key of encrypted files, for the commands that open a database.

use crate::database;
use bobak::engine::sqlite::Cipher;
use std::path::{Path, PathBuf};

// `C` comes first, so that its documentation is the command's, and its flags stand before these.
#[derive(Debug, clap::Args)]
pub struct WithKey<C: clap::Args> {
    #[command(flatten)]
    command: C,

    /// File with the key of encrypted SQLite files and snapshots: 32 bytes or 64 hexadecimal digits [env: BOBAK_KEY_FILE]
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "password_file")]
    key_file: Option<PathBuf>,

    /// File with the password of encrypted SQLite files and snapshots in its first line [env: BOBAK_PASSWORD_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    password_file: Option<PathBuf>,

    /// Cipher of a new encrypted SQLite file: aegis256 or sqlcipher [default: aegis256]
    #[arg(long, global = true, value_name = "CIPHER")]
    cipher: Option<Cipher>,
}

impl<C: clap::Args> WithKey<C> {
    /// Takes the key's file from the flags, or else from the environment, and the cipher, and returns the command.
    pub fn set_key(&self) -> &C {
        if let Some(cipher) = self.cipher {
            database::set_cipher(cipher);
        }
        let from = |name: &str| std::env::var_os(name).filter(|file| !file.is_empty());
        if let Some(file) = &self.key_file {
            database::set_key("key_file", file, true);
        } else if let Some(file) = &self.password_file {
            database::set_key("password_file", file, true);
        } else if let Some(file) = from("BOBAK_KEY_FILE") {
            database::set_key("key_file", Path::new(&file), false);
        } else if let Some(file) = from("BOBAK_PASSWORD_FILE") {
            database::set_key("password_file", Path::new(&file), false);
        }
        &self.command
    }
}
