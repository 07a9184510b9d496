//! Joins, expressions and shapes over the wire: the server runs them, and only the rows of the result come back.

use crate::engines::on_bobak_server;
use bobak::engine::{Engine, EngineLayer, Join, Session, SessionLayer, Source};
use bobak::prelude::*;
use bobak::query::whole;
use bobak::schema::TableSchema;
use bobak::{Row, Shape};
use bobak_wire::{
    HEADER_LENGTH, Handles, Inbox, Limits, OwnedSource, Request, RequestSource, ResultForm,
    encode_request,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Checks that a message with a join has the same join.
pub(crate) fn check_message(join: &Join) {
    let mut tables: Vec<Arc<TableSchema>> = Vec::new();
    join.for_each_table(&mut |table| tables.push(Arc::clone(table)));
    join.for_each_subquery(&mut |query| tables.push(Arc::clone(&query.table)));
    let (mut handles, mut numbers) = (Handles::new(&Limits::default()), Vec::new());
    for (number, table) in (0..).zip(tables) {
        numbers.push((table.id(), number));
        handles.define(number, Ok(table));
    }
    let mut bytes = Vec::new();
    let source = RequestSource::Join(join, &numbers);
    encode_request::query(&mut bytes, 1, 0, ResultForm::default(), source).unwrap();
    let mut inbox = Inbox::new(1 << 20);
    inbox.push(&bytes);
    let head = inbox.next_frame().unwrap().unwrap();
    assert_eq!(inbox.body().len() + HEADER_LENGTH, bytes.len());
    match Request::decode(head, inbox.body(), &handles).unwrap() {
        Request::Query { source: OwnedSource::Join(read), .. } => assert_eq!(*read, *join),
        other => panic!("{other:?}"),
    }
}

fn sqlite() -> bobak_sqlite::Sqlite {
    bobak_sqlite::Sqlite::builder().open_memory().unwrap()
}

#[test]
fn random_joins_have_the_same_rows() {
    on_bobak_server(sqlite(), crate::join_paths::check);
}

#[test]
fn random_expressions_have_the_same_values() {
    on_bobak_server(sqlite(), crate::expressions::check);
}

#[test]
fn random_windows_have_the_same_values() {
    on_bobak_server(sqlite(), crate::windows::check);
}

#[test]
fn random_nested_queries_have_the_same_rows() {
    on_bobak_server(sqlite(), crate::nested_queries::check);
}

#[test]
fn random_unions_have_the_same_rows() {
    on_bobak_server(sqlite(), crate::combined_queries::check);
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn random_joins_of_servers_have_the_same_rows() {
    crate::engines::on_servers(|url| {
        let engine = Shared(bobak::engine::open(url).unwrap());
        on_bobak_server(engine, crate::join_paths::check);
    });
}

/// An engine that others use, too.
#[cfg(all(feature = "mysql", feature = "postgres"))]
struct Shared(Arc<dyn Engine>);

#[cfg(all(feature = "mysql", feature = "postgres"))]
impl EngineLayer for Shared {
    fn inner(&self) -> &dyn Engine {
        &*self.0
    }

    fn session(&self) -> bobak::Result<Box<dyn Session + '_>> {
        self.0.session()
    }
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Country {
    id: i64,
    name: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct City {
    id: i64,
    name: String,
    #[record(references = Country, index)]
    country_id: i64,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Street {
    id: i64,
    name: String,
    #[record(references = City, index)]
    city_id: i64,
    length: Currency,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Street)]
struct StreetPage {
    name: String,
    #[shape(one = Street::CITY)]
    city: CityPage,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = City)]
struct CityPage {
    name: String,
    #[shape(one = City::COUNTRY)]
    country: Option<Country>,
}

/// Counts what reaches an engine, and the rows that it returns.
#[derive(Clone, Default)]
struct Traffic {
    joins: Arc<AtomicU64>,
    queries: Arc<AtomicU64>,
    rows: Arc<AtomicU64>,
}

impl Traffic {
    /// What has been counted since the last call.
    fn take(&self) -> [u64; 3] {
        [&self.joins, &self.queries, &self.rows].map(|count| count.swap(0, Ordering::Relaxed))
    }
}

struct Measured<E> {
    inner: E,
    traffic: Traffic,
}

struct MeasuredSession<'a> {
    inner: Box<dyn Session + 'a>,
    traffic: &'a Traffic,
}

impl<E: Engine> EngineLayer for Measured<E> {
    fn inner(&self) -> &dyn Engine {
        &self.inner
    }

    fn session(&self) -> bobak::Result<Box<dyn Session + '_>> {
        Ok(Box::new(MeasuredSession { inner: self.inner.session()?, traffic: &self.traffic }))
    }
}

impl SessionLayer for MeasuredSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn open(&self, source: &Source<'_>) -> bobak::Result<bobak::engine::Cursor> {
        self.traffic.queries.fetch_add(1, Ordering::Relaxed);
        self.inner.open(source)
    }

    fn join(
        &self,
        join: &Join,
        row: &mut dyn FnMut(&dyn Row) -> bobak::Result<bool>,
    ) -> bobak::Result<bool> {
        let ran = self.inner.join(join, &mut |found| {
            self.traffic.rows.fetch_add(1, Ordering::Relaxed);
            row(found)
        })?;
        self.traffic.joins.fetch_add(ran.into(), Ordering::Relaxed);
        Ok(ran)
    }
}

fn fill(db: &Db) {
    db.create_missing_tables().unwrap();
    for (id, name) in [(1, "Chad"), (2, "Peru")] {
        db.table().unwrap().insert(&Country { id, name: name.into() }).unwrap();
    }
    for id in 1..=10 {
        let city = City { id, name: format!("city {id}"), country_id: id % 2 + 1 };
        db.table().unwrap().insert(&city).unwrap();
    }
    for id in 1..=500 {
        let length = Currency::from_scaled(id * 10_001);
        let street = Street { id, name: format!("street {id}"), city_id: id % 10 + 1, length };
        db.table().unwrap().insert(&street).unwrap();
    }
}

fn open(url: &str) -> Db {
    Db::builder().record::<Country>().record::<City>().record::<Street>().open(url).unwrap()
}

#[test]
fn one_query_and_the_rows_of_the_result() {
    let traffic = Traffic::default();
    on_bobak_server(Measured { inner: sqlite(), traffic: traffic.clone() }, |url| {
        let (db, local) = (open(url), open("sqlite::memory:"));
        fill(&db);
        fill(&local);
        traffic.take();

        let joined = || Query::<Street>::all().join(Street::CITY).join(City::COUNTRY);
        let totals = joined()
            .and(Street::LENGTH.gt("20".parse::<Currency>().unwrap()))
            .group_by(Country::ID)
            .order_by(Street::LENGTH.sum().desc())
            .select((Country::NAME, Street::LENGTH.sum(), bobak::count::<Street>()));
        let found = db.list(&totals).unwrap();
        assert_eq!(traffic.take(), [1, 0, 2]);
        assert_eq!(found, local.list(&totals).unwrap());

        let rows = joined().and(City::ID.eq(3)).select((whole::<Street>(), Country::NAME));
        assert_eq!(db.list(&rows).unwrap(), local.list(&rows).unwrap());
        assert_eq!(traffic.take(), [1, 0, 50]);

        let few = || Query::<Street>::filter(Street::ID.le(7));
        let load = |db: &Db| db.table::<Street>().unwrap().load::<StreetPage>(few(), &()).unwrap();
        assert_eq!(load(&db), load(&local));
        assert_eq!(traffic.take(), [1, 0, 7]);

        db.transaction(|tx| {
            let city = City { id: 11, name: "new".into(), country_id: 1 };
            tx.table().unwrap().insert(&city).unwrap();
            let names = Query::<City>::filter(City::ID.gt(9)).join(City::COUNTRY);
            assert_eq!(tx.list(&names.select(City::ID)).unwrap(), [10, 11]);
            Ok(())
        })
        .unwrap();
        assert_eq!(traffic.take(), [1, 0, 2]);
    });
}

/// Plans are those of the server's engine.
#[test]
fn plans_of_joins() {
    on_bobak_server(sqlite(), |url| {
        let db = open(url);
        fill(&db);
        let query = Query::<City>::filter(City::NAME.eq("x")).join(City::COUNTRY);
        let plan = db.explain_query(&query.select(Country::NAME)).unwrap().to_string();
        let local = open("sqlite::memory:");
        fill(&local);
        let query = Query::<City>::filter(City::NAME.eq("x")).join(City::COUNTRY);
        let expected = local.explain_query(&query.select(Country::NAME)).unwrap();
        assert_eq!(plan, expected.to_string());
        assert!(plan.contains("an index on name may help"), "{plan}");
    });
}

/// The memory engine runs no joins: the client does.
#[test]
fn declined_joins_are_run_by_the_client() {
    let traffic = Traffic::default();
    let memory = bobak::engine::memory::Memory::new();
    on_bobak_server(Measured { inner: memory, traffic: traffic.clone() }, |url| {
        let db = open(url);
        fill(&db);
        traffic.take();
        let query = Query::<Street>::filter(Street::ID.le(3)).join(Street::CITY);
        let found = db.list(&query.select((Street::ID, City::NAME))).unwrap();
        assert_eq!(found[2], (3, "city 4".to_owned()));
        assert_eq!(traffic.take()[0], 0);
    });
}
