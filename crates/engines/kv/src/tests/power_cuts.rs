//! A power cut keeps each acknowledged transaction, and no half of another.
//!
//! `BOBAK_CUTS=200` runs so many programs.

use super::create_items;
use super::lossy::{LossyFile, Random};
use crate::{Durability, Kv};
use bobak_core::{
    Engine, ErrorKind, OnError, Result, Row, TableSchema, Value, ValueRef, Verb, Write, WriteBatch,
};
use std::sync::Arc;

/// The rows of one transaction.
const ROWS: u64 = 5;

fn open(file: &LossyFile, durability: Durability) -> Result<Kv> {
    let builder = Kv::builder().durability(durability).cache_bytes(1 << 20);
    builder.open_by("open the file", |redb| redb.create_with_backend(file.clone()))
}

/// The text of all rows of a transaction, which later ones overwrite.
fn text(number: u64, random: &mut Random) -> String {
    format!("{number}:{}", "x".repeat(random.below(3_000) as usize))
}

fn commit(kv: &Kv, table: &Arc<TableSchema>, text: &str) -> Result<()> {
    let mut batch = WriteBatch::new();
    for row in 0..ROWS {
        let values = [Value::Int(row as i64 + 1), Value::from(text)];
        let (verb, fields) = (Verb::Upsert, table.updated_fields());
        batch.push(&Write { table, verb, fields, values: &values })?;
    }
    kv.session()?.batch(&batch, OnError::Stop, &mut |_| {})
}

/// The number of the transaction that wrote the rows, all of them; 0 if there are none.
fn last(kv: &Kv, table: &Arc<TableSchema>) -> u64 {
    let mut texts = Vec::new();
    for row in 0..ROWS {
        let mut each = |row: &dyn Row| {
            let ValueRef::Text(text) = row.get(1) else { panic!("a text") };
            texts.push(text.to_owned());
            Ok(())
        };
        kv.get(table, &[Value::Int(row as i64 + 1)], &mut each).unwrap();
    }
    texts.dedup();
    match &texts[..] {
        [] => 0,
        [text] => text.split_once(':').unwrap().0.parse().unwrap(),
        several => panic!("{} transactions are there in part", several.len()),
    }
}

fn check(durability: Durability, seed: u64) {
    let file = LossyFile::new(Vec::new(), seed);
    let kv = open(&file, durability).unwrap();
    for (content, _) in file.take_cuts() {
        match open(&LossyFile::new(content, seed), durability) {
            Ok(kv) => assert!(kv.tables().unwrap().is_empty()),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
        }
    }
    let table = create_items(&kv);
    kv.flush().unwrap();
    file.take_cuts();
    let mut random = Random(seed);
    for number in 1..=12 {
        commit(&kv, &table, &text(number, &mut random)).unwrap();
        let durable = match durability {
            Durability::Immediate => true,
            Durability::OnFlush => random.below(4) == 0,
        };
        if durable {
            kv.flush().unwrap();
            file.set_mark(number);
        }
        for (content, acknowledged) in file.take_cuts() {
            let left = open(&LossyFile::new(content, seed), durability).unwrap();
            let found = last(&left, &table);
            assert!((acknowledged..=number).contains(&found), "{found}, not {acknowledged}");
            // It goes on from there.
            commit(&left, &table, &text(99, &mut random)).unwrap();
            assert_eq!(last(&left, &table), 99);
        }
    }
    drop(kv);
}

#[test]
fn power_cuts_lose_no_acknowledged_transaction() {
    let programs = std::env::var("BOBAK_CUTS").map_or(4, |text| text.parse().unwrap());
    for seed in 0..programs {
        check(Durability::Immediate, seed);
        check(Durability::OnFlush, seed);
    }
}
