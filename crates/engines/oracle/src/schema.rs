//! Changes of the schema. Oracle commits at each statement, so that what describes a table comes last: a change that fails on the
//! way leaves what was made, and is repeated when the cause is gone.

use crate::catalog::remarks;
use crate::columns::{oracle_type, unique_parts};
use crate::dialect::OracleStatements;
use crate::names::{moved_name, sequence_name, type_check_name};
use crate::sequences;
use crate::values::{OracleType, is_text};
use bobak_core::{
    ColumnSchema, Error, ErrorKind, ForeignKey, IndexSchema, OnDelete, OnUpdate, Result,
    SchemaChange, TableSchema,
};
use bobak_engine_common::{
    CheckDialect, SchemaDialect, SchemaPlanner, StatementDialect, makes_key, reference_name,
    reference_pairs, reference_text,
};

impl SchemaDialect for OracleStatements {
    fn column_type(&self, table: &TableSchema, place: usize) -> Result<String> {
        oracle_type(table, place).map(OracleType::name)
    }

    fn made_key(&self, table: &TableSchema) -> String {
        format!(" DEFAULT {}.NEXTVAL", self.own(sequence_name(table)))
    }

    fn type_constraint(&self, table: &TableSchema, place: usize) -> Result<Option<String>> {
        let name = self.column(table, place);
        let condition = match oracle_type(table, place)? {
            OracleType::Bool => format!("{name} IN (0, 1)"),
            OracleType::Json => format!("{name} IS JSON"),
            // NUMBER has larger ones: a version must not go on after the largest.
            OracleType::Int(..) if table.version() == Some(place) => {
                format!("{name} <= {}", i64::MAX)
            }
            _ => return Ok(None),
        };
        let own = self.own(type_check_name(table, &table.column_at(place)?.name));
        Ok(Some(format!("CONSTRAINT {own} CHECK ({condition})")))
    }

    fn added(&self, _: &ColumnSchema, definition: String, _: bool) -> String {
        format!("({definition})")
    }

    fn without_default(&self, _: &TableSchema, column: &ColumnSchema) -> String {
        format!("MODIFY ({} DEFAULT NULL)", self.quoted(&column.name))
    }
}

/// A statement of a change.
pub(crate) struct SchemaStatement {
    /// The table that it is about.
    pub table: TableSchema,
    pub text: String,
    /// What undoes the one before it, if this one fails.
    pub undo: Option<String>,
}

type Statements = Vec<SchemaStatement>;

/// Plans changes of the stored tables.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(crate) fn plan(stored: Vec<TableSchema>, changes: &[SchemaChange]) -> Result<Statements> {
    let mut plan = Plan::default();
    plan.plan(stored, changes)?;
    Ok(plan.statements)
}

/// The statements that create a table.
///
/// # Errors
/// `Unsupported` for a table that Oracle cannot have.
pub(crate) fn created(table: &TableSchema) -> Result<Vec<String>> {
    let mut plan = Plan::default();
    plan.create_whole(table)?;
    Ok(plan.statements.into_iter().map(|one| one.text).collect())
}

/// Statements, being collected.
#[derive(Default)]
struct Plan {
    statements: Statements,
    /// The columns that were given another type, once.
    moved: Vec<String>,
}

impl SchemaPlanner for Plan {
    type Dialect = OracleStatements;

    fn dialect(&self) -> OracleStatements {
        OracleStatements
    }

    fn push(&mut self, table: &TableSchema, text: String) {
        self.statements.push(SchemaStatement { table: table.clone(), text, undo: None });
    }

    fn before_table(&mut self, table: &TableSchema) {
        if table.key().first().is_some_and(|&place| makes_key(table, place)) {
            self.push(table, sequences::created(table));
        }
    }

    fn index_text(
        &self,
        table: &TableSchema,
        index: &IndexSchema,
        _: &TableSchema,
    ) -> Result<String> {
        let is_folded = |place: &usize| OracleStatements.folded(table, *place).is_some();
        let has_null = !OracleStatements.not_null(table, &index.columns).is_empty();
        let is_plain =
            !index.columns.iter().any(is_folded) && (index.columns.len() == 1 || !has_null);
        Ok(match index.unique {
            false => OracleStatements.plain_index(table, index),
            true if is_plain => OracleStatements.unique_constraint(table, index),
            true => {
                let parts = unique_parts(table, &index.columns);
                OracleStatements.unique_index(table, index, &parts)
            }
        })
    }

    /// Gives a column that was made as a CLOB or a BLOB the type that an index needs: another column takes its values and its
    /// name. Values that are too long for it are an error.
    fn prepare_column(
        &mut self,
        table: &TableSchema,
        place: usize,
        created: &TableSchema,
    ) -> Result<()> {
        let column = table.column_at(place)?;
        let Ok(at) = created.column(&column.name) else { return Ok(()) };
        let ty = oracle_type(table, place)?;
        let moved = moved_name(table, &column.name);
        if !oracle_type(created, at)?.is_lob() || ty.is_lob() || self.moved.contains(&moved) {
            return Ok(());
        }
        let alter = format!("ALTER TABLE {}", OracleStatements.quoted(table.name()));
        let (name, new) =
            (OracleStatements.quoted(&column.name), OracleStatements.own(moved.clone()));
        self.moved.push(moved);
        let default = match column.default.as_ref() {
            Some(value) => {
                format!(" DEFAULT {}", OracleStatements.value_literal(column.ty, value.as_ref())?)
            }
            None => String::new(),
        };
        self.push(table, format!("{alter} ADD ({new} {}{default})", ty.name()));
        let value = if is_text(column) { format!("TO_CHAR({name})") } else { name.clone() };
        self.push(
            table,
            format!("UPDATE {} SET {new} = {value}", OracleStatements.quoted(table.name())),
        );
        if let Some(update) = self.statements.last_mut() {
            update.undo = Some(format!("{alter} DROP COLUMN {new}"));
        }
        self.push(table, format!("{alter} DROP COLUMN {name}"));
        self.push(table, format!("{alter} RENAME COLUMN {new} TO {name}"));
        if !column.nullable {
            self.push(table, format!("{alter} MODIFY ({name} NOT NULL)"));
        }
        Ok(())
    }

    fn before_reference(
        &mut self,
        table: &TableSchema,
        key: &ForeignKey,
        created: &TableSchema,
    ) -> Result<()> {
        key.columns.iter().try_for_each(|&place| self.prepare_column(table, place, created))
    }

    fn add_reference(
        &mut self,
        table: &TableSchema,
        key: &ForeignKey,
        _: &[TableSchema],
    ) -> Result<()> {
        let unsupported = |message: &str| {
            let error = Error::new(ErrorKind::Unsupported, message.to_owned());
            Err(error.in_table(table.name().to_owned()).in_column(table.column_names(&key.columns)))
        };
        if key.on_update != OnUpdate::NoAction {
            return unsupported("Oracle has no foreign keys that act on updates");
        }
        if key.columns.iter().any(|place| OracleStatements.folded(table, *place).is_some()) {
            return unsupported("on Oracle, foreign keys are not of case-insensitive texts");
        }
        let on_delete = match key.on_delete {
            OnDelete::Cascade => " ON DELETE CASCADE",
            OnDelete::SetNull => " ON DELETE SET NULL",
            _ => "",
        };
        let name = OracleStatements.own(reference_name(table, &key.columns, &key.table));
        let names = (&*name, &*key.table);
        let text = reference_text(&OracleStatements, table, names, reference_pairs(key));
        self.push(table, text + on_delete);
        Ok(())
    }

    fn describe(&mut self, table: &TableSchema) -> Result<()> {
        remarks(table)?.into_iter().for_each(|text| self.push(table, text));
        Ok(())
    }
}
