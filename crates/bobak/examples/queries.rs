//! Queries: filters, order, pages, aggregates, and SQL.
//!
//! `cargo run -p bobak --example queries`

use bobak::prelude::*;

#[derive(Record, Debug)]
struct City {
    id: i64,
    name: String,
    country: String,
    people: i64,
}

/// Some columns of a city.
#[derive(FromRow, Debug)]
struct CityName {
    name: String,
    people: i64,
}

fn main() -> bobak::Result<()> {
    let db = Db::builder().record::<City>().open("sqlite::memory:")?;
    db.create_missing_tables()?;
    let cities = db.table::<City>()?;
    for (name, country, people) in [
        ("Bern", "CH", 134_000),
        ("Thun", "CH", 43_000),
        ("Ulm", "DE", 126_000),
        ("Bonn", "DE", 330_000),
    ] {
        cities.insert(&City { id: 0, name: name.into(), country: country.into(), people })?;
    }

    // Columns are typed constants of the record.
    let large = cities.list(City::PEOPLE.gt(100_000).and(City::COUNTRY.eq("DE")))?;
    assert_eq!(large.len(), 2);

    let second_page = Query::all().order_by(City::PEOPLE.desc()).limit(2).offset(2);
    for city in cities.iter(second_page)? {
        println!("{}", city?.name);
    }

    let smaller: Vec<CityName> = cities.list_as(City::NAME.starts_with("B"))?;
    println!("{} and {} with {} people", smaller[0].name, smaller[1].name, smaller[1].people);

    let by_country = cities.select(
        Query::all().group_by(City::COUNTRY),
        (City::COUNTRY, count(), City::PEOPLE.sum()),
    )?;
    for (country, number, people) in by_country {
        println!("{country}: {number} cities, {people:?} people");
    }

    // SQL, with typed rows and parameters.
    let names =
        db.sql::<String>("SELECT name FROM city WHERE people < ? ORDER BY name", (100_000,))?;
    assert_eq!(names, ["Thun"]);
    Ok(())
}
