//! Migrations of a tracked table on MariaDB whose connection is lost at any message: the server commits each statement by
//! itself.

#![cfg(feature = "mysql")]

use bobak::changes::TrackOptions;
use bobak::migration::{self, Migrations};
use bobak::prelude::*;
use bobak_testkit::crash::kill_interval;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const TABLE: &str = "CREATE TABLE t (id BIGINT PRIMARY KEY, age VARCHAR(40), note VARCHAR(60))";
const STEPS: [&str; 3] = [
    "change column t {\"name\":\"age\",\"type\":\"i64\",\"nullable\":true}",
    "change column t {\"name\":\"note\",\"type\":\"text\",\"nullable\":false,\"max_chars\":50}",
    "rename column t.note to remark\ndrop column t.age",
];

/// A line to the server that passes so many messages on, and none afterwards.
struct Line {
    address: SocketAddr,
    passed: Arc<AtomicU64>,
}

impl Line {
    fn new(server: String, count: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, passed) = (listener.local_addr().unwrap(), Arc::new(AtomicU64::new(0)));
        let shared = Arc::clone(&passed);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, passed) = (TcpStream::connect(&server).unwrap(), Arc::clone(&shared));
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || {
                    pass(from, to, || passed.fetch_add(1, Ordering::SeqCst) < count)
                });
                std::thread::spawn(move || pass(server, client, || true));
            }
        });
        Self { address, passed }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, passes: impl Fn() -> bool) {
    let mut bytes = [0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !passes() || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    for line in [from, to] {
        // The other thread may have closed it.
        let _ = line.shutdown(Shutdown::Both);
    }
}

fn run(engine: &dyn bobak::engine::Engine, step: &str) -> bobak::Result<()> {
    let text = format!("bobak migration 1\nfirst\nup\n{step}\n");
    migration::up(engine, &Migrations::new([("step", text.as_str())])?).map(drop)
}

/// A tracked table that a replica has.
fn begin(db: &Db) -> bobak::replication::Replica {
    db.execute(TABLE, ()).unwrap();
    db.execute("INSERT INTO t VALUES (1, '7', 'a'), (2, NULL, ''), (3, '-5', 'ä')", ()).unwrap();
    db.track_table("t", TrackOptions::new()).unwrap();
    let mut replica = db.replicate_to(&Db::open("memory:").unwrap(), &[]).unwrap();
    replica.begin(|_| {}).unwrap();
    db.execute("UPDATE t SET age = '8', note = 'b' WHERE id = 1", ()).unwrap();
    replica
}

#[test]
fn a_tracked_table_keeps_its_log_if_the_connection_is_lost_at_any_message() {
    crate::engines::on_mariadb(|url| {
        for step in STEPS {
            let mut count = 8;
            loop {
                let db = Db::open(url).unwrap();
                let mut replica = begin(&db);
                let server = url.split(['@', '/']).nth(3).unwrap();
                let line = Line::new(server.to_owned(), count);
                let cut = url.replacen(server, &line.address.to_string(), 1);
                let first = bobak::engine::open(&cut).and_then(|engine| run(&*engine, step));
                let passed = line.passed.load(Ordering::SeqCst);
                // Messages after the last step only close connections.
                let is_whole = first.is_ok();
                assert!(is_whole || passed > count, "{step}, {count} messages: {first:?}");
                if first.is_err() {
                    let engine = db.engine().unwrap();
                    run(&*engine, step).unwrap_or_else(|error| panic!("{step}, {count}: {error}"));
                }
                while replica
                    .step(Duration::ZERO)
                    .unwrap_or_else(|error| panic!("{step}, {count}: {error}"))
                    .changes
                    > 0
                {}
                replica.check().unwrap_or_else(|error| panic!("{step}, {count}: {error}"));
                db.untrack_table("t").unwrap();
                db.execute("DROP TABLE t", ()).unwrap();
                db.execute("DROP TABLE bobak_migrations", ()).unwrap();
                if is_whole {
                    break;
                }
                count += kill_interval(11);
            }
            assert!(count > 30, "{count} messages");
        }
    });
}
