//! The folders of a client and of its dependencies, and commands that run there.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::tally::Tally;

/// What to do if a language is missing.
pub const CURE: &str = "install Python 3.10, Go 1.19 and Node 20, or newer ones (Debian: `apt-get install python3 \
                    python3-venv golang nodejs npm`), or leave the clients out: `cargo xtask check --no-clients`, \
                    `cargo xtask test --no-clients`";

/// The compiler of TypeScript, as npm installs it.
pub const TSC: &str = "node_modules/typescript/bin/tsc";

/// Where things are.
pub struct ClientFolder {
    /// The client's folder.
    folder: PathBuf,
    /// A folder below the target's that is its own.
    work: PathBuf,
}

impl ClientFolder {
    /// Of the client in this language.
    pub fn of(name: &str) -> Self {
        Self {
            folder: cargo::root().join("clients").join(name),
            work: cargo::target().join("clients").join(name),
        }
    }

    /// Of a package of Node elsewhere in the repository.
    pub fn at(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        Self { folder: cargo::root().join(path), work: cargo::target().join(name) }
    }

    /// The path of a program that pip has installed.
    pub fn tool(&self, name: &str) -> String {
        text(&self.work.join("bin").join(name))
    }

    /// The path of a folder for what a tool remembers.
    pub fn folder_for(&self, tool: &str) -> String {
        text(&self.work.join("cache").join(tool))
    }

    /// The names of the files in a folder that end so, without that end.
    pub fn files(&self, folder: &str, end: &str) -> Vec<String> {
        let found = fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
        let name =
            |file: fs::DirEntry| Some(file.file_name().to_str()?.strip_suffix(end)?.to_owned());
        found.filter_map(name).collect()
    }

    /// Installs the packages of package-lock.json that are not installed yet.
    pub fn install_from_npm(&self) -> Outcome {
        let changed =
            |file: &str| fs::metadata(self.folder.join(file)).and_then(|file| file.modified());
        // The second is npm's own note of what it has installed.
        let (wanted, installed) =
            (changed("package-lock.json"), changed("node_modules/.package-lock.json"));
        if matches!((wanted, installed), (Ok(wanted), Ok(installed)) if wanted <= installed) {
            return Ok(());
        }
        let words =
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        self.run(&words, "see what npm says above, and that the network is up")
    }

    /// Runs a command.
    pub fn run(&self, words: &[&str], cure: &str) -> Outcome {
        self.judge(words, cure, self.command(words).status())
    }

    /// Runs a command that prints something only if something is wrong.
    pub fn run_silent(&self, words: &[&str], cure: &str) -> Outcome {
        let output = self.command(words).stderr(Stdio::inherit()).output();
        let said = output.as_ref().is_ok_and(|output| !output.stdout.is_empty());
        let output = output
            .and_then(|output| io::stdout().write_all(&output.stdout).map(|()| output.status));
        self.judge(words, cure, output)?;
        if said { Err(self.failure(words, "named the files above", cure)) } else { Ok(()) }
    }

    /// Runs a command, shows what it says, and counts tests in each line.
    pub fn count(
        &self,
        words: &[&str],
        cure: &str,
        tally: &mut Tally,
        count: fn(&mut Tally, &str),
    ) -> Outcome {
        let child = self.command(words).stdout(Stdio::piped()).spawn();
        let status = child.and_then(|mut child| {
            if let Some(output) = child.stdout.take() {
                for line in BufReader::new(output).lines() {
                    let line = line?;
                    writeln!(io::stdout(), "{line}")?;
                    count(tally, &line);
                }
            }
            child.wait()
        });
        self.judge(words, cure, status)
    }

    fn command(&self, words: &[&str]) -> Command {
        let (program, arguments) = words.split_first().expect("a command has a first word");
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        command.env("BOBAK_TEST_PROGRAM", cargo::program("bobak"));
        // What Go builds lies below the target folder, as all else does.
        command.env("GOCACHE", self.work.join("cache"));
        command
    }

    fn judge(&self, words: &[&str], cure: &str, status: io::Result<ExitStatus>) -> Outcome {
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(self.failure(words, &format!("ended with {status}"), cure)),
            Err(error) => Err(self.failure(words, &format!("cannot be started: {error}"), CURE)),
        }
    }

    fn failure(&self, words: &[&str], what: &str, cure: &str) -> Failure {
        let folder = self.folder.display();
        Failure::new(format!("`{}` {what}, in {folder}", words.join(" ")), cure)
    }
}

/// Makes the folder that pip installs into.
pub fn make_venv(folder: &ClientFolder) -> Outcome {
    if folder.work.join("bin/pip").is_file() {
        return Ok(());
    }
    folder.run(&["python3", "-m", "venv", &text(&folder.work)], CURE)
}

/// Installs Python's packages.
pub fn pip(folder: &ClientFolder, packages: &[&str]) -> Outcome {
    let python = folder.tool("python");
    let install = [&*python, "-m", "pip", "install", "-q", "--disable-pip-version-check"];
    folder
        .run(&[&install, packages].concat(), "see what pip says above, and that the network is up")
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
