//! Statements that make tables, columns and indexes in MariaDB and MySQL.
//!
//! All of a table is one statement: each of them commits by itself there. What has no place in a
//! column's type stands in its comment.

use crate::check::{push_check, push_generated};
use crate::comment::comment;
use crate::constraint_names::ConstraintNames;
use crate::dialect::Dialect;
use crate::index_name::{mysql_index_comment, mysql_index_name};
use crate::mysql::{FOLDED, folded, is_folded};
use crate::mysql_lengths::{INDEX_CHARS, column_type, is_endless, limit, share, size};
use crate::schema::{push_actions, push_foreign_key};
use crate::search::{SEARCH_COLUMN, create_search, push_mariadb_column, push_mariadb_index};
use crate::writer::Writer;
use bobak_core::{
    Collation, ColumnSchema, Error, ErrorKind, IndexSchema, KeyGeneration, Result, Storage,
    TableAlteration, TableSchema, Type, ValueRef,
};

/// The unique index over a key's folded texts, if it has any.
pub const FOLDED_KEY: &str = "bobak_folded_key";

pub(crate) fn create_table(
    dialect: Dialect,
    table: &TableSchema,
    parents: &[TableSchema],
) -> Result<String> {
    let mut writer = Writer::new(dialect);
    writer.raw("CREATE TABLE ").name(table.name()).raw(" (");
    for place in 0..table.columns().len() {
        define(&mut writer, table, place, false);
        writer.raw(", ");
    }
    writer.raw("PRIMARY KEY (");
    writer.columns(table, table.key().iter().copied());
    writer.raw(")");
    let folded = |&place: &usize| {
        table.columns().get(place).is_some_and(|column| is_folded(dialect, column))
    };
    if table.key().iter().any(folded) {
        writer.raw(", UNIQUE KEY ").name(FOLDED_KEY).raw(" (");
        writer.list(", ", table.key(), |writer, &place| {
            writer.sorted(table, place);
        });
        writer.raw(")");
    }
    for (number, index) in table.indexes().iter().enumerate() {
        writer.raw(", ");
        push_index(&mut writer, table, index, number);
    }
    if table.search().is_some() {
        create_search(dialect, table)?;
        writer.raw(", ");
        push_mariadb_column(&mut writer, table);
        writer.raw(", ");
        push_mariadb_index(&mut writer);
    }
    for place in 0..table.columns().len() {
        push_reference(&mut writer, table, place, ", ");
    }
    for key in table.foreign_keys() {
        writer.raw(", ");
        push_foreign_key(&mut writer, table, key, parents);
    }
    writer.raw(") ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4");
    writer.raw(dialect.collate(bobak_core::Collation::Binary));
    writer.into_result()
}

pub(crate) fn add_column(dialect: Dialect, table: &TableSchema, place: usize) -> Result<String> {
    let mut writer = Writer::new(dialect);
    writer.raw("ALTER TABLE ").name(table.name()).raw(" ADD COLUMN (");
    define(&mut writer, table, place, true);
    writer.raw(")");
    push_reference(&mut writer, table, place, ", ADD ");
    writer.into_result()
}

pub(crate) fn add_reference(
    dialect: Dialect,
    table: &TableSchema,
    place: usize,
) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    if is_endless(table, place) {
        // Without the foreign key it has a type that none can have.
        let mut writer = Writer::new(dialect);
        writer.raw("ALTER TABLE ").name(table.name()).raw(" MODIFY COLUMN ");
        define_parts(&mut writer, table, place, false, ", MODIFY COLUMN ");
        texts.push(writer.into_result()?);
    }
    let mut writer = Writer::new(dialect);
    writer.raw("ALTER TABLE ").name(table.name());
    push_reference(&mut writer, table, place, " ADD ");
    texts.push(writer.into_result()?);
    Ok(texts)
}

pub(crate) fn add_index(dialect: Dialect, table: &TableSchema, number: usize) -> Result<String> {
    let Some(index) = table.indexes().get(number) else {
        return Ok(String::new());
    };
    let mut writer = Writer::new(dialect);
    writer.raw("ALTER TABLE ").name(table.name());
    if index.unique {
        // A text without a limit was a LONGTEXT as long as it was in no unique index.
        for &place in index.columns.iter().filter(|&&place| is_endless(table, place)) {
            writer.raw(" MODIFY COLUMN ");
            let column = table.columns().get(place);
            define_parts(&mut writer, table, place, false, ", MODIFY COLUMN ");
            writer.raw(if column.is_some() { "," } else { "" });
        }
    }
    writer.raw(" ADD ");
    push_index(&mut writer, table, index, number);
    writer.into_result()
}

/// One statement for all of an alteration: it commits by itself, so a kill leaves the old or the new form.
pub(crate) fn alter_table(
    dialect: Dialect,
    alteration: &TableAlteration,
    names: &ConstraintNames,
) -> Result<String> {
    let (from, to) = (alteration.from(), alteration.to());
    let mut writer = Writer::new(dialect);
    let check = |(old, new): (usize, usize)| {
        let check = |table: &TableSchema, at: usize| {
            table.columns().get(at).and_then(|column| column.check.clone())
        };
        check(alteration.renamed(), old) != check(to, new) && check(to, new).is_some()
    };
    if alteration.kept().any(check) {
        // By its other ways the server does not check existing rows.
        writer.raw("ALGORITHM = COPY, ");
    }
    let changed = changed_definitions(alteration, dialect)?;
    if alteration.changes_search() {
        writer.raw("DROP KEY IF EXISTS ").name(SEARCH_COLUMN).raw(", ");
        writer.raw("DROP COLUMN IF EXISTS ").name(SEARCH_COLUMN).raw(", ");
    }
    drop_parts(&mut writer, alteration, names, &changed);
    for (old, new) in alteration.kept().filter(|kept| !changed.contains(kept)) {
        if from.columns().get(old).map(|old| &old.name)
            != to.columns().get(new).map(|new| &new.name)
        {
            writer.raw("RENAME COLUMN ").column(from, old).raw(" TO ").column(to, new).raw(", ");
        }
    }
    for &(old, new) in &changed {
        writer.raw("CHANGE COLUMN ").column(from, old).raw(" ");
        define_parts(&mut writer, to, new, false, ", ADD COLUMN ");
        writer.raw(", ");
    }
    for place in alteration.added() {
        writer.raw("ADD COLUMN (");
        define(&mut writer, to, place, true);
        writer.raw("), ");
    }
    for (number, index) in to.indexes().iter().enumerate() {
        if is_index_made(alteration, &changed, number) {
            writer.raw("ADD ");
            push_index(&mut writer, to, index, number);
            writer.raw(", ");
        }
    }
    for place in 0..to.columns().len() {
        let is_same = alteration.source(place).is_some_and(|old| {
            let reference = |table: &TableSchema, at: usize| {
                table.columns().get(at).and_then(|column| column.reference.clone())
            };
            reference(alteration.renamed(), old) == reference(to, place)
        });
        if !is_same && to.columns().get(place).is_some_and(|column| column.reference.is_some()) {
            push_reference(&mut writer, to, place, "ADD ");
            writer.raw(", ");
        }
    }
    for number in alteration.changed_foreign_keys().1 {
        if let Some(key) = to.foreign_keys().get(number) {
            writer.raw("ADD ");
            crate::schema::push_foreign_key(&mut writer, to, key, &[]);
            writer.raw(", ");
        }
    }
    if alteration.changes_search() && to.search().is_some() {
        create_search(dialect, to)?;
        writer.raw("ADD COLUMN ");
        push_mariadb_column(&mut writer, to);
        writer.raw(", ADD ");
        push_mariadb_index(&mut writer);
        writer.raw(", ");
    }
    let changes = writer.into_result()?;
    // MariaDB 10.11 keeps the old table next to the new one if it copies the rows of such a name.
    let is_encoded = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    if alteration.renames_table() && !changes.is_empty() && from.name().contains(is_encoded) {
        let message = "MariaDB cannot rename a table with this name and change it at once: rename it in a migration \
                       of its own";
        return Err(Error::new(ErrorKind::Unsupported, message).in_table(from.name().to_owned()));
    }
    let mut writer = Writer::new(dialect);
    writer.raw("ALTER TABLE ").name(from.name()).raw(" ").raw(&changes);
    // Also if the name stays: the statement then has an end.
    writer.raw("RENAME TO ").name(to.name());
    writer.into_result()
}

/// The kept columns that are defined otherwise, or whose folded texts depend on another name.
fn changed_definitions(
    alteration: &TableAlteration,
    dialect: Dialect,
) -> Result<Vec<(usize, usize)>> {
    let mut changed = Vec::new();
    for (old, new) in alteration.kept() {
        let definition = |table: &TableSchema, place: usize| {
            let mut writer = Writer::new(dialect);
            define_parts(&mut writer, table, place, false, ", ");
            writer.into_result()
        };
        let (before, after) =
            (definition(alteration.from(), old)?, definition(alteration.to(), new)?);
        // A new name keeps what the schema does not have, such as another type or collation of the column. MySQL renames no
        // column that a CHECK or another column names.
        let column = alteration.to().columns().get(new);
        // The comment of a generated column has the names that its expression uses.
        let is_named = column.is_some_and(|column| {
            column.generated.is_some() || dialect == Dialect::MySql && column.check.is_some()
        });
        let is_folded = column.is_some_and(|column| is_folded(dialect, column));
        let is_renamed = !is_named && !is_folded && definition(alteration.renamed(), old)? == after;
        if before != after && !is_renamed {
            changed.push((old, new));
        }
    }
    Ok(changed)
}

fn drop_parts(
    writer: &mut Writer<'_>,
    alteration: &TableAlteration,
    names: &ConstraintNames,
    changed: &[(usize, usize)],
) {
    let from = alteration.from();
    for (old, column) in from.columns().iter().enumerate() {
        let after = alteration.kept().find(|kept| kept.0 == old);
        let after = after.and_then(|(_, new)| alteration.to().columns().get(new));
        let before = alteration.renamed().columns().get(old);
        let stays = before.zip(after).is_some_and(|(a, b)| a.reference == b.reference);
        for name in names.references_of(&column.name).filter(|_| !stays) {
            writer.raw("DROP FOREIGN KEY ").name(name).raw(", ");
            // The index that the server made for it has one of these names.
            for key in [name, &*column.name] {
                let is_own = from.indexes().iter().any(|index| index.name == key);
                if writer.dialect == Dialect::MariaDb && !is_own {
                    writer.raw("DROP KEY IF EXISTS ").name(key).raw(", ");
                }
            }
        }
    }
    let dropped_keys = alteration.changed_foreign_keys().0.into_iter();
    for key in dropped_keys.filter_map(|number| from.foreign_keys().get(number)) {
        for name in names.foreign_keys_of(from, &key.columns) {
            writer.raw("DROP FOREIGN KEY ").name(name).raw(", ");
            // As above: the index of a constraint without a name has that of the first column.
            let first = key.columns.first().and_then(|place| from.columns().get(*place));
            for key in std::iter::once(name).chain(first.map(|column| &*column.name)) {
                let is_own = from.indexes().iter().any(|index| index.name == key);
                if writer.dialect == Dialect::MariaDb && !is_own {
                    writer.raw("DROP KEY IF EXISTS ").name(key).raw(", ");
                }
            }
        }
    }
    for (number, index) in from.indexes().iter().enumerate() {
        let kept = alteration.kept_indexes().into_iter().find(|kept| kept.0 == number);
        if kept.is_none_or(|(_, new)| is_index_made(alteration, changed, new)) {
            let name = mysql_index_name(&index.name);
            writer.raw("DROP KEY ").name(&name).raw(", ");
        }
    }
    let is_redefined = |old: &usize| changed.iter().any(|changed| changed.0 == *old);
    for (old, column) in from.columns().iter().enumerate() {
        let is_dropped = alteration.dropped().contains(&old);
        if is_folded(writer.dialect, column) && (is_dropped || is_redefined(&old)) {
            writer.raw("DROP COLUMN ").name(&format!("{FOLDED}{}", column.name)).raw(", ");
        }
        if is_dropped {
            writer.raw("DROP COLUMN ").name(&column.name).raw(", ");
        }
    }
}

/// Whether an index of the new form is created: it is new, or over a folded text that is defined again.
fn is_index_made(alteration: &TableAlteration, changed: &[(usize, usize)], number: usize) -> bool {
    let kept = alteration.kept_indexes().into_iter().find(|kept| kept.1 == number);
    let Some((old, _)) = kept else { return true };
    let columns = alteration.from().indexes().get(old).map_or(&[][..], |index| &index.columns);
    columns.iter().any(|place| {
        let column = alteration.from().columns().get(*place);
        let collation = column.map_or(Collation::Binary, |column| column.collation);
        collation != Collation::Binary && changed.iter().any(|changed| changed.0 == *place)
    })
}

/// The column's definition, and that of its folded text.
fn define(writer: &mut Writer<'_>, table: &TableSchema, place: usize, added: bool) {
    define_parts(writer, table, place, added, ", ");
}

fn define_parts(
    writer: &mut Writer<'_>,
    table: &TableSchema,
    place: usize,
    added: bool,
    between: &str,
) {
    let Some(column) = table.columns().get(place) else { return };
    let (dialect, ty) = (writer.dialect, column_type(writer.dialect, table, place));
    let collate = dialect.collate(column.collation);
    let is_text = column.storage == Storage::Text;
    writer.name(&column.name).raw(" ").raw(&ty);
    if is_text {
        writer.raw(" CHARACTER SET utf8mb4").raw(collate);
    }
    if column.generated.is_some() {
        push_generated(writer, table, column);
    } else {
        writer.raw(if column.nullable { " NULL" } else { " NOT NULL" });
        if column.default.is_some() || (added && !column.nullable) {
            define_default(writer, column);
        }
    }
    if table.key() == [place] && table.key_generation() == KeyGeneration::Engine {
        writer.raw(" AUTO_INCREMENT");
    }
    let given = table.key().contains(&place) && table.key_generation() == KeyGeneration::Given;
    let unreused = table.key().contains(&place) && table.never_reuses_keys();
    writer.raw(" COMMENT ").literal(ValueRef::Text(&comment(column, given, unreused)));
    push_check(writer, table, column);
    if is_folded(dialect, column) {
        let own = crate::quote(dialect, &column.name);
        writer.raw(between).name(&format!("{FOLDED}{}", column.name)).raw(" ").raw(&ty);
        writer.raw(" CHARACTER SET utf8mb4").raw(collate).raw(" GENERATED ALWAYS AS (");
        writer.raw(&folded(dialect, column.collation, &own)).raw(") VIRTUAL");
        if dialect == Dialect::MariaDb {
            // Not among the columns of `SELECT *`.
            writer.raw(" INVISIBLE");
        }
    }
}

/// In parentheses: an expression, the only form that MySQL takes for long texts and bytes.
fn define_default(writer: &mut Writer<'_>, column: &ColumnSchema) {
    let value = column.added_value();
    writer.raw(" DEFAULT ");
    match (column.ty, value.as_ref()) {
        (Type::Currency, ValueRef::Int(scaled)) => {
            writer.raw(&bobak_core::Currency::from_scaled(scaled).to_string());
        }
        (ty, stored) => match crate::mysql::moment(ty, stored) {
            Some(text) => {
                writer.literal(ValueRef::Text(&text));
            }
            None => {
                writer.raw("(").literal(stored).raw(")");
            }
        },
    }
}

/// With a comment that says what the server does not.
fn push_index(writer: &mut Writer<'_>, table: &TableSchema, index: &IndexSchema, number: usize) {
    let name = mysql_index_name(&index.name);
    writer.raw(if index.unique { "UNIQUE KEY " } else { "KEY " }).name(&name).raw(" (");
    let share = share(table, &index.columns, true);
    writer.list(", ", &index.columns, |writer, &place| {
        writer.sorted(table, place);
        if index.unique {
            return;
        }
        let column = table.columns().get(place);
        let text = column.is_some_and(|column| column.storage == Storage::Text);
        let room = if text { share / 4 } else { share };
        // A prefix must not be longer than the column.
        let limit = column.and_then(size).or_else(|| limit(table, place));
        if limit.is_none_or(|bytes| bytes > share) {
            writer.raw(&format!("({})", room.min(INDEX_CHARS)));
        }
    });
    let comment = mysql_index_comment(&index.name, number);
    writer.raw(") COMMENT ").literal(ValueRef::Text(&comment));
}

fn push_reference(writer: &mut Writer<'_>, table: &TableSchema, place: usize, before: &str) {
    let Some(column) = table.columns().get(place) else { return };
    if let Some(reference) = &column.reference {
        writer.raw(before).raw("FOREIGN KEY (").name(&column.name).raw(") REFERENCES ");
        writer.name(&reference.table).raw(" (").name(&reference.column).raw(")");
        push_actions(writer, reference.on_delete, reference.on_update, reference.deferred);
    }
}
