//! Snapshots: all content is restored, damage is found, and failures keep the old file.

use super::*;
use crate::SnapshotFormat;
use bobak_core::{Collation, ColumnRole, ErrorKind, OnDelete};
use std::fs;

const FORMATS: [SnapshotFormat; 2] = [SnapshotFormat::Binary, SnapshotFormat::Json];

/// Every kind of column and rule.
fn rich() -> [Arc<TableSchema>; 2] {
    let mut builder = TableSchema::builder("every kind \"of\" column");
    for (position, ty) in Type::ALL.iter().enumerate() {
        let column = ColumnSchema::new(format!("c{position}"), *ty).nullable(true);
        builder = builder.column(if position % 2 == 0 { column.as_text() } else { column });
    }
    let every = builder
        .column(ColumnSchema::new("id", Type::Uuid).as_text())
        .column(ColumnSchema::new("made", Type::Timestamp).role(ColumnRole::CreatedAt))
        .column(ColumnSchema::new("version", Type::I64).role(ColumnRole::Version))
        .column(
            ColumnSchema::new("name", Type::Text)
                .max_chars(7)
                .unique()
                .collation(Collation::UnicodeNoCase)
                .default("é\0"),
        )
        .column(ColumnSchema::new("parent", Type::I64).nullable(true).references(
            "place",
            "id",
            OnDelete::SetNull,
        ))
        .column(ColumnSchema::new("raw", Type::Bytes).default(Value::Bytes(vec![0, 255].into())))
        .column(ColumnSchema::new("half", Type::F64).default(0.1).check("half < 1e300"))
        .key(["id"])
        .index("by half", ["half", "raw"])
        .unique_index("by two", ["c1", "c2"]);
    let position = TableSchema::builder("place")
        .column(ColumnSchema::new("id", Type::I64))
        .key(["id"])
        .given_key();
    [every, position].map(|builder| Arc::new(builder.build().unwrap()))
}

fn fill(memory: &Memory, tables: &[Arc<TableSchema>; 2]) {
    let session = &*memory.session().unwrap();
    write(session, &tables[1], Verb::Insert, &[0.into()]).unwrap();
    write(session, &tables[1], Verb::Insert, &[i64::MIN.into()]).unwrap();
    let floats = [0.1, -0.0, 5e-324, 1e21, f64::MAX, f64::NEG_INFINITY, 0.3 - 1e-17, 123.0];
    let any: [Value<'static>; 8] = [
        1.into(),
        1.0.into(),
        "1".into(),
        Value::Bytes(vec![1].into()),
        Value::Null,
        Value::Float(f64::INFINITY),
        "{\"float\": 1}".into(),
        i64::MAX.into(),
    ];
    for (number, (float, any)) in floats.into_iter().zip(any).enumerate() {
        let mut values: Values = vec![Value::Null; tables[0].columns().len()];
        let mut set = |name: &str, value: Value<'static>| {
            values[tables[0].column(name).unwrap()] = value;
        };
        set("id", format!("id {number}").into());
        set("made", (number as i64).into());
        set("version", i64::MAX.into());
        set("name", format!("\u{1}\"\\{number}").into());
        set("parent", if number == 3 { i64::MIN.into() } else { Value::Null });
        set("raw", Value::Bytes(vec![0; number * 100].into()));
        set("half", float.min(9e299).into());
        let floats = Type::ALL.iter().position(|ty| *ty == Type::F64).unwrap();
        set(&format!("c{floats}"), float.into());
        let anything = Type::ALL.iter().position(|ty| *ty == Type::Any).unwrap();
        set(&format!("c{anything}"), any);
        write(session, &tables[0], Verb::Insert, &values).unwrap();
    }
}

#[test]
fn all_content_is_restored_from_either_format() {
    let folder = Folder::new("rich");
    let tables = rich();
    for format in FORMATS {
        let path = folder.file(&format!("{format:?}"));
        let open = || Memory::builder().snapshot(&path).format(format).open().unwrap();
        let memory = open();
        assert!(memory.capabilities().persistent && !path.exists());
        create(&memory, &[&tables[0], &tables[1]]).unwrap();
        fill(&memory, &tables);
        memory.flush().unwrap();
        memory.flush().unwrap();
        let again = open();
        for (found, expected) in again.tables().unwrap().iter().zip(&tables) {
            assert!(found.same_as(expected), "{found:?}");
        }
        let (one, two) = (memory.session().unwrap(), again.session().unwrap());
        for table in &tables {
            // As text, since minus zero equals zero.
            let [a, b] = [&one, &two].map(|session| format!("{:?}", all(&**session, table)));
            assert_eq!(a, b);
        }
        // The rules still hold.
        let delete = write(&*two, &tables[1], Verb::Delete, &[i64::MIN.into()]);
        assert_eq!(delete.unwrap(), Outcome::Changed(1));
        let parent = tables[0].column("parent").unwrap();
        assert!(all(&*two, &tables[0]).iter().all(|row| row[parent].is_null()));
        let left = fs::read_dir(&folder.0).unwrap().count();
        assert_eq!(left, 1, "nothing is left aside");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn many_rows_are_restored_from_many_blocks() {
    let folder = Folder::new("many");
    let table = person();
    for format in FORMATS {
        let path = folder.file(&format!("{format:?}"));
        let memory = Memory::builder().snapshot(&path).format(format).open().unwrap();
        create(&memory, &[&table]).unwrap();
        let session = &*memory.session().unwrap();
        let people: Vec<_> = (1..=20_000)
            .map(|id| a_person(Some(id * 3), &id.to_string(), None, Some(id as i32 % 90)))
            .collect();
        run(session, &batch(&table, Verb::Insert, &people), OnError::Stop).1.unwrap();
        // Not committed, so not in the snapshot.
        session.control(bobak_core::TransactionControl::Begin).unwrap();
        write(session, &table, Verb::Delete, &[3.into()]).unwrap();
        memory.flush().unwrap();
        let again = Memory::builder().snapshot(&path).open().unwrap();
        assert_eq!(all(&*again.session().unwrap(), &table), people);
    }
}

fn rejected(path: &std::path::Path) -> (ErrorKind, String) {
    let before = fs::read(path).unwrap();
    let error = Memory::builder().snapshot(path).open().unwrap_err();
    assert_eq!(fs::read(path).unwrap(), before, "the file is kept");
    assert!(error.message().contains(&*path.to_string_lossy()), "{error}");
    (error.kind(), error.to_string())
}

#[test]
fn every_flipped_byte_and_every_truncation_is_found() {
    let folder = Folder::new("damage");
    let path = folder.file("snapshot");
    let table = person();
    let memory = Memory::builder().snapshot(&path).open().unwrap();
    create(&memory, &[&table]).unwrap();
    let session = memory.session().unwrap();
    for id in 1..=3 {
        write(&*session, &table, Verb::Insert, &a_person(Some(id), "name", None, None)).unwrap();
    }
    memory.flush().unwrap();
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(rejected(&path).0, ErrorKind::Corrupt, "byte {at}");
        }
        fs::write(&path, &whole[..at]).unwrap();
        assert_eq!(rejected(&path).0, ErrorKind::Corrupt, "cut at {at}");
    }
    fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
    assert_eq!(rejected(&path).0, ErrorKind::Corrupt);
}

#[test]
fn a_block_with_an_impossible_length_allocates_no_memory() {
    let folder = Folder::new("claims");
    let path = folder.file("snapshot");
    Memory::builder().snapshot(&path).open().unwrap().flush().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(16);
    // A block of 4 GiB in two bytes, with a valid checksum.
    let stored = [0x10, 0x20];
    let head = [&[1][..], &u32::MAX.to_le_bytes(), &2_u32.to_le_bytes()].concat();
    let sum = crc32fast::hash(&[&head[..], &stored].concat());
    bytes.extend([&head[..], &sum.to_le_bytes(), &stored].concat());
    fs::write(&path, &bytes).unwrap();
    let (kind, message) = rejected(&path);
    assert!(kind == ErrorKind::Corrupt && message.contains("exceeds the maximum"), "{message}");
}

#[test]
fn damaged_json_is_rejected_with_a_reason() {
    let folder = Folder::new("json");
    let path = folder.file("snapshot.json");
    let table = person();
    let memory = Memory::builder().snapshot(&path).format(SnapshotFormat::Json).open().unwrap();
    create(&memory, &[&table]).unwrap();
    let session = memory.session().unwrap();
    for id in 1..=3 {
        let email = format!("{id}@x");
        let values = a_person(Some(id), "name", Some(&email), Some(5));
        write(&*session, &table, Verb::Insert, &values).unwrap();
    }
    memory.flush().unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    for cut in 0..whole.trim_end().len() {
        fs::write(&path, &whole[..cut]).unwrap();
        assert_eq!(rejected(&path).0, ErrorKind::Corrupt);
    }
    for (old, new, reason) in [
        ("[3,\"name\",\"3@x\",5,1]", "[3,\"name\",\"2@x\",5,1]", "row 2"),
        ("[3,\"name\",\"3@x\",5,1]", "[3,\"name\",\"3@x\",-5,1]", "check"),
        ("[3,\"name\",\"3@x\",5,1]", "[3,\"name\",\"3@x\",5]", "columns"),
        ("[3,\"name\",\"3@x\",5,1]", "[3,null,\"3@x\",5,1]", "column name"),
        ("[3,\"name\",\"3@x\",5,1]", "[3,7,\"3@x\",5,1]", "expected text"),
        (",\n[3,\"name\",\"3@x\",5,1]", "", "row_count"),
        ("memory snapshot", "something else", "bobak"),
        ("\"type\": \"i32\"", "\"type\": \"i33\"", "i33"),
    ] {
        assert!(whole.contains(old), "{old} in {whole}");
        fs::write(&path, whole.replace(old, new)).unwrap();
        let (kind, message) = rejected(&path);
        assert_eq!(kind, ErrorKind::Corrupt);
        assert!(message.contains(reason), "{message}");
    }
    for (text, kind) in [
        (&b""[..], ErrorKind::Corrupt),
        (b"SQLite format 3\0", ErrorKind::Corrupt),
        (b"  {}", ErrorKind::Corrupt),
        (b"{\"bobak\": \"memory snapshot\", \"version\": 2}", ErrorKind::Unsupported),
    ] {
        fs::write(&path, text).unwrap();
        assert_eq!(rejected(&path).0, kind);
    }
}

#[test]
fn a_failed_snapshot_keeps_the_old_file() {
    let folder = Folder::new("rejected");
    let path = folder.file("snapshot");
    let open = || Memory::builder().snapshot(&path).open().unwrap();
    let memory = open();
    memory.flush().unwrap();
    create(&memory, &[&person()]).unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    assert_eq!(memory.flush().unwrap_err().kind(), ErrorKind::ReadOnly);
    assert!(open().tables().unwrap().is_empty());
    let nowhere = folder.file("no such folder").join("snapshot");
    let memory = Memory::builder().snapshot(&nowhere).open().unwrap();
    assert_eq!(memory.flush().unwrap_err().kind(), ErrorKind::Io);
    assert!(Memory::builder().snapshot(&folder.0).open().is_err());
}

#[test]
#[cfg(not(feature = "encryption"))]
fn without_encryption_an_encrypted_snapshot_is_unsupported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bobak");
    std::fs::write(&path, b"BOBAKENC\x01\0").unwrap();
    let builder = || Memory::builder().snapshot(&path);
    for builder in [builder(), builder().key_file("key")] {
        let error = builder.open().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.message().contains("feature `encryption`"), "{error}");
    }
}
