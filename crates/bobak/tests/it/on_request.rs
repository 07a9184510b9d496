//! Fields that are read only if the program asks for them.

use crate::engines::on_each;
use bobak::changes::TrackOptions;
use bobak::pipeline::PipelineOptions;
use bobak::prelude::*;
use bobak::relation::NestedRecord;
use bobak::statements::MonitorOptions;
use bobak::types::OnRequest::{Loaded, NotLoaded};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "requested_page")]
struct Page {
    id: i64,
    text: OnRequest<String>,
    title: String,
    scan: OnRequest<Option<Vec<u8>>>,
    #[record(version)]
    version: i64,
}

/// Nothing else is updated.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "requested_note")]
struct Note {
    #[record(key)]
    book: String,
    #[record(key)]
    number: i32,
    text: OnRequest<String>,
}

fn page(title: &str) -> Page {
    let text = Loaded(format!("the text of {title}"));
    Page { id: 0, text, title: title.into(), scan: Loaded(Some(vec![7; 3])), version: 0 }
}

fn open(url: &str) -> Db {
    let db = Db::builder().record::<Page>().record::<Note>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

/// The page as it is stored.
fn whole(db: &Db, id: i64) -> Page {
    let pages = db.table::<Page>().unwrap();
    let query = Query::filter(Page::ID.eq(id)).with(Page::TEXT).with(Page::SCAN);
    pages.first(query).unwrap().unwrap()
}

fn check(url: &str) {
    let db = open(url);
    check_reads(&db);
    check_writes(&db);
    check_batches(&db);
    check_new_records(&db);
    check_keys(&db);
}

fn check_reads(db: &Db) {
    let pages = db.table::<Page>().unwrap();
    let (one, two) = (pages.insert(&page("one")).unwrap(), pages.insert(&page("two")).unwrap());
    let listed = Page { id: one, text: NotLoaded, scan: NotLoaded, ..page("one") };
    assert_eq!(pages.get(one).unwrap(), Some(listed.clone()));
    assert_eq!(pages.require(one).unwrap(), listed);
    assert_eq!(pages.get(one + 99).unwrap(), None);
    let mut read = page("other");
    assert!(pages.get_into(one, &mut read).unwrap());
    assert_eq!(read, listed);
    assert_eq!(pages.get_many([one, one + 99]).unwrap(), [Some(listed.clone()), None]);
    assert_eq!(pages.iter(Query::all()).unwrap().next().unwrap().unwrap(), listed);
    pages
        .for_each_row(Query::all(), |row| {
            assert!(row.get(Page::TEXT.index()).is_null());
            assert!(!row.get(Page::TITLE.index()).is_null());
            Ok(true)
        })
        .unwrap();

    // With one of them, with both, and loaded later.
    let with_scan = pages.first(Query::all().with(Page::SCAN)).unwrap().unwrap();
    assert_eq!(with_scan, Page { scan: Loaded(Some(vec![7; 3])), ..listed.clone() });
    assert_eq!(whole(db, one), Page { id: one, ..page("one") });
    let mut list = pages.list(Page::TEXT.contains("text")).unwrap();
    assert_eq!((list.len(), list[0].text.is_loaded()), (2, false));
    pages.load_field(Page::TEXT, &mut list).unwrap();
    assert_eq!(list[1].text, Loaded("the text of two".into()));
    assert_eq!(list[1].scan, NotLoaded);
    assert_eq!(pages.select(Page::ID.eq(two), Page::TEXT).unwrap(), ["the text of two"]);

    let always = pages.load_field(Page::TITLE, [&mut list[0]]).unwrap_err();
    assert_eq!(always.kind(), ErrorKind::Misuse);
    let mut missing = [list[0].clone(), Page { id: 99, ..listed }];
    let missing = pages.load_field(Page::SCAN, &mut missing).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    pages.delete_all().unwrap();
}

fn check_writes(db: &Db) {
    let pages = db.table::<Page>().unwrap();
    let id = pages.insert(&page("one")).unwrap();
    let mut read = pages.require(id).unwrap();
    read.title = "first".into();
    pages.update(&mut read).unwrap();
    assert_eq!(whole(db, id), Page { id, title: "first".into(), version: 1, ..page("one") });

    read.scan = Loaded(None);
    pages.update(&mut read).unwrap();
    let stored = whole(db, id);
    assert_eq!((&stored.text, stored.scan), (&page("one").text, Loaded(None)));

    // The version is still compared.
    let old = Page { version: 0, ..read.clone() };
    assert_eq!(pages.update(&old).unwrap_err().kind(), ErrorKind::Conflict);
    pages.set(id, [Page::TEXT.set("new".to_owned())]).unwrap();
    assert_eq!(whole(db, id).text, Loaded("new".into()));

    let fields = pages.update_fields(&pages.require(id).unwrap(), [Page::TEXT.into()]);
    assert_eq!(fields.unwrap_err().kind(), ErrorKind::Misuse);
    pages.delete_all().unwrap();
}

fn check_batches(db: &Db) {
    let pages = db.table::<Page>().unwrap();
    let ids: Vec<_> =
        (0..40).map(|number| pages.insert(&page(&number.to_string())).unwrap()).collect();
    let mut batch = db.batch(BatchOptions::new());
    for (number, mut page) in pages.list(Query::all()).unwrap().into_iter().enumerate() {
        page.title = "changed".into();
        if number % 3 == 0 {
            page.text = Loaded(format!("text {number}"));
        }
        batch.update(&page).unwrap();
    }
    assert_eq!(batch.finish().unwrap().changed, 40);
    for (number, &id) in ids.iter().enumerate() {
        let found = whole(db, id);
        let text = if number % 3 == 0 {
            format!("text {number}")
        } else {
            format!("the text of {number}")
        };
        assert_eq!((found.text, found.title), (Loaded(text), "changed".into()));
        assert_eq!(found.scan, Loaded(Some(vec![7; 3])));
    }
    let pipeline = db.pipeline(PipelineOptions::new());
    let mut first = pages.require(ids[0]).unwrap();
    first.title = "queued".into();
    pipeline.update(&first).unwrap().wait().unwrap();
    assert_eq!(whole(db, ids[0]).text, Loaded("text 0".into()));
    pages.delete_all().unwrap();
}

/// A write that may insert the record needs all values.
fn check_new_records(db: &Db) {
    let pages = db.table::<Page>().unwrap();
    let half = Page { scan: NotLoaded, ..page("half") };
    let mut batch = db.batch(BatchOptions::new());
    let pipeline = db.pipeline(PipelineOptions::new());
    for error in [
        pages.insert(&half).unwrap_err(),
        pages.upsert(&half).unwrap_err(),
        pages.insert_nested(NestedRecord::new(half.clone())).unwrap_err(),
        batch.insert(&half).unwrap_err(),
        batch.upsert(&half).unwrap_err(),
        pipeline.insert(&half).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Misuse);
        assert!(error.to_string().contains("not loaded"), "{error}");
    }
    assert_eq!(batch.finish().unwrap().inserted, 0);
    assert_eq!(pages.count(Query::all()).unwrap(), 0);
}

/// Keys of several columns, and a record without other fields.
fn check_keys(db: &Db) {
    let notes = db.table::<Note>().unwrap();
    let note = |number| Note { book: "a".into(), number, text: Loaded(format!("note {number}")) };
    for number in 1..=3 {
        notes.insert(&note(number)).unwrap();
    }
    let mut listed = notes.list(Query::all()).unwrap();
    assert!(listed.iter().all(|note| !note.text.is_loaded()));
    assert_eq!(notes.get(("a".to_owned(), 2)).unwrap(), Some(listed[1].clone()));
    notes.update(&listed[0]).unwrap();
    notes.load_field(Note::TEXT, &mut listed).unwrap();
    assert_eq!(listed, [note(1), note(2), note(3)]);
}

#[test]
fn fields_are_read_and_written_on_request() {
    on_each(|place| check(&place.url));
}

#[cfg(feature = "kv")]
#[test]
fn fields_of_a_key_value_file_are_read_on_request() {
    let folder = tempfile::tempdir().unwrap();
    check(&format!("kv:{}", folder.path().join("a.kv").display()));
}

#[cfg(feature = "remote")]
#[test]
fn fields_of_a_server_are_read_on_request() {
    let sqlite = bobak::engine::sqlite::Sqlite::builder().open_memory().unwrap();
    crate::engines::on_bobak_server(sqlite, check);
    crate::engines::on_bobak_server(bobak::engine::memory::Memory::new(), check);
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn fields_of_database_servers_are_read_on_request() {
    crate::engines::on_servers(check);
}

#[test]
fn a_statement_names_only_the_columns_that_it_reads() {
    let monitor = MonitorOptions::new();
    let db = Db::builder().record::<Page>().record::<Note>().monitor(monitor);
    let db = db.open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    let pages = db.table::<Page>().unwrap();
    let id = pages.insert(&page("one")).unwrap();
    let mut read = pages.require(id).unwrap();
    let texts = |call: &mut dyn FnMut()| {
        db.statements().unwrap().reset();
        call();
        let statistics = db.statements().unwrap().statistics();
        assert_eq!(statistics.iter().map(|stats| stats.count).sum::<u64>(), 1);
        statistics[0].text.to_string()
    };
    let not_read = [
        texts(&mut || assert!(pages.get(id).unwrap().is_some())),
        texts(&mut || assert_eq!(pages.list(Query::all()).unwrap().len(), 1)),
        texts(&mut || assert_eq!(pages.get_many([id, id + 1]).unwrap().len(), 2)),
        texts(&mut || pages.update(&mut read).unwrap()),
    ];
    for text in not_read {
        assert!(text.contains("title") && !text.contains("scan"), "{text}");
    }
    let read = texts(&mut || assert!(pages.first(Query::all().with(Page::SCAN)).is_ok()));
    assert!(read.contains("scan") && !read.contains("text"), "{read}");
    let mut many = vec![pages.require(id).unwrap(); 3];
    let loaded = texts(&mut || pages.load_field(Page::SCAN, &mut many).unwrap());
    assert!(loaded.contains("scan") && !loaded.contains("title"), "{loaded}");
}

#[test]
fn rules_hooks_and_tracking_work_without_the_field() {
    let db = Db::builder()
        .record::<Page>()
        .record::<Note>()
        .before_update(|_, old: &Page, new: &mut Page| {
            assert!(old.text.is_loaded() && new.text.is_loaded());
            new.title.push('!');
            Ok(())
        })
        .track::<Page>(TrackOptions::new())
        .open("sqlite::memory:")
        .unwrap();
    db.create_missing_tables().unwrap();
    let pages = db.table::<Page>().unwrap();
    let id = pages.insert(&page("one")).unwrap();
    let mut read = pages.require(id).unwrap();
    pages.update(&mut read).unwrap();
    let stored = whole(&db, id);
    assert_eq!((stored.title.as_str(), stored.text), ("one!", page("one").text));
}
