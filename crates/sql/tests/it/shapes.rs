//! Statements of the same shape have the same text, whatever their values are.

use crate::queries::{assign, query};
use crate::random::{Random, condition, table};
use bobak_core::join::{
    JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinLink, JoinOrder, JoinSubquery,
    JoinTable,
};
use bobak_core::{BulkChange, Comparison, Join, TableSchema, Type};
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

#[test]
fn queries_of_one_shape_have_one_text() {
    let (mut random, mut texts) = (Random(21), Texts::default());
    let tables = [table(), table()];
    for _ in 0..40_000 {
        let table = random.of(&tables);
        let query = query(&mut random, &table);
        texts.add(StatementShape::of_select(&query), &select(Dialect::Sqlite, &query));
    }
    texts.check();
}

#[test]
fn changes_of_one_shape_have_one_text() {
    let (mut random, mut texts) = (Random(22), Texts::default());
    let table = table();
    for _ in 0..20_000 {
        let assigns: Vec<_> = (0..=random.below(2)).map(|_| assign(&mut random)).collect();
        let condition = (random.below(4) > 0).then(|| condition(&mut random, 1));
        let assign = (random.below(3) > 0).then_some(&*assigns);
        let change_of = BulkChange { table: &table, condition: condition.as_ref(), assign };
        let statement = change(Dialect::Sqlite, &change_of);
        texts.add(StatementShape::of_change(&change_of), &statement);
    }
    texts.check();
}

#[test]
fn joins_of_one_shape_have_one_text() {
    let (mut random, mut texts) = (Random(23), Texts::default());
    let table = table();
    for _ in 0..40_000 {
        let query = random_join(&mut random, &table);
        let Some(statement) = join(Dialect::Sqlite, &query) else { continue };
        texts.add(StatementShape::of_join(&query), &statement);
    }
    texts.check();
}

fn random_join(random: &mut Random, table: &Arc<TableSchema>) -> Join {
    let tables = 1 + random.below(3);
    let mut join = Join { limit: random.of(&[None, Some(3)]), ..Join::default() };
    join.offset = random.of(&[0, 0, 2]);
    for at in 0..tables {
        let link = (at > 0).then(|| JoinLink {
            from: JoinColumn { table: random.below(at), column: random.of(&[0, 4]) },
            to: random.of(&[0, 4]),
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
        join.columns.extend(join.group.clone());
    } else {
        join.columns.extend((0..=random.below(2)).map(|_| column(random)));
    }
    if random.below(2) == 0 {
        let condition = condition(random, 1);
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
