//! Orders, limits, chosen columns, aggregates and groups.

use super::{compare, ids, names, with};
use crate::{Check, Entry, Harness, NULL, Probe, Table, Values, holds, row, same, tables};
use bobak_core::{
    Collation, ColumnSchema, Comparison, ErrorKind, Expr, OnError, Order, OrderBy, Query, Select,
    Source, TableSchema, Type, Value,
};
use std::cmp::Ordering;
use std::sync::Arc;

/// `sale(id, shop, item, count, price, weight)`.
fn sale() -> Check<Table> {
    Ok(Arc::new(
        TableSchema::builder("sale")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<Option<String>>("shop"))
            .column(ColumnSchema::of::<String>("item").collation(Collation::NoCase))
            .column(ColumnSchema::of::<Option<i64>>("count"))
            .column(ColumnSchema::new("price", Type::Currency).nullable(true))
            .column(ColumnSchema::of::<Option<f64>>("weight"))
            .key(["id"])
            .index("sale_shop", ["shop", "count"])
            .build()?,
    ))
}

fn sales() -> Vec<Values> {
    vec![
        row![1, "north", "Pear", 3, 12_345, 0.5],
        row![2, "south", "apple", NULL, 100, 1.5],
        row![3, NULL, "pear", 1, 200, NULL],
        row![4, "north", "fig", 2, NULL, 2.0],
        row![5, "south", "Apple", -4, -50, 0.25],
        row![6, NULL, "APPLE", 7, 1, -1.0],
        row![7, "east", "fig", NULL, NULL, NULL],
        row![8, "north", "pear", 3, 55, 4.0],
    ]
}

fn on_sales(harness: &dyn Harness, case: impl FnOnce(&Probe<'_>, &Table) -> Check) -> Check {
    let sale = sale()?;
    with(harness, &[&sale], |probe| {
        probe.insert_all(&sale, sales())?;
        case(probe, &sale)
    })
}

fn step(column: usize, descending: bool) -> Order {
    Order { column, descending }
}

fn ordered(table: &Table, order: &[Order]) -> Check<Select> {
    let query: Query<()> =
        order.iter().fold(Query::all(), |q, step| q.order_by(OrderBy::new(*step)));
    let columns = (0..table.columns().len()).map(Expr::Column).collect();
    Ok(query.to_select(table, columns)?)
}

/// By one column and by several, up and down: NULL first, equal rows by key.
pub fn orders(harness: &dyn Harness) -> Check {
    on_sales(harness, |probe, sale| {
        for (order, expected) in [
            (vec![step(0, true)], [8, 7, 6, 5, 4, 3, 2, 1]),
            (vec![step(1, false)], [3, 6, 7, 1, 4, 8, 2, 5]),
            (vec![step(1, true)], [2, 5, 1, 4, 8, 7, 3, 6]),
            (vec![step(2, false)], [2, 5, 6, 4, 7, 1, 3, 8]),
            (vec![step(3, false)], [2, 7, 5, 3, 4, 1, 8, 6]),
            (vec![step(1, false), step(3, true)], [6, 3, 7, 1, 8, 4, 5, 2]),
            (vec![step(3, true), step(0, true)], [6, 8, 1, 4, 3, 5, 7, 2]),
            (vec![step(5, false)], [3, 7, 6, 5, 1, 2, 4, 8]),
        ] {
            let found = probe.select(&ordered(sale, &order)?)?;
            same(&format!("by {order:?}"), ids(&found), expected.to_vec())?;
        }
        Ok(())
    })
}

/// Values of every class in one column: NULL, numbers, texts, bytes.
pub fn mixed_classes_have_an_order(harness: &dyn Harness) -> Check {
    let table = tables::of_type(Type::Any)?;
    let store = harness.fresh()?;
    if !store.engine().capabilities().untyped_columns {
        return super::values::any_columns_are_rejected(&store);
    }
    let probe = Probe::with_tables(store.engine(), &[&table])?;
    {
        let sorted =
            row![NULL, f64::NEG_INFINITY, -1, -0.5, 0, 0.5, 1, "", "1", "a", vec![], vec![0_u8]];
        let rows =
            (1_i64..).zip(sorted.iter().rev()).map(|(id, v)| vec![Value::Int(id), v.clone()]);
        probe.insert_all(&table, rows)?;
        let found = probe.select(&ordered(&table, &[step(1, false)])?)?;
        let values: Values = found.into_iter().filter_map(|mut row| row.pop()).collect();
        same("order", values, sorted)
    }
}

/// Many rows by an index, or without one, sort the same.
pub fn large_orders(harness: &dyn Harness) -> Check {
    let sale = sale()?;
    with(harness, &[&sale], |probe| {
        let rows: Vec<Values> = (1..=3_000_i64)
            .map(|n| {
                let shop = if n % 7 == 0 { NULL } else { format!("s{}", n * 31 % 17).into() };
                let count = if n % 5 == 0 { NULL } else { Value::Int(n * 37 % 101) };
                vec![Value::Int(n), shop, format!("i{}", n % 3).into(), count, NULL, NULL]
            })
            .collect();
        let entries: Vec<_> = rows.iter().map(|r| Entry::insert(&sale, r.clone())).collect();
        probe.batch(&entries, OnError::Stop).outcomes()?;
        for order in [
            vec![step(1, false), step(3, false)],
            vec![step(1, true), step(3, true)],
            vec![step(1, false), step(3, true)],
            vec![step(3, true)],
        ] {
            let mut expected = rows.clone();
            expected.sort_by(|a, b| by(&order, a, b));
            let found = probe.select(&ordered(&sale, &order)?)?;
            same(&format!("by {order:?}"), ids(&found), ids(&expected))?;
            let part = Select { limit: Some(10), offset: 1_000, ..ordered(&sale, &order)? };
            let expected: Vec<_> = expected.into_iter().skip(1_000).take(10).collect();
            same("a part of it", ids(&probe.select(&part)?), ids(&expected))?;
        }
        Ok(())
    })
}

fn by(order: &[Order], a: &Values, b: &Values) -> Ordering {
    let place = |value: &Value<'_>| match value {
        Value::Null => (0, 0, String::new()),
        Value::Int(i) => (1, *i, String::new()),
        Value::Text(t) => (2, 0, t.to_string()),
        _ => (3, 0, String::new()),
    };
    for step in order.iter().chain(&[step(0, false)]) {
        let (Some(a), Some(b)) = (a.get(step.column), b.get(step.column)) else { continue };
        let ordering = place(a).cmp(&place(b));
        let ordering = if step.descending { ordering.reverse() } else { ordering };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}

/// Limits and offsets, from none to more than there are, and beyond what engines count.
pub fn limit_and_offset(harness: &dyn Harness) -> Check {
    on_sales(harness, |probe, sale| {
        for (limit, offset, expected) in [
            (Some(3), 0, vec![1, 2, 3]),
            (Some(3), 6, vec![7, 8]),
            (Some(0), 0, vec![]),
            (Some(0), 3, vec![]),
            (Some(100), 0, vec![1, 2, 3, 4, 5, 6, 7, 8]),
            (None, 5, vec![6, 7, 8]),
            (None, 8, vec![]),
            (Some(1), 100, vec![]),
            (Some(u64::MAX), 6, vec![7, 8]),
            (None, u64::MAX, vec![]),
            (Some(2), i64::MAX as u64 + 1, vec![]),
            (Some(i64::MAX as u64), 7, vec![8]),
        ] {
            let select = Select { limit, offset, ..Select::all(sale) };
            let what = format!("limit {limit:?} offset {offset}");
            same(&what, ids(&probe.select(&select)?), expected)?;
        }
        Ok(())
    })
}

/// Pages by key, of one column and of two, meet every row once.
pub fn paging_by_key(harness: &dyn Harness) -> Check {
    let seat = tables::seat()?;
    with(harness, &[&seat], |probe| {
        let all: Vec<_> =
            (0..50).map(|n| row![NULL, ["A", "B", "C"][n % 3], (n / 3) as i32]).collect();
        probe.insert_all(&seat, all.clone())?;
        let (mut seen, mut last): (Vec<Values>, Option<Values>) = (Vec::new(), None);
        loop {
            let condition = last.as_ref().map(|row| {
                let part = |at: usize| row.get(at).cloned().unwrap_or_default();
                bobak_core::Condition::Or(vec![
                    compare(2, Comparison::Greater, part(2)),
                    bobak_core::Condition::And(vec![
                        compare(2, Comparison::Equal, part(2)),
                        compare(1, Comparison::Greater, part(1)),
                    ]),
                ])
            });
            let page = probe.select(&Select { condition, limit: Some(7), ..Select::all(&seat) })?;
            let Some(end) = page.last() else { break };
            last = Some(end.clone());
            seen.extend(page);
        }
        same("rows", seen, all)
    })
}

/// Some columns, in any order, also twice.
pub fn chosen_columns(harness: &dyn Harness) -> Check {
    on_sales(harness, |probe, sale| {
        let columns = vec![Expr::Column(3), Expr::Column(1), Expr::Column(3)];
        let select = Select { columns, limit: Some(3), ..Select::all(sale) };
        let rows = vec![row![3, "north", 3], row![NULL, "south", NULL], row![1, NULL, 1]];
        same("rows", probe.select(&select)?, rows.clone())?;
        let mut cursor = probe.session.open(&Source::Select(&select))?;
        same("names", names(&cursor.columns), vec!["count", "shop", "count"])?;
        same("by cursor", probe.drain(&mut cursor)?, rows)?;
        let key = Select { columns: vec![Expr::Column(0)], ..Select::all(sale) };
        same("the key alone", ids(&probe.select(&key)?), (1..=8).collect())
    })
}

fn totals(table: &Table, columns: Vec<Expr>) -> Select {
    Select { columns, order: Vec::new(), ..Select::all(table) }
}

const ALL: [Expr; 10] = [
    Expr::Count,
    Expr::CountOf(3),
    Expr::Sum(3),
    Expr::Min(3),
    Expr::Max(3),
    Expr::Avg(3),
    Expr::Sum(4),
    Expr::Avg(4),
    Expr::Sum(5),
    Expr::Avg(5),
];

/// Every aggregate over all rows; NULLs are left out; money's average is in units.
pub fn aggregates(harness: &dyn Harness) -> Check {
    on_sales(harness, |probe, sale| {
        let select = totals(sale, ALL.to_vec());
        // 12,345 + 100 + 200 - 50 + 1 + 55 steps in six rows.
        let money = 12_651;
        let average = 12_651.0 / 10_000.0 / 6.0;
        let expected = row![8, 6, 12, -4, 7, 2.0, money, average, 7.25, 7.25 / 6.0];
        let found = probe.select(&select)?;
        let near = |found: &Value<'_>, expected: &Value<'_>| match (found, expected) {
            (Value::Float(a), Value::Float(b)) => (a - b).abs() < 1e-12,
            (a, b) => a == b,
        };
        let right = found.len() == 1
            && found.iter().flatten().count() == expected.len()
            && found.iter().flatten().zip(&expected).all(|(a, b)| near(a, b));
        holds(&format!("{found:?} is {expected:?}"), right)?;
        let columns = probe.session.open(&Source::Select(&select))?.columns;
        let expected = [
            "count",
            "count_count",
            "sum_count",
            "min_count",
            "max_count",
            "avg_count",
            "sum_price",
            "avg_price",
            "sum_weight",
            "avg_weight",
        ];
        same("names", names(&columns), expected.to_vec())?;
        let texts = totals(sale, vec![Expr::Min(1), Expr::Max(1), Expr::CountOf(1)]);
        same("texts", probe.select(&texts)?, vec![row!["east", "south", 6]])
    })
}

/// Without rows there is one group, with count 0 and NULLs; the same if no row has a value.
pub fn aggregates_over_nothing(harness: &dyn Harness) -> Check {
    on_sales(harness, |probe, sale| {
        let none = Select {
            condition: Some(compare(0, Comparison::Greater, 100)),
            ..totals(sale, ALL.to_vec())
        };
        let expected = row![0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL];
        same("no row", probe.select(&none)?, vec![expected])?;
        let null = Select {
            condition: Some(super::equal(0, 7)),
            ..totals(sale, vec![Expr::Count, Expr::CountOf(3), Expr::Sum(3), Expr::Avg(5)])
        };
        same("no value", probe.select(&null)?, vec![row![1, 0, NULL, NULL]])?;
        let limited = Select { limit: Some(0), ..totals(sale, vec![Expr::Count]) };
        same("no group wanted", probe.select(&limited)?, Vec::<Values>::new())
    })
}

/// Sums of integers are exact to the last bit, in whatever order they come; an overflow of the whole is an error.
pub fn sums_are_exact(harness: &dyn Harness) -> Check {
    let document = tables::document()?;
    with(harness, &[&document], |probe| {
        let big = |n: i64| Value::Int((1 << 60) + n);
        probe.insert_all(&document, (1..=7).map(|n| row![n as i32, "x", big(n), 0]))?;
        let sum = totals(&document, vec![Expr::Sum(2)]);
        same("sum", probe.select(&sum)?, vec![vec![Value::Int(7 * (1 << 60) + 28)]])?;
        probe.insert(&document, row![8, "x", big(0), 0])?;
        let over = probe.select(&sum);
        crate::fails("beyond 64 bits", over, ErrorKind::OutOfRange)?;
        same("the session goes on", probe.count(&document)?, 8)?;
        // Beyond them on the way only.
        probe.insert(&document, row![9, "x", Value::Int(-(1 << 60) - 28), 0])?;
        same("and back", probe.select(&sum)?, vec![vec![Value::Int(7 * (1 << 60))]])
    })
}

/// Groups come by their columns, NULL as one of them.
pub fn groups(harness: &dyn Harness) -> Check {
    on_sales(harness, |probe, sale| {
        let query: Query<()> = Query::all().group_by(bobak_core::Column::<(), String>::new(1));
        let columns = vec![Expr::Column(1), Expr::Count, Expr::Sum(3), Expr::Max(5)];
        let select = query.to_select(sale, columns.clone())?;
        let rows = vec![
            row![NULL, 2, 8, -1.0],
            row!["east", 1, NULL, NULL],
            row!["north", 3, 8, 4.0],
            row!["south", 2, -4, 1.5],
        ];
        same("groups", probe.select(&select)?, rows.clone())?;
        let down = query.clone().order_by(OrderBy::new(step(1, true))).limit(2).offset(1);
        let down = down.to_select(sale, columns)?;
        let part: Vec<_> = rows.iter().rev().skip(1).take(2).cloned().collect();
        same("a part, from the last", probe.select(&down)?, part)?;
        let only = Select {
            condition: Some(compare(3, Comparison::Greater, 0)),
            ..query.to_select(sale, vec![Expr::Count, Expr::Column(1)])?
        };
        let rows = vec![row![2, NULL], row![3, "north"]];
        same("of some rows", probe.select(&only)?, rows)?;
        let names = query.to_select(sale, vec![Expr::Column(1)])?;
        same(
            "distinct",
            probe.select(&names)?,
            vec![row![NULL], row!["east"], row!["north"], row!["south"]],
        )
    })
}

/// Groups of several columns, and of a column whose texts are equal in either case.
pub fn groups_of_several_columns(harness: &dyn Harness) -> Check {
    on_sales(harness, |probe, sale| {
        let column = bobak_core::Column::<(), String>::new;
        let query: Query<()> = Query::all().group_by(column(1)).group_by(column(3));
        let select = query.to_select(sale, vec![Expr::Count, Expr::Column(3), Expr::Column(1)])?;
        let rows = vec![
            row![1, 1, NULL],
            row![1, 7, NULL],
            row![1, NULL, "east"],
            row![1, 2, "north"],
            row![2, 3, "north"],
            row![1, NULL, "south"],
            row![1, -4, "south"],
        ];
        same("groups", probe.select(&select)?, rows)?;
        let fruit: Query<()> = Query::all().group_by(column(2));
        let select = fruit.to_select(sale, vec![Expr::Count, Expr::Sum(3)])?;
        same("by collation", probe.select(&select)?, vec![row![3, 3], row![2, 2], row![3, 7]])?;
        let select = fruit.to_select(sale, vec![Expr::Column(2), Expr::Count])?;
        let rows = vec![row!["apple", 3], row!["fig", 2], row!["Pear", 3]];
        same("a group shows its first row", probe.select(&select)?, rows)
    })
}

/// A reader that has seen enough says so; its error comes back as it is.
pub fn a_reader_may_stop(harness: &dyn Harness) -> Check {
    on_sales(harness, |probe, sale| {
        let select = Select::all(sale);
        let mut seen = 0;
        probe.session.query(&Source::Select(&select), &mut |_| {
            seen += 1;
            Ok(seen < 3)
        })?;
        same("rows", seen, 3)?;
        let stopped = probe.session.query(&Source::Select(&select), &mut |_| {
            Err(bobak_core::Error::new(ErrorKind::Mismatch, "enough"))
        });
        let error = crate::fails("an error inside", stopped, ErrorKind::Mismatch)?;
        same("message", error.message(), "enough")?;
        let stopped = probe.session.get(sale, &row![1], &mut |_| {
            Err(bobak_core::Error::new(ErrorKind::Mismatch, "enough"))
        });
        crate::fails("an error inside get", stopped, ErrorKind::Mismatch)?;
        same("the session goes on", probe.count(sale)?, 8)?;
        probe.insert(sale, row![NULL, NULL, "x", NULL, NULL, NULL])?;
        same("and writes", probe.count(sale)?, 9)
    })
}
