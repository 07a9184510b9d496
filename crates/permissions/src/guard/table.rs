//! What a caller may do with one table.

use super::lead::Lead;
use super::protected::Protected;
use crate::policy::{Grant, Rights};
use crate::right::{PermissionSet, Right};
use crate::rule::{Rule, Variables};
use bobak_core::{Condition, Error, ErrorKind, Result, Row, TableSchema};

/// The rights on a table, their rules bound to it.
pub(super) struct TablePermissions {
    set: PermissionSet,
    /// For read, insert, update and delete, where there is no grant without a rule: what the row
    /// must keep.
    rules: [Option<Condition>; 4],
    /// The columns that lead to what may not be read.
    pub(super) leads: Vec<Lead>,
}

/// The rights that may have rules, in the order of [`TablePermissions::rules`].
const RULED: [Right; 4] = [Right::Read, Right::Insert, Right::Update, Right::Delete];

impl TablePermissions {
    /// Everything.
    pub const WHOLE: Self =
        Self { set: PermissionSet::ALL, rules: [None, None, None, None], leads: Vec::new() };

    /// Puts the grants about a table together; `false` where that holds for this call only.
    ///
    /// # Errors
    /// `Schema` where there is none; `Denied` where a rule can't be kept with the table as the
    /// caller describes it.
    pub fn of(
        rights: &Rights,
        database: &Protected,
        table: &TableSchema,
        tables: &dyn Fn() -> Result<Vec<TableSchema>>,
    ) -> Result<(Self, bool)> {
        let grants: Vec<&Grant> = rights.on(database.name(), table.name()).collect();
        let set = grants.iter().fold(PermissionSet::NONE, |set, grant| set.and(grant.rights));
        if set.is_empty() {
            return Err(no_such_table(table.name()));
        }
        let mut rules = [None, None, None, None];
        let mut named = Vec::new();
        for (right, slot) in RULED.into_iter().zip(&mut rules) {
            *slot = rule_of(&grants, right, table, rights.variables())?;
            if let Some(rule) = slot {
                Rule::columns_of(rule, table, &mut named);
            }
        }
        let mut rights_on = Self { set, rules, leads: Vec::new() };
        let writes = set.has(Right::Insert) || set.has(Right::Update);
        if named.is_empty() && !writes {
            return Ok((rights_on, true));
        }
        let described: Vec<&str> = table.columns().iter().map(|column| &*column.name).collect();
        let Some(stored) = database.table(table.name(), &described, tables)? else {
            // The engine will say so.
            return Ok((rights_on, false));
        };
        check_columns(table, &named, &stored)?;
        if writes {
            rights_on.leads = Lead::all(rights, database, table, &stored, tables)?;
        }
        if !named.is_empty() || !rights_on.leads.is_empty() {
            check_names(table, &stored)?;
        }
        Ok((rights_on, true))
    }

    /// The rule that goes with a right.
    ///
    /// # Errors
    /// `Denied` where it was not granted.
    #[inline]
    pub fn check(&self, right: Right, table: &TableSchema) -> Result<Option<&Condition>> {
        if !self.set.has(right) {
            return Err(right.refusal(table.name()));
        }
        let place = RULED.iter().position(|ruled| *ruled == right);
        Ok(place.and_then(|place| self.rules.get(place)).and_then(Option::as_ref))
    }
}

/// Whether a row keeps a rule.
#[inline]
pub(super) fn keeps(rule: Option<&Condition>, table: &TableSchema, row: &dyn Row) -> bool {
    rule.is_none_or(|rule| rule.evaluate(table, row) == Some(true))
}

/// What is said of a table that is not there, and of one that the caller has no right on.
pub(super) fn no_such_table(name: &str) -> Error {
    Error::new(ErrorKind::Schema, "there is no such table").in_table(name)
}

/// What is said of a row that a rule forbids to write.
pub(super) fn forbidden_row(table: &TableSchema, doing: &str) -> Error {
    let message = format!("you may not {doing} such a row");
    Error::new(ErrorKind::Denied, message).in_table(table.name())
}

/// The rule that goes with a right, bound to a table; `None` where there is none to keep, or no
/// grant at all.
///
/// # Errors
/// `Denied` where it can't be kept with the table.
pub(super) fn rule_of(
    grants: &[&Grant],
    right: Right,
    table: &TableSchema,
    variables: &Variables,
) -> Result<Option<Condition>> {
    let about: Vec<_> = grants.iter().filter(|grant| grant.rights.has(right)).collect();
    if about.is_empty() || about.iter().any(|grant| grant.rule.is_none()) {
        return Ok(None);
    }
    let rules = about.iter().filter_map(|grant| grant.rule.as_ref());
    let mut either =
        rules.map(|rule| rule.bind(table, variables)).collect::<Result<Vec<Condition>>>()?;
    Ok(match either.len() {
        1 => either.pop(),
        _ => Some(Condition::Or(either)),
    })
}

/// A caller describes its table itself: what the rules look at must be so in the database, or
/// values would compare otherwise than they are stored.
fn check_columns(table: &TableSchema, places: &[usize], stored: &TableSchema) -> Result<()> {
    for described in places.iter().filter_map(|place| table.columns().get(*place)) {
        let mut columns = stored.columns().iter();
        let found = columns.find(|c| c.name.eq_ignore_ascii_case(&described.name));
        let same = found.is_some_and(|stored| {
            (stored.ty, stored.storage, stored.collation)
                == (described.ty, described.storage, described.collation)
        });
        if !same {
            let message = "a rule is about this column, which the table has otherwise";
            let error = Error::new(ErrorKind::Denied, message).in_table(table.name());
            return Err(error.in_column(described.name.to_string()));
        }
    }
    Ok(())
}

/// A column that is looked after must not be written under another name: SQLite knows a key as
/// `rowid`, too.
fn check_names(table: &TableSchema, stored: &TableSchema) -> Result<()> {
    let is_there = |name: &str| stored.columns().iter().any(|c| c.name.eq_ignore_ascii_case(name));
    match table.columns().iter().find(|described| !is_there(&described.name)) {
        Some(column) => {
            let error = Error::new(ErrorKind::Schema, "there is no such column");
            Err(error.in_table(table.name()).in_column(column.name.to_string()))
        }
        None => Ok(()),
    }
}
