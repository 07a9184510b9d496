//! Writes on another thread, so that the next rows are fetched meanwhile.

use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// A sink for frames. The caller writes to it directly, or hands it to the thread together with a frame.
#[derive(Debug)]
pub(crate) struct BackgroundWriter<W> {
    /// `None` while the thread writes a frame.
    sink: Option<W>,
    thread: Thread<W>,
}

/// A sink, and a complete frame to write to it.
type Job<W> = (W, Vec<u8>);

#[derive(Debug)]
enum Thread<W> {
    /// Not started yet.
    None,
    /// It could not be started; the caller writes all frames.
    Unavailable,
    Running {
        jobs: SyncSender<Job<W>>,
        done: Receiver<(Job<W>, io::Result<()>)>,
    },
}

impl<W: Write + Send + 'static> BackgroundWriter<W> {
    pub(crate) fn new(sink: W) -> Self {
        Self { sink: Some(sink), thread: Thread::None }
    }

    /// The sink, after the thread has written its frame.
    pub(crate) fn sink(&mut self) -> io::Result<&mut W> {
        if self.sink.is_none() {
            self.wait()?;
        }
        self.sink.as_mut().ok_or_else(thread_ended)
    }

    /// Writes a frame in the background, and replaces it with an empty buffer for the next one.
    pub(crate) fn send(&mut self, frame: &mut Vec<u8>) -> io::Result<()> {
        let mut next = if self.sink.is_none() { self.wait()? } else { Vec::new() };
        next.clear();
        if matches!(self.thread, Thread::None) {
            self.thread = start();
        }
        match (&self.thread, self.sink.take()) {
            (Thread::Running { jobs, .. }, Some(sink)) => {
                jobs.send((sink, mem::replace(frame, next))).map_err(|_| thread_ended())
            }
            (_, Some(mut sink)) => {
                let result = sink.write_all(frame);
                self.sink = Some(sink);
                frame.clear();
                result
            }
            (_, None) => Err(thread_ended()),
        }
    }

    /// Waits until the thread has written its frame; returns the frame's buffer.
    fn wait(&mut self) -> io::Result<Vec<u8>> {
        let Thread::Running { done, .. } = &self.thread else {
            return Err(thread_ended());
        };
        let ((sink, buffer), result) = done.recv().map_err(|_| thread_ended())?;
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
        Err(_) => Thread::Unavailable,
    }
}

/// The error for a thread that has ended, which happens only together with the program.
fn thread_ended() -> io::Error {
    io::Error::other("the writer thread has ended")
}
