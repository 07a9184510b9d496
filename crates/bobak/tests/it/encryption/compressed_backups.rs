//! Compressed backups of encrypted databases: no disk gets their pages unencrypted, compressed or not.

use super::*;
use bobak::backup::BackupReport;

/// A folder with key files and an encrypted database `app.db`.
struct Place(tempfile::TempDir);

impl Place {
    fn new(rows: usize) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.path("key"), [1; 32]).unwrap();
        fs::write(place.path("other"), [2; 32]).unwrap();
        fs::write(place.path("password"), "correct horse").unwrap();
        if rows > 0 {
            fill(&place.open("app.db", old()), rows);
        }
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn open(&self, name: &str, key: EncryptionKey) -> Db {
        let engine = Sqlite::builder().key(key).cipher(Cipher::Aegis256).open(self.path(name));
        Db::builder().record::<Secret>().open_engine(engine.unwrap()).unwrap()
    }

    /// The URL of a database with the key in a file.
    fn url(&self, name: &str, key: &str) -> String {
        let setting = if key == "password" { "password_file" } else { "key_file" };
        let (file, key) = (self.path(name), self.path(key));
        format!("sqlite:{}?{setting}={}", file.display(), key.display())
    }

    fn back_up(&self, db: &Db, name: &str) -> BackupReport {
        let options = BackupOptions::new().overwrite(true).pauses(false);
        db.backup(self.path(name), &options, |_| Ok(())).unwrap()
    }
}

/// Searches a folder and those in it for unencrypted pages.
fn is_encrypted(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            is_encrypted(&path);
        }
        let content = fs::read(&path).unwrap_or_default();
        for start in [&b"SQLite format 3"[..], &[0x28, 0xb5, 0x2f, 0xfd], &[0x1f, 0x8b]] {
            assert!(!content.starts_with(start), "{} is not encrypted", path.display());
        }
        let found = content.windows(MARKER.len()).any(|part| part == MARKER.as_bytes());
        assert!(!found, "{MARKER} is in {}", path.display());
    }
}

#[test]
fn a_compressed_backup_is_restored_with_the_key_of_the_database() {
    let place = Place::new(3_000);
    let by_password = place.open("other.db", new());
    fill(&by_password, 70);
    let by_file = place.open("app.db", old());
    for (db, name, key, rows) in [
        (&by_file, "a.db.zst", "key", 3_000),
        (&by_file, "a.db.gz", "key", 3_000),
        (&by_password, "b.db.zst", "password", 70),
    ] {
        let report = place.back_up(db, name);
        assert!(report.compared && report.rows() == rows);
        assert_eq!(report.stored, fs::metadata(place.path(name)).unwrap().len());
        assert!(report.stored * 4 < report.bytes, "{} of {}", report.stored, report.bytes);
        let url = place.url("restored.db", key);
        let checked = Db::check_backup_for(place.path(name), &url).unwrap();
        let facts = (checked.rows(), checked.stored, checked.bytes, checked.checksum);
        assert_eq!(facts, (rows, report.stored, report.bytes, Checksum::Same));
        assert_eq!(checked.compression, report.compression);
        let options = RestoreOptions::new().overwrite(true);
        let restored = Db::restore(place.path(name), &url, &options).unwrap();
        assert_eq!(*restored, checked);
        is_encrypted(place.0.path());
        let db = Db::builder().record::<Secret>().open(&url).unwrap();
        assert_eq!(count(&db), rows);
        db.table::<Secret>().unwrap().insert(&Secret { id: 0, text: "more".into() }).unwrap();
    }
    let mut written = Vec::new();
    let options = BackupOptions::new().compression(Compression::Zstd).pauses(false);
    by_file.backup_to(&mut written, &options, |_| Ok(())).unwrap();
    fs::write(place.path("written"), written).unwrap();
    let own = RestoreOptions::new().key(old());
    assert_eq!(Db::check_restore(place.path("written"), None, &own).unwrap().rows(), 3_000);
}

/// Pages of every size, and more of them than SQLite keeps in memory.
#[test]
fn every_page_of_a_compressed_backup_is_restored() {
    for page_size in [1_024, 4_096, 65_536] {
        let place = Place::new(0);
        let builder = Sqlite::builder().key(old()).page_size(page_size).cipher(Cipher::Aegis256);
        let engine = builder.open(place.path("app.db")).unwrap();
        let db = Db::builder().record::<Secret>().open_engine(engine).unwrap();
        fill(&db, 2_000);
        let report = place.back_up(&db, "a.zst");
        assert_eq!(report.bytes % u64::from(page_size), 0);
        Db::restore(place.path("a.zst"), &place.url("b.db", "key"), &RestoreOptions::new())
            .unwrap();
        let restored = place.open("b.db", old());
        let rows = |db: &Db| db.table::<Secret>().unwrap().list(Query::all()).unwrap();
        assert!(rows(&restored) == rows(&db));
        let sizes = restored.sql::<i64>("PRAGMA page_size", ()).unwrap();
        assert_eq!(sizes, [i64::from(page_size)]);
    }
}

#[test]
fn each_fault_of_a_compressed_backup_has_an_error() {
    let place = Place::new(3_000);
    place.back_up(&place.open("app.db", old()), "a.zst");
    let backup = place.path("a.zst");
    let file = fs::read(&backup).unwrap();
    let fails = |bytes: &[u8], url: &str, options: &RestoreOptions, kind, expected: &str| {
        fs::write(&backup, bytes).unwrap();
        let error = Db::restore(&backup, url, options).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().contains("a.zst"), "{error}");
        assert!(!place.path("restored.db").exists());
        is_encrypted(place.0.path());
    };
    let (none, denied, corrupt) = (RestoreOptions::new(), ErrorKind::Denied, ErrorKind::Corrupt);
    let url = place.url("restored.db", "key");
    let without = format!("sqlite:{}", place.path("restored.db").display());
    fails(&file, &place.url("restored.db", "other"), &none, denied, "the key is wrong");
    let wrong = "it is encrypted with a key file, not with a password";
    fails(&file, &place.url("restored.db", "password"), &none, denied, wrong);
    fails(&file, &without, &none, denied, "--backup-key-file or --backup-password-file");
    let own = RestoreOptions::new().key(old());
    fails(&file, &without, &own, denied, "the database was encrypted");
    let memory = format!("memory:{}", place.path("restored.db").display());
    fails(&file, &memory, &own, ErrorKind::Unsupported, "belongs to another engine");
    let sqlcipher = format!("{url}&cipher=sqlcipher");
    fails(&file, &sqlcipher, &none, ErrorKind::Unsupported, "aegis256");
    let mut damaged = file.clone();
    damaged[0] ^= 1;
    let first = "it is not an encrypted file, or its first bytes are damaged";
    fails(&damaged, &without, &own, denied, first);
    for at in [20, 50, 70, file.len() / 2, file.len() - 1] {
        let mut damaged = file.clone();
        damaged[at] ^= 1;
        fails(&damaged, &url, &none, corrupt, "damaged");
    }
    for length in [40, 64, 100, file.len() - 1] {
        fails(&file[..length], &url, &none, corrupt, "a.zst");
    }
    fails(&[&file[..], b"x"].concat(), &url, &none, corrupt, "damaged");
    // A file of other pages, with this key.
    let mut pages = bobak_encryption::EncryptedWriter::of_pages(Vec::new(), &old()).unwrap();
    pages.write_all(b"these are no compressed pages").unwrap();
    fails(&pages.finish().unwrap(), &url, &none, corrupt, "damaged");
}

/// The database may get another key than the backup.
#[test]
fn the_backup_and_the_database_can_have_two_keys() {
    let place = Place::new(50);
    let backup = place.path("a.zst");
    place.back_up(&place.open("app.db", old()), "a.zst");
    let own = RestoreOptions::new().key(old());
    Db::restore(&backup, &place.url("b.db", "password"), &own).unwrap();
    assert_eq!(count(&place.open("b.db", new())), 50);
    Db::change_key(&place.url("a.zst", "key"), Some(&other())).unwrap();
    Db::restore(&backup, &place.url("c.db", "other"), &RestoreOptions::new()).unwrap();
    assert_eq!(count(&place.open("c.db", other())), 50);
    let without = format!("sqlite:{}", place.path("d.db").display());
    let own = RestoreOptions::new().key(other());
    assert_eq!(Db::restore(&backup, &without, &own).unwrap_err().kind(), ErrorKind::Denied);
    is_encrypted(place.0.path());
    // Without its key, the backup itself is a plain one.
    Db::change_key(&place.url("a.zst", "other"), None).unwrap();
    Db::restore(&backup, &without, &RestoreOptions::new()).unwrap();
    assert_eq!(count(&Db::builder().record::<Secret>().open(&without).unwrap()), 50);
}

#[test]
fn snapshots_are_not_compressed_twice() {
    let place = Place::new(0);
    let url =
        format!("memory:{}?key_file={}", place.path("m").display(), place.path("key").display());
    let db = Db::builder().record::<Secret>().open(&url).unwrap();
    fill(&db, 5);
    let error = db.backup(place.path("m.zst"), &BackupOptions::new(), |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.message().contains("compressed already"), "{error}");
}

#[test]
#[cfg(feature = "sqlcipher")]
fn sqlcipher_has_no_compressed_backups() {
    let place = Place::new(0);
    let engine = Sqlite::builder().key(old()).cipher(Cipher::Sqlcipher).open(place.path("s.db"));
    let db = Db::builder().record::<Secret>().open_engine(engine.unwrap()).unwrap();
    fill(&db, 5);
    let watch = |_| panic!("the copy has begun");
    let error = db.backup(place.path("s.zst"), &BackupOptions::new(), watch).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.message().contains("aegis256"), "{error}");
}

#[test]
#[cfg(unix)]
fn a_power_cut_leaves_the_old_or_the_new_compressed_backup() {
    let (data, place) = (Place::new(20), Place::new(0));
    let db = data.open("app.db", old());
    let back_up = || place.back_up(&db, "a.zst");
    back_up();
    fill(&db, 20);
    cut_at_each_step_of(
        place.0.path(),
        || drop(back_up()),
        (20, 40),
        |after| {
            let url = place.url("x.db", "key");
            Db::check_backup_for(after.join("a.zst"), &url).unwrap().rows()
        },
    );
}

/// A process that backs up, checks and restores is killed at many moments: no file that it leaves, not even a temporary
/// one, has an unencrypted page.
#[test]
#[cfg(unix)]
fn a_kill_leaves_whole_files_and_no_unencrypted_page() {
    let place = Place::new(3_000);
    fs::create_dir(place.path("tmp")).unwrap();
    let mut seen_temporary = 0;
    for moment in 0..20 {
        let mut command = command(place.0.path(), "compressed backup");
        let child = command.env("TMPDIR", place.path("tmp")).spawn().unwrap();
        kill_after(child, "restored", Duration::from_millis(9 * moment));
        is_encrypted(place.0.path());
        seen_temporary += fs::read_dir(place.path("tmp")).unwrap().count();
        let url = place.url("restored.db", "key");
        assert_eq!(Db::check_backup_for(place.path("a.zst"), &url).unwrap().rows(), 3_000);
        assert_eq!(count(&place.open("restored.db", old())), 3_000);
    }
    assert!(seen_temporary > 0, "no temporary file was searched");
}

/// What the killed process does.
pub(super) fn back_up_and_restore_forever(folder: &Path) {
    let path = |name: &str| folder.join(name);
    let url =
        |name: &str| format!("sqlite:{}?key_file={}", path(name).display(), path("key").display());
    let options = BackupOptions::new().overwrite(true).pauses(false);
    let db = Db::open(&url("app.db")).unwrap();
    loop {
        db.backup(path("a.zst"), &options, |_| Ok(())).unwrap();
        Db::check_backup_for(path("a.zst"), &url("x.db")).unwrap();
        let over = RestoreOptions::new().overwrite(true);
        Db::restore(path("a.zst"), &url("restored.db"), &over).unwrap();
        println!("\nrestored");
        std::io::stdout().flush().unwrap();
    }
}
