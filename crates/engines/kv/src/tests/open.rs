//! Opening files that are not key-value files.

use super::{create_items, items};
use crate::Kv;
use bobak_core::{Engine, ErrorKind, FieldSet, Value, Verb, Write};
use std::fs;
use std::path::Path;

fn fails(path: &Path, kind: ErrorKind, text: &str) {
    for check in [false, true] {
        let error = Kv::builder().check_on_open(check).open(path).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(text), "{error}");
        assert!(error.message().contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn files_of_others_are_rejected_and_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.kv");
    let sqlite = [&b"SQLite format 3\0"[..], &[7; 8_176]].concat();
    for (content, text) in [
        (sqlite.as_slice(), "is an SQLite database: open it as sqlite:"),
        (b"id,name\n1,ada\n", "is not a key-value file"),
        (b"red", "is not a key-value file"),
        (&[0; 4_096], "is not a key-value file"),
    ] {
        fs::write(&file, content).unwrap();
        fails(&file, ErrorKind::Corrupt, text);
        assert_eq!(fs::read(&file).unwrap(), content);
    }
    fails(folder.path(), ErrorKind::Misuse, "is a folder");
}

#[test]
fn an_empty_file_is_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.kv");
    fs::write(&file, b"").unwrap();
    create_items(&Kv::open(&file).unwrap());
    assert_eq!(Kv::open(&file).unwrap().tables().unwrap()[0].name(), items().name());
}

#[test]
fn a_truncated_file_is_rejected_or_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.kv");
    let kv = Kv::open(&file).unwrap();
    let table = create_items(&kv);
    let text = "x".repeat(4_000);
    for id in 1..=300 {
        let values = [Value::Int(id), Value::from(text.as_str())];
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        kv.write(&Write { table: &table, verb, fields, values: &values }).unwrap();
    }
    drop(kv);
    let whole = fs::read(&file).unwrap();
    for length in [10, 100, 4_096, 8_192, whole.len() / 2, whole.len() - 4_096, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        fails(&file, ErrorKind::Corrupt, "");
    }
    fs::write(&file, &whole).unwrap();
    let kv = Kv::builder().check_on_open(true).open(&file).unwrap();
    assert!(kv.get(&table, &[Value::Int(300)], &mut |_| Ok(())).unwrap());
}
