//! Files that Bobak wrote, read and written by Jackcess, UCanAccess and mdbtools.

use crate::peer::{jackcess, mdbtools, sql};
use crate::writing::{FILES, all_types, create, fill_with, insert, row, rows, table};
use crate::{NAMES, unpacked};
use bobak_access::MsAccess;
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, FieldSet, ForeignKey, OnDelete, SchemaChange, TableSchema,
    TransactionControl, Type, Value, Verb, Write,
};
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
    session.control(TransactionControl::Begin).unwrap();
    for id in 1..=count {
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        let values = twelve(id);
        session.write(&Write { table: &kinds, verb, fields, values: &values }).unwrap();
    }
    session.control(TransactionControl::Commit).unwrap();
    drop(session);
    rows(&access, &kinds)
}

#[test]
fn jackcess_copies_a_hundred_thousand_rows() {
    let folder = tempfile::tempdir().unwrap();
    for (name, copy, count) in
        [("new.mdb", "copy.mdb", 10_000), ("new.accdb", "copy.accdb", 100_000)]
    {
        let (path, copy) = (folder.path().join(name), folder.path().join(copy));
        let expected = write_twelve(&path, count);
        let args = [path.to_str().unwrap(), copy.to_str().unwrap()];
        let Some(said) = jackcess(&["check", args[0]]) else { return };
        assert!(said.contains(&format!("kinds.by_two: {count} entries")), "{said}");
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
        session.control(TransactionControl::Begin).unwrap();
        let chars: Vec<char> = (1..0x1_1000_u32)
            .filter(|c| !(0xe000..0xf900).contains(c))
            .filter_map(char::from_u32)
            .collect();
        for (id, part) in (1..).zip(chars.chunks(3)) {
            // The number makes each key another: some characters add nothing to a key.
            let (start, end) = (String::from_iter(part), String::from_iter(part.iter().rev()));
            let values = [Value::Int(id), Value::from(format!("{start}{id}{end}"))];
            let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
            session.write(&Write { table: &texts, verb, fields, values: &values }).unwrap();
        }
        session.control(TransactionControl::Commit).unwrap();
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

#[test]
fn jackcess_reads_its_files_after_changes() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let path = unpacked(name, folder.path());
        let file = path.to_str().unwrap().to_owned();
        let Some(said) = jackcess(&["relations", &file]) else { return };
        let access = MsAccess::open(&path).unwrap();
        let person = table(&access, "Person");
        let first = rows(&access, &person)[0].clone();
        let session = access.session().unwrap();
        session.control(TransactionControl::Begin).unwrap();
        for _ in 0..200 {
            let values = [&[Value::Null], &first[1..]].concat();
            let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
            session.write(&Write { table: &person, verb, fields, values: &values }).unwrap();
        }
        session.control(TransactionControl::Commit).unwrap();
        drop(session);
        let changed = TableSchema::clone(&person).into_builder();
        let changed = changed.column(ColumnSchema::new("Size", Type::I64).nullable(true));
        let changed = Arc::new(changed.index("by_size", ["Size"]).build().unwrap());
        let (column, index) = (changed.columns().len() - 1, changed.indexes().len() - 1);
        let add_column = SchemaChange::AddColumn { table: Arc::clone(&changed), column };
        let add_index = SchemaChange::AddIndex { table: changed, index };
        access.alter(&[add_column, add_index]).unwrap();
        drop(access);
        let checked = jackcess(&["check", &file]).unwrap();
        assert!(checked.contains("Person.by_size: 203 entries, 203 found"), "{checked}");
        assert!(checked.contains("Person.ByName: 203 entries, 203 found"), "{checked}");
        assert!(checked.contains("Order Line: 20 rows"), "{checked}");
        assert_eq!(jackcess(&["relations", &file]).unwrap(), said);
    }
}

/// Teams, players who have a captain and a substitute, and matches with a key of two columns.
fn league() -> Vec<Arc<TableSchema>> {
    let id = || ColumnSchema::new("id", Type::I64);
    let team = TableSchema::builder("team").column(id()).key(["id"]);
    let code = ColumnSchema::new("code", Type::Text).max_chars(8);
    let team = team.column(code).column(ColumnSchema::new("year", Type::I32));
    let team = team.unique_index("team_code", ["code", "year"]);
    let refers = |name: &'static str, to: &'static str, on_delete| {
        ColumnSchema::new(name, Type::I64).nullable(true).references(to, "id", on_delete)
    };
    let player = TableSchema::builder("player")
        .column(id())
        .column(refers("captain", "player", OnDelete::Restrict))
        .column(refers("team", "team", OnDelete::SetNull))
        .key(["id"]);
    let key = ForeignKey::new("team", ["year", "code"], OnDelete::Cascade);
    let game = TableSchema::builder("game")
        .column(ColumnSchema::new("day", Type::Date))
        .column(ColumnSchema::new("of_year", Type::I32))
        .column(ColumnSchema::new("of_code", Type::Text).max_chars(8))
        .key(["day", "of_code"])
        .given_key()
        .foreign_key(["of_year", "of_code"], key);
    [team, player, game].map(|table| Arc::new(table.build().unwrap())).to_vec()
}

#[test]
fn relationships_of_each_kind_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = folder.path().join(name);
        let access = MsAccess::open(&path).unwrap();
        let tables = league();
        create(&access, &tables).unwrap();
        let [team, player, game] = &tables[..] else { panic!("three tables") };
        for (id, code) in [(1, "a"), (2, "b")] {
            let values = [Value::Int(id), Value::from(code), Value::Int(2026)];
            insert(&access, team, &values).unwrap();
            let values = [Value::Int(id), Value::Int(1), Value::Int(id)];
            insert(&access, player, &values).unwrap();
            insert(&access, game, &[Value::Int(id), Value::Int(2026), Value::from(code)]).unwrap();
        }
        drop(access);
        let access = MsAccess::open(&path).unwrap();
        let wrong =
            insert(&access, player, &[Value::Null, Value::Int(9), Value::Null]).unwrap_err();
        assert_eq!(wrong.kind(), ErrorKind::Constraint, "{wrong}");
        let (verb, fields) = (Verb::Delete, FieldSet::EMPTY);
        access.write(&Write { table: team, verb, fields, values: &[Value::Int(2)] }).unwrap();
        assert_eq!(rows(&access, game).len(), 1);
        assert_eq!(rows(&access, player)[1][2], Value::Null);
        drop(access);
        let file = path.to_str().unwrap().to_owned();
        let Some(said) = jackcess(&["relations", &file]) else { return };
        for line in [
            "player[id] <- player[captain]\n",
            "team[id] <- player[team] null\n",
            "team[code, year] <- game[of_code, of_year] cascade\n",
        ] {
            assert!(said.contains(line), "{line} {said}");
        }
        jackcess(&["check", &file]).unwrap();
        // A table that others refer to cannot be dropped; once they are gone, it can.
        let access = MsAccess::open(&path).unwrap();
        let drop_table =
            |table: &Arc<TableSchema>| access.alter(&[SchemaChange::DropTable(Arc::clone(table))]);
        assert_eq!(drop_table(team).unwrap_err().kind(), ErrorKind::Constraint);
        [game, player, team].into_iter().try_for_each(drop_table).unwrap();
        drop(access);
        assert_eq!(jackcess(&["relations", &file]).unwrap(), "");
        assert!(MsAccess::open(&path).unwrap().tables().unwrap().is_empty());
    }
}
