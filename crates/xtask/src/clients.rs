//! The clients in other languages, under `clients/`: their tests, against the program that was just built.
//!
//! Each is told the program in `BOBAK_TEST_PROGRAM`, and installs what it needs below the target folder. A language
//! that is missing is installed where that is possible.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::test::Sum;

const CURE: &str = "install Python 3.10, Go 1.19 and Node 20, or newer ones (Debian: `apt-get install python3 \
                    python3-venv golang nodejs npm`), or leave the clients' tests out with `cargo xtask test --no-clients`";

/// A language, and how its client is tested.
struct Client {
    name: &'static str,
    /// What must be there, and the Debian packages that bring it.
    needs: &'static [(&'static str, &'static str)],
    /// The commands, the last of which are the tests.
    run: fn(&Place, &mut Sum) -> Outcome,
}

/// Where things are.
struct Place {
    /// The client's folder.
    folder: PathBuf,
    /// A folder below the target's that is its own.
    work: PathBuf,
    /// The program that is tested against.
    program: PathBuf,
}

const CLIENTS: &[Client] = &[
    Client { name: "python", needs: &[("python3", "python3 python3-venv")], run: python },
    Client { name: "go", needs: &[("go", "golang")], run: go },
    Client { name: "typescript", needs: &[("node", "nodejs"), ("npm", "npm")], run: typescript },
];

/// Runs the tests of every client, and adds them to `sum`.
///
/// # Errors
/// When a language is missing and cannot be installed, and when a test failed.
pub fn run(sum: &mut Sum) -> Outcome {
    let root = cargo::root();
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let program = root.join(&target).join("debug/bobak");
    // Where the workspace's tests have run it is there, built with their choice of features.
    if !program.is_file() {
        cargo::run(&["build", "-p", "bobak-cli"], "see what the compiler says")?;
    }
    for client in CLIENTS {
        println!("\n== clients/{} ==", client.name);
        for (command, names) in client.needs {
            packages::need(command, names, CURE)?;
        }
        let place = Place {
            folder: root.join("clients").join(client.name),
            work: root.join(&target).join("clients").join(client.name),
            program: program.clone(),
        };
        (client.run)(&place, sum)?;
    }
    Ok(())
}

fn python(place: &Place, sum: &mut Sum) -> Outcome {
    let python = place.work.join("bin/python");
    if !python.is_file() {
        place.step("python3", &["-m", "venv", &text(&place.work)])?;
    }
    let pip = |what: &[&str]| {
        let quiet = ["-m", "pip", "install", "-q", "--disable-pip-version-check"];
        place.step(&text(&python), &[&quiet, what].concat())
    };
    pip(&["pytest"])?;
    // Where there are no wheels of these for the machine, the tests of frames are left out.
    if pip(&["--only-binary", ":all:", "pandas", "pyarrow"]).is_err() {
        println!("clients/python: without pandas and pyarrow the tests of frames are left out");
    }
    pip(&["--force-reinstall", "--no-deps", "."])?;
    let tests = ["-B", "-m", "pytest", "-p", "no:cacheprovider"];
    place.count(&text(&python), &tests, sum, Sum::count_pytest)
}

fn go(place: &Place, sum: &mut Sum) -> Outcome {
    place.step("go", &["vet", "./..."])?;
    place.count("go", &["test", "-v", "./..."], sum, Sum::count_go)
}

fn typescript(place: &Place, sum: &mut Sum) -> Outcome {
    place
        .step("npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])?;
    place.step("npx", &["tsc"])?;
    // By their names: whether a folder may stand for its files differs between Node's versions.
    let files = ["dist/test/vectors.test.js", "dist/test/doors.test.js"];
    let tests = [&["--test", "--test-reporter=tap"], &files[..]].concat();
    place.count("node", &tests, sum, Sum::count_tap)
}

impl Place {
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        command.env("BOBAK_TEST_PROGRAM", &self.program);
        // What Go builds lies below the target folder, as all else does.
        command.env("GOCACHE", self.work.join("cache"));
        command
    }

    /// Runs a command that prepares the tests.
    fn step(&self, program: &str, arguments: &[&str]) -> Outcome {
        let status = self.command(program, arguments).status();
        self.judge(program, status)
    }

    /// Runs a command, shows what it says, and counts tests in each line.
    fn count(
        &self,
        program: &str,
        arguments: &[&str],
        sum: &mut Sum,
        count: fn(&mut Sum, &str),
    ) -> Outcome {
        let child = self.command(program, arguments).stdout(Stdio::piped()).spawn();
        let status = child.and_then(|mut child| {
            if let Some(output) = child.stdout.take() {
                for line in BufReader::new(output).lines() {
                    let line = line?;
                    writeln!(io::stdout(), "{line}")?;
                    count(sum, &line);
                }
            }
            child.wait()
        });
        self.judge(program, status)
    }

    fn judge(&self, program: &str, status: io::Result<std::process::ExitStatus>) -> Outcome {
        let folder = self.folder.display();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::new(
                format!("`{program}` ended with {status} in {folder}"),
                "look above for what it says; its README has how to run the tests alone",
            )),
            Err(error) => {
                Err(Failure::new(format!("`{program}` cannot be started: {error}"), CURE))
            }
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
