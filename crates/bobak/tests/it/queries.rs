//! Queries, and the ways to read them.

use crate::engines::{Person, on_each, person};
use bobak::prelude::*;
use bobak::{Row, ValueRef};

fn filled(db: &Db) {
    let people = db.table::<Person>().unwrap();
    for (name, age) in
        [("ada", 36), ("bob", 7), ("Cid", 36), ("dan", 50), ("eve", 7), ("Émile", 80)]
    {
        people.insert(&person(name, age)).unwrap();
    }
    people.insert(&Person { email: None, balance: Currency::ZERO, ..person("none", 1) }).unwrap();
}

fn names(people: &Table<'_, Person>, query: impl Into<Query<Person>>) -> String {
    let list = people.list(query).unwrap();
    list.iter().map(|person| person.name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn conditions_orders_and_limits() {
    on_each(|place| {
        let db = place.people();
        filled(&db);
        let people = db.table::<Person>().unwrap();
        let of = |filter| names(&people, filter);
        assert_eq!(of(Person::AGE.eq(36)), "ada Cid");
        assert_eq!(of(Person::AGE.ne(36).and(Person::AGE.lt(60))), "bob dan eve none");
        assert_eq!(of(Person::AGE.between(7, 36)), "ada bob Cid eve");
        assert_eq!(of(Person::AGE.is_in([50, 80, 99])), "dan Émile");
        assert_eq!(of(Person::AGE.is_in(Vec::<i32>::new())), "");
        assert_eq!(of(Person::NAME.like("_i%")), "Cid");
        assert_eq!(of(Person::NAME.like("C%")), "Cid");
        assert_eq!(of(Person::NAME.starts_with("É")), "Émile");
        assert_eq!(of(Person::EMAIL.is_null()), "none");
        assert_eq!(of(Person::EMAIL.eq("ADA@EXAMPLE.ORG")), "ada", "the column ignores case");
        assert_eq!(of(Person::EMAIL.ne("ada@example.org")), "bob Cid dan eve Émile");
        assert_eq!(of(Person::AGE.lt(10).or(Person::AGE.gt(70))), "bob eve Émile none");
        assert_eq!(of(Person::AGE.lt(10).not()), "ada Cid dan Émile");
        assert_eq!(of(Person::BALANCE.le(Currency::ZERO)), "none");

        let by_age = Query::all().order_by(Person::AGE.desc()).order_by(Person::NAME.asc());
        assert_eq!(names(&people, &by_age), "Émile dan Cid ada bob eve none");
        assert_eq!(names(&people, by_age.clone().limit(2).offset(1)), "dan Cid");
        assert_eq!(names(&people, by_age.offset(6)), "none");
        assert_eq!(
            names(&people, Query::all().order_by(Person::AGE.asc()).limit(3)),
            "none bob eve"
        );
        assert_eq!(names(&people, Query::all().limit(0)), "");
        let page = Query::filter(Person::AGE.gt(1)).limit(2);
        assert_eq!(names(&people, page.clone().after(2)), "Cid dan");
        assert_eq!(names(&people, page.after(6)), "");
    });
}

#[test]
fn aggregates_and_groups() {
    on_each(|place| {
        let db = place.people();
        filled(&db);
        let people = db.table::<Person>().unwrap();
        assert_eq!(people.count(Person::AGE.eq(7)).unwrap(), 2);
        assert_eq!(people.sum(Query::all(), Person::AGE).unwrap(), Some(217));
        let money = people.sum(Query::all(), Person::BALANCE).unwrap();
        assert_eq!(money, Some("7.407".parse().unwrap()));
        assert_eq!(people.value(Query::all(), Person::AGE.max()).unwrap(), Some(80));
        assert_eq!(people.value(Query::all(), Person::NAME.min()).unwrap(), Some("Cid".into()));
        let average = people.value(Person::AGE.eq(36), Person::BALANCE.avg()).unwrap();
        assert_eq!(average, Some(1.2345));
        let none = Query::filter(Person::AGE.gt(1_000));
        assert_eq!(people.sum(&none, Person::AGE).unwrap(), None);
        assert_eq!(people.count(&none).unwrap(), 0);
        let groups = people.select(
            Query::all().group_by(Person::AGE).order_by(Person::AGE.desc()),
            (Person::AGE, count(), Person::BALANCE.sum()),
        );
        let double = Some(Currency::from_scaled(24_690));
        assert_eq!(groups.unwrap()[2..4], [(36, 2, double), (7, 2, double)]);
        let wrong = people.select(Query::all(), (Person::NAME, count())).unwrap_err();
        assert_eq!(wrong.kind(), ErrorKind::Schema, "{wrong}");
    });
}

#[test]
fn queries_return_partial_records_and_tuples() {
    #[derive(FromRow, Debug, PartialEq)]
    struct Contact {
        email: Option<String>,
        #[row(column = "name")]
        known_as: String,
    }
    on_each(|place| {
        let db = place.people();
        filled(&db);
        let people = db.table::<Person>().unwrap();
        let contacts: Vec<Contact> = people.list_as(Person::AGE.eq(50)).unwrap();
        let email = Some("dan@example.org".to_owned());
        assert_eq!(contacts, [Contact { email, known_as: "dan".into() }]);
        let pairs = people.select(Person::AGE.lt(7), (Person::NAME, Person::EMAIL)).unwrap();
        assert_eq!(pairs, [("none".to_owned(), None)]);
    });
}

#[test]
fn reads_can_reuse_a_buffer_borrow_rows_and_stop() {
    on_each(|place| {
        let db = place.people();
        filled(&db);
        let people = db.table::<Person>().unwrap();
        let mut record = person("", 0);
        let mut rows = people.iter(Query::all()).unwrap();
        let mut seen = 0;
        while rows.read_into(&mut record).unwrap() {
            seen += 1;
            assert_eq!(record.id, seen);
        }
        drop(rows);
        let mut lengths = 0;
        people
            .for_each_row(Query::all(), |row: &dyn Row| {
                if let ValueRef::Text(name) = row.get(Person::NAME.index()) {
                    lengths += name.len();
                }
                Ok(lengths < 6)
            })
            .unwrap();
        assert_eq!(lengths, 6);
        let stop = Error::new(ErrorKind::Interrupted, "enough");
        let mut stop = Some(stop);
        let error = people.for_each(Query::all(), |_| stop.take().map_or(Ok(()), Err)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
        assert_eq!(people.first(Person::AGE.eq(50)).unwrap().map(|p| p.name), Some("dan".into()));
    });
}

#[test]
fn an_iterator_sees_the_state_of_its_start() {
    on_each(|place| {
        let db = place.people();
        filled(&db);
        let people = db.table::<Person>().unwrap();
        let mut seen = 0;
        for record in people.iter(Query::all().order_by(Person::AGE.asc())).unwrap() {
            let record = record.unwrap();
            assert!(record.age < 1_000, "not the row written below");
            people.set(record.id, [Person::AGE.add(1_000)]).unwrap();
            people.insert(&person(&format!("new{seen}"), 2)).unwrap();
            seen += 1;
        }
        assert_eq!(seen, 7);
        assert_eq!(people.count(Person::AGE.gt(1_000)).unwrap(), 7);
    });
}

#[test]
fn conditions_that_are_nested_too_deeply_are_rejected() {
    let db = Db::builder().record::<Person>().open("memory:").unwrap();
    db.create_missing_tables().unwrap();
    let people = db.table::<Person>().unwrap();
    for depth in [101, 10_000, 1_000_000] {
        let mut filter = Person::AGE.eq(0);
        let mut either = Person::AGE.eq(0);
        for age in 0..depth {
            filter = filter.and(Person::AGE.eq(age)).not();
            either = Person::AGE.ne(age).or(either.and(Person::AGE.gt(0)));
        }
        for filter in [filter.clone(), either.clone(), filter.clone().or(either).not()] {
            let error = people.count(filter).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange);
            assert_eq!(error.message(), "the condition is nested deeper than 200 levels");
        }
        drop(format!("{:?}", filter));
    }
    // What is not nested may be long.
    let long = (0..10_000).fold(Query::all(), |query, age| query.and(Person::AGE.ne(age)));
    assert_eq!(people.count(long).unwrap(), 0);
    let deepest = (0..199).fold(Person::AGE.eq(0), |filter, _| filter.not());
    assert_eq!(people.count(deepest).unwrap(), 0);
}
