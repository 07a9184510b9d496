//! The samples against the file that all implementations share, and read back.

use crate::samples::{Sample, requests, responses};
use bobak_wire::{
    FrameHeader, HEADER_LENGTH, Handles, Inbox, Limits, Request, Response, read_schema,
};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::Arc;

fn head_of(bytes: &[u8]) -> FrameHeader {
    FrameHeader::decode(*bytes.first_chunk::<HEADER_LENGTH>().unwrap()).unwrap()
}

pub fn vector(from: &str, sample: &Sample) -> Json {
    let head = head_of(&sample.bytes);
    json!({
        "name": sample.name, "from": from, "hex": hex(&sample.bytes),
        "kind": head.kind as u8, "more": head.more, "id": head.id,
        "message": sample.message,
    })
}

#[test]
fn the_file_holds_them() {
    let sent = requests().into_iter().map(|sample| vector("client", &sample));
    let said = responses().into_iter().map(|sample| vector("server", &sample));
    let all: Vec<Json> = sent.chain(said).collect();
    hold("wire.json", &all);
}

/// Compares a file of vectors with what this version encodes.
pub fn hold(name: &str, vectors: &[Json]) {
    let text = serde_json::to_string_pretty(vectors).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name);
    if std::env::var_os("BOBAK_WRITE_VECTORS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "vectors/{name} differs: clients rely on every byte of it");
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn servers_read_every_request() {
    let mut handles = Handles::new(&Limits::default());
    let mut inbox = Inbox::new(1 << 20);
    for sample in requests() {
        inbox.push(&sample.bytes);
        let head = inbox.next_frame().unwrap().unwrap();
        let request = Request::decode(head, inbox.body(), &handles);
        match request.unwrap_or_else(|error| panic!("{}: {error}", sample.name)) {
            Request::Define { handle, schema } => {
                handles.define(handle, read_schema(schema).map(Arc::new));
            }
            Request::Prepare { handle, text } => handles.prepare(handle, text),
            Request::Batch(part) => {
                let mut batch = bobak_core::WriteBatch::new();
                part.read_into(&mut batch, &handles).unwrap();
                assert!(!batch.is_empty());
            }
            _ => {}
        }
    }
}

#[test]
fn clients_decode_every_response() {
    for sample in responses() {
        let response = Response::decode(head_of(&sample.bytes), &sample.bytes[HEADER_LENGTH..]);
        match response.unwrap_or_else(|error| panic!("{}: {error}", sample.name)) {
            Response::Rows(rows) => rows.for_each(|row| assert!(row.is_ok())),
            Response::Outcomes(outcomes) => outcomes.for_each(|outcome| assert!(outcome.is_ok())),
            _ => {}
        }
    }
}
