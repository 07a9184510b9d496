//! The engine and its settings.

use crate::NAME;
use crate::file::MsAccessFile;
use crate::loader::load;
use crate::session::AccessSession;
use bobak_core::engine::EngineLayer;
use bobak_core::url::config;
use bobak_core::{
    BackupContent, BackupJob, Capabilities, Engine, Error, ErrorKind, Result, SchemaLoss, Session,
    settings,
};
use bobak_memory::Memory;
use std::path::Path;

/// An engine that reads the tables of one Access file.
///
/// ```no_run
/// use bobak_access::MsAccess;
/// use bobak_core::Engine;
///
/// let access = MsAccess::open("orders.accdb")?;
/// for table in access.tables()? {
///     println!("{}", table.name());
/// }
/// # Ok::<(), bobak_core::Error>(())
/// ```
pub struct MsAccess {
    /// What the file had when it was opened.
    tables: Memory,
    losses: Vec<SchemaLoss>,
}

settings! {
    /// How an [`MsAccess`] is opened. See [`MsAccess::builder`].
    #[derive(Clone)]
    pub struct MsAccessBuilder with pub(crate) settings {
        /// The environment variable that has the file's password.
        password_env: Option<String> = None, unit = "a variable";
    } and {
        password: Option<String>,
    }
}

impl MsAccess {
    /// Reads a file with the default settings.
    ///
    /// # Errors
    /// As [`MsAccessBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Returns the default settings.
    pub fn builder() -> MsAccessBuilder {
        MsAccessBuilder::default()
    }
}

impl MsAccessBuilder {
    /// The password of the file. Default: none.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Reads the tables of a file. They take as much memory as in the memory engine.
    ///
    /// # Errors
    /// `Busy` if another program has the file open; `Denied` if its password is missing or wrong; `Corrupt` if it is
    /// damaged or no Access file; `Unsupported` for an encryption that cannot be read; `OutOfRange` for a date after the
    /// year 9999 or with more digits than microseconds; `Config` if the password's variable is not set; `Io`.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<MsAccess> {
        let path = path.as_ref();
        let password = match &self.password_env {
            Some(name) => Some(std::env::var(name).map_err(|_| {
                config(format!("the environment variable {name} of password_env is not set"))
            })?),
            None => self.password.clone(),
        };
        reject_open_elsewhere(path)?;
        let mut file = MsAccessFile::open(path, password.as_deref())?;
        let (tables, losses) = load(&mut file)?;
        Ok(MsAccess { tables, losses })
    }
}

/// Rejects a file that another program has open: Access keeps a lock file next to it.
fn reject_open_elsewhere(path: &Path) -> Result<()> {
    for lock in ["laccdb", "ldb"].map(|extension| path.with_extension(extension)) {
        if lock.exists() {
            let message = format!(
                "another program has {} open: close it there; if a crash left {}, delete that",
                path.display(),
                lock.display()
            );
            return Err(Error::new(ErrorKind::Busy, message));
        }
    }
    Ok(())
}

impl EngineLayer for MsAccess {
    fn inner(&self) -> &dyn Engine {
        &self.tables
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::NONE;
        capabilities.persistent = true;
        capabilities.concurrent_readers = true;
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(AccessSession { inner: self.tables.session()?, losses: &self.losses }))
    }

    fn backup(&self, _job: BackupJob<'_>) -> Result<BackupContent> {
        let message =
            "Access files are backed up by copying them; `bobak copy` copies their tables";
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

impl std::fmt::Debug for MsAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MsAccess").field("tables", &self.tables).finish_non_exhaustive()
    }
}
