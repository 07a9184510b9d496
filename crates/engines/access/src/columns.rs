//! What Access's columns are in Bobak.

use bobak_core::{ColumnSchema, Type};
use jetdb::{ColumnDef, ColumnType, TableDef, TextEncoding};

/// A column that can be read.
#[derive(Clone)]
pub(crate) struct AccessColumn {
    /// Its position in the rows that `jetdb` returns.
    pub position: usize,
    pub schema: ColumnSchema,
    /// Whether Bobak described the column: then its values have all digits that Bobak wrote.
    pub is_described: bool,
    /// How a text of fixed length is encoded, whose bytes `jetdb` returns.
    pub encoding: Option<TextEncoding>,
}

/// Whether a column has texts or bytes of fixed length, among the numbers of a row. SQL of Access makes them: `CHAR(3)`.
pub(crate) fn has_fixed_length(column: &ColumnDef) -> bool {
    column.is_fixed && matches!(column.col_type, ColumnType::Text | ColumnType::Binary)
}

impl AccessColumn {
    /// A column, `None` if its type has no counterpart: attachments and several values in a field.
    ///
    /// `ty` is the type of its values, which for calculated columns the definition does not tell. `is_small` says that
    /// decimals of 19 digits are all in the range of `i64`.
    pub fn new(
        table: &TableDef,
        position: usize,
        column: &ColumnDef,
        ty: ColumnType,
        is_small: bool,
    ) -> Option<Self> {
        let ty_here = bobak_type(column, ty, is_small)?;
        // A yes/no field is never NULL. Whether others may be is a property that only Access's forms know.
        let mut schema =
            ColumnSchema::new(column.name.clone(), ty_here).nullable(ty_here != Type::Bool);
        if ty == ColumnType::Text && !column.is_calculated {
            let chars = table.shown_size(column);
            schema = schema.max_chars(chars.into());
        }
        let encoding = (column.is_fixed && ty == ColumnType::Text).then_some(table.text_encoding);
        Some(Self { position, schema, is_described: false, encoding })
    }

    /// The column as Bobak described it, `None` if the file's column has other values, or other lengths.
    pub fn described(&self, column: &ColumnDef, schema: &ColumnSchema) -> Option<Self> {
        let chars = schema.max_chars.filter(|chars| *chars <= 255);
        let has_length = column.col_type != ColumnType::Text
            || chars.is_none_or(|chars| u32::from(column.col_size) == 2 * chars.max(1));
        let (position, schema) = (self.position, schema.clone());
        let fits = has_length && holds(column, schema.ty);
        fits.then_some(Self { position, schema, is_described: true, encoding: None })
    }
}

/// Whether a column has values of a type.
fn holds(column: &ColumnDef, ty: Type) -> bool {
    let is_integer = matches!(
        column.col_type,
        ColumnType::Byte | ColumnType::Int | ColumnType::Long | ColumnType::BigInt
    ) || (column.col_type == ColumnType::Numeric && column.scale == 0);
    match ty {
        Type::Bool => matches!(column.col_type, ColumnType::Boolean | ColumnType::Byte),
        Type::I8 | Type::I16 | Type::I32 | Type::I64 => is_integer,
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => is_integer,
        Type::F32 => column.col_type == ColumnType::Float,
        Type::F64 => column.col_type == ColumnType::Double,
        Type::Text | Type::Json => matches!(column.col_type, ColumnType::Text | ColumnType::Memo),
        Type::Bytes => matches!(column.col_type, ColumnType::Binary | ColumnType::Ole),
        Type::Uuid => column.col_type == ColumnType::Guid,
        Type::Currency => column.col_type == ColumnType::Money,
        Type::Date | Type::Time | Type::DateTime | Type::Timestamp => {
            column.col_type == ColumnType::Timestamp
        }
        _ => false,
    }
}

fn bobak_type(column: &ColumnDef, ty: ColumnType, is_small: bool) -> Option<Type> {
    Some(match ty {
        ColumnType::Boolean => Type::Bool,
        ColumnType::Byte => Type::U8,
        ColumnType::Int => Type::I16,
        // Bobak makes keys of this type only.
        ColumnType::Long if column.is_auto_number() => Type::I64,
        ColumnType::Long => Type::I32,
        ColumnType::BigInt => Type::I64,
        ColumnType::Money => Type::Currency,
        ColumnType::Float => Type::F32,
        ColumnType::Double => Type::F64,
        ColumnType::Timestamp | ColumnType::DateTimeExtended => Type::DateTime,
        ColumnType::Text | ColumnType::Memo => Type::Text,
        ColumnType::Binary | ColumnType::Ole => Type::Bytes,
        ColumnType::Guid => Type::Uuid,
        // The results of an expression have other digits than the definition says.
        ColumnType::Numeric if column.is_calculated => Type::Text,
        // An amount has 4 digits after the point, and 14 before it.
        ColumnType::Numeric if column.scale == 0 && column.precision <= 18 => Type::I64,
        ColumnType::Numeric if is_small => Type::I64,
        ColumnType::Numeric
            if column.scale <= 4 && column.precision.saturating_sub(column.scale) <= 14 =>
        {
            Type::Currency
        }
        ColumnType::Numeric => Type::Text,
        _ => return None,
    })
}
