//! How connections are opened: the hosts in turn, and what each session is set to.

use crate::connection::{Connection, Flavour};
use crate::error;
#[cfg(feature = "tls")]
use crate::settings::Tls;
use crate::settings::{Host, Isolation, Settings};
use crate::values::instants::Instants;
use bobak_core::{Error, ErrorKind, Result};
use bobak_engine_common::ServerPhase;
use bobak_sql::Dialect;
#[cfg(feature = "tls")]
use mysql::SslOpts;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// How long the client waits beyond the server's own timeout, for the server's message about it.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(5);

/// The longest row that is read, in bytes: the most that the driver can.
const LONGEST_ROW: usize = 1 << 30;

/// Strict: nothing is cut, rounded or replaced by 0 silently. A key of 0 is a key, and a backslash
/// a character. Two bars join texts, as in standard SQL.
const SQL_MODE: &str = "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,\
                        NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT";

/// What opens connections.
#[derive(Debug)]
pub(crate) struct ServerConnector {
    pub settings: Settings,
    /// The host that answered last.
    last: AtomicUsize,
    /// Which columns are instants, until this engine changes the schema.
    instants: Mutex<Option<Arc<Instants>>>,
}

impl ServerConnector {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, last: AtomicUsize::new(0), instants: Mutex::default() }
    }

    pub(super) fn instants(&self) -> Option<Arc<Instants>> {
        self.instants.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_instants(&self, instants: Option<Arc<Instants>>) {
        *self.instants.lock().unwrap_or_else(PoisonError::into_inner) = instants;
    }

    /// Opens a connection to the first host that can be reached, beginning with the last good one.
    ///
    /// # Errors
    /// That of the last host tried; a host that rejects the user ends the search.
    pub(crate) fn connect(self: &Arc<Self>) -> Result<Connection> {
        let hosts =
            if self.settings.socket.is_some() { 1 } else { self.settings.hosts.len().max(1) };
        let first = self.last.load(Ordering::Relaxed);
        let mut failed = None;
        for step in 0..hosts {
            let place = (first + step) % hosts;
            match self.open(place) {
                Ok(connection) => {
                    self.last.store(place, Ordering::Relaxed);
                    return Ok(connection);
                }
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| Error::new(ErrorKind::Config, "the host is missing")))
    }

    /// To be told where a host's connection broke: the next one is tried first, if there is one.
    pub(crate) fn avoid(&self, host: usize) {
        let next = (host + 1) % self.settings.hosts.len().max(1);
        // Another thread may have moved on already.
        let _ = self.last.compare_exchange(host, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Opens a connection within the time for it. The driver has one timeout for all that it ever
    /// reads, which is that of statements: a thread of its own waits for a server that hangs.
    fn open(self: &Arc<Self>, place: usize) -> Result<Connection> {
        let (give, take) = mpsc::sync_channel(1);
        let connector = Arc::clone(self);
        let opening = move || {
            // If the caller has given up, the new connection is closed.
            let _ = give.send(connector.open_here(place));
        };
        let thread = std::thread::Builder::new().name("bobak-connect".to_owned());
        thread.spawn(opening).map_err(|error| Error::io("start a thread to connect", error))?;
        let time = self.settings.connect_timeout;
        take.recv_timeout(time).unwrap_or_else(|_| {
            let (name, time) = (self.name(place), time.as_millis());
            let message =
                format!("could not connect to {name}: the server did not answer within {time} ms");
            Err(Error::new(ErrorKind::Timeout, message))
        })
    }

    fn open_here(self: &Arc<Self>, place: usize) -> Result<Connection> {
        let name = self.name(place);
        let mut conn = Conn::new(self.opts(place)).map_err(|e| error::connecting(e, &name))?;
        let (flavour, known) = flavour(&mut conn).map_err(|e| located(e, &name))?;
        let set = self.session(flavour.dialect, &known);
        conn.query_drop(set).map_err(|e| error::connecting(e, &name))?;
        Ok(Connection::new(conn, Arc::clone(self), place, flavour))
    }

    /// The host, for messages.
    fn name(&self, place: usize) -> String {
        match (&self.settings.socket, self.settings.hosts.get(place)) {
            (Some(socket), _) => socket.display().to_string(),
            (None, Some(Host { name, port })) => format!("{name}:{port}"),
            (None, None) => "no host".to_owned(),
        }
    }

    fn opts(&self, place: usize) -> Opts {
        let settings = &self.settings;
        let read_timeout = settings.statement_timeout.map(|time| time + TIMEOUT_MARGIN);
        let millis = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        let mut opts = OptsBuilder::new()
            .user(settings.user.clone())
            .pass(settings.password.clone())
            .db_name(settings.database.clone())
            .prefer_socket(false)
            .stmt_cache_size(0)
            // What was written by parts can be longer than one packet, and is read back all the same.
            .max_allowed_packet(Some(LONGEST_ROW))
            .read_timeout(read_timeout)
            .write_timeout(read_timeout)
            .tcp_connect_timeout(Some(settings.connect_timeout))
            .tcp_keepalive_time_ms(Some(millis(Duration::from_secs(60))));
        if let Some(socket) = &settings.socket {
            opts = opts.socket(socket.to_str());
        } else if let Some(Host { name, port }) = settings.hosts.get(place) {
            opts = opts.ip_or_hostname(Some(name.clone())).tcp_port(*port);
        }
        #[cfg(feature = "tls")]
        let opts = opts.ssl_opts(tls(settings));
        opts.into()
    }

    /// The one statement that makes a session what Bobak's statements count on.
    fn session(&self, dialect: Dialect, known: &[String]) -> String {
        let settings = &self.settings;
        let isolation = match settings.isolation {
            Isolation::ReadCommitted => "READ-COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE-READ",
            Isolation::Serializable => "SERIALIZABLE",
        };
        let seconds = settings.busy_timeout.as_secs_f64().ceil().max(1.0);
        // Texts of no column compare by their bytes, too. Not every server that speaks as MySQL does has its
        // collation.
        let collation = match dialect {
            Dialect::MariaDb => " COLLATE utf8mb4_nopad_bin",
            _ => "",
        };
        let mut set = format!(
            "SET NAMES utf8mb4{collation}, sql_mode = '{SQL_MODE}', time_zone = '+00:00', \
             innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}"
        );
        let mut add = |name: &str, value: String| {
            if known.iter().any(|variable| variable == name) {
                set.push_str(&format!(", {name} = {value}"));
            }
        };
        // MariaDB's name, and MySQL's.
        add("tx_isolation", format!("'{isolation}'"));
        add("transaction_isolation", format!("'{isolation}'"));
        // A row that was read, and that another has changed since, is not overwritten.
        add("innodb_snapshot_isolation", "ON".to_owned());
        // An open cursor may rest for as long as its reader does.
        add("net_write_timeout", "86400".to_owned());
        // MariaDB only warns of recursive queries that it cut.
        add("max_recursive_iterations", u32::MAX.to_string());
        // Whole tables are taken apart by many rows of one statement.
        if let Some(time) = settings.statement_timeout {
            match dialect {
                Dialect::MariaDb => add("max_statement_time", time.as_secs_f64().to_string()),
                _ => add("max_execution_time", time.as_millis().to_string()),
            }
        }
        if let Some(bits) = settings.wsrep_sync_wait {
            add("wsrep_sync_wait", bits.to_string());
        }
        set
    }

    /// Ends the statement that a connection is running; nothing where that can't be done.
    pub(crate) fn kill_query(self: &Arc<Self>, host: usize, connection: u32) {
        self.tell(host, &format!("KILL QUERY {connection}"));
    }

    /// Ends a connection whose server did not answer.
    pub(crate) fn kill(self: &Arc<Self>, host: usize, connection: u32) {
        self.tell(host, &format!("KILL {connection}"));
    }

    /// Sends a statement by a connection of its own, without waiting long.
    fn tell(&self, host: usize, text: &str) {
        let opts = OptsBuilder::from_opts(self.opts(host))
            .db_name(None::<String>)
            .read_timeout(Some(TIMEOUT_MARGIN))
            .tcp_connect_timeout(Some(TIMEOUT_MARGIN.min(self.settings.connect_timeout)));
        if let Ok(mut conn) = Conn::new(opts) {
            // It may have ended by itself meanwhile.
            let _ = conn.query_drop(text);
        }
    }
}

/// Whether other hosts would say the same.
fn is_final(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Denied | ErrorKind::Config | ErrorKind::Schema | ErrorKind::Unsupported
    )
}

#[cfg(feature = "tls")]
fn tls(settings: &Settings) -> Option<SslOpts> {
    // The driver leaves the choice to the process if several are compiled. An earlier choice stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match settings.tls {
        Tls::Off => None,
        Tls::Require => Some(
            SslOpts::default()
                .with_danger_accept_invalid_certs(true)
                .with_danger_skip_domain_validation(true),
        ),
        Tls::Verify => Some(SslOpts::default().with_root_cert_path(settings.tls_ca.clone())),
    }
}

fn located(error: Error, host: &str) -> Error {
    let message = format!("could not connect to {host}: {}", error.message());
    Error::new(error.kind(), message)
}

/// What the server is, and the names of its variables that sessions set.
fn flavour(conn: &mut Conn) -> Result<(Flavour, Vec<String>)> {
    let variables: Vec<(String, String)> = conn
        .query(
            "SHOW VARIABLES WHERE Variable_name IN ('version', \
             'innodb_rollback_on_timeout', 'innodb_snapshot_isolation', 'tx_isolation', \
             'transaction_isolation', 'max_statement_time', 'max_execution_time', \
             'net_write_timeout', 'max_recursive_iterations', 'wsrep_sync_wait', 'max_allowed_packet')",
        )
        .map_err(|error| error::translate(error, ServerPhase::Read, None, false))?;
    let value = |name: &str| {
        let found = variables.iter().find(|(variable, _)| variable.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.as_str())
    };
    let version = value("version");
    let mut numbers = version.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let numbers = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
    if is_mariadb && numbers < (10, 5) {
        let message = format!("MariaDB {version} is too old: 10.5 or later is required");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let flavour = Flavour {
        dialect: if is_mariadb { Dialect::MariaDb } else { Dialect::MySql },
        lock_wait_ends_transaction: value("innodb_rollback_on_timeout") == "ON",
        max_packet: value("max_allowed_packet").parse().unwrap_or(LONGEST_ROW),
    };
    // MariaDB 11.1 has both names of the isolation: one is enough.
    let both = variables.iter().any(|(name, _)| name == "transaction_isolation");
    let names = variables.into_iter().map(|(name, _)| name);
    Ok((flavour, names.filter(|name| !(both && name == "tx_isolation")).collect()))
}
