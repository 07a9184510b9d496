//! The engine and its settings.

use crate::NAME;
use crate::file::MsAccessFile;
use crate::loader::load;
use crate::session::AccessSession;
use crate::write::{FileSaver, reject_open_elsewhere};
use bobak_core::engine::EngineLayer;
use bobak_core::url::config;
use bobak_core::{
    BackupContent, BackupJob, Capabilities, Engine, Error, ErrorKind, Result, SchemaLoss, Session,
    settings,
};
use bobak_memory::Memory;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// An engine with the tables of one Access file.
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
    /// What the file had when it was opened, and what was written since.
    tables: Memory,
    losses: Vec<SchemaLoss>,
    saver: Arc<FileSaver>,
}

settings! {
    /// How an [`MsAccess`] is opened. See [`MsAccess::builder`].
    #[derive(Clone)]
    pub struct MsAccessBuilder with pub(crate) settings {
        /// The environment variable that has the file's password.
        password_env: Option<String> = None, unit = "a variable";
        /// How long a writer waits for another transaction of this process to end before it fails with `Busy`.
        busy_timeout: Duration = Duration::from_secs(5);
    } and {
        password: Option<String>,
    }
}

impl MsAccess {
    /// Opens a file with the default settings.
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

    /// Reads the tables of a file. They take as much memory as in the memory engine. If there is no file, the first change
    /// creates it: in the format of Access 2000 if its name ends with `.mdb`, otherwise in that of Access 2010.
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
        let mut saver = FileSaver::new(path);
        let memory = Memory::builder().busy_timeout(self.busy_timeout).open()?;
        let mut losses = Vec::new();
        if path.try_exists().unwrap_or(true) {
            let mut file = MsAccessFile::open(path, password.as_deref())?;
            let (found, read_only) = load(&mut file, &memory)?;
            losses = found;
            saver.set_read_only(read_only);
        }
        let saver = Arc::new(saver);
        let saving = Arc::clone(&saver);
        let tables = memory.save_with(move |before, after| saving.save(before, after));
        Ok(MsAccess { tables, losses, saver })
    }
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
        capabilities.sequential_keys = true;
        capabilities.foreign_keys = true;
        capabilities.add_reference = true;
        capabilities.alter_table = true;
        capabilities.finite_floats = true;
        capabilities.limited_key_length = true;
        capabilities.limited_values = true;
        capabilities.nul_in_text = true;
        capabilities.explain = true;
        capabilities.value_parts = true;
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let (inner, losses, saver) = (self.tables.session()?, &self.losses[..], &*self.saver);
        Ok(Box::new(AccessSession { inner, losses, saver }))
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
