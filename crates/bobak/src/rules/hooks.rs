//! Hooks: functions of the program that run before and after rows are written, in the same transaction.

use bobak_core::{Result, Session, Value, Verb};

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookPoint {
    BeforeInsert,
    AfterInsert,
    BeforeUpdate,
    AfterUpdate,
    BeforeDelete,
    AfterDelete,
}

/// The rows that a hook sees, with the columns of the record's schema.
#[derive(Clone, Copy)]
pub(crate) struct HookRows<'a> {
    pub old: &'a [Value<'a>],
    pub new: &'a [Value<'a>],
}

/// A hook of a record type.
pub(crate) trait RowHook: Send + Sync {
    /// When it runs.
    fn point(&self) -> HookPoint;

    /// Runs it in the session's open transaction, which is that of a scope if it is `confined`. Returns the new row if the hook may change it.
    ///
    /// # Errors
    /// Those of the hook.
    fn run(
        &self,
        session: Box<dyn Session + '_>,
        rows: HookRows<'_>,
        confined: bool,
    ) -> Result<Option<Vec<Value<'static>>>>;
}

impl HookPoint {
    /// The hooks that a write with this verb may run.
    pub const fn of(verb: Verb) -> &'static [Self] {
        use HookPoint::{
            AfterDelete, AfterInsert, AfterUpdate, BeforeDelete, BeforeInsert, BeforeUpdate,
        };
        match verb {
            Verb::Insert | Verb::InsertOrIgnore => &[BeforeInsert, AfterInsert],
            Verb::InsertOrReplace => &[BeforeInsert, AfterInsert, BeforeDelete, AfterDelete],
            Verb::Upsert | Verb::UpsertOn(_) => {
                &[BeforeInsert, AfterInsert, BeforeUpdate, AfterUpdate]
            }
            Verb::Update => &[BeforeUpdate, AfterUpdate],
            Verb::Delete => &[BeforeDelete, AfterDelete],
        }
    }
}
