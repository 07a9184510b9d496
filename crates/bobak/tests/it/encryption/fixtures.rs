//! Encrypted files of released versions.

use super::*;

/// The encrypted files of released versions, in one folder with their other fixtures.
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/testkit/tests/fixtures");

const NAMES: [&str; 2] = match CIPHER {
    Cipher::Sqlcipher => ["key.encrypted", "password.encrypted"],
    Cipher::Aegis256 => ["key.aegis256", "password.aegis256"],
};

/// Makes the fixtures of this version.
#[test]
#[ignore = "run by `cargo xtask fixtures`, before a release"]
fn make_fixtures() {
    let folder = std::path::PathBuf::from(std::env::var_os("BOBAK_FIXTURES").unwrap());
    for (name, key) in NAMES.into_iter().zip([old(), new()]) {
        fill(&open(&folder.join(name), key).unwrap(), 40);
    }
}

#[test]
fn old_files_are_opened() {
    let mut files = 0;
    for version in fs::read_dir(FIXTURES).unwrap().map(|entry| entry.unwrap().path()) {
        let folder = tempfile::tempdir().unwrap();
        for (name, key) in NAMES.into_iter().zip([old(), new()]) {
            let copy = folder.path().join(name);
            if version.join(name).exists() {
                fs::copy(version.join(name), &copy).unwrap();
                let db = open(&copy, key).unwrap();
                let secrets = db.table::<Secret>().unwrap();
                let last = Secret { id: 40, text: format!("{MARKER} 39") };
                assert_eq!((count(&db), secrets.require(40).unwrap()), (40, last));
                secrets.insert(&Secret { id: 0, text: String::new() }).unwrap();
                files += 1;
            }
        }
    }
    // None is of a version with the other cipher; `aegis` has a file of its first version.
    assert!(CIPHER == Cipher::Aegis256 || files >= 2, "{files}");
}
