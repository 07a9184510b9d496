//! Programs of several threads on one engine, interrupted: group commit under a power cut.
//!
//! Each thread has a table of its own, which must be left as it was after one of the thread's
//! commits; and all write to a few shared rows. Of such a row what is left must be a write after
//! which no acknowledged one has begun: that is what a register that is linearizable keeps.
//!
//! Which thread comes when is not decided by the seed: a seed that failed may have to run often.

use super::history::{History, Recovery};
use super::program::Program;
use super::{Machine, Promise, ROUNDS, Tally, interrupt_recovery, is_sound};
use crate::model::Random;
use crate::probe::{Entry, Probe};
use crate::{Table, row};
use bobak_core::{
    Capabilities, ColumnSchema, Engine, Error, ErrorKind, Result, TableSchema, Value, Verb,
};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most steps of a thread between two crashes.
const STEPS: usize = 40;
/// The most changes to files after which the machine goes down, one of these.
const CHANGES: [usize; 3] = [30, 250, 800];
/// How many rows all threads write.
const SHARED: i64 = 3;

/// Runs a program of some threads on one engine, interrupts it, and checks what is left. The promise
/// is [`Everything`](Promise::Everything), or [`APrefix`](Promise::APrefix): of each thread's own
/// commits then; the shared rows are not looked at.
///
/// # Errors
/// A sentence with the seed where the promise was broken, or an engine failed while its machine
/// was up.
pub fn run_together(
    seed: u64,
    threads: usize,
    machine: &(dyn Machine + Sync),
    promise: Promise,
) -> Result<Tally, String> {
    play(seed, threads, machine, promise).map_err(|what| format!("seed {seed}: {what}"))
}

fn play(
    seed: u64,
    threads: usize,
    machine: &(dyn Machine + Sync),
    promise: Promise,
) -> Result<Tally, String> {
    let mut random = Random::new(seed, Capabilities::NONE);
    let failed = |error: Error| format!("no table could be made: {error}");
    let mut workers: Vec<Worker> = (0..threads)
        .map(|number| Worker::new(seed, number))
        .collect::<Result<_>>()
        .map_err(failed)?;
    let shared = SharedRows::new().map_err(failed)?;
    machine.open().and_then(|engine| create(&*engine, &workers, &shared)).map_err(failed)?;
    let mut tally = Tally::default();
    for _ in 0..ROUNDS {
        let most = random.pick(&CHANGES).copied().unwrap_or(1);
        machine.crash_at(random.between(1, most) as u64);
        match machine.open() {
            Ok(engine) => work(&*engine, machine, &mut workers, &shared)?,
            Err(_) if machine.is_down() => {}
            Err(error) => return Err(format!("it can't be opened: {error}")),
        }
        machine.crash();
        machine.restart();
        interrupt_recovery(machine, &mut random, &|engine| {
            workers.iter().try_for_each(|worker| worker.program.read(engine).map(drop))
        });
        judge(machine, &mut workers, &shared, promise, &mut tally)?;
    }
    Ok(tally)
}

fn create(engine: &dyn Engine, workers: &[Worker], shared: &SharedRows) -> Result<()> {
    let own = workers.iter().map(|worker| &worker.program.table);
    crate::create(engine, &own.chain([&shared.table]).collect::<Vec<_>>())?;
    let probe = Probe::new(engine)?;
    probe.insert_all(&shared.table, (1..=SHARED).map(|key| row![key, 0]))?;
    engine.flush()
}

/// Lets all threads write until each is done, or the machine is down.
fn work(
    engine: &dyn Engine,
    machine: &(dyn Machine + Sync),
    workers: &mut [Worker],
    shared: &SharedRows,
) -> Result<(), String> {
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let start = |worker| scope.spawn(move || Worker::run(worker, engine, machine, shared));
        let running: Vec<_> = workers.iter_mut().map(start).collect();
        let panicked = |_| Err("a thread panicked".to_owned());
        running.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    outcomes.into_iter().collect()
}

fn judge(
    machine: &dyn Machine,
    workers: &mut [Worker],
    shared: &SharedRows,
    promise: Promise,
    tally: &mut Tally,
) -> Result<(), String> {
    let engine = machine.open().map_err(|error| format!("it can't be opened: {error}"))?;
    is_sound(&*engine)?;
    let mut lost_all = 0;
    for (number, worker) in workers.iter_mut().enumerate() {
        tally.acknowledged += worker.history.acknowledged();
        let found = worker.found(&*engine).map_err(|what| format!("thread {number}: {what}"))?;
        let kept = match promise {
            Promise::Everything => found.lost == 0,
            _ => !found.before_flush,
        };
        if !kept {
            let lost = found.lost;
            return Err(format!("thread {number}: {lost} acknowledged commits are lost"));
        }
        lost_all += found.lost;
    }
    tally.acknowledged += shared.settle(&*engine, promise == Promise::Everything)?;
    tally.crashes += 1;
    tally.lost += lost_all;
    tally.with_loss += u64::from(lost_all > 0);
    Ok(())
}

/// One thread: its own program, and what that went through.
struct Worker {
    random: Random,
    program: Program,
    history: History,
}

impl Worker {
    fn new(seed: u64, number: usize) -> Result<Self> {
        let own = seed.wrapping_mul(1_000).wrapping_add(number as u64);
        Ok(Self {
            random: Random::new(own, Capabilities::NONE),
            program: Program::named(own, &format!("note_{number}"))?,
            history: History::default(),
        })
    }

    fn run(
        &mut self,
        engine: &dyn Engine,
        machine: &(dyn Machine + Sync),
        shared: &SharedRows,
    ) -> Result<(), String> {
        for _ in 0..STEPS {
            let result = if self.random.percent(50) {
                let key = 1 + self.random.below(SHARED as usize) as i64;
                shared.write(engine, key)
            } else {
                let result = self.program.step(engine, &mut self.random, &mut self.history);
                if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Busy) {
                    self.history.undo();
                }
                result
            };
            match result {
                Ok(()) => {}
                // Others kept it waiting: it was not begun.
                Err(error) if error.kind() == ErrorKind::Busy && !machine.is_down() => {}
                Err(_) if machine.is_down() => return Ok(()),
                Err(error) => {
                    return Err(format!("the machine was up, and a step failed: {error}"));
                }
            }
        }
        Ok(())
    }

    fn found(&mut self, engine: &dyn Engine) -> Result<Recovery, String> {
        let rows = self.program.read(engine).map_err(|error| format!("unreadable: {error}"))?;
        self.history.settle(rows)
    }
}

/// Rows that all threads write, with the start and end of each write.
struct SharedRows {
    table: Table,
    clock: AtomicI64,
    writes: Mutex<Vec<TimedWrite>>,
}

/// One write; its value is its start time.
#[derive(Clone, Copy, Debug)]
struct TimedWrite {
    key: i64,
    begun: i64,
    /// `None` if it was not acknowledged.
    ended: Option<i64>,
}

impl SharedRows {
    fn new() -> Result<Self> {
        let table = TableSchema::builder("shared")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<i64>("value"))
            .key(["id"]);
        let (clock, writes) = (AtomicI64::new(1), Mutex::default());
        Ok(Self { table: Arc::new(table.build()?), clock, writes })
    }

    fn write(&self, engine: &dyn Engine, key: i64) -> Result<()> {
        let begun = self.now();
        let place = {
            let mut writes = self.lock();
            writes.push(TimedWrite { key, begun, ended: None });
            writes.len() - 1
        };
        let entry = Entry::new(&self.table, Verb::Update, row![key, begun]);
        engine.write(&entry.as_write())?;
        let ended = self.now();
        if let Some(write) = self.lock().get_mut(place) {
            write.ended = Some(ended);
        }
        Ok(())
    }

    /// Checks the surviving rows and starts over with them. Returns the number of acknowledged writes.
    fn settle(&self, engine: &dyn Engine, all_kept: bool) -> Result<u64, String> {
        let rows = Probe::new(engine).and_then(|probe| probe.all(&self.table));
        let rows = rows.map_err(|error| format!("unreadable: {error}"))?;
        if rows.len() != SHARED as usize {
            return Err(format!("of {SHARED} shared rows {} are there", rows.len()));
        }
        let mut writes = self.lock();
        for row in rows.iter().filter(|_| all_kept) {
            let [Value::Int(key), Value::Int(value)] = row.as_slice() else {
                return Err("a row of the wrong form".to_owned());
            };
            let mut others = writes.iter().filter(|write| write.key == *key);
            // What was there at the beginning has ended before all.
            let left = others.clone().find(|write| write.begun == *value);
            let ended = left.map_or(Some(0), |write| write.ended);
            let after = |write: &&TimedWrite| {
                write.ended.is_some() && ended.is_some_and(|ended| ended < write.begun)
            };
            if let Some(later) = others.find(after) {
                return Err(format!("row {key} has {value}, and {later:?} was acknowledged"));
            }
        }
        let acknowledged = writes.iter().filter(|write| write.ended.is_some()).count() as u64;
        writes.clear();
        Ok(acknowledged)
    }

    fn now(&self) -> i64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TimedWrite>> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
