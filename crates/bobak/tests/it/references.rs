//! References that are checked at the commit, or refer to a unique field, and what they do when the referenced value changes.

use crate::engines::on_each;
use bobak::prelude::*;
use bobak::{Shape, count};

#[derive(Record, Debug, Clone, PartialEq)]
struct Area {
    id: i64,
    #[record(unique)]
    code: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(foreign_key(area, references = "area(code)", on_update = "cascade"))]
struct Shop {
    id: i64,
    area: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(foreign_key(area, references = "area(code)", on_update = "set_null"))]
struct Visit {
    id: i64,
    area: Option<String>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(foreign_key(area, references = "area(code)", on_update = "restrict"))]
struct Permit {
    id: i64,
    area: String,
}

/// Creates the tables; the memory engine rejects such references before it creates any.
fn is_created(db: &Db, url: &str) -> bool {
    let created = db.create_missing_tables();
    if url.starts_with("memory:") {
        assert_eq!(created.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(db.tables().unwrap().len(), 0);
        return false;
    }
    created.unwrap();
    true
}

fn updates(url: &str) {
    let builder = Db::builder().record::<Area>().record::<Shop>();
    let db = builder.record::<Visit>().record::<Permit>().open(url).unwrap();
    if !is_created(&db, url) {
        return;
    }
    let areas = db.table::<Area>().unwrap();
    for (id, code) in [(1, "BE"), (2, "ZH")] {
        areas.insert(&Area { id, code: code.into() }).unwrap();
    }
    db.table().unwrap().insert(&Shop { id: 1, area: "BE".into() }).unwrap();
    db.table().unwrap().insert(&Visit { id: 1, area: Some("BE".into()) }).unwrap();
    db.table().unwrap().insert(&Permit { id: 1, area: "ZH".into() }).unwrap();
    areas.set(1, [Area::CODE.set("BS")]).unwrap();
    assert_eq!(db.table::<Shop>().unwrap().require(1).unwrap().area, "BS");
    assert_eq!(db.table::<Visit>().unwrap().require(1).unwrap().area, None);
    let error = areas.set(2, [Area::CODE.set("GE")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
    assert_eq!(areas.require(2).unwrap().code, "ZH");
}

#[test]
fn references_follow_the_referenced_value() {
    on_each(|place| updates(&place.url));
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn references_follow_the_referenced_value_on_servers() {
    crate::engines::on_servers(updates);
}

/// Two records that refer to each other, and to themselves.
#[derive(Record, Debug, Clone, PartialEq)]
struct Team {
    id: i64,
    #[record(references = Member, deferred)]
    leader_id: i64,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Member {
    id: i64,
    #[record(references = Team, deferred)]
    team_id: i64,
    #[record(references = Member, deferred)]
    mentor_id: i64,
}

fn deferred(url: &str) {
    let db = Db::builder().record::<Team>().record::<Member>().open(url).unwrap();
    if !is_created(&db, url) {
        return;
    }
    db.transaction(|transaction| {
        transaction.table()?.insert(&Team { id: 1, leader_id: 1 })?;
        transaction.table()?.insert(&Member { id: 1, team_id: 1, mentor_id: 2 })?;
        transaction.table()?.insert(&Member { id: 2, team_id: 1, mentor_id: 1 })
    })
    .unwrap();
    let failed = db.transaction(|transaction| {
        transaction.table()?.insert(&Member { id: 3, team_id: 1, mentor_id: 9 })
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Constraint);
    let members = db.table::<Member>().unwrap();
    assert_eq!(members.count(Query::all()).unwrap(), 2);
    deferred_errors_name_the_reference(&db, url);
    let mentored = Member::MENTOR.has(Member::MENTOR_ID.eq(2));
    assert_eq!(members.list(mentored).unwrap()[0].id, 2);
    let of_team = Member::TEAM.inverse().of(&Team { id: 1, leader_id: 1 });
    assert_eq!(members.count(of_team).unwrap(), 2);
}

fn deferred_errors_name_the_reference(db: &Db, url: &str) {
    let alone = Member { id: 3, team_id: 1, mentor_id: 9 };
    let check = |failed: Result<(), Error>| {
        let error = failed.unwrap_err();
        let place = (error.table(), error.column());
        assert_eq!(error.kind(), ErrorKind::Constraint, "{url} {error}");
        assert_eq!(place, (Some("member"), Some("mentor_id")), "{url} {error}");
        assert!(error.message().starts_with("no row of member has this value"), "{url} {error}");
    };
    check(db.transaction(|transaction| transaction.table()?.insert(&alone).map(drop)));
    let mut batch = db.batch(BatchOptions::new());
    batch.insert(&alone).unwrap();
    check(batch.finish().map(drop));
    check(db.table().unwrap().insert(&alone).map(drop));
    let members = db.table::<Member>().unwrap();
    check(members.returning(Member::ID).insert(&alone).map(drop));
    // The referenced row may go first; its members stay, or go before the commit.
    let failed = db.transaction(|transaction| transaction.table::<Team>()?.delete(1));
    let error = failed.unwrap_err();
    assert_eq!(error.table(), Some("member"), "{url} {error}");
    db.transaction(|transaction| {
        let teams = transaction.table::<Team>()?;
        let team = teams.require(1)?;
        teams.delete(1)?;
        teams.insert(&team)
    })
    .unwrap();
}

#[test]
fn deferred_references_are_checked_at_the_commit() {
    on_each(|place| deferred(&place.url));
}

#[cfg(feature = "postgres")]
#[test]
fn deferred_references_are_checked_at_the_commit_on_postgres() {
    crate::engines::on_postgres(deferred);
}

/// Records that refer to each other, checked after each statement.
#[derive(Record, Debug, Clone, PartialEq)]
struct Branch {
    id: i64,
    #[record(references = Clerk)]
    head_id: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(foreign_key(branch, number, references = "desk(branch, number)"))]
struct Clerk {
    id: i64,
    branch: i64,
    number: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Desk {
    #[record(key, references = Branch)]
    branch: i64,
    #[record(key)]
    number: i64,
}

fn circular(url: &str) {
    let builder = Db::builder().record::<Branch>().record::<Clerk>().record::<Desk>();
    let db = builder.open(url).unwrap();
    assert_eq!(db.create_missing_tables().unwrap().len(), 3);
    assert_eq!(db.create_missing_tables().unwrap(), [""; 0]);
    assert!(db.schema_diff().unwrap().is_empty());
    let branches = db.table::<Branch>().unwrap();
    branches.insert(&Branch { id: 1, head_id: None }).unwrap();
    db.table().unwrap().insert(&Desk { branch: 1, number: 7 }).unwrap();
    db.table().unwrap().insert(&Clerk { id: 1, branch: 1, number: Some(7) }).unwrap();
    branches.update(&Branch { id: 1, head_id: Some(1) }).unwrap();
    for error in [
        branches.update(&Branch { id: 1, head_id: Some(2) }).unwrap_err(),
        db.table().unwrap().insert(&Clerk { id: 2, branch: 1, number: Some(8) }).unwrap_err(),
        db.table::<Clerk>().unwrap().delete(1).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
    }
}

#[test]
fn tables_may_refer_to_each_other() {
    on_each(|place| circular(&place.url));
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn tables_may_refer_to_each_other_on_servers() {
    crate::engines::on_servers(circular);
}

#[derive(Record)]
#[record(table = "unregistered_target")]
struct Target {
    id: i64,
}

#[derive(Record)]
#[record(table = "referring_row")]
struct Referring {
    id: i64,
    #[record(references = Target)]
    target_id: i64,
}

#[test]
fn a_reference_to_a_table_that_does_not_exist_is_found_at_creation() {
    crate::engines::on_each(|place| {
        let db = Db::builder().record::<Referring>().open(&place.url).unwrap();
        let error = db.create_missing_tables().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert!(error.to_string().contains("'unregistered_target' does not exist"), "{error}");
        assert!(error.to_string().contains("register its record"), "{error}");
        assert!(db.tables().unwrap().is_empty());
    });
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Airline {
    id: i64,
    #[record(unique, max = 3)]
    code: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(foreign_key(airline, references = Airline(code)))]
struct Flight {
    id: i64,
    #[record(max = 3, index)]
    airline: Option<String>,
}

#[derive(Shape)]
#[shape(of = Flight)]
struct FlightPage {
    id: i64,
    #[shape(one = Flight::AIRLINE_REF)]
    airline: Option<Airline>,
}

/// A foreign key of one field that refers to a unique field.
#[test]
fn a_field_refers_to_a_unique_field() {
    on_each(|place| {
        let db = place.open(Db::builder().record::<Airline>().record::<Flight>());
        for (id, code) in [(7, "LX"), (1, "BA")] {
            db.table().unwrap().insert(&Airline { id, code: code.into() }).unwrap();
        }
        for (id, code) in [(1, Some("LX")), (2, None), (3, Some("BA")), (4, Some("LX"))] {
            let airline = code.map(Into::into);
            db.table().unwrap().insert(&Flight { id, airline }).unwrap();
        }
        let table = db.table::<Flight>().unwrap();
        assert_eq!(table.count(Flight::AIRLINE_REF.has(Airline::ID.eq(7))).unwrap(), 2);
        assert_eq!(table.count(Flight::AIRLINE_REF.as_many().is_empty()).unwrap(), 1);
        let airlines = db.table::<Airline>().unwrap();
        let of = Flight::AIRLINE_REF.inverse().of(&airlines.require(7).unwrap());
        assert_eq!(table.count(of).unwrap(), 2);
        let pages: Vec<FlightPage> = table.load(Query::all(), &()).unwrap();
        let shown: Vec<_> =
            pages.iter().map(|page| (page.id, page.airline.as_ref().map(|one| one.id))).collect();
        assert_eq!(shown, [(1, Some(7)), (2, None), (3, Some(1)), (4, Some(7))]);
        let join = Query::<Airline>::all()
            .left_join(Flight::AIRLINE_REF.inverse())
            .group_by(Airline::ID)
            .select((Airline::ID, count::<Flight>()));
        assert_eq!(db.list(&join).unwrap(), [(1, 1), (7, 2)]);
    });
}

#[test]
fn a_reference_to_a_record_on_another_engine_says_so() {
    let builder = Db::builder().attach("other", "memory:");
    let db = builder.record::<Airline>().record_on::<Flight>("other").open("memory:").unwrap();
    let error = db.create_missing_tables().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.message().contains("'airline' is on the engine 'main'"), "{error}");
    assert!(error.message().contains("Column::refers_to"), "{error}");
}
