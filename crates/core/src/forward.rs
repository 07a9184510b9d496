//! Engines and sessions that stand before another: what they pass on as it is.

/// Defines methods of [`Engine`](crate::Engine) or [`Session`](crate::Session) that call those of
/// the one in a field; with `after`, a method that is called before, and whose error is given
/// instead. For Bobak's own crates.
#[doc(hidden)]
#[macro_export]
macro_rules! forward {
    ($inner:tt after $first:ident: $($method:ident),+) => {
        $($crate::forward!(@ $method $inner $first);)+
    };
    ($inner:tt: $($method:ident),+) => {
        $($crate::forward!(@ $method $inner);)+
    };
    (@ tables $inner:tt $($first:ident)?) => {
        fn tables(&self) -> $crate::Result<Vec<$crate::TableSchema>> {
            $(self.$first()?;)?
            self.$inner.tables()
        }
    };
    (@ triggers $inner:tt $($first:ident)?) => {
        fn triggers(&self) -> $crate::Result<Option<Vec<$crate::feed::Trigger>>> {
            $(self.$first()?;)?
            self.$inner.triggers()
        }
    };
    (@ alter $inner:tt $($first:ident)?) => {
        fn alter(&self, changes: &[$crate::SchemaChange]) -> $crate::Result<()> {
            $(self.$first()?;)?
            self.$inner.alter(changes)
        }
    };
    (@ write $inner:tt $($first:ident)?) => {
        fn write(&self, write: &$crate::Write<'_>) -> $crate::Result<$crate::Outcome> {
            $(self.$first()?;)?
            self.$inner.write(write)
        }
    };
    (@ control $inner:tt $($first:ident)?) => {
        fn control(&self, step: $crate::Control<'_>) -> $crate::Result<()> {
            $(self.$first()?;)?
            self.$inner.control(step)
        }
    };
    (@ change $inner:tt $($first:ident)?) => {
        fn change(&self, change: &$crate::Change<'_>) -> $crate::Result<u64> {
            $(self.$first()?;)?
            self.$inner.change(change)
        }
    };
    (@ batch $inner:tt $($first:ident)?) => {
        fn batch(
            &self,
            batch: &$crate::Batch,
            on_error: $crate::OnError,
            each: &mut dyn FnMut($crate::Result<$crate::Outcome>),
        ) -> $crate::Result<()> {
            $(self.$first()?;)?
            self.$inner.batch(batch, on_error, each)
        }
    };
    (@ get $inner:tt $($first:ident)?) => {
        fn get(
            &self,
            table: &std::sync::Arc<$crate::TableSchema>,
            key: &[$crate::Value<'_>],
            row: &mut dyn FnMut(&dyn $crate::Row) -> $crate::Result<()>,
        ) -> $crate::Result<bool> {
            $(self.$first()?;)?
            self.$inner.get(table, key, row)
        }
    };
    (@ query $inner:tt $($first:ident)?) => {
        fn query(
            &self,
            source: &$crate::Source<'_>,
            row: &mut dyn FnMut(&dyn $crate::Row) -> $crate::Result<bool>,
        ) -> $crate::Result<()> {
            $(self.$first()?;)?
            self.$inner.query(source, row)
        }
    };
    (@ open $inner:tt $($first:ident)?) => {
        fn open(
            &self,
            source: &$crate::Source<'_>,
        ) -> $crate::Result<$crate::Cursor> {
            $(self.$first()?;)?
            self.$inner.open(source)
        }
    };
    (@ fetch $inner:tt $($first:ident)?) => {
        fn fetch(
            &self,
            cursor: $crate::CursorId,
            rows: &mut $crate::RowBuffer,
        ) -> $crate::Result<()> {
            $(self.$first()?;)?
            self.$inner.fetch(cursor, rows)
        }
    };
    (@ close $inner:tt) => {
        fn close(&self, cursor: $crate::CursorId) {
            self.$inner.close(cursor);
        }
    };
    (@ execute $inner:tt $($first:ident)?) => {
        fn execute(
            &self,
            sql: &str,
            parameters: &[$crate::Value<'_>],
        ) -> $crate::Result<u64> {
            $(self.$first()?;)?
            self.$inner.execute(sql, parameters)
        }
    };
    (@ set_actor $inner:tt) => {
        fn set_actor(&self, who: Option<&str>) -> $crate::Result<()> {
            self.$inner.set_actor(who)
        }
    };
    (@ begin_reading $inner:tt) => {
        fn begin_reading(&self) -> $crate::Result<()> {
            self.$inner.begin_reading()
        }
    };
    (@ side_effects $inner:tt) => {
        fn side_effects(&self) -> $crate::Result<$crate::SideEffects> {
            self.$inner.side_effects()
        }
    };
    (@ set_authorizer $inner:tt) => {
        fn set_authorizer(&self, guard: std::sync::Arc<dyn $crate::SqlAuthorizer>) -> $crate::Result<()> {
            self.$inner.set_authorizer(guard)
        }
    };
    (@ name $inner:tt) => {
        fn name(&self) -> &'static str {
            self.$inner.name()
        }
    };
    (@ capabilities $inner:tt) => {
        fn capabilities(&self) -> $crate::Capabilities {
            self.$inner.capabilities()
        }
    };
    (@ estimate $inner:tt) => {
        fn estimate(&self, table: &$crate::TableSchema) -> $crate::Estimate {
            self.$inner.estimate(table)
        }
    };
    (@ flush $inner:tt) => {
        fn flush(&self) -> $crate::Result<()> {
            self.$inner.flush()
        }
    };
    (@ backup $inner:tt) => {
        fn backup(&self, job: $crate::BackupJob<'_>) -> $crate::Result<$crate::BackupContent> {
            self.$inner.backup(job)
        }
    };
}
