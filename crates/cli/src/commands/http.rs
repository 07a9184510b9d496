//! The HTTP listeners of `bobak serve`.

use super::limits::ServeLimits;
use super::listeners::ListenerConfig;
use crate::error::Result;
use bobak_http::HttpServer;
use bobak_serving::BackupFolders;
use clap::Args;
use std::net::TcpListener;
use std::path::PathBuf;

/// Where a server without listener flags listens for HTTP.
const DEFAULT_ADDRESS: &str = "127.0.0.1:4716";

/// The flags of the HTTP listeners.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
pub struct HttpOptions {
    /// Listen for HTTP on this address; may be repeated [default: 127.0.0.1:4716, unless another listener is given]
    #[arg(long, value_name = "HOST:PORT")]
    http: Vec<String>,

    /// Listen for HTTP on a Unix socket that only this user can open; may be repeated
    #[arg(long, value_name = "PATH")]
    http_unix: Vec<PathBuf>,
}

impl HttpOptions {
    /// Whether there is an HTTP listener.
    pub fn is_given(&self) -> bool {
        !self.http.is_empty() || !self.http_unix.is_empty()
    }

    /// Starts the listeners: without flags, at a default address, or at any free one if that is taken.
    ///
    /// # Errors
    /// If an address is in use, or a listener would be open to unauthenticated clients.
    pub fn start(
        &self,
        shared: &ListenerConfig<'_>,
        limits: &ServeLimits,
        folders: BackupFolders,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<HttpServer> {
        let builder = HttpServer::builder().settings(limits.http.clone()).log(log);
        let builder = builder.backups(folders);
        if self.is_given() {
            return Ok(shared.configure(builder, &self.http, &self.http_unix)?.start()?);
        }
        let is_free = TcpListener::bind(DEFAULT_ADDRESS).is_ok();
        let address = if is_free { DEFAULT_ADDRESS } else { "127.0.0.1:0" };
        Ok(shared.configure(builder, &[address.to_owned()], &[])?.start()?)
    }

    /// The listeners' addresses as URLs and socket paths.
    pub fn addresses(&self, server: &HttpServer, tls: bool) -> Vec<String> {
        let scheme = if tls { "https" } else { "http" };
        let tcp = server.addresses().iter().map(|address| format!("{scheme}://{address}"));
        tcp.chain(self.http_unix.iter().map(|path| path.display().to_string())).collect()
    }
}
