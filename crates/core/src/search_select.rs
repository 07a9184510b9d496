//! Queries that search.

use crate::schema::SearchSchema;
use crate::search::{Search, SearchQuery};
use crate::{Error, ErrorKind, Expr, Result, Select};
use std::sync::Arc;

impl Select {
    /// The same query of the rows whose texts fit, the best first if `ranked`.
    ///
    /// # Errors
    /// `Schema` if the table is not searched.
    pub fn searching(mut self, query: Arc<SearchQuery>, ranked: bool) -> Result<Self> {
        self.search = Some(Search { query, ranked });
        self.search_schema()?;
        Ok(self)
    }

    /// Checks that an engine can run the query, if it searches. Engines call it before any I/O; `searches` is their
    /// [`Capabilities::search`](crate::Capabilities::search).
    ///
    /// # Errors
    /// `Unsupported` if the engine does not search; `Schema` if the table is not searched, or a rank is selected
    /// without a search.
    #[inline]
    pub fn check_search(&self, engine: &str, searches: bool) -> Result<()> {
        if self.search.is_none() && !self.columns.contains(&Expr::Rank) {
            return Ok(());
        }
        self.check_searching(engine, searches)
    }

    #[cold]
    fn check_searching(&self, engine: &str, searches: bool) -> Result<()> {
        if !searches {
            return Err(Error::unsupported(engine, "full-text search").in_table(self.table.name()));
        }
        if self.search.is_none() || self.is_grouped() && self.columns.contains(&Expr::Rank) {
            let message = "a rank is that of a row which a search found";
            return Err(Error::new(ErrorKind::Schema, message).in_table(self.table.name()));
        }
        self.search_schema().map(|_| ())
    }

    /// What the table is searched by.
    ///
    /// # Errors
    /// `Schema` if it is not searched.
    pub fn search_schema(&self) -> Result<&SearchSchema> {
        self.table.search().ok_or_else(|| {
            let message = "the table is not searched, or an earlier version of Bobak made its index: declare the \
                           columns that are searched, such as `#[record(search(title, body))]`, and call \
                           create_missing_tables, or add a migration with `add search`";
            Error::new(ErrorKind::Schema, message).in_table(self.table.name())
        })
    }
}
