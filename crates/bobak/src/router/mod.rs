//! Where an SQL statement runs: on the engine whose tables it uses, or in the federation, which sees the tables of all
//! engines.

#[cfg(feature = "sqlite")]
mod federated;
#[cfg(not(feature = "sqlite"))]
mod unfederated;

#[cfg(feature = "sqlite")]
pub(crate) use federated::Router;
#[cfg(not(feature = "sqlite"))]
pub(crate) use unfederated::Router;

#[cfg(feature = "sqlite")]
use bobak_core::Type;
use bobak_core::{Engine, Parameter, Result, ResultColumn, Row, Session, Source};
use std::sync::Arc;

/// An engine of a database, with its name.
pub(crate) type NamedEngine = (String, Arc<dyn Engine>);

/// Functions written in Rust that SQL may call.
#[cfg(feature = "sqlite")]
pub(crate) type Functions = Vec<bobak_sqlite::Function>;

/// How statements find their routes.
#[derive(Clone)]
pub(crate) struct RouterOptions {
    /// Whether statements may go straight to an engine.
    pub direct: bool,
    /// Whether the SQL of a federation that the main engine does not host is in amounts, dates and times.
    pub typed_sql: bool,
    #[cfg(feature = "sqlite")]
    pub functions: Functions,
}

impl Default for RouterOptions {
    fn default() -> Self {
        Self {
            direct: true,
            typed_sql: true,
            #[cfg(feature = "sqlite")]
            functions: Functions::default(),
        }
    }
}

/// Where a statement runs. Engines are named by their index.
#[derive(Clone, Debug)]
pub(crate) enum StatementRoute {
    /// On an engine, unchanged.
    Text(usize),
    /// On an engine, as a query; its rows have these columns.
    #[cfg(feature = "sqlite")]
    Select(usize, Box<bobak_core::Select>, Arc<Vec<ResultColumn>>),
    /// In the federation.
    #[cfg(feature = "sqlite")]
    Federation,
}

/// Runs a statement; if it has no rows, sets `columns` to what `describe` returns.
pub(crate) fn with_columns(
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    columns: Option<&mut Vec<ResultColumn>>,
    run: impl FnOnce(&mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<()>,
    describe: impl FnOnce() -> Result<Vec<ResultColumn>>,
) -> Result<()> {
    let Some(columns) = columns else { return run(row) };
    let mut is_empty = true;
    run(&mut |found| {
        is_empty = false;
        row(found)
    })?;
    if is_empty {
        *columns = describe()?;
    }
    Ok(())
}

impl StatementRoute {
    /// Runs a query of this route in a session of its engine. If it has no rows, `columns` are set as far as they are known.
    pub(crate) fn query(
        &self,
        session: &dyn Session,
        (text, parameters): (&str, &[Parameter<'_>]),
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
        columns: Option<&mut Vec<ResultColumn>>,
    ) -> Result<()> {
        let run = |row: &mut dyn FnMut(&dyn Row) -> Result<bool>| {
            self.run(session, text, parameters, row)
        };
        with_columns(row, columns, run, || self.columns(session, text, parameters))
    }

    fn run(
        &self,
        session: &dyn Session,
        text: &str,
        parameters: &[Parameter<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Select(_, select, columns) => session
                .query(&Source::Select(select), &mut |found| {
                    row(&RenamedRow { row: found, columns })
                })
                .map_err(|error| error.in_table(select.table.name())),
            _ => session.query(&Source::Sql { text, parameters }, row),
        }
    }

    /// The columns of a statement of this route that returned no rows; none of one that writes if the engine would run it
    /// again.
    pub(crate) fn columns(
        &self,
        session: &dyn Session,
        text: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<ResultColumn>> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Select(_, _, columns) => Ok(columns.to_vec()),
            // The schema is another one after some statements: these have no columns.
            _ if !bobak_sql::returns_rows(text) => Ok(Vec::new()),
            _ => {
                if let Ok(Some(columns)) = session.result_columns(text, parameters) {
                    return Ok(columns);
                }
                if !bobak_sql::only_reads(text) {
                    return Ok(Vec::new());
                }
                let mut cursor = session.open(&Source::Sql { text, parameters })?;
                let columns = cursor.columns.to_vec();
                session.close(&mut cursor);
                Ok(columns)
            }
        }
    }
}

/// A row with the columns of the statement.
#[cfg(feature = "sqlite")]
struct RenamedRow<'a> {
    row: &'a dyn Row,
    columns: &'a [ResultColumn],
}

#[cfg(feature = "sqlite")]
impl Row for RenamedRow<'_> {
    fn len(&self) -> usize {
        self.row.len()
    }

    fn get(&self, column: usize) -> bobak_core::ValueRef<'_> {
        self.row.get(column)
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.columns.get(column).map(|column| column.name.as_str())
    }

    fn ty(&self, column: usize) -> Type {
        self.columns.get(column).map_or(Type::Any, |column| column.ty)
    }
}
