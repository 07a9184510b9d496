//! The shape of a statement: all that its text in SQLite's dialect depends on, found without writing the text.
//!
//! An engine keeps prepared statements by their shape. Statements that are rare, or whose text depends on values (long
//! lists, sums, searches), have no shape: the engine keeps these by their text.

mod join;

use crate::condition::after_prefix;
use crate::list::LONG_LIST;
use crate::select::{is_extreme_of_many, limit_value};
use bobak_core::{Assign, BulkChange, Condition, Expr, Select, Value};

/// Statements with more values have no shape; far fewer than SQLite takes.
const MAX_VALUES: usize = 64;

/// All that the text of a statement depends on, and the statement's values in the order of its parameters.
///
/// Statements with equal [words](Self::words) have the same text: that of [`select`](crate::select), [`join`](crate::join())
/// or [`change`](crate::change) for [`Dialect::Sqlite`](crate::Dialect::Sqlite).
#[derive(Clone, Debug, PartialEq)]
pub struct StatementShape<'a> {
    words: Vec<u64>,
    values: Vec<Value<'a>>,
}

/// What a word stands for: its lowest byte.
#[derive(Clone, Copy)]
enum Tag {
    Select,
    Change,
    Join,
    Column,
    Count,
    CountOf,
    Sum,
    Min,
    Max,
    Avg,
    Group,
    Order,
    Limit,
    Set,
    Where,
    Compare,
    CompareColumns,
    In,
    InQuery,
    Like,
    LikeEscape,
    Contains,
    EndsWith,
    StartsWith,
    IsNull,
    And,
    Or,
    Not,
    Table,
    Link,
    Filter,
    Aggregate,
    Integer,
    Calculation,
    Query,
    Exists,
    Case,
}

impl<'a> StatementShape<'a> {
    /// The shape of a query in SQLite's dialect.
    #[must_use]
    pub fn of_select(select: &'a Select) -> Option<Self> {
        if select.search.is_some() {
            return None;
        }
        let mut shape = Self::new();
        shape.word(Tag::Select, select.columns.len(), 0)?;
        shape.words.push(select.table.id());
        for &expr in &select.columns {
            // Its condition may be in the text several times.
            if is_extreme_of_many(&select.table, expr) {
                return None;
            }
            shape.expr(expr)?;
        }
        shape.optional_condition(select.condition.as_ref())?;
        select.group.iter().try_for_each(|&column| shape.word(Tag::Group, column, 0))?;
        for order in &select.order {
            shape.word(Tag::Order, order.column, order.descending.into())?;
        }
        shape.limit(select.limit, select.offset)?;
        shape.finish()
    }

    /// The shape of an update or a delete in SQLite's dialect.
    #[must_use]
    pub fn of_change(change: &'a BulkChange<'a>) -> Option<Self> {
        let mut shape = Self::new();
        let assigns = change.assign.unwrap_or_default();
        shape.word(Tag::Change, assigns.len(), change.assign.is_some().into())?;
        shape.words.push(change.table.id());
        for (at, assign) in assigns.iter().enumerate() {
            let Assign::Set { column, value } = assign else { return None };
            // The text has each column once, and no version.
            let mut later = assigns.iter().skip(at + 1);
            if change.table.version() == Some(*column) || later.any(|a| a.column() == *column) {
                return None;
            }
            shape.word(Tag::Set, *column, 0)?;
            shape.value(value);
        }
        shape.optional_condition(change.condition)?;
        shape.finish()
    }

    /// Equal for statements of the same text.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The values, in the order of the parameters.
    #[must_use]
    pub fn values(&self) -> &[Value<'a>] {
        &self.values
    }

    fn new() -> Self {
        Self { words: Vec::with_capacity(24), values: Vec::with_capacity(4) }
    }

    fn finish(self) -> Option<Self> {
        (self.values.len() <= MAX_VALUES).then_some(self)
    }

    /// Adds a word with two numbers, unless they are too large for one.
    #[inline]
    fn word(&mut self, tag: Tag, first: usize, second: usize) -> Option<()> {
        let (first, second) = (u32::try_from(first).ok()?, u32::try_from(second).ok()?);
        if second >= 1 << 24 {
            return None;
        }
        self.words.push(tag as u64 | u64::from(second) << 8 | u64::from(first) << 32);
        Some(())
    }

    #[inline]
    fn value(&mut self, value: &'a Value<'_>) {
        self.values.push(value.as_ref().into());
    }

    fn text(&mut self, text: &'a str) {
        self.values.push(text.into());
    }

    fn expr(&mut self, expr: Expr) -> Option<()> {
        let tag = match expr {
            Expr::Column(_) => Tag::Column,
            Expr::Count => Tag::Count,
            Expr::CountOf(_) => Tag::CountOf,
            Expr::Sum(_) => Tag::Sum,
            Expr::Min(_) => Tag::Min,
            Expr::Max(_) => Tag::Max,
            Expr::Avg(_) => Tag::Avg,
            _ => return None,
        };
        self.word(tag, expr.column().unwrap_or_default(), 0)
    }

    fn limit(&mut self, limit: Option<u64>, offset: u64) -> Option<()> {
        self.word(Tag::Limit, limit.is_some().into(), (offset > 0).into())?;
        let offset = Some(offset).filter(|&offset| offset > 0);
        self.values.extend(limit.into_iter().chain(offset).map(|rows| limit_value(rows).into()));
        Some(())
    }

    fn optional_condition(&mut self, condition: Option<&'a Condition>) -> Option<()> {
        self.word(Tag::Where, condition.is_some().into(), 0)?;
        condition.map_or(Some(()), |condition| self.condition(condition))
    }

    fn condition(&mut self, condition: &'a Condition) -> Option<()> {
        match condition {
            Condition::Compare { column, comparison, value } => {
                self.word(Tag::Compare, *column, *comparison as usize)?;
                self.value(value);
            }
            Condition::CompareColumns { left, comparison, right } => {
                self.word(Tag::CompareColumns, *left, *comparison as usize)?;
                self.word(Tag::Column, *right, 0)?;
            }
            Condition::In { column, values } => {
                if values.len() >= LONG_LIST || values.iter().any(Value::is_null) {
                    return None;
                }
                self.word(Tag::In, *column, values.len())?;
                values.iter().for_each(|value| self.value(value));
            }
            Condition::InQuery { column, query } => {
                self.word(Tag::InQuery, *column, query.column)?;
                self.words.push(query.table.id());
                self.optional_condition(query.condition.as_ref())?;
            }
            Condition::IsNull { column } => self.word(Tag::IsNull, *column, 0)?,
            Condition::And(parts) => self.parts(Tag::And, parts)?,
            Condition::Or(parts) => self.parts(Tag::Or, parts)?,
            Condition::Not(part) => {
                self.word(Tag::Not, 0, 0)?;
                self.condition(part)?;
            }
            _ => self.text_condition(condition)?,
        }
        Some(())
    }

    fn parts(&mut self, tag: Tag, parts: &'a [Condition]) -> Option<()> {
        self.word(tag, parts.len(), 0)?;
        parts.iter().try_for_each(|part| self.condition(part))
    }

    fn text_condition(&mut self, condition: &'a Condition) -> Option<()> {
        let (tag, column, detail, text) = match condition {
            Condition::Like { column, pattern } => (Tag::Like, column, 0, pattern),
            Condition::LikeEscape { column, pattern, escape } => {
                (Tag::LikeEscape, column, *escape as usize, pattern)
            }
            Condition::Contains { column, part } => (Tag::Contains, column, 0, part),
            // The text has the number of bytes.
            Condition::EndsWith { column, suffix } if !suffix.is_empty() => {
                (Tag::EndsWith, column, suffix.len(), suffix)
            }
            Condition::StartsWith { column, prefix } => {
                let next = after_prefix(prefix);
                self.word(Tag::StartsWith, *column, next.is_some().into())?;
                self.text(prefix);
                self.values.extend(next.map(Value::from));
                return Some(());
            }
            _ => return None,
        };
        self.word(tag, *column, detail)?;
        self.text(text);
        Some(())
    }
}
