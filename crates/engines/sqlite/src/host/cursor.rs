//! A cursor over a guest's table: asks the engine for what the plan says, and hands its rows out
//! from the part that was fetched last.

use super::ahead::Place;
use super::fit::{self, Fit, Point};
use super::link::Link;
use super::lookup::{Found, Lookups, Placed, position};
use super::plan::{Offset, Plan, Term, Test};
use super::write::key_bytes;
use crate::ffi::{Arguments, Output, Running, VirtualCursor};
use bobak_core::codec::{EncodedRow, RawValue};
use bobak_core::{
    Comparison, Condition, CursorId, Error, ErrorKind, Expr, Order, Result, RowBuffer, Select,
    Source, TableSchema, Value, ValueRef,
};
use std::sync::Arc;

/// The longest list that goes to the engine as one condition: servers have a limit.
const LIST: usize = 1_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct GuestCursor {
    pub(super) link: Arc<Link>,
    pub(super) guest: usize,
    pub(super) table: Arc<TableSchema>,
    /// Where it reads: with the plan's text.
    pub(super) place: Place,
    /// What the text says.
    pub(super) plan: Plan,
    pub(super) lookups: Lookups,
    pub(super) rows: Rows,
    part: RowBuffer,
    pub(super) at_end: bool,
}

/// Where rows come from.
#[derive(Debug)]
pub(super) enum Rows {
    Nothing,
    /// The engine's cursor.
    Engine(Run),
    /// Those that were read ahead as a whole; the row at hand.
    Loaded {
        found: Found,
        row: (u32, u32),
        conditions: Vec<Condition>,
    },
}

/// A query that runs in the engine.
#[derive(Debug)]
pub(super) struct Run {
    cursor: CursorId,
    /// Whether all rows were fetched.
    done: bool,
    select: Select,
    /// Lists that are too long for one condition: the blocks still to come.
    blocks: Vec<Condition>,
    /// How many rows were handed out.
    given: u64,
}

/// What the plan's conditions come to with the values at hand.
pub(super) enum Asked {
    /// No row.
    Nothing,
    /// These conditions, and the blocks of a long list, one after the other.
    Conditions(Vec<Condition>, Vec<Condition>),
}

impl GuestCursor {
    pub(crate) fn new(link: &Arc<Link>, guest: usize, table: &Arc<TableSchema>) -> Self {
        link.enter(guest);
        Self {
            link: Arc::clone(link),
            guest,
            table: Arc::clone(table),
            place: Place { guest, table: table.id(), plan: String::new() },
            plan: Plan::default(),
            lookups: Lookups::default(),
            rows: Rows::Nothing,
            part: RowBuffer::default(),
            at_end: true,
        }
    }

    fn take_plan(&mut self, text: &str) -> Result<()> {
        if self.place.plan != text || text.is_empty() {
            self.forget_ahead();
            let unknown = || Error::new(ErrorKind::Misuse, "that is no plan of this table");
            self.plan = Plan::parse(text).ok_or_else(unknown)?;
            text.clone_into(&mut self.place.plan);
            self.lookups = Lookups::default();
        }
        Ok(())
    }

    /// The conditions with their values.
    pub(super) fn asked(&self, arguments: Arguments<'_>) -> Asked {
        let (mut conditions, mut blocks) = (Vec::new(), Vec::new());
        for (number, term) in self.plan.terms.iter().enumerate() {
            if term.test == Test::In {
                match self.list(*term, arguments, number) {
                    Some(list) if list.is_empty() => return Asked::Nothing,
                    Some(mut list) if list.len() == 1 => conditions.append(&mut list),
                    // Of two long lists one goes to the engine: SQLite looks at both.
                    Some(list) if blocks.is_empty() && self.plan.order.is_empty() => blocks = list,
                    _ => {}
                }
                continue;
            }
            match self.fit(*term, arguments.get(number)) {
                Fit::Exact(condition) | Fit::Wider(condition) => conditions.push(condition),
                Fit::Never => return Asked::Nothing,
                Fit::Unknown => {}
            }
        }
        Asked::Conditions(conditions, blocks)
    }

    fn fit(&self, Term { column, test }: Term, value: ValueRef<'_>) -> Fit {
        let Some(schema) = self.table.columns().get(column) else {
            return Fit::Unknown;
        };
        let compare = |comparison| fit::compare(column, schema, comparison, value);
        match test {
            Test::Equal => compare(Comparison::Equal),
            Test::NotEqual => compare(Comparison::NotEqual),
            Test::Less => compare(Comparison::Less),
            Test::LessOrEqual => compare(Comparison::LessOrEqual),
            Test::Greater => compare(Comparison::Greater),
            Test::GreaterOrEqual => compare(Comparison::GreaterOrEqual),
            Test::Is => fit::is(column, schema, value, false),
            Test::IsNot => fit::is(column, schema, value, true),
            Test::IsNull => Fit::Exact(Condition::IsNull { column }),
            Test::NotNull => Fit::Exact(fit::not_null(column)),
            Test::Like => fit::like(column, value),
            Test::Glob => fit::glob(column, value),
            Test::In => Fit::Unknown,
        }
    }

    /// A list in blocks; `None` where only SQLite can tell what is in it.
    fn list(&self, term: Term, arguments: Arguments<'_>, number: usize) -> Option<Vec<Condition>> {
        let column = self.table.columns().get(term.column)?;
        let mut values: Vec<Value<'static>> = Vec::new();
        let mut known = true;
        let is_list = arguments.each_of_list(number, |value| match fit::point(column, value) {
            Point::Value(value) => values.push(value.to_owned()),
            Point::Never => {}
            Point::Unknown => known = false,
        });
        if !is_list || !known {
            return None;
        }
        if values.len() > LIST {
            // A value of two blocks would give its rows twice.
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
        Some(values.chunks(LIST).map(block).collect())
    }

    pub(super) fn select(&self, mut conditions: Vec<Condition>) -> Select {
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
        }
    }

    /// Begins the query in the engine.
    fn ask(&mut self, arguments: Arguments<'_>) -> Result<()> {
        let Asked::Conditions(conditions, mut blocks) = self.asked(arguments) else {
            return Ok(());
        };
        let mut select = self.select(conditions);
        let number = |place: usize| match arguments.get(place) {
            ValueRef::Int(number) => u64::try_from(number).ok(),
            _ => None,
        };
        let mut place = self.plan.terms.len();
        if self.plan.limit {
            select.limit = number(place);
            place += 1;
        }
        match self.plan.offset {
            Offset::None => {}
            Offset::Host => {
                let passed = number(place).unwrap_or(0);
                select.limit = select.limit.map(|limit| limit.saturating_add(passed));
            }
            Offset::Engine => select.offset = number(place).unwrap_or(0),
        }
        if let Some(block) = blocks.pop() {
            select.condition = Some(with_block(select.condition, &block));
        }
        let cursor = self.link.open(self.guest, &Source::Select(&select))?.id;
        let run = Run { cursor, done: false, select, blocks, given: 0 };
        self.rows = Rows::Engine(run);
        self.at_end = false;
        Ok(())
    }

    /// Goes on after the last row that was fetched; `false` where there is none.
    fn fetch(&mut self) -> Result<bool> {
        loop {
            let Rows::Engine(run) = &mut self.rows else {
                return Ok(false);
            };
            if !run.done {
                self.link.fetch(self.guest, run.cursor, &mut self.part)?;
                run.done = self.part.rows() == 0;
                run.given += self.part.rows() as u64;
                if !run.done {
                    return Ok(true);
                }
            }
            self.link.close(self.guest, run.cursor);
            if let Some(block) = run.blocks.pop() {
                run.select.condition =
                    run.select.condition.take().map(|condition| match condition {
                        Condition::And(mut parts) => {
                            parts.pop();
                            with_block(Some(Condition::And(parts)), &block)
                        }
                        _ => block,
                    });
            } else if run.select.limit.is_some_and(|limit| run.given >= limit) {
                // The limit was a guess at how many rows SQLite would need, and it needs more.
                run.select.limit = None;
                run.select.offset = run.select.offset.saturating_add(run.given);
            } else {
                self.rows = Rows::Nothing;
                return Ok(false);
            }
            run.cursor = self.link.open(self.guest, &Source::Select(&run.select))?.id;
            run.done = false;
        }
    }

    fn stop(&mut self) {
        if let Rows::Engine(run) = &self.rows {
            self.link.close(self.guest, run.cursor);
        }
        self.rows = Rows::Nothing;
        self.part.clear();
        self.at_end = true;
    }

    #[inline]
    fn row(&self) -> EncodedRow<'_> {
        match (&self.rows, self.lookups.loaded()) {
            (Rows::Loaded { row, .. }, Some(loaded)) => loaded.row(*row),
            _ => self.part.row_at(self.part.position()),
        }
    }

    fn next_loaded(&mut self) -> Result<()> {
        let (Rows::Loaded { found, row, conditions }, Some(loaded)) =
            (&mut self.rows, self.lookups.loaded())
        else {
            return Ok(());
        };
        self.at_end = loop {
            let Some(place) = loaded.next(found) else {
                break true;
            };
            let placed = Placed { plan: &self.plan, row: loaded.row(place) };
            if placed.keeps(&self.table, conditions) {
                *row = place;
                break false;
            }
        };
        Ok(())
    }
}

impl VirtualCursor for GuestCursor {
    fn filter(&mut self, plan: &str, arguments: Arguments<'_>, running: Running<'_>) -> Result<()> {
        self.stop();
        self.take_plan(plan)?;
        if arguments.len() != self.plan.arguments() {
            return Err(Error::new(ErrorKind::Misuse, "that is no plan of this table"));
        }
        if self.is_noted(arguments)? {
            return Ok(());
        }
        let begun = match self.look_up(arguments, running) {
            Ok(true) => return Ok(()),
            Ok(false) => self.ask(arguments),
            Err(error) => Err(error),
        };
        begun.and_then(|()| self.next()).map_err(|error| error.in_table(self.table.name()))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        if matches!(self.rows, Rows::Loaded { .. }) {
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
    fn column(&self, place: usize, output: &mut Output<'_>) {
        if place >= self.table.columns().len() {
            let value = |place: usize| {
                position(&self.plan, place)
                    .map_or(Value::Null, |at| self.row().value(at).to_owned())
            };
            output.set(RawValue::Bytes(&key_bytes(&self.table, value)));
            return;
        }
        if output.is_unchanged() {
            return;
        }
        let all = self.plan.columns.len() == self.table.columns().len();
        let at = if all { Some(place) } else { position(&self.plan, place) };
        output.set(at.map_or(RawValue::Null, |at| self.row().raw_value(at)));
    }

    fn rowid(&self) -> i64 {
        let key = self.table.key().first().and_then(|&place| position(&self.plan, place));
        match key.map(|at| self.row().value(at)) {
            Some(ValueRef::Int(key)) => key,
            _ => 0,
        }
    }
}

impl Drop for GuestCursor {
    fn drop(&mut self) {
        self.stop();
        self.forget_ahead();
        self.link.leave(self.guest);
    }
}

/// A condition together with a block of a list, which comes last.
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
