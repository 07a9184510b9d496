//! Joins: queries over the rows of several records.
//!
//! [`JoinQuery`] is the typed form, which the compiler checks; [`Join`] is the untyped form, which the facade runs.

mod alias;
mod assigned;
mod case;
mod combined;
mod contents;
mod expression;
mod filter;
mod function;
mod json;
mod kept_filters;
mod location;
mod nested;
mod over;
mod query;
mod scalar;
mod selection;
mod set_test;
mod subquery;
mod tables;
mod text_test;
mod tree;
mod window;

pub use alias::Alias;
pub use assigned::{AssignedTo, ByExpr, ByValue, FilledColumns, FitsColumn, FitsNullness};
pub use case::{CaseBranches, CaseOf, WhenBranch, when};
pub use combined::{CombinedRows, NthColumn, RowColumn, nth};
pub use expression::{
    AggregateOf, AggregateValue, AsFloat, Calculates, Calculation, CountKind, Divide, Minus, Plus,
    Remainder, SameBase, SameNumber, Times,
};
pub use filter::{
    AllOf, Among, AnyOf, ExprComparison, JoinFilter, Negation, NullTest, TextCondition, not,
};
pub use function::{
    CoalesceKind, ConcatKind, ExpressionMethods, FloatOfNumber, FunctionKind, FunctionOf,
    IntegerOfNumber, Itself, MomentOfMoment, NumberOfMoment, NumberOfText, PairKind, PairOf,
    TextOfInteger, TextOfText,
};
pub use json::{
    JsonElement, JsonField, JsonKind, JsonMethods, JsonPart, PartOfType, WholeDocument,
};
pub use location::{DegreesField, DistanceTo, InBox, Location, LocationColumns, location};
pub use nested::{JoinRows, JoinSubquery, SetOperator};
pub use over::{
    PartitionParts, RankFunction, ValueOfRow, Window, WindowCall, WindowExpr, WindowMethods,
    WindowOrder, dense_rank, rank, row_number, window,
};
pub use query::{JoinQuery, from};
pub use scalar::{CountableField, IntegerField, Moment, Number, ScalarField, TextField};
pub use selection::{
    JoinOrderPart, JoinPart, JoinSelection, NullPlaced, OrderedPart, PartPlace, RecordPlace,
    WholeRecord, whole,
};
pub use set_test::{SetMethods, SetTest};
pub use subquery::{AmongRows, Existence, QueryValue, SubqueryTables, exists};
pub use tables::{
    EndOfTables, FirstTable, InnerJoined, JoinedRecords, JoinedTable, JoinedTables, JoinsTable,
    LaterTable, LeftJoined, NeverNull, Nullness, OrNull, Outer, OuterPlace,
};
pub use text_test::TextTest;
pub use tree::{
    CalculationOperator, JoinAggregate, JoinCondition, JoinExpr, JoinFunction, JoinRewriter,
};
pub use window::{JoinWindow, WindowFunction};

use crate::{
    Collation, ColumnPair, Comparison, Condition, Error, ErrorKind, Result, TableSchema, Value,
};
use std::sync::Arc;

/// A query over the rows of several tables, untyped, with every value in its column's stored form.
///
/// Columns and tables are given by their indexes. The rows are those of the first table, each with its linked rows of the
/// other tables; they have a complete order, which ends with the keys of all tables, or what groups have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Join {
    /// The tables, at least one.
    pub tables: Vec<JoinTable>,
    /// How many of the tables, at the beginning, are those of the queries around this one: it reads one row of each.
    pub outer: usize,
    /// What rows must match, all of it.
    pub filters: Vec<JoinCondition>,
    /// The columns of the result.
    pub columns: Vec<JoinExpr>,
    /// The expressions to group by. If there are none and another part has an aggregate, all rows form one group.
    pub group: Vec<JoinExpr>,
    /// What groups must match, all of it.
    pub having: Vec<JoinCondition>,
    /// What rows of the result must match, all of it: conditions with window functions.
    pub qualify: Vec<JoinCondition>,
    /// The order.
    pub order: Vec<JoinOrder>,
    /// The maximum number of rows.
    pub limit: Option<u64>,
    /// How many rows to skip.
    pub offset: u64,
}

/// A table of a join.
#[derive(Clone, Debug)]
pub struct JoinTable {
    /// The table.
    pub table: Arc<TableSchema>,
    /// How its rows are linked to those of a table before it; `None` for the first table.
    pub link: Option<JoinLink>,
    /// The queries whose rows it has; `None` for a table that an engine keeps.
    pub rows: Option<Box<JoinRows>>,
}

impl PartialEq for JoinTable {
    fn eq(&self, other: &Self) -> bool {
        let same_table = self.table.name() == other.table.name();
        let same_rows = self.link == other.link && self.rows == other.rows;
        same_table && same_rows && self.table.same_as(&other.table)
    }
}

/// How the rows of a joined table are found: a column equals a column of a table before it, or several do.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinLink {
    /// The column of a table before.
    pub from: JoinColumn,
    /// The index of the table's own column.
    pub to: usize,
    /// Other columns of the same table before, and own columns that equal them, too.
    pub more: Vec<ColumnPair>,
    /// Whether a row without linked rows stays, with NULLs.
    pub is_left: bool,
    /// What linked rows must match.
    pub condition: Option<Condition>,
}

impl JoinLink {
    /// The columns that are equal: one of the table before, and one of the table with the link, which has this index.
    pub fn pairs(&self, table: usize) -> impl Iterator<Item = [JoinColumn; 2]> {
        let first = [self.from, JoinColumn { table, column: self.to }];
        let pair = move |pair: &ColumnPair| {
            [JoinColumn { column: pair.from, ..self.from }, JoinColumn { table, column: pair.to }]
        };
        [first].into_iter().chain(self.more.iter().map(pair))
    }
}

/// A column of one of a join's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JoinColumn {
    /// The index of the table.
    pub table: usize,
    /// The index of the column.
    pub column: usize,
}

/// An expression to sort by.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinOrder {
    /// The expression.
    pub expr: JoinExpr,
    /// Whether the largest value comes first.
    pub descending: bool,
    /// Whether NULL comes before all values. By itself it is the smallest one.
    pub nulls_first: bool,
}

impl Join {
    /// Calls `each` with all conditions over rows, groups and the result.
    fn for_each_condition<'e>(&'e self, each: &mut dyn FnMut(&'e JoinCondition)) {
        self.filters.iter().chain(&self.having).chain(&self.qualify).for_each(each);
    }

    /// Calls `each` with its window functions.
    pub fn for_each_window<'e>(&'e self, each: &mut dyn FnMut(&'e JoinWindow)) {
        self.for_each_expr(&mut |expr| expr.for_each_window(each));
        self.for_each_condition(&mut |condition| condition.for_each_window(each));
    }

    /// Calls `each` with all expressions of the result and its order, and not with those of conditions.
    fn for_each_expr<'e>(&'e self, each: &mut dyn FnMut(&'e JoinExpr)) {
        let order = self.order.iter().map(|step| &step.expr);
        self.columns.iter().chain(&self.group).chain(order).for_each(each);
    }

    /// Calls `each` with all columns that it reads: also of the tables of queries around it.
    pub fn for_each_column(&self, each: &mut dyn FnMut(JoinColumn)) {
        for (table, joined) in self.tables.iter().enumerate().skip(self.outer) {
            let Some(link) = &joined.link else { continue };
            link.pairs(table).for_each(|pair| pair.into_iter().for_each(&mut *each));
            if let Some(condition) = &link.condition {
                condition.for_each_column(&mut |column| each(JoinColumn { table, column }));
            }
        }
        self.for_each_expr(&mut |expr| expr.for_each_column(each));
        self.for_each_condition(&mut |condition| condition.for_each_column(each));
    }

    /// Calls `each` with the queries in its expressions and conditions, and not with those inside of these.
    pub fn for_each_query<'e>(&'e self, each: &mut dyn FnMut(&'e JoinSubquery)) {
        self.for_each_expr(&mut |expr| expr.for_each_query(each));
        self.for_each_condition(&mut |condition| condition.for_each_query(each));
    }

    /// The schema of a column.
    #[must_use]
    pub fn column(&self, column: JoinColumn) -> Option<&crate::ColumnSchema> {
        self.tables.get(column.table)?.table.columns().get(column.column)
    }

    /// Whether the rows of the result are groups: because of columns to group by, or of an aggregate.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        let order = self.order.iter().map(|step| &step.expr);
        !self.group.is_empty()
            || !self.having.is_empty()
            || self.columns.iter().chain(order).any(JoinExpr::is_aggregate)
            || self.qualify.iter().any(JoinCondition::is_aggregate)
    }

    /// Adds the filter that a row comes after the row that has these values in the order.
    ///
    /// # Errors
    /// `Mismatch` for another number of values, or a value of the wrong type.
    pub fn after_row(mut self, values: &[Value<'static>]) -> Result<Self> {
        if values.len() != self.order.len() {
            let kind = ErrorKind::Mismatch;
            let error = Error::wrong_number(kind, values.len(), self.order.len(), "ordered value");
            return Err(error);
        }
        let mut condition: Option<JoinCondition> = None;
        for (step, value) in self.order.iter().zip(values).rev() {
            let later = self.later_value(step, value);
            condition = Some(match condition {
                None => later,
                Some(rest) => {
                    let same = self.compared(&step.expr, Comparison::Equal, value);
                    JoinCondition::AnyOf(vec![later, JoinCondition::AllOf(vec![same, rest])])
                }
            });
        }
        if let Some(condition) = condition {
            let resolved =
                condition.rewrite(&mut Resolver { tables: &self.tables, listed: None })?;
            self.filters.push(resolved);
        }
        Ok(self)
    }

    /// The condition that an expression's value comes after another one.
    fn later_value(&self, step: &JoinOrder, value: &Value<'static>) -> JoinCondition {
        let is_null = |wanted| JoinCondition::IsNull(step.expr.clone(), wanted);
        let after = if step.descending { Comparison::Less } else { Comparison::Greater };
        match (value, step.nulls_first) {
            (Value::Null, true) => is_null(false),
            (Value::Null, false) => JoinCondition::AnyOf(Vec::new()),
            (value, true) => self.compared(&step.expr, after, value),
            (value, false) => {
                let later = self.compared(&step.expr, after, value);
                JoinCondition::AnyOf(vec![later, is_null(true)])
            }
        }
    }

    /// Compares an expression with a value, a column by its collation; NULL equals NULL.
    fn compared(
        &self,
        expr: &JoinExpr,
        comparison: Comparison,
        value: &Value<'static>,
    ) -> JoinCondition {
        match (expr, value.clone()) {
            (expr, Value::Null) => JoinCondition::IsNull(expr.clone(), true),
            // An engine has the rows of queries in another form than those of its tables.
            (JoinExpr::Column(column), value) if !self.is_plain(*column) => {
                let condition = Condition::Compare { column: column.column, comparison, value };
                JoinCondition::Row(column.table, condition)
            }
            (expr, value) => {
                let value = JoinExpr::Value(value, expr.ty(self));
                JoinCondition::Compare(expr.clone(), comparison, value)
            }
        }
    }

    /// Whether a column is of the rows of queries, and compares by its bytes.
    fn is_plain(&self, column: JoinColumn) -> bool {
        let is_of_rows = self.tables.get(column.table).is_some_and(|table| table.rows.is_some());
        is_of_rows && self.column(column).is_some_and(|c| c.collation == Collation::Binary)
    }

    /// The query with values in their columns' stored form, and a complete order. Its columns and conditions are over
    /// `listed` tables. Columns that depend on the columns of the group, since the group has the key of their table, are
    /// added to the group. `distinct` rows are groups of all that is selected.
    ///
    /// # Errors
    /// `Schema` if a column is neither grouped by nor aggregated; `Mismatch` for a value of the wrong type.
    pub(crate) fn resolve(mut self, listed: &[usize], distinct: bool) -> Result<Self> {
        let tables = std::mem::take(&mut self.tables);
        let mut resolver = Resolver { tables: &tables, listed: Some(listed) };
        for filter in std::mem::take(&mut self.filters) {
            let filter = filter.rewrite(&mut resolver)?;
            self.keep_filter(filter, &tables);
        }
        let mut rewrite = |exprs: &mut Vec<JoinExpr>| {
            let rewritten = exprs.drain(..).map(|expr| expr.rewrite(&mut resolver));
            *exprs = rewritten.collect::<Result<_>>()?;
            Ok::<_, Error>(())
        };
        rewrite(&mut self.columns)?;
        rewrite(&mut self.group)?;
        for step in std::mem::take(&mut self.order) {
            let expr = step.expr.rewrite(&mut resolver)?;
            self.order.push(JoinOrder { expr, ..step });
        }
        self.tables = tables;
        for JoinTable { table, link, .. } in self.tables.iter_mut().skip(self.outer) {
            if let Some(link) = link
                && let Some(condition) = link.condition.take()
            {
                link.condition = Some(condition.resolve(table)?);
            }
        }
        if distinct {
            self.group_by_columns()?;
        }
        let is_grouped = self.is_grouped();
        if is_grouped {
            self.complete_group()?;
        }
        self.complete_order(is_grouped);
        self.complete_windows(is_grouped)
    }

    /// Gives each window function a complete order.
    fn complete_windows(mut self, is_grouped: bool) -> Result<Self> {
        let mut has_windows = false;
        self.for_each_window(&mut |_| has_windows = true);
        if !has_windows {
            return Ok(self);
        }
        if self.group.iter().any(JoinExpr::is_window) {
            let message = "window functions are of the rows of the result: they form no groups";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let mut completer = WindowCompleter { rest: self.distinguishing(is_grouped) };
        let mut rewrite = |expr: JoinExpr| expr.rewrite(&mut completer);
        self.columns = self.columns.into_iter().map(&mut rewrite).collect::<Result<_>>()?;
        for step in &mut self.order {
            step.expr = rewrite(step.expr.clone())?;
        }
        let qualify = self.qualify.into_iter();
        self.qualify = qualify.map(|part| part.rewrite(&mut completer)).collect::<Result<_>>()?;
        Ok(self)
    }

    /// What no two rows of the result have in common: the keys of all tables, or what groups have in common.
    fn distinguishing(&self, is_grouped: bool) -> Vec<JoinExpr> {
        if is_grouped {
            return self.group.clone();
        }
        let own = self.tables.iter().enumerate().skip(self.outer);
        let keys = own.flat_map(|(table, joined)| {
            let keys = match joined.rows {
                None => joined.table.key().to_vec(),
                Some(_) => (0..joined.table.columns().len()).collect(),
            };
            keys.into_iter().map(move |column| JoinExpr::Column(JoinColumn { table, column }))
        });
        keys.collect()
    }

    /// Makes groups of equal rows.
    fn group_by_columns(&mut self) -> Result<()> {
        if self.is_grouped() {
            let message = "`distinct` is for rows, and groups are distinct: select what they are \
                           grouped by";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        for expr in &self.columns {
            let is_value = matches!(expr, JoinExpr::Value(..));
            if !is_value && !self.group.contains(expr) {
                self.group.push(expr.clone());
            }
        }
        if self.group.is_empty() {
            let message = "a distinct query selects at least one column";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(())
    }

    fn complete_order(&mut self, is_grouped: bool) {
        for expr in self.distinguishing(is_grouped) {
            if self.order.iter().all(|step| step.expr != expr) {
                self.order.push(JoinOrder { expr, descending: false, nulls_first: true });
            }
        }
    }

    /// Adds to the group what depends on it.
    fn complete_group(&mut self) -> Result<()> {
        let mut used = Vec::new();
        let mut each = |part: &JoinExpr| {
            if let JoinExpr::Column(column) = part {
                used.push(*column);
            }
        };
        let order = self.order.iter().map(|step| &step.expr);
        for expr in self.columns.iter().chain(order) {
            expr.for_each_plain_part(&self.group, &mut each);
        }
        let conditions = self.having.iter().chain(&self.qualify);
        conditions.for_each(|part| part.for_each_plain_part(&self.group, &mut each));
        for column in used {
            let is_outer = column.table < self.outer;
            if is_outer || self.group.contains(&JoinExpr::Column(column)) {
                continue;
            }
            let Some(JoinTable { table, .. }) = self.tables.get(column.table) else { continue };
            let is_grouped = |&key: &usize| {
                let key = JoinColumn { table: column.table, column: key };
                self.group.contains(&JoinExpr::Column(key))
            };
            if table.key().is_empty() || !table.key().iter().all(is_grouped) {
                let name = table.columns().get(column.column).map_or("", |column| &column.name);
                let message = "neither aggregated nor grouped by: add it, or the key of its table, \
                               to the group";
                let error =
                    Error::new(ErrorKind::Schema, message).in_table(table.name().to_owned());
                return Err(error.in_column(name.to_owned()));
            }
            self.group.push(JoinExpr::Column(column));
        }
        Ok(())
    }
}

/// Puts values into their columns' stored form, and the indexes of tables in place of those in a list.
struct Resolver<'t> {
    tables: &'t [JoinTable],
    listed: Option<&'t [usize]>,
}

impl Resolver<'_> {
    fn index(&self, table: usize) -> usize {
        match self.listed {
            Some(listed) => listed.get(table).copied().unwrap_or(usize::MAX),
            None => table,
        }
    }
}

impl JoinRewriter for Resolver<'_> {
    fn column(&mut self, column: JoinColumn) -> JoinColumn {
        JoinColumn { table: self.index(column.table), ..column }
    }

    fn row(&mut self, table: usize, condition: Condition) -> Result<JoinCondition> {
        let table = self.index(table);
        let resolved = match self.tables.get(table) {
            Some(JoinTable { table: schema, .. }) => condition.resolve(schema)?,
            None => condition,
        };
        Ok(JoinCondition::Row(table, resolved))
    }

    fn query(&mut self, query: JoinSubquery) -> Result<JoinSubquery> {
        match self.listed {
            Some(listed) => query.resolve(self.tables, listed),
            None => Ok(query),
        }
    }
}

/// Gives window functions a complete order.
struct WindowCompleter {
    rest: Vec<JoinExpr>,
}

impl JoinRewriter for WindowCompleter {
    fn row(&mut self, table: usize, condition: Condition) -> Result<JoinCondition> {
        Ok(JoinCondition::Row(table, condition))
    }

    fn query(&mut self, query: JoinSubquery) -> Result<JoinSubquery> {
        Ok(query)
    }

    fn window(&mut self, window: JoinWindow) -> JoinWindow {
        window.complete(&self.rest)
    }
}
