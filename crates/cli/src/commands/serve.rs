//! `bobak serve`: databases for other programs.

use super::schedule::Schedule;
use crate::error::{Error, Result};
use crate::output::Screen;
use bobak::engine::Engine;
use bobak_server::{Server, ServerBuilder, Settings};
use clap::Args;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Give databases to other programs, over TCP, a Unix socket, or standard input and output.
///
/// A database is an SQLite file, made if it is not there, or any other by its URL; with NAME= before it, it has that
/// name, else the file's. Who comes over TCP shows a token or a password, and without TLS nobody but this machine may
/// come. Every door speaks Bobak's own protocol.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Serve {
    /// The databases; the first is that of clients who name none
    #[arg(value_name = "[NAME=]FILE|URL", default_value = "bobak.db")]
    databases: Vec<String>,

    #[command(flatten)]
    schedule: Schedule,

    /// Listen on TCP at this address; may be repeated [default: 127.0.0.1:4715, unless there is another door]
    #[arg(short, long, value_name = "HOST:PORT")]
    listen: Vec<String>,

    /// Listen on a Unix socket, which only this user can open; may be repeated
    #[arg(short, long, value_name = "PATH")]
    unix: Vec<PathBuf>,

    /// Serve the program that has started this one, through standard input and output, and end with it
    #[arg(long)]
    stdio: bool,

    /// A file of access tokens, one in a line, of at least 16 characters each
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// A file of users, in lines as `bobak user` writes them
    #[arg(long, value_name = "FILE")]
    users_file: Option<PathBuf>,

    /// The certificates, PEM, with which TCP doors speak TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Their key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Let other machines come without TLS: tokens, passwords and records cross the network as they are
    #[arg(long)]
    without_tls: bool,

    /// The most connections, idle ones included [default: 16384]
    #[arg(long, value_name = "N")]
    connections: Option<usize>,

    /// The most worker threads, of connections with a request or a transaction under way [default: 64]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,

    /// The most bytes of a request [default: 67108864]
    #[arg(long, value_name = "BYTES")]
    max_frame: Option<u32>,

    /// The most bytes of a row [default: 67108864]
    #[arg(long, value_name = "BYTES")]
    max_row: Option<u32>,
}

const EXAMPLES: &str = "\
Examples:
  bobak serve app.db --unix /run/app.socket
  bobak serve app.db --token-file tokens.txt
  bobak serve main=app.db \"cache=memory:\" --listen 0.0.0.0:4715 --users-file users.txt --tls-cert chain.pem --tls-key key.pem
  bobak serve app.db --backup backups --every 1h --keep 24
  bobak serve app.db --stdio

Other programs then open bobak+unix:/run/app.socket, bobak://localhost:4715/main?token=…, or
\"bobak+stdio:bobak serve app.db --stdio\". The server stops at SIGTERM and at SIGINT: requests under way are answered,
transactions have ten seconds to end; a second signal ends it at once.";

impl Serve {
    /// Runs the command.
    ///
    /// # Errors
    /// A database that can't be opened, a file that can't be read, an address that is taken, a door that strangers
    /// could open.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        let quiet = *screen;
        let mut builder = Server::builder().settings(self.settings());
        let mut databases = Vec::new();
        for database in &self.databases {
            let (name, url) = named(database);
            let engine = open(&url)?;
            builder = builder.shared_database(&name, Arc::clone(&engine));
            databases.push((name, engine));
        }
        builder = self.doors(self.guests(builder)?);
        builder = builder.log(move |line| quiet.note(line));
        let server = Arc::new(builder.start()?);
        bobak_server::raise_file_limit();
        let _backups = self.schedule.start(&databases, quiet)?;
        stop_at_signals(&server)?;
        if self.stdio {
            server.serve_stdio()?;
        } else {
            self.announce(&server)?;
            server.wait();
        }
        server.stop();
        Ok(())
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.connections = self.connections.unwrap_or(settings.connections);
        settings.workers = self.workers.unwrap_or(settings.workers);
        settings.limits.frame = self.max_frame.unwrap_or(settings.limits.frame);
        settings.limits.row = self.max_row.unwrap_or(settings.limits.row);
        settings
    }

    fn guests(&self, mut builder: ServerBuilder) -> Result<ServerBuilder> {
        for (_, line) in lines(self.token_file.as_deref())? {
            builder = builder.token(&line);
        }
        for (number, line) in lines(self.users_file.as_deref())? {
            let Some((name, hash)) = line.split_once(':') else {
                let message = format!("line {number} of the users' file is not NAME:HASH");
                return Err(Error::failed(message));
            };
            builder = builder.user(name, hash);
        }
        Ok(builder)
    }

    fn doors(&self, mut builder: ServerBuilder) -> ServerBuilder {
        for address in &self.listen {
            builder = builder.tcp(address);
        }
        for path in &self.unix {
            builder = builder.unix(path);
        }
        if self.listen.is_empty() && self.unix.is_empty() && !self.stdio {
            builder = builder.tcp("127.0.0.1:4715");
        }
        if let (Some(chain), Some(key)) = (&self.tls_cert, &self.tls_key) {
            builder = builder.tls(chain, key);
        }
        if self.without_tls { builder.without_tls() } else { builder }
    }

    /// Says where the doors are, on standard output: a port that was chosen is known here only.
    fn announce(&self, server: &Server) -> Result<()> {
        let mut output = std::io::stdout().lock();
        let places = server.addresses().iter().map(ToString::to_string);
        let sockets = self.unix.iter().map(|path| path.display().to_string());
        for place in places.chain(sockets) {
            writeln!(output, "listening at {place}").map_err(|error| Error::output(&error))?;
        }
        output.flush().map_err(|error| Error::output(&error))
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

fn open(url: &str) -> Result<Arc<dyn Engine>> {
    // A name without a scheme is that of an SQLite file.
    let url = if url.contains(':') { url.to_owned() } else { format!("sqlite:{url}") };
    Ok(bobak::engine::open(&url)?)
}

/// The lines of a file that hold something, with their numbers: blank ones, and those that begin with #, don't.
fn lines(path: Option<&Path>) -> Result<Vec<(usize, String)>> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let text = fs::read_to_string(path)
        .map_err(|error| Error::io(format_args!("read {}", path.display()), &error))?;
    let numbered = text.lines().map(str::trim).zip(1..);
    let full = numbered.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    Ok(full.map(|(line, number)| (number, line.to_owned())).collect())
}

/// The first signal asks the server to stop, the second ends the program.
fn stop_at_signals(server: &Arc<Server>) -> Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT])
        .map_err(|error| Error::io("wait for signals", &error))?;
    let server = Arc::downgrade(server);
    let waits = move || {
        let mut arrived = signals.forever();
        if arrived.next().is_some()
            && let Some(server) = server.upgrade()
        {
            server.begin_stop();
        }
        if arrived.next().is_some() {
            std::process::exit(1);
        }
    };
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(waits);
    thread.map(drop).map_err(|error| Error::io("wait for signals", &error))
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
