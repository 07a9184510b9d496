//! Queries over several tables: streamed, interrupted, under permissions, and with servers that do not take them.

use crate::raw::Raw;
use crate::transports::{TOKEN, file, folder, serving, tcp_server};
use bobak_core::join::{
    CalculationOperator, JoinAggregate, JoinColumn, JoinExpr, JoinLink, JoinOrder, JoinSubquery,
    JoinTable,
};
use bobak_core::{Capabilities, Engine, ErrorKind, Join, Result, Session, TableSchema, Type};
use bobak_permissions::{Access, new_token};
use bobak_remote::Remote;
use bobak_server::{Server, Settings};
use bobak_testkit::{Entry, Probe, row, tables};
use bobak_wire::{
    FrameKind, Inbox, Limits, RequestSource, Response, ResultForm, Welcome, encode_request,
    encode_response,
};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

fn column(table: usize, column: usize) -> JoinExpr {
    JoinExpr::Column(JoinColumn { table, column })
}

/// Rows of the first table, each with those of the others that have the same value in a column, which `columns` names.
fn linked(list: &[(&Arc<TableSchema>, usize)]) -> Join {
    let from = JoinColumn { table: 0, column: list[0].1 };
    let table = |(index, (table, to)): (usize, &(&Arc<TableSchema>, usize))| {
        let link = JoinLink { from, to: *to, is_left: false, condition: None, more: Vec::new() };
        JoinTable { table: Arc::clone(table), link: (index > 0).then_some(link), rows: None }
    };
    let tables: Vec<_> = list.iter().enumerate().map(table).collect();
    let order = |table| JoinOrder { expr: column(table, 0), descending: false, nulls_first: true };
    let order = (0..tables.len()).map(order).collect();
    Join { columns: vec![column(0, 0)], order, tables, ..Join::default() }
}

/// The number of rows that a session passes on; `None` if it does not run the join.
fn run(session: &dyn Session, join: &Join) -> Result<Option<u64>> {
    let mut rows = 0;
    let ran = session.join(join, &mut |_| {
        rows += 1;
        Ok(true)
    })?;
    Ok(ran.then_some(rows))
}

#[test]
fn joined_rows_arrive_in_parts_as_blocks_and_by_cursors() {
    let folder = folder().unwrap();
    let (_server, address) = tcp_server(serving(file(folder.path()).unwrap())).unwrap();
    let remote = Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
    let mark = tables::mark().unwrap();
    let probe = Probe::with_tables(&remote, &[&mark]).unwrap();
    probe.insert_all(&mark, (0..20_000).map(|n| row![n, n % 7])).unwrap();
    let join = linked(&[(&mark, 0), (&mark, 0)]);
    assert_eq!(run(&*probe.session, &join).unwrap(), Some(20_000));
    // The client stops, and sends other requests.
    let mut rows = 0;
    let stopped = probe.session.join(&join, &mut |_| {
        rows += 1;
        Ok(rows < 10)
    });
    assert_eq!((stopped.unwrap(), rows), (true, 10));
    assert_eq!(probe.count(&mark).unwrap(), 20_000);

    let mut raw = Raw::known(&address);
    let numbers = [(mark.id(), 1)];
    let source = || RequestSource::Join(&join, &numbers);
    raw.put(|out| {
        encode_request::define(out, 2, 1, &mark).unwrap();
        let form = ResultForm { columns: true, blocks: true };
        encode_request::query(out, 3, 1, form, source()).unwrap();
        encode_request::credit(out, 3, 10 << 20);
        encode_request::open(out, 4, source()).unwrap();
        encode_request::fetch(out, 5, 1);
        encode_request::explain(out, 6, source()).unwrap();
    });
    let (mut found, mut frames) = (0, 0);
    loop {
        let head = raw.frame().unwrap();
        match Response::decode(head, raw.inbox.body()).unwrap() {
            Response::Columns { columns, .. } => assert_eq!(columns[0].ty, Type::I64),
            Response::Block(block) => found += block.rows(),
            other => panic!("{other:?}"),
        }
        frames += 1;
        if !head.more {
            break;
        }
    }
    assert_eq!(found, 20_000);
    assert!(frames >= 2, "{frames}");
    let head = raw.frame().unwrap();
    assert_eq!((head.kind, head.id), (FrameKind::Columns, 4));
    assert!(matches!(raw.outcome(), Ok(1_000..20_000)));
    assert!(matches!(raw.outcome(), Ok(2..)));
}

/// Marks of which each is joined with all others, twice: too many rows to count.
fn endless(probe: &Probe<'_>, mark: &Arc<TableSchema>) -> Join {
    let rows: Vec<_> = (0..3_000).map(|n| Entry::insert(mark, row![n, 0])).collect();
    probe.batch(&rows, bobak_core::OnError::Stop).outcomes().unwrap();
    let count = JoinExpr::Aggregate(JoinAggregate::Count, Box::new(column(2, 0)));
    let order = Vec::new();
    Join { columns: vec![count], order, ..linked(&[(mark, 1), (mark, 1), (mark, 1)]) }
}

#[test]
fn endless_joins_are_interrupted() {
    let folder = folder().unwrap();
    let engine = file(folder.path()).unwrap();
    let mark = tables::mark().unwrap();
    let join = endless(&Probe::with_tables(&*engine, &[&mark]).unwrap(), &mark);
    let settings = Settings { request_timeout: Duration::from_millis(300), ..Settings::default() };
    let (_server, address) = tcp_server(serving(Arc::clone(&engine)).settings(settings)).unwrap();
    let remote = Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
    let error = run(&*remote.session().unwrap(), &join).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);

    let (_server, address) = tcp_server(serving(engine)).unwrap();
    let mut raw = Raw::known(&address);
    let numbers = [(mark.id(), 1)];
    raw.put(|out| {
        encode_request::define(out, 2, 1, &mark).unwrap();
        let source = RequestSource::Join(&join, &numbers);
        encode_request::query(out, 3, 0, ResultForm::default(), source).unwrap();
        encode_request::cancel(out, 3);
    });
    assert_eq!(raw.outcome(), Err(ErrorKind::Interrupted));
}

#[test]
fn a_result_larger_than_a_request_is_left_to_the_client() {
    let folder = folder().unwrap();
    let settings = Settings { max_frame: 64 << 10, ..Settings::default() };
    let engine = file(folder.path()).unwrap();
    let (_server, address) = tcp_server(serving(engine).settings(settings)).unwrap();
    let remote = Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
    let mark = tables::mark().unwrap();
    let probe = Probe::with_tables(&remote, &[&mark]).unwrap();
    probe.insert_all(&mark, (0..20_000).map(|n| row![n, n % 7])).unwrap();
    let mut join = linked(&[(&mark, 0), (&mark, 0)]);
    assert_eq!(run(&*probe.session, &join).unwrap(), None);
    join.limit = Some(100);
    assert_eq!(run(&*probe.session, &join).unwrap(), Some(100));
}

/// The server runs it, or its engine says that it is too deep.
#[test]
fn deeply_nested_queries_end_no_server() {
    let folder = folder().unwrap();
    let (_server, address) = tcp_server(serving(file(folder.path()).unwrap())).unwrap();
    let remote = Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
    let mark = tables::mark().unwrap();
    let probe = Probe::with_tables(&remote, &[&mark]).unwrap();
    let mut nested = JoinExpr::Column(JoinColumn { table: 0, column: 0 });
    for _ in 0..95 {
        let parts = Box::new((nested, JoinExpr::Value(1.into(), Type::I64)));
        nested = JoinExpr::Calculation(CalculationOperator::Plus, parts);
    }
    let mut join = Join { columns: vec![nested], ..linked(&[(&mark, 0)]) };
    assert_eq!(run(&*probe.session, &join).unwrap(), Some(0));
    join.columns.truncate(0);
    join.columns.push(inside(&mark, &join.tables, 30));
    assert!(run(&*probe.session, &join).is_ok_and(|rows| rows == Some(0)));
    join.columns[0] = inside(&mark, &join.tables, 48);
    let deep = run(&*probe.session, &join);
    assert!(
        deep.as_ref().map_or_else(|e| e.kind() == ErrorKind::Syntax, Option::is_some),
        "{deep:?}"
    );
    assert_eq!(probe.count(&mark).unwrap(), 0);
}

/// The value of a query, which is that of a query inside of it, and so on.
fn inside(table: &Arc<TableSchema>, around: &[JoinTable], levels: usize) -> JoinExpr {
    let mut tables = JoinTable::around(around);
    tables.push(JoinTable { table: Arc::clone(table), link: None, rows: None });
    let value = match levels {
        0 => column(around.len(), 0),
        _ => inside(table, &tables, levels - 1),
    };
    let join = Join { outer: around.len(), tables, columns: vec![value], ..Join::default() };
    JoinExpr::Query(Box::new(JoinSubquery::of_join(join)))
}

/// Permissions and row rules apply to each table.
#[test]
fn joins_follow_permissions() {
    let (till, hash) = new_token().unwrap();
    let text = format!(
        "role clerk\nread on main.tag\nread on main.mark\nread on main.person where name = :user\n\
         insert on main.ticket\ntoken till {hash} roles clerk\n"
    );
    let folder = folder().unwrap();
    let engine = file(folder.path()).unwrap();
    let (person, tag, mark) =
        (tables::person().unwrap(), tables::tag().unwrap(), tables::mark().unwrap());
    let (ticket, device) = (tables::ticket().unwrap(), tables::device().unwrap());
    let all = [&person, &tag, &mark, &ticket, &device];
    let probe = Probe::with_tables(&*engine, &all).unwrap();
    for (id, name) in [(1, "till"), (2, "bob")] {
        probe.insert(&person, row![id, name, format!("{name}@x"), 1]).unwrap();
        probe.insert(&tag, row![name, 1.0]).unwrap();
    }
    let access = Access::from_text(&text).unwrap();
    let builder = Server::builder().shared_database("main", Arc::clone(&engine));
    let (_server, address) = tcp_server(builder.access(access).token(TOKEN)).unwrap();
    let rows = |token: &str, join: &Join| {
        let remote = Remote::builder().token(token).open_tcp(&address).unwrap();
        run(&*remote.session().unwrap(), join).map_err(|error| error.kind())
    };
    let tags = linked(&[(&tag, 0), (&tag, 0)]);
    assert_eq!(rows(TOKEN, &tags), Ok(Some(2)));
    assert_eq!(rows(&till, &tags), Ok(Some(2)));
    let persons = linked(&[(&tag, 0), (&person, 1)]);
    assert_eq!(rows(TOKEN, &persons), Ok(Some(2)));
    // The client reads the rows that it may see, and joins them.
    assert_eq!(rows(&till, &persons), Ok(None));
    assert_eq!(rows(&till, &linked(&[(&mark, 0), (&device, 0)])), Err(ErrorKind::Schema));
    assert_eq!(rows(&till, &linked(&[(&ticket, 0), (&mark, 0)])), Err(ErrorKind::Denied));
}

/// A server of an earlier version, which does not say that it takes joins, gets none.
#[test]
fn earlier_servers_get_no_joins() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut inbox = Inbox::new(1 << 20);
        while inbox.next_frame().unwrap().is_none() {
            assert!(inbox.read_from(|room| stream.read(room)).unwrap() > 0);
        }
        let welcome = Welcome {
            version: 1,
            limits: Limits::default(),
            capabilities: Capabilities::NONE,
            column_blocks: false,
            joins: false,
            engine: "sqlite".into(),
            server: "an earlier one".into(),
        };
        let mut bytes = Vec::new();
        encode_response::welcome(&mut bytes, 1, &welcome).unwrap();
        stream.write_all(&bytes).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        rest
    });
    let remote = Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
    let mark = tables::mark().unwrap();
    let session = remote.session().unwrap();
    assert_eq!(run(&*session, &linked(&[(&mark, 0), (&mark, 0)])).unwrap(), None);
    drop(session);
    drop(remote);
    assert_eq!(server.join().unwrap(), b"");
}
