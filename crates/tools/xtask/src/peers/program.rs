//! A running shop, which does one use case for each line that it reads.

use crate::failure::{Failure, Outcome};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running shop; it ends when it is dropped.
pub(super) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Program {
    /// Starts a shop with an empty database.
    pub fn start(path: &Path, url: &str) -> Outcome<Self> {
        let failed = |error: String| {
            Failure::new(format!("{}: {error}", path.display()), "see the output above")
        };
        let mut child = Command::new(path)
            .arg(url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let output = child.stdout.take().ok_or_else(|| failed("no output".to_owned()))?;
        let input = child.stdin.take();
        Ok(Self { child, input, output: BufReader::new(output).lines() })
    }

    /// Runs a use case, and returns its microseconds and its result.
    pub fn run(&mut self, case: &str, round: u64) -> Outcome<(u64, String)> {
        let input = self.input.as_mut();
        let sent =
            input.map(|input| writeln!(input, "{case} {round}").and_then(|()| input.flush()));
        let line = self.output.next().and_then(Result::ok).filter(|_| matches!(sent, Some(Ok(()))));
        let reply = line.as_deref().and_then(|line| line.split_once(' '));
        let reply =
            reply.and_then(|(micros, result)| Some((micros.parse().ok()?, result.to_owned())));
        reply.ok_or_else(|| {
            Failure::new(
                format!("a shop failed at {case}, round {round}"),
                "its error is in the output above",
            )
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The end of its input ends it.
        self.input = None;
        let _ = self.child.wait();
    }
}
