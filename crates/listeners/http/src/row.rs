//! One row: read, replaced, patched, deleted; each only where it is as the client believes, if the
//! client says so.

use crate::answer::Answer;
use crate::call::Call;
use crate::create::created;
use crate::etag::Etag;
use crate::json::{Cells, Numbers, read_row, write_row};
use crate::key::read_key;
use crate::model::Table;
use crate::problem::Problem;
use crate::work;
use crate::write::{self, RowWrite};
use bobak_core::{
    Assign, Change, Comparison, Condition, Control, Engine, Error, ErrorKind, FieldSet, Outcome,
    Result, Row, Session, Value, Verb, Write, prepare_row, prepare_update, stamp_assignments,
};
use hyper::StatusCode;
use hyper::header::{ETAG, HeaderMap, IF_MATCH, IF_NONE_MATCH};
use std::sync::Arc;

/// A row as it is sent, with its tag.
pub(crate) struct Found {
    body: String,
    tag: Etag,
}

impl Found {
    pub fn into_answer(self, status: StatusCode) -> Answer {
        Answer::json(status, self.body).with(ETAG, self.tag.as_str())
    }
}

/// What a client believes of a row that it writes.
struct Belief {
    headers: HeaderMap,
}

/// `GET /tables/{table}/rows/{key}`
pub(crate) async fn get(call: &mut Call, name: &str, key: &str) -> Result<Answer, Problem> {
    let table = call.table(name).await?;
    let key = read_key(&table, key)?;
    let columns = call.parameters.take("columns");
    let numbers = call.numbers()?;
    call.parameters.finish()?;
    let places = columns.map(|names| table.places(&names)).transpose()?;
    let theirs = Arc::clone(&table);
    let search = move |engine: &dyn Engine| {
        find_columns(engine, &theirs, &key, places.as_deref(), numbers).map_err(Problem::from)
    };
    let found = call.base.read(&table, search).await?.ok_or_else(Problem::not_found)?;
    if found.tag.is_in(call.headers(), &IF_NONE_MATCH) == Some(true) {
        return Ok(found.tag.not_modified(call.headers(), found.body.len()));
    }
    Ok(found.into_answer(StatusCode::OK))
}

/// `PUT /tables/{table}/rows/{key}`: the whole row, which is made where it is not there.
pub(crate) async fn replace(call: &mut Call, name: &str, key: &str) -> Result<Answer, Problem> {
    let work = Arc::new(Writing::of(call, name, key, &["application/json"]).await?);
    let table = Arc::clone(&work.table);
    let theirs = Arc::clone(&work);
    let (new, row) = if work.belief.is_empty() {
        let row = write::prepare(work.body.len(), move || whole_row(&theirs)).await?;
        let theirs = Arc::clone(&work);
        write::write(&call.base, row, move |_, outcome| Ok((is_new(outcome), theirs.find())))
            .await?
    } else {
        let write = move || theirs.run(|session, cells| put(session, &theirs, cells));
        work::run(write).await?
    };
    if new {
        return Ok(created(call, &table, &work.key, row));
    }
    Ok(answer(row))
}

/// `PATCH /tables/{table}/rows/{key}`: only the columns that are named.
pub(crate) async fn patch(call: &mut Call, name: &str, key: &str) -> Result<Answer, Problem> {
    let media = ["application/json", "application/merge-patch+json"];
    let work = Writing::of(call, name, key, &media).await?;
    let row = work::run(move || {
        let ((), row) = work.run(|session, cells| update(session, &work, cells))?;
        Ok(row)
    })
    .await?;
    Ok(answer(row))
}

/// `DELETE /tables/{table}/rows/{key}`
pub(crate) async fn delete(call: &mut Call, name: &str, key: &str) -> Result<Answer, Problem> {
    let table = call.table(name).await?;
    let key = read_key(&table, key)?;
    call.parameters.finish()?;
    let belief = Belief { headers: call.headers().clone() };
    let (verb, fields) = (Verb::Delete, FieldSet::EMPTY);
    let outcome = if belief.is_empty() {
        let schema = Arc::clone(&table.schema);
        let row = RowWrite { table, schema, verb, fields, values: key };
        write::write(&call.base, row, |_, outcome| Ok(outcome)).await?
    } else {
        let base = Arc::clone(&call.base);
        work::run(move || {
            let session = base.engine.session()?;
            let write = Write { table: &table.schema, verb, fields, values: &key };
            believing(&*session, &belief, &table, &key, || Ok(session.write(&write)?))
        })
        .await?
    };
    match outcome {
        Outcome::Changed(0) => Err(Problem::not_found()),
        _ => Ok(Answer::empty(StatusCode::NO_CONTENT)),
    }
}

/// The row with this key.
pub(crate) fn find(
    engine: &dyn Engine,
    table: &Table,
    key: &[Value<'_>],
    numbers: Numbers,
) -> Result<Option<Found>> {
    find_columns(engine, table, key, None, numbers)
}

fn find_columns(
    engine: &dyn Engine,
    table: &Table,
    key: &[Value<'_>],
    places: Option<&[usize]>,
    numbers: Numbers,
) -> Result<Option<Found>> {
    let mut found = None;
    engine.get(&table.schema, key, &mut |row| {
        found = Some(written(table, row, places, numbers));
        Ok(())
    })?;
    Ok(found)
}

fn written(table: &Table, row: &dyn Row, places: Option<&[usize]>, numbers: Numbers) -> Found {
    let mut body = String::with_capacity(256);
    write_row(&mut body, table, 0..table.schema.columns().len(), Numbers::Exact, row);
    let tag = Etag::of(body.as_bytes());
    table.note_length(body.len());
    if places.is_some() || numbers != Numbers::Exact {
        body.clear();
        let all: Vec<usize> = (0..table.schema.columns().len()).collect();
        let places = places.unwrap_or(&all);
        let chosen: Vec<Value<'_>> = places.iter().map(|&place| row.get(place).into()).collect();
        write_row(&mut body, table, places.iter().copied(), numbers, &chosen.as_slice());
    }
    body.push('\n');
    Found { body, tag }
}

/// A row that is to be written.
struct Writing {
    base: Arc<crate::model::Base>,
    table: Arc<Table>,
    key: Vec<Value<'static>>,
    body: bytes::Bytes,
    belief: Belief,
    numbers: Numbers,
    minimal: bool,
}

impl Writing {
    async fn of(call: &mut Call, name: &str, key: &str, media: &[&str]) -> Result<Self, Problem> {
        let table = call.table(name).await?;
        let key = read_key(&table, key)?;
        let numbers = call.numbers()?;
        call.parameters.finish()?;
        let belief = Belief { headers: call.headers().clone() };
        let minimal = call.wants_minimal();
        let body = call.body(media).await?;
        let base = Arc::clone(&call.base);
        Ok(Self { base, table, key, body, belief, numbers, minimal })
    }

    /// Reads the row, writes it, and finds it again unless nobody wants it.
    fn run<R>(
        &self,
        write: impl FnOnce(&dyn Session, Cells<'_>) -> Result<R, Problem>,
    ) -> Result<(R, Option<Found>), Problem> {
        let mut cells = read_row(&self.table, &self.body)?;
        self.name_key(&mut cells)?;
        let session = self.base.engine.session()?;
        let (belief, table) = (&self.belief, &self.table);
        let written = believing(&*session, belief, table, &self.key, || write(&*session, cells))?;
        Ok((written, self.find()))
    }

    /// The row as it is now, unless nobody wants it.
    fn find(&self) -> Option<Found> {
        if self.minimal {
            return None;
        }
        // It is written: that it can't be read is no reason to say otherwise.
        find(&*self.base.engine, &self.table, &self.key, self.numbers).unwrap_or(None)
    }

    /// The key is that of the path, whether the body names it too or not.
    fn name_key(&self, cells: &mut Cells<'_>) -> Result<(), Problem> {
        for (&place, value) in self.table.schema.key().iter().zip(&self.key) {
            let Some(slot) = cells.values.get_mut(place) else { continue };
            if cells.given.contains(place) && slot != value {
                let message =
                    "the key differs from that of the path: delete the row and make another";
                let error = Error::new(ErrorKind::Misuse, message);
                return Err(self.table.name_error(error).into());
            }
            *slot = value.clone();
            cells.given.insert(place);
        }
        Ok(())
    }
}

/// Puts a whole row in its place; whether it is new.
fn put(session: &dyn Session, work: &Writing, cells: Cells<'_>) -> Result<bool, Problem> {
    let row = whole_row_of(work, cells)?;
    let RowWrite { table, schema, verb, fields, values } = &row;
    let write = Write { table: schema, verb: *verb, fields: *fields, values };
    Ok(is_new(session.write(&write).map_err(|error| table.name_error(error))?))
}

/// Reads the body as a whole row to put in its place.
fn whole_row(work: &Writing) -> Result<RowWrite, Problem> {
    let mut cells = read_row(&work.table, &work.body)?;
    work.name_key(&mut cells)?;
    whole_row_of(work, cells)
}

fn whole_row_of(work: &Writing, mut cells: Cells<'_>) -> Result<RowWrite, Problem> {
    let table = Arc::clone(&work.table);
    let versioned = table.schema.version().is_some_and(|place| cells.given.contains(place));
    cells.complete(&table)?;
    let verb = if versioned {
        prepare_update(&table.schema, &mut cells.values)?;
        Verb::Update
    } else {
        prepare_row(&table.schema, &mut cells.values)?;
        Verb::Upsert
    };
    let values = cells.values.into_iter().map(Value::into_owned).collect();
    let schema = table.schema_for(cells.given);
    Ok(RowWrite { fields: table.updated, table, schema, verb, values })
}

const fn is_new(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Inserted(_))
}

/// Updates the columns that are named.
fn update(session: &dyn Session, work: &Writing, mut cells: Cells<'_>) -> Result<(), Problem> {
    let table = &work.table;
    let schema = &table.schema;
    cells.check_nulls(table)?;
    let mut fields = cells.given;
    schema.key().iter().for_each(|&place| fields.remove(place));
    if schema.version().is_some_and(|place| cells.given.contains(place)) {
        schema.version().into_iter().for_each(|place| fields.remove(place));
        schema.modified_at().into_iter().for_each(|place| fields.insert(place));
        prepare_update(schema, &mut cells.values)?;
        let write = Write { table: schema, verb: Verb::Update, fields, values: &cells.values };
        session.write(&write).map_err(|error| table.name_error(error))?;
        return Ok(());
    }
    let value = |place: usize| cells.values.get(place).cloned().unwrap_or_default().into_owned();
    let mut assigns: Vec<Assign> =
        fields.iter().map(|column| Assign::Set { column, value: value(column) }).collect();
    if assigns.is_empty() {
        // A patch that says nothing leaves the row as it is, where it is there.
        let found = session.get(schema, &work.key, &mut |_| Ok(()))?;
        return if found { Ok(()) } else { Err(Problem::not_found()) };
    }
    stamp_assignments(schema, &mut assigns);
    let condition = key_condition(table, &work.key);
    let change = Change { table: schema, condition: Some(&condition), assign: Some(&assigns) };
    match session.change(&change).map_err(|error| table.name_error(error))? {
        0 => Err(Problem::not_found()),
        _ => Ok(()),
    }
}

fn key_condition(table: &Table, key: &[Value<'static>]) -> Condition {
    let equals = |(&column, value): (&usize, &Value<'static>)| Condition::Compare {
        column,
        comparison: Comparison::Equal,
        value: value.clone(),
    };
    Condition::And(table.schema.key().iter().zip(key).map(equals).collect())
}

fn answer(row: Option<Found>) -> Answer {
    match row {
        Some(found) => found.into_answer(StatusCode::OK),
        // Nobody wants it; or it was deleted meanwhile.
        None => Answer::empty(StatusCode::NO_CONTENT),
    }
}

impl Belief {
    fn is_empty(&self) -> bool {
        !self.headers.contains_key(IF_MATCH) && !self.headers.contains_key(IF_NONE_MATCH)
    }

    /// Holds it against what is there.
    fn check(&self, found: Option<&Etag>) -> Result<(), Problem> {
        let holds = match found {
            None => !self.headers.contains_key(IF_MATCH),
            Some(tag) => {
                tag.is_in(&self.headers, &IF_MATCH).unwrap_or(true)
                    && !tag.is_in(&self.headers, &IF_NONE_MATCH).unwrap_or(false)
            }
        };
        if holds {
            return Ok(());
        }
        let message = "the row is not as you believe: read it again";
        let error = Error::new(ErrorKind::Conflict, message);
        Err(Problem::with(StatusCode::PRECONDITION_FAILED, error))
    }
}

/// Writes in a transaction that begins with a look at the row, where the client believes something.
fn believing<R>(
    session: &dyn Session,
    belief: &Belief,
    table: &Table,
    key: &[Value<'_>],
    write: impl FnOnce() -> Result<R, Problem>,
) -> Result<R, Problem> {
    if belief.is_empty() {
        return write();
    }
    session.control(Control::Begin)?;
    let mut tag = None;
    session.get(&table.schema, key, &mut |row| {
        tag = Some(written(table, row, None, Numbers::Exact).tag);
        Ok(())
    })?;
    belief.check(tag.as_ref())?;
    let done = write()?;
    session.control(Control::Commit)?;
    Ok(done)
}
