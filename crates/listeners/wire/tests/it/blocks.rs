//! Rows sent column by column: as many as the client allows, and until an error, a timeout or a cancellation.

use crate::interrupts::{THEN_NOTHING, server};
use crate::raw::Raw;
use crate::streams::start;
use bobak_core::{ErrorKind, OnError, Row, Select, Type, ValueRef};
use bobak_testkit::{Entry, Probe, row, tables};
use bobak_wire::{RequestSource, Response, ResultForm, encode_request};
use std::time::Duration;

const BLOCKS: ResultForm = ResultForm { columns: true, blocks: true };

/// The next frame: whether more follow, and the integers in its first column, or the kind of its error.
fn next(raw: &mut Raw) -> (bool, Result<Vec<i64>, ErrorKind>) {
    let head = raw.frame().expect("a response");
    let integers = match Response::decode(head, raw.inbox.body()).unwrap() {
        Response::Block(block) => Ok((0..block.rows())
            .map(|row| match block.row(row).get(0) {
                ValueRef::Int(integer) => integer,
                other => panic!("{other:?}"),
            })
            .collect()),
        Response::Error(error) => Err(error.kind()),
        Response::Columns { .. } => Ok(Vec::new()),
        other => panic!("{other:?}"),
    };
    (head.more, integers)
}

/// All rows of the response whose first frame comes next, and its error.
fn all(raw: &mut Raw) -> (Vec<i64>, Option<ErrorKind>) {
    let mut rows = Vec::new();
    loop {
        match next(raw) {
            (more, Ok(part)) => {
                rows.extend(part);
                if !more {
                    return (rows, None);
                }
            }
            (_, Err(kind)) => return (rows, Some(kind)),
        }
    }
}

#[test]
fn blocks_are_sent_as_the_client_allows() {
    let (_server, address, remote) = start();
    let mark = tables::mark().unwrap();
    let probe = Probe::with_tables(&remote, &[&mark]).unwrap();
    let rows: Vec<_> = (0..60_000).map(|n| Entry::insert(&mark, row![n, 0])).collect();
    probe.batch(&rows, OnError::Stop).outcomes().unwrap();
    let select = Select::all(&mark);
    let mut raw = Raw::known(&address);
    raw.put(|out| encode_request::define(out, 2, 0, &mark).unwrap());
    let query = |id: u32, credit: u32| {
        let select = &select;
        move |out: &mut Vec<u8>| {
            let form = ResultForm { columns: false, blocks: true };
            let source = RequestSource::Select(0, select, &[]);
            encode_request::query(out, id, credit, form, source).unwrap();
        }
    };
    raw.put(query(3, 0));
    assert_eq!(all(&mut raw), ((0..60_000).collect(), None));
    // One block for the first byte of credit, and all others for more.
    raw.put(query(4, 1));
    let (more, first) = next(&mut raw);
    let first = first.unwrap().len() as i64;
    assert!(more && (1_000..60_000).contains(&first), "{first}");
    raw.put(|out| encode_request::credit(out, 4, u32::MAX));
    assert_eq!(all(&mut raw), ((first..60_000).collect(), None));
    // It waits for credit, and can be cancelled.
    raw.put(query(5, 1));
    assert!(next(&mut raw).0);
    raw.put(|out| encode_request::cancel(out, 5));
    assert_eq!(all(&mut raw), (Vec::new(), Some(ErrorKind::Interrupted)));
    raw.put(|out| encode_request::ping(out, 6));
    assert!(matches!(raw.response(), (6, Ok(()))));
}

#[test]
fn an_error_ends_the_blocks() {
    let (_folder, _engine, _server, address) = server(Duration::from_millis(300));
    let mut raw = Raw::known(&address);
    let fails = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
        SELECT i, CASE i WHEN 50000 THEN abs(-9223372036854775807 - 1) END FROM n";
    for (id, sql, kind) in
        [(2, fails, ErrorKind::OutOfRange), (4, THEN_NOTHING, ErrorKind::Timeout)]
    {
        raw.put(|out| {
            encode_request::query(out, id, 0, BLOCKS, RequestSource::Text(sql, &[])).unwrap();
            encode_request::ping(out, id + 1);
        });
        let (rows, error) = all(&mut raw);
        assert_eq!(error, Some(kind));
        assert!(!rows.is_empty() && rows.iter().copied().eq(1..=rows.len() as i64));
        assert!(matches!(raw.response(), (ping, Ok(())) if ping == id + 1));
    }
}

#[test]
fn a_result_without_rows_has_its_columns() {
    let (_folder, _engine, _server, address) = server(Duration::from_secs(60));
    let mut raw = Raw::known(&address);
    let sql = "SELECT a, a + 1 AS next FROM t";
    raw.put(|out| {
        encode_request::query(out, 2, 0, BLOCKS, RequestSource::Text(sql, &[])).unwrap();
    });
    let head = raw.frame().unwrap();
    let Response::Columns { columns, .. } = Response::decode(head, raw.inbox.body()).unwrap()
    else {
        panic!("no columns");
    };
    assert_eq!(columns.iter().map(|column| &*column.name).collect::<Vec<_>>(), ["a", "next"]);
    let head = raw.frame().unwrap();
    let Response::Block(block) = Response::decode(head, raw.inbox.body()).unwrap() else {
        panic!("no block");
    };
    assert_eq!((head.more, block.rows(), block.columns().len()), (false, 0, 2));
}

/// The rows of a client that asks for rows are those of one that asks for blocks, whatever they hold.
#[test]
fn blocks_have_the_rows_of_other_clients() {
    for ty in [Type::Text, Type::Bytes, Type::F64, Type::Currency, Type::Date, Type::Any] {
        let (_server, address, remote) = start();
        let mut raw = Raw::known(&address);
        let tag = tables::of_type(ty).unwrap();
        let probe = Probe::with_tables(&remote, &[&tag]).unwrap();
        let value = |n: i64| match ty {
            Type::Text => format!("Zürich {n}").into(),
            Type::Bytes => vec![n as u8; n as usize % 50].into(),
            Type::F64 => bobak_core::Value::Float(n as f64 / 4.0),
            Type::Any if n % 2 == 0 => format!("{n}").into(),
            _ => bobak_core::Value::Int(n),
        };
        let rows: Vec<_> = (0..2_000).map(|n| Entry::insert(&tag, row![n, value(n)])).collect();
        probe.batch(&rows, OnError::Stop).outcomes().unwrap();
        let select = Select::all(&tag);
        raw.put(|out| {
            encode_request::define(out, 2, 0, &tag).unwrap();
            let source = RequestSource::Select(0, &select, &[]);
            let form = ResultForm { columns: false, blocks: true };
            encode_request::query(out, 3, 0, form, source).unwrap();
        });
        let mut wanted = (0..2_000).map(|n| row![n, value(n)]);
        loop {
            let head = raw.frame().unwrap();
            let Response::Block(block) = Response::decode(head, raw.inbox.body()).unwrap() else {
                panic!("no block");
            };
            for row in 0..block.rows() {
                let (row, wanted) = (block.row(row), wanted.next().unwrap());
                assert_eq!((row.get(0), row.get(1)), (wanted[0].as_ref(), wanted[1].as_ref()));
            }
            if !head.more {
                break;
            }
        }
        assert_eq!(wanted.next(), None);
    }
}
