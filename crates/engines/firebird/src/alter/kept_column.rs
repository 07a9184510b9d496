//! What a column that stays needs to have the type that its new form has.

use super::table_change::TableChange;
use crate::columns::sql_type;
use crate::firebird_table::FirebirdTable;
use crate::names::{Names, quoted};
use bobak_core::{Error, ErrorKind, Result, TableAlteration, TableSchema, Value};
use bobak_engine_common::{CheckDialect, StatementDialect};

/// How a column gets the type of its new form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnStep {
    /// It has it, or one that has the same values.
    Keep,
    /// By a change of its type, which Firebird makes without touching rows.
    Widen,
    /// By a copy of the rows.
    Copy,
}

/// A column that stays.
#[derive(Debug)]
pub(super) struct KeptColumn {
    /// Its positions in the old and in the new form.
    pub old: usize,
    pub new: usize,
    /// Its name in the catalog.
    pub name: String,
    /// The types in the catalog, and of a new table.
    pub sql_type: String,
    pub wanted: String,
    pub step: ColumnStep,
    pub is_required: bool,
}

impl KeptColumn {
    /// The columns that stay.
    ///
    /// # Errors
    /// `Unsupported` for a type that Firebird has not.
    pub(super) fn all(
        names: Names,
        alteration: &TableAlteration,
        table: &FirebirdTable,
    ) -> Result<Vec<Self>> {
        let (from, to) = (alteration.from(), alteration.to());
        let kept = alteration.kept().map(|(old, new)| {
            let name = names.stored(&from.column_at(old)?.name).into_owned();
            let stored = table.column(&name).ok_or_else(|| {
                let message = "the table was changed meanwhile: read its schema again";
                Error::new(ErrorKind::Schema, message).in_table(from.name().to_owned())
            })?;
            let (sql_type, wanted) = (stored.sql_type.clone(), sql_type(to, new)?);
            let step = match to.key().contains(&new) {
                true => ColumnStep::Keep,
                false => step(&sql_type, &wanted, is_indexed(to, new)),
            };
            let is_required = stored.is_required;
            Ok(Self { old, new, name, sql_type, wanted, step, is_required })
        });
        kept.collect()
    }

    /// The column's value as one of the type of its new form.
    pub(super) fn converted(&self) -> String {
        let name = quoted(&self.name);
        if self.sql_type == self.wanted {
            return name;
        }
        let is_text = |ty: &str| ty.contains("CHARACTER SET UTF8");
        let value = match varchar(&self.sql_type) {
            Some((bytes, "OCTETS")) if is_text(&self.wanted) => {
                format!("CAST({name} AS VARCHAR({bytes}) CHARACTER SET UTF8)")
            }
            _ => name,
        };
        if self.wanted.starts_with("BLOB") {
            return value;
        }
        format!("CAST({value} AS {})", self.wanted)
    }
}

/// Whether a column is in the key, an index or a foreign key.
fn is_indexed(table: &TableSchema, place: usize) -> bool {
    table.key().contains(&place)
        || table.indexes().iter().any(|index| index.columns.contains(&place))
        || table.all_foreign_keys().iter().any(|key| key.columns.contains(&place))
}

/// The length and the character set of a VARCHAR.
fn varchar(sql_type: &str) -> Option<(u32, &str)> {
    let (length, set) = sql_type.strip_prefix("VARCHAR(")?.split_once(") CHARACTER SET ")?;
    Some((length.parse().ok()?, set))
}

fn step(stored: &str, wanted: &str, is_indexed: bool) -> ColumnStep {
    let integer = |ty: &str| ["SMALLINT", "INTEGER", "BIGINT"].iter().position(|own| *own == ty);
    if let Some((stored, wanted)) = integer(stored).zip(integer(wanted)) {
        return if stored < wanted { ColumnStep::Widen } else { ColumnStep::Keep };
    }
    match varchar(stored).zip(varchar(wanted)) {
        _ if stored == wanted => ColumnStep::Keep,
        Some(((stored, own), (wanted, other))) if own == other => match stored < wanted {
            true => ColumnStep::Widen,
            // An index's key has its longest value.
            false if is_indexed => ColumnStep::Copy,
            false => ColumnStep::Keep,
        },
        _ => ColumnStep::Copy,
    }
}

/// The value that a new column has in old rows, as one of its type.
fn filling(names: Names, table: &TableSchema, place: usize) -> Result<String> {
    let (column, sql_type) = (table.column_at(place)?, sql_type(table, place)?);
    let value: Value<'_> = column.added_value();
    let text = names.value_literal(column.ty, value.as_ref())?;
    Ok(if sql_type.starts_with("BLOB") { text } else { format!("CAST({text} AS {sql_type})") })
}

/// The rows of a table with the columns that `whole` has beyond it, as a table of a query.
///
/// # Errors
/// As [`new_values`].
pub(super) fn with_added_columns(
    names: Names,
    table: &TableSchema,
    whole: &TableSchema,
) -> Result<String> {
    let value = |place: usize| {
        let column = whole.column_at(place)?;
        let name = names.quoted(&column.name);
        match table.column(&column.name) {
            Ok(_) => Ok(name),
            Err(_) => Ok(format!("{} AS {name}", filling(names, whole, place)?)),
        }
    };
    let values = (0..whole.columns().len()).map(value).collect::<Result<Vec<_>>>()?;
    Ok(format!("(SELECT {} FROM {})", values.join(", "), names.quoted(table.name())))
}

/// For each column of the new form, in its order, its value in the old rows.
///
/// # Errors
/// `Unsupported` for a type that Firebird has not; `OutOfRange` for a value that it has not.
pub(super) fn new_values(change: &TableChange) -> Result<Vec<String>> {
    let to = change.alteration.to();
    let value = |place: usize| match change.kept.iter().find(|column| column.new == place) {
        Some(column) => Ok(column.converted()),
        None => filling(change.names, to, place),
    };
    (0..to.columns().len()).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_kept_widened_or_copied() {
        use ColumnStep::{Copy, Keep, Widen};
        let (text, bytes) = (" CHARACTER SET UTF8", " CHARACTER SET OCTETS");
        for (stored, wanted, indexed, expected) in [
            ("SMALLINT", "BIGINT", true, Widen),
            ("BIGINT", "BIGINT", true, Keep),
            ("BIGINT", "INTEGER", false, Keep),
            (&*format!("VARCHAR(10){text}"), &*format!("VARCHAR(40){text}"), true, Widen),
            (&*format!("VARCHAR(40){text}"), &*format!("VARCHAR(10){text}"), false, Keep),
            (&*format!("VARCHAR(40){text}"), &*format!("VARCHAR(10){text}"), true, Copy),
            (&*format!("VARCHAR(40){text}"), &*format!("VARCHAR(160){bytes}"), true, Copy),
            (&*format!("VARCHAR(40){text}"), "BLOB SUB_TYPE TEXT CHARACTER SET UTF8", false, Copy),
            ("DOUBLE PRECISION", "DOUBLE PRECISION", false, Keep),
        ] {
            assert_eq!(step(stored, wanted, indexed), expected, "{stored} to {wanted}");
        }
    }
}
