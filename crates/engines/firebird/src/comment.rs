//! The comment on a table: what the table is to Bobak, and whether a change of it has not ended.

use crate::names::{Names, quoted};
use bobak_core::{Error, ErrorKind, Result, TableSchema};
use bobak_engine_common::{StatementDialect, table_from_json, table_to_json, text_literal};

/// How a comment begins that describes one of Bobak's tables.
const WHOLE: &str = "bobak: ";
/// The same of a table that is being changed; the number of the connection follows.
const CHANGED: &str = "bobak change ";
/// How the comment on a table begins that gets the rows of another one; the number of the connection follows.
const COPY: &str = "bobak copy ";
/// How the comment on a table begins that has the rows of one which is being created again; the number of the connection
/// follows.
const MOVED: &str = "bobak rows ";
/// How the comments on tables begin whose change has not ended.
pub(crate) const UNFINISHED: &str = "bobak ";
/// The longest description: a literal of 16,383 characters, each of which a quote may double.
const LONGEST: usize = 16_000;

/// What the comment on a table says.
#[derive(Debug)]
pub(crate) enum TableComment {
    /// The table is this one.
    Whole(TableSchema),
    /// The connection with this number changes the table. Its columns are these; rules and indexes may be missing.
    Changed(i64, TableSchema),
    /// The connection with this number copies rows into the table, and it has none yet.
    Copy(i64),
    /// The table has the rows of this one, which the connection with this number creates again.
    Moved(i64, TableSchema),
}

impl TableComment {
    /// Reads a comment; `None` for that of another program.
    pub(crate) fn read(comment: &str) -> Option<Self> {
        if let Some(json) = comment.strip_prefix(WHOLE) {
            return described(json).map(Self::Whole);
        }
        for (start, make) in [(CHANGED, Self::Changed as fn(_, _) -> _), (MOVED, Self::Moved)] {
            if let Some(rest) = comment.strip_prefix(start) {
                let (number, json) = rest.split_once(": ")?;
                return Some(make(number.parse().ok()?, described(json)?));
            }
        }
        comment.strip_prefix(COPY)?.parse().ok().map(Self::Copy)
    }

    /// The connection that has not ended its change.
    pub(crate) const fn connection(&self) -> Option<i64> {
        match self {
            Self::Whole(_) => None,
            Self::Changed(number, _) | Self::Copy(number) | Self::Moved(number, _) => Some(*number),
        }
    }
}

fn described(json: &str) -> Option<TableSchema> {
    table_from_json(&serde_json::from_str(json).ok()?).ok()
}

/// The statement that describes a table in its comment.
///
/// # Errors
/// `Unsupported` for a description that is longer than Firebird's literals.
pub(crate) fn whole(names: Names, table: &TableSchema) -> Result<String> {
    Ok(text(&names.stored(table.name()), &(WHOLE.to_owned() + &description(table)?)))
}

/// The statement that says that this connection changes a table.
///
/// # Errors
/// As [`whole`].
pub(crate) fn changed(names: Names, table: &TableSchema, connection: i64) -> Result<String> {
    let comment = format!("{CHANGED}{connection}: {}", description(table)?);
    Ok(text(&names.stored(table.name()), &comment))
}

/// The statement that says that this connection copies rows into the table with this name in the catalog.
pub(crate) fn copy(name: &str, connection: i64) -> String {
    text(name, &format!("{COPY}{connection}"))
}

/// The statement that says that the table with this name in the catalog has the rows of another one, which this connection
/// creates again.
///
/// # Errors
/// As [`whole`].
pub(crate) fn moved(name: &str, table: &TableSchema, connection: i64) -> Result<String> {
    Ok(text(name, &format!("{MOVED}{connection}: {}", description(table)?)))
}

fn description(table: &TableSchema) -> Result<String> {
    let json = in_three_bytes(&table_to_json(table).to_string());
    if json.len() <= LONGEST {
        return Ok(json);
    }
    let message = format!(
        "the table's description has {} bytes, and Firebird's literals have at most {LONGEST}: \
         take fewer columns, or shorter names",
        json.len()
    );
    Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
}

/// JSON without characters of four bytes, which comments of version 3 do not have: escapes stand for them.
fn in_three_bytes(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter.len_utf8() {
            4 => {
                let units = letter.encode_utf16(&mut [0; 2]).to_vec();
                text.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
            _ => text.push(letter),
        }
    }
    text
}

fn text(name: &str, comment: &str) -> String {
    format!("COMMENT ON TABLE {} IS {}", quoted(name), text_literal(comment))
}
