//! A server, and a new database on it for each contender.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bobak_servers::{Firebird, MariaDb, Options, Postgres, Server};

use crate::contender::Failure;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MariaDb,
    /// Firebird.
    Firebird,
}

/// A contender's own database, dropped with this.
pub struct Home {
    kind: ServerKind,
    name: String,
    place: Arc<ServerHandle>,
}

/// A server: the user's, or a private one, which stops when nobody holds it any more.
enum ServerHandle {
    Given(String),
    Postgres(Postgres),
    MariaDb(MariaDb),
    Firebird(Firebird),
}

/// A server that is known between contenders.
struct KnownServer {
    /// The user's URL.
    given: Option<String>,
    /// The private one that runs.
    running: Weak<ServerHandle>,
}

static KNOWN: [Mutex<KnownServer>; 3] =
    [const { Mutex::new(KnownServer { given: None, running: Weak::new() }) }; 3];

impl ServerKind {
    /// Uses the server at this URL instead of a private one; without its settings for Bobak, it
    /// must be one that the usual drivers understand.
    pub fn give(self, url: &str) {
        self.known().given = Some(url.to_owned());
    }

    /// Whether there is a server to be measured: one was given, or its programs are installed.
    pub fn is_there(self) -> bool {
        let installed = match self {
            Self::Postgres => Postgres::is_installed,
            Self::MariaDb => MariaDb::is_installed,
            Self::Firebird => Firebird::is_installed,
        };
        self.known().given.is_some() || installed()
    }

    /// Keeps the server running, until what this gives is dropped.
    ///
    /// # Errors
    /// Where a private one does not start.
    pub fn hold(self) -> Result<Arc<dyn std::any::Any + Send + Sync>, Failure> {
        Ok(self.place()?)
    }

    fn place(self) -> Result<Arc<ServerHandle>, Failure> {
        let mut known = self.known();
        if let Some(running) = known.running.upgrade() {
            return Ok(running);
        }
        // As durable as a server is out of the box: an acknowledged row is on the disk.
        let options = Options::new().durable();
        let place = match (&known.given, self) {
            (Some(url), _) => ServerHandle::Given(url.clone()),
            (None, Self::Postgres) => ServerHandle::Postgres(Postgres::start_with(&options)?),
            (None, Self::MariaDb) => ServerHandle::MariaDb(MariaDb::start_with(&options)?),
            (None, Self::Firebird) => ServerHandle::Firebird(Firebird::start_with(&options)?),
        };
        let place = Arc::new(place);
        known.running = Arc::downgrade(&place);
        Ok(place)
    }

    fn known(self) -> std::sync::MutexGuard<'static, KnownServer> {
        KNOWN[self as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerHandle {
    fn url(&self) -> String {
        match self {
            Self::Given(url) => url.clone(),
            Self::Postgres(server) => server.url(),
            Self::MariaDb(server) => server.url(),
            Self::Firebird(server) => server.url(),
        }
    }

    fn server(&self) -> Result<&Server, Failure> {
        match self {
            Self::Given(_) => Err(Failure::new("a server that was given is not killed")),
            Self::Postgres(server) => Ok(server),
            Self::MariaDb(server) => Ok(server),
            Self::Firebird(server) => Ok(server),
        }
    }
}

impl Home {
    /// A new, empty database.
    ///
    /// # Errors
    /// If there is no server, or it fails.
    pub fn new(kind: ServerKind) -> Result<Self, Failure> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let place = kind.place()?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bobak_bench_{}_{number}", std::process::id());
        let home = Self { kind, name, place };
        // Firebird's are created by the first connection.
        if kind != ServerKind::Firebird {
            home.at_server(&format!("CREATE DATABASE {}", home.name))?;
        }
        Ok(home)
    }

    /// The database's URL, with the settings that the user gave.
    pub fn url(&self) -> String {
        in_database(&self.place.url(), &self.name)
    }

    /// The same for the usual drivers, which do not know Bobak's settings.
    pub fn plain_url(&self) -> String {
        plain(&self.url())
    }

    /// Kills the server, all of its processes at once.
    ///
    /// # Errors
    /// Where it is the user's.
    pub fn kill_server(&self) -> Result<(), Failure> {
        Ok(self.place.server()?.kill()?)
    }

    /// Starts the server again.
    ///
    /// # Errors
    /// Where it is the user's, or does not start.
    pub fn restart_server(&self) -> Result<(), Failure> {
        Ok(self.place.server()?.restart()?)
    }

    #[cfg(feature = "firebird")]
    fn drop_firebird(&self) -> Result<(), Failure> {
        super::firebird::drop_database(&self.plain_url())
    }

    #[cfg(not(feature = "firebird"))]
    fn drop_firebird(&self) -> Result<(), Failure> {
        Err(Failure::new("this program was built without Firebird"))
    }

    /// Runs a statement outside of the database.
    fn at_server(&self, sql: &str) -> Result<(), Failure> {
        let url = plain(&self.place.url());
        match self.kind {
            ServerKind::Postgres => super::postgres::connect(&url)?.batch_execute(sql)?,
            ServerKind::MariaDb => super::mariadb::execute(&url, sql)?,
            ServerKind::Firebird => {}
        }
        Ok(())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A database in use cannot be dropped without force, and its contender is gone.
        let force = if self.kind == ServerKind::Postgres { " WITH (FORCE)" } else { "" };
        let dropped = match self.kind {
            ServerKind::Firebird => self.drop_firebird(),
            _ => self.at_server(&format!("DROP DATABASE {}{force}", self.name)),
        };
        if let Err(failure) = dropped {
            eprintln!("the database {} is left behind: {failure}", self.name);
        }
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn plain(url: &str) -> String {
    url.split_once('?').map_or(url, |(url, _)| url).to_owned()
}

/// The URL with another database.
fn in_database(url: &str, name: &str) -> String {
    let (place, settings) = url.split_once('?').map_or((url, None), |(a, b)| (a, Some(b)));
    let host = place.find("://").map_or(0, |at| at + 3);
    let end = place.get(host..).and_then(|rest| rest.find('/')).map_or(place.len(), |at| host + at);
    let place = place.get(..end).unwrap_or(place);
    match settings {
        Some(settings) => format!("{place}/{name}?{settings}"),
        None => format!("{place}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_of_a_url_changes() {
        for (url, wanted) in [
            ("postgres://me@host:1/db?a=b/c", "postgres://me@host:1/x?a=b/c"),
            ("mysql://me@a,b/db", "mysql://me@a,b/x"),
            ("mysql://host", "mysql://host/x"),
        ] {
            assert_eq!(in_database(url, "x"), wanted);
        }
        assert_eq!(plain("mysql://host/x?tls=off"), "mysql://host/x");
    }
}
