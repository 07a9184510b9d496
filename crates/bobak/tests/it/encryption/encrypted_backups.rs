//! Backups with a key of their own, of databases that are not encrypted.

use super::*;
use bobak::backup::BackupReport;

/// Where a test has its files.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn url(&self, name: &str) -> String {
        format!("sqlite:{}", self.path(name).display())
    }

    fn filled(&self, name: &str, rows: usize) -> Db {
        let db = Db::builder().record::<Secret>().open(&self.url(name)).unwrap();
        fill(&db, rows);
        db
    }
}

fn restoring(key: EncryptionKey) -> RestoreOptions {
    RestoreOptions::new().key(key)
}

fn check(backup: &Path, key: EncryptionKey) -> Result<BackupReport, Error> {
    Db::check_restore(backup, None, &restoring(key))
}

#[test]
fn a_backup_with_a_key_is_restored_with_it() {
    let (data, place) = (Place::new(), Place::new());
    let db = data.filled("app.db", 3_000);
    for (name, key) in [("a.db", old()), ("a.db.zst", old()), ("a.db.gz", new())] {
        let backup = place.path(name);
        let report =
            db.backup(&backup, &BackupOptions::new().key(key.clone()), |_| Ok(())).unwrap();
        assert_eq!((report.rows(), report.compared), (3_000, true));
        assert_eq!(report.stored, fs::metadata(&backup).unwrap().len());
        is_nowhere(MARKER, place.0.path());
        let checked = check(&backup, key.clone()).unwrap();
        let facts = (checked.rows(), checked.stored, checked.compression, checked.checksum);
        assert_eq!(facts, (3_000, report.stored, report.compression, Checksum::Same));
        let _ = fs::remove_file(data.path("restored.db"));
        Db::restore(&backup, &data.url("restored.db"), &restoring(key)).unwrap();
        let restored = Db::builder().record::<Secret>().open(&data.url("restored.db")).unwrap();
        assert_eq!(count(&restored), 3_000);
    }
    // A writer, and a backup of the memory engine.
    let mut written = Vec::new();
    let zst = BackupOptions::new().key(old()).compression(Compression::Zstd);
    db.backup_to(&mut written, &zst, |_| Ok(())).unwrap();
    fs::write(place.path("written"), written).unwrap();
    assert_eq!(check(&place.path("written"), old()).unwrap().rows(), 3_000);
    let memory = Db::builder().record::<Secret>().open("memory:").unwrap();
    fill(&memory, 70);
    memory.backup(place.path("m.bobak"), &BackupOptions::new().key(old()), |_| Ok(())).unwrap();
    let url = format!("memory:{}", data.path("m.bobak").display());
    Db::restore(place.path("m.bobak"), &url, &restoring(old())).unwrap();
    assert_eq!(count(&Db::builder().record::<Secret>().open(&url).unwrap()), 70);
    is_nowhere(MARKER, place.0.path());
}

#[test]
fn each_fault_of_a_backup_has_an_error() {
    let place = Place::new();
    let db = place.filled("app.db", 3_000);
    let backup = place.path("a.db.zst");
    db.backup(&backup, &BackupOptions::new().key(old()), |_| Ok(())).unwrap();
    let file = fs::read(&backup).unwrap();
    let fails = |bytes: &[u8], options: &RestoreOptions, kind: ErrorKind, expected: &str| {
        fs::write(&backup, bytes).unwrap();
        let restored = Db::restore(&backup, &place.url("restored.db"), options).unwrap_err();
        assert!(!place.path("restored.db").exists());
        let checked = Db::check_restore(&backup, None, options).unwrap_err();
        for error in [restored, checked] {
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.to_string().contains("a.db.zst"), "{error}");
        }
    };
    let denied = ErrorKind::Denied;
    fails(&file, &restoring(other()), denied, "the key is wrong");
    fails(&file, &restoring(new()), denied, "with a key file, not with a password");
    fails(
        &file,
        &RestoreOptions::new(),
        denied,
        "give its key by --backup-key-file or --backup-password-file",
    );
    let mut damaged = file.clone();
    damaged[100] ^= 1;
    fails(&damaged, &restoring(old()), ErrorKind::Corrupt, "the encrypted file is damaged");
    fails(&file[..40], &restoring(old()), ErrorKind::Corrupt, "it is truncated");
    fails(&file[..64], &restoring(old()), ErrorKind::Corrupt, "the encrypted file is truncated");
    fails(&file[..file.len() - 1], &restoring(old()), ErrorKind::Corrupt, "damaged");
    db.backup(place.path("plain.zst"), &BackupOptions::new(), |_| Ok(())).unwrap();
    let plain = fs::read(place.path("plain.zst")).unwrap();
    fails(
        &plain,
        &restoring(old()),
        denied,
        "it is not an encrypted file, or its first bytes are damaged",
    );
    // The database's own key is not the backup's.
    let encrypted = open(&place.path("encrypted.db"), old()).unwrap();
    let options = BackupOptions::new().key(other());
    let error = encrypted.backup(place.path("no"), &options, |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(!place.path("no").exists());
}

#[test]
fn the_key_of_a_backup_can_be_changed() {
    let place = Place::new();
    let db = place.filled("app.db", 100);
    db.backup(place.path("a.db.zst"), &BackupOptions::new(), |_| Ok(())).unwrap();
    let before = fs::read(place.path("a.db.zst")).unwrap();
    fs::write(place.path("key"), [1; 32]).unwrap();
    let url = place.url("a.db.zst");
    Db::change_key(&url, Some(&old())).unwrap();
    assert_eq!(check(&place.path("a.db.zst"), old()).unwrap().rows(), 100);
    assert_eq!(Db::change_key(&url, None).unwrap_err().kind(), ErrorKind::Denied);
    Db::change_key(&format!("{url}?key_file={}", place.path("key").display()), None).unwrap();
    assert_eq!(fs::read(place.path("a.db.zst")).unwrap(), before);
}

#[test]
#[cfg(unix)]
fn a_power_cut_leaves_the_old_or_the_new_backup() {
    use std::os::unix::fs::PermissionsExt;
    let (data, place) = (Place::new(), Place::new());
    let db = data.filled("app.db", 20);
    fs::set_permissions(data.path("app.db"), fs::Permissions::from_mode(0o600)).unwrap();
    let options = BackupOptions::new().key(old()).overwrite(true);
    let back_up = || db.backup(place.path("a.zst"), &options, |_| Ok(())).unwrap();
    back_up();
    assert_eq!(fs::metadata(place.path("a.zst")).unwrap().permissions().mode() & 0o777, 0o600);
    fill(&db, 20);
    cut_at_each_step_of(
        place.0.path(),
        || drop(back_up()),
        (20, 40),
        |after| {
            is_nowhere(MARKER, after);
            check(&after.join("a.zst"), old()).unwrap().rows()
        },
    );
}

/// A process that replaces its backup again and again is killed at many moments.
#[test]
#[cfg(unix)]
fn a_kill_leaves_a_whole_backup() {
    let place = Place::new();
    drop(place.filled("data.db", 3_000));
    fs::create_dir(place.path("backups")).unwrap();
    let backup = place.path("backups/a.zst");
    for moment in 0..10 {
        let child = another(place.0.path(), "encrypted backup");
        kill_after(child, "backed up", Duration::from_millis(5 * moment));
        assert_eq!(check(&backup, old()).unwrap().rows(), 3_000);
        is_nowhere(MARKER, &place.path("backups"));
    }
}

/// What the killed process does.
pub(super) fn back_up_forever(folder: &Path) {
    let db = Db::open(&format!("sqlite:{}", folder.join("data.db").display())).unwrap();
    let options = BackupOptions::new().key(old()).overwrite(true).pauses(false);
    loop {
        db.backup(folder.join("backups/a.zst"), &options, |_| Ok(())).unwrap();
        println!("\nbacked up");
        std::io::stdout().flush().unwrap();
    }
}
