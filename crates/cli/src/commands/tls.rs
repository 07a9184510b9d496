//! The TLS of the listeners of `bobak serve`.

use crate::error::Result;
use crate::output::Terminal;
#[cfg(feature = "acme")]
use bobak_acme::{Acme, AcmeCertificate, Renewal};
use bobak_serving::{ProtocolServer, ServerBuilder};
use clap::Args;
use std::path::PathBuf;

/// The flags of TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub struct TlsOptions {
    /// TLS certificate chain in PEM format, for TCP listeners. Read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Private key of the TLS certificate in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Allow clients on other machines without TLS: tokens, passwords and data cross the network unencrypted
    #[arg(long)]
    without_tls: bool,

    #[cfg(feature = "acme")]
    #[command(flatten)]
    acme: AcmeOptions,
}

/// The flags of certificates that are ordered.
#[cfg(feature = "acme")]
#[derive(Debug, Args)]
struct AcmeOptions {
    /// Order a TLS certificate for this name of the server from Let's Encrypt, and renew it; may be repeated. Port 443 of
    /// the name must reach a listener. By this flag you agree to the terms of service of the authority
    #[arg(long = "acme", value_name = "NAME", conflicts_with_all = ["tls_cert", "without_tls"])]
    names: Vec<String>,

    /// E-mail address for letters of the authority
    #[arg(long = "acme-contact", value_name = "EMAIL", requires = "names")]
    contact: Option<String>,

    /// Order from the authority with this ACME directory instead
    #[arg(long = "acme-directory", value_name = "URL", requires = "names")]
    directory: Option<String>,

    /// Trust the directory's server by this certificate in PEM format [default: those of the system]
    #[arg(long = "acme-root", value_name = "FILE", requires = "names")]
    root: Option<PathBuf>,

    /// Keep the certificate and the account of the authority here [default: `acme` next to the first database]
    #[arg(long = "acme-folder", value_name = "FOLDER", requires = "names")]
    folder: Option<PathBuf>,
}

/// Where the certificate of the listeners comes from.
pub struct TlsCertificate<'o> {
    options: &'o TlsOptions,
    #[cfg(feature = "acme")]
    ordered: Option<AcmeCertificate>,
}

impl TlsOptions {
    /// Whether the TCP listeners use TLS.
    pub fn is_on(&self) -> bool {
        #[cfg(feature = "acme")]
        if !self.acme.names.is_empty() {
            return true;
        }
        self.tls_cert.is_some()
    }

    /// Prepares the certificate; ordered ones are kept in `folder` unless another one is given.
    ///
    /// # Errors
    /// `Io` if the folder cannot be made.
    #[cfg(feature = "acme")]
    pub fn certificate(&self, folder: PathBuf, screen: Terminal) -> Result<TlsCertificate<'_>> {
        let options = &self.acme;
        if options.names.is_empty() {
            return Ok(TlsCertificate { options: self, ordered: None });
        }
        let folder = options.folder.clone().unwrap_or(folder);
        let mut acme = Acme::new(options.names.clone(), folder);
        if let Some(email) = &options.contact {
            acme = acme.contact(email);
        }
        if let Some(url) = &options.directory {
            acme = acme.directory(url);
        }
        if let Some(pem) = &options.root {
            acme = acme.root(pem);
        }
        let ordered = Some(acme.prepare(move |line| screen.log(line))?);
        Ok(TlsCertificate { options: self, ordered })
    }

    /// The certificate of the files.
    #[cfg(not(feature = "acme"))]
    #[expect(clippy::unnecessary_wraps, reason = "as with the feature")]
    pub fn certificate(&self, _: PathBuf, _: Terminal) -> Result<TlsCertificate<'_>> {
        Ok(TlsCertificate { options: self })
    }
}

impl TlsCertificate<'_> {
    /// Configures a server.
    ///
    /// # Errors
    /// If the cryptography of this build cannot be used.
    pub fn configure<S: ProtocolServer>(
        &self,
        mut builder: ServerBuilder<S>,
    ) -> Result<ServerBuilder<S>> {
        #[cfg(feature = "acme")]
        if let Some(ordered) = &self.ordered {
            return Ok(builder.tls_with(ordered.tls_config()?));
        }
        if let (Some(chain), Some(key)) = (&self.options.tls_cert, &self.options.tls_key) {
            builder = builder.tls(chain, key);
        }
        Ok(if self.options.without_tls { builder.without_tls() } else { builder })
    }

    /// Orders and renews the certificate, once the listeners are open.
    ///
    /// # Errors
    /// If the system has no thread left.
    #[cfg(feature = "acme")]
    pub fn renew(self) -> Result<Option<Renewal>> {
        Ok(self.ordered.map(AcmeCertificate::renew).transpose()?)
    }

    /// Files are read again when they change.
    #[cfg(not(feature = "acme"))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "as with the feature")]
    pub fn renew(self) -> Result<Option<()>> {
        Ok(None)
    }
}
