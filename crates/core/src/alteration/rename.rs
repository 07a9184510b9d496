//! New names for a table and its columns.

use crate::check::CheckExpression;
use crate::sql_token::{SqlSyntax, SqlTokenizer};
use crate::{
    ColumnSchema, Error, ErrorKind, KeyGeneration, Reference, Result, TableSchema,
    TableSchemaBuilder,
};

impl TableSchema {
    /// The schema with another name of the table, and other names of the columns for which `column` has
    /// one: in the key, the indexes, the constraints and the foreign keys to itself. Indexes keep their
    /// names, except those of unique columns.
    ///
    /// ```
    /// use bobak_core::{ColumnSchema, TableSchema};
    /// let table = TableSchema::builder("person").column(ColumnSchema::of::<i64>("id"));
    /// let table = table.column(ColumnSchema::of::<i64>("age").check("age >= 0")).key(["id"]).build()?;
    /// let table = table.rename("user", |name| (name == "age").then_some("years"))?;
    /// assert_eq!(table.columns()[1].check.as_deref(), Some("years >= 0"));
    /// # Ok::<(), bobak_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Schema` if two columns would have one name; `Unsupported` if a CHECK that Bobak cannot read
    /// names a renamed column.
    pub fn rename<'n>(
        &self,
        table: &str,
        column: impl Fn(&str) -> Option<&'n str>,
    ) -> Result<Self> {
        self.rename_but(table, column, |_| false)
    }

    /// As [`rename`](Self::rename). A CHECK that Bobak cannot read stays as it is if it names only columns of which `keeps`
    /// says so.
    pub(super) fn rename_but<'n>(
        &self,
        table: &str,
        column: impl Fn(&str) -> Option<&'n str>,
        keeps: impl Fn(&str) -> bool,
    ) -> Result<Self> {
        let new = |name: &str| column(name).map_or_else(|| name.to_owned(), str::to_owned);
        let reference = |reference: &Reference| match reference {
            own if own.table.eq_ignore_ascii_case(self.name()) => Reference {
                table: table.to_owned().into(),
                column: new(&own.column).into(),
                ..own.clone()
            },
            other => other.clone(),
        };
        let columns = self.columns().iter().map(|old| ColumnSchema {
            name: new(&old.name).into(),
            reference: old.reference.as_ref().map(reference),
            // Its expression has the old names.
            generated: None,
            ..old.clone()
        });
        let mut renamed = self.assemble_as(table, columns.collect(), &new)?;
        let in_text = |name: &str| column(name).filter(|_| !keeps(name));
        let checks = self.columns().iter().map(|old| self.renamed_check(old, &renamed, &in_text));
        let checks = checks.collect::<Result<Vec<_>>>()?;
        for (column, check) in renamed.columns_mut().iter_mut().zip(checks) {
            column.check = check.map(Into::into);
        }
        self.rename_expressions(renamed)
    }

    /// The renamed schema with the expressions of this one.
    fn rename_expressions(&self, renamed: Self) -> Result<Self> {
        if !self.has_generated_columns() {
            return Ok(renamed);
        }
        let text = |old: &ColumnSchema| -> Result<Option<String>> {
            let Some(text) = &old.generated else { return Ok(None) };
            Ok(Some(CheckExpression::parse_value(text, self)?.to_text(&renamed)))
        };
        let texts = self.columns().iter().map(text).collect::<Result<Vec<_>>>()?;
        let mut texts = texts.into_iter();
        renamed.map_columns(|column| ColumnSchema {
            generated: texts.next().flatten().map(Into::into),
            ..column
        })
    }

    /// The schema with its columns in another order.
    pub(super) fn reorder(&self, order: &[usize]) -> Result<Self> {
        let columns = order.iter().filter_map(|place| self.columns().get(*place).cloned());
        self.assemble_as(self.name(), columns.collect(), &str::to_owned)
    }

    /// A table with these columns, and the key, the indexes and the foreign keys of this one.
    fn assemble_as(
        &self,
        table: &str,
        columns: Vec<ColumnSchema>,
        new: &impl Fn(&str) -> String,
    ) -> Result<Self> {
        let names = |places: &[usize]| -> Vec<String> {
            let columns = places.iter().filter_map(|place| self.columns().get(*place));
            columns.map(|column| new(&column.name)).collect()
        };
        let mut builder = Self::builder(table.to_owned()).key(names(self.key()));
        if self.key_generation() == KeyGeneration::Given {
            builder = builder.given_key();
        }
        if self.has_hidden_key() {
            builder = builder.hidden_key();
        }
        if let Some(search) = self.search() {
            builder = builder.search(names(&search.columns), search.language);
        }
        for index in self.indexes() {
            let is_of_column = matches!(index.columns[..], [place] if index.unique
                && self.columns().get(place).is_some_and(|column| column.unique));
            let columns = names(&index.columns);
            builder = match index.unique {
                _ if is_of_column => builder,
                true => builder.unique_index(index.name.clone(), columns),
                false => builder.index(index.name.clone(), columns),
            };
        }
        if self.never_reuses_keys() {
            builder = builder.never_reuse_keys();
        }
        for key in self.foreign_keys() {
            let mut renamed = key.clone();
            if key.table.eq_ignore_ascii_case(self.name()) {
                renamed.table = table.to_owned().into();
                renamed.referenced = key.referenced.iter().map(|name| new(name).into()).collect();
            }
            builder = builder.foreign_key(names(&key.columns), renamed);
        }
        columns.into_iter().fold(builder, TableSchemaBuilder::column).build()
    }

    fn renamed_check<'n>(
        &self,
        column: &ColumnSchema,
        renamed: &Self,
        new: &impl Fn(&str) -> Option<&'n str>,
    ) -> Result<Option<String>> {
        let Some(check) = &column.check else { return Ok(None) };
        match CheckExpression::parse(check, self) {
            Ok(parsed) => Ok(Some(parsed.to_text(renamed))),
            Err(_) => {
                let mut tokens = SqlTokenizer::new(SqlSyntax::Sqlite, check);
                let is_renamed = |name: &str| {
                    let mut columns = self.columns().iter().map(|column| &*column.name);
                    columns.any(|old| old.eq_ignore_ascii_case(name) && new(old).is_some())
                };
                if !tokens.any(|token| token.name().is_some_and(|name| is_renamed(&name))) {
                    return Ok(Some(check.to_string()));
                }
                let message = "a CHECK that Bobak cannot read names a column that is renamed";
                let error = Error::new(ErrorKind::Unsupported, message);
                Err(error.in_table(self.name().to_owned()).in_column(column.name.clone()))
            }
        }
    }
}
