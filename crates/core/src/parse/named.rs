//! Conditions and orders by the name of a column and a value in text: what users of a program choose and type.

use super::literal::to_stored;
use crate::sql_expression::SqlLiteral;
use crate::{
    ColumnSchema, Comparison, Condition, Filter, Order, OrderBy, Record, Result, TableSchema, Type,
    Value,
};

impl Condition {
    /// Compares a column by name, ignoring ASCII case, with a value in text: numbers, amounts, `true` and `false`, dates, times
    /// and UUIDs as [`parse`](Self::parse) reads them, without quotes.
    ///
    /// # Errors
    /// `Schema` for an unknown column; `Syntax` or `Mismatch` for a text that is no value of the column's type; both with the
    /// table and the column.
    pub fn by_name(
        table: &TableSchema,
        column: &str,
        comparison: Comparison,
        text: &str,
    ) -> Result<Self> {
        let place = table.column(column)?;
        let schema = table.column_at(place)?;
        let named = |error: crate::Error| {
            error.in_table(table.name().to_owned()).in_column(schema.name.clone())
        };
        let value = value_of(schema, text).map_err(named)?;
        Ok(Self::Compare { column: place, comparison, value })
    }
}

impl<T: Record> Filter<T> {
    /// Compares a column by name with a value in text, as a user of the program has chosen and typed them.
    ///
    /// ```
    /// # use bobak_core::{Comparison, Filter, OrderBy, Query, Record};
    /// # fn search<Person: Record>(column: &str, text: &str, sort: &str) -> bobak_core::Result<Query<Person>> {
    /// let filter = Filter::by_name(column, Comparison::GreaterOrEqual, text)?;
    /// let query = Query::filter(filter).order_by(OrderBy::by_name(sort, true)?);
    /// # Ok(query)
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Condition::by_name`].
    pub fn by_name(column: &str, comparison: Comparison, text: &str) -> Result<Self> {
        Condition::by_name(T::schema(), column, comparison, text).map(Self::new)
    }
}

impl<T: Record> OrderBy<T> {
    /// An order by a column's name, ignoring ASCII case.
    ///
    /// # Errors
    /// `Schema` for an unknown column.
    pub fn by_name(column: &str, descending: bool) -> Result<Self> {
        let column = T::schema().column(column)?;
        Ok(Self::new(Order { column, descending }))
    }
}

fn value_of(column: &ColumnSchema, text: &str) -> Result<Value<'static>> {
    use Type::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let literal = match (column.ty, text) {
        (Bool, "true") => SqlLiteral::Bool(true),
        (Bool, "false") => SqlLiteral::Bool(false),
        (F32 | F64, "inf" | "-inf") => SqlLiteral::Text(text.into()),
        (I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | F32 | F64, number) => {
            SqlLiteral::Number(number)
        }
        (_, text) => SqlLiteral::Text(text.into()),
    };
    to_stored(column, &literal)
}
