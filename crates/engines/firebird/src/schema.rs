//! Changes of the schema that add something. All of a list are made in one transaction; Firebird makes them known when it
//! commits. What needs new columns is left to `completion`.

use crate::checks::constraint;
use crate::columns::definition;
use crate::comment;
use crate::connection::SchemaTexts;
use crate::names::Names;
use crate::table_rules::{has_plain_key, index, key, key_constraint, reference};
use bobak_core::{ForeignKey, Result, SchemaChange, TableSchema, Value};
use bobak_engine_common::{TableAdditions, add_created_tables, find_table, foreign_keys_of};

/// The statements of a list of changes, in order.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    /// With the tables that errors name.
    pub texts: SchemaTexts,
    /// The tables that need more when the statements are committed.
    pub unfinished: Vec<TableSchema>,
}

/// Plans changes of the stored tables, for the connection with this number.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(crate) fn plan(
    names: Names,
    number: i64,
    mut stored: Vec<TableSchema>,
    changes: &[SchemaChange],
) -> Result<Statements> {
    add_created_tables(&mut stored, changes)?;
    let old = stored.clone();
    let (mut references, mut known_additions) = (Vec::new(), Vec::new());
    for addition in TableAdditions::collect(changes)? {
        if let Some(known) =
            find_table(&stored, addition.table()).and_then(|place| stored.get_mut(place))
        {
            *known = TableSchema::clone(&addition.rebuild(known)?.schema);
            known_additions.push(known.clone());
        }
    }
    let mut plan = Plan { names, tables: stored.clone(), statements: Statements::default() };
    for change in changes {
        let place = find_table(&stored, change.table());
        let Some((whole, old)) = place.and_then(|place| stored.get(place).zip(old.get(place)))
        else {
            continue;
        };
        plan.change(change, whole, old, &mut references)?;
    }
    for table in known_additions {
        let is_unfinished = find_table(&plan.statements.unfinished, &table).is_some();
        let text = match is_unfinished {
            true => comment::changed(names, &table, number)?,
            false => comment::whole(names, &table)?,
        };
        plan.push(&table, text);
    }
    references.iter().for_each(|(table, key)| plan.add_reference(table, key));
    Ok(plan.statements)
}

/// The statements that create a table, its foreign keys, and each column once more.
///
/// # Errors
/// `Unsupported` for a table that Firebird cannot have.
pub(crate) fn created(names: Names, table: &TableSchema) -> Result<Vec<String>> {
    let tables = vec![table.clone()];
    let mut plan = Plan { names, tables, statements: Statements::default() };
    plan.create(table)?;
    table.all_foreign_keys().iter().for_each(|key| plan.add_reference(table, key));
    for place in 0..table.columns().len() {
        plan.add_column(table, place)?;
    }
    Ok(plan.statements.texts.into_iter().map(|(_, text)| text).collect())
}

/// The statements that create a table, without its foreign keys and its comment.
///
/// # Errors
/// `Unsupported` for a table that Firebird cannot have.
pub(crate) fn create(names: Names, table: &TableSchema) -> Result<Vec<String>> {
    let mut parts = Vec::new();
    for (place, column) in table.columns().iter().enumerate() {
        let is_required = !column.nullable || table.key().contains(&place);
        parts.push(definition(names, table, place, column.default.as_ref(), is_required)?);
    }
    for column in table.columns() {
        parts.extend(constraint(names, table, column)?);
    }
    if has_plain_key(names, table) {
        parts.push(key_constraint(names, table));
    }
    let (name, parts) = (names.quoted(table.name()), parts.join(", "));
    let mut texts = vec![format!("CREATE TABLE {name} ({parts})")];
    if !has_plain_key(names, table) {
        texts.push(key(names, table)?.text);
    }
    for place in 0..table.indexes().len() {
        texts.extend(index(names, table, place, table)?.map(|index| index.text));
    }
    Ok(texts)
}

/// The statement that adds a column, whose value old rows get, and whether it has a default or is required for that reason
/// alone.
///
/// # Errors
/// As [`definition`].
pub(crate) fn add_column(
    names: Names,
    table: &TableSchema,
    place: usize,
) -> Result<(String, bool)> {
    let column = table.column_at(place)?;
    let value = column.added_value();
    let is_filled = value != Value::Null;
    // The default of a column that is required is the value of old rows, also when it is neither any longer.
    let definition = definition(names, table, place, is_filled.then_some(&value), is_filled)?;
    let text = format!("ALTER TABLE {} ADD {definition}", names.quoted(table.name()));
    Ok((text, is_filled && (column.nullable || column.default.is_none())))
}

/// Statements, being collected.
struct Plan {
    names: Names,
    /// The tables as they will be.
    tables: Vec<TableSchema>,
    statements: Statements,
}

impl Plan {
    fn push(&mut self, table: &TableSchema, text: String) {
        self.statements.texts.push((table.clone(), text));
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
        let mut texts = create(self.names, table)?;
        texts.push(comment::whole(self.names, table)?);
        texts.into_iter().for_each(|text| self.push(table, text));
        Ok(())
    }

    fn add_column(&mut self, table: &TableSchema, place: usize) -> Result<()> {
        let (text, is_unfinished) = add_column(self.names, table, place)?;
        self.push(table, text);
        let has_check = constraint(self.names, table, table.column_at(place)?)?.is_some();
        if is_unfinished || has_check {
            self.statements.unfinished.push(table.clone());
        }
        Ok(())
    }

    fn add_index(&mut self, table: &TableSchema, place: usize, old: &TableSchema) -> Result<()> {
        if let Some(index) = index(self.names, table, place, old)? {
            self.push(table, index.text);
        }
        Ok(())
    }

    fn add_reference(&mut self, table: &TableSchema, key: &ForeignKey) {
        let text = reference(self.names, table, key, &self.tables).text;
        self.push(table, text);
    }
}
