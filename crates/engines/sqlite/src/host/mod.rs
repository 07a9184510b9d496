//! One SQL over the tables of several engines.
//!
//! A host is a database of SQLite on whose connections each table of another engine, a guest,
//! appears as a virtual table, in a schema of the guest's name. What the engine can do is pushed
//! down to it; SQLite does the rest, and looks at every row that it is given again, but for an
//! offset that the engine has applied.
//!
//! The way of a read: `table` (what SQLite is told of the columns) → `best_index` (which conditions
//! go to the engine) → `plan` (kept by SQLite with the statement) → `cursor` → `fit` (values as
//! their column compares them) → the engine. `inner_loop`, `lookup`
//! and `ahead` spare the inner loop of a join the way. Writes go
//! through `write`; `link` holds the sessions and their transactions.

mod ahead;
mod attach;
mod best_index;
mod cursor;
mod explain;
mod fit;
mod guests;
mod inner_loop;
mod link;
mod lookup;
mod plan;
mod simple;
mod table;
mod touched;
mod write;

pub use self::simple::Simple;
pub use self::touched::Touched;
pub(crate) use attach::Joined;
pub(crate) use guests::Guests;
pub(crate) use link::Writer;

use crate::connection::Connection;
use crate::query;
use crate::{Function, Sqlite};
use bobak_core::{Engine, Error, ErrorKind, Result, Row, Session, TableSchema, Value};
use std::sync::Arc;

/// A database of SQLite with guests. Its engine's sessions run SQL over all tables.
#[derive(Clone, Debug)]
pub struct Host {
    sqlite: Sqlite,
    guests: Arc<Guests>,
}

impl Host {
    /// Shows the tables of `engines`, each under a name, on all connections of a database, beside
    /// its own: an unqualified name means a table of its own first, then the first engine's that
    /// has it. SQL may call the functions too.
    ///
    /// # Errors
    /// `Misuse` where the database has guests already.
    pub fn beside(
        main: &Sqlite,
        engines: Vec<(String, Arc<dyn Engine>)>,
        functions: Vec<Function>,
    ) -> Result<Self> {
        let guests = Arc::new(Guests::new(engines, functions));
        main.set_guests(&guests)?;
        Ok(Self { sqlite: main.clone(), guests })
    }

    /// Shows the tables of `engines` where none of them is SQLite's: on connections of its own,
    /// which hold nothing else. The first is `main`.
    ///
    /// # Errors
    /// Those of opening SQLite in memory.
    pub fn alone(
        engines: Vec<(String, Arc<dyn Engine>)>,
        functions: Vec<Function>,
    ) -> Result<Self> {
        let sqlite = Sqlite::builder().open_private()?;
        Self::beside(&sqlite, engines, functions)
    }

    /// The engine whose sessions run SQL over all tables.
    #[must_use]
    pub const fn engine(&self) -> &Sqlite {
        &self.sqlite
    }

    /// Has the engines asked for their tables anew, at the next statement.
    pub fn forget_tables(&self) {
        self.guests.forget();
    }

    /// A table of a guest as the host knows it.
    #[must_use]
    pub fn table(&self, guest: &str, name: &str) -> Option<Arc<TableSchema>> {
        let place = self.guests.place(guest)?;
        self.guests.catalog().table(place, name).map(Arc::clone)
    }

    /// Runs a statement whose reads and writes of one guest's tables go through a session of that
    /// guest, which may have a transaction open: all of the statement's writes happen, or none.
    /// Hands out its rows until `row` says `false`; gives the number of rows changed.
    ///
    /// # Errors
    /// `Unsupported` for a statement that writes to another engine; those of the statement.
    pub fn run_in(
        &self,
        guest: &str,
        session: &dyn Session,
        (text, parameters): (&str, &[Value<'_>]),
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<u64> {
        query::refuse_transaction_steps(text)?;
        let place = self.guests.place(guest).ok_or_else(|| {
            Error::new(ErrorKind::Config, format!("there is no engine '{guest}'"))
        })?;
        let mut lease = self.sqlite.inner().read()?;
        lease.join(&self.guests, self.sqlite.inner().is_private())?;
        let link = lease.link()?;
        link.release_claim();
        link.claim(Writer::Guest(place))?;
        let connection: &mut Connection = &mut lease;
        // The statement writes to no table but the guest's, which is looked at below.
        let query_only = connection.query_only;
        if query_only {
            connection.set_query_only(false)?;
        }
        let done = link.lend(place, session, || {
            let id = connection.text_statement(text)?;
            connection.check_writers(id, Some(place))?;
            let before = connection.db.total_changes();
            query::each_row(connection, text, parameters, None, row)?;
            Ok(if connection.db.total_changes() == before { 0 } else { connection.db.changes() })
        });
        if query_only {
            connection.set_query_only(true)?;
        }
        done
    }
}
