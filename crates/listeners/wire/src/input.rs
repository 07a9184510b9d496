//! What a client sent: the frames that wait for their turn, and those that act on the request
//! under way.

use bobak_core::{Error, ErrorKind, Result};
use bobak_wire::{FrameHeader, FrameKind, Inbox, Limits};
use std::collections::VecDeque;

/// The frames of a connection, in order.
pub(crate) struct Input {
    pub inbox: Inbox,
    /// Frames that were passed over while a query was sending its rows.
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// The body of the frame that came last, where it is one of those.
    current: Option<Vec<u8>>,
}

struct Waiting {
    head: FrameHeader,
    body: Vec<u8>,
    cancelled: bool,
}

/// What a client said about the query that is sending its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub credit: u64,
    pub cancelled: bool,
}

/// A frame whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub head: FrameHeader,
    /// Whether the client took it back meanwhile.
    pub cancelled: bool,
}

impl Input {
    pub const fn new() -> Self {
        Self {
            inbox: Inbox::new(Limits::BEFORE_HELLO),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            current: None,
        }
    }

    /// The next frame, where it is whole.
    ///
    /// # Errors
    /// As [`Inbox::next_frame`].
    #[inline]
    pub fn next_frame(&mut self) -> Result<Option<Turn>> {
        if self.waiting.is_empty() {
            self.current = None;
            let head = self.inbox.next_frame()?;
            return Ok(head.map(|head| Turn { head, cancelled: false }));
        }
        Ok(self.waiting.pop_front().map(|Waiting { head, body, cancelled }| {
            self.waiting_bytes -= body.len();
            self.current = Some(body);
            Turn { head, cancelled }
        }))
    }

    /// The body of the frame that came last.
    #[inline]
    pub fn body(&self) -> &[u8] {
        self.current.as_deref().unwrap_or_else(|| self.inbox.body())
    }

    /// Bytes that wait.
    pub fn len(&self) -> usize {
        self.inbox.len() + self.waiting_bytes
    }

    /// Takes out what the client says about the query with this number, and passes over the rest.
    ///
    /// # Errors
    /// As [`Inbox::next_frame`]; `Misuse` for more requests under way than are allowed.
    pub fn look_ahead(&mut self, id: u32, limits: &Limits) -> Result<Said> {
        let mut said = Said::default();
        while let Some(head) = self.inbox.next_frame()? {
            let body = self.inbox.body();
            match head.kind {
                FrameKind::Credit if head.id == id => {
                    let bytes = body.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                    said.credit += u64::from(bytes);
                }
                FrameKind::Cancel if head.id == id => said.cancelled = true,
                FrameKind::Cancel => {
                    let taken_back = self.waiting.iter_mut().filter(|w| w.head.id == head.id);
                    taken_back.for_each(|waiting| waiting.cancelled = true);
                }
                _ if self.waiting.len() >= limits.requests as usize => {
                    let message = format!("over {} requests are under way", limits.requests);
                    return Err(Error::new(ErrorKind::Misuse, message));
                }
                _ => {
                    let waiting = Waiting { head, body: body.to_vec(), cancelled: false };
                    self.waiting_bytes += waiting.body.len();
                    self.waiting.push_back(waiting);
                }
            }
        }
        Ok(said)
    }

    /// Gives memory back that is not needed while nothing comes.
    pub fn release(&mut self) {
        self.current = None;
        self.waiting.shrink_to_fit();
        self.inbox.release();
    }
}
