//! Tables that are tracked pass the suite as others do, and the model test; and their logs, played
//! from the beginning, give the tables.

use crate::stores;
use bobak_core::Result;
use bobak_testkit::{CASES, Fixture, model};

fn passes(fresh: fn() -> Result<Fixture>) {
    let store = stores::tracking(fresh);
    // What is about the feed itself tracks tables as it likes.
    for case in CASES.iter().filter(|case| !case.name.starts_with("feed::")) {
        if let Err(failure) = (case.run)(&store) {
            panic!("{}: {failure}", case.name);
        }
    }
}

#[test]
fn in_memory() {
    passes(stores::memory);
}

#[test]
fn in_memory_of_sqlite() {
    passes(stores::sqlite_memory);
}

#[test]
fn random_programs() {
    for seed in 801..805 {
        for subject in [stores::memory, stores::sqlite_memory, stores::sqlite_wal] {
            let subject = stores::tracking(subject);
            if let Err(difference) = model::compare(seed, 250, &stores::memory, &subject) {
                panic!("{difference}");
            }
        }
    }
}
