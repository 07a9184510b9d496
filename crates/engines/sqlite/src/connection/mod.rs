//! A connection with its prepared statements, open cursors, and what it knows about tables.

mod explain;
pub(crate) mod pinned_read;
pub(crate) mod shape_statements;
pub(crate) mod shared_cursor;
mod snapshot;
pub(crate) mod statement_cache;
pub(crate) mod table_info_cache;
mod transaction_steps;
mod trusted_rows;
pub(crate) mod typed_text_cache;

pub(crate) use transaction_steps::{
    changes_connection, is_query, reject_transaction_steps, reject_vacuum, runs_schema,
};

use crate::connection::statement_cache::{StatementCache, TableStatementKey};
use crate::error::translate;
use crate::extension::ConnectionExtension;
use crate::ffi::{self, Failure, StatementAction, StatementId, WriteKind, codes};
use bobak_core::{
    Error, ErrorKind, Interrupt, Result, Row, SqlAction, SqlAuthorizer, TableSchema, Value,
    ValueRef, Verb,
};
use pinned_read::{PINNING_QUERY, PinnedRead};
use shared_cursor::SharedCursor;
use std::sync::Arc;
use table_info_cache::TableInfoCache;
use typed_text_cache::TypedTexts;

/// The number of table statements that a connection caches.
const TABLE_STATEMENTS: usize = 256;
/// The number of SQL texts that a connection caches the statements of.
const TEXT_STATEMENTS: usize = 128;
/// The number of shapes of typed statements that a connection caches the statements of.
const SHAPE_STATEMENTS: usize = 128;

/// A connection. One session uses it at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) db: ffi::Connection,
    /// Whether SQLite undoes a failed statement: not without a journal.
    pub(crate) atomic: bool,
    /// Whether it rejects statements that write.
    pub(crate) query_only: bool,
    /// See [`take_quoted_strings`](Self::take_quoted_strings).
    takes_quoted_strings: bool,
    /// The maximum number of parameters of a statement.
    pub(crate) max_parameters: usize,
    /// The maximum number of bytes of rows that are buffered for a cursor.
    pub(crate) max_ahead: usize,
    tables: StatementCache<TableStatementKey>,
    /// The last table statement: loops use the same one again and again.
    last: Option<(TableStatementKey, StatementId)>,
    pub(crate) texts: StatementCache<Box<str>>,
    shapes: StatementCache<Box<[u64]>>,
    /// The last template, and its statement.
    last_template: Option<(u64, StatementId)>,
    pub(crate) table_infos: TableInfoCache,
    pub(crate) typed_texts: TypedTexts,
    pub(crate) pinned_read: PinnedRead,
    /// The triggers dropped for a replay, which is in progress if this is `Some`.
    pub(crate) replay: Option<Vec<String>>,
    cursors: Vec<Arc<SharedCursor>>,
    /// The connection's part of the database's extension; `None` until SQL text first runs here.
    pub(crate) extension: Option<Box<dyn ConnectionExtension>>,
}

impl Connection {
    pub(crate) fn boxed(db: ffi::Connection, atomic: bool) -> Box<Self> {
        let max_parameters = db.max_parameters();
        Box::new(Self {
            db,
            atomic,
            query_only: false,
            takes_quoted_strings: false,
            max_parameters,
            max_ahead: usize::MAX,
            tables: StatementCache::new(TABLE_STATEMENTS),
            last: None,
            texts: StatementCache::new(TEXT_STATEMENTS),
            shapes: StatementCache::new(SHAPE_STATEMENTS),
            last_template: None,
            table_infos: TableInfoCache::default(),
            typed_texts: TypedTexts::default(),
            pinned_read: PinnedRead::default(),
            replay: None,
            cursors: Vec::new(),
            extension: None,
        })
    }

    /// Sets whether the schema may have texts in double quotes, as old ones do. SQLite reads these in any case; only
    /// statements that run a stored schema again need this.
    pub(crate) fn take_quoted_strings(&mut self, on: bool) {
        if self.takes_quoted_strings != on {
            self.takes_quoted_strings = on;
            self.db.reject_quoted_strings(on);
        }
    }

    /// The statement for `key`, prepared from `text` if it is not cached.
    #[inline]
    pub(crate) fn table_statement(
        &mut self,
        key: TableStatementKey,
        table: &TableSchema,
        text: impl FnOnce() -> String,
    ) -> Result<StatementId> {
        if let Some((last, id)) = self.last
            && last == key
        {
            return Ok(id);
        }
        let id = match self.tables.get(&key) {
            Some(id) => id,
            None => {
                let id = self.prepare_for_rows(key.kind, table, &text())?;
                if let Some(old) = self.tables.insert(key, id) {
                    self.db.finalize(old);
                }
                id
            }
        };
        self.last = Some((key, id));
        Ok(id)
    }

    /// The statement of a text, which must be exactly one statement.
    pub(crate) fn text_statement(&mut self, sql: &str) -> Result<StatementId> {
        self.refresh_schema_to_explain(sql)?;
        if let Some(id) = self.texts.get(sql) {
            return Ok(id);
        }
        self.prepare_one(sql).inspect(|id| self.keep_text(sql, *id))
    }

    /// Submits all actions of a text to the authorizer. The text is prepared again for that,
    /// since a changed schema may change what it does, unless the authorizer's decisions last.
    pub(crate) fn check_text(
        &mut self,
        sql: &str,
        authorizer: &Arc<dyn SqlAuthorizer>,
    ) -> Result<()> {
        let known = if authorizer.lasts() { self.texts.get(sql) } else { None };
        let id = match known.filter(|id| self.db.was_watched(*id)) {
            Some(id) => id,
            None => {
                if let Some(old) = self.texts.take(sql) {
                    self.db.finalize(old);
                }
                self.authorized_statement(sql, authorizer)?
            }
        };
        let actions = self.db.actions(id);
        // SQLite reports the actions of every statement that writes, except for VACUUM.
        if actions.is_empty() && !self.db.is_read_only_statement(id) {
            return authorizer.check(SqlAction::Vacuum { into: bobak_sql::has_word(sql, "into") });
        }
        if self.extension.is_none() {
            return actions.iter().try_for_each(|action| authorizer.check(to_action(action)));
        }
        let actions = actions.to_vec();
        actions.into_iter().try_for_each(|action| {
            let action = self.with_database(action)?;
            authorizer.check(to_action(&action))
        })
    }

    /// Adds the database of a table of which a statement reads no column, if it is not `main`: SQLite does not
    /// report it.
    fn with_database(&mut self, action: StatementAction) -> Result<StatementAction> {
        match action {
            StatementAction::Read { database, table } if database.is_empty() => {
                Ok(StatementAction::Read { database: self.database_of(&table)?, table })
            }
            other => Ok(other),
        }
    }

    /// The database in which a name without one is a table; empty if there is none.
    pub(crate) fn database_of(&mut self, table: &str) -> Result<String> {
        let names =
            self.all_rows("SELECT name FROM pragma_database_list ORDER BY seq <> 1, seq", &[])?;
        for name in names.into_iter().flatten() {
            let Value::Text(name) = name else { continue };
            let schema = bobak_sql::quote(bobak_sql::Dialect::Sqlite, &name);
            let sql = format!("SELECT 1 FROM {schema}.sqlite_schema WHERE lower(name) = lower(?1)");
            if !self.all_rows(&sql, &[Value::from(table)])?.is_empty() {
                return Ok(name.into_owned());
            }
        }
        Ok(String::new())
    }

    /// As [`text_statement`](Self::text_statement), of a text that has none yet; the authorizer also decides about pragmas,
    /// which take effect while they are prepared.
    fn authorized_statement(
        &mut self,
        sql: &str,
        authorizer: &Arc<dyn SqlAuthorizer>,
    ) -> Result<StatementId> {
        self.refresh_schema_to_explain(sql)?;
        self.db.watch().set_authorizer(Some(Arc::clone(authorizer)));
        let prepared = self.prepare_one(sql).inspect(|id| self.keep_text(sql, *id));
        match self.db.watch().set_authorizer(None) {
            Some(rejection) => Err(rejection),
            None => prepared,
        }
    }

    /// As [`text_statement`](Self::text_statement), for exclusive use until
    /// [`keep_text`](Self::keep_text).
    pub(crate) fn take_text_statement(&mut self, sql: &str) -> Result<StatementId> {
        match self.texts.take(sql) {
            Some(id) => Ok(id),
            None => self.prepare_one(sql),
        }
    }

    pub(crate) fn keep_text(&mut self, sql: &str, id: StatementId) {
        if let Some(old) = self.texts.insert(sql.into(), id) {
            self.db.finalize(old);
        }
    }

    /// Runs a constant text of the engine.
    pub(crate) fn run(&mut self, sql: &'static str) -> Result<()> {
        let id = self.text_statement(sql)?;
        // Statements that begin and end transactions must not be interrupted.
        Interrupt::hold_off(|| self.db.execute(id, std::iter::empty::<ValueRef<'_>>()))
            .map_err(|failure| translate(failure, None))
    }

    /// Runs `work` in a transaction, or in a savepoint if one is open (`inside`). Any error, also
    /// of the commit, undoes all of it.
    pub(crate) fn atomically(
        &mut self,
        inside: bool,
        work: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let (begin, end, undo): (_, _, &[_]) = if inside {
            let undo = &["ROLLBACK TO bobak_whole", "RELEASE bobak_whole"];
            ("SAVEPOINT bobak_whole", "RELEASE bobak_whole", undo)
        } else {
            ("BEGIN IMMEDIATE", "COMMIT", &["ROLLBACK"])
        };
        self.run(begin)?;
        let result = work(self).and_then(|()| self.end_with(end));
        // SQLite may have rolled back by itself, for example because of a full disk.
        if result.is_err() && !self.db.is_autocommit() {
            undo.iter().try_for_each(|sql| self.run(sql))?;
        }
        result
    }

    /// Sets whether the connection rejects statements that write.
    pub(crate) fn set_query_only(&mut self, only: bool) -> Result<()> {
        self.run(if only { "PRAGMA query_only = on" } else { "PRAGMA query_only = off" })?;
        self.query_only = only;
        Ok(())
    }

    /// Runs one statement that is not cached. Text after the statement is an error: names and
    /// expressions in it may come from a client or a file.
    pub(crate) fn run_owned(&mut self, sql: &str) -> Result<()> {
        let id = self.prepare_one(sql)?;
        let done = self.db.execute(id, std::iter::empty::<ValueRef<'_>>());
        self.db.finalize(id);
        done.map_err(|failure| translate(failure, None))
    }

    /// The integer in the first column of the first row; 0 if there is none.
    pub(crate) fn first_integer(&mut self, sql: &str) -> Result<i64> {
        let id = self.text_statement(sql)?;
        let failed = |failure| translate(failure, None);
        let mut rows = self.db.rows(id, std::iter::empty::<ValueRef<'_>>()).map_err(failed)?;
        let row = rows.next().map_err(failed)?;
        Ok(match row.as_ref().map(|row| row.get(0)) {
            Some(ValueRef::Int(integer)) => integer,
            // SQLCipher returns the values of some pragmas as text.
            Some(ValueRef::Text(text)) => text.parse().unwrap_or(0),
            _ => 0,
        })
    }

    /// Returns all rows of a query, copied.
    pub(crate) fn all_rows(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Vec<Value<'static>>>> {
        let id = self.text_statement(sql)?;
        self.check_parameters(id, values.len())?;
        let failed = |failure| translate(failure, None);
        let mut rows = self.db.rows(id, values.iter().map(Value::as_ref)).map_err(failed)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            all.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
        }
        Ok(all)
    }

    /// Calls `row` with the rows of a query until it returns `false`.
    pub(crate) fn each_row(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        table: Option<&TableSchema>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let id = self.text_statement(sql)?;
        self.check_parameters(id, values.len())?;
        self.each_row_of(id, values.iter().map(Value::as_ref), table, row)
    }

    /// Runs a statement, discarding its rows. Returns the number of rows changed.
    pub(crate) fn run_text(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64> {
        let id = self.text_statement(sql)?;
        self.check_parameters(id, values.len())?;
        let read_only = self.db.is_read_only_statement(id);
        let before = self.db.total_changes();
        self.db
            .execute(id, values.iter().map(Value::as_ref))
            .map_err(|failure| translate(failure, None))?;
        // SQLite keeps the previous statement's number if this one changes no rows.
        if read_only || self.db.total_changes() == before {
            return Ok(0);
        }
        Ok(self.db.changes())
    }

    /// Rejects a wrong number of values.
    pub(crate) fn check_parameters(&self, id: StatementId, given: usize) -> Result<()> {
        let wanted = self.db.parameters(id);
        if wanted == given {
            return Ok(());
        }
        Err(Error::wrong_number(ErrorKind::Mismatch, given, wanted, "parameter"))
    }

    /// Adds a cursor whose statement runs on this connection.
    pub(crate) fn add_cursor(&mut self, cursor: Arc<SharedCursor>) {
        self.cursors.push(cursor);
    }

    /// Reads open cursors to their ends, into memory. Called before each write and each
    /// transaction step: these would change the cursors' rows, or be blocked by them.
    #[inline]
    pub(crate) fn buffer_cursors(&mut self) {
        self.db.close_blob();
        if !self.cursors.is_empty() {
            self.buffer_all();
        }
    }

    #[cold]
    fn buffer_all(&mut self) {
        for cursor in std::mem::take(&mut self.cursors) {
            // Without another owner, the cursor was dropped without being closed.
            if Arc::strong_count(&cursor) > 1 {
                cursor.buffer(self);
            } else {
                cursor.close(self);
            }
        }
    }

    /// Rolls back a transaction that was abandoned.
    #[cold]
    pub(crate) fn abandon(&mut self) {
        self.buffer_cursors();
        // Fails only if SQLite has rolled back by itself.
        let _ = self.db.exec("ROLLBACK");
    }

    /// Rewrites a number in the file's header in a fully synced commit, which syncs the whole
    /// file.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let usual = self.first_integer("PRAGMA synchronous")?;
        let version = self.first_integer("PRAGMA user_version")?;
        self.run("PRAGMA synchronous = full")?;
        let written = self.run_owned(&format!("PRAGMA user_version = {version}"));
        self.run_owned(&format!("PRAGMA synchronous = {usual}"))?;
        written
    }

    /// Called outside a transaction after a write to a file failed. The write may have been the
    /// last one of a commit to the log, with all of its bytes stored. Readers ignore that commit,
    /// but a power cut would bring it back. Another commit overwrites it.
    #[cold]
    pub(crate) fn recover_wal(&mut self) {
        let mode = self.all_rows("PRAGMA journal_mode", &[]);
        if mode.is_ok_and(|rows| rows.iter().flatten().any(|mode| *mode == Value::from("wal"))) {
            // If the disk keeps failing, the next return of the connection tries again.
            let _ = self.sync();
        }
    }

    fn prepare_one(&mut self, sql: &str) -> Result<StatementId> {
        let (id, used) = self.prepare_first(sql).map_err(|failure| translate(failure, None))?;
        let id = id.ok_or_else(no_statement)?;
        let rest = sql.get(used..).unwrap_or_default();
        match self.prepare_first(rest) {
            Ok((None, _)) => Ok(id),
            Ok((Some(second), _)) => {
                self.db.finalize(second);
                self.db.finalize(id);
                Err(bobak_sql::several_statements())
            }
            Err(failure) => {
                self.db.finalize(id);
                Err(translate(failure, None))
            }
        }
    }

    /// Prepares the first statement of a text, skipping empty ones. Returns the number of bytes
    /// read.
    fn prepare_first(&mut self, sql: &str) -> Result<(Option<StatementId>, usize), Failure> {
        let mut used = 0;
        loop {
            let rest = sql.get(used..).unwrap_or_default();
            if rest.trim().is_empty() {
                return Ok((None, sql.len()));
            }
            let (id, more) = self.db.prepare(rest)?;
            used += more;
            if id.is_some() || more == 0 {
                return Ok((id, used));
            }
        }
    }
}

impl Connection {
    /// Called before a single operation outside transactions.
    #[inline]
    pub(crate) fn pin_read(&mut self) {
        if self.pinned_read.is_due()
            && let Ok(id) = self.text_statement(PINNING_QUERY)
        {
            self.pinned_read.start(&mut self.db, id);
        }
    }

    /// Called before any other operation.
    #[inline]
    pub(crate) fn unpin_read(&mut self) {
        self.pinned_read.end(&mut self.db);
    }
}

/// A statement's action as the authorizer knows it.
fn to_action(action: &StatementAction) -> SqlAction<'_> {
    // SQLite reports no database for a table of which no column is read.
    let is_own = |database: &str| matches!(database, "main" | "");
    match action {
        StatementAction::Read { database, table } if is_own(database) => SqlAction::Read(table),
        StatementAction::Write { database, table, kind } if is_own(database) => match kind {
            WriteKind::Insert => SqlAction::Insert(table),
            WriteKind::Update => SqlAction::Update(table),
            WriteKind::Delete => SqlAction::Delete(table),
        },
        StatementAction::Function(name) => SqlAction::Call(name),
        StatementAction::Read { database, table } => {
            SqlAction::Foreign { database, table, verb: None }
        }
        StatementAction::Write { database, table, kind } => {
            let verb = match kind {
                WriteKind::Insert => Verb::Insert,
                WriteKind::Update => Verb::Update,
                WriteKind::Delete => Verb::Delete,
            };
            SqlAction::Foreign { database, table, verb: Some(verb) }
        }
        StatementAction::Schema(database) => SqlAction::Schema { temporary: database == "temp" },
        StatementAction::Pragma(name, value) => SqlAction::Pragma { name, value: value.as_deref() },
        StatementAction::Attach => SqlAction::Attach,
        StatementAction::Detach(_) => SqlAction::Detach,
        StatementAction::Other => SqlAction::Other,
    }
}

#[cold]
fn no_statement() -> Error {
    Error::new(ErrorKind::Syntax, "the SQL has no statement")
}

/// Whether a failed `COMMIT` or `ROLLBACK` only means that no transaction is open.
pub(crate) fn is_no_transaction(failure: &Failure) -> bool {
    failure.code & 0xff == codes::SQLITE_ERROR && failure.message.contains("no transaction")
}
