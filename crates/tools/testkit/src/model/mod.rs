//! Random programs, run on two stores at once. Every result must be the same on both.
//!
//! A program is generated from its seed alone, and then run: single writes, batches of every mix,
//! changes, queries, transactions with savepoints, cursors kept open over writes, new sessions and
//! reopenings. If the stores differ, the program is shrunk and shown completely.
//!
//! If the subject's keys are not dense, they cannot be predicted: the reference then gets the keys that
//! the subject generated, and only confirms that they were free. See `keys`.

mod generate;
mod keys;
mod play;
mod queries;
mod random;
mod shrink;
mod step;
mod tracker;
mod world;

use crate::{Harness, create};
use bobak_core::{Capabilities, ErrorKind, Result};
use generate::Generator;
use keys::Keys;
use play::{Player, StepResult};
pub use random::Random;
use std::fmt;
use step::Step;
use tracker::Tracker;
use world::World;

/// After how many steps all rows of all tables are compared.
const CHECK_EVERY: usize = 25;

/// Two stores that differ: the program's seed, its remaining steps, and the results of the
/// last one.
pub struct Difference {
    seed: u64,
    steps: Vec<Step>,
    what: String,
}

impl fmt::Debug for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seed, steps) = (self.seed, self.steps.len());
        writeln!(f, "seed {seed}: the stores differ after these {steps} steps:")?;
        for (number, step) in (1..).zip(&self.steps) {
            writeln!(f, "{number:4}. {step:?}")?;
        }
        write!(f, "{}", self.what)
    }
}

/// Runs the program of `seed` with so many steps on a store of each harness.
///
/// # Errors
/// The shortest program found on which they differ.
pub fn compare(
    seed: u64,
    steps: usize,
    reference: &dyn Harness,
    subject: &dyn Harness,
) -> std::result::Result<(), Box<Difference>> {
    let failed = |what: String| Box::new(Difference { seed, steps: Vec::new(), what });
    let common = common(reference, subject).map_err(|error| failed(error.to_string()))?;
    let mut random = Random::new(seed, common);
    let links = random.percent(40) && has_links(reference) && has_links(subject);
    let world = World::new(&mut random, links).map_err(|error| failed(error.to_string()))?;
    let mut generator = Generator::new(random, world.clone());
    let program: Vec<Step> = (0..steps).map(|_| generator.step()).collect();
    let run = |program: &[Step], check_every: usize| {
        run(&world, program, check_every, reference, subject)
    };
    let Some(found) = run(&program, CHECK_EVERY) else {
        return Ok(());
    };
    let (steps, what) = shrink::shrink(program, found, |program| {
        let mut tracker = Tracker::new(world.clone());
        let fits = program.iter().all(|step| {
            let fits = tracker.fits(step);
            tracker.note(step);
            fits
        });
        fits.then(|| run(program, 1)).flatten()
    });
    Err(Box::new(Difference { seed, steps, what }))
}

/// Compares as [`compare`] does, with the programs of so many seeds from `first` on, of so many steps each.
///
/// `BOBAK_SEED=7` runs one seed instead, `BOBAK_SEEDS=1000` so many, `BOBAK_STEPS=2000` longer programs.
///
/// # Errors
/// The first difference.
pub fn compare_seeds(
    first: u64,
    (seeds, steps): (u64, u64),
    reference: &dyn Harness,
    subject: &dyn Harness,
) -> std::result::Result<(), Box<Difference>> {
    let setting = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let steps = setting("BOBAK_STEPS").unwrap_or(steps) as usize;
    let mut seeds = match setting("BOBAK_SEED") {
        Some(seed) => seed..=seed,
        None => first..=first + setting("BOBAK_SEEDS").unwrap_or(seeds) - 1,
    };
    seeds.try_for_each(|seed| compare(seed, steps, reference, subject))
}

/// A difference between two stores: after how many steps, and what differs.
struct Mismatch {
    after: usize,
    what: String,
}

/// The capabilities that both stores have.
fn common(reference: &dyn Harness, subject: &dyn Harness) -> Result<Capabilities> {
    let mut common = reference.fresh()?.engine().capabilities();
    let other = subject.fresh()?.engine().capabilities();
    common.nul_in_text &= other.nul_in_text;
    common.untyped_columns &= other.untyped_columns;
    common.limited_key_length |= other.limited_key_length;
    common.limited_values |= other.limited_values;
    common.implicit_ddl_commit |= other.implicit_ddl_commit;
    Ok(common)
}

fn has_links(harness: &dyn Harness) -> bool {
    let made = || -> Result<()> {
        let store = harness.fresh()?;
        let team = crate::tables::team()?;
        let player = crate::tables::player(bobak_core::OnDelete::Cascade)?;
        create(store.engine(), &[&team, &player])
    };
    !made().is_err_and(|error| error.kind() == ErrorKind::Unsupported)
}

fn run(
    world: &World,
    program: &[Step],
    check_every: usize,
    reference: &dyn Harness,
    subject: &dyn Harness,
) -> Option<Mismatch> {
    let mut at = 0;
    match lockstep(world, program, check_every, &mut at, [reference, subject]) {
        Ok(None) => None,
        Ok(Some(what)) => Some(Mismatch { after: at, what }),
        Err(error) => {
            Some(Mismatch { after: at, what: format!("a store could not be opened: {error}") })
        }
    }
}

/// Runs step by step on both until they differ; `at` counts the steps.
fn lockstep(
    world: &World,
    program: &[Step],
    check_every: usize,
    at: &mut usize,
    [reference, subject]: [&dyn Harness; 2],
) -> Result<Option<String>> {
    let (mut a, mut b) = (reference.fresh()?, subject.fresh()?);
    let tables: Vec<_> = world.tables.iter().collect();
    create(a.engine(), &tables)?;
    create(b.engine(), &tables)?;
    let beside = |store: &crate::Fixture| store.engine().capabilities().concurrent_readers;
    let readers = beside(&a) && beside(&b);
    let mut keys = Keys::new(b.engine().capabilities());
    while *at < program.len() {
        let (mut left, mut right) =
            (Player::new(a.engine(), readers)?, Player::new(b.engine(), readers)?);
        while let Some(step) = program.get(*at) {
            *at += 1;
            let result = right.play(step);
            let (step_with_keys, result) = match keys.resolve(step, result) {
                Ok(both) => both,
                Err(what) => return Ok(Some(what)),
            };
            let expected = left.play(step_with_keys.as_ref().unwrap_or(step));
            if let Some(what) = differ("reference", &expected, &result) {
                return Ok(Some(what));
            }
            let last = *at == program.len();
            if (last || at.is_multiple_of(check_every))
                && let Some(what) = contents_differ(&left, &right)?
            {
                return Ok(Some(what));
            }
            if matches!(step, Step::Reopen) {
                break;
            }
        }
        drop((left, right));
        if matches!(program.get(at.wrapping_sub(1)), Some(Step::Reopen)) {
            a.reopen()?;
            b.reopen()?;
        }
    }
    Ok(None)
}

/// The descriptions of all tables, and all of their rows.
fn contents_differ(reference: &Player<'_>, subject: &Player<'_>) -> Result<Option<String>> {
    let (tables, others) = (reference.tables()?, subject.tables()?);
    let same = tables.len() == others.len();
    if !(same && tables.iter().zip(&others).all(|(table, other)| table.same_as(other))) {
        return Ok(Some(format!("reference's tables: {tables:#?}\nsubject: {others:#?}")));
    }
    let (rows, others) = (reference.everything(&tables), subject.everything(&tables));
    Ok(differ("reference's rows", &rows, &others))
}

fn differ(what: &str, reference: &StepResult, subject: &StepResult) -> Option<String> {
    if reference == subject {
        return None;
    }
    let (reference, subject) = StepResult::apart(reference, subject);
    Some(format!("{what}: {reference}\nsubject: {subject}"))
}
