//! Unions, intersections, differences and queries of rows: as statements against rows of this process, and known rows.

use crate::engines::on_each;
use crate::join_paths::{Area, Paths, Person, Random, Task, vary};
use bobak::prelude::*;
use bobak::query::{AnyOf, PageRequest, from, not, nth, rank, window};

fn random_sets(paths: &Paths, random: &mut Random) {
    let hours = random.below(5) as i32 - 2;
    let text = random.text();
    let names = from::<Person>().select((Person::AREA_ID, Person::PAY));
    let (names, low) = (names, from::<Task>().and(Task::HOURS.le(hours)).join(Task::PERSON));
    let low = low.select((Person::AREA_ID, Person::PAY));
    let some = from::<Person>()
        .and(Person::AREA_ID.le(text.clone()))
        .select((Person::AREA_ID, Person::PAY));
    let some = if random.below(2) == 0 { some.limit(4) } else { some };
    let both = match random.below(5) {
        0 => names.union(low),
        1 => names.union_all(some),
        2 => names.intersect(low),
        3 => names.except(low).union_all(some),
        _ => low.into_rows(),
    };
    let query = vary!(
        random,
        both,
        [
            nth::<1>().is_not_null(),
            AnyOf((nth::<0>().eq(text), nth::<1>().gt(random.money()))),
            rank().over(window().order_by(nth::<1>().desc())).le(5),
        ],
        [nth::<1>().desc(), nth::<0>().asc().nulls_last()]
    );
    let lengths = nth::<0>().coalesce("none").length();
    match random.below(4) {
        0 => paths.compare(&query),
        1 => paths.compare(&query.select((lengths, nth::<1>().coalesce(Currency::from_scaled(0))))),
        2 => paths.compare(&query.group_by(nth::<0>()).select((
            nth::<0>(),
            nth::<1>().sum(),
            nth::<1>().count(),
        ))),
        _ => paths
            .compare(&query.select((nth::<0>(), lengths)).into_rows().order_by(nth::<1>().desc())),
    }
}

fn random_rows(paths: &Paths, random: &mut Random) {
    let hours = random.below(5) as i32 - 2;
    let by_person = from::<Task>().and(Task::HOURS.gt(hours)).group_by(Task::PERSON_ID).select((
        Task::PERSON_ID,
        Task::RATE.sum(),
        count::<Task>(),
    ));
    let totals = by_person.into_rows();
    match random.below(3) {
        0 => paths.compare(&totals.select((nth::<1>().avg(), nth::<2>().max()))),
        1 => paths.compare(&totals.group_by(nth::<2>()).select((nth::<2>(), nth::<0>().count()))),
        _ => {
            let busy = totals.and(nth::<2>().gt(2)).select(nth::<0>());
            paths.compare(
                &from::<Person>().and(not(Person::ID.is_in_query(busy))).select(Person::ID),
            );
        }
    }
    let days = from::<Area>().select((Area::FOUNDED, Area::CODE));
    let other = from::<Area>().and(Area::NAME.is_null()).select((Area::FOUNDED, Area::CODE));
    paths.compare(&days.clone().except(other.clone()));
    paths.compare(&days.union_all(other).select((nth::<0>().max(), nth::<0>().year().min())));
}

pub(crate) fn check(url: &str) {
    let paths = Paths::open(url);
    paths.joined();
    let mut random = Random(23);
    for _ in 0..120 {
        random_sets(&paths, &mut random);
        random_rows(&paths, &mut random);
    }
    let joined = paths.joined();
    assert!(joined > 300, "{joined} of 480 as one statement on {url}");
}

#[test]
fn combined_queries_as_statements_have_the_same_rows() {
    on_each(|place| {
        if !place.is_memory_engine() {
            check(&place.url);
        }
    });
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn combined_queries_of_servers_have_the_same_rows() {
    crate::engines::on_servers(check);
}

#[derive(Record)]
#[record(table = "combined_buyer")]
struct Buyer {
    id: i64,
    name: String,
    city: Option<String>,
}

#[derive(Record)]
#[record(table = "combined_seller")]
struct Seller {
    id: i64,
    name: String,
    city: Option<String>,
    #[record(deleted_at)]
    closed: Option<Timestamp>,
}

fn fixed(url: &str) {
    let db = Db::builder().record::<Buyer>().record::<Seller>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    for (name, city) in [("Anna", Some("Bern")), ("Bob", None), ("Carl", Some("Bern"))] {
        let city = city.map(str::to_owned);
        db.table().unwrap().insert(&Buyer { id: 0, name: name.into(), city }).unwrap();
    }
    let sellers = db.table::<Seller>().unwrap();
    for (name, city) in [("Bob", None), ("Anna", Some("Genf")), ("Eve", Some("Bern"))] {
        let city = city.map(str::to_owned);
        sellers.insert(&Seller { id: 0, name: name.into(), city, closed: None }).unwrap();
    }
    sellers.delete(3).unwrap();
    let own = |name: &str, city: Option<&str>| (name.to_owned(), city.map(str::to_owned));
    let buyers = || from::<Buyer>().select((Buyer::NAME, Buyer::CITY));
    let all_sellers = || from::<Seller>().select((Seller::NAME, Seller::CITY));
    let [anna, bob, carl] =
        [own("Anna", Some("Bern")), own("Bob", None), own("Carl", Some("Bern"))];
    let genf = own("Anna", Some("Genf"));
    let all = db.list(&buyers().union_all(all_sellers())).unwrap();
    assert_eq!(all, [anna.clone(), genf.clone(), bob.clone(), bob.clone(), carl.clone()]);
    let different = buyers().union(all_sellers()).order_by(nth::<0>().desc());
    assert_eq!(db.list(&different).unwrap(), [carl.clone(), bob.clone(), anna.clone(), genf]);
    assert_eq!(db.list(&buyers().intersect(all_sellers())).unwrap(), std::slice::from_ref(&bob));
    assert_eq!(db.list(&buyers().except(all_sellers()).limit(1)).unwrap(), [anna]);
    let labelled = from::<Buyer>().select((Buyer::NAME, "buyer"));
    let labelled = labelled.union_all(from::<Seller>().select((Seller::NAME, "seller")));
    let counts = labelled.group_by(nth::<1>()).select((nth::<1>(), nth::<0>().count_distinct()));
    let wanted = [("buyer".to_owned(), 3), ("seller".to_owned(), 2)];
    assert_eq!(db.list(&counts).unwrap(), wanted);
    let last = from::<Buyer>().order_by(Buyer::ID.desc()).select((Buyer::ID, Buyer::NAME)).limit(2);
    let last = last.into_rows().and(nth::<1>().ne("Carl")).select(nth::<1>());
    assert_eq!(db.list(&last).unwrap(), ["Bob"]);
    let page = db.page(&buyers().union(all_sellers()), PageRequest::size(2)).err();
    assert_eq!(page.map(|error| error.kind()), Some(ErrorKind::Unsupported));
}

#[test]
fn combined_queries_are_the_same_on_each_engine() {
    on_each(|place| fixed(&place.url));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn combined_queries_are_the_same_on_servers() {
    crate::engines::on_servers(fixed);
}

#[test]
#[cfg(feature = "remote")]
fn combined_queries_are_the_same_through_a_server() {
    let engine = bobak_sqlite::Sqlite::builder().open_memory().unwrap();
    crate::engines::on_bobak_server(engine, fixed);
}
