//! Fields that are read on request, together with what else a record can have: rules, deleted rows, row scopes, histories and
//! encrypted files.

use crate::engines::on_each;
use bobak::RowScope;
use bobak::changes::TrackOptions;
use bobak::pipeline::PipelineOptions;
use bobak::prelude::*;
use bobak::rules::Violations;
use bobak::types::OnRequest::{Loaded, NotLoaded};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "requested_draft", validate = check_draft)]
struct Draft {
    id: i64,
    tenant: i64,
    #[record(trim, length = 3..=80)]
    text: OnRequest<String>,
    #[record(length = ..=4)]
    scan: OnRequest<Option<Vec<u8>>>,
    #[record(length = 1..=10)]
    title: String,
    #[record(deleted_at)]
    deleted: Option<Timestamp>,
}

/// A rule of the whole record sees the stored value of a field that is not loaded.
fn check_draft(draft: &Draft, violations: &mut Violations) {
    match draft.text.get() {
        Some(text) if *text == draft.title => violations.add(Draft::TITLE, "must not be the text"),
        Some(_) => {}
        None => violations.add(Draft::TEXT, "must be known"),
    }
}

fn draft(tenant: i64) -> Draft {
    let (text, scan) = (Loaded(" a text ".into()), Loaded(Some(vec![1, 2])));
    Draft { id: 0, tenant, text, scan, title: "one".into(), deleted: None }
}

fn stored(url: &str) -> Db {
    let db = Db::builder().track::<Draft>(TrackOptions::new().history(true)).open(url).unwrap();
    db.create_missing_tables().unwrap();
    db.table().unwrap().insert(&draft(7)).unwrap();
    db.table().unwrap().insert(&draft(8)).unwrap();
    db
}

fn texts(db: &Db) -> Vec<String> {
    db.table::<Draft>().unwrap().select(Query::all(), Draft::TEXT).unwrap()
}

fn check_rules(db: &Db) {
    let drafts = db.table::<Draft>().unwrap();
    let violated = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        error.violations().iter().map(|v| v.column().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut read = drafts.require(1).unwrap();
    assert_eq!((&read.text, &read.scan), (&NotLoaded, &NotLoaded));
    read.title = "two".into();
    drafts.update(&read).unwrap();
    assert_eq!(texts(db), ["a text", "a text"]);

    // The rules of other fields, of the record, and of the field itself if it is loaded.
    let long = Draft { title: "a long title".into(), ..read.clone() };
    assert_eq!(violated(drafts.update(&long).unwrap_err()), ["title"]);
    let same = Draft { title: "a text".into(), ..read.clone() };
    assert_eq!(violated(drafts.update(&same).unwrap_err()), ["title"]);
    let short =
        Draft { text: Loaded(" ab ".into()), scan: Loaded(Some(vec![0; 5])), ..read.clone() };
    assert_eq!(violated(drafts.update(&short).unwrap_err()), ["text", "scan"]);
    let set = drafts.set(1, [Draft::SCAN.set(Some(vec![0; 5]))]).unwrap_err();
    assert!(set.to_string().contains("must have at most 4 bytes, not 5"), "{set}");

    let mut batch = db.batch(BatchOptions::new());
    batch.update(&Draft { title: "three".into(), ..read.clone() }).unwrap();
    batch.update(&Draft { text: Loaded("  the text".into()), ..read.clone() }).unwrap();
    assert_eq!(batch.finish().unwrap().changed, 2);
    let pipeline = db.pipeline(PipelineOptions::new());
    let failed = pipeline.update(&same).unwrap().wait();
    assert!(failed.is_ok(), "the text is another now: {failed:?}");
    assert_eq!(violated(pipeline.update(&long).unwrap().wait().unwrap_err()), ["title"]);
    assert_eq!(texts(db), ["the text", "a text"]);
}

fn check_deleted(db: &Db) {
    let drafts = db.table::<Draft>().unwrap();
    let mut read = [drafts.require(1).unwrap()];
    assert!(drafts.delete(1).unwrap());
    assert_eq!((drafts.get(1).unwrap(), drafts.list(Query::all()).unwrap().len()), (None, 1));
    assert_eq!(drafts.update(&read[0]).unwrap_err().kind(), ErrorKind::NotFound);
    let loaded = drafts.load_field(Draft::TEXT, &mut read);
    assert_eq!(loaded.unwrap_err().kind(), ErrorKind::NotFound);
    let deleted = drafts.list(Query::all().only_deleted()).unwrap();
    assert_eq!((deleted.len(), deleted[0].text.is_loaded()), (1, false));
    assert!(drafts.restore(1).unwrap());
    drafts.load_field(Draft::TEXT, &mut read).unwrap();
    assert_eq!(read[0].text, Loaded("the text".into()));
}

fn check_scope(db: &Db) {
    let scope = RowScope::new("seven").grant("read, write on requested_draft where tenant = 7");
    let seven = db.scoped(&scope).unwrap();
    let drafts = seven.table::<Draft>().unwrap();
    let mut read = drafts.list(Query::all()).unwrap();
    assert_eq!((read.len(), read[0].text.is_loaded()), (1, false));
    assert_eq!(drafts.get(2).unwrap(), None);
    drafts.load_field(Draft::TEXT, &mut read).unwrap();
    assert_eq!(read[0].text, Loaded("the text".into()));
    let mut other = [Draft { id: 2, ..read[0].clone() }];
    assert_eq!(drafts.load_field(Draft::TEXT, &mut other).unwrap_err().kind(), ErrorKind::NotFound);
    drafts.update(&drafts.require(1).unwrap()).unwrap();
    let moved = Draft { tenant: 8, ..drafts.require(1).unwrap() };
    assert_eq!(drafts.update(&moved).unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(texts(db), ["the text", "a text"]);
}

/// The condition of a grant may use the field itself.
fn check_scope_by_the_field(db: &Db) {
    let grant = "read, write on requested_draft where text = 'the text'";
    let scoped = db.scoped(&RowScope::new("reader").grant(grant)).unwrap();
    let drafts = scoped.table::<Draft>().unwrap();
    let read = drafts.list(Query::all()).unwrap();
    assert_eq!(read.len(), 1);
    drafts.update(&Draft { title: "four".into(), ..read[0].clone() }).unwrap();
    let moved = Draft { text: Loaded("another".into()), ..read[0].clone() };
    assert_eq!(drafts.update(&moved).unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(texts(db), ["the text", "a text"]);
}

fn check_history(db: &Db) {
    let drafts = db.table::<Draft>().unwrap();
    let history = drafts.history(1).unwrap();
    let first = history[0].after.clone().unwrap();
    assert_eq!(first, Draft { id: 1, text: Loaded("a text".into()), ..draft(7) });
    let after: Vec<_> = history.iter().filter_map(|revision| revision.after.as_ref()).collect();
    assert!(after.iter().all(|draft| draft.text.is_loaded()), "{after:?}");
    assert_eq!(after.last().unwrap().text, Loaded("the text".into()));
    // A state of before is written back whole.
    drafts.update(&first).unwrap();
    assert_eq!(texts(db), ["a text", "a text"]);
}

fn check(url: &str) {
    let db = stored(url);
    check_rules(&db);
    check_deleted(&db);
    check_scope(&db);
    check_scope_by_the_field(&db);
    check_history(&db);
}

#[test]
fn other_features_of_a_record_work_without_the_field() {
    on_each(|place| check(&place.url));
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn other_features_work_on_database_servers() {
    crate::engines::on_servers(check);
}

#[cfg(feature = "encryption")]
#[test]
fn fields_of_an_encrypted_file_are_read_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let key = folder.path().join("a.key");
    std::fs::write(&key, "5a".repeat(32)).unwrap();
    let url = format!("sqlite:{}?key_file={}", file.display(), key.display());
    check(&url);
    let db = Db::builder().track::<Draft>(TrackOptions::new().history(true)).open(&url).unwrap();
    let drafts = db.table::<Draft>().unwrap();
    let mut listed = drafts.list(Query::all()).unwrap();
    assert!(listed.iter().all(|draft| !draft.text.is_loaded()));
    drafts.load_field(Draft::TEXT, &mut listed).unwrap();
    assert_eq!(listed[1].text, Loaded("a text".into()));
    drop(db);
    assert!(!std::fs::read(&file).unwrap().windows(6).any(|bytes| bytes == b"a text"));
}
