//! Carries migrations out.

use super::action::{Action, drop_converted};
use super::files::{Migration, Migrations};
use super::ledger::{self, Entry, MigrationProgress};
use super::online::runs_online;
use super::sql_steps::{runs_on, syntax_of};
use super::statements::statements;
use super::step::{MigrationStep, find};
use super::{conversions, convert, sql_steps, status, tracked};
use bobak_changes::{last_id, unchecked_logs};
use bobak_core::change_log::{TableMoves, layout_schema};
use bobak_core::engine::fallback::has_rows;
use bobak_core::{
    Engine, Error, ErrorKind, FieldSet, Result, Session, TableSchema, TransactionControl, Value,
    Verb, Write,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a process waits for another one that migrates.
const WAIT: Duration = Duration::from_secs(600);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down { allow_loss: bool },
}

/// Carries out the migrations that the database does not have, each in a transaction of its own; returns
/// their names. If another process migrates, waits for it, up to ten minutes.
///
/// On an engine whose schema changes commit by themselves (MariaDB, MySQL), a failure or a kill leaves the
/// steps before it; the next call goes on there.
///
/// # Errors
/// `Conflict` if a migration was edited after it ran, or the database has one that is not among these; those
/// of the steps, with the migration and the step; `Busy`.
pub fn up(engine: &dyn Engine, migrations: &Migrations) -> Result<Vec<String>> {
    reject_served(engine)?;
    waiting(|| ledger::create(engine))?;
    let mut done = Vec::new();
    loop {
        let entries = ledger::read(&*engine.session()?)?;
        let Some(next) = status::next(migrations, &entries)? else { return Ok(done) };
        let ran = run(engine, migrations, next, Direction::Up);
        if ran.map_err(|error| after(error, "carried out", &done))? {
            done.push(next.name.clone());
        }
    }
}

/// Undoes the last `count` migrations, the last one first; returns their names.
///
/// # Errors
/// `Unsupported` for a migration without steps to undo it; `Constraint` if rows or values would be lost and
/// `allow_loss` is not set; as [`up`].
pub fn down(
    engine: &dyn Engine,
    migrations: &Migrations,
    count: usize,
    allow_loss: bool,
) -> Result<Vec<String>> {
    reject_served(engine)?;
    waiting(|| ledger::create(engine))?;
    let mut done = Vec::new();
    while done.len() < count {
        let entries = ledger::read(&*engine.session()?)?;
        let Some(last) = status::last(migrations, &entries)? else { break };
        let ran = run(engine, migrations, last, Direction::Down { allow_loss });
        if ran.map_err(|error| after(error, "undone", &done))? {
            done.push(last.name.clone());
        }
    }
    Ok(done)
}

/// The error, with the migrations before it.
fn after(error: Error, what: &str, done: &[String]) -> Error {
    if done.is_empty() {
        return error;
    }
    let message = format!("{}; {what} before it: {}", error.message(), done.join(", "));
    with_message(error, message)
}

/// The error with another message.
fn with_message(error: Error, message: String) -> Error {
    let mut other = Error::new(error.kind(), message);
    if let Some(table) = error.table() {
        other = other.in_table(table.to_owned());
    }
    if let Some(column) = error.column() {
        other = other.in_column(column.to_owned());
    }
    other.with_source(error)
}

/// Notes migrations as done without carrying them out, up to the one with this name: for a database that was
/// created otherwise and has these tables. The rest of an interrupted one counts as done, too.
///
/// # Errors
/// `Schema` if there is no such migration; those of the engine.
pub fn baseline(engine: &dyn Engine, migrations: &Migrations, name: &str) -> Result<Vec<String>> {
    let Some(last) = migrations.iter().position(|migration| migration.name == name) else {
        return Err(Error::new(ErrorKind::Schema, format!("there is no migration '{name}'")));
    };
    waiting(|| ledger::create(engine))?;
    let session = engine.session()?;
    let entries = ledger::read(&*session)?;
    status::check(migrations, &entries)?;
    let mut done = Vec::new();
    for migration in migrations.iter().take(last + 1) {
        let is_done = |entry: &Entry| {
            entry.name == migration.name && entry.progress == MigrationProgress::Done
        };
        if !entries.iter().any(is_done) {
            ledger::put(
                &*session,
                &ledger::entry_of(&migration.name, &migration.checksum, MigrationProgress::Done),
            )?;
            done.push(migration.name.clone());
        }
    }
    Ok(done)
}

/// Rejects a database behind a server, whose protocol has neither renames nor conversions.
fn reject_served(engine: &dyn Engine) -> Result<()> {
    if !engine.capabilities().served {
        return Ok(());
    }
    let message =
        "migrations do not run through a server: run `bobak migrate` where the database is stored";
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// Carries one migration out; returns `false` if another process did meanwhile.
fn run(
    engine: &dyn Engine,
    migrations: &Migrations,
    migration: &Migration,
    direction: Direction,
) -> Result<bool> {
    let steps = match direction {
        Direction::Up => &migration.up,
        Direction::Down { .. } => migration.down.as_ref().ok_or_else(|| {
            let message = format!("migration {} has no steps that undo it", migration.name);
            Error::new(ErrorKind::Unsupported, message)
        })?,
    };
    sql_steps::check(engine, &migration.name, steps)?;
    let session = engine.session()?;
    let tracked = bobak_changes::tracked(&*session)?.into_iter().map(|table| table.name);
    let tracked = RefCell::new(tracked.collect());
    let runner = Runner { engine, session: &*session, migrations, migration, direction, tracked };
    if runs_online(engine, steps)? {
        return runner.run_online(steps);
    }
    if engine.capabilities().implicit_ddl_commit {
        let lock = engine.session()?;
        begin(&*lock)?;
        let ran = runner.run_step_by_step(steps);
        // The row is unlocked, and nothing else was written.
        lock.control(TransactionControl::Rollback)?;
        return ran;
    }
    begin(&*session)?;
    let ran = runner.run_at_once(steps);
    match ran {
        Ok(true) => session.control(TransactionControl::Commit).map(|()| true),
        other => {
            // The first error says more.
            let _ = session.control(TransactionControl::Rollback);
            other
        }
    }
}

/// Begins a transaction that only one process has at a time.
fn begin(session: &dyn Session) -> Result<()> {
    waiting(|| {
        // An engine may have to rebuild tables, which SQLite cannot while it enforces foreign keys.
        let begun = session.begin_replay(&[]).and_then(|()| ledger::lock(session));
        if begun.is_err() && session.in_transaction() {
            let _ = session.control(TransactionControl::Rollback);
        }
        begun
    })
}

/// Repeats what another process may block.
fn waiting(work: impl Fn() -> Result<()>) -> Result<()> {
    // `Duplicate`: two processes create the ledger on PostgreSQL.
    waiting_for(&[ErrorKind::Busy, ErrorKind::Serialization, ErrorKind::Duplicate], work)
}

/// Repeats what fails with one of these errors.
fn waiting_for<R>(kinds: &[ErrorKind], work: impl Fn() -> Result<R>) -> Result<R> {
    let start = Instant::now();
    loop {
        match work() {
            Err(error) if kinds.contains(&error.kind()) && start.elapsed() < WAIT => {
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

struct Runner<'r> {
    engine: &'r dyn Engine,
    session: &'r dyn Session,
    migrations: &'r Migrations,
    migration: &'r Migration,
    direction: Direction,
    /// The names of the tracked tables. They follow the steps.
    tracked: RefCell<Vec<String>>,
}

impl Runner<'_> {
    /// The migration's entry, or `None` if another process has done the work.
    fn entry(&self) -> Result<Option<Option<Entry>>> {
        let entries = ledger::read(self.session)?;
        status::check(self.migrations, &entries)?;
        let entry = entries.into_iter().find(|entry| entry.name == self.migration.name);
        let is_done = entry.as_ref().is_some_and(|entry| entry.progress == MigrationProgress::Done);
        Ok(match self.direction {
            Direction::Up if is_done => None,
            Direction::Down { .. } if entry.is_none() => None,
            _ => Some(entry),
        })
    }

    fn run_at_once(&self, steps: &[MigrationStep]) -> Result<bool> {
        if self.entry()?.is_none() {
            return Ok(false);
        }
        self.check_loss(steps)?;
        for (number, step) in steps.iter().enumerate() {
            self.step(number, step, false)?;
        }
        self.note_end().map(|()| true)
    }

    /// Builds the indexes and adds the rules that are not there, each by itself. Only the engine's lock keeps processes apart, because a
    /// transaction would keep the engine from finishing an index.
    ///
    /// The start is noted with the file's checksum, so that an edited file does not go on after a kill. If the first
    /// step fails, nothing was done, and the file may change.
    fn run_online(&self, steps: &[MigrationStep]) -> Result<bool> {
        let before = self.session.tables()?;
        for (number, step) in steps.iter().enumerate() {
            let Some(entry) = self.entry()? else { return Ok(false) };
            if entry.is_none_or(|entry| entry.progress == MigrationProgress::Done) {
                self.note(0)?;
            }
            let done = waiting_for(&[ErrorKind::Busy], || self.step(number, step, true));
            if done.is_err() && number == 0 {
                // The first error says more.
                let _ = self.forget_start(step, &before);
            }
            done?;
        }
        if self.entry()?.is_none() {
            return Ok(false);
        }
        self.note_end().map(|()| true)
    }

    /// Notes each step when it is done, so that the next call goes on there.
    fn run_step_by_step(&self, steps: &[MigrationStep]) -> Result<bool> {
        let Some(entry) = self.entry()? else { return Ok(false) };
        // A finished migration is undone from its first step on.
        let begun = match (self.direction, entry.map(|entry| entry.progress)) {
            (Direction::Up, Some(MigrationProgress::Up(step))) => Some(step),
            (Direction::Down { .. }, Some(MigrationProgress::Down(step))) => Some(step),
            _ => None,
        };
        if begun.is_none() {
            self.check_loss(steps)?;
            self.note(0)?;
        }
        let before = self.session.tables()?;
        for (number, step) in steps.iter().enumerate().skip(begun.unwrap_or(0)) {
            let done = self.step(number, step, begun == Some(number));
            if done.is_err() && begun.is_none() && number == 0 {
                self.forget_start(step, &before)?;
            }
            done?;
            self.note(number + 1)?;
        }
        self.note_end().map(|()| true)
    }

    /// Notes how many steps are done.
    fn note(&self, steps: usize) -> Result<()> {
        let progress = match self.direction {
            Direction::Up => MigrationProgress::Up(steps),
            Direction::Down { .. } => MigrationProgress::Down(steps),
        };
        let checksum = match self.engine.capabilities().implicit_ddl_commit {
            true => self.migration.checksum_after(progress),
            false => self.migration.checksum.clone(),
        };
        ledger::put(self.session, &ledger::entry_of(&self.migration.name, &checksum, progress))
    }

    /// After a failure of the first step: if it changed nothing, the migration did not begin, and its file may change.
    fn forget_start(&self, step: &MigrationStep, before: &[TableSchema]) -> Result<()> {
        if matches!(step, MigrationStep::Sql { .. } | MigrationStep::Rust(_)) {
            return Ok(());
        }
        let now = self.session.tables()?;
        let is_same = now.len() == before.len()
            && now.iter().zip(before).all(|(now, before)| now.same_as(before));
        match self.direction {
            _ if !is_same => Ok(()),
            Direction::Up => ledger::remove(self.session, &self.migration.name),
            Direction::Down { .. } => {
                let (name, checksum) = (&self.migration.name, &self.migration.checksum);
                let entry = ledger::entry_of(name, checksum, MigrationProgress::Done);
                ledger::put(self.session, &entry)
            }
        }
    }

    /// Notes that all steps are done.
    fn note_end(&self) -> Result<()> {
        let (name, checksum) = (&self.migration.name, &self.migration.checksum);
        match self.direction {
            Direction::Up => ledger::put(
                self.session,
                &ledger::entry_of(name, checksum, MigrationProgress::Done),
            ),
            Direction::Down { .. } => ledger::remove(self.session, name),
        }
    }

    fn check_loss(&self, steps: &[MigrationStep]) -> Result<()> {
        if self.direction != (Direction::Down { allow_loss: false }) {
            return Ok(());
        }
        let tables = self.session.tables()?;
        // The names that tables have now, by those that earlier steps give them.
        let mut former: HashMap<&str, &str> = HashMap::new();
        for step in steps {
            if let MigrationStep::RenameTable { from, to } = step {
                let before = former.remove(from.as_str()).unwrap_or(from);
                former.insert(to, before);
            }
            let name = step.table().filter(|_| step.loses_data());
            let name = name.map(|name| former.get(name).copied().unwrap_or(name));
            let Some(table) = name.and_then(|name| find(&tables, name).ok()) else { continue };
            if !step.drops_computed(table) && has_rows(self.session, &Arc::new(table.clone()))? {
                let message = format!(
                    "undoing migration {} would lose data ({step}): allow the loss, or keep it",
                    self.migration.name
                );
                let error = Error::new(ErrorKind::Constraint, message);
                return Err(error.in_table(table.name().to_owned()));
            }
        }
        Ok(())
    }

    fn step(&self, number: usize, step: &MigrationStep, resumed: bool) -> Result<()> {
        self.run_actions(step, resumed).map_err(|error| {
            let (name, number, shown) = (&self.migration.name, number + 1, step.summary());
            let message = format!("migration {name}, step {number} ({shown}): {}", error.message());
            with_message(error, message)
        })
    }

    fn run_actions(&self, step: &MigrationStep, resumed: bool) -> Result<()> {
        let actions = match step {
            MigrationStep::Sql { engines, .. } if !runs_on(engines, self.engine) => return Ok(()),
            MigrationStep::Sql { text, .. } => {
                let texts = statements(syntax_of(self.engine.name()), text);
                texts.into_iter().map(Action::Sql).collect()
            }
            _ => self.actions(step, resumed)?,
        };
        conversions::check(self.engine, &actions)?;
        for action in actions {
            match action {
                Action::Change(change) => self.session.alter(&[change])?,
                Action::Convert { table, from, to } => {
                    let kept = conversions::set_by_server(self.engine, self.session, &table)?;
                    let convert = || convert::run(self.session, &table, from, to, &kept);
                    let converted =
                        conversions::without_triggers(self.engine, self.session, &table, convert);
                    if converted.is_err() && self.engine.capabilities().implicit_ddl_commit {
                        // Elsewhere the end of the transaction removes the column. The first error says more.
                        let _ = self.run_actions(&drop_converted(&table), false);
                    }
                    converted?;
                }
                Action::ConvertLog { table, from, to } => {
                    convert::run_in_log(self.session, &table, from, to)?;
                }
                Action::NoteDrop(table) => self.note_drop(&table)?,
                Action::Fill { table, column, value } => {
                    let kept = conversions::set_by_server(self.engine, self.session, &table)?;
                    let fill = || convert::fill(self.session, &table, column, &value, &kept);
                    conversions::without_triggers(self.engine, self.session, &table, fill)?;
                }
                Action::Sql(text) => self.session.execute(&text, &[]).map(drop)?,
                Action::Rust(name) => {
                    self.run_function(&name)?;
                }
            }
        }
        if matches!(step, MigrationStep::Sql { .. } | MigrationStep::Rust(_)) {
            self.check_foreign_keys()?;
        }
        tracked::follow(&mut self.tracked.borrow_mut(), step);
        Ok(())
    }

    fn actions(&self, step: &MigrationStep, resumed: bool) -> Result<Vec<Action>> {
        let tables = self.session.tables()?;
        let names = self.tracked.borrow();
        let is_tracked = |name: &str| names.iter().any(|own| own.eq_ignore_ascii_case(name));
        let new_name = match step {
            MigrationStep::RenameTable { to, .. } => Some(to.as_str()),
            _ => None,
        };
        if !step.table().into_iter().chain(new_name).any(is_tracked) {
            return step.actions(&tables, resumed);
        }
        if resumed && step.is_done(&tables) {
            return Ok(tracked::rest(step, &tables));
        }
        tracked::actions(step, &tables, resumed)
    }

    /// Records for replicas that a tracked table is dropped.
    fn note_drop(&self, table: &str) -> Result<()> {
        let last = last_id(self.session, &unchecked_logs(self.session)?)?;
        let text = TableMoves::of_dropped(table).to_text();
        let seq = Value::Int(i64::try_from(last).unwrap_or(i64::MAX));
        let values = [Value::Null, Value::from(""), seq, Value::from(text)];
        let (table, verb, fields) = (layout_schema(), Verb::Insert, FieldSet::EMPTY);
        self.session.write(&Write { table, verb, fields, values: &values }).map(drop)
    }

    fn run_function(&self, name: &str) -> Result<()> {
        let function = self.migrations.functions.get(name).ok_or_else(|| {
            let message =
                format!("the function '{name}' is part of a program: migrate by that program");
            Error::new(ErrorKind::Unsupported, message)
        })?;
        function(self.session)
    }

    /// An engine may not enforce foreign keys in the transactions of migrations: see [`begin`].
    fn check_foreign_keys(&self) -> Result<()> {
        match self.session.schema_details()?.broken_keys.into_iter().next() {
            None => Ok(()),
            Some(broken) => {
                let message = "some rows reference rows that do not exist";
                let error = Error::new(ErrorKind::Constraint, message).in_table(broken.table);
                Err(error.in_column(broken.columns))
            }
        }
    }
}

/// Makes the schema changes of a step.
///
/// # Errors
/// Those of the engine.
pub(crate) fn change_tables(session: &dyn Session, step: &MigrationStep) -> Result<()> {
    for action in step.actions(&session.tables()?, false)? {
        if let Action::Change(change) = action {
            session.alter(&[change])?;
        }
    }
    Ok(())
}
