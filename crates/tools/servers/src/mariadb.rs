//! A MariaDB server.

use std::fs;
use std::io::Read;
use std::ops::Deref;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::account::Account;
use crate::options::percent;
use crate::server::{Plan, START_TIMEOUT, Server, prepare};
use crate::{Error, Options, Result, find, folder, template};

/// A private MariaDB server: stops, and is removed, when it is dropped. It is a [`Server`].
///
/// Its character set and collation are Debian's: `utf8mb4`, `utf8mb4_general_ci`.
#[derive(Debug)]
pub struct MariaDb {
    server: Server,
    login: String,
}

impl MariaDb {
    /// Starts one with the default [`Options`]. Takes about two seconds.
    ///
    /// # Errors
    /// If MariaDB is not installed, with what to install; if it does not start, with its last log lines.
    pub fn start() -> Result<Self> {
        Self::start_with(&Options::new())
    }

    /// Starts one with `options`.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(options: &Options) -> Result<Self> {
        let program = find::mariadb("mariadbd")?;
        let account = Account::choose(&["mysql"]);
        let folder = folder::make(account)?;
        init(account, folder.path(), options)?;
        let options_for_start = options.clone();
        let plan = Plan {
            name: "mariadbd",
            account,
            program,
            configure: None,
            arguments: Box::new(move |folder, port| arguments(folder, port, &options_for_start)),
            is_ready,
            stop: Signal::TERM,
            stop_timeout: START_TIMEOUT,
            quit: Signal::KILL,
        };
        Ok(Self::of(Server::start(plan, folder)?, options))
    }

    /// The face of a server that was started with `options`.
    pub(crate) fn of(server: Server, options: &Options) -> Self {
        let password = options.password.as_ref().map(|text| format!(":{}", percent(text)));
        Self { server, login: format!("bobak{}", password.unwrap_or_default()) }
    }

    /// Whether its programs are there.
    #[must_use]
    pub fn is_installed() -> bool {
        find::mariadb("mariadbd").is_ok() && find::mariadb("mariadb-install-db").is_ok()
    }

    /// `mysql://bobak@127.0.0.1:PORT/bobak`, with the password if there is one.
    #[must_use]
    pub fn url(&self) -> String {
        format!("mysql://{}@127.0.0.1:{}/bobak", self.login, self.port())
    }

    /// The same through the Unix socket: `mysql://bobak@localhost:PORT/bobak?socket=FILE`.
    #[must_use]
    pub fn socket_url(&self) -> String {
        let socket = self.socket();
        format!(
            "mysql://{}@localhost:{}/bobak?socket={}",
            self.login,
            self.port(),
            socket.display()
        )
    }

    /// The Unix socket's file.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        socket(self.server.folder())
    }

    /// Runs SQL through the server's own client program, `mariadb`, as root in the database `bobak`; gives what it
    /// printed, one line a row, columns parted by tabs.
    ///
    /// # Errors
    /// Where a statement fails, with the client's words.
    pub fn run(&self, sql: &str) -> Result<String> {
        self.run_in("bobak", sql)
    }

    /// As [`run`](Self::run), in another database.
    pub(crate) fn run_in(&self, database: &str, sql: &str) -> Result<String> {
        let client = find::mariadb("mariadb")?;
        let output = Command::new(&client)
            .args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"])
            .args([format!("--socket={}", self.socket().display()), format!("--execute={sql}")])
            .arg(database)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| Error::io("start", &client, &e))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
        }
        Err(Error::new(format!("mariadb: {}", String::from_utf8_lossy(&output.stderr).trim_end())))
    }
}

impl Deref for MariaDb {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("s")
}

/// Makes the data folder, and the script that each start runs first.
fn init(account: Account, folder: &Path, options: &Options) -> Result<()> {
    install(account, folder, options)?;
    let script = folder.join("start.sql");
    fs::write(&script, start_script(options)).map_err(|e| Error::io("write", &script, &e))?;
    account.own(&script)
}

/// Makes the data folder.
pub(crate) fn install(account: Account, folder: &Path, options: &Options) -> Result<()> {
    let program = find::mariadb("mariadb-install-db")?;
    let data = folder.join("data");
    template::provide("mariadb", account, &data, || {
        let mut install = account.command(&program);
        install
            .args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"])
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--tmpdir={}", folder.display()))
            .stdin(Stdio::null());
        prepare(install, folder)
    })?;
    #[cfg(feature = "tls")]
    if let Some(authority) = &options.tls {
        authority.sign_into(folder, account)?;
    }
    #[cfg(not(feature = "tls"))]
    let _ = options;
    Ok(())
}

/// One statement per line. Root can connect only by the socket, and no anonymous user may exist: on the socket it would be
/// taken for `bobak`.
pub(crate) fn start_script(options: &Options) -> String {
    let password = options.password.as_deref().unwrap_or("");
    let password = password.replace('\\', "\\\\").replace('\'', "''");
    [
        "DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost');",
        "FLUSH PRIVILEGES;",
        "CREATE DATABASE IF NOT EXISTS bobak;",
        &format!("CREATE OR REPLACE USER bobak@'%' IDENTIFIED BY '{password}';"),
        "GRANT ALL ON *.* TO bobak@'%' WITH GRANT OPTION;",
        "",
    ]
    .join("\n")
}

/// The command line of a plain server.
fn arguments(folder: &Path, port: u16, options: &Options) -> Vec<String> {
    let mut arguments = settings(folder, port, options);
    arguments.push(format!("--init-file={}", folder.join("start.sql").display()));
    arguments
}

/// What every node of a cluster has too.
pub(crate) fn settings(folder: &Path, port: u16, options: &Options) -> Vec<String> {
    let mut arguments = vec!["--no-defaults".to_owned()];
    let mut set = |name: &str, value: &str| arguments.push(format!("--{name}={value}"));
    set("datadir", &folder.join("data").display().to_string());
    set("tmpdir", &folder.display().to_string());
    set("pid-file", &folder.join("pid").display().to_string());
    set("socket", &socket(folder).display().to_string());
    set("port", &port.to_string());
    set("bind-address", "127.0.0.1");
    set("skip-name-resolve", "ON");
    set("character-set-server", "utf8mb4");
    set("collation-server", "utf8mb4_general_ci");
    // 2: commits reach the kernel at once, and outlive the process, which is what tests kill.
    set("innodb-flush-log-at-trx-commit", if options.durable { "1" } else { "2" });
    #[cfg(feature = "tls")]
    if options.tls.is_some() {
        set("ssl-cert", &folder.join("server.pem").display().to_string());
        set("ssl-key", &folder.join("server.key").display().to_string());
        set("require-secure-transport", if options.tls_only { "ON" } else { "OFF" });
    }
    for (name, value) in &options.settings {
        set(name, value);
    }
    arguments
}

/// The server sends a greeting as soon as it serves clients: four bytes of length and number, then the protocol version.
pub(crate) fn is_ready(folder: &Path, _port: u16, _pid: u32) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket(folder)) else { return false };
    let mut greeting = [0; 5];
    stream.set_read_timeout(Some(Duration::from_secs(1))).is_ok()
        && stream.read_exact(&mut greeting).is_ok()
        && greeting[4] == 10
}
