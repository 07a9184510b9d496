//! Locations: distances and boxes in queries of expressions, on each engine, against all rows calculated here.

use crate::engines::on_each;
use bobak::prelude::*;
use bobak::query::{Location, from, location, not};
use bobak::relation::ToMany;

#[derive(Record)]
struct City {
    id: i64,
    name: String,
}

#[derive(Record, Clone)]
#[record(index(latitude, longitude))]
struct Cafe {
    id: i64,
    #[record(references = City, index)]
    city_id: i64,
    latitude: f64,
    longitude: f64,
    /// The entrance without steps.
    ramp_latitude: Option<f64>,
    ramp_longitude: Option<f64>,
}

impl City {
    const CAFES: ToMany<City, Cafe> = Cafe::CITY.inverse();
}

/// Cafés around Bern, the meridian of 180° and a pole, and some that are nowhere.
fn cafes() -> Vec<Cafe> {
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut cafes = Vec::new();
    for (latitude, longitude) in [(46.95, 7.45), (-17.0, 179.9), (89.9, 0.0), (95.0, 0.0)] {
        for n in 0..40 {
            let latitude = latitude + random() / 5.0 - 0.1;
            let longitude = longitude + random() / 2.0 - 0.25;
            let longitude = if longitude > 180.0 { longitude - 360.0 } else { longitude };
            let ramp = (n % 3 == 0).then_some((latitude + 0.01, longitude));
            cafes.push(Cafe {
                id: cafes.len() as i64 + 1,
                city_id: 1 + n % 2,
                latitude,
                longitude,
                ramp_latitude: ramp.map(|ramp| ramp.0),
                ramp_longitude: ramp.map(|ramp| ramp.1),
            });
        }
    }
    cafes
}

fn open(url: &str) -> Db {
    let db = Db::builder().record::<City>().record::<Cafe>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    for name in ["north", "south"] {
        db.table().unwrap().insert(&City { id: 0, name: name.into() }).unwrap();
    }
    let mut batch = db.batch(BatchOptions::new());
    for cafe in cafes() {
        batch.insert(&cafe).unwrap();
    }
    batch.finish().unwrap();
    db
}

fn at(latitude: f64, longitude: f64) -> Location {
    Location::new(latitude, longitude).unwrap()
}

fn distance_of(cafe: &Cafe, from: Location) -> Option<f64> {
    Some(Location::new(cafe.latitude, cafe.longitude).ok()?.distance_to(from))
}

/// Nearest first, by circles of several sizes; no row outside of the circle, and none left out.
fn nearest(db: &Db) {
    for center in [at(46.948, 7.4474), at(-17.0, -179.95), at(90.0, 30.0), at(0.0, 0.0)] {
        for metres in [0.0, 900.0, 7_500.0, 30_000.0, 30_000_000.0] {
            let distance = location(Cafe::LATITUDE, Cafe::LONGITUDE).distance_to(center);
            let query = from::<Cafe>().and(distance.le(metres)).order_by(distance.asc());
            let found = db.list(&query.select((Cafe::ID, distance))).unwrap();
            let near = |cafe: Cafe| Some((cafe.id, Some(distance_of(&cafe, center)?)));
            let mut expected: Vec<_> = cafes().into_iter().filter_map(near).collect();
            expected.retain(|(_, distance)| distance.is_some_and(|distance| distance <= metres));
            expected.sort_by(|a, b| a.1.partial_cmp(&b.1).unwrap());
            assert_eq!(found, expected, "{center:?} {metres}");
        }
    }
}

fn nulls_groups_and_joins(db: &Db) {
    let bern = at(46.948, 7.4474);
    let ramp = location(Cafe::RAMP_LATITUDE, Cafe::RAMP_LONGITUDE).distance_to(bern);
    let has_ramp = |cafe: &Cafe| cafe.ramp_latitude.is_some_and(|latitude| latitude <= 90.0);
    let with_ramp = cafes().into_iter().filter(has_ramp).count();
    let found = db.list(&from::<Cafe>().and(ramp.is_not_null()).select(Cafe::ID)).unwrap();
    assert_eq!(found.len(), with_ramp);

    let own = location(Cafe::LATITUDE, Cafe::LONGITUDE).distance_to(bern);
    let cities = Query::<City>::all()
        .join(City::CAFES)
        .and(own.lt(12_000.0))
        .group_by(City::ID)
        .select((City::NAME, count::<Cafe>(), own.min()));
    let found = db.list(&cities).unwrap();
    for (name, count, least) in found {
        let city_id = if name == "north" { 1 } else { 2 };
        let own = cafes().into_iter().filter(|cafe| cafe.city_id == city_id);
        let near: Vec<f64> = own.filter_map(|cafe| distance_of(&cafe, bern)).collect();
        let near: Vec<_> = near.into_iter().filter(|metres| *metres < 12_000.0).collect();
        assert_eq!(count, near.len() as i64, "{name}");
        assert_eq!(least, near.into_iter().reduce(f64::min), "{name}");
    }
    let far = from::<Cafe>().and(not(own.lt(12_000.0))).select(Cafe::ID);
    let near = from::<Cafe>().and(own.lt(12_000.0)).select(Cafe::ID);
    let known = cafes().iter().filter(|cafe| distance_of(cafe, bern).is_some()).count();
    assert_eq!(db.list(&far).unwrap().len() + db.list(&near).unwrap().len(), known);
}

fn boxes(db: &Db) {
    for (south_west, north_east) in [
        (at(46.9, 7.4), at(47.0, 7.5)),
        (at(-17.05, 179.8), at(-16.95, -179.95)),
        (at(47.0, 7.4), at(46.9, 7.5)),
    ] {
        let inside = location(Cafe::LATITUDE, Cafe::LONGITUDE).in_box(south_west, north_east);
        let found = db.list(&from::<Cafe>().and(inside).select(Cafe::ID)).unwrap();
        let is_inside = |cafe: &Cafe| {
            let (west, east) = (south_west.longitude(), north_east.longitude());
            let is_east = match west <= east {
                true => (west..=east).contains(&cafe.longitude),
                false => cafe.longitude >= west || cafe.longitude <= east,
            };
            is_east && (south_west.latitude()..=north_east.latitude()).contains(&cafe.latitude)
        };
        let expected: Vec<i64> =
            cafes().iter().filter(|cafe| is_inside(cafe)).map(|c| c.id).collect();
        assert_eq!(found, expected, "{south_west:?}");
    }
}

fn all(url: &str) {
    let db = open(url);
    nearest(&db);
    nulls_groups_and_joins(&db);
    boxes(&db);
}

#[test]
fn locations_are_found() {
    on_each(|place| all(&place.url));
}

#[test]
fn locations_are_found_on_servers() {
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(all);
    crate::engines::on_firebird(all);
}

/// A filter by a distance reads the rows of a part of the index, and not all rows.
#[test]
fn a_circle_is_found_by_an_index() {
    for url in ["sqlite::memory:", "memory:"] {
        let db = open(url);
        let distance = location(Cafe::LATITUDE, Cafe::LONGITUDE).distance_to(at(46.948, 7.4474));
        let query = from::<Cafe>().and(distance.lt(500.0)).select(Cafe::ID);
        let plan = db.explain_query(&query).unwrap();
        assert!(plan.to_string().to_lowercase().contains("search "), "{plan}");
    }
}
