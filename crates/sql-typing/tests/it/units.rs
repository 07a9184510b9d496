use crate::tables::{analyzed, check};
use bobak_core::Type;

#[test]
fn literals_become_stored_values() {
    check(&[
        ("select id from orders where total > 5", "SELECT id FROM orders WHERE total > 50000"),
        (
            "select id from orders where -0.5 <= total",
            "SELECT id FROM orders WHERE (- 5000) <= total",
        ),
        (
            "select id from orders where placed >= '2013-01-01'",
            "SELECT id FROM orders WHERE placed >= 1356998400000000",
        ),
        (
            "select id from orders where placed = '2013-01-01T01:00:00+01:00'",
            "SELECT id FROM orders WHERE placed = 1356998400000000",
        ),
        (
            "select id from orders where due between '1970-01-02' and '1970-01-03'",
            "SELECT id FROM orders WHERE due BETWEEN 1 AND 2",
        ),
        (
            "select id from orders where opens < '00:00:01.5'",
            "SELECT id FROM orders WHERE opens < 1500000",
        ),
        (
            "select id from orders where local = '1970-01-01 00:00:01'",
            "SELECT id FROM orders WHERE local = 1000000",
        ),
        (
            "select id from orders where total in (1, 2.5, null)",
            "SELECT id FROM orders WHERE total IN (10000, 25000, NULL)",
        ),
        (
            "select id from orders where token = '00000000-0000-0000-0000-0000000000ff'",
            "SELECT id FROM orders WHERE token = X'000000000000000000000000000000FF'",
        ),
        (
            "select id from orders where (total, due) = (1, '1970-01-02')",
            "SELECT id FROM orders WHERE (total, due) = (10000, 1)",
        ),
        (
            "select id from orders where total = ?",
            "SELECT id FROM orders WHERE total = bobak_amount_given(?1)",
        ),
        (
            "select id from orders where placed < :at",
            "SELECT id FROM orders WHERE placed < bobak_timestamp(:at)",
        ),
        (
            "select id from orders where placed < current_timestamp",
            "SELECT id FROM orders WHERE placed < bobak_timestamp(CURRENT_TIMESTAMP)",
        ),
        (
            "select id from orders where due = cast('1970-01-02' as date)",
            "SELECT id FROM orders WHERE due = (1)",
        ),
        (
            "select id from orders where total > quantity",
            "SELECT id FROM orders WHERE total > bobak_amount(quantity)",
        ),
        (
            "select id from orders where due < placed",
            "SELECT id FROM orders WHERE (due * 86400000000) < placed",
        ),
        (
            "select case due when '1970-01-02' then 'b' end x from orders",
            "SELECT CASE due WHEN 1 THEN 'b' END x FROM orders",
        ),
    ]);
}

#[test]
fn the_shared_vocabulary_is_rewritten() {
    check(&[
        (
            "select date_part('month', placed) x from orders",
            "SELECT bobak_part('month', placed) x FROM orders",
        ),
        (
            "select date_trunc('week', due) x from orders",
            "SELECT bobak_start('week', (due * 86400000000)) x FROM orders",
        ),
        (
            "select date_trunc('day', local) x from orders",
            "SELECT bobak_start_local('day', local) x FROM orders",
        ),
        (
            "select date_part('day', a) x from plain",
            "SELECT bobak_part('day', bobak_timestamp(a)) x FROM plain",
        ),
        (
            "select json_value(b, '$.a') x from plain",
            "SELECT bobak_scalar(((b) -> '$.a')) x FROM plain",
        ),
        ("select cast('1970-01-02' as date) x", "SELECT (1) x"),
        ("select a as date from plain", ""),
        (
            "select id from orders where placed < now()",
            "SELECT id FROM orders WHERE placed < bobak_timestamp(strftime('%Y-%m-%d %H:%M:%f', 'now'))",
        ),
        (
            "select cast(digits as decimal(19, 4)) x, digits, count(digits) y from measures group by digits",
            "SELECT (bobak_amount_of_digits(digits)) x, digits, count(digits) y FROM measures GROUP BY digits",
        ),
        (
            "insert into measures (digits) values (1.50)",
            "INSERT INTO measures(digits) VALUES ('1.50')",
        ),
    ]);
    let types =
        analyzed("select date_trunc('day', local), now(), digits from orders, measures", &[])
            .columns;
    assert_eq!(types, [Some(Type::DateTime), Some(Type::Timestamp), Some(Type::Decimal)]);
}

#[test]
fn arithmetic_of_amounts_is_exact() {
    check(&[
        ("select total + 1 from orders", "SELECT total + 10000 AS \"total + 1\" FROM orders"),
        (
            "select total - quantity as x from orders",
            "SELECT total - bobak_amount(quantity) AS x FROM orders",
        ),
        (
            "select total * 1.19 as x from orders",
            "SELECT bobak_times(total, 1.19) AS x FROM orders",
        ),
        ("select 2 * -total as x from orders", "SELECT bobak_times(- total, 2) AS x FROM orders"),
        (
            "select total * total as x from orders",
            "SELECT bobak_product(total, total) AS x FROM orders",
        ),
        (
            "select (total + 1) / 3 as x from orders",
            "SELECT bobak_over((total + 10000), 3) AS x FROM orders",
        ),
        (
            "select 100 / total as x from orders",
            "SELECT (100 / (total / 10000.0)) AS x FROM orders",
        ),
        (
            "select total / total as x from orders",
            "SELECT ((total / 10000.0) / (total / 10000.0)) AS x FROM orders",
        ),
        ("select total % 1 as x from orders", "SELECT total % 10000 AS x FROM orders"),
        (
            "select coalesce(total, 0) as x from orders",
            "SELECT coalesce(total, 0) AS x FROM orders",
        ),
        (
            "select coalesce(total, 1) as x from orders",
            "SELECT coalesce(total, 10000) AS x FROM orders",
        ),
        (
            "select case when paid then total else 0.5 end as x from orders",
            "SELECT CASE WHEN paid THEN total ELSE 5000 END AS x FROM orders",
        ),
        (
            "select iif(paid, total, 1) as x from orders",
            "SELECT iif(paid, total, 10000) AS x FROM orders",
        ),
        (
            "select nullif(total, 1) as x from orders",
            "SELECT nullif(total, 10000) AS x FROM orders",
        ),
        ("select max(total, 1) as x from orders", "SELECT max(total, 10000) AS x FROM orders"),
        (
            "select round(total), round(total, 1) from orders",
            "SELECT bobak_round(total, 0) AS \"round(total)\", bobak_round(total, 1) AS \"round(total, 1)\" FROM orders",
        ),
        (
            "select cast(total as integer) as x from orders",
            "SELECT ((bobak_round(total, 0) / 10000)) AS x FROM orders",
        ),
        (
            "select cast(total as decimal(10,2)) as x from orders",
            "SELECT (bobak_round(total, 2)) AS x FROM orders",
        ),
        (
            "select cast(quantity as decimal(19,4)) as x from orders",
            "SELECT (bobak_amount(quantity)) AS x FROM orders",
        ),
        (
            "select cast(total as real) as x from orders",
            "SELECT ((total / 10000.0)) AS x FROM orders",
        ),
    ]);
}

#[test]
fn aggregates_and_windows_keep_amounts() {
    check(&[
        ("select sum(total), min(due), count(*) from orders", ""),
        (
            "select avg(distinct total) filter (where paid) as x from orders",
            "SELECT bobak_over(sum(DISTINCT total) FILTER (WHERE paid), count(DISTINCT total) FILTER (WHERE paid)) AS x FROM orders",
        ),
        (
            "select avg(total + ?) over w as x from orders window w as (order by id)",
            "SELECT bobak_over(sum(total + bobak_amount_given(?1)) OVER w, count(total + bobak_amount_given(?1)) OVER w) AS x FROM orders WINDOW w AS (ORDER BY id)",
        ),
        (
            "select total(total + 1) as x from orders",
            "SELECT (total(total + 10000) / 10000.0) AS x FROM orders",
        ),
        (
            "select sum(total) as s from orders group by note having s > 100",
            "SELECT sum(total) AS s FROM orders GROUP BY note HAVING s > 1000000",
        ),
        (
            "select lag(total, 1, 0.5) over (order by placed) as x from orders",
            "SELECT lag(total, 1, 5000) OVER (ORDER BY placed) AS x FROM orders",
        ),
        (
            "select sum(total) over (order by total range between 5 preceding and current row) as x from orders",
            "SELECT sum(total) OVER (ORDER BY total RANGE BETWEEN 50000 PRECEDING AND CURRENT ROW) AS x FROM orders",
        ),
    ]);
}

#[test]
fn functions_receive_numbers_and_texts() {
    check(&[
        (
            "select strftime('%Y-%m', placed) as m from orders group by m",
            "SELECT strftime('%Y-%m', bobak_clock(placed)) AS m FROM orders GROUP BY m",
        ),
        (
            "select strftime('%f', placed) as m from orders",
            "SELECT strftime(bobak_micros('%f', placed), bobak_clock(placed)) AS m FROM orders",
        ),
        (
            "select date(due, '+1 month') as m from orders",
            "SELECT date(bobak_date_text(due), '+1 month') AS m FROM orders",
        ),
        (
            "select unixepoch(placed), time(opens) from orders",
            "SELECT unixepoch(bobak_clock(placed)) AS \"unixepoch(placed)\", time(bobak_clock_time(opens)) AS \"time(opens)\" FROM orders",
        ),
        (
            "select id from orders where date(placed) = due",
            "SELECT id FROM orders WHERE bobak_date(date(bobak_clock(placed))) = due",
        ),
        (
            "select total || ' EUR' as x from orders",
            "SELECT bobak_amount_text(total) || ' EUR' AS x FROM orders",
        ),
        (
            "select id from orders where placed like '2013%'",
            "SELECT id FROM orders WHERE bobak_timestamp_text(placed) LIKE '2013%'",
        ),
        (
            "select printf('%.2f', total) as x from orders",
            "SELECT printf('%.2f', (total / 10000.0)) AS x FROM orders",
        ),
        (
            "select json_object('at', placed, 'n', total + 1) as x from orders",
            "SELECT json_object('at', bobak_timestamp_text(placed), 'n', ((total + 10000) / 10000.0)) AS x FROM orders",
        ),
        (
            "select cast(placed as text) as x, cast(placed as date) as d from orders",
            "SELECT CAST (bobak_timestamp_text(placed) AS text) AS x, (bobak_day(placed)) AS d FROM orders",
        ),
        ("select hex(token) as x from orders", ""),
    ]);
}

#[test]
fn writes_convert_to_the_units_of_their_columns() {
    check(&[
        (
            "insert into orders (total, due, note) values (5, '1970-01-02', 'x'), (?, ?, ?)",
            "INSERT INTO orders (total, due, note) VALUES (50000, 1, 'x'), (bobak_amount_given(?1), bobak_date(?2), ?3)",
        ),
        ("insert into items values (1, 2, 0.5, 3)", "INSERT INTO items VALUES (1, 2, 5000, 3)"),
        ("insert into items (price) select total from orders", ""),
        (
            "insert into items (price) select quantity from orders",
            "INSERT INTO items (price) SELECT bobak_amount(quantity) FROM orders",
        ),
        (
            "insert into plain (a) select total from orders",
            "INSERT INTO plain (a) SELECT (total / 10000.0) FROM orders",
        ),
        (
            "insert into plain (a) select placed from orders",
            "INSERT INTO plain (a) SELECT bobak_timestamp_text(placed) FROM orders",
        ),
        (
            "insert into items (id, price) values (1, 2) on conflict (id) do update set price = price + excluded.price + 1 where price < 3 returning price",
            "INSERT INTO items (id, price) VALUES (1, 20000) ON CONFLICT (id) DO UPDATE SET price = price + excluded.price + 10000 WHERE price < 30000 RETURNING price",
        ),
        (
            "update orders set total = 5, placed = '1970-01-01' where total < 1",
            "UPDATE orders SET total = 50000, placed = 0 WHERE total < 10000",
        ),
        (
            "update orders set (total, due) = (1, '1970-01-02')",
            "UPDATE orders SET (total, due) = (10000, 1)",
        ),
        (
            "update orders set total = total * 2 returning total",
            "UPDATE orders SET total = bobak_times(total, 2) RETURNING total",
        ),
        (
            "update items set price = o.total from orders as o where o.id = order_id and o.total > 1",
            "UPDATE items SET price = o.total FROM orders AS o WHERE o.id = order_id AND o.total > 10000",
        ),
        ("update items set weight = price", "UPDATE items SET weight = (price / 10000.0)"),
        ("delete from orders where total = 1", "DELETE FROM orders WHERE total = 10000"),
        (
            "create view v as select total + 1 as x from orders",
            "CREATE VIEW v AS SELECT total + 10000 AS x FROM orders",
        ),
        (
            "create index i on orders (total) where total > 1",
            "CREATE INDEX i ON orders (total) WHERE total > 10000",
        ),
    ]);
}

#[test]
fn triggers_are_rewritten() {
    let sql = "create trigger t after update on orders when new.total > 5 begin \
               insert into items (price) values (new.total + 1); \
               update items set price = 0.5 where price < old.total - 1; end";
    let stored = analyzed(sql, &[]).sql.unwrap();
    for part in ["new.total > 50000", "(new.total + 10000)", "price = 5000", "old.total - 10000"] {
        assert!(stored.contains(part), "{part} in {stored}");
    }
}

#[test]
fn parameters_have_types() {
    let amount = Some(Type::Currency);
    let analysis = analyzed("select id from orders where total = ?", &[amount]);
    assert_eq!(analysis.sql, None);
    let analysis = analyzed("select ? + 1 as x", &[amount]);
    assert_eq!(analysis.sql.as_deref(), Some("select ?1 + 10000 as x"));
    assert_eq!(analysis.columns, [amount]);
    let analysis =
        analyzed("select id from orders where ?2 > due and ?1", &[None, Some(Type::Timestamp)]);
    let sql = "select id from orders where ?2 > (due * 86400000000) and ?1";
    assert_eq!(analysis.sql.as_deref(), Some(sql));
}
