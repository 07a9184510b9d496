//! Every target over its seeds and some mutations of them, the same each time; `cargo xtask fuzz` tries far more.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod servers;

use bobak_fuzz::{TARGETS, find};
use bobak_testkit::Mutator;

/// How many bytes of mutations each target is given, about; and no more than so many.
const BYTES: usize = 400_000;
const MOST: usize = 400;

#[test]
fn every_target_holds_for_its_seeds_and_their_mutations() {
    for target in TARGETS {
        eprintln!("{}", target.name);
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seed", target.name);
        seeds.iter().for_each(|seed| target.check(seed));
        target.check(&[]);
        let mut mutator = Mutator::new(7);
        let (mut bytes, mut count) = (0, 0);
        while bytes < BYTES && count < MOST {
            let [one, other] = [0, 1].map(|_| &seeds[mutator.below(seeds.len())]);
            let input = mutator.mutate(one, other, target.longest);
            (bytes, count) = (bytes + input.len(), count + 1);
            target.check(&input);
        }
    }
}

#[test]
fn targets_have_names_of_their_own() {
    for target in TARGETS {
        assert_eq!(find(target.name).map(|found| found.about), Some(target.about));
        assert!(
            target.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'),
            "{}",
            target.name
        );
    }
    assert!(find("nothing").is_none());
}
