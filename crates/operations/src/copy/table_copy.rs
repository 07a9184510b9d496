//! The rows of one table: finding where an interrupted copy stopped, copying, and comparing.

use super::columns::Columns;
use super::progress::CopyProgress;
use bobak_core::{
    BulkChange, Engine, Error, ErrorKind, Expr, FieldSet, OnError, Order, Result, Row, RowBuffer,
    Select, Session, Source, TableSchema, TransactionControl, Value, ValueRef, Verb, Write,
    WriteBatch,
};
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

/// The maximum size of a batch in bytes of rows.
const BATCH_BYTES: usize = 4 << 20;

/// A table in both databases.
pub(super) struct TableCopy<'a> {
    from: &'a dyn Engine,
    to: &'a dyn Engine,
    source: &'a Arc<TableSchema>,
    target: Arc<TableSchema>,
    columns: Columns,
    /// Whether foreign keys are checked as rows are written.
    foreign_keys: bool,
    /// Whether the source has dates that do not exist, which are read as NULL.
    pub(super) has_invalid_dates: bool,
}

/// The content of the target before the copy.
pub(super) struct TargetContent {
    /// The number of rows.
    pub(super) rows: u64,
    /// The largest key, in the source's form; `None` if there are no rows.
    key: Option<Vec<Value<'static>>>,
}

impl<'a> TableCopy<'a> {
    /// # Errors
    /// `Schema` if the tables' columns differ.
    pub(super) fn new(
        from: &'a dyn Engine,
        to: &'a dyn Engine,
        source: &'a Arc<TableSchema>,
        target: Arc<TableSchema>,
        casts: bool,
    ) -> Result<Self> {
        let columns = Columns::with_casts(source, &target, casts)?;
        let (foreign_keys, has_invalid_dates) = (true, false);
        Ok(Self { from, to, source, target, columns, foreign_keys, has_invalid_dates })
    }

    /// Writes rows in an order in which they may name rows that come later. The source's rows have kept the rules.
    pub(super) fn without_foreign_keys(mut self) -> Self {
        self.foreign_keys = false;
        self
    }

    /// Reads what the target contains.
    ///
    /// # Errors
    /// `Conflict` if it has rows and `resume` is off, or if its rows are not the first ones of the source.
    pub(super) fn begin(&self, resume: bool) -> Result<TargetContent> {
        let rows = count(&*self.to.session()?, Select::all(&self.target))?;
        if rows == 0 {
            return Ok(TargetContent { rows, key: None });
        }
        if !resume {
            let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
            let message = format!(
                "the target's table already has {rows}: empty it, or resume the interrupted copy"
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        if self.columns.casts_key(&self.target) {
            let message = "a copy whose keys change their type cannot be resumed: empty the table";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let key = self.largest_key()?;
        let session = self.from.session()?;
        let all = count(&*session, Select::all(self.source))?;
        let left = count(&*session, Select::all(self.source).after(&key)?)?;
        if all - left.min(all) != rows {
            let message = format!(
                "the target's table has {rows} rows up to its largest key, where the source has {}: it is not the \
                 beginning of a copy",
                all - left.min(all)
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        Ok(TargetContent { rows, key: Some(key) })
    }

    /// A session that reads the rows of the source.
    fn reader(&self) -> Result<Box<dyn Session + 'a>> {
        let session = self.from.session()?;
        if self.has_invalid_dates {
            session.read_invalid_dates_as_null()?;
        }
        Ok(session)
    }

    /// Has the empty target use this key for a row and delete it, so that it never makes the key again.
    ///
    /// # Errors
    /// Those of both engines.
    pub(super) fn use_key(&self, key: i64) -> Result<()> {
        let [position] = self.target.key() else { return Ok(()) };
        let first = Select { limit: Some(1), ..Select::all(self.source) };
        let mut batch = WriteBatch::new();
        walk(&*self.reader()?, &first, |row| {
            let mut values = Vec::with_capacity(self.target.columns().len());
            self.columns.values(row, &mut values)?;
            if let Some(value) = values.get_mut(*position) {
                *value = Value::Int(key);
            }
            let (table, verb, fields) = (&self.target, Verb::Insert, FieldSet::EMPTY);
            batch.push(&Write { table, verb, fields, values: &values })
        })?;
        let writer = self.to.session()?;
        self.begin_writing(&*writer)?;
        let all = BulkChange { table: &self.target, condition: None, assign: None };
        let done = writer
            .batch(&batch, OnError::Stop, &mut |_| {})
            .and_then(|()| writer.change(&all))
            .and_then(|_| writer.control(TransactionControl::Commit));
        if done.is_err() && writer.in_transaction() {
            writer.control(TransactionControl::Rollback)?;
        }
        done
    }

    /// Begins a transaction, without checks of foreign keys if the rows may name later ones and the engine can.
    fn begin_writing(&self, writer: &dyn Session) -> Result<()> {
        if !self.foreign_keys {
            match writer.begin_replay(&[self.target.name()]) {
                // Rows that name rows of the same batch, or earlier ones, pass.
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                begun => return begun,
            }
        }
        writer.control(TransactionControl::Begin)
    }

    /// Copies the rows after `found`; returns their number.
    ///
    /// # Errors
    /// Those of both engines; the error of a rejected row has its number among the rows of this copy.
    pub(super) fn copy(
        &self,
        found: &TargetContent,
        batch_rows: u64,
        progress: &mut dyn FnMut(CopyProgress<'_>),
    ) -> Result<u64> {
        let mut select = Select::all(self.source);
        if let Some(key) = &found.key {
            select = select.after(key)?;
        }
        let (reader, writer) = (self.reader()?, self.to.session()?);
        let left = count(&*reader, select.clone())?;
        let of = found.rows + left;
        let mut batch = WriteBatch::new();
        let mut copied = 0;
        let mut send = |batch: &mut WriteBatch| -> Result<()> {
            self.write(&*writer, batch).map_err(|error| match error.row() {
                Some(row) => error.at_row(copied + row),
                None => error,
            })?;
            copied += batch.rows();
            batch.clear();
            let (table, rows) = (self.source.name(), found.rows + copied);
            progress(CopyProgress { table, checking: false, rows, of });
            Ok(())
        };
        walk(&*reader, &select, |row| {
            self.add(&mut batch, row)?;
            if batch.rows() >= batch_rows || batch.bytes() >= BATCH_BYTES {
                send(&mut batch)?;
            }
            Ok(())
        })?;
        if !batch.is_empty() {
            send(&mut batch)?;
        }
        Ok(copied)
    }

    fn write(&self, writer: &dyn Session, batch: &WriteBatch) -> Result<()> {
        let write = || writer.batch(batch, OnError::Stop, &mut |_| {});
        if self.foreign_keys {
            return write();
        }
        self.begin_writing(writer)?;
        let done = write().and_then(|()| writer.control(TransactionControl::Commit));
        if done.is_err() && writer.in_transaction() {
            writer.control(TransactionControl::Rollback)?;
        }
        done
    }

    /// # Errors
    /// `Conflict` if the row counts differ.
    pub(super) fn check_count(&self) -> Result<()> {
        let source = count(&*self.from.session()?, Select::all(self.source))?;
        let target = count(&*self.to.session()?, Select::all(&self.target))?;
        if source == target {
            return Ok(());
        }
        let message = format!("{target} rows are in the target, {source} in the source");
        Err(Error::new(ErrorKind::Conflict, message))
    }

    /// The checksum over all values of all rows, equal in both tables.
    ///
    /// # Errors
    /// `Conflict` if they differ.
    pub(super) fn check_sum(&self, progress: &mut dyn FnMut(CopyProgress<'_>)) -> Result<u64> {
        let reader = self.reader()?;
        let rows = count(&*reader, Select::all(self.source))?;
        let (mut source, mut target, mut done) = (0_u64, 0_u64, 0_u64);
        let mut step = |done: u64| {
            if done.is_multiple_of(10_000) {
                let of = rows.saturating_mul(2);
                let table = self.source.name();
                progress(CopyProgress { table, checking: true, rows: done, of });
            }
        };
        walk(&*reader, &Select::all(self.source), |row| {
            let mut values = Vec::new();
            self.columns.values(row, &mut values)?;
            source = source.wrapping_add(self.sum(&values.as_slice()));
            done += 1;
            step(done);
            Ok(())
        })?;
        walk(&*self.to.session()?, &Select::all(&self.target), |row| {
            target = target.wrapping_add(self.sum(row));
            done += 1;
            step(done);
            Ok(())
        })?;
        if source == target {
            return Ok(source);
        }
        let message = format!(
            "the rows differ: their checksum is {target:016x} in the target, {source:016x} in the source"
        );
        Err(Error::new(ErrorKind::Conflict, message))
    }

    fn add(&self, batch: &mut WriteBatch, row: &dyn Row) -> Result<()> {
        let mut values = Vec::with_capacity(self.target.columns().len());
        self.columns.values(row, &mut values)?;
        let (table, verb, fields) = (&self.target, Verb::Insert, FieldSet::EMPTY);
        batch.push(&Write { table, verb, fields, values: &values })
    }

    /// The checksum of one row in the target's form.
    fn sum(&self, row: &dyn Row) -> u64 {
        sum_row(&self.columns, row)
    }

    /// The key of the target's last row, in the source's form.
    fn largest_key(&self) -> Result<Vec<Value<'static>>> {
        let columns = self.target.key();
        let select = Select {
            columns: columns.iter().map(|&column| Expr::Column(column)).collect(),
            order: columns.iter().map(|&column| Order { column, descending: true }).collect(),
            limit: Some(1),
            ..Select::all(&self.target)
        };
        let mut key = Vec::new();
        self.to.session()?.query(&Source::Select(&select), &mut |row| {
            for (value, &source) in (0..row.len()).zip(self.source.key()) {
                if let Some(column) = self.source.columns().get(source) {
                    key.push(column.accept(row.get(value).into())?);
                }
            }
            Ok(false)
        })?;
        Ok(key)
    }
}

/// The checksum of one row in the target's form. The checksum of a table does not depend on the order of its rows.
pub(crate) fn sum_row(columns: &Columns, row: &dyn Row) -> u64 {
    let mut hasher = DefaultHasher::new();
    for column in (0..row.len()).filter(|&column| columns.is_copied(column)) {
        match row.get(column) {
            ValueRef::Null => hasher.write_u8(0),
            ValueRef::Int(value) => {
                hasher.write_u8(1);
                hasher.write_i64(value);
            }
            ValueRef::Float(value) => {
                hasher.write_u8(2);
                // The two zeros are equal.
                hasher.write_u64((value + 0.0).to_bits());
            }
            ValueRef::Text(value) => add_bytes(&mut hasher, 3, value.as_bytes()),
            ValueRef::Bytes(value) => add_bytes(&mut hasher, 4, value),
        }
    }
    hasher.finish()
}

fn add_bytes(hasher: &mut DefaultHasher, tag: u8, bytes: &[u8]) {
    hasher.write_u8(tag);
    hasher.write_usize(bytes.len());
    hasher.write(bytes);
}

/// The number of rows of a selection.
pub(super) fn count(session: &dyn Session, select: Select) -> Result<u64> {
    let select = Select { columns: vec![Expr::Count], order: Vec::new(), ..select };
    let mut rows = 0;
    session.query(&Source::Select(&select), &mut |row| {
        if let ValueRef::Int(count) = row.get(0) {
            rows = u64::try_from(count).unwrap_or(0);
        }
        Ok(true)
    })?;
    Ok(rows)
}

/// Passes rows on in blocks, so that a slow caller blocks nothing in the engine.
pub(crate) fn walk(
    session: &dyn Session,
    select: &Select,
    mut each: impl FnMut(&dyn Row) -> Result<()>,
) -> Result<()> {
    let mut cursor = session.open(&Source::Select(select))?;
    let mut rows = RowBuffer::default();
    let result = (|| {
        loop {
            session.fetch(&mut cursor, &mut rows)?;
            if rows.rows() == 0 {
                return Ok(());
            }
            while let Some(row) = rows.next_row()? {
                each(&row)?;
            }
        }
    })();
    session.close(&mut cursor);
    result
}
