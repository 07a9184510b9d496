//! The links of one record by a relation through a link table.

use crate::dynamic;
use crate::handle::SessionSource;
use crate::shape::LinkValues;
use crate::table::Table;
use bobak_core::statements::CallSite;
use bobak_core::{
    BulkChange, Condition, DynRow, Error, ErrorKind, Expr, FieldSet, Key, OnError, Outcome, Record,
    Result, Select, Session, Source, TableSchema, ToMany, Value, ValueRef, Verb, Write, WriteBatch,
    atomically, prepare_dynamic_insert,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// The links from one record `A` to records `B` by a relation through a link table, such as that of articles and tags: see
/// [`Table::links`].
///
/// Each call is one transaction, or a part of that of its table, with a fixed number of requests to the engine, however many
/// links there are. Records are given by their keys; a key that is given twice counts once.
#[derive(Clone)]
pub struct RecordLinks<'a, A, B> {
    source: SessionSource<'a>,
    link: LinkTable,
    key: Value<'static>,
    records: PhantomData<fn() -> (A, B)>,
}

/// How many links a [`RecordLinks::replace`] has added and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplacedLinks {
    /// Those that were missing.
    pub added: u64,
    /// Those to other records.
    pub removed: u64,
}

/// A link table, and the columns that refer to the two records.
#[derive(Clone, Copy)]
struct LinkTable {
    table: &'static Arc<TableSchema>,
    from: usize,
    to: usize,
}

impl<'a, T: Record> Table<'a, T> {
    /// The links of the record with this key, to add, remove or replace them. The relation leads to the link table by the
    /// inverse of a reference, and on by another reference.
    ///
    /// ```
    /// use bobak::prelude::*;
    /// use bobak::relation::ToMany;
    ///
    /// #[derive(Record)]
    /// struct Article {
    ///     id: i64,
    ///     title: String,
    /// }
    ///
    /// #[derive(Record)]
    /// struct Tag {
    ///     #[record(key)]
    ///     name: String,
    /// }
    ///
    /// #[derive(Record)]
    /// struct ArticleTag {
    ///     #[record(key, references = Article, on_delete = "cascade")]
    ///     article_id: i64,
    ///     #[record(key, references = Tag)]
    ///     tag: String,
    /// }
    ///
    /// impl Article {
    ///     const TAGS: ToMany<Article, Tag> = ArticleTag::ARTICLE.inverse().then(ArticleTag::TAG_REF);
    /// }
    ///
    /// let db = Db::builder().record::<Article>().record::<Tag>().record::<ArticleTag>().open("memory:")?;
    /// db.create_missing_tables()?;
    /// for name in ["rust", "sql", "go"] {
    ///     db.table()?.insert(&Tag { name: name.into() })?;
    /// }
    /// let articles = db.table::<Article>()?;
    /// let id = articles.insert(&Article { id: 0, title: "One".into() })?;
    /// let tags = articles.links(Article::TAGS, id)?;
    /// assert_eq!(tags.add(["rust", "sql"])?, 2);
    /// let replaced = tags.replace(["sql", "go"])?;
    /// assert_eq!((replaced.added, replaced.removed), (1, 1));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Misuse` if the relation does not go through a link table, or its record is not registered; `Schema` if that table is missing; in a transaction,
    /// `Unsupported` if another engine keeps it.
    pub fn links<B: Record>(
        &self,
        relation: ToMany<T, B>,
        key: impl Into<T::Key>,
    ) -> Result<RecordLinks<'a, T, B>> {
        let link = LinkTable::of(relation).map_err(|error| self.access.in_table(error))?;
        let source = self.access.source.keeping(link.table)?;
        source.with(|session| source.check_table(session, link.table))?;
        let key = key.into().with_values(first_value);
        Ok(RecordLinks { source, link, key, records: PhantomData })
    }
}

impl LinkTable {
    fn of<A: Record, B: Record>(relation: ToMany<A, B>) -> Result<Self> {
        let mut steps = relation.steps();
        if let (Some(first), Some(second), None) = (steps.next(), steps.next(), steps.next()) {
            let table = first.table();
            let ((from, more), (to, more_to)) =
                (first.split_pairs(A::schema()), second.split_pairs(table));
            let is_plain = first.to_text().is_none() && second.from_text().is_none();
            if !more.is_empty() || !more_to.is_empty() {
                let message = "a link table with a reference by several fields: insert and delete \
                               its records instead";
                return Err(Error::new(ErrorKind::Misuse, message));
            }
            if is_plain && A::schema().is_key([from.from]) && B::schema().is_key([to.to]) {
                return Ok(Self { table, from: from.to, to: to.from });
            }
        }
        let message = "the relation does not go through a link table: it needs the inverse of a \
                       reference, and then a reference";
        Err(Error::new(ErrorKind::Misuse, message))
    }
}

impl LinkTable {
    /// The upsert that finds a link by its two references, if they are a key or unique.
    fn upsert(self) -> Option<Verb> {
        let is_link = |columns: &[usize]| {
            columns.len() == 2 && columns.contains(&self.from) && columns.contains(&self.to)
        };
        if is_link(self.table.key()) {
            return Some(Verb::Upsert);
        }
        let mut indexes = self.table.indexes().iter();
        let place = indexes.position(|index| index.unique && is_link(&index.columns))?;
        u16::try_from(place).ok().map(Verb::UpsertOn)
    }
}

impl<A: Record, B: Record> RecordLinks<'_, A, B> {
    /// Adds links to the records with these keys, and returns how many were missing; those that exist stay as they are.
    /// Other columns of a new link get their defaults or NULL, a generated key and timestamps.
    ///
    /// # Errors
    /// `Constraint` if one of the records does not exist, or for a link table with other columns that have neither a default
    /// nor NULL: insert its records instead. Those of the engine. No link is added then.
    #[track_caller]
    pub fn add<K: Into<B::Key>>(&self, keys: impl IntoIterator<Item = K>) -> Result<u64> {
        let _at = CallSite::enter();
        let wanted = self.wanted(keys);
        self.run(|session| {
            let among = Condition::In { column: self.link.to, values: wanted.values() };
            let (missing, _) = self.compare(session, wanted, Some(among))?;
            Ok(self.exchange(session, Vec::new(), missing)?.added)
        })
    }

    /// Removes the links to the records with these keys, and returns how many there were.
    ///
    /// # Errors
    /// Those of the engine. No link is removed then.
    #[track_caller]
    pub fn remove<K: Into<B::Key>>(&self, keys: impl IntoIterator<Item = K>) -> Result<u64> {
        let _at = CallSite::enter();
        let keys = self.wanted(keys).values();
        self.run(|session| self.delete(session, keys))
    }

    /// Adds the missing links to the records with these keys, and removes all others. RecordLinks that exist stay as they are,
    /// with their other columns.
    ///
    /// # Errors
    /// As [`add`](RecordLinks::add). Nothing is changed then.
    #[track_caller]
    pub fn replace<K: Into<B::Key>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<ReplacedLinks> {
        let _at = CallSite::enter();
        let wanted = self.wanted(keys);
        self.run(|session| {
            let (missing, extra) = self.compare(session, wanted, None)?;
            self.exchange(session, extra, missing)
        })
    }

    fn run<R>(&self, work: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        let run = |session: &dyn Session| atomically(session, "bobak_links", || work(session));
        self.source.with(run).map_err(|error| error.in_table(self.link.table.name()))
    }

    fn wanted<K: Into<B::Key>>(&self, keys: impl IntoIterator<Item = K>) -> LinkValues {
        let keys: Vec<_> =
            keys.into_iter().map(|key| key.into().with_values(first_value)).collect();
        let key = |number| keys.get(number).map_or(ValueRef::Null, Value::as_ref);
        LinkValues::collect(self.link.table, self.link.to, keys.len(), key).0
    }

    /// The condition of this record's links, of which another condition is true.
    fn condition(&self, and: Option<Condition>) -> Result<Condition> {
        let LinkTable { table, from, .. } = self.link;
        let of = Condition::In { column: from, values: vec![self.key.clone()] };
        Condition::And([of].into_iter().chain(and).collect()).resolve(table)
    }

    /// Reads this record's links; returns the keys that are wanted and missing, and those that are there and not wanted.
    fn compare(
        &self,
        session: &dyn Session,
        wanted: LinkValues,
        among: Option<Condition>,
    ) -> Result<(Vec<Value<'static>>, Vec<Value<'static>>)> {
        let LinkTable { table, to, .. } = self.link;
        let select = Select {
            columns: vec![Expr::Column(to)],
            condition: Some(self.condition(among)?),
            order: Vec::new(),
            ..Select::all(table)
        };
        let mut found = vec![false; wanted.len()];
        let mut extra = Vec::new();
        session.query(&Source::Select(&select), &mut |row| {
            let value = row.get(0);
            match found.get_mut(wanted.number(value) as usize) {
                Some(found) => *found = true,
                None if value.is_null() => {}
                None => extra.push(value.to_owned()),
            }
            Ok(true)
        })?;
        let missing = wanted.values().into_iter().zip(found);
        Ok((missing.filter(|(_, found)| !found).map(|(value, _)| value).collect(), extra))
    }

    fn delete(&self, session: &dyn Session, keys: Vec<Value<'static>>) -> Result<u64> {
        if keys.is_empty() {
            return Ok(0);
        }
        let condition =
            self.condition(Some(Condition::In { column: self.link.to, values: keys }))?;
        let condition = Some(&condition);
        session.change(&BulkChange { table: self.link.table, condition, assign: None })
    }

    /// Removes links and adds others: in one batch if the two references are the key, by which rows are deleted.
    fn exchange(
        &self,
        session: &dyn Session,
        removed: Vec<Value<'static>>,
        added: Vec<Value<'static>>,
    ) -> Result<ReplacedLinks> {
        let (mut replaced, mut old) = (ReplacedLinks::default(), Vec::new());
        match self.link.upsert() {
            Some(Verb::Upsert) => old = removed.into_iter().map(|to| self.key_of(to)).collect(),
            _ => replaced.removed = self.delete(session, removed)?,
        }
        let new = added.into_iter().map(|key| self.row(key)).collect::<Result<Vec<_>>>()?;
        let old_rows = old.iter().map(|key| (Verb::Delete, key));
        // Another transaction may have added the same link meanwhile.
        let new_rows = new.iter().map(|row| (Verb::InsertOrIgnore, row));
        let outcomes = self.write(session, old_rows.chain(new_rows))?;
        let (deleted, outcomes) = outcomes.split_at_checked(old.len()).unwrap_or_default();
        replaced.removed += deleted.iter().map(changed).sum::<u64>();
        let is_new = |outcome: &&Outcome| matches!(outcome, Outcome::Inserted(_));
        replaced.added = outcomes.iter().filter(is_new).count() as u64;
        let ignored = new.iter().zip(outcomes).filter(|(_, one)| matches!(one, Outcome::Ignored));
        replaced.added += self.restore(session, ignored.map(|(row, _)| row))?;
        Ok(replaced)
    }

    /// A link that exists may be deleted: an upsert restores it, and sets nothing else.
    fn restore<'v>(
        &self,
        session: &dyn Session,
        rows: impl Iterator<Item = &'v Vec<Value<'static>>>,
    ) -> Result<u64> {
        let Some(verb) = self.link.upsert() else { return Ok(0) };
        let restored = self.write(session, rows.map(|row| (verb, row)))?;
        Ok(restored.iter().filter(|outcome| **outcome != Outcome::Changed(0)).count() as u64)
    }

    /// The key of a link, if its two references are that.
    fn key_of(&self, to: Value<'static>) -> Vec<Value<'static>> {
        let value = |column: &usize| if *column == self.link.to { &to } else { &self.key };
        self.link.table.key().iter().map(|column| value(column).clone()).collect()
    }

    /// The row of a new link.
    fn row(&self, key: Value<'static>) -> Result<Vec<Value<'static>>> {
        let LinkTable { table, from, to } = self.link;
        let mut row = DynRow::new();
        for (column, value) in [(from, self.key.clone()), (to, key)] {
            row.set(&table.column_at(column)?.name, value)?;
        }
        let (values, given) = dynamic::arrange(table, &row)?;
        let mut values = dynamic::accept(table, given, values)?;
        prepare_dynamic_insert(table, &mut values)?;
        Ok(values)
    }

    fn write<'v>(
        &self,
        session: &dyn Session,
        rows: impl Iterator<Item = (Verb, &'v Vec<Value<'static>>)>,
    ) -> Result<Vec<Outcome>> {
        let (table, fields) = (self.link.table, FieldSet::EMPTY);
        let mut batch = WriteBatch::new();
        for (verb, values) in rows {
            batch.push(&Write { table, verb, fields, values })?;
        }
        let mut outcomes = Vec::new();
        if !batch.is_empty() {
            session.batch(&batch, OnError::Stop, &mut |outcome| outcomes.extend(outcome))?;
        }
        Ok(outcomes)
    }
}

/// How many rows a delete has removed.
const fn changed(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Changed(rows) => *rows,
        _ => 0,
    }
}

/// The value of a key of one column.
fn first_value(values: &[Value<'_>]) -> Value<'static> {
    values.first().cloned().unwrap_or_default().into_owned()
}
