//! Views are read as tables are, through records, by name and by a client, and are never written.

use bobak::batch::OnError;
use bobak::prelude::*;
use bobak::query::PageRequest;
use bobak::schema::{TableSchema, Type};

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "city")]
struct City {
    id: i64,
    name: String,
    country: String,
    people: i64,
    area: Currency,
}

/// A view whose key is known.
#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "large_city", view)]
struct LargeCity {
    #[record(key)]
    id: i64,
    name: String,
    area: Currency,
}

/// A view without a key.
#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "country", view)]
struct Country {
    country: String,
    cities: i64,
}

const VIEWS: [&str; 2] = [
    "CREATE VIEW large_city AS SELECT id, name, area FROM city WHERE people > 100",
    "CREATE VIEW country AS SELECT country, count(*) AS cities FROM city GROUP BY country",
];

fn fill(url: &str) -> Db {
    let db = Db::builder().record::<City>().record::<LargeCity>().open(url).unwrap();
    // The views are not created: SQL does that.
    assert_eq!(db.create_missing_tables().unwrap(), ["created table city"]);
    let missing = db.table::<LargeCity>().map(drop).unwrap_err();
    assert!(missing.message().contains("create it with SQL"), "{missing}");
    for sql in VIEWS {
        db.execute(sql, ()).unwrap();
    }
    let city = |id, name: &str, country: &str, people| City {
        id,
        name: name.to_owned(),
        country: country.to_owned(),
        people,
        area: "51.6".parse().unwrap(),
    };
    let cities = db.table().unwrap();
    for (id, name, country, people) in [
        (1, "Bern", "CH", 134),
        (2, "Thun", "CH", 44),
        (3, "Ulm", "DE", 126),
        (4, "Köln", "DE", 1087),
    ] {
        cities.insert(&city(id, name, country, people)).unwrap();
    }
    db
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.err().expect("fails").kind()
}

fn read(db: &Db) {
    let names: Vec<_> = db.views().unwrap().iter().map(|view| view.name().to_owned()).collect();
    assert_eq!(names, ["country", "large_city"]);
    assert!(db.views().unwrap().iter().all(TableSchema::is_view));
    assert_eq!(db.tables().unwrap().len(), 1);
    let cities = db.table::<LargeCity>().unwrap();
    assert_eq!(cities.count(Query::all()).unwrap(), 3);
    assert_eq!(cities.get(3).unwrap().unwrap().name, "Ulm");
    assert_eq!(cities.get(2).unwrap(), None);
    let query = Query::filter(LargeCity::AREA.ge("51.6".parse::<Currency>().unwrap()))
        .order_by(LargeCity::NAME.desc());
    let page = cities.page::<LargeCity>(query.clone(), &(), PageRequest::size(2)).unwrap();
    assert_eq!(page.items.iter().map(|city| &*city.name).collect::<Vec<_>>(), ["Ulm", "Köln"]);
    let rest = cities.page::<LargeCity>(query, &(), PageRequest::size(2).after(page.next)).unwrap();
    assert_eq!(rest.items[0].id, 1);
    let ids: Vec<_> = cities.iter(Query::all()).unwrap().map(|city| city.unwrap().id).collect();
    assert_eq!(ids, [1, 3, 4], "by the key");

    let countries = db.table::<Country>().unwrap();
    let listed = countries.list(Query::all().order_by(Country::COUNTRY.asc())).unwrap();
    assert_eq!(listed[1], Country { country: "DE".to_owned(), cities: 2 });
    assert_eq!(kind(countries.get(())), ErrorKind::Unsupported);
    assert_eq!(
        kind(countries.page::<Country>(Query::all(), &(), PageRequest::size(2))),
        ErrorKind::Unsupported
    );
    assert_eq!(kind(countries.list(Query::all().after(()))), ErrorKind::Schema);
    let transaction = db.begin().unwrap();
    assert_eq!(transaction.table::<Country>().unwrap().count(Query::all()).unwrap(), 2);
    let dynamic = transaction.dynamic("country").unwrap();
    assert_eq!(dynamic.list(Query::all()).unwrap().len(), 2);
    transaction.rollback().unwrap();

    let dynamic = db.dynamic("large_city").unwrap();
    assert_eq!(dynamic.schema().columns()[2].ty, Type::Currency, "the type of the table's column");
    let found = dynamic.list(Query::filter(dynamic.column("name").unwrap().eq("Bern"))).unwrap();
    assert_eq!(found[0].get::<Currency>("area").unwrap(), "51.6".parse().unwrap());
    assert_eq!(kind(db.dynamic("country").unwrap().get(())), ErrorKind::Unsupported);
}

fn write(db: &Db) {
    let city = LargeCity { id: 9, name: "Genf".to_owned(), area: Currency::ZERO };
    let cities = db.table::<LargeCity>().unwrap();
    let error = cities.insert(&city).unwrap_err();
    assert_eq!(error.message(), "'large_city' is a view: it can only be read");
    let mut batch = db.batch(BatchOptions::new().on_error(OnError::Continue));
    batch.insert(&city).unwrap();
    // Each row fails by itself.
    let report = batch.finish().unwrap();
    let failed: Vec<_> = report.outcomes().map(|row| row.unwrap_err().kind()).collect();
    assert_eq!(failed, [ErrorKind::Unsupported]);
    let row = db.dynamic("large_city").unwrap();
    let mut values = DynRow::new();
    values.set("id", 9).unwrap();
    for result in [
        Err(error),
        cities.update(&city),
        cities.upsert(&city).map(drop),
        cities.delete(1).map(drop),
        cities.delete_where(LargeCity::ID.gt(0)).map(drop),
        cities.set_where(LargeCity::ID.gt(0), [LargeCity::NAME.set("x".to_owned())]).map(drop),
        row.insert(&values).map(drop),
        row.delete([1]).map(drop),
        db.create_table(TableSchema::clone(LargeCity::schema())).map(drop),
    ] {
        assert_eq!(kind(result), ErrorKind::Unsupported);
    }
    assert_eq!(cities.count(Query::all()).unwrap(), 3);
    // Change capture and caches need to know what is written.
    assert_eq!(
        kind(db.track_table("large_city", bobak::changes::TrackOptions::new())),
        ErrorKind::Schema
    );
}

/// A view of a table is not taken for one, nor the other way round.
#[derive(Record)]
#[record(table = "large_city")]
struct NoView {
    id: i64,
    name: String,
}

fn misuse(url: &str) {
    let error = Db::open(url).unwrap().table::<NoView>().map(drop).unwrap_err();
    assert!(error.message().contains("#[record(view)]"), "{error}");
}

#[test]
fn views_of_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("app.db").display());
    let db = fill(&url);
    read(&db);
    write(&db);
    misuse(&url);
    // They are no part of copies and migrations.
    assert!(db.migration_plan(bobak::migration::Drops::Tables).unwrap().steps.is_empty());
    let losses = db.copy_losses(&Db::open("memory:").unwrap(), &[]).unwrap();
    assert_eq!(
        losses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["large_city: view", "country: view"]
    );
    // A view that fails is left out, and virtual tables count as views.
    for sql in [
        "CREATE VIEW broken AS SELECT * FROM nowhere",
        "CREATE VIRTUAL TABLE docs USING fts5(title, body)",
        "INSERT INTO docs VALUES ('Bern', 'a town by a river')",
    ] {
        db.execute(sql, ()).unwrap();
    }
    let names: Vec<_> = db.views().unwrap().iter().map(|view| view.name().to_owned()).collect();
    assert_eq!(names, ["country", "docs", "large_city"]);
    let docs = Db::open(&url).unwrap().dynamic("docs").unwrap();
    assert_eq!(docs.list(Query::all()).unwrap()[0].get::<String>("title").unwrap(), "Bern");
}

/// The type of a sum of PostgreSQL, as which a record has an integer.
#[cfg(feature = "postgres")]
#[test]
fn columns_of_long_numbers_are_cast_in_the_view() {
    #[derive(Record, Debug)]
    #[record(view, table = "total_sale")]
    struct TotalSale {
        #[record(key)]
        id: i64,
        total: i64,
    }
    crate::engines::on_postgres(|url| {
        let db = Db::builder().record::<TotalSale>().open(url).unwrap();
        let view = |total: &str| {
            format!("CREATE VIEW total_sale AS SELECT 1::bigint AS id, {total} AS total")
        };
        db.execute(&view("7::numeric(18,0)"), ()).unwrap();
        let error = db.table::<TotalSale>().map(drop).unwrap_err();
        assert!(error.to_string().contains("is text: cast it, for example in the view"), "{error}");
        db.execute("DROP VIEW total_sale", ()).unwrap();
        db.execute(&view("7::numeric(18,0)::bigint"), ()).unwrap();
        let sale = db.table::<TotalSale>().unwrap().require(1).unwrap();
        assert_eq!((sale.id, sale.total), (1, 7));
    });
}

#[cfg(feature = "remote")]
#[test]
fn views_over_the_wire() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let db = fill(&format!("sqlite:{}", path.display()));
    drop(db);
    let engine = bobak_sqlite::Sqlite::open(&path).unwrap();
    let token = "a-secret-token-of-the-test";
    let server = bobak_server::Server::builder()
        .token(token)
        .database("main", engine)
        .tcp("127.0.0.1:0")
        .start()
        .unwrap();
    let url = format!("bobak://{}/main?token={token}", server.addresses()[0]);
    let db = Db::open(&url).unwrap();
    read(&db);
    write(&db);
    misuse(&url);
}

#[cfg(feature = "postgres")]
#[test]
fn views_of_postgres() {
    if std::env::var_os("BOBAK_TEST_POSTGRES").is_none() {
        println!("not run: BOBAK_TEST_POSTGRES is not set");
        return;
    }
    let server = bobak_servers::Postgres::start().unwrap();
    let db = fill(&server.url());
    read(&db);
    write(&db);
    misuse(&server.url());
    db.execute("CREATE MATERIALIZED VIEW named AS SELECT name FROM city", ()).unwrap();
    assert_eq!(
        Db::open(&server.url()).unwrap().dynamic("named").unwrap().count(Query::all()).unwrap(),
        4
    );
}

#[cfg(feature = "mysql")]
#[test]
fn views_of_mariadb() {
    if std::env::var_os("BOBAK_TEST_MARIADB").is_none() {
        println!("not run: BOBAK_TEST_MARIADB is not set");
        return;
    }
    let server = bobak_servers::MariaDb::start().unwrap();
    let db = fill(&server.url());
    read(&db);
    write(&db);
    misuse(&server.url());
}

#[test]
fn views_of_firebird() {
    crate::engines::on_firebird(|url| {
        let db = fill(url);
        read(&db);
        write(&db);
        misuse(url);
    });
}

/// Joins views of an attached engine with tables and views of the main one.
fn join_views(main: &str, other: &str) {
    fill(other).execute("CREATE VIEW twice AS SELECT country, area FROM city", ()).unwrap();
    let cities = fill(main);
    cities.execute("DELETE FROM city WHERE id = 4", ()).unwrap();
    drop(cities);
    let db = Db::builder().attach("other", other).open(main).unwrap();
    let names = |sql: &str| -> Vec<String> {
        let rows = db.sql::<(String,)>(sql, ());
        rows.unwrap_or_else(|error| panic!("{main} and {other}: {sql}: {error}"))
            .into_iter()
            .map(|(name,)| name)
            .collect()
    };
    let sql = "SELECT c.name || ' ' || v.name FROM city AS c JOIN other.large_city AS v ON v.id = c.id \
               WHERE v.area > 51 ORDER BY c.id";
    assert_eq!(names(sql), ["Bern Bern", "Ulm Ulm"]);
    let sql = "SELECT v.name FROM large_city AS v JOIN other.country AS o ON o.country = v.country_of \
               ORDER BY v.id";
    let sql = sql.replace("v.country_of", "'DE'");
    assert_eq!(names(&sql), ["Bern", "Ulm"]);
    let sql = "SELECT v.name FROM other.large_city AS v LEFT JOIN large_city AS m ON m.id = v.id WHERE m.id IS NULL";
    assert_eq!(names(sql), ["Köln"]);
    // A view has no key: equal rows stay apart.
    let twice = "SELECT t.country FROM other.twice AS t JOIN city AS c ON c.id = 1 \
                 WHERE t.country = 'CH' OR t.area > 51.5 ORDER BY 1";
    assert_eq!(names(twice), ["CH", "CH", "DE", "DE"], "{main} and {other}");
    let one = db.sql::<(Currency,)>("SELECT area FROM other.large_city WHERE id = 3", ()).unwrap();
    assert_eq!(one, [("51.6".parse().unwrap(),)]);
    // A join with a table of the main engine, which the views' own engine cannot run.
    for sql in [
        "INSERT INTO other.large_city (id, name) SELECT id, name FROM city",
        "DELETE FROM other.twice WHERE country IN (SELECT country FROM city)",
        "UPDATE other.large_city SET name = 'x' WHERE id IN (SELECT id FROM city)",
    ] {
        let error = db.execute(sql, ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{main} and {other}: {sql}: {error}");
    }
}

#[test]
fn views_join_tables_of_other_engines() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    join_views(&file("a.db"), &file("b.db"));
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    {
        if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"]
            .iter()
            .any(|v| std::env::var_os(v).is_none())
        {
            println!("not run: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
            return;
        }
        let (postgres, mariadb) =
            (bobak_servers::Postgres::start().unwrap(), bobak_servers::MariaDb::start().unwrap());
        let server = mariadb.url();
        let server = server.rsplit_once('/').unwrap().0;
        for number in 0..4 {
            postgres.run(&format!("CREATE SCHEMA s{number}")).unwrap();
            mariadb.run(&format!("CREATE DATABASE s{number}")).unwrap();
        }
        let on_postgres = |number: u32| format!("{}?schema=s{number}", postgres.url());
        let on_mariadb = |number: u32| format!("{server}/s{number}");
        join_views(&file("c.db"), &on_postgres(0));
        join_views(&file("d.db"), &on_mariadb(0));
        join_views(&on_postgres(1), &file("e.db"));
        join_views(&on_postgres(2), &on_mariadb(2));
        join_views(&on_mariadb(3), &on_postgres(3));
    }
}
