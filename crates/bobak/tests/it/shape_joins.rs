//! Shapes whose related records one statement reads, against the memory engine, which reads each relation by itself.

use crate::relations::Counted;
use bobak::prelude::*;
use bobak::query::PageRequest;
use bobak::relation::{ToMany, ToOne};
use bobak::statements::MonitorOptions;
use bobak::{RowScope, Shape};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Record, Debug, Clone, PartialEq)]
struct Country {
    #[record(key)]
    code: String,
    name: String,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct City {
    id: i64,
    name: String,
    country_code: Option<String>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Person {
    id: i64,
    name: String,
    city_id: Option<i64>,
    #[record(index)]
    boss_id: Option<i64>,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Team {
    id: i64,
    name: String,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
}

/// A person may be in a team several times.
#[derive(Record, Debug, Clone, PartialEq)]
struct Membership {
    id: i64,
    #[record(index)]
    person_id: i64,
    #[record(index)]
    team_id: i64,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
}

impl City {
    const COUNTRY: ToOne<City, Country> = City::COUNTRY_CODE.refers_to();
}

impl Person {
    const CITY: ToOne<Person, City> = Person::CITY_ID.refers_to();
    const BOSS: ToOne<Person, Person> = Person::BOSS_ID.refers_to();
    const REPORTS: ToMany<Person, Person> = Person::BOSS.inverse();
    const TEAMS: ToMany<Person, Team> =
        Membership::PERSON_ID.refers_to::<Person>().inverse().then(Membership::TEAM_ID.refers_to());
}

impl Team {
    const PEOPLE: ToMany<Team, Person> =
        Membership::TEAM_ID.refers_to::<Team>().inverse().then(Membership::PERSON_ID.refers_to());
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = City)]
struct CityPage {
    name: String,
    #[shape(one = City::COUNTRY)]
    country: Option<Country>,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Person)]
struct BossPage {
    name: String,
    #[shape(one = Person::CITY)]
    city: Option<CityPage>,
    #[shape(many = Person::TEAMS, select = Team::NAME, order_by = Team::NAME.desc())]
    teams: Vec<String>,
    #[shape(count = Person::REPORTS)]
    reports: u64,
    #[shape(exists = Person::REPORTS, filter = Person::ID.gt(5))]
    has_late_reports: bool,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Person, with(least: i64))]
struct PersonPage {
    id: i64,
    #[shape(one = Person::CITY)]
    city: Option<CityPage>,
    #[shape(one = Person::BOSS)]
    boss: Option<BossPage>,
    #[shape(one = Person::BOSS, filter = Person::ID.ge(least))]
    late_boss: Option<BossPage>,
    #[shape(one = Person::CITY.then(City::COUNTRY))]
    country: Option<Country>,
    #[shape(one = Person::BOSS, limit = 0)]
    none: Option<Person>,
    #[shape(many = Person::TEAMS, order_by = Team::NAME.asc(), limit = 2)]
    teams: Vec<TeamPage>,
    #[shape(count = Person::TEAMS)]
    team_count: u64,
    #[shape(many = Person::REPORTS, order_by = Person::NAME.desc(), limit = 1)]
    last_report: Vec<BossPage>,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Team)]
struct TeamPage {
    id: i64,
    #[shape(many = Team::PEOPLE, order_by = Person::ID.desc(), limit = 2)]
    people: Vec<MemberPage>,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Person)]
struct MemberPage {
    name: String,
    #[shape(one = Person::CITY)]
    city: Option<City>,
}

fn model() -> bobak::DbBuilder {
    let model = Db::builder().record::<Country>().record::<City>().record::<Person>();
    model.record::<Team>().record::<Membership>()
}

fn fill(db: &Db) {
    db.create_missing_tables().unwrap();
    let deleted_at = None;
    for code in ["ch", "fr"] {
        let country = Country { code: code.into(), name: code.to_uppercase(), deleted_at };
        db.table().unwrap().insert(&country).unwrap();
    }
    for (id, code) in [(1, Some("ch")), (2, Some("fr")), (3, None), (4, Some("xx"))] {
        let (name, country_code) = (format!("city {id}"), code.map(str::to_owned));
        db.table().unwrap().insert(&City { id, name, country_code }).unwrap();
    }
    for id in 1..=12 {
        let city_id = Some(id % 6).filter(|city| *city > 0);
        let (name, boss_id) = (format!("p{}", id % 5), Some(id / 3).filter(|boss| *boss > 0));
        let person = Person { id, name, city_id, boss_id, deleted_at };
        db.table().unwrap().insert(&person).unwrap();
    }
    for id in 1..=4 {
        let team = Team { id, name: format!("t{}", id % 3), deleted_at };
        db.table().unwrap().insert(&team).unwrap();
    }
    for id in 1..=30 {
        let membership = Membership { id, person_id: id % 7 + 1, team_id: id * id % 5, deleted_at };
        db.table().unwrap().insert(&membership).unwrap();
    }
}

fn pages(db: &Db) -> (Vec<PersonPage>, Vec<TeamPage>) {
    let people = db.table::<Person>().unwrap();
    let mut all = Vec::new();
    for query in [
        Query::all(),
        Query::all().order_by(Person::BOSS_ID.desc()).limit(5).offset(1),
        Query::all().limit(12),
        Query::filter(Person::CITY.has(City::NAME.eq("city 1"))),
        Query::filter(Person::CITY.has(City::COUNTRY.has(Country::NAME.ne("FR")))).limit(7),
        Query::filter(Person::BOSS.has(Person::ID.ge(2)).and(Person::CITY.has(City::ID.le(3)))),
        Query::filter(Person::CITY.then(City::COUNTRY).any(Country::NAME.eq("CH"))),
        Query::filter(Person::CITY.has(City::ID.le(3)).or(Person::BOSS.has(Person::ID.eq(2)))),
        Query::filter(Person::CITY.has(City::ID.le(3)).not()),
    ] {
        all.extend(people.load::<PersonPage>(query, &3).unwrap());
    }
    let by_name = Query::all().order_by(Person::NAME.desc());
    let mut token = None;
    loop {
        let request = PageRequest::size(5).after(token);
        let page = people.page::<PersonPage>(&by_name, &2, request).unwrap();
        all.extend(page.items);
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    all.extend(people.load_one(4, &1).unwrap());
    (all, db.table::<Team>().unwrap().load(Query::all(), &()).unwrap())
}

/// Deletes some rows for the time being.
fn delete(db: &Db) {
    assert!(db.table::<Country>().unwrap().delete("fr").unwrap());
    assert_eq!(db.table::<Person>().unwrap().delete_where(Person::ID.le(2)).unwrap(), 2);
    assert_eq!(db.table::<Team>().unwrap().delete_where(Team::ID.eq(4)).unwrap(), 1);
    let memberships = db.table::<Membership>().unwrap();
    assert_eq!(memberships.delete_where(Membership::ID.le(6)).unwrap(), 6);
}

/// A database confined to some rows and tables.
fn confined(db: &Db) -> Db {
    let scope = RowScope::new("acme")
        .grant("read on person where id <> 3")
        .grant("read on city where id < 2")
        .grant("read on country, team, membership");
    db.scoped(&scope).unwrap()
}

fn check(db: &Db) {
    let expected = model().open("memory:").unwrap();
    for db in [db, &expected] {
        fill(db);
    }
    let found = pages(db);
    assert_eq!(found, pages(&expected));
    assert!(found.0.iter().any(|page| page.team_count > 1));
    assert!(found.0.iter().any(|page| page.country.is_some() && page.late_boss.is_some()));
    assert_eq!(pages(&confined(db)), pages(&confined(&expected)));
    delete(db);
    delete(&expected);
    let found = pages(db);
    assert_eq!(found, pages(&expected));
    // Deleted bosses and countries do not show.
    let names = |page: &PersonPage| page.country.as_ref().map(|country| country.name.clone());
    assert!(found.0.iter().filter_map(names).all(|name| name == "CH"));
    assert!(found.0.iter().filter(|page| page.id < 9).all(|page| page.boss.is_none()));
    assert_eq!(pages(&confined(db)), pages(&confined(&expected)));
}

#[test]
fn joined_records_are_those_that_are_read_by_themselves() {
    check(&model().open("sqlite::memory:").unwrap());
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn joined_records_on_servers_are_those_that_are_read_by_themselves() {
    crate::engines::on_servers(|url| check(&model().open(url).unwrap()));
}

#[test]
fn records_of_another_engine_have_statements_of_their_own() {
    let side = Db::builder().record::<Country>().record::<Person>().record::<Team>();
    let db = side
        .record::<Membership>()
        .attach("side", "sqlite::memory:")
        .record_on::<City>("side")
        .open("sqlite::memory:")
        .unwrap();
    check(&db);
}

fn counted(url: &str, queries: &Arc<AtomicU64>) -> Db {
    let inner = bobak::engine::open(url).unwrap();
    let db = model().open_engine(Counted { inner, queries: Arc::clone(queries) }).unwrap();
    fill(&db);
    db
}

#[test]
fn each_level_takes_one_statement() {
    let queries = Arc::new(AtomicU64::new(0));
    let count = |run: &dyn Fn()| {
        queries.store(0, Ordering::Relaxed);
        run();
        queries.load(Ordering::Relaxed)
    };
    let db = counted("sqlite::memory:", &queries);
    let (people, teams) = (db.table::<Person>().unwrap(), db.table::<Team>().unwrap());
    // People with their cities and countries.
    let loaded = count(&|| drop(people.load::<MemberPage>(Query::all(), &()).unwrap()));
    assert_eq!(loaded, 1);
    // Teams; their people with cities.
    let loaded = count(&|| drop(teams.load::<TeamPage>(Query::all(), &()).unwrap()));
    assert_eq!(loaded, 2);
    // Bosses with cities and countries; teams; reports; late reports.
    let loaded = count(&|| drop(people.load::<BossPage>(Query::all(), &()).unwrap()));
    assert_eq!(loaded, 4);
    // Few rows are counted by the statement that reads them.
    let few = || Query::all().limit(20);
    let loaded = count(&|| drop(people.load::<BossPage>(few(), &()).unwrap()));
    assert_eq!(loaded, 2);
    let loaded = count(&|| drop(people.load_one::<BossPage>(3, &()).unwrap()));
    assert_eq!(loaded, 2);
    // An engine may count for skipped rows, too: few are counted so, many are not.
    let loaded = count(&|| drop(people.load::<BossPage>(few().offset(4), &()).unwrap()));
    assert_eq!(loaded, 2);
    let late = || Query::all().limit(1).offset(200);
    assert!(count(&|| drop(people.load::<BossPage>(late(), &()).unwrap())) != 2);
    // A client with row rules runs no joins: each table is read by itself, so that its rules hold.
    let confined = confined(&db);
    let people = confined.table::<Person>().unwrap();
    let loaded = count(&|| drop(people.load::<MemberPage>(Query::all(), &()).unwrap()));
    assert_eq!(loaded, 2);
}

#[test]
fn a_condition_on_a_joined_record_has_no_subquery() {
    let db = model().monitor(MonitorOptions::new()).open("sqlite::memory:").unwrap();
    fill(&db);
    let people = db.table::<Person>().unwrap();
    let statement = |query: Query<Person>| {
        db.statements().unwrap().reset();
        people.load::<MemberPage>(query, &()).unwrap();
        let mut statements = db.statements().unwrap().statistics();
        statements.retain(|statement| &*statement.verb == "select");
        assert_eq!(statements.len(), 1, "{statements:?}");
        statements.remove(0).text.to_string()
    };
    let joined = statement(Query::filter(Person::CITY.has(City::NAME.eq("city 1"))));
    assert!(!joined.contains("IN (") && !joined.contains("LEFT JOIN"), "{joined}");
    // Nobody needs the column that the link starts from.
    let (columns, _) = joined.split_once(" FROM ").unwrap();
    assert_eq!(columns, "SELECT person.name, city.id, city.name, city.country_code");
    // The condition of the city's country is on a table that is not joined.
    let country = Person::CITY.has(City::COUNTRY.has(Country::NAME.eq("CH")));
    let joined = statement(Query::filter(country));
    assert_eq!(joined.matches("IN (").count(), 1, "{joined}");
    // Either condition may hold: the people without a city are needed.
    let either = Person::CITY.has(City::ID.le(3)).or(Person::ID.eq(6));
    let joined = statement(Query::filter(either));
    assert!(joined.contains("LEFT JOIN") && joined.contains("IN ("), "{joined}");
}

#[test]
fn deleted_records_are_not_joined() {
    #[derive(Shape, Debug)]
    #[shape(of = Membership)]
    #[allow(dead_code)]
    struct Member {
        #[shape(one = Membership::PERSON_ID.refers_to::<Person>())]
        person: Option<Person>,
        #[shape(one = Membership::TEAM_ID.refers_to::<Team>(), filter = Team::ID.gt(0))]
        team: Option<Team>,
    }
    for url in ["memory:", "sqlite::memory:"] {
        let db = model().open(url).unwrap();
        fill(&db);
        let members = db.table::<Membership>().unwrap();
        let before = members.load_one::<Member>(1, &()).unwrap().unwrap();
        assert_eq!((before.person.unwrap().id, before.team.unwrap().id), (2, 1));
        db.table::<Person>().unwrap().delete(2).unwrap();
        let after = members.load_one::<Member>(1, &()).unwrap().unwrap();
        assert_eq!((after.person, after.team.unwrap().id), (None, 1), "{url}");
    }
}
