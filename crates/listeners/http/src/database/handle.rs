//! A database under its name, as one client may see it.

use crate::database::change_feed::ChangeFeed;
use crate::database::schema_cache::SchemaCache;
use crate::database::table::CachedTable;
use crate::problem::Problem;
use crate::workers::blocking;
use bobak::aio::{RowWriter, Workers};
use bobak_core::{Engine, Result};
use bobak_permissions::ProtectedDatabase;
use std::sync::Arc;

/// A database as one client, or all operators, may see it.
pub(crate) struct DatabaseHandle {
    pub name: String,
    pub engine: Arc<dyn Engine>,
    /// The database without the client's permissions.
    pub protected: Arc<ProtectedDatabase>,
    /// The tables that the client may see.
    pub schema: Arc<SchemaCache>,
    /// Groups concurrent single-row writes; `None` if the engine takes concurrent writers, which
    /// then need no grouping.
    pub writer: Option<RowWriter>,
    pub feed: ChangeFeed,
    /// Whether reading a short row takes less time than waking another thread.
    reads_inline: bool,
}

impl DatabaseHandle {
    /// A database of which nothing is cached yet.
    pub fn new(
        protected: Arc<ProtectedDatabase>,
        engine: Arc<dyn Engine>,
        feed: ChangeFeed,
        writers: &Workers,
    ) -> Self {
        let schema = SchemaCache::new(Arc::clone(&engine), Arc::default());
        Self::with_schema(protected, engine, feed, writers, schema)
    }

    /// The same database as another client sees it, through an engine that checks their permissions.
    pub fn restricted(&self, engine: Arc<dyn Engine>, feed: ChangeFeed, writers: &Workers) -> Self {
        let schema = SchemaCache::new(Arc::clone(&engine), self.schema.generation());
        Self::with_schema(Arc::clone(&self.protected), engine, feed, writers, schema)
    }

    fn with_schema(
        protected: Arc<ProtectedDatabase>,
        engine: Arc<dyn Engine>,
        feed: ChangeFeed,
        writers: &Workers,
        schema: SchemaCache,
    ) -> Self {
        let capabilities = engine.capabilities();
        let writer = (!capabilities.concurrent_writers)
            .then(|| RowWriter::new(Arc::clone(&engine), writers));
        Self {
            name: protected.name().to_owned(),
            engine,
            protected,
            schema: Arc::new(schema),
            writer,
            feed,
            reads_inline: capabilities.nonblocking_get,
        }
    }

    /// Reads one row of a table: on this thread if that takes less time than waking another one, else
    /// on a worker thread.
    ///
    /// # Errors
    /// Those of `read`.
    pub async fn read<R: Send + 'static>(
        self: &Arc<Self>,
        table: &CachedTable,
        read: impl FnOnce(&dyn Engine) -> Result<R, Problem> + Send + 'static,
    ) -> Result<R, Problem> {
        if self.reads_inline && !table.has_long_rows() {
            return blocking::labelled(|| read(&*self.engine));
        }
        let database = Arc::clone(self);
        blocking::run(move || read(&*database.engine)).await
    }
}
