//! A reference implementation, as simple as possible: it copies each request, prepares each statement,
//! collects all rows, and returns the reply as a value. It shares only the SQLite bindings with the
//! program.

use crate::support::{Reply, V};
use bobak_sqlite::SqliteError;
use bobak_sqlite::raw::{Connection, FileAccess, RawType, Value};

pub struct Reference(Connection);

impl Reference {
    pub fn new() -> Self {
        let mut db = Connection::open(c":memory:", FileAccess::Create).unwrap();
        db.set_foreign_keys(false);
        Self(db)
    }

    pub fn exec(&mut self, sql: &str, runs: &[Vec<V>]) -> Reply {
        let mut reply = Reply::default();
        for run in runs {
            let result = self.run(sql, run, &[]).map(drop);
            if let Err(error) = result {
                reply.error = Some(error.message().to_owned());
                break;
            }
        }
        reply
    }

    pub fn query(&mut self, sql: &str, parameters: &[V], columns: &[u8]) -> Reply {
        let mut reply = Reply::default();
        if let Err(error) = self.rows(sql, parameters, columns, &mut reply.rows) {
            reply.error = Some(error.message().to_owned());
        }
        reply
    }

    fn run(&mut self, sql: &str, run: &[V], columns: &[u8]) -> Result<Vec<Vec<V>>, SqliteError> {
        let mut rows = Vec::new();
        self.rows(sql, run, columns, &mut rows)?;
        Ok(rows)
    }

    fn rows(
        &mut self,
        sql: &str,
        parameters: &[V],
        columns: &[u8],
        collected: &mut Vec<Vec<V>>,
    ) -> Result<(), SqliteError> {
        let id = self.0.prepare(sql)?.expect("a statement");
        let values: Vec<_> = parameters.iter().map(bound).collect();
        let result = self.step(id, &values, columns, collected);
        self.0.finalize(id);
        result
    }

    fn step(
        &mut self,
        id: bobak_sqlite::raw::StatementId,
        values: &[Value<'_>],
        columns: &[u8],
        collected: &mut Vec<Vec<V>>,
    ) -> Result<(), SqliteError> {
        let mut rows = self.0.query(id, values.iter().copied())?;
        while let Some(mut row) = rows.next()? {
            let kinds = columns.iter().map(|tag| match tag {
                1 | 2 => RawType::Int,
                3 => RawType::Float,
                4 => RawType::Text,
                _ => RawType::Bytes,
            });
            let mut tags = columns.iter();
            let mut values = Vec::new();
            row.read(kinds, |value| {
                values.push(match (*tags.next().unwrap(), value) {
                    (_, Value::Null) => V::Null,
                    (1, Value::Int(n)) => V::Int32(n as i32),
                    (_, Value::Int(n)) => V::Int64(n),
                    (_, Value::Float(n)) => V::Double(n),
                    (_, Value::Text(bytes)) => V::Text(bytes.into()),
                    (_, Value::Bytes(bytes)) => V::Blob(bytes.into()),
                });
            })?;
            collected.push(values);
        }
        Ok(())
    }
}

fn bound(value: &V) -> Value<'_> {
    match value {
        V::Null => Value::Null,
        V::Int32(n) => Value::Int((*n).into()),
        V::Int64(n) => Value::Int(*n),
        V::Double(n) => Value::Float(*n),
        V::Text(bytes) => Value::Text(bytes),
        V::Blob(bytes) => Value::Bytes(bytes),
    }
}
