//! The binary protocol: frames, requests as a server reads them, replies as a client does.

use crate::{Target, sample, seeds};
use bobak_core::{BulkChange, Condition, Result, Row, Select, TableSchema, Value, WriteBatch};
use bobak_wire::{
    FrameHeader, HEADER_LENGTH, Handles, Inbox, Limits, OtherTables, OwnedSource, Request,
    RequestSource, Response, encode_request, encode_response, read_schema,
};
use std::sync::Arc;

/// The longest frame.
const LIMIT: u32 = 1 << 20;

/// Frames, however the bytes are split.
pub(crate) const FRAMES: Target = Target {
    name: "wire-frames",
    about: "frames of the wire, cut in any way",
    longest: 64 << 10,
    factor: 64,
    run: |input| {
        let (pieces, bytes) = pieces(input);
        let whole = read(bytes, &[bytes.len().max(1)], |head, body| format!("{head:?} {body:?}"));
        let cut = read(bytes, &pieces, |head, body| format!("{head:?} {body:?}"));
        assert_eq!(whole, cut, "frames depend on how the bytes are split");
    },
    seeds: conversations,
};

/// Requests.
pub(crate) const REQUESTS: Target = Target {
    name: "wire-requests",
    about: "requests of the wire, and the numbers that they give",
    longest: 64 << 10,
    factor: 400,
    run: |input| {
        let (pieces, bytes) = pieces(input);
        let whole = requests(bytes, &[bytes.len().max(1)]);
        assert_eq!(whole, requests(bytes, &pieces), "requests depend on how the bytes are split");
    },
    seeds: conversations,
};

/// Replies.
pub(crate) const RESPONSES: Target = Target {
    name: "wire-replies",
    about: "replies of the wire",
    longest: 64 << 10,
    factor: 400,
    run: |input| {
        let (pieces, bytes) = pieces(input);
        let whole = read(bytes, &[bytes.len().max(1)], reply);
        assert_eq!(whole, read(bytes, &pieces, reply), "replies depend on how the bytes are split");
    },
    seeds: || conversation(seeds::frames("server")),
};

/// Descriptions of tables.
pub(crate) const SCHEMAS: Target = Target {
    name: "wire-schemas",
    about: "descriptions of tables",
    longest: 64 << 10,
    factor: 400,
    run: |input| {
        let Ok(table) = read_schema(input) else { return };
        let bytes = described(&table);
        let again = read_schema(&bytes).expect("it was read, so it can be read again");
        assert!(table.same_as(&again), "another table came back: {table:?}, {again:?}");
        assert_eq!(described(&again), bytes);
    },
    seeds: || {
        let sample = described(&sample::table());
        let define = |frame: Vec<u8>| {
            (frame.get(4) == Some(&2)).then(|| frame.get(16..).map(<[u8]>::to_vec))
        };
        seeds::frames("client").into_iter().filter_map(define).flatten().chain([sample]).collect()
    },
};

/// Each frame alone, and all of them in sequence, each preceded by the lengths of its pieces.
fn conversation(frames: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let whole = frames.concat();
    let cut = |bytes: Vec<u8>| [&[2, 11, 0, 7][..], &bytes].concat();
    frames.into_iter().chain([whole]).map(cut).collect()
}

fn conversations() -> Vec<Vec<u8>> {
    conversation(seeds::frames("client"))
}

/// The first byte is the number of the following bytes that are the lengths of the pieces of the rest.
fn pieces(input: &[u8]) -> (Vec<usize>, &[u8]) {
    let Some((count, rest)) = input.split_first() else { return (vec![1], input) };
    let (lengths, bytes) = rest.split_at_checked(usize::from(count % 8)).unwrap_or((rest, &[]));
    let lengths = lengths.iter().map(|length| 1 + usize::from(*length).pow(2)).collect();
    (lengths, bytes)
}

/// Reads frames in pieces of these lengths, repeated, and records each.
fn read(
    mut bytes: &[u8],
    pieces: &[usize],
    mut note: impl FnMut(FrameHeader, &[u8]) -> String,
) -> Vec<String> {
    let (mut inbox, mut notes) = (Inbox::new(LIMIT), Vec::new());
    let mut pieces = pieces.iter().copied().cycle();
    while !bytes.is_empty() {
        let piece = pieces.next().unwrap_or(1).min(bytes.len());
        let (now, later) = bytes.split_at(piece);
        inbox.push(now);
        bytes = later;
        loop {
            match inbox.next_frame() {
                Ok(Some(head)) => notes.push(note(head, inbox.body())),
                Ok(None) => break,
                Err(error) => {
                    notes.push(error.to_string());
                    return notes;
                }
            }
        }
    }
    notes
}

fn requests(bytes: &[u8], pieces: &[usize]) -> Vec<String> {
    let mut handles = Handles::new(&Limits::default());
    handles.define(1, Ok(sample::table()));
    handles.prepare(7, "select ?");
    read(bytes, pieces, |head, body| match Request::decode(head, body, &handles) {
        Ok(request) => {
            comes_back(head, &request);
            let note = shown(&request);
            act(request, &mut handles) + &note
        }
        Err(error) => error.to_string(),
    })
}

/// The first steps of a server with a request.
fn act(request: Request<'_>, handles: &mut Handles) -> String {
    match request {
        Request::Define { handle, schema } => {
            handles.define(handle, read_schema(schema).map(Arc::new));
        }
        Request::Prepare { handle, text } => handles.prepare(handle, text),
        Request::Forget { table, handle } => handles.forget(table, handle),
        Request::Batch(part) => {
            let mut batch = WriteBatch::new();
            return match part.read_into(&mut batch, handles) {
                Ok(()) => {
                    batch.stamp();
                    let rows = batch.runs().map(|run| run.iter().count() as u64).sum::<u64>();
                    assert_eq!(rows, batch.rows(), "rows of a batch were lost");
                    format!("{rows} rows of {} bytes", batch.bytes())
                }
                Err(error) => error.to_string(),
            };
        }
        _ => {}
    }
    String::new()
}

/// A decoded request is encoded and decoded to the same request.
fn comes_back(head: FrameHeader, request: &Request<'_>) {
    let mut out = Vec::new();
    let others = other_tables(request);
    let numbers: Vec<_> = (1..).zip(&others).map(|(number, table)| (table.id(), number)).collect();
    let (table, written) = write(&mut out, request, &numbers);
    if !matches!(written, Some(Ok(()))) {
        return;
    }
    let mut theirs = Handles::new(&Limits::default());
    if let Some(table) = table {
        theirs.define(0, Ok(table));
    }
    (1..).zip(others).for_each(|(number, table)| theirs.define(number, Ok(table)));
    let (again, body) = out.split_first_chunk::<HEADER_LENGTH>().expect("a frame has a head");
    let again = FrameHeader::decode(*again).expect("the head was written so");
    assert_eq!((again.kind, again.length as usize), (head.kind, body.len()));
    let again =
        Request::decode(again, body, &theirs).expect("it was read, so it can be read again");
    assert_eq!(shown(&again), shown(request), "another request came back");
}

/// The tables that the condition of a request names besides its own, or all of a join.
fn other_tables(request: &Request<'_>) -> Vec<Arc<TableSchema>> {
    let mut found = Vec::new();
    if let Request::Query { source: OwnedSource::Join(join), .. }
    | Request::Open(OwnedSource::Join(join))
    | Request::Explain(OwnedSource::Join(join)) = request
    {
        join.for_each_table(&mut |table| found.push(Arc::clone(table)));
        join.for_each_subquery(&mut |query| found.push(Arc::clone(&query.table)));
    }
    let condition = match request {
        Request::Change { condition, .. } => condition.as_ref(),
        Request::Query { source: OwnedSource::Select(select), .. }
        | Request::Open(OwnedSource::Select(select))
        | Request::Explain(OwnedSource::Select(select)) => select.condition.as_ref(),
        _ => None,
    };
    let mut parts: Vec<_> = condition.into_iter().collect();
    while let Some(part) = parts.pop() {
        match part {
            Condition::And(list) | Condition::Or(list) => parts.extend(list),
            Condition::Not(part) => parts.push(part),
            Condition::InQuery { query, .. } => {
                found.push(Arc::clone(&query.table));
                parts.extend(&query.condition);
            }
            _ => {}
        }
    }
    found
}

/// Writes a request, its table under the number 0; `None` for those that have no writer of their own.
fn write(
    out: &mut Vec<u8>,
    request: &Request<'_>,
    others: OtherTables<'_>,
) -> (Option<Arc<TableSchema>>, Option<Result<()>>) {
    let values_of = |row: &dyn Row| {
        (0..row.len()).map(|place| row.get(place).to_owned()).collect::<Vec<Value<'static>>>()
    };
    let written = match request {
        Request::Control(step) => encode_request::control(out, 0, *step),
        Request::Write { table, verb, fields, row } => {
            let what = (&**table, *verb, *fields);
            let written = encode_request::write(out, 0, 0, what, &values_of(row));
            return (Some(Arc::clone(table)), Some(written));
        }
        Request::Change { table, condition, assign } => {
            let change =
                BulkChange { table, condition: condition.as_ref(), assign: assign.as_deref() };
            let written = encode_request::change(out, 0, 0, &change, others);
            return (Some(Arc::clone(table)), Some(written));
        }
        Request::Get { table, key } => {
            let written = encode_request::get(out, 0, 0, &values_of(key));
            return (Some(Arc::clone(table)), Some(written));
        }
        Request::Query { window, form, source: request } => {
            let source = source(request, others);
            let written = encode_request::query(out, 0, *window, *form, source);
            return (table_of(request), Some(written));
        }
        Request::Open(request) => {
            return (
                table_of(request),
                Some(encode_request::open(out, 0, source(request, others))),
            );
        }
        Request::Explain(request) => {
            return (
                table_of(request),
                Some(encode_request::explain(out, 0, source(request, others))),
            );
        }
        Request::Execute(request) => encode_request::execute(out, 0, source(request, others)),
        Request::Hello(hello) if hello.version().is_ok() => hello.encode(out, 0),
        _ => return (None, None),
    };
    (None, Some(written))
}

fn source<'r>(request: &'r OwnedSource, others: OtherTables<'r>) -> RequestSource<'r> {
    match request {
        OwnedSource::Select(select) => RequestSource::Select(0, select, others),
        OwnedSource::Join(join) => RequestSource::Join(join, others),
        OwnedSource::Sql { text, parameters } => RequestSource::Text(text, parameters),
    }
}

fn table_of(request: &OwnedSource) -> Option<Arc<TableSchema>> {
    match request {
        OwnedSource::Select(Select { table, .. }) => Some(Arc::clone(table)),
        OwnedSource::Join(_) | OwnedSource::Sql { .. } => None,
    }
}

fn reply(head: FrameHeader, body: &[u8]) -> String {
    match Response::decode(head, body) {
        Ok(Response::Rows(rows)) => {
            let rows: Vec<_> = rows.map(|row| row.map(|row| row.len())).collect();
            format!("{rows:?}")
        }
        // A group may be of four billion rows: it takes no memory.
        Ok(Response::Outcomes(outcomes)) => {
            format!("{:?}", outcomes.take(1_000).collect::<Vec<_>>())
        }
        Ok(Response::Schemas(tables)) => {
            tables.iter().for_each(|table| drop(described(table)));
            shown(&tables)
        }
        Ok(Response::Error(error)) => {
            let mut out = Vec::new();
            encode_response::error(&mut out, head.id, &error);
            error.to_string()
        }
        other => format!("{other:?}"),
    }
}

/// As `Debug` shows it, without the numbers that this process gives its tables.
fn shown(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let mut parts = text.split("TableSchema { id: ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.trim_start_matches(char::is_numeric))
}

/// A table's description, as it is sent.
fn described(table: &TableSchema) -> Vec<u8> {
    let mut out = Vec::new();
    encode_request::define(&mut out, 0, 0, table).expect("a table that was read can be described");
    out.split_off(HEADER_LENGTH + 4)
}
