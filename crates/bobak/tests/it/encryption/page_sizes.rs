//! Page sizes other than the default, which are found in the file, or, for SQLCipher, by trying.

use super::*;

fn with(size: Option<u32>, key: EncryptionKey, path: &Path) -> Result<Db, Error> {
    let builder = with_key(key);
    let builder = size.into_iter().fold(builder, |builder, size| builder.page_size(size));
    Db::builder().record::<Secret>().open_engine(builder.open(path)?)
}

fn page_size(db: &Db) -> u32 {
    db.sql("SELECT CAST(page_size AS INTEGER) FROM pragma_page_size", ()).unwrap()[0]
}

#[test]
fn files_open_whatever_page_size_is_given() {
    for (size, key) in [(1_024, old()), (8_192, new()), (65_536, old())] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let db = with(Some(size), key.clone(), &path).unwrap();
        fill(&db, 300);
        assert_eq!(page_size(&db), size);
        let backup = folder.path().join("backup");
        let report = db.backup(&backup, &BackupOptions::new(), |_| Ok(())).unwrap();
        assert!(report.compared && report.stored == fs::metadata(&backup).unwrap().len());
        drop(db);
        for said in [None, Some(size), Some(4_096), Some(16_384)] {
            for file in [&path, &backup] {
                let db = with(said, key.clone(), file).unwrap();
                assert_eq!((page_size(&db), count(&db)), (size, 300));
                db.execute("UPDATE secret SET text = text", ()).unwrap();
            }
            let wrong = with(said, other(), &path).err().unwrap();
            assert_eq!(wrong.kind(), ErrorKind::Denied, "{wrong}");
        }
        let builder = || with_key(key.clone());
        assert_eq!(builder().check_file(&path).unwrap().tables[0].1, 300);
        builder().change_key(&path, Some(&other())).unwrap();
        let db = with(None, other(), &path).unwrap();
        assert_eq!((page_size(&db), count(&db)), (size, 300));
        drop(db);
        with_key(other()).change_key(&path, None).unwrap();
        let db = Db::open(&format!("sqlite:{}", path.display())).unwrap();
        assert_eq!(db.sql::<u32>("PRAGMA page_size", ()).unwrap(), [size]);
    }
}

#[test]
fn pages_too_small_for_encryption_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let error = with(Some(512), old(), &path).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(!path.exists());
    // A plain file may have them: encryption makes them larger.
    let engine = Sqlite::builder().page_size(512).open(&path).unwrap();
    fill(&Db::builder().record::<Secret>().open_engine(engine).unwrap(), 100);
    Sqlite::builder().cipher(CIPHER).change_key(&path, Some(&old())).unwrap();
    let db = with(None, old(), &path).unwrap();
    assert_eq!((page_size(&db), count(&db)), (1_024, 100));
}

/// A journal or WAL left by a killed process is recovered with its own page size.
#[test]
fn wals_and_journals_have_the_page_size_of_their_file() {
    for (journal, size, said, key) in [
        ("wal", 8_192, None, old()),
        ("wal", 1_024, Some(65_536), other()),
        ("delete", 8_192, None, old()),
        ("delete", 4_096, Some(65_536), old()),
        ("delete", 4_096, Some(1_024), other()),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        kill_in_a_transaction(folder.path(), &format!("{journal} {size}"), || {});
        if let Err(error) = with(said, key, &path) {
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        }
        let db = with(said, old(), &path).unwrap();
        assert_eq!((page_size(&db), count(&db)), (size, 3_000));
        let changed = "SELECT count(*) FROM secret WHERE text LIKE '%changed%'";
        assert_eq!(db.sql::<i64>(changed, ()).unwrap(), [0], "{journal} {size}");
    }
}
