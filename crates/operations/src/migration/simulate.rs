//! What steps make of tables.

use super::action::Action;
use super::step::MigrationStep;
use bobak_core::{Result, SchemaChange, TableSchema};

/// The tables after a step. Steps in SQL and Rust change what no plan knows.
pub(super) fn simulate(tables: &[TableSchema], step: &MigrationStep) -> Result<Vec<TableSchema>> {
    let mut tables = tables.to_vec();
    for action in step.actions(&tables.clone(), false)? {
        let Action::Change(change) = action else { continue };
        match change {
            SchemaChange::CreateTable(table) => tables.push(TableSchema::clone(&table)),
            SchemaChange::DropTable(table) => tables.retain(|other| other.name() != table.name()),
            SchemaChange::AlterTable(alteration) => {
                for table in &mut tables {
                    if table.name() == alteration.from().name() {
                        *table = TableSchema::clone(alteration.to());
                        continue;
                    }
                    *table = alteration.follow(table)?;
                }
            }
            _ => {}
        }
    }
    Ok(tables)
}
