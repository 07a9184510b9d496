//! Statements that change an existing table into another form.

use crate::Dialect;
use crate::check::push_check;
use crate::constraint_names::ConstraintNames;
use crate::mysql_schema;
use crate::schema::{
    add_column, column_definition, column_remark, key_remark, push_actions, with_all_words,
};
use crate::search::{create_search, drop_search};
use crate::writer::Writer;
use bobak_core::{ColumnSchema, Error, ErrorKind, Result, TableAlteration, TableSchema};

/// The statements for all of an alteration except, on PostgreSQL and SQLite, new indexes, and on SQLite a new search: see
/// [`add_index`](crate::add_index) and [`create_search`]. On MariaDB and MySQL it is one statement, which changes all or
/// nothing.
///
/// # Errors
/// `Unsupported` for SQLite if a kept column's rules change: SQLite's engine rebuilds the table then.
/// As [`create_table`](crate::create_table).
pub fn alter_table(
    dialect: Dialect,
    alteration: &TableAlteration,
    names: &ConstraintNames,
) -> Result<Vec<String>> {
    let alteration = &alteration.in_stored_order()?;
    if dialect.is_mysql() {
        let text = mysql_schema::alter_table(dialect, alteration, names)?;
        let is_searched = alteration.changes_search() && alteration.to().search().is_some();
        return Ok(with_all_words(text, is_searched));
    }
    let (from, to) = (alteration.from(), alteration.to());
    let mut texts = Vec::new();
    let mut statement = |write: &dyn Fn(&mut Writer<'_>)| {
        let mut writer = Writer::new(dialect);
        write(&mut writer);
        texts.push(writer.into_text());
    };
    let changes_search = alteration.changes_search();
    if changes_search {
        drop_search(dialect, from).iter().for_each(|text| {
            statement(&|writer| {
                writer.raw(text);
            });
        });
    }
    for index in alteration.dropped_indexes() {
        let Some(index) = from.indexes().get(index) else { continue };
        if names.constraints.iter().any(|name| *name == index.name) {
            continue;
        }
        statement(&|writer| {
            writer.raw("DROP INDEX ").name(names.index(&index.name));
        });
    }
    let (dropped_keys, added_keys) = alteration.changed_foreign_keys();
    let dropped_keys = dropped_keys.iter().filter_map(|number| from.foreign_keys().get(*number));
    for key in dropped_keys.filter(|_| dialect == Dialect::Postgres) {
        for name in names.foreign_keys_of(from, &key.columns) {
            statement(&|writer| {
                writer.raw("ALTER TABLE ").name(from.name()).raw(" DROP CONSTRAINT ").name(name);
            });
        }
    }
    // Generated columns before those that they are computed from.
    let mut dropped = alteration.dropped().to_vec();
    dropped.sort_by_key(|column| !from.is_generated(*column));
    for column in dropped {
        statement(&|writer| {
            writer.raw("ALTER TABLE ").name(from.name()).raw(" DROP COLUMN ").column(from, column);
        });
    }
    for (old, new) in new_names(dialect, alteration) {
        statement(&|writer| {
            writer.raw("ALTER TABLE ").name(&old).raw(" RENAME TO ").name(&new);
        });
    }
    for (old, new) in renamed_columns(alteration) {
        statement(&|writer| {
            writer.raw("ALTER TABLE ").name(to.name()).raw(" RENAME COLUMN ").name(&old);
            writer.raw(" TO ").name(&new);
        });
    }
    if dialect == Dialect::Postgres {
        for (old, new) in alteration.kept() {
            texts.extend(change_column(alteration, names, old, new)?);
        }
    }
    for column in alteration.added() {
        texts.extend(add_column(dialect, to, column)?);
    }
    if dialect == Dialect::Postgres {
        for number in added_keys {
            texts.extend(crate::add_foreign_key(dialect, to, number, &[])?);
        }
        texts.extend(remarks(alteration, names));
    }
    if changes_search && dialect == Dialect::Postgres {
        texts.extend(create_search(dialect, to)?);
    }
    Ok(texts)
}

/// The names that a table gets. On SQLite it has another one between two that differ in case alone, which are the same to it.
fn new_names(dialect: Dialect, alteration: &TableAlteration) -> Vec<(String, String)> {
    let (from, to) = (alteration.from().name().to_owned(), alteration.to().name().to_owned());
    if !alteration.renames_table() {
        return Vec::new();
    }
    if dialect == Dialect::Sqlite && from.eq_ignore_ascii_case(&to) {
        let between = format!("bobak_renamed_{to}");
        return vec![(from, between.clone()), (between, to)];
    }
    vec![(from, to)]
}

/// The columns whose rules change, as places in the new form. On SQLite these need a new table.
#[must_use]
pub fn changed_columns(alteration: &TableAlteration) -> Vec<usize> {
    let kept = alteration.kept();
    kept.map(|kept| kept.1).filter(|new| alteration.changes_column(*new)).collect()
}

/// The queries that find rows which new rules forbid, for databases whose own errors would not tell:
/// each with the error if it returns a row. To be run before [`alter_table`].
#[must_use]
pub fn find_violations(dialect: Dialect, alteration: &TableAlteration) -> Vec<(String, Error)> {
    let from = alteration.from();
    let mut found = Vec::new();
    for (old, new) in alteration.kept() {
        let columns = from.columns().get(old).zip(alteration.to().columns().get(new));
        let Some((before, after)) = columns else { continue };
        let mut add = |condition: &dyn Fn(&mut Writer<'_>), kind, message: String| {
            let mut writer = Writer::new(dialect);
            writer.raw("SELECT 1 FROM ").name(from.name()).raw(" WHERE ");
            condition(&mut writer);
            writer.raw(" LIMIT 1");
            let error = Error::new(kind, message).in_table(from.name().to_owned());
            found.push((writer.into_text(), error.in_column(before.name.to_string())));
        };
        if before.nullable && !after.nullable {
            let message = "some rows have NULL in this column, which must not be NULL any more";
            let is_null = |writer: &mut Writer<'_>| {
                writer.column(from, old).raw(" IS NULL");
            };
            add(&is_null, ErrorKind::Constraint, message.to_owned());
        }
        if let Some(max) = after.max_chars
            && before.max_chars.is_none_or(|before| before > max)
        {
            let is_long = |writer: &mut Writer<'_>| {
                let length = if dialect == Dialect::Sqlite { "length(" } else { "char_length(" };
                writer.raw(length).column(from, old).raw(&format!(") > {max}"));
            };
            let message = format!("some rows have texts of more than {max} characters");
            add(&is_long, ErrorKind::TooLong, message);
        }
    }
    found
}

/// The renames of kept columns, in an order in which no name exists twice.
pub(crate) fn renamed_columns(alteration: &TableAlteration) -> Vec<(String, String)> {
    let name = |table: &TableSchema, place: usize| {
        table.columns().get(place).map_or_else(String::new, |column| column.name.to_string())
    };
    let pairs = alteration.kept();
    let pairs = pairs.map(|(old, new)| (name(alteration.from(), old), name(alteration.to(), new)));
    let pairs = pairs.filter(|(old, new)| old != new);
    rename_order(pairs.collect(), |number| format!("bobak_renamed_{number}"))
}

/// Pairs of old and new names in an order in which no name exists twice; two that change places get a third name first,
/// which `between` makes of a number.
#[must_use]
pub fn rename_order(
    pairs: Vec<(String, String)>,
    between: impl Fn(usize) -> String,
) -> Vec<(String, String)> {
    let is_taken = |new: &String| pairs.iter().any(|(old, _)| old.eq_ignore_ascii_case(new));
    let (mut freed, mut plain, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    for (number, (old, new)) in pairs.iter().enumerate() {
        if is_taken(new) {
            freed.push((old.clone(), between(number)));
            taken.push((between(number), new.clone()));
        } else {
            plain.push((old.clone(), new.clone()));
        }
    }
    [freed, plain, taken].concat()
}

/// A column whose rules change in PostgreSQL; it has its new name already.
pub(crate) struct ColumnChange<'a> {
    pub(crate) alteration: &'a TableAlteration,
    names: &'a ConstraintNames,
    stored: &'a ColumnSchema,
    pub(crate) before: &'a ColumnSchema,
    pub(crate) after: &'a ColumnSchema,
    pub(crate) texts: Vec<String>,
}

fn change_column(
    alteration: &TableAlteration,
    names: &ConstraintNames,
    old: usize,
    new: usize,
) -> Result<Vec<String>> {
    if !alteration.changes_column(new) {
        return Ok(Vec::new());
    }
    let mut change = ColumnChange::of(alteration, names, old, new)?;
    change.drop_constraints()?;
    change.change()?;
    change.add_constraints()?;
    Ok(change.texts)
}

impl<'a> ColumnChange<'a> {
    /// The change of a kept column.
    pub(crate) fn of(
        alteration: &'a TableAlteration,
        names: &'a ConstraintNames,
        old: usize,
        new: usize,
    ) -> Result<Self> {
        let stored = alteration.from().column_at(old)?;
        let (before, after) =
            (alteration.renamed().column_at(old)?, alteration.to().column_at(new)?);
        Ok(Self { alteration, names, stored, before, after, texts: Vec::new() })
    }

    /// Whether the column gets another SQL type, for which the server may write all rows again.
    pub(crate) fn changes_type(&self) -> bool {
        let ty = |column: &ColumnSchema| crate::schema::typed(Dialect::Postgres, column);
        ty(self.before) != ty(self.after)
    }

    pub(crate) fn adds_check(&self) -> bool {
        self.after.check.is_some() && self.is_checked_otherwise()
    }

    pub(crate) fn adds_reference(&self) -> bool {
        self.after.reference.is_some() && self.before.reference != self.after.reference
    }

    pub(crate) fn push_check(&self, writer: &mut Writer<'_>) {
        push_check(writer, self.alteration.to(), self.after);
    }

    pub(crate) fn push_reference(&self, writer: &mut Writer<'_>) {
        let Some(reference) = &self.after.reference else { return };
        writer.raw(" FOREIGN KEY (").name(&self.after.name).raw(") REFERENCES ");
        writer.name(&reference.table).raw("(").name(&reference.column).raw(")");
        push_actions(writer, reference.on_delete, reference.on_update, reference.deferred);
    }

    fn alter(&mut self, write: impl FnOnce(&mut Writer<'_>)) -> Result<()> {
        let mut writer = Writer::new(Dialect::Postgres);
        writer.raw("ALTER TABLE ").name(self.alteration.to().name());
        write(&mut writer);
        self.texts.push(writer.into_result()?);
        Ok(())
    }

    fn is_checked_otherwise(&self) -> bool {
        let rule = |table: &TableSchema, column: &ColumnSchema| {
            let mut writer = Writer::new(Dialect::Postgres);
            push_check(&mut writer, table, column);
            writer.into_text()
        };
        let (renamed, to) = (self.alteration.renamed(), self.alteration.to());
        rule(renamed, self.before) != rule(to, self.after)
    }

    pub(crate) fn drop_constraints(&mut self) -> Result<()> {
        let (names, stored) = (self.names, self.stored);
        let mut dropped = Vec::new();
        if self.before.reference != self.after.reference {
            dropped.extend(names.references_of(&stored.name));
        }
        if stored.check.is_some() && self.is_checked_otherwise() {
            dropped.extend(names.checks_of(self.alteration.from(), stored)?);
        }
        dropped.into_iter().try_for_each(|name| {
            self.alter(|writer| {
                writer.raw(" DROP CONSTRAINT ").name(name);
            })
        })
    }

    /// The type, the default and NOT NULL.
    pub(crate) fn change(&mut self) -> Result<()> {
        let (before, after) = (self.before, self.after);
        let column = |writer: &mut Writer<'_>, rest: &str| {
            writer.raw(" ALTER COLUMN ").name(&after.name).raw(rest);
        };
        if self.changes_type() {
            let ty = crate::schema::typed(Dialect::Postgres, after);
            self.alter(|writer| column(writer, &format!(" TYPE{ty}")))?;
        }
        if before.default != after.default || before.default_sql != after.default_sql {
            let default = match after.default {
                Some(_) => format!(" SET{}", crate::schema::default(Dialect::Postgres, after)),
                None => " DROP DEFAULT".to_owned(),
            };
            self.alter(|writer| column(writer, &default))?;
        }
        if before.nullable != after.nullable {
            let rule = if after.nullable { " DROP NOT NULL" } else { " SET NOT NULL" };
            self.alter(|writer| column(writer, rule))?;
        }
        Ok(())
    }

    fn add_constraints(&mut self) -> Result<()> {
        type Rule<'a> = fn(&ColumnChange<'a>, &mut Writer<'_>);
        let rules: [(bool, Rule<'a>); 2] =
            [(self.adds_check(), Self::push_check), (self.adds_reference(), Self::push_reference)];
        for (_, rule) in rules.into_iter().filter(|(is_added, _)| *is_added) {
            let mut writer = Writer::new(Dialect::Postgres);
            writer.raw("ALTER TABLE ").name(self.alteration.to().name()).raw(" ADD");
            rule(self, &mut writer);
            self.texts.push(writer.into_result()?);
        }
        Ok(())
    }
}

/// The comments of columns and indexes that no longer fit. Indexes' comments have columns' numbers.
pub(crate) fn remarks(alteration: &TableAlteration, names: &ConstraintNames) -> Vec<String> {
    let (from, to) = (alteration.from(), alteration.to());
    let mut texts = Vec::new();
    for (old, new) in alteration.kept() {
        let (before, after) = (column_remark(from, old), column_remark(to, new));
        if before != after {
            let mut writer = Writer::new(Dialect::Postgres);
            writer.raw("COMMENT ON COLUMN ").name(to.name()).raw(".").column(to, new).raw(" IS ");
            match &after {
                Some(remark) => writer.literal(bobak_core::ValueRef::Text(remark)),
                None => writer.raw("NULL"),
            };
            texts.push(writer.into_text());
        }
    }
    texts.extend(index_remarks(alteration, names));
    if let Some(index) = names.key_index.as_deref().filter(|_| from.key() != to.key()) {
        texts.push(key_remark(index, to.key()));
    }
    texts
}

/// The comments of kept indexes whose columns have other numbers.
fn index_remarks(alteration: &TableAlteration, names: &ConstraintNames) -> Vec<String> {
    let (from, to) = (alteration.from(), alteration.to());
    let mut texts = Vec::new();
    for (old, new) in alteration.kept_indexes() {
        let places = |table: &TableSchema, at: usize| {
            table.indexes().get(at).map(|index| index.columns.clone())
        };
        if places(from, old) == places(to, new) {
            continue;
        }
        let stored =
            TableSchema::clone(to).rename_indexes(|name| Some(names.index(name).to_owned()));
        texts.extend(crate::index_remark(Dialect::Postgres, &stored, new));
        texts.extend(crate::note_index_name(to, &stored, new));
    }
    texts
}

/// The definition of a foreign key of several columns in a CREATE TABLE of SQLite, for the rebuilding of a table.
#[must_use]
pub fn sqlite_foreign_key(table: &TableSchema, number: usize) -> String {
    let mut writer = Writer::new(Dialect::Sqlite);
    if let Some(key) = table.foreign_keys().get(number) {
        crate::schema::push_foreign_key(&mut writer, table, key, &[]);
    }
    writer.into_text()
}

/// The definition of a column in a CREATE TABLE of SQLite, for the rebuilding of a table.
///
/// # Errors
/// As [`create_table`](crate::create_table).
pub fn sqlite_column(table: &TableSchema, place: usize) -> Result<String> {
    column_definition(Dialect::Sqlite, table, place)
}
