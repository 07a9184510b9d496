//! Taking old changes out of the feed.

use crate::Db;
use bobak_core::feed::{self, AT, Log, SEQ};
use bobak_core::{Assign, Change, Comparison, Condition, Result, Session, Timestamp, Value};
use std::time::Duration;

/// Which changes stay. See [`Db::prune_changes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The last ones, so many over all tables (numbers that were left out count as well).
    Last(u64),
    /// Those that are not older.
    Newer(Duration),
    /// Those with numbers above this one: what every reader has had may go.
    Since(u64),
}

impl Db {
    /// Takes changes out of the main engine's feed, and so out of the records' history; gives their
    /// number. Who has not read them yet is told so, with `NotFound`, when he goes on.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # use bobak::feed::{Keep, TrackOptions};
    /// # #[derive(Record)] struct City { id: i64, name: String }
    /// # let db = Db::builder().track::<City>(TrackOptions::new()).open("memory:")?;
    /// # db.create_missing_tables()?;
    /// # for name in ["Bern", "Thun"] { db.table()?.insert(&City { id: 0, name: name.into() })?; }
    /// assert_eq!(db.prune_changes(Keep::Last(1))?, 1);
    /// assert_eq!(db.changes()?.page().unwrap_err().kind(), ErrorKind::NotFound);
    /// assert_eq!(db.changes()?.since(1).page()?.changes.len(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the engine; nothing is taken out then.
    pub fn prune_changes(&self, keep: Keep) -> Result<u64> {
        let engine = self.main_engine()?;
        let logs = feed::logs(&*engine)?;
        let session = engine.session()?;
        let to = last_to_go(&*session, &logs, keep)?;
        if to == 0 {
            return Ok(0);
        }
        drop(session);
        crate::follow::wholly(&*engine, |session| prune(session, &logs, to))
    }
}

/// The largest number that may go.
fn last_to_go(session: &dyn Session, logs: &[Log], keep: Keep) -> Result<u64> {
    let last = feed::last_id(session, logs)?;
    match keep {
        Keep::Last(changes) => Ok(last.saturating_sub(changes)),
        Keep::Since(id) => Ok(id.min(last)),
        Keep::Newer(age) => {
            let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
            let moment = Timestamp::now().as_microsecond().saturating_sub(age);
            let older = Condition::Compare {
                column: AT,
                comparison: Comparison::Less,
                value: moment.into(),
            };
            // Times ascend as numbers do.
            logs.iter().try_fold(0, |to, log| Ok(to.max(log.last(session, Some(older.clone()))?)))
        }
    }
}

fn prune(session: &dyn Session, logs: &[Log], to: u64) -> Result<u64> {
    let gone = feed::compare_number(SEQ, Comparison::LessOrEqual, to);
    let value = Value::Int(i64::try_from(to).unwrap_or(i64::MAX));
    let behind = feed::compare_number(2, Comparison::Less, to);
    let assign = [Assign::Set { column: 2, value }];
    session.change(&Change {
        table: feed::tracked_schema(),
        condition: Some(&behind),
        assign: Some(&assign),
    })?;
    logs.iter().try_fold(0, |sum, log| {
        let change = Change { table: &log.schema, condition: Some(&gone), assign: None };
        Ok(sum + session.change(&change)?)
    })
}
