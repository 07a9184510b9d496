//! Numbered commits, written by a process until it is killed, and looked for by another.
//!
//! Commit 1 has two rows, commit 2 three, and so on up to seven, then again one: each row says of
//! which commit it is, so that a half one shows.

use crate::probe::{Entry, Probe};
use crate::{NULL, Table, row};
use bobak_core::{ColumnSchema, Engine, OnError, Result, TableSchema, TransactionControl, Value};
use std::sync::Arc;

/// Creates the table and commits rows until `acknowledged`, which is called with the number of each, returns `false`.
/// With `flush`, each commit is flushed first.
///
/// # Errors
/// Those of the engine.
pub fn write(
    engine: &dyn Engine,
    flush: bool,
    acknowledged: &mut dyn FnMut(u64) -> bool,
) -> Result<()> {
    let table = table()?;
    crate::create(engine, &[&table])?;
    if flush {
        engine.flush()?;
    }
    // Number 0 says that the table is there.
    if !acknowledged(0) {
        return Ok(());
    }
    let flush = || if flush { engine.flush() } else { Ok(()) };
    write_on(engine, 1, &mut |number| flush().map(|()| acknowledged(number)))
}

/// Continues with commit `next`, until `acknowledged` says `false`.
///
/// # Errors
/// Those of the engine, and of `acknowledged`.
pub fn write_on(
    engine: &dyn Engine,
    next: u64,
    acknowledged: &mut dyn FnMut(u64) -> Result<bool>,
) -> Result<()> {
    let table = table()?;
    for number in next.. {
        commit(engine, &table, number)?;
        if !acknowledged(number)? {
            break;
        }
    }
    Ok(())
}

/// The number of the last commit that is there.
///
/// # Errors
/// A sentence where one is half there, or one before it is missing; where the store is damaged.
pub fn read(engine: &dyn Engine) -> Result<u64, String> {
    let failed = |error: bobak_core::Error| format!("unreadable: {error}");
    let table = table().map_err(failed)?;
    let rows = Probe::new(engine).and_then(|probe| probe.all(&table)).map_err(failed)?;
    super::is_sound(engine)?;
    let mut last = 0;
    let mut left = 0;
    for row in rows {
        let Some(Value::Int(number)) = row.get(1) else {
            return Err("a row of the wrong form".to_owned());
        };
        if left == 0 {
            last += 1;
            left = size(last);
        }
        if u64::try_from(*number) != Ok(last) {
            return Err(format!("commit {last} is half there: a row of {number} follows"));
        }
        left -= 1;
    }
    if left == 0 { Ok(last) } else { Err(format!("commit {last} is half there at the end")) }
}

fn table() -> Result<Table> {
    let table = TableSchema::builder("mark")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<i64>("number"))
        .column(ColumnSchema::of::<String>("text"))
        .key(["id"])
        .index("mark_number", ["number"]);
    Ok(Arc::new(table.build()?))
}

/// How many rows a commit has.
const fn size(number: u64) -> u64 {
    1 + number % 7
}

fn commit(engine: &dyn Engine, table: &Table, number: u64) -> Result<()> {
    let text = "x".repeat((number % 11 * 40) as usize);
    let entry = || Entry::insert(table, row![NULL, number as i64, text.clone()]);
    let entries: Vec<Entry> = (0..size(number)).map(|_| entry()).collect();
    if let [entry] = entries.as_slice() {
        return engine.write(&entry.as_write()).map(drop);
    }
    let probe = Probe::new(engine)?;
    if number.is_multiple_of(2) {
        return probe.batch(&entries, OnError::Stop).whole;
    }
    probe.control(TransactionControl::Begin)?;
    entries.iter().try_for_each(|entry| probe.send(entry).map(drop))?;
    probe.control(TransactionControl::Commit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_memory::Memory;

    #[test]
    fn what_was_written_is_found_and_a_half_commit_too() {
        let memory = Memory::new();
        write(&memory, false, &mut |number| number < 20).unwrap();
        assert_eq!(read(&memory), Ok(20));
        let probe = Probe::new(&memory).unwrap();
        probe.insert(&table().unwrap(), row![NULL, 21, ""]).unwrap();
        assert_eq!(read(&memory), Ok(21));
        probe.insert(&table().unwrap(), row![NULL, 22, ""]).unwrap();
        assert!(read(&memory).unwrap_err().contains("half"));
    }
}
