//! Reads of records without the fields that are read on request, and those fields alone.

use crate::access::TableAccess;
use crate::on_request::{left_out, with_places};
use crate::table::Table;
use bobak_core::statements::CallSite;
use bobak_core::{
    AnyColumn, Error, ErrorKind, Expr, FieldSet, Key, Query, Record, Result, Row, Select, Value,
};
use std::collections::HashMap;

impl TableAccess<'_> {
    /// The query for records, and the columns that it leaves out.
    pub(crate) fn select_records<T: Record>(&self, query: &Query<T>) -> Result<(Select, FieldSet)> {
        let left_out = left_out(query);
        Ok((query.to_select(&self.schema, self.columns_without(left_out))?, left_out))
    }

    /// As [`get`](Self::get), without the fields that are read on request.
    #[inline]
    #[track_caller]
    pub(crate) fn get_record<T: Record, R>(
        &self,
        key: &[Value<'_>],
        read: impl FnMut(&dyn Row) -> Result<R>,
    ) -> Result<Option<R>> {
        match T::ON_REQUEST.is_empty() {
            true => self.get(key, read),
            false => self.get_partial::<T, R>(key, read),
        }
    }

    #[track_caller]
    fn get_partial<T: Record, R>(
        &self,
        key: &[Value<'_>],
        mut read: impl FnMut(&dyn Row) -> Result<R>,
    ) -> Result<Option<R>> {
        self.schema.check_has_key()?;
        let select = Select {
            columns: self.columns_without(T::ON_REQUEST),
            condition: Some(self.key_condition(key).resolve(&self.schema)?),
            order: Vec::new(),
            ..Select::all(&self.schema)
        };
        let mut found = None;
        self.scan(&select, |row| {
            found = Some(with_places(row, T::ON_REQUEST, &mut read)?);
            Ok(false)
        })?;
        Ok(found)
    }

    /// Loads a field of records, which are few enough for one statement.
    fn load_field<T: Record>(&self, column: usize, records: &mut [&mut T]) -> Result<()> {
        let mut places: HashMap<_, Vec<usize>> = HashMap::with_capacity(records.len());
        let mut keys = Vec::with_capacity(records.len());
        for (place, record) in records.iter().enumerate() {
            record.key().with_values(|key| {
                places.entry(self.folded(key.iter().map(Value::as_ref))).or_default().push(place);
                keys.push(key.iter().map(|value| value.clone().into_owned()).collect());
            });
        }
        let key_columns = self.schema.key().iter().copied();
        let select = Select {
            columns: key_columns.chain([column]).map(Expr::Column).collect(),
            condition: Some(self.any_key(keys).resolve(&self.schema)?),
            order: Vec::new(),
            ..Select::all(&self.schema)
        };
        let width = self.schema.key().len();
        self.scan(&select, |row| {
            let key = self.folded((0..width).map(|place| row.get(place)));
            for place in places.remove(&key).into_iter().flatten() {
                if let Some(record) = records.get_mut(place) {
                    record.set_written(column, row.get(width))?;
                }
            }
            Ok(true)
        })?;
        if places.is_empty() {
            return Ok(());
        }
        let message = "a record whose field was requested is not in the table: it was deleted";
        Err(self.in_table(Error::new(ErrorKind::NotFound, message)))
    }
}

impl<T: Record> Table<'_, T> {
    /// Loads a field that is read [on request](crate::types::OnRequest) into records that were read before: one statement for
    /// up to 5,000 records, or 200 with keys of several columns.
    ///
    /// ```
    /// use bobak::prelude::*;
    ///
    /// #[derive(Record)]
    /// struct Page {
    ///     id: i64,
    ///     title: String,
    ///     text: OnRequest<String>,
    /// }
    ///
    /// let db = Db::builder().record::<Page>().open("memory:")?;
    /// db.create_missing_tables()?;
    /// let pages = db.table::<Page>()?;
    /// pages.insert(&Page { id: 0, title: "Bern".into(), text: "a city".to_owned().into() })?;
    ///
    /// let mut listed = pages.list(Query::all())?;
    /// assert!(!listed[0].text.is_loaded());
    /// pages.load_field(Page::TEXT, &mut listed)?;
    /// assert_eq!(listed[0].text.get().map(String::as_str), Some("a city"));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// For one record, write `[&mut page]`. The value is that of now: if the record was changed since it was read, and has a
    /// version field, its update fails with `Conflict`.
    ///
    /// # Errors
    /// `Misuse` for a field that is always read; `NotFound` if a record is not in the table, after the others were loaded;
    /// as [`list`](Table::list).
    #[track_caller]
    pub fn load_field<'r>(
        &self,
        column: impl Into<AnyColumn<T>>,
        records: impl IntoIterator<Item = &'r mut T>,
    ) -> Result<()> {
        let _at = CallSite::enter();
        let column = column.into().index();
        if !T::ON_REQUEST.contains(column) {
            let message = "the field is read with its record: only an `OnRequest` is loaded";
            return Err(self.access.in_table(Error::new(ErrorKind::Misuse, message)));
        }
        self.access.schema.check_has_key()?;
        let mut records: Vec<&mut T> = records.into_iter().collect();
        let mut chunks = records.chunks_mut(self.access.most_keys());
        chunks.try_for_each(|records| self.access.load_field(column, records))
    }
}
