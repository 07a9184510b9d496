//! A Galera cluster of three MariaDB nodes: a row written on one node is read on another, and a client continues on
//! another node if its own is killed.

use bobak::prelude::*;
use bobak_servers::Galera;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Record, Clone, Debug, PartialEq)]
struct Order {
    id: i64,
    #[record(max = 40)]
    item: String,
    price: Currency,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Event {
    #[record(key = "given")]
    id: i64,
    part: i64,
}

/// How many rows are acknowledged together.
const PART: i64 = 500;

#[test]
fn three_nodes_are_one_database_and_a_killed_one_loses_nothing() {
    if std::env::var_os("BOBAK_TEST_MARIADB").is_none() {
        println!("not run: BOBAK_TEST_MARIADB is not set (`cargo xtask test` sets it)");
        return;
    }
    let cluster = Galera::start().unwrap();
    let hosts: Vec<String> =
        cluster.nodes().iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
    // The first node, and the others after it is killed. Reads wait for the writes of other nodes.
    let open = |hosts: &[String]| {
        let url = format!("mysql://bobak@{}/bobak?wsrep_sync_wait=1", hosts.join(","));
        Db::builder().record::<Order>().record::<Event>().open(&url).unwrap()
    };
    let (first, second, third) = (open(&hosts), open(&hosts[1..]), open(&hosts[2..]));
    first.create_missing_tables().unwrap();
    reads_at_once(&first, &third);
    conflicts(&first, &second);
    survives_a_kill(&cluster, &first, &second);
}

/// Generated keys are neither dense nor in order: each row is found by its key.
fn reads_at_once(writer: &Db, reader: &Db) {
    let order = |number: i64| Order {
        id: 0,
        item: format!("Namé {number}"),
        price: Currency::from_scaled(number),
    };
    let mut batch = writer.batch(BatchOptions::new());
    for number in 0..300 {
        batch.insert(&order(number)).unwrap();
    }
    let report = batch.finish().unwrap();
    let orders = reader.table::<Order>().unwrap();
    for number in 0..300 {
        let id = report.generated_key::<i64>(number).unwrap();
        assert_eq!(orders.require(id).unwrap(), Order { id, ..order(number as i64) });
    }
    // One after the other, each read immediately on another node.
    for number in 0..50 {
        let id = writer.table::<Order>().unwrap().insert(&order(number)).unwrap();
        assert!(orders.get(id).unwrap().is_some(), "order {id} is not there yet");
    }
}

/// Two nodes change a row at the same time: the later commit is rejected, and may be retried.
fn conflicts(first: &Db, second: &Db) {
    let row = first.table::<Order>().unwrap().list(Query::all().limit(1)).unwrap().remove(0);
    let change = |price| Order { price: Currency::from_scaled(price), ..row.clone() };
    let slow = first.begin().unwrap();
    slow.table::<Order>().unwrap().update(&change(1_111)).unwrap();
    second.table::<Order>().unwrap().update(&change(2_222)).unwrap();
    let error = slow.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Serialization, "{error}");
    assert!(error.is_retryable());
    let now = first.table::<Order>().unwrap().require(row.id).unwrap();
    assert_eq!(now.price, Currency::from_scaled(2_222));
}

/// Parts of a batch that were sent while a node was killed.
#[derive(Default)]
struct Sent {
    /// `finish` returned `Ok`.
    acknowledged: BTreeSet<i64>,
    /// The outcome is unknown.
    unknown: BTreeSet<i64>,
}

fn survives_a_kill(cluster: &Galera, writer: &Db, reader: &Db) {
    let acknowledged = AtomicUsize::new(0);
    let sent = std::thread::scope(|scope| {
        let writing = scope.spawn(|| write_parts(writer, &acknowledged));
        while acknowledged.load(Ordering::Relaxed) < 5 && !writing.is_finished() {
            std::thread::yield_now();
        }
        cluster.nodes()[0].kill().unwrap();
        writing.join().unwrap()
    });
    let parts = parts_of(reader);
    for part in &sent.acknowledged {
        assert!(parts.contains(part), "part {part} was acknowledged and is lost");
    }
    for part in &parts {
        assert!(sent.acknowledged.contains(part) || sent.unknown.contains(part), "part {part}");
    }
    // The node catches up when it rejoins.
    cluster.rejoin(0).unwrap();
    let url = format!("{}?wsrep_sync_wait=1", cluster.nodes()[0].url());
    let back = Db::builder().record::<Event>().open(&url).unwrap();
    assert_eq!(parts_of(&back), parts);
}

/// Writes part after part until thirty are acknowledged. A part that failed with nothing committed is sent again, one
/// with an unknown outcome is not.
fn write_parts(db: &Db, acknowledged: &AtomicUsize) -> Sent {
    let mut sent = Sent::default();
    let (mut part, mut failures) = (0, 0);
    while sent.acknowledged.len() < 30 {
        let written = (|| {
            let mut batch = db.batch(BatchOptions::new().keep_outcomes(false));
            for number in 0..PART {
                batch.insert(&Event { id: part * PART + number, part })?;
            }
            batch.finish()
        })();
        match written {
            Ok(_) => {
                sent.acknowledged.insert(part);
                acknowledged.store(sent.acknowledged.len(), Ordering::Relaxed);
            }
            Err(error) if error.is_retryable() => {
                // The cluster takes seconds to notice a missing node. After two minutes it is an error.
                failures += 1;
                assert!(failures < 600, "{error}");
                std::thread::sleep(Duration::from_millis(200));
                continue;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
                sent.unknown.insert(part);
            }
        }
        part += 1;
    }
    sent
}

/// The stored parts, each of which must be whole.
fn parts_of(db: &Db) -> BTreeSet<i64> {
    let events = db.table::<Event>().unwrap();
    let query = Query::all().group_by(Event::PART);
    let counts = events.select(query, (Event::PART, bobak::count())).unwrap();
    assert!(counts.iter().all(|(_, rows)| *rows == PART), "{counts:?}");
    counts.into_iter().map(|(part, _)| part).collect()
}
