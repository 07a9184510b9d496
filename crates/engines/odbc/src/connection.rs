//! A connection: its prepared statements, what the database is, and whether it still works; and the pool of them.

use crate::dialect::OdbcStatements;
use crate::driver::{Buffer, Channel, OdbcError, OdbcStatement};
use crate::error;
use crate::product::{Product, ProductKind};
use crate::results::{parameter_numbers, read_rows, session_settings, unnumbered};
use crate::settings::Settings;
use crate::values::{BoundParameter, Target};
use bobak_core::{
    Error, ErrorKind, Interrupt, Interruptible, Result, Row, TableSchema, Type, Value, ValueRef,
};
use bobak_engine_common::{
    NarrowAmounts, PreparedStatementCache, SavepointStep, ServerPhase, StatementConnection,
    StatementValue, TransactionConnection, ends_transaction,
};
use bobak_sql::Dialect;
use bobak_sql::server::SqlServer;
use odbc_sys::{ConnectionAttribute, InfoType};
use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// How many prepared statements a connection keeps.
const MAX_STATEMENTS: usize = 64;

/// Opens connections.
#[derive(Debug)]
pub(crate) struct OdbcConnector(pub Settings);

impl bobak_engine_common::Connector for OdbcConnector {
    type Connection = Connection;

    fn connect(&self) -> Result<Connection> {
        Connection::open(&self.0)
    }

    fn is_usable(&self, connection: &mut Connection, _: Duration) -> bool {
        !connection.channel.is_dead()
    }

    fn is_reusable(&self, connection: &mut Connection) -> bool {
        !connection.broken
    }
}

/// A connection to a database.
#[derive(Debug)]
pub(crate) struct Connection {
    statements: PreparedStatementCache<OdbcStatement>,
    pub channel: Arc<Channel>,
    pub product: Arc<Product>,
    /// What it is doing.
    pub phase: ServerPhase,
    /// Whether arrays of parameters work.
    pub has_arrays: bool,
    /// The sequences of these tables have reached this key at least.
    pub reached: HashMap<u64, i64>,
    /// The columns of tables, by their schemas, in which the database would round amounts.
    pub narrow: HashMap<u64, NarrowAmounts>,
    array_rows: usize,
    timeout: usize,
    broken: bool,
}

/// Settings of drivers, by a part of their names: psqlodbc gives truth values as numbers, and leaves savepoints to Bobak;
/// MariaDB's counts the rows that an update finds, not those that it changes, unless the connection string has the second
/// word.
const DRIVER_SETTINGS: [(&str, Option<&str>, &str); 2] = [
    (
        "psqlodbc",
        None,
        "BoolsAsChar=0;Protocol=7.4-0;UseServerSidePrepare=1;ByteaAsLongVarBinary=1",
    ),
    ("maodbc", Some("option="), "OPTION=2"),
];

impl Connection {
    fn open(settings: &Settings) -> Result<Self> {
        let text = &settings.connection_string;
        let seconds =
            |time: Duration| u32::try_from(time.as_secs_f64().ceil() as u64).unwrap_or(u32::MAX);
        let connect = |text: &str| connect(text, seconds(settings.connect_timeout).max(1));
        let mut channel = connect(text)?;
        let driver = channel.text(InfoType::DriverName).to_lowercase();
        for (name, setting, more) in DRIVER_SETTINGS {
            let is_set = setting.is_some_and(|setting| text.to_lowercase().contains(setting));
            if driver.contains(name) && !is_set {
                drop(channel);
                // Of a setting that is given twice, the drivers take the last.
                channel = connect(&format!("{};{more}", text.trim_end_matches(';')))?;
                break;
            }
        }
        let channel = Arc::new(channel);
        let product = Product::of(&channel);
        let mut connection = Self {
            statements: PreparedStatementCache::new(MAX_STATEMENTS),
            channel,
            product: Arc::new(product),
            phase: ServerPhase::Read,
            has_arrays: true,
            reached: HashMap::new(),
            narrow: HashMap::new(),
            array_rows: settings.array_rows,
            timeout: settings.statement_timeout.map_or(0, |time| seconds(time) as usize),
            broken: false,
        };
        for text in session_settings(&connection.product, settings) {
            connection.command(&text).map_err(|error| not_what_it_says(&connection, error))?;
        }
        if connection.product.kind == ProductKind::MySql {
            // A row that was read, and that another has changed since, is not overwritten. Not every server has it.
            let _ = connection.command("SET innodb_snapshot_isolation = ON");
        }
        Ok(connection)
    }

    /// The rows of a full array.
    pub(crate) const fn array_rows(&self) -> usize {
        self.array_rows
    }

    /// The error as Bobak's; notes whether the connection is lost.
    #[cold]
    pub(crate) fn failed(&mut self, failed: OdbcError, table: Option<&TableSchema>) -> Error {
        let error = error::translate(failed, self.product.kind, self.phase, table);
        if matches!(error.kind(), ErrorKind::Unreachable | ErrorKind::Unknown) {
            self.broken = true;
        }
        if error.kind() == ErrorKind::Interrupted {
            Interrupt::check().err().unwrap_or(error)
        } else {
            error
        }
    }

    /// Runs a text without parameters, such as a savepoint's.
    pub(crate) fn command(&mut self, text: &str) -> Result<()> {
        let run = || {
            let mut statement = OdbcStatement::new(&self.channel)?;
            statement.run(text)
        };
        run().map_err(|failed| self.failed(failed, None))
    }

    /// Runs a statement once for each row of an array. After an error, rows may have been written.
    ///
    /// Returns `false` if the driver says that it has not processed all rows, so that the caller must undo what it did.
    pub(crate) fn run_array(
        &mut self,
        table: &TableSchema,
        sql: &str,
        parameters: Vec<BoundParameter>,
        rows: usize,
    ) -> Result<bool> {
        let buffers = parameters.into_iter().map(BoundParameter::into_buffer).collect();
        let processed =
            self.with(Some(table), sql, buffers, rows, |statement| Ok(statement.processed()))?;
        Ok(rows < 2 || processed == rows)
    }

    /// Runs a statement and calls `row` for each row of its result, until it returns `false`. `targets` are the columns
    /// of the result, if the caller knows them.
    pub(crate) fn each_bound(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        buffers: Vec<Buffer>,
        targets: Option<Vec<Target>>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let (rows, product) = (self.array_rows, Arc::clone(&self.product));
        let mut stopped = Ok(());
        self.with(table, sql, buffers, 1, |statement| {
            stopped = read_rows(statement, targets, &product, rows, row)?;
            Ok(())
        })?;
        stopped.map_err(|error| match table {
            Some(table) if error.table().is_none() && error.column().is_some() => {
                error.in_table(table.name())
            }
            _ => error,
        })
    }

    /// The values of a statement as the driver takes them.
    fn buffers(
        &self,
        table: Option<&TableSchema>,
        values: &[StatementValue<'_>],
    ) -> Result<Vec<Buffer>> {
        let kind = self.product.kind;
        StatementValue::all_sent(values, table, |given| {
            let target = Target::of_given(kind, table, given);
            let bound = BoundParameter::single(kind, target, given.value.as_ref());
            bound.map(BoundParameter::into_buffer)
        })
    }

    /// Runs something with the prepared statement of a text, executed.
    fn with<R>(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        parameters: Vec<Buffer>,
        rows: usize,
        read: impl FnOnce(&mut OdbcStatement) -> std::result::Result<R, OdbcError>,
    ) -> Result<R> {
        Interrupt::check()?;
        // In a transaction, PostgreSQL rejects all statements after one that failed, unless that is undone.
        let is_guarded =
            self.product.kind == ProductKind::Postgres && self.phase == ServerPhase::Inside;
        if is_guarded {
            self.command("SAVEPOINT bobak_step")?;
        }
        let done = self.with_statement(table, sql, parameters, rows, read);
        if is_guarded && !self.broken {
            if done.is_err() {
                self.command("ROLLBACK TO SAVEPOINT bobak_step")?;
            }
            self.command("RELEASE SAVEPOINT bobak_step")?;
        }
        done
    }

    fn with_statement<R>(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        parameters: Vec<Buffer>,
        rows: usize,
        read: impl FnOnce(&mut OdbcStatement) -> std::result::Result<R, OdbcError>,
    ) -> Result<R> {
        let statement = self.statements.remove(sql).map_or_else(|| self.prepare(sql), Ok);
        let mut statement = statement.map_err(|failed| self.failed(failed, table))?;
        let stoppable = stoppable(&statement);
        let executed = statement.execute(parameters, rows).and_then(|()| read(&mut statement));
        drop(stoppable);
        statement.close();
        let done = executed.map_err(|failed| self.failed(failed, table))?;
        self.statements.insert(sql, statement);
        Ok(done)
    }

    fn prepare(&self, sql: &str) -> std::result::Result<OdbcStatement, OdbcError> {
        let mut statement = OdbcStatement::new(&self.channel)?;
        statement.set_timeout(self.timeout);
        statement.prepare(&unnumbered(self.product.dialect, sql))?;
        Ok(statement)
    }

    /// The types of a text's parameters, as the database expects them.
    pub(crate) fn parameter_types(
        &mut self,
        sql: &str,
    ) -> Result<Arc<[Option<odbc_sys::SqlDataType>]>> {
        let kept = self.statements.remove(sql);
        let prepared = kept.map_or_else(|| self.prepare(sql), Ok).and_then(|mut statement| {
            let types = statement.parameter_types()?;
            Ok((statement, types))
        });
        let (statement, types) = prepared.map_err(|failed| self.failed(failed, None))?;
        self.statements.insert(sql, statement);
        Ok(types)
    }

    /// Forgets the prepared statements: after a change of the schema.
    pub(crate) fn forget_statements(&mut self) {
        drop(self.statements.take_all());
        self.narrow.clear();
    }

    /// A list that the driver gives, as rows of texts.
    pub(crate) fn list(
        &mut self,
        list: crate::driver::CatalogList<'_>,
    ) -> Result<Vec<Vec<String>>> {
        let listed = || {
            let mut statement = OdbcStatement::new(&self.channel)?;
            statement.list(list)?;
            let mut rows = Vec::new();
            let count = statement.describe()?.len();
            let read = read_rows(
                &mut statement,
                Some(vec![Target::Text; count]),
                &self.product,
                1,
                &mut |row| {
                    let text = |column| match row.get(column) {
                        ValueRef::Text(text) => text.to_owned(),
                        _ => String::new(),
                    };
                    rows.push((0..row.len()).map(text).collect());
                    Ok(true)
                },
            )?;
            Ok(read.map(|()| rows))
        };
        match listed() {
            Ok(rows) => rows.and_then(check_texts),
            Err(failed) => Err(self.failed(failed, None)),
        }
    }
}

impl TransactionConnection for Connection {
    fn is_broken(&self) -> bool {
        self.broken
    }

    fn has_ended(&self, error: &Error) -> bool {
        self.broken || ends_transaction(error.kind())
    }

    fn end(&mut self, commit: bool) -> Result<()> {
        self.phase = if commit { ServerPhase::Commit } else { ServerPhase::Inside };
        let ended = self.channel.end(commit).map_err(|failed| self.failed(failed, None));
        if ended.is_err() && commit && !self.broken {
            let _ = self.channel.end(false);
        }
        if self.channel.set(ConnectionAttribute::AUTOCOMMIT, 1).is_err() {
            self.broken = true;
        }
        self.phase = ServerPhase::Read;
        ended
    }

    fn savepoint(&mut self, step: SavepointStep, name: &str) -> Result<()> {
        if self.product.kind == ProductKind::Other {
            let message = "Bobak does not know how this database sets savepoints";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.command(&step.text(name))
    }
}

/// Connects. MariaDB's driver and FreeTDS ignore the timeout, so another thread calls the driver; after the timeout it is
/// left alone, and closes the connection if it gets one.
fn connect(text: &str, seconds: u32) -> Result<Channel> {
    let (send, receive) = mpsc::sync_channel(0);
    let owned = text.to_owned();
    let begun =
        std::thread::Builder::new().name("bobak-odbc-connect".to_owned()).spawn(move || {
            let _ = send.send(Channel::connect(&owned, seconds));
        });
    begun.map_err(|error| {
        Error::new(ErrorKind::Unreachable, "could not start a thread that connects")
            .with_source(error)
    })?;
    // A driver with a timeout of its own has a second to say what it has waited for.
    match receive.recv_timeout(Duration::from_secs(u64::from(seconds) + 1)) {
        Ok(connected) => connected.map_err(|failed| error::connecting(failed, text)),
        Err(_) => Err(error::connect_timeout(text)),
    }
}

/// The error for a database that rejects the settings of the one that its driver names.
#[cold]
fn not_what_it_says(connection: &Connection, error: Error) -> Error {
    if !matches!(error.kind(), ErrorKind::Engine | ErrorKind::Schema | ErrorKind::Misuse) {
        return error;
    }
    let name = connection.channel.text(InfoType::DbmsName);
    let message = format!(
        "the ODBC driver says that its database is {name}, which accepts what this one rejects: {}",
        error.message()
    );
    Error::new(ErrorKind::Config, message).with_source(error)
}

/// Rejects names with NUL characters. A driver that was built for the driver manager iODBC returns characters of four bytes
/// instead of two, so that each is followed by a NUL.
fn check_texts(rows: Vec<Vec<String>>) -> Result<Vec<Vec<String>>> {
    if rows.iter().flatten().any(|text| text.contains('\0')) {
        let message = "the driver's texts have four bytes for each character, as iODBC has: use a driver for unixODBC, \
                       whose characters have two";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(rows)
}

/// Lets an [`Interrupt`] of this thread cancel the statement, until the returned guard is dropped.
fn stoppable(statement: &OdbcStatement) -> Option<Interruptible> {
    Interrupt::is_enabled().then(|| {
        let canceller = statement.canceller();
        Interrupt::stop_by(move || canceller.cancel())
    })
}

impl StatementConnection for Connection {
    type Dialect = OdbcStatements;

    const COUNTS_UNCHANGED: bool = false;

    fn dialect(&self) -> OdbcStatements {
        OdbcStatements { kind: self.product.kind, dialect: self.product.dialect }
    }

    fn run(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        values: &[StatementValue<'_>],
    ) -> Result<u64> {
        let buffers = self.buffers(table, values)?;
        self.with(table, sql, buffers, 1, |statement| Ok(statement.row_count()))
    }

    fn each(
        &mut self,
        of: Option<(&TableSchema, &[usize])>,
        sql: &str,
        values: &[StatementValue<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let (kind, table) = (self.product.kind, of.map(|(table, _)| table));
        let buffers = self.buffers(table, values)?;
        let targets = of.map(|(table, shown)| {
            let columns = shown.iter().filter_map(|place| table.columns().get(*place));
            let mut targets: Vec<_> = columns.map(|column| Target::of(kind, column)).collect();
            if targets.is_empty() {
                targets.push(Target::Int);
            }
            targets
        });
        self.each_bound(table, sql, buffers, targets, row)
    }
}

impl SqlServer for Connection {
    fn dialect(&self) -> Dialect {
        self.product.dialect
    }

    fn ask(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<()> {
        let given =
            |number: usize| values.get(number.max(1) - 1).map_or(ValueRef::Null, Value::as_ref);
        let numbers = parameter_numbers(self.product.dialect, sql).into_iter();
        let values = numbers.map(|number| StatementValue::of_type(Type::Any, given(number)));
        self.each(None, sql, &values.collect::<Vec<_>>(), &mut |cells| {
            row(cells);
            Ok(true)
        })
    }

    fn run(&mut self, table: &TableSchema, sql: &str) -> Result<()> {
        StatementConnection::run(self, Some(table), sql, &[]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_four_bytes_a_character_are_rejected() {
        let row = |text: &str| vec![vec![String::new(), text.to_owned()]];
        assert_eq!(check_texts(row("SHOP")).unwrap(), row("SHOP"));
        // As Virtuoso's driver of Debian 12 names a table.
        let error = check_texts(row("S\0H\0O\0P\0")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}
