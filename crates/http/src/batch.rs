//! Batches: writes to several tables, one a line, all or none of them.

use crate::answer::Answer;
use crate::call::Call;
use crate::import::load_options;
use crate::json::{no_json, read_row};
use crate::lines::Lines;
use crate::load::{Load, LoadOptions};
use crate::model::{Base, Model};
use crate::problem::Problem;
use crate::stream::{self, Inflow};
use bobak_core::{Error, ErrorKind, Verb};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// A line of a batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    op: Operation,
    #[serde(borrow)]
    table: Cow<'a, str>,
    #[serde(borrow)]
    row: &'a RawValue,
}

/// What happens to its row.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Insert,
    Ignore,
    Replace,
    Upsert,
    Update,
    Delete,
}

/// `POST /batch`
pub(crate) async fn batch(call: &mut Call) -> Result<Answer, Problem> {
    call.check_media(&["application/x-ndjson", "application/jsonl"])?;
    let options = load_options(&mut call.parameters, 0, call.shared.settings.answer)?;
    call.parameters.finish()?;
    let model = call.base.model().await?;
    let (base, longest) = (Arc::clone(&call.base), call.shared.settings.body);
    let work = move |body| run(&base, &model, options, longest, body);
    let report = stream::consume(call, work).await?;
    Ok(Answer::json(StatusCode::OK, report))
}

pub(crate) fn run(
    base: &Base,
    model: &Model,
    options: LoadOptions,
    longest: usize,
    mut body: Inflow,
) -> Result<String, Problem> {
    let mut load = Load::new(&*base.engine, options);
    let mut lines = Lines::new(longest);
    let mut each = |line: &[u8]| add(&mut load, model, line);
    while let Some(part) = body.next_part() {
        lines.part(&part, &mut each)?;
    }
    if let Some(problem) = body.broken {
        return Err(problem);
    }
    lines.finish(&mut each)?;
    load.finish().map_err(|error| load.stopped(error))
}

/// Adds a line. One that is no write at all stops the batch, whatever was said about errors: its
/// sender and this end do not mean the same.
fn add(load: &mut Load<'_>, model: &Model, line: &[u8]) -> Result<(), Problem> {
    let number = load.rows();
    let line: Line<'_> = serde_json::from_slice(line)
        .map_err(|error| load.stopped(no_json(&error).at_row(number)))?;
    let Some(table) = model.table(&line.table) else {
        let error = Error::new(ErrorKind::NotFound, "there is no such table").at_row(number);
        return Err(load.stopped(error.in_table(line.table)));
    };
    let cells = read_row(table, line.row.get().as_bytes());
    load.add(table, line.op.verb(), cells).map_err(|error| load.stopped(error))
}

impl Operation {
    const fn verb(self) -> Verb {
        match self {
            Self::Insert => Verb::Insert,
            Self::Ignore => Verb::InsertOrIgnore,
            Self::Replace => Verb::InsertOrReplace,
            Self::Upsert => Verb::Upsert,
            Self::Update => Verb::Update,
            Self::Delete => Verb::Delete,
        }
    }
}
