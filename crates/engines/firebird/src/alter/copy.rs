//! Changes that copy the rows: into a table with the new name; or into another one, until the table is created again.

use super::completion::complete_own;
use super::kept_column::new_values;
use super::row_checks;
use super::table_change::TableChange;
use crate::catalog;
use crate::comment;
use crate::connection::{Connection, SchemaTexts};
use crate::firebird_table::{FirebirdTable, own_number};
use crate::mode::Mode;
use crate::names::{Names, moved_name, quoted};
use crate::schema::create;
use crate::table_rules::{RuleKind, rules};
use bobak_core::{Error, ErrorKind, Interrupt, Result, TableSchema};
use bobak_engine_common::{SchemaDialect, StatementDialect, find_table};

/// Gives the table another name.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(super) fn rename(connection: &mut Connection, change: &TableChange) -> Result<()> {
    let (names, to) = (change.names, &**change.alteration.to());
    let name = names.stored(to.name()).into_owned();
    let mut references = References::of(change)?;
    let own = change.new_rules.iter().filter(|rule| matches!(rule.kind, RuleKind::Reference(_)));
    references.added.extend(own.map(|rule| (to.clone(), rule.text.clone())));
    let mut last = references.added;
    for table in references.tables.iter().chain([to]) {
        last.push((table.clone(), comment::whole(names, table)?));
    }
    copy_into(connection, change, &name, &create(names, to)?, |_| {
        Ok([references.dropped.clone(), drop_old(change), last.clone()].concat())
    })
}

/// Changes the table by a copy of its rows, from which it is created again.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(super) fn run(connection: &mut Connection, change: &TableChange) -> Result<()> {
    let (names, to) = (change.names, &**change.alteration.to());
    let name = moved_name(to);
    let columns = (0..to.columns().len())
        .map(|place| names.definition(to, place, None, to.key().contains(&place)));
    let columns = columns.collect::<Result<Vec<_>>>()?.join(", ");
    let references = References::of(change)?;
    let created = [format!("CREATE TABLE {} ({columns})", quoted(&name))];
    copy_into(connection, change, &name, &created, |number| {
        let mut texts = [references.dropped.clone(), drop_old(change)].concat();
        for table in &references.tables {
            texts.push((table.clone(), comment::changed(names, table, number)?));
        }
        texts.push((to.clone(), comment::moved(&name, to, number)?));
        Ok(texts)
    })?;
    complete_own(connection)
}

fn drop_old(change: &TableChange) -> SchemaTexts {
    let from = TableSchema::clone(change.alteration.from());
    let text = format!("DROP TABLE {}", quoted(&change.stored_name()));
    vec![(from, text)]
}

/// Creates a table, and copies the rows into it in a transaction that `last` ends.
fn copy_into(
    connection: &mut Connection,
    change: &TableChange,
    name: &str,
    created: &[String],
    last: impl Fn(i64) -> Result<SchemaTexts>,
) -> Result<()> {
    let to = &**change.alteration.to();
    let number = connection.in_mode(Mode::Read, |connection| {
        row_checks::run(connection, change)?;
        own_number(connection)
    })?;
    let last = last(number)?;
    let created = created.iter().cloned().chain([comment::copy(name, number)]);
    let created: SchemaTexts = created.map(|text| (to.clone(), text)).collect();
    connection.change_schema(&[], Some(to), |connection| connection.commands(&created))?;
    let copied = copy_rows(connection, change, name, &last);
    if copied.is_err() && !connection.is_broken() {
        // The error that it is for matters more than its own, after which the next connection does it.
        let _ = Interrupt::hold_off(|| complete_own(connection));
    }
    copied
}

fn copy_rows(
    connection: &mut Connection,
    change: &TableChange,
    name: &str,
    last: &SchemaTexts,
) -> Result<()> {
    let (to, from) = (&**change.alteration.to(), change.stored_name());
    let generators = connection.in_mode(Mode::Read, |connection| {
        let old = catalog::generator(connection, &from)?;
        Ok(old.zip(catalog::generator(connection, name)?))
    })?;
    let columns = change.names.columns(to, 0..to.columns().len());
    let mut texts = vec![format!(
        "INSERT INTO {} ({columns}) SELECT {} FROM {}",
        quoted(name),
        new_values(change)?.join(", "),
        quoted(&from)
    )];
    // Not as a query, whose statement would hold the generators.
    texts.extend(generators.map(|(old, new)| {
        format!(
            "EXECUTE BLOCK AS DECLARE N BIGINT; \
             BEGIN N = GEN_ID({new}, GEN_ID({old}, 0) - GEN_ID({new}, 0)); END"
        )
    }));
    connection.change_schema(&[from], Some(to), |connection| {
        row_checks::run(connection, change)?;
        texts.iter().try_for_each(|text| connection.command(Some(to), text))?;
        connection.commands(last)
    })
}

/// Creates a table again that has its rows in another one, by that one's name in the catalog.
///
/// # Errors
/// `Schema` if another program has created it; `Duplicate` if one has written rows with the same keys; those of the server.
pub(super) fn move_back(
    connection: &mut Connection,
    moved: &str,
    table: &TableSchema,
) -> Result<()> {
    let name = connection.names.stored(table.name()).into_owned();
    let (number, found) = connection.in_mode(Mode::Read, |connection| {
        Ok((own_number(connection)?, FirebirdTable::read(connection, &name)?))
    })?;
    match found.comment {
        None if found.columns.is_empty() => create_again(connection, moved, table, number)?,
        Some(comment::TableComment::Copy(_)) => {}
        _ => {
            let message = format!(
                "another program has created this table while it was changed; its rows are in {moved}: \
                 give the new one another name"
            );
            return Err(Error::new(ErrorKind::Schema, message).in_table(table.name().to_owned()));
        }
    }
    let columns = connection.names.columns(table, 0..table.columns().len());
    let (to, from) = (quoted(&name), quoted(moved));
    let texts = [
        format!("INSERT INTO {to} ({columns}) SELECT {columns} FROM {from}"),
        format!("DROP TABLE {from}"),
        comment::changed(connection.names, table, number)?,
    ];
    connection.change_schema(&[name, moved.to_owned()], Some(table), |connection| {
        texts.iter().try_for_each(|text| connection.command(Some(table), text))
    })
}

/// Creates the table, whose keys go on where those of the other one have ended.
fn create_again(
    connection: &mut Connection,
    moved: &str,
    table: &TableSchema,
    number: i64,
) -> Result<()> {
    let names = connection.names;
    let last = connection.in_mode(Mode::Read, |connection| {
        let Some(generator) = catalog::generator(connection, moved)? else { return Ok(None) };
        let sql = format!("SELECT GEN_ID({generator}, 0) FROM RDB$DATABASE");
        connection.once(table, &sql)
    })?;
    let mut texts = create(names, table)?;
    if let (Some(last), Some(text)) = (last, texts.first_mut()) {
        let start = format!("AS IDENTITY (START WITH {})", last.saturating_add(1));
        *text = text.replacen("AS IDENTITY", &start, 1);
    }
    texts.push(comment::copy(&names.stored(table.name()), number));
    connection.change_schema(&[], Some(table), |connection| {
        texts.iter().try_for_each(|text| connection.command(Some(table), text))
    })
}

/// The foreign keys of other tables to one that is dropped.
struct References {
    dropped: SchemaTexts,
    /// Those to the new table.
    added: SchemaTexts,
    /// The other tables as they will be.
    tables: Vec<TableSchema>,
}

impl References {
    fn of(change: &TableChange) -> Result<Self> {
        let (names, from, to) = (change.names, change.alteration.from(), change.alteration.to());
        let mut all =
            Self { dropped: SchemaTexts::new(), added: SchemaTexts::new(), tables: Vec::new() };
        for (place, (before, after)) in change.before.iter().zip(&change.after).enumerate() {
            let old = references(names, before, from, &change.before)?;
            if find_table(&change.before, from) == Some(place) || old.is_empty() {
                continue;
            }
            let alter = format!("ALTER TABLE {}", names.quoted(before.name()));
            for (name, _) in old {
                all.dropped.push((before.clone(), format!("{alter} DROP CONSTRAINT {name}")));
            }
            let new = references(names, after, to, &change.after)?;
            all.added.extend(new.into_iter().map(|(_, text)| (after.clone(), text)));
            all.tables.push(after.clone());
        }
        Ok(all)
    }
}

/// The foreign keys of a table to another one: their names, and the statements that add them.
fn references(
    names: Names,
    table: &TableSchema,
    other: &TableSchema,
    tables: &[TableSchema],
) -> Result<Vec<(String, String)>> {
    let rules = rules(names, table, tables)?.into_iter();
    let rules = rules.filter(|rule| rule.references(other.name()));
    Ok(rules.map(|rule| (rule.name, rule.text)).collect())
}
