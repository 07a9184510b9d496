//! The join through Bobak: three engines, one statement.

use std::path::Path;

use bobak::Db;

use super::data::{Airline, Data, Flight, Plane};
use super::raw::RAW;
use super::{AirlineTotals, SQL};
use crate::contender::{Contender, Engine, Failure, KeepAlive, TaskResult};
use crate::server::{Home, ServerKind};
use crate::workload::{Expectation, Row, Rows, Task};

/// The engines, in the order of the report's rows.
pub(crate) static ENGINES: [JoinEngine; 3] = [
    JoinEngine { name: "host", postgres: None },
    JoinEngine { name: "host postgres planes", postgres: Some(Side::Planes) },
    JoinEngine { name: "host postgres flights", postgres: Some(Side::Flights) },
];

/// Flights in a file, airlines in memory, planes in another file; but for what PostgreSQL keeps.
pub(crate) struct JoinEngine {
    name: &'static str,
    postgres: Option<Side>,
}

/// Which table is kept on PostgreSQL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Planes,
    Flights,
}

/// All records stored where they belong.
pub(super) struct JoinContender<T> {
    /// The database that runs the statement.
    target: T,
    /// How the target takes its records and answers the statement.
    store: fn(&mut T, &Data) -> Result<(), Failure>,
    ask: fn(&T) -> Result<Vec<AirlineTotals>, Failure>,
    wanted: Vec<AirlineTotals>,
    flights: usize,
    /// After the database: on a server it goes when nobody is in it.
    _home: Option<Home>,
}

impl<T> JoinContender<T> {
    pub(super) const fn new(
        target: T,
        store: fn(&mut T, &Data) -> Result<(), Failure>,
        ask: fn(&T) -> Result<Vec<AirlineTotals>, Failure>,
        home: Option<Home>,
    ) -> Self {
        Self { target, store, ask, wanted: Vec::new(), flights: 0, _home: home }
    }
}

impl JoinEngine {
    /// Whether it needs PostgreSQL.
    pub(crate) const fn needs_server(&self) -> bool {
        self.postgres.is_some()
    }
}

impl Engine for JoinEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tasks(&self) -> &'static [Task] {
        &[Task::Join]
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(&RAW)
    }

    fn hold(&self) -> Option<Result<KeepAlive, Failure>> {
        self.postgres.map(|_| ServerKind::Postgres.hold())
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        let home = self.postgres.map(|_| Home::new(ServerKind::Postgres)).transpose()?;
        let file = |name: &str| format!("sqlite:{}", folder.join(name).display());
        let mut builder = Db::builder().attach("memory", "memory:");
        builder = builder.record_on::<Airline>("memory").attach("file", &file("file.db"));
        if let Some(home) = &home {
            builder = builder.attach("server", &home.url());
        }
        builder = match self.postgres {
            Some(Side::Flights) => builder.record_on::<Flight>("server"),
            _ => builder.record::<Flight>(),
        };
        builder = match self.postgres {
            Some(Side::Planes) => builder.record_on::<Plane>("server"),
            _ => builder.record_on::<Plane>("file"),
        };
        let db = builder.open(&file("main.db"))?;
        db.create_missing_tables()?;
        let ask = |db: &Db| Ok(db.sql::<AirlineTotals>(SQL, ())?);
        Ok(Box::new(JoinContender::new(db, |db, data| data.store(db), ask, home)))
    }
}

impl<T> Contender for JoinContender<T> {
    /// Stores as many flights as there are rows, which say nothing else here.
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        let data = Data::of(rows.len())?;
        (self.store)(&mut self.target, &data)?;
        self.wanted.clone_from(&data.lines);
        self.flights = data.flights();
        Ok(rows.iter().map(|row| row.id).collect())
    }

    fn load(&mut self, _: &[Row]) -> Result<(), Failure> {
        Ok(())
    }

    fn run(&mut self, _: Task, _: &Expectation<'_>) -> Result<TaskResult, Failure> {
        let found = (self.ask)(&self.target)?;
        if found != self.wanted {
            let (found, wanted) = (found.len(), self.wanted.len());
            let what = "the airlines' flights, seats or miles are not those of the files";
            return Err(Failure::new(format!("{what} ({found} lines, {wanted} expected)")));
        }
        Ok(TaskResult::Count(self.flights))
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        Err(Failure::new("there are no persons"))
    }
}
