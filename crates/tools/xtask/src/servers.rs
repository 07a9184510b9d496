//! The database servers that the tests run against: private ones, started before the tests and gone after them.
//!
//! Each is named to the tests by an environment variable; if that is set already, its server is used.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use bobak_servers::{Error, Firebird, MariaDb, PgBouncer, Postgres, Result};

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::firebird_watch::FirebirdWatch;
use crate::server_versions::{FIREBIRD_ENGINE, firebird_engine};
use crate::{jars, packages};

/// Where tests look for a PostgreSQL server.
const POSTGRES: &str = "BOBAK_TEST_POSTGRES";
/// Where tests look for a MariaDB server.
const MARIADB: &str = "BOBAK_TEST_MARIADB";

/// Where tests look for a database of a Firebird server.
const FIREBIRD: &str = "BOBAK_TEST_FIREBIRD";

/// Where tests look for the program Pebble, a certificate authority.
const PEBBLE: &str = "BOBAK_TEST_PEBBLE";

/// Pebble's module, at the version that the tests were written against.
const PEBBLE_MODULE: &str = "github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.3";

/// Debian's names of Firebird's server, and of the program that prepares its databases.
const FIREBIRD_PACKAGES: [&str; 2] = ["firebird3.0-server", "firebird3.0-utils"];

/// Debian's names. The last two are for the tests with a cluster of three MariaDB servers.
const PACKAGES: [&str; 4] = ["postgresql", "mariadb-server", "galera-4", "rsync"];

/// The ODBC drivers that tests use, as their names in `odbcinst.ini`, and their packages.
const DRIVERS: [(&str, &str); 3] = [
    ("[PostgreSQL Unicode]", "odbc-postgresql"),
    ("[MariaDB Unicode]", "odbc-mariadb"),
    ("[SQLite3]", "libsqliteodbc"),
];

/// The package of the driver manager.
const MANAGER: &str = "unixodbc-dev";

const CURE: &str = "install PostgreSQL and MariaDB (Debian: `apt-get install postgresql mariadb-server galera-4 rsync`), \
                    or name running ones in BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB, or leave their tests out with \
                    `cargo xtask test --no-servers`";

/// Set for tests that would otherwise start a server of their own.
const NO_SERVERS: &str = "BOBAK_NO_SERVERS";

/// The servers that were started; they stop when this is dropped.
pub struct Servers {
    wanted: bool,
    postgres: Option<Postgres>,
    mariadb: Option<MariaDb>,
    firebird: Option<FirebirdWatch>,
    /// The engine of another version, for the servers that tests start.
    firebird_engine: Option<PathBuf>,
    /// Where Pebble was installed, unless it is named already.
    pebble: Option<PathBuf>,
    /// Databases in Java, and the variables that name their jars.
    jars: Vec<(&'static str, PathBuf)>,
}

impl Servers {
    /// None: tests that need one print a line and pass.
    pub fn none() -> Self {
        Self {
            wanted: false,
            postgres: None,
            mariadb: None,
            firebird: None,
            firebird_engine: None,
            pebble: None,
            jars: Vec::new(),
        }
    }

    /// Starts one of each that is not named already, and installs missing ones if possible.
    ///
    /// # Errors
    /// When a server is not installed and cannot be, or does not start.
    pub fn start() -> Outcome<Self> {
        install_drivers()?;
        install_firebird()?;
        install_pgbouncer()?;
        let (pebble, jars) = (install_pebble()?, jars::fetch()?);
        let servers = match Self::try_start() {
            Err(error) if error.is_missing() => {
                install(&error)?;
                Self::try_start()
            }
            other => other,
        };
        let servers = servers.map_err(|error| Failure::new(error.to_string(), CURE))?;
        let firebird_engine = match env::var_os(FIREBIRD_ENGINE) {
            None => Some(firebird_engine()?),
            Some(_) => None,
        };
        Ok(Self { pebble, jars, firebird_engine, ..servers })
    }

    fn try_start() -> Result<Self> {
        // Both take their time, so they take the same.
        let mariadb = std::thread::spawn(|| unless_named(MARIADB, MariaDb::start));
        let postgres = unless_named(POSTGRES, Postgres::start);
        let firebird = unless_named(FIREBIRD, Firebird::start);
        let mariadb = mariadb.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(Self {
            wanted: true,
            postgres: postgres?,
            mariadb: mariadb?,
            firebird: firebird?.map(FirebirdWatch::start),
            firebird_engine: None,
            pebble: None,
            jars: Vec::new(),
        })
    }

    /// How the private Firebird server has ended or hung since this was called before, by itself. It runs again.
    pub fn firebird_faults(&self) -> Vec<String> {
        self.firebird.as_ref().map_or_else(Vec::new, FirebirdWatch::take_faults)
    }

    /// Names them to `command`.
    pub fn tell(&self, command: &mut Command) {
        if !self.wanted {
            command.env(NO_SERVERS, "1");
        }
        if let Some(server) = &self.postgres {
            command.env(POSTGRES, server.url());
        }
        if let Some(server) = &self.mariadb {
            command.env(MARIADB, server.url());
        }
        if let Some(server) = &self.firebird {
            command.env(FIREBIRD, server.url());
        }
        if let Some(folder) = &self.firebird_engine {
            command.env(FIREBIRD_ENGINE, folder);
        }
        if let Some(program) = &self.pebble {
            command.env(PEBBLE, program);
        }
        for (variable, jar) in &self.jars {
            command.env(variable, jar);
        }
    }
}

fn unless_named<S>(variable: &str, start: fn() -> Result<S>) -> Result<Option<S>> {
    if env::var_os(variable).is_some() { Ok(None) } else { start().map(Some) }
}

/// Installs the ODBC driver manager and the drivers that are missing.
///
/// # Errors
/// When they can't be installed.
pub fn install_drivers() -> Outcome {
    let installed = std::fs::read_to_string("/etc/odbcinst.ini").unwrap_or_default();
    let missing = DRIVERS.iter().filter(|(name, _)| !installed.contains(name));
    let manager = (!packages::has_driver_manager()).then_some(MANAGER);
    let packages: Vec<&str> = manager.into_iter().chain(missing.map(|(_, name)| *name)).collect();
    if packages.is_empty() || packages::install(&packages) {
        return Ok(());
    }
    let names = packages.join(" ");
    Err(Failure::new(
        format!("parts of ODBC are not installed: {names}"),
        format!(
            "install them (Debian: `apt-get install {names}`), or leave their tests out with \
             `cargo xtask test --no-servers`"
        ),
    ))
}

/// Installs Firebird if it is missing. Its package would start a server, which nobody asked for.
fn install_firebird() -> Outcome {
    if env::var_os(FIREBIRD).is_some()
        || Firebird::is_installed()
        || packages::install_stopped(&FIREBIRD_PACKAGES)
    {
        return Ok(());
    }
    let names = FIREBIRD_PACKAGES.join(" ");
    Err(Failure::new(
        "Firebird is not installed".to_owned(),
        format!(
            "install it (Debian: `apt-get install {names}`), name a database of a running server in {FIREBIRD}, or \
             leave its tests out with `cargo xtask test --no-servers`"
        ),
    ))
}

/// Installs PgBouncer if it is missing. Its package would start one, too.
fn install_pgbouncer() -> Outcome {
    if PgBouncer::is_installed() || packages::install_stopped(&["pgbouncer"]) {
        return Ok(());
    }
    Err(Failure::new(
        "PgBouncer is not installed".to_owned(),
        "install it (Debian: `apt-get install pgbouncer`), or leave its tests out with `cargo xtask test --no-servers`",
    ))
}

/// Builds Pebble below the target folder, unless it is named already.
fn install_pebble() -> Outcome<Option<PathBuf>> {
    const CURE: &str = "install Go (Debian: `apt-get install golang`), name the program in BOBAK_TEST_PEBBLE, or leave its \
                        tests out with `cargo xtask test --no-servers`";
    if env::var_os(PEBBLE).is_some() {
        return Ok(None);
    }
    let folder = cargo::target().join("pebble");
    let program = folder.join("pebble");
    if !program.exists() {
        packages::need("go", "golang", CURE)?;
        println!("building {PEBBLE_MODULE}");
        let build =
            Command::new("go").args(["install", PEBBLE_MODULE]).env("GOBIN", &folder).status();
        if !build.is_ok_and(|status| status.success()) {
            return Err(Failure::new(format!("{PEBBLE_MODULE} could not be built"), CURE));
        }
    }
    Ok(Some(program))
}

/// Installs the Debian packages.
fn install(missing: &Error) -> Outcome {
    if packages::install(&PACKAGES) { Ok(()) } else { Err(Failure::new(missing.to_string(), CURE)) }
}
