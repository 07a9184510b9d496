use crate::tables::{analyzed, check};
use bobak_core::Type;

#[test]
fn statements_without_units_are_left_alone() {
    check(&[
        ("select  id+1 , 'orders of' from plain", ""),
        ("select id from orders", ""),
        ("select * from unknown where x > 5", ""),
        ("pragma table_info('orders')", ""),
        ("drop table orders", ""),
        ("create table t (a, check (a > 1))", ""),
    ]);
}

#[test]
fn names_are_found_through_sources() {
    check(&[
        (
            "select id from (select total as t from orders) where t > 1",
            "SELECT id FROM (SELECT total AS t FROM orders) WHERE t > 10000",
        ),
        (
            "select 1 from (select * from orders) s where s.total > 1",
            "SELECT 1 FROM (SELECT * FROM orders) s WHERE s.total > 10000",
        ),
        (
            "with c as (select sum(total) as t from orders) select * from c where t > 1",
            "WITH c AS (SELECT sum(total) AS t FROM orders) SELECT * FROM c WHERE t > 10000",
        ),
        (
            "with c(x) as (values (1), (2.5)) select o.id from orders o, c where o.total > c.x",
            "WITH c (x) AS (VALUES (1), (2.5)) SELECT o.id FROM orders o, c WHERE o.total > bobak_amount(c.x)",
        ),
        (
            "select o.id from orders o join items i on i.order_id = o.id and i.price > 1 where o.total > 2",
            "SELECT o.id FROM orders o JOIN items i ON i.order_id = o.id AND i.price > 10000 WHERE o.total > 20000",
        ),
        (
            "select id from orders o where exists (select 1 from items where price > 1 and total > 2)",
            "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM items WHERE price > 10000 AND total > 20000)",
        ),
        ("select id from orders where total > (select max(price) from items)", ""),
        (
            "select id from orders where total > (select max(weight) from items)",
            "SELECT id FROM orders WHERE total > bobak_amount((SELECT max(weight) FROM items))",
        ),
        (
            "select id from orders where total in (select weight from items)",
            "SELECT id FROM orders WHERE total IN (SELECT bobak_amount(weight) FROM items)",
        ),
        (
            "select total from orders union select 5",
            "SELECT total FROM orders UNION SELECT 50000 AS \"5\"",
        ),
        (
            "select 5 as x union all select total from orders order by x",
            "SELECT 50000 AS x UNION ALL SELECT total FROM orders ORDER BY x",
        ),
        (
            "select id from orders natural join items where price > 1",
            "SELECT id FROM orders NATURAL JOIN items WHERE price > 10000",
        ),
        (
            "select id from (orders join items using (id)) where price > 1",
            "SELECT id FROM (orders JOIN items USING (id)) WHERE price > 10000",
        ),
        (
            "select x.value from orders, json_each(note, total) as x where total > 1",
            "SELECT x.value FROM orders, json_each(note, (total / 10000.0)) AS x WHERE total > 10000",
        ),
        (
            "select at from sales where amount > 1 and twice > 2 and units > 3",
            "SELECT at FROM sales WHERE amount > 10000 AND twice > 20000 AND units > 3",
        ),
        (
            "explain query plan select id from \"orders\" where total > 1",
            "EXPLAIN QUERY PLAN SELECT id FROM \"orders\" WHERE total > 10000",
        ),
    ]);
}

#[test]
fn recursive_expressions_agree_on_a_type() {
    check(&[(
        "with recursive r(n, t) as (select 1, 0 union all select n + 1, t + total from r join orders on id = n) select t from r where t > 5",
        "WITH RECURSIVE r (n, t) AS (SELECT 1, 0 UNION ALL SELECT n + 1, t + total FROM r JOIN orders ON id = n) SELECT t FROM r WHERE t > 50000",
    )]);
}

#[test]
fn results_have_types() {
    let (amount, date) = (Some(Type::Currency), Some(Type::Date));
    for (sql, types) in [
        ("select * from items", vec![Some(Type::I64), Some(Type::I64), amount, Some(Type::F64)]),
        (
            "select sum(total), max(due), avg(total), total * 2, note || 'x' from orders",
            vec![amount, date, amount, amount, None],
        ),
        ("select coalesce(total, 0), paid from orders", vec![amount, Some(Type::Bool)]),
        ("select amount, twice, units from sales", vec![amount, amount, None]),
        ("update orders set id = 1 returning total, due", vec![amount, date]),
        ("select x.*, total from json_each('[]') x, orders", vec![]),
        ("select first_value(placed) over (order by id) from orders", vec![Some(Type::Timestamp)]),
    ] {
        assert_eq!(analyzed(sql, &[]).columns, types, "{sql}");
    }
}

#[test]
fn every_part_of_the_grammar_stays_as_it_was() {
    let x = "total > 1";
    for (sql, printed) in [
        (
            "update or ignore orders indexed by i set note = 'it''s' where {x}",
            "UPDATE OR IGNORE orders INDEXED BY i SET note = 'it''s' WHERE {y}",
        ),
        (
            "insert or replace into orders (id) select id from orders where {x}",
            "INSERT OR REPLACE INTO orders (id) SELECT id FROM orders WHERE {y}",
        ),
        (
            "replace into orders (total) values (1) on conflict do nothing",
            "REPLACE INTO orders (total) VALUES (10000) ON CONFLICT DO NOTHING",
        ),
        (
            "select distinct id from orders not indexed where {x} order by id desc nulls last limit 5 offset 2",
            "SELECT DISTINCT id FROM orders NOT INDEXED WHERE {y} ORDER BY id DESC NULLS LAST LIMIT 5 OFFSET 2",
        ),
        (
            "select [id], `id`, \"i\"\"d\" from orders where {x}",
            "SELECT [id], `id`, \"i\"\"d\" FROM orders WHERE {y}",
        ),
        (
            "select 0x1F a, 1e3 b, x'00ff' c from orders where {x}",
            "SELECT 0x1F a, 1e3 b, x'00ff' c FROM orders WHERE {y}",
        ),
        (
            "select id from orders where {x} and note is not null and note notnull and note isnull",
            "SELECT id FROM orders WHERE {y} AND note IS NOT NULL AND note NOTNULL AND note ISNULL",
        ),
        (
            "select id from orders where {x} and note is distinct from 'a'",
            "SELECT id FROM orders WHERE {y} AND note IS DISTINCT FROM 'a'",
        ),
        (
            "select id from orders where {x} and note not like 'a!%' escape '!' and note glob 'x'",
            "SELECT id FROM orders WHERE {y} AND note NOT LIKE 'a!%' ESCAPE '!' AND note GLOB 'x'",
        ),
        (
            "select note -> 'a' ->> 'b' as j from orders where {x}",
            "SELECT note -> 'a' ->> 'b' AS j FROM orders WHERE {y}",
        ),
        (
            "select id from orders where {x} and note collate nocase = 'a'",
            "SELECT id FROM orders WHERE {y} AND note COLLATE nocase = 'a'",
        ),
        (
            "select id from orders where not ({x} or id % 2 = -(1 << 2 | ~3))",
            "SELECT id FROM orders WHERE NOT ({y} OR id % 2 = - (1 << 2 | ~ 3))",
        ),
        (
            "select sum(id) over (partition by note order by id groups between unbounded preceding and 1 following exclude ties) as s from orders where {x}",
            "SELECT sum(id) OVER (PARTITION BY note ORDER BY id GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING EXCLUDE TIES) AS s FROM orders WHERE {y}",
        ),
        (
            "select group_concat(note, ',' order by id desc) as g from orders where {x}",
            "SELECT group_concat(note, ',' ORDER BY id DESC) AS g FROM orders WHERE {y}",
        ),
        (
            "with a as materialized (select id from orders where {x}), b as not materialized (select 1 as o) select * from a left outer join b on 1 cross join plain",
            "WITH a AS MATERIALIZED (SELECT id FROM orders WHERE {y}), b AS NOT MATERIALIZED (SELECT 1 AS o) SELECT * FROM a LEFT OUTER JOIN b ON 1 CROSS JOIN plain",
        ),
        (
            "select id from orders where {x} except select 1 intersect select 2 as z",
            "SELECT id FROM orders WHERE {y} EXCEPT SELECT 1 INTERSECT SELECT 2 AS z",
        ),
        (
            "select main.orders.id from main.orders where {x}",
            "SELECT main.orders.id FROM main.orders WHERE {y}",
        ),
    ] {
        let sql = sql.replace("{x}", x);
        let printed = printed.replace("{y}", "total > 10000");
        check(&[(&sql, &printed)]);
    }
}

#[test]
fn the_rest_of_a_text_stays_as_it_is() {
    for (sql, stored) in [
        (
            "select id -- all\n from  orders where total > 5 ;",
            "select id -- all\n from  orders where total > 50000",
        ),
        (
            "SELECT total+1, total + 1 AS x FROM \"orders\"",
            "SELECT total+10000 AS \"total+1\", total + 10000 AS x FROM \"orders\"",
        ),
        (
            "select ?, ? from orders where total = ?",
            "select ?1 AS \"?\", ?2 AS \"?\" from orders where total = bobak_amount_given(?3)",
        ),
        (
            "select :a, ?, :a from orders where total = @b",
            "select :a, ?2 AS \"?\", :a from orders where total = bobak_amount_given(@b)",
        ),
        (
            "update items set price = (select max(price) from items) where price > 1",
            "update items set price = (select max(price) from items) FROM (SELECT 1) where price > 10000",
        ),
        (
            "update items set price = (select max(price) from items)",
            "update items set price = (select max(price) from items) FROM (SELECT 1)",
        ),
    ] {
        assert_eq!(analyzed(sql, &[]).sql.as_deref(), Some(stored), "{sql}");
    }
}

#[test]
fn operators_bind_as_in_sqlite() {
    check(&[
        (
            "select id from orders where not total = 1 = 0",
            "select id from orders where not total = 10000 = 0",
        ),
        (
            "select -total * 2 + 1 as x from orders",
            "select bobak_times(-total, 2) + 10000 as x from orders",
        ),
        (
            "select total + 2 * 3 as x from orders",
            "select total + bobak_amount(2 * 3) as x from orders",
        ),
        (
            "select total / 2 / 4 as x from orders",
            "select bobak_over(bobak_over(total, 2), 4) as x from orders",
        ),
        (
            "select 1 || total + 1 as x from orders",
            "select 1 || bobak_amount_text(total) + 1 as x from orders",
        ),
        (
            "select id from orders where total between 1 and 2 and id",
            "select id from orders where total between 10000 and 20000 and id",
        ),
        (
            "select id from orders where total > 1 or total > 2 and total > 3",
            "select id from orders where total > 10000 or total > 20000 and total > 30000",
        ),
    ]);
}

#[test]
fn words_that_sqlite_does_not_reserve_are_names() {
    let x = "total > 1";
    for sql in [
        "select key, first, row, \"select\" from orders where {x}",
        "select o.offset, o.left, cross from orders o where {x}",
        "select 1 end, 2 window, 3 'text', 4 filter from orders where {x}",
        "select replace(note, 'a', 'b'), left(note), match(note) from orders where {x}",
        "select id from orders as 'o' where 'o'.{x}",
        "with recursive(a) as (select 1) select a from recursive, orders where {x}",
        "select sum(id) over w, count(*) over () from orders where {x} window w as (order by id), v as (w rows 2 preceding)",
    ] {
        let stored = sql.replace("{x}", "total > 10000");
        check(&[(&sql.replace("{x}", x), &stored)]);
    }
}
