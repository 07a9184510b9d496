//! How SQL Server writes statements for rows, and what it compares as Bobak does.

use crate::columns::equal;
use crate::values::{check_text, fits, is_text};
use bobak_core::{Collation, Result, TableSchema, Type, ValueRef};
use bobak_engine_common::{CheckDialect, Comparability, StatementDialect};

/// How SQL Server writes statements for rows.
pub(crate) struct MssqlStatements;

impl StatementDialect for MssqlStatements {
    const COUNT: &'static str = "COUNT_BIG(*)";

    fn comparability(
        &self,
        table: &TableSchema,
        place: usize,
        value: ValueRef<'_>,
    ) -> Option<Comparability> {
        let column = table.columns().get(place)?;
        match (column.ty, value) {
            (_, ValueRef::Null) => None,
            (_, ValueRef::Text(text)) if is_text(column) => {
                let is_it = column.collation == Collation::Binary && !text.contains('\0');
                is_it.then_some(Comparability::Equality)
            }
            _ if is_text(column) => None,
            // The server sorts UUIDs by their last bytes first.
            (Type::Uuid, ValueRef::Bytes(bytes)) => {
                (bytes.len() == 16).then_some(Comparability::Equality)
            }
            (
                Type::Currency | Type::Date | Type::Time | Type::DateTime | Type::Timestamp,
                ValueRef::Int(_),
            ) => fits(column.ty, value).then_some(Comparability::Order),
            (ty, ValueRef::Int(_)) if ty.is_integer() => Some(Comparability::Order),
            _ => None,
        }
    }

    /// UUIDs are sorted by their last bytes first.
    fn is_sorted(&self, table: &TableSchema, place: usize) -> bool {
        table.columns().get(place).is_some_and(|column| {
            !is_text(column) && !matches!(column.ty, Type::Bytes | Type::Uuid | Type::Any)
        })
    }

    fn check_text(&self, text: &str) -> Result<()> {
        check_text(text)
    }

    fn quoted(&self, name: &str) -> String {
        format!("[{}]", name.replace(']', "]]"))
    }

    fn number(&self, number: usize) -> String {
        format!("@P{number}")
    }

    fn returned_key(&self, table: &TableSchema) -> [String; 2] {
        let key = self.columns(table, table.key().iter().copied());
        [format!(" OUTPUT inserted.{key}"), String::new()]
    }

    /// Of bytes, after their length, so that zeros at the end count.
    fn folded(&self, table: &TableSchema, place: usize) -> Option<String> {
        let (column, name) = (table.columns().get(place)?, self.column(table, place));
        if column.ty == Type::Bytes {
            return Some(format!(
                "CAST(CAST(DATALENGTH({name}) AS binary(4)) + {name} AS varbinary(804))"
            ));
        }
        let is_folded = is_text(column) && column.collation != Collation::Binary;
        is_folded.then(|| self.folded_text(name, column.collation))
    }

    fn equal(&self, table: &TableSchema, place: usize, parameter: &str) -> String {
        equal(table, place, parameter)
    }
}
