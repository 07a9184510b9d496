//! Related records that one statement reads together with the records that refer to them.
//!
//! A row of such a join has the columns of the level's own record and its counts, then those of each related record, then that
//! of the link to the level above. It is taken apart when it is read, so that each level has its rows.

use super::Shape;
use super::links::NO_ROW;
use super::rows::{JoinedRows, ShapeColumns, ShapeRows, is_whole};
use crate::engine_joins::run_on_engine;
use crate::handle::SessionSource;
use bobak_core::join::{
    JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinLink, JoinOrder, JoinSubquery,
    JoinTable,
};
use bobak_core::{
    ColumnPair, Comparison, Condition, FieldSet, Join, Query, Record, RecordRelation, RelationStep,
    Result, Row, Select, SubQuery, TableSchema, ToMany, Type, Value, ValueRef,
};
use std::sync::Arc;

/// The most tables that a shape joins: more related records have statements of their own. MariaDB and SQLite allow about 60.
const MAX_TABLES: usize = 16;

/// The most rows for each of which related records are counted. For more, one query that counts all is faster.
const FEW_ROWS: u64 = 200;

/// The tables that one statement reads for a level of a shape.
pub struct ShapeJoins<'a> {
    source: &'a SessionSource<'a>,
    /// The index of the engine that keeps the tables; `None` if it joins none.
    engine: Option<usize>,
    tables: Vec<JoinTable>,
    /// The index of the table whose relations are added.
    above: usize,
    /// For each field of this table's shape that holds one related record, how it is joined.
    ones: Vec<Option<JoinedLevel>>,
    /// For each field of this table's shape that counts related records, how it is counted.
    counts: Vec<Option<JoinedCount>>,
    /// The columns of this table's rows that only what is joined or counted starts from: they need not be read.
    unread: Vec<usize>,
    /// Whether there are few rows, so that related records may be counted for each.
    has_few_rows: bool,
    /// The columns that link the rows to those of the level above, if another table has them.
    link: Vec<JoinColumn>,
}

/// A record of a join.
struct JoinedLevel {
    table: usize,
    columns: ShapeColumns,
    /// The column that is NULL if there is no record.
    key: usize,
    ones: Vec<Option<JoinedLevel>>,
    counts: Vec<Option<JoinedCount>>,
}

/// Related records that are counted for each row.
struct JoinedCount {
    /// The columns that link them, in a table of the join and in their own.
    pairs: Vec<(JoinColumn, usize)>,
    table: &'static Arc<TableSchema>,
    condition: Option<Condition>,
    /// Whether it is enough to know whether there is one.
    only_exists: bool,
}

impl JoinedCount {
    /// The number in a join of these tables.
    fn expr(&self, tables: &[JoinTable]) -> JoinExpr {
        let number = |number| JoinExpr::Value(Value::Int(number), Type::I64);
        let own = tables.len();
        let mut tables = tables.to_vec();
        tables.iter_mut().filter_map(|t| t.link.as_mut()).for_each(|link| link.condition = None);
        tables.push(JoinTable { table: Arc::clone(self.table), link: None, rows: None });
        let linked = self.pairs.iter().map(|&(from, column)| {
            let to = JoinExpr::Column(JoinColumn { table: own, column });
            JoinCondition::Compare(to, Comparison::Equal, JoinExpr::Column(from))
        });
        let own_condition =
            self.condition.clone().map(|own_rows| JoinCondition::Row(own, own_rows));
        let filters = linked.chain(own_condition).collect();
        let count = JoinExpr::Aggregate(JoinAggregate::Count, Box::new(number(1)));
        let columns = vec![if self.only_exists { number(1) } else { count }];
        let join = Join { tables, outer: own, filters, columns, ..Join::default() };
        let query = Box::new(JoinSubquery::of_join(join));
        if !self.only_exists {
            return JoinExpr::Query(query);
        }
        JoinExpr::Case(vec![(JoinCondition::Exists(query), number(1))], Box::new(number(0)))
    }
}

/// Whether a query has a limit of few rows, or asks for a row by its key.
fn has_few_rows(select: &Select) -> bool {
    // An engine may count for the rows that it skips, too.
    let last = select.limit.map(|limit| limit.saturating_add(select.offset));
    let parts = match &select.condition {
        Some(Condition::And(parts)) => parts.as_slice(),
        Some(condition) => std::slice::from_ref(condition),
        None => &[],
    };
    let equals = |part: &Condition, key: usize| {
        matches!(part, Condition::Compare { column, comparison: Comparison::Equal, .. }
            if *column == key)
    };
    let mut key = select.table.key().iter();
    let has_key = key.all(|&key| parts.iter().any(|part| equals(part, key)));
    last.is_some_and(|last| last <= FEW_ROWS) || has_key && !select.table.key().is_empty()
}

/// Whether a step leads to at most one row, by its key.
fn leads_to_key(step: &RelationStep) -> bool {
    step.table().is_key(step.to_columns())
}

impl<'a> ShapeJoins<'a> {
    pub(super) fn new(source: &'a SessionSource<'a>, select: &Select) -> Result<Self> {
        let (table, has_few_rows) = (&select.table, has_few_rows(select));
        let engines = source.engines();
        let engine = engines.engine_with(table, source.engine_index());
        let joins = engines.engine(engine)?.capabilities().subqueries;
        let tables = vec![JoinTable { table: Arc::clone(table), link: None, rows: None }];
        let engine = joins.then_some(engine);
        let (ones, counts, unread, link) = Default::default();
        Ok(Self { source, engine, tables, above: 0, ones, counts, unread, has_few_rows, link })
    }

    /// Joins the record of the next field that holds one related record, if the engine keeps it, too.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn one<T: Record, R: RecordRelation<From = T>, S: Shape<Record = R::To>>(
        &mut self,
        relation: R,
        query: Query<R::To>,
        with: &S::With,
    ) -> Result<()> {
        let relation = relation.to_many();
        let from: Vec<_> =
            relation.steps().next().into_iter().flat_map(|s| s.from_columns(T::schema())).collect();
        let joined = self.joined::<T, R::To, S>(relation, &query, with)?;
        self.unread.extend(from.into_iter().filter(|_| joined.is_some()));
        self.ones.push(joined);
        Ok(())
    }

    /// Counts the related records of the next field that counts such for each row, or looks whether there is one, if there are
    /// few rows and an index finds them.
    ///
    /// # Errors
    /// As [`Table::load`](crate::Table::load).
    pub fn count<T: Record, R: RecordRelation<From = T>>(
        &mut self,
        relation: R,
        query: &Query<R::To>,
        only_exists: bool,
    ) -> Result<()> {
        let relation = relation.to_many();
        let mut steps = relation.steps();
        let one_step = steps.next().filter(|_| steps.next().is_none() && self.has_few_rows);
        let step = one_step.filter(|step| {
            step.from_text().is_none()
                && self.keeps(step)
                && step.table().is_indexed_together(step.to_columns())
        });
        let Some(step) = step else {
            self.counts.push(None);
            return Ok(());
        };
        let table = step.table();
        let condition = both(step.to_condition(), query.to_condition(table)?);
        self.unread.extend(step.from_columns(T::schema()));
        let from = |column| JoinColumn { table: self.above, column };
        let pairs = step.pairs(T::schema()).map(|pair| (from(pair.from), pair.to)).collect();
        self.counts.push(Some(JoinedCount { pairs, table, condition, only_exists }));
        Ok(())
    }

    fn joined<T: Record, B: Record, S: Shape<Record = B>>(
        &mut self,
        relation: ToMany<T, B>,
        query: &Query<B>,
        with: &S::With,
    ) -> Result<Option<JoinedLevel>> {
        let select = query.to_select(B::schema(), Vec::new())?;
        let is_plain = select.limit.is_none() && select.offset == 0 && select.lock.is_none();
        let leads_to_one = |step: &RelationStep| {
            step.from_text().is_none() && leads_to_key(step) && self.keeps(step)
        };
        let has_room = self.tables.len() + relation.steps().count() <= MAX_TABLES;
        if !is_plain || select.is_grouped() || !has_room || !relation.steps().all(leads_to_one) {
            return Ok(None);
        }
        let (mut from, mut before, mut key) = (self.above, T::schema(), usize::MAX);
        for step in relation.steps() {
            let (first, more) = step.split_pairs(before);
            (before, key) = (step.table(), first.to);
            let condition = step.to_condition();
            from = self.add(before, link(from, (first, more), true, condition));
        }
        if let Some(link) = self.tables.last_mut().and_then(|table| table.link.as_mut()) {
            link.condition = both(link.condition.take(), select.condition);
        }
        let mut columns = ShapeColumns::of::<S>(FieldSet::EMPTY);
        columns.link(key);
        let above = std::mem::replace(&mut self.above, from);
        let (ones, counts) = (std::mem::take(&mut self.ones), std::mem::take(&mut self.counts));
        let unread = std::mem::take(&mut self.unread);
        S::join_related(self, with)?;
        self.above = above;
        let of_level = std::mem::replace(&mut self.unread, unread);
        of_level.into_iter().for_each(|column| columns.unlink(column));
        let ones = std::mem::replace(&mut self.ones, ones);
        let counts = std::mem::replace(&mut self.counts, counts);
        Ok(Some(JoinedLevel { table: from, columns, key, ones, counts }))
    }

    /// Joins the tables between the level above and this level's records, to which several steps lead. `linked` is what rows
    /// of the first step must match. Returns whether the engine keeps all of them.
    pub(super) fn add_steps<'s>(
        &mut self,
        steps: impl Iterator<Item = &'s RelationStep>,
        linked: Condition,
    ) -> bool {
        let steps: Vec<_> = steps.collect();
        let has_room = self.tables.len() + steps.len() <= MAX_TABLES;
        if !has_room || !steps.iter().all(|step| self.keeps(step)) {
            return false;
        }
        let mut table = 0;
        for pair in steps.windows(2).rev() {
            let &[before, step] = pair else { continue };
            let (first, more) = step.split_pairs(before.table());
            let more = more.into_iter().map(ColumnPair::swapped).collect();
            let condition = both(step.from_condition(), before.to_condition());
            let link = link(table, (first.swapped(), more), false, condition);
            table = self.add(before.table(), link);
        }
        let Some(first) = steps.first() else { return false };
        self.link = first.to_columns().map(|column| JoinColumn { table, column }).collect();
        if let Some(link) = self.tables.get_mut(table).and_then(|table| table.link.as_mut()) {
            link.condition = both(link.condition.take(), Some(linked));
        }
        true
    }

    fn keeps(&self, step: &RelationStep) -> bool {
        let index = self.source.engine_index();
        self.engine == Some(self.source.engines().engine_with(step.table(), index))
    }

    /// Adds a table, and returns its index.
    fn add(&mut self, table: &Arc<TableSchema>, link: JoinLink) -> usize {
        self.tables.push(JoinTable { table: Arc::clone(table), link: Some(link), rows: None });
        self.tables.len() - 1
    }

    /// Reads the rows of a query with what is joined, and calls `each` with the values of the link and the number of the row
    /// that has them. `None` if nothing is joined, or if the engine does not run this join.
    pub(super) fn read(
        self,
        columns: &ShapeColumns,
        select: &Select,
        each: &mut dyn FnMut(&dyn Row, u32),
    ) -> Result<Option<ShapeRows>> {
        let Self { source, mut tables, ones, counts, unread, link, .. } = self;
        let is_single = tables.len() == 1 && counts.iter().all(Option::is_none);
        if is_single || select.lock.is_some() {
            return Ok(None);
        }
        let filters = filters_of(select, &mut tables);
        let (mut columns, mut exprs) = (columns.clone(), Vec::new());
        unread.into_iter().for_each(|column| columns.unlink(column));
        let key: Vec<usize> = select.table.key().iter().map(|&key| columns.position(key)).collect();
        let root = JoinedLevel { table: 0, columns, key: usize::MAX, ones, counts };
        let mut reader = LevelReader::new(root, &tables, &mut exprs);
        let (first, len) = (exprs.len(), link.len());
        exprs.extend(link.into_iter().map(JoinExpr::Column));
        let join = join_of(select, (tables, filters), exprs);
        let ran = run_on_engine(source, &join, &mut |row| {
            // Rows are sorted by the key at last: equal ones follow each other.
            if len == 0 || !reader.ends_with(row, &key) {
                reader.push(row)?;
            }
            if len > 0 {
                each(&RowPart { row, first, len }, reader.rows.len() as u32 - 1);
            }
            Ok(true)
        });
        let ran = ran.map_err(|error| error.in_table(select.table.name()))?;
        Ok(ran.then(|| reader.finish()))
    }
}

/// The rows of a query of a shape's records, with the related records that the same statement can read.
pub(super) fn select_shape<S: Shape>(
    source: &SessionSource<'_>,
    columns: ShapeColumns,
    select: Select,
    with: &S::With,
) -> Result<ShapeRows> {
    let mut joins = ShapeJoins::new(source, &select)?;
    S::join_related(&mut joins, with)?;
    match joins.read(&columns, &select, &mut |_, _| ())? {
        Some(mut rows) => {
            rows.is_whole = is_whole(&select);
            Ok(rows)
        }
        None => ShapeRows::select(source, columns, select),
    }
}

fn join_of(
    select: &Select,
    (tables, filters): (Vec<JoinTable>, Vec<JoinCondition>),
    columns: Vec<JoinExpr>,
) -> Join {
    let column = |column| JoinExpr::Column(JoinColumn { table: 0, column });
    let order = select.order.iter().map(|step| JoinOrder {
        expr: column(step.column),
        descending: step.descending,
        nulls_first: !step.descending,
    });
    let (order, limit, offset) = (order.collect(), select.limit, select.offset);
    Join { tables, filters, columns, order, limit, offset, ..Join::default() }
}

/// The condition of a query as filters of a join of these tables.
fn filters_of(select: &Select, tables: &mut [JoinTable]) -> Vec<JoinCondition> {
    let mut filters = Vec::new();
    if let Some(condition) = select.condition.clone() {
        add_filters(tables, 0, condition, &mut filters);
    }
    filters
}

/// Adds a condition over the rows of a table. A condition on a related record that is joined anyway becomes one on the joined
/// table: with a subquery for the same record, PostgreSQL may compare each row with each of the subquery's.
fn add_filters(
    tables: &mut [JoinTable],
    table: usize,
    condition: Condition,
    filters: &mut Vec<JoinCondition>,
) {
    for part in into_parts(condition) {
        let Condition::InQuery { column, query } = part else {
            filters.push(JoinCondition::Row(table, part));
            continue;
        };
        let from = JoinColumn { table, column };
        match tables.iter().position(|joined| joins_rows_of(joined, from, &query)) {
            Some(related) => {
                if let Some(link) = tables.get_mut(related).and_then(|joined| joined.link.as_mut())
                {
                    (link.is_left, link.condition) = (false, None);
                }
                if let Some(condition) = query.condition {
                    add_filters(tables, related, condition, filters);
                }
            }
            None => {
                filters.push(JoinCondition::Row(table, Condition::InQuery { column, query }));
            }
        }
    }
}

/// Whether a table is joined by its key to columns, so that it has each row of a query whose keys these are compared with.
fn joins_rows_of(joined: &JoinTable, from: JoinColumn, query: &SubQuery) -> bool {
    let Some(link) = &joined.link else { return false };
    let is_key = query.table.is_key(query.pairs(from.column).map(|pair| pair.to));
    let is_linked = link.from == from && link.to == query.column && link.more == query.more;
    let is_same_table = Arc::ptr_eq(&joined.table, &query.table) && joined.rows.is_none();
    let has_all = || {
        let of_query = query.condition.clone().map(into_parts).unwrap_or_default();
        let of_link = link.condition.clone().map(into_parts).unwrap_or_default();
        of_link.iter().all(|part| of_query.contains(part))
    };
    is_key && is_linked && is_same_table && has_all()
}

fn into_parts(condition: Condition) -> Vec<Condition> {
    match condition {
        Condition::And(parts) => parts.into_iter().flat_map(into_parts).collect(),
        condition => vec![condition],
    }
}

/// A link to the table before with an index, by a pair of columns and others.
fn link(
    table: usize,
    (first, more): (ColumnPair, Vec<ColumnPair>),
    is_left: bool,
    condition: Option<Condition>,
) -> JoinLink {
    let from = JoinColumn { table, column: first.from };
    JoinLink { from, to: first.to, more, is_left, condition }
}

fn both(one: Option<Condition>, other: Option<Condition>) -> Option<Condition> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Condition::And(vec![one, other])),
        (one, other) => one.or(other),
    }
}

/// Takes the rows of a join apart.
struct LevelReader {
    rows: ShapeRows,
    /// Where the columns of the level begin in a row.
    first: usize,
    /// The place of the column that is NULL if there is no record; `None` if there always is one.
    key: Option<usize>,
    numbers: Vec<u32>,
    ones: Vec<Option<Self>>,
    /// The places of counts in a row, and the counts of all rows.
    counts: Vec<Option<(usize, Vec<u64>)>>,
}

impl LevelReader {
    /// The reader of a level and of those joined to it, whose columns it adds.
    fn new(level: JoinedLevel, tables: &[JoinTable], exprs: &mut Vec<JoinExpr>) -> Self {
        let JoinedLevel { table, mut columns, key, ones, counts } = level;
        let first = exprs.len();
        let link = tables.get(table).and_then(|table| table.link.as_ref());
        let may_lack = link.is_some_and(|link| link.is_left);
        if !may_lack {
            columns.unlink(key);
        }
        let column = |column| JoinExpr::Column(JoinColumn { table, column });
        exprs.extend(columns.indexes().map(column));
        let key = may_lack.then(|| first.saturating_add(columns.position(key)));
        let counts = counts.into_iter().map(|count| {
            let place = exprs.len();
            exprs.extend(count.as_ref().map(|count| count.expr(tables)));
            count.map(|_| (place, Vec::new()))
        });
        let counts = counts.collect();
        let ones = ones.into_iter().map(|one| one.map(|one| Self::new(one, tables, exprs)));
        let (ones, rows) = (ones.collect(), ShapeRows::of_columns(columns));
        Self { rows, first, key, numbers: Vec::new(), ones, counts }
    }

    fn push(&mut self, row: &dyn Row) -> Result<()> {
        self.rows.push(&RowPart { row, first: self.first, len: self.rows.width() })?;
        for (place, counts) in self.counts.iter_mut().flatten() {
            counts.push(match row.get(*place) {
                ValueRef::Int(count) => count.unsigned_abs(),
                _ => 0,
            });
        }
        for one in self.ones.iter_mut().flatten() {
            if one.key.is_some_and(|key| row.get(key).is_null()) {
                one.numbers.push(NO_ROW);
            } else {
                one.numbers.push(one.rows.len() as u32);
                one.push(row)?;
            }
        }
        Ok(())
    }

    /// Whether the last row of the level has the same key as a row.
    fn ends_with(&self, row: &dyn Row, key: &[usize]) -> bool {
        let Some(last) = self.rows.len().checked_sub(1).map(|last| self.rows.row(last)) else {
            return false;
        };
        key.iter().all(|&place| last.value(place) == row.get(self.first + place))
    }

    fn finish(self) -> ShapeRows {
        let mut rows = self.rows;
        let finish = |mut one: Self| {
            let numbers = std::mem::take(&mut one.numbers);
            Arc::new(JoinedRows { rows: one.finish(), numbers })
        };
        rows.joined = self.ones.into_iter().map(|one| one.map(finish)).collect();
        rows.counts = self.counts.into_iter().map(|one| one.map(|(_, counts)| counts)).collect();
        rows
    }
}

/// Some columns of a row.
struct RowPart<'r> {
    row: &'r dyn Row,
    first: usize,
    len: usize,
}

impl Row for RowPart<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        if column < self.len { self.row.get(self.first + column) } else { ValueRef::Null }
    }
}
