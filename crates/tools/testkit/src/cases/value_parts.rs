//! One value of bytes, read and written in parts.

use crate::{Check, Harness, NULL, Probe, Table, Values, fails, holds, row, same};
use bobak_core::{
    ColumnRole, ColumnSchema, ErrorKind, TableSchema, TransactionControl, Value, ValueAddress,
    ValueRange, ValueState,
};
use std::io::{self, Read};
use std::sync::Arc;

/// `photo(id, name, data, version)`: the data may be NULL.
fn photo() -> Check<Table> {
    let table = TableSchema::builder("photo")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("name"))
        .column(ColumnSchema::of::<Option<Vec<u8>>>("data"))
        .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
        .key(["id"]);
    Ok(Arc::new(table.build()?))
}

/// Bytes of which no two short parts are equal.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let byte = |at: u64| (at.wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8;
    (0..length as u64).map(byte).collect()
}

fn read(
    probe: &Probe<'_>,
    table: &Table,
    id: i64,
    (offset, limit): (u64, usize),
) -> bobak_core::Result<Option<(ValueState, Vec<u8>)>> {
    let (key, mut part) = ([Value::Int(id)], Vec::new());
    let value = ValueAddress { table, key: &key, column: 2 };
    let state = probe.session.read_part(&value, ValueRange { offset, limit }, &mut part)?;
    Ok(state.map(|state| (state, part)))
}

fn write(
    probe: &Probe<'_>,
    table: &Table,
    id: i64,
    length: u64,
    source: &mut dyn Read,
) -> bobak_core::Result<bool> {
    let key = [Value::Int(id)];
    probe.session.write_value(&ValueAddress { table, key: &key, column: 2 }, length, source)
}

fn all(probe: &Probe<'_>, table: &Table) -> Check<Vec<Values>> {
    Ok(probe.all(table)?)
}

/// Every range has the bytes that it names, however much of it the value has.
pub fn ranges_of_a_value(harness: &dyn Harness) -> Check {
    let (store, photo) = (harness.fresh()?, photo()?);
    let probe = Probe::with_tables(store.engine(), &[&photo])?;
    let data = bytes(1, 100_003);
    probe.insert(&photo, row![1, "sea", data.clone(), 4])?;
    probe.insert(&photo, row![2, "none", NULL, 1])?;
    probe.insert(&photo, row![3, "empty", Vec::<u8>::new(), 1])?;
    let state = ValueState { length: Some(100_003), version: Some(4) };
    for (offset, limit) in [
        (0, 10),
        (0, 100_003),
        (0, usize::MAX),
        (4_000, 9_000),
        (99_999, 100),
        (100_002, 1),
        (100_003, 5),
        (1 << 40, 5),
        (7, 0),
    ] {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
        let end = start.saturating_add(limit).min(data.len());
        let expected = Some((state, data[start..end].to_vec()));
        same("a range", read(&probe, &photo, 1, (offset, limit))?, expected)?;
    }
    let null = ValueState { length: None, version: Some(1) };
    same("NULL", read(&probe, &photo, 2, (0, 5))?, Some((null, vec![])))?;
    let empty = ValueState { length: Some(0), version: Some(1) };
    same("no bytes", read(&probe, &photo, 3, (0, 5))?, Some((empty, vec![])))?;
    same("no row", read(&probe, &photo, 9, (0, 5))?, None)
}

/// A value is replaced by what its source returns, and the version of its row is raised.
pub fn values_are_written_from_a_source(harness: &dyn Harness) -> Check {
    let (store, photo) = (harness.fresh()?, photo()?);
    let probe = Probe::with_tables(store.engine(), &[&photo])?;
    probe.insert(&photo, row![1, "sea", bytes(1, 10), 1])?;
    probe.insert(&photo, row![2, "land", NULL, 1])?;
    let long = bytes(2, 700_001);
    holds("long", write(&probe, &photo, 1, 700_001, &mut &*long)?)?;
    holds("short", write(&probe, &photo, 2, 3, &mut &b"abc"[..])?)?;
    holds("no row", !write(&probe, &photo, 9, 3, &mut &b"abc"[..])?)?;
    let expected = vec![row![1, "sea", long, 2], row![2, "land", b"abc".to_vec(), 2]];
    same("both", all(&probe, &photo)?, expected)?;
    holds("empty", write(&probe, &photo, 1, 0, &mut io::empty())?)?;
    let expected = row![1, "sea", Vec::<u8>::new(), 3];
    same("empty", probe.get(&photo, row![1])?, Some(expected))
}

/// A source that fails, after some bytes.
struct FailingSource(usize);

impl Read for FailingSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.min(buffer.len());
        if count == 0 {
            return Err(io::Error::other("the disk is gone"));
        }
        buffer[..count].fill(7);
        self.0 -= count;
        Ok(count)
    }
}

/// A source that fails, or has another number of bytes, changes nothing; a transaction goes on.
pub fn a_wrong_source_changes_nothing(harness: &dyn Harness) -> Check {
    let (store, photo) = (harness.fresh()?, photo()?);
    let probe = Probe::with_tables(store.engine(), &[&photo])?;
    let before = row![1, "sea", bytes(1, 600_000), 1];
    probe.insert(&photo, before.clone())?;
    let wrong = |probe: &Probe<'_>| -> Check {
        let few = bytes(3, 599_999);
        fails("few", write(probe, &photo, 1, 600_000, &mut &*few), ErrorKind::Misuse)?;
        let many = bytes(3, 600_001);
        fails("many", write(probe, &photo, 1, 600_000, &mut &*many), ErrorKind::Misuse)?;
        fails("one", write(probe, &photo, 1, 0, &mut &b"a"[..]), ErrorKind::Misuse)?;
        let failed = write(probe, &photo, 1, 600_000, &mut FailingSource(400_000));
        fails("failed", failed, ErrorKind::Io)?;
        same("unchanged", all(probe, &photo)?, vec![before.clone()])
    };
    wrong(&probe)?;
    probe.control(TransactionControl::Begin)?;
    wrong(&probe)?;
    holds("written", write(&probe, &photo, 1, 2, &mut &b"ab"[..])?)?;
    same("in it", read(&probe, &photo, 1, (1, 9))?.map(|found| found.1), Some(b"b".to_vec()))?;
    probe.control(TransactionControl::Commit)?;
    let after = row![1, "sea", b"ab".to_vec(), 2];
    same("committed", all(&probe, &photo)?, vec![after.clone()])?;
    probe.control(TransactionControl::Begin)?;
    same("read", read(&probe, &photo, 1, (0, 1))?.map(|found| found.1), Some(b"a".to_vec()))?;
    holds("written", write(&probe, &photo, 1, 3, &mut &b"xyz"[..])?)?;
    same("again", read(&probe, &photo, 1, (0, 2))?.map(|found| found.1), Some(b"xy".to_vec()))?;
    probe.control(TransactionControl::Rollback)?;
    same("rolled back", all(&probe, &photo)?, vec![after])
}

/// Only columns of bytes have parts, and a key is not written.
pub fn other_columns_have_no_parts(harness: &dyn Harness) -> Check {
    let (store, photo) = (harness.fresh()?, photo()?);
    let probe = Probe::with_tables(store.engine(), &[&photo])?;
    probe.insert(&photo, row![1, "sea", NULL, 1])?;
    let key = [Value::Int(1)];
    let range = ValueRange { offset: 0, limit: 1 };
    for column in [0, 1, 3] {
        let value = ValueAddress { table: &photo, key: &key, column };
        let read = probe.session.read_part(&value, range, &mut Vec::new());
        fails("read", read, ErrorKind::Unsupported)?;
        let written = probe.session.write_value(&value, 1, &mut &b"a"[..]);
        fails("write", written, ErrorKind::Unsupported)?;
    }
    let value = ValueAddress { table: &photo, key: &[], column: 2 };
    fails("no key", probe.session.read_part(&value, range, &mut Vec::new()), ErrorKind::Mismatch)?;
    same("unchanged", all(&probe, &photo)?, vec![row![1, "sea", NULL, 1]])
}
