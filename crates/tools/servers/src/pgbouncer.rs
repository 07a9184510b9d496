//! PgBouncer, a proxy in front of a PostgreSQL server.

use std::fs;
use std::net::TcpStream;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::account::Account;
use crate::server::{Plan, START_TIMEOUT, Server};
use crate::{Error, Postgres, Result, find, folder};

/// A private PgBouncer that pools by transaction: each transaction of a client may run on another connection of the server.
/// Stops, and is removed, when it is dropped. It is a [`Server`].
#[derive(Debug)]
pub struct PgBouncer {
    server: Server,
}

impl PgBouncer {
    /// Starts one in front of `postgres`, which needs no password. It accepts `bobak` and the other `users`.
    ///
    /// # Errors
    /// If PgBouncer is not installed, with what to install; if it does not start, with its last log lines.
    pub fn start(postgres: &Postgres, users: &[String]) -> Result<Self> {
        let program = find::pgbouncer()?;
        // It does not run as root.
        let account = Account::choose(&["postgres"]);
        let folder = folder::make(account)?;
        let upstream = postgres.port();
        let users: String = users.iter().map(|user| format!("\"{user}\" \"\"\n")).collect();
        let users = format!("\"bobak\" \"\"\n{users}");
        let plan = Plan {
            name: "pgbouncer",
            account,
            program,
            configure: Some(Box::new(move |folder, port| {
                configure(account, folder, port, upstream, &users)
            })),
            arguments: Box::new(|folder, _| vec![settings(folder).display().to_string()]),
            is_ready: |_, port, _| TcpStream::connect(("127.0.0.1", port)).is_ok(),
            stop: Signal::INT,
            stop_timeout: START_TIMEOUT,
            quit: Signal::KILL,
        };
        Ok(Self { server: Server::start(plan, folder)? })
    }

    /// Whether its program is installed.
    #[must_use]
    pub fn is_installed() -> bool {
        find::pgbouncer().is_ok()
    }

    /// `postgres://bobak@127.0.0.1:PORT/bobak`, with the proxy's port.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://bobak@127.0.0.1:{}/bobak", self.port())
    }
}

impl Deref for PgBouncer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

fn settings(folder: &Path) -> PathBuf {
    folder.join("pgbouncer.ini")
}

fn configure(account: Account, folder: &Path, port: u16, upstream: u16, users: &str) -> Result<()> {
    let file_of_users = folder.join("users.txt");
    let text = format!(
        "[databases]\n* = host=127.0.0.1 port={upstream}\n\
         [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
         auth_type = trust\nauth_file = {}\npool_mode = transaction\nmax_client_conn = 1000\ndefault_pool_size = 60\n\
         server_idle_timeout = 2\n",
        file_of_users.display()
    );
    for (file, text) in [(settings(folder), text.as_str()), (file_of_users, users)] {
        fs::write(&file, text).map_err(|e| Error::io("write", &file, &e))?;
        account.own(&file)?;
    }
    Ok(())
}
