//! The state of an analysis: the names in scope.

use crate::catalog::{Catalog, Relation};
use crate::convert;
use crate::kind::Kind;
use crate::scope::{Column, Columns, Scope, resolve};
use bobak_core::{Result, Type};
use std::cell::Cell;
use turso_parser::ast::{Cmd, Expr, Stmt};
use turso_parser::parser::Parser;

/// The deepest nesting of views.
const MAX_VIEWS: usize = 16;

/// Walks over a statement, and rewrites it on the way.
pub(crate) struct Analyzer<'a> {
    pub catalog: &'a dyn Catalog,
    /// The types of the parameters, if they are known.
    pub parameters: &'a [Option<Type>],
    pub scopes: Vec<Scope>,
    /// The common table expressions in scope, the innermost last.
    pub ctes: Vec<(String, Columns)>,
    /// Whether the statement is in stored units: only types are inferred, nothing is rewritten.
    pub stored: bool,
    /// Whether an expression was rewritten.
    pub changed: Cell<bool>,
    views: usize,
}

impl<'a> Analyzer<'a> {
    pub(crate) fn new(catalog: &'a dyn Catalog, parameters: &'a [Option<Type>]) -> Self {
        let (scopes, ctes) = (Vec::new(), Vec::new());
        let changed = Cell::new(false);
        Self { catalog, parameters, scopes, ctes, stored: false, changed, views: 0 }
    }

    pub(crate) fn convert(&self, e: &mut Expr, from: Kind, to: Kind) -> Result<()> {
        if !self.stored && convert::convert(e, from, to)? {
            self.changed.set(true);
        }
        Ok(())
    }

    /// Makes a value without a unit; see [`convert::to_plain`].
    pub(crate) fn to_plain(&self, e: &mut Expr, kind: Kind, as_text: bool) {
        if let Some(ty) = kind.unit().filter(|_| !self.stored)
            && convert::to_plain(e, ty, as_text)
        {
            self.changed.set(true);
        }
    }

    pub(crate) fn resolve(&self, source: Option<&str>, name: &str) -> Option<Kind> {
        resolve(&self.scopes, source, name)
    }

    /// Runs `work` with another scope, inside of those that there are.
    pub(crate) fn within<R>(
        &mut self,
        scope: Scope,
        work: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        self.scopes.push(scope);
        let result = work(self);
        self.scopes.pop();
        result
    }

    /// The columns of a table, view or common table expression.
    pub(crate) fn relation(&mut self, schema: Option<&str>, name: &str) -> Result<Columns> {
        let mut ctes = self.ctes.iter().rev();
        if schema.is_none()
            && let Some((_, columns)) = ctes.find(|(cte, _)| cte.eq_ignore_ascii_case(name))
        {
            return Ok(columns.clone());
        }
        self.table(schema, name)
    }

    /// The columns of a table or view.
    pub(crate) fn table(&mut self, schema: Option<&str>, name: &str) -> Result<Columns> {
        match self.catalog.relation(schema, name)? {
            None => Ok(Columns::unknown()),
            Some(Relation::Table(columns)) => {
                let kind = |ty: Option<Type>| ty.map_or(Kind::Plain, Kind::Of);
                let columns = columns.into_iter();
                let list =
                    columns.map(|c| Column { kind: kind(c.ty), name: c.name, hidden: c.hidden });
                Ok(Columns { list: list.collect(), open: false })
            }
            Some(Relation::View(names, sql)) => Ok(self.view(names, &sql)),
        }
    }

    /// The columns of a view, whose text is in stored units. Those of a text that cannot be
    /// analyzed have no known type.
    fn view(&self, names: Vec<String>, sql: &str) -> Columns {
        let mut inner = Self::new(self.catalog, &[]);
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
            |place: usize| kinds.get(place).copied().filter(|_| known).unwrap_or(Kind::Plain);
        let named = names.into_iter().enumerate();
        let list = named.map(|(place, name)| Column { name, kind: kind(place), hidden: false });
        Columns { list: list.collect(), open: false }
    }
}
