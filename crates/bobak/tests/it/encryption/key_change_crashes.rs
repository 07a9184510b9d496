//! Kills and power cuts while a key is changed.

use super::*;

/// A process is killed at many moments of a key change. The file then opens with the old key or the new one.
#[test]
#[cfg(unix)]
fn a_killed_key_change_leaves_the_old_or_the_new_key() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let prepare = |key: Option<EncryptionKey>| {
        for file in fs::read_dir(folder.path()).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        match key {
            Some(key) => fill(&open(&path, key).unwrap(), 2_000),
            None => fill(
                &Db::builder()
                    .record::<Secret>()
                    .open_engine(Sqlite::open(&path).unwrap())
                    .unwrap(),
                2_000,
            ),
        }
    };
    let (mut with_old, mut with_new) = (0, 0);
    for what in ["rekey", "encrypt"] {
        // At each moment when the folder changes, at some between, and when the new
        // one is in its place.
        for moment in 0..=12 {
            prepare((what == "rekey").then(old));
            let place = || fs::metadata(&path).unwrap().ino();
            let before = place();
            let mut child = another(folder.path(), what);
            let begun = std::time::Instant::now();
            let mut seen = 0;
            while child.try_wait().unwrap().is_none() {
                let is_now = if moment == 12 { place() != before } else { seen > moment };
                if is_now {
                    break;
                }
                let sizes = fs::read_dir(folder.path()).unwrap().flatten();
                let new_bytes: u64 = sizes
                    .filter(|file| file.file_name().to_string_lossy().ends_with(".new"))
                    .filter_map(|file| file.metadata().ok())
                    .map(|file| file.len())
                    .sum();
                seen = if new_bytes == 0 { 0 } else { 1 + new_bytes / 20_000 };
                assert!(begun.elapsed().as_secs() < 120, "it does not end");
            }
            let _ = child.kill();
            child.wait().unwrap();
            match open(&path, other()) {
                Ok(db) => {
                    with_new += 1;
                    assert_eq!(count(&db), 2_000);
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
                    with_old += 1;
                    if what == "encrypt" {
                        assert_eq!(fs::read(&path).unwrap()[18..20], [2, 2], "it keeps its mode");
                    }
                    let engine = match what {
                        "rekey" => with_key(old()).open(&path),
                        _ => Sqlite::open(&path),
                    };
                    let db = Db::builder().record::<Secret>().open_engine(engine.unwrap()).unwrap();
                    assert_eq!(count(&db), 2_000);
                }
            }
        }
    }
    assert!(with_old > 0 && with_new >= 2, "{with_old} old, {with_new} new");
    assert_eq!(with_new + with_old, 26);
}

/// The power is cut at each step of replacing the file by the one with the new key.
#[test]
#[cfg(unix)]
fn a_power_cut_during_a_key_change_leaves_the_old_or_the_new_key() {
    use bobak::engine::sqlite::JournalMode;
    use bobak_testkit::crash::files::{cut_at_each_step, fail_step};
    let open = |path: &Path, key: EncryptionKey| {
        let engine = with_key(key).journal_mode(JournalMode::Delete).open(path)?;
        Db::builder().record::<Secret>().open_engine(engine)
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    fill(&open(&path, old()).unwrap(), 50);
    let change = || with_key(old()).change_key(&path, Some(&other()));
    for (kind, expected) in [
        (std::io::ErrorKind::StorageFull, ErrorKind::Full),
        (std::io::ErrorKind::Other, ErrorKind::Io),
    ] {
        // Before the rename the file has the old key.
        for step in [0, 1] {
            assert!(fail_step(step, kind, || assert_eq!(change().unwrap_err().kind(), expected)));
            assert_eq!(count(&open(&path, old()).unwrap()), 50);
        }
    }
    let states = cut_at_each_step(folder.path(), || change().unwrap()).unwrap();
    assert!(states.len() >= 16, "{}", states.len());
    for left in states {
        let after = tempfile::tempdir().unwrap();
        left.lay_out(after.path()).unwrap();
        let file = after.path().join("app.db");
        let db = open(&file, other()).or_else(|error| {
            assert!(!left.done && error.kind() == ErrorKind::Denied, "{error}, {}", left.what);
            open(&file, old())
        });
        assert_eq!(count(&db.unwrap()), 50, "{}", left.what);
    }
}
