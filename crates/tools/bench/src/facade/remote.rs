//! The engines behind a server, which runs in a process of its own: the same program, as `serve`.
//!
//! Each is compared with the engine that it serves, in this process.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bobak::Db;

use super::contender::BobakContender;
use super::engine::{in_url, tasks_of};
use super::person::Person;
use crate::contender::{Contender, Engine, Failure};
use crate::engines;
use crate::workload::Task;

/// The variable that names the program which serves, where this one can't.
pub const PROGRAM: &str = "BOBAK_BENCH_PROGRAM";

/// What the benchmark shows a server.
pub(super) const TOKEN: &str = "a token for the benchmark";

/// What is served.
const MEMORY: &str = "sqlite::memory:";

/// The engines, in the order of the report's rows.
pub static ENGINES: [RemoteEngine; 3] = [
    RemoteEngine { name: "remote tcp", transport: Transport::Tcp },
    RemoteEngine { name: "remote unix", transport: Transport::Unix },
    RemoteEngine { name: "stdio", transport: Transport::Stdio },
];

/// SQLite in memory, behind a listener.
pub struct RemoteEngine {
    name: &'static str,
    transport: Transport,
}

#[derive(Clone, Copy)]
enum Transport {
    Tcp,
    Unix,
    Stdio,
}

/// A private server; it ends with the contender.
pub struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program that serves: the named one, or this one if it can.
pub fn program() -> Option<PathBuf> {
    std::env::var_os(PROGRAM).map(PathBuf::from).or_else(|| {
        let here = std::env::current_exe().ok()?;
        (here.file_stem() == Some(OsStr::new("bobak"))).then_some(here)
    })
}

/// The program that serves.
///
/// # Errors
/// If there is none.
pub(crate) fn required_program() -> Result<PathBuf, Failure> {
    let message = || format!("no program to serve with: name one in {PROGRAM}");
    program().ok_or_else(|| Failure::new(message()))
}

/// Starts a server of the database at this URL, with these listeners, and waits until it listens. Returns its address, too.
pub(crate) fn start(
    program: &Path,
    database: &str,
    listeners: &[&OsStr],
) -> Result<(Server, String), Failure> {
    let mut child = Command::new(program)
        .args(["--quiet", "serve", &format!("main={database}")])
        .args(listeners)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take();
    let server = Server(child);
    let mut line = String::new();
    if let Some(output) = output {
        BufReader::new(output).read_line(&mut line)?;
    }
    let place = line.trim().strip_prefix("listening on ").map(str::to_owned);
    let place = place.ok_or_else(|| Failure::new(format!("the server said {line:?}")))?;
    Ok((server, place))
}

impl RemoteEngine {
    fn place(&self, program: &Path, folder: &Path) -> Result<(Option<Server>, String), Failure> {
        match self.transport {
            Transport::Tcp => {
                let tokens = folder.join("tokens");
                std::fs::write(&tokens, TOKEN)?;
                let listeners =
                    ["--listen".as_ref(), "127.0.0.1:0".as_ref(), "--token-file".as_ref()];
                let listeners: Vec<&OsStr> =
                    listeners.into_iter().chain([tokens.as_os_str()]).collect();
                let (server, address) = start(program, MEMORY, &listeners)?;
                let token = TOKEN.replace(' ', "%20");
                Ok((Some(server), format!("bobak://{address}/main?token={token}")))
            }
            Transport::Unix => {
                let socket = folder.join("socket");
                let (server, path) =
                    start(program, MEMORY, &["--unix".as_ref(), socket.as_os_str()])?;
                Ok((Some(server), format!("bobak+unix:{}", in_url(path.as_ref())?)))
            }
            Transport::Stdio => {
                let program = in_url(program)?;
                Ok((None, format!("bobak+stdio:{program} serve main={MEMORY} --stdio")))
            }
        }
    }
}

impl Engine for RemoteEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tasks(&self) -> &'static [Task] {
        tasks_of(false, false)
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        engines::all().into_iter().find(|engine| engine.name() == "sqlite memory")
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        let program = required_program()?;
        let (server, url) = self.place(&program, folder)?;
        let db = Db::builder().record::<Person>().open(&url)?;
        db.create_missing_tables()?;
        Ok(Box::new(BobakContender::new(db, "main", &[]).with_server(server)))
    }
}
