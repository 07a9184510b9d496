//! Columns whose values a migration has converted into another column, which then takes their name.

use super::TableAlteration;
use crate::check::CheckExpression;
use crate::sql_token::{SqlSyntax, SqlTokenizer};
use crate::{ColumnSchema, Error, ErrorKind, Result, TableSchema};
use std::sync::Arc;

/// The end of the name of a column that takes converted values; in a change log, `old_` or `new_` precedes it.
pub const CONVERTED: &str = "bobak_converted";

impl TableAlteration {
    /// The dropped columns whose names a column of converted values gets, each with that one: places in the stored form.
    #[must_use]
    pub fn converted(&self) -> Vec<(usize, usize)> {
        let pair = |old: &usize| {
            let new = self.to.column(&self.from.columns().get(*old)?.name).ok()?;
            let by = self.source(new)?;
            takes_values(self.from.columns().get(by)?).then_some((*old, by))
        };
        self.dropped.iter().filter_map(pair).collect()
    }

    /// The stored form with the new names, in which the converted columns have theirs, and what names them stays as it is;
    /// `None` if no column was converted.
    pub(super) fn with_converted_names(&self) -> Result<Option<TableSchema>> {
        if self.converted().is_empty() {
            return Ok(None);
        }
        let new = |name: &str| {
            let old = self.from.column(name).ok()?;
            let new = self.kept().find(|(kept, _)| *kept == old)?.1;
            let new = &*self.to.columns().get(new)?.name;
            (new != name && !takes_values(self.from.columns().get(old)?)).then_some(new)
        };
        self.from.rename(self.to.name(), new).map(Some)
    }

    /// The same change for an engine that writes the converted values into the places of the [converted](Self::converted)
    /// columns: these keep their places and what names them, and have their new types already.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn in_place(&self) -> Result<Self> {
        let converted = self.converted();
        let is_gone = |place: &usize| converted.iter().any(|(_, by)| by == place);
        let order: Vec<_> = (0..self.from.columns().len()).filter(|at| !is_gone(at)).collect();
        let is_converted = |column: &ColumnSchema| {
            let place = self.from.column(&column.name).ok();
            converted.iter().any(|(old, _)| Some(*old) == place)
        };
        let retyped = |column: ColumnSchema| {
            let new = self.to.column(&column.name).ok().and_then(|at| self.to.columns().get(at));
            match new.filter(|_| is_converted(&column)) {
                Some(new) => {
                    ColumnSchema { nullable: column.nullable, unique: column.unique, ..new.clone() }
                }
                None => column,
            }
        };
        let from = self.from.reorder(&order)?.map_columns(retyped)?;
        let others = |old: &usize| !is_gone(old);
        let renamed: Vec<_> = self.kept().filter(|(old, _)| others(old)).collect();
        let renamed = renamed.into_iter().filter_map(|(old, new)| {
            Some((&*self.from.columns().get(old)?.name, &*self.to.columns().get(new)?.name))
        });
        let renamed: Vec<_> = renamed.filter(|(old, new)| old != new).collect();
        let dropped = self.dropped.iter().filter(|old| converted.iter().all(|(c, _)| c != *old));
        let dropped = dropped.filter_map(|old| self.from.columns().get(*old));
        let dropped: Vec<_> = dropped.map(|column| &*column.name).collect();
        Self::new(Arc::new(from), Arc::clone(&self.to), &renamed, &dropped)?.in_stored_order()
    }

    /// Rejects a conversion if a generated column, or a CHECK that Bobak cannot read, names the column: for engines that drop
    /// it, and its rules with it.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn check_converted(&self) -> Result<()> {
        let converted = self.converted();
        let reject = |message: String| {
            let error = Error::new(ErrorKind::Unsupported, message);
            Err(error.in_table(self.from.name().to_owned()))
        };
        let is_converted = |name: &str| {
            let place = self.from.column(name).ok();
            converted.iter().any(|(old, _)| Some(*old) == place)
        };
        for (old, new) in self.kept().filter(|_| !converted.is_empty()) {
            let (from, to) = (self.renamed.column_at(old)?, self.to.column_at(new)?);
            if from.generated_text(&self.renamed) != to.generated_text(&self.to) {
                return reject(format!(
                    "the generated column {} is computed from a column that gets another type: drop it before, and add \
                     it again after",
                    to.name
                ));
            }
            let check = self.from.column_at(old)?.check.as_deref().unwrap_or_default();
            let mut tokens = SqlTokenizer::new(SqlSyntax::Sqlite, check);
            if CheckExpression::parse(check, &self.from).is_err()
                && tokens.any(|token| token.name().is_some_and(|name| is_converted(&name)))
            {
                return reject(format!(
                    "a CHECK that Bobak cannot read, of column {}, names a column that gets another type: drop it before, \
                     and add it again after",
                    to.name
                ));
            }
        }
        Ok(())
    }
}

/// Whether a column takes converted values.
pub(super) fn takes_values(column: &ColumnSchema) -> bool {
    column.name.ends_with(CONVERTED)
}
