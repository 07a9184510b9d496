//! Statements of the same shape have the same text, whatever their values are.

use crate::queries::{assign, query};
use crate::random::{Random, condition, table, value};
use bobak_core::join::{
    CalculationOperator, JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinLink, JoinOrder,
    JoinSubquery, JoinTable,
};
use bobak_core::{
    BulkChange, ColumnPair, ColumnSchema, Comparison, Condition, Join, RowLock, SubQuery,
    TableSchema, Type, Value,
};
use bobak_sql::{Dialect, Statement, StatementShape, change, join, select};
use std::collections::HashMap;
use std::sync::Arc;

/// The texts of the shapes so far.
#[derive(Default)]
struct Texts {
    known: HashMap<Vec<u64>, String>,
    repeated: usize,
    shapeless: usize,
}

impl Texts {
    fn add(&mut self, shape: Option<StatementShape<'_>>, statement: &Statement<'_>) {
        let Some(shape) = shape else {
            self.shapeless += 1;
            return;
        };
        assert_eq!(shape.values(), statement.parameters, "{}", statement.text);
        let known = self.known.insert(shape.words().to_vec(), statement.text.clone());
        if let Some(text) = known {
            assert_eq!(text, statement.text);
            self.repeated += 1;
        }
    }

    /// Many shapes were met again, of many texts.
    fn check(self) {
        let mut texts: Vec<_> = self.known.values().collect();
        texts.sort_unstable();
        texts.dedup();
        assert!(self.repeated > 500, "{} of {}", self.repeated, self.known.len());
        assert!(self.shapeless < 2 * (self.known.len() + self.repeated), "{}", self.shapeless);
        assert!(texts.len() > 500, "{}", texts.len());
    }
}

/// The dialects with shapes.
const DIALECTS: [Dialect; 2] = [Dialect::Sqlite, Dialect::Postgres];

/// The random table with columns whose types PostgreSQL has, but not all of their integers.
fn wide_table() -> Arc<TableSchema> {
    let columns = table().columns().to_vec().into_iter().chain([
        ColumnSchema::of::<Option<bool>>("bool"),
        ColumnSchema::new("time", Type::Time).nullable(true),
    ]);
    let table = columns.fold(TableSchema::builder("t"), |table, column| table.column(column));
    Arc::new(table.key(["id"]).index("t_int", ["int"]).build().unwrap())
}

#[test]
fn queries_of_one_shape_have_one_text() {
    let tables = [wide_table(), wide_table()];
    for dialect in DIALECTS {
        let (mut random, mut texts) = (Random(21), Texts::default());
        for _ in 0..40_000 {
            let table = random.of(&tables);
            let mut query = query(&mut random, &table);
            query.condition = query.condition.map(|one| or_other(&mut random, &tables, one));
            if !query.is_grouped() && random.below(4) == 0 {
                let locks = [RowLock::Wait, RowLock::NoWait, RowLock::SkipLocked];
                query.lock = Some(random.of(&locks));
            }
            texts.add(StatementShape::of_select(dialect, &query), &select(dialect, &query));
        }
        texts.check();
    }
}

#[test]
fn changes_of_one_shape_have_one_text() {
    let table = wide_table();
    for dialect in DIALECTS {
        let (mut random, mut texts) = (Random(22), Texts::default());
        for _ in 0..20_000 {
            let assigns: Vec<_> = (0..=random.below(2)).map(|_| assign(&mut random)).collect();
            let condition = (random.below(4) > 0).then(|| condition(&mut random, 1));
            let tables = [Arc::clone(&table)];
            let condition = condition.map(|one| or_other(&mut random, &tables, one));
            let assign = (random.below(3) > 0).then_some(&*assigns);
            let change_of = BulkChange { table: &table, condition: condition.as_ref(), assign };
            let statement = change(dialect, &change_of);
            texts.add(StatementShape::of_change(dialect, &change_of), &statement);
        }
        texts.check();
    }
}

#[test]
fn joins_of_one_shape_have_one_text() {
    let table = wide_table();
    for dialect in DIALECTS {
        let (mut random, mut texts) = (Random(23), Texts::default());
        for _ in 0..40_000 {
            let query = random_join(&mut random, &table);
            let Some(statement) = join(dialect, &query) else { continue };
            texts.add(StatementShape::of_join(dialect, &query), &statement);
        }
        texts.check();
    }
}

#[test]
fn a_long_list_is_one_value() {
    let table = table();
    let of = |dialect, values: std::ops::Range<i64>| {
        let values = values.map(Value::Int).collect();
        let condition = Condition::In { column: 4, values };
        let change = BulkChange { table: &table, condition: Some(&condition), assign: None };
        let shape = StatementShape::of_change(dialect, &change).unwrap();
        (shape.words().to_vec(), shape.values().len())
    };
    for dialect in DIALECTS {
        assert_eq!(of(dialect, 0..9), of(dialect, 5..500));
        assert_eq!(of(dialect, 0..9).1, 1);
        assert_ne!(of(dialect, 0..8).0, of(dialect, 0..7).0);
    }
}

/// The condition, or one that a column is among rows or values, or compares with one that PostgreSQL's type may not have.
fn or_other(random: &mut Random, tables: &[Arc<TableSchema>], condition: Condition) -> Condition {
    let table = random.of(tables);
    match random.below(6) {
        0 => {
            let (column, selected) = random.of(&[(0, 0), (1, 1), (0, 4), (4, 0), (2, 2)]);
            let condition = (random.below(4) > 0).then_some(condition);
            let query =
                Box::new(SubQuery { table, column: selected, more: pairs(random), condition });
            Condition::InQuery { column, query }
        }
        1 => {
            let value = Value::Int(random.of(&[-1, 0, 1, 2, 86_400_000_000]));
            let column = random.of(&[9, 10]);
            Condition::Compare { column, comparison: Comparison::Less, value }
        }
        2 => {
            let column = random.below(9);
            let mut values: Vec<_> = (0..random.below(24)).map(|_| value(random, column)).collect();
            if random.below(8) == 0 {
                values.push(Value::Null);
            }
            Condition::In { column, values }
        }
        _ => condition,
    }
}

/// What is calculated of the rows that refer to a row: their number, or whether there is one.
fn of_referring(random: &mut Random, outer: &Join, table: &Arc<TableSchema>) -> JoinExpr {
    let own = outer.tables.len();
    let mut tables = outer.tables.clone();
    tables
        .iter_mut()
        .filter_map(|table| table.link.as_mut())
        .for_each(|link| link.condition = None);
    tables.push(JoinTable { table: Arc::clone(table), link: None, rows: None });
    let of = |table, column| JoinExpr::Column(JoinColumn { table, column });
    let from = of(random.below(own), random.of(&[0, 4]));
    let mut filters = vec![JoinCondition::Compare(of(own, 4), Comparison::Equal, from)];
    if random.below(2) == 0 {
        let one = condition(random, 1);
        filters.push(JoinCondition::Row(own, or_other(random, &[Arc::clone(table)], one)));
    }
    let number = |number: i64| JoinExpr::Value(number.into(), Type::I64);
    let is_flag = random.below(2) == 0;
    let counted = random.of(&[number(1), of(own, 0)]);
    let counted = JoinExpr::Aggregate(JoinAggregate::Count, Box::new(counted));
    let columns = vec![if is_flag { number(1) } else { counted }];
    let mut query = Join { tables, outer: own, filters, columns, ..Join::default() };
    query.limit = random.of(&[None, None, None, Some(1)]);
    let query = Box::new(JoinSubquery::of_join(query));
    match is_flag {
        true => {
            JoinExpr::Case(vec![(JoinCondition::Exists(query), number(1))], Box::new(number(0)))
        }
        false => JoinExpr::Query(query),
    }
}

/// Pairs of columns after the first one, mostly none.
fn pairs(random: &mut Random) -> Vec<ColumnPair> {
    let count = random.of(&[0, 0, 0, 1, 2]);
    (0..count).map(|_| ColumnPair { from: random.of(&[0, 4]), to: random.of(&[0, 4]) }).collect()
}

fn random_join(random: &mut Random, table: &Arc<TableSchema>) -> Join {
    let tables = 1 + random.below(3);
    let mut join =
        Join { limit: random.of(&[None, Some(3), Some(999), Some(2_000)]), ..Join::default() };
    join.offset = random.of(&[0, 0, 2]);
    for at in 0..tables {
        let link = (at > 0).then(|| JoinLink {
            from: JoinColumn { table: random.below(at), column: random.of(&[0, 4]) },
            to: random.of(&[0, 4]),
            more: pairs(random),
            is_left: random.below(2) == 0,
            condition: (random.below(3) == 0).then(|| condition(random, 1)),
        });
        join.tables.push(JoinTable { table: Arc::clone(table), link, rows: None });
    }
    let column = |random: &mut Random| {
        let (table, column) = (random.below(tables), random.of(&[0, 1, 4]));
        JoinExpr::Column(JoinColumn { table, column })
    };
    if random.below(3) == 0 {
        join.group.push(column(random));
        let function = random.of(&[JoinAggregate::Count, JoinAggregate::Min, JoinAggregate::Max]);
        join.columns.push(JoinExpr::Aggregate(function, Box::new(column(random))));
        let of = |random: &mut Random| {
            JoinExpr::Column(JoinColumn { table: random.below(tables), column: random.of(&[0, 4]) })
        };
        let operator = random.of(&[CalculationOperator::Times, CalculationOperator::Minus]);
        let number = JoinExpr::Calculation(operator, Box::new((of(random), of(random))));
        let function = random.of(&[JoinAggregate::Sum, JoinAggregate::Max]);
        join.columns.push(JoinExpr::Aggregate(function, Box::new(number)));
        join.columns.extend(join.group.clone());
    } else {
        join.columns.extend((0..=random.below(2)).map(|_| column(random)));
        for _ in 0..random.below(3) {
            let calculated = of_referring(random, &join, table);
            join.columns.insert(0, calculated);
        }
    }
    if random.below(2) == 0 {
        let condition = condition(random, 1);
        let condition = or_other(random, &[Arc::clone(table)], condition);
        join.filters.push(JoinCondition::Row(random.below(tables), condition));
    }
    let expr = join.columns.last().cloned().unwrap_or_else(|| column(random));
    let (descending, nulls_first) = (random.below(2) == 0, random.below(2) == 0);
    join.order.push(JoinOrder { expr, descending, nulls_first });
    join
}

/// The rows of a table, each with whether a row of the same table refers to it.
fn flagged(table: &Arc<TableSchema>, limit: Option<u64>) -> Join {
    let of = |table, column| JoinExpr::Column(JoinColumn { table, column });
    let joined = |_| JoinTable { table: Arc::clone(table), link: None, rows: None };
    let refers = JoinCondition::Compare(of(1, 4), Comparison::Equal, of(0, 0));
    let inside = Join {
        tables: (0..2).map(joined).collect(),
        outer: 1,
        filters: vec![refers],
        ..Join::default()
    };
    let exists = JoinCondition::Exists(Box::new(JoinSubquery::of_join(inside)));
    let [one, zero] = [1_i64, 0].map(|n| JoinExpr::Value(n.into(), Type::I64));
    let flag = JoinExpr::Case(vec![(exists.clone(), one)], Box::new(zero));
    Join {
        tables: vec![joined(0)],
        columns: vec![of(0, 0), flag.clone(), flag],
        filters: vec![exists],
        limit,
        ..Join::default()
    }
}

#[test]
fn postgres_asks_for_a_flag_once_for_each_of_a_few_rows() {
    let table = table();
    let offsets = |dialect, limit| {
        let query = flagged(&table, limit);
        join(dialect, &query).unwrap().text.matches(" OFFSET 0)").count()
    };
    // The condition is left to the server, which may join the tables.
    assert_eq!(offsets(Dialect::Postgres, Some(20)), 2);
    assert_eq!(offsets(Dialect::Postgres, Some(100_000)), 0);
    assert_eq!(offsets(Dialect::Postgres, None), 0);
    assert_eq!(offsets(Dialect::Sqlite, Some(20)), 0);
}

#[test]
fn postgres_asks_for_no_flag_of_a_skipped_row() {
    let table = table();
    let by_id = JoinOrder {
        expr: JoinExpr::Column(JoinColumn { table: 0, column: 0 }),
        descending: true,
        nulls_first: false,
    };
    let text = |dialect, offset| {
        let query = Join { offset, order: vec![by_id.clone()], ..flagged(&table, Some(20)) };
        join(dialect, &query).unwrap().text
    };
    let ends = |text: &str| {
        let page = " LIMIT $5 OFFSET $6) AS t0 ORDER BY t0.\"id\" DESC";
        text.ends_with(page)
            && text.matches(" FROM (SELECT t0.* FROM \"t\" AS t0 WHERE ").count() == 1
    };
    assert!(ends(&text(Dialect::Postgres, 40)), "{}", text(Dialect::Postgres, 40));
    assert!(!ends(&text(Dialect::Postgres, 0)) && !ends(&text(Dialect::Sqlite, 40)));
}
