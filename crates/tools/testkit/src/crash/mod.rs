//! Random programs that are interrupted, and what is left of them.
//!
//! A program inserts, updates and deletes, row by row, in batches and in transactions, on an engine
//! that a [`Machine`] opens. Somewhere in the middle the machine goes down, sometimes again while
//! the engine recovers. When it is up, what is there must be the state after one of the commits:
//! the last that was acknowledged or the one under way, or an earlier one where the [`Promise`]
//! allows it. A half transaction is the state after none.
//!
//! [`run_together`] has several threads write at the same time. [`endure`] has the same programs on a
//! machine whose files fail and fill up while it stays up. [`marks`] is what a process writes that is
//! really killed, and [`files`] cuts the power between the steps by which files are replaced.

mod failures;
pub mod files;
mod history;
pub mod marks;
mod program;
mod together;

pub use failures::{Trouble, endure};
pub use together::run_together;

use crate::model::Random;
use crate::probe::Probe;
use bobak_core::{Capabilities, Engine, Result};
use history::{History, Recovery};
use program::Program;

/// Tests that interrupt something at its operations do so at every `usual`th one; `BOBAK_KILL_EVERY=1`: at each.
#[must_use]
pub fn kill_interval(usual: u64) -> u64 {
    let given = std::env::var("BOBAK_KILL_EVERY").ok().and_then(|number| number.parse().ok());
    given.filter(|number| *number > 0).unwrap_or(usual)
}

/// How often the machine goes down in one program.
const ROUNDS: usize = 3;
/// The most steps between two crashes.
const STEPS: usize = 40;
/// The most changes to files after which it goes down, one of these: soon after opening, or later.
const CHANGES: [usize; 4] = [20, 20, 150, 600];

/// Where an engine runs: what can go down, and come up again.
pub trait Machine {
    /// Opens the engine; the same store each time.
    ///
    /// # Errors
    /// Those of the engine.
    fn open(&self) -> Result<Box<dyn Engine>>;

    /// Goes down in the middle of the `nth` change to its files from now, counted from 1.
    fn crash_at(&self, nth: u64);

    /// Goes down now, unless it is down.
    fn crash(&self);

    /// Whether it is down.
    fn is_down(&self) -> bool;

    /// Comes up again; no crash is planned any more.
    fn restart(&self);
}

/// What must be left after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Every acknowledged commit.
    Everything,
    /// Every acknowledged commit, or all but the last.
    AllButTheLast,
    /// The commits up to some moment, and what was flushed.
    APrefix,
    /// Nothing: the store may be damaged.
    Nothing,
}

/// What programs have lost, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How often the machine went down.
    pub crashes: u64,
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Of these, the commits that were gone after a crash; in a damaged store all since the crash
    /// before.
    pub lost: u64,
    /// Crashes after which commits were gone.
    pub with_loss: u64,
    /// Crashes after which the store was damaged: it could not be read, was not whole, or held
    /// half a transaction.
    pub damaged: u64,
}

impl Tally {
    /// Adds another.
    pub fn add(&mut self, other: Self) {
        self.crashes += other.crashes;
        self.acknowledged += other.acknowledged;
        self.lost += other.lost;
        self.with_loss += other.with_loss;
        self.damaged += other.damaged;
    }
}

/// Runs the program of `seed`, interrupts it, and checks what is left.
///
/// # Errors
/// A sentence with the seed where the promise was broken, or an engine failed while its machine
/// was up.
pub fn run(seed: u64, machine: &dyn Machine, promise: Promise) -> Result<Tally, String> {
    Run::new(seed, machine, promise)
        .and_then(Run::all)
        .map_err(|what| format!("seed {seed}: {what}"))
}

struct Run<'m> {
    machine: &'m dyn Machine,
    promise: Promise,
    random: Random,
    program: Program,
    history: History,
    tally: Tally,
}

impl<'m> Run<'m> {
    fn new(seed: u64, machine: &'m dyn Machine, promise: Promise) -> Result<Self, String> {
        let random = Random::new(seed, Capabilities::NONE);
        let program = Program::new(seed).map_err(|error| error.to_string())?;
        let history = History::default();
        Ok(Self { machine, promise, random, program, history, tally: Tally::default() })
    }

    fn all(mut self) -> Result<Tally, String> {
        self.create().map_err(|error| format!("no table could be made: {error}"))?;
        for _ in 0..ROUNDS {
            if !self.round()? {
                break;
            }
        }
        Ok(self.tally)
    }

    fn create(&self) -> Result<()> {
        let engine = self.machine.open()?;
        crate::create(&*engine, &[&self.program.table])?;
        engine.flush()
    }

    /// From an opening to the check after the crash; `false` where the store is damaged.
    fn round(&mut self) -> Result<bool, String> {
        let most = self.random.pick(&CHANGES).copied().unwrap_or(1);
        self.machine.crash_at(self.random.between(1, most) as u64);
        let played = self.play();
        match played {
            Err(_) if self.promise == Promise::Nothing => self.machine.crash(),
            Err(error) if !self.machine.is_down() => {
                return Err(format!("the machine was up, and a step failed: {error}"));
            }
            _ => self.machine.crash(),
        }
        self.machine.restart();
        let program = &self.program;
        interrupt_recovery(self.machine, &mut self.random, &|engine| {
            program.read(engine).map(drop)
        });
        self.judge()
    }

    fn play(&mut self) -> Result<()> {
        let engine = self.machine.open()?;
        for _ in 0..STEPS {
            self.program.step(&*engine, &mut self.random, &mut self.history)?;
        }
        Ok(())
    }

    fn judge(&mut self) -> Result<bool, String> {
        self.tally.crashes += 1;
        self.tally.acknowledged += self.history.acknowledged();
        let found = self.found();
        match found {
            Ok(Recovery { lost, before_flush }) => {
                self.tally.lost += lost;
                self.tally.with_loss += u64::from(lost > 0);
                let kept = match self.promise {
                    Promise::Everything => lost == 0,
                    Promise::AllButTheLast => lost <= 1,
                    Promise::APrefix => !before_flush,
                    Promise::Nothing => true,
                };
                if kept { Ok(true) } else { Err(format!("{lost} acknowledged commits are lost")) }
            }
            Err(_) if self.promise == Promise::Nothing => {
                self.tally.damaged += 1;
                self.tally.with_loss += 1;
                self.tally.lost += self.history.acknowledged();
                Ok(false)
            }
            Err(what) => Err(what),
        }
    }

    fn found(&mut self) -> Result<Recovery, String> {
        let engine = self.machine.open().map_err(|error| format!("it can't be opened: {error}"))?;
        let rows = self.program.read(&*engine).map_err(|error| format!("unreadable: {error}"))?;
        is_sound(&*engine)?;
        self.history.settle(rows)
    }
}

/// Goes down again while the engine recovers, sometimes more than once.
fn interrupt_recovery(
    machine: &dyn Machine,
    random: &mut Random,
    read: &dyn Fn(&dyn Engine) -> Result<()>,
) {
    while random.percent(30) {
        machine.crash_at(random.between(1, 8) as u64);
        // Only the crash matters.
        let _ = machine.open().and_then(|engine| read(&*engine));
        machine.crash();
        machine.restart();
    }
}

/// Asks SQLite whether its file is sound; other engines check what they read.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn is_sound(engine: &dyn Engine) -> Result<(), String> {
    if engine.name() != "sqlite" {
        return Ok(());
    }
    let rows = Probe::new(engine).and_then(|probe| {
        let text = "PRAGMA integrity_check";
        probe.query(&bobak_core::Source::Sql { text, parameters: &[] })
    });
    match rows {
        Ok(rows) if rows == [crate::row!["ok"]] => Ok(()),
        Ok(rows) => Err(format!("the file is damaged: {rows:?}")),
        Err(error) => Err(format!("the file can't be checked: {error}")),
    }
}
