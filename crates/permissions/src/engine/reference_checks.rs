//! Enforces [`ForeignKeyCheck`]s when rows are written.

use super::foreign_key_check::ForeignKeyCheck;
use super::permission_session::{PermissionSession, and};
use super::table_permissions::{TablePermissions, check_value};
use bobak_core::{
    Assign, Comparison, Condition, Error, ErrorKind, FieldSet, Result, Row, Select, Source,
    TableSchema, Value, Verb,
};

impl TablePermissions {
    /// Whether a row sets no column that needs a foreign-key check, other than to NULL.
    pub fn needs_no_reference_check(&self, verb: Verb, fields: FieldSet, row: &dyn Row) -> bool {
        self.written_references(verb, fields).all(|check| row.get(check.position).is_null())
    }

    /// The foreign-key checks of the columns that a write sets.
    fn written_references(
        &self,
        verb: Verb,
        fields: FieldSet,
    ) -> impl Iterator<Item = &ForeignKeyCheck> {
        self.foreign_keys.iter().filter(move |check| match verb {
            Verb::Delete => false,
            Verb::Update => fields.iter().any(|position| position == check.position),
            _ => true,
        })
    }
}

impl PermissionSession<'_> {
    /// Rejects a row that refers to rows that the caller may not read.
    ///
    /// # Errors
    /// `Denied` if it may read no row of the table, `Constraint` if it may not read this one.
    pub(super) fn check_references(
        &self,
        permissions: &TablePermissions,
        table: &TableSchema,
        (verb, fields): (Verb, FieldSet),
        values: &[Value<'_>],
    ) -> Result<()> {
        for check in permissions.written_references(verb, fields) {
            if let Some(value) = values.get(check.position).filter(|value| !value.is_null()) {
                self.check_reference(check, table, value)?;
            }
        }
        Ok(())
    }

    /// As [`Self::check_references`], for the assignments of a change of many rows.
    pub(super) fn check_assigned(
        &self,
        permissions: &TablePermissions,
        table: &TableSchema,
        assign: &[Assign],
    ) -> Result<()> {
        for check in &permissions.foreign_keys {
            for assign in assign.iter().filter(|assign| assign.column() == check.position) {
                match assign {
                    Assign::Set { value, .. } if value.is_null() => {}
                    Assign::Set { value, .. } => self.check_reference(check, table, value)?,
                    Assign::Add { .. } => {
                        let message = "permission denied: the column refers to a table of which you \
                                       may not read all rows, so it cannot be added to: set it";
                        return Err(reference_error(ErrorKind::Denied, message, table, check));
                    }
                }
            }
        }
        Ok(())
    }

    fn check_reference(
        &self,
        check: &ForeignKeyCheck,
        table: &TableSchema,
        value: &Value<'_>,
    ) -> Result<()> {
        let Some(target) = &check.target else {
            let message = "permission denied: the column refers to a table that you may not read, so \
                           it can only be NULL";
            return Err(reference_error(ErrorKind::Denied, message, table, check));
        };
        check_value(table, check.position, value)?;
        let is_referenced = Condition::Compare {
            column: target.column,
            comparison: Comparison::Equal,
            value: value.clone().into_owned(),
        };
        let mut select = Select::all(&target.table);
        select.condition = Some(and(Some(is_referenced), &target.rule));
        select.order.clear();
        let mut exists = false;
        self.inner.query(&Source::Select(&select), &mut |_| {
            exists = true;
            Ok(false)
        })?;
        if exists {
            return Ok(());
        }
        let message = "the referenced row does not exist, or you may not read it";
        Err(reference_error(ErrorKind::Constraint, message, table, check))
    }
}

fn reference_error(
    kind: ErrorKind,
    message: &str,
    table: &TableSchema,
    check: &ForeignKeyCheck,
) -> Error {
    let error = Error::new(kind, message.to_owned()).in_table(table.name());
    match table.columns().get(check.position) {
        Some(column) => error.in_column(column.name.to_string()),
        None => error,
    }
}
