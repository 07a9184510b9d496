//! Changing the key of a file: what the file keeps, and what remains of a file that is replaced.

use super::*;
use bobak::engine::sqlite::{JournalMode, OpenMode};
use bobak_testkit::crash::files::{cut_at_each_step, fail_step};

/// The journal mode that the file's header has.
fn mode(path: &Path, key: Option<EncryptionKey>) -> String {
    let builder = Sqlite::builder().mode(OpenMode::ReadOnly);
    let builder = if let Some(key) = key { builder.key(key) } else { builder };
    let db = Db::builder().open_engine(builder.open(path).unwrap()).unwrap();
    db.sql::<String>("PRAGMA journal_mode", ()).unwrap().remove(0)
}

#[test]
fn a_key_change_keeps_the_journal_mode() {
    for (journal, expected) in [(JournalMode::Wal, "wal"), (JournalMode::Delete, "delete")] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let engine = Sqlite::builder().journal_mode(journal).open(&path).unwrap();
        let db = Db::builder().record::<Secret>().open_engine(engine).unwrap();
        fill(&db, 300);
        db.execute("CREATE INDEX by_text ON secret (text, id)", ()).unwrap();
        db.execute("CREATE VIEW v AS SELECT count(*) AS n FROM secret", ()).unwrap();
        db.execute("CREATE VIRTUAL TABLE words USING fts5(word)", ()).unwrap();
        db.execute("INSERT INTO words VALUES ('marmot')", ()).unwrap();
        db.execute("ANALYZE", ()).unwrap();
        drop(db);
        let keys = [None, Some(old()), Some(other()), None];
        for pair in keys.windows(2) {
            let builder = Sqlite::builder().cipher(CIPHER);
            let with = |key: &Option<EncryptionKey>| match key {
                Some(key) => builder.clone().key(key.clone()),
                None => builder.clone(),
            };
            for step in [0, 1, 2] {
                assert!(fail_step(step, std::io::ErrorKind::StorageFull, || {
                    let error = with(&pair[0]).change_key(&path, pair[1].as_ref()).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Full, "{error}");
                    assert!(!error.message().contains(".new"), "{error}");
                }));
                assert_eq!(mode(&path, pair[0].clone()), expected, "the old key and mode");
            }
            with(&pair[0]).change_key(&path, pair[1].as_ref()).unwrap();
            let names = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
            assert_eq!(names.collect::<Vec<_>>(), ["app.db"]);
            assert_eq!(mode(&path, pair[1].clone()), expected);
        }
        let db = Db::open(&format!("sqlite:{}?mode=ro", path.display())).unwrap();
        assert_eq!(db.sql::<i64>("SELECT n FROM v", ()).unwrap(), [300]);
        let found = "SELECT count(*) FROM words WHERE words MATCH 'marmot'";
        assert_eq!(db.sql::<i64>(found, ()).unwrap(), [1]);
        let known = "SELECT count(*) FROM sqlite_stat1 WHERE idx = 'by_text'";
        assert_eq!(db.sql::<i64>(known, ()).unwrap(), [1]);
    }
}

#[test]
#[cfg(feature = "sqlcipher")]
fn a_key_change_converts_between_ciphers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    fill(&open(&path, old()).unwrap(), 300);
    let starts = || fs::read(&path).unwrap().starts_with(b"bobakAE1");
    let mut keys = (old(), other());
    for cipher in [Cipher::Aegis256, Cipher::Sqlcipher, Cipher::Aegis256, Cipher::Aegis256] {
        let builder = Sqlite::builder().key(keys.0.clone()).cipher(cipher);
        builder.change_key(&path, Some(&keys.1)).unwrap();
        assert_eq!(starts(), cipher == Cipher::Aegis256);
        let engine = Sqlite::builder().key(keys.1.clone()).open(&path).unwrap();
        let db = Db::builder().record::<Secret>().open_engine(engine).unwrap();
        assert_eq!(count(&db), 300);
        assert_eq!(db.sql::<String>("PRAGMA integrity_check", ()).unwrap(), ["ok"]);
        keys = (keys.1, keys.0);
    }
    Sqlite::builder().key(keys.0).change_key(&path, None).unwrap();
    let plain = format!("sqlite:{}", path.display());
    assert_eq!(count(&Db::builder().record::<Secret>().open(&plain).unwrap()), 300);
}

#[test]
fn a_file_that_needs_functions_of_another_program_is_rejected() {
    for (sql, word, needs) in [
        ("CREATE TABLE t (x TEXT COLLATE NOCASE)", "NOCASE", "the collation THEIRS"),
        ("CREATE TABLE t (x TEXT CHECK (length(x) > 0))", "length", "the function THEIRS"),
        ("CREATE TABLE t (x); CREATE INDEX i ON t (lower(x))", "lower", "the function THEIRS"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let db = Db::open(&format!("sqlite:{}", path.display())).unwrap();
        for sql in sql.split("; ") {
            db.execute(sql, ()).unwrap();
        }
        db.execute("PRAGMA writable_schema = on", ()).unwrap();
        let change = "UPDATE sqlite_schema SET sql = replace(sql, ?, 'THEIRS')";
        db.execute(change, (word,)).unwrap();
        drop(db);
        let before = fs::read(&path).unwrap();
        let error = Sqlite::builder().cipher(CIPHER).change_key(&path, Some(&old())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        let message = error.message();
        let names = ["app.db", "table t", needs];
        assert!(names.iter().all(|name| message.contains(name)), "{message}");
        assert!(fs::read(&path).unwrap() == before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

/// The WAL that a killed process left cannot be read without its key. It stays until the new file is in place.
#[test]
fn an_unreadable_wal_stays_with_its_file() {
    for page_size in [4_096, 8_192] {
        let (folder, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let backup = killed.path().join("backup.db");
        let source = Db::builder().record::<Secret>().open("sqlite::memory:").unwrap();
        fill(&source, 20);
        source.backup(&backup, &BackupOptions::new(), |_| Ok(())).unwrap();
        let engine = with_key(old()).page_size(page_size).open(killed.path().join("app.db"));
        let db = Db::builder().record::<Secret>().open_engine(engine.unwrap()).unwrap();
        fill(&db, 7);
        for name in ["app.db", "app.db-wal"] {
            fs::copy(killed.path().join(name), folder.path().join(name)).unwrap();
        }
        let place = folder.path().join("app.db");
        let url = format!("sqlite:{}", place.display());
        if CIPHER == Cipher::Aegis256 {
            // The log has nothing that SQLite could move without the key.
            let over = RestoreOptions::new().overwrite(true);
            let error = Db::restore(&backup, &url, &over).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
            assert_eq!(count(&open(&place, old()).unwrap()), 7);
            continue;
        }
        let states = cut_at_each_step(folder.path(), || {
            Db::restore(&backup, &url, &RestoreOptions::new().overwrite(true)).unwrap();
        });
        let killed = states.unwrap().into_iter();
        let mut found = Vec::new();
        for left in killed.filter(|left| left.what.ends_with("nothing is lost")) {
            let after = tempfile::tempdir().unwrap();
            left.lay_out(after.path()).unwrap();
            let file = after.path().join("app.db");
            let db = open(&file, old()).or_else(|_| {
                Db::builder().record::<Secret>().open(&format!("sqlite:{}", file.display()))
            });
            let rows = count(&db.unwrap());
            assert!(rows == 20 || !left.done && rows == 7, "{rows}, {}", left.what);
            found.push(rows);
        }
        assert!(found.contains(&7) && found.len() >= 4, "{found:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no other file is left");
    }
}
