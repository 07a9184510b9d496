//! Random programs: their queries.

use super::generate::is_exact;
use super::random::Random;
use super::world::{self, World};
use crate::{Table, row};
use bobak_core::{
    ColumnSchema, Comparison, Condition, Expr, Order, Select, Storage, TableSchema, Type, Value,
};

/// Rows, totals or groups of one table.
pub(crate) fn select(random: &mut Random, world: &World) -> Select {
    let table = world.table(random);
    let condition = random.percent(70).then(|| condition(random, &table, 3));
    let (limit, offset) = part(random);
    let select = Select { condition, limit, offset, ..Select::all(&table) };
    match random.weighted(&[70, 15, 15]) {
        0 => rows(random, select),
        1 => whole(Select { columns: aggregates(random, &table), order: Vec::new(), ..select }),
        _ => whole(groups(random, select)),
    }
}

/// Sums have no limit: the contract does not say whether a sum outside the limit may
/// overflow.
fn whole(select: Select) -> Select {
    if select.columns.iter().any(|expr| matches!(expr, Expr::Sum(_))) {
        return Select { limit: None, offset: 0, ..select };
    }
    select
}

fn part(random: &mut Random) -> (Option<u64>, u64) {
    let small = |random: &mut Random| random.below(12) as u64;
    match random.below(10) {
        0..6 => (None, 0),
        6 => (Some(small(random)), 0),
        7 => (None, small(random)),
        8 => (Some(u64::MAX), small(random)),
        _ => (Some(small(random)), small(random)),
    }
}

fn rows(random: &mut Random, mut select: Select) -> Select {
    let columns = select.table.columns().len();
    if random.percent(30) {
        select.columns =
            (0..random.between(1, 4)).map(|_| Expr::Column(random.below(columns))).collect();
    }
    let mut order: Vec<Order> = Vec::new();
    for _ in 0..random.below(3) {
        let column = random.below(columns);
        if order.iter().all(|step| step.column != column) {
            let descending = random.percent(50);
            order.push(Order { column, descending });
        }
    }
    for &column in select.table.key() {
        if order.iter().all(|step| step.column != column) {
            let descending = random.percent(20);
            order.push(Order { column, descending });
        }
    }
    select.order = order;
    select
}

fn aggregates(random: &mut Random, table: &TableSchema) -> Vec<Expr> {
    let one = |random: &mut Random| {
        let column = random.below(table.columns().len());
        let storage = table.columns().get(column).map(|c| c.storage);
        let number = matches!(storage, Some(Storage::Int | Storage::Float));
        match random.below(6) {
            0 => Expr::CountOf(column),
            1 if is_exact(table, column) => Expr::Min(column),
            2 if is_exact(table, column) => Expr::Max(column),
            3 if number => Expr::Sum(column),
            4 if number => Expr::Avg(column),
            _ => Expr::Count,
        }
    };
    (0..random.between(1, 4)).map(|_| one(random)).collect()
}

fn groups(random: &mut Random, mut select: Select) -> Select {
    let table = &select.table;
    let mut group: Vec<usize> = Vec::new();
    for _ in 0..random.between(1, 2) {
        let column = random.below(table.columns().len());
        if !group.contains(&column) {
            group.push(column);
        }
    }
    let shown = group.iter().filter(|column| is_exact(table, **column));
    let mut columns: Vec<Expr> = shown.map(|column| Expr::Column(*column)).collect();
    columns.extend(aggregates(random, table));
    select.order =
        group.iter().map(|&column| Order { column, descending: random.percent(30) }).collect();
    select.group = group;
    select.columns = columns;
    select
}

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// A condition of up to `depth` levels.
pub(crate) fn condition(random: &mut Random, table: &Table, depth: usize) -> Condition {
    if depth > 0 && random.percent(35) {
        let parts = |random: &mut Random| -> Vec<Condition> {
            (0..random.below(4)).map(|_| condition(random, table, depth - 1)).collect()
        };
        return match random.below(3) {
            0 => Condition::And(parts(random)),
            1 => Condition::Or(parts(random)),
            _ => Condition::Not(Box::new(condition(random, table, depth - 1))),
        };
    }
    let column = random.below(table.columns().len());
    let Some(schema) = table.columns().get(column) else {
        return Condition::And(Vec::new());
    };
    let comparison = random.pick(&COMPARISONS).copied().unwrap_or(Comparison::Equal);
    match random.weighted(&[50, 15, 10, 8, 8, 5]) {
        1 => {
            let values = (0..random.below(5)).map(|_| operand(random, schema)).collect();
            Condition::In { column, values }
        }
        2 => Condition::IsNull { column },
        3 if is_text(schema) => Condition::Like { column, pattern: pattern(random) },
        4 if is_text(schema) => {
            let mut prefix = world::text(random);
            prefix.truncate(prefix.char_indices().nth(2).map_or(prefix.len(), |(end, _)| end));
            Condition::StartsWith { column, prefix }
        }
        5 => match partner(table, column) {
            Some(right) => Condition::CompareColumns { left: column, comparison, right },
            None => Condition::IsNull { column },
        },
        _ => {
            let value = operand(random, schema);
            Condition::Compare { column, comparison, value }
        }
    }
}

/// Mostly values that rows contain, now and then the ends of the range.
fn operand(random: &mut Random, column: &ColumnSchema) -> Value<'static> {
    let extremes = match column.storage {
        Storage::Int => row![Value::Int(i64::MIN), Value::Int(i64::MAX), -1],
        Storage::Float => row![f64::INFINITY, f64::NEG_INFINITY, 0.1],
        _ => row!["\u{10ffff}"],
    };
    let fits = matches!(column.storage, Storage::Int | Storage::Float) || is_text(column);
    match random.pick(&extremes) {
        Some(value) if fits && random.percent(8) => value.clone(),
        _ => world::plain(random, column),
    }
}

fn pattern(random: &mut Random) -> String {
    let mut pattern = world::text(random);
    for _ in 0..random.below(3) {
        let mut places: Vec<usize> = pattern.char_indices().map(|(at, _)| at).collect();
        places.push(pattern.len());
        let at = random.pick(&places).copied().unwrap_or_default();
        pattern.insert(at, if random.percent(70) { '%' } else { '_' });
    }
    pattern
}

fn is_text(column: &ColumnSchema) -> bool {
    column.ty == Type::Text
}

/// Another column of the same type and collation.
fn partner(table: &TableSchema, column: usize) -> Option<usize> {
    let this = table.columns().get(column)?;
    let fits = |other: &ColumnSchema| {
        other.ty == this.ty && other.collation == this.collation && other.name != this.name
    };
    table.columns().iter().position(fits)
}
