//! Names of indexes where tables and indexes share one name space.
//!
//! An index belongs to its table, and so does its name: two tables may have indexes of the same name, as
//! in memory and MariaDB. In SQLite and PostgreSQL such a name can be taken, perhaps by a table that the
//! client may not see. The index then has a substitute name in the database, and its own in the schema. So has one whose
//! name is longer than those of the server.

use crate::schema::places;
use crate::writer::Writer;
use crate::{Dialect, FOLDED_INDEX};
use bobak_core::{Error, ErrorKind, Result, TableSchema, ValueRef};
use std::borrow::Cow;

const PREFIX: &str = "bobak_index:";
const NAME: &str = " as ";
const NUMBER: &str = "bobak:";

/// The name in the database of an index whose own name is taken.
#[must_use]
pub fn substitute_index_name(dialect: Dialect, table: &str, index: &str) -> String {
    match dialect {
        Dialect::Sqlite => format!("{PREFIX}{table}:{index}"),
        // Names have limits there: FNV-1a, and the index's own name in a comment.
        Dialect::Postgres | Dialect::MariaDb | Dialect::MySql => {
            let bytes = table.bytes().chain([0]).chain(index.bytes());
            let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            });
            format!("{PREFIX}{hash:016x}")
        }
    }
}

/// Whether the server cuts or rejects the name: PostgreSQL's have at most 63 bytes, MariaDB's 64 characters.
fn is_too_long(dialect: Dialect, name: &str) -> bool {
    match dialect {
        Dialect::Sqlite => false,
        Dialect::Postgres => name.len() > 63,
        Dialect::MariaDb | Dialect::MySql => name.chars().count() > 64,
    }
}

/// An index's name in MariaDB, where only a name that is too long has a substitute, the same in all tables.
#[must_use]
pub fn mysql_index_name(index: &str) -> Cow<'_, str> {
    match is_too_long(Dialect::MariaDb, index) {
        true => substitute_index_name(Dialect::MariaDb, "", index).into(),
        false => index.into(),
    }
}

/// The comment of an index in MariaDB: its number in the schema, because the server lists unique ones first, and its own
/// name if that is too long.
pub(crate) fn mysql_index_comment(name: &str, number: usize) -> String {
    match is_too_long(Dialect::MariaDb, name) {
        true => format!("{NUMBER}{number}{NAME}{name}"),
        false => format!("{NUMBER}{number}"),
    }
}

/// The number and the own name in the comment of an index in MariaDB.
#[must_use]
pub fn parse_mysql_index_comment(comment: &str) -> (Option<usize>, Option<&str>) {
    let rest = comment.strip_prefix(NUMBER).unwrap_or_default();
    let (number, name) = match rest.split_once(NAME) {
        Some((number, name)) => (number, Some(name)),
        None => (rest, None),
    };
    (number.parse().ok(), name)
}

/// The schema with a substitute for each name of an index that is taken or too long.
///
/// # Errors
/// Those of `is_taken`.
pub fn substitute_index_names(
    dialect: Dialect,
    table: &TableSchema,
    mut is_taken: impl FnMut(&str) -> Result<bool>,
) -> Result<TableSchema> {
    let mut taken = Vec::new();
    for index in table.indexes() {
        let is_long = is_too_long(dialect, &index.name);
        if is_long || index.name.eq_ignore_ascii_case(table.name()) || is_taken(&index.name)? {
            taken.push(&*index.name);
        }
    }
    let substitute = |name: &str| substitute_index_name(dialect, table.name(), name);
    Ok(table.clone().rename_indexes(|name| taken.contains(&name).then(|| substitute(name))))
}

/// The error for an index that the table already has, by its own name: a substitute in it would reveal that another
/// table or index has the name.
#[must_use]
pub fn existing_index(table: &TableSchema, index: &str) -> Error {
    let message = format!("the index '{index}' already exists");
    Error::new(ErrorKind::Schema, message).in_table(table.name().to_owned())
}

/// An index's own name, by its name in an SQLite file.
#[must_use]
pub fn index_name<'n>(table: &str, name: &'n str) -> &'n str {
    let own = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix(table));
    own.and_then(|rest| rest.strip_prefix(':')).unwrap_or(name)
}

/// The statement that notes, in PostgreSQL, the columns and the own name of an index; `None` if `renamed`
/// has no substitute for it.
#[must_use]
pub fn note_index_name(table: &TableSchema, renamed: &TableSchema, index: usize) -> Option<String> {
    let (own, index) = (table.indexes().get(index)?, renamed.indexes().get(index)?);
    let comment = format!("{FOLDED_INDEX}{}{NAME}{}", places(&index.columns), own.name);
    let mut writer = Writer::new(Dialect::Postgres);
    writer.raw("COMMENT ON INDEX ").name(&index.name).raw(" IS ");
    writer.literal(ValueRef::Text(&comment));
    (own.name != index.name).then(|| writer.into_text())
}

/// The comment of an index without its own name, and the name if the comment has one.
#[must_use]
pub fn split_index_comment(comment: &str) -> (&str, Option<&str>) {
    match comment.split_once(NAME).filter(|_| comment.starts_with(FOLDED_INDEX)) {
        Some((columns, name)) => (columns, Some(name)),
        None => (comment, None),
    }
}
