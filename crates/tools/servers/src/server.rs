//! The common part of PostgreSQL, MariaDB and Firebird servers: a folder, a port, a start command, and a process while it runs.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::account::Account;
use crate::process::Process;
use crate::{Error, Result, port};

/// How long a server may take to start or to stop: far more than it needs.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How often a first start is tried, each time on another port, since another process may take a free one first.
const PORTS: usize = 5;

/// One server, running or not, on a port of 127.0.0.1.
#[derive(Debug)]
pub struct Server {
    // Before the folder: the process ends first.
    process: Mutex<Option<Process>>,
    plan: Plan,
    port: u16,
    folder: TempDir,
}

/// How a server is started and how it ends.
pub(crate) struct Plan {
    /// For messages.
    pub(crate) name: &'static str,
    /// The user that it runs as.
    pub(crate) account: Account,
    /// The server's program.
    pub(crate) program: PathBuf,
    /// Writes what depends on the port, before each start.
    pub(crate) configure: Option<Box<Configure>>,
    /// Its command line.
    pub(crate) arguments: Box<Arguments>,
    /// Whether it accepts connections: folder, port, process.
    pub(crate) is_ready: fn(&Path, u16, u32) -> bool,
    /// The signal for an orderly shutdown that keeps all data.
    pub(crate) stop: Signal,
    /// How long that may take, until it is killed.
    pub(crate) stop_timeout: Duration,
    /// The signal for a quick shutdown, when its data are removed next.
    pub(crate) quit: Signal,
}

/// Writes the configuration for a folder and a port.
type Configure = dyn Fn(&Path, u16) -> Result<()> + Send + Sync;

/// The command line for a folder and a port.
type Arguments = dyn Fn(&Path, u16) -> Vec<String> + Send + Sync;

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Server {
    /// Starts what was prepared in `folder`, on a free port.
    pub(crate) fn start(plan: Plan, folder: TempDir) -> Result<Self> {
        let mut last = None;
        for _ in 0..PORTS {
            let port = port::free()?;
            match launch(&plan, folder.path(), port) {
                Ok(process) => {
                    return Ok(Self { process: Mutex::new(Some(process)), plan, port, folder });
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::new("no port was tried")))
    }

    /// The TCP port, on 127.0.0.1. It stays the same over restarts.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The id of its first process; `None` while it is stopped.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process().as_ref().map(Process::pid)
    }

    /// How its first process ended; `None` while it runs, and after it was stopped or killed.
    #[must_use]
    pub fn ended(&self) -> Option<ExitStatus> {
        self.process().as_mut().and_then(Process::ended)
    }

    /// What it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(log_file(self.folder())).unwrap_or_default()
    }

    pub(crate) fn last_words(&self) -> String {
        last_words(self.folder())
    }

    /// Kills all of its processes at once (SIGKILL). Does nothing if it is stopped.
    ///
    /// # Errors
    /// If waiting for the process fails.
    pub fn kill(&self) -> Result<()> {
        match self.process().take() {
            Some(process) => process.kill(),
            None => Ok(()),
        }
    }

    /// Shuts it down in order: connections are closed, transactions rolled back, data kept.
    ///
    /// # Errors
    /// As [`kill`](Self::kill).
    pub fn stop(&self) -> Result<()> {
        match self.process().take() {
            Some(process) => process.stop(self.plan.stop, self.plan.stop_timeout),
            None => Ok(()),
        }
    }

    /// Restarts it on the same data and port, after an orderly shutdown if it runs.
    ///
    /// # Errors
    /// If it does not start, with its last log lines.
    pub fn restart(&self) -> Result<()> {
        let mut process = self.process();
        if let Some(running) = process.take() {
            running.stop(self.plan.stop, self.plan.stop_timeout)?;
        }
        *process = Some(launch(&self.plan, self.folder(), self.port)?);
        Ok(())
    }

    /// Stops all of its processes: to clients it hangs, while their connections stay open.
    pub fn pause(&self) {
        if let Some(process) = &*self.process() {
            process.pause();
        }
    }

    /// Continues it after [`pause`](Self::pause).
    pub fn resume(&self) {
        if let Some(process) = &*self.process() {
            process.resume();
        }
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self.process().take();
        if let Some(Err(error)) = process.map(|process| process.stop(self.plan.quit, START_TIMEOUT))
        {
            eprintln!("{}: {error}", self.plan.name);
        }
    }
}

/// Runs a program that prepares a server's folder, to its end.
pub(crate) fn prepare(mut command: Command, folder: &Path) -> Result<()> {
    let program = Path::new(command.get_program()).display().to_string();
    let (out, err) = log(folder)?;
    let status = command
        .current_dir(folder)
        .stdout(out)
        .stderr(err)
        .status()
        .map_err(|e| Error::io("start", Path::new(&program), &e))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::new(format!("{program} ended with {status}{}", last_words(folder))))
}

/// Starts the process and waits until it accepts connections.
fn launch(plan: &Plan, folder: &Path, port: u16) -> Result<Process> {
    if let Some(configure) = &plan.configure {
        configure(folder, port)?;
    }
    let (out, err) = log(folder)?;
    let mut command = plan.account.command(&plan.program);
    command.args((plan.arguments)(folder, port)).current_dir(folder).stdout(out).stderr(err);
    let mut process = Process::start(command, folder)?;
    let end = Instant::now() + START_TIMEOUT;
    loop {
        if (plan.is_ready)(folder, port, process.pid()) {
            return Ok(process);
        }
        if let Some(status) = process.ended() {
            // Ends its guard, too.
            process.kill()?;
            let words = last_words(folder);
            return Err(Error::new(format!("{} ended at once with {status}{words}", plan.name)));
        }
        if Instant::now() > end {
            process.kill()?;
            let (seconds, words) = (START_TIMEOUT.as_secs(), last_words(folder));
            let message = format!("{} did not answer within {seconds} seconds{words}", plan.name);
            return Err(Error::new(message));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn log_file(folder: &Path) -> PathBuf {
    folder.join("log")
}

/// The log, open twice for appending.
fn log(folder: &Path) -> Result<(Stdio, Stdio)> {
    let path = log_file(folder);
    let open = || OpenOptions::new().create(true).append(true).open(&path);
    let both = open().and_then(|file: File| Ok((file.try_clone()?, file)));
    let (out, err) = both.map_err(|e| Error::io("write", &path, &e))?;
    Ok((out.into(), err.into()))
}

/// The last lines of the log, set off from the sentence before.
fn last_words(folder: &Path) -> String {
    let log = fs::read_to_string(log_file(folder)).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let from = lines.len().saturating_sub(12);
    match lines.get(from..) {
        Some(last) if !last.is_empty() => format!(":\n  {}", last.join("\n  ")),
        _ => String::new(),
    }
}
