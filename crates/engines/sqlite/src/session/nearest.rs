//! Queries for the nearest rows by vectors in memory.

use super::SqliteSession;
use super::database::Database;
use super::session_connection::AccessMode;
use super::vector_cache::{VectorCache, VectorColumn, VectorState};
use crate::connection::Connection;
use bobak_core::engine::VectorArray;
use bobak_core::nearest::Nearest;
use bobak_core::{Comparison, Condition, Expr, Result, Row, Select, Source, Value, ValueRef};
use std::sync::Arc;

/// Queries for more rows read all rows: to read these by their keys would be slower.
const MAX_ROWS: usize = 1_000;

/// Finds a table of the main database with rows of its own, unless a temporary one has the same name.
const STORED_TABLE: &str = "SELECT 1 FROM main.sqlite_schema \
    WHERE type = 'table' AND rootpage > 0 AND name = ?1 COLLATE NOCASE \
    AND NOT EXISTS (SELECT 1 FROM temp.sqlite_schema WHERE name = ?1 COLLATE NOCASE)";

/// A query for the nearest of all rows of a table with an integer key.
struct ArrayQuery<'q> {
    select: &'q Select,
    nearest: &'q Nearest,
    key: usize,
    /// How many rows are nearest, with those that the query skips.
    rows: usize,
    column: VectorColumn,
}

impl SqliteSession<'_> {
    /// Passes the rows of a query for the nearest ones to `row`, if there is an array of the vectors; else returns `false`.
    pub(super) fn nearest_by_array(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<bool> {
        let Source::Select(select) = source else { return Ok(false) };
        let Some(query) = ArrayQuery::of(select) else { return Ok(false) };
        let Some(cache) = self.engine.vectors() else { return Ok(false) };
        if self.in_transaction.get() {
            return Ok(false);
        }
        select.check_nearest()?;
        let mut using = self.connection(AccessMode::Query)?;
        let _callback = using.begin_callback()?;
        let Some(found) = query.run(self.engine, cache, using.get())? else { return Ok(false) };
        for values in found {
            if !row(&values.as_slice())? {
                break;
            }
        }
        Ok(true)
    }
}

impl<'q> ArrayQuery<'q> {
    fn of(select: &'q Select) -> Option<Self> {
        let nearest = select.nearest.as_deref()?;
        let table = &select.table;
        let rows = usize::try_from(select.limit?.checked_add(select.offset)?).ok()?;
        let [key] = table.key() else { return None };
        if select.condition.is_some() || rows > MAX_ROWS {
            return None;
        }
        let vector = table.columns().get(nearest.column)?;
        let column = VectorColumn {
            table: table.name().to_owned(),
            key: table.columns().get(*key)?.name.to_string(),
            vector: vector.name.to_string(),
            numbers: nearest.to.len(),
            nullable: vector.nullable,
        };
        Some(Self { select, nearest, key: *key, rows, column })
    }

    /// The rows; `None` without an array of the content that the connection reads.
    fn run(
        &self,
        database: &Database,
        cache: &VectorCache,
        connection: &mut Connection,
    ) -> Result<Option<Vec<Vec<Value<'static>>>>> {
        // A transaction that has begun earlier may read older content than the observer has seen.
        if !database.is_single() && connection.db.is_in_transaction() {
            return Ok(None);
        }
        let before = cache.version_before(database);
        connection.in_snapshot(|connection| {
            let name = [Value::from(self.column.table.as_str())];
            if connection.all_rows(STORED_TABLE, &name)?.is_empty() {
                return Ok(None);
            }
            let version = cache.version_read(database, connection, before);
            let Some(version) = version else { return Ok(None) };
            let Some(array) = self.array(cache, connection, version)? else { return Ok(None) };
            self.rows(connection, &array)
        })
    }

    /// The array of the version; reads it if it is the second query of the version.
    fn array(
        &self,
        cache: &VectorCache,
        connection: &mut Connection,
        version: u32,
    ) -> Result<Option<Arc<VectorArray>>> {
        match cache.find(&self.column, version) {
            VectorState::Array(array) => return Ok(Some(array)),
            VectorState::Unavailable => return Ok(None),
            VectorState::Queried => {}
        }
        let read = self.read(connection, cache.max_bytes());
        let (state, array) = match read {
            Ok(Some(array)) => {
                let array = Arc::new(array);
                (VectorState::Array(Arc::clone(&array)), Ok(Some(array)))
            }
            Ok(None) => (VectorState::Unavailable, Ok(None)),
            Err(error) => (VectorState::Queried, Err(error)),
        };
        cache.set(self.column.clone(), version, state);
        array
    }

    /// Reads the vectors; `None` if they are larger than the cache, or a row has no vector or no key in order.
    fn read(&self, connection: &mut Connection, max_bytes: usize) -> Result<Option<VectorArray>> {
        let reading = self.reading(vec![self.key, self.nearest.column]);
        let (mut array, mut fits) = (VectorArray::new(self.column.numbers), true);
        connection.each_selected(&reading, &mut |row| {
            fits = match (row.get(0), row.get(1)) {
                (_, ValueRef::Null) => self.column.nullable,
                (ValueRef::Int(key), ValueRef::Bytes(vector)) => {
                    array.push(key, vector) && array.bytes() <= max_bytes
                }
                _ => false,
            };
            Ok(fits)
        })?;
        Ok(fits.then_some(array))
    }

    /// Finds the nearest vectors, and reads their rows by key.
    fn rows(
        &self,
        connection: &mut Connection,
        array: &VectorArray,
    ) -> Result<Option<Vec<Vec<Value<'static>>>>> {
        let stored = self.select.columns.iter().filter_map(|expr| expr.column()).chain([self.key]);
        let mut reading = self.reading(stored.collect());
        let skipped = usize::try_from(self.select.offset).unwrap_or(usize::MAX);
        let mut rows = Vec::new();
        for (key, distance) in array.nearest(self.nearest, self.rows)?.into_iter().skip(skipped) {
            let (comparison, value) = (Comparison::Equal, Value::Int(key));
            reading.condition = Some(Condition::Compare { column: self.key, comparison, value });
            let mut values = None;
            connection.each_selected(&reading, &mut |row| {
                let mut stored = (0..row.len()).map(|place| row.get(place).to_owned());
                let columns = self.select.columns.iter();
                values = columns
                    .map(|expr| match expr {
                        Expr::Distance => Some(Value::Float(distance)),
                        _ => stored.next(),
                    })
                    .collect();
                Ok(true)
            })?;
            let Some(values) = values else { return Ok(None) };
            rows.push(values);
        }
        Ok(Some(rows))
    }

    /// A query for columns of rows, in no order.
    fn reading(&self, columns: Vec<usize>) -> Select {
        let columns = columns.into_iter().map(Expr::Column).collect();
        let order = Vec::new();
        Select { columns, nearest: None, limit: None, offset: 0, order, ..self.select.clone() }
    }
}

#[cfg(test)]
mod tests {
    use crate::{JournalMode, LockingMode, Sqlite, SqliteBuilder};
    use bobak_core::nearest::{Metric, Nearest};
    use bobak_core::{ColumnSchema, Engine, SchemaChange, Select, Source, TableSchema, Vector};
    use std::sync::Arc;

    fn filled(engine: &Sqlite) -> Select {
        let table = TableSchema::builder("item")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<Vector<2>>("looks"))
            .key(["id"]);
        let table = Arc::new(table.build().unwrap());
        engine.alter(&[SchemaChange::CreateTable(Arc::clone(&table))]).unwrap();
        let sql = "INSERT INTO item VALUES (1, zeroblob(8)), (2, zeroblob(8))";
        engine.session().unwrap().execute(sql, &[]).unwrap();
        let to = [0.0, 1.0].as_slice().into();
        let nearest = Some(Box::new(Nearest { column: 1, metric: Metric::Dot, to }));
        Select { nearest, limit: Some(1), ..Select::all(&table) }
    }

    #[test]
    fn arrays_are_used_until_the_database_changes() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str, builder: SqliteBuilder| builder.open(folder.path().join(name));
        let journal = |mode| Sqlite::builder().journal_mode(mode);
        let exclusive = |mode| journal(mode).locking(LockingMode::Exclusive);
        let engines = vec![
            Sqlite::open_memory().unwrap(),
            open("a", journal(JournalMode::Wal)).unwrap(),
            open("b", journal(JournalMode::Delete)).unwrap(),
            open("c", exclusive(JournalMode::Wal)).unwrap(),
            open("d", exclusive(JournalMode::Delete)).unwrap(),
        ];
        #[cfg(feature = "encryption")]
        let engines =
            engines.into_iter().chain([JournalMode::Wal, JournalMode::Delete].map(|mode| {
                let key = bobak_encryption::EncryptionKey::bytes([1; 32]);
                open(mode.as_str(), journal(mode).key(key)).unwrap()
            }));
        for engine in engines {
            let (select, session) = (filled(&engine), engine.session().unwrap());
            let query = || {
                session.query(&Source::Select(&select), &mut |_| Ok(true)).unwrap();
                engine.inner().vectors().unwrap().bytes()
            };
            assert_eq!((query(), query(), query()), (0, 2 * 20, 2 * 20));
            session.execute("DELETE FROM item WHERE id = 2", &[]).unwrap();
            assert_eq!((query(), query(), query()), (0, 20, 20));
        }
    }
}
