//! The frames that a client sent: those that wait, and those that act on the running request.

use crate::settings::Settings;
use bobak_core::{Error, ErrorKind, Result};
use bobak_wire::{FrameHeader, FrameKind, Inbox, Limits};
use std::collections::VecDeque;

/// The frames of a connection, in order.
pub(crate) struct FrameQueue {
    pub inbox: Inbox,
    /// Frames that were set aside while a query was sending its rows.
    deferred: VecDeque<DeferredFrame>,
    deferred_bytes: usize,
    /// The body of the current frame, if it was deferred.
    current: Option<Vec<u8>>,
}

struct DeferredFrame {
    header: FrameHeader,
    body: Vec<u8>,
    cancelled: bool,
}

/// What a client sent about the query that is sending its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowControl {
    /// How many more bytes it may send.
    pub credit: u64,
    pub cancelled: bool,
}

/// The next frame to handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedFrame {
    pub header: FrameHeader,
    /// Whether the client has cancelled it.
    pub cancelled: bool,
}

impl FrameQueue {
    pub const fn new() -> Self {
        Self {
            inbox: Inbox::new(Limits::BEFORE_HELLO),
            deferred: VecDeque::new(),
            deferred_bytes: 0,
            current: None,
        }
    }

    /// The next frame; `None` if none has arrived completely.
    ///
    /// # Errors
    /// As [`Inbox::next_frame`].
    #[inline]
    pub fn next_frame(&mut self) -> Result<Option<QueuedFrame>> {
        if self.deferred.is_empty() {
            self.current = None;
            let header = self.inbox.next_frame()?;
            return Ok(header.map(|header| QueuedFrame { header, cancelled: false }));
        }
        Ok(self.deferred.pop_front().map(|DeferredFrame { header, body, cancelled }| {
            self.deferred_bytes -= body.len();
            self.current = Some(body);
            QueuedFrame { header, cancelled }
        }))
    }

    /// The body of the current frame.
    #[inline]
    pub fn body(&self) -> &[u8] {
        self.current.as_deref().unwrap_or_else(|| self.inbox.body())
    }

    /// How many received bytes wait.
    pub fn len(&self) -> usize {
        self.inbox.len() + self.deferred_bytes
    }

    /// Takes what the client sent about the query with this id, and defers all other frames.
    ///
    /// # Errors
    /// As [`Inbox::next_frame`]; `Misuse` for more requests in flight than are allowed.
    pub fn look_ahead(&mut self, id: u32, settings: &Settings) -> Result<FlowControl> {
        let mut control = FlowControl::default();
        while let Some(header) = self.inbox.next_frame()? {
            let body = self.inbox.body();
            match header.kind {
                FrameKind::Credit if header.id == id => {
                    let bytes = body.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                    control.credit += u64::from(bytes);
                }
                FrameKind::Cancel if header.id == id => control.cancelled = true,
                FrameKind::Cancel => {
                    let cancelled = self.deferred.iter_mut().filter(|w| w.header.id == header.id);
                    cancelled.for_each(|frame| frame.cancelled = true);
                }
                _ if self.deferred.len() >= settings.max_requests as usize => {
                    let message =
                        format!("more than {} requests are in flight", settings.max_requests);
                    return Err(Error::new(ErrorKind::Misuse, message));
                }
                _ => {
                    let frame = DeferredFrame { header, body: body.to_vec(), cancelled: false };
                    self.deferred_bytes += frame.body.len();
                    self.deferred.push_back(frame);
                }
            }
        }
        Ok(control)
    }

    /// Releases memory that an idle connection does not need.
    pub fn release_memory(&mut self) {
        self.current = None;
        self.deferred.shrink_to_fit();
        self.inbox.release();
    }
}
