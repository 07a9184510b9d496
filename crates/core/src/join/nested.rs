//! Queries as they are built, before the tables of the queries around them are known; queries inside of others, and their rows
//! as tables.

use super::{Join, JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinLink, JoinTable};
use crate::{
    Collation, ColumnSchema, Condition, Error, ErrorKind, FieldSet, Result, Storage, TableSchema,
    Type, Value,
};
use std::sync::Arc;

/// A join, and what is not resolved in it. Its columns and conditions are over the tables of the list, which leaves out those
/// between two records of a relation, and begins with the tables of the queries around it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JoinParts {
    pub join: Join,
    pub lists: JoinLists,
}

/// What is not resolved in a join.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct JoinLists {
    /// The index in `join.tables` of each table in the list, but for those of the queries around it, and the columns that
    /// its whole record leaves out.
    pub listed: Vec<(usize, FieldSet)>,
    /// The number of listed tables of the queries around it; `None` if it is not a subquery.
    pub outer: Option<usize>,
    /// The conditions of relations, over `join.tables`.
    pub own: Vec<JoinCondition>,
    pub distinct: bool,
    /// Whether it began with a query of the records after a key.
    pub is_after: bool,
    pub is_locking: bool,
    pub is_searching: bool,
    pub is_nearest: bool,
    /// Whether it began with a query that has a field with its records that is read on request.
    pub is_requesting: bool,
    /// Whether it has a left join by a reference to a record of any type.
    pub is_left_any: bool,
    /// Whether it joins a relation of a record of a query around it.
    pub is_linked_outside: bool,
}

impl JoinParts {
    /// The index in `join.tables` of a listed table.
    pub fn index(&mut self, listed: usize) -> usize {
        let own = listed.checked_sub(self.lists.outer.unwrap_or(0));
        self.lists.is_linked_outside |= own.is_none();
        own.and_then(|own| self.lists.listed.get(own)).map_or(usize::MAX, |listed| listed.0)
    }

    /// With the columns of the records of all listed tables, if nothing is selected.
    pub fn with_columns(mut self, mut columns: Vec<JoinExpr>) -> Self {
        let outer = self.lists.outer.unwrap_or(0);
        if columns.is_empty() {
            for (table, (listed, left_out)) in self.lists.listed.iter().enumerate() {
                let schema = self.join.tables.get(*listed).map(|table| &table.table);
                let count = schema.map_or(0, |schema| schema.columns().len());
                let table = outer + table;
                let column = |column| JoinExpr::Column(JoinColumn { table, column });
                let read = (0..count).filter(|column| !left_out.contains(*column));
                columns.extend(read.map(column));
            }
        }
        self.join.columns = columns;
        self
    }

    /// The join inside of a query with these tables, some of which are in its list.
    ///
    /// # Errors
    /// As [`JoinQuery::to_join`](super::JoinQuery::to_join).
    pub fn resolve(self, around: &[JoinTable], listed_around: &[usize]) -> Result<Join> {
        let Self { mut join, lists } = self;
        lists.check()?;
        if lists.outer.is_some_and(|outer| outer != listed_around.len()) {
            let message = "a query whose rows are combined has no columns of a query around it";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let outer = around.len();
        let mut tables = JoinTable::around(around);
        for mut table in std::mem::take(&mut join.tables) {
            if let Some(link) = &mut table.link {
                link.from.table += outer;
            }
            if let Some(rows) = table.rows.take() {
                let (rows, schema) = rows.resolve()?;
                (table.table, table.rows) = (schema, Some(Box::new(rows)));
            }
            tables.push(table);
        }
        let own = lists.listed.iter().map(|(listed, _)| listed + outer);
        // A query that could stand alone names no tables of others.
        let around = if lists.outer.is_some() { listed_around } else { &[] };
        let listed: Vec<usize> = around.iter().copied().chain(own).collect();
        let mut join = Join { tables, outer, ..join }.resolve(&listed, lists.distinct)?;
        for condition in lists.own {
            if let JoinCondition::Row(table, condition) = condition
                && let Some(JoinTable { table: schema, .. }) = join.tables.get(table + outer)
            {
                let condition = condition.resolve(schema)?;
                join.filters.push(JoinCondition::Row(table + outer, condition));
            }
        }
        Ok(join)
    }
}

impl JoinLists {
    fn check(&self) -> Result<()> {
        let message = if self.is_after {
            "paging by key is over one record: load a join with `Db::page`"
        } else if self.is_locking {
            "a join can't lock rows: lock those of one record first"
        } else if self.is_searching {
            "a join does not search: search one record first, and join those that have its keys"
        } else if self.is_nearest {
            "a join does not find the nearest rows: find those of one record first, and join those that have its keys"
        } else if self.is_requesting {
            "a join leaves out fields that are read on request: select the column next to the record"
        } else if self.is_left_any {
            "a left join has no reference to a record of any type: load a shape, or use `join`"
        } else if self.is_linked_outside {
            "a subquery joins relations of its own records: filter by the columns of the others"
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

/// A query inside of another one's filters and expressions, untyped.
///
/// Its first [`outer`](Join::outer) tables are those of the query around it, whose row it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinSubquery {
    /// The query.
    pub join: Join,
    /// What is not resolved in it.
    lists: Option<JoinLists>,
}

impl JoinSubquery {
    pub(super) fn new(parts: JoinParts) -> Self {
        Self { join: parts.join, lists: Some(parts.lists) }
    }

    /// A query with values in their columns' stored form and a complete order, inside of one with its first
    /// [`outer`](Join::outer) tables.
    #[must_use]
    pub const fn of_join(join: Join) -> Self {
        Self { join, lists: None }
    }

    /// The same place in the query around, with another query.
    #[must_use]
    pub fn with_join(self, join: Join) -> Self {
        Self { join, ..self }
    }

    /// The query in one with these tables, some of which are listed.
    pub(super) fn resolve(self, around: &[JoinTable], listed: &[usize]) -> Result<Self> {
        let Some(lists) = self.lists else { return Ok(self) };
        let join = JoinParts { join: self.join, lists }.resolve(around, listed)?;
        Ok(Self { join, lists: None })
    }

    /// Calls `each` with the columns that it reads in the row of the query around it.
    pub fn for_each_outer_column(&self, each: &mut dyn FnMut(JoinColumn)) {
        self.join.for_each_column(&mut |column| {
            if column.table < self.join.outer {
                each(column);
            }
        });
    }

    /// Whether it has the same rows for each row of the query around it.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        let mut is_constant = true;
        self.for_each_outer_column(&mut |_| is_constant = false);
        is_constant
    }
}

/// The rows of queries, as the first table of a join. Its columns are those that the first query selects.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinRows {
    /// How the rows of more than one query are combined.
    pub operator: SetOperator,
    /// The queries, at least one.
    pub queries: Vec<JoinSubquery>,
}

/// How the rows of queries are combined. Rows are equal if all their values are; NULL equals NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetOperator {
    /// All rows.
    UnionAll,
    /// The different rows.
    Union,
    /// The different rows that all queries have.
    Intersect,
    /// The different rows of the first query that no other one has.
    Except,
}

impl JoinTable {
    /// A table of the rows of resolved queries.
    ///
    /// # Errors
    /// `Mismatch` if the queries select columns of other types, or kept in other forms.
    pub fn of_queries(operator: SetOperator, queries: Vec<Join>) -> Result<Self> {
        let queries = queries.into_iter().map(JoinSubquery::of_join).collect();
        let (rows, table) = JoinRows { operator, queries }.resolve()?;
        Ok(Self { table, link: None, rows: Some(Box::new(rows)) })
    }

    /// The tables of a query, as they are at the start of those of a query inside of it: it reads one row of each, whatever
    /// rows they have.
    #[must_use]
    pub fn around(tables: &[Self]) -> Vec<Self> {
        let table = |Self { table, link, rows }: &Self| {
            let link = link.clone().map(|link| JoinLink { condition: None, ..link });
            let rows = rows
                .as_ref()
                .map(|rows| Box::new(JoinRows { operator: rows.operator, queries: Vec::new() }));
            Self { table: Arc::clone(table), link, rows }
        };
        tables.iter().map(table).collect()
    }
}

impl JoinRows {
    /// The rows of resolved queries, and the schema of their columns.
    ///
    /// # Errors
    /// As [`JoinQuery::to_join`](super::JoinQuery::to_join); `Mismatch` if the columns are kept in different forms.
    pub(super) fn resolve(self) -> Result<(Self, Arc<TableSchema>)> {
        let queries = self.queries.into_iter().map(|query| query.resolve(&[], &[]));
        let queries = queries.collect::<Result<Vec<_>>>()?;
        let is_single = queries.len() == 1;
        let joins = queries.iter().map(|query| &query.join);
        let mut schema = TableSchema::builder("rows").view();
        let mut all = joins.map(|join| join.columns.iter().map(|expr| form(join, expr)).collect());
        let first: Vec<_> = all.next().unwrap_or_default();
        let forms = |row: &[(Type, Storage, Collation)]| -> Vec<_> {
            row.iter().map(|(ty, storage, _)| (*ty, *storage)).collect()
        };
        if all.any(|other: Vec<_>| forms(&other) != forms(&first)) {
            let message =
                "combined queries select columns of the same types, kept in the same form";
            return Err(Error::new(ErrorKind::Mismatch, message));
        }
        for (number, (ty, storage, collation)) in first.into_iter().enumerate() {
            let mut column = ColumnSchema::new(format!("c{number}"), ty).nullable(true);
            column.storage = storage;
            if is_single {
                column.collation = collation;
            }
            schema = schema.column(column);
        }
        Ok((Self { queries, ..self }, Arc::new(schema.build()?)))
    }
}

/// The type of an expression's values, the class of what is stored, and how it compares.
fn form(join: &Join, expr: &JoinExpr) -> (Type, Storage, Collation) {
    let ty = expr.common_type(join);
    let column = if let JoinExpr::Column(column) = expr { join.column(*column) } else { None };
    column.map_or((ty, ty.storage(), Collation::Binary), |c| (ty, c.storage, c.collation))
}

impl Join {
    /// A query of expressions over the rows of one table that match a condition, in the order of the key. The columns of the
    /// expressions are those of the table 0.
    ///
    /// # Errors
    /// As [`JoinQuery::to_join`](crate::join::JoinQuery::to_join); `Unsupported` for an aggregate or a window function.
    pub fn of_rows(
        table: &Arc<TableSchema>,
        condition: Option<Condition>,
        exprs: Vec<JoinExpr>,
    ) -> Result<Self> {
        if exprs.iter().any(|expr| expr.is_aggregate() || expr.is_window()) {
            let message = "the value is calculated from one row: for an aggregate or a window \
                           function, use the value of a query";
            return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
        }
        let filters = condition.map(|condition| JoinCondition::Row(0, condition));
        let tables = vec![JoinTable { table: Arc::clone(table), link: None, rows: None }];
        let filters = filters.into_iter().collect();
        Self { tables, filters, columns: exprs, ..Self::default() }.resolve(&[0], false)
    }

    /// A query of the rows of this one, in the same order: for conditions and limits that come after its groups and limits.
    ///
    /// # Errors
    /// None are known for a query that is resolved.
    pub fn into_rows(mut self) -> Result<Self> {
        let column = |column| JoinExpr::Column(JoinColumn { table: 0, column });
        let (selected, mut order) = (self.columns.len(), self.order.clone());
        for (number, step) in order.iter_mut().enumerate() {
            self.columns.push(std::mem::replace(&mut step.expr, column(selected + number)));
        }
        let tables = vec![JoinTable::of_queries(SetOperator::UnionAll, vec![self])?];
        Ok(Self { tables, columns: (0..selected).map(column).collect(), order, ..Self::default() })
    }

    /// Whether its rows depend on all rows that match its filters: because of groups, window functions, a limit or an offset.
    /// A filter that comes after these needs [`into_rows`](Self::into_rows).
    #[must_use]
    pub fn depends_on_all_rows(&self) -> bool {
        let mut has_windows = false;
        self.for_each_window(&mut |_| has_windows = true);
        self.is_grouped() || has_windows || self.limit.is_some() || self.offset > 0
    }

    /// The query for the number of rows that this one has.
    ///
    /// # Errors
    /// As [`into_rows`](Self::into_rows).
    pub fn count(&self) -> Result<Self> {
        let is_whole = self.depends_on_all_rows();
        let rows = if is_whole { self.clone().into_rows()? } else { self.clone() };
        let one = JoinExpr::Value(Value::Int(1), Type::I64);
        let columns = vec![JoinExpr::Aggregate(JoinAggregate::Count, Box::new(one))];
        Ok(Self { columns, order: Vec::new(), ..rows })
    }
}
