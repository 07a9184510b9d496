//! Typed statements: prepared once for their shape, so that no text is written for the same query with other values.

use super::Connection;
use crate::error::translate;
use crate::ffi::{Binder, StatementId, StatementRows};
use bobak_core::codec::RawValue;
use bobak_core::{
    BulkChange, Join, QueryTemplate, Result, Row, Select, SlotValues, TableSchema,
    TemplateParameter, TemplateQuery, Value, ValueRef,
};
use bobak_sql::{Dialect, Statement, StatementShape};

/// Gets the rows of a query; returns whether to continue.
type EachRow<'r> = &'r mut dyn FnMut(&dyn Row) -> Result<bool>;

/// The first word of a template's key; no shape begins with it.
const TEMPLATE: u64 = u64::MAX;

impl Connection {
    /// Calls `row` with the rows of a query until it returns `false`.
    pub(crate) fn each_selected(&mut self, select: &Select, row: EachRow<'_>) -> Result<()> {
        let table = Some(&*select.table);
        let write = || bobak_sql::select(Dialect::Sqlite, select);
        if let Some(shape) = StatementShape::of_select(Dialect::Sqlite, select)
            && let Some(id) = self.shape_statement(&shape, || Some(write()))?
        {
            return self.each_row_of(id, shape.values().iter().map(Value::as_ref), table, row);
        }
        let statement = write();
        self.each_row(&statement.text, &statement.parameters, table, row)
    }

    /// As [`each_selected`](Self::each_selected), of a join; `false` if SQLite would calculate it in another way.
    pub(crate) fn each_joined(&mut self, join: &Join, row: EachRow<'_>) -> Result<bool> {
        let table = join.tables.first().map(|first| &*first.table);
        let write = || bobak_sql::join(Dialect::Sqlite, join);
        if let Some(shape) = StatementShape::of_join(Dialect::Sqlite, join)
            && let Some(id) = self.shape_statement(&shape, write)?
        {
            return self
                .each_row_of(id, shape.values().iter().map(Value::as_ref), table, row)
                .map(|()| true);
        }
        let Some(statement) = write() else { return Ok(false) };
        self.each_row(&statement.text, &statement.parameters, table, row).map(|()| true)
    }

    /// Changes or deletes all rows that match; returns their number.
    pub(crate) fn change_rows(&mut self, change: &BulkChange<'_>) -> Result<u64> {
        let write = || bobak_sql::change(Dialect::Sqlite, change);
        if let Some(shape) = StatementShape::of_change(Dialect::Sqlite, change)
            && let Some(id) = self.shape_statement(&shape, || Some(write()))?
        {
            let values = shape.values().iter().map(Value::as_ref);
            self.db.execute(id, values).map_err(|failure| translate(failure, None))?;
            return Ok(self.db.changes());
        }
        let statement = write();
        self.run_text(&statement.text, &statement.parameters)
    }

    /// Runs a prepared query with these values of its slots: see [`Session::run_template`](bobak_core::Session::run_template).
    pub(crate) fn run_template(
        &mut self,
        template: &QueryTemplate,
        values: &SlotValues<'_>,
        row: EachRow<'_>,
    ) -> Result<Option<u64>> {
        let write = || template_statement(template.query()).map(|(_, values)| values);
        let Some(parameters) = template.parameters(write) else { return Ok(None) };
        let id = self.template_statement(template)?;
        let table = match template.query() {
            TemplateQuery::Select(select) => Some(&*select.table),
            TemplateQuery::Join(join) => join.tables.first().map(|first| &*first.table),
            TemplateQuery::Update { .. } => {
                self.db
                    .execute_with(id, |binder| bind_parameters(binder, parameters, values))
                    .map_err(|failure| translate(failure, None))?;
                return Ok(Some(self.db.changes()));
            }
        };
        let rows = self
            .db
            .rows_with(id, |binder| bind_parameters(binder, parameters, values))
            .map_err(|failure| translate(failure, table))?;
        each_row(rows, table, row).map(|()| Some(0))
    }

    #[inline]
    fn template_statement(&mut self, template: &QueryTemplate) -> Result<StatementId> {
        match self.last_template {
            Some((last, id)) if last == template.id() => Ok(id),
            _ => self.other_template(template),
        }
    }

    fn other_template(&mut self, template: &QueryTemplate) -> Result<StatementId> {
        let key = [TEMPLATE, template.id()];
        let id = match self.shapes.get(key.as_slice()) {
            Some(id) => id,
            None => self.prepare_template(template, key)?,
        };
        self.last_template = Some((template.id(), id));
        Ok(id)
    }

    #[cold]
    fn prepare_template(&mut self, template: &QueryTemplate, key: [u64; 2]) -> Result<StatementId> {
        let (text, _) = template_statement(template.query()).unwrap_or_default();
        self.prepare_as(&key, &text)
    }

    /// As [`each_row`](Self::each_row), of a prepared statement.
    pub(crate) fn each_row_of<'v>(
        &mut self,
        id: StatementId,
        values: impl Iterator<Item = ValueRef<'v>>,
        table: Option<&TableSchema>,
        row: EachRow<'_>,
    ) -> Result<()> {
        let rows = self.db.rows(id, values).map_err(|failure| translate(failure, table))?;
        each_row(rows, table, row)
    }

    /// The statement of a shape. If it is not cached, it is prepared from what `write` returns; `None` if `write` returns
    /// no statement, or one with other values than those of the shape.
    fn shape_statement<'a>(
        &mut self,
        shape: &StatementShape<'a>,
        write: impl FnOnce() -> Option<Statement<'a>>,
    ) -> Result<Option<StatementId>> {
        if let Some(id) = self.shapes.get(shape.words()) {
            return Ok(Some(id));
        }
        let written = write().filter(|statement| statement.parameters == shape.values());
        let Some(statement) = written else { return Ok(None) };
        self.prepare_as(shape.words(), &statement.text).map(Some)
    }

    /// Prepares a statement, and caches it by these words.
    fn prepare_as(&mut self, words: &[u64], text: &str) -> Result<StatementId> {
        let id = self.prepare_one(text)?;
        if let Some(old) = self.shapes.insert(words.into(), id) {
            self.last_template = None;
            self.db.finalize(old);
        }
        Ok(id)
    }
}

#[inline]
fn each_row(
    mut rows: StatementRows<'_>,
    table: Option<&TableSchema>,
    row: EachRow<'_>,
) -> Result<()> {
    while let Some(found) = rows.next().map_err(|failure| translate(failure, table))? {
        if !row(&found)? {
            break;
        }
    }
    Ok(())
}

/// Binds a template's parameters.
#[inline]
fn bind_parameters<'v>(
    binder: &mut Binder<'v>,
    parameters: &'v [TemplateParameter],
    values: &SlotValues<'v>,
) {
    for parameter in parameters {
        // Most are integers in slots. Apart from the others they need no tables of jumps.
        match parameter.integer(values) {
            Some(integer) => binder.push(RawValue::Int(integer)),
            None => bind_other(binder, parameter.value(values)),
        }
    }
}

#[inline(never)]
fn bind_other<'v>(binder: &mut Binder<'v>, value: ValueRef<'v>) {
    binder.push(value.into());
}

/// The text of a template's statement and the values of its parameters; `None` if the text depends on values.
fn template_statement(query: &TemplateQuery) -> Option<(String, Vec<Value<'static>>)> {
    match query {
        TemplateQuery::Select(select) => {
            let shape = StatementShape::of_select(Dialect::Sqlite, select)?;
            with_values(&shape, bobak_sql::select(Dialect::Sqlite, select))
        }
        TemplateQuery::Join(join) => {
            let shape = StatementShape::of_join(Dialect::Sqlite, join)?;
            with_values(&shape, bobak_sql::join(Dialect::Sqlite, join)?)
        }
        TemplateQuery::Update { table, condition, assigns } => {
            let condition = condition.as_ref();
            let change = BulkChange { table, condition, assign: Some(assigns) };
            let shape = StatementShape::of_change(Dialect::Sqlite, &change)?;
            with_values(&shape, bobak_sql::change(Dialect::Sqlite, &change))
        }
    }
}

/// A statement, if its values are those of the shape.
fn with_values(
    shape: &StatementShape<'_>,
    statement: Statement<'_>,
) -> Option<(String, Vec<Value<'static>>)> {
    // Those of slots are NaN, which equals nothing.
    let is_slot = |value: &Value<'_>| matches!(value, Value::Float(float) if float.is_nan());
    let same = |(a, b): (&Value<'_>, &Value<'_>)| a == b || is_slot(a) && is_slot(b);
    let written = &statement.parameters;
    let is_same = shape.values().len() == written.len();
    let values = || statement.parameters.iter().cloned().map(Value::into_owned).collect();
    (is_same && shape.values().iter().zip(written).all(same)).then(|| (statement.text, values()))
}
