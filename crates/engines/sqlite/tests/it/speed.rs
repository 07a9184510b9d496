//! The engine against plain C calls, interleaved. Measures; fails only if a result is wrong.
//!
//! `cargo test --release -p bobak-sqlite --test it speed -- --ignored --nocapture`

use crate::raw::{CREATE, Raw, Sample, cpu_time};
use bobak_core::{
    ColumnRole, ColumnSchema, Currency, DateTime, Engine, Field, FieldSet, GeneratedKey, OnError,
    Outcome, Row, Select, Session, Source, TableSchema, Timestamp, TransactionControl, Value, Verb,
    Write, WriteBatch,
};
use bobak_sqlite::{JournalMode, LockingMode, Sqlite, Synchronous};
use std::sync::Arc;
use std::time::Instant;

fn table() -> Arc<TableSchema> {
    let table = TableSchema::builder("sample")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("first_name").max_chars(40))
        .column(ColumnSchema::of::<String>("last_name").max_chars(40))
        .column(ColumnSchema::of::<Currency>("amount"))
        .column(ColumnSchema::of::<DateTime>("birth_date"))
        .column(ColumnSchema::of::<Timestamp>("last_change").role(ColumnRole::ModifiedAt))
        .column(ColumnSchema::of::<Timestamp>("created_at").role(ColumnRole::CreatedAt))
        .key(["id"])
        .build();
    Arc::new(table.unwrap())
}

fn samples(count: i64) -> Vec<Sample> {
    let row = |at: i64| Sample {
        id: at + 1,
        first_name: format!("Namé {at}"),
        last_name: at.to_string(),
        numbers: [at * 100, at * 86_400_000_000, 1_700_000_000_000_000, 1_700_000_000_000_000 + at],
    };
    (0..count).map(row).collect()
}

fn values(row: &Sample) -> [Value<'_>; 7] {
    let [a, b, c, d] = row.numbers.map(Value::Int);
    [Value::Null, row.first_name.as_str().into(), row.last_name.as_str().into(), a, b, c, d]
}

fn read(row: &dyn Row) -> bobak_core::Result<Sample> {
    let number = |column| i64::from_value(row.get(column));
    Ok(Sample {
        id: number(0)?,
        first_name: String::from_value(row.get(1))?,
        last_name: String::from_value(row.get(2))?,
        numbers: [number(3)?, number(4)?, number(5)?, number(6)?],
    })
}

#[inline(never)]
fn direct(session: &dyn Session, table: &Arc<TableSchema>, rows: &[Sample]) -> Vec<i64> {
    let mut keys = Vec::with_capacity(rows.len());
    for row in rows {
        let values = &values(row);
        let write = Write { table, verb: Verb::Insert, fields: FieldSet::EMPTY, values };
        match session.write(&write).unwrap() {
            Outcome::Inserted(Some(GeneratedKey::Int(key))) => keys.push(key),
            other => panic!("{other:?}"),
        }
    }
    keys
}

/// As many rows as are sent at once, inside the transaction.
const PART: usize = 10_000;

#[inline(never)]
fn batch(session: &dyn Session, table: &Arc<TableSchema>, rows: &[Sample]) -> Vec<i64> {
    let mut keys = Vec::with_capacity(rows.len());
    let mut batch = WriteBatch::new();
    for part in rows.chunks(PART) {
        batch.clear();
        for row in part {
            let values = &values(row);
            let write = Write { table, verb: Verb::Insert, fields: FieldSet::EMPTY, values };
            batch.push(&write).unwrap();
        }
        let mut each = |outcome: bobak_core::Result<Outcome>| match outcome {
            Ok(Outcome::Inserted(Some(GeneratedKey::Int(key)))) => keys.push(key),
            other => panic!("{other:?}"),
        };
        session.batch(&batch, OnError::Stop, &mut each).unwrap();
    }
    keys
}

#[inline(never)]
fn by_one(engine: &Sqlite, table: &Arc<TableSchema>, keys: impl Iterator<Item = i64>) -> i64 {
    let mut sum = 0;
    for key in keys {
        // A session each time, as the facade has it.
        let session = engine.session().unwrap();
        let found = session.get(table, &[Value::Int(key)], &mut |row| {
            sum += read(row)?.numbers[0];
            Ok(())
        });
        assert!(found.unwrap());
    }
    sum
}

#[inline(never)]
fn all(session: &dyn Session, table: &Arc<TableSchema>) -> Vec<Sample> {
    let mut rows = Vec::new();
    let select = Select::all(table);
    session
        .query(&Source::Select(&select), &mut |row| {
            rows.push(read(row)?);
            Ok(true)
        })
        .unwrap();
    rows
}

#[inline(never)]
fn touch(session: &dyn Session, table: &Arc<TableSchema>) -> i64 {
    let mut sum = 0;
    let select = Select::all(table);
    let mut each = |row: &dyn Row| {
        for column in 0..7 {
            sum += match row.get(column) {
                bobak_core::ValueRef::Int(number) => number,
                bobak_core::ValueRef::Text(text) => text.len() as i64,
                _ => 0,
            };
        }
        Ok(true)
    };
    session.query(&Source::Select(&select), &mut each).unwrap();
    sum
}

/// One cell: both contenders, interleaved; the median of the ratios, and the ratio of the best rates, on which
/// a busy machine has less effect.
struct Cell {
    name: String,
    rates: Vec<(f64, f64)>,
}

impl Cell {
    fn show(mut self) {
        self.rates.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let (ours, raw) = self.rates[self.rates.len() / 2];
        let best = |contender: fn(&(f64, f64)) -> f64| {
            self.rates.iter().map(contender).fold(0.0, f64::max)
        };
        let of_best = best(|rate| rate.0) / best(|rate| rate.1);
        println!("{:28} {ours:>9.0} {raw:>9.0} {:>6.3} {of_best:>6.3}", self.name, ours / raw);
    }
}

/// Rows per second of this thread's own time, which a busy machine disturbs less; of the clock's
/// time where a call waits for the disk.
fn timed<T>(rows: usize, synced: bool, work: impl FnOnce() -> T) -> (f64, T) {
    let (start, cpu) = (Instant::now(), cpu_time());
    let result = work();
    let time = if synced { start.elapsed().as_secs_f64() } else { cpu_time() - cpu };
    (rows as f64 / time, result)
}

struct Mode {
    name: &'static str,
    pragmas: &'static str,
    settings: fn(bobak_sqlite::SqliteBuilder) -> bobak_sqlite::SqliteBuilder,
    file: bool,
    synced: bool,
}

const MODES: [Mode; 4] = [
    Mode { name: "memory", pragmas: "", settings: |builder| builder, file: false, synced: false },
    Mode {
        name: "off exclusive",
        pragmas: "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = delete; PRAGMA synchronous = off",
        settings: |builder| {
            builder
                .locking(LockingMode::Exclusive)
                .journal_mode(JournalMode::Delete)
                .synchronous(Synchronous::Off)
        },
        file: true,
        synced: false,
    },
    Mode {
        name: "wal full",
        pragmas: "PRAGMA journal_mode = wal; PRAGMA synchronous = full",
        settings: |builder| builder,
        file: true,
        synced: true,
    },
    Mode {
        name: "wal normal",
        pragmas: "PRAGMA journal_mode = wal; PRAGMA synchronous = normal",
        settings: |builder| builder.synchronous(Synchronous::Normal),
        file: true,
        synced: false,
    },
];

#[test]
#[ignore = "measures; to be run in a release build"]
fn speed() {
    let number = |name: &str, usual: i64| std::env::var(name).map_or(usual, |n| n.parse().unwrap());
    let rows = samples(number("ROWS", 100_000));
    let only = std::env::var("MODE").unwrap_or_default();
    let repeat = number("REPEAT", 9);
    for mode in MODES.iter().filter(|mode| mode.name.contains(&only)) {
        let mut cells: Vec<_> = ["direct", "batch trans", "by one", "all owned", "all borrowed"]
            .iter()
            .map(|cell| Cell { name: format!("{} {cell}", mode.name), rates: Vec::new() })
            .collect();
        for _ in 0..repeat {
            run_once(mode, &rows, &mut cells);
        }
        cells.into_iter().for_each(Cell::show);
    }
}

/// Every cell once, each right after its raw contender.
fn run_once(mode: &Mode, rows: &[Sample], cells: &mut [Cell]) {
    let folder = tempfile::tempdir().unwrap();
    let table = table();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let open = |name: &str| {
        let builder = (mode.settings)(Sqlite::builder());
        let engine = if mode.file { builder.open(path(name)) } else { builder.open_memory() };
        let engine = engine.unwrap();
        crate::support::create(&engine, &[&table]);
        engine
    };
    let open_raw = |name: &str| {
        let path = if mode.file { path(name) } else { ":memory:".to_owned() };
        let raw = Raw::open(&path, mode.pragmas);
        raw.exec(CREATE);
        raw
    };
    let few = if mode.synced { &rows[..500.min(rows.len())] } else { rows };
    let (engine, other) = (open("a"), open_raw("b"));
    let (raw, _) = timed(few.len(), mode.synced, || other.insert(few));
    let session = engine.session().unwrap();
    let (ours, keys) = timed(few.len(), mode.synced, || direct(&*session, &table, few));
    assert!(keys.into_iter().eq(1..=few.len() as i64));
    cells[0].rates.push((ours, raw));

    let (engine, other) = (open("c"), open_raw("d"));
    let session = engine.session().unwrap();
    let (raw, _) = timed(rows.len(), false, || {
        other.exec("BEGIN");
        let keys = other.insert(rows);
        other.exec("COMMIT");
        keys
    });
    let (ours, keys) = timed(rows.len(), false, || {
        session.control(TransactionControl::Begin).unwrap();
        let keys = batch(&*session, &table, rows);
        session.control(TransactionControl::Commit).unwrap();
        keys
    });
    assert!(keys.into_iter().eq(1..=rows.len() as i64));
    cells[1].rates.push((ours, raw));

    let order = || (0..rows.len() as i64).map(|at| at * 7_919 % rows.len() as i64 + 1);
    let (raw, sum) = timed(rows.len(), false, || other.by_one(order()));
    let (ours, same) = timed(rows.len(), false, || by_one(&engine, &table, order()));
    assert_eq!(sum, same);
    cells[2].rates.push((ours, raw));
    let (raw, _) = timed(rows.len(), false, || other.all());
    let (ours, found) = timed(rows.len(), false, || all(&*session, &table));
    assert!(found == rows);
    cells[3].rates.push((ours, raw));
    let (raw, sum) = timed(rows.len(), false, || other.touch());
    let (ours, same) = timed(rows.len(), false, || touch(&*session, &table));
    assert_eq!(sum, same);
    cells[4].rates.push((ours, raw));
}
