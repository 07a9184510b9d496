//! What a session queries.

use crate::{Error, Expr, Parameter, Result, ResultColumn, Select};

/// A query: where rows come from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A query over one table. Every engine runs these.
    Select(&'a Select),
    /// One SQL statement. Only engines with [`Capabilities::sql`](crate::Capabilities::sql) run
    /// these.
    Sql {
        /// The text, with `?` for each parameter.
        text: &'a str,
        /// The parameters.
        parameters: &'a [Parameter<'a>],
    },
}

impl<'a> Source<'a> {
    /// Whether it asks for the [nearest](Select::nearest) rows.
    #[must_use]
    pub const fn is_nearest(&self) -> bool {
        matches!(self, Source::Select(select) if select.nearest.is_some())
    }

    /// The query over one table, for an engine without SQL.
    ///
    /// # Errors
    /// `Unsupported` for SQL text.
    pub fn as_select(&self, engine: &str) -> Result<&'a Select> {
        match self {
            Source::Select(select) => Ok(select),
            Source::Sql { .. } => Err(Error::unsupported(engine, "SQL")),
        }
    }

    /// The columns of a query's result: those of the table, or `count`, `sum_x`, `min_x`, … with their
    /// types.
    #[must_use]
    pub fn select_columns(select: &Select) -> Vec<ResultColumn> {
        let table = &select.table;
        let name = |index: usize| table.columns().get(index).map_or("", |c| c.name.as_ref());
        let column = |expr: &Expr| {
            let name = match *expr {
                Expr::Column(c) => name(c).to_owned(),
                Expr::Rank => "rank".to_owned(),
                Expr::Distance => "distance".to_owned(),
                Expr::Count => "count".to_owned(),
                Expr::CountOf(c) => format!("count_{}", name(c)),
                Expr::Sum(c) => format!("sum_{}", name(c)),
                Expr::Min(c) => format!("min_{}", name(c)),
                Expr::Max(c) => format!("max_{}", name(c)),
                Expr::Avg(c) => format!("avg_{}", name(c)),
            };
            ResultColumn::new(name, expr.ty(table))
        };
        select.columns.iter().map(column).collect()
    }
}
