//! The pipes of a started program, or any other pair of streams.

use crate::stream::{Second, Stream};
use bobak_core::{Error, ErrorKind};
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a program may run after its input was closed, before it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a program that closed its output may take to end.
const CLOSED_EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// The interval between checks whether it has ended.
const EXIT_CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// Two streams, and the program behind them if one was started.
pub(crate) struct Pipes {
    reader: Box<dyn Read + Send>,
    writer: Arc<Mutex<Writer>>,
    child: Option<Program>,
}

/// A program that was started.
struct Program {
    name: String,
    child: Child,
}

/// The stream to the program, until it is closed.
struct Writer(Option<Box<dyn Write + Send>>);

impl Pipes {
    pub fn new(reader: Box<dyn Read + Send>, writer: Box<dyn Write + Send>) -> Self {
        Self { reader, writer: Arc::new(Mutex::new(Writer(Some(writer)))), child: None }
    }

    /// Starts a program. Its standard error is that of this process.
    pub fn start(program: &[String]) -> io::Result<Self> {
        let (name, arguments) =
            program.split_first().ok_or_else(|| io::Error::other("the program is missing"))?;
        let mut child = Command::new(name)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("start {name}: {error}")))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let pipes = input.zip(output).ok_or_else(|| io::Error::other("the program has no pipes"));
        let (writer, reader) = pipes?;
        let mut pipes = Self::new(Box::new(reader), Box::new(writer));
        pipes.child = Some(Program { name: name.clone(), child });
        Ok(pipes)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Pipes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match (self.reader.read(buffer), &mut self.child) {
            (Ok(0), Some(program)) if !buffer.is_empty() => {
                Err(io::Error::other(program.end_reason()))
            }
            (read, _) => read,
        }
    }
}

impl Program {
    /// The exit status, after `timeout` at most; `None` if the program still runs.
    fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(None) if begun.elapsed() < timeout => std::thread::sleep(EXIT_CHECK_INTERVAL),
                ended => return ended.ok().flatten(),
            }
        }
    }

    /// Why the stream ended. The program's standard error was passed on already.
    fn end_reason(&mut self) -> Error {
        let end = match self.wait(CLOSED_EXIT_TIMEOUT) {
            Some(status) => format!("ended ({status}); its standard error may say why"),
            None => "closed its output".to_owned(),
        };
        let message = format!("the program {} {end}", self.name);
        Error::new(ErrorKind::Unreachable, message)
    }
}

impl Write for Pipes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer().write(bytes);
        match (written, &mut self.child) {
            (Err(error), Some(program)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Err(io::Error::other(program.end_reason()))
            }
            (written, _) => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Some(writer) => writer.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Stream for Pipes {
    fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| matches!(child.child.try_wait(), Ok(None)))
    }

    fn second(&self) -> Option<Second> {
        Some(Arc::clone(&self.writer) as Second)
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        // Closing its input tells the program to end.
        self.writer().0 = None;
        let Some(program) = &mut self.child else { return };
        if program.wait(EXIT_TIMEOUT).is_none() {
            // The program may have ended this moment, which is fine.
            let _ = program.child.kill();
            let _ = program.child.wait();
        }
    }
}
