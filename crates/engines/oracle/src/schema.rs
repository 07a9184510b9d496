//! Changes of the schema. Oracle commits at each statement, so that what describes a table comes last: a change that fails on the
//! way leaves what was made, and is repeated when the cause is gone.

use crate::catalog::remarks;
use crate::columns::{
    checks, compared, definition, folded, key_columns, makes_key, oracle_type, unique_parts,
    value_literal,
};
use crate::names::{columns, index_name, key_name, moved_name, own, quoted, reference_name};
use crate::sequences;
use crate::values::is_text;
use bobak_core::{
    Error, ErrorKind, ForeignKey, OnDelete, OnUpdate, Result, SchemaChange, TableSchema, Value,
};
use bobak_engine_common::{TableAdditions, add_created_tables, find_table, foreign_keys_of};

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
pub(crate) fn plan(mut stored: Vec<TableSchema>, changes: &[SchemaChange]) -> Result<Statements> {
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
    let mut plan = Plan::default();
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
    for (table, key) in &references {
        plan.add_reference(table, key)?;
    }
    for table in &described {
        remarks(table)?.into_iter().for_each(|text| plan.push(table, text));
    }
    Ok(plan.statements)
}

/// The statements that create a table.
///
/// # Errors
/// `Unsupported` for a table that Oracle cannot have.
pub(crate) fn created(table: &TableSchema) -> Result<Vec<String>> {
    let mut plan = Plan::default();
    plan.create(table)?;
    table.all_foreign_keys().iter().try_for_each(|key| plan.add_reference(table, key))?;
    let mut texts: Vec<String> = plan.statements.into_iter().map(|one| one.text).collect();
    texts.extend(remarks(table)?);
    Ok(texts)
}

/// Statements, being collected.
#[derive(Default)]
struct Plan {
    statements: Statements,
    /// The columns that were given another type, once.
    moved: Vec<String>,
}

impl Plan {
    fn push(&mut self, table: &TableSchema, text: String) {
        self.statements.push(SchemaStatement { table: table.clone(), text, undo: None });
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
                let keys = foreign_keys_of(table, *column);
                refer(table, keys.clone());
                self.move_references(table, &keys, old)?;
            }
            SchemaChange::AddForeignKey { table, foreign_key } => {
                let key = table.foreign_keys().get(*foreign_key).cloned();
                let keys: Vec<ForeignKey> = key.into_iter().collect();
                refer(table, keys.clone());
                self.move_references(table, &keys, old)?;
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
        for place in 0..table.columns().len() {
            parts.extend(checks(table, place)?);
        }
        let key = table.key();
        let is_plain = key.iter().all(|place| folded(table, *place).is_none());
        let key_name = own(&key_name(table));
        if is_plain {
            parts.push(format!("CONSTRAINT {key_name} PRIMARY KEY ({})", key_columns(table)));
        }
        if key.first().is_some_and(|&place| makes_key(table, place)) {
            self.push(table, sequences::created(table));
        }
        let (name, parts) = (quoted(table.name()), parts.join(", "));
        self.push(table, format!("CREATE TABLE {name} ({parts})"));
        if !is_plain {
            let columns: Vec<String> = key.iter().map(|place| compared(table, *place)).collect();
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
        let text = definition(table, place, default, is_required)?;
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

    /// `created` is the table as it was made, whose columns may have another type without the index.
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
            let columns = columns(table, index.columns.iter().copied());
            format!("CREATE INDEX {name} ON {to} ({columns})")
        } else if is_plain && (index.columns.len() == 1 || !index.columns.iter().any(has_null)) {
            // A constraint, so that foreign keys can reference it.
            let columns = columns(table, index.columns.iter().copied());
            format!("ALTER TABLE {to} ADD CONSTRAINT {name} UNIQUE ({columns})")
        } else {
            let parts = unique_parts(table, &index.columns).join(", ");
            format!("CREATE UNIQUE INDEX {name} ON {to} ({parts})")
        };
        self.push(table, text);
        Ok(())
    }

    fn move_references(
        &mut self,
        table: &TableSchema,
        keys: &[ForeignKey],
        created: &TableSchema,
    ) -> Result<()> {
        let mut places = keys.iter().flat_map(|key| key.columns.iter());
        places.try_for_each(|&place| self.move_into_rows(table, place, created))
    }

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

    fn add_reference(&mut self, table: &TableSchema, key: &ForeignKey) -> Result<()> {
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
        let ours = columns(table, key.columns.iter().copied());
        let theirs: Vec<String> = key.referenced.iter().map(|name| quoted(name)).collect();
        let on_delete = match key.on_delete {
            OnDelete::Cascade => " ON DELETE CASCADE",
            OnDelete::SetNull => " ON DELETE SET NULL",
            _ => "",
        };
        let name = own(&reference_name(table, &key.columns, &key.table));
        let text = format!(
            "ALTER TABLE {} ADD CONSTRAINT {name} FOREIGN KEY ({ours}) REFERENCES {} ({}){on_delete}",
            quoted(table.name()),
            quoted(&key.table),
            theirs.join(", "),
        );
        self.push(table, text);
        Ok(())
    }
}
