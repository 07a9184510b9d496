//! A Firebird server.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::ops::Deref;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::account::Account;
use crate::find::FirebirdEngine;
use crate::options::percent;
use crate::server::{Plan, Server, prepare};
use crate::{Error, Options, Result, find, folder, template};

/// A private Firebird server: stops, and is removed, when it is dropped. It is a [`Server`].
///
/// Its folder is a Firebird root of its own, with its own configuration and security database: nothing is read from or written
/// to `/etc/firebird` and `/var/lib/firebird`. It opens databases in its folder only, and `bobak` may create them. `bobak` has
/// the password `bobak` unless the options name another, because Firebird has no users without one. It has no Unix socket.
///
/// If `BOBAK_TEST_FIREBIRD_ENGINE` names a folder with another version's `libfbclient.so.2` and `plugins`, such as the one that the
/// package firebird-embedded for Python has, the installed server serves databases by that version's engine.
#[derive(Debug)]
pub struct Firebird {
    server: Server,
    password: String,
    forced_writes: &'static str,
}

/// The parts of an engine that a root links to; version 3 has no time zones.
const PARTS: [&str; 5] = ["plugins", "intl", "firebird.msg", "plugins.conf", "tzdata"];

/// The security database, in the root.
const SECURITY: &str = "security.fdb";

/// The password of `bobak` unless the options name another.
const DEFAULT_PASSWORD: &str = "bobak";

impl Firebird {
    /// Starts one with the default [`Options`]. Takes less than a second.
    ///
    /// # Errors
    /// If Firebird is not installed, with what to install; if it does not start, with its last log lines.
    pub fn start() -> Result<Self> {
        Self::start_with(&Options::new())
    }

    /// Starts one with `options`.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(options: &Options) -> Result<Self> {
        let (program, engine) = (find::firebird("firebird")?, FirebirdEngine::find()?);
        let account = Account::choose(&["firebird"]);
        let folder = folder::make(account)?;
        let password = options.password.clone().unwrap_or_else(|| DEFAULT_PASSWORD.to_owned());
        init(&engine, account, folder.path(), &password)?;
        let settings = options.settings.clone();
        let variables = environment(&engine, folder.path());
        let provider = engine.provider;
        let plan = Plan {
            name: "firebird",
            account,
            // The port is in the configuration: with the option -p, the server listens on all addresses.
            program: PathBuf::from("/usr/bin/env"),
            configure: Some(Box::new(move |folder, port| {
                configure(folder, &provider, port, &settings)
            })),
            arguments: Box::new(move |_, _| {
                let mut arguments = variables.clone();
                arguments.push(program.display().to_string());
                arguments
            }),
            is_ready,
            stop: Signal::TERM,
            // Soon after its start it may never end; committed rows survive the kill.
            stop_timeout: Duration::from_secs(5),
            quit: Signal::KILL,
        };
        let forced_writes = if options.durable { "on" } else { "off" };
        Ok(Self { server: Server::start(plan, folder)?, password, forced_writes })
    }

    /// Whether its programs are there.
    #[must_use]
    pub fn is_installed() -> bool {
        find::firebird("firebird").is_ok() && find::firebird("isql-fb").is_ok()
    }

    /// `firebird://bobak:bobak@127.0.0.1:PORT/bobak.fdb?create=on&forced_writes=off`, with the options' password.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("bobak.fdb")
    }

    /// The same of another database in the server's folder.
    #[must_use]
    pub fn url_of(&self, database: &str) -> String {
        format!(
            "firebird://bobak:{}@127.0.0.1:{}/{database}?create=on&forced_writes={}",
            percent(&self.password),
            self.port(),
            self.forced_writes
        )
    }

    /// Whether a client that creates a database, and drops it, waits longer than `timeout`. A server that hangs accepts connections.
    ///
    /// # Errors
    /// If the client cannot be started.
    pub fn hangs(&self, timeout: Duration) -> Result<bool> {
        let program = find::firebird("isql-fb")?;
        let failed = |e| Error::io("run", &program, &e);
        let mut client = Command::new(&program)
            .args(["-quiet", "-bail"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let database = data(self.server.folder()).join("answer.fdb");
        let script = format!(
            "CREATE DATABASE '127.0.0.1/{}:{}' USER 'BOBAK' PASSWORD '{}';\nDROP DATABASE;\n",
            self.port(),
            database.display(),
            self.password.replace('\'', "''")
        );
        let sent =
            client.stdin.take().map_or(Ok(()), |mut input| input.write_all(script.as_bytes()));
        let end = Instant::now() + timeout;
        while client.try_wait().map_err(failed)?.is_none() {
            if Instant::now() > end {
                client.kill().and_then(|()| client.wait()).map_err(failed)?;
                return Ok(true);
            }
            thread::sleep(Duration::from_millis(20));
        }
        sent.map_err(failed).map(|()| false)
    }

    /// Removes the file of a database that nobody is connected to.
    ///
    /// # Errors
    /// If there is none.
    pub fn remove(&self, database: &str) -> Result<()> {
        let file = data(self.server.folder()).join(database);
        fs::remove_file(&file).map_err(|e| Error::io("remove", &file, &e))
    }
}

impl Deref for Firebird {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

/// What makes the folder a root: for the server, and for the programs that prepare it.
fn environment(engine: &FirebirdEngine, folder: &Path) -> Vec<String> {
    let names = ["FIREBIRD", "FIREBIRD_LOCK", "FIREBIRD_TMP"];
    let root = names.map(|name| format!("{name}={}", folder.display()));
    // An installed engine's libraries are found without.
    let libraries = engine.security.is_none().then_some(&engine.folder);
    let libraries = libraries.map(|folder| format!("LD_LIBRARY_PATH={}", folder.display()));
    root.into_iter().chain(libraries).collect()
}

/// Makes the root: links to the engine's parts, the databases' folder, and the security database with its users.
fn init(engine: &FirebirdEngine, account: Account, folder: &Path, password: &str) -> Result<()> {
    for part in PARTS.map(|part| engine.folder.join(part)).iter().filter(|part| part.exists()) {
        let link = folder.join(part.file_name().unwrap_or_default());
        symlink(part, &link).map_err(|e| Error::io("make", &link, &e))?;
    }
    let data = data(folder);
    let made = fs::DirBuilder::new().mode(0o700).create(&data);
    made.map_err(|e| Error::io("make", &data, &e))?;
    account.own(&data)?;
    configure(folder, &engine.provider, 0, &[])?;
    let make = || make_security(engine, account, folder, password);
    if password == DEFAULT_PASSWORD {
        let name = format!("firebird-{}", engine.provider);
        template::provide(&name, account, &folder.join(SECURITY), make)
    } else {
        make()
    }
}

/// Makes the security database and its users.
fn make_security(
    engine: &FirebirdEngine,
    account: Account,
    folder: &Path,
    password: &str,
) -> Result<()> {
    for (name, script) in scripts(engine, folder, password) {
        let file = folder.join(name);
        fs::write(&file, script).map_err(|e| Error::io("write", &file, &e))?;
        account.own(&file)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))
            .map_err(|e| Error::io("protect", &file, &e))?;
        let mut isql: Command = account.command(&find::firebird("isql-fb")?);
        isql.args(["-quiet", "-bail", "-user", "SYSDBA", "-input"]).arg(&file).stdin(Stdio::null());
        for variable in environment(engine, folder) {
            if let Some((name, value)) = variable.split_once('=') {
                isql.env(name, value);
            }
        }
        prepare(isql, folder)?;
    }
    Ok(())
}

/// The scripts that make the security database and its users, with their names.
fn scripts(engine: &FirebirdEngine, folder: &Path, password: &str) -> [(&'static str, String); 2] {
    let security = folder.join(SECURITY).display().to_string();
    let password = password.replace('\'', "''");
    let mut first = format!("CREATE DATABASE '{security}';\nCOMMIT;\n");
    if let Some(script) = &engine.security {
        first.push_str(&format!("IN '{}';\n", script.display()));
    }
    let users = format!(
        "CONNECT '{security}' USER SYSDBA;\nCREATE USER BOBAK PASSWORD '{password}' USING PLUGIN Srp;\nCOMMIT;\n\
         CREATE DATABASE '{}';\nGRANT CREATE DATABASE TO USER BOBAK;\nCOMMIT;\nDROP DATABASE;\n",
        data(folder).join("grant.fdb").display()
    );
    [("security.sql", first), ("users.sql", users)]
}

/// Writes the configuration. Without it a server would listen on all addresses, so that it must be there before the start.
fn configure(
    folder: &Path,
    provider: &str,
    port: u16,
    settings: &[(String, String)],
) -> Result<()> {
    let mut text = format!(
        "RemoteBindAddress = 127.0.0.1\nRemoteServicePort = {port}\nServerMode = Super\n\
         Providers = Remote,{provider},Loopback\nSecurityDatabase = {security}\nDatabaseAccess = Restrict {data}\nTempDirectories = {folder}\n\
         ExternalFileAccess = None\nUdfAccess = None\nIpcName = bobak{port}\n",
        security = folder.join(SECURITY).display(),
        data = data(folder).display(),
        folder = folder.display(),
    );
    for (name, value) in settings {
        text.push_str(&format!("{name} = {value}\n"));
    }
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::write(&file, text).map_err(|e| Error::io("write", &file, &e))
    };
    write("firebird.conf", &text)?;
    write("databases.conf", "")
}

fn is_ready(_folder: &Path, port: u16, _pid: u32) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}
