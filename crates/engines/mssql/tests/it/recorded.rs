//! The client against a peer that sends recorded responses: what the server says, and what the client makes of it.

use crate::peer::{
    BIGINT, NVARCHAR, Peer, PeerAction, columns, committed, done, error, integer, result,
    rolled_back, text, utf16,
};
use bobak_core::TransactionControl::{Begin, Commit};
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, Interrupt, OnError, Outcome, Parameter, Source, TableSchema,
    Type,
};
use bobak_mssql::{Mssql, MssqlBuilder};
use bobak_testkit::{Entry, NULL, Probe, row, tables};
use std::sync::Arc;
use std::time::Duration;

fn kind_of(url: &str) -> (ErrorKind, String) {
    let builder = MssqlBuilder::from_url(url).unwrap().connect_timeout(Duration::from_secs(5));
    let error = builder.connect().unwrap_err();
    (error.kind(), error.message().to_owned())
}

fn idle() -> Peer {
    Peer::start(|_| PeerAction::Reply(done(0, 0)))
}

fn sql(text: &str) -> Source<'_> {
    Source::Sql { text, parameters: &[] }
}

#[test]
fn wrong_places_and_passwords_are_explained() {
    let (kind, message) = kind_of("mssql://a:secret@127.0.0.1:1/x");
    assert_eq!(kind, ErrorKind::Unreachable, "{message}");
    assert!(!message.contains("secret"));
    let peer = idle();
    assert!(Mssql::open(&peer.url("")).is_ok());
    let (kind, message) = kind_of(&peer.url("").replace("secret", "wrong"));
    assert_eq!(kind, ErrorKind::Denied, "{message}");
    let (kind, message) = kind_of(&peer.url("").replace("disable", "require"));
    assert_eq!(kind, ErrorKind::Denied, "{message}");
    assert!(message.contains("encrypt=prefer"), "{message}");
    assert!(Mssql::open(&peer.url("").replace("disable", "prefer")).is_ok());
}

#[test]
fn another_server_is_no_sql_server() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Until the client gives up.
        let _ = std::io::Read::read_to_end(&mut stream, &mut Vec::new());
    });
    let (kind, message) = kind_of(&format!("mssql://a:b@127.0.0.1:{port}/x"));
    assert_eq!(kind, ErrorKind::Config, "{message}");
    thread.join().unwrap();
}

#[test]
fn a_server_that_says_nothing_is_a_timeout() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let builder = MssqlBuilder::from_url(&format!("mssql://a:b@{place}/x")).unwrap();
    let error = builder.connect_timeout(Duration::from_millis(200)).connect().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.message().ends_with("did not answer in time (`connect_timeout`)"), "{error}");
}

#[test]
fn values_of_every_type_arrive() {
    let described: [(&str, &[u8]); 14] = [
        ("int", &[0x38]),
        ("tinyint", &[0x26, 1]),
        ("bit", &[0x68, 1]),
        ("float", &[0x6d, 8]),
        ("real", &[0x3b]),
        ("decimal", &[0x6a, 9, 10, 2]),
        ("long", &[0x6c, 17, 38, 6]),
        ("money", &[0x6e, 8]),
        ("date", &[0x28]),
        ("datetime2", &[0x2a, 7]),
        ("datetime", &[0x6f, 8]),
        ("guid", &[0x24, 16]),
        ("varchar", &[0xa7, 20, 0, 9, 4, 0xd0, 0, 52]),
        ("max", &[0xe7, 255, 255, 9, 4, 0xd0, 0, 52]),
    ];
    // 2026-01-31 is the day 739,646 since 0001-01-01 and 46,051 since 1900-01-01.
    let day = 739_646_u32.to_le_bytes();
    let noon = (12 * 3_600 * 10_000_000_u64 + 10).to_le_bytes();
    let mut long = vec![17, 0];
    long.extend(1_500_000_u128.to_le_bytes());
    let whole = utf16("Grüße 🙂");
    let mut parts = (whole.len() as u64).to_le_bytes().to_vec();
    for part in whole.chunks(5) {
        parts.extend((part.len() as u32).to_le_bytes());
        parts.extend_from_slice(part);
    }
    parts.extend([0; 4]);
    let values = vec![
        (-7_i32).to_le_bytes().to_vec(),
        vec![1, 200],
        vec![1, 1],
        [vec![8], 0.5_f64.to_le_bytes().to_vec()].concat(),
        (-1.5_f32).to_le_bytes().to_vec(),
        vec![9, 1, 0xd2, 4, 0, 0, 0, 0, 0, 0],
        long,
        // -1.2345: the high half comes first.
        [vec![8], (-1_i32).to_le_bytes().to_vec(), (-12_345_i32).to_le_bytes().to_vec()].concat(),
        [&[3][..], &day[..3]].concat(),
        [&[8][..], &noon[..5], &day[..3]].concat(),
        [vec![8], 46_051_i32.to_le_bytes().to_vec(), 300_u32.to_le_bytes().to_vec()].concat(),
        [vec![16], (0..16).collect()].concat(),
        [vec![4, 0], b"caf\xe9".to_vec()].concat(),
        parts,
    ];
    let nulls = vec![0xd2, 0xee, 0x3f, 0xf9, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    let response =
        [columns(&described), vec![0xd1], values.concat(), nulls, done(0x10, 2)].concat();
    let peer = Peer::start(move |_| PeerAction::Reply(response.clone()));
    let engine = Mssql::open(&peer.url("")).unwrap();
    let rows = Probe::new(&engine).unwrap().query(&sql("select * from t")).unwrap();
    let guid = vec![3_u8, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let (day, hour) = (86_400_000_000_i64, 3_600_000_000_i64);
    let moment = 20_484 * day + 12 * hour + 1;
    let expected = row![
        -7,
        200,
        1,
        0.5,
        -1.5,
        123_400,
        "-1.5",
        -12_345,
        20_484,
        moment,
        20_484 * day + 1_000_000,
        guid,
        "café",
        "Grüße 🙂"
    ];
    assert_eq!(rows.first(), Some(&expected));
    // The fixed types have values, all others are NULL.
    let mut nulls = vec![NULL; 14];
    (nulls[0], nulls[4]) = ((-7).into(), 0.0.into());
    assert_eq!(rows.get(1), Some(&nulls));
}

#[test]
fn error_numbers_have_kinds() {
    for (number, kind) in [
        (2_627, ErrorKind::Duplicate),
        (2_601, ErrorKind::Duplicate),
        (547, ErrorKind::Constraint),
        (515, ErrorKind::Constraint),
        (1_205, ErrorKind::Busy),
        (3_960, ErrorKind::Busy),
        (1_222, ErrorKind::Busy),
        (8_152, ErrorKind::TooLong),
        (2_628, ErrorKind::TooLong),
        (8_115, ErrorKind::OutOfRange),
        (208, ErrorKind::Schema),
        (102, ErrorKind::Syntax),
        (229, ErrorKind::Denied),
        (3_906, ErrorKind::ReadOnly),
        (9_002, ErrorKind::Full),
        (50_000, ErrorKind::Engine),
    ] {
        let response = [error(number, 16, "It failed."), done(2, 0)].concat();
        let peer = Peer::start(move |_| PeerAction::Reply(response.clone()));
        let engine = Mssql::open(&peer.url("busy_timeout=1")).unwrap();
        let failed = engine.session().unwrap().execute("delete from t", &[]).unwrap_err();
        assert_eq!(failed.kind(), kind, "{number}: {failed}");
        // The connection is as good as before.
        assert!(engine.session().unwrap().execute("delete from t", &[]).is_err());
    }
}

#[test]
fn constraints_are_found_by_their_names() {
    let table = Arc::new(
        TableSchema::builder("place")
            .column(ColumnSchema::of::<i64>("number").check("number > 0"))
            .column(ColumnSchema::of::<Option<String>>("mail").unique())
            .key(["number"])
            .given_key()
            .build()
            .unwrap(),
    );
    let texts = bobak_mssql::statements(&table).unwrap().join("\n");
    let name = |mark: &str| {
        let at = texts.find(mark).unwrap();
        texts[at..at + mark.len() + 16].to_owned()
    };
    let (check, key, index) = (name("bobak_c"), name("bobak_k"), name("bobak_i"));
    let duplicate = |name: &str| {
        format!(
            "Violation of UNIQUE KEY constraint '{name}'. Cannot insert duplicate key in object 'dbo.place'."
        )
    };
    for (number, message, kind, column) in [
        (2_627, duplicate(&key), ErrorKind::Duplicate, "number"),
        (2_601, duplicate(&index), ErrorKind::Duplicate, "mail"),
        (
            547,
            format!("The INSERT statement conflicted with the CHECK constraint \"{check}\"."),
            ErrorKind::Constraint,
            "number",
        ),
    ] {
        let response = [error(number, 14, &message), done(2, 0)].concat();
        let peer = Peer::start(move |_| PeerAction::Reply(response.clone()));
        let engine = Mssql::open(&peer.url("")).unwrap();
        let probe = Probe::new(&engine).unwrap();
        let failed = probe.insert(&table, row![1, "x"]).unwrap_err();
        assert_eq!((failed.kind(), failed.table()), (kind, Some("place")), "{failed}");
        if number != 547 {
            assert_eq!(failed.column(), Some(column), "{failed}");
        }
    }
}

#[test]
fn a_delete_that_rows_keep_names_the_table_that_refers() {
    let peer = Peer::start(|request| {
        if request.sql.contains("sys.foreign_keys") {
            let row = vec![text("visit"), text("visitor")];
            return PeerAction::Reply(result(&[("t", NVARCHAR), ("c", NVARCHAR)], &[row]));
        }
        let message = "The DELETE statement conflicted with the REFERENCE constraint \"FK_visit\". The conflict occurred \
                       in database \"x\", table \"dbo.visit\", column 'visitor'.";
        PeerAction::Reply([error(547, 16, message), done(2, 0)].concat())
    });
    let engine = Mssql::open(&peer.url("")).unwrap();
    let probe = Probe::new(&engine).unwrap();
    let person = tables::person().unwrap();
    let failed = probe.delete(&person, row![1]).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Constraint, "{failed}");
    assert_eq!((failed.table(), failed.column()), (Some("visit"), Some("visitor")), "{failed}");
}

#[test]
fn an_error_that_ends_the_transaction_ends_it_here() {
    let response = [rolled_back(), error(3_960, 16, "Snapshot conflict."), done(2, 0)].concat();
    let peer = Peer::start(move |_| PeerAction::Reply(response.clone()));
    let engine = Mssql::open(&peer.url("")).unwrap();
    let session = engine.session().unwrap();
    session.control(Begin).unwrap();
    let failed = session.execute("update t set a = 1", &[]).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Serialization, "{failed}");
    let before = peer.requests().len();
    assert_eq!(session.control(Commit).unwrap_err().kind(), ErrorKind::Serialization);
    assert_eq!(peer.requests().len(), before, "nothing is committed");
}

#[test]
fn a_call_is_cancelled_by_an_attention() {
    let peer = Peer::start(|request| match request.sql.contains("slow") {
        true => PeerAction::Hang(columns(&[("a", BIGINT)])),
        false => PeerAction::Reply(result(&[("a", BIGINT)], &[vec![integer(1)]])),
    });
    let engine = Mssql::open(&peer.url("connections=1")).unwrap();
    let probe = Probe::new(&engine).unwrap();
    let interrupt = Interrupt::new();
    let theirs = interrupt.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        theirs.interrupt();
    });
    let ended = interrupt.run(|| probe.query(&sql("select slow")));
    thread.join().unwrap();
    assert_eq!(ended.map_err(|error| error.kind()), Err(ErrorKind::Interrupted));
    assert_eq!(probe.query(&sql("select 1")).unwrap(), [row![1]]);

    let hasty = Mssql::open(&peer.url("statement_timeout=100&connections=1")).unwrap();
    let probe = Probe::new(&hasty).unwrap();
    assert_eq!(probe.query(&sql("select slow")).unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(probe.query(&sql("select 1")).unwrap(), [row![1]]);
}

fn many(tag: &Arc<TableSchema>, count: usize) -> Vec<Entry> {
    (0..count).map(|n| Entry::insert(tag, row![format!("t{n}"), 1.0])).collect()
}

#[test]
fn a_connection_that_is_lost_in_a_bulk_load_leaves_nothing() {
    let peer = Peer::start(|request| match request.kind {
        7 => PeerAction::Close,
        _ => PeerAction::Reply(done(0, 0)),
    });
    let engine = Mssql::open(&peer.url("")).unwrap();
    let tag = tables::tag().unwrap();
    let probe = Probe::new(&engine).unwrap();
    let sent = probe.batch(&many(&tag, 6_000), OnError::Stop);
    assert_eq!(sent.whole.unwrap_err().kind(), ErrorKind::Unreachable);
    let requests = peer.requests();
    assert!(requests.iter().any(|request| request.sql.starts_with("INSERT BULK [tag]")));
    assert!(!requests.iter().any(|request| request.sql.starts_with("COMMIT")), "{requests:?}");
    // In a transaction, too.
    probe.control(Begin).unwrap();
    assert!(probe.batch(&many(&tag, 10), OnError::Continue).whole.is_err());
    assert!(probe.insert(&tag, row!["after", 1.0]).is_err());
    assert!(probe.control(Commit).is_err());
    assert!(!peer.requests().iter().any(|request| request.sql.starts_with("COMMIT")));
}

#[test]
fn a_commit_whose_response_is_lost_is_unknown() {
    let peer = Peer::start(|request| match request.sql.starts_with("COMMIT") {
        true => PeerAction::Close,
        false => PeerAction::Reply(done(0x10, 1)),
    });
    let engine = Mssql::open(&peer.url("")).unwrap();
    let session = engine.session().unwrap();
    session.control(Begin).unwrap();
    session.execute("update t set a = 1", &[]).unwrap();
    assert_eq!(session.control(Commit).unwrap_err().kind(), ErrorKind::Unknown);
}

#[test]
fn a_bulk_load_has_the_rows_of_a_batch() {
    let peer = Peer::start(|request| match request.sql.starts_with("COMMIT") {
        true => PeerAction::Reply(committed()),
        false => PeerAction::Reply(done(0x10, 5)),
    });
    let engine = Mssql::open(&peer.url("")).unwrap();
    let tag = tables::tag().unwrap();
    let sent = Probe::new(&engine).unwrap().batch(&many(&tag, 5), OnError::Stop);
    sent.whole.unwrap();
    assert_eq!(sent.rows.len(), 5);
    let requests = peer.requests();
    let load = requests.iter().find(|request| request.kind == 7).unwrap();
    let mut first = vec![0xd1];
    first.extend(text("t0"));
    let at = load.body.windows(first.len()).position(|window| window == first);
    assert!(at.is_some(), "{:?}", load.body);
    assert_eq!(load.body[load.body.len() - 13..], [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn keys_are_returned_in_the_order_of_the_rows() {
    // The server may return them in any order; more rows need several statements.
    let peer = Peer::start(|request| {
        let rows = request.sql.matches("), (").count() as i64 + 1;
        let keys: Vec<_> = (1..=rows).rev().map(|key| vec![integer(key)]).collect();
        match request.sql.starts_with("COMMIT") {
            true => PeerAction::Reply(committed()),
            false => PeerAction::Reply(result(&[("id", BIGINT)], &keys)),
        }
    });
    let engine = Mssql::open(&peer.url("")).unwrap();
    let person = tables::person().unwrap();
    let entries: Vec<_> =
        (0..900).map(|n| Entry::insert(&person, row![NULL, format!("n{n}"), NULL, 1])).collect();
    let sent = Probe::new(&engine).unwrap().batch(&entries, OnError::Stop);
    sent.whole.unwrap();
    let keys: Vec<_> = sent.rows.iter().map(|row| *row.as_ref().unwrap()).collect();
    assert_eq!(keys.len(), 900);
    assert!(matches!(keys[0], Outcome::Inserted(Some(bobak_core::GeneratedKey::Int(1)))));
    assert!(matches!(keys[665], Outcome::Inserted(Some(bobak_core::GeneratedKey::Int(666)))));
    for request in peer.requests().iter().filter(|request| request.sql.contains("FROM (VALUES")) {
        let parameters = request.sql.matches("@P").count();
        assert!(parameters <= 2 * 2_100, "each is declared and used: {parameters}");
    }
}

#[test]
fn values_that_sql_server_lacks_are_rejected_before_any_call() {
    let peer = idle();
    let engine = Mssql::open(&peer.url("")).unwrap();
    let (tag, day) = (tables::tag().unwrap(), tables::of_type(Type::Date).unwrap());
    let moment = tables::of_type(Type::Timestamp).unwrap();
    let probe = Probe::new(&engine).unwrap();
    let kind = |table: &Arc<TableSchema>, row| probe.insert(table, row).unwrap_err().kind();
    assert_eq!(kind(&tag, row!["a\0b", 1.0]), ErrorKind::Unsupported);
    assert_eq!(kind(&tag, row!["a", f64::INFINITY]), ErrorKind::OutOfRange);
    assert_eq!(kind(&tag, row!["a ", 1.0]), ErrorKind::Unsupported);
    assert_eq!(kind(&tag, row!["x".repeat(401), 1.0]), ErrorKind::TooLong);
    assert_eq!(kind(&day, row![1, -719_163]), ErrorKind::OutOfRange);
    assert_eq!(kind(&day, row![1, 2_932_897]), ErrorKind::OutOfRange);
    assert_eq!(kind(&moment, row![1, -719_163 * 86_400_000_000_i64]), ErrorKind::OutOfRange);
    let parameters = [Parameter::from("a\0b")];
    let failed = engine.session().unwrap().execute("delete from t where a = ?", &parameters);
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(peer.requests().is_empty(), "{:?}", peer.requests());
    // Rows of a batch that are wrong by themselves do not go out, either; the others do.
    let rows = [row!["a", 1.0], row!["a\0b", 1.0], row!["b ", 1.0], row!["c", 2.0]];
    let entries: Vec<_> = rows.into_iter().map(|row| Entry::insert(&tag, row)).collect();
    let sent = probe.batch(&entries, OnError::Continue);
    let kinds: Vec<_> = sent.rows.iter().map(|row| row.as_ref().err().map(|e| e.kind())).collect();
    assert_eq!(kinds, [None, Some(ErrorKind::Unsupported), Some(ErrorKind::Unsupported), None]);
}

#[test]
fn statements_have_texts_and_values() {
    let peer =
        Peer::start(|_| PeerAction::Reply(result(&[("name", NVARCHAR)], &[vec![text("é")]])));
    let engine = Mssql::open(&peer.url("")).unwrap();
    let parameters = [Parameter::from(5)];
    let source = Source::Sql { text: "select 'é' where 1 < ?", parameters: &parameters };
    assert_eq!(Probe::new(&engine).unwrap().query(&source).unwrap(), [row!["é"]]);
    let requests = peer.requests();
    assert!(requests[0].sql.contains("select N'é' where 1 < @P1"), "{:?}", requests[0].sql);
    assert!(requests[0].sql.contains("@P1 bigint"));
    assert!(requests[0].body.ends_with(&[0x26, 8, 8, 5, 0, 0, 0, 0, 0, 0, 0]));
}

#[test]
fn the_page_has_the_capabilities() {
    let peer = idle();
    let document = include_str!("../../../../../docs/engines.md");
    let capabilities = Mssql::open(&peer.url("")).unwrap().capabilities();
    bobak_testkit::capability_table::agrees_with_document(document, "SQL Server", capabilities)
        .unwrap();
}
