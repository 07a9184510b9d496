//! How a backup is written.

use bobak_core::{Engine, Error, ErrorKind, Result};

/// How a backup is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupOptions {
    pub(super) compression: Compression,
    pub(super) pauses: bool,
    pub(super) overwrite: bool,
    engine: Option<String>,
}

/// The compression of a backup. Encrypted databases do not compress, so their backups are never compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Compression {
    /// None: the file is a database that can be opened as it is.
    #[default]
    None,
    /// Zstandard, level 3; `zstd -d` restores the database file. Needs the feature `compress`.
    Zstd,
    /// gzip, level 6; `gunzip` restores the database file. Needs the feature `compress`.
    Gzip,
}

impl BackupOptions {
    /// An uncompressed backup of the main engine, with pauses, to a file that does not exist yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { compression: Compression::None, pauses: true, overwrite: false, engine: None }
    }

    /// Sets the compression. Default: none.
    #[must_use]
    pub const fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Whether the backup pauses for about two thirds of the time, so that it does not slow down other work. Default:
    /// yes.
    #[must_use]
    pub const fn pauses(mut self, pauses: bool) -> Self {
        self.pauses = pauses;
        self
    }

    /// Whether an existing file is replaced once the new backup is complete. Default: no, the backup fails with
    /// `Conflict`.
    #[must_use]
    pub const fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Backs up the attached engine with this name instead of the main engine.
    #[must_use]
    pub fn engine(mut self, name: impl Into<String>) -> Self {
        self.engine = Some(name.into());
        self
    }

    /// The name of the engine to back up; `None` for the main engine.
    #[must_use]
    pub fn engine_name(&self) -> Option<&str> {
        self.engine.as_deref()
    }
}

impl Default for BackupOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl Compression {
    /// Rejects a compression that the engine's backups do not get, or that this program was built without.
    pub(super) fn must_suit(self, engine: &dyn Engine) -> Result<()> {
        if self != Self::None && engine.capabilities().encrypted {
            let message = "an encrypted backup can't be made smaller: leave it uncompressed";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.must_be_available()
    }

    /// Rejects a compression that this program was built without.
    pub(super) fn must_be_available(self) -> Result<()> {
        if self == Self::None || cfg!(feature = "compress") {
            return Ok(());
        }
        let message =
            "this program was built without compression: enable the feature `compress` of bobak";
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}
