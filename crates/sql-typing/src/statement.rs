//! Statements.

use crate::analyzer::Analyzer;
use crate::kind::{ValueKind, unsupported};
use crate::relations::Relation;
use crate::scope::{ColumnList, NameScope};
use bobak_core::Result;
use turso_parser::ast::{
    CreateTableBody, Expr, FromClause, InsertBody, Name, QualifiedName, Select, Set, Stmt,
    TriggerCmd, TriggerEvent, Update, Upsert, UpsertDo, With,
};

impl Analyzer<'_> {
    /// Rewrites a statement. Returns its result columns.
    pub(crate) fn statement(&mut self, statement: &mut Stmt) -> Result<ColumnList> {
        match statement {
            Stmt::Select(select) => self.select(select, None),
            Stmt::CreateView { select, .. } => {
                self.select(select, None).map(|_| ColumnList::default())
            }
            Stmt::CreateTable { body: CreateTableBody::AsSelect(select), .. } => {
                let columns = self.select(select, None)?;
                if columns.kinds().iter().all(|kind| kind.unit().is_none()) {
                    return Ok(ColumnList::default());
                }
                let message = "CREATE TABLE AS would lose the types of amounts, dates or times: \
                               create the table with its types, then INSERT … SELECT";
                Err(unsupported(message))
            }
            Stmt::Insert { with, tbl_name, columns, body, returning, .. } => {
                self.with_first(with, |inner| {
                    let target = inner.columns_of(tbl_name)?;
                    if let InsertBody::Select(select, upsert) = body {
                        inner.insert(tbl_name, columns, select, upsert.as_deref_mut())?;
                    }
                    let scope = NameScope::of(&tbl_name.identifier(), target);
                    inner.within(scope, |inner| inner.result_columns(returning))
                })
            }
            Stmt::Update(update) => self.update(update),
            Stmt::Delete { with, tbl_name, where_clause, returning, .. } => {
                self.with_first(with, |inner| {
                    let target = inner.columns_of(tbl_name)?;
                    inner.within(NameScope::of(&tbl_name.identifier(), target), |inner| {
                        inner.optional(where_clause)?;
                        inner.result_columns(returning)
                    })
                })
            }
            Stmt::CreateIndex { tbl_name, columns, where_clause, .. } => {
                let target = self.table(None, tbl_name.as_str())?;
                self.within(NameScope::of(tbl_name.as_str(), target), |inner| {
                    inner.sorted(columns)?;
                    inner.optional(where_clause)
                })?;
                Ok(ColumnList::default())
            }
            Stmt::CreateTrigger { event, tbl_name, when_clause, commands, .. } => {
                self.trigger(event, tbl_name, when_clause, commands)?;
                Ok(ColumnList::default())
            }
            _ => Ok(ColumnList::default()),
        }
    }

    fn with_first<R>(
        &mut self,
        with: &mut Option<With>,
        work: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let outer = self.ctes.len();
        let with = with.as_mut().map_or(Ok(()), |with| self.with(with));
        let result = with.and_then(|()| work(self));
        self.ctes.truncate(outer);
        result
    }

    /// The columns of the table that a statement changes.
    fn columns_of(&mut self, table: &QualifiedName) -> Result<ColumnList> {
        self.table(table.db_name.as_ref().map(Name::as_str), table.name.as_str())
    }

    /// The kinds of the columns that an INSERT gives values for.
    fn inserted(&mut self, table: &QualifiedName, names: &[Name]) -> Result<Vec<ValueKind>> {
        let columns = self.columns_of(table)?;
        let kind = |name: &str| columns.find(name).unwrap_or(ValueKind::Plain);
        if !names.is_empty() {
            return Ok(names.iter().map(|name| kind(name.as_str())).collect());
        }
        let schema = table.db_name.as_ref().map(Name::as_str);
        Ok(match self.relations.relation(schema, table.name.as_str())? {
            Some(Relation::Table(all)) => {
                let given = all.iter().filter(|column| !column.hidden && !column.generated);
                given.map(|column| kind(&column.name)).collect()
            }
            _ => columns.kinds(),
        })
    }

    fn insert(
        &mut self,
        table: &QualifiedName,
        names: &[Name],
        select: &mut Select,
        upsert: Option<&mut Upsert>,
    ) -> Result<()> {
        let mut wanted = self.inserted(table, names)?;
        if wanted.is_empty() {
            // Nothing is known about the table: values arrive as they do at functions.
            wanted = vec![ValueKind::Plain; self.select(&mut select.clone(), None)?.list.len()];
        }
        self.select(select, Some(&wanted))?;
        let Some(upsert) = upsert else { return Ok(()) };
        let target = self.columns_of(table)?;
        let mut scope = NameScope::of(&table.identifier(), target.clone());
        scope.add(Some("excluded".to_owned()), target.clone());
        self.within(scope, |inner| inner.upsert(upsert, &target))
    }

    fn upsert(&mut self, upsert: &mut Upsert, target: &ColumnList) -> Result<()> {
        if let Some(index) = &mut upsert.index {
            self.sorted(&mut index.targets)?;
            self.optional(&mut index.where_clause)?;
        }
        if let UpsertDo::Set { sets, where_clause } = &mut upsert.do_clause {
            self.assignments(sets, target)?;
            self.optional(where_clause)?;
        }
        upsert.next.as_mut().map_or(Ok(()), |next| self.upsert(next, target))
    }

    fn update(&mut self, update: &mut Update) -> Result<ColumnList> {
        let Update { with, tbl_name, sets, from, where_clause, returning, .. } = update;
        self.with_first(with, |inner| {
            let target = inner.columns_of(tbl_name)?;
            let scope = NameScope::of(&tbl_name.identifier(), target.clone());
            inner.changed(scope, &target, (sets, from, where_clause))?;
            let scope = NameScope::of(&tbl_name.identifier(), target);
            inner.within(scope, |inner| inner.result_columns(returning))
        })
    }

    /// The SET, FROM and WHERE of an UPDATE.
    fn changed(
        &mut self,
        mut scope: NameScope,
        target: &ColumnList,
        (sets, from, condition): (&mut [Set], &mut Option<FromClause>, &mut Option<Box<Expr>>),
    ) -> Result<()> {
        if let Some(from) = from {
            self.add_sources(from, &mut scope)?;
        }
        self.within(scope, |inner| {
            if let Some(from) = from {
                inner.join_conditions(from)?;
            }
            inner.assignments(sets, target)?;
            inner.optional(condition)
        })
    }

    fn assignments(&mut self, sets: &mut [Set], target: &ColumnList) -> Result<()> {
        for set in sets {
            let found = self.operands(&mut set.expr)?;
            for (place, (name, &from)) in set.col_names.iter().zip(&found).enumerate() {
                let to = target.find(name.as_str()).unwrap_or(ValueKind::Plain);
                self.convert_operand(&mut set.expr, (place, found.len()), from, to)?;
            }
        }
        Ok(())
    }

    fn trigger(
        &mut self,
        event: &mut TriggerEvent,
        table: &QualifiedName,
        condition: &mut Option<Box<Expr>>,
        commands: &mut [TriggerCmd],
    ) -> Result<()> {
        let columns = self.columns_of(table)?;
        let mut scope = NameScope::default();
        if !matches!(event, TriggerEvent::Insert) {
            scope.add(Some("old".to_owned()), columns.clone());
        }
        if !matches!(event, TriggerEvent::Delete) {
            scope.add(Some("new".to_owned()), columns);
        }
        self.within(scope, |inner| {
            inner.optional(condition)?;
            commands.iter_mut().try_for_each(|command| inner.trigger_command(command))
        })
    }

    fn trigger_command(&mut self, command: &mut TriggerCmd) -> Result<()> {
        match command {
            TriggerCmd::Select(select) => self.select(select, None).map(drop),
            TriggerCmd::Insert { tbl_name, col_names, select, upsert, .. } => {
                let table = QualifiedName::single(tbl_name.clone());
                self.insert(&table, col_names, select, upsert.as_deref_mut())
            }
            TriggerCmd::Update { tbl_name, sets, from, where_clause, .. } => {
                let target = self.table(None, tbl_name.as_str())?;
                let scope = NameScope::of(tbl_name.as_str(), target.clone());
                self.changed(scope, &target, (sets, from, where_clause))
            }
            TriggerCmd::Delete { tbl_name, where_clause } => {
                let target = self.table(None, tbl_name.as_str())?;
                let scope = NameScope::of(tbl_name.as_str(), target);
                self.within(scope, |inner| inner.optional(where_clause))
            }
        }
    }
}
