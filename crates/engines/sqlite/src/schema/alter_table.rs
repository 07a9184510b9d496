//! Changes a table into another form.
//!
//! SQLite renames, drops and adds columns itself. For other rules of a column the table is rebuilt, by the
//! procedure of SQLite's documentation: the text of its CREATE TABLE statement, with other
//! definitions of the changed columns, creates a second table, which gets the rows and then the name. So everything in the
//! text that a schema does not express stays: AUTOINCREMENT, generated columns, constraints of the table.
//! So does the place of a column whose values a migration has converted into another one: the second table gets these.
//! Indexes and triggers are created again from their own texts; views and foreign keys of other
//! tables are found by name.

use super::changed_rules::{ChangedRules, Conversion, redefined_key};
use super::index;
use super::tables::read_with_logs;
use super::text::{definitions, has_word, indexed_names, name_of_column};
use crate::connection::Connection;
use bobak_core::{
    ColumnSchema, Error, ErrorKind, Result, TableAlteration, TableSchema, Value, change_log,
    change_log::TableMoves,
};
use bobak_sql::{
    ConstraintNames, Dialect, add_index, alter_table, begin_moves, changed_columns, drop_search,
    find_violations, note_moves, quote, sqlite_column, substitute_index_name,
};

/// The name of the table that a rebuild fills.
const NEW: &str = "bobak_rebuilt";

/// Makes the change, in the open transaction.
pub(super) fn run(connection: &mut Connection, alteration: &TableAlteration) -> Result<()> {
    let tables = read_with_logs(connection)?;
    let (stored, log) = change_log::table_and_log(tables.clone(), alteration.from())?;
    let alteration = &alteration.for_stored(&stored)?;
    let (from, to) = (alteration.from(), alteration.to());
    alteration.check_tracked(log.is_some())?;
    let is_other = !from.name().eq_ignore_ascii_case(to.name());
    if is_other && super::alter::is_taken(connection, to.name(), from.name())? {
        let error = Error::new(ErrorKind::Schema, "the table already exists");
        return Err(error.in_table(to.name().to_owned()));
    }
    reject_referenced(&tables, from, alteration.dropped())?;
    if let Some(log) = &log {
        move_log(connection, log, alteration)?;
    }
    // The recorded layouts of a tracked table have the columns in the order of its log, which gets converted values at the end.
    if log.is_some() || from.name().starts_with(change_log::LOG_PREFIX) {
        change_table(connection, alteration, Vec::new())?;
    } else {
        change_table(connection, &alteration.in_place()?, Conversion::all_of(alteration))?;
    }
    check_foreign_keys(connection, alteration, &tables)?;
    match log {
        Some(_) => super::alter::adapt_log(connection, alteration),
        None => Ok(()),
    }
}

/// Makes the change of the table alone.
fn change_table(
    connection: &mut Connection,
    alteration: &TableAlteration,
    conversions: Vec<Conversion>,
) -> Result<()> {
    let (from, to) = (alteration.from(), alteration.to());
    for (query, error) in find_violations(Dialect::Sqlite, alteration) {
        if !connection.all_rows(&query, &[])?.is_empty() {
            return Err(error);
        }
    }
    let located = |error: Error| error.in_table(from.name().to_owned());
    let mut changed = changed_columns(alteration);
    let converted = conversions.iter().filter_map(|made| to.column(&made.column).ok());
    let converted: Vec<_> = converted.filter(|column| !changed.contains(column)).collect();
    changed.extend(converted);
    let names = index_names(connection, alteration, &mut changed)?;
    drop_dependent_indexes(connection, alteration, &names)?;
    for sql in alter_table(Dialect::Sqlite, alteration, &names)? {
        connection.run_owned(&sql).map_err(located)?;
    }
    let rules = ChangedRules::of(alteration, &changed, conversions);
    if !rules.is_empty() {
        rebuild(connection, to, &rules).map_err(located)?;
    }
    create_indexes(connection, to)?;
    if alteration.changes_search() {
        super::search::create(connection, to)?;
    }
    Ok(())
}

/// Gives the log of a tracked table its new names.
fn move_log(
    connection: &mut Connection,
    log: &TableSchema,
    alteration: &TableAlteration,
) -> Result<()> {
    let Some(moves) = TableMoves::of(alteration) else { return Ok(()) };
    let from = alteration.from();
    for sql in begin_moves(Dialect::Sqlite, from) {
        connection.run_owned(&sql)?;
    }
    if let Some(moved) = moves.alter_log(log)? {
        run(connection, &moved)?;
    }
    note_moves(Dialect::Sqlite, from, &moves).iter().try_for_each(|sql| connection.run_owned(sql))
}

/// Drops a table that nothing references.
pub(super) fn drop_table(connection: &mut Connection, table: &TableSchema) -> Result<()> {
    let tables = read_with_logs(connection)?;
    let (stored, log) = change_log::table_and_log(tables.clone(), table)?;
    if log.is_some() {
        let message = "the table is tracked: stop tracking it first";
        return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()));
    }
    let all: Vec<_> = (0..stored.columns().len()).collect();
    reject_referenced(&tables, &stored, &all)?;
    for sql in drop_search(Dialect::Sqlite, &stored) {
        connection.run_owned(&sql)?;
    }
    connection.run_owned(&format!("DROP TABLE main.{}", quote(Dialect::Sqlite, table.name())))
}

/// Rejects the drop of columns that foreign keys of other tables reference.
fn reject_referenced(tables: &[TableSchema], table: &TableSchema, dropped: &[usize]) -> Result<()> {
    for other in tables.iter().filter(|other| !other.name().eq_ignore_ascii_case(table.name())) {
        for reference in other.columns().iter().filter_map(|column| column.reference.as_ref()) {
            let is_own = reference.table.eq_ignore_ascii_case(table.name());
            let column = table.column(&reference.column).ok().filter(|_| is_own);
            if column.is_some_and(|column| dropped.contains(&column)) {
                let message = format!("the foreign keys of {} reference it", other.name());
                let error = Error::new(ErrorKind::Constraint, message);
                return Err(error.in_table(table.name().to_owned()));
            }
        }
    }
    Ok(())
}

/// The names of the indexes that are dropped. What a UNIQUE constraint made goes by a new definition of its
/// column, which is added to `changed`.
fn index_names(
    connection: &mut Connection,
    alteration: &TableAlteration,
    changed: &mut Vec<usize>,
) -> Result<ConstraintNames> {
    let from = alteration.from();
    let mut names = ConstraintNames::default();
    for index in alteration.dropped_indexes() {
        let Some(index) = from.indexes().get(index) else { continue };
        let substitute = substitute_index_name(Dialect::Sqlite, from.name(), &index.name);
        let mut found = None;
        for name in [&*index.name, &substitute] {
            let rows = connection.all_rows(
                "SELECT name FROM main.sqlite_schema WHERE type = 'index' AND name = ?1 COLLATE NOCASE \
                 AND tbl_name = ?2 COLLATE NOCASE AND sql IS NOT NULL",
                &[Value::from(name), Value::from(from.name())],
            )?;
            found = found.or(rows.into_iter().flatten().next());
        }
        match (found, &index.columns[..]) {
            (Some(Value::Text(name)), _) => {
                names.indexes.push((index.name.to_string(), name.into_owned()));
            }
            (_, [column]) => {
                names.constraints.push(index.name.to_string());
                let new = alteration.kept().find(|kept| kept.0 == *column).map(|kept| kept.1);
                changed.extend(new.filter(|new| !changed.contains(new)));
            }
            _ => {
                let message = format!(
                    "the UNIQUE constraint behind index '{}' belongs to the table: change it in SQL",
                    index.name
                );
                let error = Error::new(ErrorKind::Unsupported, message);
                return Err(error.in_table(from.name().to_owned()));
            }
        }
    }
    Ok(names)
}

/// Drops the indexes that name a dropped column in an expression or a condition. Those in `names` are dropped anyway.
fn drop_dependent_indexes(
    connection: &mut Connection,
    alteration: &TableAlteration,
    names: &ConstraintNames,
) -> Result<()> {
    let from = alteration.from();
    let converted = alteration.converted();
    let is_lost = |place: &&usize| converted.iter().all(|(old, _)| old != *place);
    let dropped = alteration.dropped().iter().filter(is_lost);
    let dropped = dropped.filter_map(|place| Some(&*from.columns().get(*place)?.name));
    let dropped: Vec<_> = dropped.collect();
    if dropped.is_empty() {
        return Ok(());
    }
    let sql = "SELECT name, sql FROM main.sqlite_schema WHERE type = 'index' AND sql IS NOT NULL \
               AND tbl_name = ?1 COLLATE NOCASE";
    for row in connection.all_rows(sql, &[Value::from(from.name())])? {
        let [Value::Text(name), Value::Text(sql)] = &row[..] else { continue };
        let is_dropped = |named: &String| dropped.iter().any(|own| named.eq_ignore_ascii_case(own));
        let is_known = names.indexes.iter().any(|(_, stored)| stored.eq_ignore_ascii_case(name));
        if !is_known && indexed_names(sql).iter().any(is_dropped) {
            connection.run_owned(&format!("DROP INDEX main.{}", quote(Dialect::Sqlite, name)))?;
        }
    }
    Ok(())
}

/// Creates the indexes that the table does not have.
fn create_indexes(connection: &mut Connection, table: &TableSchema) -> Result<()> {
    let there = index::read(connection, table.name())?;
    for (number, index) in table.indexes().iter().enumerate() {
        let columns = index.columns.iter().filter_map(|place| table.columns().get(*place));
        let columns: Vec<_> = columns.map(|column| &*column.name).collect();
        let is_there = there.iter().any(|other| {
            let is_constraint = index.unique && other.origin == "u";
            (other.name == index.name || is_constraint)
                && other.unique == index.unique
                && other.columns == columns
        });
        if !is_there {
            let table = super::alter::with_free_names(connection, table)?;
            let sql = add_index(Dialect::Sqlite, &table, number)?;
            let located = |error: Error| error.in_table(table.name().to_owned());
            connection.run_owned(&sql).map_err(located)?;
        }
    }
    Ok(())
}

/// Creates the table again, with other rules.
fn rebuild(connection: &mut Connection, table: &TableSchema, rules: &ChangedRules) -> Result<()> {
    if connection.replay.is_none() {
        let message = "SQLite rebuilds a table for this change, which it cannot do inside a \
                       transaction that enforces foreign keys: make the change outside of one";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let name = Value::from(table.name());
    let texts = |connection: &mut Connection, kinds: &str| {
        let sql = format!(
            "SELECT sql FROM main.sqlite_schema WHERE type IN ({kinds}) AND sql IS NOT NULL \
             AND tbl_name = ?1 COLLATE NOCASE ORDER BY rowid"
        );
        let rows = connection.all_rows(&sql, std::slice::from_ref(&name))?;
        Ok::<Vec<String>, Error>(
            rows.into_iter().map(|row| super::column::text(row.into_iter().next())).collect(),
        )
    };
    let statement = texts(connection, "'table'")?.pop().unwrap_or_default();
    let dependents = texts(connection, "'index', 'trigger'")?;
    let (own, new) = (quote(Dialect::Sqlite, table.name()), quote(Dialect::Sqlite, NEW));
    let (columns, values) = copied_columns(connection, table, &statement, rules)?;
    let counted = counted_key(connection, &name)?;
    connection.run_owned(&rewritten(&statement, table, rules)?)?;
    connection.run_owned(&format!(
        "INSERT INTO main.{new} ({columns}) SELECT {values} FROM main.{own}"
    ))?;
    connection.run_owned(&format!("DROP TABLE main.{own}"))?;
    // Without it, SQLite looks for the table in views and triggers now, and renames it in foreign keys.
    connection.run("PRAGMA legacy_alter_table = on")?;
    let renamed = connection.run_owned(&format!("ALTER TABLE main.{new} RENAME TO {own}"));
    connection.run("PRAGMA legacy_alter_table = off")?;
    renamed?;
    if let Some(counted) = counted.filter(|_| rules.key.is_none()) {
        let values = [counted, name.clone()];
        connection.run_text("UPDATE main.sqlite_sequence SET seq = ?1 WHERE name = ?2", &values)?;
    }
    dependents.iter().try_for_each(|sql| connection.run_owned(sql))
}

/// The columns whose values are copied: all but generated ones, and the row number if no column has it. And the stored
/// columns that have these values.
fn copied_columns(
    connection: &mut Connection,
    table: &TableSchema,
    statement: &str,
    rules: &ChangedRules,
) -> Result<(String, String)> {
    let rows = connection.all_rows(
        "SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0 ORDER BY cid",
        &[Value::from(table.name())],
    )?;
    let names = rows.into_iter().map(|row| super::column::text(row.into_iter().next()));
    let names: Vec<String> = names.collect();
    let kept = || names.iter().filter(|name| !rules.takes_values(name));
    let quoted = |name: &str| quote(Dialect::Sqlite, name);
    let mut columns: Vec<_> = kept().map(|name| quoted(name)).collect();
    let mut values: Vec<_> = kept().map(|name| quoted(rules.values_of(name))).collect();
    let is_taken = |row: &&&str| names.iter().any(|name| name.eq_ignore_ascii_case(row));
    let rowid = ["rowid", "_rowid_", "oid"];
    let rowid = rowid.iter().find(|row| !is_taken(row));
    let has_integer_key = table.has_integer_key() && !table.has_hidden_key();
    if let Some(rowid) = rowid.filter(|_| !has_integer_key && !has_word(statement, "WITHOUT")) {
        columns.push((*rowid).to_owned());
        values.push((*rowid).to_owned());
    }
    Ok((columns.join(", "), values.join(", ")))
}

/// The last key that AUTOINCREMENT gave.
fn counted_key(connection: &mut Connection, name: &Value<'_>) -> Result<Option<Value<'static>>> {
    let exists = "SELECT 1 FROM main.sqlite_schema WHERE name = 'sqlite_sequence'";
    if connection.all_rows(exists, &[])?.is_empty() {
        return Ok(None);
    }
    let sql = "SELECT seq FROM main.sqlite_sequence WHERE name = ?1";
    let rows = connection.all_rows(sql, std::slice::from_ref(name))?;
    Ok(rows.into_iter().flatten().next())
}

/// The CREATE TABLE statement for the new table.
fn rewritten(statement: &str, table: &TableSchema, rules: &ChangedRules) -> Result<String> {
    let parts = definitions(statement);
    let unreadable =
        || Error::new(ErrorKind::Unsupported, "the table's CREATE statement cannot be read");
    let offset = |part: &str| part.as_ptr() as usize - statement.as_ptr() as usize;
    let start = parts.first().map(|part| offset(part)).ok_or_else(unreadable)?;
    let end = parts.last().map(|part| offset(part) + part.len()).ok_or_else(unreadable)?;
    let mut definitions = Vec::with_capacity(parts.len());
    let mut found = 0;
    for part in &parts {
        let place = name_of_column(part).and_then(|name| table.column(&name).ok());
        let is_gone = name_of_column(part).is_some_and(|name| rules.takes_values(&name));
        if place.is_none() && (is_gone || rules.drops(part)) {
            found += 1;
            continue;
        }
        if place.is_some() && place == rules.key {
            found += 1;
            definitions.push(redefined_key(part, table.never_reuses_keys())?);
            continue;
        }
        match place.filter(|place| rules.columns.contains(place)) {
            Some(place) => {
                found += 1;
                definitions.push(redefined(part, table, place)?);
            }
            None => definitions.push((*part).to_owned()),
        }
    }
    if found != rules.in_text() {
        return Err(unreadable());
    }
    definitions.extend(rules.added.iter().cloned());
    let tail = statement.get(end..).ok_or_else(unreadable)?;
    debug_assert!(start <= end);
    let new = quote(Dialect::Sqlite, NEW);
    Ok(format!("CREATE TABLE main.{new} ({}{tail}", definitions.join(",")))
}

/// A column's new definition. Rejects an old one with a rule that a schema has no place for.
fn redefined(part: &str, table: &TableSchema, place: usize) -> Result<String> {
    let column: &ColumnSchema = table.column_at(place)?;
    for word in ["CONFLICT", "GENERATED", "AUTOINCREMENT", "PRIMARY"] {
        let is_known = word == "GENERATED" && column.generated.is_some();
        if has_word(part, word) && !is_known {
            let message = format!("the column's definition has {word}: change it in SQL");
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.in_column(column.name.to_string()));
        }
    }
    let mut definition = sqlite_column(table, place)?;
    if let Some(default) = &column.default_sql {
        let default = bobak_sql::DefaultExpression::parse(default).ok_or_else(|| {
            let error = Error::new(ErrorKind::Unsupported, "the column's default cannot be read");
            error.in_column(column.name.to_string())
        })?;
        definition.push_str(&format!(" DEFAULT ({})", default.sql()));
    }
    Ok(definition)
}

/// Checks the foreign keys of the table and those to it. They were not enforced meanwhile.
fn check_foreign_keys(
    connection: &mut Connection,
    alteration: &TableAlteration,
    tables: &[TableSchema],
) -> Result<()> {
    let (from, to) = (alteration.from(), alteration.to());
    let references = |table: &&TableSchema| {
        table.all_foreign_keys().iter().any(|key| key.table.eq_ignore_ascii_case(from.name()))
    };
    let children = tables.iter().filter(references).map(TableSchema::name);
    let children = children.filter(|name| !name.eq_ignore_ascii_case(from.name()));
    let mut all: Vec<&str> = children.collect();
    if !to.all_foreign_keys().is_empty() {
        all.push(to.name());
    }
    for table in all {
        let rows = connection.all_rows(
            "SELECT \"table\" FROM pragma_foreign_key_check(?1) LIMIT 1",
            &[Value::from(table)],
        )?;
        if !rows.is_empty() {
            let message = "some rows reference rows that do not exist";
            return Err(Error::new(ErrorKind::Constraint, message).in_table(table.to_owned()));
        }
    }
    Ok(())
}
