//! Normalizers and validators, on every way to write.

use bobak::Result;
use bobak::batch::OnError;
use bobak::copy::CopyOptions;
use bobak::pipeline::PipelineOptions;
use bobak::prelude::*;
use bobak::rules::Violations;

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "ruled_person", validate = check_person)]
struct Person {
    id: i64,
    #[record(trim, length = 1..=10)]
    name: String,
    #[record(trim, lowercase, email, unique)]
    email: Option<String>,
    #[record(range = 0..=120)]
    age: i32,
    #[record(range = Currency::ZERO.., default = 0)]
    balance: Currency,
    #[record(uppercase, pattern = "[A-Z]{2}", default = "CH")]
    country: String,
    #[record(normalize = without_zeros, validate = is_even, default = 2)]
    number: i64,
    #[record(version)]
    version: i64,
    retired: Option<bool>,
}

fn check_person(person: &Person, violations: &mut Violations) {
    if person.retired == Some(true) && person.age < 50 {
        violations.add(Person::AGE, "must be at least 50 of a retired person");
    }
    if person.name == "nobody" {
        violations.add_to_record("is nobody");
    }
}

fn without_zeros(mut number: i64) -> i64 {
    while number != 0 && number % 10 == 0 {
        number /= 10;
    }
    number
}

fn is_even(number: &i64) -> std::result::Result<(), &'static str> {
    assert_ne!(*number, 666, "an unlucky number");
    if number % 2 == 0 { Ok(()) } else { Err("must be even") }
}

fn ada() -> Person {
    Person {
        id: 0,
        name: "Ada".into(),
        email: Some("ada@example.org".into()),
        age: 36,
        balance: Currency::ZERO,
        country: "GB".into(),
        number: 2,
        version: 0,
        retired: None,
    }
}

fn messages(error: &Error) -> Vec<String> {
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert_eq!(error.table(), Some("ruled_person"));
    error.violations().iter().map(ToString::to_string).collect()
}

fn dyn_row(columns: &[(&str, Value<'static>)]) -> DynRow {
    let mut row = DynRow::new();
    for (name, value) in columns {
        row.set(name, value.clone()).unwrap();
    }
    row
}

/// Runs every case on an engine.
fn run(url: &str) {
    for case in CASES {
        let db = Db::builder().record::<Person>().open(url).unwrap();
        db.create_missing_tables().unwrap();
        db.table::<Person>().unwrap().delete_where(Person::ID.gt(0)).unwrap();
        case(&db).unwrap();
    }
}

const CASES: &[fn(&Db) -> Result<()>] = &[
    values_are_normalized_before_they_are_validated,
    all_violations_are_reported_together,
    updates_of_single_columns_are_checked,
    batches_leave_invalid_rows_out_or_stop,
    dynamic_rows_pipelines_and_transactions_are_checked,
    a_validator_that_panics_is_an_error,
];

#[test]
fn on_memory() {
    run("memory:");
}

#[test]
fn on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    run(&format!("sqlite:{}", folder.path().join("rules.db").display()));
}

#[test]
#[cfg(feature = "kv")]
fn on_a_key_value_file() {
    let folder = tempfile::tempdir().unwrap();
    run(&format!("kv:{}", folder.path().join("rules.kv").display()));
}

#[test]
#[cfg(feature = "remote")]
fn on_a_server_without_rules() {
    let engine = bobak::engine::sqlite::Sqlite::builder().open_memory().unwrap();
    crate::engines::on_bobak_server(engine, run);
}

#[test]
#[cfg(feature = "postgres")]
fn on_postgres() {
    crate::engines::on_postgres(run);
}

#[test]
#[cfg(feature = "mysql")]
fn on_mariadb() {
    crate::engines::on_mariadb(run);
}

fn values_are_normalized_before_they_are_validated(db: &Db) -> Result<()> {
    let people = db.table::<Person>()?;
    let given = Person {
        name: "  Ada Lovelac  ".into(),
        email: Some(" Ada@Example.ORG\n".into()),
        country: "gb".into(),
        number: 200,
        ..ada()
    };
    let error = people.insert(&given).unwrap_err();
    assert_eq!(messages(&error), ["name must have 1 to 10 characters, not 11"]);
    let id = people.insert(&Person { name: "  Ada L. ".into(), ..given })?;
    let stored = people.require(id)?;
    assert_eq!((stored.name.as_str(), stored.country.as_str(), stored.number), ("Ada L.", "GB", 2));
    assert_eq!(stored.email.as_deref(), Some("ada@example.org"));
    // NULL satisfies every rule.
    people.update(&Person { email: None, ..stored })?;
    assert_eq!(people.require(id)?.email, None);
    Ok(())
}

fn all_violations_are_reported_together(db: &Db) -> Result<()> {
    let people = db.table::<Person>()?;
    let bad = Person {
        name: " ".into(),
        email: Some("ada".into()),
        age: 121,
        balance: Currency::from_units(-1)?,
        country: "GBR".into(),
        number: 30,
        ..ada()
    };
    let wanted = [
        "name must have 1 to 10 characters, not 0",
        "email must be an e-mail address",
        "age must be at least 0 and at most 120, not 121",
        "balance must be at least 0.00, not -1.00",
        "country must match [A-Z]{2}",
        "number must be even",
    ];
    let error = people.insert(&bad).unwrap_err();
    assert_eq!(messages(&error), wanted);
    assert_eq!(error.column(), Some("name, email, age, balance, country, number"));
    assert_eq!(messages(&people.upsert(&bad).unwrap_err()), wanted);
    assert_eq!(messages(&people.insert_or_ignore(&bad).unwrap_err()), wanted);
    assert_eq!(messages(&people.insert_or_replace(&bad).unwrap_err()), wanted);
    assert_eq!(messages(&people.upsert_on(Person::EMAIL, &bad).unwrap_err()), wanted);
    let id = people.insert(&ada())?;
    assert_eq!(messages(&people.update(&Person { id, ..bad }).unwrap_err()), wanted);
    let nobody = Person { name: "nobody".into(), retired: Some(true), email: None, ..ada() };
    assert_eq!(
        messages(&people.insert(&nobody).unwrap_err()),
        ["age must be at least 50 of a retired person", "the row is nobody"]
    );
    assert_eq!(people.list(Query::all())?, [Person { id, ..ada() }]);
    Ok(())
}

fn updates_of_single_columns_are_checked(db: &Db) -> Result<()> {
    let people = db.table::<Person>()?;
    let id = people.insert(&ada())?;
    let set = people.set(id, [Person::NAME.set(" Bob "), Person::AGE.set(-1)]);
    assert_eq!(messages(&set.unwrap_err()), ["age must be at least 0 and at most 120, not -1"]);
    people.set(id, [Person::NAME.set(" Bob ")])?;
    assert_eq!(people.require(id)?.name, "Bob");
    // The sum is not known before the row is read.
    people.set(id, [Person::AGE.add(4)])?;
    let error = people.set(id, [Person::AGE.add(81)]).unwrap_err();
    assert_eq!(messages(&error), ["age must be at least 0 and at most 120, not 121"]);
    // The record as a whole is checked with the columns that stay.
    let error = people.set(id, [Person::RETIRED.set(Some(true))]).unwrap_err();
    assert_eq!(messages(&error), ["age must be at least 50 of a retired person"]);
    let all = people.set_where(Person::ID.gt(0), [Person::COUNTRY.set("de")])?;
    assert_eq!((all, people.require(id)?.country.as_str()), (1, "DE"));
    assert_eq!(people.require(id)?.age, 40);
    Ok(())
}

fn batches_leave_invalid_rows_out_or_stop(db: &Db) -> Result<()> {
    let people = db.table::<Person>()?;
    let rows = [
        Person { email: None, name: " first".into(), ..ada() },
        Person { email: Some("x".into()), age: 121, ..ada() },
        ada(),
        ada(),
        Person { number: 1, ..ada() },
    ];
    let mut batch = db.batch(BatchOptions::new().on_error(OnError::Continue));
    rows.iter().try_for_each(|row| batch.insert(row))?;
    let report = batch.finish()?;
    let failed: Vec<_> =
        report.outcomes().filter_map(Result::err).map(|e| (e.row(), e.kind())).collect();
    let wanted = [
        (Some(1), ErrorKind::Invalid),
        (Some(3), ErrorKind::Duplicate),
        (Some(4), ErrorKind::Invalid),
    ];
    assert_eq!(failed, wanted);
    let rejected = report.outcome(1).unwrap().unwrap_err();
    assert_eq!(rejected.violations().len(), 2);
    let names: Vec<String> =
        people.list(Query::all())?.into_iter().map(|person| person.name).collect();
    assert_eq!(names, ["first", "Ada"]);

    let mut batch = db.batch(BatchOptions::new());
    batch.insert(&Person { email: None, ..ada() })?;
    batch.update(&Person { number: 3, ..people.list(Query::all())?.remove(0) })?;
    let error = batch.finish().unwrap_err();
    assert_eq!((messages(&error), error.row()), (vec!["number must be even".to_owned()], Some(1)));
    assert_eq!(people.count(Query::all())?, 2);
    Ok(())
}

fn dynamic_rows_pipelines_and_transactions_are_checked(db: &Db) -> Result<()> {
    let people = db.dynamic("ruled_person")?;
    let row = dyn_row(&[("name", " Eve ".into()), ("age", 7.into()), ("country", "fr".into())]);
    let key = people.insert(&row)?;
    let stored = db.table::<Person>()?.list(Query::all())?.remove(0);
    assert_eq!((stored.name.as_str(), stored.country.as_str()), ("Eve", "FR"));
    let row = dyn_row(&[("id", stored.id.into()), ("age", 300.into())]);
    let error = people.update(&row).unwrap_err();
    assert_eq!(messages(&error), ["age must be at least 0 and at most 120, not 300"]);
    let row = dyn_row(&[("id", stored.id.into()), ("retired", 1.into())]);
    let error = people.update(&row).unwrap_err();
    assert_eq!(messages(&error), ["age must be at least 50 of a retired person"], "{key:?}");

    let pipeline = db.pipeline(PipelineOptions::default());
    let written = pipeline.insert(&Person { age: -1, ..ada() })?.wait();
    assert_eq!(messages(&written.unwrap_err()).len(), 1);

    let transaction = db.begin()?;
    let table = transaction.table::<Person>()?;
    table.insert(&ada())?;
    assert!(table.insert(&Person { email: None, age: -1, ..ada() }).is_err());
    transaction.commit()?;
    assert_eq!(db.table::<Person>()?.count(Query::all())?, 2, "the transaction went on");
    Ok(())
}

fn a_validator_that_panics_is_an_error(db: &Db) -> Result<()> {
    let people = db.table::<Person>()?;
    let error = people.insert(&Person { number: 666, ..ada() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Engine);
    assert!(error.message().starts_with("a validator panicked: "), "{error}");
    assert!(error.message().contains("an unlucky number"), "{error}");
    assert_eq!((error.table(), error.column()), (Some("ruled_person"), Some("number")));
    assert_eq!(people.count(Query::all())?, 0);
    people.insert(&ada())?;
    Ok(())
}

#[test]
fn records_with_rules_are_registered() -> Result<()> {
    let db = Db::open("memory:")?;
    let error = db.table::<Person>().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misuse);
    let transaction = db.begin()?;
    assert_eq!(transaction.table::<Person>().map(drop).unwrap_err().kind(), ErrorKind::Misuse);
    Ok(())
}

#[derive(Record)]
#[record(table = "ruled_person")]
struct BadPattern {
    id: i64,
    #[record(pattern = "[a-z")]
    name: String,
}

#[test]
fn wrong_rules_are_reported_when_the_database_is_opened() {
    let error = Db::builder().record::<BadPattern>().open("memory:").map(drop).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Config, Some("name")));

    #[derive(Record)]
    #[record(table = "ruled_person")]
    struct Twice {
        id: i64,
        #[record(length = 1..)]
        name: String,
    }
    #[derive(Record)]
    #[record(table = "ruled_person")]
    struct Again {
        id: i64,
        #[record(length = 2..)]
        name: String,
    }
    let error = Db::builder().record::<Twice>().record::<Again>().open("memory:").map(drop);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Schema);
}

#[test]
fn copies_are_not_checked_again() -> Result<()> {
    let from = Db::open("memory:")?;
    #[derive(Record)]
    #[record(table = "ruled_person")]
    struct Unruled {
        id: i64,
        name: String,
        email: Option<String>,
        age: i32,
        balance: Currency,
        country: String,
        number: i64,
        version: i64,
        retired: Option<bool>,
    }
    from.create_table(Unruled::schema().as_ref().clone())?;
    let values = dyn_row(&[
        ("name", " x ".into()),
        ("age", 500.into()),
        ("number", 1.into()),
        ("balance", 0.into()),
        ("country", "?".into()),
        ("version", 0.into()),
    ]);
    from.dynamic("ruled_person")?.insert(&values)?;
    let to = Db::builder().record::<Person>().open("memory:")?;
    from.copy_to(&to, &[], &CopyOptions::new(), |_| {})?;
    assert_eq!(to.table::<Person>()?.list(Query::all())?[0].age, 500);
    Ok(())
}

#[derive(Record, Debug)]
struct Account {
    #[record(key)]
    name: String,
    #[record(trim, lowercase, unique)]
    email: String,
}

#[test]
fn an_upsert_finds_its_row_by_normalized_values() -> Result<()> {
    let db = Db::builder().record::<Account>().open("sqlite::memory:")?;
    db.create_missing_tables()?;
    let accounts = db.table::<Account>()?;
    let account = |name: &str| Account { name: name.into(), email: " Ada@Example.org".into() };
    assert_eq!(accounts.upsert_on(Account::EMAIL, &account("ada"))?, "ada");
    let mut other = account("other");
    assert_eq!(accounts.upsert_on(Account::EMAIL, &mut other)?, "ada");
    assert_eq!((other.name.as_str(), accounts.count(Query::all())?), ("ada", 1));
    // So does a row without a struct, also in a transaction.
    let columns = [("name", "third".into()), ("email", " ADA@example.org".into())];
    let row = dyn_row(&columns);
    let ada = [Value::from("ada")];
    assert_eq!(db.dynamic("account")?.upsert_on(["email"], &row)?, ada);
    let transaction = db.begin()?;
    assert_eq!(transaction.dynamic("account")?.upsert_on(["email"], &row)?, ada);
    transaction.commit()?;
    assert_eq!(accounts.count(Query::all())?, 1);
    Ok(())
}

/// Engines differ in which of two assignments counts.
#[test]
#[cfg(feature = "remote")]
fn a_column_assigned_twice_is_rejected_over_the_wire() {
    use bobak_core::{Assign, BulkChange};
    let served = Db::builder().record::<Person>().open("sqlite::memory:").unwrap();
    served.create_missing_tables().unwrap();
    let id = served.table::<Person>().unwrap().insert(&ada()).unwrap();
    let server = bobak_server::Server::builder()
        .shared_database("shop", served.engine().unwrap())
        .token("correct horse battery staple")
        .tcp("127.0.0.1:0")
        .start()
        .unwrap();
    let address = server.addresses()[0];
    let url = format!("bobak://{address}/shop?token=correct%20horse%20battery%20staple");
    // Without rules of its own, the client sends both assignments.
    let client = Db::open(&url).unwrap();
    let table = Person::schema();
    let column = table.column("name").unwrap();
    let set = |name: &'static str| Assign::Set { column, value: name.into() };
    for assign in [[set(" Ada "), set(" Bob ")], [set("Ada"), set("Ada")]] {
        let change = BulkChange { table, condition: None, assign: Some(&assign) };
        let engine = client.engine().unwrap();
        let error = engine.session().unwrap().change(&change).unwrap_err();
        assert_eq!((error.kind(), error.column()), (ErrorKind::Misuse, Some("name")), "{error}");
    }
    let people = served.table::<Person>().unwrap();
    assert_eq!(people.require(id).unwrap().name, "Ada", "nothing was written");
    drop((client, people));
    server.stop();
}
