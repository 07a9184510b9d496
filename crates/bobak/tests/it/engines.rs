//! The engines that each test runs on, and the records that most tests use.

use bobak::DbBuilder;
use bobak::prelude::*;
use bobak_servers::TestDatabase;
use tempfile::TempDir;

/// A database for one test, and the folder that goes away with it.
pub struct Place {
    pub url: String,
    _folder: TempDir,
}

/// Runs `test` on each engine, each time with a new database.
pub fn on_each(test: impl Fn(&Place)) {
    for url in [
        "memory:",
        "sqlite::memory:",
        "sqlite:{}/app.db",
        "sqlite:{}/app.db?journal_mode=delete&synchronous=off",
        "sqlite:{}/app.db?locking=exclusive&synchronous=normal",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let url = url.replace("{}", folder.path().to_str().expect("a name in UTF-8"));
        eprintln!("on {url}");
        test(&Place { url, _folder: folder });
    }
}

/// Runs `test` with the URL of a new database on a PostgreSQL server, and with that of one on a MariaDB server.
#[cfg(all(feature = "mysql", feature = "postgres"))]
pub fn on_servers(test: impl Fn(&str)) {
    on_postgres(&test);
    on_mariadb(test);
}

/// Runs `test` with the URL of a new database on a PostgreSQL server, if the tests run with servers.
#[cfg(feature = "postgres")]
pub fn on_postgres(test: impl Fn(&str)) {
    if let Some(database) = TestDatabase::on_postgres().unwrap() {
        test(database.url());
    }
}

/// Runs `test` with the URL of a new database on a MariaDB server, if the tests run with servers.
#[cfg(feature = "mysql")]
pub fn on_mariadb(test: impl Fn(&str)) {
    if let Some(database) = TestDatabase::on_mariadb().unwrap() {
        test(database.url());
    }
}

/// Runs `test` with the URL of a new database on a Firebird server, if the tests run with servers.
pub fn on_firebird(test: impl Fn(&str)) {
    if let Some(database) = TestDatabase::on_firebird().unwrap() {
        test(database.url());
    }
}

/// Runs `test` with the URL of a Bobak server in front of an engine.
#[cfg(feature = "remote")]
pub fn on_bobak_server(engine: impl bobak::engine::Engine + 'static, test: impl Fn(&str)) {
    let server = bobak_server::Server::builder()
        .database("shop", engine)
        .token("correct horse battery staple")
        .tcp("127.0.0.1:0")
        .start()
        .unwrap();
    let address = server.addresses()[0];
    test(&format!("bobak://{address}/shop?token=correct%20horse%20battery%20staple"));
    server.stop();
}

impl Place {
    pub fn is_memory_engine(&self) -> bool {
        self.url.starts_with("memory:")
    }

    pub fn open(&self, builder: DbBuilder) -> Db {
        let db = builder.open(&self.url).expect("opens");
        db.create_missing_tables().expect("creates tables");
        db
    }

    pub fn people(&self) -> Db {
        self.open(Db::builder().record::<Person>().record::<Note>())
    }
}

#[derive(Record, Debug, Clone, PartialEq)]
pub struct Person {
    pub id: i64,
    #[record(max = 40)]
    pub name: String,
    #[record(unique, collation = "nocase")]
    pub email: Option<String>,
    #[record(index)]
    pub age: i32,
    #[record(check = "balance >= 0")]
    pub balance: Currency,
}

#[derive(Record, Debug, Clone, PartialEq)]
pub struct Note {
    pub id: Uuid,
    #[record(references = Person, on_delete = "cascade")]
    pub person: i64,
    pub text: String,
    #[record(created_at)]
    pub created: Timestamp,
    #[record(modified_at)]
    pub modified: Timestamp,
    #[record(version)]
    pub version: i64,
}

pub fn person(name: &str, age: i32) -> Person {
    let email = Some(format!("{name}@example.org"));
    Person { id: 0, name: name.into(), email, age, balance: Currency::from_scaled(12_345) }
}

pub fn note(person: i64, text: &str) -> Note {
    Note {
        id: Uuid::nil(),
        person,
        text: text.into(),
        created: Timestamp::UNIX_EPOCH,
        modified: Timestamp::UNIX_EPOCH,
        version: 0,
    }
}
