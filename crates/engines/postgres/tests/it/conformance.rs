//! The suite that every engine passes, with each way that the engine has of doing the same.

use crate::support::{stores, url};
use bobak_testkit::cases::sql_types::money_and_dates_in_server_sql;
use bobak_testkit::{CASES, Case, Harness};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs all cases, several at a time; `BOBAK_CASE` picks those whose name contains it.
pub fn run(harness: &(dyn Harness + Sync)) {
    let wanted = std::env::var("BOBAK_CASE").unwrap_or_default();
    let cases: Vec<&Case> = CASES.iter().filter(|case| case.name.contains(&wanted)).collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(failure) = (case.run)(harness) {
                        failed
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(format!("{}: {failure}", case.name));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(failed.is_empty(), "{} of {} fail:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

#[test]
fn postgres_passes_the_conformance_suite() {
    if let Some(url) = url() {
        run(&stores(&url, ""));
    }
}

#[test]
fn numbers_in_sql_are_amounts() {
    if let Some(url) = url() {
        money_and_dates_in_server_sql(&stores(&url, "")).unwrap();
    }
}
