//! One connection: requests go out, answers come in, tables and texts have numbers.

use crate::broken::{Broken, Failed};
use crate::stream::{Second, Stream};
use bobak_core::{Error, ErrorKind, Interrupt, Interruptible, Parameter, Result, TableSchema};
use bobak_wire::{
    AdaptiveSpin, ForeignProtocol, FrameHeader, FrameKind, HEADER_LENGTH, Hello, Inbox,
    RequestSource, Response, Welcome, encode_request,
};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// Texts that are remembered, to give those a number that come again.
const TEXTS: usize = 256;

/// A connection.
pub(crate) struct Link {
    /// No other connection of this process has this number.
    number: u64,
    stream: Box<dyn Stream>,
    /// For who takes a request back; made when it is needed first.
    second: Option<Second>,
    inbox: Inbox,
    spin: AdaptiveSpin,
    out: Vec<u8>,
    next_id: u32,
    welcome: Welcome,
    tables: HashMap<u64, u32>,
    /// The table that was used last, which is most often the next.
    last_table: (u64, u32),
    /// Texts that were sent once, and the numbers of those that were sent again.
    texts: HashMap<Box<str>, Option<u32>>,
}

impl Link {
    /// Says hello over a new stream.
    pub fn open(stream: Box<dyn Stream>, hello: &Hello) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let welcome = Welcome {
            version: 0,
            limits: bobak_wire::Limits::default(),
            capabilities: bobak_core::Capabilities::NONE,
            engine: String::new(),
            server: String::new(),
        };
        let mut link = Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            stream,
            second: None,
            inbox: Inbox::new(u32::MAX),
            spin: AdaptiveSpin::default(),
            out: Vec::new(),
            next_id: 1,
            welcome,
            tables: HashMap::new(),
            last_table: (0, 0),
            texts: HashMap::new(),
        };
        match link.greet(hello) {
            Ok(welcome) => {
                link.welcome = welcome;
                Ok(link)
            }
            Err(Failed::Said(error)) => Err(error),
            Err(Failed::Broken(broken)) => {
                let broken = link.foreign().unwrap_or(broken);
                Err(broken.into_error(crate::broken::Effect::Nothing))
            }
        }
    }

    fn greet(&mut self, hello: &Hello) -> Result<Welcome, Failed> {
        let id = self.put(|out, id| hello.encode(out, id))?;
        self.send()?;
        let head = self.receive(id)?;
        match self.answer(head)? {
            Response::Welcome(welcome) => Ok(*welcome),
            other => Err(unexpected(&other)),
        }
    }

    /// What has answered the greeting, where that is another protocol.
    fn foreign(&self) -> Option<Broken> {
        let message = match ForeignProtocol::of(self.inbox.waiting())? {
            ForeignProtocol::Tls => "the server speaks TLS there: say tls=on",
            ForeignProtocol::Http => {
                "an HTTP server answers there: Bobak's own protocol has another door than HTTP"
            }
        };
        Some(Broken::Closed(Error::new(ErrorKind::Config, message)))
    }

    pub const fn number(&self) -> u64 {
        self.number
    }

    pub const fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Adds a request, whose number it gives, to those that are sent next.
    #[inline]
    pub fn put(&mut self, put: impl FnOnce(&mut Vec<u8>, u32) -> Result<()>) -> Result<u32> {
        let id = self.next_id;
        let start = self.out.len();
        put(&mut self.out, id)?;
        let size = self.out.len() - start;
        if size > self.welcome.limits.frame as usize + HEADER_LENGTH {
            self.out.truncate(start);
            let limit = self.welcome.limits.frame;
            let message = format!("a request of {size} bytes: the server takes {limit}");
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
        // 0 is for what the server says unasked.
        self.next_id = id.checked_add(1).unwrap_or(1);
        Ok(id)
    }

    /// Adds a further part of a request.
    pub fn put_more(&mut self, put: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        put(&mut self.out)
    }

    /// The number of a table; told to the server before its first use.
    #[inline]
    pub fn table(&mut self, table: &TableSchema) -> Result<u32> {
        if self.last_table.0 == table.id() {
            return Ok(self.last_table.1);
        }
        let handle = match self.tables.get(&table.id()) {
            Some(handle) => *handle,
            None => self.define(table)?,
        };
        self.last_table = (table.id(), handle);
        Ok(handle)
    }

    #[cold]
    fn define(&mut self, table: &TableSchema) -> Result<u32> {
        if self.tables.len() >= self.welcome.limits.handles as usize {
            // A program that makes so many tables: the numbers begin anew.
            self.tables.clear();
        }
        let handle = self.tables.len() as u32;
        self.put(|out, id| encode_request::define(out, id, handle, table))?;
        self.tables.insert(table.id(), handle);
        Ok(handle)
    }

    /// What is asked, as it is sent: a text that comes again has a number.
    pub fn source<'s>(&mut self, source: &bobak_core::Source<'s>) -> Result<RequestSource<'s>> {
        match *source {
            bobak_core::Source::Select(select) => {
                Ok(RequestSource::Select(self.table(&select.table)?, select))
            }
            bobak_core::Source::Sql { text, parameters } => self.text(text, parameters),
        }
    }

    /// An SQL text, as it is sent.
    pub fn text<'s>(
        &mut self,
        text: &'s str,
        parameters: &'s [Parameter<'s>],
    ) -> Result<RequestSource<'s>> {
        let numbered = self.texts.values().flatten().count() as u32;
        match self.texts.get_mut(text) {
            Some(Some(handle)) => Ok(RequestSource::Statement(*handle, parameters)),
            Some(unnumbered) => {
                *unnumbered = Some(numbered);
                self.put(|out, id| encode_request::prepare(out, id, numbered, text))?;
                Ok(RequestSource::Statement(numbered, parameters))
            }
            None => {
                if self.texts.len() >= TEXTS.min(self.welcome.limits.handles as usize) {
                    self.texts.clear();
                }
                self.texts.insert(text.into(), None);
                Ok(RequestSource::Text(text, parameters))
            }
        }
    }

    /// Sends the requests that were put.
    #[inline]
    pub fn send(&mut self) -> Result<(), Broken> {
        self.stream.write_all(&self.out)?;
        self.stream.flush()?;
        self.out.clear();
        if self.out.capacity() > 4 << 20 {
            self.out = Vec::new();
        }
        Ok(())
    }

    /// Waits for the next frame, which answers the request with this number.
    #[inline]
    pub fn receive(&mut self, id: u32) -> Result<FrameHeader, Broken> {
        let mut stoppable = None;
        loop {
            if let Some(head) = self.inbox.next_frame().map_err(Broken::Garbled)? {
                if head.id == id {
                    return Ok(head);
                }
                return Err(self.unasked(head));
            }
            if stoppable.is_none() && Interrupt::is_heeded() {
                stoppable = self.stoppable(id);
            }
            let begun = Instant::now();
            if !self.look()? {
                self.read()?;
            }
            self.spin.record_wait(begun.elapsed());
        }
    }

    /// Has an [`Interrupt`] of this thread take a request back, for as long as the answer is kept.
    fn stoppable(&mut self, id: u32) -> Option<Interruptible> {
        if self.second.is_none() {
            self.second = self.stream.second();
        }
        let second = Arc::clone(self.second.as_ref()?);
        Some(Interrupt::stop_by(move || {
            let mut bytes = Vec::new();
            encode_request::cancel(&mut bytes, id);
            let mut second = second.lock().unwrap_or_else(PoisonError::into_inner);
            // It does not block while the answer is looked for. Where it can't be said, the request comes to its end.
            while matches!(second.write_all(&bytes), Err(e) if e.kind() == io::ErrorKind::WouldBlock)
            {
                std::thread::yield_now();
            }
            let _ = second.flush();
        }))
    }

    /// Reads what has come, or comes soon; `false` where that is nothing.
    fn look(&mut self) -> io::Result<bool> {
        if !self.spin.is_worthwhile() || !self.stream.set_blocking(false)? {
            return Ok(false);
        }
        let mut spin = std::mem::take(&mut self.spin);
        let seen = spin.spin_until(|| match self.read() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            other => other.map(Some),
        });
        self.spin = spin;
        self.stream.set_blocking(true)?;
        Ok(seen?.is_some())
    }

    fn read(&mut self) -> io::Result<()> {
        loop {
            match self.inbox.read_from(|room| self.stream.read(room)) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    #[cold]
    fn unasked(&self, head: FrameHeader) -> Broken {
        match Response::decode(head, self.inbox.body()) {
            Ok(Response::Error(error)) if head.id == 0 => Broken::Closed(error),
            Ok(_) => Broken::Garbled(Error::new(
                ErrorKind::Corrupt,
                format!("an answer to a request {} that was not made", head.id),
            )),
            Err(error) => Broken::Garbled(error),
        }
    }

    /// What the frame that came last says.
    #[inline]
    pub fn answer(&self, head: FrameHeader) -> Result<Response<'_>, Failed> {
        match Response::decode(head, self.inbox.body()) {
            Ok(Response::Error(error)) => Err(Failed::Said(error)),
            Ok(answer) => Ok(answer),
            Err(error) => Err(Broken::Garbled(error).into()),
        }
    }

    /// Waits for the end of an answer that is not wanted any more.
    pub fn drain(&mut self, id: u32) -> Result<(), Broken> {
        while self.receive(id)?.more {}
        Ok(())
    }

    /// Bytes of the body of the frame that came last.
    pub fn body_len(&self) -> usize {
        self.inbox.body().len()
    }

    /// Whether it can be used again. The socket is checked unless it `was_active` a moment ago.
    pub fn is_usable(&mut self, was_active: bool) -> bool {
        self.inbox.is_empty() && (was_active || self.stream.is_alive())
    }
}

/// An answer that does not fit its request.
#[cold]
pub(crate) fn unexpected(answer: &Response<'_>) -> Failed {
    let kind = match answer {
        Response::Ok => FrameKind::Ok,
        Response::Welcome(_) => FrameKind::Welcome,
        Response::Count(_) => FrameKind::Count,
        Response::Outcomes(_) => FrameKind::Outcomes,
        Response::Rows(_) => FrameKind::Rows,
        Response::Columns { .. } => FrameKind::Columns,
        Response::Schemas(_) => FrameKind::Schemas,
        _ => FrameKind::Error,
    };
    let message = format!("an answer of the kind {kind:?} where another was to come");
    Broken::Garbled(Error::new(ErrorKind::Corrupt, message)).into()
}
