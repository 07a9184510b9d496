//! Certificates of Let's Encrypt, and of other certificate authorities that speak ACME, for the servers of Bobak.
//!
//! [`Acme`] says which names the server has and where its files are. The authority connects to port 443 of each name to see
//! that the server really has it (the challenge `tls-alpn-01`), so the server must listen there, or a router must forward
//! that port to it. The certificate is renewed while the server runs, when a third of its lifetime is left.
//!
//! ```no_run
//! # fn main() -> bobak_core::Result<()> {
//! # let builder = bobak_server::Server::builder();
//! use bobak_acme::Acme;
//!
//! let certificate = Acme::new(["db.example.org"], "acme").contact("admin@example.org").prepare(|line| eprintln!("{line}"))?;
//! let server = builder.tcp("0.0.0.0:443").tls_with(certificate.tls_config()?).start()?;
//! let renewal = certificate.renew()?; // orders the certificate, and renews it until this is dropped
//! # Ok(())
//! # }
//! ```
#![cfg(unix)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod authority;
mod renewal;
mod resolver;

pub use renewal::Renewal;

use bobak_core::{Error, ErrorKind, Result};
use bobak_serving::{CertificateFiles, LogSink, tls_config};
use resolver::Resolver;
use rustls::ServerConfig;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The names of a certificate, the authority that it is ordered from, and the folder where it is kept.
#[derive(Clone, Debug)]
#[must_use = "nothing is ordered until `prepare` and `renew`"]
pub struct Acme {
    names: Vec<String>,
    contact: Option<String>,
    directory: String,
    root: Option<PathBuf>,
    folder: PathBuf,
}

impl Acme {
    /// A certificate of Let's Encrypt for these DNS names or IP addresses. The folder, which only this user can read, gets
    /// the account (`account.json`) and the certificate with its key (`certificate.pem`).
    ///
    /// By ordering a certificate you agree to the authority's terms of service.
    pub fn new<N: Into<String>>(
        names: impl IntoIterator<Item = N>,
        folder: impl AsRef<Path>,
    ) -> Self {
        Self {
            names: names.into_iter().map(Into::into).collect(),
            contact: None,
            directory: instant_acme::LetsEncrypt::Production.url().to_owned(),
            root: None,
            folder: folder.as_ref().to_owned(),
        }
    }

    /// An e-mail address to which the authority may write. Default: none.
    pub fn contact(mut self, email: &str) -> Self {
        self.contact = Some(email.to_owned());
        self
    }

    /// The URL of another authority's directory, for example of an authority of your own.
    pub fn directory(mut self, url: &str) -> Self {
        self.directory = url.to_owned();
        self
    }

    /// The certificate, as a PEM file, with which the server of the directory is trusted. Default: those of the system.
    pub fn root(mut self, pem: impl AsRef<Path>) -> Self {
        self.root = Some(pem.as_ref().to_owned());
        self
    }

    /// Makes the folder, and reads the certificate if there is one. The log gets a line when a certificate was ordered, or
    /// why not.
    ///
    /// # Errors
    /// `Config` without a name; `Io` if the folder cannot be made.
    pub fn prepare(self, log: impl Fn(&str) + Send + Sync + 'static) -> Result<AcmeCertificate> {
        if self.names.is_empty() {
            let message = "a certificate needs the name of the server";
            return Err(Error::new(ErrorKind::Config, message));
        }
        let doing = format!("create {}", self.folder.display());
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|error| Error::io(&doing, error))?;
        let log: LogSink = Arc::new(log);
        let file = self.certificate();
        let files = CertificateFiles::awaited(&file, &file, Arc::clone(&log));
        Ok(AcmeCertificate { acme: self, resolver: Arc::new(Resolver::new(files)), log })
    }

    /// The file with the certificate chain and its key: one file, since both change together.
    fn certificate(&self) -> PathBuf {
        self.folder.join("certificate.pem")
    }

    fn account(&self) -> PathBuf {
        self.folder.join("account.json")
    }
}

/// The certificate of a server: the one in the folder, until [`renew`](AcmeCertificate::renew) orders the next one.
pub struct AcmeCertificate {
    acme: Acme,
    resolver: Arc<Resolver>,
    log: LogSink,
}

impl AcmeCertificate {
    /// The configuration for the listeners. Until there is a certificate, connections fail.
    ///
    /// # Errors
    /// `Config` if the cryptography of this build lacks TLS 1.2 or 1.3.
    pub fn tls_config(&self) -> Result<Arc<ServerConfig>> {
        let mut config = tls_config(Arc::<Resolver>::clone(&self.resolver))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec(), resolver::CHALLENGE_PROTOCOL.to_vec()];
        Ok(Arc::new(config))
    }

    /// Orders a certificate if there is none for these names, or if it has to be renewed; continues on a thread of its own
    /// until the [`Renewal`] is dropped. The listeners must be open: the authority connects to them.
    ///
    /// If an order fails, the log says why, and it is tried again after two minutes, then after twice as long each time, at
    /// most after six hours.
    ///
    /// # Errors
    /// `Io` if the system has no thread left.
    pub fn renew(self) -> Result<Renewal> {
        Renewal::start(self)
    }
}
