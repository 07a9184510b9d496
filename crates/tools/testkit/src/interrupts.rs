//! Calls that are ended from another thread.

use crate::{Check, Probe, fails, row, same};
use bobak_core::{Engine, ErrorKind, Interrupt, Source, TransactionControl};
use std::time::Duration;

/// Long enough for most calls to have begun: one that has not is rejected, with the same error.
const BEGUN: Duration = Duration::from_millis(200);

/// Does what is ended while it runs.
///
/// # Panics
/// Where no thread can be had.
pub fn interrupted<R>(work: impl FnOnce() -> R) -> R {
    let interrupt = Interrupt::new();
    let theirs = interrupt.clone();
    let other = std::thread::spawn(move || {
        std::thread::sleep(BEGUN);
        theirs.interrupt();
    });
    let done = interrupt.run(work);
    other.join().expect("it only sleeps");
    done
}

/// A statement that inserts into the table `slow(a)`, and takes a minute, ends when it is interrupted, inside a transaction
/// and outside, and leaves nothing; the one after it is not hit.
///
/// # Errors
/// What was otherwise.
pub fn statement_ends(engine: &dyn Engine, statement: &str) -> Check {
    let probe = Probe::new(engine)?;
    probe.session.execute("CREATE TABLE slow (a INTEGER)", &[])?;
    for inside in [false, true] {
        if inside {
            probe.control(TransactionControl::Begin)?;
        }
        let slow = interrupted(|| probe.session.execute(statement, &[]));
        fails("what was interrupted", slow, ErrorKind::Interrupted)?;
        let next = probe.session.execute("INSERT INTO slow VALUES (7)", &[])?;
        same("rows of the next statement", next, 1)?;
        if inside {
            probe.control(TransactionControl::Commit)?;
        }
    }
    let source = Source::Sql { text: "SELECT a FROM slow", parameters: &[] };
    same("what is left", probe.query(&source)?, vec![row![7], row![7]])
}
