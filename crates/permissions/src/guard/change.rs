//! Many rows, updated or deleted by a condition, where rules about rows are kept.

use super::session::{GuardedSession, both};
use super::table::{TablePermissions, forbidden_row, keeps};
use crate::right::Right;
use crate::rule::Rule;
use bobak_core::{
    Assign, Change, Condition, Error, ErrorKind, Result, Row, Select, Source, TableSchema, ValueRef,
};

impl GuardedSession<'_> {
    /// Updates or deletes the rows that the condition keeps, and the caller may.
    pub(super) fn change_by_rule(
        &self,
        rights: &TablePermissions,
        change: &Change<'_>,
    ) -> Result<u64> {
        let table = change.table;
        let right = if change.assign.is_some() { Right::Update } else { Right::Delete };
        let rule = rights.check(right, table)?;
        self.check_assigned(rights, table, change.assign.unwrap_or_default())?;
        let mut condition = change.condition.cloned();
        // How many rows a condition keeps tells what is in them.
        if let Some(asked) = change.condition
            && looks_beyond_key(asked, table)
            && let Some(rule) = rights.check(Right::Read, table)?
        {
            condition = Some(both(condition, rule));
        }
        if let Some(rule) = rule {
            condition = Some(both(condition, rule));
        }
        let change = Change { condition: condition.as_ref(), ..*change };
        match (rule, change.assign) {
            (Some(rule), Some(assign)) if concerns(rule, table, assign) => {
                self.atomically(|| self.change_checked(rule, assign, &change))
            }
            _ => self.inner.change(&change),
        }
    }

    /// Changes rows in columns that the rule looks at: what would come of each is looked at first.
    fn change_checked(
        &self,
        rule: &Condition,
        assign: &[Assign],
        change: &Change<'_>,
    ) -> Result<u64> {
        let table = change.table;
        let mut looked_at = Vec::new();
        Rule::columns_of(rule, table, &mut looked_at);
        for assign in assign.iter().filter(|assign| looked_at.contains(&assign.column())) {
            let Some(schema) = table.columns().get(assign.column()) else { continue };
            match assign {
                Assign::Set { value, .. } => {
                    schema.check_stored(value.as_ref()).map_err(|e| e.in_table(table.name()))?;
                }
                Assign::Add { .. } => {
                    let message = "a rule is about this column, so nothing is added to it: set it";
                    let error = Error::new(ErrorKind::Denied, message).in_table(table.name());
                    return Err(error.in_column(schema.name.to_string()));
                }
            }
        }
        let mut select = Select::all(table);
        select.condition = change.condition.cloned();
        select.order.clear();
        self.inner.query(&Source::Select(&select), &mut |row| {
            if keeps(Some(rule), table, &Changed { row, assign }) {
                Ok(true)
            } else {
                Err(forbidden_row(table, "make"))
            }
        })?;
        self.inner.change(change)
    }
}

/// A row as it will be.
struct Changed<'a> {
    row: &'a dyn Row,
    assign: &'a [Assign],
}

impl Row for Changed<'_> {
    fn len(&self) -> usize {
        self.row.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        for assign in self.assign {
            match assign {
                Assign::Set { column: set, value } if *set == column => return value.as_ref(),
                _ => {}
            }
        }
        self.row.get(column)
    }
}

/// Whether a rule looks at what is assigned.
fn concerns(rule: &Condition, table: &TableSchema, assign: &[Assign]) -> bool {
    let mut columns = Vec::new();
    Rule::columns_of(rule, table, &mut columns);
    assign.iter().any(|assign| columns.contains(&assign.column()))
}

/// Whether a condition asks for more than for keys.
fn looks_beyond_key(condition: &Condition, table: &TableSchema) -> bool {
    let mut columns = Vec::new();
    Rule::columns_of(condition, table, &mut columns);
    columns.iter().any(|column| !table.key().contains(column))
}
