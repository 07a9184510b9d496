//! Transactions that are run again where they clashed.

use crate::Transaction;
use crate::db::Inner;
use bobak_core::{Error, ErrorKind, Result};
use std::time::{Duration, SystemTime};

/// How often a transaction is run again, unless the builder says otherwise.
pub(crate) const DEFAULT: u32 = 5;

/// The first pause, and the longest.
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_millis(500);

/// Runs `work` in a transaction, as often as it clashes and may be run again.
///
/// # Errors
/// As [`Db::transaction`](crate::Db::transaction).
pub(crate) fn run<R>(
    inner: &Inner,
    retries: u32,
    mut work: impl FnMut(&Transaction<'_>) -> Result<R>,
) -> Result<R> {
    let mut again = 0;
    loop {
        let (error, has_begun) = match Transaction::begin(inner, 0) {
            Ok(transaction) => match once(transaction, &mut work) {
                Ok(result) => return Ok(result),
                Err(error) => (error, true),
            },
            Err(error) => (error, false),
        };
        if again >= retries || !may_run_again(&error, has_begun) {
            return Err(error);
        }
        std::thread::sleep(pause(again));
        again += 1;
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

/// Whether nothing of the transaction is there, and it may go well another time. A line that broke
/// inside is the caller's to judge: `work` may have asked others meanwhile.
pub(crate) fn may_run_again(error: &Error, has_begun: bool) -> bool {
    match error.kind() {
        ErrorKind::Serialization => true,
        ErrorKind::Unreachable => !has_begun,
        _ => false,
    }
}

/// Twice as long each time, and not the same for two that clashed.
pub(crate) fn pause(again: u32) -> Duration {
    let longest = LONGEST.min(PAUSE.saturating_mul(1 << again.min(16)));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    longest / 2 + longest.mul_f64(f64::from(now.subsec_nanos() % 1_000) / 2_000.0)
}
