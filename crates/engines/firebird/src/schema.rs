//! Changes of the schema. All of a list are made in one transaction; Firebird makes them known when it commits.

use crate::catalog::remark;
use crate::checks::constraint;
use crate::columns::{definition, exact, folded, is_octets};
use crate::connection::Connection;
use crate::names::{Names, index_name, key_name, reference_name};
use crate::values::is_text;
use bobak_core::{
    Error, ErrorKind, ForeignKey, OnDelete, OnUpdate, Result, SchemaChange, TableSchema, Type,
    Value,
};
use bobak_engine_common::{TableAdditions, add_created_tables, find_table, foreign_keys_of};

fn unsupported(message: &str, table: &TableSchema) -> Error {
    Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned())
}

/// The statements of a list of changes, in order.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    /// Those of tables, then of foreign keys.
    pub first: Vec<(TableSchema, String)>,
    /// What needs columns that the others have added.
    pub second: Vec<(TableSchema, String)>,
}

/// An expression of bytes after their length.
fn after_length(text: &str) -> String {
    format!("CAST(OCTET_LENGTH({text}) AS VARCHAR(10) CHARACTER SET OCTETS) || x'3a' || {text}")
}

/// Plans changes of the stored tables.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(crate) fn plan(
    connection: &Connection,
    mut stored: Vec<TableSchema>,
    changes: &[SchemaChange],
) -> Result<Statements> {
    add_created_tables(&mut stored, changes)?;
    let (old, names) = (stored.clone(), connection.names);
    let (mut references, mut remarks) = (Vec::new(), Vec::new());
    for addition in TableAdditions::collect(changes)? {
        if let Some(known) =
            find_table(&stored, addition.table()).and_then(|place| stored.get_mut(place))
        {
            *known = TableSchema::clone(&addition.rebuild(known)?.schema);
            remarks.push((known.clone(), remark(names, known)?));
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
    plan.statements.first.append(&mut remarks);
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
    let Statements { first, second } = plan.statements;
    Ok(first.into_iter().chain(second).map(|(_, text)| text).collect())
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
        self.statements.first.push((table.clone(), text));
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
        let names = self.names;
        let mut parts = Vec::new();
        for (place, column) in table.columns().iter().enumerate() {
            let is_required = !column.nullable || table.key().contains(&place);
            parts.push(definition(names, table, place, column.default.as_ref(), is_required)?);
        }
        for column in table.columns() {
            parts.extend(constraint(names, table, column)?);
        }
        let is_plain = |place: &usize| folded(names, table, *place).is_none();
        let key = table.key();
        if key.iter().all(is_plain) {
            let name = key_name(table);
            let columns = names.columns(table, key.iter().copied());
            parts.push(format!("CONSTRAINT {name} PRIMARY KEY ({columns}) USING INDEX {name}"));
        }
        let (name, parts) = (names.quoted(table.name()), parts.join(", "));
        self.push(table, format!("CREATE TABLE {name} ({parts})"));
        if !key.iter().all(is_plain) {
            let text = self.computed_index(table, &key_name(table), key, true)?;
            self.push(table, text);
        }
        for index in 0..table.indexes().len() {
            self.add_index(table, index, table)?;
        }
        let text = remark(names, table)?;
        self.push(table, text);
        Ok(())
    }

    fn add_column(&mut self, table: &TableSchema, place: usize) -> Result<()> {
        let names = self.names;
        let column = table.column_at(place)?;
        let value = column.added_value();
        let alter = format!("ALTER TABLE {}", names.quoted(table.name()));
        let name = names.quoted(&column.name);
        if value == Value::Null {
            let definition = definition(names, table, place, None, false)?;
            self.push(table, format!("{alter} ADD {definition}"));
            let check = constraint(names, table, column)?;
            let added = check.map(|check| (table.clone(), format!("{alter} ADD {check}")));
            self.statements.second.extend(added);
            return Ok(());
        }
        let check = constraint(names, table, column)?;
        // The default of a column that is required is the value of old rows, also when it is neither any longer.
        let definition = definition(names, table, place, Some(&value), true)?;
        self.push(table, format!("{alter} ADD {definition}"));
        let mut later = |text: String| self.statements.second.push((table.clone(), text));
        if let Some(check) = check {
            later(format!("{alter} ADD {check}"));
        }
        if column.nullable {
            later(format!("{alter} ALTER {name} DROP NOT NULL"));
        }
        if column.default.is_none() {
            later(format!("{alter} ALTER {name} DROP DEFAULT"));
        }
        Ok(())
    }

    /// `created` is the table as it was made, whose columns are kept as they were without the index.
    fn add_index(
        &mut self,
        table: &TableSchema,
        index: usize,
        created: &TableSchema,
    ) -> Result<()> {
        let Some(index) = table.indexes().get(index) else { return Ok(()) };
        let names = self.names;
        let name = index_name(table, &index.name);
        let is_plain = |place: &usize| {
            let Some(column) = table.columns().get(*place) else { return true };
            let at = created.column(&column.name).unwrap_or(*place);
            let is_blob =
                matches!(crate::columns::sql_type(created, at), Ok(ty) if ty.starts_with("BLOB"));
            // What only finds rows need not tell equal values from others.
            let is_loose = is_text(column) && !is_octets(created, at) || column.ty == Type::Bytes;
            let is_folded = is_loose || folded(names, table, *place).is_some();
            !(is_blob || index.unique && is_folded)
        };
        // Firebird takes rows for equal that are NULL in the same columns of several, and equal in the others.
        let is_nullable =
            |place: &usize| table.columns().get(*place).is_some_and(|column| column.nullable);
        let is_partly_null =
            index.unique && index.columns.len() > 1 && index.columns.iter().any(is_nullable);
        let text = if is_partly_null || !index.columns.iter().all(is_plain) {
            self.computed_index(table, &name, &index.columns, index.unique)?
        } else {
            let columns = names.columns(table, index.columns.iter().copied());
            let to = names.quoted(table.name());
            match index.unique {
                // A constraint, so that foreign keys can reference it.
                true => format!(
                    "ALTER TABLE {to} ADD CONSTRAINT {name} UNIQUE ({columns}) USING INDEX {name}"
                ),
                false => format!("CREATE INDEX {name} ON {to} ({columns})"),
            }
        };
        self.push(table, text);
        Ok(())
    }

    /// An index over what is compared, not what is kept: of several columns, each after its length. It is NULL if one is.
    fn computed_index(
        &self,
        table: &TableSchema,
        name: &str,
        columns: &[usize],
        unique: bool,
    ) -> Result<String> {
        let names = self.names;
        let is_float = |place: &&usize| {
            let column = table.columns().get(**place);
            column.is_some_and(|column| matches!(column.ty, Type::F32 | Type::F64))
        };
        if let Some(&place) = columns.iter().find(is_float).filter(|_| unique) {
            let message = "floats along with texts or NULLs in a unique index, on Firebird";
            return Err(unsupported(message, table).in_column(table.column_names(&[place])));
        }
        let parts: Vec<String> = columns.iter().map(|&place| exact(names, table, place)).collect();
        let whole = match &parts[..] {
            [one] => one.clone(),
            many => many.iter().map(|part| after_length(part)).collect::<Vec<_>>().join(" || "),
        };
        let unique = if unique { "UNIQUE " } else { "" };
        Ok(format!(
            "CREATE {unique}INDEX {name} ON {} COMPUTED BY ({whole})",
            names.quoted(table.name())
        ))
    }

    fn add_reference(&mut self, table: &TableSchema, key: &ForeignKey) {
        let names = self.names;
        let pairs = self.pairs_in_order(key);
        let own = names.columns(table, pairs.iter().map(|(place, _)| *place));
        let theirs: Vec<String> = pairs.iter().map(|(_, name)| names.quoted(name)).collect();
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
        let name = reference_name(table, &key.columns, &key.table);
        let text = format!(
            "ALTER TABLE {} ADD CONSTRAINT {name} FOREIGN KEY ({own}) REFERENCES {} ({}) \
             ON DELETE {on_delete} ON UPDATE {on_update} USING INDEX {name}",
            names.quoted(table.name()),
            names.quoted(&key.table),
            theirs.join(", "),
        );
        self.push(table, text);
    }

    /// The columns of a foreign key with those that they reference, which Firebird wants in the order of their index.
    fn pairs_in_order<'k>(&self, key: &'k ForeignKey) -> Vec<(usize, &'k str)> {
        let referenced = key.referenced.iter().map(|name| &**name);
        let mut pairs: Vec<(usize, &str)> = key.columns.iter().copied().zip(referenced).collect();
        let mut tables = self.tables.iter();
        let Some(parent) = tables.find(|known| known.name().eq_ignore_ascii_case(&key.table))
        else {
            return pairs;
        };
        let place = |name: &str| parent.column(name).ok();
        let unique = parent.indexes().iter().filter(|index| index.unique);
        let mut lists = std::iter::once(parent.key()).chain(unique.map(|index| &*index.columns));
        let is_it = |list: &&[usize]| {
            let is_in = |name: &str| place(name).is_some_and(|place| list.contains(&place));
            list.len() == pairs.len() && pairs.iter().all(|(_, name)| is_in(name))
        };
        if let Some(list) = lists.find(is_it) {
            pairs.sort_by_key(|(_, name)| {
                place(name).and_then(|place| list.iter().position(|other| *other == place))
            });
        }
        pairs
    }
}
