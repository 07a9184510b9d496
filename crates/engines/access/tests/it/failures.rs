//! Files that cannot be read.

use crate::writing::{insert, rows, table};
use crate::{NAMES, unpacked};
use bobak_access::MsAccess;
use bobak_core::{Engine, ErrorKind, Value};
use std::fs;
use std::path::Path;

fn fails(path: &Path, kind: ErrorKind, text: &str) {
    let error = MsAccess::open(path).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.message().contains(text), "{error}");
    assert!(error.message().contains(path.to_str().unwrap()), "{error}");
}

#[test]
fn files_of_others_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.accdb");
    assert!(MsAccess::open(&file).unwrap().tables().unwrap().is_empty());
    for (content, text) in [
        (&b"SQLite format 3\0 and more text"[..], "is an SQLite database: open it as sqlite:"),
        (b"", "is not an Access file"),
        (b"\0\x01\0\0Standard Jet", "is not an Access file"),
        (b"\0\x01\0\0Standard ACE DB\0", "is damaged"),
    ] {
        fs::write(&file, content).unwrap();
        fails(&file, ErrorKind::Corrupt, text);
    }
    fails(folder.path(), ErrorKind::Misuse, "is a folder");
}

/// A page that is overwritten is an error, or belongs to what is not read: never a table with fewer rows.
#[test]
fn overwritten_pages_hide_no_rows() {
    const PAGE: usize = 4096;
    let folder = tempfile::tempdir().unwrap();
    let path = unpacked("v2019.accdb", folder.path());
    let bytes = fs::read(&path).unwrap();
    let all = |access: &MsAccess| {
        let names = access.tables().unwrap().into_iter().map(|table| table.name().to_owned());
        names.map(|name| (rows(access, &table(access, &name)).len(), name)).collect::<Vec<_>>()
    };
    let expected = all(&MsAccess::open(&path).unwrap());
    let mut damaged = 0;
    for page in 1..bytes.len() / PAGE {
        for filler in [0, 0xff] {
            let mut copy = bytes.clone();
            copy[page * PAGE..(page + 1) * PAGE].fill(filler);
            fs::write(&path, copy).unwrap();
            match MsAccess::open(&path) {
                Ok(access) => {
                    let found = all(&access);
                    assert!(
                        found.iter().all(|one| expected.contains(one)),
                        "page {page}: {found:?}"
                    );
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "page {page}: {error}");
                    damaged += 1;
                }
            }
        }
    }
    assert!(damaged > 4, "{damaged} pages");
}

#[test]
fn a_file_that_is_open_elsewhere_is_busy() {
    let folder = tempfile::tempdir().unwrap();
    for (name, lock) in NAMES.into_iter().zip(["v2000.ldb", "v2019.laccdb"]) {
        let path = unpacked(name, folder.path());
        let lock = folder.path().join(lock);
        fs::write(&lock, b"").unwrap();
        fails(&path, ErrorKind::Busy, lock.to_str().unwrap());
        fs::remove_file(lock).unwrap();
        MsAccess::open(path).unwrap();
    }
}

/// The file with a description of its encryption in its first page, as MS-OFFCRYPTO 2.3.5 has it for RC4.
fn encrypted(folder: &Path, version: [u16; 2]) -> std::path::PathBuf {
    let path = unpacked("v2019.accdb", folder);
    let mut bytes = fs::read(&path).unwrap();
    let mut info: Vec<u8> = version.iter().flat_map(|part| part.to_le_bytes()).collect();
    // Flags, the header's size, and in it: flags, nothing, RC4, SHA-1, bits, kind of provider, nothing, an empty name.
    let numbers: [u32; 10] = [4, 34, 4, 0, 0x6801, 0x8004, 128, 1, 0, 0];
    info.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    info.extend([0, 0]);
    info.extend(16_u32.to_le_bytes());
    info.extend([7; 32]);
    info.extend(20_u32.to_le_bytes());
    info.extend([7; 20]);
    let length = u16::try_from(info.len()).unwrap().to_le_bytes();
    bytes[0x299..0x29b].copy_from_slice(&length);
    bytes[0x29b..0x29b + info.len()].copy_from_slice(&info);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn an_encrypted_file_needs_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let path = encrypted(folder.path(), [3, 2]);
    fails(&path, ErrorKind::Denied, "has a password");
    let error = MsAccess::builder().password("y").open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    fails(&encrypted(folder.path(), [1, 1]), ErrorKind::Unsupported, "is encrypted");
    let error = MsAccess::builder().password_env("BOBAK_NO_SUCH_VARIABLE".to_owned()).open(&path);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Config);
}

#[test]
fn truncated_files_are_damaged() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let path = unpacked(name, folder.path());
        let whole = fs::read(&path).unwrap();
        for length in [100, 4_096, 8_192, 20_000, whole.len() / 2] {
            fs::write(&path, &whole[..length]).unwrap();
            fails(&path, ErrorKind::Corrupt, "");
        }
    }
}

/// Some damage is in texts and numbers, and no reader can find it.
#[test]
fn damage_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = unpacked("v2000.mdb", folder.path());
    let whole = fs::read(&path).unwrap();
    let mut rejected = 0;
    for step in 0..150 {
        let mut bytes = whole.clone();
        let at = 4_096 + step * 1_231;
        for byte in &mut bytes[at..at + 40] {
            *byte = byte.wrapping_mul(31).wrapping_add(0x5b);
        }
        fs::write(&path, bytes).unwrap();
        if let Err(error) = MsAccess::open(&path) {
            rejected += 1;
            assert!(!error.message().contains('\n'), "{error}");
        }
    }
    assert!(rejected > 5, "{rejected}");
}

#[test]
fn damage_that_a_writer_finds_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let path = unpacked(name, folder.path());
        let mut bytes = fs::read(&path).unwrap();
        // Where the map of free pages begins: readers do not need it.
        bytes[4_096 + 14..4_096 + 16].copy_from_slice(&[0xff, 0x1f]);
        fs::write(&path, &bytes).unwrap();
        let access = MsAccess::open(&path).unwrap();
        let log = table(&access, "Log");
        let error = insert(&access, &log, &[Value::Null, Value::from("x")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains(path.to_str().unwrap()), "{error}");
        assert_eq!(rows(&access, &log).len(), 3);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn what_is_not_changed_stays_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let path = unpacked(name, folder.path());
        let before = fs::read(&path).unwrap();
        let access = MsAccess::open(&path).unwrap();
        let log = table(&access, "Log");
        insert(&access, &log, &[Value::Null, Value::from("x")]).unwrap();
        let after = fs::read(&path).unwrap();
        let pages = before.chunks(4_096).zip(after.chunks(4_096));
        let changed = pages.filter(|(before, after)| before != after).count();
        // Its definition, its old and new rows, its usage maps and the map of free pages.
        assert!((2..=6).contains(&changed), "{changed}");
        assert!(after.len() - before.len() <= 2 * 4_096, "{} {}", before.len(), after.len());
    }
}
