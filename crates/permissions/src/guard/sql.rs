//! SQL text: what it touches must be granted, and what is not granted must not show.

use super::engine::View;
use super::mention::{first_words, replaces, tables};
use super::protected::Protected;
use super::screen;
use super::session::GuardedSession;
use crate::policy::Rights;
use crate::right::{PermissionSet, Right};
use bobak_core::feed::is_own;
use bobak_core::{Error, ErrorKind, Result, SqlAction, SqlAuthorizer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest text of one who may not do everything. What SQLite does before a statement runs takes
/// the square of its parts (of the names of a WITH), and can't be interrupted.
const LONGEST: usize = 256 << 10;

/// Asked by the engine what a statement may do.
struct Gate {
    database: Arc<Protected>,
    /// `None` for everything.
    rights: Option<Arc<Rights>>,
    besides: Option<Arc<dyn SqlAuthorizer>>,
    /// Whether the text says that rows go where new ones clash with them: SQLite does not say so.
    replaces: Arc<AtomicBool>,
}

/// SQLite's own functions that give rows, and tell nothing of other tables.
const FUNCTIONS: [&str; 2] = ["json_each", "json_tree"];
/// SQLite's functions that tell what a connection did last, for whomever it was.
const OF_OTHERS: [&str; 3] = ["last_insert_rowid", "changes", "total_changes"];
/// How statements begin that do no more than read and write rows.
const STATEMENTS: [&str; 7] = ["select", "values", "with", "insert", "replace", "update", "delete"];

impl GuardedSession<'_> {
    /// Runs SQL for the caller, as far as that is granted.
    pub(super) fn set_authorizer<R>(
        &self,
        sql: &str,
        run: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let view = self.guard.view()?;
        if view.is_whole() {
            self.ask_engine(&view)?;
            return run();
        }
        let database = self.guard.database();
        if !database.engine().capabilities().sql {
            return run();
        }
        if !view.rights().is_some_and(|rights| rights.has_sql(database.name())) {
            return Err(Error::new(ErrorKind::Denied, "you may not run SQL"));
        }
        if sql.len() > LONGEST {
            let message = format!(
                "SQL of a caller with rights has at most {LONGEST} bytes: give long values as parameters"
            );
            return Err(Error::new(ErrorKind::TooLong, message));
        }
        check_kind(sql)?;
        let mut named = tables(sql).into_iter().filter(|name| is_own(name));
        if let Some(name) = named.find(|name| !view.sees(database, name)) {
            return Err(wrong_or_missing(&name));
        }
        self.replaces.store(replaces(sql), Ordering::Relaxed);
        self.ask_engine(&view)?;
        run().map_err(|error| self.conceal(None, self.mask(&view, sql, error)))
    }

    /// Has the engine ask about each statement, by the rights of this moment.
    fn ask_engine(&self, view: &Arc<View>) -> Result<()> {
        let mut asked = self.asked.borrow_mut();
        let same = asked.as_ref().is_some_and(|before| Arc::ptr_eq(before, view));
        if same {
            return Ok(());
        }
        let rights = view.rights().filter(|_| !view.is_whole()).cloned();
        let besides = self.besides.borrow().clone();
        let is_free = rights.is_none() && besides.is_none();
        let (database, replaces) = (Arc::clone(self.guard.database()), Arc::clone(&self.replaces));
        let gate = Gate { database, rights, besides, replaces };
        match self.inner.set_authorizer(Arc::new(gate)) {
            // What it does is then for the engine's own rules to decide.
            Err(error) if error.kind() == ErrorKind::Unsupported && is_free => {}
            Err(error) if error.kind() == ErrorKind::Unsupported && !view.is_whole() => {
                let message = "SQL on this engine is only for who may do everything: it can't tell \
                               what a statement does";
                return Err(Error::new(ErrorKind::Denied, message));
            }
            other => other?,
        }
        *asked = Some(Arc::clone(view));
        Ok(())
    }

    /// Has another guard asked about SQL too.
    pub(super) fn ask_besides(&self, guard: Arc<dyn SqlAuthorizer>) -> Result<()> {
        let view = self.guard.view()?;
        if !self.guard.database().engine().capabilities().sql {
            return self.inner.set_authorizer(guard);
        }
        *self.besides.borrow_mut() = Some(guard);
        *self.asked.borrow_mut() = None;
        self.ask_engine(&view).inspect_err(|_| *self.besides.borrow_mut() = None)
    }

    /// The error that a caller gets. A text that names a table without rights fails in the same
    /// way whatever else is wrong with it, and whether or not the table is there.
    fn mask(&self, view: &View, sql: &str, error: Error) -> Error {
        let by_text = matches!(
            error.kind(),
            ErrorKind::Schema
                | ErrorKind::Denied
                | ErrorKind::Syntax
                | ErrorKind::Engine
                | ErrorKind::Unsupported
        );
        let hidden = |name: &String| {
            let known = FUNCTIONS.iter().any(|function| function.eq_ignore_ascii_case(name));
            !known && !view.sees(self.guard.database(), name)
        };
        match tables(sql).iter().find(|name| by_text && hidden(name)) {
            Some(name) => wrong_or_missing(name),
            None => error,
        }
    }
}

impl SqlAuthorizer for Gate {
    fn check(&self, action: SqlAction<'_>) -> Result<()> {
        if let Some(besides) = &self.besides {
            besides.check(action)?;
        }
        let Some(rights) = &self.rights else { return screen::check(action) };
        let (table, right) = match action {
            SqlAction::Read(name) if FUNCTIONS.contains(&name) => return Ok(()),
            SqlAction::Read(table) => (table, Right::Read),
            SqlAction::Insert(table) => (table, Right::Insert),
            SqlAction::Update(table) => (table, Right::Update),
            SqlAction::Delete(table) => (table, Right::Delete),
            SqlAction::Call(name) if OF_OTHERS.iter().any(|o| o.eq_ignore_ascii_case(name)) => {
                return Err(tells_of_others(name));
            }
            SqlAction::Call(name) if !name.eq_ignore_ascii_case("load_extension") => return Ok(()),
            _ => return Err(not_for_rows()),
        };
        let database = self.database.name();
        let on: Vec<_> = rights.on(database, table).collect();
        // The triggers of a table that is tracked write to these; texts that name them got no further.
        if on.is_empty() && is_own(table) {
            return Ok(());
        }
        if on.is_empty() {
            // SQLite tells of a WITH's name, too, from which no column is read; what is the name of
            // neither must fare alike.
            let message = "the statement touches more than you may, by way of a view, a trigger or \
                           a foreign key; or it only counts the rows of a WITH: count a column";
            return Err(Error::new(ErrorKind::Denied, message));
        }
        let all = on.iter().fold(PermissionSet::NONE, |set, grant| set.and(grant.rights));
        let replaces =
            matches!(right, Right::Insert | Right::Update) && self.replaces.load(Ordering::Relaxed);
        for wanted in [Right::Sql, right, if replaces { Right::Delete } else { right }] {
            if !all.has(wanted) {
                return Err(wanted.refusal(table));
            }
        }
        // A rule about rows can't be kept in SQL of the caller's.
        let free = on.iter().any(|grant| grant.rights.has(right) && grant.rule.is_none());
        let ruled = Right::ALL.into_iter().any(|right| {
            let mut with = on.iter().filter(|grant| grant.rights.has(right)).peekable();
            with.peek().is_some() && with.all(|grant| grant.rule.is_some())
        });
        if !free || ruled {
            let message = "there are rules about the rows of this table, so SQL may not name it";
            return Err(Error::new(ErrorKind::Denied, message).in_table(table));
        }
        Ok(())
    }

    fn lasts(&self) -> bool {
        // With the schema it changes which tables a statement is about.
        self.rights.is_none() && self.besides.as_ref().is_none_or(|besides| besides.lasts())
    }
}

fn check_kind(sql: &str) -> Result<()> {
    let mut words = first_words(sql);
    let mut first = words.next().unwrap_or_default();
    if first == "explain" {
        first = words.find(|word| word != "query" && word != "plan").unwrap_or_default();
    }
    if STATEMENTS.contains(&first.as_str()) { Ok(()) } else { Err(not_for_rows()) }
}

/// The error of every text that names a table without rights.
fn wrong_or_missing(table: &str) -> Error {
    let message = "the statement is wrong, or there is no such table";
    Error::new(ErrorKind::Schema, message).in_table(table)
}

/// Connections are shared: the numbers may be those of somebody else's tables.
fn tells_of_others(function: &str) -> Error {
    let message = format!(
        "{function}() is only for who may do everything: it tells what others did on this \
         connection; RETURNING and the answer's count tell what the statement did"
    );
    Error::new(ErrorKind::Denied, message)
}

fn not_for_rows() -> Error {
    let message =
        "SQL that does more than to read and write rows is only for who may do everything";
    Error::new(ErrorKind::Denied, message)
}
