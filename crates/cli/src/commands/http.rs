//! The HTTP listeners of `bobak serve`.

use super::limits::ServeLimits;
use super::listeners::ListenerConfig;
use crate::error::Result;
use bobak_http::{HttpServer, Settings, SqlAccess};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The flags of the HTTP listeners.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
pub struct HttpOptions {
    /// Listen for HTTP on this address; may be repeated
    #[arg(long, value_name = "HOST:PORT")]
    http: Vec<String>,

    /// Listen for HTTP on a Unix socket that only this user can open; may be repeated
    #[arg(long, value_name = "PATH")]
    http_unix: Vec<PathBuf>,

    /// Allow browser requests from this origin (CORS), such as https://app.example.com, or * for all; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    http_cors_origin: Vec<String>,

    /// Accept SQL statements [default: none]
    #[arg(long, value_name = "KIND")]
    http_sql: Option<Sql>,

    /// Serve /metrics without authentication
    #[arg(long)]
    http_public_metrics: bool,
}

/// Which SQL statements are accepted.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sql {
    /// Only statements that read
    Read,
    /// All statements
    Write,
}

impl HttpOptions {
    /// Whether there is an HTTP listener.
    pub fn is_given(&self) -> bool {
        !self.http.is_empty() || !self.http_unix.is_empty()
    }

    /// Starts the listeners, if any.
    ///
    /// # Errors
    /// If an address is in use, or a listener would be open to unauthenticated clients.
    pub fn start(
        &self,
        shared: &ListenerConfig<'_>,
        limits: &ServeLimits,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Option<HttpServer>> {
        if !self.is_given() {
            return Ok(None);
        }
        let builder = HttpServer::builder().settings(self.settings(limits)).log(log);
        let builder = shared.configure(builder, &self.http, &self.http_unix);
        Ok(Some(builder.start()?))
    }

    /// The listeners' addresses as URLs and socket paths.
    pub fn addresses(&self, server: &HttpServer, tls: bool) -> Vec<String> {
        let scheme = if tls { "https" } else { "http" };
        let tcp = server.addresses().iter().map(|address| format!("{scheme}://{address}"));
        tcp.chain(self.http_unix.iter().map(|path| path.display().to_string())).collect()
    }

    fn settings(&self, limits: &ServeLimits) -> Settings {
        let mut settings = limits.http();
        settings.origins.clone_from(&self.http_cors_origin);
        settings.sql = match self.http_sql {
            None => SqlAccess::None,
            Some(Sql::Read) => SqlAccess::Read,
            Some(Sql::Write) => SqlAccess::Write,
        };
        settings.open_metrics = self.http_public_metrics;
        settings
    }
}
