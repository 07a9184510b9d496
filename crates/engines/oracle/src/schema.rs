//! Changes of the schema. Oracle commits at each statement, so that what describes a table comes last: a change that fails on the
//! way leaves what was made, and is repeated when the cause is gone.

use crate::catalog::remarks;
use crate::columns::{checks, compared, folded, oracle_type, unique_parts, value_literal};
use crate::dialect::OracleStatements;
use crate::names::{index_name, key_name, moved_name, own, quoted, reference_name, sequence_name};
use crate::sequences;
use crate::values::is_text;
use bobak_core::{
    Error, ErrorKind, ForeignKey, OnDelete, OnUpdate, Result, SchemaChange, TableSchema, Value,
};
use bobak_engine_common::{
    PlannedKey, SchemaPlanner, StatementDialect, in_column, key_text, makes_key, reference_pairs,
    reference_text,
};

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

    fn definition(
        &self,
        table: &TableSchema,
        place: usize,
        default: Option<&Value<'_>>,
        is_required: bool,
    ) -> Result<String> {
        let column = table.column_at(place)?;
        let mut text = format!("{} {}", quoted(&column.name), oracle_type(table, place)?.name());
        if makes_key(table, place) {
            text.push_str(&format!(" DEFAULT {}.NEXTVAL", own(&sequence_name(table))));
        } else if let Some(value) = default {
            let value = value_literal(column, value.as_ref());
            let value = value.map_err(|error| in_column(error, table, Some(place)))?;
            text.push_str(&format!(" DEFAULT {value}"));
        }
        if is_required {
            text.push_str(" NOT NULL");
        }
        Ok(text)
    }

    fn constraints(&self, table: &TableSchema) -> Result<Vec<String>> {
        let all = (0..table.columns().len()).map(|place| checks(table, place));
        Ok(all.collect::<Result<Vec<_>>>()?.concat())
    }

    fn key(&self, table: &TableSchema) -> Result<PlannedKey> {
        let (name, is_folded) = (own(&key_name(table)), |place| folded(table, place).is_some());
        Ok(key_text(&OracleStatements, table, &name, is_folded, |place| compared(table, place)))
    }

    fn before_table(&mut self, table: &TableSchema) {
        if table.key().first().is_some_and(|&place| makes_key(table, place)) {
            self.push(table, sequences::created(table));
        }
    }

    fn add_column(&mut self, table: &TableSchema, place: usize) -> Result<()> {
        let column = table.column_at(place)?;
        let value = column.added_value();
        let alter = format!("ALTER TABLE {}", quoted(table.name()));
        let is_required = !column.nullable && value != Value::Null;
        let default = Some(&value).filter(|value| **value != Value::Null);
        let text = self.definition(table, place, default, is_required)?;
        self.push(table, format!("{alter} ADD ({text})"));
        if default.is_some() && column.default.is_none() {
            let name = quoted(&column.name);
            self.push(table, format!("{alter} MODIFY ({name} DEFAULT NULL)"));
        }
        for check in checks(table, place)? {
            self.push(table, format!("{alter} ADD {check}"));
        }
        Ok(())
    }

    fn add_index(
        &mut self,
        table: &TableSchema,
        index: usize,
        created: &TableSchema,
    ) -> Result<()> {
        let Some(index) = table.indexes().get(index) else { return Ok(()) };
        let (name, to) = (own(&index_name(table, &index.name)), quoted(table.name()));
        for &place in &index.columns {
            self.move_into_rows(table, place, created)?;
        }
        let has_null =
            |place: &usize| table.columns().get(*place).is_none_or(|column| column.nullable);
        let is_plain = !index.columns.iter().any(|place| folded(table, *place).is_some());
        let text = if !index.unique {
            let columns = OracleStatements.columns(table, index.columns.iter().copied());
            format!("CREATE INDEX {name} ON {to} ({columns})")
        } else if is_plain && (index.columns.len() == 1 || !index.columns.iter().any(has_null)) {
            // A constraint, so that foreign keys can reference it.
            let columns = OracleStatements.columns(table, index.columns.iter().copied());
            format!("ALTER TABLE {to} ADD CONSTRAINT {name} UNIQUE ({columns})")
        } else {
            let parts = unique_parts(table, &index.columns).join(", ");
            format!("CREATE UNIQUE INDEX {name} ON {to} ({parts})")
        };
        self.push(table, text);
        Ok(())
    }

    fn before_reference(
        &mut self,
        table: &TableSchema,
        key: &ForeignKey,
        created: &TableSchema,
    ) -> Result<()> {
        key.columns.iter().try_for_each(|&place| self.move_into_rows(table, place, created))
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
        if key.columns.iter().any(|place| folded(table, *place).is_some()) {
            return unsupported("on Oracle, foreign keys are not of case-insensitive texts");
        }
        let on_delete = match key.on_delete {
            OnDelete::Cascade => " ON DELETE CASCADE",
            OnDelete::SetNull => " ON DELETE SET NULL",
            _ => "",
        };
        let name = own(&reference_name(table, &key.columns, &key.table));
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

impl Plan {
    /// Gives a column that was made as a CLOB or a BLOB the type that an index needs: another column takes its values and its
    /// name. Values that are too long for it are an error.
    fn move_into_rows(
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
        let alter = format!("ALTER TABLE {}", quoted(table.name()));
        let (name, new) = (quoted(&column.name), own(&moved));
        self.moved.push(moved);
        let default = match column.default.as_ref() {
            Some(value) => format!(" DEFAULT {}", value_literal(column, value.as_ref())?),
            None => String::new(),
        };
        self.push(table, format!("{alter} ADD ({new} {}{default})", ty.name()));
        let value = if is_text(column) { format!("TO_CHAR({name})") } else { name.clone() };
        self.push(table, format!("UPDATE {} SET {new} = {value}", quoted(table.name())));
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
}
