//! The state of an analysis: the names in scope.

use crate::convert;
use crate::kind::ValueKind;
use crate::relations::{Relation, Relations};
use crate::scope::{ColumnList, NameScope, ScopeColumn, resolve};
use bobak_core::{Result, Type};
use std::cell::Cell;
use turso_parser::ast::{Cmd, Expr, Stmt};
use turso_parser::parser::Parser;

/// The deepest nesting of views.
const MAX_VIEWS: usize = 16;

/// Walks over a statement, and rewrites it on the way.
pub(crate) struct Analyzer<'a> {
    pub relations: &'a dyn Relations,
    /// The types of the parameters, if they are known.
    pub parameters: &'a [Option<Type>],
    pub scopes: Vec<NameScope>,
    /// The common table expressions in scope, the innermost last.
    pub ctes: Vec<(String, ColumnList)>,
    /// Whether the statement is in stored units: only types are inferred, nothing is rewritten.
    pub stored: bool,
    /// Whether an expression was rewritten.
    pub changed: Cell<bool>,
    views: usize,
}

impl<'a> Analyzer<'a> {
    pub(crate) fn new(relations: &'a dyn Relations, parameters: &'a [Option<Type>]) -> Self {
        let (scopes, ctes) = (Vec::new(), Vec::new());
        let changed = Cell::new(false);
        Self { relations, parameters, scopes, ctes, stored: false, changed, views: 0 }
    }

    pub(crate) fn convert(&self, e: &mut Expr, from: ValueKind, to: ValueKind) -> Result<()> {
        if !self.stored && convert::convert(e, from, to)? {
            self.changed.set(true);
        }
        Ok(())
    }

    /// Makes a value without a unit; see [`convert::to_plain`].
    pub(crate) fn to_plain(&self, e: &mut Expr, kind: ValueKind, as_text: bool) {
        if let Some(ty) = kind.unit().filter(|_| !self.stored)
            && convert::to_plain(e, ty, as_text)
        {
            self.changed.set(true);
        }
    }

    pub(crate) fn resolve(&self, source: Option<&str>, name: &str) -> Option<ValueKind> {
        resolve(&self.scopes, source, name)
    }

    /// Runs `work` with another scope, inside of those that there are.
    pub(crate) fn within<R>(
        &mut self,
        scope: NameScope,
        work: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        self.scopes.push(scope);
        let result = work(self);
        self.scopes.pop();
        result
    }

    /// The columns of a table, view or common table expression.
    pub(crate) fn relation(&mut self, schema: Option<&str>, name: &str) -> Result<ColumnList> {
        let mut ctes = self.ctes.iter().rev();
        if schema.is_none()
            && let Some((_, columns)) = ctes.find(|(cte, _)| cte.eq_ignore_ascii_case(name))
        {
            return Ok(columns.clone());
        }
        self.table(schema, name)
    }

    /// The columns of a table or view.
    pub(crate) fn table(&mut self, schema: Option<&str>, name: &str) -> Result<ColumnList> {
        match self.relations.relation(schema, name)? {
            None => Ok(ColumnList::unknown()),
            Some(Relation::Table(columns)) => {
                let kind = |ty: Option<Type>| ty.map_or(ValueKind::Plain, ValueKind::Of);
                let columns = columns.into_iter();
                let list = columns.map(|c| ScopeColumn {
                    kind: kind(c.ty),
                    name: c.name,
                    hidden: c.hidden,
                });
                Ok(ColumnList { list: list.collect(), open: false })
            }
            Some(Relation::View(names, sql)) => Ok(self.view(names, &sql)),
        }
    }

    /// The columns of a view, whose text is in stored units. Those of a text that cannot be
    /// analyzed have no known type.
    fn view(&self, names: Vec<String>, sql: &str) -> ColumnList {
        let mut inner = Self::new(self.relations, &[]);
        (inner.stored, inner.views) = (true, self.views + 1);
        let kinds = match Parser::new(sql.as_bytes()).next_cmd() {
            Ok(Some(Cmd::Stmt(Stmt::CreateView { mut select, .. }))) if self.views < MAX_VIEWS => {
                let columns = inner.select(&mut select, None).unwrap_or_default();
                if columns.open { Vec::new() } else { columns.kinds() }
            }
            _ => Vec::new(),
        };
        let known = kinds.len() == names.len();
        let kind =
            |place: usize| kinds.get(place).copied().filter(|_| known).unwrap_or(ValueKind::Plain);
        let named = names.into_iter().enumerate();
        let list =
            named.map(|(place, name)| ScopeColumn { name, kind: kind(place), hidden: false });
        ColumnList { list: list.collect(), open: false }
    }
}
