//! Changes of the schema. All of a list are made in one transaction, or none is.

use crate::catalog::remarks;
use crate::columns::{
    COLLATE, check, computed, computed_column, definition, folded, indexed, is_folded, sent_kind,
};
use crate::names::{
    check_name, column as name_of, columns, default_name, index_name, key_name, quoted,
    reference_name,
};
use crate::wire::SentKind;
use bobak_core::{ForeignKey, OnDelete, OnUpdate, Result, SchemaChange, TableSchema, Value};
use bobak_engine_common::{TableAdditions, add_created_tables, find_table, foreign_keys_of};

/// Statements, each with the table that it is about.
type Statements = Vec<(TableSchema, String)>;

/// Plans changes of the stored tables.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(crate) fn plan(
    schema: &str,
    mut stored: Vec<TableSchema>,
    changes: &[SchemaChange],
) -> Result<Statements> {
    add_created_tables(&mut stored, changes)?;
    let old = stored.clone();
    let (mut references, mut described) = (Vec::new(), Vec::new());
    for addition in TableAdditions::collect(changes)? {
        if let Some(known) =
            find_table(&stored, addition.table()).and_then(|place| stored.get_mut(place))
        {
            *known = TableSchema::clone(&addition.rebuild(known)?.schema);
            described.push(known.clone());
        }
    }
    let mut plan = Plan { statements: Vec::new() };
    for change in changes {
        let place = find_table(&stored, change.table());
        let Some((whole, old)) = place.and_then(|place| stored.get(place).zip(old.get(place)))
        else {
            continue;
        };
        if let SchemaChange::CreateTable(table) = change {
            described.push(TableSchema::clone(table));
        }
        plan.change(change, whole, old, &mut references)?;
    }
    for table in &described {
        remarks(schema, table).into_iter().for_each(|text| plan.push(table, text));
    }
    references.iter().for_each(|(table, key)| plan.add_reference(table, key));
    Ok(plan.statements)
}

/// The statements that create a table, without its foreign keys.
///
/// # Errors
/// `Unsupported` for a table that SQL Server cannot have.
pub(crate) fn created(table: &TableSchema) -> Result<Vec<String>> {
    let mut plan = Plan { statements: Vec::new() };
    plan.create(table)?;
    table.all_foreign_keys().iter().for_each(|key| plan.add_reference(table, key));
    let mut texts: Vec<String> = plan.statements.into_iter().map(|(_, text)| text).collect();
    texts.extend(remarks("dbo", table));
    Ok(texts)
}

/// Statements, being collected.
struct Plan {
    statements: Statements,
}

impl Plan {
    fn push(&mut self, table: &TableSchema, text: String) {
        self.statements.push((table.clone(), text));
    }

    fn change(
        &mut self,
        change: &SchemaChange,
        whole: &TableSchema,
        old: &TableSchema,
        references: &mut Vec<(TableSchema, ForeignKey)>,
    ) -> Result<()> {
        let mut refer = |table: &TableSchema, keys: Vec<ForeignKey>| {
            references.extend(keys.into_iter().map(|key| (table.clone(), key)));
        };
        match change {
            SchemaChange::CreateTable(table) => {
                self.create(table)?;
                refer(table, table.all_foreign_keys());
            }
            SchemaChange::AddColumn { table, column } => {
                let place = whole.column(&table.column_at(*column)?.name)?;
                self.add_column(whole, place)?;
                refer(whole, foreign_keys_of(whole, place));
            }
            SchemaChange::AddIndex { table, index } => {
                let name = table.indexes().get(*index).map(|index| &index.name);
                let mut indexes = whole.indexes().iter();
                if let Some(index) = indexes.position(|index| Some(&index.name) == name) {
                    self.add_index(whole, index, old)?;
                }
            }
            SchemaChange::AddReference { table, column } => {
                refer(table, foreign_keys_of(table, *column))
            }
            SchemaChange::AddForeignKey { table, foreign_key } => {
                refer(table, table.foreign_keys().get(*foreign_key).cloned().into_iter().collect());
            }
            _ => {}
        }
        Ok(())
    }

    fn create(&mut self, table: &TableSchema) -> Result<()> {
        let mut parts = Vec::new();
        for (place, column) in table.columns().iter().enumerate() {
            let is_required = !column.nullable || table.key().contains(&place);
            parts.push(definition(table, place, column.default.as_ref(), is_required)?);
        }
        parts.extend(computed(table));
        for column in table.columns() {
            parts.extend(check(table, column)?);
        }
        let key = table.key();
        let is_plain = key.iter().all(|place| folded(table, *place).is_none());
        let key_name = quoted(&key_name(table));
        if is_plain {
            let columns = columns(table, key.iter().copied());
            parts.push(format!("CONSTRAINT {key_name} PRIMARY KEY ({columns})"));
        }
        let (name, parts) = (quoted(table.name()), parts.join(", "));
        self.push(table, format!("CREATE TABLE {name} ({parts})"));
        if !is_plain {
            let columns: Vec<String> = key.iter().map(|place| indexed(table, *place)).collect();
            let columns = columns.join(", ");
            self.push(table, format!("CREATE UNIQUE INDEX {key_name} ON {name} ({columns})"));
        }
        (0..table.indexes().len()).try_for_each(|index| self.add_index(table, index, table))
    }

    fn add_column(&mut self, table: &TableSchema, place: usize) -> Result<()> {
        let column = table.column_at(place)?;
        let value = column.added_value();
        let alter = format!("ALTER TABLE {}", quoted(table.name()));
        let is_required = !column.nullable && value != Value::Null;
        let default = Some(&value).filter(|value| **value != Value::Null);
        let mut text = definition(table, place, default, is_required)?;
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

    /// `created` is the table as it was made, whose columns may have another type without the index.
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

    fn add_reference(&mut self, table: &TableSchema, key: &ForeignKey) {
        let own = columns(table, key.columns.iter().copied());
        let theirs: Vec<String> = key.referenced.iter().map(|name| quoted(name)).collect();
        let on_delete = match key.on_delete {
            OnDelete::Cascade => "CASCADE",
            OnDelete::SetNull => "SET NULL",
            _ => "NO ACTION",
        };
        let on_update = match key.on_update {
            OnUpdate::Cascade => "CASCADE",
            OnUpdate::SetNull => "SET NULL",
            _ => "NO ACTION",
        };
        let name = quoted(&reference_name(table, &key.columns, &key.table));
        let text = format!(
            "ALTER TABLE {} ADD CONSTRAINT {name} FOREIGN KEY ({own}) REFERENCES {} ({}) \
             ON DELETE {on_delete} ON UPDATE {on_update}",
            quoted(table.name()),
            quoted(&key.table),
            theirs.join(", "),
        );
        self.push(table, text);
    }
}
