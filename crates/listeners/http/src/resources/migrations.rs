//! The migrations of a database: those that it has, and the next one, which is shown before it runs.

use crate::json::error::invalid_json;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::response::builder::ResponseBuilder;
use crate::settings::SqlAccess;
use crate::workers::blocking;
use bobak::migration::{self, MigrationStep, NextMigration};
use bobak_core::{Error, ErrorKind, TableSchema};
use bobak_permissions::{Caller, SchemaAccess};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// The request's body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMigration {
    /// Letters, digits, `_` and `-`.
    name: String,
    /// A step per line, as in a migration's file.
    steps: String,
}

/// `GET /migrations`: those that the database has, and its tables as migrations write them.
pub(crate) async fn list(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    request.parameters.finish()?;
    let database = Arc::clone(&request.database);
    let body = blocking::run(move || {
        let tables = visible_tables(&database.engine.tables()?);
        let tables: Vec<_> = tables.iter().map(migration::table_to_json).collect();
        // The names of migrations may name tables that the client may not see.
        let engine = database.protected.engine();
        let done = match database.engine.tables()?.len() == engine.tables()?.len() {
            true => migration::done(&**engine)?,
            false => Vec::new(),
        };
        let done: Vec<_> = done
            .into_iter()
            .map(|(name, at)| json!({"name": name, "at": at.to_string()}))
            .collect();
        Ok(json!({"migrations": done, "tables": tables}).to_string() + "\n")
    });
    Ok(ResponseBuilder::json(StatusCode::OK, body.await?))
}

/// `POST /migrations`: carries the next one out; with `dry_run` only says what it would do.
pub(crate) async fn create(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    let is_dry_run = request.parameters.flag("dry_run")?;
    request.parameters.finish()?;
    let body = request.body(&["application/json"]).await?;
    let body: NewMigration = serde_json::from_slice(&body).map_err(|error| invalid_json(&error))?;
    let (database, client) = (Arc::clone(&request.database), Arc::clone(&request.client));
    let described = blocking::run(move || {
        let engine = database.protected.engine();
        let tables = visible_tables(&database.engine.tables()?);
        let next = NextMigration::prepare(&**engine, tables, &body.name, &body.steps);
        let next = next.map_err(as_request_error)?;
        check_sql(&next, &client.caller, &database.name, client.sql)?;
        let uses = next.plan.steps.iter().flat_map(uses_of).collect::<Vec<_>>();
        let before = engine.tables()?;
        client.caller.check_migration(&database.name, &uses, &before, &next.after)?;
        let description = describe(&next, engine.name());
        if !is_dry_run {
            // Its SQL may do what clients may do, and no more.
            let has_sql = next.plan.steps.iter().any(is_sql);
            let policed = has_sql.then(|| database.protected.engine_for(&Caller::operator()));
            let ran = next.run(&**policed.as_ref().unwrap_or(engine));
            database.protected.forget_schema();
            database.schema.invalidate();
            ran?;
        }
        Ok(description)
    });
    let status = if is_dry_run { StatusCode::OK } else { StatusCode::CREATED };
    Ok(ResponseBuilder::json(status, described.await?))
}

/// The tables without that of the migrations.
fn visible_tables(tables: &[TableSchema]) -> Vec<TableSchema> {
    tables.iter().filter(|table| table.name() != migration::LEDGER).cloned().collect()
}

/// A step that can't be read is a mistake of the client.
fn as_request_error(error: Error) -> Problem {
    match error.kind() {
        ErrorKind::Corrupt => Problem::bad_request(error.message()),
        _ => error.into(),
    }
}

const fn is_sql(step: &MigrationStep) -> bool {
    matches!(step, MigrationStep::Sql { .. })
}

/// Steps in SQL need what SQL needs, and all permissions, since their effects are unknown.
fn check_sql(
    next: &NextMigration,
    caller: &Caller,
    database: &str,
    sql: SqlAccess,
) -> Result<(), Problem> {
    let is_allowed = sql == SqlAccess::Write && caller.is_unrestricted(database);
    if is_allowed || !next.plan.steps.iter().any(is_sql) {
        return Ok(());
    }
    let message = "permission denied: a step in SQL needs all permissions on the database, and a server with --http-sql write";
    Err(Error::new(ErrorKind::Denied, message).into())
}

/// What a step does with which tables.
fn uses_of(step: &MigrationStep) -> Vec<(String, SchemaAccess)> {
    let mut uses = Vec::new();
    let access = match step {
        MigrationStep::ChangeColumn { .. } => SchemaAccess::Rewrite,
        step if step.loses_data() => SchemaAccess::Rewrite,
        _ => SchemaAccess::Change,
    };
    uses.extend(step.table().map(|table| (table.to_owned(), access)));
    match step {
        MigrationStep::RenameTable { to, .. } => uses.push((to.clone(), SchemaAccess::Change)),
        MigrationStep::CreateTable(table) => {
            let keys = table.all_foreign_keys().into_iter();
            uses.extend(keys.map(|key| (key.table.to_string(), SchemaAccess::Refer)));
        }
        MigrationStep::AddColumn { column, .. } | MigrationStep::ChangeColumn { column, .. } => {
            let table = column.reference.as_ref().map(|reference| reference.table.to_string());
            uses.extend(table.map(|table| (table, SchemaAccess::Refer)));
        }
        _ => {}
    }
    uses
}

/// The migration in words, in SQL and as a file.
fn describe(next: &NextMigration, engine: &str) -> String {
    let words: Vec<_> = next.plan.steps.iter().map(MigrationStep::in_words).collect();
    // Engines without SQL, and those whose SQL is not known here, have none.
    let sql = next.plan.to_sql(engine, &next.before).unwrap_or_default();
    let loses_data = next.plan.steps.iter().any(MigrationStep::loses_data);
    let described = json!({
        "name": next.name,
        "words": words,
        "sql": sql,
        "file": next.text,
        "loses_data": loses_data,
        "can_be_undone": next.plan.undo.is_some(),
    });
    described.to_string() + "\n"
}
