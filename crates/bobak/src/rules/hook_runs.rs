//! Running hooks in the transaction of a write.

use super::hooks::{HookPoint, HookRows, RowHook};
use super::rule_session::RuleSession;
use super::table_rules::TableRules;
use bobak_core::rules::catch_panic;
use bobak_core::{Error, ErrorKind, Result, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// How deep writes of hooks may run further hooks.
const MAX_DEPTH: usize = 8;

impl RuleSession<'_> {
    /// Runs the hooks of a point, in the order in which they were registered. Returns the new row as the last one leaves it;
    /// `None` if no hook may change it.
    ///
    /// # Errors
    /// Those of the hooks; `Engine` if one panics, `Misuse` if hooks run each other too deep.
    pub(super) fn run_hooks(
        &self,
        rules: &TableRules,
        point: HookPoint,
        rows: HookRows<'_>,
    ) -> Result<Option<Vec<Value<'static>>>> {
        let mut changed: Option<Vec<Value<'static>>> = None;
        for hook in rules.hooks(point) {
            let new = changed.as_deref().unwrap_or(rows.new);
            if let Some(new) = self.run_hook(&**hook, HookRows { old: rows.old, new })? {
                changed = Some(new);
            }
        }
        Ok(changed)
    }

    /// Lends the session of the open transaction to a hook.
    fn run_hook(
        &self,
        hook: &dyn RowHook,
        rows: HookRows<'_>,
    ) -> Result<Option<Vec<Value<'static>>>> {
        if self.depth >= MAX_DEPTH {
            let message = format!("hooks write rows whose hooks write rows, {MAX_DEPTH} deep");
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let session = self.take_inner()?;
        let returned = Arc::new(Mutex::new(None));
        let lent = RuleSession::lent(session, self, Arc::clone(&returned));
        let done = catch_panic("a hook", || hook.run(Box::new(lent), rows, self.rules.confined));
        let session = returned.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.put_inner(session);
        done
    }
}
