//! One connection: sends requests, receives responses, and numbers tables and SQL texts.

use crate::broken::{Broken, CallError};
use crate::stream::{Second, Stream};
use bobak_core::{
    Condition, Error, ErrorKind, Interrupt, Interruptible, Join, Parameter, Result, Source,
    TableSchema,
};
use bobak_wire::{
    AdaptiveSpin, ForeignProtocol, FrameHeader, FrameKind, HEADER_LENGTH, Hello, Inbox,
    RequestSource, Response, Welcome, encode_request,
};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// The number of remembered texts. A text that is sent again gets a number.
const TEXTS: usize = 256;

/// A connection.
pub(crate) struct Link {
    /// Unique among the connections of this process.
    number: u64,
    stream: Box<dyn Stream>,
    /// Writes cancellation requests; created when first needed.
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
    /// Sends the hello message over a new stream.
    pub fn open(stream: Box<dyn Stream>, hello: &Hello) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let welcome = Welcome {
            version: 0,
            limits: bobak_wire::Limits::default(),
            capabilities: bobak_core::Capabilities::NONE,
            column_blocks: false,
            joins: false,
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
            Err(CallError::Rejected(error)) => Err(error),
            Err(CallError::Broken(broken)) => {
                let broken = link.other_protocol().unwrap_or(broken);
                Err(broken.into_error(crate::broken::Effect::Nothing))
            }
        }
    }

    fn greet(&mut self, hello: &Hello) -> Result<Welcome, CallError> {
        let id = self.put(|out, id| hello.encode(out, id))?;
        self.send()?;
        let head = self.receive(id)?;
        match self.response(head)? {
            Response::Welcome(welcome) => Ok(*welcome),
            other => Err(unexpected(&other)),
        }
    }

    /// Detects a peer that speaks another protocol, by its first bytes.
    fn other_protocol(&self) -> Option<Broken> {
        let message = match ForeignProtocol::of(self.inbox.waiting())? {
            ForeignProtocol::Tls => "the server speaks TLS: add tls=on",
            ForeignProtocol::Http => {
                "this is an HTTP server: connect to the port of Bobak's own protocol"
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

    /// Queues a request to be sent, and returns its number.
    #[inline]
    pub fn put(&mut self, put: impl FnOnce(&mut Vec<u8>, u32) -> Result<()>) -> Result<u32> {
        let id = self.next_id;
        let start = self.out.len();
        put(&mut self.out, id)?;
        let size = self.out.len() - start;
        if size > self.welcome.limits.frame as usize + HEADER_LENGTH {
            self.out.truncate(start);
            let limit = self.welcome.limits.frame;
            let message = format!("the request has {size} bytes, and the server accepts {limit}");
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
        // 0 is for messages that the server sends without a request.
        self.next_id = id.checked_add(1).unwrap_or(1);
        Ok(id)
    }

    /// Queues a further part of a request.
    pub fn put_more(&mut self, put: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        put(&mut self.out)
    }

    /// The number of a table, which is declared to the server before its first use.
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
            // A program that creates so many tables: the numbers start again.
            self.forget_tables();
        }
        let handle = self.tables.len() as u32;
        self.put(|out, id| encode_request::define(out, id, handle, table))?;
        self.tables.insert(table.id(), handle);
        Ok(handle)
    }

    /// The numbers of the tables of a request that names others in a condition; none if it names its own only.
    pub fn other_tables(
        &mut self,
        table: &TableSchema,
        condition: Option<&Condition>,
    ) -> Result<Vec<(u64, u32)>> {
        let mut tables = Vec::new();
        if let Some(condition) = condition.filter(|condition| condition.has_subquery()) {
            condition.collect_other_tables(&mut tables);
            tables.push(table);
        }
        self.numbers_of(tables)
    }

    /// The numbers of all tables of a join.
    pub fn joined_tables(&mut self, join: &Join) -> Result<Vec<(u64, u32)>> {
        let mut tables: Vec<&TableSchema> = Vec::new();
        join.for_each_table(&mut |table| tables.push(table));
        join.for_each_subquery(&mut |query| tables.push(&query.table));
        self.numbers_of(tables)
    }

    /// The numbers of the tables of one request, which are declared before it.
    fn numbers_of(&mut self, mut tables: Vec<&TableSchema>) -> Result<Vec<(u64, u32)>> {
        tables.sort_by_key(|table| table.id());
        tables.dedup_by_key(|table| table.id());
        let (count, limit) = (tables.len(), self.welcome.limits.handles as usize);
        if count > limit {
            let message = format!("the query names {count} tables, and the server accepts {limit}");
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
        if self.tables.len() + count > limit {
            // The numbers do not start again in the middle of a request.
            self.forget_tables();
        }
        tables.into_iter().map(|table| Ok((table.id(), self.table(table)?))).collect()
    }

    /// The numbers of the tables that a source names besides its own.
    pub fn others_of(&mut self, source: &Source<'_>) -> Result<Vec<(u64, u32)>> {
        match source {
            Source::Select(select) => self.other_tables(&select.table, select.condition.as_ref()),
            Source::Sql { .. } => Ok(Vec::new()),
        }
    }

    fn forget_tables(&mut self) {
        self.tables.clear();
        self.last_table = (0, 0);
    }

    /// A source as it is sent: a repeated text is sent as a number. `others` are the tables that it names besides its own.
    pub fn source<'s>(
        &mut self,
        source: &Source<'s>,
        others: &'s [(u64, u32)],
    ) -> Result<RequestSource<'s>> {
        match *source {
            Source::Select(select) => {
                let handle = self.table(&select.table)?;
                Ok(RequestSource::Select(handle, select, others))
            }
            Source::Sql { text, parameters } => self.text(text, parameters),
        }
    }

    /// An SQL text as it is sent.
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

    /// Sends the queued requests.
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

    /// Waits for the next frame, which must respond to the request with this number.
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
            if stoppable.is_none() && Interrupt::is_enabled() {
                stoppable = self.stoppable(id);
            }
            let begun = Instant::now();
            if !self.poll()? {
                self.read()?;
            }
            self.spin.record_wait(begun.elapsed());
        }
    }

    /// Makes an [`Interrupt`] of this thread cancel the request, as long as the result is kept.
    fn stoppable(&mut self, id: u32) -> Option<Interruptible> {
        if self.second.is_none() {
            self.second = self.stream.second();
        }
        let second = Arc::clone(self.second.as_ref()?);
        Some(Interrupt::stop_by(move || {
            let mut bytes = Vec::new();
            encode_request::cancel(&mut bytes, id);
            let mut second = second.lock().unwrap_or_else(PoisonError::into_inner);
            // The stream does not block while the reader polls. If the cancellation cannot be sent, the request runs to its end.
            while matches!(second.write_all(&bytes), Err(e) if e.kind() == io::ErrorKind::WouldBlock)
            {
                std::thread::yield_now();
            }
            let _ = second.flush();
        }))
    }

    /// Polls for bytes for a short time; `false` if there are none.
    fn poll(&mut self) -> io::Result<bool> {
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
                format!("a response to request {}, which was not sent", head.id),
            )),
            Err(error) => Broken::Garbled(error),
        }
    }

    /// Decodes the frame that was received last.
    #[inline]
    pub fn response(&self, head: FrameHeader) -> Result<Response<'_>, CallError> {
        match Response::decode(head, self.inbox.body()) {
            Ok(Response::Error(error)) => Err(CallError::Rejected(error)),
            Ok(response) => Ok(response),
            Err(error) => Err(Broken::Garbled(error).into()),
        }
    }

    /// Reads to the end of a response that is no longer wanted.
    pub fn drain(&mut self, id: u32) -> Result<(), Broken> {
        while self.receive(id)?.more {}
        Ok(())
    }

    /// The length of the body of the frame that was received last.
    pub fn body_len(&self) -> usize {
        self.inbox.body().len()
    }

    /// Whether the connection can be used again. Checks the socket unless the connection `was_active` a moment ago.
    pub fn is_usable(&mut self, was_active: bool) -> bool {
        self.inbox.is_empty() && (was_active || self.stream.is_alive())
    }
}

/// The error for a response that does not match its request.
#[cold]
pub(crate) fn unexpected(response: &Response<'_>) -> CallError {
    let kind = match response {
        Response::Ok => FrameKind::Ok,
        Response::Welcome(_) => FrameKind::Welcome,
        Response::Count(_) => FrameKind::Count,
        Response::Outcomes(_) => FrameKind::Outcomes,
        Response::Rows(_) => FrameKind::Rows,
        Response::Columns { .. } => FrameKind::Columns,
        Response::Schemas(_) => FrameKind::Schemas,
        Response::Block(_) => FrameKind::Block,
        Response::Declined => FrameKind::Declined,
        _ => FrameKind::Error,
    };
    let message = format!("a response of the unexpected kind {kind:?}");
    Broken::Garbled(Error::new(ErrorKind::Corrupt, message)).into()
}
