//! The operations that typed and dynamic tables share.

use crate::handle::SessionSource;
use crate::on_request::columns_without;
use crate::rows::RowCursor;
use bobak_core::engine::fallback::conflicting_row;
use bobak_core::join::JoinExpr;
use bobak_core::statements::CallSite;
use bobak_core::{
    Assign, AssignedValue, Assignment, BulkChange, Comparison, Condition, Error, ErrorKind, Expr,
    FieldSet, FromRow, GeneratedKey, Outcome, Query, Result, Row, Select, Selection, Session,
    Source, TableSchema, Value, Verb, Write, check_width,
};
use std::sync::Arc;

/// A table and the way to its engine.
#[derive(Clone)]
pub(crate) struct TableAccess<'a> {
    pub(crate) source: SessionSource<'a>,
    pub(crate) schema: Arc<TableSchema>,
    /// The fields that a whole-record update sets.
    pub(crate) updated: FieldSet,
}

/// The value of a column that an assignment calculates.
#[derive(Clone)]
pub(crate) struct ColumnExpr {
    pub column: usize,
    pub expr: JoinExpr,
}

impl<'a> TableAccess<'a> {
    pub(crate) fn new(source: SessionSource<'a>, schema: Arc<TableSchema>) -> Self {
        let updated = schema.updated_fields();
        Self { source, schema, updated }
    }

    #[inline]
    #[track_caller]
    pub(crate) fn write(
        &self,
        verb: Verb,
        fields: FieldSet,
        values: &[Value<'_>],
    ) -> Result<Outcome> {
        self.write_as(&self.schema, verb, fields, values)
    }

    /// As [`write`](Self::write), with another schema of the table.
    #[inline]
    #[track_caller]
    pub(crate) fn write_as(
        &self,
        table: &Arc<TableSchema>,
        verb: Verb,
        fields: FieldSet,
        values: &[Value<'_>],
    ) -> Result<Outcome> {
        let write = Write { table, verb, fields, values };
        self.source.write(&write).map_err(|error| self.in_table(error))
    }

    /// The key of the row that an upsert on a unique index has updated. It is in the outcome unless it is neither an
    /// integer nor a UUID: then it is read, by the values after the rules' normalization.
    ///
    /// # Errors
    /// Those of the engine.
    #[track_caller]
    pub(crate) fn updated_key(
        &self,
        verb: Verb,
        outcome: &Outcome,
        values: &mut [Value<'_>],
    ) -> Result<Option<Vec<Value<'static>>>> {
        let _at = CallSite::enter();
        match (verb, outcome) {
            (_, Outcome::Updated(key)) => Ok(Some(vec![key_value(*key)])),
            (Verb::UpsertOn(_), Outcome::Changed(_)) => {
                let (table, fields) = (&self.schema, FieldSet::EMPTY);
                // The row has the values that were written.
                self.source.engines().normalize(self.source.engine_index(), table, values)?;
                let write = Write { table, verb, fields, values };
                let row = self.source.with(|session| conflicting_row(session, &write))?;
                let row = row.ok_or_else(|| {
                    let message = "the row was deleted before its key could be read";
                    self.in_table(Error::new(ErrorKind::NotFound, message))
                })?;
                Ok(Some(self.key_values(&row).into_iter().map(Value::into_owned).collect()))
            }
            _ => Ok(None),
        }
    }

    #[inline]
    #[track_caller]
    pub(crate) fn get<R>(
        &self,
        key: &[Value<'_>],
        mut read: impl FnMut(&dyn Row) -> Result<R>,
    ) -> Result<Option<R>> {
        self.schema.check_has_key()?;
        let mut found = None;
        let mut each = |row: &dyn Row| {
            found = Some(read(row)?);
            Ok(())
        };
        self.source.get(&self.schema, key, &mut each).map_err(|error| self.in_table(error))?;
        Ok(found)
    }

    /// Calls `each` with the rows of a query until it returns `false`.
    #[track_caller]
    pub(crate) fn scan(
        &self,
        select: &Select,
        mut each: impl FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let _at = CallSite::enter();
        let mut each =
            |row: &dyn Row| each(row).map_err(|error| self.in_row(error, &select.columns, row));
        let mut run = |select: &Select| {
            let query = Source::Select(select);
            let scan = |session: &dyn Session| session.query(&query, &mut each);
            self.source.with(scan)
        };
        if select.condition.as_ref().is_some_and(Condition::has_subquery) {
            run(&self.source.with_values_of_subqueries(select.clone())?)
        } else {
            run(select)
        }
        .map_err(|error| self.in_table(error))
    }

    pub(crate) fn select_all<T>(&self, query: &Query<T>) -> Result<Select> {
        query.to_select(&self.schema, self.all_columns())
    }

    pub(crate) fn all_columns(&self) -> Vec<Expr> {
        self.columns_without(FieldSet::EMPTY)
    }

    /// All columns but those that are left out.
    pub(crate) fn columns_without(&self, left_out: FieldSet) -> Vec<Expr> {
        columns_without(&self.schema, left_out)
    }

    /// The rows of a query as a cursor, for iterators.
    #[track_caller]
    pub(crate) fn cursor<'s, T>(&'s self, query: &Query<T>) -> Result<RowCursor<'s>> {
        self.cursor_of(self.select_all(query)?)
    }

    #[track_caller]
    pub(crate) fn cursor_of<'s>(&'s self, select: Select) -> Result<RowCursor<'s>> {
        let select = self.source.with_values_of_subqueries(select)?;
        RowCursor::open(&self.source, &Source::Select(&select))
            .map_err(|error| self.in_table(error))
    }

    /// The values of expressions over a query, read by position.
    #[track_caller]
    pub(crate) fn select<T, R: FromRow>(
        &self,
        query: &Query<T>,
        exprs: Vec<Expr>,
    ) -> Result<Vec<R>> {
        let select = query.to_select(&self.schema, exprs)?;
        let mut rows = Vec::new();
        self.scan(&select, |row| {
            rows.push(R::from_row(row)?);
            Ok(true)
        })?;
        Ok(rows)
    }

    /// The columns that `R` names; all columns if it reads them by position.
    #[track_caller]
    pub(crate) fn list_as<T, R: FromRow>(&self, query: &Query<T>) -> Result<Vec<R>> {
        let columns = match R::columns() {
            Some(names) => names
                .iter()
                .map(|name| self.schema.column(name).map(Expr::Column))
                .collect::<Result<_>>()?,
            None => {
                check_width::<R>(self.schema.columns().len())?;
                self.all_columns()
            }
        };
        self.select(query, columns)
    }

    #[track_caller]
    pub(crate) fn count<T>(&self, query: Query<T>) -> Result<u64> {
        // As in SQL: neither order nor limit affects the count.
        let counts: Vec<i64> = self.select(&query.unordered(), vec![Expr::Count])?;
        Ok(counts.first().map_or(0, |count| count.unsigned_abs()))
    }

    /// Updates (`Some`) or deletes (`None`) the rows that match a condition.
    #[track_caller]
    pub(crate) fn change<T>(
        &self,
        condition: Option<Condition>,
        assign: Option<Vec<Assignment<T>>>,
    ) -> Result<u64> {
        let _at = CallSite::enter();
        let Some(assignments) = assign else { return self.change_all(condition, None) };
        let (assigns, exprs) = self.resolve_assignments(assignments)?;
        self.set_all(condition, &assigns, &exprs)
    }

    /// Updates the rows that match a condition.
    pub(crate) fn set_all(
        &self,
        condition: Option<Condition>,
        assigns: &[Assign],
        exprs: &[ColumnExpr],
    ) -> Result<u64> {
        match exprs {
            [] => self.change_all(condition, Some(assigns)),
            _ => self.set_exprs(condition, assigns, exprs),
        }
    }

    /// Updates (`Some`) or deletes (`None`) the rows that match a condition.
    pub(crate) fn change_all(
        &self,
        condition: Option<Condition>,
        assign: Option<&[Assign]>,
    ) -> Result<u64> {
        let condition = condition.map(|condition| condition.resolve(&self.schema)).transpose()?;
        let condition = self.source.replace_subqueries(condition)?;
        let change = BulkChange { table: &self.schema, condition: condition.as_ref(), assign };
        self.source.with(|session| session.change(&change)).map_err(|error| self.in_table(error))
    }

    /// The assignments of values in their columns' stored form, with the modification time, and those of expressions.
    ///
    /// # Errors
    /// `Misuse` for none, for a key or a version, and for a column that is assigned twice.
    pub(crate) fn resolve_assignments<T>(
        &self,
        list: Vec<Assignment<T>>,
    ) -> Result<(Vec<Assign>, Vec<ColumnExpr>)> {
        let table = &*self.schema;
        if list.is_empty() {
            return Err(self.in_table(Error::new(ErrorKind::Misuse, "no column is assigned")));
        }
        let mut assigned = FieldSet::EMPTY;
        let (mut assigns, mut exprs) = (Vec::with_capacity(list.len() + 1), Vec::new());
        for assignment in list {
            let value = assignment.into_value();
            let column = value.column();
            self.check_assigned(column, assigned)?;
            assigned.insert(column);
            match value {
                AssignedValue::Value(assign) => assigns.push(assign.resolve(table)?),
                AssignedValue::Expr { column, expr } => exprs.push(ColumnExpr { column, expr }),
            }
        }
        bobak_core::stamp_assignments(table, &mut assigns);
        Ok((assigns, exprs))
    }

    /// Checks that a column can be assigned next to others.
    fn check_assigned(&self, column: usize, others: FieldSet) -> Result<()> {
        let table = &*self.schema;
        table.check_assigned(column)?;
        let name = &table.column_at(column)?.name;
        let message = if others.contains(column) {
            "the column is assigned twice"
        } else if table.key().contains(&column) || table.version() == Some(column) {
            "a key or version can't be assigned: delete the row and insert another"
        } else if table.created_at() == Some(column) || table.modified_at() == Some(column) {
            "Bobak sets this time: leave it out"
        } else {
            return Ok(());
        };
        Err(self.in_table(Error::new(ErrorKind::Misuse, message).in_column(name.clone())))
    }

    /// The condition that matches the row with this key.
    pub(crate) fn key_condition(&self, key: &[Value<'_>]) -> Condition {
        let equals = |(&column, value): (&usize, &Value<'_>)| Condition::Compare {
            column,
            comparison: Comparison::Equal,
            value: value.clone().into_owned(),
        };
        if let ([column], [value]) = (self.schema.key(), key) {
            return equals((column, value));
        }
        Condition::And(self.schema.key().iter().zip(key).map(equals).collect())
    }

    /// The values of the key's columns among those of a whole row.
    pub(crate) fn key_values<'v>(&self, values: &'v [Value<'v>]) -> Vec<Value<'v>> {
        let value = |&column: &usize| values.get(column).map_or(Value::Null, |v| v.as_ref().into());
        self.schema.key().iter().map(value).collect()
    }

    /// Adds the key of the row, which has these columns, to an error about a value of it. Errors with a table have it.
    #[cold]
    fn in_row(&self, error: Error, columns: &[Expr], row: &dyn Row) -> Error {
        let is_of_value = matches!(error.kind(), ErrorKind::Mismatch | ErrorKind::OutOfRange);
        if !is_of_value || error.column().is_none() || error.table().is_some() {
            return error;
        }
        let key = self.schema.key().iter().filter_map(|&column| {
            let at = columns.iter().position(|expr| *expr == Expr::Column(column))?;
            Some((&*self.schema.columns().get(column)?.name, row.get(at)))
        });
        error.in_row(key)
    }

    #[cold]
    pub(crate) fn in_table(&self, error: Error) -> Error {
        error.in_table(self.schema.name())
    }
}

/// A key of an outcome, in stored form.
pub(crate) fn key_value(key: GeneratedKey) -> Value<'static> {
    match key {
        GeneratedKey::Int(key) => Value::Int(key),
        GeneratedKey::Uuid(key) => Value::from(key.as_bytes().to_vec()),
    }
}

/// The verb of an upsert by the columns of a selection.
///
/// # Errors
/// `Schema` if they are neither the key nor those of a unique index; `Misuse` for an expression that is no column.
pub(crate) fn upsert_verb<T>(schema: &TableSchema, columns: impl Selection<T>) -> Result<Verb> {
    let column = |expr: Expr| match expr {
        Expr::Column(column) => Ok(column),
        _ => {
            let message = "an upsert is by columns, not by other expressions";
            Err(Error::new(ErrorKind::Misuse, message).in_table(schema.name()))
        }
    };
    let columns = columns.exprs().into_iter().map(column).collect::<Result<Vec<_>>>()?;
    Verb::upsert_by(schema, &columns)
}
