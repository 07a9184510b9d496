//! The server's errors as Bobak's.

use crate::Dialect;
use bobak_core::check::CheckExpression;
use bobak_core::{Error, ErrorKind, ForeignKey, TableSchema};
use std::fmt;

const SQL: Dialect = Dialect::Postgres;

/// What the server said: the error's [`source`](std::error::Error::source).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// The SQLSTATE.
    pub code: String,
    /// The message.
    pub message: String,
    /// The detail.
    pub detail: Option<String>,
    /// The table that it is about.
    pub table: Option<String>,
    /// The column that it is about.
    pub column: Option<String>,
    /// The rule that was broken.
    pub constraint: Option<String>,
}

impl ServerError {
    /// The SQLSTATE: five letters and digits.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The constraint or index that rejected, where one did.
    #[must_use]
    pub fn constraint(&self) -> Option<&str> {
        self.constraint.as_deref()
    }

    /// Reads the fields of an ErrorResponse.
    pub fn parse(mut body: &[u8]) -> Self {
        let mut error = Self::default();
        while let [field @ 1..=255, rest @ ..] = body {
            let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
            let (text, tail) = rest.split_at(end);
            let text = String::from_utf8_lossy(text).into_owned();
            body = tail.get(1..).unwrap_or_default();
            match field {
                b'C' => error.code = text,
                b'M' => error.message = text,
                b'D' => error.detail = Some(text),
                b't' => error.table = Some(text),
                b'c' => error.column = Some(text),
                b'n' => error.constraint = Some(text),
                _ => {}
            }
        }
        error
    }

    /// As Bobak's error: the kind, and the sentence in its style.
    pub fn into_error(self) -> Error {
        let kind = kind(&self.code);
        let mut message = sentence(&self.message);
        if let Some(detail) = &self.detail {
            message = format!("{message}: {}", sentence(detail));
        }
        let hint = match self.code.as_str() {
            "26000" | "42P05" => "; behind a proxy set prepared=off",
            "42704" if self.message.contains("und-x-icu") => {
                "; this server was built without ICU, and docs/postgres.md says what to create instead"
            }
            _ => "",
        };
        Error::new(kind, format!("{message}{hint}")).with_source(self)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.code)
    }
}

impl std::error::Error for ServerError {}

/// One line in lower case, without a closing full stop. Names and words in capitals stay.
pub fn sentence(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    let line = line.trim_end_matches('.');
    let mut letters = line.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && !second.is_uppercase() => {
            format!("{}{}", first.to_lowercase(), letters.as_str())
        }
        (Some(first), Some(_)) if first.is_uppercase() => format!("the server: {line}"),
        _ => line.to_owned(),
    }
}

/// The kind of a SQLSTATE: the code itself first, then its class.
pub fn kind(code: &str) -> ErrorKind {
    match code {
        "23505" => ErrorKind::Duplicate,
        // The latter: a key, or a unique value, that is longer than an index takes.
        "22001" | "54000" => ErrorKind::TooLong,
        "22003" | "22007" | "22008" | "22012" => ErrorKind::OutOfRange,
        "2200H" | "53100" => ErrorKind::Full,
        "22021" | "22P05" => ErrorKind::Unsupported,
        "22P02" | "42804" | "42846" | "42P18" => ErrorKind::Mismatch,
        "22P03" | "22P04" | "42P01" | "42703" | "42P07" | "42701" | "42704" | "42710" | "42P10"
        | "3F000" | "42883" | "42P16" | "42830" => ErrorKind::Schema,
        // Other objects depend on what would be dropped.
        "2BP01" => ErrorKind::Constraint,
        "25006" => ErrorKind::ReadOnly,
        // Inside of a transaction, outside of one, or in one that has failed.
        "25001" | "25P01" | "25P02" => ErrorKind::Misuse,
        "40001" | "40P01" => ErrorKind::Serialization,
        "40003" => ErrorKind::Unknown,
        "42501" => ErrorKind::Denied,
        "55P03" | "53300" | "55006" => ErrorKind::Busy,
        "57014" => ErrorKind::Interrupted,
        "57P01" | "57P02" | "57P03" => ErrorKind::Unreachable,
        "3D000" => ErrorKind::Config,
        "XX001" | "XX002" => ErrorKind::Corrupt,
        _ => match code.get(..2).unwrap_or_default() {
            "08" => ErrorKind::Unreachable,
            "0A" | "54" => ErrorKind::Unsupported,
            "23" | "44" => ErrorKind::Constraint,
            "28" => ErrorKind::Denied,
            "40" => ErrorKind::Serialization,
            "42" => ErrorKind::Syntax,
            _ => ErrorKind::Engine,
        },
    }
}

/// What the server said of this error.
pub fn server(error: &Error) -> Option<&ServerError> {
    std::error::Error::source(error).and_then(|source| source.downcast_ref())
}

/// Names table and column of the rule that the server says was broken; of several columns all.
pub fn locate(error: Error, table: &TableSchema) -> Error {
    let Some(said) = server(&error) else { return error.in_table(table.name()) };
    let rule = said.constraint.as_deref();
    let located = match (said.code.as_str(), rule) {
        ("23505", Some(rule)) => {
            unique_columns(table, rule).map(|columns| Error::duplicate(table, columns))
        }
        ("23514", Some(rule)) => {
            broken_check(table, rule).map(|check| Error::check_violation(table, &check))
        }
        ("23503" | "23001", Some(rule)) => broken_reference(said, rule, table),
        _ => None,
    };
    if let Some(located) = located {
        return located.with_source(said.clone());
    }
    let own = said.table.as_deref().is_none_or(|name| name == table.name());
    let column = said.column.clone().filter(|_| own);
    let error = error.in_table(table.name());
    match column {
        Some(column) => error.in_column(column),
        None => error,
    }
}

/// The columns of a unique index, or of the key.
fn unique_columns<'t>(table: &'t TableSchema, rule: &str) -> Option<&'t [usize]> {
    let is_violated =
        |name: &str| name == rule || crate::substitute_index_name(SQL, table.name(), name) == rule;
    match table.indexes().iter().find(|index| is_violated(&index.name)) {
        Some(index) => Some(&index.columns),
        None if rule == format!("{}_pkey", table.name()) => Some(table.key()),
        None => None,
    }
}

/// The check that the server gave this name: it names those over one column by that column, and numbers
/// equal names.
fn broken_check(table: &TableSchema, rule: &str) -> Option<CheckExpression> {
    let mut names: Vec<String> = Vec::new();
    for text in table.columns().iter().filter_map(|column| column.check.as_deref()) {
        let check = CheckExpression::parse(text, table).ok()?;
        let base = match check.columns()[..] {
            [place] => format!("{}_{}_check", table.name(), table.columns().get(place)?.name),
            _ => format!("{}_check", table.name()),
        };
        let numbered = (1..).map(|number| format!("{base}{number}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|name| !names.contains(name));
        let name = name.unwrap_or_default();
        if name == rule {
            return Some(check);
        }
        names.push(name);
    }
    None
}

/// The server names the referring table, and its foreign keys by table and column.
fn broken_reference(said: &ServerError, rule: &str, table: &TableSchema) -> Option<Error> {
    let referring = said.table.as_deref()?;
    let column = rule.strip_prefix(&format!("{referring}_"))?.strip_suffix("_fkey")?;
    // The detail begins with the columns and values of the written row, which are the referring ones in a write
    // to the referring table.
    let (_, written) = said.detail.as_deref()?.split_once('(')?;
    let (written, _) = written.split_once(")=(")?;
    let names: Vec<&str> = written.split(", ").collect();
    if referring == table.name() && names.join("_") == column {
        let has_columns = |key: &ForeignKey| {
            let own = key.columns.iter().filter_map(|place| table.columns().get(*place));
            names.len() == key.columns.len() && own.into_iter().all(|c| names.contains(&&*c.name))
        };
        let key = table.all_foreign_keys().into_iter().find(has_columns)?;
        return Some(Error::missing_parent(referring, written, &key.table));
    }
    if names.len() > 1 {
        // The name of the rule does not say where one column's name ends.
        let message = format!("rows of {referring} refer to the row of {}", table.name());
        return Some(Error::new(ErrorKind::Constraint, message).in_table(referring));
    }
    Some(Error::still_referenced(referring, column, table.name()))
}

/// The error of a commit, which names the deferred foreign key that failed.
pub fn locate_at_commit(error: Error) -> Error {
    let Some(said) = server(&error).filter(|said| said.code == "23503") else { return error };
    match (deferred_reference(said), &said.table) {
        (Some(located), _) => located.with_source(said.clone()),
        (None, Some(table)) => {
            let table = table.clone();
            error.in_table(table)
        }
        (None, None) => error,
    }
}

/// The server quotes the names in its sentences, in the language that it is set to. The message begins with the table that was
/// written to.
fn deferred_reference(said: &ServerError) -> Option<Error> {
    let (table, rule) = (said.table.as_deref()?, said.constraint.as_deref()?);
    let column = rule.strip_prefix(&format!("{table}_"))?.strip_suffix("_fkey")?;
    let quoted = |text: &str| text.split('"').nth(1).map(str::to_owned);
    let written = quoted(&said.message)?;
    let (names, rest) = said.detail.as_deref()?.split_once('(')?.1.split_once(")=(")?;
    if written != table || names.split(", ").collect::<Vec<_>>().join("_") != column {
        return Some(Error::still_referenced(table, column, &written));
    }
    let parent = quoted(rest.rsplit_once(')')?.1)?;
    Some(Error::missing_parent(table, names, &parent))
}

/// Whether a made key met one that is there.
pub fn is_taken_key(error: &Error, table: &TableSchema) -> bool {
    let pkey = format!("{}_pkey", table.name());
    server(error).is_some_and(|said| {
        said.code == "23505" && said.constraint.as_deref() == Some(pkey.as_str())
    })
}

/// The error of a parameter, without the parameter's number.
pub fn without_row(error: Error, table: Option<&TableSchema>) -> Error {
    let error = error.to_bare();
    match table {
        Some(table) => error.in_table(table.name().to_owned()),
        None => error,
    }
}
