//! The engines that talk to database servers.

use std::path::Path;

use bobak::Db;

use super::contender::BobakContender;
use super::engine::tasks_of;
use super::person::Person;
use crate::contender::{Contender, Engine, Failure, KeepAlive};
use crate::server::{Home, MARIADB, POSTGRES, ServerKind};
use crate::workload::Task;

/// The engines, in the order of the report's rows.
pub static SERVERS: &[ServerEngine] = &[
    ServerEngine::new("postgres", ServerKind::Postgres),
    ServerEngine::new("mariadb", ServerKind::MariaDb),
    #[cfg(feature = "firebird")]
    ServerEngine::new("firebird", ServerKind::Firebird),
    #[cfg(feature = "odbc")]
    ServerEngine { is_odbc: true, ..ServerEngine::new("odbc postgres", ServerKind::Postgres) },
];

/// One server, with its settings as it comes.
pub struct ServerEngine {
    name: &'static str,
    kind: ServerKind,
    /// Whether it is reached through its ODBC driver.
    #[cfg(feature = "odbc")]
    is_odbc: bool,
}

impl ServerEngine {
    const fn new(name: &'static str, kind: ServerKind) -> Self {
        Self {
            name,
            kind,
            #[cfg(feature = "odbc")]
            is_odbc: false,
        }
    }

    /// The URL that Bobak opens.
    fn url(&self, home: &Home) -> Result<String, Failure> {
        #[cfg(feature = "odbc")]
        if self.is_odbc {
            let text = crate::server::connection_string(&home.plain_url())?;
            return Ok(format!("odbc:{}", text.replace(' ', "%20")));
        }
        Ok(home.url())
    }

    /// Which server it is.
    pub const fn kind(&self) -> ServerKind {
        self.kind
    }
}

impl Engine for ServerEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tasks(&self) -> &'static [Task] {
        tasks_of(false, false)
    }

    fn syncs_each_row(&self, task: Task) -> bool {
        task == Task::Direct
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        #[cfg(feature = "odbc")]
        if self.is_odbc {
            return Some(&crate::server::ODBC);
        }
        Some(match self.kind {
            ServerKind::Postgres => &POSTGRES,
            ServerKind::MariaDb => &MARIADB,
            #[cfg(feature = "firebird")]
            ServerKind::Firebird => &crate::server::FIREBIRD,
            #[cfg(not(feature = "firebird"))]
            ServerKind::Firebird => return None,
        })
    }

    fn hold(&self) -> Option<Result<KeepAlive, Failure>> {
        Some(self.kind.hold())
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Contender>, Failure> {
        let home = Home::new(self.kind)?;
        let db = Db::builder().record::<Person>().open(&self.url(&home)?)?;
        db.create_missing_tables()?;
        Ok(Box::new(BobakContender::new(db, "main", &[]).at(home)))
    }
}
