//! SELECT, VALUES, common table expressions and FROM clauses.

use crate::analyzer::Analyzer;
use crate::kind::{ValueKind, long_decimal, unsupported};
use crate::scope::{ColumnList, FromSource, NameScope, ScopeColumn};
use crate::tree::{
    ExprKind, FromTable, FromTables, JoinedSource, NamedSelect, ParsedExpr, ParsedSelect,
    ResultTerm, RowSource, SelectArm, SelectParts,
};
use bobak_core::{Result, Type};

/// How often the types of a recursive common table expression are inferred.
const MAX_ROUNDS: usize = 4;

impl Analyzer<'_> {
    /// Rewrites a SELECT. Its columns get the `wanted` kinds, if there are any.
    pub(crate) fn select(
        &mut self,
        select: &ParsedSelect<'_>,
        wanted: Option<&[ValueKind]>,
    ) -> Result<ColumnList> {
        self.select_arms(select, &select.arms, wanted)
    }

    /// These parts of a SELECT.
    fn select_arms(
        &mut self,
        select: &ParsedSelect<'_>,
        arms: &[SelectArm<'_>],
        wanted: Option<&[ValueKind]>,
    ) -> Result<ColumnList> {
        self.with_first(&select.with, |inner| {
            let order = if arms.len() == select.arms.len() { &*select.order } else { &[] };
            let columns = inner.body((arms, order), wanted)?;
            if arms.len() == select.arms.len() {
                inner.exprs(&select.limit)?;
            }
            Ok(columns)
        })
    }

    /// Runs `work` with common table expressions in scope.
    pub(crate) fn with_first<R>(
        &mut self,
        with: &[NamedSelect<'_>],
        work: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let outer = self.ctes.len();
        let known = with.iter().try_for_each(|cte| {
            let columns = self.cte(cte)?;
            self.ctes.push((cte.name.clone(), columns));
            Ok(())
        });
        let result = known.and_then(|()| work(self));
        self.ctes.truncate(outer);
        result
    }

    /// A common table expression. Its own name stands for what its first part returns, until the
    /// kinds of all parts agree.
    fn cte(&mut self, cte: &NamedSelect<'_>) -> Result<ColumnList> {
        let named = |mut columns: ColumnList| {
            for (column, name) in columns.list.iter_mut().zip(&cte.columns) {
                column.name.clone_from(name);
            }
            columns
        };
        let [first, _, ..] = cte.select.arms.as_slice() else {
            return self.select(&cte.select, None).map(named);
        };
        let first = std::slice::from_ref(first);
        let mut columns = named(self.tried(|inner| inner.select_arms(&cte.select, first, None))?);
        for _ in 0..MAX_ROUNDS {
            // The parts may need another kind than the first has.
            let unified = self.tried(|inner| inner.cte_body(cte, &columns, None));
            let unified = named(unified?);
            if unified.kinds().iter().zip(columns.kinds()).all(|(u, k)| u.unit() == k.unit()) {
                self.cte_body(cte, &columns, Some(&columns.kinds()))?;
                return Ok(columns);
            }
            columns = unified;
        }
        Err(unsupported("a recursive query whose columns change their types"))
    }

    /// The query of a common table expression, whose name stands for these columns.
    fn cte_body(
        &mut self,
        cte: &NamedSelect<'_>,
        columns: &ColumnList,
        wanted: Option<&[ValueKind]>,
    ) -> Result<ColumnList> {
        self.ctes.push((cte.name.clone(), columns.clone()));
        let found = self.select(&cte.select, wanted);
        self.ctes.pop();
        found
    }

    fn body(
        &mut self,
        (parts, order): (&[SelectArm<'_>], &[ParsedExpr<'_>]),
        wanted: Option<&[ValueKind]>,
    ) -> Result<ColumnList> {
        let is_simple = parts.len() == 1;
        let (mut columns, mut arms) = (ColumnList::default(), Vec::new());
        for part in parts {
            let found = self.arm(part, if is_simple { order } else { &[] })?;
            arms.push(found.kinds());
            match arms.len() {
                1 => columns = found,
                _ => columns.open |= found.open,
            }
        }
        for (place, column) in columns.list.iter_mut().enumerate() {
            let mut kinds = arms.iter().filter_map(|arm| arm.get(place)).copied();
            column.kind = match wanted.and_then(|wanted| wanted.get(place)) {
                Some(wanted) => *wanted,
                None => kinds.try_fold(ValueKind::Null, ValueKind::unify)?,
            };
        }
        for (part, kinds) in parts.iter().zip(&arms) {
            for (place, (&from, column)) in kinds.iter().zip(&columns.list).enumerate() {
                self.convert_arm(part, place, from, column.kind)?;
            }
        }
        if !is_simple {
            let scope = NameScope { aliases: columns.clone(), ..NameScope::default() };
            self.within(scope, |inner| inner.sorted(order))?;
        }
        reject_long(order, &columns)?;
        Ok(columns)
    }

    /// Converts one result column of a SELECT.
    pub(crate) fn convert_column(
        &mut self,
        select: &ParsedSelect<'_>,
        place: usize,
        from: ValueKind,
        to: ValueKind,
    ) -> Result<()> {
        select.arms.iter().try_for_each(|arm| self.convert_arm(arm, place, from, to))
    }

    fn convert_arm(
        &mut self,
        arm: &SelectArm<'_>,
        place: usize,
        from: ValueKind,
        to: ValueKind,
    ) -> Result<()> {
        if self.stored || from.unit() == to.unit() && from.unit().is_some() {
            return Ok(());
        }
        match arm {
            SelectArm::Values(rows) => rows.iter().try_for_each(|row| match row.get(place) {
                // Each row's own kind is known from what it is; the column's is that of all rows.
                Some(e) => {
                    let from = if from == ValueKind::Null { ValueKind::Plain } else { from };
                    self.convert(e, from, to)
                }
                None => Ok(()),
            }),
            SelectArm::Select(parts) => {
                if from.unit().is_none() && to.unit().is_none() {
                    return Ok(());
                }
                if parts.columns.iter().any(|column| !matches!(column, ResultTerm::Value(..))) {
                    return Err(unsupported("name the columns instead of *: some need conversion"));
                }
                match parts.columns.get(place) {
                    Some(ResultTerm::Value(e, _)) => self.convert(e, from, to),
                    _ => Ok(()),
                }
            }
        }
    }

    fn arm(&mut self, arm: &SelectArm<'_>, order: &[ParsedExpr<'_>]) -> Result<ColumnList> {
        let parts: &SelectParts<'_> = match arm {
            SelectArm::Values(rows) => return self.values(rows),
            SelectArm::Select(parts) => parts,
        };
        let scope = parts.from.as_ref().map_or(Ok(NameScope::default()), |from| self.from(from))?;
        self.within(scope, |inner| {
            let found = inner.result_columns(&parts.columns)?;
            if let Some(scope) = inner.scopes.last_mut() {
                scope.aliases = found.clone();
            }
            inner.optional(parts.filter.as_ref())?;
            inner.exprs(&parts.group)?;
            inner.optional(parts.having.as_ref())?;
            parts.windows.iter().try_for_each(|window| inner.window(window))?;
            inner.sorted(order)?;
            Ok(found)
        })
    }

    fn values(&mut self, rows: &[Vec<ParsedExpr<'_>>]) -> Result<ColumnList> {
        let kinds = rows.iter().map(|row| self.exprs(row)).collect::<Result<Vec<_>>>()?;
        let width = kinds.first().map_or(0, Vec::len);
        let mut columns = ColumnList::default();
        for place in 0..width {
            let mut column = kinds.iter().filter_map(|row| row.get(place)).copied();
            let kind = column.try_fold(ValueKind::Null, ValueKind::unify)?;
            for (row, kinds) in rows.iter().zip(&kinds) {
                if let (Some(e), Some(&from)) = (row.get(place), kinds.get(place)) {
                    self.convert(e, from, kind)?;
                }
            }
            let name = format!("column{}", place + 1);
            columns.list.push(ScopeColumn { name, kind, hidden: false });
        }
        Ok(columns)
    }

    pub(crate) fn result_columns(&mut self, columns: &[ResultTerm<'_>]) -> Result<ColumnList> {
        let mut found = ColumnList::default();
        for column in columns {
            match column {
                ResultTerm::Star => self.star(None, &mut found),
                ResultTerm::TableStar(name) => self.star(Some(name), &mut found),
                ResultTerm::Value(e, alias) => {
                    let kind = self.expr(e)?;
                    let name = match (alias, column_name(e)) {
                        (Some(alias), _) => alias,
                        (None, Some(name)) => name,
                        (None, None) => {
                            self.rewrite.keep_name(e);
                            self.rewrite.source(e.span.clone())
                        }
                    };
                    found.list.push(ScopeColumn { name: name.to_owned(), kind, hidden: false });
                }
            }
        }
        Ok(found)
    }

    fn star(&self, source: Option<&str>, found: &mut ColumnList) {
        let Some(scope) = self.scopes.last() else { return };
        let star = scope.star(source);
        found.open |= star.open;
        found.list.extend(star.list);
    }

    /// The sources of a FROM clause. Its conditions see all of them.
    pub(crate) fn from(&mut self, from: &FromTables<'_>) -> Result<NameScope> {
        let mut scope = NameScope::default();
        self.add_sources(from, &mut scope)?;
        self.within(scope, |inner| {
            inner.join_conditions(from)?;
            Ok(inner.scopes.last().cloned().unwrap_or_default())
        })
    }

    pub(crate) fn add_sources(
        &mut self,
        from: &FromTables<'_>,
        scope: &mut NameScope,
    ) -> Result<()> {
        self.source(&from.first, scope)?;
        for join in &from.joins {
            let before = scope.sources.len();
            self.source(&join.table, scope)?;
            let (left, right) = scope.sources.split_at_mut(before);
            share_columns(join, left, right)?;
        }
        Ok(())
    }

    pub(crate) fn join_conditions(&mut self, from: &FromTables<'_>) -> Result<()> {
        for join in &from.joins {
            self.optional(join.on.as_ref())?;
        }
        let tables = std::iter::once(&from.first).chain(from.joins.iter().map(|join| &join.table));
        for table in tables {
            match &table.source {
                RowSource::Joins(inner) => self.join_conditions(inner)?,
                // Arguments may name the columns of tables before it.
                RowSource::Call(_, arguments) => {
                    for e in arguments {
                        let kind = self.expr(e)?;
                        self.convert(e, kind, ValueKind::Plain)?;
                    }
                }
                RowSource::Table(_) | RowSource::Select(_) => {}
            }
        }
        Ok(())
    }

    fn source(&mut self, table: &FromTable<'_>, scope: &mut NameScope) -> Result<()> {
        let alias = table.alias.clone();
        match &table.source {
            RowSource::Table(table) => {
                let columns = self.relation(table.schema.as_deref(), &table.name)?;
                scope.add(alias.or_else(|| Some(table.name.clone())), columns);
            }
            RowSource::Call(function, _) => {
                scope.add(alias.or_else(|| Some(function.clone())), ColumnList::unknown());
            }
            RowSource::Select(select) => {
                let columns = self.select(select, None)?;
                scope.add(alias, columns);
            }
            RowSource::Joins(from) => {
                let first = scope.sources.len();
                self.add_sources(from, scope)?;
                if alias.is_some() {
                    let sources = scope.sources.split_off(first);
                    let inner = NameScope { sources, ..NameScope::default() };
                    scope.add(alias, inner.star(None));
                }
            }
        }
        Ok(())
    }
}

/// Rejects an order by the place of a column of long decimal numbers.
fn reject_long(order: &[ParsedExpr<'_>], columns: &ColumnList) -> Result<()> {
    let is_long = |e: &ParsedExpr<'_>| match e.kind {
        ExprKind::Number(place) => {
            let place = place.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
            let column = place.and_then(|place| columns.list.get(place));
            column.is_some_and(|column| column.kind == ValueKind::Of(Type::Decimal))
        }
        _ => false,
    };
    if order.iter().any(is_long) { Err(long_decimal()) } else { Ok(()) }
}

/// Records the columns that a join by USING or NATURAL shows once.
fn share_columns(
    join: &JoinedSource<'_>,
    left: &[FromSource],
    right: &mut [FromSource],
) -> Result<()> {
    let left_kind = |name: &str| left.iter().find_map(|source| source.columns.find(name));
    for source in right {
        let shared: Vec<String> = match join.is_natural {
            _ if !join.using.is_empty() => join.using.clone(),
            true => {
                let names = source.columns.list.iter().map(|column| column.name.clone());
                names.filter(|name| left_kind(name).is_some()).collect()
            }
            false => continue,
        };
        for name in &shared {
            if let (Some(left), Some(right)) = (left_kind(name), source.columns.find(name))
                && left.unit() != right.unit()
            {
                let message = format!("a join by the column {name}, which has two types: write ON");
                return Err(unsupported(message));
            }
        }
        source.shared = shared;
    }
    Ok(())
}

/// The name of the column that an expression is.
fn column_name<'e>(e: &'e ParsedExpr<'_>) -> Option<&'e str> {
    match &e.kind {
        ExprKind::Column(_, name) => Some(&name.text),
        ExprKind::Row(inner) if inner.len() == 1 => column_name(inner.first()?),
        _ => None,
    }
}
