//! Which columns a query compares: what an index could serve.

use crate::join::{JoinColumn, JoinCondition, JoinExpr, JoinOrder};
use crate::{Comparison, Condition, Join, Order, Select, TableSchema};

/// A table in a query, and the columns of it that an index could serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TableUse {
    /// What the plan may call the table.
    pub alias: String,
    pub table: String,
    /// Columns that equal a value.
    pub equal: Vec<String>,
    /// Columns that are compared in another way.
    pub ranges: Vec<String>,
    /// Columns that equal a column of another table, and what the plan may call that.
    pub links: Vec<(String, String)>,
    /// The columns of the order, if it is of this table alone and an index can have it.
    pub order: Vec<String>,
}

impl TableUse {
    pub(super) fn new(alias: &str, table: &str) -> Self {
        Self { alias: alias.to_owned(), table: table.to_owned(), ..Self::default() }
    }

    pub(super) fn of_select(select: &Select) -> Self {
        let table = &select.table;
        let mut found = Self::new(table.name(), table.name());
        select.condition.iter().for_each(|condition| found.add(table, condition));
        if select.limit.is_some() && !select.is_grouped() {
            found.order = order_of_columns(table, &select.order);
        }
        found
    }

    /// The tables of a join, with the names that they have in its SQL, and those of the queries inside of it.
    pub(super) fn of_join(join: &Join) -> Vec<Self> {
        let mut all: Vec<Self> = join
            .tables
            .iter()
            .enumerate()
            .map(|(at, joined)| Self::new(&format!("t{at}"), joined.table.name()))
            .collect();
        for (at, joined) in join.tables.iter().enumerate().skip(join.outer) {
            let Some(link) = &joined.link else { continue };
            link.pairs(at).for_each(|[from, to]| add_link(&mut all, join, from, to));
            let condition = link.condition.iter();
            condition.for_each(|condition| add_row(&mut all, join, at, condition));
        }
        join.filters.iter().for_each(|filter| add_filter(&mut all, join, filter));
        if let ([only], [table], Some(_), false) =
            (&mut *all, &*join.tables, join.limit, join.is_grouped())
        {
            only.order = join_order(&join.order, &table.table);
        }
        join.for_each_query(&mut |query| {
            all.extend(Self::of_join(&query.join).into_iter().skip(query.join.outer));
        });
        let rows = join.tables.iter().filter_map(|joined| joined.rows.as_ref());
        for query in rows.flat_map(|rows| &rows.queries) {
            all.extend(Self::of_join(&query.join));
        }
        all
    }

    pub(super) fn add_column(&mut self, name: &str, is_equal: bool) {
        let list = if is_equal { &mut self.equal } else { &mut self.ranges };
        if !list.iter().any(|other| other == name) {
            list.push(name.to_owned());
        }
    }

    /// Adds what a condition compares, if all rows that match it have that in common.
    fn add(&mut self, table: &TableSchema, condition: &Condition) {
        let name = |column: usize| table.columns().get(column).map_or("", |c| c.name.as_ref());
        match condition {
            Condition::Compare { comparison: Comparison::NotEqual, .. } => {}
            Condition::Compare { column, comparison, .. } => {
                self.add_column(name(*column), *comparison == Comparison::Equal);
            }
            Condition::In { column, .. } | Condition::IsNull { column } => {
                self.add_column(name(*column), true);
            }
            Condition::InQuery { column, query } => {
                query.pairs(*column).for_each(|pair| self.add_column(name(pair.from), true));
            }
            Condition::StartsWith { column, .. } => self.add_column(name(*column), false),
            Condition::And(parts) => parts.iter().for_each(|part| self.add(table, part)),
            _ => {}
        }
    }
}

/// The columns of an order, without the key at its end; none if they go in both directions.
pub(super) fn order_of_columns(table: &TableSchema, order: &[Order]) -> Vec<String> {
    let steps = order.iter().take_while(|step| !table.key().contains(&step.column));
    let steps: Vec<_> = steps.collect();
    let is_one_way = steps.windows(2).all(|pair| match pair {
        [one, other] => one.descending == other.descending,
        _ => true,
    });
    let names = steps.iter().filter_map(|step| table.columns().get(step.column));
    if is_one_way { names.map(|column| column.name.to_string()).collect() } else { Vec::new() }
}

/// The columns of a query's order; none if it is not of columns alone, or has NULL where no index has it.
fn join_order(steps: &[JoinOrder], table: &TableSchema) -> Vec<String> {
    let column = |step: &JoinOrder| match step.expr {
        JoinExpr::Column(JoinColumn { column, .. }) => {
            let nullable = table.columns().get(column)?.nullable;
            let is_usual = !nullable || step.nulls_first != step.descending;
            is_usual.then_some(Order { column, descending: step.descending })
        }
        _ => None,
    };
    let steps: Option<Vec<Order>> = steps.iter().map(column).collect();
    steps.map_or_else(Vec::new, |steps| order_of_columns(table, &steps))
}

fn name(join: &Join, column: JoinColumn) -> Option<&str> {
    join.column(column).map(|schema| &*schema.name)
}

fn add_row(all: &mut [TableUse], join: &Join, at: usize, condition: &Condition) {
    if let (Some(found), Some(joined)) = (all.get_mut(at), join.tables.get(at)) {
        found.add(&joined.table, condition);
    }
}

fn add_link(all: &mut [TableUse], join: &Join, one: JoinColumn, other: JoinColumn) {
    for (own, theirs) in [(one, other), (other, one)] {
        let alias = all.get(theirs.table).map(|found| found.alias.clone());
        if let (Some(found), Some(name), Some(alias)) =
            (all.get_mut(own.table), name(join, own), alias)
        {
            found.links.push((name.to_owned(), alias));
        }
    }
}

fn add_filter(all: &mut [TableUse], join: &Join, filter: &JoinCondition) {
    let mut add = |column: JoinColumn, is_equal| {
        if let (Some(found), Some(name)) = (all.get_mut(column.table), name(join, column)) {
            found.add_column(name, is_equal);
        }
    };
    match filter {
        JoinCondition::Row(at, condition) => add_row(all, join, *at, condition),
        JoinCondition::Compare(_, Comparison::NotEqual, _) => {}
        JoinCondition::Compare(
            JoinExpr::Column(one),
            Comparison::Equal,
            JoinExpr::Column(other),
        ) if one.table != other.table => add_link(all, join, *one, *other),
        JoinCondition::Compare(JoinExpr::Column(_), _, JoinExpr::Column(_)) => {}
        JoinCondition::Compare(JoinExpr::Column(column), comparison, _)
        | JoinCondition::Compare(_, comparison, JoinExpr::Column(column)) => {
            add(*column, *comparison == Comparison::Equal);
        }
        JoinCondition::IsNull(JoinExpr::Column(column), true)
        | JoinCondition::InQuery(JoinExpr::Column(column), _) => add(*column, true),
        JoinCondition::AllOf(parts) => parts.iter().for_each(|part| add_filter(all, join, part)),
        _ => {}
    }
}
