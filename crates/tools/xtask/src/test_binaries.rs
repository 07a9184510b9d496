//! The test binaries of the workspace: compiled by cargo, then run two at a time. Many tests wait, for servers, other processes and
//! timeouts; meanwhile those of another binary compute.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cargo;
use crate::cargo_test;
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::servers::Servers;
use crate::tally::Tally;

/// A compiled binary.
#[derive(Debug, PartialEq)]
pub struct TestBinary {
    program: PathBuf,
    /// The folder of its package, where it runs.
    folder: PathBuf,
    /// The variables of its package that cargo sets.
    variables: BTreeMap<&'static str, String>,
    /// As in cargo's output.
    title: String,
}

/// What a run of a binary counted, and whether it ended well.
struct TestOutput {
    tally: Tally,
    success: bool,
    /// Whether a failed test could not connect to the Firebird server.
    lost_firebird: bool,
}

/// Whether tests say that the Firebird server took no connection. Firebird 3.0.11 ends connections under load, and may be back
/// before anybody looks.
fn lost_firebird(output: &str) -> bool {
    let is_lost =
        |line: &str| line.contains("could not connect to '127.0.0.1:") && line.contains(".fdb'");
    output.lines().any(is_lost)
}

/// Compiles the test binaries, the programs and the examples of all packages. Those that run longest come first: that of Firebird,
/// whose server is slow, then the largest ones.
///
/// # Errors
/// When something does not compile.
pub fn build() -> Outcome<Vec<TestBinary>> {
    let mut command = cargo::command(&["test", "--workspace", "--no-run"]);
    command.args(packages::without_driver_manager());
    command.arg("--message-format=json-render-diagnostics");
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| cargo::not_started(&error))?;
    if !output.status.success() {
        return Err(Failure::new(
            format!("`cargo test --no-run` ended with {}", output.status),
            "see what the compiler says above",
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut binaries: Vec<TestBinary> = text.lines().filter_map(TestBinary::of_message).collect();
    let size = |binary: &TestBinary| fs::metadata(&binary.program).map_or(0, |file| file.len());
    binaries.sort_by_cached_key(|binary| (!binary.uses_firebird(), Reverse(size(binary))));
    Ok(binaries)
}

impl TestBinary {
    /// Of a line that cargo prints as it compiles, if it is about a test binary.
    fn of_message(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if message["profile"]["test"] != true {
            return None;
        }
        let program = PathBuf::from(text(&message["executable"])?);
        let manifest = text(&message["manifest_path"])?;
        let folder = PathBuf::from(&manifest).parent()?.to_owned();
        // `path+file:///FOLDER#NAME@VERSION`, or without a name if it is the folder's.
        let id = text(&message["package_id"])?;
        let (place, id) = id.rsplit_once('#')?;
        let of_folder = place.rsplit('/').next()?;
        let (name, version) = id.split_once('@').unwrap_or((of_folder, id));
        let source = PathBuf::from(text(&message["target"]["src_path"])?);
        let source = source.strip_prefix(&folder).unwrap_or(&source).display();
        let title = format!("{name}: {source} ({})", program.display());
        let variables = [
            ("CARGO_MANIFEST_PATH", manifest.clone()),
            ("CARGO_MANIFEST_DIR", folder.display().to_string()),
            ("CARGO_PKG_NAME", name.to_owned()),
            ("CARGO_PKG_VERSION", version.to_owned()),
        ];
        Some(Self { program, folder, variables: variables.into(), title })
    }

    /// Runs it, and adds to `tally`. Its output is shown as a whole. If Firebird's server program ended or hung meanwhile, the tests that
    /// failed run once more: these faults are of the program (docs/firebird.md).
    ///
    /// # Errors
    /// When a test failed, and when the binary crashed.
    pub fn run(&self, servers: &Servers, tally: &mut Tally) -> Outcome {
        self.run_twice_after(servers, tally, || match self.uses_firebird() {
            true => servers.firebird_faults(),
            false => Vec::new(),
        })
    }

    /// As [`run`](Self::run). `faults` returns those of a server; it is called if a test failed.
    fn run_twice_after(
        &self,
        servers: &Servers,
        tally: &mut Tally,
        faults: impl Fn() -> Vec<String>,
    ) -> Outcome {
        let first = self.run_with(servers, &[])?;
        let failed = first.tally.failed_tests();
        let mut faults = if first.success || failed.is_empty() { Vec::new() } else { faults() };
        if first.lost_firebird && !failed.is_empty() && faults.is_empty() {
            faults.push("Firebird's server ended connections".to_owned());
        }
        if faults.is_empty() {
            tally.add(first.tally);
            return self.judge(first.success);
        }
        let count = failed.len();
        println!(
            "{}\n{count} tests of {} failed and run once more:",
            faults.join("\n"),
            self.title
        );
        let arguments: Vec<&str> =
            ["--exact"].into_iter().chain(failed.iter().map(String::as_str)).collect();
        let again = self.run_with(servers, &arguments)?;
        tally.passed += first.tally.passed;
        tally.add(again.tally);
        self.judge(again.success)
    }

    /// Whether its tests use the server that [`Servers::firebird_faults`] is about.
    fn uses_firebird(&self) -> bool {
        self.variables.get("CARGO_PKG_NAME").is_some_and(|name| name == "bobak-firebird")
    }

    fn run_with(&self, servers: &Servers, arguments: &[&str]) -> Outcome<TestOutput> {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.folder).envs(&self.variables);
        command.env("BOBAK_TEST_WORKSPACE", "1").stdin(Stdio::null()).stderr(Stdio::inherit());
        // Those of another binary run, too.
        cargo_test::set_threads(&mut command, 2);
        servers.tell(&mut command);
        let failed = |error: io::Error| {
            Failure::new(format!("{}: {error}", self.title), "see the disk and the memory")
        };
        let output = command.output().map_err(failed)?;
        let mut tally = Tally::default();
        tally.read(&*output.stdout, &mut io::sink()).map_err(failed)?;
        // At once: another binary may end at the same time.
        print!("     Running {}\n{}", self.title, String::from_utf8_lossy(&output.stdout));
        let lost_firebird = lost_firebird(&String::from_utf8_lossy(&output.stdout));
        Ok(TestOutput { tally, success: output.status.success(), lost_firebird })
    }

    fn judge(&self, success: bool) -> Outcome {
        if success {
            return Ok(());
        }
        Err(Failure::new(
            format!("tests failed, or the binary crashed: {}", self.title),
            "look above for `FAILED` or `panicked`; the tests of a binary that crashed are not counted",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn a_message_of_cargo_names_a_test_binary() {
        let message = |id: &str, test: bool| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "package_id": format!("path+file:///x/crates/derive#{id}"),
                "manifest_path": "/x/crates/derive/Cargo.toml",
                "target": { "src_path": "/x/crates/derive/tests/it/main.rs" },
                "profile": { "test": test },
                "executable": "/x/target/debug/deps/it-1",
            })
            .to_string()
        };
        let binary = TestBinary::of_message(&message("bobak-derive@0.1.0", true)).unwrap();
        assert_eq!(binary.folder, PathBuf::from("/x/crates/derive"));
        assert_eq!(binary.title, "bobak-derive: tests/it/main.rs (/x/target/debug/deps/it-1)");
        assert_eq!(binary.variables["CARGO_PKG_VERSION"], "0.1.0");
        let of_folder = TestBinary::of_message(&message("0.1.0", true)).unwrap();
        assert_eq!(of_folder.variables["CARGO_PKG_NAME"], "derive");
        assert_eq!(TestBinary::of_message(&message("bobak-derive@0.1.0", false)), None);
        assert_eq!(TestBinary::of_message(r#"{"reason":"build-finished","success":true}"#), None);
    }

    /// A program that fails two tests, unless it is given their names.
    fn failing(folder: &Path) -> TestBinary {
        let program = folder.join("it");
        let script = "#!/bin/sh\nif [ $# = 3 ]; then\n  echo \"test $2 ... ok\"; echo \"test $3 ... ok\"\n  \
                      echo 'test result: ok. 2 passed; 0 failed; 0 ignored'; exit 0\nfi\necho 'test a::b ... FAILED'\n\
                      echo 'test c ... ok'; echo 'test d - should panic ... FAILED'\n\
                      echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored'; exit 101\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let title = "bobak-firebird: tests/it/main.rs".to_owned();
        TestBinary { program, folder: folder.to_owned(), variables: BTreeMap::new(), title }
    }

    #[test]
    fn failed_tests_run_again_only_if_the_server_had_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        let binary = failing(folder.path());
        let mut tally = Tally::default();
        let outcome = binary.run_twice_after(&Servers::none(), &mut tally, Vec::new);
        assert!(outcome.is_err());
        assert_eq!((tally.passed, tally.failed), (1, 2));
        let mut tally = Tally::default();
        let faults = || vec!["Firebird's server program ended: signal: 11".to_owned()];
        binary.run_twice_after(&Servers::none(), &mut tally, faults).unwrap();
        assert_eq!((tally.passed, tally.failed), (3, 0));
        assert!(lost_firebird(
            "16: could not connect to '127.0.0.1:1/test_2.fdb': Connection reset"
        ));
        assert!(!lost_firebird("could not connect to '127.0.0.1:1/test': Connection reset"));
    }
}
