//! Rows in the row codec.

use crate::{Target, seeds};
use bobak_core::codec::{self, EncodedRow, FRAME};
use bobak_core::{Row, RowBuffer, Value};

/// One row, and rows with their frames.
pub(crate) const ROWS: Target = Target {
    name: "rows",
    about: "rows in the row codec",
    longest: 64 << 10,
    factor: 64,
    run,
    seeds: || {
        let framed = |row: &Vec<u8>| [&(row.len() as u32).to_le_bytes(), row.as_slice()].concat();
        let rows = seeds::rows();
        let whole: Vec<u8> = rows.iter().flat_map(framed).collect();
        rows.iter().cloned().chain(rows.iter().map(framed)).chain([whole]).collect()
    },
};

fn run(input: &[u8]) {
    unchecked(input);
    if let Ok(row) = EncodedRow::check(input) {
        comes_back(row);
    }
    let mut buffer = RowBuffer::default();
    if buffer.push_framed(input).is_ok() {
        assert_eq!(buffer.as_bytes(), input);
        let mut rows = 0;
        while let Ok(Some(_)) = buffer.next_row() {
            rows += 1;
        }
        assert_eq!(rows, buffer.rows(), "rows were lost");
    }
}

/// Bytes that nobody checked may read as anything, but never panic.
fn unchecked(input: &[u8]) {
    let row = EncodedRow::new(input);
    (0..row.len().min(100)).for_each(|column| drop(row.get(column).to_owned()));
    row.raw_values().for_each(drop);
    row.for_each_raw(|_, _| ());
}

fn comes_back(row: EncodedRow<'_>) {
    let values: Vec<Value<'_>> = (0..row.len()).map(|column| row.value(column).into()).collect();
    let (mut by_row, mut by_slice) = (Vec::new(), Vec::new());
    codec::encode(&mut by_row, &row).expect("it was read, so it can be written");
    codec::encode_slice(&mut by_slice, &values).expect("it was read, so it can be written");
    assert_eq!(by_row, by_slice);
    assert_eq!(by_row.get(FRAME..), Some(row.as_bytes()), "another row came back");
}
