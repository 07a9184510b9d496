//! Soft delete: a delete sets a column, and reads leave out the rows in which it is set.
//!
//! A condition that names the column decides itself about deleted rows: nothing is added to it.

use super::engine_rules::EngineRules;
use super::rule_session::RuleSession;
use super::table_rules::{LIVE, TableRules};
use crate::join_conditions::{map_conditions, map_queries};
use bobak_core::engine::fallback::{self, conflicting_row};
use bobak_core::join::JoinCondition;
use bobak_core::{
    Assign, BulkChange, ColumnSchema, Comparison, Condition, Error, ErrorKind, FieldSet, Join,
    Outcome, Result, Row, Select, Source, SubQuery, TableSchema, Value, Verb, Write, now,
    stamp_assignments,
};
use std::borrow::Cow;
use std::sync::Arc;

impl TableRules {
    /// The column with the time of the deletion, by its index in the described table; `None` if deletes remove rows.
    ///
    /// # Errors
    /// `Schema` if the described table lacks it.
    pub fn deleted_at(&self, table: &TableSchema) -> Result<Option<usize>> {
        described(table, self.deletion())
    }

    /// The column that is set in live rows only, by its index in the described table.
    fn live(&self, table: &TableSchema) -> Result<Option<usize>> {
        described(table, self.liveness())
    }

    /// Makes the row live, if both columns are written.
    pub fn mark_live(
        &self,
        table: &TableSchema,
        set: FieldSet,
        values: &mut [Value<'_>],
    ) -> Result<()> {
        let live = self.live(table)?.map(|column| (column, LIVE));
        let deleted_at = self.deleted_at(table)?.map(|column| (column, Value::Null));
        for (column, new) in deleted_at.into_iter().chain(live) {
            if let (true, Some(value)) = (set.contains(column), values.get_mut(column)) {
                *value = new;
            }
        }
        Ok(())
    }

    /// The columns that a write sets: only a deletion sets the time of the deletion, and an upsert clears it.
    ///
    /// # Errors
    /// `Unsupported` for a verb that would remove rows for good; as [`deleted_at`](Self::deleted_at).
    pub fn written_fields(
        &self,
        table: &TableSchema,
        verb: Verb,
        mut fields: FieldSet,
    ) -> Result<FieldSet> {
        let Some(column) = self.deleted_at(table)? else { return Ok(fields) };
        let columns = [Some(column), self.live(table)?].into_iter().flatten();
        match verb {
            Verb::Update => columns.for_each(|column| fields.remove(column)),
            Verb::Upsert | Verb::UpsertOn(_) => columns.for_each(|column| fields.insert(column)),
            Verb::InsertOrReplace => {
                let message = "a replacing insert would remove rows for good, but the rows of this table \
                               stay when they are deleted: upsert the row, or purge the old one first";
                return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
            }
            Verb::Insert | Verb::InsertOrIgnore | Verb::Delete => {}
        }
        Ok(fields)
    }
}

impl EngineRules {
    /// The condition with which rows of a table are read: none that are deleted, unless it names the column.
    fn live_rows(
        &self,
        table: &TableSchema,
        condition: Option<Condition>,
    ) -> Result<Option<Condition>> {
        let condition = condition.map(|condition| self.live_subqueries(condition)).transpose()?;
        self.add_live(table, condition)
    }

    fn live_subqueries(&self, condition: Condition) -> Result<Condition> {
        condition.replace_subqueries(&mut |column, query| {
            let condition = self.add_live(&query.table, query.condition)?;
            let query = Box::new(SubQuery { condition, ..query });
            Ok(Condition::InQuery { column, query })
        })
    }

    fn add_live(
        &self,
        table: &TableSchema,
        condition: Option<Condition>,
    ) -> Result<Option<Condition>> {
        let Some(column) = self.deleted_at(table)? else { return Ok(condition) };
        Ok(Some(unless_named(condition, column, Condition::IsNull { column })))
    }

    /// The join, and the queries inside of it, without the deleted rows of their tables.
    fn live_tables(&self, mut join: Join) -> Result<Join> {
        for index in join.outer..join.tables.len() {
            let kept = join.tables.get_mut(index).filter(|joined| joined.rows.is_none());
            let Some(joined) = kept else { continue };
            let Some(column) = self.deleted_at(&joined.table)? else { continue };
            let is_named = |filter: &JoinCondition| {
                matches!(filter,
                JoinCondition::Row(table, condition) if *table == index && condition.names_column(column))
            };
            let named = join.filters.iter().any(is_named);
            match &mut joined.link {
                Some(link) if named && !link.is_left => {}
                Some(link) => {
                    link.condition = self.add_live(&joined.table, link.condition.take())?;
                }
                None if named => {}
                None => join.filters.push(JoinCondition::Row(index, Condition::IsNull { column })),
            }
        }
        map_queries(join, &mut |query| self.live_tables(query))
    }

    fn deleted_at(&self, table: &TableSchema) -> Result<Option<usize>> {
        self.of(table).map_or(Ok(None), |rules| rules.deleted_at(table))
    }
}

impl RuleSession<'_> {
    /// The query without deleted rows; as it is if no record has any.
    pub(super) fn live_source<R>(
        &self,
        source: &Source<'_>,
        run: impl FnOnce(&Source<'_>) -> Result<R>,
    ) -> Result<R> {
        let Source::Select(select) = source else { return run(source) };
        let tables = |each: &mut dyn FnMut(&TableSchema)| {
            each(&select.table);
            let mut of_query = |query: &SubQuery| each(&query.table);
            select.condition.iter().for_each(|one| one.for_each_subquery(&mut of_query));
        };
        if !self.hides_rows_of(tables) {
            return run(source);
        }
        let condition = self.rules.live_rows(&select.table, select.condition.clone())?;
        run(&Source::Select(&Select { condition, ..(*select).clone() }))
    }

    /// The condition of a change, whose subqueries read no deleted rows.
    pub(super) fn live_condition<'c>(
        &self,
        condition: Option<&'c Condition>,
    ) -> Result<Option<Cow<'c, Condition>>> {
        let Some(condition) = condition else { return Ok(None) };
        if !self.hides_rows() || !condition.has_subquery() {
            return Ok(Some(Cow::Borrowed(condition)));
        }
        self.rules.live_subqueries(condition.clone()).map(|condition| Some(Cow::Owned(condition)))
    }

    /// The join without deleted rows. Only a condition that all rows of the result satisfy decides about those of its table.
    pub(super) fn live_join<'j>(&self, join: &'j Join) -> Result<Cow<'j, Join>> {
        let of_subqueries = |each: &mut dyn FnMut(&TableSchema)| {
            join.for_each_subquery(&mut |query| each(&query.table));
        };
        let in_subqueries = self.hides_rows_of(of_subqueries);
        if !in_subqueries
            && !self.hides_rows_of(|each| join.for_each_table(&mut |table| each(table)))
        {
            return Ok(Cow::Borrowed(join));
        }
        let join = match in_subqueries {
            true => map_conditions(join, &mut |one| self.rules.live_subqueries(one))?,
            false => join.clone(),
        };
        self.rules.live_tables(join).map(Cow::Owned)
    }

    /// Reads a row by its key unless it is deleted.
    pub(super) fn get_live(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let rules = self.rules_of(table);
        let hidden = rules.map_or(Ok(None), |rules| self.hidden_by(&rules, table))?;
        get_live(hidden, row, |row| self.inner()?.get(table, key, row))
    }

    /// The column that hides a row if it is set; `None` if deletes remove rows, or deleted rows are being changed.
    pub(super) fn hidden_by(
        &self,
        rules: &TableRules,
        table: &TableSchema,
    ) -> Result<Option<usize>> {
        if self.shows_deleted.get() { Ok(None) } else { rules.deleted_at(table) }
    }

    /// The row that an upsert would update, deleted or not. The condition names the column: an engine that is a server may
    /// hide deleted rows itself.
    pub(super) fn conflicting(
        &self,
        rules: &TableRules,
        write: &Write<'_>,
    ) -> Result<Option<Vec<Value<'static>>>> {
        let Some(column) = rules.deleted_at(write.table)? else {
            return conflicting_row(&**self.inner()?, write);
        };
        let columns = write.verb.conflict_columns(write.table);
        let given = |&at: &usize| write.values.get(at).cloned().unwrap_or_default().into_owned();
        let values: Vec<Value<'static>> = columns.iter().map(given).collect();
        if values.is_empty() || values.iter().any(Value::is_null) {
            return Ok(None);
        }
        let equal = equal(columns.iter().copied().zip(&values));
        let mut select = Select::all(write.table);
        select.condition = Some(Condition::And(equal.chain([deleted_or_not(column)]).collect()));
        let mut found = None;
        self.inner()?.query(&Source::Select(&select), &mut |row| {
            found = Some((0..row.len()).map(|at| row.get(at).to_owned()).collect());
            Ok(false)
        })?;
        Ok(found)
    }

    /// Marks the row with this key as deleted, or removes it if the record has no soft delete.
    pub(super) fn delete_row(&self, rules: &TableRules, write: &Write<'_>) -> Result<Outcome> {
        let table = write.table;
        let Some(column) = self.hidden_by(rules, table)? else {
            return self.inner()?.write(write);
        };
        let keys = table.key().iter().copied().zip(write.values);
        let condition = equal(keys).chain([Condition::IsNull { column }]).collect();
        self.mark_deleted(rules, table, column, &Condition::And(condition)).map(Outcome::Changed)
    }

    /// Updates a row that was read. A condition that names the column finds a deleted one on a server, too.
    pub(super) fn update_stored(
        &self,
        rules: &TableRules,
        write: &Write<'_>,
        old: &[Value<'_>],
    ) -> Result<Outcome> {
        let table = write.table;
        let column = match rules.deleted_at(table)? {
            Some(column) if !is_live(Some(column), old) => column,
            _ => return self.inner()?.write(write),
        };
        let value = |column: usize| Some((column, write.values.get(column)?));
        let deleted = Condition::Not(Box::new(Condition::IsNull { column }));
        let keys = equal(table.key().iter().copied().filter_map(value));
        let condition = Condition::And(keys.chain([deleted]).collect());
        let fields = write.fields.iter().filter(|column| table.version() != Some(*column));
        let set = |(column, value): (usize, &Value<'_>)| {
            let value = value.clone().into_owned();
            Assign::Set { column, value }
        };
        let assign: Vec<Assign> = fields.filter_map(value).map(set).collect();
        let (condition, assign) = (Some(&condition), Some(&*assign));
        self.inner()?.change(&BulkChange { table, condition, assign }).map(Outcome::Changed)
    }

    fn mark_deleted(
        &self,
        rules: &TableRules,
        table: &Arc<TableSchema>,
        column: usize,
        condition: &Condition,
    ) -> Result<u64> {
        let set = Assign::Set { column, value: Value::Int(now()) };
        let mut assign = vec![set.resolve(table)?];
        let live = rules.live(table)?;
        assign.extend(live.map(|column| Assign::Set { column, value: Value::Null }));
        stamp_assignments(table, &mut assign);
        let (condition, assign) = (Some(condition), Some(&*assign));
        self.inner()?.change(&BulkChange { table, condition, assign })
    }

    /// Deletes the rows that match a condition. One that names the column removes those of them that are deleted already.
    pub(super) fn delete_many(&self, rules: &TableRules, change: &BulkChange<'_>) -> Result<u64> {
        let Some(column) = self.hidden_by(rules, change.table)? else {
            return match rules.has_hooks(Verb::Delete) {
                true => fallback::change(self, change),
                false => self.inner()?.change(change),
            };
        };
        match change.condition {
            Some(condition) if condition.names_column(column) => {
                let deleted = Condition::Not(Box::new(Condition::IsNull { column }));
                let condition = Condition::And(vec![deleted, condition.clone()]);
                self.inner()?.change(&BulkChange { condition: Some(&condition), ..*change })
            }
            condition => self.mark_many(rules, change.table, column, condition),
        }
    }

    /// Marks the live rows that match a condition as deleted.
    fn mark_many(
        &self,
        rules: &TableRules,
        table: &Arc<TableSchema>,
        column: usize,
        condition: Option<&Condition>,
    ) -> Result<u64> {
        let live = [Condition::IsNull { column }].into_iter().chain(condition.cloned());
        let live = Condition::And(live.collect());
        if rules.has_hooks(Verb::Delete) {
            return fallback::change(
                self,
                &BulkChange { table, condition: Some(&live), assign: None },
            );
        }
        self.mark_deleted(rules, table, column, &live)
    }

    /// Updates rows: no deleted ones, unless the condition or an assignment names the column. Assigning NULL to it restores
    /// rows; another value deletes them.
    pub(super) fn update_live(
        &self,
        rules: &TableRules,
        change: &BulkChange<'_>,
        assign: &[Assign],
    ) -> Result<u64> {
        let table = change.table;
        let Some(column) = self.hidden_by(rules, table)? else {
            return self.update_many(rules, change, assign);
        };
        let live = rules.live(table)?;
        let is_of = |wanted: Option<usize>| move |step: &&Assign| Some(step.column()) == wanted;
        let deletion = assign.iter().find(is_of(Some(column)));
        if deletion.is_none() && assign.iter().any(|step| is_of(live)(&step)) {
            return Err(not_assignable(table, live, "only a delete and a restore set this column"));
        }
        // A program with the same record, for which this database is an engine, sets both columns.
        let is_other = |step: &&Assign| !is_of(live)(step);
        let mut steps: Vec<Assign> = assign.iter().filter(is_other).cloned().collect();
        let mut condition = change.condition.cloned();
        match deletion {
            None => condition = self.rules.add_live(table, condition)?,
            Some(Assign::Set { value: Value::Null, .. }) => {
                steps.extend(live.map(|column| Assign::Set { column, value: LIVE }));
                condition = Some(unless_named(condition, column, deleted_or_not(column)));
            }
            Some(_) => {
                let own = [Some(column), table.modified_at()];
                let other =
                    steps.iter().map(Assign::column).find(|step| !own.contains(&Some(*step)));
                return match other {
                    None => self.mark_many(rules, table, column, change.condition),
                    Some(_) => Err(not_assignable(table, other, "a deletion sets no other column")),
                };
            }
        }
        // The rows that the condition has found may be deleted ones.
        self.shows_deleted.set(true);
        let (condition, assign) = (condition.as_ref(), Some(&*steps));
        let changed = self.update_many(rules, &BulkChange { table, condition, assign }, &steps);
        self.shows_deleted.set(false);
        changed
    }

    fn hides_rows(&self) -> bool {
        self.rules.hides_rows() && !self.is_replaying()
    }

    /// Whether one of the tables that `tables` calls its argument with hides rows.
    fn hides_rows_of(&self, tables: impl FnOnce(&mut dyn FnMut(&TableSchema))) -> bool {
        let mut hides = false;
        if self.hides_rows() {
            tables(&mut |table| hides |= !matches!(self.rules.deleted_at(table), Ok(None)));
        }
        hides
    }
}

/// The condition with another one, unless it names the column.
fn unless_named(condition: Option<Condition>, column: usize, added: Condition) -> Condition {
    match condition {
        Some(condition) if condition.names_column(column) => condition,
        Some(condition) => Condition::And(vec![added, condition]),
        None => added,
    }
}

/// A condition that finds deleted rows, too, since it names the column.
fn deleted_or_not(column: usize) -> Condition {
    let live = Condition::IsNull { column };
    Condition::Or(vec![live.clone(), Condition::Not(Box::new(live))])
}

/// Conditions that columns equal values.
fn equal<'v>(
    values: impl Iterator<Item = (usize, &'v Value<'v>)>,
) -> impl Iterator<Item = Condition> {
    values.map(|(column, value)| {
        let (comparison, value) = (Comparison::Equal, value.clone().into_owned());
        Condition::Compare { column, comparison, value }
    })
}

#[cold]
fn not_assignable(table: &TableSchema, column: Option<usize>, message: &'static str) -> Error {
    let error = Error::new(ErrorKind::Misuse, message).in_table(table.name());
    error.in_columns(table, column.as_slice())
}

/// The index in the described table of a column that a deletion sets.
///
/// # Errors
/// `Schema` if the described table lacks it.
fn described(
    table: &TableSchema,
    column: Option<(&ColumnSchema, Option<usize>)>,
) -> Result<Option<usize>> {
    let Some((column, found)) = column else { return Ok(None) };
    if found.is_some() {
        return Ok(found);
    }
    let message = "a deletion sets this column: describe the table with it";
    let error = Error::new(ErrorKind::Schema, message).in_table(table.name());
    Err(error.in_column(column.name.as_ref()))
}

/// Passes on the row that `get` finds, unless the column at an index hides it.
pub(super) fn get_live(
    hidden_by: Option<usize>,
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    get: impl FnOnce(&mut dyn FnMut(&dyn Row) -> Result<()>) -> Result<bool>,
) -> Result<bool> {
    let Some(column) = hidden_by else { return get(row) };
    let mut is_live = false;
    get(&mut |found| {
        is_live = found.get(column).is_null();
        if is_live { row(found) } else { Ok(()) }
    })?;
    Ok(is_live)
}

/// The error of an update whose row does not exist.
pub(super) fn not_found(table: &TableSchema) -> Error {
    Error::new(ErrorKind::NotFound, "no row has this key").in_table(table.name())
}

/// Whether a row can be seen.
pub(super) fn is_live(hidden_by: Option<usize>, row: &[Value<'_>]) -> bool {
    hidden_by.is_none_or(|column| row.get(column).is_none_or(Value::is_null))
}
