//! Relations between records: constants next to the columns, from which filters and shapes are built.

use crate::field_reference::MorePairs;
use crate::{
    ColumnPair, Comparison, Condition, FieldReference, Filter, ForeignKey, FromRow, OnDelete,
    Record, SubQuery, TableSchema, Value, ValueRef,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// The most steps of a [`ToMany`].
const MAX_STEPS: usize = 4;

/// A reference from each record `A` to at most one record `B`: the value of one column of `A` is the key of a `B`, or those of
/// several columns are those of columns of a `B`. With NULL in one of them, a record refers to none.
///
/// The derive makes a constant for each field with `references = B`, named like the field in capitals without `_ID`; with
/// `_REF` added if the field's name does not end in `_id`, or if another field has that name. It makes one for each
/// `foreign_key(a, b, references = B(c, d))`, named like `B` in capitals.
pub struct ToOne<A, B> {
    column: usize,
    target: LinkColumn,
    more: MorePairs,
    nullable: bool,
    /// For a reference to a record of any type: the column of `A` with the name of the table.
    tag: Option<TableTag>,
    records: PhantomData<fn() -> (A, B)>,
}

/// A relation from each record `A` to any number of records `B`: the inverse of a [`ToOne`], or several relations one after
/// the other.
pub struct ToMany<A, B> {
    steps: [Option<RelationStep>; MAX_STEPS],
    records: PhantomData<fn() -> (A, B)>,
}

/// One step of a relation: the rows of `table` in which `to` has the value that `from` has in a row of the table before, and
/// so have the columns of `more` pairs.
#[derive(Clone, Copy)]
pub struct RelationStep {
    from: LinkColumn,
    /// What rows of the table before must have to be linked.
    from_tag: Option<TableTag>,
    table: fn() -> &'static Arc<TableSchema>,
    to: LinkColumn,
    more: MorePairs,
    /// What the step's own rows must have to be linked.
    to_tag: Option<TableTag>,
}

/// A column that must have the name of a table.
#[derive(Clone, Copy)]
struct TableTag {
    column: usize,
    table: &'static str,
}

impl TableTag {
    fn condition(self) -> Condition {
        let (column, comparison) = (self.column, Comparison::Equal);
        Condition::Compare { column, comparison, value: Value::from(self.table) }
    }
}

/// A column by which a relation's tables are linked.
#[derive(Clone, Copy)]
enum LinkColumn {
    /// The key, which has one column.
    Key,
    Index(usize),
}

impl LinkColumn {
    /// Its index in a table. A key of several columns has no such index; the derive rejects references to it by one field.
    fn of(self, table: &TableSchema) -> usize {
        match (self, table.key()) {
            (Self::Index(index), _) => index,
            (Self::Key, [column]) => *column,
            (Self::Key, _) => usize::MAX,
        }
    }
}

impl RelationStep {
    /// The table that the step leads to.
    #[must_use]
    pub fn table(&self) -> &'static Arc<TableSchema> {
        (self.table)()
    }

    /// The linked columns: those of the table before, each with that of the step's own table which has the same value.
    pub fn pairs(&self, before: &TableSchema) -> impl Iterator<Item = ColumnPair> + Clone {
        let first = ColumnPair { from: self.from.of(before), to: self.to.of(self.table()) };
        [first].into_iter().chain(self.more.as_slice().iter().copied())
    }

    /// The indexes of the linked columns in the table before.
    pub fn from_columns(&self, before: &TableSchema) -> impl Iterator<Item = usize> + Clone {
        self.pairs(before).map(|pair| pair.from)
    }

    /// The indexes of the linked columns in the step's own table.
    pub fn to_columns(&self) -> impl Iterator<Item = usize> + Clone {
        let more = self.more.as_slice().iter().map(|pair| pair.to);
        [self.to.of(self.table())].into_iter().chain(more)
    }

    /// The first pair of linked columns, and the others.
    #[must_use]
    pub fn split_pairs(&self, before: &TableSchema) -> (ColumnPair, Vec<ColumnPair>) {
        let first = ColumnPair { from: self.from.of(before), to: self.to.of(self.table()) };
        (first, self.more.as_slice().to_vec())
    }

    /// The column of the table before, and the text that it must have for a row to be linked.
    #[must_use]
    pub fn from_text(&self) -> Option<(usize, &'static str)> {
        self.from_tag.map(|tag| (tag.column, tag.table))
    }

    /// The column of the step's own table, and the text that it must have for a row to be linked.
    #[must_use]
    pub fn to_text(&self) -> Option<(usize, &'static str)> {
        self.to_tag.map(|tag| (tag.column, tag.table))
    }

    /// What rows of the table before must match to be linked; `None` if all may be.
    #[must_use]
    pub fn from_condition(&self) -> Option<Condition> {
        self.from_tag.map(TableTag::condition)
    }

    /// What rows of the step's own table must match to be linked; `None` if all may be.
    #[must_use]
    pub fn to_condition(&self) -> Option<Condition> {
        self.to_tag.map(TableTag::condition)
    }
}

/// A [`ToOne`] or a [`ToMany`].
pub trait RecordRelation {
    /// The record that it starts from.
    type From: Record;
    /// The record that it leads to.
    type To: Record;

    /// The relation as one to many.
    fn to_many(self) -> ToMany<Self::From, Self::To>;
}

impl<A: Record, B: Record> RecordRelation for ToOne<A, B> {
    type From = A;
    type To = B;

    fn to_many(self) -> ToMany<A, B> {
        self.as_many()
    }
}

impl<A: Record, B: Record> RecordRelation for ToMany<A, B> {
    type From = A;
    type To = B;

    fn to_many(self) -> Self {
        self
    }
}

impl<A, B> Clone for ToOne<A, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A, B> Copy for ToOne<A, B> {}

impl<A, B> Clone for ToMany<A, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A, B> Copy for ToMany<A, B> {}

impl<A, B> ToOne<A, B> {
    /// A reference by the column at this index of `A`'s schema. The derive calls it.
    #[must_use]
    pub const fn new(column: usize, nullable: bool) -> Self {
        let (target, more) = (LinkColumn::Key, MorePairs::NONE);
        Self { column, target, more, nullable, tag: None, records: PhantomData }
    }

    /// A reference by several fields, without a foreign key in the table: for a record that another engine keeps, or a table
    /// that another program made. The fields referred to are the key of `B`, or unique together.
    ///
    /// ```
    /// # use bobak_core::{Column, ToOne};
    /// # struct Order; struct Line;
    /// # impl Order { const SHOP: Column<Order, i64> = Column::new(0); const NUMBER: Column<Order, i64> = Column::new(1); }
    /// # impl Line { const SHOP: Column<Line, i64> = Column::new(0); const ORDER_NUMBER: Column<Line, i64> = Column::new(1); }
    /// const ORDER: ToOne<Line, Order> = ToOne::by_fields([
    ///     Line::SHOP.refers_to_field(Order::SHOP),
    ///     Line::ORDER_NUMBER.refers_to_field(Order::NUMBER),
    /// ]);
    /// ```
    ///
    /// # Panics
    /// For no field, and for more than 8: when the program is compiled, for a constant.
    #[must_use]
    pub const fn by_fields<const N: usize>(fields: [FieldReference<A, B>; N]) -> Self {
        let (first, more, nullable) = MorePairs::of_fields(fields);
        let (column, target) = (first.from, LinkColumn::Index(first.to));
        Self { column, target, more, nullable, tag: None, records: PhantomData }
    }

    /// A reference by the column at an index, of the records that have the name of `B`'s table in another column.
    pub(crate) const fn of_any(column: usize, tag_column: usize, table: &'static str) -> Self {
        let tag = Some(TableTag { column: tag_column, table });
        let (target, more) = (LinkColumn::Key, MorePairs::NONE);
        Self { column, target, more, nullable: true, tag, records: PhantomData }
    }

    /// Whether a record `A` may refer to none.
    #[must_use]
    pub const fn is_nullable(self) -> bool {
        self.nullable
    }
}

impl<A: Record, B: Record> ToOne<A, B> {
    /// The records `A` that refer to a `B`.
    #[must_use]
    pub const fn inverse(self) -> ToMany<B, A> {
        let (from, to, more) = (self.target, LinkColumn::Index(self.column), self.more.swapped());
        let (from_tag, to_tag, table) = (None, self.tag, <A as Record>::schema);
        ToMany::single(RelationStep { from, from_tag, table, to, more, to_tag })
    }

    /// Records that refer to a record that matches the filter.
    #[must_use]
    pub fn has(self, filter: Filter<B>) -> Filter<A> {
        self.as_many().any(filter)
    }

    /// The reference as a relation to many, of which there is at most one.
    #[must_use]
    pub const fn as_many(self) -> ToMany<A, B> {
        let (from, to, more) = (LinkColumn::Index(self.column), self.target, self.more);
        let (from_tag, to_tag, table) = (self.tag, None, <B as Record>::schema);
        ToMany::single(RelationStep { from, from_tag, table, to, more, to_tag })
    }

    /// The records that the referenced record refers to.
    #[must_use]
    pub const fn then<C: Record>(self, next: ToOne<B, C>) -> ToMany<A, C> {
        self.as_many().then(next)
    }
}

impl<A, B: Record + FromRow> ToOne<A, B> {
    /// The foreign key of a reference [by fields](ToOne::by_fields). The derive calls it: it does not ask for the schema of
    /// `B`, which may refer back.
    #[doc(hidden)]
    #[must_use]
    pub fn foreign_key(self, on_delete: OnDelete) -> ForeignKey {
        let names = <B as FromRow>::columns().unwrap_or_default();
        let name = |column: usize| names.get(column).copied().unwrap_or_default();
        let first = match self.target {
            LinkColumn::Key => B::KEY_COLUMN,
            LinkColumn::Index(column) => name(column),
        };
        let more = self.more.as_slice().iter().map(|pair| name(pair.to));
        ForeignKey::new(B::TABLE, [first].into_iter().chain(more), on_delete)
    }
}

impl<A: Record, B: Record> ToMany<A, B> {
    const fn single(step: RelationStep) -> Self {
        Self { steps: [Some(step), None, None, None], records: PhantomData }
    }

    /// The records to which the related records refer: `ArticleTag::ARTICLE.inverse().then(ArticleTag::TAG)` leads from an
    /// article to its tags.
    ///
    /// # Panics
    /// If the relation has more than 4 steps: when the program is compiled, for a constant.
    #[must_use]
    pub const fn then<C: Record>(self, next: ToOne<B, C>) -> ToMany<A, C> {
        self.then_many(next.as_many())
    }

    /// The records to which the related records are related.
    ///
    /// # Panics
    /// As [`then`](ToMany::then).
    #[must_use]
    pub const fn then_many<C: Record>(self, next: ToMany<B, C>) -> ToMany<A, C> {
        let mut steps = self.steps;
        let (mut at, mut added) = (0, 0);
        while at < MAX_STEPS && steps[at].is_some() {
            at += 1;
        }
        while added < MAX_STEPS && next.steps[added].is_some() {
            assert!(at < MAX_STEPS, "a relation has at most 4 steps");
            steps[at] = next.steps[added];
            (at, added) = (at + 1, added + 1);
        }
        ToMany { steps, records: PhantomData }
    }

    /// The same steps, for other names of the records.
    pub(crate) const fn retyped<C, D>(self) -> ToMany<C, D> {
        ToMany { steps: self.steps, records: PhantomData }
    }

    /// Whether there may be no related record: always.
    #[must_use]
    pub const fn is_nullable(self) -> bool {
        true
    }

    /// The steps, at least one.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &RelationStep> {
        self.steps.iter().flatten()
    }

    /// Records with at least one related record that matches the filter.
    #[must_use]
    pub fn any(self, filter: Filter<B>) -> Filter<A> {
        Filter::new(self.condition(Some(filter.into_condition())))
    }

    /// Records without a related record that matches the filter.
    #[must_use]
    pub fn none(self, filter: Filter<B>) -> Filter<A> {
        self.without(self.any(filter))
    }

    /// Records with at least one related record.
    #[must_use]
    pub fn exists(self) -> Filter<A> {
        Filter::new(self.condition(None))
    }

    /// Records without a related record.
    #[must_use]
    pub fn is_empty(self) -> Filter<A> {
        self.without(self.exists())
    }

    /// Records that are not `linked`: also those with NULL in their reference, for which that is neither true nor false.
    fn without(self, linked: Filter<A>) -> Filter<A> {
        let table = A::schema();
        let is_nullable =
            |column: &usize| table.columns().get(*column).is_some_and(|column| column.nullable);
        let own = self.steps().take(1).flat_map(|step| {
            step.from_columns(table).chain(step.from_text().map(|(column, _)| column))
        });
        let nulls = own.filter(is_nullable).map(|column| Condition::IsNull { column });
        let mut parts: Vec<_> = nulls.collect();
        if parts.is_empty() {
            return linked.not();
        }
        parts.push(linked.not().into_condition());
        Filter::new(Condition::Or(parts))
    }

    /// Records of whose related records each matches the filter; also those that have none.
    #[must_use]
    pub fn all(self, filter: Filter<B>) -> Filter<A> {
        // `NOT filter` would leave out related rows for which the filter is NULL.
        let mut key =
            B::schema().key().iter().map(|&column| ColumnPair { from: column, to: column });
        // A table without a key has no such column: the query fails with `Schema`.
        let column = key.next().map_or(usize::MAX, |first| first.from);
        let (more, condition) = (key.collect(), Some(filter.into_condition()));
        let query = SubQuery { table: Arc::clone(B::schema()), column, more, condition };
        let matches = Condition::InQuery { column, query: Box::new(query) };
        self.none(Filter::new(matches).not())
    }

    /// The records that are related to `record`: `lines.list(Order::LINES.of(&order))`.
    #[must_use]
    pub fn of(self, record: &A) -> Filter<B> {
        let (mut before, mut found) = (A::schema(), None);
        for step in self.steps() {
            let linked = match found {
                None if !has_text(record, step.from_text()) => Condition::Or(Vec::new()),
                None => has_values_of(record, step.pairs(before)),
                condition => {
                    let condition = both(condition, step.from_condition());
                    let (first, more) = step.split_pairs(before);
                    let more = more.into_iter().map(ColumnPair::swapped).collect();
                    let table = Arc::clone(before);
                    let query = SubQuery { table, column: first.from, more, condition };
                    Condition::InQuery { column: first.to, query: Box::new(query) }
                }
            };
            found = both(Some(linked), step.to_condition());
            before = step.table();
        }
        Filter::new(found.unwrap_or(Condition::And(Vec::new())))
    }

    /// The condition over `A` that some related row matches `condition`.
    fn condition(&self, mut condition: Option<Condition>) -> Condition {
        let mut steps = self.steps().rev().peekable();
        while let Some(step) = steps.next() {
            let before = steps.peek().map_or_else(A::schema, |step| step.table());
            let (first, more) = step.split_pairs(before);
            let (table, column) = (Arc::clone(step.table()), first.to);
            let condition_of_step = both(step.to_condition(), condition);
            let query = SubQuery { table, column, more, condition: condition_of_step };
            let linked = Condition::InQuery { column: first.from, query: Box::new(query) };
            condition = both(step.from_condition(), Some(linked));
        }
        condition.unwrap_or(Condition::And(Vec::new()))
    }
}

fn both(one: Option<Condition>, other: Option<Condition>) -> Option<Condition> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Condition::And(vec![one, other])),
        (one, other) => one.or(other),
    }
}

/// Whether a record has a text in a column, if it must have one.
fn has_text<A: Record>(record: &A, wanted: Option<(usize, &str)>) -> bool {
    let Some((column, text)) = wanted else { return true };
    let values = record.values().ok();
    let value = values.as_ref().and_then(|values| values.as_ref().get(column));
    value.is_some_and(|value| value.as_ref() == ValueRef::Text(text))
}

/// The condition that columns have the values that a record has in others; false if one of these is NULL.
fn has_values_of<A: Record>(record: &A, pairs: impl Iterator<Item = ColumnPair>) -> Condition {
    let values = record.values().ok();
    let mut parts: Vec<_> = pairs
        .map(|pair| {
            let value = values.as_ref().and_then(|values| values.as_ref().get(pair.from));
            let value = value.filter(|value| !value.is_null());
            let values = value.map(|value| value.as_ref().to_owned()).into_iter().collect();
            Condition::In { column: pair.to, values }
        })
        .collect();
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => Condition::And(parts.into_iter().chain(last).collect()),
    }
}
