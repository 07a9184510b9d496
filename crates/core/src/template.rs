//! Queries with placeholders, which an engine prepares once and runs with different values.

use crate::mark::{
    MarkKind, PlaceholderMark, PlaceholderScope, PlaceholderState, TemplateSlot, mark_id,
};
use crate::{Assign, Condition, Join, Select, TableSchema, Value, ValueRef};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What a [`QueryTemplate`] runs.
#[derive(Debug)]
pub enum TemplateQuery {
    /// A query over one table.
    Select(Select),
    /// A join.
    Join(Join),
    /// An update of all rows that match: see [`BulkChange`](crate::BulkChange).
    Update {
        /// The table.
        table: Arc<TableSchema>,
        /// Which rows; all if `None`.
        condition: Option<Condition>,
        /// The columns that it sets.
        assigns: Vec<Assign>,
    },
}

/// A query without subqueries, with slots in the place of values, for [`Session::run_template`](crate::Session::run_template).
///
/// A value that stands for a slot is a NaN, which no other value is. An engine writes the statement with it as with any other
/// value, and finds out which of the statement's parameters are slots by [`parameters`](Self::parameters).
#[derive(Debug)]
pub struct QueryTemplate {
    id: u64,
    query: TemplateQuery,
    slots: Vec<TemplateSlot>,
    parameters: OnceLock<Option<Vec<TemplateParameter>>>,
}

/// A parameter of a template's statement.
#[derive(Clone, Debug, PartialEq)]
pub enum TemplateParameter {
    /// The same value in each run.
    Constant(Value<'static>),
    /// The value for the slot with this index.
    Slot(usize),
}

impl TemplateParameter {
    /// The value of the parameter, if these are the values of the slots.
    #[inline]
    #[must_use]
    pub fn value<'v>(&'v self, slots: &'v [Value<'_>]) -> ValueRef<'v> {
        match self {
            Self::Constant(value) => value.as_ref(),
            Self::Slot(slot) => slots.get(*slot).map_or(ValueRef::Null, Value::as_ref),
        }
    }
}

impl QueryTemplate {
    /// The template of the query that `write` returns, resolved for its tables; `None` if it returns `None`. Placeholders
    /// stand for slots meanwhile.
    pub fn new(write: impl FnOnce() -> Option<TemplateQuery>) -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let scope = PlaceholderScope::enter(PlaceholderState::Writing {
            template: mark_id(id),
            slots: Vec::new(),
        });
        let query = write()?;
        let slots = match scope.leave() {
            PlaceholderState::Writing { slots, .. } => slots,
            _ => Vec::new(),
        };
        Some(Self { id, query, slots, parameters: OnceLock::new() })
    }

    /// Different for each template of the process.
    #[inline]
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// The query.
    #[must_use]
    pub const fn query(&self) -> &TemplateQuery {
        &self.query
    }

    /// Calls `each` with the tables of the query.
    pub fn for_each_table(&self, each: &mut dyn FnMut(&Arc<TableSchema>)) {
        match &self.query {
            TemplateQuery::Select(select) => each(&select.table),
            TemplateQuery::Join(join) => join.for_each_table(each),
            TemplateQuery::Update { table, .. } => each(table),
        }
    }

    /// Calls `run` with the values of the slots, in the stored form of their columns, for these values of the placeholders.
    /// Returns `None` if one is NULL, which is not compared as other values are, or does not fit.
    #[inline]
    pub fn with_slot_values<R>(
        &self,
        placeholders: &[Value<'_>],
        run: impl FnOnce(&[Value<'_>]) -> R,
    ) -> Option<R> {
        let stored = |slot: &TemplateSlot| {
            let value = placeholders.get(slot.placeholder).filter(|value| !value.is_null())?;
            slot.column.stored(value.as_ref())
        };
        // Most queries have few values: these need no memory.
        match self.slots.as_slice() {
            [] => Some(run(&[])),
            [a] => Some(run(&[stored(a)?])),
            [a, b] => Some(run(&[stored(a)?, stored(b)?])),
            [a, b, c] => Some(run(&[stored(a)?, stored(b)?, stored(c)?])),
            slots => Some(run(&slots.iter().map(stored).collect::<Option<Vec<_>>>()?)),
        }
    }

    /// The parameters of the statement; `write` returns their values, or `None` if the engine can't prepare the statement. It
    /// is called once: the statement MUST be the same in all databases of the engine. `None` too if the statement has not all
    /// slots among its parameters.
    pub fn parameters(
        &self,
        write: impl FnOnce() -> Option<Vec<Value<'static>>>,
    ) -> Option<&[TemplateParameter]> {
        let parameters = || {
            let parameters: Vec<_> = write()?.into_iter().map(|v| self.parameter(v)).collect();
            let has = |slot| parameters.contains(&TemplateParameter::Slot(slot));
            (0..self.slots.len()).all(has).then_some(parameters)
        };
        self.parameters.get_or_init(parameters).as_deref()
    }

    fn parameter(&self, value: Value<'static>) -> TemplateParameter {
        match PlaceholderMark::of(&value) {
            Some(PlaceholderMark { template, kind: MarkKind::Slot, index })
                if template == mark_id(self.id) =>
            {
                TemplateParameter::Slot(index)
            }
            _ => TemplateParameter::Constant(value),
        }
    }
}
