//! Repeating transactions after a conflict.

use crate::catalog::Catalog;
use crate::transaction::Transaction;
use bobak_core::{Error, ErrorKind, Result};
use std::time::{Duration, SystemTime};

/// The first pause.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Runs `work` in a transaction on the main engine, and repeats it up to `retries` times after a conflict.
///
/// # Errors
/// As [`Db::transaction`](crate::Db::transaction).
pub(crate) fn run<R>(
    catalog: &Catalog,
    retries: u32,
    mut work: impl FnMut(&Transaction<'_>) -> Result<R>,
) -> Result<R> {
    let mut retry = 0;
    loop {
        let (error, has_begun) = match Transaction::begin(catalog, 0) {
            Ok(transaction) => match once(transaction, &mut work) {
                Ok(result) => return Ok(result),
                Err(error) => (error, true),
            },
            Err(error) => (error, false),
        };
        if retry >= retries || !is_retryable(&error, has_begun) {
            return Err(error);
        }
        std::thread::sleep(pause(retry));
        retry += 1;
    }
}

fn once<R>(
    transaction: Transaction<'_>,
    work: &mut impl FnMut(&Transaction<'_>) -> Result<R>,
) -> Result<R> {
    let result = work(&transaction)?;
    transaction.commit()?;
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
