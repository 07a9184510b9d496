//! SQL text of callers, and updates and deletes by a condition.

use crate::connection::{Connection, PreparedStatement};
use crate::error::{locate, without_row};
use crate::protocol::message::{Message, rows_of_tag};
use crate::protocol::value::{Outside, oid};
use crate::session::outcome::is_utility;
use crate::session::state::SessionState;
use crate::session::typed;
use crate::table_info::SQL;
use bobak_core::sql_token::{SqlSyntax, SqlTokenKind, SqlTokenizer};
use bobak_core::{
    BulkChange, ColumnSchema, Currency, Error, ErrorKind, Parameter, Result, Type, Value, ValueRef,
};
use bobak_sql::{changes_session, first_word, returns_rows};
use std::fmt::Write;
use std::sync::Arc;

/// Updates or deletes rows by a condition.
///
/// # Errors
/// As [`Session::change`](bobak_core::Session::change).
pub(crate) fn change(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    change: &BulkChange<'_>,
) -> Result<u64> {
    if let Some(assigned) = change.assign {
        let info = state.table_info(connection, change.table)?;
        info.narrow.check_assigned(change.table, assigned)?;
    }
    let (prepared, parameters) = typed::change(state, connection, change)?;
    run(state, connection, &prepared, &parameters).map_err(|error| locate(error, change.table))
}

/// Runs an SQL statement.
///
/// # Errors
/// As [`Session::execute`](bobak_core::Session::execute).
pub(crate) fn execute(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    sql: &str,
    parameters: &[Parameter<'_>],
) -> Result<u64> {
    let (prepared, values) = prepare(state, connection, sql, parameters)?;
    run(state, connection, &prepared, &values)
}

fn run(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    prepared: &PreparedStatement,
    parameters: &[Value<'_>],
) -> Result<u64> {
    run_with(state, connection, |connection| {
        let value = |at: usize| parameters.get(at).map_or(ValueRef::Null, Value::as_ref);
        // Assigned values must fit. Here they cannot be told from compared values.
        connection
            .bind(prepared, "", Outside::Rejected, value)
            .map_err(|e| without_row(e, None))?;
        connection.execute("", 0);
        Ok(())
    })
}

/// Runs the statement that `ask` appends, and returns the number of rows that it changed.
///
/// # Errors
/// Those of the server and the connection, and of `ask`.
pub(crate) fn run_with(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    ask: impl FnOnce(&mut Connection) -> Result<()>,
) -> Result<u64> {
    let mut changed = 0;
    state.operation(connection, true, ask, |message| {
        if let Message::Done(tag) = message
            && !is_utility(tag)
            && !tag.starts_with(b"SELECT")
        {
            changed = rows_of_tag(tag);
        }
        Ok(())
    })?;
    Ok(changed)
}

/// Rejects a statement that would change only a session that is not used again, or that disturbs the engine's own.
fn check_session_change(state: &SessionState<'_>, sql: &str) -> Result<()> {
    const NEVER: [&str; 4] = ["discard", "deallocate", "prepare", "execute"];
    const INSIDE: [&str; 5] = ["set", "reset", "listen", "unlisten", "load"];
    bobak_sql::reject_control(SQL.syntax(), sql, &NEVER)?;
    let word = first_word(SQL.syntax(), sql).to_ascii_lowercase();
    if state.open || !INSIDE.contains(&word.as_str()) {
        return Ok(());
    }
    let message = format!(
        "{word} outside of a transaction would change a connection that the next statement need not use: \
         begin a transaction, whose connection is then closed"
    );
    Err(Error::new(ErrorKind::Misuse, message))
}

/// Rejects statements that begin or end transactions, of which the session would not know, and COPY by the connection: its data
/// are not replies to a statement.
fn reject_own_protocol(sql: &str) -> Result<()> {
    const STEPS: [&str; 8] =
        ["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"];
    bobak_sql::reject_control(SQL.syntax(), sql, &STEPS)?;
    let mut tokens = SqlTokenizer::new(SQL.syntax(), sql).significant();
    let is_copy = first_word(SQL.syntax(), sql).eq_ignore_ascii_case("copy");
    if is_copy && tokens.any(|token| token.is_word("stdin") || token.is_word("stdout")) {
        let message = "COPY by the connection is not possible as SQL: use a batch, or `bobak import` and `bobak export`";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(())
}

/// Prepares an SQL statement, and returns its parameters in the form in which they are bound. The server infers the
/// type of each `?` from its context; if it cannot, or if the parameter is of another type, the parameter's own is used.
///
/// # Errors
/// `Mismatch` if the number of parameters differs from that of placeholders; `Misuse` for statements of a transaction, and for too many parameters; `Unsupported` for
/// COPY by the connection; those of the server.
pub(crate) fn prepare<'a>(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    sql: &str,
    parameters: &'a [Parameter<'_>],
) -> Result<(Arc<PreparedStatement>, Vec<Value<'a>>)> {
    bobak_sql::check_statement(SQL.syntax(), sql)?;
    bobak_sql::check_value_count(parameters.len(), SQL.max_parameters())?;
    reject_own_protocol(sql)?;
    if changes_session(SQL.syntax(), sql) {
        check_session_change(state, sql)?;
        connection.session_changed = true;
    }
    let (text, savepoints) = numbered(&bobak_sql::translate(SQL, sql)?);
    if savepoints != parameters.len() {
        let given = parameters.len();
        return Err(Error::wrong_number(ErrorKind::Mismatch, given, savepoints, "parameter"));
    }
    let syntax = |error: Error| match crate::error::server(&error).map(|said| said.code.clone()) {
        // For a caller's SQL, an unknown function is a syntax error, not a wrong schema.
        Some(code) if code == "42883" => {
            Error::new(ErrorKind::Syntax, error.message()).with_source(error)
        }
        _ => error,
    };
    let prepared = state.prepare(connection, &text, &[]).map_err(syntax)?;
    let is_query = returns_rows(sql);
    let given = || parameters.iter().zip(&prepared.parameters);
    let types: Vec<u32> = given().map(|(one, oid)| type_for(one, *oid, is_query)).collect();
    let bound = parameters.iter().zip(&types).map(|(one, oid)| bound_value(one, *oid));
    let values = bound.collect::<Result<Vec<_>>>()?;
    if types == prepared.parameters {
        return Ok((prepared, values));
    }
    // The types are part of the text, since the statement cache is keyed by it.
    let shown: Vec<String> = types.iter().map(ToString::to_string).collect();
    let text = format!("{text} /* {} */", shown.join(" "));
    Ok((state.prepare(connection, &text, &types).map_err(syntax)?, values))
}

/// The type as which a parameter is sent, if the server infers the type `inferred` from the statement.
fn type_for(parameter: &Parameter<'_>, inferred: u32, is_query: bool) -> u32 {
    let own = match parameter.ty {
        Type::Bool => oid::BOOL,
        Type::Currency | Type::Decimal => oid::NUMERIC,
        Type::Date => oid::DATE,
        Type::Time => oid::TIME,
        Type::DateTime => oid::TIMESTAMP,
        Type::Timestamp => oid::TIMESTAMPTZ,
        Type::Uuid => oid::UUID,
        _ => return type_for_plain(&parameter.value, inferred),
    };
    let keeps = match inferred {
        // What the server infers if nothing says the type. A column of texts may also keep dates.
        oid::TEXT => !is_query && !matches!(own, oid::NUMERIC | oid::BOOL),
        oid::FLOAT4 | oid::FLOAT8 => own == oid::NUMERIC,
        oid::INT2 | oid::INT4 | oid::INT8 => own == oid::BOOL,
        oid::NUMERIC => matches!(own, oid::NUMERIC | oid::BOOL),
        oid::TIMESTAMP | oid::TIMESTAMPTZ => matches!(own, oid::TIMESTAMP | oid::TIMESTAMPTZ),
        oid::BYTEA | oid::UUID => own == oid::UUID,
        oid::VARCHAR | oid::BPCHAR => true,
        other => other == own,
    };
    if keeps { inferred } else { own }
}

/// As [`type_for`], for numbers, texts and bytes.
fn type_for_plain(value: &Value<'_>, inferred: u32) -> u32 {
    match (value, inferred) {
        (Value::Int(_), oid::TEXT) => oid::INT8,
        (Value::Float(_), oid::TEXT) => oid::FLOAT8,
        (Value::Bytes(_), oid::TEXT) => oid::BYTEA,
        // Otherwise the server would reject a number too large for the column instead of comparing it.
        (Value::Int(_), oid::INT2 | oid::INT4) => oid::INT8,
        // A number is not a date: the server rejects the comparison, but `date - integer` is possible.
        (Value::Int(number), oid::DATE | oid::TIME | oid::TIMESTAMP | oid::TIMESTAMPTZ) => {
            if i32::try_from(*number).is_ok() {
                oid::INT4
            } else {
                oid::INT8
            }
        }
        (_, inferred) => inferred,
    }
}

/// A parameter's value in the form in which it is sent as this type.
fn bound_value<'a>(parameter: &'a Parameter<'_>, oid: u32) -> Result<Value<'a>> {
    let value = parameter.value.as_ref();
    Ok(match (value, parameter.ty) {
        (ValueRef::Int(_), Type::Currency) if oid == oid::NUMERIC => value.into(),
        (ValueRef::Int(scaled), Type::Currency) => {
            Value::from(Currency::from_scaled(scaled).to_string())
        }
        (ValueRef::Int(number), _) if oid == oid::NUMERIC => Value::from(number.to_string()),
        (ValueRef::Float(number), _) if oid == oid::NUMERIC => Value::from(format!("{number:?}")),
        (_, ty) if ty.has_text_form() && matches!(oid, oid::TEXT | oid::VARCHAR | oid::BPCHAR) => {
            ColumnSchema::new("parameter", ty).as_text().nullable(true).accept(value.into())?
        }
        _ => value.into(),
    })
}

/// The text with `$1`, `$2` in place of each `?` outside of quotes and comments, and their number.
fn numbered(sql: &str) -> (String, usize) {
    let mut text = String::with_capacity(sql.len() + 16);
    let mut count = 0;
    for token in SqlTokenizer::new(SqlSyntax::Postgres, sql) {
        if token.kind == SqlTokenKind::Parameter && token.text == "?" {
            count += 1;
            // Writing to a String does not fail.
            let _ = write!(text, "${count}");
        } else {
            text.push_str(token.text);
        }
    }
    let trimmed = text.trim_end().trim_end_matches(';').len();
    text.truncate(trimmed);
    (text, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered() {
        for (sql, expected, savepoints) in [
            ("a = ? and b = ?;", "a = $1 and b = $2", 2),
            ("'?' \"?\" 'it''s ?' ?", "'?' \"?\" 'it''s ?' $1", 1),
            ("? -- ?\n?", "$1 -- ?\n$2", 2),
            ("/* ? /* ? */ ? */ ?", "/* ? /* ? */ ? */ $1", 1),
            ("$x$ ? $x$ ? $$ ? $$", "$x$ ? $x$ $1 $$ ? $$", 1),
            ("'open ?", "'open ?", 0),
            ("é?", "é$1", 1),
            ("a$x$ = ? and b$x$ = ?", "a$x$ = $1 and b$x$ = $2", 2),
            (r"E'\' ?' ?", r"E'\' ?' $1", 1),
            ("-- ?\r?", "-- ?\r$1", 1),
        ] {
            assert_eq!(numbered(sql), (expected.to_owned(), savepoints), "{sql}");
        }
    }
}
