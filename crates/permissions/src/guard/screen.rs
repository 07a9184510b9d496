//! What SQL may not do through a door, whoever sends it.
//!
//! Connections are kept and given to the next caller, and the server has rights on files that its
//! callers have not. So nothing may stay on a connection, and nothing may reach a file but the
//! database itself.

use bobak_core::{
    Engine, EngineLayer, Error, ErrorKind, Outcome, Result, Row, SchemaChange, Session, SqlAction,
    SqlAuthorizer, TableSchema, Value, Write,
};
use std::sync::Arc;

/// Settings that stay in the database, and may be written.
const KEPT: [&str; 2] = ["user_version", "application_id"];
/// Settings whose value is a question: what a table is made of, whether all is sound.
const QUESTIONS: [&str; 10] = [
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "foreign_key_check",
    "integrity_check",
    "quick_check",
];
/// Settings that are none: they do something for the database, and leave nothing on the connection.
const UPKEEP: [&str; 3] = ["optimize", "wal_checkpoint", "incremental_vacuum"];

/// A guard that lets pass what only reads: for a door that takes no other SQL. What no SQL may do
/// through a door (attach and detach files, write others, load extensions, make what only the
/// connection has, change its settings) it refuses too, all with `Denied`.
#[must_use]
pub fn reads_only() -> Arc<dyn SqlAuthorizer> {
    Arc::new(Screen { reads_only: true })
}

/// An engine for who may do everything that may be done through a door.
pub(super) struct Screened {
    engine: Arc<dyn Engine>,
    screen: Arc<Screen>,
}

struct Screen {
    reads_only: bool,
}

impl Screened {
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, screen: Arc::new(Screen { reads_only: false }) }
    }
}

impl EngineLayer for Screened {
    fn inner(&self) -> &dyn Engine {
        &*self.engine
    }

    // These run no SQL text, so they need no authorizer and no session.
    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.engine.write(write)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.engine.get(table, key, row)
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.engine.tables()
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.engine.alter(changes)
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let session = self.engine.session()?;
        match session.set_authorizer(Arc::clone(&self.screen) as _) {
            // What it does is then for the engine's own rules to decide.
            Err(error) if error.kind() != ErrorKind::Unsupported => Err(error),
            _ => Ok(session),
        }
    }
}

impl SqlAuthorizer for Screen {
    fn check(&self, action: SqlAction<'_>) -> Result<()> {
        check(action)?;
        if self.reads_only && !reads(action) {
            let message = "only statements that read may be sent";
            return Err(Error::new(ErrorKind::Denied, message));
        }
        Ok(())
    }

    fn lasts(&self) -> bool {
        true
    }
}

/// Refuses what SQL may not do through a door.
///
/// # Errors
/// `Denied`.
pub(super) fn check(action: SqlAction<'_>) -> Result<()> {
    let what = match action {
        SqlAction::Attach => "attach a file",
        SqlAction::Detach => "detach a file",
        SqlAction::Vacuum { into: true } => "write another file",
        SqlAction::Schema { temporary: true } => "make, or drop, what only the connection has",
        SqlAction::Call(name) if name.eq_ignore_ascii_case("load_extension") => "load an extension",
        SqlAction::Pragma { name, value: Some(_) }
            if !is_one(name, &KEPT) && !is_one(name, &QUESTIONS) && !is_one(name, &UPKEEP) =>
        {
            "change a setting of the connection"
        }
        _ => return Ok(()),
    };
    let message = format!("through a door SQL may not {what}: connections are shared");
    Err(Error::new(ErrorKind::Denied, message))
}

fn reads(action: SqlAction<'_>) -> bool {
    match action {
        SqlAction::Read(_) | SqlAction::Call(_) | SqlAction::Foreign { writes: false } => true,
        SqlAction::Pragma { name, value: Some(_) } => is_one(name, &QUESTIONS),
        SqlAction::Pragma { name, value: None } => !is_one(name, &UPKEEP),
        _ => false,
    }
}

fn is_one(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}
