//! Encrypted files: no plain content in any file, whatever happens.

mod aegis;
mod compressed_backups;
mod encrypted_backups;
mod fixtures;
mod key_change_crashes;
mod key_changes;
#[cfg(target_os = "linux")]
mod memory;
mod open_files;
mod page_sizes;
mod snapshots;

use bobak::backup::{BackupOptions, Checksum, Compression};
use bobak::engine::sqlite::{Cipher, EncryptionKey, Sqlite, SqliteBuilder};
use bobak::prelude::*;
use bobak::restore::RestoreOptions;
use bobak_testkit::crash::marks;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
#[cfg(unix)]
use std::time::Duration;

/// A text that no file may contain.
const MARKER: &str = "marmota-bobak-marker";
const FOLDER: &str = "BOBAK_TEST_ENCRYPTED_FOLDER";
const WHAT: &str = "BOBAK_TEST_ENCRYPTED_WHAT";

#[derive(Record, Clone, Debug, PartialEq)]
struct Secret {
    id: i64,
    #[record(index)]
    text: String,
}

/// With SQLCipher in SQLite's place, the tests are about its files.
const CIPHER: Cipher =
    if cfg!(feature = "sqlcipher") { Cipher::Sqlcipher } else { Cipher::Aegis256 };

fn with_key(key: EncryptionKey) -> SqliteBuilder {
    Sqlite::builder().key(key).cipher(CIPHER)
}

fn old() -> EncryptionKey {
    EncryptionKey::bytes([1; 32])
}

/// Has the same cost as `old`: deriving a key from a password takes time.
fn other() -> EncryptionKey {
    EncryptionKey::bytes([2; 32])
}

fn new() -> EncryptionKey {
    EncryptionKey::password("correct horse").unwrap()
}

fn open(path: &Path, key: EncryptionKey) -> Result<Db, Error> {
    Db::builder().record::<Secret>().open_engine(with_key(key).open(path)?)
}

fn fill(db: &Db, rows: usize) {
    db.create_missing_tables().unwrap();
    let mut batch = db.batch(BatchOptions::new());
    for n in 0..rows {
        batch.insert(&Secret { id: 0, text: format!("{MARKER} {n}") }).unwrap();
    }
    batch.finish().unwrap();
}

fn count(db: &Db) -> u64 {
    db.table::<Secret>().unwrap().count(Query::all()).unwrap()
}

/// Searches every file of a folder.
fn is_nowhere(marker: &str, folder: &Path) {
    let mut files = 0;
    for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let content = fs::read(&file).unwrap_or_default();
        let found = content.windows(marker.len()).any(|part| part == marker.as_bytes());
        assert!(!found, "{marker} is in {}", file.display());
        files += 1;
    }
    assert!(files > 0);
}

/// Runs this test program as another process, which does what [`in_another_process`] has for `what`.
fn another(folder: &Path, what: &str) -> Child {
    command(folder, what).spawn().unwrap()
}

fn command(folder: &Path, what: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "encryption::in_another_process", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(WHAT, what)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// Kills a process some time after it has written a line that begins with `ready`.
#[cfg(unix)]
fn kill_after(mut child: Child, ready: &str, time: Duration) {
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.by_ref().any(|line| line.starts_with(ready)));
    std::thread::sleep(time);
    child.kill().unwrap();
    said.for_each(drop);
    assert!(child.wait().unwrap().code().is_none(), "it was killed");
}

/// Cuts the power at each step of `write`: afterwards the number of rows is the old or the new one, and the new one if
/// `write` was done.
#[cfg(unix)]
fn cut_at_each_step_of(
    folder: &Path,
    write: impl FnOnce(),
    (old, new): (u64, u64),
    count: impl Fn(&Path) -> u64,
) {
    let states = bobak_testkit::crash::files::cut_at_each_step(folder, write).unwrap();
    let mut seen = [0; 2];
    for left in states {
        let after = tempfile::tempdir().unwrap();
        left.lay_out(after.path()).unwrap();
        let rows = count(after.path());
        assert!(rows == new || (rows == old && !left.done), "{rows} {}", left.what);
        seen[usize::from(rows == new)] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn in_another_process() {
    let folder = std::env::var_os(FOLDER).unwrap();
    let path = Path::new(&folder).join("app.db");
    match std::env::var(WHAT).unwrap().as_str() {
        "rekey" => with_key(old()).change_key(&path, Some(&other())).unwrap(),
        "encrypt" => Sqlite::builder().cipher(CIPHER).change_key(&path, Some(&other())).unwrap(),
        "flush" => snapshots::flush_forever(&path),
        "encrypted backup" => encrypted_backups::back_up_forever(Path::new(&folder)),
        "compressed backup" => compressed_backups::back_up_and_restore_forever(Path::new(&folder)),
        #[cfg(target_os = "linux")]
        "memory" => memory::use_keys_and_search_memory(Path::new(&folder)),
        what if what.starts_with("commit ") => {
            let journal = what["commit ".len()..].parse().unwrap();
            let engine = with_key(old()).journal_mode(journal).open(&path).unwrap();
            marks::write(&engine, false, &mut |number| {
                println!("\ncommit {number}");
                std::io::stdout().flush().unwrap();
                true
            })
            .unwrap();
        }
        what if what.starts_with("hold ") => open_files::hold(&path, &what["hold ".len()..]),
        what => {
            let (journal, page_size) = what.split_once(' ').unwrap_or((what, "4096"));
            let builder = with_key(old()).journal_mode(journal.parse().unwrap());
            let builder = builder.page_size(page_size.parse::<u32>().unwrap());
            // A cache too small for the transaction: SQLite writes pages to the file, and their old content to the journal.
            let engine = builder.cache_bytes(64 << 10).open(&path).unwrap();
            let db = Db::builder().record::<Secret>().open_engine(engine).unwrap();
            fill(&db, 3_000);
            let transaction = db.begin().unwrap();
            let table = transaction.table::<Secret>().unwrap();
            for round in 0.. {
                let text = format!("{MARKER} changed {round}");
                table.set_where(Secret::ID.gt(0), [Secret::TEXT.set(text)]).unwrap();
                println!("\nchanged {round}");
                std::io::stdout().flush().unwrap();
            }
        }
    }
}

/// Another process changes all rows and is killed before it commits. `meanwhile` runs while the transaction is open.
fn kill_in_a_transaction(folder: &Path, what: &str, meanwhile: impl FnOnce()) {
    let mut child = another(folder, what);
    let said = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut changed = said.map_while(Result::ok).filter(|line| line.starts_with("changed"));
    // Read on, or the process would end because of the closed pipe.
    assert_eq!(changed.by_ref().take(2).count(), 2);
    meanwhile();
    child.kill().unwrap();
    changed.for_each(drop);
    assert!(child.wait().unwrap().code().is_none(), "it was killed");
}

#[test]
fn no_plain_text_is_in_the_files_during_a_transaction_or_after_a_kill() {
    for journal in ["wal", "delete", "truncate"] {
        let folder = tempfile::tempdir().unwrap();
        kill_in_a_transaction(folder.path(), journal, || is_nowhere(MARKER, folder.path()));
        is_nowhere(MARKER, folder.path());
        is_nowhere("CREATE TABLE", folder.path());
        let logs = if journal == "wal" { "app.db-wal" } else { "app.db-journal" };
        assert!(fs::metadata(folder.path().join(logs)).unwrap().len() > 100_000, "{journal}");
        let db = open(&folder.path().join("app.db"), old()).unwrap();
        assert_eq!(count(&db), 3_000);
        let changed = "SELECT count(*) FROM secret WHERE text LIKE '%changed%'";
        assert_eq!(db.sql::<i64>(changed, ()).unwrap(), [0], "what was not committed is undone");
        is_nowhere(MARKER, folder.path());
    }
}

#[test]
fn a_wrong_key_gives_one_kind_of_error() {
    let folder = tempfile::tempdir().unwrap();
    let (path, plain) = (folder.path().join("app.db"), folder.path().join("plain.db"));
    fill(&open(&path, new()).unwrap(), 10);
    fill(
        &Db::builder().record::<Secret>().open(&format!("sqlite:{}", plain.display())).unwrap(),
        1,
    );
    let before = fs::read(&path).unwrap();
    let wrong = EncryptionKey::password("incorrect horse").unwrap();
    for (file, key) in [(&path, wrong.clone()), (&path, old()), (&plain, new()), (&plain, old())] {
        let error = open(file, key).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(!format!("{error:?}").contains("horse"), "{error:?}");
    }
    let error = Sqlite::open(&path).err().unwrap();
    // SQLCipher's files have no mark.
    let kind = if CIPHER == Cipher::Sqlcipher { ErrorKind::Corrupt } else { ErrorKind::Denied };
    assert_eq!(error.kind(), kind, "{error}");
    assert_eq!(with_key(old()).open_memory().unwrap_err().kind(), ErrorKind::Config);
    let builder = with_key(wrong);
    assert!(!format!("{builder:?}").contains("horse"), "{builder:?}");
    let denied = builder.change_key(&path, None).unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Denied, "{denied}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(count(&open(&path, new()).unwrap()), 10);
}

#[test]
fn urls_with_keys_are_opened_and_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("key"), "0123456789abcdef".repeat(4)).unwrap();
    fs::write(path("password"), "correct horse\n").unwrap();
    let url = |settings: &str| format!("sqlite:{}?{settings}", path("app.db"));
    let by_password =
        url(&format!("password_file={}&cipher={}", path("password"), CIPHER.as_str()));
    fill(&Db::builder().record::<Secret>().open(&by_password).unwrap(), 3);
    assert_eq!(count(&open(path("app.db").as_ref(), new()).unwrap()), 3);
    for (settings, kind) in [
        (format!("key_file={}", path("key")), ErrorKind::Denied),
        (format!("key_file={}", path("password")), ErrorKind::Config),
        (format!("key_file={}", path("missing")), ErrorKind::Io),
        ("password_env=NO_SUCH_VARIABLE".to_owned(), ErrorKind::Config),
        ("password=horse".to_owned(), ErrorKind::Config),
        ("key=horse".to_owned(), ErrorKind::Config),
        (format!("key_file={}&password_env=X", path("key")), ErrorKind::Config),
    ] {
        let error = Db::open(&url(&settings)).err().unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(!error.to_string().contains("horse"), "{error}");
    }
}

/// Row ids may differ in the new file, while the change log has the old ones.
#[test]
fn changing_the_key_is_rejected_if_a_tracked_table_has_no_primary_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let open = || Db::open(&format!("sqlite:{}", path.display())).unwrap();
    crate::hidden_tables::track_hidden(&open());
    let error = Sqlite::builder().cipher(CIPHER).change_key(&path, Some(&old())).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Unsupported, Some("loose")), "{error}");
    open().untrack_table("loose").unwrap();
    Sqlite::builder().cipher(CIPHER).change_key(&path, Some(&old())).unwrap();
}

#[test]
fn the_key_of_a_file_can_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let plain = Sqlite::builder().journal_mode(bobak::engine::sqlite::JournalMode::Delete);
    let engine = plain.open(&path).unwrap();
    let db = Db::builder().record::<Secret>().open_engine(engine).unwrap();
    db.execute("PRAGMA auto_vacuum = 2", ()).unwrap();
    fill(&db, 500);
    db.execute("PRAGMA user_version = 77", ()).unwrap();
    let vacuum = |db: &Db| db.sql::<i64>("PRAGMA auto_vacuum", ()).unwrap();
    assert_eq!(vacuum(&db), [2]);
    let busy = Sqlite::builder().busy_timeout(std::time::Duration::from_millis(50));
    assert_eq!(busy.change_key(&path, Some(&old())).unwrap_err().kind(), ErrorKind::Busy);
    drop(db);
    Sqlite::builder().cipher(CIPHER).change_key(&path, Some(&old())).unwrap();
    is_nowhere(MARKER, folder.path());
    let db = open(&path, old()).unwrap();
    assert_eq!((count(&db), db.sql::<i64>("PRAGMA user_version", ()).unwrap()), (500, vec![77]));
    assert_eq!(vacuum(&db), [2]);
    drop(db);
    with_key(old()).change_key(&path, Some(&new())).unwrap();
    assert_eq!(open(&path, old()).err().unwrap().kind(), ErrorKind::Denied);
    assert_eq!(count(&open(&path, new()).unwrap()), 500);
    with_key(new()).change_key(&path, None).unwrap();
    let db = Db::builder().record::<Secret>().open(&format!("sqlite:{}", path.display())).unwrap();
    assert_eq!(count(&db), 500);
    drop(db);
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["app.db"]);
}

#[test]
fn backups_are_encrypted_too() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    for (name, key) in [("bytes", old()), ("password", new())] {
        let db = open(&place(&format!("{name}.db")), key.clone()).unwrap();
        fill(&db, 400);
        let backup = place(&format!("{name}.backup"));
        let mut seen = Vec::new();
        let watch = |step| {
            seen.push(step);
            Ok(())
        };
        let report = db.backup(&backup, &BackupOptions::new(), watch).unwrap();
        assert!(report.compared && report.rows() == 400);
        let stored = fs::metadata(&backup).unwrap().len();
        assert_eq!(report.stored, stored);
        let bytes = report.bytes;
        assert!(
            bytes > 20_000 && bytes < stored && seen.iter().any(|s| s.done > 0 && s.of == bytes),
            "{seen:?}"
        );
        is_nowhere(MARKER, folder.path());
        let opened = place("opened");
        fs::copy(&backup, &opened).unwrap();
        assert_eq!(count(&open(&opened, key).unwrap()), 400);
        assert_eq!(Db::check_backup(&backup).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    fs::write(place("password"), "correct horse").unwrap();
    fs::write(place("wrong"), "incorrect horse").unwrap();
    let with = |target: &str, password: &str| {
        format!("sqlite:{}?password_file={}", place(target).display(), place(password).display())
    };
    let backup = place("password.backup");
    assert_eq!(Db::check_backup_for(&backup, &with("x.db", "password")).unwrap().rows(), 400);
    let error = Db::restore(&backup, &with("restored.db", "wrong"), &RestoreOptions::new());
    let checked = Db::check_backup_for(&backup, &with("restored.db", "wrong")).unwrap_err();
    for error in [error.unwrap_err(), checked] {
        assert_eq!(error.kind(), ErrorKind::Denied);
        // The error names the backup, not a temporary copy of it.
        let said = error.to_string();
        assert_eq!(said.matches("password.backup").count(), 1, "{said}");
        assert!(!said.contains(".new") && said.matches('/').count() <= 5, "{said}");
    }
    assert!(!place("restored.db").exists());
    Db::restore(&backup, &with("restored.db", "password"), &RestoreOptions::new()).unwrap();
    let over = RestoreOptions::new().overwrite(true);
    Db::restore(&backup, &with("restored.db", "password"), &over).unwrap();
    assert_eq!(count(&open(&place("restored.db"), new()).unwrap()), 400);
    is_nowhere(MARKER, folder.path());
}

/// An encrypted backup has a checksum too, and no table names in it.
#[test]
fn damaged_encrypted_backups_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::write(place("key"), "01".repeat(32)).unwrap();
    let url = |name: &str| {
        let (file, key) = (place(name), place("key"));
        format!("sqlite:{}?key_file={}", file.display(), key.display())
    };
    let db = open(&place("app.db"), old()).unwrap();
    fill(&db, 100);
    let backup = place("backup");
    db.backup(&backup, &BackupOptions::new(), |_| Ok(())).unwrap();
    is_nowhere("secret", folder.path());
    let check = || Db::check_backup_for(&backup, &url("x.db"));
    assert_eq!(check().unwrap().checksum, Checksum::Same);
    let good = fs::read(&backup).unwrap();
    let plain = &good[..usize::try_from(check().unwrap().bytes).unwrap()];
    let rejected = |bytes: &[u8], what: &str| {
        fs::write(&backup, bytes).unwrap();
        let error = Db::restore(&backup, &url("new.db"), &RestoreOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}");
        assert!(!place("new.db").exists());
    };
    for at in (0..good.len()).step_by(509).chain(0..20).chain((plain.len()..good.len()).step_by(61))
    {
        let mut wrong = good.clone();
        wrong[at] ^= 1;
        rejected(&wrong, &format!("byte {at}"));
    }
    for cut in [plain.len() - 1, plain.len() + 1, good.len() - 1] {
        rejected(&good[..cut], &format!("cut to {cut}"));
    }
    for bytes in [&good[..], plain] {
        rejected(&[bytes, b"x"].concat(), "a byte more");
        rejected(&[bytes, bytes].concat(), "twice");
    }
    fs::write(&backup, plain).unwrap();
    assert_eq!(check().unwrap().checksum, Checksum::Missing);
    fs::write(&backup, &good).unwrap();
    let other = open(&backup, old()).unwrap();
    other.table::<Secret>().unwrap().set(1, [Secret::TEXT.set("another")]).unwrap();
    drop(other);
    let written = check().unwrap();
    assert!(written.checksum != Checksum::Same && written.rows() == 100, "{written:?}");
}

/// Every commit that was acknowledged before a kill is still there.
#[test]
fn commits_survive_a_kill() {
    for (journal, commits) in [("wal", 40), ("wal", 300), ("delete", 40)] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = another(folder.path(), &format!("commit {journal}"));
        let said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut numbers = said.filter_map(|line| line.strip_prefix("commit ")?.parse::<u64>().ok());
        let last = numbers.by_ref().take(commits).last().unwrap();
        child.kill().unwrap();
        // Lines printed before the kill count too.
        let last = numbers.last().unwrap_or(last);
        assert!(child.wait().unwrap().code().is_none(), "it was killed");
        let engine = with_key(old()).open(folder.path().join("app.db")).unwrap();
        let there = marks::read(&engine).unwrap();
        assert!([last, last + 1].contains(&there), "{journal}: {there} of {last}");
    }
}

/// Archives are not encrypted, so archiving an encrypted database needs explicit permission.
#[test]
fn changes_are_not_archived_in_plain_text_unless_allowed() {
    use bobak::changes::TrackOptions;
    let folder = tempfile::tempdir().unwrap();
    let changes = folder.path().join("changes");
    let engine = with_key(old()).open(folder.path().join("app.db")).unwrap();
    let db = Db::builder().track::<Secret>(TrackOptions::new()).open_engine(engine).unwrap();
    fill(&db, 1);
    let error = db.archive_to(&changes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(!changes.exists());
    let mut archive = db.archive_unencrypted_to(&changes).unwrap();
    assert_eq!(archive.step(std::time::Duration::ZERO).unwrap().changes, 1);
}

/// The conformance suite.
mod suite {
    use super::EncryptionKey;
    use bobak::engine::sqlite::Synchronous;
    use bobak_testkit::Fixture;
    use std::time::Duration;

    fn fresh() -> bobak::Result<Fixture> {
        let folder = tempfile::tempdir().map_err(|e| bobak::Error::io("make a folder", e))?;
        Fixture::persistent(move || {
            let builder = super::with_key(EncryptionKey::bytes([9; 32]));
            let builder = builder.synchronous(Synchronous::Off);
            let builder = builder.busy_timeout(Duration::from_millis(300));
            Ok(Box::new(builder.open(folder.path().join("a.db"))?))
        })
    }
    bobak_testkit::conformance!(fresh);
}
