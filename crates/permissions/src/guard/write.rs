//! Single rows, written where rules about rows are kept.

use super::session::GuardedSession;
use super::table::{TablePermissions, forbidden_row, keeps};
use crate::right::Right;
use bobak_core::{
    Condition, Error, ErrorKind, Outcome, Result, Row, TableSchema, Value, Verb, Write,
};
use std::sync::Arc;

impl TablePermissions {
    /// Whether the write is allowed whatever the row. Where it is not, a rule decides, or an error
    /// is to be given.
    pub fn writes_freely(&self, write: &Write<'_>) -> bool {
        self.has_no_rule(write.verb, write.table)
            && self.leads_nowhere(write.verb, write.fields, &write.values)
    }

    /// Whether the verb is allowed, and no rule goes with it.
    pub fn has_no_rule(&self, verb: Verb, table: &TableSchema) -> bool {
        wanted(verb).iter().all(|right| matches!(self.check(*right, table), Ok(None)))
    }

    /// Whether it is allowed for some rows at least.
    ///
    /// # Errors
    /// `Denied` where a right is missing, or the rules can't be kept.
    pub fn check_verb(&self, verb: Verb, table: &TableSchema) -> Result<()> {
        for right in wanted(verb) {
            let rule = self.check(*right, table)?;
            if verb == Verb::InsertOrReplace && *right == Right::Delete && rule.is_some() {
                let message = "there are rules about which rows you may delete, so none is replaced: \
                               delete and insert";
                return Err(Error::new(ErrorKind::Denied, message).in_table(table.name()));
            }
        }
        Ok(())
    }
}

/// The rights that a verb takes.
const fn wanted(verb: Verb) -> &'static [Right] {
    match verb {
        Verb::Insert | Verb::InsertOrIgnore => &[Right::Insert],
        Verb::InsertOrReplace => &[Right::Insert, Right::Delete],
        Verb::Upsert => &[Right::Insert, Right::Update],
        Verb::Update => &[Right::Update],
        Verb::Delete => &[Right::Delete],
    }
}

impl GuardedSession<'_> {
    /// Writes a row if the rules about it are kept.
    pub(super) fn write_by_rule(
        &self,
        rights: &TablePermissions,
        write: &Write<'_>,
    ) -> Result<Outcome> {
        rights.check_verb(write.verb, write.table)?;
        self.check_leads(rights, write.table, (write.verb, write.fields), write.values)?;
        match write.verb {
            verb if rights.has_no_rule(verb, write.table) => self.inner.write(write),
            Verb::Insert | Verb::InsertOrIgnore | Verb::InsertOrReplace => {
                check_new(rights.check(Right::Insert, write.table)?, write.table, write.values)?;
                self.inner.write(write)
            }
            Verb::Upsert | Verb::Update | Verb::Delete => {
                self.atomically(|| self.write_over(rights, write))
            }
        }
    }

    /// Writes over a row that may be there, in a transaction: first looks at it.
    pub(super) fn write_over(
        &self,
        rights: &TablePermissions,
        write: &Write<'_>,
    ) -> Result<Outcome> {
        let table = write.table;
        let key: Vec<Value<'_>> = match write.verb {
            Verb::Delete => write.values.to_vec(),
            _ => table.key().iter().filter_map(|place| write.values.get(*place).cloned()).collect(),
        };
        let old = self.row(table, &key)?;
        match (write.verb, old) {
            (Verb::Upsert, None) => {
                check_new(rights.check(Right::Insert, table)?, table, write.values)?;
            }
            (Verb::Delete, old) => {
                let rule = rights.check(Right::Delete, table)?;
                if !old.is_some_and(|old| keeps(rule, table, &&old[..])) {
                    return Ok(Outcome::Changed(0));
                }
            }
            (verb, old) => {
                let rule = rights.check(Right::Update, table)?;
                let Some(mut row) = old.filter(|old| keeps(rule, table, &&old[..])) else {
                    return Err(match verb {
                        Verb::Update => not_found(table),
                        _ => forbidden_row(table, "update"),
                    });
                };
                for place in write.fields.iter() {
                    if let (Some(slot), Some(value)) = (row.get_mut(place), write.values.get(place))
                    {
                        check_value(table, place, value)?;
                        *slot = value.clone().into_owned();
                    }
                }
                if !keeps(rule, table, &&row[..]) {
                    return Err(forbidden_row(table, "make"));
                }
            }
        }
        self.inner.write(write)
    }

    /// The row with this key, copied.
    fn row(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
    ) -> Result<Option<Vec<Value<'static>>>> {
        // A key that the engine is to make is no row's.
        if key.iter().any(Value::is_null) {
            return Ok(None);
        }
        let mut found = None;
        self.inner.get(table, key, &mut |row| {
            found = Some((0..row.len()).map(|place| row.get(place).to_owned()).collect());
            Ok(())
        })?;
        Ok(found)
    }
}

/// Refuses a new row that breaks a rule, values that are not in their column's form included: they
/// may be stored otherwise than they compare.
pub(super) fn check_new(
    rule: Option<&Condition>,
    table: &TableSchema,
    values: &[Value<'_>],
) -> Result<()> {
    if rule.is_none() {
        return Ok(());
    }
    for (place, value) in values.iter().enumerate() {
        check_value(table, place, value)?;
    }
    check_row(rule, table, &values)
}

/// As [`check_new`], of values that are in their columns' form.
pub(super) fn check_row(
    rule: Option<&Condition>,
    table: &TableSchema,
    row: &dyn Row,
) -> Result<()> {
    if keeps(rule, table, row) { Ok(()) } else { Err(forbidden_row(table, "insert")) }
}

pub(super) fn check_value(table: &TableSchema, place: usize, value: &Value<'_>) -> Result<()> {
    let Some(column) = table.columns().get(place) else { return Ok(()) };
    column.check_stored(value.as_ref()).map_err(|error| error.in_table(table.name()))
}

pub(super) fn not_found(table: &TableSchema) -> Error {
    Error::new(ErrorKind::NotFound, "no row has the key").in_table(table.name())
}
