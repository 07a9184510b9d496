//! Runs the program in a temporary folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A temporary folder to run in.
pub struct Program {
    folder: TempDir,
}

/// The result of a run.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Program {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("makes a folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), content).expect("writes");
        self
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("reads")
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        self.run_with_input(arguments, b"")
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bobak"))
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut stdin = child.stdin.take().expect("is piped");
        // Some tests expect the program to fail before it has read all its input.
        let _ = stdin.write_all(input);
        drop(stdin);
        let output = child.wait_with_output().expect("ends");
        Run {
            code: output.status.code().expect("is not killed"),
            out: String::from_utf8(output.stdout).expect("is text"),
            err: String::from_utf8(output.stderr).expect("is text"),
        }
    }

    /// Runs the program, expects success, and returns standard output.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.err);
        run.out
    }

    /// Runs the program and expects this exit code and a message that contains `sentence`.
    pub fn fails(&self, code: i32, sentence: &str, arguments: &[&str]) {
        let run = self.run(arguments);
        assert_eq!(run.code, code, "{arguments:?}: {}", run.err);
        assert!(run.err.contains(sentence), "{arguments:?}: {}", run.err);
        assert!(!run.err.contains("panicked"), "{arguments:?}: {}", run.err);
    }
}

/// The path of a data file of the flights example.
pub fn data(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flights/data");
    data.join(name).display().to_string()
}
