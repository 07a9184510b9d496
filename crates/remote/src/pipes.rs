//! The pipes of a program that was started, or any other two streams.

use crate::stream::Stream;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to end after its input has ended, before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Two streams, and the program behind them where there is one.
pub(crate) struct Pipes {
    reader: Box<dyn Read + Send>,
    writer: Option<Box<dyn Write + Send>>,
    child: Option<Child>,
}

impl Pipes {
    pub fn new(reader: Box<dyn Read + Send>, writer: Box<dyn Write + Send>) -> Self {
        Self { reader, writer: Some(writer), child: None }
    }

    /// Starts a program. What it says on standard error goes to this process's.
    pub fn start(program: &[String]) -> io::Result<Self> {
        let (name, arguments) =
            program.split_first().ok_or_else(|| io::Error::other("no program is named"))?;
        let mut child = Command::new(name)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("start {name}: {error}")))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let pipes = input.zip(output).ok_or_else(|| io::Error::other("the program has no pipes"));
        let (writer, reader) = pipes?;
        Ok(Self { reader: Box::new(reader), writer: Some(Box::new(writer)), child: Some(child) })
    }
}

impl Read for Pipes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

impl Write for Pipes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Some(writer) => writer.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Stream for Pipes {
    fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        // The end of its input tells the program to end.
        self.writer = None;
        let Some(child) = &mut self.child else { return };
        let begun = Instant::now();
        while matches!(child.try_wait(), Ok(None)) {
            if begun.elapsed() > PATIENCE {
                // It may have ended this moment: either way it is gone.
                let _ = child.kill();
                let _ = child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
