//! Questions of TPC-H about sales: rankings, shares, and conditions over several tables.

use super::{Buyer, Item, Peer, Product, Sale, ask};
use bobak::prelude::*;
use bobak::query::{Alias, AllOf, AnyOf, from, not, when};

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

/// The largest sales, buyers and countries.
pub(super) fn of_rankings(db: &Db) {
    let amount = Item::PRICE * Item::QUANTITY;
    // Question 3: the largest sales to one country before a day.
    let largest = from::<Sale>()
        .join(Sale::BUYER)
        .join(Sale::ITEMS)
        .and(Buyer::COUNTRY.eq("CH"))
        .and(Sale::SOLD.lt(date("2024-03-01")))
        .group_by(Sale::ID)
        .order_by(amount.sum().desc())
        .limit(3);
    ask(
        db,
        &largest.select((Sale::ID, amount.sum(), Sale::SOLD)),
        "SELECT s.id, sum(i.price * i.quantity), s.sold FROM sale s JOIN buyer b ON b.id = s.buyer_id \
         JOIN item i ON i.sale_id = s.id WHERE b.country = 'CH' AND s.sold < '2024-03-01' \
         GROUP BY s.id, s.sold ORDER BY sum(i.price * i.quantity) DESC, s.id LIMIT 3",
    );
    // Question 5: the revenue of each country in one year.
    let countries = from::<Sale>()
        .join(Sale::BUYER)
        .join(Sale::ITEMS)
        .and(Sale::SOLD.between(date("2024-01-01"), date("2024-12-31")))
        .and(Buyer::COUNTRY.is_not_null())
        .group_by(Buyer::COUNTRY)
        .order_by(amount.sum().desc())
        .select((Buyer::COUNTRY, amount.sum()));
    ask(
        db,
        &countries,
        "SELECT b.country, sum(i.price * i.quantity) FROM sale s JOIN buyer b ON b.id = s.buyer_id \
         JOIN item i ON i.sale_id = s.id WHERE s.sold BETWEEN '2024-01-01' AND '2024-12-31' \
         AND b.country IS NOT NULL GROUP BY b.country ORDER BY sum(i.price * i.quantity) DESC, b.country",
    );
    // Question 10: the buyers who spent most in a quarter.
    let spenders = from::<Sale>()
        .join(Sale::BUYER)
        .join(Sale::ITEMS)
        .and(Sale::SOLD.between(date("2023-10-01"), date("2023-12-31")))
        .group_by(Buyer::ID)
        .order_by(amount.sum().desc())
        .limit(2)
        .select((Buyer::ID, Buyer::NAME, amount.sum()));
    ask(
        db,
        &spenders,
        "SELECT b.id, b.name, sum(i.price * i.quantity) FROM sale s JOIN buyer b ON b.id = s.buyer_id \
         JOIN item i ON i.sale_id = s.id WHERE s.sold BETWEEN '2023-10-01' AND '2023-12-31' \
         GROUP BY b.id, b.name ORDER BY sum(i.price * i.quantity) DESC, b.id LIMIT 2",
    );
}

/// Parts of a whole, and conditions over several tables.
pub(super) fn of_shares(db: &Db) {
    let amount = Item::PRICE * Item::QUANTITY;
    // Question 11: the products with more than a fifth of the revenue.
    let all = from::<Item>().select(amount.sum());
    let important = from::<Item>()
        .group_by(Item::PRODUCT_ID)
        .and((amount.sum() * 5).gt(all.value()))
        .order_by(amount.sum().desc())
        .select((Item::PRODUCT_ID, amount.sum()));
    ask(
        db,
        &important,
        "SELECT product_id, sum(price * quantity) FROM item GROUP BY product_id HAVING sum(price * quantity) * 5 > \
         (SELECT sum(price * quantity) FROM item) ORDER BY sum(price * quantity) DESC, product_id",
    );
    // Question 12: sales with and without a note, as two columns.
    let with = when(Sale::NOTE.is_not_null(), 1).otherwise(0).sum();
    let without = when(Sale::NOTE.is_null(), 1).otherwise(0).sum();
    ask(
        db,
        &from::<Sale>().group_by(Sale::SOLD.year()).select((Sale::SOLD.year(), with, without)),
        "SELECT date_part('year', sold), CAST(sum(CASE WHEN note IS NOT NULL THEN 1 ELSE 0 END) AS BIGINT), \
         CAST(sum(CASE WHEN note IS NULL THEN 1 ELSE 0 END) AS BIGINT) FROM sale \
         GROUP BY date_part('year', sold) ORDER BY 1",
    );
    // Question 16: how many buyers a product has, without those of one country.
    let swiss = from::<Buyer>().and(Buyer::COUNTRY.eq("CH")).select(Buyer::ID);
    let kinds = from::<Sale>()
        .join(Sale::ITEMS)
        .and(not(Sale::BUYER_ID.is_in_query(swiss)))
        .group_by(Item::PRODUCT_ID)
        .order_by(Sale::BUYER_ID.count_distinct().desc())
        .select((Item::PRODUCT_ID, Sale::BUYER_ID.count_distinct()));
    ask(
        db,
        &kinds,
        "SELECT i.product_id, count(DISTINCT s.buyer_id) FROM sale s JOIN item i ON i.sale_id = s.id \
         WHERE s.buyer_id NOT IN (SELECT id FROM buyer WHERE country = 'CH') GROUP BY i.product_id \
         ORDER BY count(DISTINCT s.buyer_id) DESC, i.product_id",
    );
    // Question 17: lines with less than the average quantity of their product.
    let average = Query::<Alias<Item, Peer>>::all()
        .subquery()
        .and(Item::PRODUCT_ID.of_alias::<Peer>().into_expr().eq(Item::PRODUCT_ID))
        .select(Item::QUANTITY.of_alias::<Peer>().avg());
    ask(
        db,
        &from::<Item>().and(Item::QUANTITY.to_float().lt(average.value())).select(Item::ID),
        "SELECT id FROM item i WHERE quantity < (SELECT avg(p.quantity) FROM item p \
         WHERE p.product_id = i.product_id) ORDER BY id",
    );
    // Question 19: one of several pairs of conditions over two tables.
    let few_cups = AllOf((Product::NAME.eq("cup"), Item::QUANTITY.between(1, 2)));
    let many_pots = AllOf((Product::NAME.eq("pot"), Item::QUANTITY.ge(3)));
    ask(
        db,
        &from::<Item>()
            .join(Item::PRODUCT)
            .and(AnyOf((few_cups, many_pots)))
            .select((amount.sum(), count::<Item>())),
        "SELECT sum(i.price * i.quantity), count(*) FROM item i JOIN product p ON p.id = i.product_id \
         WHERE (p.name = 'cup' AND i.quantity BETWEEN 1 AND 2) OR (p.name = 'pot' AND i.quantity >= 3)",
    );
}
