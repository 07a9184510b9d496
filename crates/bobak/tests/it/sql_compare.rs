//! The same random SQL on every engine and route: the same rows of the same types, or a rejection by all.
//!
//! `cargo xtask sql-compare` runs more statements, with other seeds.

use bobak::engine::sqlite::Sqlite;
use bobak::prelude::*;
use bobak::{DbBuilder, Value};
use bobak_core::{ResultColumn, Type};
use bobak_server::Server;

#[derive(Record, Debug, Clone, PartialEq)]
struct Entry {
    id: i64,
    #[record(max = 10)]
    shop: String,
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

/// A database, and whether it compares values that SQLite rejects.
struct Contender {
    name: String,
    db: Db,
    is_server: bool,
}

fn builder() -> DbBuilder {
    Db::builder().record::<Entry>().record::<Store>()
}

fn attached(url: &str) -> DbBuilder {
    let db = Db::builder().attach("far", url);
    db.record_on::<Entry>("far").record_on::<Store>("far")
}

fn contender(name: &str, db: bobak::Result<Db>) -> Contender {
    let is_server = name.ends_with("as main");
    Contender { name: name.to_owned(), db: db.unwrap(), is_server }
}

/// SQLite, memory and a connection over the wire, each alone and attached.
fn local(server: &Server) -> Vec<Contender> {
    let memory = "memory:";
    let sqlite = "sqlite::memory:";
    let wire =
        |name: &str| format!("bobak://{}/{name}?token=0123456789abcdef", server.addresses()[0]);
    let mixed = Db::builder().record::<Store>().attach("far", memory).record_on::<Entry>("far");
    vec![
        contender("SQLite", builder().open(sqlite)),
        contender("memory", builder().open(memory)),
        contender("memory by virtual tables", builder().direct(false).open(memory)),
        contender("memory attached", attached(memory).open(sqlite)),
        contender("joined", mixed.open(sqlite)),
        contender("over the wire", builder().open(&wire("one"))),
        contender("attached over the wire", attached(&wire("two")).open(sqlite)),
    ]
}

fn fill(db: &Db) {
    db.create_missing_tables().unwrap();
    for id in 1..=12_i64 {
        let given = |every: i64| id % every != 0;
        let day: Date = format!("2012-12-2{}", 5 + id % 5).parse().unwrap();
        let noted = format!("2012-12-2{}T1{}:00:00.5", id % 5 + 5, id % 3);
        let entry = Entry {
            id,
            shop: ["a", "b", "C"][id as usize % 3].to_owned(),
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

/// Random statements in what all dialects share.
struct Statements {
    seed: u64,
    /// Whether UUIDs are compared with their text: MariaDB keeps 16 bytes.
    uuid_texts: bool,
    next_id: i64,
}

impl Statements {
    fn below(&mut self, end: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.seed >> 33) % end
    }

    fn pick(&mut self, from: &[&str]) -> String {
        from[self.below(from.len() as u64) as usize].to_owned()
    }

    fn amount(&mut self, depth: u64) -> String {
        let literal = self.pick(&["5", "0.5", "-1.25", "0", "3.7035", "10"]);
        if depth > 2 {
            return self.pick(&["e.total", "e.total", &literal]);
        }
        let inner = self.amount(depth + 1);
        match self.below(9) {
            0 => format!("({inner} + {literal})"),
            1 => format!("(e.total - {inner})"),
            2 => format!("({inner} * {})", self.pick(&["2", "3", "e.quantity"])),
            3 => format!("abs({inner})"),
            4 => format!("coalesce(e.total, {literal})"),
            5 => format!("CASE WHEN {} THEN e.total ELSE {literal} END", self.condition(depth + 1)),
            6 => format!("nullif(e.total, {literal})"),
            7 => "(SELECT s.least FROM store AS s WHERE s.code = e.shop)".to_owned(),
            _ => "e.total".to_owned(),
        }
    }

    /// A column of a date or time and a literal of it.
    fn moment(&mut self) -> (&'static str, String) {
        match self.below(4) {
            0 => ("e.due", self.pick(&["'2012-12-26'", "'2013-01-01'"])),
            1 => ("e.clock", self.pick(&["'11:30:00'", "'12:30:00'"])),
            2 => ("e.noted", self.pick(&["'2012-12-26'", "'2012-12-27 11:00:00.5'"])),
            _ => ("e.placed", self.pick(&["'2012-12-26'", "'2012-12-27 11:00:00.5'"])),
        }
    }

    fn condition(&mut self, depth: u64) -> String {
        let compare = self.pick(&["=", "<", "<=", ">", ">=", "<>"]);
        match self.below(if depth > 1 { 8 } else { 12 }) {
            0 => format!("{} {compare} {}", self.amount(depth + 2), self.amount(depth + 2)),
            1 => format!("e.total {compare} 2.469"),
            2 => "e.total IN (1.2345, 2.469, -0.7655)".to_owned(),
            3 | 4 => {
                let (column, literal) = self.moment();
                format!("{column} {compare} {literal}")
            }
            5 if !self.uuid_texts => "e.token IS NOT NULL".to_owned(),
            5 => "e.token = '02020202-0202-0202-0202-020202020202'".to_owned(),
            6 => format!("{} IS {}NULL", self.moment().0, self.pick(&["", "NOT "])),
            7 => format!("e.quantity {compare} {}", self.below(4)),
            8 => format!("NOT ({})", self.condition(depth + 1)),
            9 => "EXISTS (SELECT 1 FROM store AS s WHERE s.code = e.shop AND s.least < e.total)"
                .into(),
            10 => format!("(e.due < e.placed OR {})", self.condition(depth + 1)),
            _ => format!("({} AND {})", self.condition(depth + 1), self.condition(depth + 1)),
        }
    }

    fn query(&mut self) -> String {
        let (condition, amount) = (self.condition(0), self.amount(0));
        let moment = self.moment().0;
        match self.below(6) {
            0 => format!(
                "SELECT e.id, {amount} AS x, {moment}, e.token FROM entry AS e WHERE {condition} ORDER BY e.id"
            ),
            1 => format!(
                "SELECT e.shop, count(*), sum({amount}), min({moment}), max(e.total) FROM entry AS e \
                 WHERE {condition} GROUP BY e.shop HAVING count(*) > 1 ORDER BY e.shop"
            ),
            2 => format!(
                "SELECT e.id, s.least + e.total, s.since FROM entry AS e JOIN store AS s ON s.code = e.shop \
                 AND e.total > s.least WHERE {condition} ORDER BY e.id"
            ),
            3 => format!(
                "SELECT e.id, sum(e.total) OVER (PARTITION BY e.shop ORDER BY e.id), lag({moment}) OVER (ORDER BY e.id) \
                 FROM entry AS e WHERE {condition} ORDER BY e.id"
            ),
            4 => format!(
                "SELECT e.id, e.total FROM entry AS e WHERE {condition} UNION ALL SELECT 99, 7.5 ORDER BY 1"
            ),
            _ => format!(
                "WITH c AS (SELECT e.id, e.shop, {amount} AS x, {moment} AS m FROM entry AS e WHERE {condition}) \
                 SELECT c.id, c.x + 1, c.m FROM c LEFT JOIN store AS s ON s.code = c.shop AND c.x > s.least ORDER BY c.id"
            ),
        }
    }

    /// What SQLite rejects, since it would compare values of types that have no common meaning.
    fn wrong(&mut self) -> String {
        let condition = self.pick(&[
            "total > 'x'",
            "due = 5",
            "due = 'soon'",
            "placed > 1.5",
            "clock < 3",
            "total = due",
            "token = 'short'",
            "total > 0.00001",
            "due + 1 > '2013-01-01'",
        ]);
        format!("SELECT id FROM entry WHERE {condition}")
    }

    fn change(&mut self) -> String {
        // One table, not an alias: UPDATE and DELETE have none on some servers.
        let condition = self.condition(1).replace("e.", "entry.");
        match self.below(4) {
            0 => {
                self.next_id += 1;
                let (total, due) =
                    (self.pick(&["1.5", "-2", "NULL"]), self.pick(&["'2012-12-29'", "NULL"]));
                format!(
                    "INSERT INTO entry (id, shop, total, due, clock, noted, placed, token, quantity) VALUES \
                     ({}, 'b', {total}, {due}, '11:30:00.25', '2012-12-27', '2012-12-27 11:00:00', \
                      {}, 1)",
                    self.next_id,
                    if self.uuid_texts { "'03030303-0303-0303-0303-030303030303'" } else { "NULL" },
                )
            }
            1 => format!(
                "UPDATE entry SET total = total + 1.5, due = '2012-12-26' WHERE {condition}"
            ),
            2 => format!(
                "UPDATE entry SET placed = noted, clock = '10:00:00', quantity = 2 WHERE {condition}"
            ),
            _ => format!("DELETE FROM entry WHERE id > 12 AND {condition}"),
        }
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

fn ask(db: &Db, sql: &str) -> bobak::Result<Vec<String>> {
    let rows = db.sql::<DynRow>(sql, ())?;
    let row = |row: &DynRow| {
        let cells = row.values().iter().zip(row.columns());
        cells.map(|(value, column)| shown(value, column)).collect::<Vec<_>>().join(", ")
    };
    Ok(rows.iter().map(row).collect())
}

fn compare(contenders: &[Contender], statements: u64, seed: u64) {
    contenders.iter().for_each(|contender| fill(&contender.db));
    let uuid_texts = !contenders.iter().any(|contender| contender.is_server);
    let mut random = Statements { seed, uuid_texts, next_id: 12 };
    let all =
        "SELECT id, shop, total, due, clock, noted, placed, token, quantity FROM entry ORDER BY id";
    for number in 0..statements {
        let (sql, is_change) = match random.below(8) {
            0 => (random.change(), true),
            1 => (random.wrong(), false),
            _ => (random.query(), false),
        };
        let run = |db: &Db| match is_change {
            true => db.execute(&sql, ()).and_then(|changed| Ok((Some(changed), ask(db, all)?))),
            false => Ok((None, ask(db, &sql)?)),
        };
        let wanted = run(&contenders[0].db);
        for contender in &contenders[1..] {
            let found = run(&contender.db);
            let place = || format!("seed {seed}, statement {number}, {}: {sql}", contender.name);
            match (&wanted, &found) {
                // Servers convert more.
                (Err(_), _) if contender.is_server => {}
                (Err(wanted), Err(found)) => assert_eq!(found.kind(), wanted.kind(), "{}", place()),
                (Ok(wanted), Ok(found)) => assert_eq!(found.1, wanted.1, "{}", place()),
                (wanted, found) => panic!("{}: {found:?} instead of {wanted:?}", place()),
            }
            if let (Ok((Some(wanted), _)), Ok((Some(found), _))) = (&wanted, &found) {
                assert_eq!(found, wanted, "{}", place());
            }
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().unwrap())
}

#[test]
fn sql_means_the_same_on_every_engine() {
    let (statements, seed) = (setting("BOBAK_SQL_STATEMENTS", 300), setting("BOBAK_SQL_SEED", 1));
    let server = Server::builder()
        .database("one", Sqlite::open_memory().unwrap())
        .database("two", Sqlite::open_memory().unwrap());
    let server = server.token("0123456789abcdef").tcp("127.0.0.1:0").start().unwrap();
    let contenders = local(&server);
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
    let (statements, seed) = (setting("BOBAK_SQL_STATEMENTS", 200), setting("BOBAK_SQL_SEED", 2));
    let postgres = bobak_servers::Postgres::start().unwrap();
    let mariadb = bobak_servers::MariaDb::start().unwrap();
    postgres.run("CREATE SCHEMA other").unwrap();
    mariadb.run("CREATE DATABASE other").unwrap();
    let (first, second) = (mariadb.url(), format!("{}?schema=other", postgres.url()));
    let other = first.rsplit_once('/').map(|(server, _)| format!("{server}/other")).unwrap();
    let contenders = [
        contender("SQLite", builder().open("sqlite::memory:")),
        contender("PostgreSQL as main", builder().open(&postgres.url())),
        contender("MariaDB as main", builder().open(&first)),
        contender("PostgreSQL attached", attached(&second).open("sqlite::memory:")),
        contender("MariaDB attached", attached(&other).open("sqlite::memory:")),
    ];
    compare(&contenders, statements, seed);
}
