//! A change of a table into another form.

mod converted;
mod rename;

pub use converted::CONVERTED;

use crate::check::CheckExpression;
use crate::{ColumnSchema, Error, ErrorKind, IndexSchema, Result, TableSchema, Type};
use std::borrow::Cow;
use std::sync::Arc;

/// How an existing table becomes another: see [`SchemaChange::AlterTable`](crate::SchemaChange::AlterTable).
///
/// A column of the new form has the values of a stored column, or is new. A stored column that the new
/// form does not have must be named as dropped: nothing is lost by an omission. The key stays.
///
/// ```
/// use bobak_core::{ColumnSchema, TableAlteration, TableSchema};
/// let table = |columns: &[&'static str]| {
///     let table = TableSchema::builder("person").column(ColumnSchema::of::<i64>("id")).key(["id"]);
///     let columns = columns.iter().map(|name| ColumnSchema::of::<String>(*name));
///     columns.fold(table, |table, column| table.column(column)).build().map(std::sync::Arc::new)
/// };
/// let (from, to) = (table(&["bio", "fax"])?, table(&["about"])?);
/// let change = TableAlteration::new(from, to, &[("bio", "about")], &["fax"])?;
/// assert_eq!((change.source(1), change.dropped()), (Some(1), &[2][..]));
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TableAlteration {
    from: Arc<TableSchema>,
    to: Arc<TableSchema>,
    /// For each new column, the stored one.
    sources: Vec<Option<usize>>,
    dropped: Vec<usize>,
    /// The old form with the new names.
    renamed: TableSchema,
}

impl TableAlteration {
    /// A change of `from`, which the engine has, to `to`. `renamed` has old and new names of columns;
    /// every other column keeps its name. `dropped` has the stored columns that `to` lacks.
    ///
    /// # Errors
    /// `Schema` if a name is unknown, or a stored column is neither kept nor dropped; `Unsupported` if
    /// the key changes, or a column's type changes in a way that stored values would not fit: see
    /// [`keeps_values`](Self::keeps_values).
    pub fn new(
        from: Arc<TableSchema>,
        to: Arc<TableSchema>,
        renamed: &[(&str, &str)],
        dropped: &[&str],
    ) -> Result<Self> {
        let reject = |message: String| Error::new(ErrorKind::Schema, message).in_table(from.name());
        let places = |name: &&str| from.column(name);
        let dropped = dropped.iter().map(places).collect::<Result<Vec<_>>>()?;
        let mut sources = vec![None; to.columns().len()];
        for (old, column) in from.columns().iter().enumerate() {
            if dropped.contains(&old) {
                continue;
            }
            let same = |(before, _): &&(&str, &str)| before.eq_ignore_ascii_case(&column.name);
            let name = renamed.iter().find(same).map_or(&*column.name, |(_, after)| after);
            let new = to.column(name).map_err(|_| {
                let message = "the new table does not have this column: drop it, or rename it";
                reject(message.to_owned()).in_column(column.name.clone())
            })?;
            if let Some(source) = sources.get_mut(new) {
                *source = Some(old);
            }
        }
        for (before, _) in renamed {
            from.column(before)?;
        }
        let renamed = with_new_names(&from, &to, &sources)?;
        let alteration = Self { from, to, sources, dropped, renamed };
        alteration.check_key()?;
        alteration.check_types()?;
        alteration.check_rules()?;
        alteration.check_generated()?;
        Ok(alteration)
    }

    /// The table as it is stored.
    #[must_use]
    pub const fn from(&self) -> &Arc<TableSchema> {
        &self.from
    }

    /// The table as it will be.
    #[must_use]
    pub const fn to(&self) -> &Arc<TableSchema> {
        &self.to
    }

    /// The stored column whose values a column of the new form has; `None` if it is new.
    #[must_use]
    pub fn source(&self, column: usize) -> Option<usize> {
        self.sources.get(column).copied().flatten()
    }

    /// The stored columns that are dropped.
    #[must_use]
    pub fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    /// The kept columns: their places in the stored and in the new form.
    pub fn kept(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.sources.iter().enumerate().filter_map(|(new, old)| Some((old.as_ref().copied()?, new)))
    }

    /// The places of the new columns.
    pub fn added(&self) -> impl Iterator<Item = usize> + '_ {
        self.sources.iter().enumerate().filter(|(_, old)| old.is_none()).map(|(new, _)| new)
    }

    /// The name of the first new column.
    #[must_use]
    pub fn added_column(&self) -> Option<&str> {
        let column = self.added().next().and_then(|place| self.to.columns().get(place));
        column.map(|column| &*column.name)
    }

    /// The stored form with the new names of the table and its columns, in constraints too. Dropped
    /// columns keep their names; indexes are as in the stored form.
    #[must_use]
    pub const fn renamed(&self) -> &TableSchema {
        &self.renamed
    }

    /// Whether the table gets another name.
    #[must_use]
    pub fn renames_table(&self) -> bool {
        self.from.name() != self.to.name()
    }

    /// The indexes that are dropped: those that the new form lacks, or has otherwise. The numbers are
    /// positions in the stored form.
    #[must_use]
    pub fn dropped_indexes(&self) -> Vec<usize> {
        let kept = self.kept_indexes();
        let all = 0..self.from.indexes().len();
        all.filter(|index| !kept.iter().any(|(old, _)| old == index)).collect()
    }

    /// The indexes that are created: positions in the new form.
    #[must_use]
    pub fn added_indexes(&self) -> Vec<usize> {
        let kept = self.kept_indexes();
        let all = 0..self.to.indexes().len();
        all.filter(|index| !kept.iter().any(|(_, new)| new == index)).collect()
    }

    /// The indexes that stay: positions in the stored and in the new form.
    #[must_use]
    pub fn kept_indexes(&self) -> Vec<(usize, usize)> {
        let new_place = |old: usize| self.kept().find(|kept| kept.0 == old).map(|kept| kept.1);
        let mut kept = Vec::new();
        for (old, index) in self.from.indexes().iter().enumerate() {
            let columns = index.columns.iter().map(|column| new_place(*column));
            let columns = columns.collect::<Option<Vec<_>>>();
            let same = |other: &IndexSchema| {
                other.name == index.name
                    && other.unique == index.unique
                    && Some(&other.columns) == columns.as_ref()
            };
            if let Some(new) = self.to.indexes().iter().position(same)
                && self.keeps_order_of(&index.columns)
            {
                kept.push((old, new));
            }
        }
        kept
    }

    /// Whether what the table is searched by differs: its columns, their names or rules, or the language.
    #[must_use]
    pub fn changes_search(&self) -> bool {
        let (before, after) = match (self.from.search(), self.to.search()) {
            (None, None) => return false,
            (Some(before), Some(after)) => (before, after),
            _ => return true,
        };
        let sources = after.columns.iter().map(|new| self.source(*new));
        let same_name = |new: &usize| {
            let old = self.source(*new).and_then(|old| self.from.columns().get(old));
            let new = self.to.columns().get(*new);
            old.zip(new).is_some_and(|(old, new)| old.name == new.name)
        };
        before.language != after.language
            || !sources.eq(before.columns.iter().copied().map(Some))
            || !after.columns.iter().all(same_name)
            || after.columns.iter().any(|new| self.changes_column(*new))
            || self.renames_table()
    }

    /// The same change, with the kept columns in their stored order and the new ones after them: the
    /// order in which SQL databases have them.
    ///
    /// # Errors
    /// As [`TableSchemaBuilder::build`](crate::TableSchemaBuilder::build).
    pub fn in_stored_order(&self) -> Result<Self> {
        let mut order: Vec<_> = self.kept().collect();
        order.sort_unstable();
        let order: Vec<_> = order.into_iter().map(|kept| kept.1).chain(self.added()).collect();
        let to = Arc::new(self.to.reorder(&order)?);
        let sources = order.iter().map(|new| self.source(*new)).collect();
        Ok(Self { to, sources, ..self.clone() })
    }

    /// Whether columns sort and compare as before.
    fn keeps_order_of(&self, columns: &[usize]) -> bool {
        self.kept().filter(|(old, _)| columns.contains(old)).all(|(old, new)| {
            let (from, to) = (self.from.columns().get(old), self.to.columns().get(new));
            from.zip(to).is_some_and(|(from, to)| from.collation == to.collation)
        })
    }

    /// Whether a kept column's rules differ from those that it had, apart from its name.
    #[must_use]
    pub fn changes_column(&self, new: usize) -> bool {
        let Some(old) = self.source(new) else { return false };
        let (renamed, to) = (self.renamed.columns().get(old), self.to.columns().get(new));
        let Some((renamed, to)) = renamed.zip(to) else { return false };
        let check = |table: &TableSchema, column: &ColumnSchema| {
            column.check.as_deref().map(|text| {
                let parsed = CheckExpression::parse(text, table);
                parsed.map_or_else(|_| text.to_owned(), |parsed| parsed.to_text(table))
            })
        };
        let plain = |column: &ColumnSchema| ColumnSchema {
            name: "".into(),
            unique: false,
            check: None,
            generated: None,
            ..column.clone()
        };
        plain(renamed) != plain(to) || check(&self.renamed, renamed) != check(&self.to, to)
    }

    /// Rejects another expression of a generated column, which engines cannot change in place.
    fn check_generated(&self) -> Result<()> {
        let named = self.with_converted_names()?;
        let renamed = named.as_ref().unwrap_or(&self.renamed);
        for (old, new) in self.kept() {
            let (from, to) = (renamed.column_at(old)?, self.to.column_at(new)?);
            if from.generated_text(renamed) != to.generated_text(&self.to) {
                let message = "the expression of a generated column cannot change: drop the column and add it again";
                let error = Error::new(ErrorKind::Unsupported, message);
                return Err(error.in_table(self.from.name()).in_column(to.name.clone()));
            }
        }
        Ok(())
    }

    /// Whether a change log of the table cannot follow: a column gets another type, or several are added.
    #[must_use]
    pub fn breaks_log(&self) -> bool {
        let changed = |(old, new): (usize, usize)| {
            let (from, to) = (self.from.columns().get(old), self.to.columns().get(new));
            from.zip(to).is_none_or(|(from, to)| from.ty != to.ty || from.max_chars != to.max_chars)
        };
        self.added().count() > 1 || self.kept().any(changed)
    }

    /// Rejects a change that a tracked table's log cannot follow.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn check_tracked(&self, is_tracked: bool) -> Result<()> {
        if !is_tracked || !self.breaks_log() {
            return Ok(());
        }
        let message = "the table is tracked, and its change log cannot follow another type or several new columns at \
                       once: make the change in a migration, one column after the other";
        Err(Error::new(ErrorKind::Unsupported, message).in_table(self.from.name()))
    }

    /// Rejects the change if the stored table is not the one that it starts from.
    ///
    /// # Errors
    /// `Schema`.
    pub fn check_stored(&self, stored: &TableSchema) -> Result<()> {
        let names = |table: &TableSchema| {
            let columns = table.columns().iter();
            let name = |column: &ColumnSchema| (column.name.to_ascii_lowercase(), column.ty);
            columns.map(name).collect::<Vec<_>>()
        };
        if names(stored) == names(&self.from) { Ok(()) } else { Err(self.stale()) }
    }

    /// The same change of the table that is stored, whose columns may have another order than those
    /// here, with its kept columns first and in its order: for SQL databases, which add columns at the
    /// end.
    ///
    /// # Errors
    /// `Schema` if the stored table is not the one that the change starts from; as [`new`](Self::new).
    pub fn for_stored(&self, stored: &TableSchema) -> Result<Self> {
        let is_other = |column: &ColumnSchema| {
            let found = self.from.column(&column.name).ok();
            let found = found.and_then(|place| self.from.columns().get(place));
            found.is_none_or(|found| found.ty != column.ty)
        };
        let columns = stored.columns();
        if columns.len() != self.from.columns().len() || columns.iter().any(is_other) {
            return Err(self.stale());
        }
        let name = |table: &'_ Self, old: usize, new: usize| -> Option<(String, String)> {
            let (old, new) = (table.from.columns().get(old)?, table.to.columns().get(new)?);
            Some((old.name.to_string(), new.name.to_string()))
        };
        let renamed: Vec<_> = self.kept().filter_map(|(old, new)| name(self, old, new)).collect();
        let renamed: Vec<_> = renamed.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let dropped = self.dropped.iter().filter_map(|place| self.from.columns().get(*place));
        let dropped: Vec<&str> = dropped.map(|column| &*column.name).collect();
        Self::new(Arc::new(stored.clone()), Arc::clone(&self.to), &renamed, &dropped)?
            .in_stored_order()
    }

    #[cold]
    fn stale(&self) -> Error {
        let message = "the table was changed meanwhile: read its schema again";
        Error::new(ErrorKind::Schema, message).in_table(self.from.name())
    }

    /// Another table, whose foreign keys to this one have the new names.
    ///
    /// # Errors
    /// As [`TableSchemaBuilder::build`](crate::TableSchemaBuilder::build).
    pub fn follow(&self, other: &TableSchema) -> Result<TableSchema> {
        let is_own = |table: &str| table.eq_ignore_ascii_case(self.from.name());
        let table = || self.to.name().to_owned().into();
        let builder = other.clone().into_builder().map_columns(|mut column| {
            if let Some(reference) = column.reference.as_mut().filter(|key| is_own(&key.table)) {
                reference.table = table();
                reference.column = self.new_name(&reference.column);
            }
            column
        });
        let builder = builder.map_foreign_keys(|mut key| {
            if is_own(&key.table) {
                key.table = table();
                key.referenced = key.referenced.iter().map(|name| self.new_name(name)).collect();
            }
            Some(key)
        });
        builder.build()
    }

    /// The new name of a stored column.
    fn new_name(&self, name: &str) -> Cow<'static, str> {
        let old = self.from.column(name).ok();
        let new = self.sources.iter().position(|source| source.is_some() && *source == old);
        let column = new.and_then(|new| self.to.columns().get(new));
        column.map_or_else(|| name.to_owned().into(), |column| column.name.clone())
    }

    /// The foreign keys of several columns that are dropped, as positions in the stored form, and those that are added,
    /// as positions in the new form.
    #[must_use]
    pub fn changed_foreign_keys(&self) -> (Vec<usize>, Vec<usize>) {
        let new_place = |old: &usize| self.kept().find(|kept| kept.0 == *old).map(|kept| kept.1);
        let mut added: Vec<usize> = (0..self.to.foreign_keys().len()).collect();
        let mut dropped = Vec::new();
        for (number, key) in self.renamed.foreign_keys().iter().enumerate() {
            let columns = key.columns.iter().map(new_place).collect::<Option<Vec<_>>>();
            let wanted = columns.map(|columns| key.clone().of_columns(columns));
            let same = |new: &usize| self.to.foreign_keys().get(*new) == wanted.as_ref();
            match added.iter().position(same).filter(|_| wanted.is_some()) {
                Some(place) => drop(added.swap_remove(place)),
                None => dropped.push(number),
            }
        }
        added.sort_unstable();
        (dropped, added)
    }

    /// Whether keys of deleted rows are [reused](TableSchema::never_reuses_keys) and were not before, or the other way
    /// round.
    #[must_use]
    pub fn changes_key_reuse(&self) -> bool {
        self.from.never_reuses_keys() != self.to.never_reuses_keys()
    }

    fn check_key(&self) -> Result<()> {
        let key = self.from.key().iter();
        let key = key.map(|old| self.kept().find(|kept| kept.0 == *old).map(|kept| kept.1));
        let same = key.eq(self.to.key().iter().copied().map(Some))
            && self.from.key_generation() == self.to.key_generation()
            && self.from.has_hidden_key() == self.to.has_hidden_key()
            && self.from.key().iter().all(|old| {
                let new = self.kept().find(|kept| kept.0 == *old).map(|kept| kept.1);
                new.is_some_and(|new| !self.changes_column(new))
            });
        if same {
            return Ok(());
        }
        let message = "the key of an existing table cannot change, except for the names of its columns: \
                       create another table and copy the rows";
        Err(Error::new(ErrorKind::Unsupported, message).in_table(self.from.name()))
    }

    /// Rejects a CHECK that names a column which the new form does not have.
    fn check_rules(&self) -> Result<()> {
        for column in self.to.columns() {
            match column.check.as_deref().map(|text| CheckExpression::parse(text, &self.to)) {
                Some(Err(error)) if error.kind() == ErrorKind::Schema => {
                    return Err(error.in_table(self.to.name()).in_column(column.name.clone()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_types(&self) -> Result<()> {
        for (old, new) in self.kept() {
            let (from, to) = (self.from.column_at(old)?, self.to.column_at(new)?);
            if !Self::keeps_values(from, to) {
                let message = format!(
                    "values of type {} cannot become {} by a schema change alone: convert them \
                     in a migration",
                    from.ty, to.ty
                );
                let error = Error::new(ErrorKind::Unsupported, message);
                return Err(error.in_table(self.from.name()).in_column(from.name.clone()));
            }
        }
        Ok(())
    }

    /// Whether every value of a column is the same value in another: the types are the same, or the
    /// new one is a wider integer or float; the stored form is the same.
    #[must_use]
    pub fn keeps_values(from: &ColumnSchema, to: &ColumnSchema) -> bool {
        let is_wider = || match (from.ty, to.ty) {
            (Type::Bool, _) | (_, Type::Bool) => false,
            (Type::F32, Type::F64) => true,
            (narrow, wide) if narrow.is_integer() && wide.is_integer() => {
                let range = |ty: Type| ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
                range(wide).0 <= range(narrow).0 && range(narrow).1 <= range(wide).1
            }
            _ => false,
        };
        from.storage == to.storage
            && from.declared == to.declared
            && (from.ty == to.ty || is_wider())
    }
}

/// `from` with the names of `to`. A dropped column keeps its name unless another has it now.
fn with_new_names(
    from: &TableSchema,
    to: &TableSchema,
    sources: &[Option<usize>],
) -> Result<TableSchema> {
    let mut free = Vec::new();
    for (old, column) in from.columns().iter().enumerate() {
        let is_dropped = !sources.contains(&Some(old));
        if is_dropped && to.column(&column.name).is_ok() {
            free.push((old, format!("{} (dropped)", column.name)));
        }
    }
    let new_name = |name: &str| {
        let old = from.column(name).ok()?;
        if let Some((_, free)) = free.iter().find(|(place, _)| *place == old) {
            return Some(&**free);
        }
        let new = sources.iter().position(|source| *source == Some(old))?;
        let new = &*to.columns().get(new)?.name;
        (new != name).then_some(new)
    };
    // The rules that name a converted column are those of the one that takes its name.
    let is_conversion = from.columns().iter().any(converted::takes_values);
    let is_freed = |name: &str| free.iter().any(|(old, _)| from.column(name).ok() == Some(*old));
    from.rename_but(to.name(), new_name, |name| is_conversion && is_freed(name))
}
