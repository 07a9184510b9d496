//! Reads, replaces, patches and deletes one row; writes with preconditions if the client sends any.

use crate::database::handle::DatabaseHandle;
use crate::database::row_writer::{self, PreparedWrite};
use crate::database::table::CachedTable;
use crate::json::read::parse_row;
use crate::json::{NumberFormat, ParsedRow};
use crate::problem::Problem;
use crate::request::column_list;
use crate::request::context::RequestContext;
use crate::request::expansion::Expansion;
use crate::request::key::parse_key;
use crate::request::precondition::Precondition;
use crate::resources::related_rows;
use crate::resources::stored_row::{self, RowDocument, created};
use crate::response::builder::ResponseBuilder;
use crate::response::conditional::json_or_not_modified;
use crate::response::etag::Etag;
use crate::workers::blocking;
use bobak_core::change_log::{Trigger, is_capture_trigger};
use bobak_core::{
    Assign, BulkChange, Comparison, Condition, Engine, Error, ErrorKind, FieldSet, Outcome,
    Session, TransactionControl, Value, Verb, Write, prepare_dynamic_insert, prepare_update,
    stamp_assignments,
};
use hyper::StatusCode;
use std::sync::Arc;

/// `GET /tables/{table}/rows/{key}`
pub(crate) async fn get(
    request: &mut RequestContext,
    name: &str,
    key: &str,
) -> Result<ResponseBuilder, Problem> {
    let table = request.table(name).await?;
    let key = parse_key(&table, key)?;
    let tables = request.database.schema.tables().await?;
    let state = Arc::clone(&request.state);
    let expansions =
        Expansion::take_all(&mut request.parameters, &tables, &table, &state.settings)?;
    let columns = request.parameters.take("columns");
    let numbers = request.number_format()?;
    request.parameters.finish()?;
    let columns = columns.map(|list| column_list::positions(&table, &list)).transpose()?;
    if !expansions.is_empty() {
        return get_expanded(request, table, key, columns, (expansions, numbers)).await;
    }
    let shared_table = Arc::clone(&table);
    let find = move |engine: &dyn Engine| {
        let found = stored_row::find(engine, &shared_table, &key, columns.as_deref(), numbers);
        found.map_err(Problem::from)
    };
    let row = request.database.read(&table, find).await?.ok_or_else(Problem::not_found)?;
    Ok(json_or_not_modified(request.headers(), &row.etag, row.body))
}

/// The row with its related rows.
async fn get_expanded(
    request: &RequestContext,
    table: Arc<CachedTable>,
    key: Vec<Value<'static>>,
    columns: Option<Vec<usize>>,
    (expansions, numbers): (Vec<Expansion>, NumberFormat),
) -> Result<ResponseBuilder, Problem> {
    let columns = columns.unwrap_or_else(|| (0..table.schema.columns().len()).collect());
    let (database, state) = (Arc::clone(&request.database), Arc::clone(&request.state));
    let find = move || {
        let limits = (state.settings.expand_rows, state.settings.max_response);
        let own = (&*table, &*columns);
        related_rows::find(&*database.engine, own, &key, &expansions, (numbers, limits))
    };
    let body = blocking::run(find).await?.ok_or_else(Problem::not_found)?;
    // Not the tag of the row, which is for preconditions of writes.
    let etag = Etag::of(body.as_bytes());
    Ok(json_or_not_modified(request.headers(), &etag, body))
}

/// `PUT /tables/{table}/rows/{key}`: replaces the row, or inserts it if it does not exist.
pub(crate) async fn replace(
    request: &mut RequestContext,
    name: &str,
    key: &str,
) -> Result<ResponseBuilder, Problem> {
    let write = Arc::new(WriteRequest::take(request, name, key, &["application/json"]).await?);
    let shared_write = Arc::clone(&write);
    let (is_new, row) = if write.precondition.is_empty() {
        let parse = move || shared_write.parse_replacement();
        let row = row_writer::parse_body(write.body.len(), parse).await?;
        let shared_write = Arc::clone(&write);
        let find = move |_: &dyn Engine, outcome| Ok((is_insert(outcome), shared_write.find()));
        row_writer::write(&request.database, row, find).await?
    } else {
        let work = move || shared_write.run(|session, row| shared_write.replace(session, row));
        blocking::run(work).await?
    };
    if is_new {
        return Ok(created(request, &write.table, &write.key, row));
    }
    Ok(ok_or_no_content(row))
}

/// `PATCH /tables/{table}/rows/{key}`: updates the given columns.
pub(crate) async fn patch(
    request: &mut RequestContext,
    name: &str,
    key: &str,
) -> Result<ResponseBuilder, Problem> {
    let media_types = ["application/json", "application/merge-patch+json"];
    let write = WriteRequest::take(request, name, key, &media_types).await?;
    let work = move || write.run(|session, row| write.update(session, row));
    let ((), row) = blocking::run(work).await?;
    Ok(ok_or_no_content(row))
}

/// `DELETE /tables/{table}/rows/{key}`
pub(crate) async fn delete(
    request: &mut RequestContext,
    name: &str,
    key: &str,
) -> Result<ResponseBuilder, Problem> {
    let table = request.table(name).await?;
    let key = parse_key(&table, key)?;
    request.parameters.finish()?;
    let precondition = Precondition::new(request.headers());
    let (verb, fields) = (Verb::Delete, FieldSet::EMPTY);
    let outcome = if precondition.is_empty() {
        let (table, schema, key) = (Arc::clone(&table), Arc::clone(&table.schema), key.clone());
        let row = PreparedWrite { table, schema, verb, fields, values: key };
        row_writer::write(&request.database, row, |_, outcome| Ok(outcome)).await?
    } else {
        let (database, table, key) =
            (Arc::clone(&request.database), Arc::clone(&table), key.clone());
        blocking::run(move || {
            let session = database.engine.session()?;
            let write = Write { table: &table.schema, verb, fields, values: &key };
            write_if(&*session, &precondition, &table, &key, || Ok(session.write(&write)?))
        })
        .await?
    };
    if outcome != Outcome::Changed(0) {
        return Ok(ResponseBuilder::empty(StatusCode::NO_CONTENT));
    }
    let database = Arc::clone(&request.database);
    let why = move || unchanged(&*database.engine.session()?, &table, &key);
    Err(blocking::run(why).await?)
}

/// A request to write a row.
struct WriteRequest {
    database: Arc<DatabaseHandle>,
    table: Arc<CachedTable>,
    key: Vec<Value<'static>>,
    body: bytes::Bytes,
    precondition: Precondition,
    numbers: NumberFormat,
    prefers_minimal: bool,
}

impl WriteRequest {
    async fn take(
        request: &mut RequestContext,
        name: &str,
        key: &str,
        media_types: &[&str],
    ) -> Result<Self, Problem> {
        let table = request.table(name).await?;
        let key = parse_key(&table, key)?;
        let numbers = request.number_format()?;
        request.parameters.finish()?;
        let precondition = Precondition::new(request.headers());
        let prefers_minimal = request.prefers_minimal();
        let body = request.body(media_types).await?;
        let database = Arc::clone(&request.database);
        Ok(Self { database, table, key, body, precondition, numbers, prefers_minimal })
    }

    /// Parses the body, writes the row under the preconditions, and reads it back.
    fn run<R>(
        &self,
        write: impl FnOnce(&dyn Session, ParsedRow<'_>) -> Result<R, Problem>,
    ) -> Result<(R, Option<RowDocument>), Problem> {
        let row = self.parse_body()?;
        let session = self.database.engine.session()?;
        let write = || write(&*session, row);
        let result = write_if(&*session, &self.precondition, &self.table, &self.key, write)?;
        Ok((result, self.find()))
    }

    /// The current row; `None` if the client prefers a response without it.
    fn find(&self) -> Option<RowDocument> {
        if self.prefers_minimal {
            return None;
        }
        let (engine, table) = (&*self.database.engine, &*self.table);
        // The row is written, so a failure to read it must not look like a failed write.
        stored_row::find(engine, table, &self.key, None, self.numbers).unwrap_or(None)
    }

    /// Parses the body, and gives the row the key of the path.
    fn parse_body(&self) -> Result<ParsedRow<'_>, Problem> {
        let mut row = parse_row(&self.table, &self.body)?;
        for (&position, value) in self.table.schema.key().iter().zip(&self.key) {
            let Some(slot) = row.values.get_mut(position) else { continue };
            if row.given.contains(position) && slot != value {
                let message = "the key differs from the key in the path: to change a key, delete \
                               the row and insert another";
                let error = Error::new(ErrorKind::Misuse, message);
                return Err(self.table.name_error(error).into());
            }
            *slot = value.clone();
            row.given.insert(position);
        }
        Ok(row)
    }

    fn parse_replacement(&self) -> Result<PreparedWrite, Problem> {
        self.replacement(self.parse_body()?)
    }

    /// A write that replaces the row: an update if the client gives the version that it has read, so
    /// that a newer version is a conflict; else an upsert.
    fn replacement(&self, mut row: ParsedRow<'_>) -> Result<PreparedWrite, Problem> {
        let table = Arc::clone(&self.table);
        let has_version =
            table.schema.version().is_some_and(|position| row.given.contains(position));
        row.complete(&table)?;
        let verb = if has_version {
            prepare_update(&table.schema, &mut row.values)?;
            Verb::Update
        } else {
            prepare_dynamic_insert(&table.schema, &mut row.values)?;
            Verb::Upsert
        };
        let values = row.values.into_iter().map(Value::into_owned).collect();
        let schema = table.insert_schema(row.given);
        Ok(PreparedWrite { fields: table.updated, table, schema, verb, values })
    }

    /// Replaces the row; returns whether it is new.
    fn replace(&self, session: &dyn Session, row: ParsedRow<'_>) -> Result<bool, Problem> {
        let PreparedWrite { table, schema, verb, fields, values } = self.replacement(row)?;
        let write = Write { table: &schema, verb, fields, values: &values };
        Ok(is_insert(session.write(&write).map_err(|error| table.name_error(error))?))
    }

    /// Updates the given columns.
    fn update(&self, session: &dyn Session, mut row: ParsedRow<'_>) -> Result<(), Problem> {
        let table = &self.table;
        let schema = &table.schema;
        row.check_nulls(table)?;
        let mut fields = row.given;
        schema.key().iter().for_each(|&position| fields.remove(position));
        schema.generated_columns().for_each(|position| fields.remove(position));
        if let Some(version) = schema.version().filter(|&version| row.given.contains(version)) {
            fields.remove(version);
            schema.modified_at().into_iter().for_each(|position| fields.insert(position));
            prepare_update(schema, &mut row.values)?;
            let write = Write { table: schema, verb: Verb::Update, fields, values: &row.values };
            session.write(&write).map_err(|error| table.name_error(error))?;
            return Ok(());
        }
        let value =
            |position: usize| row.values.get(position).cloned().unwrap_or_default().into_owned();
        let mut assigns: Vec<Assign> =
            fields.iter().map(|column| Assign::Set { column, value: value(column) }).collect();
        if assigns.is_empty() {
            // An empty patch changes nothing, not even the modification time.
            let exists = session.get(schema, &self.key, &mut |_| Ok(()))?;
            return if exists { Ok(()) } else { Err(Problem::not_found()) };
        }
        stamp_assignments(schema, &mut assigns);
        let condition = key_condition(table, &self.key);
        let change =
            BulkChange { table: schema, condition: Some(&condition), assign: Some(&assigns) };
        match session.change(&change).map_err(|error| table.name_error(error))? {
            0 => Err(unchanged(session, table, &self.key)?),
            _ => Ok(()),
        }
    }
}

/// Why a change of a row has changed nothing: there is no such row; or there is, and a trigger skipped the change, by
/// `RAISE(IGNORE)` in SQLite.
fn unchanged(
    session: &dyn Session,
    table: &CachedTable,
    key: &[Value<'_>],
) -> Result<Problem, Problem> {
    let schema = &table.schema;
    match session.get(schema, key, &mut |_| Ok(())) {
        Ok(true) => {}
        Err(error) if error.kind() != ErrorKind::Denied => return Err(error.into()),
        // A client that may not read learns nothing.
        _ => return Ok(Problem::not_found()),
    }
    let is_own = |trigger: &Trigger| {
        trigger.table.eq_ignore_ascii_case(schema.name()) && !is_capture_trigger(&trigger.name)
    };
    if !session.triggers()?.iter().flatten().any(is_own) {
        // A row rule allows to read the row, and not to change it.
        return Ok(Problem::not_found());
    }
    let message = "the row was not changed: a trigger of the table skipped it, or a row rule does not allow it";
    Ok(table.name_error(Error::new(ErrorKind::Constraint, message)).into())
}

const fn is_insert(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Inserted(_))
}

fn key_condition(table: &CachedTable, key: &[Value<'static>]) -> Condition {
    let equals = |(&column, value): (&usize, &Value<'static>)| Condition::Compare {
        column,
        comparison: Comparison::Equal,
        value: value.clone(),
    };
    Condition::And(table.schema.key().iter().zip(key).map(equals).collect())
}

/// The response to a write: 204 if the client prefers no row, or the row was deleted meanwhile.
fn ok_or_no_content(row: Option<RowDocument>) -> ResponseBuilder {
    match row {
        Some(row) => row.into_response(StatusCode::OK),
        None => ResponseBuilder::empty(StatusCode::NO_CONTENT),
    }
}

/// Writes in a transaction that first checks the preconditions; without one if there are none.
fn write_if<R>(
    session: &dyn Session,
    precondition: &Precondition,
    table: &CachedTable,
    key: &[Value<'_>],
    write: impl FnOnce() -> Result<R, Problem>,
) -> Result<R, Problem> {
    if precondition.is_empty() {
        return write();
    }
    session.control(TransactionControl::Begin)?;
    let mut etag = None;
    session.get(&table.schema, key, &mut |row| {
        etag = Some(RowDocument::new(table, row, None, NumberFormat::Exact).etag);
        Ok(())
    })?;
    precondition.check(etag.as_ref())?;
    let result = write()?;
    session.control(TransactionControl::Commit)?;
    Ok(result)
}
