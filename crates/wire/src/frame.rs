//! Frames: a head of 12 bytes, and a body.

use bobak_core::{Error, ErrorKind, Result};

/// Bytes of a frame's head.
pub const HEADER_LENGTH: usize = 12;

/// The flag of a frame that others of the same message follow.
const MORE: u8 = 1;

/// A frame's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes of the body.
    pub length: u32,
    /// What the body is.
    pub kind: FrameKind,
    /// Whether frames of the same message follow.
    pub more: bool,
    /// The request's number, chosen by the client; of an answer: that of the request.
    pub id: u32,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)+) => {
        /// What a frame's body is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum FrameKind {
            $($(#[$doc])* $name = $number,)+
        }

        impl FrameKind {
            /// Every kind: requests, then answers.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The kind with this number.
            #[must_use]
            pub const fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)+
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// The client's first frame.
    Hello = 0x01,
    /// Gives a table a number. Not answered.
    Define = 0x02,
    /// Gives an SQL text a number. Not answered.
    Prepare = 0x03,
    /// Gives a number back. Not answered.
    Forget = 0x04,
    /// A step of a transaction.
    Control = 0x05,
    /// One row to write.
    Write = 0x06,
    /// An update or delete by a condition.
    Change = 0x07,
    /// A batch, or a part of one.
    Batch = 0x08,
    /// A row by its key.
    Get = 0x09,
    /// A query whose rows are sent at once.
    Query = 0x0a,
    /// A query whose rows are fetched.
    Open = 0x0b,
    /// The next rows of an open query.
    Fetch = 0x0c,
    /// Closes an open query. Not answered.
    Close = 0x0d,
    /// The tables that are there.
    Tables = 0x0e,
    /// Changes of the schema.
    Alter = 0x0f,
    /// An SQL statement without rows.
    Execute = 0x10,
    /// Makes all that was committed durable.
    Flush = 0x11,
    /// Nothing, answered.
    Ping = 0x12,
    /// Ends a request under way. Not answered itself.
    Cancel = 0x13,
    /// Lets a query send more. Not answered.
    Credit = 0x14,
    /// Done, with nothing to say.
    Ok = 0x81,
    /// The request failed.
    Error = 0x82,
    /// The answer to `Hello`.
    Welcome = 0x83,
    /// A number of rows.
    Count = 0x84,
    /// What became of written rows.
    Outcomes = 0x85,
    /// Rows.
    Rows = 0x86,
    /// An open query's number, and its columns.
    Columns = 0x87,
    /// Descriptions of tables.
    Schemas = 0x88,
}

impl FrameKind {
    /// Whether a server sends it.
    #[must_use]
    pub const fn is_response(self) -> bool {
        self as u8 & 0x80 != 0
    }

    /// Whether it is a request that is never answered.
    #[must_use]
    pub const fn has_no_response(self) -> bool {
        matches!(
            self,
            Self::Define | Self::Prepare | Self::Forget | Self::Close | Self::Cancel | Self::Credit
        )
    }
}

impl FrameHeader {
    /// Reads a head.
    ///
    /// # Errors
    /// `Corrupt` for an unknown kind or flag.
    pub fn decode(bytes: [u8; HEADER_LENGTH]) -> Result<Self> {
        let [a, b, c, d, kind, flags, x, y, e, f, g, h] = bytes;
        let known = FrameKind::from_number(kind).filter(|_| flags <= MORE && x == 0 && y == 0);
        let Some(kind) = known else {
            let message = format!("no frame of this protocol begins so (kind {kind:#04x})");
            return Err(Error::new(ErrorKind::Corrupt, message));
        };
        let (length, id) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        Ok(Self { length, kind, more: flags == MORE, id })
    }

    /// Its bytes.
    #[must_use]
    pub const fn encode(self) -> [u8; HEADER_LENGTH] {
        let [a, b, c, d] = self.length.to_le_bytes();
        let [e, f, g, h] = self.id.to_le_bytes();
        [a, b, c, d, self.kind as u8, self.more as u8, 0, 0, e, f, g, h]
    }
}

/// Appends a frame whose body `fill` appends.
///
/// # Errors
/// Those of `fill`, and `OutOfRange` for a body of 4 GiB; `out` is then as before.
#[inline]
pub(crate) fn encode(
    out: &mut Vec<u8>,
    kind: FrameKind,
    more: bool,
    id: u32,
    fill: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&FrameHeader { length: 0, kind, more, id }.encode());
    let filled = fill(out).and_then(|()| {
        u32::try_from(out.len() - start - HEADER_LENGTH)
            .map_err(|_| Error::new(ErrorKind::OutOfRange, "the message is over 4 GiB"))
    });
    match filled {
        Ok(length) => {
            if let Some(place) = out.get_mut(start..start + 4) {
                place.copy_from_slice(&length.to_le_bytes());
            }
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

/// As [`encode`], for a body that cannot be too large and whose filling cannot fail.
#[inline]
pub(crate) fn encode_small(
    out: &mut Vec<u8>,
    kind: FrameKind,
    id: u32,
    fill: impl FnOnce(&mut Vec<u8>),
) {
    let done = encode(out, kind, false, id, |out| {
        fill(out);
        Ok(())
    });
    debug_assert!(done.is_ok(), "a small body");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back() {
        for &kind in FrameKind::ALL {
            let head = FrameHeader { length: 0x0102_0304, kind, more: true, id: u32::MAX };
            assert_eq!(FrameHeader::decode(head.encode()).unwrap(), head);
        }
        assert!(FrameHeader::decode(*b"GET / HTTP/1").is_err());
    }
}
