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
        #[record(default = 0)]
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
    let db =
        Db::builder().record::<later::Person>().record::<renamed::Founded>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let db = Db::builder().record::<Person>().record::<renamed::Club>().open(&url).unwrap();
    assert!(db.create_missing_tables().unwrap().is_empty());
    let words: Vec<_> = db.schema_diff().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(words[0], "table person: column language is not in the record");
    db.table::<Person>().unwrap().insert(&person("ada", 36)).unwrap();
    let error = db.table::<renamed::Club>().err().unwrap();
    assert!(error.to_string().contains("founded"), "it may not be NULL: {error}");
}

mod renamed {
    use bobak::prelude::*;

    #[derive(Record)]
    #[record(table = "club")]
    pub struct Club {
        pub id: i64,
        pub name: String,
    }

    /// After the field `name` was renamed.
    #[derive(Record)]
    #[record(table = "club")]
    pub struct Renamed {
        pub id: i64,
        pub title: String,
    }

    /// With the old column's name.
    #[derive(Record)]
    #[record(table = "club")]
    pub struct Named {
        pub id: i64,
        #[record(column = "name")]
        pub title: String,
    }

    #[derive(Record)]
    #[record(table = "club")]
    pub struct Founded {
        pub id: i64,
        pub name: String,
        pub founded: Date,
    }

    #[derive(Record)]
    #[record(table = "club")]
    pub struct Versioned {
        pub id: i64,
        pub name: String,
        #[record(version)]
        pub version: i64,
    }
}

/// Runs `test` on each engine that keeps a file.
fn on_each_file(test: impl Fn(&str)) {
    for url in ["sqlite:{}/app.db", "memory:{}/app.bobak"] {
        let folder = tempfile::tempdir().unwrap();
        test(&url.replace("{}", folder.path().to_str().unwrap()));
    }
}

/// The columns of all tables.
fn columns(db: &Db) -> Vec<bobak::schema::ColumnSchema> {
    db.tables().unwrap().iter().flat_map(|table| table.columns().to_vec()).collect()
}

/// The same file, for a record type.
fn reopened<T: Record>(db: Option<Db>, url: &str) -> Db {
    if let Some(db) = db {
        db.flush().unwrap();
    }
    Db::builder().record::<T>().open(url).unwrap()
}

fn rename_a_field(url: &str) {
    let db = reopened::<renamed::Club>(None, url);
    db.create_missing_tables().unwrap();
    let club = renamed::Club { id: 0, name: "red".into() };
    db.table::<renamed::Club>().unwrap().insert(&club).unwrap();
    let db = reopened::<renamed::Renamed>(Some(db), url);
    let before = columns(&db);
    let error = db.create_missing_tables().unwrap_err();
    let place_of = (error.kind(), error.table(), error.column());
    assert_eq!(place_of, (ErrorKind::Schema, Some("club"), Some("name")), "{error}");
    assert!(error.message().contains("if a field was renamed"), "{error}");
    assert_eq!(columns(&db), before);
    let db = reopened::<renamed::Named>(Some(db), url);
    assert!(db.create_missing_tables().unwrap().is_empty());
    assert_eq!(db.table::<renamed::Named>().unwrap().require(1).unwrap().title, "red");
}

#[test]
fn a_renamed_field_is_rejected_before_anything_changes() {
    on_each_file(rename_a_field);
}

fn require_a_column(url: &str) {
    let db = reopened::<renamed::Club>(None, url);
    db.create_missing_tables().unwrap();
    let clubs = db.table::<renamed::Club>().unwrap();
    let id = clubs.insert(&renamed::Club { id: 0, name: "red".into() }).unwrap();
    drop(clubs);
    let later = reopened::<renamed::Founded>(Some(db), url);
    let before = columns(&later);
    let error = later.create_missing_tables().unwrap_err();
    let place_of = (error.kind(), error.table(), error.column());
    assert_eq!(place_of, (ErrorKind::Schema, Some("club"), Some("founded")), "{error}");
    assert!(error.message().contains("add a default, or make the field an Option"), "{error}");
    assert_eq!(columns(&later), before);
    later.dynamic("club").unwrap().delete((id,)).unwrap();
    assert_eq!(later.create_missing_tables().unwrap(), ["added column club.founded"]);
    assert_eq!(later.table::<renamed::Founded>().unwrap().count(Query::all()).unwrap(), 0);
}

#[test]
fn a_required_column_needs_a_default_if_there_are_rows() {
    on_each_file(require_a_column);
}

#[test]
fn columns_that_would_be_invented_are_rejected_on_servers() {
    let test = |url: &str| {
        for test in [rename_a_field, require_a_column] {
            test(url);
            Db::open(url).unwrap().execute("DROP TABLE club", ()).unwrap();
        }
    };
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(test);
    crate::engines::on_firebird(test);
}

#[test]
fn a_version_may_be_added_to_rows() {
    on_each_file(|url| {
        let db = reopened::<renamed::Club>(None, url);
        db.create_missing_tables().unwrap();
        let clubs = db.table::<renamed::Club>().unwrap();
        clubs.insert(&renamed::Club { id: 0, name: "red".into() }).unwrap();
        drop(clubs);
        let later = reopened::<renamed::Versioned>(Some(db), url);
        assert_eq!(later.create_missing_tables().unwrap(), ["added column club.version"]);
        let versioned = later.table::<renamed::Versioned>().unwrap();
        let mut club = versioned.require(1).unwrap();
        club.name = "pink".into();
        versioned.update(&mut club).unwrap();
    });
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
