//! A PostgreSQL server.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::account::Account;
use crate::options::percent;
use crate::server::{Plan, START_TIMEOUT, Server, prepare};
use crate::{Error, Options, Result, find, folder, template};

/// A private PostgreSQL server, stopped and removed when dropped. It is a [`Server`] of several processes.
///
/// Its default collation is ICU's root if the build has ICU, and not the order of bytes, so that tests detect a program that
/// relies on byte order without requesting it.
#[derive(Debug)]
pub struct Postgres {
    server: Server,
    login: String,
}

impl Postgres {
    /// Starts one with the default [`Options`]. Takes about a second.
    ///
    /// # Errors
    /// If PostgreSQL is not installed, with what to install; if it does not start, with its last log lines.
    pub fn start() -> Result<Self> {
        Self::start_with(&Options::new())
    }

    /// Starts one with `options`.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(options: &Options) -> Result<Self> {
        let bin = find::postgres_bin()?;
        let account = Account::choose(&["postgres"]);
        let folder = folder::make(account)?;
        init(&bin, account, folder.path(), options)?;
        let options_for_start = options.clone();
        let plan = Plan {
            name: "postgres",
            account,
            program: bin.join("postgres"),
            configure: None,
            arguments: Box::new(move |folder, port| arguments(folder, port, &options_for_start)),
            is_ready,
            stop: Signal::INT,
            stop_timeout: START_TIMEOUT,
            // Not SIGKILL: it still has to remove the shared memory that is outside of the folder.
            quit: Signal::QUIT,
        };
        let password = options.password.as_ref().map(|text| format!(":{}", percent(text)));
        let login = format!("bobak{}", password.unwrap_or_default());
        Ok(Self { server: Server::start(plan, folder)?, login })
    }

    /// Whether its programs are installed.
    #[must_use]
    pub fn is_installed() -> bool {
        find::postgres_bin().is_ok()
    }

    /// `postgres://bobak@127.0.0.1:PORT/bobak`, with the password if there is one.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://{}@127.0.0.1:{}/bobak", self.login, self.port())
    }

    /// The same through the Unix socket, in libpq's form: `postgres://bobak@/bobak?host=FOLDER&port=PORT`.
    #[must_use]
    pub fn socket_url(&self) -> String {
        let folder = self.server.folder().display();
        format!("postgres://{}@/bobak?host={folder}&port={}", self.login, self.port())
    }

    /// The same through the Unix socket file itself, `FOLDER/.s.PGSQL.PORT`.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.server.folder().join(format!(".s.PGSQL.{}", self.port()))
    }

    /// Runs SQL through the server's own client program, `psql`, in the database `bobak` unless another is named;
    /// gives what it printed, one line a row, columns parted by `|`.
    ///
    /// # Errors
    /// If a statement fails, with psql's message.
    pub fn run(&self, sql: &str) -> Result<String> {
        let psql = find::psql()?;
        let output = Command::new(&psql)
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.socket_url()])
            .args(["-c", sql])
            .stdin(Stdio::null())
            .output()
            .map_err(|e| Error::io("start", &psql, &e))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
        }
        Err(Error::new(format!("psql: {}", String::from_utf8_lossy(&output.stderr).trim_end())))
    }
}

impl Deref for Postgres {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

/// What `initdb` takes for databases whose collation is ICU's root.
const ICU: [&str; 2] = ["--locale-provider=icu", "--icu-locale=und"];

/// A substitute for ICU's root in a build without ICU, version 17 or later: the folding of letters is the same.
const ROOT_WITHOUT_ICU: &str =
    "CREATE COLLATION pg_catalog.\"und-x-icu\" (provider = builtin, locale = 'C.UTF-8')\n";

/// Creates the data folder, the authentication rules, and the database `bobak`.
fn init(bin: &Path, account: Account, folder: &Path, options: &Options) -> Result<()> {
    let data = folder.join("data");
    match &options.password {
        Some(text) => {
            let password = folder.join("password");
            fs::write(&password, text).map_err(|e| Error::io("write", &password, &e))?;
            account.own(&password)?;
            create(bin, account, folder, Some(&password))?;
        }
        None => {
            let name = format!("postgres{}", bin.display());
            template::provide(&name, account, &data, || create(bin, account, folder, None))?;
        }
    }
    #[cfg(feature = "tls")]
    secure(account, folder, options)?;
    Ok(())
}

/// Creates the data folder and the database `bobak`, with a password in this file.
fn create(bin: &Path, account: Account, folder: &Path, password: Option<&Path>) -> Result<()> {
    let initdb = |locale: &[&str]| {
        let mut initdb = account.command(&bin.join("initdb"));
        initdb
            .args(["--no-sync", "--username=bobak", "--encoding=UTF8", "--locale=C"])
            .args(locale);
        match password {
            Some(file) => initdb.args(["--auth=scram-sha-256", "--pwfile"]).arg(file),
            None => initdb.arg("--auth=trust"),
        };
        initdb.arg(folder.join("data"));
        initdb
    };
    let run_single = |database, sql| single(bin, account, folder, database, sql);
    match prepare(initdb(&ICU), folder) {
        Err(error) if error.to_string().contains("ICU is not supported") => {
            prepare(initdb(&[]), folder)?;
            run_single("template1", ROOT_WITHOUT_ICU)?;
        }
        // Versions before 15 have one collation for a database, that of the C library.
        Err(error) if error.to_string().contains("unrecognized option") => {
            prepare(initdb(&[]), folder)?;
        }
        result => result?,
    }
    run_single("postgres", "CREATE DATABASE bobak\n")
}

/// Runs a line of SQL before the first start, without a client: PostgreSQL as one process that reads SQL.
fn single(bin: &Path, account: Account, folder: &Path, database: &str, sql: &str) -> Result<()> {
    let script = folder.join("single.sql");
    fs::write(&script, sql).map_err(|e| Error::io("write", &script, &e))?;
    let input = fs::File::open(&script).map_err(|e| Error::io("read", &script, &e))?;
    let mut single = account.command(&bin.join("postgres"));
    single.args(["--single", "-F", "-D"]).arg(folder.join("data")).arg(database).stdin(input);
    prepare(single, folder)
}

/// Keys for TLS; with [`Options::tls_only`] TCP connections without TLS are rejected.
#[cfg(feature = "tls")]
fn secure(account: Account, folder: &Path, options: &Options) -> Result<()> {
    let Some(authority) = &options.tls else { return Ok(()) };
    authority.sign_into(folder, account)?;
    if options.tls_only {
        let rules = folder.join("data/pg_hba.conf");
        let method = if options.password.is_some() { "scram-sha-256" } else { "trust" };
        let text = format!("local all all {method}\nhostssl all all 127.0.0.1/32 {method}\n");
        fs::write(&rules, text).map_err(|e| Error::io("write", &rules, &e))?;
    }
    Ok(())
}

fn arguments(folder: &Path, port: u16, options: &Options) -> Vec<String> {
    let mut arguments = vec!["-D".to_owned(), folder.join("data").display().to_string()];
    let mut set = |name: &str, value: &str| {
        arguments.extend(["-c".to_owned(), format!("{name}={value}")]);
    };
    set("listen_addresses", "127.0.0.1");
    set("port", &port.to_string());
    set("unix_socket_directories", &folder.display().to_string());
    // Commits still reach the kernel: they outlive the processes, which is what tests kill.
    set("fsync", if options.durable { "on" } else { "off" });
    // In the data folder, which is removed with the server, even after SIGKILL.
    set("dynamic_shared_memory_type", "mmap");
    // A checkpoint in the middle of a benchmark is noise.
    set("max_wal_size", "4GB");
    #[cfg(feature = "tls")]
    if options.tls.is_some() {
        set("ssl", "on");
        set("ssl_cert_file", &folder.join("server.pem").display().to_string());
        set("ssl_key_file", &folder.join("server.key").display().to_string());
    }
    for (name, value) in &options.settings {
        set(name, value);
    }
    arguments
}

/// The server's own file tells: its first line is the process, its eighth becomes `ready`.
fn is_ready(folder: &Path, _port: u16, pid: u32) -> bool {
    let Ok(text) = fs::read_to_string(folder.join("data/postmaster.pid")) else { return false };
    let mut lines = text.lines();
    lines.next().and_then(|line| line.trim().parse().ok()) == Some(pid)
        && lines.nth(6).is_some_and(|line| line.trim() == "ready")
}
