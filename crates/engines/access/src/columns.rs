//! What Access's columns are in Bobak.

use bobak_core::{ColumnSchema, Type};
use jetdb::{ColumnDef, ColumnType, TableDef};

/// A column that can be read.
pub(crate) struct AccessColumn {
    /// Its position in the rows that `jetdb` returns.
    pub position: usize,
    pub schema: ColumnSchema,
}

impl AccessColumn {
    /// A column, `None` if its type has no counterpart: attachments and several values in a field.
    ///
    /// `ty` is the type of its values, which for calculated columns the definition does not tell.
    pub fn new(
        table: &TableDef,
        position: usize,
        column: &ColumnDef,
        ty: ColumnType,
    ) -> Option<Self> {
        let ty_here = bobak_type(column, ty)?;
        // A yes/no field is never NULL. Whether others may be is a property that only Access's forms know.
        let mut schema =
            ColumnSchema::new(column.name.clone(), ty_here).nullable(ty_here != Type::Bool);
        if ty == ColumnType::Text && !column.is_calculated {
            let chars = table.shown_size(column);
            schema = schema.max_chars(chars.into());
        }
        Some(Self { position, schema })
    }
}

fn bobak_type(column: &ColumnDef, ty: ColumnType) -> Option<Type> {
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
        // An amount has 4 digits after the point, and 14 before it.
        ColumnType::Numeric if column.scale == 0 && column.precision <= 18 => Type::I64,
        ColumnType::Numeric
            if column.scale <= 4 && column.precision.saturating_sub(column.scale) <= 14 =>
        {
            Type::Currency
        }
        ColumnType::Numeric => Type::Text,
        _ => return None,
    })
}
