//! Writing on another thread, so that the next rows are fetched while the last ones are written.

use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Where frames go: written here, or one of them by the thread, which has the sink meanwhile.
#[derive(Debug)]
pub(crate) struct Background<W> {
    /// Not here while a frame is with the thread.
    sink: Option<W>,
    thread: Thread<W>,
}

/// A sink, and a whole frame for it.
type Job<W> = (W, Vec<u8>);

#[derive(Debug)]
enum Thread<W> {
    /// Not needed yet.
    None,
    /// It could not be started.
    Never,
    Running {
        jobs: SyncSender<Job<W>>,
        done: Receiver<(Job<W>, io::Result<()>)>,
    },
}

impl<W: Write + Send + 'static> Background<W> {
    pub(crate) fn new(sink: W) -> Self {
        Self { sink: Some(sink), thread: Thread::None }
    }

    /// The sink, once all that was given to the thread is written.
    pub(crate) fn sink(&mut self) -> io::Result<&mut W> {
        if self.sink.is_none() {
            self.wait()?;
        }
        self.sink.as_mut().ok_or_else(gone)
    }

    /// Has the frame written while the caller goes on; gives an empty buffer for the next one.
    pub(crate) fn send(&mut self, frame: &mut Vec<u8>) -> io::Result<()> {
        let mut next = if self.sink.is_none() { self.wait()? } else { Vec::new() };
        next.clear();
        if matches!(self.thread, Thread::None) {
            self.thread = start();
        }
        match (&self.thread, self.sink.take()) {
            (Thread::Running { jobs, .. }, Some(sink)) => {
                jobs.send((sink, mem::replace(frame, next))).map_err(|_| gone())
            }
            (_, Some(mut sink)) => {
                let result = sink.write_all(frame);
                self.sink = Some(sink);
                frame.clear();
                result
            }
            (_, None) => Err(gone()),
        }
    }

    /// Waits until the thread's frame is written; gives its buffer.
    fn wait(&mut self) -> io::Result<Vec<u8>> {
        let Thread::Running { done, .. } = &self.thread else {
            return Err(gone());
        };
        let ((sink, buffer), result) = done.recv().map_err(|_| gone())?;
        self.sink = Some(sink);
        result.map(|()| buffer)
    }
}

fn start<W: Write + Send + 'static>() -> Thread<W> {
    let (jobs, received) = sync_channel::<Job<W>>(1);
    let (finished, done) = sync_channel(1);
    let work = move || {
        while let Ok((mut sink, frame)) = received.recv() {
            let result = sink.write_all(&frame);
            if finished.send(((sink, frame), result)).is_err() {
                return;
            }
        }
    };
    match thread::Builder::new().name("writer".into()).stack_size(64 * 1024).spawn(work) {
        Ok(_) => Thread::Running { jobs, done },
        Err(_) => Thread::Never,
    }
}

/// The thread has ended, which it does only together with the program.
fn gone() -> io::Error {
    io::Error::other("the writing thread is gone")
}
