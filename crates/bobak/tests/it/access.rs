//! An Access file through the facade: records, a join with SQLite, and a copy.

use bobak::copy::CopyOptions;
use bobak::prelude::*;
use std::io::Read;

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "Person")]
struct Person {
    #[record(column = "ID")]
    id: i64,
    #[record(column = "Name")]
    name: Option<String>,
    #[record(column = "Amount")]
    amount: Option<Currency>,
    #[record(column = "Active")]
    active: bool,
}

fn url(folder: &std::path::Path) -> String {
    let packed = "../engines/access/tests/files/v2019.accdb.gz";
    let packed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(packed);
    let mut bytes = Vec::new();
    let packed = std::fs::File::open(packed).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let path = folder.join("v2019.accdb");
    std::fs::write(&path, bytes).unwrap();
    format!("access:{}", path.display())
}

#[test]
fn records_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let (id, found) = {
        let db = Db::open(&url(folder.path())).unwrap();
        let people = db.table::<Person>().unwrap();
        let found = people.list(Person::AMOUNT.gt(Currency::ZERO)).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name.as_deref(), Some("Ada Lovelace"));
        assert_eq!(people.insert(&found[0]).unwrap_err().kind(), ErrorKind::Duplicate);
        (people.insert(&Person { id: 0, ..found[0].clone() }).unwrap(), found)
    };
    let path = folder.path().join("v2019.accdb");
    let db = Db::open(&format!("access:{}", path.display())).unwrap();
    assert_eq!(db.table::<Person>().unwrap().get(id).unwrap().unwrap().name, found[0].name);
}

#[test]
fn a_copy_to_a_new_file_and_back_is_equal() {
    let folder = tempfile::tempdir().unwrap();
    let options = CopyOptions::new().checksum(true);
    let copy = |from: &Db, to: &Db| {
        let reports = from.copy_to(to, &[], &options, |_| {}).unwrap();
        assert_eq!(reports.iter().map(|report| report.copied).sum::<u64>(), 26);
    };
    let first = Db::open("sqlite::memory:").unwrap();
    copy(&Db::open(&url(folder.path())).unwrap(), &first);
    for name in ["new.accdb", "new.mdb"] {
        let new = format!("access:{}", folder.path().join(name).display());
        copy(&first, &Db::open(&new).unwrap());
        let second = Db::open("sqlite::memory:").unwrap();
        copy(&Db::open(&new).unwrap(), &second);
        let lines = "SELECT count(*) FROM \"Order Line\" JOIN \"Person\" ON \"Person\" = \"ID\"";
        assert_eq!(second.sql::<(i64,)>(lines, ()).unwrap(), [(20,)]);
        assert!(second.table::<Person>().unwrap().delete(1).unwrap());
        assert_eq!(second.sql::<(i64,)>(lines, ()).unwrap(), [(13,)]);
    }
}

#[test]
fn tables_are_copied_with_their_keys_and_relationships() {
    let folder = tempfile::tempdir().unwrap();
    let from = Db::open(&url(folder.path())).unwrap();
    let to = Db::open("sqlite::memory:").unwrap();
    let options = CopyOptions::new().checksum(true);
    let reports = from.copy_to(&to, &[], &options, |_| {}).unwrap();
    assert_eq!(reports.iter().map(|report| report.copied).sum::<u64>(), 26);
    let lines = "SELECT count(*) FROM \"Order Line\" JOIN \"Person\" ON \"Person\" = \"ID\"";
    assert_eq!(to.sql::<(i64,)>(lines, ()).unwrap(), [(20,)]);
    assert!(to.table::<Person>().unwrap().delete(1).unwrap());
    assert_eq!(to.sql::<(i64,)>(lines, ()).unwrap(), [(13,)]);
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Visit {
    id: i64,
    person: i64,
}

#[test]
fn a_join_with_another_engine_finds_rows() {
    let folder = tempfile::tempdir().unwrap();
    let builder = Db::builder().attach("access", &url(folder.path())).record_on::<Person>("access");
    let db = builder.record::<Visit>().open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    for person in [1, 1, 2, 9] {
        db.table().unwrap().insert(&Visit { id: 0, person }).unwrap();
    }
    let sql = "SELECT p.\"Name\", count(*) FROM visit v JOIN \"Person\" p ON p.\"ID\" = v.person GROUP BY 1 ORDER BY 2";
    let found = db.sql::<(String, i64)>(sql, ()).unwrap();
    assert_eq!(found, [("Gr\u{fc}\u{df}e".to_owned(), 1), ("Ada Lovelace".to_owned(), 2)]);
}
