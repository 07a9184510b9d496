//! The join with all three tables in one SQLite file, through the C API.

use std::path::{Path, PathBuf};

use bobak::Db;

use super::contender::JoinContender;
use super::data::{Airline, Data, Flight, Plane};
use super::{AirlineTotals, SQL};
use crate::contender::{Contender, Engine, Failure};
use crate::raw::Connection;
use crate::workload::Task;

/// The engine.
pub(crate) static RAW: RawJoin = RawJoin;

/// See [`RAW`].
pub(crate) struct RawJoin;

impl Engine for RawJoin {
    fn name(&self) -> &'static str {
        "raw host"
    }

    fn tasks(&self) -> &'static [Task] {
        &[Task::Join]
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(&RAW)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        Ok(Box::new(JoinContender::new((folder.join("raw.db"), None), store, ask, None)))
    }
}

/// The file, and the connection to it once it is filled.
type Target = (PathBuf, Option<Connection>);

/// Fills the file through Bobak, so that its tables and indexes are the same.
fn store((file, connection): &mut Target, data: &Data) -> Result<(), Failure> {
    let builder = Db::builder().record::<Flight>().record::<Airline>().record::<Plane>();
    let db = builder.open(&format!("sqlite:{}", file.display()))?;
    db.create_missing_tables()?;
    data.store(&db)?;
    drop(db);
    *connection = Some(Connection::open(Some(file), None)?);
    Ok(())
}

fn ask((_, connection): &Target) -> Result<Vec<AirlineTotals>, Failure> {
    let connection = connection.as_ref().ok_or_else(|| Failure::new("the file is empty"))?;
    let mut statement = connection.prepare(SQL)?;
    let mut lines = Vec::new();
    while statement.step()? {
        let name = statement.text(0)?.to_owned();
        lines.push((name, statement.i64(1), statement.i64(2), statement.i64(3)));
    }
    Ok(lines)
}
