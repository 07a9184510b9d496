//! Parts of JSON documents in queries and updates, on each engine.

use crate::engines::on_each;
use crate::join_paths::Paths;
use bobak::prelude::*;
use bobak::query::{from, not};
use serde_json::{Value as Document, json};

#[derive(Record)]
struct Event {
    id: i64,
    data: Json<Document>,
    extra: Option<Json<Vec<String>>>,
}

fn fill(db: &Db) {
    db.create_missing_tables().unwrap();
    for (data, extra) in [
        (json!({"user": {"name": "Ann"}, "level": 5, "tags": ["mail", 7], "ok": true}), None),
        (json!({"user": {"name": "bob"}, "level": 2.5, "tags": []}), Some(vec!["x".to_owned()])),
        (json!([1, 2, 3]), Some(Vec::new())),
        (json!({"user": "Carl", "level": "high", "tags": "mail"}), None),
    ] {
        let event = Event { id: 0, data: Json(data), extra: extra.map(Json) };
        db.table().unwrap().insert(&event).unwrap();
    }
}

fn parts(db: &Db) {
    let data = Event::DATA;
    let levels = from::<Event>().select((
        data.text_at("$.user.name"),
        data.integer_at("$.level"),
        data.float_at("$.level"),
        data.length_at("$.tags"),
        data.truth_at("$.ok"),
    ));
    let expected = [
        (Some("Ann".to_owned()), Some(5), Some(5.0), Some(2), Some(true)),
        (Some("bob".to_owned()), None, Some(2.5), Some(0), None),
        (None, None, None, None, None),
        (None, None, None, None, None),
    ];
    assert_eq!(db.list(&levels).unwrap(), expected);
    let ids = |query: bobak::query::JoinQuery<_, i64>| db.list(&query).unwrap();
    assert_eq!(ids(from::<Event>().and(data.has_at("$.tags", "mail")).select(Event::ID)), [1]);
    assert_eq!(ids(from::<Event>().and(data.has_at("$", 3)).select(Event::ID)), [3]);
    assert_eq!(ids(from::<Event>().and(not(data.has_at("$.tags", 7))).select(Event::ID)), [2]);
    let by_name = from::<Event>().order_by(data.text_at("$.user.name").lower().desc());
    assert_eq!(ids(by_name.select(Event::ID)), [2, 1, 3, 4]);
    let large = from::<Event>().and((data.integer_at("$.level") * 2).gt(9));
    assert_eq!(ids(large.select(Event::ID)), [1]);
    let extra = from::<Event>().and(Event::EXTRA.length_at("$").ge(0)).select(Event::ID);
    assert_eq!(ids(extra), [2, 3]);
    let levels = from::<Event>().group_by(data.integer_at("$.level")).select(count::<Event>());
    assert_eq!(db.list(&levels).unwrap(), [3, 1]);
}

fn updates(db: &Db) {
    let events = db.table::<Event>().unwrap();
    let deeper = Event::DATA.with_at("$.user.name", "Zoe").with_at("$.tags[2]", json!({"a": 1}));
    events.set_where(Event::ID.le(2), [Event::DATA.set(deeper)]).unwrap();
    let first = events.require(1).unwrap().data.0;
    assert_eq!(first["user"], json!({"name": "Zoe"}));
    assert_eq!(first["tags"], json!(["mail", 7, {"a": 1}]));
    assert_eq!(events.require(2).unwrap().data.0["tags"], json!([]));
    events.set(3, [Event::DATA.set(Event::DATA.with_at("$[3]", 4))]).unwrap();
    assert_eq!(events.require(3).unwrap().data.0, json!([1, 2, 3, 4]));
}

fn wrong_paths(db: &Db) {
    for path in ["", "user", "$.", "$..a", "$[x]", "$.a b"] {
        let query = from::<Event>().select(Event::DATA.text_at(path));
        assert_eq!(db.list(&query).unwrap_err().kind(), ErrorKind::Syntax, "{path}");
    }
}

/// Serde serializes no map whose keys are no texts.
fn values_without_json(db: &Db) {
    let wrong = || std::collections::BTreeMap::from([((1, 2), 3)]);
    let events = db.table::<Event>().unwrap();
    let before =
        events.list(Query::all()).unwrap().into_iter().map(|event| event.data).collect::<Vec<_>>();
    for error in [
        db.list(&from::<Event>().and(Event::DATA.has_at("$", wrong())).select(Event::ID))
            .unwrap_err(),
        events.set(1, [Event::DATA.set(Event::DATA.with_at("$.a", wrong()))]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
        assert!(error.message().contains("a document without a JSON form"), "{error}");
    }
    let after =
        events.list(Query::all()).unwrap().into_iter().map(|event| event.data).collect::<Vec<_>>();
    assert_eq!(before, after);
}

fn all(url: &str) {
    let db = Db::builder().record::<Event>().open(url).unwrap();
    fill(&db);
    parts(&db);
    updates(&db);
    wrong_paths(&db);
    values_without_json(&db);
}

#[test]
fn parts_of_documents() {
    on_each(|place| all(&place.url));
}

#[test]
fn parts_of_documents_on_servers() {
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(all);
    crate::engines::on_firebird(all);
}

/// Documents as other programs write them.
const DOCUMENTS: [&str; 34] = [
    r#"{"a":1,"a":{"b":2}}"#,
    r#"{"a":{"b":1},"a":{"c":2}}"#,
    r#"{"a":{"b":"x"},"A":{"b":"X"}}"#,
    r#" { "a" : [ 1 , "x" , 2.50 , { "b" : [ ] } ] } "#,
    r#"{"a":[[1,[2,3]],[]]}"#,
    r#"{"a":[-0,0,1.0,1e2,1E+2,-0.0,2.5e-3]}"#,
    r#"{"a":[9223372036854775807,-9223372036854775808,9223372036854775808,-9223372036854775809]}"#,
    r#"{"a":[18446744073709551615,18446744073709551616,123456789012345678901234567890]}"#,
    r#"{"a":[1.7976931348623157e308,5e-324,0.1234567890123456789,9007199254740993.0]}"#,
    r#"{"a":["","\u00e9","é","e\u0301","\ud83d\ude00","😀","\/\b\f\n\r\t\"\\"]}"#,
    r#"{"a":["7","-0","true","null","1e2"]}"#,
    r#"{"a":[true,false,null,"mail",7,-7]}"#,
    r#"{"a":["mail","Mail","mail ","ma\u0069l"]}"#,
    r#"{"a":[7.0,70e-1,"7"]}"#,
    r#"{"a":[["mail"],{"mail":7},[7]]}"#,
    r#"{"a":[]}"#,
    r#"{"a":null}"#,
    r#"{"a":"mail"}"#,
    r#"{"a":{"0":1,"b":true}}"#,
    r#"{"":{"":"empty"}}"#,
    r#"{"a b":1,"a.b":2,"a[0]":3,"a'b":4,"a\\b":5,"é":6,"0":7,"$":8,"*":9,"a\"b":10}"#,
    r#"{"\u0061":{"\u0062":"escaped"},"\u00e9":"e"}"#,
    r#"{"a":{"b":"line\nbreak"},"a\nb":1}"#,
    r#"[1,"mail",[7,"7"],{"a":{"b":false}}]"#,
    "[]",
    "{}",
    "7",
    " -7 ",
    "2.5",
    " \"text\" ",
    "\"\\u00e9\"",
    "\ttrue\n",
    "null",
    "9223372036854775808",
];

const PATHS: [&str; 27] = [
    "$",
    "$.a",
    "$.A",
    "$.a.b",
    "$.a[0]",
    "$.a[1]",
    "$.a[2]",
    "$.a[3]",
    "$.a[4]",
    "$.a[5]",
    "$.a[6]",
    "$.a[0][1][0]",
    "$.a[3].b",
    "$.a[4294967296]",
    "$.a.\"0\"",
    "$.a.0",
    "$[0]",
    "$[3].a.b",
    "$.\"\".\"\"",
    "$.\"a b\"",
    "$.\"a.b\"",
    "$.\"a[0]\"",
    "$.\"a'b\"",
    "$.\"a\\b\"",
    "$.é",
    "$.0",
    "$.\"a\nb\"",
];

fn hostile(url: &str, in_statement: bool) {
    let paths = Paths::of(url, || Db::builder().record::<Event>());
    let events = paths.db().dynamic("event").unwrap();
    for document in DOCUMENTS {
        let mut row = bobak::DynRow::new();
        row.set("data", document).unwrap();
        events.insert(&row).unwrap();
    }
    let data = Event::DATA;
    for path in PATHS {
        eprintln!("{path}");
        let parts = from::<Event>().select((
            data.text_at(path),
            data.integer_at(path),
            data.float_at(path),
            data.truth_at(path),
            data.length_at(path),
        ));
        paths.compare(&parts);
        let by_text = from::<Event>().and(data.text_at(path).lower().ge("e"));
        paths.compare(&by_text.order_by(data.text_at(path).desc().nulls_last()).select(Event::ID));
        let by_number = from::<Event>().order_by(data.float_at(path).asc());
        paths.compare(&by_number.order_by(data.integer_at(path).asc()).select(Event::ID));
        let groups = from::<Event>().group_by(data.truth_at(path));
        paths.compare(&groups.select((data.truth_at(path), count::<Event>())));
        let elements = [json!("mail"), json!("7"), json!("é"), json!("\u{1F600}"), json!("\"\\")];
        let words = [json!(7), json!(-7), json!(0), json!(u64::MAX), json!(null), json!(true)];
        for element in elements.into_iter().chain(words) {
            let query = from::<Event>().and(data.has_at(path, &element)).select(Event::ID);
            paths.compare(&query);
            paths.compare(&from::<Event>().and(not(data.has_at(path, element))).select(Event::ID));
        }
    }
    let all = PATHS.len() as u64 * (4 + 2 * 11);
    assert_eq!(paths.joined(), if in_statement { all } else { 0 }, "{url}");
    // Elements that a document spells in more than one way.
    for element in [json!(2.5), json!([7]), json!({"mail": 7}), json!("\0")] {
        paths.compare(&from::<Event>().and(data.has_at("$.a", element)).select(Event::ID));
    }
}

#[test]
fn parts_of_hostile_documents() {
    on_each(|place| hostile(&place.url, !place.is_memory_engine()));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn parts_of_hostile_documents_on_servers() {
    crate::engines::on_postgres(|url| hostile(url, true));
    crate::engines::on_mariadb(|url| hostile(url, false));
}

/// PostgreSQL stores what it can find no part of.
#[test]
#[cfg(feature = "postgres")]
fn documents_without_parts_on_postgres() {
    crate::engines::on_postgres(|url| {
        let paths = Paths::of(url, || Db::builder().record::<Event>());
        let events = paths.db().dynamic("event").unwrap();
        for (id, document, kind) in [
            (1, r#"{"a":"\u0000","b":1}"#, ErrorKind::Unsupported),
            (2, r#"{"a":"\ud800","b":1}"#, ErrorKind::Mismatch),
            (3, r#"{"b":1e-400}"#, ErrorKind::OutOfRange),
        ] {
            let sql = format!("INSERT INTO event (id, data) VALUES ({id}, '{document}')");
            paths.db().execute(&sql, ()).unwrap();
            let found = events.get([id]).unwrap().unwrap();
            assert_eq!(found.get::<String>("data").unwrap(), document);
            let query = from::<Event>().and(Event::ID.eq(i64::from(id)));
            let query = query.select(Event::DATA.float_at("$.b"));
            let error = paths.db().list(&query).unwrap_err();
            assert_eq!(error.kind(), kind, "{document}: {error}");
        }
    });
}

/// Another program stored a text that is no document.
#[test]
fn values_that_are_not_documents() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("a.db").display());
    let db = Db::builder().record::<Event>().open(&url).unwrap();
    let table =
        "CREATE TABLE event (id INTEGER PRIMARY KEY, data JSON_TEXT NOT NULL, extra JSON_TEXT)";
    db.execute(table, ()).unwrap();
    fill(&db);
    db.execute("UPDATE event SET data = '{' WHERE id = 1", ()).unwrap();
    let query = from::<Event>().select(Event::DATA.text_at("$.a"));
    let error = db.list(&query).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    assert!(error.to_string().contains("not a JSON document"), "{error}");
}
