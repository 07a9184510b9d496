//! Changes of the schema. All of a list are made in one transaction, or none is.

use crate::catalog::remarks;
use crate::columns::{
    COLLATE, check, computed, computed_column, folded, indexed, is_folded, sent_kind, value_literal,
};
use crate::dialect::MssqlStatements;
use crate::names::{
    check_name, column as name_of, default_name, index_name, key_name, quoted, reference_name,
};
use crate::wire::SentKind;
use bobak_core::{ForeignKey, Result, SchemaChange, TableSchema, Value};
use bobak_engine_common::{
    PlannedKey, SchemaPlanner, in_column, key_text, makes_key, reference_actions, reference_pairs,
    reference_text,
};

/// Statements, each with the table that it is about.
type Statements = Vec<(TableSchema, String)>;

/// Plans changes of the stored tables.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(crate) fn plan(
    schema: &str,
    stored: Vec<TableSchema>,
    changes: &[SchemaChange],
) -> Result<Statements> {
    let mut plan = Plan { schema, statements: Vec::new() };
    plan.plan(stored, changes)?;
    Ok(plan.statements)
}

/// The statements that create a table.
///
/// # Errors
/// `Unsupported` for a table that SQL Server cannot have.
pub(crate) fn created(table: &TableSchema) -> Result<Vec<String>> {
    let mut plan = Plan { schema: "dbo", statements: Vec::new() };
    plan.create_whole(table)?;
    Ok(plan.statements.into_iter().map(|(_, text)| text).collect())
}

/// Statements, being collected.
struct Plan<'s> {
    schema: &'s str,
    statements: Statements,
}

impl SchemaPlanner for Plan<'_> {
    type Dialect = MssqlStatements;

    fn dialect(&self) -> MssqlStatements {
        MssqlStatements
    }

    fn push(&mut self, table: &TableSchema, text: String) {
        self.statements.push((table.clone(), text));
    }

    fn definition(
        &self,
        table: &TableSchema,
        place: usize,
        default: Option<&Value<'_>>,
        is_required: bool,
    ) -> Result<String> {
        let column = table.column_at(place)?;
        let kind = sent_kind(table, place)?;
        let mut text = format!("{} {}", quoted(&column.name), kind.name());
        if matches!(kind, SentKind::Text(_)) {
            text.push_str(COLLATE);
        }
        if makes_key(table, place) {
            text.push_str(" IDENTITY(1,1)");
        } else if let Some(value) = default {
            let value = value_literal(column, value.as_ref());
            let value = value.map_err(|error| in_column(error, table, Some(place)))?;
            let name = quoted(&default_name(table, &column.name));
            text.push_str(&format!(" CONSTRAINT {name} DEFAULT {value}"));
        }
        text.push_str(if is_required { " NOT NULL" } else { " NULL" });
        Ok(text)
    }

    fn constraints(&self, table: &TableSchema) -> Result<Vec<String>> {
        let mut parts = computed(table);
        for column in table.columns() {
            parts.extend(check(table, column)?);
        }
        Ok(parts)
    }

    fn key(&self, table: &TableSchema) -> Result<PlannedKey> {
        let (name, is_folded) = (quoted(&key_name(table)), |place| folded(table, place).is_some());
        Ok(key_text(&MssqlStatements, table, &name, is_folded, |place| indexed(table, place)))
    }

    fn add_column(&mut self, table: &TableSchema, place: usize) -> Result<()> {
        let column = table.column_at(place)?;
        let value = column.added_value();
        let alter = format!("ALTER TABLE {}", quoted(table.name()));
        let is_required = !column.nullable && value != Value::Null;
        let default = Some(&value).filter(|value| **value != Value::Null);
        let mut text = self.definition(table, place, default, is_required)?;
        if default.is_some() && column.nullable {
            text.push_str(" WITH VALUES");
        }
        self.push(table, format!("{alter} ADD {text}"));
        if default.is_some() && column.default.is_none() {
            let name = quoted(&default_name(table, &column.name));
            self.push(table, format!("{alter} DROP CONSTRAINT {name}"));
        }
        if let Some(check) = check(table, column)? {
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
        let (name, to) = (quoted(&index_name(table, &index.name)), quoted(table.name()));
        for &place in &index.columns {
            self.prepare(table, place, created)?;
        }
        let columns: Vec<String> = index
            .columns
            .iter()
            .map(|&place| if index.unique { indexed(table, place) } else { name_of(table, place) })
            .collect();
        let columns = columns.join(", ");
        let is_nullable =
            |place: &&usize| table.columns().get(**place).is_some_and(|column| column.nullable);
        let nullable: Vec<String> = index
            .columns
            .iter()
            .filter(is_nullable)
            .map(|&place| format!("{} IS NOT NULL", name_of(table, place)))
            .collect();
        let is_folded = index.columns.iter().any(|place| is_folded(table, *place));
        self.push(
            table,
            match (index.unique, nullable.is_empty()) {
                (false, _) => format!("CREATE INDEX {name} ON {to} ({columns})"),
                // A constraint, so that foreign keys can reference it.
                (true, true) if !is_folded => {
                    format!("ALTER TABLE {to} ADD CONSTRAINT {name} UNIQUE ({columns})")
                }
                (true, true) => format!("CREATE UNIQUE INDEX {name} ON {to} ({columns})"),
                // Two NULLs would be equal.
                (true, false) => format!(
                    "CREATE UNIQUE INDEX {name} ON {to} ({columns}) WHERE {}",
                    nullable.join(" AND ")
                ),
            },
        );
        Ok(())
    }

    fn add_reference(
        &mut self,
        table: &TableSchema,
        key: &ForeignKey,
        _: &[TableSchema],
    ) -> Result<()> {
        let name = quoted(&reference_name(table, &key.columns, &key.table));
        let names = (&*name, &*key.table);
        let text = reference_text(&MssqlStatements, table, names, reference_pairs(key));
        self.push(table, text + &reference_actions(key));
        Ok(())
    }

    fn describe(&mut self, table: &TableSchema) -> Result<()> {
        remarks(self.schema, table).into_iter().for_each(|text| self.push(table, text));
        Ok(())
    }
}

impl Plan<'_> {
    /// Gives a column of an older table the type, and the computed column, that an index needs.
    fn prepare(&mut self, table: &TableSchema, place: usize, created: &TableSchema) -> Result<()> {
        let column = table.column_at(place)?;
        let at = created.column(&column.name).ok();
        let alter = format!("ALTER TABLE {}", quoted(table.name()));
        let kind = sent_kind(table, place)?;
        if let Some(at) = at
            && sent_kind(created, at)? != kind
        {
            let check_name = quoted(&check_name(table, &column.name));
            let check = check(table, column)?;
            if check.is_some() {
                self.push(table, format!("{alter} DROP CONSTRAINT {check_name}"));
            }
            let collate = if matches!(kind, SentKind::Text(_)) { COLLATE } else { "" };
            let null = if column.nullable { "NULL" } else { "NOT NULL" };
            let (name, kind) = (quoted(&column.name), kind.name());
            self.push(table, format!("{alter} ALTER COLUMN {name} {kind}{collate} {null}"));
            if let Some(check) = check {
                self.push(table, format!("{alter} ADD {check}"));
            }
        }
        let is_new = at.is_none_or(|at| !is_folded(created, at)) && is_folded(table, place);
        if let Some(text) = computed_column(table, place).filter(|_| is_new) {
            self.push(table, format!("{alter} ADD {text}"));
        }
        Ok(())
    }
}
