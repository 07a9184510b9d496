//! Quotas: clients and addresses that request everything, and guessed passwords.

use crate::raw::Raw;
use crate::transports::{TOKEN, file, folder, memory, serving, tcp_server};
use bobak_core::{Engine, ErrorKind, OnError, Select, TransactionControl, Type};
use bobak_permissions::{Access, hash_password, new_token};
use bobak_remote::Remote;
use bobak_server::{Server, Settings};
use bobak_sqlite::Sqlite;
use bobak_testkit::{Entry, Probe, row, tables};
use bobak_wire::{RequestSource, ResultForm, encode_request};
use std::sync::Arc;
use std::time::Duration;

/// Four workers, of which one client may use two, and one address three.
fn few() -> Settings {
    Settings { max_workers: 4, worker_timeout: Duration::from_millis(300), ..Settings::default() }
}

fn ping(raw: &mut Raw) -> Option<ErrorKind> {
    raw.put(|out| encode_request::ping(out, 9));
    raw.response().1.err().map(|error| error.kind())
}

#[test]
fn one_client_cannot_occupy_all_workers() {
    let (clerk, hash) = new_token().unwrap();
    let text = format!("role clerk\nread on *\ntoken clerk {hash} roles clerk\n");
    let access = Access::from_text(&text).unwrap();
    let folder = folder().unwrap();
    let socket = folder.path().join("socket");
    // As many readers as workers, the operator's included.
    let engine = Sqlite::builder().readers(8).open(folder.path().join("test.db")).unwrap();
    let engine: Arc<dyn Engine> = Arc::new(engine);
    let texts = tables::of_type(Type::Text).unwrap();
    let probe = Probe::with_tables(&*engine, &[&texts]).unwrap();
    let text = "x".repeat(100_000);
    let rows: Vec<_> = (0..20).map(|id| Entry::insert(&texts, row![id, text.clone()])).collect();
    probe.batch(&rows, OnError::Stop).outcomes().unwrap();
    let builder = serving(engine.clone()).settings(few()).access(access).unix(&socket);
    let (_server, address) = tcp_server(builder).unwrap();
    // Half-read queries keep their workers; so do transactions.
    let mut greedy: Vec<Raw> = (0..2).map(|_| Raw::known_by(&address, &clerk)).collect();
    for raw in &mut greedy {
        raw.put(|out| {
            encode_request::define(out, 2, 0, &texts).unwrap();
            let select = Select::all(&texts);
            encode_request::query(
                out,
                3,
                1,
                ResultForm::default(),
                RequestSource::Select(0, &select, &[]),
            )
            .unwrap();
        });
        assert!(raw.frame().unwrap().more);
    }
    let mut third = Raw::known_by(&address, &clerk);
    assert_eq!(ping(&mut third), Some(ErrorKind::Busy));
    // Other clients of the address are served until its quota is used up, too.
    let mut holds = Raw::known(&address);
    holds.put(|out| encode_request::control(out, 2, TransactionControl::Begin).unwrap());
    assert!(matches!(holds.response(), (2, Ok(()))));
    let rejected = Remote::builder().token(TOKEN).open_tcp(&address).err();
    assert_eq!(rejected.map(|error| error.kind()), Some(ErrorKind::Busy));
    // The operator is always served.
    let operator: Vec<_> = (0..4).map(|_| Remote::builder().open_unix(&socket).unwrap()).collect();
    let sessions: Vec<_> = operator.iter().map(|engine| engine.session().unwrap()).collect();
    for session in &sessions {
        assert_eq!(session.tables().unwrap().len(), 1);
    }
    // A returned quota goes to a waiter.
    drop(greedy);
    while ping(&mut third).is_some() {}
    drop(holds);
    while Remote::builder().token(TOKEN).open_tcp(&address).is_err() {}
}

#[test]
fn read_only_client_blocks_no_writer() {
    let (clerk, hash) = new_token().unwrap();
    let text = format!("role clerk\nread on tag\ntoken clerk {hash} roles clerk\n");
    let access = Access::from_text(&text).unwrap();
    let folder = folder().unwrap();
    let tag = tables::tag().unwrap();
    for (engine, begins) in [(file(folder.path()).unwrap(), true), (memory().unwrap(), false)] {
        let inside = Probe::with_tables(&*engine, &[&tag]).unwrap();
        let builder = serving(engine.clone()).access(access.clone());
        let (_server, address) = tcp_server(builder).unwrap();
        let mut raw = Raw::known_by(&address, &clerk);
        raw.put(|out| encode_request::control(out, 2, TransactionControl::Begin).unwrap());
        let rejected = raw.response().1.err().map(|error| error.kind());
        assert_eq!(rejected, if begins { None } else { Some(ErrorKind::Denied) });
        inside.insert(&tag, row!["a", 1.0]).unwrap();
    }
}

#[test]
fn operator_is_accepted_by_a_full_server() {
    let folder = folder().unwrap();
    let socket = folder.path().join("socket");
    let settings = Settings { max_connections: 2, ..Settings::default() };
    let builder = serving(memory().unwrap()).settings(settings).unix(&socket);
    let (_server, address) = tcp_server(builder).unwrap();
    let [_one, _two] = [Raw::known(&address), Raw::known(&address)];
    assert_eq!(Raw::connect(&address).response().1.unwrap_err().kind(), ErrorKind::Busy);
    Remote::builder().open_unix(&socket).unwrap().tables().unwrap();
}

#[test]
fn wrong_passwords_lock_out_their_name_only() {
    let settings = Settings { max_failed_logins: 1, max_workers: 1, ..Settings::default() };
    let builder = Server::builder().shared_database("main", memory().unwrap()).settings(settings);
    let right = hash_password("right").unwrap();
    let builder =
        builder.token(TOKEN).user("ada", &right, &["admin"]).user("bob", &right, &["admin"]);
    let (_server, address) = tcp_server(builder).unwrap();
    let opened = |name: &str, password: &str| {
        let opened = Remote::builder().user(name).password(password).open_tcp(&address);
        opened.and_then(|engine| engine.tables()).map(|_| ()).map_err(|error| error.kind())
    };
    // Connected clients and the only worker are not affected.
    let mut known = Raw::known(&address);
    assert_eq!(opened("ada", "right"), Ok(()));
    assert_eq!(opened("ada", "wrong"), Err(ErrorKind::Denied));
    assert_eq!(opened("ada", "right"), Err(ErrorKind::Busy));
    assert_eq!(opened("bob", "right"), Ok(()));
    assert_eq!(opened("nobody", "right"), Err(ErrorKind::Denied));
    for _ in 0..4 {
        let rejected = Remote::builder().token("a token that is wrong").open_tcp(&address).err();
        assert_eq!(rejected.map(|error| error.kind()), Some(ErrorKind::Denied));
    }
    assert_eq!(ping(&mut known), None);
    Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
}

#[test]
fn concurrent_authentications_all_succeed() {
    let settings = Settings { max_workers: 1, ..Settings::default() };
    let builder = Server::builder().shared_database("main", memory().unwrap()).settings(settings);
    let builder = builder.user("ada", &hash_password("right").unwrap(), &["admin"]);
    let (server, address) = tcp_server(builder).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                // They share one worker, one after the other.
                let patient = Remote::builder().user("ada").password("right");
                patient.open_tcp(&address).unwrap().tables().unwrap();
            });
        }
    });
    assert!(server.stop());
}
