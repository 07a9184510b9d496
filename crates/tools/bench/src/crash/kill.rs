//! Processes that are really killed, on real files.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bobak_testkit::crash::{Tally, marks};

use super::report::CrashRow;
use super::store::{Crash, Home, Store, find};
use super::together;
use crate::contender::Failure;

/// Commits numbered rows to a store in a folder or at a URL. Prints a line with the thread's number and the commit's number
/// once each is acknowledged, until it is killed or its output is closed.
///
/// # Errors
/// If there is no store with this name; those of the engine.
pub fn write_until_killed(
    store: &str,
    place: &Path,
    out: &mut (dyn Write + Send),
) -> Result<(), Failure> {
    let store = find(store)?;
    let engine = store.open(place)?;
    let out = Mutex::new(out);
    let say = |thread: usize, number: u64| {
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(out, "{thread} {number}").and_then(|()| out.flush()).is_ok()
    };
    match store.threads() {
        Some(threads) => together::write(&*engine, threads, &say)?,
        None => marks::write(&*engine, store.is_flushed(), &mut |number| say(0, number))?,
    }
    Ok(())
}

/// Kills so many processes.
///
/// # Errors
/// Where one can't be started, or dies by itself.
pub(super) fn row(
    store: &'static Store,
    crash: Crash,
    kills: u64,
    folder: &Path,
    writer: &dyn Fn() -> Command,
    tell: &mut dyn FnMut(u64),
) -> Result<CrashRow, Failure> {
    let mut tally = Tally::default();
    let mut broken = None;
    let mut took = Duration::ZERO;
    for number in 0..kills {
        tell(1);
        let mut home = store.home(folder)?;
        let said = kill(store, crash, number, &mut home, writer)?;
        let acknowledged = said.last.iter().sum::<u64>();
        let found = store.open(&home.place()?).map_err(|error| error.to_string());
        let found = found.and_then(|engine| match store.threads() {
            Some(threads) => together::read(&*engine, threads),
            None => marks::read(&*engine).map(|last| vec![last]),
        });
        tally.crashes += 1;
        tally.acknowledged += acknowledged;
        took += said.took;
        match found {
            Ok(there) => {
                let each = || said.last.iter().zip(&there);
                let lost = each().map(|(said, there)| said.saturating_sub(*there)).sum::<u64>();
                tally.lost += lost;
                tally.with_loss += u64::from(lost > 0);
                if let Some((said, there)) = each().find(|(said, there)| **there > **said + 1) {
                    broken = Some(format!("{there} commits are there, {said} were said"));
                }
            }
            Err(what) => {
                tally.lost += acknowledged;
                tally.with_loss += 1;
                tally.damaged += 1;
                broken = Some(what);
            }
        }
    }
    let rate = (!took.is_zero()).then(|| tally.acknowledged as f64 / took.as_secs_f64());
    Ok(CrashRow::new(store.name(), crash, tally, store.killed(), rate, broken))
}

/// What a process has said before it was killed.
struct PrintedCommits {
    /// The number of each thread's last acknowledged commit.
    last: Vec<u64>,
    /// How long it wrote.
    took: Duration,
}

/// Starts a writer and kills it, or with server crashes its server. Each number gives another moment, from the first commit
/// to some hundreds.
fn kill(
    store: &Store,
    crash: Crash,
    number: u64,
    home: &mut Home,
    writer: &dyn Fn() -> Command,
) -> Result<PrintedCommits, Failure> {
    let mut child = writer()
        .arg(store.name())
        .arg(home.place()?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // A server that is killed is an error to it.
        .stderr(if crash == Crash::ServerKilled { Stdio::null() } else { Stdio::inherit() })
        .spawn()
        .map_err(|error| Failure::from(error).during("start the process that is killed"))?;
    let output = child.stdout.take().ok_or_else(|| Failure::new("its output is not piped"))?;
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    let mut said = lines.filter_map(|line| {
        let (thread, number) = line.split_once(' ')?;
        Some((thread.parse::<usize>().ok()?, number.parse::<u64>().ok()?))
    });
    let begun = said.next();
    let started = Instant::now();
    let mut last = vec![0; store.threads().unwrap_or(1)];
    let mut note = |(thread, number)| {
        if let Some(last) = last.get_mut(thread) {
            *last = number;
        }
    };
    let commits = usize::try_from(number * 37 % 149).unwrap_or(0);
    said.by_ref().take(commits).for_each(&mut note);
    std::thread::sleep(Duration::from_micros(number * 613 % 2_500));
    if crash == Crash::ServerKilled {
        home.kill_server()?;
    }
    child.kill()?;
    let took = started.elapsed();
    // What it said before it died counts too.
    said.for_each(note);
    child.wait()?;
    if crash == Crash::ServerKilled {
        home.restart_server()?;
    }
    match begun {
        Some(_) => Ok(PrintedCommits { last, took }),
        None => Err(Failure::new(format!(
            "the process to kill has written nothing to {}",
            store.name()
        ))),
    }
}
