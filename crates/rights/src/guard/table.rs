//! What a caller may do with one table.

use super::protected::Protected;
use crate::policy::{Grant, Rights};
use crate::right::{Right, RightSet};
use crate::rule::Rule;
use bobak_core::{ColumnSchema, Condition, Error, ErrorKind, Result, Row, TableSchema};

/// The rights on a table, their rules bound to it.
pub(super) struct TableRights {
    set: RightSet,
    /// For read, insert, update and delete, where there is no grant without a rule: what the row
    /// must keep.
    rules: [Option<Condition>; 4],
}

/// The rights that may have rules, in the order of [`TableRights::rules`].
const RULED: [Right; 4] = [Right::Read, Right::Insert, Right::Update, Right::Delete];

impl TableRights {
    /// Everything.
    pub const WHOLE: Self = Self { set: RightSet::ALL, rules: [None, None, None, None] };

    /// Puts the grants about a table together; `false` where that holds for this call only.
    ///
    /// # Errors
    /// `Schema` where there is none; `Denied` where a rule can't be kept with the table as the
    /// caller describes it.
    pub fn of(
        rights: &Rights,
        database: &Protected,
        table: &TableSchema,
        tables: impl FnOnce() -> Result<Vec<TableSchema>>,
    ) -> Result<(Self, bool)> {
        let grants: Vec<&Grant> = rights.on(database.name(), table.name()).collect();
        let set = grants.iter().fold(RightSet::NONE, |set, grant| set.and(grant.rights));
        if set.is_empty() {
            return Err(no_such_table(table.name()));
        }
        let mut rules = [None, None, None, None];
        let mut named = Vec::new();
        for (right, slot) in RULED.into_iter().zip(&mut rules) {
            let about: Vec<_> = grants.iter().filter(|grant| grant.rights.has(right)).collect();
            if about.is_empty() || about.iter().any(|grant| grant.rule.is_none()) {
                continue;
            }
            let mut either = Vec::new();
            for rule in about.iter().filter_map(|grant| grant.rule.as_ref()) {
                let condition = rule.bind(table, rights.variables())?;
                Rule::columns_of(&condition, table, &mut named);
                either.push(condition);
            }
            *slot = match either.len() {
                1 => either.pop(),
                _ => Some(Condition::Or(either)),
            };
        }
        let is_there = named.is_empty() || check_columns(database, table, &named, tables)?;
        Ok((Self { set, rules }, is_there))
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

/// A caller describes its table itself: what the rules look at must be so in the database, or
/// values would compare otherwise than they are stored. `false` where the table is not there: the
/// engine will say so.
fn check_columns(
    database: &Protected,
    table: &TableSchema,
    places: &[usize],
    tables: impl FnOnce() -> Result<Vec<TableSchema>>,
) -> Result<bool> {
    let Some(columns) = database.columns(table.name(), tables)? else { return Ok(false) };
    for described in places.iter().filter_map(|place| table.columns().get(*place)) {
        let same_name = |c: &&ColumnSchema| c.name.eq_ignore_ascii_case(&described.name);
        let same = columns.iter().find(same_name).is_some_and(|stored| {
            (stored.ty, stored.storage, stored.collation)
                == (described.ty, described.storage, described.collation)
        });
        if !same {
            let message = "a rule is about this column, which the table has otherwise";
            let error = Error::new(ErrorKind::Denied, message).in_table(table.name());
            return Err(error.in_column(described.name.to_string()));
        }
    }
    Ok(true)
}
