//! The state of an analysis: the names in scope.

use crate::convert;
use crate::kind::ValueKind;
use crate::parser::parse;
use crate::relations::{Relation, Relations};
use crate::rewrite::Rewrite;
use crate::scope::{ColumnList, NameScope, ScopeColumn, resolve};
use crate::tree::{ParsedExpr, ParsedStatement};
use bobak_core::{Result, Type};

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
    /// What is written for the statement.
    pub rewrite: Rewrite<'a>,
    views: usize,
}

impl<'a> Analyzer<'a> {
    pub(crate) fn new(
        relations: &'a dyn Relations,
        parameters: &'a [Option<Type>],
        rewrite: Rewrite<'a>,
    ) -> Self {
        let (scopes, ctes) = (Vec::new(), Vec::new());
        Self { relations, parameters, scopes, ctes, stored: false, rewrite, views: 0 }
    }

    pub(crate) fn convert(
        &mut self,
        e: &ParsedExpr<'_>,
        from: ValueKind,
        to: ValueKind,
    ) -> Result<()> {
        if self.stored { Ok(()) } else { convert::convert(&mut self.rewrite, e, from, to) }
    }

    /// Makes a value without a unit; see [`convert::to_plain`].
    pub(crate) fn write_plain(&mut self, e: &ParsedExpr<'_>, kind: ValueKind, as_text: bool) {
        if let Some(ty) = kind.unit().filter(|_| !self.stored) {
            convert::to_plain(&mut self.rewrite, e, ty, as_text);
        }
    }

    /// Infers types without writing anything.
    pub(crate) fn tried<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.rewrite.clone();
        let result = work(self);
        self.rewrite = before;
        result
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
        let kinds = match parse(sql).map(|parsed| parsed.statement) {
            Ok(ParsedStatement::CreateView(select)) if self.views < MAX_VIEWS => {
                let mut inner = Analyzer::new(self.relations, &[], Rewrite::new(sql, &[]));
                (inner.stored, inner.views) = (true, self.views + 1);
                let columns = inner.select(&select, None).unwrap_or_default();
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
