//! Queries. Those of a known dialect run in the database; of any other database, Bobak reads the rows and does the rest.

use crate::connection::Connection;
use crate::moments::is_moment;
use crate::product::ProductKind;
use crate::values::{BoundParameter, Target};
use bobak_core::{
    Error, ErrorKind, Expr, Result, Row, RowLock, Select, TableSchema, Type, ValueRef,
};
use bobak_engine_common::query_table;
use bobak_sql::token::SqlTokenKind;
use bobak_sql::{Dialect, Statement, only_reads, reject_control, rewrite_statement};
use odbc_sys::SqlDataType as Sql;
use std::sync::Arc;

/// Runs a query of a table.
///
/// # Errors
/// As [`Session::query`](bobak_core::Session::query).
pub(crate) fn run(
    connection: &mut Connection,
    select: &Select,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    match connection.product.kind {
        ProductKind::Postgres | ProductKind::MySql => run_there(connection, select, row),
        ProductKind::Sqlite | ProductKind::Other => run_here(connection, select, row),
    }
}

/// SQL text in the database's words, whose parameters are cast to their types.
///
/// # Errors
/// As [`rewrite_statement`].
pub(crate) fn sql_text(
    connection: &Connection,
    text: &str,
    parameters: &[bobak_core::Parameter<'_>],
) -> Result<String> {
    let (kind, dialect) = (connection.product.kind, connection.product.dialect);
    let text = match kind {
        ProductKind::Other => text.into(),
        _ => bobak_sql::translate(dialect, text)?,
    };
    let given = parameters.len();
    rewrite_statement(dialect.syntax(), &text, given, |token, _, count| {
        let name = parameters.get(count).and_then(|parameter| cast_of(kind, parameter));
        let cast = || name.map_or_else(|| "?".to_owned(), |name| format!("CAST(? AS {name})"));
        (token.kind == SqlTokenKind::Parameter).then(cast)
    })
}

/// The type to which SQL text casts a parameter, if the database would otherwise guess.
fn cast_of(kind: ProductKind, parameter: &bobak_core::Parameter<'_>) -> Option<String> {
    let value = parameter.value.as_ref();
    let name = match (kind, parameter.ty, value) {
        (ProductKind::Sqlite | ProductKind::Other, ..) | (_, _, ValueRef::Null) => return None,
        (_, Type::Currency, _) => "DECIMAL(19,4)",
        (_, Type::Date, _) => "DATE",
        (ProductKind::MySql, Type::Time, _) => "TIME(6)",
        (ProductKind::MySql, Type::DateTime | Type::Timestamp, _) => "DATETIME(6)",
        (ProductKind::MySql, Type::Decimal, ValueRef::Text(digits)) => {
            let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            return Some(format!("DECIMAL(65,{})", decimals.min(30)));
        }
        (ProductKind::MySql, _, ValueRef::Bytes(_)) => "BINARY",
        (ProductKind::Postgres, Type::Time, _) => "time",
        (ProductKind::Postgres, Type::DateTime, _) => "timestamp",
        (ProductKind::Postgres, Type::Timestamp, _) => "timestamptz",
        (ProductKind::Postgres, Type::Decimal, _) => "numeric",
        (ProductKind::Postgres, Type::Uuid, ValueRef::Bytes(_)) => "uuid",
        (ProductKind::Postgres, _, ValueRef::Bytes(_)) => "bytea",
        (ProductKind::Postgres, _, ValueRef::Text(_)) => "text",
        (ProductKind::Postgres, _, ValueRef::Int(_)) => "int8",
        (ProductKind::Postgres, _, ValueRef::Float(_)) => "float8",
        _ => return None,
    };
    Some(name.to_owned())
}

/// Rejects statements of a transaction or a session; returns whether the text only reads.
///
/// # Errors
/// `Misuse`.
pub(crate) fn check(text: &str) -> Result<bool> {
    const CONTROL: [&str; 11] = [
        "begin",
        "start",
        "commit",
        "rollback",
        "savepoint",
        "release",
        "end",
        "abort",
        "set",
        "use",
        "lock",
    ];
    reject_control(Dialect::Postgres.syntax(), text, &CONTROL)?;
    Ok(only_reads(text))
}

/// MariaDB's driver fails with more.
const MOST_PARAMETERS: usize = 16_000;

/// Runs a query in the database.
fn run_there(
    connection: &mut Connection,
    select: &Select,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let (kind, dialect) = (connection.product.kind, connection.product.dialect);
    if let Some(RowLock::WaitAtMost(time)) = select.lock {
        match dialect {
            Dialect::Postgres => {
                connection
                    .command(&format!("SET LOCAL lock_timeout = {}", time.as_millis().max(1)))?;
            }
            Dialect::MySql => {
                let message = "MySQL has no timeout for one query's row locks: take \
                               RowLock::NoWait, or set busy_timeout";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            _ => {}
        }
    }
    let target = |expr: &Expr| target(kind, &select.table, expr);
    // Of them, psqlodbc loses infinities and years before Christ, and takes longer to parse them than all else.
    let is_text = |expr: Expr| {
        kind == ProductKind::Postgres
            && matches!(target(&expr), Target::Literal(ty) if is_moment(ty) || ty == Type::Time)
    };
    let Statement { text, parameters } = bobak_sql::select_as_text(dialect, select, &is_text);
    if kind == ProductKind::MySql && parameters.len() > MOST_PARAMETERS {
        return run_here(connection, select, row);
    }
    // The server gives each parameter a type, in which the driver needs it.
    let types = match kind {
        ProductKind::Postgres if !parameters.is_empty() => connection.parameter_types(&text)?,
        _ => Arc::default(),
    };
    let buffers = parameters.iter().enumerate().map(|(at, value)| {
        let target = parameter_target(types.get(at).copied().flatten(), value.as_ref());
        let bound = BoundParameter::single(kind, target, value.as_ref());
        bound.map(BoundParameter::into_buffer)
    });
    let buffers = buffers.collect::<Result<_>>()?;
    let targets = select.columns.iter().map(target).collect();
    let done = connection.each_bound(Some(&select.table), &text, buffers, Some(targets), row);
    if dialect == Dialect::Postgres && matches!(select.lock, Some(RowLock::WaitAtMost(_))) {
        connection.command("SET LOCAL lock_timeout TO DEFAULT")?;
    }
    done
}

/// How a value goes to a parameter of this type.
const fn parameter_target(ty: Option<Sql>, value: ValueRef<'_>) -> Target {
    match (ty, value) {
        (Some(Sql::DATE), ValueRef::Int(_)) => Target::Literal(Type::Date),
        (Some(Sql::TIME), ValueRef::Int(_)) => Target::Literal(Type::Time),
        (Some(Sql::TIMESTAMP), ValueRef::Int(_)) => Target::Literal(Type::DateTime),
        (Some(Sql::NUMERIC | Sql::DECIMAL), ValueRef::Int(_)) => Target::Literal(Type::Currency),
        (Some(Sql::EXT_GUID), ValueRef::Bytes(_)) => Target::Literal(Type::Uuid),
        (Some(Sql::EXT_BIT), ValueRef::Int(_)) => Target::Literal(Type::Bool),
        _ => Target::of_value(value),
    }
}

/// How the values of an expression come back.
fn target(kind: ProductKind, table: &TableSchema, expr: &Expr) -> Target {
    let of = |place: usize| table.columns().get(place).map(|column| Target::of(kind, column));
    match *expr {
        Expr::Column(place) | Expr::Min(place) | Expr::Max(place) => {
            of(place).unwrap_or(Target::Text)
        }
        Expr::Count | Expr::CountOf(_) => Target::Int,
        Expr::Avg(_) => Target::Float,
        Expr::Sum(place) => match of(place) {
            Some(Target::Int | Target::Literal(Type::Bool)) => Target::Literal(Type::I64),
            Some(target @ Target::Literal(_)) => target,
            _ => Target::Float,
        },
        _ => Target::Text,
    }
}

/// Reads the rows of a table, and runs the query over them.
fn run_here(
    connection: &mut Connection,
    select: &Select,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    if select.lock.is_some() {
        let message = "Bobak does not know how this database locks rows";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    query_table(connection, select, row)
}
