//! Files that Bobak wrote, read and written by Jackcess, UCanAccess and mdbtools.

use crate::peer::{jackcess, mdbtools, sql};
use crate::writing::{FILES, all_types, create, fill_with, insert, row, rows, table};
use bobak_access::MsAccess;
use bobak_core::{ColumnSchema, Engine, OnDelete, TableSchema, Type, Value};
use std::path::Path;
use std::sync::Arc;

/// The table of twelve types that Jackcess copies.
fn twelve_types() -> Arc<TableSchema> {
    let mut builder = TableSchema::builder("kinds");
    let nullable = |name: &'static str, ty| ColumnSchema::new(name, ty).nullable(true);
    builder = builder
        .column(ColumnSchema::new("id", Type::I64))
        .column(nullable("tiny", Type::U8))
        .column(nullable("small", Type::I16))
        .column(nullable("number", Type::I32))
        .column(nullable("big", Type::I64))
        .column(nullable("single", Type::F32))
        .column(nullable("double", Type::F64))
        .column(nullable("price", Type::Currency))
        .column(nullable("moment", Type::DateTime))
        .column(nullable("name", Type::Text).max_chars(60))
        .column(nullable("long", Type::Text))
        .column(nullable("picture", Type::Bytes))
        .column(nullable("uuid", Type::Uuid))
        .column(ColumnSchema::new("sure", Type::Bool));
    let builder =
        builder.key(["id"]).index("by_name", ["name"]).index("by_two", ["moment", "price"]);
    Arc::new(builder.build().unwrap())
}

fn twelve(id: i64) -> Vec<Value<'static>> {
    let all = row(id);
    let pick = [0, 0, 3, 4, 5, 7, 8, 9, 15, 10, 17, 18, 12, 20];
    let mut values: Vec<Value<'static>> = pick.iter().map(|at| all[*at].clone()).collect();
    values[1] = Value::Int(id % 256);
    values[8] = Value::Int((1_700_000_000_123 + id * 1_000_003) * 1_000);
    values[10] = Value::from("x\u{e9}\u{4e2d}".repeat((id % 5) as usize * 20));
    values[11] = Value::Bytes((0..id % 7 * 30).map(|i| (i * id) as u8).collect::<Vec<_>>().into());
    if id % 13 == 0 {
        values[1..13].fill(Value::Null);
    }
    values
}

fn write_twelve(path: &Path, count: i64) -> Vec<Vec<Value<'static>>> {
    let access = MsAccess::open(path).unwrap();
    let kinds = twelve_types();
    create(&access, &[Arc::clone(&kinds)]).unwrap();
    let session = access.session().unwrap();
    session.control(bobak_core::TransactionControl::Begin).unwrap();
    for id in 1..=count {
        let (verb, fields) = (bobak_core::Verb::Insert, bobak_core::FieldSet::EMPTY);
        let values = twelve(id);
        session.write(&bobak_core::Write { table: &kinds, verb, fields, values: &values }).unwrap();
    }
    session.control(bobak_core::TransactionControl::Commit).unwrap();
    drop(session);
    rows(&access, &kinds)
}

#[test]
fn jackcess_copies_a_hundred_thousand_rows() {
    let folder = tempfile::tempdir().unwrap();
    for (name, copy) in FILES.into_iter().zip(["copy.mdb", "copy.accdb"]) {
        let (path, copy) = (folder.path().join(name), folder.path().join(copy));
        let expected = write_twelve(&path, 100_000);
        let args = [path.to_str().unwrap(), copy.to_str().unwrap()];
        let Some(said) = jackcess(&["check", args[0]]) else { return };
        assert!(said.contains("kinds.by_two: 100000 entries"), "{said}");
        jackcess(&["copy", args[0], args[1]]).unwrap();
        let access = MsAccess::open(&copy).unwrap();
        let found = rows(&access, &table(&access, "kinds"));
        let differences = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
        let first = found.iter().zip(&expected).find(|(a, b)| a != b);
        assert_eq!((found.len(), differences), (expected.len(), 0), "{first:?}");
    }
}

#[test]
fn jackcess_finds_each_key_of_each_type() {
    let folder = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = folder.path().join(name);
        let access = MsAccess::open(&path).unwrap();
        let kinds = all_types();
        create(&access, &[Arc::clone(&kinds)]).unwrap();
        fill_with(&access, &kinds, 2_000, |values| {
            // Jackcess looks times up to the millisecond.
            for at in [14, 15, 16] {
                if let Value::Int(micros) = &mut values[at] {
                    *micros -= micros.rem_euclid(1_000);
                }
            }
        });
        drop(access);
        let Some(said) = jackcess(&["check", path.to_str().unwrap()]) else { return };
        assert!(said.contains("kinds.by_instant: 2000 entries, 2000 found"), "{said}");
    }
}

#[test]
fn jackcess_finds_texts_of_all_scripts() {
    let folder = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = folder.path().join(name);
        let access = MsAccess::open(&path).unwrap();
        let builder =
            TableSchema::builder("texts").column(ColumnSchema::new("id", Type::I64)).key(["id"]);
        let builder =
            builder.column(ColumnSchema::new("text", Type::Text)).index("by_text", ["text"]);
        let texts = Arc::new(builder.build().unwrap());
        create(&access, &[Arc::clone(&texts)]).unwrap();
        let session = access.session().unwrap();
        session.control(bobak_core::TransactionControl::Begin).unwrap();
        let chars: Vec<char> = (1..0x1_1000_u32)
            .filter(|c| !(0xe000..0xf900).contains(c))
            .filter_map(char::from_u32)
            .collect();
        for (id, part) in (1..).zip(chars.chunks(3)) {
            // The number makes each key another: some characters add nothing to a key.
            let (start, end) = (String::from_iter(part), String::from_iter(part.iter().rev()));
            let values = [Value::Int(id), Value::from(format!("{start}{id}{end}"))];
            let (verb, fields) = (bobak_core::Verb::Insert, bobak_core::FieldSet::EMPTY);
            session
                .write(&bobak_core::Write { table: &texts, verb, fields, values: &values })
                .unwrap();
        }
        session.control(bobak_core::TransactionControl::Commit).unwrap();
        drop(session);
        drop(access);
        let Some(said) = jackcess(&["check", path.to_str().unwrap()]) else { return };
        assert!(said.contains("entries, "), "{said}");
    }
}

/// Authors and their books: two tables with a relationship.
fn library(path: &Path) {
    let access = MsAccess::open(path).unwrap();
    let author = TableSchema::builder("Author")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("name", Type::Text).max_chars(80).unique())
        .key(["id"]);
    let book = TableSchema::builder("Book")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("title", Type::Text).max_chars(200))
        .column(ColumnSchema::new("author_id", Type::I64).nullable(true).references(
            "Author",
            "id",
            OnDelete::Cascade,
        ))
        .key(["id"])
        .index("by_author", ["author_id"]);
    let (author, book) = (Arc::new(author.build().unwrap()), Arc::new(book.build().unwrap()));
    create(&access, &[Arc::clone(&author), Arc::clone(&book)]).unwrap();
    for (id, name) in (1..).zip(["Ada", "Bob", "C\u{e9}line"]) {
        insert(&access, &author, &[Value::Int(id), Value::from(name)]).unwrap();
    }
    for id in 1..=30 {
        let values = [Value::Int(id), Value::from(format!("Title {id}")), Value::Int(id % 3 + 1)];
        insert(&access, &book, &values).unwrap();
    }
}

#[test]
fn jackcess_sees_relationships_and_adds_rows() {
    let folder = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = folder.path().join(name);
        library(&path);
        let file = path.to_str().unwrap();
        let Some(said) = jackcess(&["relations", file]) else { return };
        assert!(said.contains("Author[id] <- Book[author_id] cascade"), "{said}");
        assert!(said.contains("Book.AuthorBook -> Author"), "{said}");
        assert!(said.contains("Author..rB -> Book"), "{said}");
        let said = jackcess(&["add", file, "Author", "New "]).unwrap();
        assert!(said.contains("Author: 303 rows"), "{said}");
        jackcess(&["add", file, "Book", "More "]).unwrap();
        let access = MsAccess::open(&path).unwrap();
        let book = table(&access, "Book");
        assert_eq!(rows(&access, &book).len(), 330);
        assert_eq!(book.columns()[2].reference.as_ref().unwrap().on_delete, OnDelete::Cascade);
        assert!(!book.columns()[1].nullable, "Bobak's description still fits");
        let values = [Value::Null, Value::from("Last"), Value::Int(200)];
        insert(&access, &book, &values).unwrap();
        drop(access);
        let said = jackcess(&["check", file]).unwrap();
        assert!(said.contains("Book: 331 rows"), "{said}");
    }
}

#[test]
fn ucanaccess_joins_tables() {
    let folder = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = folder.path().join(name);
        library(&path);
        let query = "SELECT Author.name, COUNT(*) FROM Author INNER JOIN Book ON Book.author_id = Author.id \
                     GROUP BY Author.name ORDER BY Author.name";
        let Some(rows) = sql(&path, query) else { return };
        assert_eq!(rows, ["Ada|10", "Bob|10", "C\u{e9}line|10"]);
    }
}

#[test]
fn mdbtools_reads_tables() {
    let folder = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = folder.path().join(name);
        library(&path);
        let file = path.to_str().unwrap();
        let Some(schema) = mdbtools("mdb-schema", &[file]) else { return };
        assert!(schema.contains("[author_id]"), "{schema}");
        let books = mdbtools("mdb-export", &[file, "Book"]).unwrap();
        assert_eq!(books.lines().count(), 31, "{books}");
        assert!(books.contains("30,\"Title 30\",1"), "{books}");
    }
}
