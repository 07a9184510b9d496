//! One record at a time.

use crate::engines::{Note, Person, note, on_each, person};
use bobak::prelude::*;

#[test]
fn insert_get_update_delete() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        let id = people.insert(&person("ada", 36)).unwrap();
        assert_eq!(id, 1);
        assert_eq!(people.insert(&person("bob", 7)).unwrap(), 2);
        let mut ada = people.require(id).unwrap();
        assert_eq!(ada, Person { id, ..person("ada", 36) });
        ada.age = 37;
        people.update(&ada).unwrap();
        assert_eq!(people.get(id).unwrap(), Some(ada.clone()));
        assert_eq!(people.get_many([2, 9, 1]).unwrap().iter().flatten().count(), 2);
        assert!(people.exists(2).unwrap() && !people.exists(9).unwrap());
        assert!(people.delete(2).unwrap() && !people.delete(2).unwrap());
        assert_eq!(people.insert(&person("eve", 1)).unwrap(), 2, "one more than the largest key");
        assert_eq!(people.insert(&Person { id: 50, ..person("dan", 2) }).unwrap(), 50);
        assert_eq!(people.insert(&person("kim", 3)).unwrap(), 51);
        let mut reused = person("", 0);
        assert!(people.get_into(50, &mut reused).unwrap());
        assert_eq!(reused.name, "dan");
    });
}

#[test]
fn upsert_ignore_and_replace() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        let id = people.upsert(&person("ada", 1)).unwrap();
        assert_eq!(people.upsert(&Person { id, age: 2, ..person("ada", 1) }).unwrap(), id);
        assert_eq!(people.require(id).unwrap().age, 2);
        let other = people.upsert(&Person { id: 9, ..person("ADA", 3) }).unwrap_err();
        assert_eq!(other.kind(), ErrorKind::Duplicate, "its e-mail is there: {other}");
        assert_eq!(people.insert_or_ignore(&person("Ada", 4)).unwrap(), None);
        assert_eq!(people.insert_or_ignore(&person("bob", 4)).unwrap(), Some(2));
        let replaced = people.insert_or_replace(&person("ada", 5)).unwrap();
        assert_eq!(people.count(Query::all()).unwrap(), 2);
        assert_eq!(people.require(replaced).unwrap().age, 5);
        assert_eq!(people.get(id).unwrap(), None);
    });
}

#[test]
fn upserts_by_unique_columns_keep_the_stored_key() {
    #[derive(Record, Debug, Clone, PartialEq)]
    #[record(index(shop, number, unique))]
    struct Till {
        #[record(key = "given")]
        code: String,
        shop: i64,
        number: i32,
        text: String,
    }
    on_each(|place| {
        let db = place.open(Db::builder().record::<Person>().record::<Note>().record::<Till>());
        let people = db.table::<Person>().unwrap();
        let id = people.insert(&person("ada", 1)).unwrap();
        let mut ada = Person { id: 70, ..person("ADA", 2) };
        assert_eq!(people.upsert_on(Person::EMAIL, &mut ada).unwrap(), id);
        assert_eq!(people.require(id).unwrap(), ada, "under its collation, with its own key");
        let mut bob = person("bob", 3);
        assert_eq!(people.upsert_on(Person::EMAIL, &mut bob).unwrap(), 2);
        assert_eq!(bob.id, 2);
        assert_eq!(people.upsert_on(Person::ID, &Person { age: 4, ..bob.clone() }).unwrap(), 2);
        let error = people.upsert_on(Person::AGE, &bob).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert!(error.to_string().contains("(id), (email), not (age)"), "{error}");
        let mut batch = db.batch(BatchOptions::new());
        batch.upsert_on(Person::EMAIL, &person("bob", 5)).unwrap();
        batch.upsert_on(Person::EMAIL, &person("eve", 6)).unwrap();
        let report = batch.finish().unwrap();
        assert_eq!((report.inserted, report.changed), (1, 1));
        assert_eq!((report.generated_key(0), report.generated_key(1)), (Some(2_i64), Some(3)));
        assert_eq!(people.require(2).unwrap().age, 5);

        // Keys of other kinds are read.
        let tills = db.table::<Till>().unwrap();
        let till = |code: &str, text: &str| Till {
            code: code.into(),
            shop: 1,
            number: 2,
            text: text.into(),
        };
        tills.insert(&till("a", "x")).unwrap();
        let mut other = till("b", "y");
        assert_eq!(tills.upsert_on((Till::NUMBER, Till::SHOP), &mut other).unwrap(), "a");
        assert_eq!((other, tills.count(Query::all()).unwrap()), (till("a", "y"), 1));

        let dynamic = db.dynamic("person").unwrap();
        let mut row = DynRow::new();
        row.set("name", "Eve").unwrap();
        row.set("age", 7).unwrap();
        row.set("balance", Currency::ZERO).unwrap();
        let email = people.require(3).unwrap().email.unwrap();
        row.set("email", email.to_uppercase()).unwrap();
        assert_eq!(dynamic.upsert_on(["email"], &row).unwrap(), [Value::Int(3)]);
        let mut batch = db.batch(BatchOptions::new());
        batch.upsert_row_on(&dynamic, ["email"], &row).unwrap();
        assert_eq!(batch.finish().unwrap().changed, 1);
        assert_eq!(people.require(3).unwrap().name, "Eve");
        assert_eq!(dynamic.upsert_on(["age"], &row).unwrap_err().kind(), ErrorKind::Schema);
    });
}

#[test]
fn chosen_fields_are_set_and_incremented() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        let id = people.insert(&person("ada", 36)).unwrap();
        assert!(people.set(id, [Person::AGE.add(4), Person::NAME.set("Ada")]).unwrap());
        assert!(!people.set(99, [Person::AGE.add(1)]).unwrap());
        let ada = people.require(id).unwrap();
        assert_eq!((ada.name.as_str(), ada.age), ("Ada", 40));
        let changed = Person { age: 1, name: "not written".into(), ..ada };
        people.update_fields(&changed, [Person::AGE.into()]).unwrap();
        assert_eq!(people.require(id).unwrap().name, "Ada");
        people.insert(&person("bob", 1)).unwrap();
        assert_eq!(people.set_where(Person::AGE.eq(1), [Person::AGE.set(5)]).unwrap(), 2);
        assert_eq!(people.delete_where(Person::AGE.gt(4)).unwrap(), 2);
        for fixed in [people.set(id, [Person::ID.set(4)]), people.set(id, [])] {
            assert_eq!(fixed.unwrap_err().kind(), ErrorKind::Misuse);
        }
    });
}

#[test]
fn keys_time_stamps_and_versions_are_filled() {
    on_each(|place| {
        let db = place.people();
        let person = db.table::<Person>().unwrap().insert(&person("ada", 36)).unwrap();
        let notes = db.table::<Note>().unwrap();
        let first = notes.insert(&note(person, "one")).unwrap();
        let second = notes.insert(&note(person, "two")).unwrap();
        assert!(first < second && first.get_version_num() == 7);
        let stored = notes.require(first).unwrap();
        assert!(stored.created > Timestamp::UNIX_EPOCH && stored.created == stored.modified);
        let changed = Note { text: "new".into(), created: Timestamp::UNIX_EPOCH, ..stored.clone() };
        notes.update(&changed).unwrap();
        let again = notes.require(first).unwrap();
        assert_eq!((again.created, again.version), (stored.created, stored.version + 1));
        assert!(again.modified >= stored.modified && again.text == "new");
        let stale = notes.update(&changed).unwrap_err();
        assert_eq!(stale.kind(), ErrorKind::Conflict, "{stale}");
        notes.set(first, [Note::TEXT.set("x")]).unwrap();
        assert_eq!(notes.require(first).unwrap().version, stored.version + 2);
        let gone = Note { id: Uuid::max(), ..changed };
        assert_eq!(notes.update(&gone).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn writes_keep_a_mutable_record_current() {
    on_each(|place| {
        let db = place.people();
        let (people, notes) = (db.table::<Person>().unwrap(), db.table::<Note>().unwrap());
        let mut ada = person("ada", 36);
        assert_eq!(people.insert(&mut ada).unwrap(), ada.id);
        assert_eq!(people.require(ada.id).unwrap(), ada);
        let mut one = note(ada.id, "one");
        notes.insert(&mut one).unwrap();
        assert_eq!(notes.require(one.id).unwrap(), one);
        let stale = one.clone();
        for text in ["two", "three"] {
            one.text = text.into();
            notes.update(&mut one).unwrap();
            assert_eq!(notes.require(one.id).unwrap(), one);
        }
        notes.update_fields(&mut one, [Note::TEXT.into()]).unwrap();
        assert_eq!((notes.require(one.id).unwrap(), one.version), (one.clone(), 3));
        assert_eq!(notes.update(&stale).unwrap_err().kind(), ErrorKind::Conflict);
        let before = one.clone();
        assert_eq!(notes.insert_or_ignore(&mut one).unwrap(), None);
        assert_eq!(one, before);
        notes.insert_or_replace(&mut one).unwrap();
        assert_eq!(notes.require(one.id).unwrap(), one);
        one.text = "four".into();
        notes.upsert(&mut one).unwrap();
        let stored = notes.require(one.id).unwrap();
        assert_eq!((stored.modified, &stored.text), (one.modified, &one.text));
        assert!(stored.version > one.version);
        let mut new = note(ada.id, "new");
        notes.upsert(&mut new).unwrap();
        assert!(notes.exists(new.id).unwrap());
    });
}

#[test]
fn a_delete_of_a_record_checks_its_version() {
    on_each(|place| {
        let db = place.people();
        let (people, notes) = (db.table::<Person>().unwrap(), db.table::<Note>().unwrap());
        let mut ada = person("ada", 36);
        people.insert(&mut ada).unwrap();
        let mut one = note(ada.id, "one");
        notes.insert(&mut one).unwrap();
        let stale = one.clone();
        notes.update(&mut one).unwrap();
        let error = notes.delete_record(&stale).unwrap_err();
        assert_eq!((error.kind(), error.table()), (ErrorKind::Conflict, Some("note")));
        notes.delete_record(&one).unwrap();
        assert_eq!(notes.delete_record(&one).unwrap_err().kind(), ErrorKind::NotFound);
        people.delete_record(&ada).unwrap();
        assert_eq!(people.delete_record(&ada).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn deleting_a_referenced_row_cascades() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        let notes = db.table::<Note>().unwrap();
        let id = people.insert(&person("ada", 36)).unwrap();
        notes.insert(&note(id, "hers")).unwrap();
        let error = notes.insert(&note(99, "nobody's")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
        people.delete(id).unwrap();
        assert_eq!(notes.count(Query::all()).unwrap(), 0);
    });
}

#[test]
fn a_database_is_used_from_many_threads() {
    on_each(|place| {
        let db = place.people();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let db = db.clone();
                scope.spawn(move || {
                    let people = db.table::<Person>().unwrap();
                    for number in 0..50 {
                        people.insert(&person(&format!("p{thread}-{number}"), thread)).unwrap();
                        assert!(people.count(Person::AGE.eq(thread)).unwrap() > number);
                    }
                });
            }
        });
        assert_eq!(db.table::<Person>().unwrap().count(Query::all()).unwrap(), 200);
    });
}

#[test]
fn records_survive_closing_the_file() {
    for url in ["sqlite:{}/app.db", "memory:{}/app.bobak", "memory:{}/app.json?format=json"] {
        let folder = tempfile::tempdir().unwrap();
        let url = url.replace("{}", folder.path().to_str().unwrap());
        let stored = {
            let db = Db::builder().record::<Person>().open(&url).unwrap();
            db.create_missing_tables().unwrap();
            let people = db.table::<Person>().unwrap();
            people.insert(&person("Namé\0 1", 36)).unwrap();
            people.insert(&Person { email: None, ..person("bob", -1) }).unwrap();
            db.flush().unwrap();
            people.list(Query::all()).unwrap()
        };
        let db = Db::open(&url).unwrap();
        assert_eq!(db.table::<Person>().unwrap().list(Query::all()).unwrap(), stored);
        assert!(db.create_missing_tables().unwrap().is_empty());
    }
}

mod counting {
    use bobak::engine::{Engine, EngineLayer, Session, SessionLayer, Source};
    use bobak::prelude::*;
    use bobak::schema::TableSchema;
    use bobak::{Result, Row};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// An engine that is not in this process, as far as callers know, and counts its requests.
    pub struct Counted<E> {
        pub inner: E,
        pub requests: Arc<AtomicUsize>,
    }

    pub struct CountedSession<'a> {
        inner: Box<dyn Session + 'a>,
        requests: &'a AtomicUsize,
    }

    impl<E: Engine> EngineLayer for Counted<E> {
        fn inner(&self) -> &dyn Engine {
            &self.inner
        }

        fn capabilities(&self) -> bobak::engine::Capabilities {
            let mut capabilities = self.inner.capabilities();
            capabilities.nonblocking_get = false;
            capabilities
        }

        fn session(&self) -> Result<Box<dyn Session + '_>> {
            let (inner, requests) = (self.inner.session()?, &*self.requests);
            Ok(Box::new(CountedSession { inner, requests }))
        }
    }

    impl SessionLayer for CountedSession<'_> {
        fn inner(&self) -> &(dyn Session + '_) {
            &*self.inner
        }

        fn get(
            &self,
            table: &Arc<TableSchema>,
            key: &[Value<'_>],
            row: &mut dyn FnMut(&dyn Row) -> Result<()>,
        ) -> Result<bool> {
            self.requests.fetch_add(1, Ordering::Relaxed);
            self.inner.get(table, key, row)
        }

        fn query(
            &self,
            source: &Source<'_>,
            row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
        ) -> Result<()> {
            self.requests.fetch_add(1, Ordering::Relaxed);
            self.inner.query(source, row)
        }
    }
}

#[test]
fn many_records_are_read_in_one_request() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Record, Debug, Clone, PartialEq)]
    struct Bench {
        #[record(key)]
        row: i32,
        #[record(key)]
        letter: String,
    }
    #[derive(Record, Debug, Clone, PartialEq)]
    struct Word {
        #[record(key, collation = "nocase")]
        text: String,
    }
    fn check(db: &Db, requests: &AtomicUsize) {
        let (people, benches) = (db.table::<Person>().unwrap(), db.table::<Bench>().unwrap());
        let words = db.table::<Word>().unwrap();
        for n in 0..6_000 {
            people.insert(&Person { email: None, ..person(&n.to_string(), n) }).unwrap();
        }
        let bench = |row, letter: &str| Bench { letter: letter.into(), row };
        for row in 0..300 {
            benches.insert(&bench(row, "A")).unwrap();
        }
        words.insert(&Word { text: "Ada".into() }).unwrap();
        let requested = |what: &str, expected: usize| {
            assert_eq!(requests.swap(0, Ordering::Relaxed), expected, "{what}");
        };
        requested("so far", 0);
        let found = people.get_many([3, 9_999, 1, 3]).unwrap();
        requested("keys", 1);
        let ids: Vec<_> = found.iter().map(|one| one.as_ref().map(|one| one.id)).collect();
        assert_eq!(ids, [Some(3), None, Some(1), Some(3)]);
        assert_eq!(people.get_many(1..=6_000).unwrap().iter().flatten().count(), 6_000);
        requested("many keys", 2);
        assert_eq!(people.get_many([0; 0]).unwrap(), []);
        requested("no key", 0);
        let found = benches.get_many([(7, "A".to_owned()), (7, "B".to_owned())]).unwrap();
        assert_eq!(found, [Some(bench(7, "A")), None]);
        let all = (0..300).map(|row| (row, "A".to_owned()));
        assert_eq!(benches.get_many(all).unwrap().iter().flatten().count(), 300);
        requested("composite keys", 3);
        let found = words.get_many(["ADA".to_owned(), "ada".to_owned(), "b".to_owned()]).unwrap();
        assert_eq!(found.iter().flatten().count(), 2, "the collation decides");
        requested("texts", 1);
        let inside = db.begin().unwrap();
        assert_eq!(
            inside.table::<Bench>().unwrap().get_many([(1, "A".to_owned())]).unwrap().len(),
            1
        );
        inside.rollback().unwrap();
    }
    let requests = Arc::new(AtomicUsize::new(0));
    let builder = || Db::builder().record::<Person>().record::<Bench>().record::<Word>();
    let memory = bobak::engine::memory::Memory::builder().open().unwrap();
    let counted = counting::Counted { inner: memory, requests: Arc::clone(&requests) };
    let db = builder().open_engine(counted).unwrap();
    db.create_missing_tables().unwrap();
    requests.store(0, Ordering::Relaxed);
    check(&db, &requests);
    let sqlite = bobak::engine::sqlite::Sqlite::builder().open_memory().unwrap();
    let counted = counting::Counted { inner: sqlite, requests: Arc::clone(&requests) };
    let db = builder().open_engine(counted).unwrap();
    db.create_missing_tables().unwrap();
    requests.store(0, Ordering::Relaxed);
    check(&db, &requests);
}

/// As generated fields: an assignment that does nothing would be a mistake that nobody sees.
#[test]
fn times_that_bobak_sets_cannot_be_assigned() {
    on_each(|place| {
        let db = place.people();
        let notes = db.table::<Note>().unwrap();
        db.table().unwrap().insert(&person("Ada", 1)).unwrap();
        let id = notes.insert(&note(1, "a")).unwrap();
        let stored = notes.require(id).unwrap();
        let error = notes.set(id, [Note::CREATED.set(Timestamp::UNIX_EPOCH)]).unwrap_err();
        assert_eq!((error.kind(), error.column()), (ErrorKind::Misuse, Some("created")), "{error}");
        assert_eq!(notes.require(id).unwrap().created, stored.created);
    });
}
