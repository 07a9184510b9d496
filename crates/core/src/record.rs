//! The traits that `#[derive(Record)]` and `#[derive(FromRow)]` implement.

use crate::rules::Rules;
use crate::{
    ColumnSchema, Error, ErrorKind, Field, FieldSet, Result, ResultColumn, Row, TableSchema,
    TableSchemaBuilder, Type, Uuid, Value, ValueRef, codec, convert,
};
use std::sync::{Arc, OnceLock};

/// A plain struct that is stored as a row of one table. Implemented by `#[derive(Record)]`.
pub trait Record: Sized + 'static {
    /// The type of its key: that of a field, or a tuple of several for a composite key; `()` for a view's record
    /// without one.
    type Key: Key;
    /// Its fields' values in schema order: an array.
    type Values<'a>: AsRef<[Value<'a>]> + AsMut<[Value<'a>]>;
    /// The table's name.
    const TABLE: &'static str;
    /// The name of the first key column, which foreign keys reference; empty if there is no key.
    const KEY_COLUMN: &'static str;
    /// The columns of fields that are read [on request](crate::OnRequest).
    const ON_REQUEST: FieldSet = FieldSet::EMPTY;

    /// The table's schema.
    fn schema() -> &'static Arc<TableSchema>;

    /// The rules that a row must satisfy, and the normalizers that run before. Default: none.
    #[must_use]
    fn rules() -> &'static Rules {
        &Rules::NONE
    }

    /// The record's key.
    fn key(&self) -> Self::Key;

    /// The columns of fields that are not loaded, whose values are NULL in [`values`](Record::values).
    fn not_loaded(&self) -> FieldSet {
        FieldSet::EMPTY
    }

    /// The values of the fields in schema order, borrowed if possible.
    ///
    /// # Errors
    /// As [`Field::to_value`], with the column.
    fn values(&self) -> Result<Self::Values<'_>>;

    /// Appends the same values as a framed row of the [codec], for a batch.
    ///
    /// # Errors
    /// As [`values`](Record::values); `out` may then contain a part of the row.
    fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        codec::encode_slice(out, self.values()?.as_ref())
    }

    /// The record from a row with the schema's columns.
    ///
    /// # Errors
    /// As [`Field::from_value`], with table and column.
    fn read(row: &dyn Row) -> Result<Self>;

    /// Overwrites the record from such a row, reusing its memory.
    ///
    /// # Errors
    /// As [`read`](Record::read); fields before the failing one are overwritten.
    fn read_from(&mut self, row: &dyn Row) -> Result<()>;

    /// Sets the field of a column to a value that a write has set in the row: a generated key, a time stamp or the
    /// version; or loads a field that is read [on request](crate::OnRequest). Other columns are ignored.
    ///
    /// # Errors
    /// As [`Field::from_value`].
    fn set_written(&mut self, column: usize, value: ValueRef<'_>) -> Result<()> {
        let _ = (column, value);
        Ok(())
    }
}

/// The type of a query's rows: a struct with `#[derive(FromRow)]` (columns by name), a tuple (columns by
/// position), or a single value.
pub trait FromRow: Sized {
    /// The names of the columns in the order in which [`from_row`](FromRow::from_row) reads them; `None` if
    /// it reads them by position.
    fn columns() -> Option<&'static [&'static str]> {
        None
    }

    /// The number of columns that it reads by position; `None` if it reads them by name, or all. Rows with
    /// another number are rejected.
    fn width() -> Option<usize> {
        None
    }

    /// Reads a row with the columns of [`columns`](FromRow::columns).
    ///
    /// # Errors
    /// `Mismatch` or `OutOfRange` if a value does not fit its field.
    fn from_row(row: &dyn Row) -> Result<Self>;

    /// As [`from_row`](FromRow::from_row), for types that keep the columns' names and types.
    ///
    /// # Errors
    /// As [`from_row`](FromRow::from_row).
    fn from_result_row(row: &dyn Row, columns: &Arc<Vec<ResultColumn>>) -> Result<Self> {
        let _ = columns;
        Self::from_row(row)
    }
}

/// A type that can be a key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that a key can have",
    label = "a key is a field's type, such as `i64`, `Uuid` or `String`, or a tuple of up to eight"
)]
pub trait Key: Sized + Clone {
    /// Passes the key's values, one for each of its columns, to `f`.
    fn with_values<R>(&self, f: impl FnOnce(&[Value<'_>]) -> R) -> R;

    /// The key from its columns' values.
    ///
    /// # Errors
    /// As [`Field::from_value`].
    fn from_values(values: &[ValueRef<'_>]) -> Result<Self>;
}

impl<V: Field + Clone> Key for V {
    #[inline]
    fn with_values<R>(&self, f: impl FnOnce(&[Value<'_>]) -> R) -> R {
        // A value without a stored form (a `u64` beyond `i64`) becomes NULL, which equals no stored key.
        f(&[self.to_value().unwrap_or_default()])
    }

    fn from_values(values: &[ValueRef<'_>]) -> Result<Self> {
        V::from_value(values.first().copied().unwrap_or_default())
    }
}

/// The key of a view's record that names none.
impl Key for () {
    fn with_values<R>(&self, f: impl FnOnce(&[Value<'_>]) -> R) -> R {
        f(&[])
    }

    fn from_values(_: &[ValueRef<'_>]) -> Result<Self> {
        Ok(())
    }
}

macro_rules! tuple_key {
    ($($t:ident $i:tt),+) => {
        impl<$($t: Field + Clone),+> Key for ($($t,)+) {
            fn with_values<R>(&self, f: impl FnOnce(&[Value<'_>]) -> R) -> R {
                f(&[$(self.$i.to_value().unwrap_or_default()),+])
            }

            fn from_values(values: &[ValueRef<'_>]) -> Result<Self> {
                Ok(($($t::from_value(values.get($i).copied().unwrap_or_default())?,)+))
            }
        }
    };
}
tuple_key!(A 0, B 1);
tuple_key!(A 0, B 1, C 2);
tuple_key!(A 0, B 1, C 2, D 3);
tuple_key!(A 0, B 1, C 2, D 3, E 4);
tuple_key!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple_key!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple_key!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// Holds the schema of a derived record once it is built.
#[derive(Debug, Default)]
pub struct SchemaCell(OnceLock<Arc<TableSchema>>);

impl SchemaCell {
    /// An empty cell.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The schema, built at the first call.
    ///
    /// # Panics
    /// If the builder fails: the derive has checked that it does not.
    pub fn get_or_build(&self, builder: impl FnOnce() -> TableSchemaBuilder) -> &Arc<TableSchema> {
        self.0.get_or_init(|| {
            Arc::new(builder().build().expect("the derive checks what the builder checks"))
        })
    }
}

/// Adds the column to an error; called by derived `values`.
///
/// # Errors
/// The given error, with table and column.
#[doc(hidden)]
#[inline]
pub fn named<'a>(value: Result<Value<'a>>, table: &'static str, column: &str) -> Result<Value<'a>> {
    value.map_err(|error| error.in_table(table).in_column(column.to_owned()))
}

macro_rules! single_from_row {
    ($($t:ty),*) => {$(
        impl FromRow for $t {
            fn width() -> Option<usize> {
                Some(1)
            }

            fn from_row(row: &dyn Row) -> Result<Self> {
                read_place(row, 0)
            }
        }
    )*};
}
single_from_row!(
    bool,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    f32,
    f64,
    String,
    Vec<u8>,
    Uuid,
    crate::Currency,
    crate::Date,
    crate::Time,
    crate::DateTime,
    crate::Timestamp,
    Value<'static>
);

impl<const N: usize> FromRow for crate::Vector<N> {
    fn width() -> Option<usize> {
        Some(1)
    }

    fn from_row(row: &dyn Row) -> Result<Self> {
        read_place(row, 0)
    }
}

impl<E: crate::SetMember> FromRow for crate::EnumSet<E> {
    fn width() -> Option<usize> {
        Some(1)
    }

    fn from_row(row: &dyn Row) -> Result<Self> {
        read_place(row, 0)
    }
}

impl<T> FromRow for crate::Json<T>
where
    Self: Field,
{
    fn width() -> Option<usize> {
        Some(1)
    }

    fn from_row(row: &dyn Row) -> Result<Self> {
        read_place(row, 0)
    }
}

impl<V: Field> FromRow for Option<V> {
    fn width() -> Option<usize> {
        Some(1)
    }

    fn from_row(row: &dyn Row) -> Result<Self> {
        read_place(row, 0)
    }
}

macro_rules! tuple_from_row {
    ($($t:ident $i:tt),+) => {
        impl<$($t: Field),+> FromRow for ($($t,)+) {
            fn width() -> Option<usize> {
                Some([$($i),+].len())
            }

            fn from_row(row: &dyn Row) -> Result<Self> {
                Ok(($(read_place::<$t>(row, $i)?,)+))
            }
        }
    };
}
tuple_from_row!(A 0);
tuple_from_row!(A 0, B 1);
tuple_from_row!(A 0, B 1, C 2);
tuple_from_row!(A 0, B 1, C 2, D 3);
tuple_from_row!(A 0, B 1, C 2, D 3, E 4);
tuple_from_row!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple_from_row!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple_from_row!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// Checks that rows with this many columns fit a type that reads by position.
///
/// # Errors
/// `Mismatch`.
#[doc(hidden)]
pub fn check_width<R: FromRow>(columns: usize) -> Result<()> {
    match R::width() {
        Some(width) if width != columns => Err(wrong_width(columns, width)),
        _ => Ok(()),
    }
}

#[cold]
fn wrong_width(columns: usize, width: usize) -> Error {
    let noun = if columns == 1 { "column" } else { "columns" };
    let message = format!(
        "a row has {columns} {noun}, but the type reads {width}: select exactly those that it reads"
    );
    Error::new(ErrorKind::Mismatch, message)
}

/// Reads a column by position, and adds its position to an error.
fn read_place<V: Field>(row: &dyn Row, place: usize) -> Result<V> {
    if place >= row.len() {
        return Err(wrong_width(row.len(), place + 1));
    }
    read_result(row, place).map_err(|error| error.in_column(format!("number {place}")))
}

/// Reads a column of a query's row as a `V`: see [`convert`]. Called by derived `from_row`.
///
/// # Errors
/// As [`convert`] and [`Field::from_value`].
#[doc(hidden)]
pub fn read_result<V: Field>(row: &dyn Row, column: usize) -> Result<V> {
    V::from_value(convert(row.get(column), row.ty(column), V::TYPE)?)
}

/// Reads a record from a query's row: see [`convert`]. Called by derived `from_row`.
///
/// # Errors
/// As [`convert`] and [`Record::read`].
#[doc(hidden)]
pub fn read_result_record<R: Record>(row: &dyn Row) -> Result<R> {
    let columns = R::schema().columns();
    let is_direct = |(place, column): (usize, &ColumnSchema)| {
        let ty = row.ty(place);
        ty == Type::Any || ty == column.ty
    };
    if columns.iter().enumerate().all(is_direct) {
        return R::read(row);
    }
    let value = |(place, column): (usize, &ColumnSchema)| {
        let value = convert(row.get(place), row.ty(place), column.ty).map(Value::from);
        named(value, R::TABLE, &column.name)
    };
    let values = columns.iter().enumerate().map(value).collect::<Result<Vec<_>>>()?;
    R::read(&values.as_slice())
}

/// Reads one field, and adds table and column to an error. Called by the derive.
///
/// # Errors
/// As [`Field::from_value`].
#[inline]
pub fn read_field<V: Field>(
    row: &dyn Row,
    column: usize,
    schema: fn() -> &'static Arc<TableSchema>,
) -> Result<V> {
    V::from_value(row.get(column)).map_err(|error| name_column(error, row, column, schema()))
}

/// Overwrites one field, and adds table and column to an error. Called by the derive.
///
/// # Errors
/// As [`Field::read_from`].
#[inline]
pub fn read_field_into<V: Field>(
    field: &mut V,
    row: &dyn Row,
    column: usize,
    schema: fn() -> &'static Arc<TableSchema>,
) -> Result<()> {
    field.read_from(row.get(column)).map_err(|error| name_column(error, row, column, schema()))
}

/// Names the table, the column and the row's key: another program, or SQL, wrote the value.
#[cold]
fn name_column(error: Error, row: &dyn Row, column: usize, schema: &TableSchema) -> Error {
    let key = schema.key().iter();
    let key = key.filter_map(|&part| Some((&*schema.columns().get(part)?.name, row.get(part))));
    let error = Error::new(error.kind(), error.message().to_owned()).in_row(key);
    let error = error.in_table(schema.name());
    match schema.columns().get(column) {
        Some(column) => error.in_column(column.name.as_ref()),
        None => error,
    }
}
