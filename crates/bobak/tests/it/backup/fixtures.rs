//! Backups of released versions.

use super::*;

/// The backups of released versions, in one folder with their other fixtures.
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/testkit/tests/fixtures");

/// Makes the fixtures of this version.
#[test]
#[ignore = "run by `cargo xtask fixtures`, before a release"]
fn make_fixtures() {
    let folder = std::path::PathBuf::from(std::env::var_os("BOBAK_FIXTURES").unwrap());
    let db = open("sqlite::memory:");
    fill(&db);
    db.execute("DELETE FROM account WHERE id > 40", ()).unwrap();
    db.execute("VACUUM", ()).unwrap();
    for (name, compression) in [
        ("summed.db", Compression::None),
        ("backup.db.zst", Compression::Zstd),
        ("backup.db.gz", Compression::Gzip),
    ] {
        let options = BackupOptions::new().compression(compression);
        db.backup(folder.join(name), &options, |_| Ok(())).unwrap();
    }
}

#[test]
fn old_backups_are_restored() {
    let mut files = 0;
    for version in fs::read_dir(FIXTURES).unwrap().map(|entry| entry.unwrap().path()) {
        let folder = tempfile::tempdir().unwrap();
        // Plain backups of the first versions have no checksum.
        for (name, checksum) in [
            ("backup.db", Checksum::Missing),
            ("summed.db", Checksum::Same),
            ("backup.db.zst", Checksum::Same),
            ("backup.db.gz", Checksum::Same),
        ] {
            let file = version.join(name);
            if !file.exists() || !cfg!(feature = "compress") && !name.ends_with(".db") {
                continue;
            }
            let place = url(&folder.path().join(name), "");
            let report = Db::restore(&file, &place, &RestoreOptions::new()).unwrap();
            assert_eq!(report.tables, [("account".to_owned(), 40)], "{}", file.display());
            assert_eq!(report.checksum, checksum, "{}", file.display());
            let accounts = open(&place).table::<Account>().unwrap().list(Query::all()).unwrap();
            let expected = |id| Account { id, balance: 100, name: format!("{id:060}") };
            assert_eq!(accounts, (1..=40).map(expected).collect::<Vec<_>>());
            files += 1;
        }
    }
    assert!(files >= 4, "{files}");
}
