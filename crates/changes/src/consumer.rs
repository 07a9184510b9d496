//! Named consumers: readers of the change log whose positions are stored in the database.

use crate::change::{Change, integer};
use crate::reader::Changes;
use bobak_core::change_log::consumer_schema;
use bobak_core::{
    Assign, BulkChange, Comparison, Condition, Engine, Error, ErrorKind, FieldSet, Record, Result,
    SchemaChange, Select, Source, Value, ValueRef, Verb, Write,
};
use std::sync::Arc;
use std::time::Duration;

/// The greatest length of a consumer's name, in characters.
const MAX_NAME: usize = 100;

/// A reader of committed changes with a name, whose position is stored in the database: after a crash or a restart it
/// continues after the last change that it acknowledged.
///
/// Every change is delivered at least once. A consumer that stops between the work and the acknowledgment gets the
/// change again, so the work should be safe to repeat: a [`Change::id`] is never used twice.
///
/// Consumers are independent of each other. If two programs use one name at the same time, both get the changes, and
/// the one that acknowledges later gets `Conflict`.
pub struct Consumer {
    engine: Arc<dyn Engine>,
    name: String,
    position: u64,
    /// Up to here there are only changes of other tables after the position.
    seen: u64,
    changes: Changes,
}

impl Consumer {
    /// The consumer with this name. A new one begins with the first change that the logs of its tables still have.
    ///
    /// # Errors
    /// `TooLong` for a name of more than 100 characters; `Schema` if no table is tracked; those of the engine.
    pub fn open(engine: Arc<dyn Engine>, name: &str, tables: &[&str]) -> Result<Self> {
        if name.is_empty() || name.chars().count() > MAX_NAME {
            let message = format!("a consumer's name has 1 to {MAX_NAME} characters");
            return Err(Error::new(ErrorKind::TooLong, message));
        }
        let all = Changes::of(Arc::clone(&engine));
        let mut changes = tables.iter().fold(all, |changes, table| changes.table_named(table));
        let position = match stored(&*engine, name)? {
            Some(position) => position,
            None => {
                let first = changes.first_id()?;
                create(&*engine, name, first)?;
                stored(&*engine, name)?.unwrap_or(first)
            }
        };
        Ok(Self { engine, name: name.to_owned(), position, seen: position, changes })
    }

    /// Adds the table of this record type to those whose changes are delivered.
    #[must_use]
    pub fn table<T: Record>(mut self) -> Self {
        self.changes = self.changes.table::<T>();
        self.seen = self.position;
        self
    }

    /// The largest number of changes that [`wait`](Self::wait) returns. Default: 1,000.
    #[must_use]
    pub fn limit(mut self, changes: usize) -> Self {
        self.changes = self.changes.limit(changes);
        self
    }

    /// The number of the last acknowledged change, or one after it up to which there are only changes of other tables: all
    /// changes after it are still to be delivered.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The next changes that are not acknowledged, in the order of their commits; none if none is committed within this
    /// time. Without an acknowledgment the next call returns the same changes. If there are only changes of other tables, the
    /// stored position moves behind these.
    ///
    /// # Errors
    /// `Schema` if a table is not tracked; `NotFound` if changes that are not acknowledged were
    /// [pruned](crate::Changes::first_id): [`skip_to`](Self::skip_to) continues behind them; those of the engine.
    pub fn wait(&mut self, time: Duration) -> Result<Vec<Change>> {
        self.changes = self.changes.clone().since(self.seen);
        let page = self.changes.wait(time)?;
        if page.changes.is_empty() && page.next > self.seen {
            self.seen = page.next;
            self.pass()?;
        }
        Ok(page.changes)
    }

    /// Stores that up to `seen` there is nothing to acknowledge. So a consumer of tables that rarely change does not keep the
    /// changes of others from being pruned.
    fn pass(&mut self) -> Result<()> {
        // Another program may have moved the position: the next acknowledgment finds that.
        if self.store(self.seen)? {
            self.position = self.seen;
        }
        Ok(())
    }

    /// Stores that every change up to this number has been handled.
    ///
    /// # Errors
    /// `Misuse` for a number before the position; `Conflict` if another program has moved this consumer's position
    /// meanwhile, or removed it: open it again; those of the engine.
    pub fn acknowledge(&mut self, id: u64) -> Result<()> {
        if id < self.position {
            let message = format!(
                "change {id} was acknowledged before: consumer '{}' is at {}",
                self.name, self.position
            );
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        self.move_to(id)
    }

    /// Moves the position to the change with this number, forwards or backwards: the next delivered change is the one after
    /// it.
    ///
    /// # Errors
    /// As [`acknowledge`](Self::acknowledge), except `Misuse`.
    pub fn skip_to(&mut self, id: u64) -> Result<()> {
        self.move_to(id)
    }

    /// Delivers all changes to `work`, and acknowledges each one after it; waits up to `time` for the first one. Returns
    /// the number of changes. Repeat it in a loop for a program that runs forever.
    ///
    /// # Errors
    /// Those of `work`: that change is delivered again by the next call. As [`wait`](Self::wait) and
    /// [`acknowledge`](Self::acknowledge).
    pub fn run<E: From<Error>>(
        &mut self,
        time: Duration,
        mut work: impl FnMut(&Change) -> Result<(), E>,
    ) -> Result<u64, E> {
        let (mut done, mut time) = (0, time);
        loop {
            let changes = self.wait(time)?;
            if changes.is_empty() {
                return Ok(done);
            }
            for change in &changes {
                work(change)?;
                self.acknowledge(change.id)?;
                done += 1;
            }
            time = Duration::ZERO;
        }
    }

    fn move_to(&mut self, id: u64) -> Result<()> {
        if id == self.position {
            return Ok(());
        }
        if !self.store(id)? {
            let message = format!(
                "consumer '{}' is no longer at change {}: another program consumes under this name, or removed it",
                self.name, self.position
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        (self.position, self.seen) = (id, id);
        Ok(())
    }

    /// Stores a position; `false` if another program has moved it.
    fn store(&self, id: u64) -> Result<bool> {
        let here = Condition::And(vec![
            equal(0, Value::from(self.name.clone())),
            equal(1, number(self.position)),
        ]);
        let assign = [Assign::Set { column: 1, value: number(id) }];
        let change =
            BulkChange { table: consumer_schema(), condition: Some(&here), assign: Some(&assign) };
        Ok(self.engine.session()?.change(&change)? > 0)
    }
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Consumer");
        shown.field("name", &self.name).field("position", &self.position);
        shown.finish_non_exhaustive()
    }
}

/// The consumers of an engine's change log with their positions, by name. Changes up to the smallest position are no longer
/// needed by any of them.
///
/// # Errors
/// Those of the engine.
pub fn consumers(engine: &dyn Engine) -> Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    list(engine, None, &mut |name, position| found.push((name.to_owned(), position)))?;
    Ok(found)
}

/// Removes a consumer; returns whether there was one.
///
/// # Errors
/// Those of the engine.
pub fn remove_consumer(engine: &dyn Engine, name: &str) -> Result<bool> {
    let condition = equal(0, Value::from(name.to_owned()));
    let change = BulkChange { table: consumer_schema(), condition: Some(&condition), assign: None };
    match engine.session()?.change(&change) {
        Err(error) if error.kind() == ErrorKind::Schema => Ok(false),
        removed => Ok(removed? > 0),
    }
}

fn stored(engine: &dyn Engine, name: &str) -> Result<Option<u64>> {
    let mut found = None;
    let condition = equal(0, Value::from(name.to_owned()));
    list(engine, Some(condition), &mut |_, position| found = Some(position))?;
    Ok(found)
}

fn list(
    engine: &dyn Engine,
    condition: Option<Condition>,
    each: &mut dyn FnMut(&str, u64),
) -> Result<()> {
    let select = Select { condition, ..Select::all(consumer_schema()) };
    let read = engine.session()?.query(&Source::Select(&select), &mut |row| {
        if let ValueRef::Text(name) = row.get(0) {
            each(name, integer(row, 1)?.unsigned_abs());
        }
        Ok(true)
    });
    match read {
        // There is no consumer yet.
        Err(error) if error.kind() == ErrorKind::Schema => Ok(()),
        read => read,
    }
}

fn create(engine: &dyn Engine, name: &str, position: u64) -> Result<()> {
    let table = consumer_schema();
    let values = [Value::from(name.to_owned()), number(position)];
    let (verb, fields) = (Verb::InsertOrIgnore, FieldSet::EMPTY);
    let insert = || engine.write(&Write { table, verb, fields, values: &values }).map(drop);
    match insert() {
        Err(error) if error.kind() == ErrorKind::Schema => {
            let created = engine.alter(&[SchemaChange::CreateTable(Arc::clone(table))]);
            // Another program may have created it meanwhile.
            insert().or_else(|error| created.and(Err(error)))
        }
        inserted => inserted,
    }
}

fn equal(column: usize, value: Value<'static>) -> Condition {
    Condition::Compare { column, comparison: Comparison::Equal, value }
}

fn number(id: u64) -> Value<'static> {
    Value::Int(i64::try_from(id).unwrap_or(i64::MAX))
}
