//! The HTTP doors of `bobak serve`.

use super::doors::Shared;
use super::limits::Limits;
use crate::error::Result;
use bobak_http::{HttpServer, Settings, SqlAccess};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What `bobak serve` is told about its HTTP doors.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
pub struct HttpOptions {
    /// Serve HTTP at this address; may be repeated
    #[arg(long, value_name = "HOST:PORT")]
    http: Vec<String>,

    /// Serve HTTP on a Unix socket, which only this user can open; may be repeated
    #[arg(long, value_name = "PATH")]
    http_unix: Vec<PathBuf>,

    /// Let pages of this origin in, as https://app.example.com, or * for all; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    http_origin: Vec<String>,

    /// Let SQL be sent [default: none]
    #[arg(long, value_name = "WHICH")]
    http_sql: Option<Sql>,

    /// Show /metrics to everybody
    #[arg(long)]
    http_open_metrics: bool,
}

/// Which SQL may be sent.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sql {
    /// Statements that only read
    Read,
    /// Any
    Write,
}

impl HttpOptions {
    /// Whether there is a door.
    pub fn is_given(&self) -> bool {
        !self.http.is_empty() || !self.http_unix.is_empty()
    }

    /// Opens the doors.
    ///
    /// # Errors
    /// An address that is taken, a door that strangers could open.
    pub fn start(
        &self,
        shared: &Shared<'_>,
        limits: &Limits,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Option<HttpServer>> {
        if !self.is_given() {
            return Ok(None);
        }
        let builder = HttpServer::builder().settings(self.settings(limits)).log(log);
        let builder = shared.doors(builder, &self.http, &self.http_unix);
        Ok(Some(builder.start()?))
    }

    /// Where a server listens, as one says it in a browser.
    pub fn places(&self, server: &HttpServer, tls: bool) -> Vec<String> {
        let scheme = if tls { "https" } else { "http" };
        let tcp = server.addresses().iter().map(|address| format!("{scheme}://{address}"));
        tcp.chain(self.http_unix.iter().map(|path| path.display().to_string())).collect()
    }

    fn settings(&self, limits: &Limits) -> Settings {
        let mut settings = limits.http();
        settings.origins.clone_from(&self.http_origin);
        settings.sql = match self.http_sql {
            None => SqlAccess::None,
            Some(Sql::Read) => SqlAccess::Read,
            Some(Sql::Write) => SqlAccess::Write,
        };
        settings.open_metrics = self.http_open_metrics;
        settings
    }
}
