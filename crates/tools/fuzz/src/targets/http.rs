//! HTTP: rows in JSON, bodies of imports and batches, paths and parameters.

use crate::{Target, sample, seeds};
use bobak::arrow::{BatchBuilder, StreamWriter};
use bobak_core::{
    ColumnSchema, Engine, Error, OnError, ResultColumn, SchemaChange, TableSchema, Type, Value,
};
use bobak_http::decoders::{self, ImportFormat};
use bobak_memory::Memory;
use std::sync::Arc;

/// Rows in JSON.
pub(crate) const JSON: Target = Target {
    name: "http-json",
    about: "rows in JSON",
    longest: 64 << 10,
    factor: 64,
    run: |input| {
        let table = sample::table();
        let Ok((values, text)) = decoders::row(&table, input) else { return };
        let again = decoders::row(&table, text.as_bytes());
        let (again, _) = again.unwrap_or_else(|error| panic!("{error} in {text}"));
        // By their texts: a float may be no number.
        assert_eq!(format!("{again:?}"), format!("{values:?}"), "another row came back: {text}");
    },
    seeds: || {
        seeds::of(&[
            r#"{"id":1,"name":"Zoë","bool":true,"i64":"9007199254740993","f64":-1.5e300,"bytes":"AP8="}"#,
            r#"{"id":2,"uuid":"67e55044-10b1-426f-9247-bb680e5fe0c8","currency":12.3400,"date":"2024-02-29"}"#,
            r#"{"id":3,"time":"23:59:59.999999","datetime":"2024-02-29T12:00:00","timestamp":"2024-02-29T12:00:00Z"}"#,
            r#"{"id":4,"json":{"a":[1,2.5,null,"\u00fc"]},"any":1.0,"day as text":"1999-12-31","u8":255}"#,
            r#"{"id":5,"name":"a\\\"b","text":"","i8":-128,"f32":0.1,"revision":0,"stock":null}"#,
        ])
    },
};

/// Bodies of imports, whose report does not depend on how they come.
pub(crate) const IMPORT: Target = Target {
    name: "http-import",
    about: "bodies of imports and batches: NDJSON, CSV, Arrow",
    longest: 32 << 10,
    factor: 2_000,
    run: |input| {
        let Some(([way, piece], body)) = input.split_first_chunk::<2>() else { return };
        let whole = import(*way, vec![body.to_vec()]);
        let pieces = body.chunks(1 + usize::from(*piece)).map(<[u8]>::to_vec).collect();
        assert_eq!(import(*way, pieces), whole, "a report depends on how the body comes");
    },
    seeds: || {
        let bodies = [
            (0, "id,name,n,at\r\n1,a,1.5,2024-01-01\r\n2,\"b \"\"q\"\",\n\",,\n3,ü,-0,\n"),
            (1, "id;name\n"),
            (
                2,
                "{\"id\":1,\"name\":\"a\"}\n\n{\"id\":2,\"name\":\"b\",\"n\":1e3}\r\n{\"id\":2,\"name\":\"c\"}",
            ),
            (3, "{\"id\":1}\nno json\n{\"id\":\"x\",\"name\":1}\n"),
            (
                4,
                "{\"op\":\"insert\",\"table\":\"t\",\"row\":{\"id\":1,\"name\":\"a\"}}\n{\"op\":\"delete\",\"table\":\"T\",\"row\":{\"id\":1}}\n",
            ),
            (
                5,
                "{\"op\":\"upsert\",\"table\":\"t\",\"row\":{\"id\":1,\"name\":\"a\"}}\n{\"op\":\"update\",\"table\":\"x\",\"row\":{}}\n",
            ),
        ];
        let seed = |(way, body): (u8, &str)| [&[way, 6], body.as_bytes()].concat();
        let arrow = [8, 9].map(|way| [&[way, 6], &arrow_stream()[..]].concat());
        bodies.map(seed).into_iter().chain(arrow).collect()
    },
};

/// Paths and parameters.
pub(crate) const TARGET: Target = Target {
    name: "http-target",
    about: "paths, parameters, and headers of HTTP",
    longest: 64 << 10,
    factor: 400,
    run: |input| {
        decoders::headers(input);
        let Ok(text) = std::str::from_utf8(input) else { return };
        let _ = decoders::target(&sample::table(), text);
    },
    seeds: || {
        seeds::of(&[
            "/tables/sample/rows?filter=id%3E7+and+not+name+like+'a%25'&order=-id,name&limit=5&offset=2",
            "/tables/a%2Fb/rows/1?columns=id,name",
            "/databases/main/tables/sample/rows?after=7&columns=id",
            "/tables/sample/aggregate?x=1",
            "W/\"0123\", \"00-gzip\", *",
            "gzip;q=0.5, zstd;q=0, br",
        ])
    },
};

/// A stream of two record batches.
fn arrow_stream() -> Vec<u8> {
    let columns = [("id", Type::I64), ("name", Type::Text), ("n", Type::F64), ("at", Type::Date)];
    let columns = columns.map(|(name, ty)| ResultColumn::new(name, ty));
    let mut builder = BatchBuilder::new(&columns, 10);
    let mut stream: Option<StreamWriter<Vec<u8>>> = None;
    for id in 1..=2 {
        let name = Value::from(format!("é {id}"));
        let row = [Value::Int(id), name, Value::Null, Value::Int(7)];
        builder.push(&row.as_slice()).expect("the values have the types");
        let batch = builder.finish().expect("a short batch");
        let writer = || StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a vector");
        stream.get_or_insert_with(writer).write(&batch).expect("a vector takes all");
    }
    stream.map(|stream| stream.into_inner().expect("a vector takes all")).unwrap_or_default()
}

fn table() -> Arc<TableSchema> {
    let built = TableSchema::builder("t")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("name", Type::Text).unique())
        .column(ColumnSchema::new("n", Type::F64).nullable(true))
        .column(ColumnSchema::new("at", Type::Date).nullable(true))
        .key(["id"])
        .given_key()
        .build();
    Arc::new(built.expect("the table can be"))
}

/// The outcome of a body, and the table afterwards.
fn import(way: u8, parts: Vec<Vec<u8>>) -> (String, u64) {
    let (engine, table) = (Arc::new(Memory::new()), table());
    engine.alter(&[SchemaChange::CreateTable(Arc::clone(&table))]).expect("the table can be");
    let on_error = if way & 1 == 0 { OnError::Stop } else { OnError::Continue };
    let into = match way & 6 {
        0 if way & 8 != 0 => Some((&table, ImportFormat::Arrow)),
        0 => Some((&table, ImportFormat::Csv)),
        2 => Some((&table, ImportFormat::Ndjson)),
        _ => None,
    };
    let theirs: Arc<dyn Engine> = Arc::clone(&engine) as _;
    let report = decoders::import(theirs, into, on_error, parts);
    let rows = engine.estimate(&table).rows.unwrap_or_default();
    (report.unwrap_or_else(|error: Error| format!("{error:?}")), rows)
}
