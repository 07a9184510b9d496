//! Columns that lead to rows of other tables.
//!
//! Whether an engine takes a foreign key tells whether the row is there. So where the caller may
//! not read the table, it sets nothing but NULL; where a rule says which rows it may read, those are
//! looked up first, and a row kept from it is answered as one that is not there.

use super::protected::Protected;
use super::session::{GuardedSession, both};
use super::table::{TablePermissions, rule_of};
use super::write::check_value;
use crate::policy::Rights;
use crate::right::Right;
use bobak_core::{
    Assign, Comparison, Condition, Error, ErrorKind, FieldSet, Reference, Result, Row, Select,
    Source, TableSchema, Value, Verb,
};
use std::sync::Arc;

/// A column that leads to a table of which the caller may not read all.
pub(super) struct Lead {
    /// The column's place in the table as the caller describes it.
    place: usize,
    /// Where it leads; `None` where the caller may read nothing.
    to: Option<Target>,
}

/// The rows that the caller may read of a table, found by one column.
struct Target {
    table: Arc<TableSchema>,
    column: usize,
    rule: Condition,
}

impl Lead {
    /// Those of a table, which is `stored` so and which the caller describes as `table`.
    ///
    /// # Errors
    /// Those of `tables`.
    pub fn all(
        rights: &Rights,
        database: &Protected,
        table: &TableSchema,
        stored: &TableSchema,
        tables: &dyn Fn() -> Result<Vec<TableSchema>>,
    ) -> Result<Vec<Self>> {
        let mut leads = Vec::new();
        for column in stored.columns() {
            let Some(reference) = &column.reference else { continue };
            let mut described = table.columns().iter();
            let place = described.position(|c| c.name.eq_ignore_ascii_case(&column.name));
            let set = rights.set_on(database.name(), &reference.table);
            let is_free = set.has(Right::Read)
                && rights
                    .on(database.name(), &reference.table)
                    .any(|grant| grant.rights.has(Right::Read) && grant.rule.is_none());
            let Some(place) = place.filter(|_| !is_free) else { continue };
            let found = match set.has(Right::Read) {
                true => database.table(&reference.table, &[], tables)?,
                false => None,
            };
            let to = found.and_then(|found| Target::of(rights, database, reference, found));
            leads.push(Self { place, to });
        }
        Ok(leads)
    }
}

impl Target {
    /// `None` where the rule can't be kept: nothing may be read then.
    fn of(
        rights: &Rights,
        database: &Protected,
        reference: &Reference,
        table: Arc<TableSchema>,
    ) -> Option<Self> {
        let grants: Vec<_> = rights.on(database.name(), &reference.table).collect();
        let rule = rule_of(&grants, Right::Read, &table, rights.variables()).ok().flatten()?;
        let mut columns = table.columns().iter();
        let column = columns.position(|c| c.name.eq_ignore_ascii_case(&reference.column))?;
        Some(Self { table, column, rule })
    }
}

impl TablePermissions {
    /// Whether a row leads nowhere that the caller may not read, seen without a look.
    pub fn leads_nowhere(&self, verb: Verb, fields: FieldSet, row: &dyn Row) -> bool {
        self.set_leads(verb, fields).all(|lead| row.get(lead.place).is_null())
    }

    /// The columns that a write sets, and that lead somewhere.
    fn set_leads(&self, verb: Verb, fields: FieldSet) -> impl Iterator<Item = &Lead> {
        self.leads.iter().filter(move |lead| match verb {
            Verb::Delete => false,
            Verb::Update => fields.iter().any(|place| place == lead.place),
            _ => true,
        })
    }
}

impl GuardedSession<'_> {
    /// Refuses a row that leads where the caller may not read.
    ///
    /// # Errors
    /// `Denied` where it may read nothing there, `Constraint` where it may not read this row.
    pub(super) fn check_leads(
        &self,
        rights: &TablePermissions,
        table: &TableSchema,
        (verb, fields): (Verb, FieldSet),
        values: &[Value<'_>],
    ) -> Result<()> {
        for lead in rights.set_leads(verb, fields) {
            if let Some(value) = values.get(lead.place).filter(|value| !value.is_null()) {
                self.check_lead(lead, table, value)?;
            }
        }
        Ok(())
    }

    /// As [`Self::check_leads`], of what many rows are set to.
    pub(super) fn check_assigned(
        &self,
        rights: &TablePermissions,
        table: &TableSchema,
        assign: &[Assign],
    ) -> Result<()> {
        for lead in &rights.leads {
            for assign in assign.iter().filter(|assign| assign.column() == lead.place) {
                match assign {
                    Assign::Set { value, .. } if value.is_null() => {}
                    Assign::Set { value, .. } => self.check_lead(lead, table, value)?,
                    Assign::Add { .. } => {
                        let message = "the column leads to a table of which you may not read \
                                       all, so nothing is added to it: set it";
                        return Err(about(ErrorKind::Denied, message, table, lead));
                    }
                }
            }
        }
        Ok(())
    }

    fn check_lead(&self, lead: &Lead, table: &TableSchema, value: &Value<'_>) -> Result<()> {
        let Some(target) = &lead.to else {
            let message = "the column leads to a table that you may not read, so it can only be \
                           NULL";
            return Err(about(ErrorKind::Denied, message, table, lead));
        };
        check_value(table, lead.place, value)?;
        let same = Condition::Compare {
            column: target.column,
            comparison: Comparison::Equal,
            value: value.clone().into_owned(),
        };
        let mut select = Select::all(&target.table);
        select.condition = Some(both(Some(same), &target.rule));
        select.order.clear();
        let mut is_there = false;
        self.inner.query(&Source::Select(&select), &mut |_| {
            is_there = true;
            Ok(false)
        })?;
        if is_there {
            return Ok(());
        }
        let message = "the column leads to a row that is not there, or that you may not read";
        Err(about(ErrorKind::Constraint, message, table, lead))
    }
}

fn about(kind: ErrorKind, message: &str, table: &TableSchema, lead: &Lead) -> Error {
    let error = Error::new(kind, message.to_owned()).in_table(table.name());
    match table.columns().get(lead.place) {
        Some(column) => error.in_column(column.name.to_string()),
        None => error,
    }
}
