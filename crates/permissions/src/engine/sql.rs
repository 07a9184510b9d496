//! SQL text of callers: what it does must be permitted, and what is hidden must not show.
//!
//! The engine asks an authorizer about every action of a statement, views and triggers expanded. But
//! the database looks at names before the authorizer does, and its errors differ for tables that exist
//! and tables that do not. So text that names a table without permissions fails with one error,
//! whatever the database would have said of it.
//!
//! Row rules cannot be enforced in SQL: SQL may not name a table with row rules.

use super::permission_engine::PermissionView;
use super::permission_session::PermissionSession;
use super::protected_database::ProtectedDatabase;
use super::referring_tables::ReferringReads;
use super::statement_policy::check_statement;
use super::table_references::{first_words, joins_by_name, replaces_rows, table_references};
use crate::policy::{CallerPermissions, Grant, Permission};
use bobak_core::change_log::is_change_log_table;
use bobak_core::search::is_search_name;
use bobak_core::{Error, ErrorKind, Result, SqlAction, SqlAuthorizer, Verb};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes of SQL from a caller without all permissions. SQLite's preparation takes quadratic
/// time in the number of names in a WITH, and cannot be interrupted.
const MAX_SQL_LENGTH: usize = 256 << 10;

/// SQLite's table-valued functions that read no tables.
const TABLE_FUNCTIONS: [&str; 2] = ["json_each", "json_tree"];
/// SQLite's function that reads the tables that a text names.
const READING_FUNCTION: &str = "rtreecheck";
/// SQLite's functions about the last statement of a connection, which may be another client's.
const CONNECTION_FUNCTIONS: [&str; 3] = ["last_insert_rowid", "changes", "total_changes"];
/// The first words of statements that only read and write rows.
const ROW_STATEMENTS: [&str; 7] =
    ["select", "values", "with", "insert", "replace", "update", "delete"];

/// Checks the actions of a caller's SQL.
struct StatementAuthorizer {
    database: Arc<ProtectedDatabase>,
    /// `None` for all permissions.
    permissions: Option<Arc<CallerPermissions>>,
    /// The permissions on attached engines; `None` for all.
    on_attached: Option<Arc<CallerPermissions>>,
    /// One that the listener installed in addition.
    additional: Option<Arc<dyn SqlAuthorizer>>,
    /// Whether the text replaces rows: SQLite reports that as an insert only.
    replaces: Arc<AtomicBool>,
    referring: Arc<Mutex<ReferringReads>>,
}

impl PermissionSession<'_> {
    /// Runs SQL if the caller's permissions allow it.
    pub(super) fn run_sql<R>(&self, sql: &str, mut run: impl FnMut() -> Result<R>) -> Result<R> {
        let view = self.engine.view()?;
        if view.is_unrestricted() {
            self.authorize(&view)?;
            return run();
        }
        let database = self.engine.database();
        if !database.engine().capabilities().sql {
            return run();
        }
        if !view.permissions().is_some_and(|p| p.can_use_sql(database.name())) {
            return Err(denied("you may not run SQL"));
        }
        check_restricted(sql)?;
        let mut logs = table_references(sql).into_iter().filter(|name| is_hidden(name));
        if let Some(name) = logs.find(|name| !view.can_see(database, name)) {
            return Err(invalid_or_missing(&name));
        }
        self.replaces.store(replaces_rows(sql), Ordering::Relaxed);
        self.authorize(&view)?;
        self.set_referring(Vec::new());
        let done = match run() {
            Err(error) if lock(&self.referring).is_rejected => self.run_referred(sql, error, run),
            done => done,
        };
        done.map_err(|error| self.redact(None, self.hide_tables(&view, sql, error)))
    }

    fn set_referring(&self, allowed: Vec<String>) {
        *lock(&self.referring) = ReferringReads { allowed, is_rejected: false };
    }

    /// Runs a rejected statement again if it may be rejected only because of tables that refer to the one that it inserts
    /// into.
    fn run_referred<R>(
        &self,
        sql: &str,
        error: Error,
        mut run: impl FnMut() -> Result<R>,
    ) -> Result<R> {
        let referring = self.referring_tables(sql)?;
        if referring.is_empty() {
            return Err(error);
        }
        self.set_referring(referring);
        let done = run();
        self.set_referring(Vec::new());
        done
    }

    /// Installs the authorizer for the caller's current permissions.
    fn authorize(&self, view: &Arc<PermissionView>) -> Result<()> {
        let mut authorized = self.authorized.borrow_mut();
        if authorized.as_ref().is_some_and(|current| Arc::ptr_eq(current, view)) {
            return Ok(());
        }
        let permissions = view.permissions().filter(|_| !view.is_unrestricted()).cloned();
        let on_attached = view.permissions().filter(|p| !p.is_unrestricted_everywhere()).cloned();
        let additional = self.additional.borrow().clone();
        let is_optional = permissions.is_none() && additional.is_none();
        let (database, replaces) = (Arc::clone(self.engine.database()), Arc::clone(&self.replaces));
        let referring = Arc::clone(&self.referring);
        let authorizer = StatementAuthorizer {
            database,
            permissions,
            on_attached,
            additional,
            replaces,
            referring,
        };
        match self.inner.set_authorizer(Arc::new(authorizer)) {
            // An engine without authorizers relies on the permissions of its own database.
            Err(error) if error.kind() == ErrorKind::Unsupported && is_optional => {}
            Err(error) if error.kind() == ErrorKind::Unsupported && !view.is_unrestricted() => {
                let message = "SQL on this engine needs all permissions, since the engine cannot \
                               tell what a statement does";
                return Err(denied(message));
            }
            other => other?,
        }
        *authorized = Some(Arc::clone(view));
        Ok(())
    }

    /// Installs another authorizer, which must allow each action as well.
    pub(super) fn set_additional_authorizer(
        &self,
        authorizer: Arc<dyn SqlAuthorizer>,
    ) -> Result<()> {
        let view = self.engine.view()?;
        if !self.engine.database().engine().capabilities().sql {
            return self.inner.set_authorizer(authorizer);
        }
        *self.additional.borrow_mut() = Some(authorizer);
        *self.authorized.borrow_mut() = None;
        self.authorize(&view).inspect_err(|_| *self.additional.borrow_mut() = None)
    }

    /// Replaces an error about text that names a hidden table: such text fails in the same way
    /// whatever else is wrong with it, and whether or not the table exists.
    fn hide_tables(&self, view: &PermissionView, sql: &str, error: Error) -> Error {
        let is_about_text = matches!(
            error.kind(),
            ErrorKind::Schema
                | ErrorKind::Denied
                | ErrorKind::Syntax
                | ErrorKind::Engine
                | ErrorKind::Unsupported
        );
        let is_hidden = |name: &String| {
            !is_one_of(name, &TABLE_FUNCTIONS) && !view.can_see(self.engine.database(), name)
        };
        match table_references(sql).iter().find(|name| is_about_text && is_hidden(name)) {
            Some(name) => invalid_or_missing(name),
            None => error,
        }
    }
}

impl SqlAuthorizer for StatementAuthorizer {
    fn check(&self, action: SqlAction<'_>) -> Result<()> {
        if let Some(additional) = &self.additional {
            additional.check(action)?;
        }
        if let (SqlAction::Foreign { database, table, verb }, Some(permissions)) =
            (action, &self.on_attached)
            && database != "temp"
        {
            return self.check_table(permissions, (database, table), required_for(verb));
        }
        let Some(permissions) = &self.permissions else { return check_statement(action) };
        let own = self.database.name();
        let check = |table, required| self.check_table(permissions, (own, table), required);
        match action {
            SqlAction::Read(name) if TABLE_FUNCTIONS.contains(&name) => Ok(()),
            SqlAction::Read(table) if self.is_referring(table) => Ok(()),
            SqlAction::Read(table) => check(table, Permission::Read)
                .inspect_err(|_| lock(&self.referring).is_rejected = true),
            SqlAction::Insert(table) => check(table, Permission::Insert),
            SqlAction::Update(table) => check(table, Permission::Update),
            SqlAction::Delete(table) => check(table, Permission::Delete),
            SqlAction::Call(name) if is_one_of(name, &CONNECTION_FUNCTIONS) => {
                let message = format!(
                    "{name}() may reveal other clients' statements: use RETURNING or the number of \
                     changed rows"
                );
                Err(denied(&message))
            }
            SqlAction::Call(name) if !is_one_of(name, &["load_extension", READING_FUNCTION]) => {
                Ok(())
            }
            _ => Err(rows_only()),
        }
    }

    fn lasts(&self) -> bool {
        // Restricted statements are checked each time: with the schema, the tables of a statement
        // change.
        self.permissions.is_none()
            && self.on_attached.is_none()
            && self.additional.as_ref().is_none_or(|additional| additional.lasts())
    }
}

impl StatementAuthorizer {
    /// Whether the statement reads the table for its foreign keys only.
    fn is_referring(&self, table: &str) -> bool {
        let referring = lock(&self.referring);
        referring.allowed.iter().any(|other| other.eq_ignore_ascii_case(table))
    }

    /// Checks that SQL may do this with a table.
    fn check_table(
        &self,
        permissions: &CallerPermissions,
        (database, table): (&str, &str),
        action: Permission,
    ) -> Result<()> {
        let grants: Vec<_> = permissions.grants_on(database, table).collect();
        if grants.is_empty() {
            // Triggers of tracked and searched tables write to these. Text that names them is rejected earlier.
            if is_hidden(table) && database == self.database.name() {
                return Ok(());
            }
            // SQLite also reports the name of a WITH of which no column is read. An unknown name must
            // get the same error.
            let message = "the statement uses a table that you may not use, through a view, a \
                           trigger or a foreign key; or it only counts the rows of a WITH: count \
                           a column";
            return Err(denied(message));
        }
        let set = permissions.on(database, table);
        let replaces = matches!(action, Permission::Insert | Permission::Update)
            && self.replaces.load(Ordering::Relaxed);
        for required in
            [Permission::Sql, action, if replaces { Permission::Delete } else { action }]
        {
            if !set.has(required) {
                return Err(required.denied(table));
            }
        }
        if has_row_rules(&grants, action) {
            let message = "row rules apply to this table, so SQL may not use it";
            return Err(denied(message).in_table(table));
        }
        Ok(())
    }
}

fn lock(referring: &Mutex<ReferringReads>) -> MutexGuard<'_, ReferringReads> {
    referring.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a table is one that only triggers write to: a change log, or part of a search.
fn is_hidden(table: &str) -> bool {
    is_change_log_table(table) || is_search_name(table)
}

/// The permission for a write to a table of an attached engine, or for reading it.
const fn required_for(verb: Option<Verb>) -> Permission {
    match verb {
        None => Permission::Read,
        Some(Verb::Update) => Permission::Update,
        Some(Verb::Delete) => Permission::Delete,
        Some(_) => Permission::Insert,
    }
}

/// Whether row rules restrict an action on a table, or any other permission on it.
fn has_row_rules(grants: &[&Grant], action: Permission) -> bool {
    let is_free = grants.iter().any(|grant| grant.permissions.has(action) && grant.rule.is_none());
    let is_ruled = Permission::ALL.into_iter().any(|permission| {
        let mut with = grants.iter().filter(|grant| grant.permissions.has(permission)).peekable();
        with.peek().is_some() && with.all(|grant| grant.rule.is_some())
    });
    !is_free || is_ruled
}

/// Checks the text of a caller without all permissions, as far as that is possible without the database.
fn check_restricted(sql: &str) -> Result<()> {
    if sql.len() > MAX_SQL_LENGTH {
        let message = format!(
            "SQL of callers without all permissions is limited to {MAX_SQL_LENGTH} bytes: pass \
             long values as parameters"
        );
        return Err(Error::new(ErrorKind::TooLong, message));
    }
    check_statement_kind(sql)?;
    if joins_by_name(sql) {
        let message = "NATURAL JOIN and USING need all permissions, since SQLite does not report the columns that \
                       they compare: join ON a condition";
        return Err(denied(message));
    }
    Ok(())
}

fn check_statement_kind(sql: &str) -> Result<()> {
    let mut words = first_words(sql);
    let mut first = words.next().unwrap_or_default();
    if first == "explain" {
        // Only as EXPLAIN QUERY PLAN: the program of a statement has page numbers, which reveal other tables.
        let plan = [words.next(), words.next()];
        if plan.each_ref().map(|word| word.as_deref()) != [Some("query"), Some("plan")] {
            return Err(rows_only());
        }
        first = words.next().unwrap_or_default();
    }
    if ROW_STATEMENTS.contains(&first.as_str()) { Ok(()) } else { Err(rows_only()) }
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

/// The error for all text that names a table without permissions.
fn invalid_or_missing(table: &str) -> Error {
    let message = "the statement is invalid, or there is no such table";
    Error::new(ErrorKind::Schema, message).in_table(table)
}

fn rows_only() -> Error {
    denied("statements other than reading and writing rows need all permissions")
}

fn denied(message: &str) -> Error {
    Error::new(ErrorKind::Denied, format!("permission denied: {message}"))
}
