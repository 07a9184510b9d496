//! Values for the parameters of recorded statements, from the columns that they are compared with.

use crate::commands::sql_files::tokens;
use bobak::schema::TableSchema;
use bobak::{Db, DynRow, Error, Result, Value};
use bobak_sql::token::{SqlToken, SqlTokenKind};

/// How many sets of values a statement runs with.
pub const SETS: u64 = 5;

/// What a parameter stands for.
enum ParameterUse {
    /// A value of a column.
    Column { table: String, column: String },
    /// A number of rows.
    Number(i64),
}

/// Sets of values for a statement; `None` if a parameter is compared with no column.
///
/// # Errors
/// Those of reading the columns.
pub fn sets(
    db: &Db,
    sql: &str,
    tables: &[TableSchema],
) -> Result<Option<Vec<Vec<Value<'static>>>>> {
    let Some(uses) = uses(sql, tables) else { return Ok(None) };
    if uses.is_empty() {
        return Ok(Some(vec![Vec::new()]));
    }
    let sets = (0..SETS).map(|set| uses.iter().map(|one| one.value(db, set)).collect());
    sets.collect::<Result<_>>().map(Some)
}

impl ParameterUse {
    /// The value of a row in the middle of the set's part of the table.
    fn value(&self, db: &Db, set: u64) -> Result<Value<'static>> {
        let (table, column) = match self {
            Self::Number(number) => return Ok(Value::Int(*number)),
            Self::Column { table, column } => (quoted(table), quoted(column)),
        };
        let counts = db.sql::<i64>(&format!("SELECT count({column}) FROM {table}"), ())?;
        let rows = counts.first().map_or(0, |count| count.unsigned_abs());
        let place = rows * (2 * set + 1) / (2 * SETS);
        let sql = format!(
            "SELECT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT 1 OFFSET {place}"
        );
        let found = db.sql::<DynRow>(&sql, ())?;
        let value = found.first().and_then(|row| row.values().first().cloned());
        value.ok_or_else(|| {
            Error::new(bobak::ErrorKind::NotFound, format!("{column} of {table} has no values"))
        })
    }
}

/// The uses of all parameters, in their order.
fn uses(sql: &str, tables: &[TableSchema]) -> Option<Vec<ParameterUse>> {
    let tokens = tokens(sql);
    let places = tokens.iter().enumerate().filter(|(_, t)| t.kind == SqlTokenKind::Parameter);
    places.map(|(place, _)| use_at(tokens.get(..place)?, &tokens, tables)).collect()
}

/// What the parameter behind these tokens stands for.
fn use_at(
    before: &[SqlToken<'_>],
    all: &[SqlToken<'_>],
    tables: &[TableSchema],
) -> Option<ParameterUse> {
    const PASSED: [&str; 8] = ["in", "like", "between", "and", "not", "is", "escape", "("];
    for (place, token) in before.iter().enumerate().rev() {
        let is_passed = PASSED.iter().any(|word| token.text.eq_ignore_ascii_case(word))
            || matches!(token.kind, SqlTokenKind::Operator | SqlTokenKind::Parameter);
        if is_passed {
            continue;
        }
        return match token.text.to_ascii_lowercase().as_str() {
            "limit" => Some(ParameterUse::Number(20)),
            "offset" => Some(ParameterUse::Number(0)),
            _ => {
                let dot = place.checked_sub(1).and_then(|dot| before.get(dot));
                let alias = dot.filter(|dot| dot.is_operator("."));
                let alias = alias.and_then(|_| before.get(place.checked_sub(2)?)).map(name);
                column(name(token), alias, all, tables)
            }
        };
    }
    None
}

/// A name without its quotes.
fn name<'a>(token: &SqlToken<'a>) -> &'a str {
    match token.kind {
        SqlTokenKind::QuotedName => token.text.get(1..token.text.len() - 1).unwrap_or_default(),
        _ => token.text,
    }
}

/// A column of one of the tables that a statement names: of the one that the alias means, if there is one.
fn column(
    column: &str,
    alias: Option<&str>,
    all: &[SqlToken<'_>],
    tables: &[TableSchema],
) -> Option<ParameterUse> {
    let is_meant = |table: &&TableSchema| {
        let places =
            all.iter().enumerate().filter(|(_, t)| name(t).eq_ignore_ascii_case(table.name()));
        let is_alias = |word: &str| {
            alias.is_none_or(|alias| {
                let near = |(place, _): (usize, _)| {
                    let next = all.get(place + 1..).unwrap_or_default();
                    let next = next.iter().find(|token| !token.is_word("as"));
                    next.is_some_and(|token| name(token).eq_ignore_ascii_case(alias))
                };
                alias.eq_ignore_ascii_case(word) || places.clone().any(near)
            })
        };
        places.clone().next().is_some() && is_alias(table.name())
    };
    tables.iter().filter(is_meant).find_map(|table| {
        let mut columns = table.columns().iter();
        let found = columns.find(|one| one.name.eq_ignore_ascii_case(column))?;
        let (table, column) = (table.name().to_owned(), found.name.to_string());
        Some(ParameterUse::Column { table, column })
    })
}

/// A name in quotes.
pub fn quoted(name: &str) -> String {
    bobak_sql::quote(bobak_sql::Dialect::Sqlite, name)
}
