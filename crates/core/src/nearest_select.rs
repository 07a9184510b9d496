//! What a query for the nearest rows may have.

use crate::{Error, ErrorKind, Expr, Result, Select, TableSchema};

impl Select {
    /// Checks a query for the nearest rows: that its columns fit, and that it has no order, group, search or lock.
    /// [`Query::to_select`](crate::Query::to_select) and [`nearest_rows`](crate::engine::nearest_rows) call it.
    ///
    /// # Errors
    /// As [`Nearest::check`](crate::nearest::Nearest::check); `Schema` for a distance without a vector; `Unsupported` for
    /// what it can't have.
    pub fn check_nearest(&self) -> Result<()> {
        let fail = |kind, message: &str| Err(Error::new(kind, message).in_table(self.table.name()));
        let Some(nearest) = &self.nearest else {
            return match self.columns.contains(&Expr::Distance) {
                true => {
                    fail(ErrorKind::Schema, "a distance is that of a query for the nearest rows")
                }
                false => Ok(()),
            };
        };
        nearest.check(&self.table)?;
        let message = if self.is_grouped() {
            "the nearest rows can't be grouped, counted or summed: read them"
        } else if self.search.is_some() {
            "a query can't search texts and vectors at once: make two queries"
        } else if self.lock.is_some() {
            "a query for the nearest rows can't lock them: lock them by their keys"
        } else if !self
            .order
            .iter()
            .map(|step| (step.column, step.descending))
            .eq(by_key(&self.table))
        {
            "the nearest rows are sorted by their distance: sort them otherwise after reading"
        } else {
            return Ok(());
        };
        fail(ErrorKind::Unsupported, message)
    }
}

impl Select {
    /// Checks that an engine finds nearest rows, if the query asks for them. Engines without
    /// [`Capabilities::vectors`](crate::Capabilities::vectors) call it before any I/O; `vectors` is that capability.
    ///
    /// # Errors
    /// `Unsupported` if it does not; as [`check_nearest`](Self::check_nearest).
    pub fn check_vectors(&self, engine: &str, vectors: bool) -> Result<()> {
        if self.nearest.is_some() && !vectors {
            let error = Error::unsupported(engine, "queries for the nearest vectors");
            return Err(error.in_table(self.table.name()));
        }
        self.check_nearest()
    }
}

/// The order by key.
fn by_key(table: &TableSchema) -> impl Iterator<Item = (usize, bool)> {
    table.key().iter().map(|&column| (column, false))
}
