//! An engine whose tables have the types of their values.

use super::{names_column_of, types_in};
use bobak_core::{
    Engine, EngineLayer, Error, ErrorKind, Outcome, Result, Row, SchemaChange, Session,
    SessionLayer, TableSchema, Type, Value, Write,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// An engine in front of one with other programs' tables: its columns have the types of their values, as
/// [`stored_types`](super::stored_types()) finds them. For servers, whose clients see these types.
///
/// It reads a table once, and again after its definition has changed. Until then a column keeps its type: a value of
/// another type, which only another program can write, stays as it is, and is `Mismatch` where one of the type is read.
pub struct TypedEngine {
    engine: Arc<dyn Engine>,
    given: Vec<(String, Type)>,
    /// By the table's name.
    known: Mutex<HashMap<String, KnownTable>>,
}

#[derive(Clone)]
struct KnownTable {
    stored: TableSchema,
    typed: TableSchema,
}

impl TypedEngine {
    /// An engine in front of this one, which reads all tables with untyped columns. The columns that `given` names
    /// (`price`, or `item.price`) get these types. The names of tables of which not all rows were read are the second part
    /// of the result.
    ///
    /// # Errors
    /// As [`stored_types`](super::stored_types()), for columns that `given` names; those of the engine.
    pub fn open(
        engine: Arc<dyn Engine>,
        given: Vec<(String, Type)>,
    ) -> Result<(Self, Vec<String>)> {
        let typed = Self { engine, given, known: Mutex::default() };
        let mut partly_read = Vec::new();
        let session = typed.engine.session()?;
        for stored in session.tables_and_views()? {
            let is_named = typed.given.iter().any(|(name, _)| names_column_of(&stored, name));
            match types_in(&*session, &stored, &typed.given(), false) {
                Ok(found) => {
                    if !found.is_complete {
                        partly_read.push(stored.name().to_owned());
                    }
                    typed.keep(stored, found.table);
                }
                Err(error) if is_named || !is_of_values(&error) => {
                    return Err(error.in_table(stored.name().to_owned()));
                }
                Err(_) => {}
            }
        }
        drop(session);
        Ok((typed, partly_read))
    }

    fn given(&self) -> Vec<(&str, Type)> {
        self.given.iter().map(|(name, ty)| (name.as_str(), *ty)).collect()
    }

    fn keep(&self, stored: TableSchema, typed: TableSchema) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(stored.name().to_owned(), KnownTable { stored, typed });
    }

    fn typed(&self, session: &dyn Session, tables: Vec<TableSchema>) -> Result<Vec<TableSchema>> {
        tables.into_iter().map(|table| self.typed_table(session, table)).collect()
    }

    fn typed_table(&self, session: &dyn Session, stored: TableSchema) -> Result<TableSchema> {
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known.get(stored.name()).filter(|k| k.stored.same_as(&stored)) {
                return Ok(known.typed.clone());
            }
        }
        match types_in(session, &stored, &self.given(), false) {
            Ok(found) => {
                self.keep(stored, found.table.clone());
                Ok(found.table)
            }
            // The table's values show what is wrong with them.
            Err(error) if is_of_values(&error) => Ok(stored),
            Err(error) => Err(error),
        }
    }
}

/// Whether the error is about the values of a table or its definition, and not about the database as a whole.
fn is_of_values(error: &Error) -> bool {
    use ErrorKind::{Engine, Mismatch, OutOfRange, Schema, Syntax, Unsupported};
    matches!(error.kind(), Engine | Mismatch | OutOfRange | Schema | Syntax | Unsupported)
}

impl EngineLayer for TypedEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.engine
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(TypedSession { engine: self, inner: self.engine.session()? }))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.engine.write(write)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.engine.get(table, key, row)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.engine.alter(changes)
    }
}

impl std::fmt::Debug for TypedEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TypedEngine").field("engine", &self.engine.name()).finish_non_exhaustive()
    }
}

struct TypedSession<'e> {
    engine: &'e TypedEngine,
    inner: Box<dyn Session + 'e>,
}

impl SessionLayer for TypedSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.engine.typed(&*self.inner, self.inner.tables()?)
    }

    fn views(&self) -> Result<Vec<TableSchema>> {
        self.engine.typed(&*self.inner, self.inner.views()?)
    }
}
