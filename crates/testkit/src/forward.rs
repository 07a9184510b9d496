//! Sessions that stand before another: what they pass on as it is.

/// Defines methods of [`Session`](bobak_core::Session) that call those of the session in a field;
/// with `after`, a method that is called before, and whose error is given instead.
macro_rules! forward {
    ($inner:ident after $first:ident: $($method:ident),+) => {
        $($crate::forward::forward!(@ $method $inner $first);)+
    };
    ($inner:ident: $($method:ident),+) => {
        $($crate::forward::forward!(@ $method $inner);)+
    };
    (@ tables $inner:ident $($first:ident)?) => {
        fn tables(&self) -> bobak_core::Result<Vec<bobak_core::TableSchema>> {
            $(self.$first()?;)?
            self.$inner.tables()
        }
    };
    (@ alter $inner:ident $($first:ident)?) => {
        fn alter(&self, changes: &[bobak_core::SchemaChange]) -> bobak_core::Result<()> {
            $(self.$first()?;)?
            self.$inner.alter(changes)
        }
    };
    (@ write $inner:ident $($first:ident)?) => {
        fn write(&self, write: &bobak_core::Write<'_>) -> bobak_core::Result<bobak_core::Outcome> {
            $(self.$first()?;)?
            self.$inner.write(write)
        }
    };
    (@ change $inner:ident $($first:ident)?) => {
        fn change(&self, change: &bobak_core::Change<'_>) -> bobak_core::Result<u64> {
            $(self.$first()?;)?
            self.$inner.change(change)
        }
    };
    (@ batch $inner:ident $($first:ident)?) => {
        fn batch(
            &self,
            batch: &bobak_core::Batch,
            on_error: bobak_core::OnError,
            each: &mut dyn FnMut(bobak_core::Result<bobak_core::Outcome>),
        ) -> bobak_core::Result<()> {
            $(self.$first()?;)?
            self.$inner.batch(batch, on_error, each)
        }
    };
    (@ get $inner:ident $($first:ident)?) => {
        fn get(
            &self,
            table: &std::sync::Arc<bobak_core::TableSchema>,
            key: &[bobak_core::Value<'_>],
            row: &mut dyn FnMut(&dyn bobak_core::Row) -> bobak_core::Result<()>,
        ) -> bobak_core::Result<bool> {
            $(self.$first()?;)?
            self.$inner.get(table, key, row)
        }
    };
    (@ query $inner:ident $($first:ident)?) => {
        fn query(
            &self,
            source: &bobak_core::Source<'_>,
            row: &mut dyn FnMut(&dyn bobak_core::Row) -> bobak_core::Result<bool>,
        ) -> bobak_core::Result<()> {
            $(self.$first()?;)?
            self.$inner.query(source, row)
        }
    };
    (@ open $inner:ident $($first:ident)?) => {
        fn open(
            &self,
            source: &bobak_core::Source<'_>,
        ) -> bobak_core::Result<bobak_core::Cursor> {
            $(self.$first()?;)?
            self.$inner.open(source)
        }
    };
    (@ fetch $inner:ident $($first:ident)?) => {
        fn fetch(
            &self,
            cursor: bobak_core::CursorId,
            rows: &mut bobak_core::RowBuffer,
        ) -> bobak_core::Result<()> {
            $(self.$first()?;)?
            self.$inner.fetch(cursor, rows)
        }
    };
    (@ close $inner:ident) => {
        fn close(&self, cursor: bobak_core::CursorId) {
            self.$inner.close(cursor);
        }
    };
    (@ execute $inner:ident $($first:ident)?) => {
        fn execute(
            &self,
            sql: &str,
            parameters: &[bobak_core::Value<'_>],
        ) -> bobak_core::Result<u64> {
            $(self.$first()?;)?
            self.$inner.execute(sql, parameters)
        }
    };
}

pub(crate) use forward;
