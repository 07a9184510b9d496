//! Reading rows by many keys: from a server in a few requests, instead of one for each key.

use crate::access::TableAccess;
use crate::handle::SessionSource;
use crate::on_request::with_places;
use bobak_core::FoldedValue;
use bobak_core::statements::CallSite;
use bobak_core::{Condition, Key, Record, Result, Row, Select, Value, ValueRef};
use std::collections::HashMap;

/// The maximum number of keys of a request.
const MOST_KEYS: usize = 5_000;

/// The maximum number of keys of a request if they have several columns: SQLite limits the depth of the
/// condition.
const MOST_COMPOSITE_KEYS: usize = 200;

impl TableAccess<'_> {
    /// The records with these keys, in the order of the keys; `None` for each missing one.
    #[track_caller]
    pub(crate) fn get_many<T: Record>(&self, keys: &[T::Key]) -> Result<Vec<Option<T>>> {
        let _at = CallSite::enter();
        self.schema.check_has_key()?;
        let is_near = match &self.source {
            SessionSource::Engine(handle) => handle.engine()?.capabilities().nonblocking_get,
            SessionSource::Transaction(_) => false,
        };
        if (is_near || keys.len() < 2) && T::ON_REQUEST.is_empty() {
            return self.get_each(keys);
        }
        let mut found: Vec<Option<T>> = Vec::new();
        found.resize_with(keys.len(), || None);
        let most = self.most_keys();
        for (keys, found) in keys.chunks(most).zip(found.chunks_mut(most)) {
            self.get_chunk::<T>(keys, found)?;
        }
        Ok(found)
    }

    /// One call for each key, on an engine in this process.
    fn get_each<T: Record>(&self, keys: &[T::Key]) -> Result<Vec<Option<T>>> {
        let read = |session: &dyn bobak_core::Session| {
            keys.iter()
                .map(|key| {
                    let mut record = None;
                    let mut each = |row: &dyn Row| {
                        record = Some(T::read(row)?);
                        Ok(())
                    };
                    key.with_values(|key| session.get(&self.schema, key, &mut each))?;
                    Ok(record)
                })
                .collect()
        };
        self.source.with(read).map_err(|error| self.in_table(error))
    }

    fn get_chunk<T: Record>(&self, keys: &[T::Key], found: &mut [Option<T>]) -> Result<()> {
        let mut wanted: HashMap<Vec<Option<FoldedValue>>, Vec<usize>> =
            HashMap::with_capacity(keys.len());
        let mut conditions = Vec::with_capacity(keys.len());
        for (at, key) in keys.iter().enumerate() {
            key.with_values(|values| {
                let places = wanted.entry(self.folded(values.iter().map(Value::as_ref)));
                let places = places.or_default();
                if places.is_empty() {
                    conditions
                        .push(values.iter().map(|value| value.clone().into_owned()).collect());
                }
                places.push(at);
            });
        }
        let mut select = Select::all(&self.schema);
        select.columns = self.columns_without(T::ON_REQUEST);
        select.condition = Some(self.any_key(conditions));
        select.order.clear();
        let mut each = |row: &dyn Row| {
            let key = self.schema.key().iter().map(|&place| row.get(place));
            for &at in wanted.get(&self.folded(key)).into_iter().flatten() {
                let record = T::read(row)?;
                if let Some(place) = found.get_mut(at) {
                    *place = Some(record);
                }
            }
            Ok(true)
        };
        self.scan(&select, |row| with_places(row, T::ON_REQUEST, &mut each))
    }

    /// The condition that matches the rows with these keys.
    pub(crate) fn any_key(&self, keys: Vec<Vec<Value<'static>>>) -> Condition {
        match self.schema.key() {
            [column] => {
                Condition::In { column: *column, values: keys.into_iter().flatten().collect() }
            }
            _ => Condition::Or(keys.iter().map(|key| self.key_condition(key)).collect()),
        }
    }

    /// Conditions that together match the rows with these keys.
    pub(crate) fn key_conditions(
        &self,
        keys: &[Vec<Value<'static>>],
    ) -> impl Iterator<Item = Condition> {
        keys.chunks(self.most_keys()).map(|keys| self.any_key(keys.to_vec()))
    }

    /// The maximum number of keys of a request.
    pub(crate) fn most_keys(&self) -> usize {
        if self.schema.key().len() == 1 { MOST_KEYS } else { MOST_COMPOSITE_KEYS }
    }

    /// A key such that two are equal if and only if the engine finds the same row by them.
    pub(crate) fn folded<'v>(
        &self,
        key: impl Iterator<Item = ValueRef<'v>>,
    ) -> Vec<Option<FoldedValue>> {
        let columns =
            self.schema.key().iter().filter_map(|&place| self.schema.columns().get(place));
        key.zip(columns).map(|(value, column)| FoldedValue::new(value, column.collation)).collect()
    }
}
