//! Exports and results of SQL as Arrow streams, and imports of such.

use crate::client::{Reply, TestServer, memory, sqlite};
use bobak::arrow::arrow_array::cast::AsArray;
use bobak::arrow::arrow_array::types::{Decimal128Type, Int64Type};
use bobak::arrow::arrow_array::{Array, ArrayRef, RecordBatch, StringArray, record_batch};
use bobak::arrow::arrow_schema::{self, DataType, Schema, TimeUnit};
use bobak::arrow::{STREAM_MEDIA_TYPE, StreamReader, StreamWriter};
use bobak_http::{Settings, SqlAccess};
use serde_json::json;
use std::fmt::Write;
use std::sync::Arc;

/// The schema and the batches of a stream, which must be complete.
fn read(reply: &Reply) -> (Arc<Schema>, Vec<RecordBatch>) {
    assert_eq!(reply.ok(200).header("content-type"), STREAM_MEDIA_TYPE);
    assert!(reply.bytes.ends_with(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]), "the stream's end");
    let reader = StreamReader::try_new(&*reply.bytes, None).unwrap();
    (reader.schema(), reader.collect::<Result<_, _>>().unwrap())
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

fn sql(server: &TestServer, body: serde_json::Value) -> Reply {
    let headers = [("content-type", "application/json"), ("accept", STREAM_MEDIA_TYPE)];
    server.ask("POST", "/sql", &headers, &body.to_string())
}

fn with_sql() -> TestServer {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    TestServer::with(settings, sqlite())
}

#[test]
fn an_export_is_a_stream_of_batches() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        let mut lines = String::new();
        let name = "x".repeat(20);
        for number in 0..70_000 {
            writeln!(lines, r#"{{"name":"{name}","balance":"{number}.25","tags":[{number}]}}"#)
                .unwrap();
        }
        let ndjson = [("content-type", "application/x-ndjson")];
        server.ask("POST", "/tables/person/import", &ndjson, &lines).ok(200);

        let headers = [("accept", STREAM_MEDIA_TYPE)];
        let (schema, batches) = read(&server.ask("GET", "/tables/person/export", &headers, ""));
        let types: Vec<_> =
            schema.fields().iter().map(|f| (f.name().as_str(), f.data_type())).collect();
        let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        assert_eq!(types[3], ("balance", &DataType::Decimal128(19, 4)));
        assert_eq!(types[8], ("seen", &utc));
        assert_eq!(schema.field(7).metadata()["ARROW:extension:name"], "arrow.json");
        assert!(batches.len() > 1 && rows(&batches) == 70_000);
        let (ids, balances) = (batches[0].column(0), batches[0].column(3));
        assert_eq!(ids.as_primitive::<Int64Type>().value(1), 2);
        assert_eq!(balances.as_primitive::<Decimal128Type>().value(1), 12_500);
        assert_eq!(batches[0].column(2).null_count(), batches[0].num_rows());

        let path =
            "/tables/person/export?format=arrow&columns=name,id&filter=id%20%3E%2069990&order=-id";
        let (schema, batches) = read(&server.get(path));
        assert_eq!((schema.fields().len(), rows(&batches)), (2, 10));
        assert_eq!(batches[0].column(1).as_primitive::<Int64Type>().value(0), 70_000);
        let (schema, batches) =
            read(&server.get("/tables/person/export?format=arrow&filter=id%20%3C%200"));
        assert_eq!((schema.fields().len(), rows(&batches)), (10, 0));
    }
}

#[test]
fn a_result_of_sql_is_a_stream_of_batches() {
    let server = with_sql();
    let person = r#"{"name":"Ann","balance":1.5}"#;
    server.send("POST", "/tables/person/rows", person).ok(201);
    let statement = "SELECT name, balance * ? AS twice, 1 AS one FROM person";
    let (schema, batches) = read(&sql(&server, json!({"sql": statement, "parameters": [2]})));
    assert_eq!(schema.field(1).name(), "twice");
    assert_eq!(batches[0].column(0).as_string::<i32>().value(0), "Ann");
    assert_eq!(batches[0].column(1).as_primitive::<Decimal128Type>().value(0), 30_000);
    assert_eq!(batches[0].column(2).as_primitive::<Int64Type>().value(0), 1);

    let (schema, batches) =
        read(&sql(&server, json!({"sql": "SELECT name FROM person WHERE id < 0"})));
    assert_eq!((schema.field(0).data_type(), rows(&batches)), (&DataType::Utf8, 0));
    let series = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000) SELECT i FROM n";
    let (_, batches) = read(&sql(&server, json!({"sql": series})));
    assert_eq!(rows(&batches), 150_000);
}

#[test]
fn what_has_no_columns_is_not_a_stream() {
    let server = with_sql();
    let changed = sql(&server, json!({"sql": "DELETE FROM person"}));
    assert_eq!(changed.ok(200).json(), json!({"changed": 0}));
    let plan = sql(&server, json!({"sql": "SELECT * FROM person", "explain": true}));
    assert!(plan.ok(200).json()["steps"].is_array());
    sql(&server, json!({"sql": "SELECT 1 AS x UNION ALL SELECT 'a'"})).is(422, "Mismatch");
    sql(&server, json!({"sql": "SELECT nowhere FROM person"})).is(400, "Schema");
    server.get("/tables/person/export?format=feather").is(400, "Syntax");
}

#[test]
fn the_document_names_the_media_type() {
    let server = with_sql();
    let document = server.get("/openapi.json").json();
    let export = &document["paths"]["/tables/person/export"]["get"];
    assert_eq!(
        export["responses"]["200"]["content"][STREAM_MEDIA_TYPE]["schema"]["format"],
        "binary"
    );
    let sql = &document["paths"]["/sql"]["post"]["responses"]["200"]["content"];
    assert!(sql[STREAM_MEDIA_TYPE].is_object());
    let import = &document["paths"]["/tables/person/import"]["post"]["requestBody"]["content"];
    assert_eq!(import[STREAM_MEDIA_TYPE]["schema"]["format"], "binary");
}

const BODY: [(&str, &str); 1] = [("content-type", STREAM_MEDIA_TYPE)];

fn import(server: &TestServer, parameters: &str, stream: &[u8]) -> Reply {
    server.send_bytes("POST", &format!("/tables/person/import{parameters}"), &BODY, stream)
}

/// A stream of record batches with one schema.
fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), batches[0].schema_ref()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

#[test]
fn an_export_can_be_imported() {
    for engine in [sqlite(), memory()] {
        let from = TestServer::with(Settings::default(), engine);
        let mut lines = String::new();
        for number in 0..20_000 {
            let seen = if number % 2 == 0 { r#","seen":"2024-02-29T12:00:00.5Z""# } else { "" };
            writeln!(
                lines,
                r#"{{"name":"n {number}","balance":"{number}.25","tags":[{number}]{seen}}}"#
            )
            .unwrap();
        }
        let ndjson = [("content-type", "application/x-ndjson")];
        from.ask("POST", "/tables/person/import", &ndjson, &lines).ok(200);
        let exported = from.get("/tables/person/export?format=arrow");
        for to in [TestServer::with(Settings::default(), sqlite()), TestServer::open()] {
            let report = import(&to, "", &exported.bytes).ok(200).json();
            assert_eq!((&report["inserted"], &report["failed"]), (&json!(20_000), &json!(0)));
            let rows = |server: &TestServer| server.get("/tables/person/export?order=id").text;
            assert_eq!(rows(&to), rows(&from));
            // The same rules as for other bodies hold.
            let again = import(&to, "?mode=ignore", &exported.bytes).ok(200).json();
            assert_eq!((&again["inserted"], &again["ignored"]), (&json!(0), &json!(20_000)));
            let replaced = import(&to, "?mode=upsert&commit=0", &exported.bytes).ok(200).json();
            assert_eq!(replaced["failed"], 0);
            assert_eq!(rows(&to), rows(&from));
        }
    }
}

#[test]
fn a_wrong_row_is_named_by_its_number() {
    let server = TestServer::with(Settings::default(), sqlite());
    let names = |names: [Option<&str>; 2]| {
        let balance = record_batch!(("balance", Int32, [1, 2])).unwrap();
        let names: ArrayRef = Arc::new(StringArray::from(names.to_vec()));
        let columns = [("name", names, true), ("balance", Arc::clone(balance.column(0)), true)];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    let rows = [names([Some("a"), Some("b")]), names([Some("c"), None])];
    let problem = import(&server, "?commit=2", &stream(&rows));
    let problem = problem.is(422, "Constraint").json();
    assert_eq!((&problem["row"], &problem["column"]), (&json!(3), &json!("name")));
    assert_eq!(problem["committed"], 2);
    let report = import(&server, "?errors=skip", &stream(&rows)).ok(200).json();
    assert_eq!((&report["inserted"], &report["failed"]), (&json!(3), &json!(1)));
    assert_eq!(report["errors"][0]["row"], 3);

    let unknown = record_batch!(("nowhere", Int32, [1])).unwrap();
    import(&server, "", &stream(&[unknown])).is(400, "Schema");
    let mismatch = record_batch!(("name", Utf8, ["x"]), ("balance", Float64, [0.5])).unwrap();
    let problem = import(&server, "", &stream(&[mismatch])).is(422, "Mismatch").json();
    assert_eq!(problem["column"], "balance");
}

#[test]
fn what_is_no_stream_is_one_error() {
    let mut settings = Settings::default();
    settings.max_body = 100_000;
    let server = TestServer::with(settings, sqlite());
    let rows = |length: usize| record_batch!(("name", Utf8, ["x".repeat(length)])).unwrap();
    let good = stream(&[rows(10), rows(10)]);
    import(&server, "", b"").is(400, "Syntax");
    import(&server, "", b"no stream at all").is(400, "Syntax");
    for cut in [5, 100, good.len() - 30] {
        import(&server, "", &good[..cut]).is(400, "Syntax");
    }
    let problem = import(&server, "", &stream(&[rows(10), rows(200_000)]));
    assert_eq!(problem.is(413, "OutOfRange").json()["row"], 1);
    // No byte of it makes the reader panic: at worst the rows have other values.
    for place in 0..good.len() {
        for byte in [0, 5, 0xff] {
            let mut damaged = good.clone();
            damaged[place] = byte;
            let status = import(&server, "?errors=skip", &damaged).status;
            assert!(matches!(status, 200 | 400 | 413 | 422), "{place}, {byte}: {status}");
        }
    }
    // A length that the body does not have takes no memory.
    let huge = [&[0xff; 4][..], &[0xff, 0xff, 0xff, 0x7f], &[0; 100]].concat();
    import(&server, "", &huge).is(400, "Syntax");
    assert_eq!(import(&server, "", &good).ok(200).json()["inserted"], 2);
}
