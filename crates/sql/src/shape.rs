//! The shape of a statement: all that its text depends on, found without writing the text.
//!
//! An engine keeps prepared statements by their shape. Statements that are rare, or whose text depends on values (sums,
//! searches, values that a server's type has not), have no shape: the engine keeps these by their text. MariaDB and MySQL
//! have no shapes, since their casts depend on the values.

mod join;

use crate::Dialect;
use crate::condition::{after_prefix, beyond, server_pattern, storage};
use crate::join::FEW_ROWS;
use crate::list::{LONG_LIST, packed};
use crate::select::{LITERAL_LIMIT, is_extreme_of_many, limit_value};
use bobak_core::{
    Assign, BulkChange, ColumnPair, ColumnSchema, Condition, Expr, RowLock, Select, Storage,
    TableSchema, Type, Value,
};

/// Statements with more values have no shape; far fewer than SQLite takes.
const MAX_VALUES: usize = 64;

/// All that the text of a statement depends on, and the statement's values in the order of its parameters.
///
/// Statements with equal [words](Self::words) have the same text: that of [`select`](crate::select), [`join`](crate::join())
/// or [`change`](crate::change) for the same dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementShape<'a> {
    dialect: Dialect,
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
    LiteralLimit,
    Lock,
    Set,
    Add,
    Where,
    Compare,
    CompareColumns,
    In,
    InArray,
    InQuery,
    Pair,
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
    /// The shape of a query.
    #[must_use]
    pub fn of_select(dialect: Dialect, select: &'a Select) -> Option<Self> {
        if select.search.is_some() {
            return None;
        }
        let mut shape = Self::new(dialect)?;
        shape.word(Tag::Select, select.columns.len(), 0)?;
        shape.words.push(select.table.id());
        for &expr in &select.columns {
            // Its condition may be in the text several times.
            if is_extreme_of_many(&select.table, expr) {
                return None;
            }
            shape.expr(expr)?;
        }
        shape.optional_condition(&select.table, select.condition.as_ref())?;
        select.group.iter().try_for_each(|&column| shape.word(Tag::Group, column, 0))?;
        for order in &select.order {
            shape.word(Tag::Order, order.column, order.descending.into())?;
        }
        shape.limit(select.limit, select.offset)?;
        if let Some(lock) = select.lock {
            shape.lock(lock)?;
        }
        shape.finish()
    }

    /// The shape of an update or a delete.
    #[must_use]
    pub fn of_change(dialect: Dialect, change: &'a BulkChange<'a>) -> Option<Self> {
        let mut shape = Self::new(dialect)?;
        let assigns = change.assign.unwrap_or_default();
        shape.word(Tag::Change, assigns.len(), change.assign.is_some().into())?;
        shape.words.push(change.table.id());
        for (at, assign) in assigns.iter().enumerate() {
            // The text has each column once, and no version.
            let (column, mut later) = (assign.column(), assigns.iter().skip(at + 1));
            if change.table.version() == Some(column) || later.any(|a| a.column() == column) {
                return None;
            }
            shape.assign(change.table, assign)?;
        }
        shape.optional_condition(change.table, change.condition)?;
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

    /// As [`values`](Self::values).
    #[must_use]
    pub fn into_values(self) -> Vec<Value<'a>> {
        self.values
    }

    fn new(dialect: Dialect) -> Option<Self> {
        let shape =
            || Self { dialect, words: Vec::with_capacity(24), values: Vec::with_capacity(4) };
        (!dialect.is_mysql()).then(shape)
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
        let is_literal = |&limit: &u64| limit <= LITERAL_LIMIT && offset == 0;
        if self.dialect == Dialect::Postgres
            && let Some(limit) = limit.filter(is_literal)
        {
            return self.word(Tag::LiteralLimit, usize::try_from(limit).ok()?, 0);
        }
        // A join for PostgreSQL of a few rows has another text.
        let is_few = limit.is_some_and(|limit| limit.saturating_add(offset) <= FEW_ROWS);
        let detail = usize::from(offset > 0) | usize::from(is_few) << 1;
        let detail = if self.dialect == Dialect::Postgres { detail } else { detail & 1 };
        self.word(Tag::Limit, limit.is_some().into(), detail)?;
        let offset = Some(offset).filter(|&offset| offset > 0);
        self.values.extend(limit.into_iter().chain(offset).map(|rows| limit_value(rows).into()));
        Some(())
    }

    fn lock(&mut self, lock: RowLock) -> Option<()> {
        let kind = match lock {
            // SQLite's statements have no locks.
            _ if self.dialect == Dialect::Sqlite => return Some(()),
            // PostgreSQL's engine sets the timeout around the statement.
            RowLock::Wait | RowLock::WaitAtMost(_) => 0,
            RowLock::NoWait => 1,
            RowLock::SkipLocked => 2,
        };
        self.word(Tag::Lock, kind, 0)
    }

    fn assign(&mut self, table: &TableSchema, assign: &'a Assign) -> Option<()> {
        let (tag, column, value) = match assign {
            Assign::Set { column, value } => (Tag::Set, *column, value),
            Assign::Add { column, value } => (Tag::Add, *column, value),
        };
        if matches!(assign, Assign::Add { .. }) && !self.adds_once(table, column, value) {
            return None;
        }
        self.word(tag, column, 0)?;
        self.value(value);
        Some(())
    }

    /// Whether the text of a sum has the number once.
    fn adds_once(&self, table: &TableSchema, column: usize, value: &Value<'_>) -> bool {
        let is_integer = |column: &ColumnSchema| {
            column.storage == Storage::Int && matches!(column.ty, Type::I16 | Type::I32 | Type::I64)
        };
        self.dialect == Dialect::Postgres
            && matches!(value, Value::Int(_))
            && table.columns().get(column).is_some_and(is_integer)
    }

    fn optional_condition(
        &mut self,
        table: &TableSchema,
        condition: Option<&'a Condition>,
    ) -> Option<()> {
        self.word(Tag::Where, condition.is_some().into(), 0)?;
        condition.map_or(Some(()), |condition| self.condition(table, condition))
    }

    fn condition(&mut self, table: &TableSchema, condition: &'a Condition) -> Option<()> {
        match condition {
            Condition::Compare { column, comparison, value } => {
                if beyond(self.dialect, table, *column, value).is_some() {
                    return None;
                }
                self.word(Tag::Compare, *column, *comparison as usize)?;
                self.value(value);
            }
            Condition::CompareColumns { left, comparison, right } => {
                self.word(Tag::CompareColumns, *left, *comparison as usize)?;
                self.word(Tag::Column, *right, 0)?;
            }
            Condition::In { column, values } => self.list(table, *column, values)?,
            Condition::InQuery { column, query } => {
                self.word(Tag::InQuery, *column, query.column)?;
                self.words.push(query.table.id());
                self.pairs(&query.more)?;
                self.optional_condition(&query.table, query.condition.as_ref())?;
            }
            Condition::IsNull { column } => self.word(Tag::IsNull, *column, 0)?,
            Condition::And(parts) => self.parts(table, Tag::And, parts)?,
            Condition::Or(parts) => self.parts(table, Tag::Or, parts)?,
            Condition::Not(part) => {
                self.word(Tag::Not, 0, 0)?;
                self.condition(table, part)?;
            }
            _ => self.text_condition(table, condition)?,
        }
        Some(())
    }

    /// The pairs of columns after the first one.
    fn pairs(&mut self, more: &[ColumnPair]) -> Option<()> {
        more.iter().try_for_each(|pair| self.word(Tag::Pair, pair.from, pair.to))
    }

    fn parts(&mut self, table: &TableSchema, tag: Tag, parts: &'a [Condition]) -> Option<()> {
        self.word(tag, parts.len(), 0)?;
        parts.iter().try_for_each(|part| self.condition(table, part))
    }

    /// The values of a short list, or a long list as one value.
    fn list(
        &mut self,
        table: &TableSchema,
        column: usize,
        values: &'a [Value<'static>],
    ) -> Option<()> {
        if values.len() >= LONG_LIST {
            self.word(Tag::InArray, column, 0)?;
            self.values.push(packed(self.dialect, table, column, values)?.into());
            return Some(());
        }
        let is_left_out =
            |value| Value::is_null(value) || beyond(self.dialect, table, column, value).is_some();
        if values.iter().any(is_left_out) {
            return None;
        }
        self.word(Tag::In, column, values.len())?;
        values.iter().for_each(|value| self.value(value));
        Some(())
    }

    fn text_condition(&mut self, table: &TableSchema, condition: &'a Condition) -> Option<()> {
        let is_sqlite = self.dialect == Dialect::Sqlite;
        let (tag, column, detail, text) = match condition {
            Condition::Like { column, pattern } if is_sqlite => (Tag::Like, *column, 0, pattern),
            Condition::LikeEscape { column, pattern, escape } if is_sqlite => {
                (Tag::LikeEscape, *column, *escape as usize, pattern)
            }
            Condition::Contains { column, part } => (Tag::Contains, *column, 0, part),
            // The text has the number of bytes, or of characters.
            Condition::EndsWith { column, suffix } if !suffix.is_empty() => {
                let length = if is_sqlite { suffix.len() } else { suffix.chars().count() };
                (Tag::EndsWith, *column, length, suffix)
            }
            _ => return self.pattern(table, condition),
        };
        self.word_of_text(table, tag, column, detail)?;
        self.text(text);
        Some(())
    }

    /// Conditions with a text that is changed for the statement.
    fn pattern(&mut self, table: &TableSchema, condition: &'a Condition) -> Option<()> {
        let (column, pattern, escape) = match condition {
            Condition::StartsWith { column, prefix } => {
                let next = after_prefix(prefix);
                self.word_of_text(table, Tag::StartsWith, *column, next.is_some().into())?;
                self.text(prefix);
                self.values.extend(next.map(Value::from));
                return Some(());
            }
            Condition::Like { column, pattern } => (*column, pattern, None),
            Condition::LikeEscape { column, pattern, escape } => (*column, pattern, Some(*escape)),
            _ => return None,
        };
        self.word_of_text(table, Tag::Like, column, 0)?;
        self.values.push(server_pattern(pattern, escape)?);
        Some(())
    }

    /// The word of a condition over texts. On servers, one over a column of another class has no value.
    fn word_of_text(
        &mut self,
        table: &TableSchema,
        tag: Tag,
        column: usize,
        detail: usize,
    ) -> Option<()> {
        let has_value =
            self.dialect == Dialect::Sqlite || storage(table, column) == Some(Storage::Text);
        self.word(tag, column, detail).filter(|()| has_value)
    }
}
