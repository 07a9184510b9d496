//! Layers: engines in front of another engine, which delegate what they do not change.
//!
//! A cache, a permission check or a fault injector is a layer. It implements [`EngineLayer`] and
//! [`SessionLayer`] instead of [`Engine`] and [`Session`], names the inner engine and session, and
//! overrides only the methods that it changes.

use super::fallback;
use super::plan::{ExplainedQuery, PlanStep};
use crate::change_log::Trigger;
use crate::rules::FieldRules;
use crate::statements::StatementMonitor;
use crate::{
    BackupContent, BackupFormat, BackupJob, BulkChange, Capabilities, Cursor, Engine, Estimate,
    Join, LengthLimit, OnError, Outcome, Parameter, QueryTemplate, Result, ResultColumn, Row,
    RowBuffer, SchemaChange, SchemaDetails, Session, SideEffects, SlotValues, Source,
    SqlAuthorizer, TableSchema, TransactionControl, Value, ValueAddress, ValueRange, ValueState,
    Write, WriteBatch,
};
use std::any::Any;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Declares a layer trait whose methods delegate to the inner object, and implements the trait that
/// it layers for all of its implementors.
macro_rules! layer {
    (
        $(#[$doc:meta])*
        $layer:ident: $($bound:ident),+ => $target:ident, $inner:ty, $inner_doc:literal;
        delegates { $(fn $method:ident(&self $(, $arg:ident: $type:ty)*) $(-> $result:ty)?;)+ }
        $(in_front { $(fn $front:ident(&$this:ident $(, $front_arg:ident: $front_type:ty)*) -> $front_result:ty $front_body:block)+ })?
        $(builds_on_session { $(fn $by:ident(&self $(, $by_arg:ident: $by_type:ty)*) -> $by_result:ty;)+ })?
    ) => {
        $(#[$doc])*
        pub trait $layer: $($bound +)+ {
            #[doc = $inner_doc]
            fn inner(&self) -> $inner;
            $(
                #[doc = concat!("See [`", stringify!($target), "::", stringify!($method), "`].")]
                #[doc = "\n\n# Errors\nAs there."]
                #[inline]
                fn $method(&self $(, $arg: $type)*) $(-> $result)? {
                    self.inner().$method($($arg),*)
                }
            )+
            $($(
                #[doc = concat!("See [`", stringify!($target), "::", stringify!($front), "`]. Default: by the other methods of this layer.")]
                #[doc = "\n\n# Errors\nAs there."]
                fn $front(&$this $(, $front_arg: $front_type)*) -> $front_result $front_body
            )+)?
            $(
                /// Opens a session, as a rule one in front of the inner engine's.
                ///
                /// # Errors
                /// As [`Engine::session`].
                fn session(&self) -> Result<Box<dyn Session + '_>>;
                $(
                    #[doc = concat!("See [`Engine::", stringify!($by), "`].")]
                    #[doc = "\n\n# Errors\nAs there."]
                    fn $by(&self $(, $by_arg: $by_type)*) -> $by_result {
                        self.session()?.$by($($by_arg),*)
                    }
                )+
            )?
        }

        impl<L: $layer> $target for L {
            $(
                #[inline]
                fn $method(&self $(, $arg: $type)*) $(-> $result)? {
                    <L as $layer>::$method(self $(, $arg)*)
                }
            )+
            $($(
                fn $front(&self $(, $front_arg: $front_type)*) -> $front_result {
                    <L as $layer>::$front(self $(, $front_arg)*)
                }
            )+)?
            $(
                fn session(&self) -> Result<Box<dyn Session + '_>> {
                    <L as $layer>::session(self)
                }
                $(
                    #[inline]
                    fn $by(&self $(, $by_arg: $by_type)*) -> $by_result {
                        <L as $layer>::$by(self $(, $by_arg)*)
                    }
                )+
            )?
        }
    };
}

layer! {
    /// An engine in front of another engine. Its implementors are [`Engine`]s.
    ///
    /// `write`, `get`, `tables` and `alter` go through [`session`](EngineLayer::session), so an
    /// operation cannot bypass what the layer's sessions do. A layer may override them to use the
    /// inner engine's faster ways.
    EngineLayer: Any, Send, Sync => Engine, &dyn Engine, "The engine behind this one.";
    delegates {
        fn name(&self) -> &'static str;
        fn capabilities(&self) -> Capabilities;
        fn estimate(&self, table: &TableSchema) -> Estimate;
        fn length_limit(&self, table: &TableSchema, column: usize) -> Option<LengthLimit>;
        fn statements(&self) -> Option<&Arc<StatementMonitor>>;
        fn field_rules(&self, table: &TableSchema) -> Vec<FieldRules>;
        fn flush(&self) -> Result<()>;
        fn backup(&self, job: BackupJob<'_>) -> Result<BackupContent>;
        fn backup_format(&self) -> Option<BackupFormat>;
        fn backup_key(&self) -> Option<&dyn Any>;
        fn open_backup(&self, file: &Path) -> Result<Option<Box<dyn Engine>>>;
    }
    in_front {
        fn run_template(
            &self,
            template: &QueryTemplate,
            values: &SlotValues<'_>,
            row: &mut dyn FnMut(&dyn Row) -> Result<bool>
        ) -> Result<Option<u64>> {
            let _ = (template, values, row);
            Ok(None)
        }
    }
    builds_on_session {
        fn write(&self, write: &Write<'_>) -> Result<Outcome>;
        fn get(
            &self,
            table: &Arc<TableSchema>,
            key: &[Value<'_>],
            row: &mut dyn FnMut(&dyn Row) -> Result<()>
        ) -> Result<bool>;
        fn tables(&self) -> Result<Vec<TableSchema>>;
        fn alter(&self, changes: &[SchemaChange]) -> Result<()>;
    }
}

layer! {
    /// A session in front of another session. Its implementors are [`Session`]s.
    ///
    /// A layer that restricts or changes the rows of [`query`](SessionLayer::query) overrides
    /// [`join`](SessionLayer::join) and [`explain`](SessionLayer::explain), too: the defaults run in the inner session.
    /// Values are read and written in parts by `get` and `change` of the layer, unless it overrides that.
    SessionLayer: Send => Session, &(dyn Session + '_), "The session behind this one.";
    delegates {
        fn control(&self, step: TransactionControl<'_>) -> Result<()>;
        fn in_transaction(&self) -> bool;
        fn write(&self, write: &Write<'_>) -> Result<Outcome>;
        fn query(
            &self,
            source: &Source<'_>,
            row: &mut dyn FnMut(&dyn Row) -> Result<bool>
        ) -> Result<()>;
        fn result_columns(
            &self,
            text: &str,
            parameters: &[Parameter<'_>]
        ) -> Result<Option<Vec<ResultColumn>>>;
        fn join(
            &self,
            join: &Join,
            row: &mut dyn FnMut(&dyn Row) -> Result<bool>
        ) -> Result<bool>;
        fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>>;
        fn tables(&self) -> Result<Vec<TableSchema>>;
        fn views(&self) -> Result<Vec<TableSchema>>;
        fn alter(&self, changes: &[SchemaChange]) -> Result<()>;
        fn change(&self, change: &BulkChange<'_>) -> Result<u64>;
        fn batch(
            &self,
            batch: &WriteBatch,
            on_error: OnError,
            each: &mut dyn FnMut(Result<Outcome>)
        ) -> Result<()>;
        fn get(
            &self,
            table: &Arc<TableSchema>,
            key: &[Value<'_>],
            row: &mut dyn FnMut(&dyn Row) -> Result<()>
        ) -> Result<bool>;
        fn open(&self, source: &Source<'_>) -> Result<Cursor>;
        fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()>;
        fn close(&self, cursor: &mut Cursor);
        fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64>;
        fn begin_reading(&self) -> Result<()>;
        fn forbid_writes(&self) -> Result<()>;
        fn begin_replay(&self, tables: &[&str]) -> Result<()>;
        fn set_actor(&self, actor: Option<&str>) -> Result<()>;
        fn triggers(&self) -> Result<Option<Vec<Trigger>>>;
        fn schema_details(&self) -> Result<SchemaDetails>;
        fn read_invalid_dates_as_null(&self) -> Result<()>;
        fn side_effects(&self) -> Result<SideEffects>;
        fn set_authorizer(&self, authorizer: Arc<dyn SqlAuthorizer>) -> Result<()>;
    }
    in_front {
        fn run_template(
            &self,
            template: &QueryTemplate,
            values: &SlotValues<'_>,
            row: &mut dyn FnMut(&dyn Row) -> Result<bool>
        ) -> Result<Option<u64>> {
            let _ = (template, values, row);
            Ok(None)
        }
        fn read_part(
            &self,
            value: &ValueAddress<'_>,
            range: ValueRange,
            bytes: &mut Vec<u8>
        ) -> Result<Option<ValueState>> {
            fallback::read_part(value, range, bytes, |row| self.get(value.table, value.key, row))
        }
        fn write_value(
            &self,
            value: &ValueAddress<'_>,
            length: u64,
            source: &mut dyn Read
        ) -> Result<bool> {
            fallback::write_value(value, length, source, |change| self.change(change))
        }
    }
}
