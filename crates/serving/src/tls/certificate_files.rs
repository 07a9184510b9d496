//! A certificate in files, read again when they change.

use crate::audit_log::LogSink;
use bobak_core::{Error, ErrorKind, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::fmt::{self, Debug, Formatter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long a connection uses what was read before it looks whether the files have changed.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The certificate chain and the private key of a server, from PEM files.
///
/// The files are read again when they change, so that a renewed certificate needs no restart. If the new files cannot
/// be used, the log says why, and connections get the certificate that was read before.
pub struct CertificateFiles {
    chain: PathBuf,
    key: PathBuf,
    log: LogSink,
    state: Mutex<FileState>,
}

struct FileState {
    certificate: Option<Arc<CertifiedKey>>,
    /// When both files were written that were read last, whether or not they could be used.
    written: WriteTimes,
    looked: Instant,
}

/// When the chain and the key were written; `None` for a file that is missing.
type WriteTimes = [Option<SystemTime>; 2];

impl CertificateFiles {
    /// Reads both files.
    ///
    /// # Errors
    /// `Config` if a file cannot be read, or the key does not belong to the certificate.
    pub fn open(chain: &Path, key: &Path, log: LogSink) -> Result<Self> {
        let files = Self::unread(chain, key, log);
        let (written, certificate) = (files.written(), files.read()?);
        files.with_state(|state| (state.written, state.certificate) = (written, Some(certificate)));
        Ok(files)
    }

    /// As [`open`](Self::open) for files that another program may still have to write: until then, connections fail.
    #[must_use]
    pub fn awaited(chain: &Path, key: &Path, log: LogSink) -> Self {
        let files = Self::unread(chain, key, log);
        files.with_state(|state| files.look(state));
        files
    }

    fn unread(chain: &Path, key: &Path, log: LogSink) -> Self {
        let state = FileState { certificate: None, written: [None; 2], looked: Instant::now() };
        Self { chain: chain.to_owned(), key: key.to_owned(), log, state: Mutex::new(state) }
    }

    /// The certificate for a new connection.
    #[must_use]
    pub fn current(&self) -> Option<Arc<CertifiedKey>> {
        self.with_state(|state| {
            if state.looked.elapsed() >= LOOK_INTERVAL {
                self.look(state);
            }
            state.certificate.clone()
        })
    }

    /// Reads files that were written since the last look.
    fn look(&self, state: &mut FileState) {
        state.looked = Instant::now();
        let written = self.written();
        if written == state.written || written.contains(&None) {
            return;
        }
        state.written = written;
        match self.read() {
            Ok(certificate) => state.certificate = Some(certificate),
            Err(error) => (self.log)(&error.to_string()),
        }
    }

    fn written(&self) -> WriteTimes {
        [&self.chain, &self.key].map(|path| path.metadata().and_then(|file| file.modified()).ok())
    }

    fn read(&self) -> Result<Arc<CertifiedKey>> {
        let chain = CertificateDer::pem_file_iter(&self.chain)
            .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
            .map_err(|error| unusable(&self.chain, &error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key);
        let key = key.map_err(|error| unusable(&self.key, &error))?;
        if chain.is_empty() {
            return Err(unusable(&self.chain, &"it has no certificate"));
        }
        let provider = rustls::crypto::ring::default_provider();
        let certificate = CertifiedKey::from_der(chain, key, &provider);
        certificate.map(Arc::new).map_err(|error| unusable(&self.key, &error))
    }

    fn with_state<R>(&self, then: impl FnOnce(&mut FileState) -> R) -> R {
        then(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn unusable(path: &Path, error: &dyn fmt::Display) -> Error {
    let message = format!("could not use {} for TLS: {error}", path.display());
    Error::new(ErrorKind::Config, message)
}

impl ResolvesServerCert for CertificateFiles {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current()
    }
}

impl Debug for CertificateFiles {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateFiles").field("chain", &self.chain).finish_non_exhaustive()
    }
}
