//! Programs on files that fail or fill up: each failed step must have done nothing, and the next
//! ones go on.

use super::history::History;
use super::program::Program;
use super::{Machine, is_sound};
use crate::model::Random;
use bobak_core::{Capabilities, Engine, ErrorKind, Result};

/// How many steps a program has.
const STEPS: usize = 60;

/// What makes the files of a machine fail while it stays up.
pub trait Trouble: Machine {
    /// From now on something fails, in a way that is chosen by the number.
    fn begin(&self, choice: u64);

    /// Nothing fails any more.
    fn end(&self);
}

/// Runs the program of `seed` with trouble now and then; at its end the machine goes down, and
/// nothing that was acknowledged may be lost. Gives how many steps have failed.
///
/// # Errors
/// A sentence with the seed where a failed step has left something behind, or a commit is lost.
pub fn endure(seed: u64, machine: &dyn Trouble) -> Result<u64, String> {
    play(seed, machine).map_err(|what| format!("seed {seed}: {what}"))
}

fn play(seed: u64, machine: &dyn Trouble) -> Result<u64, String> {
    let mut random = Random::new(seed, Capabilities::NONE);
    let mut program = Program::new(seed).map_err(|error| error.to_string())?;
    let mut history = History::default();
    let failed_to_open = |error| format!("it can't be opened: {error}");
    let mut engine = machine.open().map_err(failed_to_open)?;
    crate::create(&*engine, &[&program.table]).map_err(|error| error.to_string())?;
    let mut failed = 0;
    for _ in 0..STEPS {
        if random.percent(40) {
            machine.begin(random.below(1 << 20) as u64);
        }
        let result = program.step(&*engine, &mut random, &mut history);
        machine.end();
        if let Err(error) = result {
            failed += 1;
            let unknown = error.kind() == ErrorKind::Unknown;
            if !unknown {
                history.undo();
            }
            agree(&program, &*engine, &mut history)
                .map_err(|what| format!("after '{error}': {what}"))?;
            if unknown {
                engine.flush().map_err(|error| format!("it can't be flushed: {error}"))?;
            }
        }
    }
    is_sound(&*engine)?;
    machine.crash();
    drop(engine);
    machine.restart();
    engine = machine.open().map_err(failed_to_open)?;
    agree(&program, &*engine, &mut history).map_err(|what| format!("after a power cut: {what}"))?;
    is_sound(&*engine)?;
    Ok(failed)
}

/// The stored rows are the acknowledged ones, possibly with others whose outcome is unknown.
fn agree(program: &Program, engine: &dyn Engine, history: &mut History) -> Result<(), String> {
    let rows = program.read(engine).map_err(|error| format!("unreadable: {error}"))?;
    match history.settle(rows)?.lost {
        0 => Ok(()),
        lost => Err(format!("{lost} acknowledged commits are gone")),
    }
}
