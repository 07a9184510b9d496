//! Encrypted snapshots of the memory engine.

use super::*;
use bobak::engine::memory::{Memory, MemoryBuilder, SnapshotFormat};

fn memory(key: EncryptionKey) -> MemoryBuilder {
    Memory::builder().key(key)
}

fn open_snapshot(builder: MemoryBuilder, path: &Path) -> Result<Db, Error> {
    Db::builder().record::<Secret>().open_engine(builder.snapshot(path).open()?)
}

fn filled(builder: MemoryBuilder, path: &Path, rows: usize) -> Db {
    let db = open_snapshot(builder, path).unwrap();
    fill(&db, rows);
    db.flush().unwrap();
    db
}

/// The error of opening a file that has these bytes.
fn error_of(bytes: &[u8], builder: MemoryBuilder) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bobak");
    fs::write(&path, bytes).unwrap();
    let error = open_snapshot(builder, &path).err().unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes, "it was changed");
    assert!(error.to_string().contains("a.bobak"), "{error}");
    error
}

#[test]
fn an_encrypted_snapshot_has_no_plain_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bobak");
    for format in [SnapshotFormat::Binary, SnapshotFormat::Json] {
        for key in [old(), new()] {
            let _ = fs::remove_file(&path);
            let builder = || memory(key.clone()).format(format);
            let db = filled(builder(), &path, 5_000);
            is_nowhere(MARKER, folder.path());
            let engine = builder().snapshot(&path).open().unwrap();
            assert!(bobak::engine::Engine::capabilities(&engine).encrypted);
            let first = fs::read(&path).unwrap();
            db.flush().unwrap();
            assert_ne!(fs::read(&path).unwrap(), first, "each file has its own key stream");
            assert_eq!(count(&open_snapshot(builder(), &path).unwrap()), 5_000);
            assert_eq!(
                open_snapshot(memory(other()), &path).err().unwrap().kind(),
                ErrorKind::Denied
            );
        }
    }
}

#[test]
fn each_fault_of_a_snapshot_has_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bobak");
    drop(filled(memory(old()), &path, 20_000));
    let file = fs::read(&path).unwrap();
    assert!(file.len() > 150_000, "several chunks: {}", file.len());
    let check = |bytes: &[u8], builder: MemoryBuilder, kind: ErrorKind, expected: &str| {
        let error = error_of(bytes, builder);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(&file, memory(other()), ErrorKind::Denied, "the key is wrong");
    let by_password = "it is encrypted with a key file, not with a password";
    check(&file, memory(new()), ErrorKind::Denied, by_password);
    check(&file, Memory::builder(), ErrorKind::Denied, "it is encrypted: give its key");
    for place in [60, 70_000, file.len() - 1] {
        let mut damaged = file.clone();
        damaged[place] ^= 1;
        check(&damaged, memory(old()), ErrorKind::Corrupt, "damaged");
    }
    // At the end of a chunk, too.
    for length in [30, 64, 64 + 65_552, file.len() - 1] {
        check(&file[..length], memory(old()), ErrorKind::Corrupt, "a.bobak can't be read");
    }
    check(&file[..64 + 65_552], memory(old()), ErrorKind::Corrupt, "truncated");
    let appended = [&file[..], b"more"].concat();
    check(&appended, memory(old()), ErrorKind::Corrupt, "damaged");
    let plain = folder.path().join("plain.bobak");
    drop(filled(Memory::builder(), &plain, 1));
    let plain = fs::read(&plain).unwrap();
    check(
        &plain,
        memory(old()),
        ErrorKind::Denied,
        "it is not an encrypted file, or its first bytes are damaged",
    );
    assert_eq!(memory(old()).open().unwrap_err().kind(), ErrorKind::Config, "it has no file");
}

#[test]
fn backups_of_an_encrypted_snapshot_have_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("key"), [1; 32]).unwrap();
    let url =
        |name: &str| format!("memory:{}?key_file={}", path(name).display(), path("key").display());
    let db = Db::builder().record::<Secret>().open(&url("a.bobak")).unwrap();
    fill(&db, 300);
    db.flush().unwrap();
    let backup = path("backup.bobak");
    let report = db.backup(&backup, &BackupOptions::new(), |_| Ok(())).unwrap();
    assert_eq!((report.tables, report.compared), (vec![("secret".to_owned(), 300)], true));
    let zst = BackupOptions::new().compression(Compression::Zstd);
    for options in [zst, BackupOptions::new().key(other())] {
        let error = db.backup(path("no"), &options, |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    is_nowhere(MARKER, folder.path());
    assert_eq!(Db::check_backup(&backup).unwrap_err().kind(), ErrorKind::Denied);
    let checked = Db::check_backup_for(&backup, &url("new.bobak")).unwrap();
    assert_eq!((checked.rows(), checked.checksum), (300, Checksum::Same));
    let plain = format!("memory:{}", path("plain.bobak").display());
    let error = Db::restore(&backup, &plain, &RestoreOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    Db::restore(&backup, &url("new.bobak"), &RestoreOptions::new()).unwrap();
    assert_eq!(count(&open_snapshot(memory(old()), &path("new.bobak")).unwrap()), 300);
    is_nowhere(MARKER, folder.path());
    // An unencrypted backup does not become an encrypted database, nor the reverse without the program's word.
    drop(filled(Memory::builder(), &path("plain.bobak"), 2));
    let error = Db::restore(path("plain.bobak"), &url("b.bobak"), &RestoreOptions::new());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(!path("b.bobak").exists());
}

#[test]
fn the_key_of_a_snapshot_can_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bobak");
    drop(filled(Memory::builder().format(SnapshotFormat::Json), &path, 400));
    fs::write(folder.path().join("key"), [1; 32]).unwrap();
    let plain = format!("memory:{}", path.display());
    let with_key = format!("{plain}?key_file={}", folder.path().join("key").display());
    let error = Db::change_key(&with_key, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    Db::change_key(&plain, Some(&old())).unwrap();
    is_nowhere(MARKER, folder.path());
    assert_eq!(Db::change_key(&plain, Some(&other())).unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(count(&open_snapshot(memory(old()), &path).unwrap()), 400);
    Db::change_key(&with_key, Some(&new())).unwrap();
    assert_eq!(count(&open_snapshot(memory(new()), &path).unwrap()), 400);
    fs::write(folder.path().join("password"), "correct horse").unwrap();
    let by_password = format!("{plain}?password_file={}", folder.path().join("password").display());
    Db::change_key(&by_password, None).unwrap();
    assert!(fs::read(&path).unwrap().starts_with(b"{"), "it is still JSON");
    assert_eq!(count(&Db::builder().record::<Secret>().open(&plain).unwrap()), 400);
}

#[test]
#[cfg(unix)]
fn a_power_cut_leaves_the_old_or_the_new_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bobak");
    let db = filled(memory(old()), &path, 30);
    fill(&db, 30);
    cut_at_each_step_of(
        folder.path(),
        || db.flush().unwrap(),
        (30, 60),
        |after| count(&open_snapshot(memory(old()), &after.join("a.bobak")).unwrap()),
    );
}

/// A process that writes its snapshot again and again is killed at many moments.
#[test]
#[cfg(unix)]
fn a_kill_leaves_a_whole_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    drop(filled(memory(old()), &path, 1));
    for moment in 0..12 {
        let child = another(folder.path(), "flush");
        kill_after(child, "flushed", Duration::from_micros(1_700 * moment));
        assert!(count(&open_snapshot(memory(old()), &path).unwrap()) > 1_000);
        is_nowhere(MARKER, folder.path());
    }
}

/// What the killed process does.
pub(super) fn flush_forever(path: &Path) {
    let db = open_snapshot(memory(old()), path).unwrap();
    fill(&db, 2_000);
    loop {
        db.flush().unwrap();
        println!("\nflushed");
        std::io::stdout().flush().unwrap();
    }
}
