//! The same random SQL on every engine and route: the same rows of the same types, or a rejection by all.
//!
//! `cargo xtask sql-compare` runs more statements, with other seeds.

mod http;
mod statements;

use self::http::HttpRoute;
use self::statements::{StatementKind, Statements};
use bobak::engine::sqlite::Sqlite;
use bobak::prelude::*;
use bobak::types::Json;
use bobak::{DbBuilder, Value};
use bobak_core::{ResultColumn, Type};
use bobak_server::Server;

#[derive(Record, Debug, Clone, PartialEq)]
struct Entry {
    id: i64,
    #[record(max = 10)]
    shop: String,
    #[record(max = 10, collation = "nocase")]
    name: String,
    /// Up to 70,000 characters.
    remark: String,
    /// As far as integers go.
    big: i64,
    note: Option<Json<serde_json::Value>>,
    total: Option<Currency>,
    due: Option<Date>,
    clock: Option<Time>,
    noted: Option<DateTime>,
    placed: Option<Timestamp>,
    token: Option<Uuid>,
    quantity: i32,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Store {
    #[record(key, max = 10)]
    code: String,
    least: Currency,
    since: Date,
}

/// A database, and the way to its SQL.
struct Contender {
    name: String,
    db: Db,
    /// The engine that has the table of entries.
    engine: &'static str,
    /// Whether a server runs statements over its tables alone, which converts more than SQLite.
    is_server: bool,
    /// SQL goes this way instead.
    http: Option<HttpRoute>,
}

fn builder() -> DbBuilder {
    Db::builder().record::<Entry>().record::<Store>()
}

fn contender(name: &str, db: DbBuilder, url: &str) -> Contender {
    let is_server = !["sqlite", "memory", "bobak"].iter().any(|scheme| url.starts_with(scheme));
    let db = db.open(url).unwrap();
    Contender { name: name.to_owned(), db, engine: "main", is_server, http: None }
}

/// Both tables on the attached engine.
fn attached(name: &str, url: &str) -> Contender {
    let db = Db::builder().attach("far", url).record_on::<Entry>("far").record_on::<Store>("far");
    Contender { engine: "far", ..contender(name, db, "sqlite::memory:") }
}

/// One table on each engine.
fn pair(main: (&str, &str), far: (&str, &str)) -> Contender {
    let db = Db::builder().record::<Store>().attach("far", far.1).record_on::<Entry>("far");
    let name = format!("{} with {}", main.0, far.0);
    Contender { engine: "far", ..contender(&name, db, main.1) }
}

const SQLITE: (&str, &str) = ("SQLite", "sqlite::memory:");
const MEMORY: (&str, &str) = ("memory", "memory:");

/// SQLite, memory, and connections over the wire and HTTP, each alone and attached.
fn local(server: &Server, http: HttpRoute) -> Vec<Contender> {
    let wire =
        |name: &str| format!("bobak://{}/{name}?token=0123456789abcdef", server.addresses()[0]);
    let file = format!("sqlite:{}", http.file().display());
    vec![
        contender("SQLite", builder(), SQLITE.1),
        contender("memory", builder(), MEMORY.1),
        contender("memory by virtual tables", builder().direct(false), MEMORY.1),
        attached("memory attached", MEMORY.1),
        pair(SQLITE, SQLITE),
        pair(SQLITE, MEMORY),
        pair(MEMORY, SQLITE),
        pair(MEMORY, MEMORY),
        contender("over the wire", builder(), &wire("one")),
        attached("attached over the wire", &wire("two")),
        Contender { http: Some(http), ..contender("HTTP", builder(), &file) },
    ]
}

fn fill(db: &Db) {
    db.create_missing_tables().unwrap();
    for id in 1..=12_i64 {
        let given = |every: i64| id % every != 0;
        let day: Date = format!("2012-12-2{}", 5 + id % 5).parse().unwrap();
        let noted = format!("2012-12-2{}T1{}:00:00.5", id % 5 + 5, id % 3);
        let words = ["x", "5% off", "é", "a_b"];
        let entry = Entry {
            id,
            shop: ["a", "b", "C"][id as usize % 3].to_owned(),
            name: ["Ada", "ADA", "bob", "Bob", "ada"][id as usize % 5].to_owned(),
            remark: words[id as usize % 4].repeat(if id == 2 { 70_000 } else { 1 }),
            big: [i64::MAX, i64::MIN, 9_007_199_254_740_993, -1][id as usize % 4],
            note: given(6).then(|| {
                let tags = serde_json::json!([id, {"c": id as f64 + 0.5}]);
                Json(serde_json::json!({"a": if id % 2 == 0 { "x" } else { "é\"y" }, "b": tags, "t": given(2)}))
            }),
            total: given(5).then(|| Currency::from_scaled(id * 12_345 % 90_000 - 20_000)),
            due: given(4).then_some(day),
            clock: given(7).then(|| format!("1{}:30:00", id % 4).parse().unwrap()),
            noted: given(6).then(|| noted.parse().unwrap()),
            placed: given(11).then(|| format!("{noted}Z").parse().unwrap()),
            token: given(3).then(|| Uuid::from_bytes([id as u8; 16])),
            quantity: id as i32 % 4,
        };
        db.table::<Entry>().unwrap().insert(&entry).unwrap();
    }
    for (code, least, since) in
        [("a", "1", "2012-12-26"), ("b", "2.5", "2012-12-28"), ("d", "0", "2013-01-01")]
    {
        let (least, since) = (least.parse().unwrap(), since.parse().unwrap());
        db.table::<Store>().unwrap().insert(&Store { code: code.into(), least, since }).unwrap();
    }
}

/// A value with the kind of its type, as a person reads it.
fn shown(value: &Value<'_>, column: &ResultColumn) -> String {
    let number = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    match (value, column.ty) {
        (Value::Null, _) => "NULL".to_owned(),
        (Value::Int(scaled), Type::Currency) => number(Currency::from_scaled(*scaled).to_string()),
        (Value::Text(text), Type::Decimal) => number(text.to_string()),
        (value, Type::Date) => format!("date {}", Date::from_value(value.as_ref()).unwrap()),
        (value, Type::Time) => format!("time {}", Time::from_value(value.as_ref()).unwrap()),
        (value, Type::DateTime) => {
            format!("moment {}", DateTime::from_value(value.as_ref()).unwrap())
        }
        (value, Type::Timestamp) => {
            let text = Timestamp::from_value(value.as_ref()).unwrap().to_string();
            format!("moment {}", text.trim_end_matches('Z'))
        }
        (value, Type::Uuid) => format!("uuid {}", Uuid::from_value(value.as_ref()).unwrap()),
        (Value::Int(found), _) => found.to_string(),
        (Value::Float(found), _) => number(found.to_string()),
        (Value::Text(text), _) => format!("text {text}"),
        (other, ty) => format!("{other:?} as {ty:?}"),
    }
}

type Rows = Vec<Vec<String>>;

fn rows(db: &Db, sql: &str) -> bobak::Result<Rows> {
    let rows = db.sql::<DynRow>(sql, ())?;
    let row = |row: &DynRow| {
        let cells = row.values().iter().zip(row.columns());
        cells.map(|(value, column)| shown(value, column)).collect()
    };
    Ok(rows.iter().map(row).collect())
}

/// The cells without the kinds of their types, which JSON has not.
fn without_kinds(rows: Rows) -> Rows {
    let kinds = ["date ", "time ", "moment ", "uuid ", "text "];
    let plain = |cell: String| {
        let found = kinds.iter().find_map(|kind| cell.strip_prefix(kind)).map(str::to_owned);
        found.unwrap_or(cell)
    };
    rows.into_iter().map(|row| row.into_iter().map(plain).collect()).collect()
}

/// What a statement did: the rows of a query; how many rows a change changed, and all rows after it.
type Done = Result<(Option<u64>, Rows), String>;

impl Contender {
    fn run(&self, sql: &str, kind: StatementKind) -> Done {
        const ALL: &str = "SELECT e.id, e.shop, e.name, e.remark, e.big, e.total, e.due, e.clock, e.noted, e.placed, \
                           e.token, e.quantity FROM entry AS e ORDER BY e.id";
        let kind_of = |error: Error| format!("{:?}", error.kind());
        let ask = |sql: &str| match &self.http {
            Some(http) => http.rows(sql),
            None => rows(&self.db, sql).map_err(kind_of),
        };
        if kind == StatementKind::Query {
            return ask(sql).map(|rows| (None, rows));
        }
        let changed = match &self.http {
            Some(http) => http.execute(sql)?,
            None => self.db.execute(sql, ()).map_err(kind_of)?,
        };
        Ok((Some(changed), ask(ALL)?))
    }

    /// All rows as records, and as rows without a struct.
    fn records(&self) -> (Vec<Entry>, Vec<Vec<Value<'static>>>) {
        let mut records = self.db.table::<Entry>().unwrap().list(Query::all()).unwrap();
        records.sort_by_key(|entry| entry.id);
        let dynamic = self.db.dynamic_on(self.engine, "entry").unwrap();
        let rows = dynamic.list(Query::all()).unwrap();
        let mut rows: Vec<_> = rows.iter().map(|row| row.values().to_vec()).collect();
        rows.sort_by_key(|row| i64::from_value(row[0].as_ref()).unwrap());
        (records, rows)
    }
}

impl Contender {
    /// Makes the rows those of another.
    fn copy(&self, other: &Self) {
        let entries = self.db.table::<Entry>().unwrap();
        entries.delete_all().unwrap();
        for entry in other.records().0 {
            entries.insert(&entry).unwrap();
        }
    }
}

fn compare(contenders: &[Contender], statements: u64, seed: u64) {
    contenders.iter().for_each(|contender| fill(&contender.db));
    let mut random = Statements::new(seed);
    let keeps_going = std::env::var_os("BOBAK_SQL_ALL").is_some();
    let mut differences = 0;
    for number in 0..statements {
        let statement = random.next();
        let wanted = contenders[0].run(&statement.sql, statement.kind);
        let records = (wanted.is_ok() && statement.kind == StatementKind::Change)
            .then(|| contenders[0].records());
        for contender in &contenders[1..] {
            if contender.is_server && !statement.is_portable {
                if statement.kind == StatementKind::Change && wanted.is_ok() {
                    contender.copy(&contenders[0]);
                }
                continue;
            }
            let mut found = contender.run(&statement.sql, statement.kind);
            let mut wanted = wanted.clone();
            if contender.http.is_some() {
                wanted = wanted.map(|(changed, rows)| (changed, without_kinds(rows)));
                found = found.map(|(changed, rows)| (changed, without_kinds(rows)));
            }
            let is_same = match (&wanted, &found) {
                // Servers convert more.
                (Err(_), _) if contender.is_server => true,
                (wanted, found) => wanted == found,
            };
            let same_records = records.as_ref().is_none_or(|all| *all == contender.records());
            if !is_same || !same_records {
                differences += 1;
                let sql = &statement.sql;
                let place = format!("seed {seed}, statement {number}, {}: {sql}", contender.name);
                let shown = match is_same {
                    true => "records differ".to_owned(),
                    false => format!("{} instead of {}", brief(&found), brief(&wanted)),
                };
                assert!(keeps_going, "{place}: {shown}");
                println!("DIFFERS {place}: {shown}");
                if statement.kind == StatementKind::Change {
                    return;
                }
            }
        }
        if (number + 1) % 1_000 == 0 {
            println!("seed {seed}: {} statements, {differences} differ", number + 1);
        }
    }
    assert_eq!(differences, 0);
}

/// The start of what was found.
fn brief(done: &Done) -> String {
    format!("{done:?}").chars().take(1_500).collect()
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().unwrap())
}

#[test]
fn sql_means_the_same_on_every_engine() {
    let (statements, seed) = (setting("BOBAK_SQL_STATEMENTS", 200), setting("BOBAK_SQL_SEED", 1));
    let server = Server::builder()
        .database("one", Sqlite::open_memory().unwrap())
        .database("two", Sqlite::open_memory().unwrap());
    let server = server.token("0123456789abcdef").tcp("127.0.0.1:0").start().unwrap();
    let contenders = local(&server, HttpRoute::start());
    compare(&contenders, statements, seed);
    drop(contenders);
    server.stop();
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn sql_means_the_same_on_servers() {
    if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"].iter().any(|v| std::env::var_os(v).is_none()) {
        println!("not run: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
        return;
    }
    let (statements, seed) = (setting("BOBAK_SQL_STATEMENTS", 150), setting("BOBAK_SQL_SEED", 2));
    let postgres = bobak_servers::Postgres::start().unwrap();
    let mariadb = bobak_servers::MariaDb::start().unwrap();
    let number = std::cell::Cell::new(0);
    // Each contender has a schema or a database of its own.
    let next = |name: &str| {
        number.set(number.get() + 1);
        let own = format!("n{}", number.get());
        match name {
            "SQLite" => SQLITE.1.to_owned(),
            "memory" => MEMORY.1.to_owned(),
            "PostgreSQL" => {
                postgres.run(&format!("CREATE SCHEMA {own}")).unwrap();
                format!("{}?schema={own}&connections=3", postgres.url())
            }
            _ => {
                mariadb.run(&format!("CREATE DATABASE {own}")).unwrap();
                let url = mariadb.url();
                let server = url.rsplit_once('/').unwrap().0;
                format!("{server}/{own}?connections=3")
            }
        }
    };
    let mut contenders = vec![contender("SQLite", builder(), SQLITE.1)];
    let all = ["SQLite", "memory", "PostgreSQL", "MariaDB"];
    for main in all {
        contenders.push(contender(&format!("{main} alone"), builder(), &next(main)));
        for far in all {
            contenders.push(pair((main, &next(main)), (far, &next(far))));
        }
    }
    compare(&contenders, statements, seed);
}
