//! Creating, extending and comparing tables.

use crate::engines::{Person, on_each, person};
use bobak::prelude::*;

#[test]
fn missing_tables_are_created_once() {
    on_each(|place| {
        let db = Db::builder().record::<Person>().open(&place.url).unwrap();
        let differences = db.schema_diff().unwrap();
        assert_eq!(differences[0].to_string(), "table person is missing");
        assert_eq!(db.create_missing_tables().unwrap(), ["created table person"]);
        assert!(db.create_missing_tables().unwrap().is_empty());
        assert_eq!(db.schema_diff().unwrap(), []);
    });
}

mod later {
    use bobak::prelude::*;

    /// The person of `engines`, some months later.
    #[derive(Record, Debug, PartialEq)]
    #[record(table = "person", index(name, age))]
    pub struct Person {
        pub id: i64,
        #[record(max = 40, index)]
        pub name: String,
        #[record(unique, collation = "nocase")]
        pub email: Option<String>,
        #[record(index)]
        pub age: i32,
        #[record(check = "balance >= 0")]
        pub balance: Currency,
        #[record(default = "en")]
        pub language: String,
        pub visits: i64,
        pub note: Option<String>,
    }
}

#[test]
fn columns_and_indexes_are_added_and_nothing_is_lost() {
    for url in ["sqlite:{}/app.db", "memory:{}/app.bobak"] {
        let folder = tempfile::tempdir().unwrap();
        let url = url.replace("{}", folder.path().to_str().unwrap());
        {
            let db = Db::builder().record::<Person>().open(&url).unwrap();
            db.create_missing_tables().unwrap();
            db.table::<Person>().unwrap().insert(&person("ada", 36)).unwrap();
            db.flush().unwrap();
        }
        let db = Db::builder().record::<later::Person>().open(&url).unwrap();
        let error = db.table::<later::Person>().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert!(error.to_string().contains("column language is missing"), "{error}");
        let words =
            |db: &Db| db.schema_diff().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            words(&db),
            [
                "table person: column language is missing",
                "table person: column visits is missing",
                "table person: column note is missing",
                "table person: index person_name is missing",
                "table person: index person_name_age is missing",
            ]
        );
        let done = db.create_missing_tables().unwrap();
        assert_eq!(done[0], "added column person.language");
        assert_eq!(done.len(), 5);
        assert!(db.create_missing_tables().unwrap().is_empty(), "a second run changes nothing");
        assert_eq!(words(&db), [""; 0]);
        let ada = db.table::<later::Person>().unwrap().require(1).unwrap();
        assert_eq!((ada.language.as_str(), ada.visits, ada.note), ("en", 0, None));
        assert_eq!(ada.name, "ada");
    }
}

#[test]
fn extra_columns_and_tables_are_never_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("app.db").display());
    let db = Db::builder().record::<later::Person>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let db = Db::builder().record::<Person>().open(&url).unwrap();
    assert!(db.create_missing_tables().unwrap().is_empty());
    let words: Vec<_> = db.schema_diff().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(words[0], "table person: column language is not in the record");
    let error = db.table::<Person>().err().unwrap();
    assert!(error.to_string().contains("visits"), "it may not be NULL: {error}");
}

#[test]
fn differing_types_and_keys_are_described() {
    #[derive(Record)]
    #[record(table = "person")]
    struct Changed {
        #[record(key)]
        email: String,
        #[record(max = 20)]
        name: Option<String>,
        age: String,
    }
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("app.db").display());
    Db::builder().record::<Person>().open(&url).unwrap().create_missing_tables().unwrap();
    let db = Db::builder().record::<Changed>().open(&url).unwrap();
    let words: Vec<_> = db.schema_diff().unwrap().iter().map(ToString::to_string).collect();
    for expected in [
        "table person: column email may not be NULL in the record, may in the table",
        "table person: column name has the limit of characters 20 in the record, 40 in the table",
        "table person: column age is text in the record, i32 in the table",
        "table person: the key is email in the record, id in the table",
    ] {
        assert!(words.iter().any(|word| word == expected), "'{expected}' is not in {words:#?}");
    }
    assert_eq!(db.table::<Changed>().err().unwrap().kind(), ErrorKind::Schema);
    let _ = |c: Changed| (c.email, c.name, c.age);
}
