//! Batches: writes to several tables, one a line, all or none of them.

use crate::answer::Answer;
use crate::call::Call;
use crate::import::load_options;
use crate::json::{no_json, read_row};
use crate::lines::Lines;
use crate::load::{Commit, Load, LoadOptions};
use crate::model::{Base, Model};
use crate::problem::Problem;
use crate::stream::{self, Inflow};
use bobak_core::{Error, ErrorKind, Result, Verb};
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
    let options = load_options(&mut call.parameters, Commit::End, call.shared.settings.answer)?;
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
    body: Inflow,
) -> Result<String, Problem> {
    let mut load = Load::new(&*base.engine, options);
    // A body that breaks off stops a batch as a wrong row does.
    read(&mut load, model, longest, body).map_err(|problem| load.stopped_here(problem))?;
    load.finish().map_err(|error| load.stopped(error))
}

fn read(
    load: &mut Load<'_>,
    model: &Model,
    longest: usize,
    mut body: Inflow,
) -> Result<(), Problem> {
    let mut lines = Lines::new(longest);
    let mut each = |line: &[u8]| add(load, model, line);
    while let Some(part) = body.next_part() {
        lines.part(&part, &mut each)?;
    }
    match body.broken {
        Some(problem) => Err(problem),
        None => Ok(lines.finish(&mut each)?),
    }
}

/// Adds a line. One that is no write at all stops the batch, whatever was said about errors: its
/// sender and this end do not mean the same.
fn add(load: &mut Load<'_>, model: &Model, line: &[u8]) -> Result<()> {
    let number = load.rows();
    let line: Line<'_> =
        serde_json::from_slice(line).map_err(|error| no_json(&error).at_row(number))?;
    let Some(table) = model.table(&line.table) else {
        let error = Error::new(ErrorKind::NotFound, "there is no such table").at_row(number);
        return Err(error.in_table(line.table.into_owned()));
    };
    let cells = read_row(table, line.row.get().as_bytes());
    load.add(table, line.op.verb(), cells)
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
