//! Opening queries, and queries over several tables.

use super::client_session::ClientSession;
use bobak_core::{Cursor, Join, Result, ResultColumn, RowBuffer, Source};
use bobak_wire::OwnedSource;
use std::sync::Arc;

impl ClientSession<'_> {
    /// Opens a query; `None` for a join that the server does not run.
    pub fn open_query(&self, source: OwnedSource) -> Result<Option<Cursor>> {
        match source {
            OwnedSource::Select(mut select) => {
                select.condition = self.with_values(select.condition.take())?;
                self.session.open(&Source::Select(&select)).map(Some)
            }
            OwnedSource::Sql { text, parameters } => {
                let source = Source::Sql { text: &text, parameters: &parameters };
                self.session.open(&source).map(Some)
            }
            OwnedSource::Join(join) => self.open_join(&join),
        }
    }

    /// A cursor with the rows of a join; `None` if the engine does not run it, or if the rows have more bytes than a request
    /// may have.
    fn open_join(&self, join: &Join) -> Result<Option<Cursor>> {
        let limit = self.shared.settings.max_frame as usize;
        let (mut rows, mut fits) = (RowBuffer::default(), true);
        let ran = self.session.join(join, &mut |row| {
            rows.push(row)?;
            fits = rows.bytes() <= limit;
            Ok(fits)
        })?;
        let columns = join.columns.iter().enumerate();
        let columns = columns.map(|(n, expr)| ResultColumn::new(format!("c{n}"), expr.ty(join)));
        let columns = Arc::new(columns.collect());
        Ok((ran && fits).then(|| Cursor::buffered(columns, rows)))
    }
}
