//! How Firebird writes statements for rows, and what it compares as Bobak does.

use crate::columns::{TEXT_BYTES, counted, equal, is_octets, octets, text_bytes};
use crate::names::{Names, quoted, substitute, swap_case};
use crate::values::{check_text, is_text};
use bobak_core::{Collation, Comparison, Result, TableSchema, Type, ValueRef};
use bobak_engine_common::{
    Comparability, StatementDialect, StatementValue, calendar, kept_type, sql_operator,
};
use std::borrow::Cow;

impl StatementDialect for Names {
    fn stored<'n>(&self, name: &'n str) -> Cow<'n, str> {
        // Version 3 has no names with characters of four bytes.
        let is_other = match self.is_short {
            true => name.len() > 31 || name.chars().any(|letter| letter.len_utf8() == 4),
            false => name.chars().count() > 63,
        };
        if is_other { substitute('n', &[name]).into() } else { swap_case(name) }
    }

    fn shown(&self, name: &str) -> String {
        swap_case(name).into_owned()
    }

    fn own_stored(&self, name: String) -> String {
        name.to_ascii_uppercase()
    }

    fn own(&self, name: String) -> String {
        self.own_stored(name)
    }

    fn quoted(&self, name: &str) -> String {
        quoted(&self.stored(name))
    }

    fn number(&self, _: usize) -> String {
        "?".to_owned()
    }

    fn returned_key(&self, table: &TableSchema) -> [String; 2] {
        let key = self.columns(table, table.key().iter().copied());
        [String::new(), format!(" RETURNING {key}")]
    }

    /// By its bytes, with the letters that its collation ignores in small.
    fn folded(&self, table: &TableSchema, place: usize) -> Option<String> {
        let column = table.columns().get(place)?;
        let (name, bytes) =
            (self.column(table, place), text_bytes(table, place).unwrap_or(TEXT_BYTES));
        if column.ty == Type::Bytes {
            // Zeros at the end count.
            let length = format!("CAST(OCTET_LENGTH({name}) AS VARCHAR(10) CHARACTER SET OCTETS)");
            return Some(format!(
                "{length} || x'3a' || {}",
                octets(&name, Collation::Binary, bytes)
            ));
        }
        let is_folded = is_text(column) && column.collation != Collation::Binary;
        is_folded.then(|| octets(&name, column.collation, bytes))
    }

    fn equal(&self, table: &TableSchema, place: usize, _: &str) -> String {
        equal(*self, table, place)
    }

    fn comparability(
        &self,
        table: &TableSchema,
        place: usize,
        value: ValueRef<'_>,
    ) -> Option<Comparability> {
        cast(table, place, value).map(|_| Comparability::Order)
    }

    /// Firebird's indexes have the smallest integer of 64 bits in a wrong place.
    fn comparison(
        &self,
        table: &TableSchema,
        place: usize,
        comparison: Comparison,
        (_, value): (usize, ValueRef<'_>),
    ) -> Option<String> {
        let (cast, operator) = (cast(table, place, value)?, sql_operator(comparison)?);
        let name = self.column(table, place);
        let text = format!("{name} {operator} {cast}");
        if kept_type(table, place) != Type::I64 || comparison == Comparison::Equal {
            return Some(text);
        }
        match comparison {
            _ if value == ValueRef::Int(i64::MIN) => None,
            Comparison::Less | Comparison::LessOrEqual => {
                Some(format!("({text} OR {name} = {})", i64::MIN))
            }
            _ => Some(format!("({text} AND {name} <> {})", i64::MIN)),
        }
    }

    fn is_sorted(&self, table: &TableSchema, place: usize) -> bool {
        let column = table.columns().get(place);
        column.is_some_and(|column| {
            !is_text(column) && !matches!(column.ty, Type::Bytes | Type::Vector(_))
        }) || is_octets(table, place)
    }

    fn check_text(&self, text: &str) -> Result<()> {
        check_text(text)
    }

    fn compared<'v>(
        &self,
        table: &TableSchema,
        place: usize,
        value: ValueRef<'v>,
    ) -> StatementValue<'v> {
        match value {
            ValueRef::Bytes(bytes) if kept_type(table, place) == Type::Bytes => {
                StatementValue::new(table, place, counted(bytes))
            }
            _ => StatementValue::folded(table, place, value),
        }
    }
}

/// A parameter that a column is compared with, of a type that has the value; `None` if the server's comparison would not be
/// Bobak's.
fn cast(table: &TableSchema, place: usize, value: ValueRef<'_>) -> Option<String> {
    let column = table.columns().get(place)?;
    match (column.ty, value) {
        _ if is_text(column) => {
            let ValueRef::Text(text) = value else { return None };
            let bytes = text_bytes(table, place)?;
            let is_there = column.collation == Collation::Binary && table.key().contains(&place);
            let fits = text.len() <= bytes && !text.contains('\0');
            (is_there && fits).then(|| format!("CAST(? AS VARCHAR({bytes}) CHARACTER SET OCTETS)"))
        }
        (Type::Currency, ValueRef::Int(_)) => Some("CAST(? AS NUMERIC(18, 4))".to_owned()),
        (Type::Date, ValueRef::Int(days)) => {
            calendar::date_of(days).map(|_| "CAST(? AS DATE)".to_owned())
        }
        (Type::Uuid, ValueRef::Bytes(bytes)) => {
            (bytes.len() == 16).then(|| "CAST(? AS CHAR(16) CHARACTER SET OCTETS)".to_owned())
        }
        (Type::Bool, _) => None,
        // Of another program's table a time is no integer.
        (ty, ValueRef::Int(_)) if ty.is_integer() => Some("CAST(? AS BIGINT)".to_owned()),
        _ => None,
    }
}
