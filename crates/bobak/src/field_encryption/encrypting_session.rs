//! A session with encrypted fields in front of it.

use super::engine_ciphers::EngineCiphers;
use super::select::{SealedRows, SealedSelect, seal_condition};
use super::table_cipher::TableCipher;
use crate::join_conditions::has_subquery;
use bobak_core::engine::fallback;
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{
    Assign, BulkChange, Cursor, Error, ErrorKind, Join, OnError, Outcome, Result, ResultColumn,
    Row, RowBuffer, SchemaChange, Session, SessionLayer, Source, TableSchema, Value, ValueAddress,
    ValueRange, ValueState, Verb, Write, WriteBatch,
};
use std::cell::RefCell;
use std::io::Read;
use std::sync::Arc;

/// A session that encrypts what it writes, and decrypts what it reads.
pub(super) struct EncryptingSession<'e> {
    inner: Box<dyn Session + 'e>,
    ciphers: &'e EngineCiphers,
    /// The open cursors whose rows are decrypted, each with its columns, which identify it.
    cursors: RefCell<Vec<(Arc<Vec<ResultColumn>>, SealedRows)>>,
}

impl<'e> EncryptingSession<'e> {
    pub fn new(inner: Box<dyn Session + 'e>, ciphers: &'e EngineCiphers) -> Self {
        Self { inner, ciphers, cursors: RefCell::default() }
    }

    /// The same writes of encrypted values.
    fn seal_batch(&self, batch: &WriteBatch) -> Result<WriteBatch> {
        let mut sealed = WriteBatch::new();
        for run in batch.runs() {
            let (table, verb, fields) = (run.table, run.verb, run.fields);
            let cipher = self.ciphers.of(table)?;
            for row in run.iter() {
                let values: Vec<Value<'_>> =
                    (0..row.len()).map(|column| row.value(column).into()).collect();
                let write = Write { table, verb, fields, values: &values };
                match &cipher {
                    None => sealed.push(&write)?,
                    Some(cipher) => {
                        let values = cipher.seal_values(&write)?;
                        let table = &cipher.stored;
                        sealed.push(&Write { table, values: &values, ..write })?;
                    }
                }
            }
        }
        Ok(sealed)
    }

    /// Whether a join reads an encrypted table.
    fn may_be_encrypted(&self, join: &Join) -> Result<bool> {
        let mut tables = Vec::new();
        join.for_each_table(&mut |table| tables.push(Arc::clone(table)));
        for table in &tables {
            if self.ciphers.of(table)?.is_some() {
                return Ok(true);
            }
        }
        // It may be about an encrypted table that is not joined.
        Ok(has_subquery(join))
    }

    /// A schema change of the stored table.
    fn sealed_change(&self, change: &SchemaChange) -> Result<SchemaChange> {
        use SchemaChange as C;
        if self.ciphers.of(change.table())?.is_none() {
            return Ok(change.clone());
        }
        let table = self.ciphers.stored(change.table())?;
        Ok(match change {
            C::CreateTable(_) => C::CreateTable(table),
            C::AddColumn { column, .. } => C::AddColumn { table, column: *column },
            C::AddIndex { index, .. } => C::AddIndex { table, index: *index },
            C::DropTable(_) => C::DropTable(table),
            C::AddReference { column, .. } => C::AddReference { table, column: *column },
            C::AddForeignKey { foreign_key, .. } => {
                C::AddForeignKey { table, foreign_key: *foreign_key }
            }
            C::Track { history, .. } => C::Track { table, history: *history },
            C::Untrack(_) => C::Untrack(table),
            _ => {
                let message = "a table with encrypted columns is altered by migrations";
                return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
            }
        })
    }
}

impl SessionLayer for EncryptingSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let Some(cipher) = self.ciphers.of(write.table)? else { return self.inner.write(write) };
        if let Verb::UpsertOn(_) = write.verb {
            // The row that it finds may have another key, and values of a former key.
            return fallback::upsert_on(self, write);
        }
        let values = cipher.seal_values(write)?;
        self.inner.write(&Write { table: &cipher.stored, values: &values, ..*write })
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        let mut is_encrypted = false;
        for run in batch.runs() {
            if self.ciphers.of(run.table)?.is_some() {
                is_encrypted = true;
                if let Verb::UpsertOn(_) = run.verb {
                    return fallback::batch(self, batch, on_error, each);
                }
            }
        }
        if !is_encrypted {
            return self.inner.batch(batch, on_error, each);
        }
        let sealed = self.seal_batch(batch)?;
        self.inner.batch(&sealed, on_error, each)
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        let cipher = self.ciphers.of(change.table)?;
        let is_encrypted = |assign: &Assign| {
            let cipher = cipher.as_ref().and_then(|cipher| cipher.column(assign.column()));
            cipher.is_some() && !matches!(assign, Assign::Set { value: Value::Null, .. })
        };
        if change.assign.unwrap_or_default().iter().any(is_encrypted) {
            // Each row has bytes of its own.
            return fallback::change(self, change);
        }
        let seal = |condition: &_| {
            seal_condition(self.ciphers, cipher.as_deref(), Clone::clone(condition))
        };
        let condition = change.condition.map(seal).transpose()?;
        let table = self.ciphers.stored(change.table)?;
        let condition = condition.as_ref();
        self.inner.change(&BulkChange { table: &table, condition, ..*change })
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        match self.ciphers.of(table)? {
            None => self.inner.get(table, key, row),
            Some(cipher) => self
                .inner
                .get(&cipher.stored, key, &mut |stored| row(&cipher.open_row(stored)?.as_slice())),
        }
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let Source::Select(select) = source else { return self.inner.query(source, row) };
        match SealedSelect::new(self.ciphers, select)? {
            None => self.inner.query(source, row),
            Some(SealedSelect { select, rows }) => self
                .inner
                .query(&Source::Select(&select), &mut |stored| row(&rows.open(stored)?.as_slice())),
        }
    }

    fn read_part(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        match self.ciphers.of(value.table)? {
            None => self.inner.read_part(value, range, bytes),
            Some(cipher) => {
                check_plain(&cipher, value)?;
                let stored = ValueAddress { table: &cipher.stored, ..*value };
                self.inner.read_part(&stored, range, bytes)
            }
        }
    }

    fn write_value(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        match self.ciphers.of(value.table)? {
            None => self.inner.write_value(value, length, source),
            // The bytes are sealed as a whole.
            Some(cipher) if cipher.column(value.column).is_some() => {
                fallback::write_value(value, length, source, |all| SessionLayer::change(self, all))
            }
            Some(cipher) => {
                let stored = ValueAddress { table: &cipher.stored, ..*value };
                self.inner.write_value(&stored, length, source)
            }
        }
    }

    fn join(&self, join: &Join, row: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<bool> {
        if self.may_be_encrypted(join)? { Ok(false) } else { self.inner.join(join, row) }
    }

    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        match query {
            ExplainedQuery::Source(Source::Select(plain)) => {
                match SealedSelect::new(self.ciphers, plain)? {
                    None => self.inner.explain(query),
                    Some(SealedSelect { select, .. }) => {
                        self.inner.explain(&ExplainedQuery::Source(Source::Select(&select)))
                    }
                }
            }
            ExplainedQuery::Join(join) if self.may_be_encrypted(join)? => Ok(None),
            _ => self.inner.explain(query),
        }
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        let Source::Select(plain) = source else { return self.inner.open(source) };
        let Some(SealedSelect { select, rows }) = SealedSelect::new(self.ciphers, plain)? else {
            return self.inner.open(source);
        };
        let mut cursor = self.inner.open(&Source::Select(&select))?;
        cursor.columns = Arc::new(Source::select_columns(plain));
        self.cursors.borrow_mut().push((Arc::clone(&cursor.columns), rows));
        Ok(cursor)
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        let cursors = self.cursors.borrow();
        let Some((_, sealed)) =
            cursors.iter().find(|(columns, _)| Arc::ptr_eq(columns, &cursor.columns))
        else {
            return self.inner.fetch(cursor, rows);
        };
        let mut stored = RowBuffer::default();
        self.inner.fetch(cursor, &mut stored)?;
        rows.clear();
        while let Some(row) = stored.next_row()? {
            rows.push(&sealed.open(&row)?.as_slice())?;
        }
        Ok(())
    }

    fn close(&self, cursor: &mut Cursor) {
        self.cursors.borrow_mut().retain(|(columns, _)| !Arc::ptr_eq(columns, &cursor.columns));
        self.inner.close(cursor);
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.inner.tables()?.into_iter().map(|table| self.ciphers.describe(table)).collect()
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let changes = changes.iter().map(|change| self.sealed_change(change));
        self.inner.alter(&changes.collect::<Result<Vec<_>>>()?)
    }
}

/// Checks that a value is not encrypted: its bytes are sealed as a whole.
fn check_plain(cipher: &TableCipher, value: &ValueAddress<'_>) -> Result<()> {
    if cipher.column(value.column).is_none() {
        return Ok(());
    }
    let message = "an encrypted value can't be read in parts: read the whole row";
    Err(value.error(ErrorKind::Unsupported, message))
}
