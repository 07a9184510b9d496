//! Columns of vectors, and queries for the nearest rows.

use super::ids;
use crate::{
    Check, Entry, Harness, NULL, Probe, Table, Values, create, fails, holds, row, same, tables,
};
use bobak_core::nearest::{Metric, Nearest, distance};
use bobak_core::{
    ColumnSchema, Comparison, Condition, ErrorKind, Expr, OnError, Order, RowLock, SchemaChange,
    Select, Source, TableSchema, TransactionControl, Type, Value, Vector, vector_bytes,
};
use std::sync::Arc;

/// The numbers of the vectors: more than one block of the kernel, and a rest.
const NUMBERS: usize = 19;

/// `image(id, stars, looks)`: the vectors may be NULL.
fn image() -> Check<Table> {
    let table = TableSchema::builder("image")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<i64>("stars"))
        .column(ColumnSchema::of::<Option<Vector<NUMBERS>>>("looks"))
        .key(["id"]);
    Ok(Arc::new(table.build()?))
}

/// A vector that a number determines.
fn numbers(seed: i64) -> Vec<f32> {
    let number = |at: i64| ((seed * 7_919 + at * 104_729).rem_euclid(2_003) - 1_001) as f32 / 250.0;
    (0..NUMBERS as i64).map(number).collect()
}

fn vector(numbers: &[f32]) -> Value<'static> {
    Value::from(vector_bytes(numbers))
}

/// 60 rows with vectors, among them pairs of equal ones, one of zeros, and rows without.
fn fill(probe: &Probe<'_>, image: &Table) -> Check {
    let row = |id: i64| {
        let looks = match id {
            7 => vector(&[0.0; NUMBERS]),
            id if id % 10 == 9 => NULL,
            id => vector(&numbers(id / 2)),
        };
        row![id, id % 5, looks]
    };
    let entries: Vec<Entry> = (1..=60).rev().map(|id| Entry::insert(image, row(id))).collect();
    probe.batch(&entries, OnError::Stop).outcomes()?;
    Ok(())
}

fn nearest(image: &Table, metric: Metric, to: &[f32], rows: u64) -> Select {
    let nearest = Some(Box::new(Nearest { column: 2, metric, to: to.into() }));
    let columns = vec![Expr::Column(0), Expr::Distance];
    Select { nearest, columns, limit: Some(rows), ..Select::all(image) }
}

/// Runs a case over an engine with vectors; another engine rejects the table and the queries.
fn with_vectors(harness: &dyn Harness, case: impl FnOnce(&Probe<'_>, &Table) -> Check) -> Check {
    let (store, image) = (harness.fresh()?, image()?);
    if store.engine().capabilities().vectors {
        return case(&Probe::with_tables(store.engine(), &[&image])?, &image);
    }
    let created = store.engine().alter(&[SchemaChange::CreateTable(Arc::clone(&image))]);
    fails("a table with vectors", created, ErrorKind::Unsupported)?;
    let probe = Probe::new(store.engine())?;
    let select = nearest(&image, Metric::Cosine, &numbers(1), 3);
    fails("the nearest", probe.select(&select), ErrorKind::Unsupported).map(drop)
}

/// The rows that a query should find: those with a vector and enough stars, by distance and key.
fn expected(metric: Metric, to: &[f32], stars: i64) -> Vec<Values> {
    let mut rows: Vec<(f64, i64)> = (1..=60_i64)
        .filter(|id| id % 10 != 9 && id % 5 >= stars)
        .filter_map(|id| {
            let own = if id == 7 { vec![0.0; NUMBERS] } else { numbers(id / 2) };
            Some((distance(metric, &own, to)?, id))
        })
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    rows.into_iter().map(|(distance, id)| row![id, distance]).collect()
}

/// Every metric finds the same rows in the same order with the same distances on every engine.
pub fn the_nearest_rows_are_the_same_everywhere(harness: &dyn Harness) -> Check {
    with_vectors(harness, |probe, image| {
        fill(probe, image)?;
        for (metric, seed) in Metric::ALL.iter().flat_map(|metric| [(*metric, 3), (*metric, 100)]) {
            let to = numbers(seed);
            let all = expected(metric, &to, 0);
            let select = nearest(image, metric, &to, 10);
            same(metric.name(), probe.select(&select)?, all[..10].to_vec())?;
            let page = Select { offset: 7, limit: Some(9), ..select.clone() };
            same("a page", probe.select(&page)?, all[7..16].to_vec())?;
            let rest = Select { offset: 50, limit: None, ..select.clone() };
            same("the rest", probe.select(&rest)?, all[50..].to_vec())?;
            let (comparison, value) = (Comparison::GreaterOrEqual, Value::Int(3));
            let condition = Some(Condition::Compare { column: 1, comparison, value });
            let filtered = Select { condition, ..select.clone() };
            let wanted = expected(metric, &to, 3);
            same("filtered", probe.select(&filtered)?, wanted[..10].to_vec())?;
            same("none", probe.select(&Select { limit: Some(0), ..select })?, vec![])?;
        }
        Ok(())
    })
}

/// Vectors come back as they were written, in whole rows too, and their type is described.
pub fn vectors_are_stored_and_described(harness: &dyn Harness) -> Check {
    with_vectors(harness, |probe, image| {
        let extremes = [f32::MAX, f32::MIN_POSITIVE, -0.0, 1e-45, f32::MIN];
        let mut first = numbers(1);
        first.iter_mut().zip(extremes).for_each(|(number, extreme)| *number = extreme);
        let row = row![1, 2, vector(&first)];
        probe.insert(image, row.clone())?;
        same("read", probe.get(image, row![1])?, Some(row.clone()))?;
        probe.insert(image, row![2, 2, NULL])?;
        let changed = row![2, 3, vector(&numbers(8))];
        probe.update(image, changed.clone())?;
        same("all", probe.all(image)?, vec![row, changed.clone()])?;
        let whole = Select {
            columns: Select::all(image).columns,
            ..nearest(image, Metric::Euclidean, &numbers(8), 1)
        };
        same("whole", probe.select(&whole)?, vec![changed.clone()])?;
        let mut cursor = probe.session.open(&Source::Select(&whole))?;
        same("a cursor", probe.drain(&mut cursor)?, vec![changed])?;
        let stored = TableSchema::find_in(probe.session.tables()?, "image")?;
        same("the type", stored.columns()[2].ty, Type::Vector(NUMBERS as u16))?;
        holds("described", stored.same_as(image))
    })
}

/// A transaction finds its own rows, until it is rolled back.
pub fn the_nearest_rows_follow_transactions(harness: &dyn Harness) -> Check {
    with_vectors(harness, |probe, image| {
        probe.insert(image, row![1, 0, vector(&numbers(50))])?;
        let found = |rows| -> Check<Vec<i64>> {
            Ok(ids(&probe.select(&nearest(image, Metric::Euclidean, &numbers(20), rows))?))
        };
        probe.control(TransactionControl::Begin)?;
        probe.insert(image, row![2, 0, vector(&numbers(20))])?;
        same("inserted", found(5)?, vec![2, 1])?;
        probe.update(image, row![1, 0, NULL])?;
        same("updated", found(5)?, vec![2])?;
        probe.control(TransactionControl::Rollback)?;
        same("rolled back", found(5)?, vec![1])
    })
}

/// A session that is returning the nearest rows to a callback rejects all other calls, as with other rows.
pub fn no_calls_from_inside_the_nearest_rows(harness: &dyn Harness) -> Check {
    with_vectors(harness, |probe, image| {
        probe.insert_all(
            image,
            [row![1, 0, vector(&numbers(1))], row![2, 0, vector(&numbers(2))]],
        )?;
        let select = nearest(image, Metric::Euclidean, &numbers(1), 2);
        let (mut seen, mut results) = (Vec::new(), Vec::new());
        probe.session.query(&Source::Select(&select), &mut |row| {
            if seen.is_empty() {
                results.push(probe.insert(image, row![3, 0, NULL]).map(drop));
                results.push(probe.select(&select).map(drop));
                results.push(probe.get(image, row![1]).map(drop));
                results.push(probe.control(TransactionControl::Begin));
            }
            seen.push(crate::values_of(row));
            Ok(true)
        })?;
        for (at, result) in results.into_iter().enumerate() {
            fails(&format!("call {at} from inside"), result, ErrorKind::Misuse)?;
        }
        same("rows", ids(&seen), vec![1, 2])?;
        same("afterwards", ids(&probe.select(&select)?), vec![1, 2])
    })
}

/// Sums that overflow or vanish as `f32` are computed exactly; equal distances are sorted by key.
pub fn distances_are_exact_at_the_limits(harness: &dyn Harness) -> Check {
    with_vectors(harness, |probe, image| {
        let scaled = |by: f32| numbers(4).into_iter().map(|x| x * by).collect::<Vec<f32>>();
        let scales = [1.0, 1e-30, 1e30, -1e36, 1e-40];
        let rows = (1..).zip(scales).map(|(id, by)| row![id, 0, vector(&scaled(by))]);
        probe.insert_all(image, rows)?;
        let rows = probe.select(&nearest(image, Metric::Cosine, &scaled(1e25), 5))?;
        holds("opposite", ids(&rows).last() == Some(&4))?;
        for row in &rows {
            let Some(Value::Float(distance)) = row.get(1) else { return fails_plainly() };
            let off = if row[0] == Value::Int(4) { distance - 2.0 } else { *distance };
            holds("in one line", off.abs() < 1e-4)?;
        }
        let rows = probe.select(&nearest(image, Metric::Euclidean, &scaled(1e36), 5))?;
        let is_finite = |row: &Values| matches!(row.get(1), Some(Value::Float(d)) if d.is_finite());
        holds("finite", rows.len() == 5 && rows.iter().all(is_finite))
    })
}

fn fails_plainly() -> Check {
    holds("a distance is a float", false)
}

/// Vectors of another length, NaN, and what a query for the nearest rows can't have are rejected.
pub fn wrong_vectors_are_rejected(harness: &dyn Harness) -> Check {
    with_vectors(harness, |probe, image| {
        fill(probe, image)?;
        let rejected = |what: &str, select: &Select, kind: ErrorKind| {
            fails(what, probe.select(select), kind).map(drop)
        };
        let by = |to: &[f32]| nearest(image, Metric::Cosine, to, 3);
        rejected("too short", &by(&numbers(1)[1..]), ErrorKind::Mismatch)?;
        rejected("empty", &by(&[]), ErrorKind::Mismatch)?;
        for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut to = numbers(1);
            to[18] = number;
            rejected("not finite", &by(&to), ErrorKind::OutOfRange)?;
        }
        rejected("no direction", &by(&[0.0; NUMBERS]), ErrorKind::OutOfRange)?;
        let mut select = by(&numbers(1));
        select.nearest =
            Some(Box::new(Nearest { column: 1, metric: Metric::Dot, to: numbers(1).into() }));
        rejected("no vectors", &select, ErrorKind::Mismatch)?;
        let mut select = by(&numbers(1));
        select.columns = vec![Expr::Count];
        select.order.clear();
        rejected("counted", &select, ErrorKind::Unsupported)?;
        let mut select = by(&numbers(1));
        select.order.insert(0, Order { column: 1, descending: true });
        rejected("sorted", &select, ErrorKind::Unsupported)?;
        let mut select = by(&numbers(1));
        select.lock = Some(RowLock::Wait);
        rejected("locked", &select, ErrorKind::Unsupported)?;
        let mut select = by(&numbers(1));
        select.nearest = None;
        rejected("a distance alone", &select, ErrorKind::Schema)?;
        same("still there", ids(&probe.select(&by(&numbers(1)))?).len(), 3)
    })
}

/// Tables with other keys sort equal distances by them, and get columns of vectors later.
pub fn equal_distances_are_sorted_by_any_key(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().vectors {
        return Ok(());
    }
    let pair = || {
        TableSchema::builder("pair")
            .column(ColumnSchema::of::<i64>("a"))
            .column(ColumnSchema::of::<String>("b").max_chars(20))
            .key(["b", "a"])
    };
    let table = Arc::new(pair().build()?);
    create(store.engine(), &[&table])?;
    let probe = Probe::new(store.engine())?;
    let keys = [(2, "x"), (1, "y"), (1, "x"), (3, "B"), (2, "b")];
    probe.insert_all(&table, keys.map(|(a, b)| row![a, b]))?;
    let wider = pair().column(ColumnSchema::of::<Vector<3>>("v")).build()?;
    let wider = Arc::new(wider);
    let change = SchemaChange::AddColumn { table: Arc::clone(&wider), column: 2 };
    probe.session.alter(&[change])?;
    let to =
        Nearest { column: 2, metric: Metric::Euclidean, to: [0.0, 3.0, 4.0].as_slice().into() };
    let columns = vec![Expr::Column(1), Expr::Distance, Expr::Column(0)];
    let select =
        Select { nearest: Some(Box::new(to)), columns, limit: Some(4), ..Select::all(&wider) };
    let first = vec![row!["B", 5.0, 3], row!["b", 5.0, 2], row!["x", 5.0, 1], row!["x", 5.0, 2]];
    same("zeros", probe.select(&select)?, first)?;
    let mark = tables::mark()?;
    let key = TableSchema::builder("wrong").column(ColumnSchema::of::<Vector<3>>("v")).key(["v"]);
    fails("a key of vectors", key.build(), ErrorKind::Schema)?;
    let indexed = mark.as_ref().clone().into_builder().column(ColumnSchema::of::<Vector<3>>("v"));
    fails("an index", indexed.index("v_index", ["v"]).build(), ErrorKind::Schema).map(drop)
}
