//! Encrypted fields: what the database stores, what can be asked, and what wrong keys do.

use crate::engines::{Place, on_each};
use bobak::Shape;
use bobak::backup::BackupOptions;
use bobak::changes::TrackOptions;
use bobak::copy::CopyOptions;
use bobak::engine::Condition;
use bobak::field_encryption::FieldKeys;
use bobak::prelude::*;
use bobak::query::{Filter, PageRequest};
use bobak::query::{exists, from};
use bobak::relation::ToOne;
use bobak::schema::{ColumnSchema, TableSchema};
use bobak::types::Json;

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "secret_patient")]
struct Patient {
    id: Uuid,
    name: String,
    #[record(encrypted(searchable), unique, trim, lowercase)]
    email: Option<String>,
    #[record(encrypted(searchable), index)]
    number: i64,
    #[record(encrypted, max = 40)]
    diagnosis: String,
    #[record(encrypted)]
    scan: Option<Vec<u8>>,
    #[record(encrypted)]
    weight: Option<f64>,
    #[record(encrypted)]
    notes: Json<Vec<String>>,
    #[record(version)]
    version: i64,
}

/// A record whose keys the engine makes.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "secret_visit")]
struct Visit {
    id: i64,
    #[record(index)]
    patient: Uuid,
    #[record(encrypted)]
    reason: String,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Patient)]
struct Diagnosis {
    name: String,
    diagnosis: String,
}

impl Visit {
    const OF: ToOne<Visit, Patient> = Visit::PATIENT.refers_to();
}

const ONE: [u8; 32] = [1; 32];
const TWO: [u8; 32] = [2; 32];

fn builder(keys: FieldKeys) -> bobak::DbBuilder {
    Db::builder().record::<Patient>().record::<Visit>().field_keys(keys)
}

fn patient(number: i64) -> Patient {
    Patient {
        id: Uuid::from_u128(number as u128 + 1),
        name: format!("patient {number}"),
        email: Some(format!("Patient{number}@Example.org ")),
        number,
        diagnosis: "hypochondria".into(),
        scan: Some(b"hypochondria".to_vec()),
        weight: Some(61.5),
        notes: Json(vec!["hypochondria".into()]),
        version: 0,
    }
}

/// As a patient is stored.
fn stored(number: i64) -> Patient {
    Patient { email: Some(format!("patient{number}@example.org")), ..patient(number) }
}

fn on_each_engine(test: impl Fn(&Db)) {
    on_each(|place| test(&place.open(builder(FieldKeys::new(7, ONE)))));
    let folder = tempfile::tempdir().unwrap();
    test(&open(&format!("kv:{}", folder.path().join("app.kv").display())));
    crate::engines::on_bobak_server(bobak::engine::memory::Memory::new(), |url| test(&open(url)));
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(|url| test(&open(url)));
}

fn open(url: &str) -> Db {
    let db = builder(FieldKeys::new(7, ONE)).open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

#[test]
fn every_way_to_write_and_read_passes_plain_values() {
    on_each_engine(|db| {
        assert!(db.create_missing_tables().unwrap().is_empty());
        assert!(db.schema_diff().unwrap().is_empty());
        let patients = db.table::<Patient>().unwrap();
        patients.insert(&patient(1)).unwrap();
        let mut batch = db.batch(BatchOptions::default());
        for number in 2..=9 {
            batch.insert(&patient(number)).unwrap();
        }
        batch.finish().unwrap();
        let all = patients.list(Query::all()).unwrap();
        assert_eq!(all, (1..=9).map(stored).collect::<Vec<_>>());
        assert_eq!(patients.require(stored(3).id).unwrap(), stored(3));
        let streamed = patients.iter(Query::all()).unwrap().collect::<bobak::Result<Vec<_>>>();
        assert_eq!(streamed.unwrap(), all);
        let page = patients.page::<Diagnosis>(Query::all(), &(), PageRequest::size(2)).unwrap();
        let wanted = (1..=2)
            .map(|n| Diagnosis { name: format!("patient {n}"), diagnosis: "hypochondria".into() });
        assert_eq!(page.items, wanted.collect::<Vec<_>>());
        let parts = patients.select(Query::all().limit(1), (Patient::DIAGNOSIS, Patient::NUMBER));
        assert_eq!(parts.unwrap(), [("hypochondria".to_owned(), 1)]);

        updates(db);
        dynamic_rows(db);
        relations(db);
    });
}

fn updates(db: &Db) {
    assignments(db);
    upserts(db);
}

fn assignments(db: &Db) {
    let patients = db.table::<Patient>().unwrap();
    let mut one = patients.require(stored(1).id).unwrap();
    one.diagnosis = "a cold".into();
    patients.update(&mut one).unwrap();
    assert_eq!(patients.require(one.id).unwrap(), one);
    patients.set(one.id, [Patient::DIAGNOSIS.set("well"), Patient::SCAN.set(None)]).unwrap();
    let found = patients.require(one.id).unwrap();
    assert_eq!((found.diagnosis.as_str(), found.scan), ("well", None));
    let changed = patients.set_where(Patient::NUMBER.eq(2), [Patient::DIAGNOSIS.set("ill")]);
    assert_eq!(changed.unwrap(), 1);
    assert_eq!(patients.require(stored(2).id).unwrap().diagnosis, "ill");
    assert_eq!(patients.delete_where(Patient::NUMBER.eq(9)).unwrap(), 1);
    let error = patients.insert(&Patient { diagnosis: "x".repeat(41), ..patient(9) }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLong);
}

fn upserts(db: &Db) {
    let patients = db.table::<Patient>().unwrap();
    let mut three = Patient { name: "three".into(), ..patient(3) };
    patients.upsert(&mut three).unwrap();
    assert_eq!(patients.require(three.id).unwrap().name, "three");
    // By a unique column, whose row keeps its key: values are bound to that.
    let mut other = Patient { id: Uuid::from_u128(99), diagnosis: "new".into(), ..patient(4) };
    patients.upsert_on(Patient::EMAIL, &mut other).unwrap();
    assert_eq!(other.id, stored(4).id);
    assert_eq!(patients.require(stored(4).id).unwrap().diagnosis, "new");
    let error = patients.insert(&Patient { id: Uuid::from_u128(98), ..patient(5) }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate);
}

fn dynamic_rows(db: &Db) {
    let patients = db.dynamic("secret_patient").unwrap();
    let row = patients.get([Value::from(stored(5).id.as_bytes().to_vec())]).unwrap().unwrap();
    assert_eq!(row.get::<String>("diagnosis").unwrap(), "hypochondria");
    assert_eq!(row.get::<i64>("number").unwrap(), 5);
}

fn relations(db: &Db) {
    let visits = db.table::<Visit>().unwrap();
    for number in 5..=6 {
        let patient = stored(number).id;
        visits.insert(&Visit { id: 0, patient, reason: format!("visit of {number}") }).unwrap();
    }
    let found = visits.list(Visit::OF.has(Patient::EMAIL.eq("patient6@example.org")));
    assert_eq!(found.unwrap()[0].reason, "visit of 6");
    let others = || Visit::OF.has(Patient::EMAIL.ne("patient6@example.org"));
    assert_eq!(visits.list(others()).unwrap()[0].reason, "visit of 5");
    assert_eq!(visits.list(!others()).unwrap()[0].reason, "visit of 6");
    let joined = Query::<Visit>::all().join(Visit::OF);
    let joined = db.list(&joined).unwrap();
    assert_eq!(joined[0].0.reason, "visit of 5");
    assert_eq!(joined[0].1.diagnosis, "hypochondria");
    let own = Query::filter(Patient::EMAIL.eq("patient6@example.org")).subquery();
    let own = own.and(Patient::ID.into_expr().eq(Visit::PATIENT));
    let visits = db.list(&from::<Visit>().and(exists(own))).unwrap();
    assert_eq!(visits[0].reason, "visit of 6");
    assert_eq!(visits.len(), 1);
}

#[test]
fn searchable_fields_are_found_by_equality_and_nothing_else_is_compared() {
    on_each_engine(|db| {
        let patients = db.table::<Patient>().unwrap();
        for number in 1..=3 {
            patients.insert(&patient(number)).unwrap();
        }
        patients.insert(&Patient { email: None, ..patient(4) }).unwrap();
        let numbers = |filter| {
            let found = patients.list(filter).unwrap();
            found.into_iter().map(|patient| patient.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(Patient::EMAIL.eq("patient2@example.org")), [2]);
        assert_eq!(numbers(Patient::EMAIL.eq("patient2@example.org").not()), [1, 3]);
        assert_eq!(numbers(Patient::NUMBER.is_in([1, 3, 8])), [1, 3]);
        assert_eq!(numbers(Patient::EMAIL.is_null()), [4]);
        assert_eq!(numbers(Patient::SCAN.is_not_null()), [1, 2, 3, 4]);

        let dynamic = db.dynamic("secret_patient").unwrap();
        for filter in [
            "number > 1",
            "email LIKE 'p%'",
            "email = name",
            "diagnosis = 'hypochondria'",
            "weight < 70.0",
            "notes = '[]'",
        ] {
            let filter_of = Condition::parse(filter, dynamic.schema()).unwrap();
            let error = dynamic.list(Filter::new(filter_of)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{filter}: {error}");
            assert!(error.message().contains("the column is encrypted"), "{error}");
            assert!(error.column().is_some(), "{filter}");
        }
    });
}

#[test]
fn neither_files_nor_the_change_log_nor_copies_have_plain_values() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("app.db").display());
    let open = |url: &str| {
        let keys = FieldKeys::new(7, ONE);
        let db = builder(keys).track::<Patient>(TrackOptions::new()).open(url).unwrap();
        db.create_missing_tables().unwrap();
        db
    };
    let db = open(&url);
    let patients = db.table::<Patient>().unwrap();
    for number in 1..=50 {
        patients.insert(&patient(number)).unwrap();
    }
    patients.set(stored(1).id, [Patient::DIAGNOSIS.set("hypochondria again")]).unwrap();
    let copied = format!("sqlite:{}", folder.path().join("copy.db").display());
    let target = Db::open(&copied).unwrap();
    db.copy_to(&target, &["secret_patient"], &CopyOptions::default(), |_| {}).unwrap();
    drop(target);
    let backup = folder.path().join("backup.db");
    db.backup(backup, &BackupOptions::new(), |_| Ok(())).unwrap();
    let copy = builder(FieldKeys::new(7, ONE)).open(&copied).unwrap();
    assert_eq!(copy.table::<Patient>().unwrap().require(stored(2).id).unwrap(), stored(2));
    let error = patients.history(stored(1).id).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    drop((db, copy));
    let mut searched = 0;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for plain in ["hypochondria", "@example.org", "@Example.org"] {
            let found = bytes.windows(plain.len()).any(|part| part == plain.as_bytes());
            assert!(!found, "{plain} is in a file");
        }
        searched += 1;
    }
    assert!(searched >= 3);
}

#[test]
fn a_value_belongs_to_its_row_and_column() {
    on_each(|place| {
        let db = place.open(builder(FieldKeys::new(7, ONE)));
        if place.is_memory_engine() {
            return;
        }
        let patients = db.table::<Patient>().unwrap();
        patients.insert(&patient(1)).unwrap();
        patients.insert(&patient(2)).unwrap();
        let visits = db.table::<Visit>().unwrap();
        for reason in ["one", "two"] {
            visits.insert(&Visit { id: 0, patient: stored(1).id, reason: reason.into() }).unwrap();
        }
        let corrupt = |column: &str| {
            let error = patients.list(Query::all()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert_eq!(error.column(), Some(column));
            assert_eq!(error.table(), Some("secret_patient"));
        };
        let swap = "UPDATE secret_patient SET diagnosis = \
                    (SELECT diagnosis FROM secret_patient WHERE name = 'patient 1')";
        db.execute(swap, ()).unwrap();
        corrupt("diagnosis");
        db.execute("UPDATE secret_patient SET diagnosis = x'0123'", ()).unwrap();
        corrupt("diagnosis");
        db.execute("UPDATE secret_patient SET diagnosis = scan", ()).unwrap();
        corrupt("diagnosis");
        // A searchable value is bound to its column alone, and so is every value if the engine makes the keys.
        db.execute("DELETE FROM secret_visit WHERE id = 2", ()).unwrap();
        let copied = "INSERT INTO secret_visit SELECT 5, patient, reason FROM secret_visit";
        db.execute(copied, ()).unwrap();
        assert_eq!(visits.require(5).unwrap().reason, "one");
    });
}

#[test]
fn wrong_missing_and_former_keys() {
    let folder = tempfile::tempdir().unwrap();
    change_keys(&format!("sqlite:{}", folder.path().join("app.db").display()));
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(change_keys);
}

fn change_keys(url: &str) {
    let open = |keys| {
        let db = builder(keys).open(url).unwrap();
        db.create_missing_tables().unwrap();
        db
    };
    let first = open(FieldKeys::new(7, ONE));
    for number in 1..=5 {
        first.table::<Patient>().unwrap().insert(&patient(number)).unwrap();
    }
    drop(first);
    for (keys, message) in [
        (FieldKeys::new(8, ONE), "the value is encrypted with key 7, which was not given"),
        (FieldKeys::new(7, TWO), "the value is encrypted with another key 7 than the given one"),
    ] {
        let error = open(keys).table::<Patient>().unwrap().get(stored(1).id).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Denied, message));
        assert_eq!(error.column(), Some("email"));
    }
    let error = Db::builder().record::<Patient>().open(url).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("field_keys"), "{error}");
    replace_key(&open);
}

fn replace_key(open: &dyn Fn(FieldKeys) -> Db) {
    let both = || FieldKeys::new(8, TWO).with_former(7, ONE).unwrap();
    let db = open(both());
    let patients = db.table::<Patient>().unwrap();
    patients.insert(&patient(6)).unwrap();
    assert_eq!(patients.list(Patient::NUMBER.is_in([5, 6])).unwrap(), [stored(5), stored(6)]);
    assert_eq!(db.reencrypt::<Patient>(2).unwrap(), 5);
    assert_eq!(db.reencrypt::<Patient>(2).unwrap(), 0);
    assert_eq!(db.reencrypt::<Patient>(0).unwrap_err().kind(), ErrorKind::Misuse);
    drop(db);
    let rows = open(FieldKeys::new(8, TWO)).table::<Patient>().unwrap().list(Query::all()).unwrap();
    let wanted = (1..=6).map(|n| Patient { version: i64::from(n < 6), ..stored(n) });
    assert_eq!(rows, wanted.collect::<Vec<_>>());
    assert!(both().with_former(7, ONE).is_err());
    assert_eq!(format!("{:?}", both()), "FieldKeys([8, 7])");
}

#[test]
fn reencryption_continues_on_every_engine() {
    on_each_engine(|db| {
        let patients = db.table::<Patient>().unwrap();
        for number in 1..=3 {
            patients.insert(&patient(number)).unwrap();
        }
        assert_eq!(db.reencrypt::<Patient>(1).unwrap(), 0);
        assert_eq!(patients.count(Query::all()).unwrap(), 3);
    });
}

#[test]
fn a_column_of_plain_values_is_no_encrypted_one() {
    on_each(|place: &Place| {
        if place.is_memory_engine() || place.url == "sqlite::memory:" {
            return;
        }
        let plain = Db::open(&place.url).unwrap();
        let table = TableSchema::builder("secret_visit")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<Uuid>("patient"))
            .column(ColumnSchema::of::<String>("reason"))
            .key(["id"]);
        plain.create_table(table.build().unwrap()).unwrap();
        drop(plain);
        let db = builder(FieldKeys::new(7, ONE)).open(&place.url).unwrap();
        let error = db.table::<Visit>().err().unwrap();
        assert_eq!((error.kind(), error.column()), (ErrorKind::Schema, Some("reason")));
    });
}

#[test]
fn a_server_of_the_program_decrypts_for_its_clients() {
    let db = builder(FieldKeys::new(7, ONE)).open("memory:").unwrap();
    db.create_missing_tables().unwrap();
    db.table::<Patient>().unwrap().insert(&patient(1)).unwrap();
    let server = bobak_server::Server::builder()
        .shared_database("shop", db.engine().unwrap())
        .token("correct horse battery staple")
        .tcp("127.0.0.1:0")
        .start()
        .unwrap();
    let address = server.addresses()[0];
    let url = format!("bobak://{address}/shop?token=correct%20horse%20battery%20staple");
    let client = Db::open(&url).unwrap();
    let patients = client.dynamic("secret_patient").unwrap();
    let filter = |text| Filter::new(Condition::parse(text, patients.schema()).unwrap());
    let rows = patients.list(filter("email = 'patient1@example.org'")).unwrap();
    assert_eq!(rows[0].get::<String>("diagnosis").unwrap(), "hypochondria");
    let hidden = filter("diagnosis = 'hypochondria'");
    assert_eq!(patients.list(hidden).unwrap_err().kind(), ErrorKind::Unsupported);
    drop(client);
    server.stop();
}
