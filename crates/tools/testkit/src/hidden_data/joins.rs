//! Random queries over several tables.

use super::values::{column, condition, table};
use crate::model::Random;
use crate::probe::Table;
use bobak_core::join::{
    CalculationOperator, JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinLink, JoinOrder,
    JoinSubquery, JoinTable,
};
use bobak_core::{ColumnPair, Comparison, Join, Type, Value};
use std::sync::Arc;

/// A query over up to three of the tables. Its calculations fail in some rows, which the client may not see.
pub(super) fn join(random: &mut Random, tables: &[Table]) -> Join {
    let first = table(random, tables);
    let mut joined = vec![JoinTable { table: first, link: None, rows: None }];
    for _ in 0..random.below(3) {
        let (from, table) = (any_column(random, &joined), table(random, tables));
        let condition = random.percent(40).then(|| condition(random, &table, 1));
        let to = column(random, &table);
        let before = joined.get(from.table).filter(|_| random.percent(30));
        let pair = |before: &JoinTable| ColumnPair {
            from: column(random, &before.table),
            to: column(random, &table),
        };
        let more = before.map(pair).into_iter().collect();
        let link = Some(JoinLink { from, to, more, is_left: random.percent(50), condition });
        joined.push(JoinTable { table, link, rows: None });
    }
    let mut filters = Vec::new();
    if random.percent(50) {
        let index = random.below(joined.len());
        let row = joined.get(index).map(|joined| condition(random, &joined.table, 2));
        filters.extend(row.map(|row| JoinCondition::Row(index, row)));
    }
    if random.percent(50) {
        let (left, right) = (calculated(random, &joined), calculated(random, &joined));
        filters.push(JoinCondition::Compare(left, Comparison::Less, right));
    }
    if random.percent(30) {
        let inner = table(random, tables);
        filters.push(JoinCondition::Exists(Box::new(inside(random, &joined, &inner))));
    }
    let value = calculated(random, &joined);
    let order = (0..joined.len()).map(|table| JoinOrder {
        expr: JoinExpr::Column(JoinColumn { table, column: 0 }),
        descending: false,
        nulls_first: true,
    });
    let mut join = Join { order: order.collect(), ..Join::default() };
    if random.percent(40) {
        join.order.clear();
        join.columns = vec![JoinExpr::Aggregate(aggregate(random), Box::new(value))];
    } else {
        join.columns = vec![JoinExpr::Column(any_column(random, &joined)), value];
        join.limit = random.percent(30).then(|| random.below(9) as u64);
    }
    Join { tables: joined, filters, ..join }
}

fn any_column(random: &mut Random, tables: &[JoinTable]) -> JoinColumn {
    let index = random.below(tables.len());
    let column = tables.get(index).map_or(0, |joined| column(random, &joined.table));
    JoinColumn { table: index, column }
}

fn aggregate(random: &mut Random) -> JoinAggregate {
    let all = [JoinAggregate::Count, JoinAggregate::Sum, JoinAggregate::Max];
    random.pick(&all).copied().unwrap_or(JoinAggregate::Count)
}

/// A column, or its product with a number, which may be too large.
fn calculated(random: &mut Random, tables: &[JoinTable]) -> JoinExpr {
    let column = JoinExpr::Column(any_column(random, tables));
    if random.percent(50) {
        return column;
    }
    let numbers = [2, 1 << 40, i64::MAX / 20, i64::MAX];
    let number = random.pick(&numbers).copied().unwrap_or(2);
    let parts = (column, JoinExpr::Value(Value::Int(number), Type::I64));
    JoinExpr::Calculation(CalculationOperator::Times, Box::new(parts))
}

/// A query of the rows of a table that have the value of a column of the query around it.
fn inside(random: &mut Random, around: &[JoinTable], table: &Table) -> JoinSubquery {
    let mut tables = JoinTable::around(around);
    tables.push(JoinTable { table: Arc::clone(table), link: None, rows: None });
    let own = JoinColumn { table: around.len(), column: column(random, table) };
    let own = JoinExpr::Column(own);
    let outer = JoinExpr::Column(any_column(random, around));
    let filters = vec![JoinCondition::Compare(own.clone(), Comparison::Equal, outer)];
    let join = Join { tables, outer: around.len(), filters, columns: vec![own], ..Join::default() };
    JoinSubquery::of_join(join)
}
