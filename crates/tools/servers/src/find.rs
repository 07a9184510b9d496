//! Finds a server's programs: on the search path, or in the folders that distributions use.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The folder with PostgreSQL's programs, all of one version.
pub(crate) fn postgres_bin() -> Result<PathBuf> {
    let mut folders = path();
    folders.extend(versions("/usr/lib/postgresql", "bin"));
    folders.extend(["/usr/local/pgsql/bin".into(), "/opt/homebrew/bin".into()]);
    folders
        .into_iter()
        // Follow the link: its target's folder has the other programs of the same version.
        .filter_map(|folder| fs::canonicalize(folder.join("postgres")).ok())
        .filter_map(|program| program.parent().map(Path::to_path_buf))
        .find(|folder| folder.join("initdb").is_file())
        .ok_or_else(|| missing("PostgreSQL", "`postgres` and `initdb`", "postgresql"))
}

/// PostgreSQL's client program.
///
/// # Errors
/// If it is not installed; the message says what to install.
pub fn psql() -> Result<PathBuf> {
    let mut folders = path();
    folders.extend(postgres_bin().ok());
    folders
        .into_iter()
        .map(|folder| folder.join("psql"))
        .find(|file| file.is_file())
        .ok_or_else(|| missing("PostgreSQL's client", "`psql`", "postgresql-client"))
}

/// PgBouncer's program.
pub(crate) fn pgbouncer() -> Result<PathBuf> {
    path()
        .into_iter()
        .chain(["/usr/sbin".into(), "/usr/bin".into()])
        .map(|folder| folder.join("pgbouncer"))
        .find(|file| file.is_file())
        .ok_or_else(|| missing("PgBouncer", "`pgbouncer`", "pgbouncer"))
}

/// Pebble's program.
#[cfg(feature = "tls")]
pub(crate) fn pebble() -> Result<PathBuf> {
    let given = env::var_os("BOBAK_TEST_PEBBLE").map(PathBuf::from);
    given
        .into_iter()
        .chain(path().into_iter().map(|folder| folder.join("pebble")))
        .find(|file| file.is_file())
        .ok_or_else(|| {
            Error::new(
                "Pebble, a certificate authority for tests, is not installed: run \
                 `go install github.com/letsencrypt/pebble/v2/cmd/pebble@latest`, and name the program in BOBAK_TEST_PEBBLE",
            )
        })
}

/// One of MariaDB's programs.
pub(crate) fn mariadb(program: &str) -> Result<PathBuf> {
    let places = ["/usr/sbin", "/usr/bin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin"];
    path()
        .into_iter()
        .chain(places.iter().map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .ok_or_else(|| missing("MariaDB", &format!("`{program}`"), "mariadb-server"))
}

/// One of Firebird's programs.
pub(crate) fn firebird(program: &str) -> Result<PathBuf> {
    let places = ["/usr/sbin", "/usr/bin", "/opt/firebird/bin"];
    path()
        .into_iter()
        .chain(places.iter().map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .ok_or_else(|| missing_firebird(&format!("`{program}`")))
}

/// Names a folder with the engine of another version of Firebird, for the program of the one that is installed.
pub(crate) const FIREBIRD_ENGINE: &str = "BOBAK_TEST_FIREBIRD_ENGINE";

/// The engine of a Firebird server.
#[derive(Clone, Debug)]
pub(crate) struct FirebirdEngine {
    /// Its plugins and messages, and of an engine that is not installed, its libraries.
    pub folder: PathBuf,
    /// The name of its library without `lib`, such as `Engine12`.
    pub provider: String,
    /// The script that makes its security database, if it needs one.
    pub security: Option<PathBuf>,
}

impl FirebirdEngine {
    /// The one that `BOBAK_TEST_FIREBIRD_ENGINE` names, or the one that is installed.
    pub(crate) fn find() -> Result<Self> {
        let (folder, security) = match env::var_os(FIREBIRD_ENGINE) {
            Some(folder) => (PathBuf::from(folder), None),
            None => (installed_firebird()?, Some(firebird_security()?)),
        };
        let files = fs::read_dir(folder.join("plugins")).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let provider = names
            .filter_map(|name| Some(name.strip_prefix("lib")?.strip_suffix(".so")?.to_owned()))
            .find(|name| name.starts_with("Engine"))
            .ok_or_else(|| Error::new(format!("{} has no engine", folder.display())))?;
        Ok(Self { folder, provider, security })
    }
}

/// The folder of Firebird's plugins and messages.
fn installed_firebird() -> Result<PathBuf> {
    let libraries = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let folders = libraries.map(|entry| entry.path().join("firebird/3.0"));
    folders
        .chain(["/usr/lib/firebird/3.0".into()])
        .find(|folder| folder.join("plugins").is_dir())
        .ok_or_else(|| missing_firebird("the folder `firebird/3.0` of its plugins"))
}

/// The script that makes Firebird's security database.
fn firebird_security() -> Result<PathBuf> {
    Some(PathBuf::from("/usr/share/firebird/3.0/security.sql"))
        .filter(|file| file.is_file())
        .ok_or_else(|| missing_firebird("`security.sql`"))
}

fn missing_firebird(part: &str) -> Error {
    missing("Firebird", part, "firebird3.0-server firebird3.0-utils")
}

/// Galera's library, which MariaDB loads.
pub(crate) fn galera() -> Result<PathBuf> {
    ["/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib64/galera", "/usr/local/lib/galera"]
        .iter()
        .map(|folder| Path::new(folder).join("libgalera_smm.so"))
        .find(|file| file.is_file())
        .ok_or_else(|| missing("Galera", "`libgalera_smm.so`", "galera-4 rsync"))
}

/// The folders of the search path.
fn path() -> Vec<PathBuf> {
    env::var_os("PATH").map_or_else(Vec::new, |path| env::split_paths(&path).collect())
}

/// `parent/VERSION/inner` for each version there, the newest first.
fn versions(parent: &str, inner: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            Some((number, entry.path().join(inner)))
        })
        .collect();
    found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    found.into_iter().map(|(_, folder)| folder).collect()
}

fn missing(server: &str, programs: &str, package: &str) -> Error {
    Error::missing(format!(
        "{server} is not installed: {programs} not found on the path nor in the usual places (Debian and Ubuntu: \
         `apt-get install {package}`)"
    ))
}
