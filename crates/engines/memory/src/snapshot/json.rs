//! The JSON format: one row per line.

use super::loading::{LoadingState, corrupt, describe};
use crate::state::DatabaseState;
use bobak_core::codec::{self, FRAME};
use bobak_core::{Error, ErrorKind, Result, Storage, Value};
use bobak_engine_common::{value_from_json, value_to_json};
use serde_json::Value as Json;
use std::io::Write;
use std::sync::Arc;

/// The file type that the first line names.
const BOBAK: &str = "memory snapshot";
const VERSION: u64 = 1;

/// Writes a snapshot.
///
/// # Errors
/// Those of the file.
pub(super) fn write(file: &mut impl Write, state: &DatabaseState) -> std::io::Result<()> {
    write!(file, "{{\n\"bobak\": \"{BOBAK}\",\n\"version\": {VERSION},\n\"tables\": [")?;
    for (number, table) in state.tables.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        write!(file, "{comma}\n{{\n\"table\": {:#},\n", describe(table))?;
        write!(file, "\"row_count\": {},\n\"rows\": [", table.len())?;
        let mut at = table.key().order.start();
        let mut comma = "";
        while let Some(slot) = table.key().order.next(&mut at) {
            let Some(row) = table.row(slot) else { continue };
            let columns = 0..table.schema.columns().len();
            let values: Json = columns.map(|c| value_to_json(row.value(c))).collect();
            write!(file, "{comma}\n{values}")?;
            comma = ",";
        }
        write!(file, "\n]\n}}")?;
    }
    file.write_all(b"\n]\n}\n")
}

/// Reads a snapshot.
///
/// # Errors
/// `Corrupt`, `Unsupported`.
pub(super) fn read(text: &[u8]) -> Result<DatabaseState> {
    let json: Json = serde_json::from_slice(text)
        .map_err(|error| corrupt(format!("the JSON is incomplete: {error}")))?;
    if json.get("bobak").and_then(Json::as_str) != Some(BOBAK) {
        return Err(corrupt(format!("it lacks \"bobak\": \"{BOBAK}\"")));
    }
    match json.get("version").and_then(Json::as_u64) {
        Some(VERSION) => {}
        Some(version) if version > VERSION => {
            let message = format!("it has version {version} of the format; this program knows 1");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        _ => return Err(corrupt("its version is missing")),
    }
    let list = |json: &Json, name: &str| {
        let list = json.get(name).and_then(Json::as_array).cloned();
        list.ok_or_else(|| corrupt(format!("the list '{name}' is missing")))
    };
    let mut reading = LoadingState::new();
    for table in list(&json, "tables")? {
        let schema = table.get("table").ok_or_else(|| corrupt("there is no 'table'"))?;
        reading.begin_table(schema)?;
        let rows = list(&table, "rows")?;
        if table.get("row_count").and_then(Json::as_u64) != Some(rows.len() as u64) {
            let message = "the number of rows differs from 'row_count'";
            return Err(corrupt(message).in_table(reading.schema()?.name()));
        }
        for row in rows {
            read_row(&mut reading, &row)?;
        }
    }
    reading.finish()
}

fn read_row(reading: &mut LoadingState, row: &Json) -> Result<()> {
    let schema = reading.schema()?;
    let in_row = |error: Error| error.in_table(schema.name()).at_row(reading.rows);
    let row = row.as_array().ok_or_else(|| in_row(corrupt("a row is a list of values")))?;
    let mut values: Vec<Value<'static>> =
        row.iter().map(value_from_json).collect::<Result<_>>().map_err(in_row)?;
    for (value, column) in values.iter_mut().zip(schema.columns()) {
        // A person may write 1 for 1.0.
        if let (Value::Int(i), Storage::Float) = (&*value, column.storage) {
            *value = Value::Float(*i as f64);
        }
    }
    let mut bytes = Vec::new();
    codec::encode(&mut bytes, &values.as_slice()).map_err(in_row)?;
    reading.add(Arc::from(bytes.get(FRAME..).unwrap_or_default()))
}
