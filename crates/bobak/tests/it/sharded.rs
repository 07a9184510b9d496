//! PostgreSQL sharded by hash partitions and `postgres_fdw`: one coordinator, three shards, one of which is killed.

use bobak::prelude::*;
use bobak_servers::ShardedPostgres;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Record, Clone, Debug, PartialEq)]
struct Reading {
    id: i64,
    #[record(max = 40)]
    place: String,
    value: Currency,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Event {
    #[record(key = "given")]
    id: i64,
    part: i64,
}

/// How many rows are acknowledged together.
const PART: i64 = 100;

#[test]
fn three_shards_are_one_table_and_a_killed_one_loses_nothing_acknowledged() {
    if std::env::var_os("BOBAK_TEST_POSTGRES").is_none() {
        println!("not run: BOBAK_TEST_POSTGRES is not set (`cargo xtask test` sets it)");
        return;
    }
    let cluster = ShardedPostgres::start(3).unwrap();
    // Arrays are four times as fast as COPY here.
    let url = format!("{}?copy=off", cluster.coordinator().url());
    let open = || Db::builder().record::<Reading>().record::<Event>().open(&url).unwrap();
    open().create_missing_tables().unwrap();
    cluster.distribute("reading", "id").unwrap();
    cluster.distribute("event", "id").unwrap();
    let db = open();
    reads_and_writes(&cluster, &db);
    survives_a_kill(&cluster, &db);
}

fn reading(number: i64) -> Reading {
    Reading { id: 0, place: format!("Namé {number}"), value: Currency::from_scaled(number) }
}

fn reads_and_writes(cluster: &ShardedPostgres, db: &Db) {
    let mut batch = db.batch(BatchOptions::new());
    for number in 0..600 {
        batch.insert(&reading(number)).unwrap();
    }
    let report = batch.finish().unwrap();
    let readings = db.table::<Reading>().unwrap();
    for number in [0, 299, 599] {
        let id = report.generated_key::<i64>(number).unwrap();
        assert_eq!(readings.require(id).unwrap(), Reading { id, ..reading(number as i64) });
    }
    let rows = |shard: &bobak_servers::Postgres| {
        shard.run("SELECT count(*) FROM reading").unwrap().parse::<u64>().unwrap()
    };
    let parts: Vec<u64> = cluster.shards().iter().map(rows).collect();
    assert!(parts.iter().sum::<u64>() == 600 && parts.iter().all(|&rows| rows > 100), "{parts:?}");

    let dear = Reading::VALUE.gt(Currency::from_scaled(399));
    assert_eq!(readings.count(dear.clone()).unwrap(), 200);
    assert_eq!(readings.delete_where(dear).unwrap(), 200);
    let mut all = readings.list(Query::all()).unwrap();
    assert!(all.is_sorted_by_key(|reading| reading.id));
    let mut batch = db.batch(BatchOptions::new());
    for reading in &mut all {
        reading.place = "elsewhere".into();
        batch.update(reading).unwrap();
    }
    batch.finish().unwrap();
    assert_eq!(readings.list(Query::all()).unwrap(), all);
    let undone = db.transaction(|transaction| {
        transaction.table::<Reading>()?.delete_where(Reading::ID.gt(0))?;
        Err::<(), _>(Error::new(ErrorKind::Misuse, "on second thoughts"))
    });
    assert!(undone.is_err());
    assert_eq!(readings.count(Query::all()).unwrap(), 400);
}

/// Writes a part in one transaction, which may cross all shards.
fn write(db: &Db, part: i64) -> Result<(), Error> {
    let mut batch = db.batch(BatchOptions::new().keep_outcomes(false));
    for number in 0..PART {
        batch.insert(&Event { id: part * PART + number, part })?;
    }
    batch.finish().map(drop)
}

fn survives_a_kill(cluster: &ShardedPostgres, db: &Db) {
    let mut acknowledged = BTreeSet::new();
    for part in 0..10 {
        write(db, part).unwrap();
        acknowledged.insert(part);
    }
    let shard = &cluster.shards()[1];
    shard.kill().unwrap();
    // The commit over several shards is not atomic, so the outcome of failed parts is unspecified.
    for part in 10..13 {
        assert!(write(db, part).is_err(), "a shard is missing");
    }
    shard.restart().unwrap();
    // Connections of the coordinator to the killed shard fail once.
    let mut part = 13;
    while acknowledged.len() < 20 {
        if write(db, part).is_ok() {
            acknowledged.insert(part);
        }
        part += 1;
        assert!(part < 100, "the shard is not taken up again");
    }
    let mut rows = BTreeMap::new();
    for event in db.table::<Event>().unwrap().list(Query::all()).unwrap() {
        *rows.entry(event.part).or_insert(0) += 1;
    }
    for part in acknowledged {
        assert_eq!(rows.get(&part), Some(&PART), "part {part} was acknowledged");
    }
}
