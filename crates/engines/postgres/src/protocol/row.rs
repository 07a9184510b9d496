//! Rows as the server sends them, decoded where they lie.

use crate::protocol::numeric;
use crate::protocol::value::{self, ColumnFormat, is_text, oid};
use bobak_core::{Error, ErrorKind, Result, ResultColumn, Row, Type, ValueRef};

/// A column of a result.
#[derive(Clone, Debug)]
pub(crate) struct PgColumn {
    pub name: String,
    pub oid: u32,
    /// What its declaration says of its type, such as the number of decimals.
    pub modifier: i32,
    pub kind: ColumnFormat,
}

impl PgColumn {
    /// The number of decimals of a `numeric`, if its declaration has one.
    pub fn decimals(&self) -> Option<u32> {
        numeric::decimals(self.modifier).filter(|_| self.oid == oid::NUMERIC)
    }

    /// Whether its values are received in the binary form.
    pub fn is_binary(&self) -> bool {
        self.kind != ColumnFormat::Numeric && value::is_binary(self.oid)
    }

    /// The column of an SQL result.
    pub fn described(&self) -> ResultColumn {
        ResultColumn::new(self.name.clone(), type_of(self.oid, self.kind))
    }
}

/// The end of each value of the current row; NULL has none. Reused from row to row.
#[derive(Default)]
pub(crate) struct ValueSpans(Vec<(u32, u32)>);

/// The end that NULL has.
const NULL: u32 = u32::MAX;

impl ValueSpans {
    /// Finds the values of a DataRow.
    #[inline]
    pub fn of<'a>(&'a mut self, body: &'a [u8], columns: &'a [PgColumn]) -> PgRow<'a> {
        self.0.clear();
        let mut at = 2;
        while let Some(length) = body.get(at..at + 4).and_then(|bytes| bytes.first_chunk()) {
            at += 4;
            match usize::try_from(i32::from_be_bytes(*length)) {
                Ok(length) => {
                    self.0.push((at as u32, (at + length) as u32));
                    at += length;
                }
                Err(_) => self.0.push((at as u32, NULL)),
            }
        }
        PgRow { body, spans: &self.0, columns }
    }
}

/// One row, lent.
pub(crate) struct PgRow<'a> {
    body: &'a [u8],
    spans: &'a [(u32, u32)],
    columns: &'a [PgColumn],
}

impl PgRow<'_> {
    /// The row, if all of its amounts are amounts, its dates and times are in the ranges of their types, and no float is NaN.
    ///
    /// # Errors
    /// `OutOfRange` for one that Bobak's money cannot hold, for `infinity` and `24:00:00`, and for NaN.
    #[inline]
    pub fn checked(self) -> Result<Self> {
        for (&(start, end), column) in self.spans.iter().zip(self.columns) {
            let bytes = || self.body.get(start as usize..end as usize).unwrap_or_default();
            let is_value = match column.kind {
                _ if end == NULL => true,
                ColumnFormat::Money => numeric::is_amount(bytes()),
                kind @ (ColumnFormat::Float4 | ColumnFormat::Float8) => {
                    !matches!(kind.decode(bytes()), ValueRef::Float(float) if float.is_nan())
                }
                kind @ (ColumnFormat::Date | ColumnFormat::Time | ColumnFormat::Timestamp) => {
                    is_in_range(type_of(column.oid, kind), kind.decode(bytes()))
                }
                _ => true,
            };
            if !is_value {
                return Err(no_value(column));
            }
        }
        Ok(self)
    }
}

#[inline]
fn is_in_range(ty: Type, value: ValueRef<'_>) -> bool {
    match (ty.integer_range(), value) {
        (Some((least, most)), ValueRef::Int(integer)) => (least..=most).contains(&integer),
        _ => true,
    }
}

#[cold]
fn no_value(column: &PgColumn) -> Error {
    let message = match column.kind {
        ColumnFormat::Money => "the server has NaN, or an amount beyond \u{b1}922337203685477.5807",
        ColumnFormat::Date | ColumnFormat::Time | ColumnFormat::Timestamp => {
            "the server has infinity, 24:00:00 or a moment before the year -9999 or after 9999-12-30T22:00Z, which is no \
             value here: SQL such as NULLIF(x, 'infinity') makes it NULL"
        }
        _ => {
            "the server has NaN, which is no value here: SQL such as NULLIF(x, 'NaN') makes it NULL"
        }
    };
    Error::new(ErrorKind::OutOfRange, message).in_column(column.name.clone())
}

impl Row for PgRow<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.spans.len()
    }

    #[inline]
    fn get(&self, column: usize) -> ValueRef<'_> {
        let (Some(&(start, end)), Some(known)) = (self.spans.get(column), self.columns.get(column))
        else {
            return ValueRef::Null;
        };
        if end == NULL {
            return ValueRef::Null;
        }
        self.body.get(start as usize..end as usize).map_or(ValueRef::Null, |b| known.kind.decode(b))
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.columns.get(column).map(|column| column.name.as_str())
    }
}

/// A row of SQL text: its columns have types, and decimal numbers are exact.
pub(crate) struct SqlRow<'a>(pub PgRow<'a>);

impl Row for SqlRow<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        let is_exact =
            self.0.columns.get(column).is_some_and(|one| one.kind == ColumnFormat::Numeric);
        match self.0.spans.get(column) {
            Some(&(start, end)) if is_exact && end != NULL => {
                let bytes = self.0.body.get(start as usize..end as usize);
                bytes.map_or(ValueRef::Null, numeric::decode_exact)
            }
            _ => self.0.get(column),
        }
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.0.name(column)
    }

    fn ty(&self, column: usize) -> Type {
        self.0.columns.get(column).map_or(Type::Any, |one| type_of(one.oid, one.kind))
    }
}

/// The type of a column of an SQL result.
const fn type_of(oid: u32, kind: ColumnFormat) -> Type {
    match kind {
        ColumnFormat::Bool => Type::Bool,
        ColumnFormat::Int2 => Type::I16,
        ColumnFormat::Int4 => Type::I32,
        ColumnFormat::Int8 | ColumnFormat::Oid => Type::I64,
        ColumnFormat::Float4 => Type::F32,
        ColumnFormat::Float8 => Type::F64,
        ColumnFormat::Money => Type::Currency,
        ColumnFormat::Numeric => Type::Decimal,
        ColumnFormat::Date => Type::Date,
        ColumnFormat::Time => Type::Time,
        ColumnFormat::Timestamp if oid == oid::TIMESTAMP => Type::DateTime,
        ColumnFormat::Timestamp => Type::Timestamp,
        ColumnFormat::Bytes if oid == oid::UUID => Type::Uuid,
        ColumnFormat::Bytes => Type::Bytes,
        ColumnFormat::Jsonb => Type::Json,
        ColumnFormat::Text if oid == oid::JSON => Type::Json,
        ColumnFormat::Text if is_text(oid) => Type::Text,
        ColumnFormat::Text => Type::Any,
    }
}
