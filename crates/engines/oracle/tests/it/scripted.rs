//! What the engine makes of the driver's responses.

use crate::script::{Call, Response, Script, lost, server, text_column};
use bobak_core::{
    ColumnRole, ColumnSchema, Currency, Deadline, Engine, Error, ErrorKind, FieldSet, GeneratedKey,
    Interrupt, OnDelete, OnError, Outcome, Result, Row, Select, Source, TableSchema,
    TransactionControl, Value, ValueRef, Verb, Write, WriteBatch,
};
use bobak_oracle::Oracle;
use bobak_oracle::driver::{CellKind, OracleCell, OracleColumn, OracleFailure};
use bobak_testkit::capability_table::agrees_with_document;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

fn item() -> Arc<TableSchema> {
    let table = TableSchema::builder("item")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("name").max_chars(20))
        .column(ColumnSchema::of::<Currency>("price").check("price >= 0"))
        .column(ColumnSchema::of::<Option<i64>>("shop").references(
            "shop",
            "id",
            OnDelete::Restrict,
        ))
        .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
        .key(["id"])
        .unique_index("by_name", ["name"]);
    Arc::new(table.build().unwrap())
}

fn tag() -> Arc<TableSchema> {
    let table = TableSchema::builder("tag")
        .column(ColumnSchema::of::<String>("name"))
        .column(ColumnSchema::of::<i64>("weight"))
        .key(["name"]);
    Arc::new(table.build().unwrap())
}

fn row(id: Value<'static>, name: &str) -> Vec<Value<'static>> {
    vec![id, name.to_owned().into(), Value::Int(12_345), Value::Null, Value::Int(1)]
}

fn write(engine: &dyn Engine, table: &Arc<TableSchema>, values: &[Value<'_>]) -> Result<Outcome> {
    let fields = FieldSet::default();
    engine.write(&Write { table, verb: Verb::Insert, fields, values })
}

fn batch_of(table: &Arc<TableSchema>, verb: Verb, rows: &[Vec<Value<'static>>]) -> WriteBatch {
    let mut batch = WriteBatch::new();
    let fields: FieldSet = (1..table.columns().len()).collect();
    for values in rows {
        batch.push(&Write { table, verb, fields, values }).unwrap();
    }
    batch
}

/// Sends a batch; the outcomes, and the error that ended it.
fn send(
    engine: &Oracle,
    batch: &WriteBatch,
    on_error: OnError,
) -> (Vec<Result<Outcome>>, Result<()>) {
    let mut outcomes = Vec::new();
    let session = engine.session().unwrap();
    let done = session.batch(batch, on_error, &mut |outcome| outcomes.push(outcome));
    (outcomes, done)
}

fn made(key: i64) -> Outcome {
    Outcome::Inserted(Some(GeneratedKey::Int(key)))
}

#[test]
fn a_connection_that_fails_says_why() {
    let failures = [
        (server(1_017, "invalid username/password; logon denied"), ErrorKind::Denied),
        (server(28_000, "The account is locked"), ErrorKind::Denied),
        (server(12_514, "TNS:listener does not know of service"), ErrorKind::Unreachable),
        (
            Some(Response::Failed(OracleFailure::Unreachable("rejected".into()))),
            ErrorKind::Unreachable,
        ),
        (Some(Response::Failed(OracleFailure::Settings("no service".into()))), ErrorKind::Config),
        (Some(Response::Failed(OracleFailure::Tls("not trusted".into()))), ErrorKind::Denied),
        (Some(Response::Failed(OracleFailure::TimedOut)), ErrorKind::Timeout),
    ];
    for (failure, kind) in failures {
        let failure = std::sync::Mutex::new(failure);
        let script = Script::new(move |call| match call.sql {
            "CONNECT" => failure.lock().unwrap().take(),
            _ => None,
        });
        let error = Script::settings().connect_through(Arc::new(script)).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains("nowhere:1521/shop"), "{error}");
        assert!(!error.to_string().contains("secret-word"), "{error}");
    }
    let script = Script::new(|call| {
        let one = || vec![vec![OracleCell::Text("WE8MSWIN1252".to_owned())]];
        call.sql
            .contains("NLS_CHARACTERSET")
            .then(|| Response::Rows(vec![text_column("VALUE")], one()))
    });
    let error = Script::settings().connect_through(Arc::new(script)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[test]
fn keys_come_from_returning() {
    let script = Script::new(|call| match call.sql.contains("RETURNING \"ID\" INTO :5") {
        true if call.rows.len() == 1 => Some(Response::Keys(vec![Some(7)])),
        true => Some(Response::Keys((0..call.rows.len() as i64).map(|at| Some(8 + at)).collect())),
        false => None,
    });
    let (engine, item) = (script.engine(), item());
    script.requested();
    assert_eq!(write(&engine, &item, &row(Value::Null, "a")).unwrap(), made(7));
    assert_eq!(script.requested(), ["INSERT INTO \"ITEM\" × 1", "COMMIT × 0"]);
    let rows: Vec<_> = (0..6).map(|at| row(Value::Null, &format!("n{at}"))).collect();
    let (outcomes, done) = send(&engine, &batch_of(&item, Verb::Insert, &rows), OnError::Stop);
    done.unwrap();
    let keys: Vec<Outcome> = outcomes.into_iter().map(Result::unwrap).collect();
    assert_eq!(keys, (8..14).map(made).collect::<Vec<_>>());
    assert_eq!(
        script.requested(),
        ["SAVEPOINT bobak_part × 1", "INSERT INTO \"ITEM\" × 6", "COMMIT × 0"]
    );
}

/// A server that rejects every array with this name.
fn rejects(name: &'static str) -> Script {
    Script::new(move |call| {
        let is_it = |row: &String| row.contains(&format!("Text(\"{name}\")"));
        (call.sql.starts_with("INSERT") && call.rows.iter().any(is_it))
            .then(|| server(1, "unique constraint (SHOP.bobak_i1ef9e41fb7bcf8a6) violated"))
            .flatten()
    })
}

#[test]
fn a_wrong_row_in_the_middle_is_found_by_halves() {
    let script = rejects("n5");
    let (engine, item) = (script.engine(), item());
    let rows: Vec<_> = (0..8).map(|at| row(Value::Null, &format!("n{at}"))).collect();
    let batch = batch_of(&item, Verb::Insert, &rows);
    script.requested();
    let (outcomes, done) = send(&engine, &batch, OnError::Continue);
    done.unwrap();
    let failed: Vec<usize> =
        outcomes.iter().enumerate().filter(|(_, one)| one.is_err()).map(|(at, _)| at).collect();
    assert_eq!((outcomes.len(), failed), (8, vec![5]));
    let error = outcomes[5].as_ref().unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Duplicate, Some(5)));
    let requested = script.requested();
    let arrays: Vec<&String> = requested.iter().filter(|one| one.contains("ITEM")).collect();
    // All; the first half; the second half; its rows in twos, one by one.
    let wanted = ["8", "4", "4", "1", "1", "1", "1"].map(|n| format!("INSERT INTO \"ITEM\" × {n}"));
    assert_eq!(arrays, wanted.iter().collect::<Vec<_>>());
    assert_eq!(requested.iter().filter(|one| one.starts_with("ROLLBACK TO")).count(), 2);
    assert_eq!(requested.last().unwrap(), "COMMIT × 0");

    let (outcomes, done) = send(&engine, &batch, OnError::Stop);
    let error = done.unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Duplicate, Some(5)));
    assert_eq!(outcomes.len(), 5);
    assert_eq!(script.requested().last().unwrap(), "ROLLBACK × 0");
}

#[test]
fn a_connection_lost_in_an_array_undoes_the_batch() {
    let script = Script::new(|call| (call.rows.len() == 8).then(lost).flatten());
    let (engine, item) = (script.engine(), item());
    let rows: Vec<_> = (0..8).map(|at| row(Value::Null, &format!("n{at}"))).collect();
    let (outcomes, done) = send(&engine, &batch_of(&item, Verb::Insert, &rows), OnError::Continue);
    let error = done.unwrap_err();
    assert_eq!((error.kind(), outcomes.len()), (ErrorKind::Unreachable, 0));
    assert!(error.message().contains("the transaction was rolled back"), "{error}");
    let requested = script.requested();
    assert!(!requested.iter().any(|one| one.starts_with("COMMIT")), "{requested:?}");
    // The next call has a new connection.
    write(&engine, &item, &row(Value::Null, "a")).unwrap();
    assert!(script.requested().iter().any(|one| one.starts_with("CONNECT")));
}

#[test]
fn a_connection_lost_in_a_commit_leaves_it_open() {
    let script = Script::new(|call| (call.sql == "COMMIT").then(lost).flatten());
    let (engine, item) = (script.engine(), item());
    let error = write(&engine, &item, &row(Value::Null, "a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
    let silent = Script::new(|call| {
        (call.sql == "COMMIT").then_some(Response::Failed(OracleFailure::TimedOut))
    });
    let error = write(&silent.engine(), &item, &row(Value::Null, "a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
    let ended = Script::new(|call| {
        server(3_113, "end-of-file on communication channel")
            .filter(|_| call.sql.starts_with("INSERT"))
    });
    let error = write(&ended.engine(), &item, &row(Value::Null, "a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
}

#[test]
fn a_write_is_repeated_after_a_conflict_and_a_transaction_is_not() {
    let calls = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&calls);
    let script = Script::new(move |call| {
        if !call.sql.starts_with("INSERT") {
            return None;
        }
        match seen.fetch_add(1, Ordering::SeqCst) {
            0 => server(8_177, "can't serialize access for this transaction"),
            1 => server(60, "deadlock detected while waiting for resource"),
            _ => None,
        }
    });
    let (engine, item) = (script.engine(), item());
    script.requested();
    write(&engine, &item, &row(Value::Null, "a")).unwrap();
    let ends = ["ROLLBACK × 0", "ROLLBACK × 0", "COMMIT × 0"];
    let requested = script.requested();
    let ended: Vec<&String> = requested.iter().filter(|one| one.ends_with("× 0")).collect();
    assert_eq!(ended, ends.iter().collect::<Vec<_>>());

    calls.store(0, Ordering::SeqCst);
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    let fields = FieldSet::default();
    let values = row(Value::Null, "a");
    let insert = Write { table: &item, verb: Verb::Insert, fields, values: &values };
    assert_eq!(session.write(&insert).unwrap_err().kind(), ErrorKind::Serialization);
    session.control(TransactionControl::Rollback).unwrap();
    assert_eq!(
        script.requested(),
        ["SET TRANSACTION ISOLATION × 1", "INSERT INTO \"ITEM\" × 1", "ROLLBACK × 0"]
    );
}

#[test]
fn an_empty_text_is_no_key_and_nothing_is_sent() {
    let script = Script::new(|_| None);
    let (engine, tag) = (script.engine(), tag());
    script.requested();
    let tag_row = |name: &str| vec![Value::from(name.to_owned()), Value::Int(1)];
    let error = write(&engine, &tag, &tag_row("")).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Unsupported, Some("name")));
    assert_eq!(script.requested(), ["ROLLBACK × 0"]);
    let mut rows: Vec<_> = (0..6).map(|at| tag_row(&format!("n{at}"))).collect();
    rows[3] = tag_row("");
    for verb in [Verb::Insert, Verb::Upsert, Verb::InsertOrReplace] {
        let (_, done) = send(&engine, &batch_of(&tag, verb, &rows), OnError::Stop);
        let error = done.unwrap_err();
        assert_eq!((error.kind(), error.row()), (ErrorKind::Unsupported, Some(3)), "{verb:?}");
        assert_eq!(script.requested().last().unwrap(), "ROLLBACK × 0");
    }
}

#[test]
fn texts_and_bytes_are_never_empty_on_the_way() {
    let seen: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let script = Script::new(move |call| {
        if call.sql.starts_with("INSERT") {
            noted.lock().unwrap().extend(call.rows.clone());
        }
        None
    });
    let table = TableSchema::builder("blank")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<String>>("text"))
        .column(ColumnSchema::of::<Option<Vec<u8>>>("bytes"))
        .key(["id"])
        .given_key();
    let table = Arc::new(table.build().unwrap());
    let engine = script.engine();
    for (text, bytes) in [("", vec![]), ("x", vec![0]), ("y", vec![0, 1])] {
        let values = vec![Value::Int(1), text.to_owned().into(), bytes.into()];
        write(&engine, &table, &values).unwrap();
    }
    let sent = seen.lock().unwrap().join("\n");
    for part in ["Text(\"\\0\")", "Bytes([0])", "Bytes([0, 0])", "Bytes([0, 1])"] {
        assert!(sent.contains(part), "{part} in {sent}");
    }
    let nul = vec![Value::Int(1), "a\0b".to_owned().into(), Value::Null];
    assert_eq!(write(&engine, &table, &nul).unwrap_err().kind(), ErrorKind::Unsupported);
}

fn fails(number: u32, message: &'static str) -> Error {
    let script = Script::new(move |call| {
        if call.sql.contains("USER_CONS_COLUMNS") {
            let columns = vec![text_column("TABLE_NAME"), text_column("COLUMN_NAME")];
            let cells = ["CART", "ITEM"].map(|text| OracleCell::Text(text.to_owned()));
            return Some(Response::Rows(columns, vec![cells.to_vec()]));
        }
        server(number, message).filter(|_| call.sql.starts_with("INSERT"))
    });
    write(&script.engine(), &item(), &row(Value::Null, "a")).unwrap_err()
}

#[test]
fn errors_name_kinds_tables_and_columns() {
    let constraint = |name: &str| format!("(SHOP.{name}) violated\nHelp: https://docs.oracle.com");
    let statements = bobak_oracle::statements(&item()).unwrap().join("\n");
    let named = |kind: char| {
        let at = statements.find(&format!("bobak_{kind}")).unwrap();
        statements[at..at + 23].to_owned()
    };
    let owned = |text: String| -> &'static str { text.leak() };
    let cases = [
        (
            1_400,
            "cannot insert NULL into (\"SHOP\".\"ITEM\".\"NAME\")".to_owned(),
            ErrorKind::Constraint,
            Some("name"),
        ),
        (
            12_899,
            "value too large for column \"SHOP\".\"ITEM\".\"NAME\" (actual: 21, maximum: 20)"
                .to_owned(),
            ErrorKind::TooLong,
            Some("name"),
        ),
        (
            1,
            format!("unique constraint {}", constraint(&named('i'))),
            ErrorKind::Duplicate,
            Some("name"),
        ),
        (
            1,
            format!("unique constraint {}", constraint(&named('k'))),
            ErrorKind::Duplicate,
            Some("id"),
        ),
        (
            2_290,
            format!("check constraint {}", constraint(&named('c'))),
            ErrorKind::Constraint,
            Some("price"),
        ),
        (
            2_291,
            format!("integrity constraint {}", constraint(&named('f'))),
            ErrorKind::Constraint,
            Some("shop"),
        ),
        (54, "resource busy and acquire with NOWAIT specified".to_owned(), ErrorKind::Busy, None),
        (942, "table or view \"SHOP\".\"ITEM\" does not exist".to_owned(), ErrorKind::Schema, None),
        (936, "missing expression".to_owned(), ErrorKind::Syntax, None),
        (1_031, "insufficient privileges".to_owned(), ErrorKind::Denied, None),
        (1_653, "unable to extend table".to_owned(), ErrorKind::Full, None),
        (8_004, "sequence NEXTVAL exceeds MAXVALUE".to_owned(), ErrorKind::Full, Some("id")),
        (4_091, "table is mutating".to_owned(), ErrorKind::Engine, None),
    ];
    for (number, message, kind, column) in cases {
        let error = fails(number, owned(message));
        assert_eq!((error.kind(), error.column()), (kind, column), "{error}");
        assert!(!error.message().contains('\n'), "{error}");
    }
    // A row of another table refers to this one, or the constraint is another program's.
    let error = fails(2_292, "integrity constraint (SHOP.FK_1) violated - child record found");
    assert_eq!((error.table(), error.column()), (Some("cart"), Some("item")));
}

#[test]
fn a_write_that_waits_too_long_is_busy_and_a_query_timed_out() {
    let script = Script::new(|call| {
        let is_it = call.sql.starts_with("INSERT") || call.sql.contains("FROM \"ITEM\"");
        is_it.then_some(Response::Failed(OracleFailure::TimedOut))
    });
    let (engine, item) = (script.engine(), item());
    let error = write(&engine, &item, &row(Value::Null, "a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    let all = Select::all(&item);
    let mut none = |_: &dyn Row| Ok(true);
    let session = engine.session().unwrap();
    let error = session.query(&Source::Select(&all), &mut none).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let locking = Select { lock: Some(bobak_core::RowLock::Wait), ..all.clone() };
    session.control(TransactionControl::Begin).unwrap();
    let error = session.query(&Source::Select(&locking), &mut none).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "its rows are read first");
}

#[test]
fn deadlines_are_limits_of_calls_and_interrupts_end_between_rows() {
    let limits: Arc<std::sync::Mutex<Vec<Duration>>> = Arc::default();
    let noted = Arc::clone(&limits);
    let script = Script::new(move |call: &Call<'_>| {
        if !call.sql.contains("FROM \"TAG\"") {
            return None;
        }
        noted.lock().unwrap().extend(call.limit);
        let number = OracleColumn { name: "WEIGHT".to_owned(), kind: CellKind::Number(19, 0) };
        let cells =
            |at: i32| vec![OracleCell::Text(format!("n{at}")), OracleCell::Number(at.to_string())];
        Some(Response::Rows(vec![text_column("NAME"), number], (0..9).map(cells).collect()))
    });
    let engine = script.engine();
    let (select, session) = (Select::all(&tag()), engine.session().unwrap());
    let read = |each: &mut dyn FnMut(&dyn Row) -> Result<bool>| {
        session.query(&Source::Select(&select), each)
    };
    Deadline::after(Duration::from_secs(7)).run(|| read(&mut |_| Ok(true))).unwrap();
    let limit = limits.lock().unwrap().pop().unwrap();
    assert!(limit <= Duration::from_secs(7) && limit > Duration::from_secs(1), "{limit:?}");
    let interrupt = Interrupt::new();
    let mut rows = 0;
    let done = interrupt.run(|| {
        read(&mut |_| {
            rows += 1;
            if rows == 3 {
                interrupt.interrupt();
            }
            Ok(true)
        })
    });
    assert_eq!((done.unwrap_err().kind(), rows), (ErrorKind::Interrupted, 3));
}

#[test]
fn a_read_is_repeated_if_the_idle_connection_was_lost() {
    let calls = AtomicU32::new(0);
    let script = Script::new(move |call| {
        let is_it = call.sql.contains("FROM \"TAG\"");
        (is_it && calls.fetch_add(1, Ordering::SeqCst) == 1).then(lost).flatten()
    });
    let engine = script.engine();
    let select = Select::all(&tag());
    for _ in 0..2 {
        let session = engine.session().unwrap();
        session.query(&Source::Select(&select), &mut |_| Ok(true)).unwrap();
    }
    let connected = script.requested().iter().filter(|one| one.starts_with("CONNECT")).count();
    assert_eq!(connected, 2);
}

/// What one cell of this kind is in a result of SQL text.
fn shown(kind: CellKind, cell: OracleCell) -> Result<Value<'static>> {
    let script = Script::new(move |call| {
        let column = OracleColumn { name: "X".to_owned(), kind };
        (call.sql == "select x").then(|| Response::Rows(vec![column], vec![vec![cell.clone()]]))
    });
    let (engine, mut found) = (script.engine(), Value::Null);
    let source = Source::Sql { text: "select x", parameters: &[] };
    engine.session()?.query(&source, &mut |row| {
        found = Value::from(row.get(0)).into_owned();
        Ok(true)
    })?;
    Ok(found)
}

#[test]
fn numbers_are_exact_and_what_cannot_be_read_says_so() {
    let number = |precision, scale, digits: &str| {
        shown(CellKind::Number(precision, scale), OracleCell::Number(digits.to_owned()))
    };
    assert_eq!(number(19, 4, "922337203685477.5807").unwrap(), Value::Int(i64::MAX));
    assert_eq!(number(19, 4, "-0.0001").unwrap(), Value::Int(-1));
    assert_eq!(number(0, -127, "42").unwrap(), Value::Int(42));
    let digits = "12345678901234567890.123456789";
    assert_eq!(number(0, -127, digits).unwrap(), Value::from(digits.to_owned()));
    assert_eq!(number(19, 4, "0.00001").unwrap_err().kind(), ErrorKind::OutOfRange);
    let empty = shown(CellKind::Text, OracleCell::Text("\0".to_owned())).unwrap();
    assert_eq!(empty.as_ref(), ValueRef::Text(""));
    let day = 86_400_000_000;
    assert_eq!(shown(CellKind::Date, OracleCell::Moment(2 * day, 0)).unwrap(), Value::Int(2));
    let late = shown(CellKind::Date, OracleCell::Moment(day + 1, 0)).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::OutOfRange);
    let fine = shown(CellKind::Moment, OracleCell::Moment(1, 5)).unwrap_err();
    assert_eq!(fine.kind(), ErrorKind::OutOfRange);
    let other = shown(CellKind::Foreign, OracleCell::Foreign("XMLTYPE")).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Unsupported);
}

#[test]
fn the_page_says_what_the_engine_can_do() {
    let document = include_str!("../../../../../docs/engines.md");
    let engine = Script::new(|_| None).engine();
    agrees_with_document(document, "Oracle", engine.capabilities()).unwrap();
}
