//! Imports: rows of one table, as NDJSON or CSV, of any number.

use crate::answer::Answer;
use crate::call::{Call, media_of};
use crate::json::{Cells, read_row};
use crate::lines::Lines;
use crate::load::{Commit, Load, LoadOptions};
use crate::model::{Base, Table, twice};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::stream::{self, Inflow};
use bobak_core::{Error, ErrorKind, FieldSet, OnError, Result, Value, Verb};
use bobak_text::read;
use csv::ByteRecord;
use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;
use std::io::{self, Cursor, Read};
use std::num::NonZeroU64;
use std::sync::Arc;

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
/// A record that is put behind the last one of a CSV: a quote left open takes it in.
const END: &str = "\u{0}end of the body\u{0}";

/// What an import is asked for.
pub(crate) struct Import {
    table: Arc<Table>,
    verb: Verb,
    options: LoadOptions,
    csv: bool,
    null: String,
    longest: usize,
}

/// `POST /tables/{table}/import`
pub(crate) async fn import(call: &mut Call, name: &str) -> Result<Answer, Problem> {
    let table = call.table(name).await?;
    call.check_media(&[NDJSON, "application/jsonl", CSV])?;
    let csv = media_of(call.headers(), &CONTENT_TYPE).eq_ignore_ascii_case(CSV);
    let verbs = [
        ("insert", Verb::Insert),
        ("ignore", Verb::InsertOrIgnore),
        ("replace", Verb::InsertOrReplace),
        ("upsert", Verb::Upsert),
        ("update", Verb::Update),
        ("delete", Verb::Delete),
    ];
    let verb = call.parameters.choice("mode", &verbs)?.unwrap_or(Verb::Insert);
    let options = load_options(&mut call.parameters, Commit::Parts, call.shared.settings.answer)?;
    let null = call.parameters.take("null").unwrap_or_default();
    call.parameters.finish()?;
    let longest = call.shared.settings.body;
    let import = Import { table, verb, options, csv, null, longest };
    let base = Arc::clone(&call.base);
    let report = stream::consume(call, move |body| import.run(&base, body)).await?;
    Ok(Answer::json(StatusCode::OK, report))
}

/// Takes `errors`, `commit`, where this is said, and `outcomes`.
///
/// # Errors
/// 400 for what is wrong in them.
pub(crate) fn load_options(
    parameters: &mut Parameters,
    commit: Commit,
    longest: usize,
) -> Result<LoadOptions, Problem> {
    let words = [("stop", OnError::Stop), ("skip", OnError::Continue)];
    let commit = match parameters.number("commit")?.map(NonZeroU64::new) {
        None => commit,
        Some(None) => Commit::End,
        Some(Some(rows)) => Commit::Rows(rows),
    };
    Ok(LoadOptions {
        on_error: parameters.choice("errors", &words)?.unwrap_or(OnError::Stop),
        commit,
        outcomes: parameters.flag("outcomes")?,
        longest,
    })
}

impl Import {
    /// New rows, for [`decoders`](crate::decoders).
    pub fn new(table: Table, options: LoadOptions, csv: bool, longest: usize) -> Self {
        let (table, null) = (Arc::new(table), String::new());
        Self { table, verb: Verb::Insert, options, csv, null, longest }
    }

    pub fn run(&self, base: &Base, body: Inflow) -> Result<String, Problem> {
        let mut load = Load::new(&*base.engine, self.options);
        let read = match self.csv {
            true => self.read_csv(&mut load, body),
            false => self.read_json(&mut load, body),
        };
        // A body that breaks off stops a load as a wrong row does.
        read.map_err(|problem| load.stopped_here(problem))?;
        load.finish().map_err(|error| load.stopped(error))
    }

    fn read_json(&self, load: &mut Load<'_>, mut body: Inflow) -> Result<(), Problem> {
        let mut lines = Lines::new(self.longest);
        let mut each = |line: &[u8]| load.add(&self.table, self.verb, read_row(&self.table, line));
        while let Some(part) = body.next_part() {
            lines.part(&part, &mut each)?;
        }
        match body.broken {
            Some(problem) => Err(problem),
            None => Ok(lines.finish(&mut each)?),
        }
    }

    fn read_csv(&self, load: &mut Load<'_>, body: Inflow) -> Result<(), Problem> {
        let bounded = Bounded { inner: body, left: self.longest, longest: self.longest, end: None };
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bounded);
        let header = reader.byte_headers().map_err(broken).cloned();
        let places = match header {
            Ok(header) if reader.get_ref().end.is_some() && ends_with_end(&header) => {
                return if is_end(&header) { Ok(()) } else { Err(left_open().into()) };
            }
            Ok(header) => self.places(&header)?,
            Err(problem) => return Err(reader.into_inner().inner.broken.unwrap_or(problem)),
        };
        let mut record = ByteRecord::new();
        loop {
            reader.get_mut().left = self.longest;
            match reader.read_byte_record(&mut record) {
                Ok(true) if reader.get_ref().end.is_some() && ends_with_end(&record) => {
                    let whole = is_end(&record);
                    let error = || self.table.name_error(left_open()).into();
                    return if whole { Ok(()) } else { Err(error()) };
                }
                // Behind the end there is nothing.
                Ok(false) => return Ok(()),
                Ok(true) => load.add(&self.table, self.verb, self.cells(&places, &record))?,
                Err(error) => {
                    return Err(reader.into_inner().inner.broken.unwrap_or_else(|| broken(error)));
                }
            }
        }
    }

    /// The columns that the header names.
    fn places(&self, header: &ByteRecord) -> Result<Vec<usize>, Problem> {
        let mut places = Vec::with_capacity(header.len());
        for name in header {
            let name = String::from_utf8_lossy(name);
            let name = name.strip_prefix('\u{feff}').unwrap_or(&name);
            let place = self.table.schema.column(name)?;
            if places.contains(&place) {
                return Err(twice(name).into());
            }
            places.push(place);
        }
        Ok(places)
    }

    fn cells<'r>(&self, places: &[usize], record: &'r ByteRecord) -> Result<Cells<'r>> {
        if record.len() != places.len() {
            let message = format!("{} fields where the header has {}", record.len(), places.len());
            return Err(Error::new(ErrorKind::Syntax, message));
        }
        let columns = self.table.schema.columns();
        let mut values = vec![Value::Null; columns.len()];
        for (&place, field) in places.iter().zip(record) {
            let (Some(column), Some(slot)) = (columns.get(place), values.get_mut(place)) else {
                continue;
            };
            let null = column.nullable || self.table.is_filled(place);
            if null && field == self.null.as_bytes() {
                continue;
            }
            let wrong = |why| Error::new(ErrorKind::Mismatch, why).in_column(column.name.clone());
            let value = read::parse(column.ty, field).map_err(wrong)?;
            *slot = match column.check_stored(value.as_ref()) {
                Ok(()) if !column.ty.has_text_form() => value,
                _ => column.accept(value)?,
            };
        }
        Ok(Cells { values, given: places.iter().copied().collect::<FieldSet>() })
    }
}

fn broken(error: csv::Error) -> Problem {
    if let csv::ErrorKind::Io(error) = error.kind()
        && error.kind() == io::ErrorKind::FileTooLarge
    {
        return Problem::too_large(error.to_string());
    }
    Problem::bad_request(format!("the CSV can't be read: {error}"))
}

fn left_open() -> Error {
    Error::new(ErrorKind::Syntax, "a quote of the last record is left open")
}

fn is_end(record: &ByteRecord) -> bool {
    record.len() == 1 && record.get(0) == Some(END.as_bytes())
}

fn ends_with_end(record: &ByteRecord) -> bool {
    let last = record.len().checked_sub(1).and_then(|last| record.get(last));
    last.is_some_and(|field| field.strip_suffix(b"\n").unwrap_or(field).ends_with(END.as_bytes()))
}

/// A body of which only so much is read for one record, with [`END`] behind it.
struct Bounded {
    inner: Inflow,
    left: usize,
    longest: usize,
    /// What is left of the last record.
    end: Option<Cursor<String>>,
}

impl Read for Bounded {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let message = format!("a record has more than {} bytes", self.longest);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        if let Some(end) = &mut self.end {
            return end.read(room);
        }
        let count = self.inner.read(room)?;
        if count == 0 && !room.is_empty() {
            let end = self.end.insert(Cursor::new(format!("\n{END}\n")));
            return end.read(room);
        }
        self.left = self.left.saturating_sub(count);
        Ok(count)
    }
}
