//! What queries have in the place of values while they are prepared.

use crate::{Value, ValueRef};
use std::cell::RefCell;
use std::fmt::Debug;

/// The place of a value in a query.
#[derive(Debug)]
pub(crate) struct TemplateSlot {
    /// The index of the placeholder.
    pub placeholder: usize,
    /// The column that the value is compared with, or assigned to.
    pub column: Box<dyn StoredForm>,
    /// Whether the column stores each integer as it is.
    stores_integers: bool,
}

impl TemplateSlot {
    fn new(placeholder: usize, column: Box<dyn StoredForm>) -> Self {
        let limits = [i64::MIN, i64::MAX].map(ValueRef::Int);
        let stores_integers = limits.into_iter().all(|limit| column.is_stored(limit));
        Self { placeholder, column, stores_integers }
    }

    /// Whether a value is not NULL, and is certainly in its stored form.
    #[inline]
    pub fn stores(&self, value: &Value<'_>) -> bool {
        match value {
            Value::Null => false,
            Value::Int(_) if self.stores_integers => true,
            value => self.column.is_stored(value.as_ref()),
        }
    }
}

/// A column whose stored form values have.
pub(crate) trait StoredForm: Debug + Send + Sync {
    /// Whether a value is certainly in its stored form.
    fn is_stored(&self, value: ValueRef<'_>) -> bool;

    /// The stored form of a value; `None` if it does not fit.
    fn stored<'v>(&self, value: ValueRef<'v>) -> Option<Value<'v>>;
}

/// What a column has in the place of a value that is NaN: the mark of a slot, if it is the mark of a placeholder or of a slot
/// of the template that is being written.
#[cold]
pub(crate) fn slot_for<C: StoredForm + Clone + 'static>(
    value: &Value<'_>,
    column: &C,
) -> Option<Value<'static>> {
    let mark = PlaceholderMark::of(value)?;
    STATE.with_borrow_mut(|state| {
        let PlaceholderState::Writing { template, slots } = state else { return None };
        if mark.template != *template || slots.len() > MAX_INDEX {
            return None;
        }
        if mark.kind == MarkKind::Slot {
            return Some(mark.value());
        }
        slots.push(TemplateSlot::new(mark.index, Box::new(column.clone())));
        Some(PlaceholderMark { kind: MarkKind::Slot, index: slots.len() - 1, ..mark }.value())
    })
}

/// The largest index that a mark has bits for.
const MAX_INDEX: usize = 0xfff;

/// A NaN that stands for a value: with the bits of the template, of the kind and of the index behind those of a NaN.
#[derive(Clone, Copy)]
pub(crate) struct PlaceholderMark {
    pub template: u32,
    pub kind: MarkKind,
    pub index: usize,
}

/// What a mark is in the place of.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum MarkKind {
    Placeholder = 1,
    Slot = 2,
}

/// The part of a template's id that marks have.
pub(crate) const fn mark_id(template: u64) -> u32 {
    template as u32
}

impl PlaceholderMark {
    fn value(self) -> Value<'static> {
        let bits = u64::from(self.template) << 16 | (self.kind as u64) << 12 | self.index as u64;
        Value::Float(f64::from_bits(f64::NAN.to_bits() | bits))
    }

    pub fn of(value: &Value<'_>) -> Option<Self> {
        let Value::Float(float) = value else { return None };
        let bits = float.to_bits();
        let kind = match bits >> 12 & 0xf {
            1 => MarkKind::Placeholder,
            2 => MarkKind::Slot,
            _ => return None,
        };
        let mark =
            Self { template: (bits >> 16) as u32, kind, index: (bits & MAX_INDEX as u64) as usize };
        let same = |other: &Value<'_>| matches!(other, Value::Float(f) if f.to_bits() == bits);
        same(&mark.value()).then_some(mark)
    }
}

thread_local! {
    static STATE: RefCell<PlaceholderState> = const { RefCell::new(PlaceholderState::Outside) };
}

/// What placeholders stand for on this thread.
pub(crate) enum PlaceholderState {
    /// Nothing.
    Outside,
    /// A mark, which becomes a slot.
    Writing { template: u32, slots: Vec<TemplateSlot> },
    /// These values.
    Running(Vec<Value<'static>>),
}

/// Restores the state before when it is dropped.
pub(crate) struct PlaceholderScope {
    before: Option<PlaceholderState>,
}

impl PlaceholderScope {
    pub fn enter(state: PlaceholderState) -> Self {
        Self { before: Some(STATE.replace(state)) }
    }

    /// The state at the end.
    pub fn leave(mut self) -> PlaceholderState {
        let before = self.before.take().unwrap_or(PlaceholderState::Outside);
        STATE.replace(before)
    }

    /// What a placeholder stands for.
    pub fn value(index: usize) -> Value<'static> {
        STATE.with_borrow(|state| match state {
            PlaceholderState::Outside => Value::UNSTORABLE,
            PlaceholderState::Writing { template, .. } => {
                PlaceholderMark { template: *template, kind: MarkKind::Placeholder, index }.value()
            }
            PlaceholderState::Running(values) => {
                values.get(index).cloned().unwrap_or(Value::UNSTORABLE)
            }
        })
    }
}

impl Drop for PlaceholderScope {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            STATE.set(before);
        }
    }
}
