//! Changes that read rows first, in one transaction: assignments of expressions, and changes whose rows are returned.

use crate::access::{ColumnExpr, TableAccess};
use crate::handle::{LendSession, SessionSource, TransactionSession};
use crate::join;
use crate::retry;
use bobak_core::join::{JoinColumn, JoinExpr};
use bobak_core::{
    Assign, Condition, Error, ErrorKind, Expr, FieldSet, Interrupt, Join, OnError, Result, RowLock,
    Select, TableSchema, TransactionControl, Value, ValueRef, Verb, Write, WriteBatch,
};
use std::sync::Arc;

/// The savepoint of a change inside of a transaction.
const SAVEPOINT: &str = "bobak_change";

/// The bytes of rows that are sent as one part.
pub(crate) const PART_BYTES: usize = 256 * 1024;

/// How often an update by itself is repeated after a conflict with another transaction.
const RETRIES: u32 = 20;

/// The values of a row.
pub(crate) type StoredValues = Vec<Value<'static>>;

/// Runs `work` in a transaction of its own, or under a savepoint of the one that is open. An error undoes all that it did.
pub(crate) fn in_transaction<R>(
    source: &SessionSource<'_>,
    work: impl FnOnce(&SessionSource<'_>) -> Result<R>,
) -> Result<R> {
    match source {
        SessionSource::Engine(handle) => {
            let session = handle.engine()?.session()?;
            session.control(TransactionControl::Begin)?;
            let session = TransactionSession::new(session, source.engines(), source.engine_index());
            let inside = SessionSource::Transaction(&session as &dyn LendSession);
            match work(&inside) {
                Ok(done) => control(&inside, TransactionControl::Commit).map(|()| done),
                Err(error) => {
                    // Dropping the session rolls back, too, and the first error says more.
                    let _ = control(&inside, TransactionControl::Rollback);
                    Err(error)
                }
            }
        }
        SessionSource::Transaction(_) => {
            control(source, TransactionControl::Savepoint(SAVEPOINT))?;
            let done = work(source);
            if done.is_err() {
                let _ = control(source, TransactionControl::RollbackTo(SAVEPOINT));
            }
            let released = control(source, TransactionControl::Release(SAVEPOINT));
            done.and_then(|done| released.map(|()| done))
        }
    }
}

fn control(source: &SessionSource<'_>, step: TransactionControl<'_>) -> Result<()> {
    source.with(|session| session.control(step))
}

impl TableAccess<'_> {
    /// The same table in another transaction or engine.
    pub(crate) fn within<'s>(&self, source: &SessionSource<'s>) -> TableAccess<'s> {
        let schema = Arc::clone(&self.schema);
        TableAccess { source: source.clone(), schema, updated: self.updated }
    }

    /// The keys of the rows that match a condition, in their order. Other transactions cannot change the rows before the end of
    /// this one.
    pub(crate) fn lock_keys(&self, condition: Option<Condition>) -> Result<Vec<StoredValues>> {
        let lock = self.has_other_writers()?.then_some(RowLock::Wait);
        self.read(condition, self.schema.key().iter().copied().map(Expr::Column).collect(), lock)
    }

    /// The rows that match a condition. With row rules, a query that locks finds those that may be updated.
    fn read_for_update(&self, condition: Option<Condition>) -> Result<Vec<StoredValues>> {
        match self.read(condition.clone(), self.all_columns(), Some(RowLock::Wait)) {
            // A database behind a driver that Bobak does not know.
            Err(error)
                if error.kind() == ErrorKind::Unsupported && !self.has_other_writers()? =>
            {
                self.read(condition, self.all_columns(), None)
            }
            read => read,
        }
    }

    fn has_other_writers(&self) -> Result<bool> {
        let engine = self.source.engines().engine(self.source.engine_index())?;
        Ok(engine.capabilities().concurrent_writers)
    }

    fn read(
        &self,
        condition: Option<Condition>,
        columns: Vec<Expr>,
        lock: Option<RowLock>,
    ) -> Result<Vec<StoredValues>> {
        self.schema.check_has_key()?;
        self.schema.check_writable()?;
        let mut select = Select::all(&self.schema);
        select.columns = columns;
        select.condition =
            condition.map(|condition| condition.resolve(&self.schema)).transpose()?;
        select.lock = lock;
        let mut rows = Vec::new();
        self.scan(&select, |row| {
            Interrupt::check()?;
            rows.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
            Ok(true)
        })?;
        Ok(rows)
    }

    /// Sets columns of the rows that match a condition to values and expressions, and returns their number.
    ///
    /// The rows are read by the query that locks them, so that the values are those of this moment whatever the transaction
    /// has read before.
    pub(crate) fn set_exprs(
        &self,
        condition: Option<Condition>,
        assigns: &[Assign],
        exprs: &[ColumnExpr],
    ) -> Result<u64> {
        let update = RowUpdate::new(&self.schema, assigns, exprs)?;
        let mut retry = 0;
        loop {
            let set = in_transaction(&self.source, |source| {
                let inside = self.within(source);
                let rows = inside.read_for_update(condition.clone())?;
                update.run(&inside, &rows)
            });
            let has_conflict = |error: &Error| error.kind() == ErrorKind::Serialization;
            let is_alone = matches!(self.source, SessionSource::Engine(_));
            if retry >= RETRIES || !is_alone || !set.as_ref().is_err_and(has_conflict) {
                return set.map_err(|error| self.in_table(error));
            }
            // Another transaction changed a row after this one had begun: PostgreSQL rejects that.
            std::thread::sleep(retry::pause(retry));
            retry += 1;
        }
    }
}

/// An update of rows, each by values that are calculated from it.
struct RowUpdate<'a> {
    table: &'a Arc<TableSchema>,
    /// All columns of the rows, and then the expressions.
    join: Join,
    assigns: &'a [Assign],
    /// The columns of the expressions.
    columns: Vec<usize>,
}

impl<'a> RowUpdate<'a> {
    fn new(
        table: &'a Arc<TableSchema>,
        assigns: &'a [Assign],
        exprs: &[ColumnExpr],
    ) -> Result<Self> {
        let columns = exprs.iter().map(|expr| expr.column).collect();
        let own = |column| JoinExpr::Column(JoinColumn { table: 0, column });
        let all = (0..table.columns().len()).map(own);
        let exprs = all.chain(exprs.iter().map(|expr| expr.expr.clone())).collect();
        Ok(Self { table, join: Join::of_rows(table, None, exprs)?, assigns, columns })
    }

    /// Updates these rows, of which all columns are given.
    fn run(&self, access: &TableAccess<'_>, rows: &[StoredValues]) -> Result<u64> {
        let mut updated = Vec::with_capacity(rows.len());
        join::run_over(&access.source, &self.join, rows, &mut |row| {
            updated.push(self.updated((0..row.len()).map(|place| row.get(place)).collect())?);
            Ok(true)
        })?;
        self.write(access, &updated)?;
        Ok(updated.len() as u64)
    }

    /// The new values of a row, from its values and those of the expressions.
    fn updated(&self, row: Vec<ValueRef<'_>>) -> Result<StoredValues> {
        let width = self.table.columns().len();
        let (old, calculated) = row.split_at(width.min(row.len()));
        let mut values: Vec<_> = old.iter().map(|value| (*value).to_owned()).collect();
        for assign in self.assigns {
            let old = old.get(assign.column()).copied().unwrap_or(ValueRef::Null);
            let value = assign.apply(self.table, old)?;
            set(&mut values, assign.column(), value);
        }
        for (&column, value) in self.columns.iter().zip(calculated) {
            let value = self.table.column_at(column)?.accept((*value).into())?;
            set(&mut values, column, value);
        }
        Ok(values)
    }

    fn write(&self, access: &TableAccess<'_>, rows: &[StoredValues]) -> Result<()> {
        let table = self.table;
        let columns = self.assigns.iter().map(Assign::column);
        let fields: FieldSet = columns.chain(self.columns.iter().copied()).collect();
        let mut batch = WriteBatch::new();
        let send = |batch: &mut WriteBatch| {
            Interrupt::check()?;
            let send = |session: &dyn bobak_core::Session| {
                session.batch(batch, OnError::Stop, &mut |_| {})
            };
            access.source.with(send)?;
            batch.clear();
            Ok::<_, Error>(())
        };
        for values in rows {
            batch.push(&Write { table, verb: Verb::Update, fields, values })?;
            if batch.bytes() >= PART_BYTES {
                send(&mut batch)?;
            }
        }
        if batch.is_empty() { Ok(()) } else { send(&mut batch) }
    }
}

fn set(values: &mut [Value<'static>], column: usize, value: Value<'static>) {
    if let Some(slot) = values.get_mut(column) {
        *slot = value;
    }
}
