//! Parts of JSON documents in queries and updates, on each engine.

use crate::engines::on_each;
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
