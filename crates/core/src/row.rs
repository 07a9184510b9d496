//! Rows lent by engines.

use crate::{ColumnBuffer, Type, ValueRef};

/// A row lent by an engine: valid during the call that passes it.
pub trait Row {
    /// The number of columns.
    fn len(&self) -> usize;

    /// The value of a column, counted from 0; NULL from [`len`](Row::len) on.
    fn get(&self, column: usize) -> ValueRef<'_>;

    /// The name of a column, if the engine knows it: for rows of SQL queries.
    fn name(&self, column: usize) -> Option<&str> {
        let _ = column;
        None
    }

    /// The type of a column of an SQL query's rows: the value is in that type's stored form. `Any` if
    /// the engine does not know it, and for all other rows, whose table has the types.
    fn ty(&self, column: usize) -> Type {
        let _ = column;
        Type::Any
    }

    /// Whether a column of the table was not read, since its field is [on request](crate::OnRequest).
    fn is_left_out(&self, column: usize) -> bool {
        let _ = column;
        false
    }

    /// Appends the values of the columns from `first` on to the buffers of these columns. Returns the first column whose value its
    /// buffer does not take, with which the caller has to deal before it goes on; `buffers.len()` if there is none.
    ///
    /// Engines whose rows have the values next to each other override it, because a call for each value costs more than the value.
    fn append_to(&self, buffers: &mut [ColumnBuffer], first: usize) -> usize {
        (first..buffers.len())
            .find(|&column| !buffers[column].push(self.get(column)))
            .unwrap_or(buffers.len())
    }

    /// Whether it has no columns.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Row for &[crate::Value<'_>] {
    fn len(&self) -> usize {
        <[_]>::len(self)
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        <[_]>::get(self, column).map_or(ValueRef::Null, crate::Value::as_ref)
    }
}
