//! Records that refer to others of their own table.

use crate::engines::on_each;
use bobak::batch::OnError;
use bobak::prelude::*;
use bobak::relation::{NestedRecord, ToMany};

#[derive(Record, Debug, Clone, PartialEq)]
#[record(foreign_key(shop, parent, references = Self(shop, number)))]
struct Branch {
    #[record(key)]
    shop: i64,
    #[record(key)]
    number: i64,
    parent: Option<i64>,
    #[record(references = Trunk, index)]
    trunk_id: i64,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Trunk {
    #[record(key = "given")]
    id: i64,
}

impl Trunk {
    const BRANCHES: ToMany<Trunk, Branch> = Branch::TRUNK.inverse();
}

/// One that refers to a unique field.
#[derive(Record, Debug, Clone, PartialEq)]
struct Word {
    #[record(key = "given")]
    id: i64,
    #[record(references = "word(code)")]
    parent: Option<i64>,
    #[record(unique)]
    code: i64,
}

/// One that refers to a unique index.
#[derive(Record, Debug, Clone, PartialEq)]
#[record(index(a, b, unique), foreign_key(a, c, references = Self(a, b)))]
struct Pair {
    #[record(key = "given")]
    id: i64,
    a: i64,
    b: i64,
    c: Option<i64>,
}

fn open(url: &str) -> Db {
    let builder = Db::builder().record::<Trunk>().record::<Branch>().record::<Word>();
    let db = builder.record::<Pair>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
fn on_all(test: impl Fn(&str)) {
    on_each(|place| test(&place.url));
    crate::engines::on_servers(test);
}

#[cfg(not(all(feature = "mysql", feature = "postgres")))]
fn on_all(test: impl Fn(&str)) {
    on_each(|place| test(&place.url));
}

const fn branch(number: i64, parent: Option<i64>) -> Branch {
    Branch { shop: 1, number, parent, trunk_id: 1 }
}

#[test]
fn a_row_of_a_batch_refers_to_earlier_rows_only() {
    on_all(|url| {
        let db = open(url);
        db.table().unwrap().insert(&Trunk { id: 1 }).unwrap();
        let branches = db.table::<Branch>().unwrap();
        let rows = [branch(1, Some(2)), branch(2, None), branch(3, Some(2))];
        let insert = |on_error: OnError| {
            let mut batch = db.batch(BatchOptions::new().on_error(on_error));
            rows.iter().try_for_each(|row| batch.insert(row))?;
            batch.finish().map(|report| (report.inserted, report.failed))
        };
        let error = insert(OnError::Stop).unwrap_err();
        assert_eq!((error.kind(), error.row()), (ErrorKind::Constraint, Some(0)), "{url} {error}");
        assert_eq!(insert(OnError::Continue).unwrap(), (2, 1), "{url}");
        branches.delete_where(Branch::PARENT.is_not_null()).unwrap();
        branches.delete_all().unwrap();
        let trunk = NestedRecord::new(Trunk { id: 2 }).with(Trunk::BRANCHES, rows);
        let error = db.table::<Trunk>().unwrap().insert_nested(trunk).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{url} {error}");
    });
}

#[test]
fn a_record_refers_to_unique_fields_of_its_own() {
    on_all(|url| {
        let db = open(url);
        let (words, pairs) = (db.table::<Word>().unwrap(), db.table::<Pair>().unwrap());
        words.insert(&Word { id: 1, parent: None, code: 7 }).unwrap();
        words.insert(&Word { id: 2, parent: Some(7), code: 8 }).unwrap();
        let error = words.insert(&Word { id: 3, parent: Some(9), code: 10 }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{url} {error}");
        pairs.insert(&Pair { id: 1, a: 1, b: 1, c: None }).unwrap();
        pairs.insert(&Pair { id: 2, a: 1, b: 2, c: Some(1) }).unwrap();
        let error = pairs.insert(&Pair { id: 3, a: 2, b: 2, c: Some(1) }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{url} {error}");
        assert_eq!(db.schema_diff().unwrap(), [], "{url}");
    });
}

/// Rows that refer to rows of the same table, and belong to one of another.
#[derive(Record, Debug, Clone, PartialEq)]
struct Folder {
    #[record(key = "given")]
    id: i64,
    #[record(references = Trunk, on_delete = "cascade")]
    trunk_id: i64,
    #[record(references = Self)]
    parent: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Tag {
    #[record(key = "given")]
    id: i64,
    #[record(references = Trunk)]
    trunk_id: i64,
}

/// Deletes of several rows are checked at their end, whatever the order of the rows.
#[test]
fn rows_that_refer_to_each_other_are_deleted_by_one_statement() {
    let check = |url: &str| {
        let builder = Db::builder().record::<Trunk>().record::<Folder>().record::<Tag>();
        let db = builder.open(url).unwrap();
        db.create_missing_tables().unwrap();
        let (trunks, folders) = (db.table::<Trunk>().unwrap(), db.table::<Folder>().unwrap());
        for parents in [[None, Some(1)], [Some(2), None], [Some(1), Some(1)], [Some(2), Some(2)]] {
            let fill = || {
                trunks.upsert(&Trunk { id: 1 }).unwrap();
                let rows = [1, 2].map(|id| Folder { id, trunk_id: 1, parent: None });
                rows.iter().for_each(|row| assert_eq!(folders.insert(row).unwrap(), row.id));
                for (id, parent) in [1, 2].into_iter().zip(parents) {
                    folders.set(id, [Folder::PARENT.set(parent)]).unwrap();
                }
            };
            fill();
            assert_eq!(folders.delete_all().unwrap(), 2, "{url} {parents:?}");
            fill();
            assert_eq!(folders.delete_where(Folder::ID.gt(0)).unwrap(), 2, "{url} {parents:?}");
            fill();
            assert!(trunks.delete(1).unwrap(), "{url} {parents:?}");
            assert_eq!(folders.count(Query::all()).unwrap(), 0, "{url} {parents:?}");
        }
        // What is still referred to stays.
        trunks.insert(&Trunk { id: 1 }).unwrap();
        folders.insert(&Folder { id: 1, trunk_id: 1, parent: None }).unwrap();
        folders.insert(&Folder { id: 2, trunk_id: 1, parent: Some(1) }).unwrap();
        let error = folders.delete(1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{url} {error}");
        assert_eq!((error.table(), error.column()), (Some("folder"), Some("parent")), "{url}");
        db.table().unwrap().insert(&Tag { id: 1, trunk_id: 1 }).unwrap();
        let error = trunks.delete(1).unwrap_err();
        assert_eq!((error.table(), error.column()), (Some("tag"), Some("trunk_id")), "{url}");
        let error = trunks.insert_or_replace(&Trunk { id: 1 }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{url} {error}");
        assert_eq!(folders.count(Query::all()).unwrap(), 2, "{url}");
        assert_eq!(db.schema_diff().unwrap(), [], "{url}");
    };
    on_each(|place| check(&place.url));
    #[cfg(feature = "postgres")]
    crate::engines::on_postgres(check);
}

/// A table that an earlier version created, whose foreign keys SQLite checks after each row.
#[test]
fn a_table_with_restrict_is_no_difference() {
    let db = Db::builder().record::<Trunk>().record::<Tag>().open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    let transaction = db.begin().unwrap();
    transaction.execute("DROP TABLE tag", ()).unwrap();
    let sql = "CREATE TABLE tag (id INTEGER PRIMARY KEY NOT NULL, trunk_id INTEGER NOT NULL \
               REFERENCES trunk (id) ON DELETE RESTRICT) STRICT";
    transaction.execute(sql, ()).unwrap();
    transaction.commit().unwrap();
    assert!(!db.schema_diff().unwrap().iter().any(|found| found.to_string().contains("foreign")));
}
