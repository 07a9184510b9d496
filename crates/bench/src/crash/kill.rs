//! Processes that are really killed, on real files.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bobak_testkit::crash::{Tally, marks};

use super::report::CrashRow;
use super::store::{Store, find};
use crate::lane::Failure;

/// Writes to a store in a folder, a numbered commit after the other, and says each number on a line
/// of its own once the commit is acknowledged; until it is killed, or nobody listens.
///
/// # Errors
/// Where nothing is called so, and those of the engine.
pub fn write_until_killed(store: &str, folder: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let store = find(store)?;
    let engine = store.open(folder)?;
    let mut say = |number| writeln!(out, "{number}").and_then(|()| out.flush()).is_ok();
    Ok(marks::write(&*engine, store.is_flushed(), &mut say)?)
}

/// Kills so many processes.
///
/// # Errors
/// Where one can't be started, or dies by itself.
pub(super) fn row(
    store: &'static Store,
    kills: u64,
    folder: &Path,
    writer: &dyn Fn() -> Command,
    tell: &mut dyn FnMut(u64),
) -> Result<CrashRow, Failure> {
    let mut tally = Tally::default();
    let mut broken = None;
    for number in 0..kills {
        tell(1);
        let folder = tempfile::tempdir_in(folder)?;
        let acknowledged = kill(store, number, folder.path(), writer)?;
        let found = store.open(folder.path()).map_err(|error| error.to_string());
        let found = found.and_then(|engine| marks::read(&*engine));
        tally.crashes += 1;
        tally.acknowledged += acknowledged;
        match found {
            Ok(there) => {
                let lost = acknowledged.saturating_sub(there);
                tally.lost += lost;
                tally.with_loss += u64::from(lost > 0);
                if there > acknowledged + 1 {
                    broken = Some(format!("{there} commits are there, {acknowledged} were said"));
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
    Ok(CrashRow::new(store.name(), "killed", tally, store.killed(), broken))
}

/// Starts a writer and kills it; gives the number of its last acknowledged commit. The moment is
/// another for each number, from its first commit to its hundreds.
fn kill(
    store: &Store,
    number: u64,
    folder: &Path,
    writer: &dyn Fn() -> Command,
) -> Result<u64, Failure> {
    let mut child = writer()
        .arg(store.name())
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::from(error).during("start the process that is killed"))?;
    let output = child.stdout.take().ok_or_else(|| Failure::new("its output is not piped"))?;
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    let mut said = lines.filter_map(|line| line.parse::<u64>().ok());
    let commits = usize::try_from(number * 37 % 149).unwrap_or(0);
    let before = said.by_ref().take(commits + 1).last();
    std::thread::sleep(Duration::from_micros(number * 613 % 2_500));
    child.kill()?;
    // What it said before it died counts too.
    let last = said.last().or(before);
    child.wait()?;
    last.ok_or_else(|| {
        Failure::new(format!(
            "the process that is to be killed has written nothing to {}",
            store.name()
        ))
    })
}
