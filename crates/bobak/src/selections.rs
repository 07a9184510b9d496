//! Columns and aggregates of a table's records.

use crate::table::Table;
use bobak_core::{
    Column, Field, FromRow, Query, Record, Result, Selection, SelectionPart, ValueRef,
};

impl<T: Record> Table<'_, T> {
    /// Columns and aggregates of a query, as tuples.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct City { id: i64, country: String, people: i64 }
    /// # let db = Db::builder().record::<City>().open("memory:")?;
    /// # db.create_missing_tables()?;
    /// # let cities = db.table::<City>()?;
    /// # cities.insert(&City { id: 0, country: "CH".into(), people: 134_000 })?;
    /// let by_country = cities.select(
    ///     Query::filter(City::PEOPLE.gt(1_000)).group_by(City::COUNTRY),
    ///     (City::COUNTRY, count(), City::PEOPLE.sum()),
    /// )?;
    /// assert_eq!(by_country, [("CH".to_owned(), 1, Some(134_000))]);
    /// let countries: Vec<String> = cities.select(Query::all(), City::COUNTRY)?;
    /// assert_eq!(countries, ["CH"]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`count`](Table::count); `Schema` for a column next to an aggregate that the query does not group
    /// by; `OutOfRange` if a sum overflows.
    #[track_caller]
    pub fn select<S: Selection<T>>(
        &self,
        query: impl Into<Query<T>>,
        selection: S,
    ) -> Result<Vec<S::Row>> {
        self.access.select(&query.into(), selection.exprs())
    }

    /// One aggregate over a query: `people.value(Query::all(), Person::AGE.max())`.
    ///
    /// # Errors
    /// As [`select`](Table::select).
    #[track_caller]
    pub fn value<P: SelectionPart<T>>(
        &self,
        query: impl Into<Query<T>>,
        part: P,
    ) -> Result<P::Value> {
        let mut value = P::Value::from_value(ValueRef::Null);
        let select = query.into().to_select(&self.access.schema, vec![part.expr()])?;
        self.access.scan(&select, |row| {
            value = P::Value::from_value(row.get(0));
            Ok(false)
        })?;
        value.map_err(|error| self.access.in_table(error))
    }

    /// The sum of a column over a query; `None` if no record has a value.
    ///
    /// # Errors
    /// As [`select`](Table::select).
    #[track_caller]
    pub fn sum<V: bobak_core::Summable>(
        &self,
        query: impl Into<Query<T>>,
        column: Column<T, V>,
    ) -> Result<Option<V::Sum>> {
        self.value(query, column.sum())
    }

    /// The records of a query as smaller structs: reads only the columns that `R` names.
    ///
    /// # Errors
    /// As [`list`](Table::list); `Schema` for a column that the record does not have.
    #[track_caller]
    pub fn list_as<R: FromRow>(&self, query: impl Into<Query<T>>) -> Result<Vec<R>> {
        self.access.list_as(&query.into())
    }
}
