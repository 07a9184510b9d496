//! Repeating transactions after a conflict.

use crate::catalog::Catalog;
use crate::transaction::Transaction;
use bobak_core::{Error, ErrorKind, Result};
use std::time::{Duration, SystemTime};

/// The first pause.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Runs `work` in a transaction on an engine, and repeats it up to `retries` times after a conflict.
///
/// # Errors
/// As [`Db::transaction`](crate::Db::transaction).
#[track_caller]
pub(crate) fn run<R, E: From<Error>>(
    catalog: &Catalog,
    engine: usize,
    retries: u32,
    mut work: impl FnMut(&Transaction<'_>) -> Result<R, E>,
) -> Result<R, E> {
    let mut retry = 0;
    loop {
        let (error, repeat) = match Transaction::begin(catalog, engine) {
            Ok(transaction) => match once(transaction, &mut work) {
                Ok(result) => return Ok(result),
                Err(failure) => failure,
            },
            Err(error) => {
                let repeat = is_retryable(&error, false);
                (error.into(), repeat)
            }
        };
        if retry >= retries || !repeat {
            return Err(error);
        }
        std::thread::sleep(pause(retry));
        retry += 1;
    }
}

/// Runs `work` once. The second part of the error says whether a repetition may succeed.
#[track_caller]
fn once<R, E: From<Error>>(
    transaction: Transaction<'_>,
    work: &mut impl FnMut(&Transaction<'_>) -> Result<R, E>,
) -> Result<R, (E, bool)> {
    // The error is the caller's own, so the transaction says whether there was a conflict.
    let result = work(&transaction).map_err(|error| (error, transaction.has_conflict()))?;
    transaction.commit().map_err(|error| {
        let repeat = is_retryable(&error, true);
        (error.into(), repeat)
    })?;
    Ok(result)
}

/// Whether nothing of the transaction was committed, and it may succeed if repeated. A connection lost inside the
/// transaction is not retried: `work` may have acted on others meanwhile.
pub(crate) fn is_retryable(error: &Error, has_begun: bool) -> bool {
    match error.kind() {
        ErrorKind::Serialization => true,
        ErrorKind::Unreachable => !has_begun,
        _ => false,
    }
}

/// Doubles with each retry. Random, so that two transactions in conflict do not meet again.
pub(crate) fn pause(retry: u32) -> Duration {
    let longest = LONGEST_PAUSE.min(FIRST_PAUSE.saturating_mul(1 << retry.min(16)));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    longest / 2 + longest.mul_f64(f64::from(now.subsec_nanos() % 1_000) / 2_000.0)
}
