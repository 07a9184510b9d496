//! New rules of PostgreSQL's columns, validated while others write.

use crate::Dialect;
use crate::alter::ColumnChange;
use crate::constraint_names::ConstraintNames;
use crate::writer::Writer;
use bobak_core::check::CheckExpression;
use bobak_core::{Error, ErrorKind, Result, TableAlteration};

/// The names of constraints that are not in force for stored rows yet begin with this. What a killed process leaves
/// has such a name.
pub const PENDING: &str = "bobak_pending_";

/// The most bytes of a name on PostgreSQL.
const MAX_NAME_LENGTH: usize = 63;

/// The statements that add rules to a table of PostgreSQL, in three parts. Only the second one takes long, and
/// others write meanwhile.
#[derive(Debug, Default)]
pub struct OnlineRules {
    /// Adds constraints for new rows alone. Each commits by itself.
    pub add: Vec<String>,
    /// Checks the stored rows. Each commits by itself; the error says more than the server's for a rule whose
    /// constraint is not the final one.
    pub validate: Vec<(String, Option<Error>)>,
    /// Gives the constraints their names, and drops the former rules: one transaction.
    pub finish: Vec<String>,
}

impl OnlineRules {
    /// The statements of an alteration, if it changes nothing but rules of columns and indexes, and no column's type; indexes are not
    /// part of it.
    ///
    /// # Errors
    /// As [`alter_table`](crate::alter_table).
    pub fn of(alteration: &TableAlteration, names: &ConstraintNames) -> Result<Option<Self>> {
        let (from, to) = (alteration.from(), alteration.to());
        let keeps_names = alteration.kept().all(|(old, new)| {
            let columns = from.columns().get(old).zip(to.columns().get(new));
            columns.is_some_and(|(before, after)| before.name == after.name)
        });
        let is_rules_alone = keeps_names
            && !alteration.renames_table()
            && alteration.dropped().is_empty()
            && alteration.added().next().is_none()
            && alteration.dropped_indexes().is_empty();
        if !is_rules_alone {
            return Ok(None);
        }
        let mut rules = Self::default();
        for (old, new) in alteration.kept().filter(|(_, new)| alteration.changes_column(*new)) {
            let mut change = ColumnChange::of(alteration, names, old, new)?;
            if change.changes_type() || !rules.push(&mut change, names)? {
                return Ok(None);
            }
        }
        rules.finish.extend(crate::alter::remarks(alteration, names));
        Ok(Some(rules))
    }

    /// Adds the statements of a column; returns `false` if a name is too long for the server.
    fn push(&mut self, change: &mut ColumnChange<'_>, names: &ConstraintNames) -> Result<bool> {
        change.drop_constraints()?;
        change.change()?;
        self.finish.append(&mut change.texts);
        let (table, column) = (change.alteration.to(), change.after);
        let start = format!("{}_{}", table.name(), column.name);
        if change.before.nullable && !column.nullable {
            let message = "some rows have NULL in this column, which must not be NULL any more";
            let error = Error::new(ErrorKind::Constraint, message).in_table(table.name());
            let error = error.in_column(column.name.clone());
            let pending = self.add(change, Some(error), |writer| {
                writer.raw(" CHECK (").name(&column.name).raw(" IS NOT NULL)");
            })?;
            // The server trusts the constraint and does not read the rows.
            self.finish.push(constraint(change, " DROP CONSTRAINT ", &pending, None)?);
        }
        if change.adds_check() {
            let columns = column.check.as_deref().map(|text| CheckExpression::parse(text, table));
            // The name that the server would choose.
            let base = match columns {
                Some(Ok(check)) if check.columns().len() == 1 => format!("{start}_check"),
                _ => format!("{}_check", table.name()),
            };
            let Some(name) = self.free_name(&base, names) else { return Ok(false) };
            let pending = self.add(change, None, |writer| change.push_check(writer))?;
            self.finish.push(constraint(change, " RENAME CONSTRAINT ", &pending, Some(&name))?);
        }
        if change.adds_reference() {
            let base = format!("{start}_fkey");
            let Some(name) = self.free_name(&base, names) else { return Ok(false) };
            let pending = self.add(change, None, |writer| change.push_reference(writer))?;
            self.finish.push(constraint(change, " RENAME CONSTRAINT ", &pending, Some(&name))?);
        }
        Ok(true)
    }

    /// Adds a constraint, and validates it later; returns its name until then.
    fn add(
        &mut self,
        change: &ColumnChange<'_>,
        error: Option<Error>,
        rule: impl Fn(&mut Writer<'_>),
    ) -> Result<String> {
        let name = format!("{PENDING}{}", self.add.len() + 1);
        let mut writer = Writer::new(Dialect::Postgres);
        writer.raw("ALTER TABLE ").name(change.alteration.to().name());
        writer.raw(" ADD CONSTRAINT ").name(&name);
        rule(&mut writer);
        writer.raw(" NOT VALID");
        self.add.push(writer.into_result()?);
        let validate = constraint(change, " VALIDATE CONSTRAINT ", &name, None)?;
        self.validate.push((validate, error));
        Ok(name)
    }

    /// A name that no constraint has after those that are dropped.
    fn free_name(&self, base: &str, names: &ConstraintNames) -> Option<String> {
        let is_dropped = |name: &str| {
            let end = format!(" DROP CONSTRAINT \"{}\"", name.replace('"', "\"\""));
            self.finish.iter().any(|text| text.ends_with(&end))
        };
        let is_given = |name: &str| {
            let end = format!(" TO \"{}\"", name.replace('"', "\"\""));
            self.finish.iter().any(|text| text.ends_with(&end))
        };
        let stored = names.checks.iter().map(|(_, name)| name);
        let stored: Vec<_> = stored.chain(names.references.iter().map(|(_, name)| name)).collect();
        let is_free =
            |name: &String| !is_given(name) && (!stored.contains(&name) || is_dropped(name));
        let numbered = (1..100).map(|number| format!("{base}{number}"));
        let name = std::iter::once(base.to_owned()).chain(numbered).find(is_free)?;
        (name.len() <= MAX_NAME_LENGTH).then_some(name)
    }
}

/// A statement about a constraint of the table, and its new name.
fn constraint(
    change: &ColumnChange<'_>,
    verb: &str,
    name: &str,
    new: Option<&str>,
) -> Result<String> {
    let mut writer = Writer::new(Dialect::Postgres);
    writer.raw("ALTER TABLE ").name(change.alteration.to().name()).raw(verb).name(name);
    if let Some(new) = new {
        writer.raw(" TO ").name(new);
    }
    writer.into_result()
}
