//! Statements.

use crate::analyzer::Analyzer;
use crate::kind::{ValueKind, unsupported};
use crate::relations::Relation;
use crate::scope::{ColumnList, NameScope};
use crate::tree::{
    DeleteParts, FromTables, InsertParts, ParsedExpr, ParsedSelect, ParsedStatement, RowStatement,
    SetClause, TableName, TriggerParts, UpdateParts, UpsertPart,
};
use bobak_core::Result;

impl Analyzer<'_> {
    /// Rewrites a statement. Returns its result columns.
    pub(crate) fn statement(&mut self, statement: &ParsedStatement<'_>) -> Result<ColumnList> {
        let none = |()| ColumnList::default();
        match statement {
            ParsedStatement::Rows(statement) => self.row_statement(statement),
            ParsedStatement::CreateView(select) => self.select(select, None).map(drop).map(none),
            ParsedStatement::CreateTableAs(select) => self.table_as(select).map(none),
            ParsedStatement::CreateIndex(table, columns, filter) => {
                self.index(table, columns, filter.as_ref()).map(none)
            }
            ParsedStatement::CreateTrigger(trigger) => self.trigger(trigger).map(none),
            ParsedStatement::Other => Ok(ColumnList::default()),
        }
    }

    fn row_statement(&mut self, statement: &RowStatement<'_>) -> Result<ColumnList> {
        match statement {
            RowStatement::Select(select) => self.select(select, None),
            RowStatement::Insert(insert) => self.insert(insert),
            RowStatement::Update(update) => self.update(update),
            RowStatement::Delete(delete) => self.delete(delete),
        }
    }

    fn table_as(&mut self, select: &ParsedSelect<'_>) -> Result<()> {
        let columns = self.select(select, None)?;
        if columns.kinds().iter().all(|kind| kind.unit().is_none()) {
            return Ok(());
        }
        let message = "CREATE TABLE AS would lose the types of amounts, dates or times: \
                       create the table with its types, then INSERT … SELECT";
        Err(unsupported(message))
    }

    fn index(
        &mut self,
        table: &str,
        columns: &[ParsedExpr<'_>],
        filter: Option<&ParsedExpr<'_>>,
    ) -> Result<()> {
        let target = self.table(None, table)?;
        self.within(NameScope::of(table, target), |inner| {
            inner.sorted(columns)?;
            inner.optional(filter)
        })
    }

    /// The columns of the table that a statement changes.
    fn columns_of(&mut self, table: &TableName) -> Result<ColumnList> {
        self.table(table.schema.as_deref(), &table.name)
    }

    /// The kinds of the columns that an INSERT gives values for.
    fn inserted(&mut self, table: &TableName, names: &[String]) -> Result<Vec<ValueKind>> {
        let columns = self.columns_of(table)?;
        let kind = |name: &str| columns.find(name).unwrap_or(ValueKind::Plain);
        if !names.is_empty() {
            return Ok(names.iter().map(|name| kind(name)).collect());
        }
        Ok(match self.relations.relation(table.schema.as_deref(), &table.name)? {
            Some(Relation::Table(all)) => {
                let given = all.iter().filter(|column| !column.hidden && !column.generated);
                given.map(|column| kind(&column.name)).collect()
            }
            _ => columns.kinds(),
        })
    }

    fn insert(&mut self, insert: &InsertParts<'_>) -> Result<ColumnList> {
        self.with_first(&insert.with, |inner| {
            let target = inner.columns_of(&insert.target.table)?;
            if let Some(select) = &insert.select {
                inner.inserted_rows(insert, select)?;
                inner.upserts(insert, &target)?;
            }
            let scope = NameScope::of(insert.target.shown(), target);
            inner.within(scope, |inner| inner.result_columns(&insert.returning))
        })
    }

    fn inserted_rows(&mut self, insert: &InsertParts<'_>, select: &ParsedSelect<'_>) -> Result<()> {
        let mut wanted = self.inserted(&insert.target.table, &insert.columns)?;
        if wanted.is_empty() {
            // Nothing is known about the table: values arrive as they do at functions.
            let columns = self.tried(|inner| inner.select(select, None))?;
            wanted = vec![ValueKind::Plain; columns.list.len()];
        }
        self.select(select, Some(&wanted)).map(drop)
    }

    fn upserts(&mut self, insert: &InsertParts<'_>, target: &ColumnList) -> Result<()> {
        let mut scope = NameScope::of(insert.target.shown(), target.clone());
        scope.add(Some("excluded".to_owned()), target.clone());
        self.within(scope, |inner| {
            insert.upserts.iter().try_for_each(|upsert| inner.upsert(upsert, target))
        })
    }

    fn upsert(&mut self, upsert: &UpsertPart<'_>, target: &ColumnList) -> Result<()> {
        self.sorted(&upsert.targets)?;
        self.optional(upsert.target_filter.as_ref())?;
        self.assignments(&upsert.sets, target)?;
        self.optional(upsert.filter.as_ref())
    }

    fn update(&mut self, update: &UpdateParts<'_>) -> Result<ColumnList> {
        self.with_first(&update.with, |inner| {
            let target = inner.columns_of(&update.target.table)?;
            let scope = NameScope::of(update.target.shown(), target.clone());
            inner.changed(scope, &target, update)?;
            let scope = NameScope::of(update.target.shown(), target);
            inner.within(scope, |inner| inner.result_columns(&update.returning))
        })
    }

    /// The SET, FROM and WHERE of an UPDATE.
    fn changed(
        &mut self,
        mut scope: NameScope,
        target: &ColumnList,
        update: &UpdateParts<'_>,
    ) -> Result<()> {
        let from: Option<&FromTables<'_>> = update.from.as_ref();
        from.map_or(Ok(()), |from| self.add_sources(from, &mut scope))?;
        self.within(scope, |inner| {
            from.map_or(Ok(()), |from| inner.join_conditions(from))?;
            inner.assignments(&update.sets, target)?;
            inner.optional(update.filter.as_ref())
        })
    }

    fn assignments(&mut self, sets: &[SetClause<'_>], target: &ColumnList) -> Result<()> {
        for set in sets {
            let found = self.operands(&set.value)?;
            for (place, (name, &from)) in set.columns.iter().zip(&found).enumerate() {
                let to = target.find(name).unwrap_or(ValueKind::Plain);
                self.convert_operand(&set.value, (place, found.len()), from, to)?;
            }
        }
        Ok(())
    }

    fn delete(&mut self, delete: &DeleteParts<'_>) -> Result<ColumnList> {
        self.with_first(&delete.with, |inner| {
            let target = inner.columns_of(&delete.target.table)?;
            inner.within(NameScope::of(delete.target.shown(), target), |inner| {
                inner.optional(delete.filter.as_ref())?;
                inner.result_columns(&delete.returning)
            })
        })
    }

    fn trigger(&mut self, trigger: &TriggerParts<'_>) -> Result<()> {
        let columns = self.columns_of(&trigger.table)?;
        let mut scope = NameScope::default();
        if trigger.has_old {
            scope.add(Some("old".to_owned()), columns.clone());
        }
        if trigger.has_new {
            scope.add(Some("new".to_owned()), columns);
        }
        self.within(scope, |inner| {
            inner.optional(trigger.when.as_ref())?;
            trigger.steps.iter().try_for_each(|step| inner.row_statement(step).map(drop))
        })
    }
}
