//! Seeds from the vectors that all implementations of the wire share.

use serde_json::Value as Json;

const FRAMES: &str = include_str!("../../../../vectors/wire.json");
const JOINS: &str = include_str!("../../../../vectors/joins.json");
const ROWS: &str = include_str!("../../../../vectors/rows.json");
const TYPES: &str = include_str!("../../../../vectors/types.json");

/// The frames that one end sends.
pub(crate) fn frames(from: &str) -> Vec<Vec<u8>> {
    let vectors = [list(FRAMES), list(JOINS)].concat();
    let theirs = vectors.iter().filter(|vector| text(vector, "from") == from);
    theirs.map(|vector| bytes(&text(vector, "hex"))).collect()
}

/// Encoded rows, without frames.
pub(crate) fn rows() -> Vec<Vec<u8>> {
    list(ROWS).iter().map(|vector| bytes(&text(vector, "hex"))).collect()
}

/// Texts of dates, times, UUIDs and amounts.
pub(crate) fn texts() -> Vec<String> {
    list(TYPES).iter().map(|vector| text(vector, "text")).collect()
}

/// Texts as inputs.
pub(crate) fn of(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn list(vectors: &str) -> Vec<Json> {
    serde_json::from_str(vectors).expect("the vectors are JSON")
}

fn text(vector: &Json, name: &str) -> String {
    vector.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.filter_map(byte).collect()
}
