//! One frame of each kind, and what it says in the words of the protocol's page.

use crate::{more, nearest, parts, search};
use bobak_core::rules::Violation;
use bobak_core::{
    Assign, BulkChange, Collation, ColumnRole, ColumnSchema, Comparison, Condition, Error,
    ErrorKind, Expr, FieldSet, GeneratedKey, OnDelete, OnError, Order, Outcome, Parameter,
    ResultColumn, RowBuffer, SchemaChange, Select, TableSchema, TransactionControl, Type, Uuid,
    Value, Verb,
};
use bobak_wire::{
    Credentials, Hello, Limits, OutcomeWriter, RequestSource, ResultForm, encode_request,
    encode_response,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A frame, and what it says.
pub struct Sample {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub message: Json,
}

pub type EncodeFn<'p> = &'p dyn Fn(&mut Vec<u8>);

pub fn sample(name: &'static str, message: Json, encode: EncodeFn<'_>) -> Sample {
    let mut bytes = Vec::new();
    encode(&mut bytes);
    Sample { name, bytes, message }
}

/// A table with everything that a description can hold.
pub fn person() -> Arc<TableSchema> {
    Arc::new(
        TableSchema::builder("pérson")
            .column(ColumnSchema::new("id", Type::I64))
            .column(
                ColumnSchema::of::<String>("name")
                    .max_chars(40)
                    .unique()
                    .collation(Collation::NoCase),
            )
            .column(ColumnSchema::of::<Option<i32>>("age").default(18).check("age >= 0"))
            .column(ColumnSchema::new("amount", Type::Currency))
            .column(ColumnSchema::of::<Option<Vec<u8>>>("photo"))
            .column(ColumnSchema::new("born", Type::Date).as_text())
            .column(ColumnSchema::of::<Option<i64>>("boss").references(
                "pérson",
                "id",
                OnDelete::SetNull,
            ))
            .column(ColumnSchema::new("version", Type::I64).role(ColumnRole::Version))
            .key(["id"])
            .index("by_age", ["age", "name"])
            .build()
            .unwrap(),
    )
}

pub fn person_json() -> Json {
    let boss = json!({"nullable": true, "references": {"table": "pérson", "column": "id", "on_delete": 2}});
    json!({
        "name": "pérson",
        "columns": [
            column("id", "i64", json!({})),
            column("name", "text", json!({"max_chars": 40, "unique": true, "collation": 1})),
            column("age", "i32", json!({"nullable": true, "default": 18, "check": "age >= 0"})),
            column("amount", "currency", json!({})),
            column("photo", "bytes", json!({"nullable": true})),
            column("born", "date", json!({"as_text": true})),
            column("boss", "i64", boss),
            column("version", "i64", json!({"role": 3})),
        ],
        "key": [0],
        "keys_made_by": 0,
        "indexes": [{"name": "by_age", "unique": false, "columns": [2, 1]}],
    })
}

/// A column's description: what `more` does not say is as plain as can be.
pub fn column(name: &str, ty: &str, more: Json) -> Json {
    let mut column = json!({
        "name": name, "type": ty, "nullable": false, "unique": false, "as_text": false,
        "collation": 0, "role": 0, "max_chars": null, "default": null, "check": null,
        "references": null,
    });
    for (key, value) in more.as_object().unwrap() {
        column[key] = value.clone();
    }
    column
}

pub fn ada() -> Vec<Value<'static>> {
    vec![
        Value::Null,
        "Ada \0 Lovelace".into(),
        Value::Int(36),
        Value::Int(i64::MAX),
        Value::Bytes(vec![0, 255].into()),
        "1815-12-10".into(),
        Value::Null,
        Value::Int(0),
    ]
}

fn ada_json() -> Json {
    json!([null, "Ada \0 Lovelace", 36, {"int": "9223372036854775807"}, {"hex": "00ff"}, "1815-12-10", null, 0])
}

pub fn rows(rows: &[Vec<Value<'static>>]) -> RowBuffer {
    let mut buffer = RowBuffer::default();
    rows.iter().for_each(|row| buffer.push(&row.as_slice()).unwrap());
    buffer
}

/// What clients send, in an order in which a server can read it.
pub fn requests() -> Vec<Sample> {
    let first = [greetings(), definitions(), writes(), batches(), queries(), others()];
    first
        .into_iter()
        .chain([more::definitions(), more::writes(), more::conditions()])
        .chain([more::queries(), more::locks(), search::requests(), nearest::requests()])
        .flatten()
        .chain(parts::requests())
        .collect()
}

fn greetings() -> Vec<Sample> {
    let hello = |credentials| Hello::new("main", "example 1.0", credentials);
    let message = |credentials: Json| json!({"lowest": 1, "highest": 1, "database": "main", "client": "example 1.0", "credentials": credentials});
    let user = Credentials::User { name: "ada".into(), password: "secret".into() };
    vec![
        sample("hello on a pipe", message(Json::Null), &|out| {
            hello(Credentials::None).encode(out, 1).unwrap();
        }),
        sample("hello with a token", message(json!({"token": "0123456789abcdef"})), &|out| {
            hello(Credentials::Token("0123456789abcdef".into())).encode(out, 1).unwrap();
        }),
        sample(
            "hello with a password",
            message(json!({"user": "ada", "password": "secret"})),
            &|out| hello(user.clone()).encode(out, 1).unwrap(),
        ),
    ]
}

fn definitions() -> Vec<Sample> {
    vec![
        sample("define", json!({"number": 1, "table": person_json()}), &|out| {
            encode_request::define(out, 2, 1, &person()).unwrap();
        }),
        sample("prepare", json!({"number": 7, "sql": "select ?"}), &|out| {
            encode_request::prepare(out, 3, 7, "select ?").unwrap();
        }),
        sample("forget a table", json!({"what": "table", "number": 9}), &|out| {
            encode_request::forget(out, 4, true, 9);
        }),
        sample("begin", json!({"step": "begin"}), &|out| {
            encode_request::control(out, 5, TransactionControl::Begin).unwrap();
        }),
        sample("commit", json!({"step": "commit"}), &|out| {
            encode_request::control(out, 6, TransactionControl::Commit).unwrap();
        }),
        sample("savepoint", json!({"step": "savepoint", "name": "s1"}), &|out| {
            encode_request::control(out, 7, TransactionControl::Savepoint("s1")).unwrap();
        }),
    ]
}

fn writes() -> Vec<Sample> {
    let fields: FieldSet = [1, 2].into_iter().collect();
    let update: Vec<_> = [Value::Int(1)].into_iter().chain(ada().into_iter().skip(1)).collect();
    let mut updated = ada_json();
    updated[0] = json!(1);
    let condition = Condition::Or(vec![
        Condition::And(vec![
            Condition::Compare { column: 2, comparison: Comparison::Less, value: Value::Int(9) },
            Condition::Not(Box::new(Condition::IsNull { column: 4 })),
        ]),
        Condition::In { column: 1, values: vec!["a".into(), "b".into()] },
        Condition::Like { column: 1, pattern: "A%".into() },
        Condition::StartsWith { column: 1, prefix: "é".into() },
        Condition::LikeEscape { column: 1, pattern: "50!%".into(), escape: '!' },
        Condition::Contains { column: 1, part: "%é".into() },
        Condition::EndsWith { column: 1, suffix: "_".into() },
        Condition::CompareColumns { left: 0, comparison: Comparison::GreaterOrEqual, right: 6 },
    ]);
    let assign = [
        Assign::Set { column: 1, value: "x".into() },
        Assign::Add { column: 3, value: Value::Int(-5) },
    ];
    let condition_json = json!({"or": [
        {"and": [{"column": 2, "comparison": "<", "value": 9}, {"not": {"is_null": 4}}]},
        {"column": 1, "in": ["a", "b"]},
        {"column": 1, "like": "A%"},
        {"column": 1, "starts_with": "é"},
        {"column": 1, "like": "50!%", "escape": "!"},
        {"column": 1, "contains": "%é"},
        {"column": 1, "ends_with": "_"},
        {"column": 0, "comparison": ">=", "right": 6},
    ]});
    vec![
        sample(
            "insert",
            json!({"table": 1, "verb": "insert", "columns": [], "row": ada_json()}),
            &|out| {
                let table = person();
                let what = (&*table, Verb::Insert, FieldSet::EMPTY);
                encode_request::write(out, 8, 1, what, &ada()).unwrap();
            },
        ),
        sample(
            "update of two columns",
            json!({"table": 1, "verb": "update", "columns": [1, 2], "row": updated}),
            &|out| {
                let table = person();
                let what = (&*table, Verb::Update, fields);
                encode_request::write(out, 9, 1, what, &update).unwrap();
            },
        ),
        sample(
            "delete by key",
            json!({"table": 1, "verb": "delete", "columns": [], "row": [-3]}),
            &|out| {
                let table = person();
                let what = (&*table, Verb::Delete, FieldSet::EMPTY);
                encode_request::write(out, 10, 1, what, &[Value::Int(-3)]).unwrap();
            },
        ),
        sample(
            "change by a condition",
            json!({"table": 1, "condition": condition_json, "assign": [{"set": 1, "value": "x"}, {"add": 3, "value": -5}]}),
            &|out| {
                let (condition, assign) = (Some(&condition), Some(&assign[..]));
                let change = BulkChange { table: &person(), condition, assign };
                encode_request::change(out, 11, 1, &change, &[]).unwrap();
            },
        ),
        sample("delete all", json!({"table": 1, "condition": null, "assign": null}), &|out| {
            let change = BulkChange { table: &person(), condition: None, assign: None };
            encode_request::change(out, 12, 1, &change, &[]).unwrap();
        }),
    ]
}

fn batches() -> Vec<Sample> {
    let inserts = rows(&[ada(), ada()]);
    let deletes = rows(&[vec![Value::Int(1)]]);
    let insert =
        json!({"table": 1, "verb": "insert", "columns": [], "rows": [ada_json(), ada_json()]});
    let delete = json!({"table": 1, "verb": "delete", "columns": [], "rows": [[1]]});
    let encode = |out: &mut Vec<u8>, verb, rows: &RowBuffer| {
        let table = person();
        encode_request::batch_run(out, 1, (&table, verb, FieldSet::EMPTY), rows.as_bytes())
    };
    vec![
        sample(
            "batch in one frame",
            json!({"on_error": "continue", "runs": [insert, delete]}),
            &|out| {
                encode_request::batch(out, 13, false, OnError::Continue, |out| {
                    encode(out, Verb::Insert, &inserts)?;
                    encode(out, Verb::Delete, &deletes)
                })
                .unwrap();
            },
        ),
        sample("batch, first part", json!({"on_error": "stop", "runs": [insert]}), &|out| {
            let fill = |out: &mut Vec<u8>| encode(out, Verb::Insert, &inserts);
            encode_request::batch(out, 14, true, OnError::Stop, fill).unwrap();
        }),
        sample("batch, last part", json!({"on_error": "stop", "runs": [delete]}), &|out| {
            let fill = |out: &mut Vec<u8>| encode(out, Verb::Delete, &deletes);
            encode_request::batch(out, 14, false, OnError::Stop, fill).unwrap();
        }),
    ]
}

fn queries() -> Vec<Sample> {
    let select = Select {
        table: person(),
        columns: vec![Expr::Column(2), Expr::Count, Expr::Sum(3), Expr::Max(1)],
        condition: Some(Condition::IsNull { column: 4 }),
        group: vec![2],
        order: vec![Order { column: 2, descending: true }],
        limit: Some(10),
        offset: 3,
        search: None,
        nearest: None,
        lock: None,
    };
    let select_json = json!({
        "table": 1,
        "columns": [{"column": 2}, {"count": 0}, {"sum": 3}, {"max": 1}],
        "condition": {"is_null": 4}, "group": [2], "order": [{"column": 2, "descending": true}],
        "limit": 10, "offset": 3,
    });
    let parameters = [
        Value::Int(1).into(),
        Value::Float(0.5).into(),
        Parameter::new(Value::Null, Type::Date),
        Parameter::new(Value::Int(50_000), Type::Currency),
        Parameter::new("0.125".into(), Type::Decimal),
    ];
    vec![
        sample("get", json!({"table": 1, "key": [7]}), &|out| {
            encode_request::get(out, 15, 1, &[Value::Int(7)]).unwrap();
        }),
        sample(
            "query over a table",
            json!({"credit": 1_048_576, "columns": false, "source": select_json}),
            &|out| {
                let source = RequestSource::Select(1, &select, &[]);
                encode_request::query(out, 16, 1 << 20, ResultForm::default(), source).unwrap();
            },
        ),
        sample(
            "query in SQL",
            json!({"credit": 0, "columns": true, "source": {"sql": "select ?, ?, ?", "parameters": [1, {"float": "0.5"}, null, 50_000, "0.125"],
                "types": ["any", "any", "date", "currency", "decimal"]}}),
            &|out| {
                let source = RequestSource::Text("select ?, ?, ?", &parameters);
                encode_request::query(out, 17, 0, ResultForm::NAMED, source).unwrap();
            },
        ),
        sample(
            "open a statement",
            json!({"source": {"statement": 7, "parameters": ["x"], "types": ["text"]}}),
            &|out| {
                let parameters = [Parameter::new("x".into(), Type::Text)];
                encode_request::open(out, 18, RequestSource::Statement(7, &parameters)).unwrap()
            },
        ),
        sample("fetch", json!({"cursor": 3}), &|out| encode_request::fetch(out, 19, 3)),
        sample("close", json!({"cursor": 3}), &|out| encode_request::close(out, 20, 3)),
        sample(
            "execute",
            json!({"source": {"sql": "vacuum", "parameters": [], "types": []}}),
            &|out| {
                encode_request::execute(out, 21, RequestSource::Text("vacuum", &[])).unwrap();
            },
        ),
        sample("cancel", json!({}), &|out| encode_request::cancel(out, 17)),
        sample("credit", json!({"bytes": 65_536}), &|out| encode_request::credit(out, 16, 65_536)),
    ]
}

fn others() -> Vec<Sample> {
    let create = json!({"changes": [{"create_table": person_json()}, {"add_column": 7, "table": person_json()}, {"add_index": 1, "table": person_json()}]});
    let track = json!({"changes": [{"track": 1, "table": person_json()}, {"track": 0, "table": person_json()}, {"untrack": 0, "table": person_json()}]});
    vec![
        sample("tables", json!({}), &|out| encode_request::tables(out, 22)),
        sample("alter", create, &|out| {
            let changes = [
                SchemaChange::CreateTable(person()),
                SchemaChange::AddColumn { table: person(), column: 7 },
                SchemaChange::AddIndex { table: person(), index: 1 },
            ];
            encode_request::alter(out, 23, &changes).unwrap();
        }),
        sample("track", track, &|out| {
            let changes = [
                SchemaChange::Track { table: person(), history: true },
                SchemaChange::Track { table: person(), history: false },
                SchemaChange::Untrack(person()),
            ];
            encode_request::alter(out, 23, &changes).unwrap();
        }),
        sample("flush", json!({}), &|out| encode_request::flush(out, 24)),
        sample("ping", json!({}), &|out| encode_request::ping(out, u32::MAX)),
    ]
}

/// What servers send.
pub fn responses() -> Vec<Sample> {
    let mut capabilities = bobak_core::Capabilities::NONE;
    (capabilities.sql, capabilities.sequential_keys) = (true, true);
    let welcome = more::welcome(Limits::default(), capabilities, "sqlite", "bobak 0.1.0");
    let welcome_json = json!({"version": 1, "frame": 67_108_864, "row": 67_108_864, "requests": 1024, "handles": 4096, "window": 4_194_304, "capabilities": 8_388_625, "engine": "sqlite", "server": "bobak 0.1.0"});
    let mut all = vec![
        sample("welcome", welcome_json, &|out| encode_response::welcome(out, 1, &welcome).unwrap()),
        sample("ok", json!({}), &|out| encode_response::ok(out, 5)),
        sample("count", json!({"rows": 12}), &|out| encode_response::count(out, 11, 12)),
    ];
    all.extend(errors());
    all.extend(outcomes());
    all.extend(results());
    all.extend(more::responses());
    all.extend(search::responses());
    all.extend(nearest::responses().into_iter().chain(parts::responses()));
    all
}

fn errors() -> Vec<Sample> {
    let duplicate = || {
        Error::new(ErrorKind::Duplicate, "a row with this unique value is already there")
            .in_table("pérson")
            .in_column("name")
            .at_row(3)
            .with_code(2067)
            .with_source("UNIQUE constraint failed: pérson.name (SQLite's code 2067)")
    };
    let invalid = || {
        let violations = vec![
            Violation::new(Some("name"), "must not be blank"),
            Violation::new(None, "has no öwner"),
        ];
        Error::invalid("person", violations).at_row(5)
    };
    vec![
        sample(
            "error with violations",
            json!({"kind": 25, "message": "name must not be blank; the row has no öwner", "table": "person", "column": "name", "row": 5, "code": null, "detail": null, "violations": [{"column": "name", "message": "must not be blank"}, {"column": null, "message": "has no öwner"}]}),
            &|out| encode_response::error(out, 8, &invalid()),
        ),
        sample(
            "error with its place",
            json!({"kind": 2, "message": "a row with this unique value is already there", "table": "pérson", "column": "name", "row": 3, "code": 2067, "detail": "UNIQUE constraint failed: pérson.name (SQLite's code 2067)"}),
            &|out| encode_response::error(out, 8, &duplicate()),
        ),
        sample(
            "error before the end",
            json!({"kind": 14, "message": "the server stops", "table": null, "column": null, "row": null, "code": null, "detail": null}),
            &|out| {
                encode_response::error(
                    out,
                    0,
                    &Error::new(ErrorKind::Unreachable, "the server stops"),
                );
            },
        ),
    ]
}

fn outcomes() -> Vec<Sample> {
    let key = Uuid::from_bytes(*b"0123456789abcdef");
    let all = [
        Outcome::Inserted(Some(GeneratedKey::Int(41))),
        Outcome::Inserted(Some(GeneratedKey::Int(42))),
        Outcome::Inserted(Some(GeneratedKey::Int(50))),
        Outcome::Inserted(None),
        Outcome::Inserted(None),
        Outcome::Inserted(Some(GeneratedKey::Uuid(key))),
        Outcome::Changed(1),
        Outcome::Changed(1),
        Outcome::Changed(0),
        Outcome::Ignored,
        Outcome::Updated(GeneratedKey::Int(7)),
        Outcome::Updated(GeneratedKey::Uuid(key)),
    ];
    let message = json!({"groups": [
        {"integer_keys": 41, "rows": 2}, {"integer_keys": 50, "rows": 1}, {"inserted": true, "rows": 2},
        {"key": {"hex": "30313233343536373839616263646566"}, "rows": 1},
        {"changed": 1, "rows": 2}, {"changed": 0, "rows": 1}, {"ignored": true, "rows": 1},
        {"updated_integer": 7, "rows": 1},
        {"updated_key": {"hex": "30313233343536373839616263646566"}, "rows": 1},
        {"failed": {"kind": 4, "message": "NULL in a required column", "table": null, "column": "name", "row": 10, "code": null, "detail": null}, "rows": 1},
    ]});
    vec![
        sample("outcomes", message, &|out| {
            let mut writer = OutcomeWriter::default();
            all.iter().for_each(|outcome| writer.push(Ok(*outcome)).unwrap());
            let error = Error::new(ErrorKind::Constraint, "NULL in a required column");
            writer.push(Err(&error.in_column("name").at_row(10))).unwrap();
            writer.write_frame(out, 13, true).unwrap();
        }),
        sample("outcomes, the end", json!({"groups": []}), &|out| {
            OutcomeWriter::default().write_frame(out, 13, false).unwrap();
        }),
    ]
}

fn results() -> Vec<Sample> {
    let found = rows(&[ada(), vec![Value::Float(-0.5)], Vec::new()]);
    vec![
        sample("rows", json!({"rows": [ada_json(), [{"float": "-0.5"}], []]}), &|out| {
            encode_response::rows(out, 16, true, found.as_bytes()).unwrap();
        }),
        sample("no row", json!({"rows": []}), &|out| encode_response::row(out, 15, None).unwrap()),
        sample(
            "columns",
            json!({"cursor": 3, "columns": [{"name": "one", "type": "any"}, {"name": "two", "type": "decimal"}]}),
            &|out| {
                let one = ResultColumn::new("one", Type::Any);
                let columns = [one, ResultColumn::new("two", Type::Decimal)];
                encode_response::columns(out, 18, false, 3, &columns).unwrap();
            },
        ),
        sample("schemas", json!({"tables": [person_json()]}), &|out| {
            encode_response::schemas(out, 22, &[TableSchema::clone(&person())]).unwrap();
        }),
    ]
}
