//! `bobak serve`: serves databases to other programs.

use super::caching::CachingOptions;
use super::continuous_archive::ContinuousArchive;
use super::given_types::GivenTypes;
use super::http::HttpOptions;
use super::limits::ServeLimits;
use super::listeners::ListenerConfig;
use super::monitoring::MonitoringOptions;
use super::scheduled_backup::ScheduledBackup;
use super::sign_in;
use super::tls::TlsOptions;
use crate::commands::arguments::{database_url, named_database};
use crate::error::{Error, Result};
use crate::output::Terminal;
use bobak::engine::{Engine, FederatedEngine, SchemaChange};
use bobak_http::HttpServer;
use bobak_permissions::Access;
use bobak_server::Server;
use bobak_serving::BackupFolders;
use clap::Args;
use std::fs;
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

/// Serve databases to browsers, and to other programs over TCP, a Unix socket, HTTP, or standard input and output.
///
/// On a terminal, it shows a link that signs a browser in to the studio, once: no flags are needed on this machine. DATABASE is an SQLite file, created if it does not exist, or the URL of any other database. Clients know it by NAME,
/// or else by the file's name. TCP clients authenticate with a token or a password. Without TLS, only clients on this
/// machine may connect. --http listeners speak HTTP, all others Bobak's wire protocol.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeCommand {
    /// Databases to serve; the first is the default database
    #[arg(value_name = "[NAME=]FILE|URL", default_value = "bobak.db")]
    databases: Vec<String>,

    #[command(flatten)]
    schedule: ScheduledBackup,

    #[command(flatten)]
    shipping: ContinuousArchive,

    /// Attach another database, whose tables SQL names NAME.TABLE, to each served one; may be repeated. Permissions on it
    /// are those on the database NAME of the access file
    #[arg(long = "attach", value_name = "NAME=DATABASE", value_parser = named_database)]
    attached: Vec<(String, String)>,

    /// Turn change capture on for this table of the first database, so that clients can subscribe to its changes; may be
    /// repeated
    #[arg(long, value_name = "TABLE")]
    track: Vec<String>,

    /// Listen on this TCP address; may be repeated [default: 127.0.0.1:4715, unless another listener or no token is given]
    #[arg(short, long, value_name = "HOST:PORT")]
    listen: Vec<String>,

    /// Listen on a Unix socket that only this user can open; may be repeated
    #[arg(short, long, value_name = "PATH")]
    unix: Vec<PathBuf>,

    /// Serve the parent process over standard input and output, and exit with it
    #[arg(long)]
    stdio: bool,

    /// File with tokens that grant all permissions, one per line, each of at least 16 characters
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// File with users, tokens and roles. Reloaded when it changes and at SIGHUP
    #[arg(long, value_name = "FILE")]
    access_file: Option<PathBuf>,

    /// Let everybody who can connect over HTTP read, without credentials: all tables, or what the role `public` of the
    /// access file grants
    #[arg(long)]
    public_read: bool,

    #[command(flatten)]
    types: GivenTypes,

    #[command(flatten)]
    caching: CachingOptions,

    #[command(flatten)]
    monitoring: MonitoringOptions,

    #[command(flatten)]
    tls: TlsOptions,

    #[command(flatten)]
    http: HttpOptions,

    #[command(flatten)]
    limits: ServeLimits,
}

/// The running servers.
struct RunningListeners {
    server: Server,
    http: Option<HttpServer>,
}

/// Whether to show a link to the studio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInLink {
    /// On a terminal. Elsewhere the output may be a log that others read.
    OnTerminal,
    /// In any case.
    Print,
    /// Also open it in a browser.
    Open,
}

const EXAMPLES: &str = "\
Examples:
  bobak serve app.db
  bobak serve app.db --public-read
  bobak serve app.db --unix /run/app.socket
  bobak serve app.db --token-file tokens.txt
  bobak serve main=app.db \"cache=memory:\" --listen 0.0.0.0:4715 --access-file access.txt --tls-cert chain.pem --tls-key key.pem
  bobak serve app.db --http 0.0.0.0:443 --access-file access.txt --acme db.example.org
  bobak serve app.db --backup backups --backup-interval 1h --backup-keep 24 --archive backups
  bobak serve shop.db --type orders.price=f64 --http 127.0.0.1:8080
  bobak serve app.db --attach stock=stock.db --token-file tokens.txt
  bobak serve app.db --stdio
  bobak serve app.db --http 127.0.0.1:8080 --token-file tokens.txt

Clients connect to bobak+unix:/run/app.socket, bobak://localhost:4715/main?token=…, or
\"bobak+stdio:bobak serve app.db --stdio\". SIGTERM and SIGINT stop the server: running requests and transactions have ten
seconds to finish; a second signal stops it at once. SIGHUP reloads the access file.";

impl ServeCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If a database can't be opened, a file can't be read, an address is in use, or a listener would be open to
    /// unauthenticated clients.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        self.serve(screen, SignInLink::OnTerminal)
    }

    /// As [`run`](Self::run), with a choice of whether to show a link to the studio.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn serve(&self, screen: &Terminal, link: SignInLink) -> Result<()> {
        let shows_link = !self.stdio && (link != SignInLink::OnTerminal || stdout().is_terminal());
        let named = self.databases.iter().map(|database| name_and_url(database).map(with_scheme));
        let (names, urls): (Vec<_>, Vec<_>) =
            named.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        self.shipping.check(&urls)?;
        let access = self.access(shows_link, &urls)?;
        let code = if shows_link { Some(access.new_sign_in_code()?) } else { None };
        let readers = self.limits.readers(self.serves_http());
        let max_value = self.limits.wire.max_row;
        // A client takes what its child process says on standard error for the reason of its end.
        let notes = if self.stdio { Terminal::new(true) } else { *screen };
        let engines = urls.iter().map(|url| open(url, readers, max_value, &notes));
        let engines = engines.collect::<Result<Vec<_>>>()?;
        let engines = self.attach(engines, readers, screen)?;
        let databases: Vec<_> = names.into_iter().zip(engines).collect();
        self.track(&databases)?;
        let (wire_log, http_log) = (*screen, *screen);
        // Backups and archives, which are no clients, bypass types, monitor and caches.
        let typed = self.types.typed(&databases, screen)?;
        let monitored = |(name, engine): &(String, Arc<dyn Engine>)| {
            (name.clone(), self.monitoring.monitored(Arc::clone(engine), *screen))
        };
        // What a cache answers is no statement.
        let served = self.caching.cached(typed.iter().map(monitored).collect())?;
        let beside = first_file(&urls).unwrap_or_default().with_file_name("acme");
        let tls = self.tls.certificate(beside, *screen)?;
        let shared = ListenerConfig { databases: &served, access: &access, tls: &tls };
        let builder = Server::builder().settings(self.limits.wire.clone());
        let builder = shared.configure(builder, &self.addresses(), &self.unix)?;
        let server = builder.log(move |line| wire_log.log(line)).start()?;
        let log = move |line: &str| http_log.log(line);
        let http = match self.serves_http() {
            true => {
                Some(self.http.start(&shared, &self.limits, self.backup_folders(&urls), log)?)
            }
            false => None,
        };
        let servers = Arc::new(RunningListeners { server, http });
        let _renewal = tls.renew()?;
        bobak_serving::raise_file_limit();
        let _changes = self.shipping.start(&databases, *screen)?;
        let _backups = self.schedule.start(&databases, *screen)?;
        let stopped = handle_signals(&servers, access.clone(), *screen)?;
        if self.stdio {
            // Standard output carries the protocol, so addresses go to standard error. If that is closed, serve anyway.
            let _ = self.announce(&servers, std::io::stderr().lock());
            servers.server.serve_stdio()?;
        } else {
            let studio = code.zip(self.studio_address(&servers));
            if studio.is_none() || self.has_listener_flags() {
                self.announce(&servers, stdout().lock())?;
            }
            let shown = studio.map(|(code, at)| sign_in::show(&at, &code, &access, link, *screen));
            // The browser opens this file, which is deleted on drop.
            let _page = shown.transpose()?;
            // An error means that the signal thread has ended; stop then too.
            let _ = stopped.recv();
        }
        servers.stop();
        Ok(())
    }

    /// Attaches the further databases to each engine. An engine without SQL gets it also if there are none.
    fn attach(
        &self,
        engines: Vec<Arc<dyn Engine>>,
        readers: usize,
        screen: &Terminal,
    ) -> Result<Vec<Arc<dyn Engine>>> {
        let max_value = self.limits.wire.max_row;
        let open = |(name, url): &(String, String)| {
            Ok((name.clone(), open(url, readers, max_value, screen)?))
        };
        let attached = self.attached.iter().map(open).collect::<Result<Vec<_>>>()?;
        let with_attached =
            |engine| Ok(FederatedEngine::attach(engine, attached.clone(), max_value)?);
        engines.into_iter().map(with_attached).collect()
    }

    /// Turns change capture on for tables of the first database.
    fn track(&self, databases: &[(String, Arc<dyn Engine>)]) -> Result<()> {
        let Some((_, engine)) = databases.first() else { return Ok(()) };
        let tables = if self.track.is_empty() { Vec::new() } else { engine.tables()? };
        for name in &self.track {
            let found = tables.iter().find(|table| table.name().eq_ignore_ascii_case(name));
            let missing = || Error::failed(format!("there is no table '{name}' to track"));
            let table = Arc::new(found.ok_or_else(missing)?.clone());
            engine.alter(&[SchemaChange::Track { table, history: false }])?;
        }
        Ok(())
    }

    /// The accounts. `shows_link` creates a sign-in code; the administrator who uses it may create accounts, which are in a
    /// file next to the first database unless another one is given.
    fn access(&self, shows_link: bool, urls: &[String]) -> Result<Access> {
        let beside = first_file(urls).filter(|_| shows_link);
        let beside = beside.map(|file| file.with_extension("access"));
        let access = match &self.access_file {
            Some(path) => {
                let access = Access::from_file(path)?;
                access.watch()?;
                access
            }
            None => beside.map_or_else(|| Ok(Access::new()), Access::from_optional_file)?,
        };
        for token in lines(self.token_file.as_deref())? {
            access.add_token(&token)?;
        }
        if access.is_empty() && !self.listen.is_empty() {
            let message = "a TCP listener needs authentication: pass --token-file or --access-file, or listen on a Unix socket with \
                           --unix";
            return Err(Error::failed(message));
        }
        if self.public_read {
            access.allow_public_read();
        }
        if access.is_empty() && !self.has_listener_flags() && !shows_link {
            let message = "nobody could authenticate: run it on a terminal, or run `bobak studio`: both show a sign-in link for browsers; or \
                           pass --token-file, --access-file or --public-read, listen on a Unix socket with --unix, or serve \
                           the parent process with --stdio";
            return Err(Error::failed(message));
        }
        Ok(access)
    }

    /// Where backups go that an administrator makes in the studio: to a folder `backups` next to the first database, unless
    /// there is one for scheduled backups.
    fn backup_folders(&self, urls: &[String]) -> BackupFolders {
        let given = self.schedule.folder().map(Path::to_owned);
        let beside = || first_file(urls).map(|file| file.with_file_name("backups"));
        let archives = self.shipping.folder().map(Path::to_owned);
        BackupFolders { backups: given.or_else(beside), archives }
    }

    /// Whether the listeners are given, rather than the default ones.
    fn has_listener_flags(&self) -> bool {
        !self.listen.is_empty() || !self.unix.is_empty() || self.stdio || self.http.is_given()
    }

    /// Whether there is an HTTP listener: also by default.
    fn serves_http(&self) -> bool {
        self.http.is_given() || !self.has_listener_flags()
    }

    /// The addresses of the TCP listeners of the wire protocol. The default one needs a token or a user.
    fn addresses(&self) -> Vec<String> {
        let has_accounts = self.token_file.is_some() || self.access_file.is_some();
        match has_accounts && !self.has_listener_flags() {
            true => vec!["127.0.0.1:4715".to_owned()],
            false => self.listen.clone(),
        }
    }

    /// The address of the studio at the first HTTP listener on TCP.
    fn studio_address(&self, servers: &RunningListeners) -> Option<String> {
        let http = servers.http.as_ref().filter(|_| !self.limits.http.without_studio)?;
        let address = http.addresses().first()?;
        let scheme = if self.tls.is_on() { "https" } else { "http" };
        // A browser on this machine reaches a listener at all addresses by any of its names.
        let host = match address.ip().is_unspecified() {
            true => format!("localhost:{}", address.port()),
            false => address.to_string(),
        };
        Some(format!("{scheme}://{host}/studio/"))
    }

    /// Prints the listeners' addresses. For port 0 this is the only place that shows the chosen port.
    fn announce(&self, servers: &RunningListeners, mut output: impl Write) -> Result<()> {
        let tcp = servers.server.addresses().iter().map(ToString::to_string);
        let sockets = self.unix.iter().map(|path| path.display().to_string());
        let http = servers.http.iter();
        let http = http.flat_map(|http| self.http.addresses(http, self.tls.is_on()));
        for address in tcp.chain(sockets).chain(http) {
            writeln!(output, "listening on {address}").map_err(|error| Error::output(&error))?;
        }
        output.flush().map_err(|error| Error::output(&error))
    }
}

impl RunningListeners {
    /// Tells all servers to stop; they stop in parallel.
    fn begin_stop(&self) {
        self.server.begin_stop();
        if let Some(http) = &self.http {
            http.begin_stop();
        }
    }

    /// Waits until running requests have finished.
    fn stop(&self) {
        self.begin_stop();
        self.server.stop();
        if let Some(http) = &self.http {
            http.stop();
        }
    }
}

/// Splits `name=url`. Without a name, the database is named after its file.
fn name_and_url(text: &str) -> Result<(String, String)> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    };
    match text.split_once('=') {
        Some((name, url)) if is_name(name) => return Ok((name.to_owned(), url.to_owned())),
        // Nobody means a new file with such a name.
        Some((name, _)) if !name.contains([':', '?']) && !Path::new(text).exists() => {
            let message = format!(
                "'{name}' is no name of a database: it has letters, digits, _ and - (a file with = in its name is \
                 given as sqlite:FILE)"
            );
            return Err(Error::usage(message));
        }
        _ => {}
    }
    let path = text.split('?').next().unwrap_or(text);
    let file = path.rsplit_once(':').map_or(path, |(_, file)| file);
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str());
    Ok((stem.filter(|stem| !stem.is_empty()).unwrap_or("main").to_owned(), text.to_owned()))
}

/// The file of the first database, if it is one.
fn first_file(urls: &[String]) -> Option<PathBuf> {
    let url = urls.first()?;
    let (scheme, rest) = url.split_once(':')?;
    let path = rest.split('?').next().unwrap_or(rest);
    let is_file = matches!(scheme, "sqlite" | "memory") && !path.is_empty() && path != ":memory:";
    is_file.then(|| PathBuf::from(path))
}

/// A name without a scheme is an SQLite file.
fn with_scheme((name, url): (String, String)) -> (String, String) {
    let Ok(url) = database_url(&url);
    (name, url)
}

fn open(place: &str, readers: usize, max_value: u32, screen: &Terminal) -> Result<Arc<dyn Engine>> {
    let mut url = place.to_owned();
    let (is_sqlite, in_file) = (url.starts_with("sqlite:"), !url.contains(":memory:"));
    let mut set = |name: &str, value: &dyn std::fmt::Display| {
        if !url.contains(&format!("{name}=")) {
            let mark = if url.contains('?') { '&' } else { '?' };
            url.push_str(&format!("{mark}{name}={value}"));
        }
    };
    if is_sqlite {
        // Limit values that a client's SQL can create from nothing.
        set("max_value_bytes", &max_value);
        // Limit what is buffered of an open query if its client writes before it has fetched the rest.
        set("max_ahead_bytes", &max_value);
        // One reader per worker, so that slow clients never make others wait for a connection.
        if in_file {
            set("readers", &readers);
        }
    }
    let url = crate::database::with_key(&url);
    crate::database::noting_new_file(place, screen, || Ok(bobak::engine::open(&url)?))
}

/// The lines of a file, without blank lines and comments (`#`).
fn lines(path: Option<&Path>) -> Result<Vec<String>> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let text = fs::read_to_string(path)
        .map_err(|error| Error::io(format_args!("read {}", path.display()), &error))?;
    let full = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    Ok(full.map(str::to_owned).collect())
}

/// Handles signals: the first SIGTERM or SIGINT stops the servers, the second exits; SIGHUP reloads the access file.
fn handle_signals(
    servers: &Arc<RunningListeners>,
    access: Access,
    screen: Terminal,
) -> Result<mpsc::Receiver<()>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| Error::io("wait for signals", &error))?;
    let (sender, stopped) = mpsc::channel();
    let servers = Arc::downgrade(servers);
    let handle = move || {
        let mut stopping = false;
        for signal in signals.forever() {
            if signal == SIGHUP {
                if let Err(error) = access.reload() {
                    screen.log(format_args!("access file not reloaded: {error}"));
                }
            } else if std::mem::replace(&mut stopping, true) {
                std::process::exit(1);
            } else if let Some(servers) = servers.upgrade() {
                servers.begin_stop();
                // With --stdio nobody receives this.
                let _ = sender.send(());
            }
        }
    };
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(handle);
    let failed = |error| Error::io("wait for signals", &error);
    thread.map(|_| stopped).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_names_come_from_argument_or_file() {
        for (text, name, url) in [
            ("app.db", "app", "app.db"),
            ("main=app.db", "main", "app.db"),
            ("/var/lib/x.y.db", "x.y", "/var/lib/x.y.db"),
            ("sqlite:a.db?journal_mode=wal", "a", "sqlite:a.db?journal_mode=wal"),
            ("memory:", "main", "memory:"),
            ("cache=memory:", "cache", "memory:"),
        ] {
            assert_eq!(name_and_url(text).unwrap(), (name.to_owned(), url.to_owned()));
        }
        for text in ["a b=app.db", "../x=app.db", "=app.db"] {
            let error = name_and_url(text).unwrap_err();
            assert!(error.to_string().contains("is no name of a database"), "{error}");
        }
        assert!(name_and_url("sqlite:a b=c.db").is_ok());
    }
}
