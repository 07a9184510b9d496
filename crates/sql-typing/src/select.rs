//! SELECT, VALUES, common table expressions and FROM clauses.

use crate::analyzer::Analyzer;
use crate::kind::{ValueKind, long_decimal, unsupported};
use crate::scope::{ColumnList, FromSource, NameScope, ScopeColumn};
use bobak_core::sql_token::{SqlSyntax, SqlTokenizer};
use bobak_core::{Result, Type};
use turso_parser::ast::{
    As, CommonTableExpr, Expr, FromClause, JoinConstraint, JoinOperator, JoinType,
    JoinedSelectTable, Literal, Name, OneSelect, ResultColumn, Select, SelectTable, SortedColumn,
    With,
};

/// How often the types of a recursive common table expression are inferred.
const MAX_ROUNDS: usize = 4;

impl Analyzer<'_> {
    /// Rewrites a SELECT. Its columns get the `wanted` kinds, if there are any.
    pub(crate) fn select(
        &mut self,
        select: &mut Select,
        wanted: Option<&[ValueKind]>,
    ) -> Result<ColumnList> {
        let outer = self.ctes.len();
        let with = select.with.as_mut().map_or(Ok(()), |with| self.with(with));
        let columns = with.and_then(|()| self.body(select, wanted));
        self.ctes.truncate(outer);
        columns
    }

    pub(crate) fn with(&mut self, with: &mut With) -> Result<()> {
        with.ctes.iter_mut().try_for_each(|cte| {
            let columns = self.cte(cte)?;
            self.ctes.push((cte.tbl_name.as_str().to_owned(), columns));
            Ok(())
        })
    }

    /// A common table expression. Its own name stands for what its first part returns, until the
    /// kinds of all parts agree.
    fn cte(&mut self, cte: &mut CommonTableExpr) -> Result<ColumnList> {
        let name = cte.tbl_name.as_str().to_owned();
        let named = |mut columns: ColumnList| {
            for (column, given) in columns.list.iter_mut().zip(&cte.columns) {
                given.col_name.as_str().clone_into(&mut column.name);
            }
            columns
        };
        let original = cte.select.clone();
        if original.body.compounds.is_empty() {
            return self.select(&mut cte.select, None).map(named);
        }
        let mut first = Select { order_by: Vec::new(), limit: None, ..original.clone() };
        first.body.compounds.clear();
        let mut columns = named(self.select(&mut first, None)?);
        for _ in 0..MAX_ROUNDS {
            let mut select = original.clone();
            self.ctes.push((name.clone(), columns.clone()));
            let found = self.select(&mut select, Some(&columns.kinds()));
            self.ctes.pop();
            // The parts may need another kind than the first has.
            let mut free = original.clone();
            self.ctes.push((name.clone(), columns.clone()));
            let unified = self.select(&mut free, None);
            self.ctes.pop();
            let unified = named(unified?);
            if unified.kinds().iter().zip(columns.kinds()).all(|(u, k)| u.unit() == k.unit()) {
                found?;
                cte.select = select;
                return Ok(columns);
            }
            columns = unified;
        }
        Err(unsupported("a recursive query whose columns change their types"))
    }

    fn body(&mut self, select: &mut Select, wanted: Option<&[ValueKind]>) -> Result<ColumnList> {
        let Select { body, order_by, limit, .. } = select;
        let is_simple = body.compounds.is_empty();
        let (order, mut none) = (order_by, Vec::new());
        let first_order: &mut [SortedColumn] = if is_simple { &mut *order } else { &mut none };
        let mut columns = self.one_select(&mut body.select, first_order)?;
        let mut arms = vec![columns.kinds()];
        for compound in &mut body.compounds {
            let others = self.one_select(&mut compound.select, &mut [])?;
            columns.open |= others.open;
            arms.push(others.kinds());
        }
        for (place, column) in columns.list.iter_mut().enumerate() {
            let mut kinds = arms.iter().filter_map(|arm| arm.get(place)).copied();
            column.kind = match wanted.and_then(|wanted| wanted.get(place)) {
                Some(wanted) => *wanted,
                None => kinds.try_fold(ValueKind::Null, ValueKind::unify)?,
            };
        }
        let every = body.compounds.iter_mut().map(|compound| &mut compound.select);
        for (arm, kinds) in std::iter::once(&mut body.select).chain(every).zip(&arms) {
            for (place, (&from, column)) in kinds.iter().zip(&columns.list).enumerate() {
                self.convert_arm(arm, place, from, column.kind)?;
            }
        }
        if !is_simple {
            let scope = NameScope { aliases: columns.clone(), ..NameScope::default() };
            self.within(scope, |inner| inner.sorted(order))?;
        }
        let is_long = |column: &SortedColumn| match &*column.expr {
            Expr::Literal(Literal::Numeric(place)) => {
                let place = place.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
                let column = place.and_then(|place| columns.list.get(place));
                column.is_some_and(|column| column.kind == ValueKind::Of(Type::Decimal))
            }
            _ => false,
        };
        if order.iter().any(is_long) {
            return Err(long_decimal());
        }
        if let Some(limit) = limit {
            self.expr(&mut limit.expr)?;
            self.optional(&mut limit.offset)?;
        }
        Ok(columns)
    }

    /// Converts one result column of a SELECT.
    pub(crate) fn convert_column(
        &self,
        select: &mut Select,
        place: usize,
        from: ValueKind,
        to: ValueKind,
    ) -> Result<()> {
        let others = select.body.compounds.iter_mut().map(|compound| &mut compound.select);
        std::iter::once(&mut select.body.select)
            .chain(others)
            .try_for_each(|arm| self.convert_arm(arm, place, from, to))
    }

    fn convert_arm(
        &self,
        arm: &mut OneSelect,
        place: usize,
        from: ValueKind,
        to: ValueKind,
    ) -> Result<()> {
        if self.stored || from.unit() == to.unit() && from.unit().is_some() {
            return Ok(());
        }
        match arm {
            OneSelect::Values(rows) => {
                rows.iter_mut().try_for_each(|row| match row.get_mut(place) {
                    // Each row's own kind is known from what it is; the column's is that of all rows.
                    Some(e) => self.convert(
                        e,
                        if from == ValueKind::Null { ValueKind::Plain } else { from },
                        to,
                    ),
                    None => Ok(()),
                })
            }
            OneSelect::Select { columns, .. } => {
                if from.unit().is_none() && to.unit().is_none() {
                    return Ok(());
                }
                if columns.iter().any(|column| !matches!(column, ResultColumn::Expr(..))) {
                    return Err(unsupported("name the columns instead of *: some need conversion"));
                }
                match columns.get_mut(place) {
                    Some(ResultColumn::Expr(e, _)) => self.convert(e, from, to),
                    _ => Ok(()),
                }
            }
        }
    }

    fn one_select(
        &mut self,
        select: &mut OneSelect,
        order: &mut [SortedColumn],
    ) -> Result<ColumnList> {
        match select {
            OneSelect::Values(rows) => self.values(rows),
            OneSelect::Select { columns, from, where_clause, group_by, window_clause, .. } => {
                let scope =
                    from.as_mut().map_or(Ok(NameScope::default()), |from| self.from(from))?;
                self.within(scope, |inner| {
                    let found = inner.result_columns(columns)?;
                    if let Some(scope) = inner.scopes.last_mut() {
                        scope.aliases = found.clone();
                    }
                    inner.optional(where_clause)?;
                    if let Some(group_by) = group_by {
                        inner.exprs(&mut group_by.exprs)?;
                        inner.optional(&mut group_by.having)?;
                    }
                    for definition in window_clause {
                        inner.window(&mut definition.window)?;
                    }
                    inner.sorted(order)?;
                    Ok(found)
                })
            }
        }
    }

    #[expect(clippy::vec_box, reason = "the parser's type")]
    fn values(&mut self, rows: &mut [Vec<Box<Expr>>]) -> Result<ColumnList> {
        let kinds = rows.iter_mut().map(|row| self.exprs(row)).collect::<Result<Vec<_>>>()?;
        let width = kinds.first().map_or(0, Vec::len);
        let mut columns = ColumnList::default();
        for place in 0..width {
            let mut column = kinds.iter().filter_map(|row| row.get(place)).copied();
            let kind = column.try_fold(ValueKind::Null, ValueKind::unify)?;
            for (row, kinds) in rows.iter_mut().zip(&kinds) {
                if let (Some(e), Some(&from)) = (row.get_mut(place), kinds.get(place)) {
                    self.convert(e, from, kind)?;
                }
            }
            let name = format!("column{}", place + 1);
            columns.list.push(ScopeColumn { name, kind, hidden: false });
        }
        Ok(columns)
    }

    pub(crate) fn result_columns(&mut self, columns: &mut [ResultColumn]) -> Result<ColumnList> {
        let mut found = ColumnList::default();
        for column in columns {
            match column {
                ResultColumn::Star => self.star(None, &mut found),
                ResultColumn::TableStar(name) => self.star(Some(name.as_str()), &mut found),
                ResultColumn::Expr(e, alias) => {
                    keep_name(e, alias);
                    let kind = self.expr(e)?;
                    let name = match (alias.as_ref(), column_name(e)) {
                        (Some(alias), _) if alias.is_explicit() => alias.name().as_str(),
                        (_, Some(name)) => name.as_str(),
                        _ => "",
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
    pub(crate) fn from(&mut self, from: &mut FromClause) -> Result<NameScope> {
        let mut scope = NameScope::default();
        self.add_sources(from, &mut scope)?;
        self.within(scope, |inner| {
            inner.join_conditions(from)?;
            Ok(inner.scopes.last().cloned().unwrap_or_default())
        })
    }

    pub(crate) fn add_sources(
        &mut self,
        from: &mut FromClause,
        scope: &mut NameScope,
    ) -> Result<()> {
        self.source(&mut from.select, scope)?;
        for join in &mut from.joins {
            let before = scope.sources.len();
            self.source(&mut join.table, scope)?;
            let (left, right) = scope.sources.split_at_mut(before);
            share_columns(join, left, right)?;
        }
        Ok(())
    }

    pub(crate) fn join_conditions(&mut self, from: &mut FromClause) -> Result<()> {
        let mut nested = vec![&mut *from.select];
        for join in &mut from.joins {
            nested.push(&mut join.table);
            if let Some(JoinConstraint::On(condition)) = &mut join.constraint {
                self.expr(condition)?;
            }
        }
        for table in nested {
            match table {
                SelectTable::Sub(inner, _) => self.join_conditions(inner)?,
                // Arguments may name the columns of tables before it.
                SelectTable::TableCall(_, args, _) => self.table_arguments(args)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn table_arguments(&mut self, args: &mut [Box<Expr>]) -> Result<()> {
        for e in args {
            let kind = self.expr(e)?;
            self.convert(e, kind, ValueKind::Plain)?;
        }
        Ok(())
    }

    fn source(&mut self, table: &mut SelectTable, scope: &mut NameScope) -> Result<()> {
        let name =
            |alias: &Option<As>| alias.as_ref().map(|alias| alias.name().as_str().to_owned());
        match table {
            SelectTable::Table(table, alias, _) => {
                let schema = table.db_name.as_ref().map(Name::as_str);
                let columns = self.relation(schema, table.name.as_str())?;
                let own = || Some(table.name.as_str().to_owned());
                scope.add(name(alias).or_else(own), columns);
            }
            SelectTable::TableCall(function, _, alias) => {
                let own = Some(function.name.as_str().to_owned());
                scope.add(name(alias).or(own), ColumnList::unknown());
            }
            SelectTable::Select(select, alias) => {
                let columns = self.select(select, None)?;
                scope.add(name(alias), columns);
            }
            SelectTable::Sub(from, alias) => {
                let first = scope.sources.len();
                self.add_sources(from, scope)?;
                if let Some(alias) = name(alias) {
                    let sources = scope.sources.split_off(first);
                    let inner = NameScope { sources, ..NameScope::default() };
                    scope.add(Some(alias), inner.star(None));
                }
            }
        }
        Ok(())
    }
}

/// Records the columns that a join by USING or NATURAL shows once.
fn share_columns(
    join: &JoinedSelectTable,
    left: &[FromSource],
    right: &mut [FromSource],
) -> Result<()> {
    let is_natural = matches!(join.operator, JoinOperator::TypedJoin(Some(kind)) if kind.contains(JoinType::NATURAL));
    let left_kind = |name: &str| left.iter().find_map(|source| source.columns.find(name));
    for source in right {
        let shared: Vec<String> = match &join.constraint {
            Some(JoinConstraint::Using(names)) => {
                names.iter().map(|name| name.as_str().to_owned()).collect()
            }
            _ if is_natural => {
                let names = source.columns.list.iter().map(|column| column.name.clone());
                names.filter(|name| left_kind(name).is_some()).collect()
            }
            _ => continue,
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
fn column_name(e: &Expr) -> Option<&Name> {
    match e {
        Expr::Id(name) | Expr::Name(name) => Some(name),
        Expr::Qualified(_, name) | Expr::DoublyQualified(_, _, name) => Some(name),
        Expr::Parenthesized(inner) if inner.len() == 1 => column_name(inner.first()?),
        _ => None,
    }
}

/// SQLite names a column without an alias after the text of its expression, which may change.
fn keep_name(e: &Expr, alias: &mut Option<As>) {
    let Some(As::ImplicitColumnName(text)) = &*alias else { return };
    *alias = column_name(e).is_none().then(|| {
        let tokens = SqlTokenizer::new(SqlSyntax::Sqlite, text.as_str()).significant();
        let end = tokens.last().map_or(0, |token| token.end());
        As::As(Name::exact(text.as_str().get(..end).unwrap_or_default().to_owned()))
    });
}
