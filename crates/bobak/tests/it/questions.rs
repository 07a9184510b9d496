//! Questions that are often asked in SQL, as typed queries: the rows are those of SQL by hand, on each engine.

mod reports;
mod tpch;

use crate::engines::on_each;
use bobak::FromRow;
use bobak::prelude::*;
use bobak::query::{
    Alias, DatePart, DateUnit, JoinQuery, exists, from, not, rank, row_number, when, window,
};
use bobak::relation::ToMany;
use std::cell::Cell;
use std::fmt::Debug;
use std::time::{Duration, Instant};

#[derive(Record)]
struct Buyer {
    id: i64,
    name: String,
    country: Option<String>,
}

#[derive(Record)]
struct Product {
    id: i64,
    name: String,
    price: Currency,
}

#[derive(Record)]
struct Sale {
    id: i64,
    #[record(references = Buyer, index)]
    buyer_id: i64,
    sold: Date,
    note: Option<String>,
}

#[derive(Record)]
struct Item {
    id: i64,
    #[record(references = Sale, index)]
    sale_id: i64,
    #[record(references = Product, index)]
    product_id: i64,
    price: Currency,
    quantity: i64,
}

#[derive(Record)]
struct Employee {
    id: i64,
    name: String,
    pay: i64,
    #[record(references = Employee)]
    boss_id: Option<i64>,
}

/// The name of an employee's boss in a join.
struct Boss;

/// The name of another employee in a query.
struct Peer;

impl Buyer {
    const SALES: ToMany<Buyer, Sale> = Sale::BUYER.inverse();
}

impl Sale {
    const ITEMS: ToMany<Sale, Item> = Item::SALE.inverse();
}

fn open(url: &str) -> Db {
    let db = Db::builder().record::<Buyer>().record::<Product>().record::<Sale>().record::<Item>();
    let db = db.record::<Employee>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    let countries = [Some("CH"), Some("DE"), None, Some("CH"), Some("AT"), Some("DE"), Some("CH")];
    let names = ["Anna", "bob", "ANNA", "Carl", "Ädi", "Bob", "Dora"];
    for (name, country) in names.into_iter().zip(countries) {
        let country = country.map(str::to_owned);
        db.table().unwrap().insert(&Buyer { id: 0, name: name.into(), country }).unwrap();
    }
    for (n, name) in ["tea", "cup", "pot", "tray", "spoon"].into_iter().enumerate() {
        let price = Currency::from_scaled([40_000, 80_000, 255_000, 80_000, 5_000][n]);
        db.table().unwrap().insert(&Product { id: 0, name: name.into(), price }).unwrap();
    }
    let days = ["2023-11-20", "2023-11-25", "2023-12-09", "2023-12-31", "2024-01-01", "2024-01-21"];
    let days = days.into_iter().chain(["2024-02-03", "2024-02-29", "2024-03-04", "2024-03-31"]);
    let days: Vec<Date> = days.map(|day| day.parse().unwrap()).collect();
    for (n, sold) in days.into_iter().enumerate() {
        let n = n as i64;
        let note = (n % 3 == 0).then(|| format!("note {n}"));
        let sale = Sale { id: 0, buyer_id: n * n % 6 + 1, sold, note };
        let sale_id = db.table().unwrap().insert(&sale).unwrap();
        for line in 0..=n % 3 {
            let (product_id, quantity) = ((n * 2 + line) % 4 + 1, (n + line) % 5 + 1);
            let price = Currency::from_scaled(product_id * 12_345);
            let item = Item { id: 0, sale_id, product_id, price, quantity };
            db.table().unwrap().insert(&item).unwrap();
        }
    }
    for (id, name, pay, boss_id) in [
        (1, "Ada", 90, None),
        (2, "Ben", 95, Some(1)),
        (3, "Cyd", 60, Some(2)),
        (4, "Dan", 97, Some(2)),
    ] {
        let employee = Employee { id, name: name.into(), pay, boss_id };
        db.table().unwrap().insert(&employee).unwrap();
    }
    db
}

thread_local! {
    /// The questions so far, and the times of typed queries and of SQL.
    static TIMES: Cell<(u32, Duration, Duration)> = Cell::default();
}

/// How often the times are taken; the shortest one counts.
const RUNS: usize = 3;

/// Compares the rows of a typed query with those of SQL.
fn ask<L, R: FromRow + Debug + PartialEq>(db: &Db, query: &JoinQuery<L, R>, sql: &str) {
    let (rows, typed) = timed(|| db.list(query).unwrap());
    assert!(!rows.is_empty(), "{sql}");
    let (wanted, by_hand) = timed(|| db.sql::<R>(sql, ()).unwrap());
    assert_eq!(rows, wanted, "{sql}");
    let (count, all_typed, all_by_hand) = TIMES.get();
    TIMES.set((count + 1, all_typed + typed, all_by_hand + by_hand));
}

fn timed<R>(run: impl Fn() -> R) -> (R, Duration) {
    let run = || {
        let begun = Instant::now();
        (run(), begun.elapsed())
    };
    let again = (1..RUNS).map(|_| run().1).min().unwrap_or(Duration::MAX);
    let (result, time) = run();
    (result, time.min(again))
}

fn of_products_and_buyers(db: &Db) {
    let dearest = from::<Product>().order_by(Product::PRICE.desc()).limit(3);
    ask(
        db,
        &dearest.select((Product::NAME, Product::PRICE)),
        "SELECT name, price FROM product ORDER BY price DESC, id LIMIT 3",
    );
    let prices =
        from::<Product>().select(Product::PRICE).distinct().order_by(Product::PRICE.desc());
    ask(
        db,
        &prices.limit(1).offset(1),
        "SELECT DISTINCT price FROM product ORDER BY price DESC LIMIT 1 OFFSET 1",
    );
    let frequent = from::<Buyer>()
        .group_by(Buyer::COUNTRY)
        .and(count::<Buyer>().gt(1))
        .order_by(count::<Buyer>().desc())
        .select((Buyer::COUNTRY, count::<Buyer>()));
    ask(
        db,
        &frequent,
        "SELECT country, count(*) FROM buyer GROUP BY country HAVING count(*) > 1 \
         ORDER BY count(*) DESC, country",
    );
    let same_name = from::<Buyer>()
        .group_by(Buyer::NAME.lower())
        .and(count::<Buyer>().gt(1))
        .select((Buyer::NAME.lower(), Buyer::ID.min()));
    ask(
        db,
        &same_name,
        "SELECT lower(name), min(id) FROM buyer GROUP BY lower(name) HAVING count(*) > 1 ORDER BY 1",
    );
    let idle = from::<Buyer>().and(Buyer::SALES.is_empty()).select(Buyer::NAME);
    ask(
        db,
        &idle,
        "SELECT name FROM buyer WHERE id NOT IN (SELECT buyer_id FROM sale) ORDER BY id",
    );
    let labels =
        from::<Buyer>().select(Buyer::NAME.concat(" / ").concat(Buyer::COUNTRY.coalesce("?")));
    ask(db, &labels, "SELECT name || ' / ' || coalesce(country, '?') FROM buyer ORDER BY id");
    let by_initial = from::<Buyer>()
        .group_by(Buyer::NAME.substring(1, 1))
        .select((Buyer::NAME.substring(1, 1), Buyer::NAME.length().max()));
    let wanted: Vec<(String, Option<i64>)> = ["A", "B", "C", "D", "b", "Ä"]
        .map(|c| (c.to_owned(), Some(if "bBÄ".contains(c) { 3 } else { 4 })))
        .into();
    assert_eq!(db.list(&by_initial).unwrap(), wanted);
}

fn of_sales(db: &Db) {
    let amount = Item::PRICE * Item::QUANTITY;
    let revenue = from::<Item>()
        .join(Item::PRODUCT)
        .group_by(Product::ID)
        .order_by(amount.sum().desc())
        .select((Product::NAME, amount.sum(), Item::QUANTITY.sum()));
    ask(
        db,
        &revenue,
        "SELECT p.name, sum(i.price * i.quantity), CAST(sum(i.quantity) AS BIGINT) FROM item i \
         JOIN product p ON p.id = i.product_id GROUP BY p.id, p.name \
         ORDER BY sum(i.price * i.quantity) DESC, p.id",
    );
    let months = from::<Sale>().group_by(Sale::SOLD.year()).group_by(Sale::SOLD.month()).select((
        Sale::SOLD.year(),
        Sale::SOLD.month(),
        count::<Sale>(),
    ));
    ask(
        db,
        &months,
        "SELECT date_part('year', sold), date_part('month', sold), count(*) FROM sale \
         GROUP BY date_part('year', sold), date_part('month', sold) ORDER BY 1, 2",
    );
    let weekends = from::<Sale>().and(Sale::SOLD.part(DatePart::IsoDayOfWeek).ge(6));
    ask(
        db,
        &weekends.select((Sale::ID, Sale::SOLD)),
        "SELECT id, sold FROM sale WHERE date_part('isodow', sold) >= 6 ORDER BY id",
    );
    let variety = from::<Sale>()
        .join(Sale::ITEMS)
        .group_by(Sale::BUYER_ID)
        .order_by(Item::PRODUCT_ID.count_distinct().desc())
        .select((Sale::BUYER_ID, Item::PRODUCT_ID.count_distinct()));
    ask(
        db,
        &variety,
        "SELECT s.buyer_id, count(DISTINCT i.product_id) FROM sale s JOIN item i ON i.sale_id = s.id \
         GROUP BY s.buyer_id ORDER BY count(DISTINCT i.product_id) DESC, s.buyer_id",
    );
    let swiss = when(Buyer::COUNTRY.eq("CH"), 1).otherwise(0);
    let noted = Sale::NOTE.count();
    let counts = from::<Sale>().join(Sale::BUYER).select((swiss.sum(), noted, count::<Sale>()));
    ask(
        db,
        &counts,
        "SELECT CAST(sum(CASE WHEN b.country = 'CH' THEN 1 ELSE 0 END) AS BIGINT), count(s.note), count(*) \
         FROM sale s JOIN buyer b ON b.id = s.buyer_id",
    );
    let size = || {
        when(Item::QUANTITY.ge(4), "large").when(Item::QUANTITY.ge(2), "medium").otherwise("small")
    };
    let sizes = from::<Item>().group_by(size()).select((size(), count::<Item>(), amount.sum()));
    ask(
        db,
        &sizes,
        "SELECT size, count(*), sum(amount) FROM (SELECT CASE WHEN quantity >= 4 THEN 'large' \
         WHEN quantity >= 2 THEN 'medium' ELSE 'small' END AS size, price * quantity AS amount FROM item) AS x \
         GROUP BY size ORDER BY size",
    );
    let (from_day, to_day) =
        ("2024-01-01".parse::<Date>().unwrap(), "2024-03-31".parse::<Date>().unwrap());
    let quarter = from::<Item>()
        .join(Item::SALE)
        .and(Sale::SOLD.between(from_day, to_day))
        .and(Item::QUANTITY.lt(4))
        .select((amount.sum(), count::<Item>()));
    ask(
        db,
        &quarter,
        "SELECT sum(i.price * i.quantity), count(*) FROM item i JOIN sale s ON s.id = i.sale_id \
         WHERE s.sold BETWEEN '2024-01-01' AND '2024-03-31' AND i.quantity < 4",
    );
}

fn of_employees(db: &Db) {
    let boss_pay = Employee::PAY.of_alias::<Boss>();
    let richer = from::<Employee>()
        .join(Employee::BOSS.to_alias::<Boss>())
        .and(Employee::PAY.into_expr().gt(boss_pay))
        .select((Employee::NAME, Employee::NAME.of_alias::<Boss>(), Employee::PAY - boss_pay));
    ask(
        db,
        &richer,
        "SELECT e.name, b.name, e.pay - b.pay FROM employee e JOIN employee b ON b.id = e.boss_id \
         WHERE e.pay > b.pay ORDER BY e.id",
    );
    let all: Vec<(Employee, Option<Alias<Employee, Boss>>)> =
        db.list(&from::<Employee>().left_join(Employee::BOSS.to_alias::<Boss>())).unwrap();
    assert_eq!(all.iter().filter(|(_, boss)| boss.is_none()).count(), 1);
}

/// Queries inside of others.
fn of_nested_queries(db: &Db) {
    let average = from::<Product>().select(Product::PRICE.to_float().avg());
    let dear = from::<Product>().and(Product::PRICE.to_float().gt(average.value()));
    ask(
        db,
        &dear.select(Product::NAME),
        "SELECT name FROM product WHERE price > (SELECT avg(price) FROM product) ORDER BY id",
    );
    let sold = from::<Item>().select(Item::PRODUCT_ID);
    ask(
        db,
        &from::<Product>().and(not(Product::ID.is_in_query(sold))).select(Product::NAME),
        "SELECT name FROM product WHERE id NOT IN (SELECT product_id FROM item) ORDER BY id",
    );
    let sales = || Query::<Sale>::all().subquery().and(Sale::BUYER_ID.into_expr().eq(Buyer::ID));
    let day: Date = "2024-03-01".parse().unwrap();
    let lost = from::<Buyer>()
        .and(exists(sales()))
        .and(not(exists(sales().and(Sale::SOLD.ge(day)))))
        .select(Buyer::NAME);
    ask(
        db,
        &lost,
        "SELECT name FROM buyer b WHERE EXISTS (SELECT 1 FROM sale s WHERE s.buyer_id = b.id) AND NOT EXISTS \
         (SELECT 1 FROM sale s WHERE s.buyer_id = b.id AND s.sold >= '2024-03-01') ORDER BY id",
    );
    let last = sales().select(Sale::SOLD.max()).value();
    let counts = sales().select(count::<Sale>()).value();
    ask(
        db,
        &from::<Buyer>().order_by(Buyer::NAME.asc()).select((Buyer::NAME, last, counts)),
        "SELECT name, (SELECT max(sold) FROM sale s WHERE s.buyer_id = b.id), \
         (SELECT count(*) FROM sale s WHERE s.buyer_id = b.id) FROM buyer b ORDER BY name, id",
    );
    let peers = Query::<Alias<Employee, Peer>>::all()
        .subquery()
        .and(Employee::BOSS_ID.of_alias::<Peer>().into_expr().eq(Employee::BOSS_ID))
        .select(Employee::PAY.of_alias::<Peer>().max());
    ask(
        db,
        &from::<Employee>().and(Employee::PAY.into_expr().eq(peers.value())).select(Employee::NAME),
        "SELECT name FROM employee e WHERE pay = (SELECT max(pay) FROM employee p WHERE p.boss_id = e.boss_id) \
         ORDER BY id",
    );
    let both = |name: &'static str| {
        let items = Query::<Item>::all().subquery().join(Item::PRODUCT);
        exists(items.and(Item::SALE_ID.into_expr().eq(Sale::ID)).and(Product::NAME.eq(name)))
    };
    ask(
        db,
        &from::<Sale>().and(both("cup")).and(both("pot")).select(Sale::ID),
        "SELECT sale_id FROM item i JOIN product p ON p.id = i.product_id WHERE p.name IN ('cup', 'pot') \
         GROUP BY sale_id HAVING count(DISTINCT p.id) = 2 ORDER BY sale_id",
    );
    let large = from::<Item>()
        .group_by(Item::SALE_ID)
        .and(Item::QUANTITY.sum().gt(5))
        .select(Item::SALE_ID);
    ask(
        db,
        &from::<Sale>()
            .join(Sale::BUYER)
            .and(Sale::ID.is_in_query(large))
            .select((Sale::ID, Buyer::NAME)),
        "SELECT s.id, b.name FROM sale s JOIN buyer b ON b.id = s.buyer_id WHERE s.id IN (SELECT sale_id FROM item \
         GROUP BY sale_id HAVING sum(quantity) > 5) ORDER BY s.id",
    );
}

/// Window functions.
fn of_windows(db: &Db) {
    let month = Sale::SOLD.start_of(DateUnit::Month);
    let sold = Item::QUANTITY.sum();
    let place = row_number().over(window().partition_by(month).order_by(sold.desc()));
    let best = from::<Item>()
        .join(Item::SALE)
        .join(Item::PRODUCT)
        .group_by(month)
        .group_by(Product::ID)
        .and(place.eq(1))
        .select((Sale::SOLD.min(), Product::NAME, sold));
    ask(
        db,
        &best,
        "SELECT first, name, CAST(sold AS BIGINT) FROM (SELECT min(s.sold) AS first, p.name AS name, \
         sum(i.quantity) AS sold, p.id, date_part('year', s.sold) * 12 + date_part('month', s.sold) AS month, \
         row_number() OVER (PARTITION BY date_part('year', s.sold), date_part('month', s.sold) \
         ORDER BY sum(i.quantity) DESC, p.id) AS place FROM item i JOIN sale s ON s.id = i.sale_id \
         JOIN product p ON p.id = i.product_id GROUP BY date_part('year', s.sold), date_part('month', s.sold), \
         p.id, p.name) AS x WHERE place = 1 ORDER BY month",
    );
    let latest = window().partition_by(Sale::BUYER_ID).order_by(Sale::SOLD.desc());
    ask(
        db,
        &from::<Sale>().and(row_number().over(latest).le(2)).select((Sale::BUYER_ID, Sale::ID)),
        "SELECT buyer_id, id FROM (SELECT buyer_id, id, row_number() OVER (PARTITION BY buyer_id ORDER BY sold DESC, id) \
         AS place FROM sale) AS x WHERE place <= 2 ORDER BY id",
    );
    let by_id = || window().order_by(Item::ID.asc());
    let before = Item::QUANTITY.lag(1).over(by_id());
    ask(
        db,
        &from::<Item>().select((
            Item::ID,
            Item::QUANTITY.sum().over(by_id()),
            Item::QUANTITY - before,
        )),
        "SELECT id, CAST(sum(quantity) OVER (ORDER BY id) AS BIGINT), quantity - lag(quantity) OVER (ORDER BY id) \
         FROM item ORDER BY id",
    );
    let average =
        from::<Item>().select((Item::QUANTITY.avg().over(by_id().last_rows(3)), Item::ID));
    let rows = db.list(&average).unwrap();
    let quantities = db.list(&from::<Item>().select(Item::QUANTITY)).unwrap();
    for (at, (average, _)) in rows.into_iter().enumerate() {
        let last = &quantities[(at + 1).saturating_sub(3)..=at];
        assert_eq!(average, Some(last.iter().sum::<i64>() as f64 / last.len() as f64));
    }
    let place = rank().over(window().order_by(Employee::PAY.desc()));
    ask(
        db,
        &from::<Employee>().order_by(place.asc()).select((Employee::NAME, place)),
        "SELECT name, rank() OVER (ORDER BY pay DESC) FROM employee ORDER BY 2, id",
    );
    let share = Item::QUANTITY.sum() * 100 / Item::QUANTITY.sum().sum().over(window());
    let shares =
        from::<Item>().join(Item::PRODUCT).group_by(Product::ID).select((Product::NAME, share));
    let sums = "SELECT p.name, CAST(sum(i.quantity) AS BIGINT), (SELECT CAST(sum(quantity) AS BIGINT) FROM item) \
                FROM item i JOIN product p ON p.id = i.product_id GROUP BY p.id, p.name ORDER BY p.id";
    let sums = db.sql::<(String, i64, i64)>(sums, ()).unwrap();
    let wanted: Vec<_> =
        sums.into_iter().map(|(name, sum, all)| (name, Some(sum * 100 / all))).collect();
    assert_eq!(db.list(&shares).unwrap(), wanted);
}

fn check(url: &str) {
    let db = open(url);
    TIMES.take();
    tpch::of_rankings(&db);
    tpch::of_shares(&db);
    reports::of_combined_queries(&db);
    reports::of_reports(&db);
    reports::of_staff(&db);
    of_windows(&db);
    of_nested_queries(&db);
    of_products_and_buyers(&db);
    of_sales(&db);
    of_employees(&db);
    let (count, typed, by_hand) = TIMES.take();
    let ratio = typed.as_secs_f64() / by_hand.as_secs_f64();
    println!("{count} questions: typed {typed:?}, SQL by hand {by_hand:?}, ratio {ratio:.2}");
    assert!(count >= 40, "{count}");
}

#[test]
fn typed_questions_have_the_rows_of_sql() {
    on_each(|place| check(&place.url));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn typed_questions_have_the_rows_of_sql_on_servers() {
    crate::engines::on_servers(check);
}

#[test]
#[cfg(feature = "remote")]
fn typed_questions_have_the_rows_of_sql_through_a_server() {
    let engine = bobak_sqlite::Sqlite::builder().open_memory().unwrap();
    crate::engines::on_bobak_server(engine, check);
}
