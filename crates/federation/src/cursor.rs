//! A cursor over the table of an attached engine: runs the plan as a query of the engine, and serves
//! rows from the part that was fetched last.

use crate::best_index::has_own_order;
use crate::coercion::{self, Coercion, EqualValue};
use crate::lookahead::LookupSite;
use crate::lookup::{HashRun, LookupHistory, PlanRow};
use crate::plan::{Offset, Operator, ScanPlan, Term};
use crate::sessions::EngineSessions;
use crate::write::key_bytes;
use bobak_core::codec::{EncodedRow, RawValue};
use bobak_core::{
    Comparison, Condition, Cursor, Error, ErrorKind, Expr, Order, Result, RowBuffer, Select,
    Source, TableSchema, Value, ValueRef,
};
use bobak_sqlite::virtual_table::{Arguments, Output, RunningStatement, VirtualCursor};
use std::sync::Arc;

/// The longest list that is pushed down as one condition: servers limit the number of parameters.
const MAX_LIST: usize = 1_000;

/// A cursor over the table of an attached engine.
#[derive(Debug)]
pub(crate) struct TableCursor {
    pub(crate) sessions: Arc<EngineSessions>,
    pub(crate) engine: usize,
    pub(crate) table: Arc<TableSchema>,
    /// The table with the text of the plan.
    pub(crate) site: LookupSite,
    /// The parsed plan.
    pub(crate) plan: ScanPlan,
    pub(crate) history: LookupHistory,
    pub(crate) rows: CursorRows,
    part: RowBuffer,
    pub(crate) at_end: bool,
}

/// Where a cursor's rows come from.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "one per open cursor; a box would cost each row a step"
)]
pub(crate) enum CursorRows {
    Nothing,
    /// A query of the engine.
    Engine(EngineQuery),
    /// Rows in memory; the current row.
    Loaded {
        found: HashRun,
        row: (u32, u32),
        conditions: Vec<Condition>,
    },
}

/// A query that the engine runs.
#[derive(Debug)]
pub(crate) struct EngineQuery {
    cursor: Cursor,
    /// Whether all rows were fetched.
    done: bool,
    select: Select,
    /// The remaining blocks of a list that is too long for one condition.
    blocks: Vec<Condition>,
    /// The number of rows fetched.
    returned: u64,
}

/// The plan's conditions with their values.
pub(crate) enum Pushdown {
    /// No row satisfies them.
    Nothing,
    /// These conditions, and the blocks of a long list, to be queried one after the other.
    Conditions(Vec<Condition>, Vec<Condition>),
}

impl TableCursor {
    pub(crate) fn new(
        sessions: &Arc<EngineSessions>,
        engine: usize,
        table: &Arc<TableSchema>,
    ) -> Self {
        sessions.cursor_opened(engine);
        Self {
            sessions: Arc::clone(sessions),
            engine,
            table: Arc::clone(table),
            site: LookupSite { engine, table: table.id(), plan: String::new() },
            plan: ScanPlan::default(),
            history: LookupHistory::default(),
            rows: CursorRows::Nothing,
            part: RowBuffer::default(),
            at_end: true,
        }
    }

    fn take_plan(&mut self, text: &str) -> Result<()> {
        if self.site.plan != text || text.is_empty() {
            self.leave_site();
            let unknown =
                || Error::new(ErrorKind::Misuse, "the plan does not belong to this table");
            self.plan = ScanPlan::parse(text).ok_or_else(unknown)?;
            text.clone_into(&mut self.site.plan);
            self.history = LookupHistory::default();
        }
        Ok(())
    }

    /// The plan's conditions with the values of the arguments.
    pub(crate) fn pushdown(&self, arguments: Arguments<'_>) -> Pushdown {
        let (mut conditions, mut blocks) = (Vec::new(), Vec::new());
        for (number, term) in self.plan.terms.iter().enumerate() {
            if term.operator == Operator::In {
                match self.list(*term, arguments, number) {
                    Some(list) if list.is_empty() => return Pushdown::Nothing,
                    Some(mut list) if list.len() == 1 => conditions.append(&mut list),
                    // Only one long list is pushed down: SQLite checks both.
                    Some(list) if blocks.is_empty() && self.plan.order.is_empty() => blocks = list,
                    _ => {}
                }
                continue;
            }
            match self.coerce(*term, arguments.get(number)) {
                Coercion::Exact(condition) | Coercion::Wider(condition) => {
                    conditions.push(condition)
                }
                Coercion::NoRows => return Pushdown::Nothing,
                Coercion::Undecided => {}
            }
        }
        Pushdown::Conditions(conditions, blocks)
    }

    fn coerce(&self, Term { column, operator }: Term, value: ValueRef<'_>) -> Coercion {
        let Some(schema) = self.table.columns().get(column) else {
            return Coercion::Undecided;
        };
        let compare = |comparison| coercion::compare(column, schema, comparison, value);
        match operator {
            Operator::Equal => compare(Comparison::Equal),
            Operator::NotEqual => compare(Comparison::NotEqual),
            Operator::Less => compare(Comparison::Less),
            Operator::LessOrEqual => compare(Comparison::LessOrEqual),
            Operator::Greater => compare(Comparison::Greater),
            Operator::GreaterOrEqual => compare(Comparison::GreaterOrEqual),
            Operator::Is => coercion::is(column, schema, value, false),
            Operator::IsNot => coercion::is(column, schema, value, true),
            Operator::IsNull => Coercion::Exact(Condition::IsNull { column }),
            Operator::NotNull => Coercion::Exact(coercion::not_null(column)),
            Operator::Like => coercion::like(column, value),
            Operator::Glob => coercion::glob(column, value),
            Operator::In => Coercion::Undecided,
        }
    }

    /// The blocks of a list; `None` if only SQLite can compare its values.
    fn list(&self, term: Term, arguments: Arguments<'_>, number: usize) -> Option<Vec<Condition>> {
        let column = self.table.columns().get(term.column)?;
        let mut values: Vec<Value<'static>> = Vec::new();
        let mut known = true;
        let is_list =
            arguments.each_of_list(number, |value| match coercion::equal_value(column, value) {
                EqualValue::Value(value) => values.push(value.to_owned()),
                EqualValue::Nothing => {}
                EqualValue::Undecided => known = false,
            });
        if !is_list || !known {
            return None;
        }
        if values.len() > MAX_LIST {
            if has_own_order(column) {
                return None;
            }
            // A value in two blocks would return its rows twice.
            let fold = |value: &Value<'static>| match value {
                Value::Text(text) => (format!("{:?}", column.collation.fold(text)), 1),
                other => (format!("{other:?}"), 0),
            };
            values.sort_by_cached_key(fold);
            values.dedup_by(|a, b| fold(a) == fold(b));
        }
        let block = |values: &[Value<'static>]| Condition::In {
            column: term.column,
            values: values.into(),
        };
        Some(values.chunks(MAX_LIST).map(block).collect())
    }

    pub(crate) fn select(&self, mut conditions: Vec<Condition>) -> Select {
        let condition = match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(Condition::And(conditions)),
        };
        let mut order = self.plan.order.clone();
        if !order.is_empty() {
            for &column in self.table.key() {
                if order.iter().all(|step| step.column != column) {
                    order.push(Order { column, descending: false });
                }
            }
        }
        Select {
            table: Arc::clone(&self.table),
            columns: self.plan.columns.iter().map(|&column| Expr::Column(column)).collect(),
            condition,
            group: Vec::new(),
            order,
            limit: None,
            offset: 0,
            search: None,
            nearest: None,
            lock: None,
        }
    }

    /// Opens the query in the engine.
    fn query(&mut self, arguments: Arguments<'_>) -> Result<()> {
        let Pushdown::Conditions(conditions, mut blocks) = self.pushdown(arguments) else {
            return Ok(());
        };
        let mut select = self.select(conditions);
        let number = |position: usize| match arguments.get(position) {
            ValueRef::Int(number) => u64::try_from(number).ok(),
            _ => None,
        };
        let mut position = self.plan.terms.len();
        if self.plan.limit {
            select.limit = number(position);
            position += 1;
        }
        match self.plan.offset {
            Offset::None => {}
            Offset::Sqlite => {
                let passed = number(position).unwrap_or(0);
                select.limit = select.limit.map(|limit| limit.saturating_add(passed));
            }
            Offset::Engine => select.offset = number(position).unwrap_or(0),
        }
        if let Some(block) = blocks.pop() {
            select.condition = Some(with_block(select.condition, &block));
        }
        let cursor = self.sessions.open(self.engine, &Source::Select(&select))?;
        self.rows =
            CursorRows::Engine(EngineQuery { cursor, done: false, select, blocks, returned: 0 });
        self.at_end = false;
        Ok(())
    }

    /// Fetches the next part; `false` at the end.
    fn fetch(&mut self) -> Result<bool> {
        loop {
            let CursorRows::Engine(run) = &mut self.rows else {
                return Ok(false);
            };
            if !run.done {
                self.sessions.fetch(self.engine, &mut run.cursor, &mut self.part)?;
                run.done = self.part.rows() == 0;
                run.returned += self.part.rows() as u64;
                if !run.done {
                    return Ok(true);
                }
            }
            self.sessions.close(self.engine, &mut run.cursor);
            if let Some(block) = run.blocks.pop() {
                run.select.condition =
                    run.select.condition.take().map(|condition| match condition {
                        Condition::And(mut parts) => {
                            parts.pop();
                            with_block(Some(Condition::And(parts)), &block)
                        }
                        _ => block,
                    });
            } else if run.select.limit.is_some_and(|limit| run.returned >= limit) {
                // SQLite rejected some of the rows, so it needs more than the limit.
                run.select.limit = None;
                run.select.offset = run.select.offset.saturating_add(run.returned);
            } else {
                self.rows = CursorRows::Nothing;
                return Ok(false);
            }
            run.cursor = self.sessions.open(self.engine, &Source::Select(&run.select))?;
            run.done = false;
        }
    }

    fn stop(&mut self) {
        if let CursorRows::Engine(run) = &mut self.rows {
            self.sessions.close(self.engine, &mut run.cursor);
        }
        self.rows = CursorRows::Nothing;
        self.part.clear();
        self.at_end = true;
    }

    #[inline]
    fn row(&self) -> EncodedRow<'_> {
        match (&self.rows, self.history.loaded()) {
            (CursorRows::Loaded { row, .. }, Some(loaded)) => loaded.row(*row),
            _ => self.part.row_at(self.part.position()),
        }
    }

    fn next_loaded(&mut self) -> Result<()> {
        let (CursorRows::Loaded { found, row, conditions }, Some(loaded)) =
            (&mut self.rows, self.history.loaded())
        else {
            return Ok(());
        };
        self.at_end = loop {
            let Some(position) = loaded.next(found) else {
                break true;
            };
            let row_of_plan = PlanRow { plan: &self.plan, row: loaded.row(position) };
            if row_of_plan.satisfies(&self.table, conditions) {
                *row = position;
                break false;
            }
        };
        Ok(())
    }
}

impl VirtualCursor for TableCursor {
    fn filter(
        &mut self,
        plan: &str,
        arguments: Arguments<'_>,
        statement: RunningStatement<'_>,
    ) -> Result<()> {
        self.stop();
        self.take_plan(plan)?;
        if arguments.len() != self.plan.arguments() {
            return Err(Error::new(ErrorKind::Misuse, "the plan does not belong to this table"));
        }
        if self.collects_key(arguments)? {
            return Ok(());
        }
        let begun = match self.look_up(arguments, statement) {
            Ok(true) => return Ok(()),
            Ok(false) => self.query(arguments),
            Err(error) => Err(error),
        };
        begun.and_then(|()| self.next()).map_err(|error| error.in_table(self.table.name()))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        if matches!(self.rows, CursorRows::Loaded { .. }) {
            return self.next_loaded();
        }
        loop {
            if self.part.next_row()?.is_some() {
                return Ok(());
            }
            if !self.fetch()? {
                self.at_end = true;
                return Ok(());
            }
        }
    }

    #[inline]
    fn is_at_end(&self) -> bool {
        self.at_end
    }

    #[inline]
    fn column(&self, position: usize, output: &mut Output<'_>) {
        if position >= self.table.columns().len() {
            let value = |position: usize| {
                self.plan
                    .column_index(position)
                    .map_or(Value::Null, |at| self.row().value(at).to_owned())
            };
            output.set(RawValue::Bytes(&key_bytes(&self.table, value)));
            return;
        }
        if output.is_unchanged() {
            return;
        }
        let all = self.plan.columns.len() == self.table.columns().len();
        let at = if all { Some(position) } else { self.plan.column_index(position) };
        output.set(at.map_or(RawValue::Null, |at| self.row().raw_value(at)));
    }

    fn rowid(&self) -> i64 {
        let key = self.table.key().first().and_then(|&position| self.plan.column_index(position));
        match key.map(|at| self.row().value(at)) {
            Some(ValueRef::Int(key)) => key,
            _ => 0,
        }
    }
}

impl Drop for TableCursor {
    fn drop(&mut self) {
        self.stop();
        self.leave_site();
        self.sessions.cursor_closed(self.engine);
    }
}

/// Adds a block of a list to a condition, as its last part.
fn with_block(condition: Option<Condition>, block: &Condition) -> Condition {
    match condition {
        None => block.clone(),
        Some(Condition::And(mut parts)) => {
            parts.push(block.clone());
            Condition::And(parts)
        }
        Some(other) => Condition::And(vec![other, block.clone()]),
    }
}
