//! The federation: an SQLite database whose connections show the tables of the attached engines.

use crate::attached::AttachedEngines;
use crate::connection::{ConnectionTables, check_write_target};
use crate::sessions::{EngineSessions, WriteTarget};
use bobak_core::{
    Engine, Error, ErrorKind, Parameter, Result, Row, Session, SqlAuthorizer, SqlHost, TableSchema,
};
use bobak_sql::{Dialect, check_value_count};
use bobak_sqlite::extension::ExtendedConnection;
use bobak_sqlite::{Function, Sqlite, SqliteBuilder};
use std::any::Any;
use std::sync::Arc;

/// An SQLite database together with attached engines. Sessions of its [`engine`](Self::engine) run
/// SQL over all tables.
#[derive(Clone, Debug)]
pub struct Federation {
    pub(crate) sqlite: Sqlite,
    pub(crate) attached: Arc<AttachedEngines>,
}

impl Federation {
    /// Shows the tables of `engines`, each under a name, on all connections of a database, next to
    /// its own tables. An unqualified name means an own table first, then the table of the first
    /// engine that has it. SQL can also call `functions`.
    ///
    /// # Errors
    /// `Misuse` if the database is part of a federation already; `Unsupported` for another host
    /// than SQLite.
    pub fn embedded(
        host: &dyn SqlHost,
        engines: Vec<(String, Arc<dyn Engine>)>,
        functions: Vec<Function>,
    ) -> Result<Self> {
        // The one place that needs the concrete engine: its virtual tables.
        let host: &dyn Any = host;
        let sqlite = host.downcast_ref::<Sqlite>().ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "only the sqlite engine hosts other engines' tables")
        })?;
        Self::extend(sqlite.clone(), AttachedEngines::new(engines, functions, false))
    }

    /// Shows the tables of `engines` on connections of its own, which hold no other tables. For
    /// databases whose main engine is not an SQL host. The first engine's schema is `main`.
    ///
    /// With `typed_sql`, SQL text is in amounts, dates and times, otherwise in stored units: see
    /// `SqliteBuilder::typed_sql`.
    ///
    /// # Errors
    /// Those of opening SQLite in memory.
    pub fn standalone(
        engines: Vec<(String, Arc<dyn Engine>)>,
        functions: Vec<Function>,
        typed_sql: bool,
    ) -> Result<Self> {
        Self::standalone_on(Sqlite::builder().typed_sql(typed_sql), engines, functions)
    }

    /// As [`standalone`](Self::standalone), with other settings of SQLite.
    pub(crate) fn standalone_on(
        builder: SqliteBuilder,
        engines: Vec<(String, Arc<dyn Engine>)>,
        functions: Vec<Function>,
    ) -> Result<Self> {
        Self::extend(builder.open_isolated()?, AttachedEngines::new(engines, functions, true))
    }

    fn extend(sqlite: Sqlite, attached: AttachedEngines) -> Result<Self> {
        let attached = Arc::new(attached);
        sqlite.set_extension(Arc::clone(&attached) as _)?;
        Ok(Self { sqlite, attached })
    }

    /// The engine whose sessions run SQL over all tables.
    #[must_use]
    pub const fn engine(&self) -> &Sqlite {
        &self.sqlite
    }

    /// Discards what is known of the engines' tables; the next statement asks for them again.
    pub fn invalidate_tables(&self) {
        self.attached.invalidate();
    }

    /// The table of an attached engine, as the federation knows it.
    #[must_use]
    pub fn table(&self, engine: &str, name: &str) -> Option<Arc<TableSchema>> {
        let engine = self.attached.position(engine)?;
        self.attached.catalog().table(engine, name).map(Arc::clone)
    }

    /// Runs a statement whose access to one attached engine goes through `session`, which may have
    /// a transaction open. Either all writes of the statement take effect, or none.
    ///
    /// Calls `row` with the statement's rows until that returns `false`. Returns the number of rows
    /// changed.
    ///
    /// # Errors
    /// `Unsupported` for a statement that writes to another engine; those of the statement.
    pub fn run_in(
        &self,
        engine: &str,
        session: &dyn Session,
        (text, parameters): (&str, &[Parameter<'_>]),
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<u64> {
        self.run_authorized_in(engine, session, (text, parameters), None, row)
    }

    /// As [`run_in`](Self::run_in), if an authorizer allows what the statement does.
    pub(crate) fn run_authorized_in(
        &self,
        engine: &str,
        session: &dyn Session,
        (text, parameters): (&str, &[Parameter<'_>]),
        authorizer: Option<&Arc<dyn SqlAuthorizer>>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<u64> {
        check_value_count(parameters.len(), Dialect::Sqlite.max_parameters())?;
        let position = self.attached.position(engine).ok_or_else(|| {
            Error::new(ErrorKind::Config, format!("there is no engine '{engine}'"))
        })?;
        self.sqlite.with_connection(|connection| {
            let sessions = sessions_of(connection)?;
            let target = WriteTarget::Attached(position);
            sessions.claim_writes(target)?;
            // Safe on a connection that only reads: the statement writes to no other table than the
            // attached engine's, as checked below.
            connection.with_writes(|connection| {
                sessions.lend(position, session, || {
                    authorizer.map_or(Ok(()), |it| connection.authorize(text, it))?;
                    let statement = connection.prepare(text)?;
                    let returns_rows = !connection.column_names(statement).is_empty();
                    let actions = connection.actions(statement);
                    check_write_target(&self.attached, actions, returns_rows, Some(target))?;
                    connection.run(text, parameters, row)
                })
            })
        })
    }

    /// Runs `work`. If a table or column is missing, looks for new tables and runs it once more.
    pub(crate) fn with_fresh_tables<R>(&self, work: impl Fn() -> Result<R>) -> Result<R> {
        match work() {
            Err(error) if error.kind() == ErrorKind::Schema => {
                self.attached.refresh_after(error)?;
                work()
            }
            result => result,
        }
    }
}

fn sessions_of(connection: &ExtendedConnection<'_>) -> Result<Arc<EngineSessions>> {
    let tables = connection.extension::<ConnectionTables>();
    let none = || Error::new(ErrorKind::Misuse, "no engines are attached");
    tables.map(|tables| Arc::clone(tables.sessions())).ok_or_else(none)
}
