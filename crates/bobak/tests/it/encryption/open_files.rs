//! Files that are open elsewhere are not replaced, whether or not their keys are known.

use super::*;
use std::io::Read;
use std::time::Duration;

/// Opens the file, prints a line, and keeps it open until a line arrives on stdin; then writes a row.
pub(super) fn hold(path: &Path, journal: &str) {
    let builder = with_key(old()).journal_mode(journal.parse().unwrap());
    let db = Db::builder().record::<Secret>().open_engine(builder.open(path).unwrap()).unwrap();
    assert_eq!(count(&db), 10);
    println!("\nheld");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    fill(&db, 1);
}

fn prepared() -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (path, plain) = (folder.path().join("app.db"), folder.path().join("plain.db"));
    fill(&open(&path, old()).unwrap(), 10);
    let db = Db::builder().record::<Secret>().open(&format!("sqlite:{}", plain.display())).unwrap();
    fill(&db, 3);
    (folder, path, plain)
}

/// Neither a restore, without the key or with a wrong one, nor a key change replaces the file.
fn is_left_alone(path: &Path, plain: &Path) {
    let over = RestoreOptions::new().overwrite(true);
    let url = format!("sqlite:{}?busy_timeout=50", path.display());
    let busy = Db::restore(plain, &url, &over).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy, "{busy}");
    let builder = Sqlite::builder().busy_timeout(Duration::from_millis(50)).key(old());
    let busy = builder.change_key(path, Some(&other())).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy, "{busy}");
}

/// Without a WAL, only Linux reports an idle process that has the file open.
fn modes() -> impl Iterator<Item = &'static str> {
    ["wal", "delete", "truncate"].into_iter().take(if cfg!(target_os = "linux") { 3 } else { 1 })
}

#[test]
fn a_file_open_in_another_process_is_not_replaced() {
    for journal in modes() {
        let (folder, path, plain) = prepared();
        let mut child = another(folder.path(), &format!("hold {journal}"));
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(said.by_ref().any(|line| line == "held"), "{journal}");
        is_left_alone(&path, &plain);
        drop(child.stdin.take());
        said.for_each(drop);
        assert!(child.wait().unwrap().success(), "{journal}");
        assert_eq!(count(&open(&path, old()).unwrap()), 11, "{journal}");
        let over = RestoreOptions::new().overwrite(true);
        let url = format!("sqlite:{}", path.display());
        Db::restore(&plain, &url, &over).unwrap();
        assert_eq!(count(&Db::builder().record::<Secret>().open(&url).unwrap()), 3);
    }
}

#[test]
fn a_file_open_in_this_process_is_not_replaced() {
    for journal in modes() {
        let (_folder, path, plain) = prepared();
        let builder = || with_key(old()).journal_mode(journal.parse().unwrap());
        let open = || {
            Db::builder().record::<Secret>().open_engine(builder().open(&path).unwrap()).unwrap()
        };
        let db = open();
        is_left_alone(&path, &plain);
        fill(&db, 1);
        drop(db);
        assert_eq!(count(&open()), 11, "{journal}");
    }
}

/// The system drops a process's locks on a file when the process closes any handle of it. Reading the salt, finding
/// out what a wrong key opens, or why a file cannot be opened must not do that.
#[cfg(target_os = "linux")]
#[test]
fn locks_survive_a_second_open() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let db = open(&path, new()).unwrap();
    fill(&db, 10);
    let (process, file) = (std::process::id(), fs::metadata(&path).unwrap().ino());
    // `3: POSIX  ADVISORY  READ 1234 fe:00:10035489 1073741826 1073742335`
    let locks = || {
        let all = fs::read_to_string("/proc/locks").unwrap();
        let own = |line: &&str| line.contains(&format!(" {process} "));
        all.lines().filter(own).filter(|line| line.contains(&format!(":{file} "))).count()
    };
    let before = locks();
    assert!(before > 0);
    assert_eq!(open(&path, old()).err().unwrap().kind(), ErrorKind::Denied);
    assert_eq!(locks(), before);
    // Open until the end: closing it would make SQLite release the locks of both.
    let second = open(&path, new()).unwrap();
    assert_eq!(count(&second), 10);
    assert_eq!(locks(), before);
    drop((db, second));
    assert_eq!(locks(), 0);
    assert_eq!(count(&open(&path, new()).unwrap()), 10);
}
