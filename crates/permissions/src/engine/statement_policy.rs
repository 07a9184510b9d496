//! What SQL no client may run, whatever its permissions.
//!
//! Pooled connections pass from one client to the next, and the server process may access files that
//! its clients may not. So no statement may leave anything behind on a connection, and none may access
//! a file other than the database itself.

use bobak_core::{
    Engine, EngineLayer, Error, ErrorKind, Outcome, Result, Row, SchemaChange, Session, SqlAction,
    SqlAuthorizer, TableSchema, Value, Write,
};
use std::sync::Arc;

/// Pragmas that are stored in the database, and may be set.
const STORED_PRAGMAS: [&str; 2] = ["user_version", "application_id"];
/// Pragmas that take an argument and return information.
const QUERY_PRAGMAS: [&str; 10] = [
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
/// Pragmas that maintain the database and leave nothing on the connection.
const MAINTENANCE_PRAGMAS: [&str; 3] = ["optimize", "wal_checkpoint", "incremental_vacuum"];

/// An authorizer that allows reading only. It also rejects what no client may run: attaching and
/// detaching files, writing other files, loading extensions, temporary tables, and settings of the
/// connection. All with `Denied`.
#[must_use]
pub fn read_only_policy() -> Arc<dyn SqlAuthorizer> {
    Arc::new(StatementPolicy { read_only: true })
}

/// An engine for callers with all permissions, with the statement policy as its only check.
pub(super) struct StatementPolicyEngine {
    engine: Arc<dyn Engine>,
    policy: Arc<StatementPolicy>,
}

struct StatementPolicy {
    read_only: bool,
}

impl StatementPolicyEngine {
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, policy: Arc::new(StatementPolicy { read_only: false }) }
    }
}

impl EngineLayer for StatementPolicyEngine {
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
        match session.set_authorizer(Arc::clone(&self.policy) as _) {
            // An engine without authorizers relies on the permissions of its own database.
            Err(error) if error.kind() != ErrorKind::Unsupported => Err(error),
            _ => Ok(session),
        }
    }
}

impl SqlAuthorizer for StatementPolicy {
    fn check(&self, action: SqlAction<'_>) -> Result<()> {
        check_statement(action)?;
        if self.read_only && !is_read(action) {
            let message = "permission denied: only statements that read are allowed";
            return Err(Error::new(ErrorKind::Denied, message));
        }
        Ok(())
    }

    fn lasts(&self) -> bool {
        true
    }
}

/// Rejects what no client may run.
///
/// # Errors
/// `Denied`.
pub(super) fn check_statement(action: SqlAction<'_>) -> Result<()> {
    let what = match action {
        SqlAction::Attach => "attach a file",
        SqlAction::Detach => "detach a file",
        SqlAction::Vacuum { into: true } => "write another file",
        SqlAction::Schema { temporary: true } => "create or drop temporary objects",
        SqlAction::Call(name) if name.eq_ignore_ascii_case("load_extension") => "load an extension",
        SqlAction::Pragma { name, value: Some(_) }
            if !is_one_of(name, &STORED_PRAGMAS)
                && !is_one_of(name, &QUERY_PRAGMAS)
                && !is_one_of(name, &MAINTENANCE_PRAGMAS) =>
        {
            "change a setting of the connection"
        }
        _ => return Ok(()),
    };
    let message =
        format!("permission denied: clients may not {what}, since connections are shared");
    Err(Error::new(ErrorKind::Denied, message))
}

fn is_read(action: SqlAction<'_>) -> bool {
    match action {
        SqlAction::Read(_) | SqlAction::Call(_) | SqlAction::Query => true,
        SqlAction::Foreign { verb: None, .. } => true,
        SqlAction::Pragma { name, value: Some(_) } => is_one_of(name, &QUERY_PRAGMAS),
        SqlAction::Pragma { name, value: None } => !is_one_of(name, &MAINTENANCE_PRAGMAS),
        _ => false,
    }
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}
