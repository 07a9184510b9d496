//! The rows of a result, and the texts that connections send.

use crate::driver::{Buffer, OdbcError, OdbcStatement};
use crate::product::{Product, ProductKind};
use crate::settings::Settings;
use crate::values::{Target, ValueForms, show};
use bobak_core::{Interrupt, Result, ResultColumn, Row};
use bobak_engine_common::ServerRow;
use bobak_sql::Dialect;
use bobak_sql::token::{SqlTokenKind, SqlTokenizer};

/// The rows of the first block of a result.
const FIRST_BLOCK: usize = 16;

/// Reads the rows of a result; the inner error is the reader's.
pub(crate) fn read_rows(
    statement: &mut OdbcStatement,
    targets: Option<Vec<Target>>,
    product: &Product,
    rows: usize,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> std::result::Result<Result<()>, OdbcError> {
    let (forms, in_blocks) = (product.forms, product.reads_in_blocks);
    let described = statement.describe()?;
    if described.is_empty() {
        return Ok(Ok(()));
    }
    let is_typed = targets.is_some();
    let targets = targets.unwrap_or_else(|| described.iter().map(Target::of_result).collect());
    let cells = || targets.iter().zip(&described);
    let is_long = cells().any(|(target, column)| target.is_long(column.size));
    let buffers = |rows: usize| -> Vec<Buffer> {
        cells().map(|(target, column)| target.buffer(forms, column.size, rows)).collect()
    };
    // Most results are small, and buffers are as large as the values may be: a first block of few rows, then whole ones.
    let mut block = rows.min(FIRST_BLOCK);
    if is_long && !in_blocks {
        // The driver reads a long value only of a single row, and of a column that is not bound.
        block = 1;
        statement.bind(Vec::new(), block)?;
    } else {
        statement.bind(buffers(block), block)?;
    }
    let whole = if is_long && !in_blocks { 1 } else { rows };
    let columns = described.iter().zip(&targets);
    let columns = columns.map(|(column, target)| ResultColumn::new(&*column.name, target.ty()));
    let mut view = ServerRow::new(columns.collect(), is_typed);
    loop {
        let fetched = statement.fetch()?;
        for at in 0..fetched.min(block) {
            let read = read_row(&mut view, forms, statement, &targets, (at, block > 1))?;
            let read = read.and_then(|()| row(&view));
            match read {
                Ok(true) => {}
                other => return Ok(other.map(drop)),
            }
        }
        if fetched == 0 {
            return Ok(Ok(()));
        }
        if block < whole && fetched == block {
            block = whole;
            statement.bind(buffers(block), block)?;
        }
        if let Err(error) = Interrupt::check() {
            return Ok(Err(error));
        }
    }
}

/// Takes a row of the block that was fetched; the inner error is that of a value.
fn read_row(
    view: &mut ServerRow,
    forms: ValueForms,
    statement: &OdbcStatement,
    targets: &[Target],
    (row, is_array): (usize, bool),
) -> std::result::Result<Result<()>, OdbcError> {
    view.begin(&[]);
    for (place, target) in targets.iter().enumerate() {
        let whole;
        let bytes = match statement.column(place) {
            Some(buffer) if !buffer.is_cut(row) => buffer.get(row),
            bound => {
                let row = bound.is_some().then_some(row).filter(|_| is_array);
                whole = statement.whole_value(place, target.form(forms), row)?;
                whole.as_deref()
            }
        };
        if let Err(error) = view.push(|view, _| show(view, forms, *target, bytes)) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

/// What Bobak's statements count on.
pub(crate) fn session_settings(product: &Product, settings: &Settings) -> Vec<String> {
    let (busy, timeout) = (settings.busy_timeout.as_millis(), settings.statement_timeout);
    let timeout = timeout.map_or(0, |time| time.as_millis());
    let seconds = settings.busy_timeout.as_secs_f64().ceil().max(1.0);
    match product.kind {
        ProductKind::Postgres => vec![format!(
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; \
             SET lock_timeout = {busy}; SET statement_timeout = {timeout}; SET TimeZone = 'UTC'; \
             SET DateStyle = 'ISO'; SET extra_float_digits = 3"
        )],
        ProductKind::MySql => {
            let mut texts = vec![
                format!(
                    "SET sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,\
                     NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT', \
                     time_zone = '+00:00', innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}"
                ),
                "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ".to_owned(),
            ];
            if product.dialect == Dialect::MariaDb {
                texts.push("SET collation_connection = 'utf8mb4_nopad_bin'".to_owned());
                // The driver ignores the timeout of statements.
                let limit = settings.statement_timeout.map_or(0.0, |time| time.as_secs_f64());
                texts.push(format!("SET max_statement_time = {limit}"));
            }
            texts
        }
        ProductKind::Sqlite => vec!["PRAGMA foreign_keys = ON".to_owned()],
        ProductKind::Other => Vec::new(),
    }
}

/// The text with `?` for each parameter. Drivers know no other form.
pub(crate) fn unnumbered(dialect: Dialect, sql: &str) -> String {
    if dialect != Dialect::Postgres {
        return sql.to_owned();
    }
    let (mut text, mut from) = (String::with_capacity(sql.len()), 0);
    for token in SqlTokenizer::new(dialect.syntax(), sql).significant() {
        if token.kind == SqlTokenKind::Parameter && token.text.starts_with('$') {
            text.push_str(sql.get(from..token.start).unwrap_or_default());
            text.push('?');
            from = token.start + token.text.len();
        }
    }
    text.push_str(sql.get(from..).unwrap_or_default());
    text
}

/// The number of each parameter of a text, in the order in which they stand: `$2 $1 $2` is 2, 1, 2.
pub(crate) fn parameter_numbers(dialect: Dialect, sql: &str) -> Vec<usize> {
    let tokens = SqlTokenizer::new(dialect.syntax(), sql).significant();
    let tokens = tokens.filter(|token| token.kind == SqlTokenKind::Parameter);
    (1..)
        .zip(tokens)
        .map(|(at, token)| token.text.trim_start_matches('$').parse().unwrap_or(at))
        .collect()
}
