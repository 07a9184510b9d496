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

impl TemplateQuery {
    fn tables(&self) -> Vec<Arc<TableSchema>> {
        match self {
            Self::Select(select) => vec![Arc::clone(&select.table)],
            Self::Update { table, .. } => vec![Arc::clone(table)],
            Self::Join(join) => {
                let mut tables = Vec::new();
                join.for_each_table(&mut |table| tables.push(Arc::clone(table)));
                tables
            }
        }
    }
}

/// A query without subqueries, with slots in the place of values, for [`Session::run_template`](crate::Session::run_template).
///
/// A value that stands for a slot is a NaN, which no other value is. An engine writes the statement with it as with any other
/// value, and finds out which of the statement's parameters are slots by [`parameters`](Self::parameters).
#[derive(Debug)]
pub struct QueryTemplate {
    id: u64,
    query: TemplateQuery,
    tables: Vec<Arc<TableSchema>>,
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
    pub fn value<'v>(&'v self, slots: &SlotValues<'v>) -> ValueRef<'v> {
        match self {
            Self::Constant(value) => value.as_ref(),
            Self::Slot(slot) => slots.get(*slot),
        }
    }

    /// As [`value`](Self::value), if that is an integer in a slot.
    #[inline]
    #[must_use]
    pub fn integer(&self, slots: &SlotValues<'_>) -> Option<i64> {
        match self {
            Self::Slot(slot) => match slots.value(*slot) {
                Some(Value::Int(integer)) => Some(*integer),
                _ => None,
            },
            Self::Constant(_) => None,
        }
    }
}

/// The values of a template's slots, in the stored form of their columns.
#[derive(Debug)]
pub struct SlotValues<'v> {
    values: &'v [Value<'v>],
    /// The slots whose placeholders have the values; `None` if there is one value for each slot.
    placeholders: Option<&'v [TemplateSlot]>,
}

impl<'v> SlotValues<'v> {
    /// The value of the slot with this index; NULL if there is none.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: usize) -> ValueRef<'v> {
        self.value(slot).map_or(ValueRef::Null, Value::as_ref)
    }

    #[inline]
    fn value(&self, slot: usize) -> Option<&'v Value<'v>> {
        let place = match self.placeholders {
            Some(slots) => slots.get(slot)?.placeholder,
            None => slot,
        };
        self.values.get(place)
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
        let tables = query.tables();
        Some(Self { id, query, tables, slots, parameters: OnceLock::new() })
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

    /// The tables of the query.
    #[inline]
    #[must_use]
    pub fn tables(&self) -> &[Arc<TableSchema>] {
        &self.tables
    }

    /// Calls `run` with the values of the slots, in the stored form of their columns, for these values of the placeholders.
    /// Returns `None` if one is NULL, which is not compared as other values are, or does not fit.
    #[inline]
    pub fn with_slot_values<R>(
        &self,
        placeholders: &[Value<'_>],
        run: impl FnOnce(&SlotValues<'_>) -> R,
    ) -> Option<R> {
        let value = |slot: &TemplateSlot| placeholders.get(slot.placeholder);
        // Most values are stored as they are.
        if self.slots.iter().all(|slot| value(slot).is_some_and(|value| slot.stores(value))) {
            return Some(run(&SlotValues {
                values: placeholders,
                placeholders: Some(&self.slots),
            }));
        }
        let stored = |slot| {
            let value = value(slot).filter(|value| !value.is_null())?;
            slot.column.stored(value.as_ref())
        };
        let values = self.slots.iter().map(stored).collect::<Option<Vec<_>>>()?;
        Some(run(&SlotValues { values: &values, placeholders: None }))
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
