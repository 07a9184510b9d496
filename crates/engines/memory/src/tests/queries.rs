//! Every plan against a full scan: all rows, each condition evaluated, then sorted.

use super::*;
use bobak_core::compare_in_column;
use bobak_core::{Collation, Comparison, Expr, Order, OrderBy};
use std::cmp::Ordering;

/// A random number generator (SplitMix64) with a seed.
pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    pub fn pick<T: Clone>(&mut self, choice: &[T]) -> T {
        choice[self.below(choice.len() as u64) as usize].clone()
    }
}

const WORDS: [&str; 9] = ["", "a", "A", "ab", "Ab", "abc", "é", "É", "\u{d7ff}z"];

fn table(key: &[&'static str]) -> Arc<TableSchema> {
    let text = |name, collation| ColumnSchema::new(name, Type::Text).collation(collation);
    TableSchema::builder("t")
        .column(ColumnSchema::new("id", Type::I64))
        .column(text("b", Collation::Binary).nullable(true))
        .column(text("n", Collation::NoCase))
        .column(text("u", Collation::UnicodeNoCase).nullable(true))
        .column(ColumnSchema::new("f", Type::F64).nullable(true))
        .column(ColumnSchema::new("any", Type::Any).nullable(true))
        .column(ColumnSchema::new("i", Type::I32).nullable(true))
        .key(key.iter().copied())
        .index("t_b_i", ["b", "i"])
        .index("t_n", ["n"])
        .index("t_f_u", ["f", "u"])
        .unique_index("t_any_id", ["any", "id"])
        .build()
        .unwrap()
        .into()
}

fn value(random: &mut Random, column: usize, nullable: bool) -> Value<'static> {
    let word = random.pick(&WORDS);
    let float = random.pick(&[-0.0, 0.0, 1.0, 1.5, -2.0, f64::INFINITY]);
    let small = random.below(4) as i64;
    match column {
        _ if nullable && random.below(5) == 0 => Value::Null,
        0 | 6 => Value::Int(small),
        1..=3 => word.into(),
        4 => Value::Float(float),
        _ => random.pick(&[
            Value::Int(small),
            Value::Float(float),
            word.into(),
            Value::Bytes(word.as_bytes().to_vec().into()),
        ]),
    }
}

fn fill(random: &mut Random, key: &[&'static str], count: i64) -> (Memory, Arc<TableSchema>) {
    let table = table(key);
    let memory = engine(&[&table]);
    let session = memory.session().unwrap();
    for id in 0..count {
        let mut values: Values = (0..7).map(|c| value(random, c, ![0, 2].contains(&c))).collect();
        values[0] = Value::Int(id * 7 % count);
        write(&*session, &table, Verb::InsertOrReplace, &values).unwrap();
    }
    drop(session);
    (memory, table)
}

fn condition(random: &mut Random, depth: u32) -> Condition {
    let column = random.below(7) as usize;
    let some = |random: &mut Random| {
        if column == 0 { Value::Int(random.below(60) as i64) } else { value(random, column, false) }
    };
    let comparison = random.pick(&[
        Comparison::Equal,
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ]);
    match random.below(if depth == 0 { 9 } else { 16 }) {
        0..=3 => Condition::Compare { column, comparison, value: some(random) },
        4 => Condition::IsNull { column },
        5 => {
            // Lists longer than the scan searches from the start, too.
            let most = random.pick(&[4, 30]);
            let values = (0..random.below(most)).map(|_| some(random)).collect();
            Condition::In { column, values }
        }
        6 => Condition::StartsWith {
            column: 1 + random.below(3) as usize,
            prefix: random.pick(&WORDS).to_owned(),
        },
        7 => Condition::Like { column, pattern: random.pick(&["a%", "%b", "_", "%"]).to_owned() },
        8 => Condition::CompareColumns { left: 1, comparison, right: 3 },
        9..=12 => {
            Condition::And((0..1 + random.below(3)).map(|_| condition(random, depth - 1)).collect())
        }
        13..=14 => {
            Condition::Or((0..random.below(4)).map(|_| condition(random, depth - 1)).collect())
        }
        _ => Condition::Not(Box::new(condition(random, depth - 1))),
    }
}

fn compare(table: &TableSchema, steps: &[Order], a: &Values, b: &Values) -> Ordering {
    steps.iter().fold(Ordering::Equal, |so_far, step| {
        let c = step.column;
        let ordering = compare_in_column(table, c, a[c].as_ref(), b[c].as_ref());
        so_far.then(if step.descending { ordering.reverse() } else { ordering })
    })
}

#[test]
fn every_plan_returns_the_rows_of_a_full_scan() {
    for (seed, key) in [(1, &["id"][..]), (2, &["n", "id"]), (3, &["id", "n"])] {
        let mut random = Random(seed);
        let (memory, table) = fill(&mut random, key, 60);
        let session = memory.session().unwrap();
        let stored = all(&*session, &table);
        for _ in 0..3_000 {
            let random = &mut random;
            let mut query: Query<()> = Query::all();
            if random.below(8) > 0 {
                query = Query::filter(bobak_core::Filter::new(condition(random, 2)));
            }
            for _ in 0..random.below(4) {
                let (column, descending) = (random.below(7) as usize, random.below(2) == 0);
                query = query.order_by(OrderBy::new(Order { column, descending }));
            }
            if random.below(2) == 0 {
                query = query.limit(random.below(9)).offset(random.below(3));
            }
            let chosen: Vec<usize> = match random.below(2) {
                0 => (0..7).collect(),
                _ => vec![5, 0],
            };
            let exprs: Vec<_> = chosen.iter().map(|c| Expr::Column(*c)).collect();
            let select = query.to_select(&table, exprs).unwrap();
            let keeps = |row: &&Values| {
                let condition = select.condition.as_ref();
                condition.is_none_or(|c| c.evaluate(&table, &row.as_slice()) == Some(true))
            };
            let mut expected: Vec<Values> = stored.iter().filter(keeps).cloned().collect();
            expected.sort_by(|a, b| compare(&table, &select.order, a, b));
            let expected: Vec<Values> = expected
                .iter()
                .skip(select.offset as usize)
                .take(select.limit.map_or(usize::MAX, |limit| limit as usize))
                .map(|row| chosen.iter().map(|c| row[*c].clone()).collect())
                .collect();
            assert_eq!(rows(&*session, &select), expected, "{select:?}");
        }
    }
}

#[test]
fn groups_have_equal_values_and_exact_sums() {
    let mut random = Random(9);
    let (memory, table) = fill(&mut random, &["id"], 60);
    let session = memory.session().unwrap();
    let stored = all(&*session, &table);
    for group in [vec![], vec![2], vec![3], vec![5], vec![4, 6], vec![0]] {
        let mut columns: Vec<Expr> = group.iter().map(|c| Expr::Column(*c)).collect();
        columns.extend([Expr::Count, Expr::CountOf(6), Expr::Sum(6), Expr::Min(3), Expr::Max(5)]);
        columns.extend([Expr::Avg(6)]);
        let mut query: Query<()> = Query::all();
        for &position in &group {
            query = query.group_by(bobak_core::Column::<(), i64>::new(position));
        }
        let select = query.to_select(&table, columns).unwrap();
        let mut groups: Vec<Vec<&Values>> = Vec::new();
        for row in &stored {
            let same = |members: &&mut Vec<&Values>| {
                compare(&table, &select.order, members[0], row).is_eq()
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(row),
                None => groups.push(vec![row]),
            }
        }
        groups.sort_by(|a, b| compare(&table, &select.order, a[0], b[0]));
        let found = rows(&*session, &select);
        assert_eq!(found.len(), groups.len());
        for (found, members) in found.iter().zip(groups) {
            let ints: Vec<i64> = members
                .iter()
                .filter_map(|row| if let Value::Int(i) = row[6] { Some(i) } else { None })
                .collect();
            let mut expected: Values = group.iter().map(|c| members[0][*c].clone()).collect();
            let sum: i64 = ints.iter().sum();
            let best = |column: usize, wanted: Ordering| {
                members.iter().map(|row| &row[column]).filter(|v| !v.is_null()).fold(
                    Value::Null,
                    |best, value| {
                        let ordering =
                            compare_in_column(&table, column, value.as_ref(), best.as_ref());
                        let better = best.is_null() || ordering == wanted;
                        if better { value.clone() } else { best }
                    },
                )
            };
            expected.extend([
                Value::Int(members.len() as i64),
                Value::Int(ints.len() as i64),
                if ints.is_empty() { Value::Null } else { Value::Int(sum) },
                best(3, Ordering::Less),
                best(5, Ordering::Greater),
                if ints.is_empty() {
                    Value::Null
                } else {
                    Value::Float(sum as f64 / ints.len() as f64)
                },
            ]);
            assert_eq!(*found, expected);
        }
    }
}

#[test]
fn aggregates_of_empty_tables_money_and_overflow() {
    let table: Arc<TableSchema> = TableSchema::builder("m")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("price", Type::Currency))
        .column(ColumnSchema::new("name", Type::Text))
        .key(["id"])
        .build()
        .unwrap()
        .into();
    let memory = engine(&[&table]);
    let session = &*memory.session().unwrap();
    let columns = vec![Expr::Count, Expr::Sum(1), Expr::Avg(1), Expr::Max(1)];
    let query: Query<()> = Query::all();
    let select = query.to_select(&table, columns).unwrap();
    let none = [Value::Int(0), Value::Null, Value::Null, Value::Null];
    assert_eq!(rows(session, &select), [none]);
    let insert = |id: i64, price: i64| {
        write(session, &table, Verb::Insert, &[id.into(), price.into(), "".into()]).unwrap()
    };
    insert(1, 15_000);
    insert(2, 10_000);
    let some = [Value::Int(2), Value::Int(25_000), Value::Float(1.25), Value::Int(15_000)];
    assert_eq!(rows(session, &select), [some]);
    insert(3, i64::MAX);
    let source = Source::Select(&select);
    let error = session.query(&source, &mut |_| Ok(true)).unwrap_err();
    assert_eq!((error.kind(), error.column()), (bobak_core::ErrorKind::OutOfRange, Some("price")));
    let select = query.to_select(&table, vec![Expr::Sum(2)]).unwrap();
    let error = session.query(&Source::Select(&select), &mut |_| Ok(true)).unwrap_err();
    assert_eq!(error.kind(), bobak_core::ErrorKind::Mismatch);
    let select = query.to_select(&table, vec![Expr::Count]).unwrap();
    assert_eq!(rows(session, &select), [[Value::Int(3)]]);
}

#[test]
fn a_condition_finds_rows_without_a_full_scan() {
    use super::super::plan::{Path, Plan, Walk};
    let mut random = Random(4);
    let (memory, table) = fill(&mut random, &["id"], 60);
    let state = memory.shared.read();
    let state = state.table(0);
    let equal = |column: usize, value: Value<'static>| Condition::Compare {
        column,
        comparison: Comparison::Equal,
        value,
    };
    let plan = |condition: &Condition, steps: &[(usize, bool)]| {
        let step = |&(column, descending): &(usize, bool)| Order { column, descending };
        let steps: Vec<_> = steps.iter().map(step).collect();
        Plan::new(state, Some(condition), &steps)
    };
    let by_key = [(0, false)];
    assert!(matches!(plan(&equal(0, 5.into()), &by_key).path, Path::Slots(s) if s.len() == 1));
    let listed = Condition::In { column: 0, values: vec![1.into(), 2.into(), 1.into()] };
    assert!(matches!(plan(&listed, &by_key).path, Path::Slots(s) if s.len() == 2));
    // A long list reads the rows of an index that have one of its values, and no others.
    let names = |count: usize| (1..count).map(|n| Value::from(format!("none {n}")));
    let list = |count: usize| names(count).chain([Value::from("a")]).collect();
    let [short, long] = [2, 600].map(|count| {
        match plan(&Condition::In { column: 1, values: list(count) }, &by_key).path {
            Path::Slots(slots) => slots,
            Path::Range { .. } => panic!("the list of {count} values reads a range"),
        }
    });
    assert_eq!(long, short);
    assert!(!short.is_empty() && short.len() < 60, "{short:?}");
    let both = Condition::And(vec![equal(5, 1.into()), equal(0, 5.into())]);
    assert!(matches!(plan(&both, &by_key).path, Path::Slots(_)));
    let index = |plan: &Plan| match plan.path {
        Path::Range { index, .. } => index,
        Path::Slots(_) => usize::MAX,
    };
    let found = plan(&equal(1, "a".into()), &[(6, true), (0, false)]);
    assert_eq!((index(&found), found.walk), (1, Some(Walk::Runs(2))));
    let found = plan(&equal(1, "a".into()), &[(6, true), (0, true)]);
    assert_eq!((index(&found), found.walk), (1, Some(Walk::Backward)));
    let starts = Condition::StartsWith { column: 1, prefix: "a".to_owned() };
    let found = plan(&starts, &[(1, false), (6, false), (0, false)]);
    assert_eq!((index(&found), found.walk), (1, Some(Walk::Forward)));
    let starts = Condition::StartsWith { column: 2, prefix: "a".to_owned() };
    assert_eq!(index(&plan(&starts, &by_key)), 0);
    let null = Condition::IsNull { column: 4 };
    let found = plan(&null, &by_key);
    assert_eq!((index(&found), found.walk), (3, None));
    assert_eq!(plan(&Condition::Or(Vec::new()), &by_key).path, Path::Slots(Vec::new()));
    let _ = table;
}
