//! The rows whose vectors are nearest to one: what a query asks for, the distance, and how engines find them.
//!
//! Every engine returns the same rows: [`nearest_rows`](crate::engine::nearest_rows) computes the distances of all rows that a query's condition
//! leaves, and keeps the nearest ones. An engine calls it with its own query for rows.

mod kernel;

pub(crate) use kernel::Kernel;

use crate::types::{check_finite, check_length, vector_bytes};
use crate::{Error, ErrorKind, Field, Result, TableSchema, Type, Vector};
use std::marker::PhantomData;
use std::sync::Arc;

/// How the distance of two vectors is measured. The smaller the distance, the nearer they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// 1 minus the cosine of the angle between them: 0 in the same direction, 1 at a right angle, 2 in opposite
    /// directions. A stored vector of zeros has the distance 1.
    Cosine,
    /// The length of their difference.
    Euclidean,
    /// Minus their dot product, so that the largest product is the nearest.
    Dot,
}

impl Metric {
    /// Every metric.
    pub const ALL: &'static [Self] = &[Self::Cosine, Self::Euclidean, Self::Dot];

    /// Its name: `cosine`, `euclidean` or `dot`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Euclidean => "euclidean",
            Self::Dot => "dot",
        }
    }

    /// The metric with this name.
    ///
    /// # Errors
    /// `Syntax` if there is none.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.iter().copied().find(|metric| metric.name() == name).ok_or_else(|| {
            let message =
                format!("there is no metric '{name}': there are cosine, euclidean and dot");
            Error::new(ErrorKind::Syntax, message)
        })
    }
}

/// From which vector a [`Select`](crate::Select) measures the distance of its rows, and sorts them by it: the nearest
/// first, and among equal distances by key. Rows without a vector are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// The column of the vectors.
    pub column: usize,
    /// How the distance is measured.
    pub metric: Metric,
    /// The vector.
    pub to: Arc<[f32]>,
}

impl Nearest {
    /// Checks it against the table.
    ///
    /// # Errors
    /// `Schema` if there is no such column; `Mismatch` if it has no vectors, or vectors of another length;
    /// `OutOfRange` for NaN and infinities, and for the cosine with zeros.
    pub fn check(&self, table: &TableSchema) -> Result<()> {
        let column = table.column_at(self.column)?;
        let fail = |error: Error| error.in_table(table.name()).in_column(column.name.clone());
        let Type::Vector(dimensions) = column.ty else {
            let message =
                format!("a distance is that of vectors, and this column is {}", column.ty);
            return Err(fail(Error::new(ErrorKind::Mismatch, message)));
        };
        check_length(self.to.len(), dimensions).map_err(fail)?;
        check_finite(self.to.iter().copied()).map_err(fail)?;
        if self.metric == Metric::Cosine && self.to.iter().all(|number| *number == 0.0) {
            let message = "a vector of zeros has no direction: it has no cosine";
            return Err(fail(Error::new(ErrorKind::OutOfRange, message)));
        }
        Ok(())
    }
}

/// The distance of the vectors in a column of the record `T` from a vector: what
/// [`Query::nearest`](crate::Query::nearest) takes.
#[derive(Clone, Debug)]
pub struct Distance<T> {
    nearest: Nearest,
    record: PhantomData<fn() -> T>,
}

impl<T> Distance<T> {
    /// The distance by a column that is given by its index.
    #[must_use]
    pub fn new(column: usize, metric: Metric, to: impl Into<Arc<[f32]>>) -> Self {
        Self { nearest: Nearest { column, metric, to: to.into() }, record: PhantomData }
    }

    /// Checks it against a table.
    ///
    /// # Errors
    /// As [`Nearest::check`].
    pub fn check(&self, table: &TableSchema) -> Result<()> {
        self.nearest.check(table)
    }

    pub(crate) fn untyped(self) -> Nearest {
        self.nearest
    }
}

/// A field with a vector: a [`Vector`], or an `Option` of one.
pub trait VectorField: Field {
    /// The vector.
    type Vector: Field + AsRef<[f32]>;
}

impl<const N: usize> AsRef<[f32]> for Vector<N> {
    fn as_ref(&self) -> &[f32] {
        self
    }
}

impl<const N: usize> VectorField for Vector<N> {
    type Vector = Self;
}

impl<const N: usize> VectorField for Option<Vector<N>> {
    type Vector = Vector<N>;
}

/// The distance of two vectors of the same length; `None` if their lengths differ.
///
/// ```
/// use bobak_core::nearest::{Metric, distance};
/// assert_eq!(distance(Metric::Euclidean, &[0.0, 3.0], &[4.0, 0.0]), Some(5.0));
/// assert_eq!(distance(Metric::Cosine, &[0.0, 3.0], &[4.0, 0.0]), Some(1.0));
/// assert_eq!(distance(Metric::Dot, &[1.0, 3.0], &[4.0, 1.0]), Some(-7.0));
/// ```
#[must_use]
pub fn distance(metric: Metric, a: &[f32], b: &[f32]) -> Option<f64> {
    let nearest = Nearest { column: 0, metric, to: b.into() };
    let is_alike = a.len() == b.len();
    is_alike.then(|| kernel::Kernel::new(&nearest).distance(&vector_bytes(a)))
}
