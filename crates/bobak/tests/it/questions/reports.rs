//! Questions about several queries at once, and reports of TPC-H and Northwind.

use super::{Boss, Buyer, Employee, Item, Peer, Product, Sale, ask};
use bobak::prelude::*;
use bobak::query::{Alias, dense_rank, exists, from, not, nth, when, window};

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

/// Unions, and queries of the rows of others.
pub(super) fn of_combined_queries(db: &Db) {
    let people = from::<Buyer>().select((Buyer::NAME, "buyer"));
    let people = people.union_all(from::<Employee>().select((Employee::NAME, "employee")));
    ask(
        db,
        &people.order_by(nth::<1>().asc()).limit(9),
        "SELECT name, 'buyer' AS kind FROM buyer UNION ALL SELECT name, 'employee' FROM employee \
         ORDER BY kind, name LIMIT 9",
    );
    let sold = |first: &str, last: &str| {
        let items = from::<Item>().join(Item::SALE).join(Item::PRODUCT);
        items.and(Sale::SOLD.between(date(first), date(last))).select((Product::ID, Product::NAME))
    };
    let (early, late) = (sold("2023-01-01", "2023-12-08"), sold("2023-12-09", "2023-12-31"));
    let (first, last) = ("'2023-01-01' AND '2023-12-08'", "'2023-12-09' AND '2023-12-31'");
    let sql = |one: &str, word: &str, other: &str| {
        let part = "SELECT p.id, p.name FROM item i JOIN sale s ON s.id = i.sale_id \
                    JOIN product p ON p.id = i.product_id WHERE s.sold BETWEEN";
        format!("{part} {one} {word} {part} {other} ORDER BY 1")
    };
    ask(db, &early.clone().union(late.clone()), &sql(first, "UNION", last));
    ask(db, &early.clone().intersect(late.clone()), &sql(first, "INTERSECT", last));
    ask(db, &late.except(early), &sql(last, "EXCEPT", first));
    let sizes = from::<Item>()
        .group_by(Item::SALE_ID)
        .select((Item::SALE_ID, Item::QUANTITY.sum(), count::<Item>()))
        .into_rows();
    ask(
        db,
        &sizes.select((nth::<1>().max(), nth::<2>().sum(), nth::<0>().count())),
        "SELECT CAST(max(size) AS BIGINT), CAST(sum(parts) AS BIGINT), count(sale_id) FROM (SELECT sale_id, sum(quantity) AS size, \
         count(*) AS parts FROM item GROUP BY sale_id) AS x",
    );
    // TPC-H, question 13: how many buyers have how many sales.
    let counts = Query::<Buyer>::all()
        .left_join(Buyer::SALES)
        .group_by(Buyer::ID)
        .select((Buyer::ID, count::<Sale>()))
        .into_rows();
    ask(
        db,
        &counts
            .group_by(nth::<1>())
            .order_by(nth::<0>().count().desc())
            .order_by(nth::<1>().desc())
            .select((nth::<1>(), nth::<0>().count())),
        "SELECT sales, count(*) FROM (SELECT b.id, count(s.id) AS sales FROM buyer b \
         LEFT JOIN sale s ON s.buyer_id = b.id GROUP BY b.id) AS x GROUP BY sales ORDER BY 2 DESC, 1 DESC",
    );
}

/// Reports in the manner of TPC-H.
pub(super) fn of_reports(db: &Db) {
    let amount = Item::PRICE * Item::QUANTITY;
    // Question 1: a summary of prices.
    let summary = from::<Item>().join(Item::SALE).group_by(Sale::SOLD.year()).select((
        Sale::SOLD.year(),
        Item::QUANTITY.sum(),
        amount.sum(),
        Item::PRICE.max(),
        count::<Item>(),
    ));
    ask(
        db,
        &summary,
        "SELECT date_part('year', s.sold), CAST(sum(i.quantity) AS BIGINT), sum(i.price * i.quantity), max(i.price), \
         count(*) FROM item i JOIN sale s ON s.id = i.sale_id GROUP BY date_part('year', s.sold) ORDER BY 1",
    );
    // Question 4: how many sales of each month have a large line.
    let large = Query::<Item>::filter(Item::QUANTITY.ge(4))
        .subquery()
        .and(Item::SALE_ID.into_expr().eq(Sale::ID));
    ask(
        db,
        &from::<Sale>()
            .and(exists(large))
            .group_by(Sale::SOLD.month())
            .select((Sale::SOLD.month(), count::<Sale>())),
        "SELECT date_part('month', sold), count(*) FROM sale s WHERE EXISTS (SELECT 1 FROM item i \
         WHERE i.sale_id = s.id AND i.quantity >= 4) GROUP BY date_part('month', sold) ORDER BY 1",
    );
    // Question 14: the part of one product in the quantity of each year, as two columns.
    let of = |name: &'static str| when(Product::NAME.eq(name), Item::QUANTITY).otherwise(0).sum();
    ask(
        db,
        &from::<Item>().join(Item::SALE).join(Item::PRODUCT).group_by(Sale::SOLD.year()).select((
            Sale::SOLD.year(),
            of("cup"),
            of("pot"),
            Item::QUANTITY.sum(),
        )),
        "SELECT date_part('year', s.sold), CAST(sum(CASE WHEN p.name = 'cup' THEN i.quantity ELSE 0 END) AS BIGINT), \
         CAST(sum(CASE WHEN p.name = 'pot' THEN i.quantity ELSE 0 END) AS BIGINT), CAST(sum(i.quantity) AS BIGINT) \
         FROM item i JOIN sale s ON s.id = i.sale_id JOIN product p ON p.id = i.product_id \
         GROUP BY date_part('year', s.sold) ORDER BY 1",
    );
    // Question 15: the products with the largest revenue.
    let revenue =
        || from::<Item>().group_by(Item::PRODUCT_ID).select((Item::PRODUCT_ID, amount.sum()));
    let best = revenue().into_rows().select(nth::<1>().max()).value();
    ask(
        db,
        &revenue().and(amount.sum().eq(best)),
        "SELECT product_id, sum(price * quantity) FROM item GROUP BY product_id HAVING sum(price * quantity) = \
         (SELECT max(total) FROM (SELECT sum(price * quantity) AS total FROM item GROUP BY product_id) AS x) ORDER BY 1",
    );
    // Question 18: sales of large quantities, with the buyer.
    ask(
        db,
        &from::<Sale>()
            .join(Sale::BUYER)
            .join(Sale::ITEMS)
            .group_by(Sale::ID)
            .group_by(Buyer::ID)
            .and(Item::QUANTITY.sum().ge(6))
            .order_by(Item::QUANTITY.sum().desc())
            .select((Buyer::NAME, Sale::ID, Sale::SOLD, Item::QUANTITY.sum())),
        "SELECT b.name, s.id, s.sold, CAST(sum(i.quantity) AS BIGINT) FROM sale s JOIN buyer b ON b.id = s.buyer_id \
         JOIN item i ON i.sale_id = s.id GROUP BY s.id, b.id, b.name, s.sold HAVING sum(i.quantity) >= 6 \
         ORDER BY sum(i.quantity) DESC, s.id",
    );
    // Question 22: where the buyers live who bought nothing.
    ask(
        db,
        &from::<Buyer>()
            .and(not(Buyer::ID.is_in_query(from::<Sale>().select(Sale::BUYER_ID))))
            .group_by(Buyer::COUNTRY)
            .select((Buyer::COUNTRY, count::<Buyer>())),
        "SELECT country, count(*) FROM buyer WHERE id NOT IN (SELECT buyer_id FROM sale) GROUP BY country \
         ORDER BY CASE WHEN country IS NULL THEN 0 ELSE 1 END, country",
    );
}

/// Employees and those that they work for.
pub(super) fn of_staff(db: &Db) {
    let staff = Query::<Alias<Employee, Peer>>::all()
        .subquery()
        .and(Employee::BOSS_ID.of_alias::<Peer>().into_expr().eq(Employee::ID));
    let number = staff.select(count::<Alias<Employee, Peer>>()).value().coalesce(0);
    ask(
        db,
        &from::<Employee>().select((Employee::NAME, number)),
        "SELECT name, (SELECT count(*) FROM employee p WHERE p.boss_id = e.id) FROM employee e ORDER BY id",
    );
    let place = dense_rank().over(window().order_by(Employee::PAY.desc()));
    ask(
        db,
        &from::<Employee>().and(place.eq(2)).select((Employee::NAME, Employee::PAY)),
        "SELECT name, pay FROM employee WHERE pay = (SELECT max(pay) FROM employee WHERE pay < \
         (SELECT max(pay) FROM employee)) ORDER BY id",
    );
    ask(
        db,
        &Query::<Employee>::all()
            .left_join(Employee::BOSS.to_alias::<Boss>())
            .select((Employee::NAME, Employee::NAME.of_alias::<Boss>().coalesce("nobody"))),
        "SELECT e.name, coalesce(b.name, 'nobody') FROM employee e LEFT JOIN employee b ON b.id = e.boss_id \
         ORDER BY e.id",
    );
}
