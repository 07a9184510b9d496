//! Further samples: every type, verb, comparison, condition, expression, step and error.

use crate::samples::{Sample, ada, column, person, person_json, rows, sample};
use bobak_core::{
    BulkChange, Capabilities, Collation, ColumnRole, ColumnSchema, Comparison, Condition, Error,
    ErrorKind, Expr, FieldSet, ForeignKey, OnDelete, OnUpdate, Parameter, ResultColumn, RowLock,
    Select, SubQuery, TableSchema, TransactionControl, Type, Value, Verb,
};
use bobak_wire::{
    Credentials, Hello, Limits, RequestSource, ResultForm, Welcome, encode_request, encode_response,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The number of the table with every type.
const KINDS: u32 = 2;

/// A table with a column of every type, with text forms, and with everything else that the first
/// table has not.
fn kinds() -> Arc<TableSchema> {
    let mut table = TableSchema::builder("kinds");
    for ty in Type::ALL {
        table = table.column(ColumnSchema::new(ty.name(), *ty).nullable(*ty != Type::Uuid));
    }
    for ty in Type::ALL.iter().filter(|ty| ty.has_text_form()) {
        table = table.column(ColumnSchema::new(format!("{}_text", ty.name()), *ty).as_text());
    }
    Arc::new(
        table
            .column(ColumnSchema::new("made", Type::Timestamp).role(ColumnRole::CreatedAt))
            .column(ColumnSchema::new("changed", Type::Timestamp).role(ColumnRole::ModifiedAt))
            .column(
                ColumnSchema::of::<String>("word").collation(Collation::UnicodeNoCase).default("é"),
            )
            .column(ColumnSchema::of::<f64>("rate").default(0.5))
            .column(ColumnSchema::of::<Vec<u8>>("blob").default(vec![0_u8, 1]))
            .column(ColumnSchema::of::<i64>("parent").references("a", "b", OnDelete::Cascade))
            .column(ColumnSchema::of::<i64>("other").references("a", "b", OnDelete::Restrict))
            .key(["uuid"])
            .unique_index("kinds_word", ["word", "rate"])
            .build()
            .unwrap(),
    )
}

/// A table with a foreign key of several columns, whose keys are never reused.
fn visit() -> Arc<TableSchema> {
    let key = ForeignKey::new("shop", ["city", "number"], OnDelete::SetNull);
    Arc::new(
        TableSchema::builder("visit")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<Option<i64>>("number"))
            .column(ColumnSchema::of::<Option<String>>("city"))
            .key(["id"])
            .never_reuse_keys()
            .foreign_key(["city", "number"], key.on_update(OnUpdate::Cascade).deferred())
            .build()
            .unwrap(),
    )
}

/// A view without a key.
fn totals() -> Arc<TableSchema> {
    let total = ColumnSchema::of::<Option<i64>>("total");
    Arc::new(TableSchema::builder("totals").column(total).view().build().unwrap())
}

fn totals_json() -> Json {
    json!({
        "name": "totals",
        "columns": [column("total", "i64", json!({"nullable": true}))],
        "key": [],
        "keys_made_by": 2,
        "indexes": [],
        "view": true,
    })
}

fn visit_json() -> Json {
    json!({
        "name": "visit",
        "columns": [
            column("id", "i64", json!({})),
            column("number", "i64", json!({"nullable": true})),
            column("city", "text", json!({"nullable": true})),
        ],
        "key": [0],
        "keys_made_by": 0,
        "never_reused": true,
        "indexes": [],
        "foreign_keys": [
            {"columns": [1, 2], "table": "shop", "referenced": ["number", "city"], "actions": 26},
        ],
    })
}

fn kinds_json() -> Json {
    let plain = Type::ALL
        .iter()
        .map(|ty| column(ty.name(), ty.name(), json!({"nullable": *ty != Type::Uuid})));
    let texts = Type::ALL.iter().filter(|ty| ty.has_text_form());
    let texts =
        texts.map(|ty| column(&format!("{}_text", ty.name()), ty.name(), json!({"as_text": true})));
    let parent = json!({"references": {"table": "a", "column": "b", "on_delete": 1}});
    let other = json!({"references": {"table": "a", "column": "b", "on_delete": 0}});
    let rest = [
        column("made", "timestamp", json!({"role": 1})),
        column("changed", "timestamp", json!({"role": 2})),
        column("word", "text", json!({"collation": 2, "default": "é"})),
        column("rate", "f64", json!({"default": {"float": "0.5"}})),
        column("blob", "bytes", json!({"default": {"hex": "0001"}})),
        column("parent", "i64", parent),
        column("other", "i64", other),
    ];
    json!({
        "name": "kinds",
        "columns": plain.chain(texts).chain(rest).collect::<Vec<_>>(),
        "key": [13],
        "keys_made_by": 1,
        "indexes": [{"name": "kinds_word", "unique": true, "columns": [28, 29]}],
    })
}

/// A table with each action of foreign keys.
fn links() -> Arc<TableSchema> {
    let link = |name: &'static str, on_delete, on_update, deferred| {
        let mut column = ColumnSchema::of::<Option<i64>>(name).references("a", "b", on_delete);
        if let Some(reference) = &mut column.reference {
            (reference.on_update, reference.deferred) = (on_update, deferred);
        }
        column
    };
    Arc::new(
        TableSchema::builder("links")
            .column(ColumnSchema::of::<i64>("id"))
            .column(link("none", OnDelete::NoAction, OnUpdate::NoAction, false))
            .column(link("kept", OnDelete::NoAction, OnUpdate::Restrict, true))
            .column(link("moved", OnDelete::Cascade, OnUpdate::Cascade, false))
            .column(link("cut", OnDelete::SetNull, OnUpdate::SetNull, true))
            .key(["id"])
            .build()
            .unwrap(),
    )
}

fn links_json() -> Json {
    let link = |name: &str, on_delete: u8, on_update: u8, deferred: bool| {
        let to = json!({"table": "a", "column": "b", "on_delete": on_delete, "on_update": on_update, "deferred": deferred});
        column(name, "i64", json!({"nullable": true, "references": to}))
    };
    let columns = [
        column("id", "i64", json!({})),
        link("none", 3, 0, false),
        link("kept", 3, 1, true),
        link("moved", 1, 2, false),
        link("cut", 2, 3, true),
    ];
    json!({"name": "links", "columns": columns, "key": [0], "keys_made_by": 0, "indexes": []})
}

/// A table whose keys the user gives, of two columns, and with so many that columns of an update
/// take two words.
fn wide() -> Arc<TableSchema> {
    let names: Vec<String> = (0..70).map(|place| format!("c{place}")).collect();
    let columns = names.iter().map(|name| ColumnSchema::new(name.clone(), Type::I64));
    let table = columns.fold(TableSchema::builder("wide"), |table, column| table.column(column));
    Arc::new(table.key(["c1", "c0"]).build().unwrap())
}

fn wide_json() -> Json {
    let columns = (0..70).map(|place| column(&format!("c{place}"), "i64", json!({})));
    json!({"name": "wide", "columns": columns.collect::<Vec<_>>(), "key": [1, 0], "keys_made_by": 2, "indexes": []})
}

pub fn definitions() -> Vec<Sample> {
    let hello = Hello::new("", "", Credentials::Token("é".repeat(20)));
    let message = json!({"lowest": 1, "highest": 1, "database": "", "client": "", "credentials": {"token": "é".repeat(20)}});
    let step = |name, step: &'static str, control| {
        let message = match control {
            TransactionControl::Rollback => json!({"step": step}),
            _ => json!({"step": step, "name": "s1"}),
        };
        sample(name, message, &|out| encode_request::control(out, 30, control).unwrap())
    };
    vec![
        sample("hello to the first database", message, &|out| hello.encode(out, 1).unwrap()),
        sample("define every type", json!({"number": KINDS, "table": kinds_json()}), &|out| {
            encode_request::define(out, 31, KINDS, &kinds()).unwrap();
        }),
        sample("define a wide table", json!({"number": 3, "table": wide_json()}), &|out| {
            encode_request::define(out, 32, 3, &wide()).unwrap();
        }),
        sample("define references", json!({"number": 4, "table": links_json()}), &|out| {
            encode_request::define(out, 40, 4, &links()).unwrap();
        }),
        sample("define foreign keys", json!({"number": 5, "table": visit_json()}), &|out| {
            encode_request::define(out, 34, 5, &visit()).unwrap();
        }),
        sample("what the schemas lack", json!({}), &|out| encode_request::losses(out, 35)),
        sample("forget a statement", json!({"what": "statement", "number": 8}), &|out| {
            encode_request::forget(out, 33, false, 8);
        }),
        step("rollback", "rollback", TransactionControl::Rollback),
        step("release", "release", TransactionControl::Release("s1")),
        step("roll back to", "roll_back_to", TransactionControl::RollbackTo("s1")),
    ]
}

pub fn writes() -> Vec<Sample> {
    let verbs = [
        ("insert or ignore", "insert_or_ignore", Verb::InsertOrIgnore, FieldSet::EMPTY),
        ("insert or replace", "insert_or_replace", Verb::InsertOrReplace, FieldSet::EMPTY),
        ("upsert", "upsert", Verb::Upsert, [1, 6].into_iter().collect()),
    ];
    let ada_json = json!([null, "Ada \0 Lovelace", 36, {"int": "9223372036854775807"}, {"hex": "00ff"}, "1815-12-10", null, 0]);
    let mut all = Vec::new();
    for (name, word, verb, fields) in verbs {
        let columns: Vec<usize> = if verb == Verb::Upsert { vec![1, 6] } else { Vec::new() };
        let message = json!({"table": 1, "verb": word, "columns": columns, "row": ada_json});
        all.push(sample(name, message, &|out| {
            encode_request::write(out, 34, 1, (&person(), verb, fields), &ada()).unwrap();
        }));
    }
    all.push(upsert_on(&ada_json));
    let row: Vec<Value<'_>> = (0..70).map(|place| Value::Int(place - 35)).collect();
    let row_json: Vec<i64> = (0..70).map(|place| place - 35).collect();
    let fields: FieldSet = [2, 63, 64, 69].into_iter().collect();
    let message =
        json!({"table": 3, "verb": "update", "columns": [2, 63, 64, 69], "row": row_json});
    all.push(sample("update of columns beyond 64", message, &|out| {
        encode_request::write(out, 35, 3, (&wide(), Verb::Update, fields), &row).unwrap();
    }));
    all.push(sample("get by two columns", json!({"table": 3, "key": [5, -5]}), &|out| {
        encode_request::get(out, 36, 3, &[Value::Int(5), Value::Int(-5)]).unwrap();
    }));
    all
}

fn upsert_on(row: &Json) -> Sample {
    let upsert = json!({"table": 1, "verb": "upsert_on", "by": [1], "columns": [2, 6], "row": row});
    sample("upsert on a unique index", upsert, &|out| {
        let fields = [2, 6].into_iter().collect();
        encode_request::write(out, 37, 1, (&person(), Verb::UpsertOn(0), fields), &ada()).unwrap();
    })
}

pub fn conditions() -> Vec<Sample> {
    let comparisons = [
        (Comparison::Equal, "="),
        (Comparison::NotEqual, "<>"),
        (Comparison::Less, "<"),
        (Comparison::LessOrEqual, "<="),
        (Comparison::Greater, ">"),
        (Comparison::GreaterOrEqual, ">="),
    ];
    let mut parts = Vec::new();
    let mut texts = Vec::new();
    for (comparison, word) in comparisons {
        parts.push(Condition::Compare { column: 3, comparison, value: Value::Int(i64::MIN) });
        texts.push(
            json!({"column": 3, "comparison": word, "value": {"int": "-9223372036854775808"}}),
        );
        parts.push(Condition::CompareColumns { left: 1, comparison, right: 2 });
        texts.push(json!({"column": 1, "comparison": word, "right": 2}));
    }
    parts.push(Condition::In { column: 2, values: Vec::new() });
    texts.push(json!({"column": 2, "in": []}));
    parts.push(Condition::And(Vec::new()));
    texts.push(json!({"and": []}));
    parts.push(Condition::Compare {
        column: 4,
        comparison: Comparison::Equal,
        value: Value::Bytes(Vec::new().into()),
    });
    texts.push(json!({"column": 4, "comparison": "=", "value": {"hex": ""}}));
    let all = Condition::And(parts);
    let message = json!({"table": 1, "condition": {"and": texts}, "assign": null});
    vec![
        sample("delete by every comparison", message, &|out| {
            let change = BulkChange { table: &person(), condition: Some(&all), assign: None };
            encode_request::change(out, 37, 1, &change, &[]).unwrap();
        }),
        rows_of_other_tables(),
    ]
}

/// People whose boss has a boss whose age is known.
fn rows_of_other_tables() -> Sample {
    let table = person();
    let known = Condition::Not(Box::new(Condition::IsNull { column: 2 }));
    let among = |condition| {
        let query = SubQuery { table: Arc::clone(&table), column: 0, condition, more: Vec::new() };
        Condition::InQuery { column: 6, query: Box::new(query) }
    };
    let nested = among(Some(among(Some(known))));
    let all = Condition::Or(vec![nested, among(None)]);
    let json = |condition: Json| json!({"column": 6, "in_query": {"table": 1, "column": 0, "condition": condition}});
    let nested = json(json(json!({"not": {"is_null": 2}})));
    let message = json!({"source": {
        "table": 1, "columns": [{"column": 0}], "condition": {"or": [nested, json(Json::Null)]},
        "group": [], "order": [], "limit": null, "offset": 0,
    }});
    sample("open by rows of other tables", message, &|out| {
        let columns = vec![Expr::Column(0)];
        let (condition, order) = (Some(all.clone()), Vec::new());
        let select = Select { columns, condition, order, ..Select::all(&table) };
        let source = RequestSource::Select(1, &select, &[(table.id(), 1)]);
        encode_request::open(out, 45, source).unwrap();
    })
}

pub fn queries() -> Vec<Sample> {
    let exprs =
        vec![Expr::Count, Expr::CountOf(4), Expr::Sum(3), Expr::Min(2), Expr::Max(2), Expr::Avg(3)];
    let (condition, group, order) = Default::default();
    let select = Select { columns: exprs, condition, group, order, ..Select::all(&person()) };
    let message = json!({
        "table": 1,
        "columns": [{"count": 0}, {"count_of": 4}, {"sum": 3}, {"min": 2}, {"max": 2}, {"avg": 3}],
        "condition": null, "group": [], "order": [], "limit": null, "offset": 0,
    });
    let numbers: [Parameter<'_>; 8] = [
        Value::Int(i64::MIN),
        Value::Float(f64::INFINITY),
        Value::Float(-0.0),
        Value::Float(f64::from_bits(1)),
        Value::Float(f64::MAX),
        Value::from(""),
        Value::Bytes(Vec::new().into()),
        Value::from("\u{10ffff}"),
    ]
    .map(Parameter::from);
    let numbers_json = json!([{"int": "-9223372036854775808"}, {"float": "inf"}, {"float": "-0.0"}, {"float": "5e-324"}, {"float": "1.7976931348623157e308"}, "", {"hex": ""}, "\u{10ffff}"]);
    vec![
        sample("open every expression", json!({"source": message}), &|out| {
            encode_request::open(out, 38, RequestSource::Select(1, &select, &[])).unwrap();
        }),
        sample(
            "execute with extreme numbers",
            json!({"source": {"sql": "é", "parameters": numbers_json, "types": vec!["any"; numbers.len()]}}),
            &|out| encode_request::execute(out, 39, RequestSource::Text("é", &numbers)).unwrap(),
        ),
    ]
}

/// A query that locks the rows it reads.
pub fn locks() -> Vec<Sample> {
    let lock = Some(RowLock::WaitAtMost(std::time::Duration::from_millis(250)));
    let columns = vec![Expr::Column(0)];
    let locking = Select { columns, limit: Some(1), lock, ..Select::all(&person()) };
    let locking_json = json!({
        "table": 1, "columns": [{"column": 0}], "condition": null, "group": [],
        "order": [{"column": 0, "descending": false}], "limit": 1, "offset": 0,
        "lock": {"wait_at_most": 250},
    });
    vec![sample(
        "query that locks rows",
        json!({"credit": 0, "columns": false, "source": locking_json}),
        &|out| {
            let source = RequestSource::Select(1, &locking, &[]);
            encode_request::query(out, 39, 0, ResultForm::default(), source).unwrap();
        },
    )]
}

pub fn welcome(limits: Limits, capabilities: Capabilities, engine: &str, server: &str) -> Welcome {
    let (engine, server) = (engine.to_owned(), server.to_owned());
    let (column_blocks, joins) = (false, false);
    Welcome { version: 1, limits, capabilities, column_blocks, joins, engine, server }
}

pub fn responses() -> Vec<Sample> {
    let limits = Limits { frame: 1, row: 2, requests: 3, handles: 4, window: 5 };
    let welcome = welcome(limits, Capabilities::NONE, "", "é");
    let welcome_json = json!({"version": 1, "frame": 1, "row": 2, "requests": 3, "handles": 4, "window": 5, "capabilities": 8_388_608, "engine": "", "server": "é"});
    let mut all = vec![
        sample("welcome with other limits", welcome_json, &|out| {
            encode_response::welcome(out, 1, &welcome).unwrap();
        }),
        sample("count, the largest", json!({"rows": {"int": "18446744073709551615"}}), &|out| {
            encode_response::count(out, 11, u64::MAX);
        }),
    ];
    for (number, kind) in (1..).zip(ErrorKind::ALL) {
        let mut message = json!({"kind": number, "message": format!("{kind:?}"), "table": null, "column": null, "row": null, "code": -1, "detail": null});
        if *kind == ErrorKind::Invalid {
            message["violations"] = json!([]);
        }
        all.push(sample("error of each kind", message, &|out| {
            encode_response::error(out, 40, &Error::new(*kind, format!("{kind:?}")).with_code(-1));
        }));
    }
    let named = ["a", "é", ""].map(|name| ResultColumn::new(name, Type::Any));
    let columns = json!([{"name": "a", "type": "any"}, {"name": "é", "type": "any"}, {"name": "", "type": "any"}]);
    all.push(sample("columns of a query", json!({"cursor": 0, "columns": columns}), &|out| {
        encode_response::columns(out, 41, true, 0, &named).unwrap()
    }));
    all.push(sample("rows without columns", json!({"rows": [[], []]}), &|out| {
        encode_response::rows(out, 41, false, rows(&[Vec::new(), Vec::new()]).as_bytes()).unwrap();
    }));
    let tables = [kinds(), person(), visit(), totals()].map(|table| TableSchema::clone(&table));
    let message = json!({"tables": [kinds_json(), person_json(), visit_json(), totals_json()]});
    all.push(sample("schemas of three", message, &|out| {
        encode_response::schemas(out, 42, &tables).unwrap();
    }));
    all
}
