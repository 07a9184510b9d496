//! Rows that triggers and foreign keys write are not served from the cache.

use super::*;

/// A record of the tests of side effects.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "note")]
struct Note {
    id: i64,
    text: String,
}

#[derive(Record, Clone, Debug)]
#[record(table = "other_note")]
struct Other {
    id: i64,
    text: String,
}

#[derive(Record, Clone, Debug)]
#[record(table = "reply")]
struct Reply {
    id: i64,
    note: Option<i64>,
}

fn notes(url: &str) -> Db {
    let builder = Db::builder().record::<Note>().record::<Other>();
    let db = builder.cache::<Note>(CacheOptions::new()).open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

fn note(id: i64, text: &str) -> Note {
    Note { id, text: text.to_owned() }
}

#[test]
fn rows_that_triggers_write_are_removed() {
    let db = notes("sqlite::memory:");
    let (notes, others) = (db.table::<Note>().unwrap(), db.table::<Other>().unwrap());
    let first = notes.insert(&note(0, "old")).unwrap();
    let text = || notes.require(first).unwrap().text;
    let insert = |text: &str| others.insert(&Other { id: 0, text: text.to_owned() }).unwrap();
    assert_eq!((text(), text()), ("old".to_owned(), "old".to_owned()));
    let trigger =
        "CREATE TRIGGER t AFTER INSERT ON other_note BEGIN UPDATE note SET text = new.text; END";
    db.execute(trigger, ()).unwrap();
    text();
    insert("by a trigger");
    assert_eq!(text(), "by a trigger");
    let mut batch = db.batch(BatchOptions::new());
    batch.insert(&Other { id: 0, text: "by a batch".into() }).unwrap();
    batch.finish().unwrap();
    assert_eq!(text(), "by a batch");
    {
        let transaction = db.begin().unwrap();
        let inside = transaction.table::<Other>().unwrap();
        inside.insert(&Other { id: 0, text: "in a transaction".into() }).unwrap();
        transaction.commit().unwrap();
    }
    assert_eq!(text(), "in a transaction");

    db.execute("DROP TRIGGER t", ()).unwrap();
    let own = "CREATE TRIGGER t AFTER INSERT ON note BEGIN UPDATE note SET text = 'x' WHERE id < new.id; END";
    db.execute(own, ()).unwrap();
    text();
    notes.insert(&note(0, "second")).unwrap();
    assert_eq!(text(), "x");
    // Without a trigger, a write to another table keeps the cached rows.
    db.execute("DROP TRIGGER t", ()).unwrap();
    text();
    let hits = db.cache_stats::<Note>().unwrap().hits;
    insert("nothing else");
    assert_eq!((text(), db.cache_stats::<Note>().unwrap().hits), ("x".to_owned(), hits + 1));
}

/// A trigger that is created while a transaction is open, and one that the transaction itself creates.
#[test]
fn triggers_created_in_a_transaction_are_known_after_it() {
    let db = notes("sqlite::memory:");
    let (notes, others) = (db.table::<Note>().unwrap(), db.table::<Other>().unwrap());
    let first = notes.insert(&note(0, "old")).unwrap();
    let text = || notes.require(first).unwrap().text;
    text();
    let transaction = db.begin().unwrap();
    let trigger =
        "CREATE TRIGGER t AFTER INSERT ON other_note BEGIN UPDATE note SET text = new.text; END";
    transaction.execute(trigger, ()).unwrap();
    transaction.table::<Other>().unwrap().insert(&Other { id: 0, text: "one".into() }).unwrap();
    transaction.commit().unwrap();
    assert_eq!(text(), "one");
    others.insert(&Other { id: 0, text: "two".into() }).unwrap();
    assert_eq!(text(), "two");
}

#[test]
fn own_inserts_replace_rows_that_others_deleted() {
    let (_folder, url) = file();
    let db = notes(&url);
    let other = Db::builder().record::<Note>().open(&url).unwrap();
    let (notes, theirs) = (db.table::<Note>().unwrap(), other.table::<Note>().unwrap());
    notes.insert(&note(7, "old")).unwrap();
    type Insert<'a> = Box<dyn Fn(&str) + 'a>;
    let by_batch = |note: &Note| {
        let mut batch = db.batch(BatchOptions::new());
        batch.insert(note).unwrap();
        batch.finish().unwrap();
    };
    let inserts: Vec<Insert<'_>> = vec![
        Box::new(|text| assert_eq!(notes.insert(&note(7, text)).unwrap(), 7)),
        // The key that the engine generates: one more than the largest.
        Box::new(|text| assert_eq!(notes.insert(&note(0, text)).unwrap(), 7)),
        Box::new(|text| by_batch(&note(7, text))),
        Box::new(|text| by_batch(&note(0, text))),
        Box::new(|text| {
            let transaction = db.begin().unwrap();
            transaction.table::<Note>().unwrap().insert(&note(7, text)).unwrap();
            transaction.commit().unwrap();
        }),
    ];
    notes.insert(&note(6, "before it")).unwrap();
    for (number, insert) in inserts.iter().enumerate() {
        assert!(notes.get(7).unwrap().is_some());
        theirs.delete(7).unwrap();
        insert(&format!("mine {number}"));
        assert_eq!(notes.require(7).unwrap().text, format!("mine {number}"));
    }
}

/// Foreign keys that the database has and the records do not declare.
#[test]
fn foreign_keys_are_read_from_the_database() {
    for (action, left) in [("CASCADE", None), ("SET NULL", Some(None))] {
        let builder = Db::builder().record::<Note>().record::<Reply>();
        let db = builder.cache::<Reply>(CacheOptions::new()).open("sqlite::memory:").unwrap();
        db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)", ()).unwrap();
        let child = format!(
            "CREATE TABLE reply(id INTEGER PRIMARY KEY, \
             note INTEGER REFERENCES NOTE(id) ON DELETE {action})"
        );
        db.execute(&child, ()).unwrap();
        let (notes, replies) = (db.table::<Note>().unwrap(), db.table::<Reply>().unwrap());
        let to = notes.insert(&note(0, "asked")).unwrap();
        let reply = replies.insert(&Reply { id: 0, note: Some(to) }).unwrap();
        let seen = || replies.get(reply).unwrap().map(|reply| reply.note);
        assert_eq!((seen(), seen()), (Some(Some(to)), Some(Some(to))));
        notes.delete(to).unwrap();
        assert_eq!(seen(), left, "{action}");
    }
}

/// The same on servers, where foreign keys are added later.
#[test]
#[cfg(all(feature = "postgres", feature = "mysql"))]
fn foreign_keys_are_read_from_servers() {
    if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"].iter().any(|v| std::env::var_os(v).is_none()) {
        println!("not run: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
        return;
    }
    let (postgres, mariadb) =
        (bobak_servers::Postgres::start().unwrap(), bobak_servers::MariaDb::start().unwrap());
    for url in [postgres.url(), mariadb.url()] {
        let builder = Db::builder().record::<Note>().record::<Reply>();
        let db = builder.cache::<Reply>(CacheOptions::new()).open(&url).unwrap();
        db.create_missing_tables().unwrap();
        let acting =
            "ALTER TABLE reply ADD FOREIGN KEY (note) REFERENCES note(id) ON DELETE CASCADE";
        db.execute(acting, ()).unwrap();
        let (notes, replies) = (db.table::<Note>().unwrap(), db.table::<Reply>().unwrap());
        let to = notes.insert(&note(0, "asked")).unwrap();
        let reply = replies.insert(&Reply { id: 0, note: Some(to) }).unwrap();
        for _ in 0..2 {
            assert!(replies.get(reply).unwrap().is_some());
        }
        assert_eq!(db.cache_stats::<Reply>().unwrap().hits, 1, "{url}");
        notes.delete(to).unwrap();
        assert!(replies.get(reply).unwrap().is_none(), "{url}");
    }
}

/// A record without a collation, of a table that another program has made.
#[derive(Record, Debug, PartialEq)]
#[record(table = "spelled_word")]
struct SpelledWord {
    #[record(key)]
    text: String,
    count: i64,
}

fn check_equal_keys(url: &str, table: &str) {
    let db = Db::builder().cache::<SpelledWord>(CacheOptions::new()).open(url).unwrap();
    db.execute(table, ()).unwrap();
    let words = db.table::<SpelledWord>().unwrap();
    let word = |text: &str, count| SpelledWord { text: text.to_owned(), count };
    words.insert(&word("a", 1)).unwrap();
    let counts = || ["a", "A"].map(|text| words.get(text).unwrap().map(|word| word.count));
    for _ in 0..2 {
        assert_eq!(counts(), [Some(1); 2], "{url}");
    }
    words.update(&word("a", 2)).unwrap();
    assert_eq!(counts(), [Some(2); 2], "{url}");
    if !url.starts_with("sqlite") {
        words.set("A", [SpelledWord::COUNT.set(3)]).unwrap();
        assert_eq!(counts(), [Some(3); 2], "{url}");
    }
    words.delete("a").unwrap();
    assert_eq!(counts(), [None; 2], "{url}");
}

/// A row is kept under its own key, not under another one that the database takes for the same.
#[test]
fn keys_that_are_equal_for_the_database_are_one() {
    let table =
        |text: &str| format!("CREATE TABLE spelled_word (text {text}, count bigint NOT NULL)");
    check_equal_keys("sqlite::memory:", &table("text PRIMARY KEY COLLATE NOCASE"));
    #[cfg(feature = "mysql")]
    crate::engines::on_mariadb(|url| {
        let key = "varchar(20) COLLATE utf8mb4_general_ci PRIMARY KEY";
        check_equal_keys(url, &table(key));
    });
    #[cfg(feature = "postgres")]
    crate::engines::on_postgres(|url| {
        let collation = "CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)";
        Db::open(url).unwrap().execute(collation, ()).unwrap();
        check_equal_keys(url, &table("varchar(20) COLLATE any_case PRIMARY KEY"));
    });
}
