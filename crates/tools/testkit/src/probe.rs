//! A session with short verbs: what cases talk to.

use bobak_core::{
    Assign, BulkChange, Capabilities, Condition, Engine, Error, FieldSet, OnError, Outcome, Result,
    Row, RowBuffer, SchemaChange, Select, Session, Source, TableSchema, TransactionControl, Value,
    Verb, Write, WriteBatch,
};
use std::sync::Arc;

/// A row's values, borrowing nothing.
pub type Values = Vec<Value<'static>>;

/// A table's description, shared.
pub type Table = Arc<TableSchema>;

/// SQL NULL, for [`row!`](crate::row).
pub const NULL: Value<'static> = Value::Null;

/// The values of a row: `row![1, "a", NULL, 2.5]`.
#[macro_export]
macro_rules! row {
    ($($value:expr),* $(,)?) => {
        ::std::vec::Vec::from([$($crate::bobak_core::Value::from($value)),*])
    };
}

/// A session, and its rows as plain vectors.
pub struct Probe<'e> {
    /// The session itself.
    pub session: Box<dyn Session + 'e>,
    /// What its engine can do.
    pub capabilities: Capabilities,
}

/// One write of a batch, owned.
#[derive(Clone)]
pub struct Entry {
    /// The table.
    pub table: Table,
    /// What happens.
    pub verb: Verb,
    /// For updates and upserts: the columns that are set.
    pub fields: FieldSet,
    /// As [`Write::values`].
    pub values: Values,
}

/// The result of a batch: of each row in order, and of the whole.
#[derive(Debug)]
pub struct BatchResult {
    /// The results passed to the callback.
    pub rows: Vec<Result<Outcome>>,
    /// The result of the call.
    pub whole: Result<()>,
}

impl Entry {
    /// A write; an update sets all fields.
    #[must_use]
    pub fn new(table: &Table, verb: Verb, values: Values) -> Self {
        let fields = if verb.sets_fields() { table.updated_fields() } else { FieldSet::EMPTY };
        let table = Arc::clone(table);
        Self { table, verb, fields, values }
    }

    /// An insert.
    #[must_use]
    pub fn insert(table: &Table, values: Values) -> Self {
        Self::new(table, Verb::Insert, values)
    }

    /// The same with these fields only.
    #[must_use]
    pub fn fields(mut self, columns: &[usize]) -> Self {
        self.fields = columns.iter().copied().collect();
        self
    }

    /// The write, lent.
    #[must_use]
    pub fn as_write(&self) -> Write<'_> {
        Write { table: &self.table, verb: self.verb, fields: self.fields, values: &self.values }
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.verb, self.table.name())?;
        if self.verb.sets_fields() {
            let name = |place: usize| self.table.columns().get(place).map(|c| c.name.as_ref());
            let fields: Vec<&str> = self.fields.iter().filter_map(name).collect();
            write!(f, " set ({})", fields.join(", "))?;
        }
        write!(f, " {}", brief(&self.values))
    }
}

impl BatchResult {
    /// The rows' outcomes, where all went well.
    ///
    /// # Errors
    /// The first that there is.
    pub fn outcomes(self) -> Result<Vec<Outcome>> {
        self.whole?;
        self.rows.into_iter().collect()
    }
}

impl<'e> Probe<'e> {
    /// Opens a session.
    ///
    /// # Errors
    /// As [`Engine::session`].
    pub fn new(engine: &'e dyn Engine) -> Result<Self> {
        let session = engine.session()?;
        Ok(Self { session, capabilities: engine.capabilities() })
    }

    /// Creates tables and opens a session.
    ///
    /// # Errors
    /// As [`Engine::alter`] and [`Engine::session`].
    pub fn with_tables(engine: &'e dyn Engine, tables: &[&Table]) -> Result<Self> {
        create(engine, tables)?;
        Self::new(engine)
    }

    /// A step of a transaction.
    ///
    /// # Errors
    /// As [`Session::control`].
    pub fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        self.session.control(step)
    }

    /// Sends one write.
    ///
    /// # Errors
    /// As [`Session::write`].
    pub fn send(&self, entry: &Entry) -> Result<Outcome> {
        self.session.write(&entry.as_write())
    }

    /// Writes one row; updates set all fields.
    ///
    /// # Errors
    /// As [`Session::write`].
    pub fn write(&self, table: &Table, verb: Verb, values: Values) -> Result<Outcome> {
        self.send(&Entry::new(table, verb, values))
    }

    /// Inserts one row.
    ///
    /// # Errors
    /// As [`Session::write`].
    pub fn insert(&self, table: &Table, values: Values) -> Result<Outcome> {
        self.write(table, Verb::Insert, values)
    }

    /// Inserts rows one by one.
    ///
    /// # Errors
    /// As [`Session::write`].
    pub fn insert_all(&self, table: &Table, rows: impl IntoIterator<Item = Values>) -> Result<()> {
        rows.into_iter().try_for_each(|values| self.insert(table, values).map(drop))
    }

    /// Updates one row, all fields.
    ///
    /// # Errors
    /// As [`Session::write`].
    pub fn update(&self, table: &Table, values: Values) -> Result<Outcome> {
        self.write(table, Verb::Update, values)
    }

    /// Deletes one row.
    ///
    /// # Errors
    /// As [`Session::write`].
    pub fn delete(&self, table: &Table, key: Values) -> Result<Outcome> {
        self.write(table, Verb::Delete, key)
    }

    /// Updates rows by a condition.
    ///
    /// # Errors
    /// As [`Session::change`].
    pub fn change(
        &self,
        table: &Table,
        condition: Option<Condition>,
        assign: &[Assign],
    ) -> Result<u64> {
        self.session.change(&BulkChange {
            table,
            condition: condition.as_ref(),
            assign: Some(assign),
        })
    }

    /// Deletes rows by a condition.
    ///
    /// # Errors
    /// As [`Session::change`].
    pub fn delete_where(&self, table: &Table, condition: Option<Condition>) -> Result<u64> {
        self.session.change(&BulkChange { table, condition: condition.as_ref(), assign: None })
    }

    /// Sends a batch.
    #[must_use]
    pub fn batch(&self, entries: &[Entry], on_error: OnError) -> BatchResult {
        let mut rows = Vec::new();
        let whole = batch_of(entries).and_then(|batch| {
            self.session.batch(&batch, on_error, &mut |result| rows.push(result))
        });
        BatchResult { rows, whole }
    }

    /// The row with this key.
    ///
    /// # Errors
    /// As [`Session::get`].
    pub fn get(&self, table: &Table, key: Values) -> Result<Option<Values>> {
        let mut found = None;
        let there = self.session.get(table, &key, &mut |row| {
            found = Some(values_of(row));
            Ok(())
        })?;
        Ok(found.filter(|_| there))
    }

    /// All rows of a table, by key.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn all(&self, table: &Table) -> Result<Vec<Values>> {
        self.select(&Select::all(table))
    }

    /// The rows that a condition keeps, by key.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn filter(&self, table: &Table, condition: Condition) -> Result<Vec<Values>> {
        self.select(&Select { condition: Some(condition), ..Select::all(table) })
    }

    /// A query's rows.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn select(&self, select: &Select) -> Result<Vec<Values>> {
        self.query(&Source::Select(select))
    }

    /// The rows of a source.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn query(&self, source: &Source<'_>) -> Result<Vec<Values>> {
        let mut rows = Vec::new();
        self.session.query(source, &mut |row| {
            rows.push(values_of(row));
            Ok(true)
        })?;
        Ok(rows)
    }

    /// How many rows a table has.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn count(&self, table: &Table) -> Result<usize> {
        Ok(self.all(table)?.len())
    }

    /// The next part of a cursor's rows.
    ///
    /// # Errors
    /// As [`Session::fetch`].
    pub fn fetch(&self, cursor: &mut bobak_core::Cursor) -> Result<Vec<Values>> {
        let mut buffer = RowBuffer::default();
        self.session.fetch(cursor, &mut buffer)?;
        rows_of(&mut buffer)
    }

    /// All rows that a cursor still has.
    ///
    /// # Errors
    /// As [`Session::fetch`].
    pub fn drain(&self, cursor: &mut bobak_core::Cursor) -> Result<Vec<Values>> {
        let mut rows = Vec::new();
        loop {
            let mut part = self.fetch(cursor)?;
            if part.is_empty() {
                return Ok(rows);
            }
            rows.append(&mut part);
        }
    }
}

/// Creates tables, in one change.
///
/// # Errors
/// As [`Engine::alter`].
pub fn create(engine: &dyn Engine, tables: &[&Table]) -> Result<()> {
    let changes: Vec<_> =
        tables.iter().map(|table| SchemaChange::CreateTable(Arc::clone(table))).collect();
    engine.alter(&changes)
}

/// The writes as a batch.
///
/// # Errors
/// As [`WriteBatch::push`].
pub fn batch_of(entries: &[Entry]) -> Result<WriteBatch> {
    let mut batch = WriteBatch::new();
    for entry in entries {
        batch.push(&entry.as_write())?;
    }
    Ok(batch)
}

/// A row for people: long values are cut.
pub(crate) fn brief(values: &[Value<'_>]) -> String {
    let one = |value: &Value<'_>| match value {
        Value::Text(text) if text.len() > 80 => {
            let start: String = text.chars().take(10).collect();
            format!("Text({start:?}… of {} bytes)", text.len())
        }
        Value::Bytes(bytes) if bytes.len() > 40 => format!("Bytes(of {})", bytes.len()),
        other => format!("{other:?}"),
    };
    let all: Vec<String> = values.iter().map(one).collect();
    format!("[{}]", all.join(", "))
}

/// A lent row's values.
#[must_use]
pub fn values_of(row: &dyn Row) -> Values {
    (0..row.len()).map(|place| row.get(place).to_owned()).collect()
}

/// The rows that a buffer holds.
///
/// # Errors
/// As [`RowBuffer::next_row`]; `Corrupt` where a row's bytes are damaged.
pub fn rows_of(buffer: &mut RowBuffer) -> Result<Vec<Values>> {
    let mut rows = Vec::new();
    while let Some(row) = buffer.next_row()? {
        bobak_core::codec::EncodedRow::check(row.as_bytes())?;
        rows.push(values_of(&row));
    }
    if rows.len() == buffer.rows() {
        return Ok(rows);
    }
    let message = format!("the buffer counts {} rows, not {}", buffer.rows(), rows.len());
    Err(Error::new(bobak_core::ErrorKind::Corrupt, message))
}
