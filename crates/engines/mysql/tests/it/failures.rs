//! What goes wrong between a program and its server: one error of the right kind each, saying what
//! is known of the rows that were sent; never a row twice.

use crate::proxy::{Cut, Proxy};
use crate::stores::{Database, run, server};
use bobak_core::{Engine, Error, ErrorKind, OnError, Result, TransactionControl};
use bobak_mysql::{MySql, MySqlBuilder, Tls};
use bobak_testkit::{Entry, Probe, create, row, statement_ends, tables};
use std::time::Duration;

/// `host:port` of a URL.
fn address(url: &str) -> String {
    let place = url.rsplit_once('@').map_or(url, |(_, place)| place);
    place.split(['/', '?']).next().unwrap().to_owned()
}

pub fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|error: Error| error.kind())
}

/// A database reached through a line that can be cut, and one reached straight.
fn cuttable(url: &str) -> (Database, Proxy, MySql, MySql) {
    let database = Database::new(url).unwrap();
    let proxy = Proxy::new(address(url));
    let through = url.replace(&address(url), &proxy.address.to_string());
    let settings = MySqlBuilder::from_url(&through).unwrap().database(database.name.clone());
    let engine = settings.connect_timeout(Duration::from_secs(2)).connect().unwrap();
    let straight = database.settings.clone().connect().unwrap();
    create(&straight, &[&tables::mark().unwrap()]).unwrap();
    (database, proxy, engine, straight)
}

fn count(engine: &MySql) -> usize {
    Probe::new(engine).unwrap().count(&tables::mark().unwrap()).unwrap()
}

#[test]
fn an_interrupted_statement_is_rolled_back() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).unwrap();
    let engine = database.settings.clone().connect().unwrap();
    statement_ends(&engine, "INSERT INTO slow SELECT SLEEP(60)").unwrap();
}

#[test]
fn an_unreachable_server_is_reported_at_once() {
    let Some(url) = server() else { return };
    let settings = || MySqlBuilder::from_url(&url).unwrap();
    let down = MySql::builder("127.0.0.1", 1).connect_timeout(Duration::from_secs(2));
    assert_eq!(kind(down.connect()), Some(ErrorKind::Unreachable));
    let wrong = settings().user("nobody_of_this_name").password("wrong").connect();
    let error = wrong.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(!error.to_string().contains("wrong"), "{error}");
    assert_eq!(kind(settings().database("no_such_database").connect()), Some(ErrorKind::Schema));
    // Either there is no TLS, or it is done.
    let tls = settings().tls(Tls::Require).connect();
    assert!(matches!(kind(tls), None | Some(ErrorKind::Unsupported)));
    // The next host is gone to.
    let (host, port) = address(&url)
        .split_once(':')
        .map(|(h, p)| (h.to_owned(), p.parse::<u16>().unwrap()))
        .unwrap();
    let login = url.trim_start_matches("mysql://").rsplit_once('@').unwrap().0.to_owned();
    let several = format!("mysql://{login}@127.0.0.1:1,{host}:{port}/");
    assert!(MySql::open(&several).unwrap().capabilities().sql);
}

#[test]
fn a_connection_that_breaks_in_a_transaction_leaves_nothing() {
    let Some(url) = server() else { return };
    let (_database, proxy, engine, straight) = cuttable(&url);
    let mark = tables::mark().unwrap();
    let probe = Probe::new(&engine).unwrap();
    probe.control(TransactionControl::Begin).unwrap();
    probe.insert(&mark, row![1, 1]).unwrap();
    proxy.cut();
    assert_eq!(kind(probe.insert(&mark, row![2, 2])), Some(ErrorKind::Unreachable));
    assert_eq!(kind(probe.insert(&mark, row![3, 3])), Some(ErrorKind::Unreachable));
    proxy.restore();
    assert_eq!(kind(probe.control(TransactionControl::Commit)), Some(ErrorKind::Unreachable));
    assert_eq!(count(&straight), 0);
    // The session goes on, on a new connection.
    probe.insert(&mark, row![4, 4]).unwrap();
    assert_eq!(count(&straight), 1);
}

#[test]
fn a_commit_whose_reply_is_lost_is_unknown() {
    let Some(url) = server() else { return };
    for (cut, there) in [(Cut::Before("COMMIT"), 0), (Cut::After("COMMIT"), 2)] {
        let (_database, proxy, engine, straight) = cuttable(&url);
        let mark = tables::mark().unwrap();
        let probe = Probe::new(&engine).unwrap();
        let rows = [Entry::insert(&mark, row![1, 1]), Entry::insert(&mark, row![2, 2])];
        proxy.cut_at(cut);
        let sent = probe.batch(&rows, OnError::Stop);
        assert_eq!(kind(sent.whole), Some(ErrorKind::Unknown));
        // The server has the commit, and may still be at it.
        for _ in 0..1_000 {
            if count(&straight) == there {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(count(&straight), there, "never more, never twice");
    }
}

#[test]
fn a_connection_that_breaks_in_a_batch_leaves_nothing() {
    let Some(url) = server() else { return };
    let (_database, proxy, engine, straight) = cuttable(&url);
    let mark = tables::mark().unwrap();
    let probe = Probe::new(&engine).unwrap();
    let rows: Vec<_> = (0..3_000).map(|n| Entry::insert(&mark, row![n, n])).collect();
    proxy.cut_at(Cut::Before("INSERT INTO"));
    let sent = probe.batch(&rows, OnError::Continue);
    assert_eq!(kind(sent.whole), Some(ErrorKind::Unreachable));
    assert_eq!(count(&straight), 0);
    proxy.restore();
    probe.batch(&rows, OnError::Stop).outcomes().unwrap();
    assert_eq!(count(&straight), 3_000);
}

#[test]
fn a_read_survives_the_loss_of_an_idle_connection() {
    let Some(url) = server() else { return };
    let (_database, proxy, engine, _straight) = cuttable(&url);
    assert_eq!(count(&engine), 0);
    proxy.cut();
    proxy.restore();
    assert_eq!(count(&engine), 0);
    proxy.cut();
    assert_eq!(
        kind(Probe::new(&engine).unwrap().all(&tables::mark().unwrap())),
        Some(ErrorKind::Unreachable)
    );
    proxy.restore();
    assert_eq!(count(&engine), 0);
}

#[test]
fn tables_that_differ_from_their_schema_are_rejected() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).unwrap();
    let engine = database.settings.clone().connect().unwrap();
    let mark = tables::mark().unwrap();
    let probe = Probe::new(&engine).unwrap();
    assert_eq!(kind(probe.insert(&mark, row![1, 1])), Some(ErrorKind::Schema));
    run(&engine, "CREATE TABLE mark (a TINYINT NOT NULL, b DATE NOT NULL, PRIMARY KEY (a, b))")
        .unwrap();
    let error = probe.insert(&mark, row![1, 99]).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Mismatch, Some("mark")));
    run(&engine, "ALTER TABLE mark MODIFY b INT NOT NULL").unwrap();
    let error = probe.insert(&mark, row![300, 1]).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some("a")));
}

#[test]
fn a_deadlock_is_a_conflict_that_can_be_retried() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).unwrap();
    let engine = database.settings.clone().busy_timeout(Duration::from_secs(10)).connect().unwrap();
    let document = tables::document().unwrap();
    let probe = Probe::with_tables(&engine, &[&document]).unwrap();
    probe.insert_all(&document, [row![1, "a", 0, 0], row![2, "b", 0, 0]]).unwrap();
    let add = |probe: &Probe<'_>, id: i64| {
        let assign = bobak_core::Assign::Add { column: 2, value: 1.into() };
        let condition = bobak_core::Condition::Compare {
            column: 0,
            comparison: bobak_core::Comparison::Equal,
            value: id.into(),
        };
        probe.change(&document, Some(condition), &[assign]).map(drop)
    };
    let barrier = std::sync::Barrier::new(2);
    let both = |first: i64, second: i64| -> Result<()> {
        let probe = Probe::new(&engine)?;
        probe.control(TransactionControl::Begin)?;
        add(&probe, first)?;
        barrier.wait();
        add(&probe, second)?;
        probe.control(TransactionControl::Commit)
    };
    let kinds = std::thread::scope(|scope| {
        let other = scope.spawn(|| kind(both(2, 1)));
        [kind(both(1, 2)), other.join().unwrap()]
    });
    assert!(kinds.contains(&None) && kinds.contains(&Some(ErrorKind::Serialization)), "{kinds:?}");
    assert!(ErrorKind::Serialization.is_retryable());
}

#[test]
fn a_statement_that_exceeds_the_timeout_is_ended() {
    let Some(url) = server() else { return };
    let settings = MySqlBuilder::from_url(&url).unwrap();
    let engine = settings.statement_timeout(Some(Duration::from_millis(300))).connect().unwrap();
    let probe = Probe::new(&engine).unwrap();
    let text =
        "SELECT COUNT(*) FROM seq_1_to_1000000 AS a JOIN seq_1_to_1000000 AS b ON a.seq <> b.seq";
    let source = bobak_core::Source::Sql { text, parameters: &[] };
    assert_eq!(kind(probe.query(&source)), Some(ErrorKind::Timeout));
    let one = bobak_core::Source::Sql { text: "SELECT 1", parameters: &[] };
    assert_eq!(probe.query(&one).unwrap(), [row![1]]);
}

#[test]
fn a_reader_that_stops_ends_a_long_reply() {
    let Some(url) = server() else { return };
    let engine = MySql::open(&url).unwrap();
    let probe = Probe::new(&engine).unwrap();
    let text = "SELECT a.seq FROM seq_1_to_1000000 AS a JOIN seq_1_to_1000 AS b";
    let source = bobak_core::Source::Sql { text, parameters: &[] };
    let mut seen = 0;
    let stopped = probe.session.query(&source, &mut |_| {
        seen += 1;
        Ok(seen < 10)
    });
    stopped.unwrap();
    let mut cursor = probe.session.open(&source).unwrap();
    assert!(!probe.fetch(&mut cursor).unwrap().is_empty());
    probe.session.close(&mut cursor);
    assert_eq!(seen, 10);
}

#[test]
fn long_values_are_read_back_or_rejected() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).unwrap();
    let engine = database.settings.clone().connect().unwrap();
    let bytes = |name| bobak_core::ColumnSchema::of::<Option<Vec<u8>>>(name);
    let table = bobak_core::TableSchema::builder("long_values")
        .column(bobak_core::ColumnSchema::of::<i64>("id"))
        .column(bytes("a"))
        .column(bytes("b"))
        .key(["id"])
        .build()
        .map(std::sync::Arc::new)
        .unwrap();
    create(&engine, &[&table]).unwrap();
    let probe = Probe::new(&engine).unwrap();
    let long = |mebibytes: usize| vec![7_u8; mebibytes << 20];
    // Longer together than a packet of the server's default.
    probe.insert(&table, row![1, long(10), long(10)]).unwrap();
    let entry = Entry::insert(&table, row![2, long(10), long(11)]);
    probe.batch(&[entry], OnError::Stop).whole.unwrap();
    assert_eq!(probe.get(&table, row![1]).unwrap(), Some(row![1, long(10), long(10)]));
    assert_eq!(probe.all(&table).unwrap().len(), 2);
    let rejected = row![3, long(17), bobak_testkit::NULL];
    let alone = probe.insert(&table, rejected.clone()).unwrap_err();
    let batch = probe.batch(&[Entry::insert(&table, rejected.clone())], OnError::Stop).whole;
    let update = probe.update(&table, row![1, long(17), bobak_testkit::NULL]).unwrap_err();
    for error in [alone, batch.unwrap_err(), update] {
        assert_eq!((error.kind(), error.table()), (ErrorKind::OutOfRange, Some("long_values")));
        assert!(error.message().contains("max_allowed_packet"), "{error}");
    }
    assert_eq!(probe.all(&table).unwrap().len(), 2, "the connection goes on");
}
