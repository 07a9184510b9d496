//! What a write sets in the caller's record.

use crate::access::key_value;
use bobak_core::{Key, KeyGeneration, Outcome, Record, Result, TableSchema, Value, ValueRef, Verb};

/// A record passed to a write: `&record`, or `&mut record`.
///
/// A write sets in `&mut record` what it sets in the row, without a further request, so that the record can be updated
/// again without reading it:
///
/// | method | sets |
/// |---|---|
/// | `insert`, `insert_or_replace` | a generated key, the creation and the modification time |
/// | `insert_or_ignore` | the same, if the record was inserted |
/// | `upsert`, `upsert_on` | a generated key or that of the updated record, the modification time; read the record again before you update it |
/// | `update`, `update_fields` | the modification time, the version |
///
/// `&record` stays as it is. A rollback does not undo changes of a record: read it again.
///
/// ```
/// use bobak::prelude::*;
/// use bobak::types::Timestamp;
///
/// #[derive(Record)]
/// struct Page {
///     id: i64,
///     text: String,
///     #[record(modified_at)]
///     modified: Timestamp,
///     #[record(version)]
///     version: i64,
/// }
///
/// let db = Db::builder().record::<Page>().open("memory:")?;
/// db.create_missing_tables()?;
/// let pages = db.table::<Page>()?;
/// let mut page = Page { id: 0, text: "a".into(), modified: Timestamp::UNIX_EPOCH, version: 0 };
/// pages.insert(&mut page)?;
/// assert_eq!(page.id, 1);
/// for text in ["b", "c"] {
///     page.text = text.into();
///     pages.update(&mut page)?;
/// }
/// assert_eq!(page.version, 2);
/// # Ok::<(), Error>(())
/// ```
pub trait RecordArg<T: Record>: sealed::Sealed<T> {}

impl<T: Record> RecordArg<T> for &T {}
impl<T: Record> RecordArg<T> for &mut T {}

pub(crate) mod sealed {
    use super::{GeneratedValues, Record, Result};

    pub trait Sealed<T: Record> {
        /// Whether the record can be changed.
        const IS_MUT: bool;

        fn as_record(&self) -> &T;

        /// Sets the fields that a write has set.
        fn set_written(&mut self, written: &GeneratedValues) -> Result<()>;
    }

    impl<T: Record> Sealed<T> for &T {
        const IS_MUT: bool = false;

        #[inline]
        fn as_record(&self) -> &T {
            self
        }

        #[inline]
        fn set_written(&mut self, _: &GeneratedValues) -> Result<()> {
            Ok(())
        }
    }

    impl<T: Record> Sealed<T> for &mut T {
        const IS_MUT: bool = true;

        #[inline]
        fn as_record(&self) -> &T {
            self
        }

        fn set_written(&mut self, written: &GeneratedValues) -> Result<()> {
            for (column, value) in written.0.iter().flatten() {
                T::set_written(self, *column, value.as_ref())?;
            }
            Ok(())
        }
    }
}

/// The columns that a write has set, with their values: at most the key, a time stamp, and a time stamp or version.
pub struct GeneratedValues([Option<(usize, Value<'static>)>; 3]);

impl GeneratedValues {
    /// What an insert has set in a row with these prepared values.
    pub(crate) fn by_insert(
        schema: &TableSchema,
        verb: Verb,
        values: &[Value<'_>],
        outcome: &Outcome,
    ) -> Self {
        if *outcome == Outcome::Ignored {
            return Self([const { None }; 3]);
        }
        let key = match (outcome, schema.key(), schema.key_generation()) {
            (Outcome::Inserted(Some(made)), &[key], _) => Some((key, key_value(*made))),
            (Outcome::Updated(_), ..) => None,
            (_, &[key], KeyGeneration::Uuid) => copy(values, Some(key)),
            _ => None,
        };
        // An upsert keeps the creation time of an existing row.
        let created = schema.created_at().filter(|_| !verb.is_upsert());
        Self([key, copy(values, created), copy(values, schema.modified_at())])
    }

    /// One column.
    pub(crate) const fn one(column: usize, value: Value<'static>) -> Self {
        Self([Some((column, value)), None, None])
    }

    /// What an update has set in a row with these prepared values.
    pub(crate) fn by_update(schema: &TableSchema, values: &[Value<'_>]) -> Self {
        let version = schema.version().and_then(|column| match values.get(column)?.as_ref() {
            ValueRef::Int(version) => Some((column, Value::Int(version.wrapping_add(1)))),
            _ => None,
        });
        Self([copy(values, schema.modified_at()), version, None])
    }
}

fn copy(values: &[Value<'_>], column: Option<usize>) -> Option<(usize, Value<'static>)> {
    let column = column?;
    Some((column, values.get(column)?.clone().into_owned()))
}

/// The key of a record whose values were prepared: the one that Bobak generated, or the record's own if the engine will
/// generate one.
pub(crate) fn key_of<T: Record>(record: &T, values: &[Value<'_>]) -> Result<T::Key> {
    let value = |&column: &usize| values.get(column).map_or(ValueRef::Null, Value::as_ref);
    let key: Vec<ValueRef<'_>> = T::schema().key().iter().map(value).collect();
    match &key[..] {
        [ValueRef::Null] => Ok(record.key()),
        key => T::Key::from_values(key),
    }
}
