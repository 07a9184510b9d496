//! Who makes changes.

use crate::Db;
use bobak_core::feed::{Named, tracked};
use bobak_core::{Error, ErrorKind, Result};
use bobak_sql::changes_rows;
use std::sync::Arc;

impl Db {
    /// The same database, for one who makes changes under this name: it is written down beside each
    /// of them. See [`feed`](crate::changes).
    ///
    /// A write by itself becomes a transaction, so it shares no sync with those of other threads.
    ///
    /// # Errors
    /// `Schema` where no table of an engine is tracked: nothing would be written down.
    pub fn with_actor(&self, who: &str) -> Result<Self> {
        let mut is_tracked = false;
        let named = self.with_engines(|engine| {
            let names = !tracked(&*engine.session()?)?.is_empty();
            is_tracked |= names;
            // All of them: one that shows the others' tables can't show them twice.
            Ok(Arc::new(Named::new(Arc::clone(engine), who, changes_rows, move |_| names)))
        })?;
        if is_tracked {
            return Ok(named);
        }
        let message =
            "no table is tracked, so nobody's name is written down: ask for it with track";
        Err(Error::new(ErrorKind::Schema, message))
    }
}
