//! How typed and dynamic tables reach their engine: by a session of their own, or by the
//! transaction that they were opened in.

use crate::rows::Lines;
use bobak_core::{
    Assign, Assignment, Change, Comparison, Condition, Engine, Error, ErrorKind, Expr, FieldSet,
    FromRow, Outcome, Query, Result, Row, Select, Session, Source, TableSchema, Value, Verb, Write,
};
use std::sync::{Arc, Mutex, TryLockError};

/// Where operations go.
#[derive(Clone)]
pub(crate) enum Handle<'a> {
    /// A session for each operation, which commits by itself.
    Engine(Arc<dyn Engine>),
    /// The open transaction's session.
    Transaction(&'a dyn Lend),
}

impl Handle<'_> {
    /// Runs an operation.
    #[inline]
    pub(crate) fn with<R>(&self, run: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        match self {
            Self::Engine(engine) => run(&*engine.session()?),
            Self::Transaction(session) => session.with(run),
        }
    }

    #[inline]
    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        match self {
            Self::Engine(engine) => engine.write(write),
            Self::Transaction(session) => session.with(|session| session.write(write)),
        }
    }

    #[inline]
    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        match self {
            Self::Engine(engine) => engine.get(table, key, row),
            Self::Transaction(session) => session.with(|session| session.get(table, key, row)),
        }
    }
}

/// A transaction's session, lent to one call at a time, so that tables and transactions may cross
/// threads.
pub(crate) struct Lent<'db>(Mutex<Box<dyn Session + 'db>>);

/// [`Lent`], whatever its lifetime.
pub(crate) trait Lend: Sync {
    /// Lends the session to `run`.
    ///
    /// # Errors
    /// `Misuse` where it is lent already: inside a callback, or to another thread.
    fn lend(&self, run: &mut dyn FnMut(&dyn Session)) -> Result<()>;
}

impl<'db> Lent<'db> {
    pub(crate) fn new(session: Box<dyn Session + 'db>) -> Self {
        Self(Mutex::new(session))
    }
}

impl Lend for Lent<'_> {
    #[inline]
    fn lend(&self, run: &mut dyn FnMut(&dyn Session)) -> Result<()> {
        let session = match self.0.try_lock() {
            Ok(session) => session,
            // A callback has panicked; the session stands where it stood, or says that it does not.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let message = "the transaction is in the middle of another call: \
                               read with list or iter before you write";
                return Err(Error::new(ErrorKind::Misuse, message));
            }
        };
        run(&**session);
        Ok(())
    }
}

impl<'a> dyn Lend + 'a {
    /// Runs an operation, which can be done once only, through an object that could be called again.
    #[inline]
    pub(crate) fn with<R>(&self, run: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        let (mut run, mut result) = (Some(run), None);
        self.lend(&mut |session| result = run.take().map(|run| run(session)))?;
        result.unwrap_or_else(|| Err(Error::new(ErrorKind::Misuse, "the session was not lent")))
    }
}

/// A table reached through a handle: what typed and dynamic tables share.
#[derive(Clone)]
pub(crate) struct Access<'a> {
    pub(crate) handle: Handle<'a>,
    pub(crate) schema: Arc<TableSchema>,
    /// What a whole-record update sets.
    pub(crate) updated: FieldSet,
}

impl<'a> Access<'a> {
    pub(crate) fn new(handle: Handle<'a>, schema: Arc<TableSchema>) -> Self {
        let updated = schema.updated_fields();
        Self { handle, schema, updated }
    }

    #[inline]
    pub(crate) fn write(
        &self,
        verb: Verb,
        fields: FieldSet,
        values: &[Value<'_>],
    ) -> Result<Outcome> {
        self.write_as(&self.schema, verb, fields, values)
    }

    /// As [`write`](Self::write), under another description of the table.
    #[inline]
    pub(crate) fn write_as(
        &self,
        table: &Arc<TableSchema>,
        verb: Verb,
        fields: FieldSet,
        values: &[Value<'_>],
    ) -> Result<Outcome> {
        let write = Write { table, verb, fields, values };
        self.handle.write(&write).map_err(|error| self.name(error))
    }

    #[inline]
    pub(crate) fn get<R>(
        &self,
        key: &[Value<'_>],
        mut read: impl FnMut(&dyn Row) -> Result<R>,
    ) -> Result<Option<R>> {
        let mut found = None;
        let mut each = |row: &dyn Row| {
            found = Some(read(row)?);
            Ok(())
        };
        self.handle.get(&self.schema, key, &mut each).map_err(|error| self.name(error))?;
        Ok(found)
    }

    /// Hands out the rows of a query until `each` says `false`.
    pub(crate) fn scan(
        &self,
        select: &Select,
        mut each: impl FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let source = Source::Select(select);
        let scan = |session: &dyn Session| session.query(&source, &mut each);
        self.handle.with(scan).map_err(|error| self.name(error))
    }

    pub(crate) fn select_all<T>(&self, query: &Query<T>) -> Result<Select> {
        query.to_select(&self.schema, self.all_columns())
    }

    pub(crate) fn all_columns(&self) -> Vec<Expr> {
        (0..self.schema.columns().len()).map(Expr::Column).collect()
    }

    /// Rows as a cursor, for iterators.
    pub(crate) fn lines<'s, T>(&'s self, query: &Query<T>) -> Result<Lines<'s>> {
        let select = self.select_all(query)?;
        Lines::open(&self.handle, &Source::Select(&select)).map_err(|error| self.name(error))
    }

    /// Rows of expressions, read by place.
    pub(crate) fn select<T, R: FromRow>(
        &self,
        query: &Query<T>,
        exprs: Vec<Expr>,
    ) -> Result<Vec<R>> {
        let select = query.to_select(&self.schema, exprs)?;
        let mut rows = Vec::new();
        self.scan(&select, |row| {
            rows.push(R::from_row(row)?);
            Ok(true)
        })?;
        Ok(rows)
    }

    /// Rows of the columns that `R` names; of all columns where it takes them by place.
    pub(crate) fn list_as<T, R: FromRow>(&self, query: &Query<T>) -> Result<Vec<R>> {
        let columns = match R::columns() {
            Some(names) => names
                .iter()
                .map(|name| self.schema.column(name).map(Expr::Column))
                .collect::<Result<_>>()?,
            None => self.all_columns(),
        };
        self.select(query, columns)
    }

    pub(crate) fn count<T>(&self, query: &Query<T>) -> Result<u64> {
        // As SQL counts: an order has no say in it, a limit would not either.
        let counts: Vec<i64> = self.select(&query.clone().unordered(), vec![Expr::Count])?;
        Ok(counts.first().map_or(0, |count| count.unsigned_abs()))
    }

    /// Updates (`Some`) or deletes (`None`) the rows that a condition keeps.
    pub(crate) fn change<T>(
        &self,
        condition: Option<Condition>,
        assign: Option<Vec<Assignment<T>>>,
    ) -> Result<u64> {
        let table = &*self.schema;
        let condition = condition.map(|condition| condition.resolve(table)).transpose()?;
        let assign = assign.map(|list| self.resolve_assignments(list)).transpose()?;
        let change = Change {
            table: &self.schema,
            condition: condition.as_ref(),
            assign: assign.as_deref(),
        };
        self.handle.with(|session| session.change(&change)).map_err(|error| self.name(error))
    }

    fn resolve_assignments<T>(&self, list: Vec<Assignment<T>>) -> Result<Vec<Assign>> {
        let table = &*self.schema;
        let mut assigns = Vec::with_capacity(list.len() + 1);
        for assignment in list {
            let assign = assignment.into_assign().resolve(table)?;
            let column = assign.column();
            let fixed = table.key().contains(&column) || table.version() == Some(column);
            let twice = assigns.iter().any(|other: &Assign| other.column() == column);
            if fixed || twice {
                let message = if twice {
                    "the column is assigned twice"
                } else {
                    "a key or version can't be assigned: delete the row and insert another"
                };
                let name = table.columns().get(column).map_or("", |column| &column.name);
                let error = Error::new(ErrorKind::Misuse, message);
                return Err(self.name(error.in_column(name)));
            }
            assigns.push(assign);
        }
        if assigns.is_empty() {
            return Err(self.name(Error::new(ErrorKind::Misuse, "no column is assigned")));
        }
        bobak_core::stamp_assignments(table, &mut assigns);
        Ok(assigns)
    }

    /// The condition that keeps the row with this key.
    pub(crate) fn key_condition(&self, key: &[Value<'_>]) -> Condition {
        let equals = |(&column, value): (&usize, &Value<'_>)| Condition::Compare {
            column,
            comparison: Comparison::Equal,
            value: value.clone().into_owned(),
        };
        Condition::And(self.schema.key().iter().zip(key).map(equals).collect())
    }

    /// The values of the key's columns among those of a whole row.
    pub(crate) fn key_values<'v>(&self, values: &'v [Value<'v>]) -> Vec<Value<'v>> {
        let value = |&place: &usize| values.get(place).map_or(Value::Null, |v| v.as_ref().into());
        self.schema.key().iter().map(value).collect()
    }

    #[cold]
    pub(crate) fn name(&self, error: Error) -> Error {
        error.in_table(self.schema.name())
    }
}
