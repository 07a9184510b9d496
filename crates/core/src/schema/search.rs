//! What a table is searched by.

use super::ColumnSchema;
use crate::search::SearchLanguage;
use crate::{Error, ErrorKind, Result, Storage, Type};

/// The columns of a table that are searched together. The engine keeps their index up to date.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SearchSchema {
    /// The columns' indexes in the schema.
    pub columns: Vec<usize>,
    /// The language of the texts.
    pub language: SearchLanguage,
}

impl SearchSchema {
    /// Checks that the columns are texts, and that none repeats.
    pub(crate) fn check(&self, columns: &[ColumnSchema]) -> Result<()> {
        if self.columns.is_empty() {
            let message = "a search needs at least one column";
            return Err(Error::new(ErrorKind::Schema, message));
        }
        for (at, place) in self.columns.iter().enumerate() {
            let Some(column) = columns.get(*place) else { continue };
            let is_text = column.ty == Type::Text
                && column.storage == Storage::Text
                && column.declared.is_none();
            if !is_text || self.columns.iter().take(at).any(|other| other == place) {
                let message = "only columns of texts can be searched, each once";
                return Err(Error::new(ErrorKind::Schema, message).in_column(column.name.clone()));
            }
        }
        Ok(())
    }
}
