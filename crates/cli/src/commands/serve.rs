//! `bobak serve`: databases for other programs.

use super::doors::Shared;
use super::http::HttpOptions;
use super::limits::Limits;
use super::schedule::Schedule;
use super::shipping::Shipping;
use crate::commands::parse::database_url;
use crate::error::{Error, Result};
use crate::output::Screen;
use bobak::engine::{Engine, SchemaChange};
use bobak_http::HttpServer;
use bobak_permissions::Access;
use bobak_server::Server;
use clap::Args;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

/// Give databases to other programs, over TCP, a Unix socket, HTTP, or standard input and output.
///
/// A database is an SQLite file, made if it is not there, or any other by its URL; with NAME= before it, it has that
/// name, else the file's. Who comes over TCP shows a token or a password, and without TLS nobody but this machine may
/// come. The doors of --http speak HTTP, all others Bobak's own protocol.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Serve {
    /// The databases; the first is that of clients who name none
    #[arg(value_name = "[NAME=]FILE|URL", default_value = "bobak.db")]
    databases: Vec<String>,

    #[command(flatten)]
    schedule: Schedule,

    #[command(flatten)]
    shipping: Shipping,

    /// Write down every change of this table of the first database from now on, for those who listen to changes; may be
    /// repeated
    #[arg(long, value_name = "TABLE")]
    track: Vec<String>,

    /// Listen on TCP at this address; may be repeated [default: 127.0.0.1:4715, unless there is another door]
    #[arg(short, long, value_name = "HOST:PORT")]
    listen: Vec<String>,

    /// Listen on a Unix socket, which only this user can open; may be repeated
    #[arg(short, long, value_name = "PATH")]
    unix: Vec<PathBuf>,

    /// Serve the program that has started this one, through standard input and output, and end with it
    #[arg(long)]
    stdio: bool,

    /// A file of tokens that may do everything, one in a line, of at least 16 characters each
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// A file of users, tokens and roles: who may do what. Read again when it changes, and at SIGHUP
    #[arg(long, value_name = "FILE")]
    access_file: Option<PathBuf>,

    /// The certificates, PEM, with which TCP doors speak TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Their key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Let other machines come without TLS: tokens, passwords and records cross the network as they are
    #[arg(long)]
    without_tls: bool,

    #[command(flatten)]
    limits: Limits,

    #[command(flatten)]
    http: HttpOptions,
}

/// The doors that are open.
struct Doors {
    server: Server,
    http: Option<HttpServer>,
}

const EXAMPLES: &str = "\
Examples:
  bobak serve app.db --unix /run/app.socket
  bobak serve app.db --token-file tokens.txt
  bobak serve main=app.db \"cache=memory:\" --listen 0.0.0.0:4715 --access-file access.txt --tls-cert chain.pem --tls-key key.pem
  bobak serve app.db --backup backups --every 1h --keep 24 --archive backups
  bobak serve app.db --stdio
  bobak serve app.db --http 127.0.0.1:8080 --token-file tokens.txt

Other programs then open bobak+unix:/run/app.socket, bobak://localhost:4715/main?token=…, or
\"bobak+stdio:bobak serve app.db --stdio\". The server stops at SIGTERM and at SIGINT: requests under way are answered,
transactions have ten seconds to end; a second signal ends it at once. At SIGHUP it reads the access file again.";

impl Serve {
    /// Runs the command.
    ///
    /// # Errors
    /// A database that can't be opened, a file that can't be read, an address that is taken, a door that strangers
    /// could open.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        let (names, urls): (Vec<_>, Vec<_>) =
            self.databases.iter().map(|database| named(database)).map(with_scheme).unzip();
        self.shipping.check(&urls)?;
        let access = self.access()?;
        let readers = self.limits.readers(self.http.is_given());
        let longest = self.limits.wire().limits.row;
        let engines = urls.iter().map(|url| open(url, readers, longest));
        let engines = engines.collect::<Result<Vec<_>>>()?;
        let databases: Vec<_> = names.into_iter().zip(engines).collect();
        self.track(&databases)?;
        let (quiet, also) = (*screen, *screen);
        let shared = Shared {
            databases: &databases,
            access: &access,
            tls: self.tls_cert.as_deref().zip(self.tls_key.as_deref()),
            without_tls: self.without_tls,
        };
        let builder = Server::builder().settings(self.limits.wire());
        let builder = shared.doors(builder, &self.addresses(), &self.unix);
        let server = builder.log(move |line| quiet.note(line)).start()?;
        let http = self.http.start(&shared, &self.limits, move |line| also.note(line))?;
        let doors = Arc::new(Doors { server, http });
        bobak_serving::raise_file_limit();
        let _changes = self.shipping.start(&databases, *screen)?;
        let _backups = self.schedule.start(&databases, *screen)?;
        let stopped = obey_signals(&doors, access, *screen)?;
        if self.stdio {
            // Standard output is the wire. Where nobody hears the other, clients come all the same.
            let _ = self.announce(&doors, std::io::stderr().lock());
            doors.server.serve_stdio()?;
        } else {
            self.announce(&doors, std::io::stdout().lock())?;
            // Where nobody is left to send, there is no more to wait for.
            let _ = stopped.recv();
        }
        doors.stop();
        Ok(())
    }

    /// Has tables of the first database tracked.
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

    fn access(&self) -> Result<Access> {
        let access = match &self.access_file {
            Some(path) => {
                let access = Access::from_file(path)?;
                access.watch()?;
                access
            }
            None => Access::new(),
        };
        for token in lines(self.token_file.as_deref())? {
            access.add_token(&token)?;
        }
        if access.is_empty() && !self.addresses().is_empty() {
            let message = "a door over TCP needs a token, or a user with a password: name them by --token-file or \
                           --access-file, or open a socket instead, by --unix";
            return Err(Error::failed(message));
        }
        Ok(access)
    }

    /// Where the doors over TCP are.
    fn addresses(&self) -> Vec<String> {
        let others = !self.unix.is_empty() || self.stdio || self.http.is_given();
        match self.listen.is_empty() && !others {
            true => vec!["127.0.0.1:4715".to_owned()],
            false => self.listen.clone(),
        }
    }

    /// Says where the doors are, which are not standard input and output: a port that was chosen is
    /// known here only.
    fn announce(&self, doors: &Doors, mut output: impl Write) -> Result<()> {
        let places = doors.server.addresses().iter().map(ToString::to_string);
        let sockets = self.unix.iter().map(|path| path.display().to_string());
        let http = doors.http.iter();
        let http = http.flat_map(|http| self.http.places(http, self.tls_cert.is_some()));
        for place in places.chain(sockets).chain(http) {
            writeln!(output, "listening at {place}").map_err(|error| Error::output(&error))?;
        }
        output.flush().map_err(|error| Error::output(&error))
    }
}

impl Doors {
    /// Tells all of them to stop; they do so side by side.
    fn begin_stop(&self) {
        self.server.begin_stop();
        if let Some(http) = &self.http {
            http.begin_stop();
        }
    }

    /// Waits until what was under way has ended.
    fn stop(&self) {
        self.begin_stop();
        self.server.stop();
        if let Some(http) = &self.http {
            http.stop();
        }
    }
}

/// `name=url`; the name of a file is that of its database.
fn named(text: &str) -> (String, String) {
    let given = text.split_once('=').filter(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    });
    if let Some((name, url)) = given {
        return (name.to_owned(), url.to_owned());
    }
    let place = text.split('?').next().unwrap_or(text);
    let file = place.rsplit_once(':').map_or(place, |(_, file)| file);
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str());
    (stem.filter(|stem| !stem.is_empty()).unwrap_or("main").to_owned(), text.to_owned())
}

/// A name without a scheme is that of an SQLite file.
fn with_scheme((name, url): (String, String)) -> (String, String) {
    let Ok(url) = database_url(&url);
    (name, url)
}

fn open(url: &str, readers: usize, longest: u32) -> Result<Arc<dyn Engine>> {
    let mut url = url.to_owned();
    let (is_sqlite, in_file) = (url.starts_with("sqlite:"), !url.contains(":memory:"));
    let mut set = |name: &str, value: &dyn std::fmt::Display| {
        if !url.contains(&format!("{name}=")) {
            let mark = if url.contains('?') { '&' } else { '?' };
            url.push_str(&format!("{mark}{name}={value}"));
        }
    };
    if is_sqlite {
        // What a row may have on the way: SQL of others makes larger ones out of nothing.
        set("max_value", &longest);
        // So much may be left of a query whose client writes before it has fetched the rest.
        set("max_ahead", &longest);
        // So many as there may be workers: a client that reads slowly keeps its own from nobody.
        if in_file {
            set("readers", &readers);
        }
    }
    Ok(bobak::engine::open(&crate::database::with_key(&url))?)
}

/// The lines of a file that hold something: blank ones, and those that begin with #, don't.
fn lines(path: Option<&Path>) -> Result<Vec<String>> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let text = fs::read_to_string(path)
        .map_err(|error| Error::io(format_args!("read {}", path.display()), &error))?;
    let full = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    Ok(full.map(str::to_owned).collect())
}

/// The first signal asks the server to stop, the second ends the program; SIGHUP has it read the rights again.
fn obey_signals(doors: &Arc<Doors>, access: Access, screen: Screen) -> Result<mpsc::Receiver<()>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| Error::io("wait for signals", &error))?;
    let (sender, stopped) = mpsc::channel();
    let doors = Arc::downgrade(doors);
    let waits = move || {
        let mut stops = false;
        for signal in signals.forever() {
            if signal == SIGHUP {
                if let Err(error) = access.reload() {
                    screen.note(format_args!("the rights stay as they were: {error}"));
                }
            } else if std::mem::replace(&mut stops, true) {
                std::process::exit(1);
            } else if let Some(doors) = doors.upgrade() {
                doors.begin_stop();
                // Nobody waits who serves through standard input and output.
                let _ = sender.send(());
            }
        }
    };
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(waits);
    let failed = |error| Error::io("wait for signals", &error);
    thread.map(|_| stopped).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_have_names() {
        for (text, name, url) in [
            ("app.db", "app", "app.db"),
            ("main=app.db", "main", "app.db"),
            ("/var/lib/x.y.db", "x.y", "/var/lib/x.y.db"),
            ("sqlite:a.db?journal=wal", "a", "sqlite:a.db?journal=wal"),
            ("memory:", "main", "memory:"),
            ("cache=memory:", "cache", "memory:"),
        ] {
            assert_eq!(named(text), (name.to_owned(), url.to_owned()));
        }
    }
}
