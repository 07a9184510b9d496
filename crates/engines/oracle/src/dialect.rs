//! How Oracle writes statements for rows, and what it compares as Bobak does.

use crate::columns::oracle_type;
use crate::names::{stored, swap_case};
use crate::values::{OracleType, check_text, fits, is_text};
use bobak_core::{Collation, Result, TableSchema, Type, ValueRef};
use bobak_engine_common::{CheckDialect, Comparability, StatementDialect};
use std::borrow::Cow;

/// The bytes of a text that is bound as a VARCHAR2 of any database.
const SHORT: usize = 4_000;

/// How Oracle writes statements for rows.
pub(crate) struct OracleStatements;

impl StatementDialect for OracleStatements {
    fn comparability(
        &self,
        table: &TableSchema,
        place: usize,
        value: ValueRef<'_>,
    ) -> Option<Comparability> {
        let column = table.columns().get(place)?;
        match (column.ty, value) {
            (_, ValueRef::Null) => None,
            _ if oracle_type(table, place).map_or(true, OracleType::is_lob) => None,
            (_, ValueRef::Text(text)) if is_text(column) => match column.collation {
                // The value is not folded, and short texts only are bound without a conversion.
                Collation::Binary if text.len() <= SHORT && !text.contains('\0') => {
                    // Of texts that stand for other values, the order is another.
                    let is_plain = column.ty == Type::Text && !column.is_kept_as_text();
                    Some(if is_plain { Comparability::Order } else { Comparability::Equality })
                }
                _ => None,
            },
            _ if is_text(column) => None,
            (Type::Uuid, ValueRef::Bytes(bytes)) => {
                (bytes.len() == 16).then_some(Comparability::Order)
            }
            (Type::Bytes, ValueRef::Bytes(bytes)) => {
                (bytes.len() < SHORT / 2).then_some(Comparability::Order)
            }
            (
                Type::Currency | Type::Date | Type::Time | Type::DateTime | Type::Timestamp,
                ValueRef::Int(_),
            ) => fits(column.ty, value).then_some(Comparability::Order),
            (ty, ValueRef::Int(_)) if ty.is_integer() => Some(Comparability::Order),
            _ => None,
        }
    }

    fn is_sorted(&self, table: &TableSchema, place: usize) -> bool {
        table.columns().get(place).is_some_and(|column| match column.ty {
            Type::Text => column.collation == Collation::Binary,
            Type::Json | Type::Decimal | Type::Any => false,
            _ => !column.is_kept_as_text(),
        })
    }

    fn first_rows(&self, most: u64) -> String {
        format!(" FETCH FIRST {most} ROWS ONLY")
    }

    fn check_text(&self, text: &str) -> Result<()> {
        check_text(text)
    }

    fn no_values(&self, table: &TableSchema) -> String {
        format!(" ({}) VALUES (DEFAULT)", self.columns(table, 0..1))
    }

    fn stored<'n>(&self, name: &'n str) -> Cow<'n, str> {
        stored(name)
    }

    fn shown(&self, name: &str) -> String {
        swap_case(name).into_owned()
    }

    fn quoted(&self, name: &str) -> String {
        self.own(self.stored(name).into_owned())
    }

    fn own(&self, name: String) -> String {
        format!("\"{name}\"")
    }

    fn number(&self, number: usize) -> String {
        format!(":{number}")
    }

    /// A date is bound as a TIMESTAMP, and a DATE would be converted to that, which no index is of.
    fn parameter(&self, table: &TableSchema, place: usize, number: usize) -> String {
        match table.columns().get(place).map(|column| column.ty) {
            Some(Type::Date) => format!("CAST(:{number} AS DATE)"),
            _ => self.number(number),
        }
    }

    fn folded(&self, table: &TableSchema, place: usize) -> Option<String> {
        let column = table.columns().get(place).filter(|column| is_text(column))?;
        let is_folded = column.collation != Collation::Binary;
        is_folded.then(|| self.folded_text(self.column(table, place), column.collation))
    }
}
