//! The statements for rows, and what every database compares as Bobak does.

use crate::product::ProductKind;
use bobak_core::{FieldSet, TableSchema, ValueRef};
use bobak_engine_common::{Comparability, StatementDialect, StatementValue};
use bobak_sql::Dialect;

/// How a database writes statements for rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OdbcStatements {
    pub kind: ProductKind,
    pub dialect: Dialect,
}

impl StatementDialect for OdbcStatements {
    fn quoted(&self, name: &str) -> String {
        bobak_sql::quote(self.dialect, name)
    }

    fn number(&self, _: usize) -> String {
        "?".to_owned()
    }

    fn comparability(
        &self,
        table: &TableSchema,
        place: usize,
        value: ValueRef<'_>,
    ) -> Option<Comparability> {
        let is_integer = matches!(value, ValueRef::Int(_)) && self.is_sorted(table, place);
        is_integer.then_some(Comparability::Order)
    }

    fn is_sorted(&self, table: &TableSchema, place: usize) -> bool {
        table.columns().get(place).is_some_and(|column| column.ty.integer_range().is_some())
    }

    /// The column that MariaDB and MySQL compare is in small letters.
    fn compared<'v>(
        &self,
        table: &TableSchema,
        place: usize,
        value: ValueRef<'v>,
    ) -> StatementValue<'v> {
        match self.kind {
            ProductKind::MySql => StatementValue::folded(table, place, value),
            _ => StatementValue::new(table, place, value),
        }
    }

    fn get(
        &self,
        table: &TableSchema,
        shown: impl IntoIterator<Item = usize>,
        by: &[usize],
    ) -> String {
        bobak_sql::columns_by(self.dialect, table, shown, by)
    }

    fn overwrite(&self, table: &TableSchema, fields: FieldSet, by: &[usize]) -> String {
        bobak_sql::overwrite_by(self.dialect, table, fields, by)
    }

    fn update(&self, table: &TableSchema, fields: FieldSet) -> String {
        bobak_sql::update(self.dialect, table, fields)
    }

    fn delete(&self, table: &TableSchema) -> String {
        bobak_sql::delete(self.dialect, table)
    }

    fn delete_in_the_way(&self, table: &TableSchema, made: bool) -> Option<(String, Vec<usize>)> {
        match self.kind {
            // Their insert does it.
            ProductKind::MySql | ProductKind::Sqlite => None,
            _ => bobak_sql::delete_in_the_way(self.dialect, table, made),
        }
    }
}
