//! Messages of the protocol (version 3.0): those that are sent are written into a buffer, those
//! that come are lent from one.

use crate::connection::stream::ServerStream;
use std::io::{self, Read};

/// What the server sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message<'a> {
    /// A row's values, undecoded.
    Row(&'a [u8]),
    /// A statement has ended; its tag, such as `INSERT 0 1`.
    Done(&'a [u8]),
    /// A portal has more rows than the limit of the request.
    More,
    /// The server waits for the next request; the transaction's state.
    Ready(u8),
    /// An error; its fields.
    Error(&'a [u8]),
    /// The types of a statement's parameters.
    Parameters(&'a [u8]),
    /// The columns of a statement's rows.
    Columns(&'a [u8]),
    /// The server asks for a password, or takes it.
    Authentication(&'a [u8]),
    /// What a request to cancel needs.
    CancelKey(&'a [u8]),
    /// Nothing to act on: a step that went well, a notice.
    Nothing,
}

impl<'a> Message<'a> {
    fn of(tag: u8, body: &'a [u8]) -> Self {
        match tag {
            b'D' => Self::Row(body),
            b'C' => Self::Done(body.strip_suffix(&[0]).unwrap_or(body)),
            // A text without a statement.
            b'I' => Self::Done(&[]),
            b's' => Self::More,
            b'Z' => Self::Ready(body.first().copied().unwrap_or(b'I')),
            b'E' => Self::Error(body),
            b't' => Self::Parameters(body),
            b'T' => Self::Columns(body),
            b'R' => Self::Authentication(body),
            b'K' => Self::CancelKey(body),
            _ => Self::Nothing,
        }
    }
}

/// What has come and was not looked at yet.
#[derive(Default)]
pub(crate) struct MessageBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

/// How many bytes are read from the socket at once.
const READ: usize = 64 << 10;

/// The most bytes of a message that are believed: what the server itself can send.
const MAX_MESSAGE_LENGTH: usize = 1 << 30;

impl MessageBuffer {
    /// The next message; waits for it.
    ///
    /// # Errors
    /// Those of the connection; `InvalidData` for what is no message.
    #[inline]
    pub fn next(&mut self, stream: &mut ServerStream) -> io::Result<Message<'_>> {
        loop {
            let have = self.end - self.start;
            let mut wanted = 5;
            if let Some([tag, a, b, c, d]) =
                self.bytes.get(self.start..self.end).and_then(|bytes| bytes.first_chunk())
            {
                let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
                if !(4..MAX_MESSAGE_LENGTH).contains(&length) {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "invalid message"));
                }
                wanted = length + 1;
                if have >= wanted {
                    let tag = *tag;
                    let body = self.start + 5..self.start + wanted;
                    self.start += wanted;
                    return Ok(Message::of(tag, self.bytes.get(body).unwrap_or_default()));
                }
            }
            self.fill(stream, wanted)?;
        }
    }

    /// Whether a whole message may be there without reading.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    #[cold]
    fn fill(&mut self, stream: &mut ServerStream, wanted: usize) -> io::Result<()> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let room = wanted.max(READ);
        if self.bytes.len() > 4 * room && self.end < room {
            // A single large value must not keep the buffer large.
            self.bytes.truncate(room);
            self.bytes.shrink_to_fit();
        }
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        let read = loop {
            let free = self.bytes.get_mut(self.end..).unwrap_or_default();
            match stream.read(free) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if read == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            ));
        }
        self.end += read;
        Ok(())
    }
}

/// Writes one message: its tag, its length, and what `body` adds.
pub(crate) fn write(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH]);
    body(out);
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    if let Some(head) = out.get_mut(start..start + LENGTH) {
        head.copy_from_slice(&length.to_be_bytes());
    }
}

/// The number of bytes of a length.
pub(crate) const LENGTH: usize = 4;

/// Adds to a length in a message, for bytes that are sent from elsewhere.
pub(crate) fn add_to_length(out: &mut [u8], at: usize, more: u32) {
    if let Some(length) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<LENGTH>()) {
        *length = (u32::from_be_bytes(*length) + more).to_be_bytes();
    }
}

/// A text with its closing zero.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// Asks for a statement to be prepared under a name.
pub(crate) fn parse(out: &mut Vec<u8>, name: &str, sql: &str, types: &[u32]) {
    write(out, b'P', |out| {
        push_text(out, name);
        push_text(out, sql);
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        types.iter().for_each(|ty| out.extend_from_slice(&ty.to_be_bytes()));
    });
}

/// Asks for the types of a prepared statement.
pub(crate) fn describe(out: &mut Vec<u8>, name: &str) {
    write(out, b'D', |out| {
        out.push(b'S');
        push_text(out, name);
    });
}

/// Runs a portal, for so many rows at most; 0 for all.
pub(crate) fn execute(out: &mut Vec<u8>, portal: &str, rows: u32) {
    write(out, b'E', |out| {
        push_text(out, portal);
        out.extend_from_slice(&rows.to_be_bytes());
    });
}

/// Closes a portal (`P`) or a statement (`S`).
pub(crate) fn close(out: &mut Vec<u8>, what: u8, name: &str) {
    write(out, b'C', |out| {
        out.push(what);
        push_text(out, name);
    });
}

/// The end of requests that belong together.
pub(crate) fn sync(out: &mut Vec<u8>) {
    write(out, b'S', |_| {});
}

/// Asks for answers now, without an end.
pub(crate) fn flush(out: &mut Vec<u8>) {
    write(out, b'H', |_| {});
}

/// The number of rows in a tag: its last word.
pub(crate) fn rows_of_tag(tag: &[u8]) -> u64 {
    let word = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()).unwrap_or(0)
}
