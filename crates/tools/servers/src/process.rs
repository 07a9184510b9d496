//! A server's processes: started together with a guard, signalled, and waited for.
//!
//! The guard is a shell that waits for the end of a pipe that only this process holds open. If this process is killed, or exits without
//! dropping (a test that aborts, a server in a static), it ends the server and removes the folder.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Error, Result};

/// The pipe's end ends the wait of `read`. SIGQUIT is a quick, orderly end to both servers.
const GUARD: &str = r#"read -r _
kill -QUIT "$1" 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$1" 2>/dev/null || break; sleep 0.5; done
kill -KILL "$1" 2>/dev/null
rm -rf "$2""#;

/// The same for a folder without a server of its own: the guards of servers in it remove theirs meanwhile.
const FOLDER_GUARD: &str = r#"read -r _
for _ in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$1" 2>/dev/null && break; sleep 1; done"#;

/// How long processes may take to end that were killed: far more than they need.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// A running server.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    guard: Guard,
}

impl Process {
    /// Starts `command`, and a guard that would remove `folder`.
    pub(crate) fn start(mut command: Command, folder: &Path) -> Result<Self> {
        // A group of its own: an interrupt typed at the terminal is for the tests, which then drop the server.
        let mut child = command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|e| Error::io("start", Path::new(command.get_program()), &e))?;
        match Guard::start(child.id(), folder) {
            Ok(guard) => Ok(Self { child, guard }),
            Err(error) => {
                // A server without a guard must not keep running.
                drop(child.kill().and_then(|()| child.wait()));
                Err(error)
            }
        }
    }

    /// The number of its first process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Stops all of its processes immediately (SIGSTOP), which simulates a server that hangs.
    pub(crate) fn pause(&self) {
        for pid in self.all_stopped() {
            signal(pid, Signal::STOP);
        }
    }

    /// Continues them (SIGCONT).
    pub(crate) fn resume(&self) {
        let parent = self.pid();
        for pid in children(parent).into_iter().chain([parent]) {
            signal(pid, Signal::CONT);
        }
    }

    /// Kills all of its processes (SIGKILL) before one can react to the end of another.
    pub(crate) fn kill(mut self) -> Result<()> {
        let all = self.all_stopped();
        for pid in &all {
            signal(*pid, Signal::KILL);
        }
        let ended = self.child.wait();
        // PostgreSQL does not start again while one of them still has its shared memory.
        let end = Instant::now() + KILL_TIMEOUT;
        while all.iter().any(|pid| is_running(*pid)) && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        self.guard.dismiss();
        ended.map(drop).map_err(|e| Error::new(format!("could not wait for a killed server: {e}")))
    }

    /// Sends the signal `how`, waits for `timeout`, and kills the processes that are left.
    pub(crate) fn stop(mut self, how: Signal, timeout: Duration) -> Result<()> {
        self.resume();
        signal(self.pid(), how);
        let end = Instant::now() + timeout;
        while Instant::now() < end {
            if self.ended().is_some() {
                self.guard.dismiss();
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.kill()
    }

    /// Its processes, of which the first is stopped, so that it starts no more of them.
    fn all_stopped(&self) -> Vec<u32> {
        let parent = self.pid();
        signal(parent, Signal::STOP);
        let mut all = children(parent);
        all.push(parent);
        all
    }
}

/// The shell that ends the server after us.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
    // Closed last: its end is what the shell waits for.
    _line: Option<ChildStdin>,
}

impl Guard {
    fn start(server: u32, folder: &Path) -> Result<Self> {
        Self::run(GUARD, &[server.to_string().as_ref(), folder.as_os_str()])
    }

    /// One that only removes a folder.
    pub(crate) fn of_folder(folder: &Path) -> Result<Self> {
        Self::run(FOLDER_GUARD, &[folder.as_os_str()])
    }

    fn run(script: &str, arguments: &[&OsStr]) -> Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", script, "sh"])
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|e| Error::io("start", Path::new("/bin/sh"), &e))?;
        let line = shell.stdin.take();
        Ok(Self { shell, _line: line })
    }

    /// Ends the shell, which then does nothing: the server has ended.
    pub(crate) fn dismiss(&mut self) {
        drop(self.shell.kill().and_then(|()| self.shell.wait()));
    }
}

/// Sends a signal; does nothing if the process has ended.
fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended: then there is no process to signal.
        let _ = kill_process(pid, signal);
    }
}

/// The processes whose parent is `parent`. Only Linux tells by files; elsewhere a server's processes end by
/// themselves when they miss the first one.
fn children(parent: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| parent_of(*pid) == Some(parent))
        .collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    state_and_parent(pid)?.1.parse().ok()
}

/// Whether a process has not ended. One that has is a zombie until its parent has asked for its status.
fn is_running(pid: u32) -> bool {
    state_and_parent(pid).is_some_and(|(state, _)| state != "Z")
}

/// The third and the fourth word of /proc/PID/stat; the second is the program's name in brackets, which may hold anything.
fn state_and_parent(pid: u32) -> Option<(String, String)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.to_owned()))
}
