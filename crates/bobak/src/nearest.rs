//! The records whose vectors are nearest to one, with their distances.

pub use bobak_core::nearest::{Distance, Metric, VectorField, distance};

use crate::access::TableAccess;
use crate::on_request::{left_out, with_places};
use crate::{DynTable, Table};
use bobak_core::{
    DynRow, Error, ErrorKind, Expr, FieldSet, FromRow, Query, Record, Result, Row, Value, ValueRef,
};

/// A record that is among the nearest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NearestRecord<T> {
    /// The record.
    pub record: T,
    /// The distance of its vector: see [`Metric`].
    pub distance: f64,
}

impl<T: Record> Table<'_, T> {
    /// The records of a query for the nearest ones, with their distances, the nearest first. [`list`](Table::list) and the
    /// other methods that read the records of a query take such a query too.
    ///
    /// ```
    /// use bobak::prelude::*;
    ///
    /// #[derive(Record)]
    /// struct Document {
    ///     id: i64,
    ///     language: String,
    ///     embedding: Vector<3>,
    /// }
    ///
    /// let db = Db::builder().record::<Document>().open("memory:")?;
    /// db.create_missing_tables()?;
    /// let documents = db.table::<Document>()?;
    /// for (language, embedding) in [("en", [1.0, 0.0, 0.0]), ("en", [0.0, 1.0, 0.0]), ("fr", [0.9, 0.1, 0.0])] {
    ///     documents.insert(&Document { id: 0, language: language.into(), embedding: embedding.into() })?;
    /// }
    ///
    /// let wanted = Vector::from([0.8, 0.2, 0.0]);
    /// let query = Query::filter(Document::LANGUAGE.eq("en"));
    /// let nearest = documents.nearest(query.nearest(Document::EMBEDDING.euclidean(&wanted), 10))?;
    /// assert_eq!(nearest[0].record.id, 1);
    /// assert!((nearest[0].distance - 0.08_f64.sqrt()).abs() < 1e-6);
    /// assert_eq!(nearest.len(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Misuse` for a query without [`nearest`](Query::nearest); `OutOfRange` for a vector with NaN or an infinity, and for
    /// the cosine with zeros; `Unsupported` for an order or a search, and if the engine has no vectors; as
    /// [`list`](Table::list).
    #[track_caller]
    pub fn nearest(&self, query: impl Into<Query<T>>) -> Result<Vec<NearestRecord<T>>> {
        let query = query.into();
        self.access.nearest(&query, left_out(&query), |row| T::read(row))
    }
}

impl DynTable<'_> {
    /// The rows of a query for the nearest ones, with their distances: see [`Table::nearest`].
    ///
    /// ```
    /// use bobak::nearest::{Distance, Metric};
    /// use bobak::prelude::*;
    /// # #[derive(Record)]
    /// # struct Document { id: i64, embedding: Vector<2> }
    /// # let db = Db::builder().record::<Document>().open("memory:")?;
    /// # db.create_missing_tables()?;
    ///
    /// let documents = db.dynamic("document")?;
    /// let embedding = documents.column("embedding")?;
    /// let distance = Distance::new(embedding.index(), Metric::Cosine, [0.5, 0.5].as_slice());
    /// assert_eq!(documents.nearest(Query::all().nearest(distance, 10))?, []);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As there; `Mismatch` for a vector of another length, and for a column without vectors.
    #[track_caller]
    pub fn nearest(&self, query: impl Into<Query<DynRow>>) -> Result<Vec<NearestRecord<DynRow>>> {
        let columns = self.result_columns();
        self.access.nearest(&query.into(), FieldSet::EMPTY, |row| {
            let values: Vec<Value<'_>> =
                (0..columns.len()).map(|column| row.get(column).into()).collect();
            DynRow::from_result_row(&values.as_slice(), columns)
        })
    }
}

impl TableAccess<'_> {
    #[track_caller]
    fn nearest<T, R>(
        &self,
        query: &Query<T>,
        left_out: FieldSet,
        read: impl Fn(&dyn Row) -> Result<R>,
    ) -> Result<Vec<NearestRecord<R>>> {
        let mut columns = self.columns_without(left_out);
        let distance_at = columns.len();
        if query.is_nearest() {
            columns.push(Expr::Distance);
        } else {
            let message = "the query does not measure distances: add them by `Query::nearest`";
            return Err(self.in_table(Error::new(ErrorKind::Misuse, message)));
        }
        let mut found = Vec::new();
        self.scan(&query.to_select(&self.schema, columns)?, |row| {
            let ValueRef::Float(distance) = row.get(distance_at) else { return Ok(true) };
            let record = with_places(row, left_out, &read)?;
            found.push(NearestRecord { record, distance });
            Ok(true)
        })?;
        Ok(found)
    }
}
