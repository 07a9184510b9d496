//! Frames: a header of 12 bytes and a body.

use bobak_core::{Error, ErrorKind, Result};

/// The length of a frame header in bytes.
pub const HEADER_LENGTH: usize = 12;

/// The flag of a frame that is followed by another of the same message.
const MORE: u8 = 1;

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The length of the body in bytes.
    pub length: u32,
    /// What the body contains.
    pub kind: FrameKind,
    /// Whether more frames of the same message follow.
    pub more: bool,
    /// The number of the request, chosen by the client; a response has the number of its request.
    pub id: u32,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)+) => {
        /// What a frame's body contains.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum FrameKind {
            $($(#[$doc])* $name = $number,)+
        }

        impl FrameKind {
            /// Every kind: requests, then responses.
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
    /// Assigns a handle to a table. Has no response.
    Define = 0x02,
    /// Assigns a handle to an SQL text. Has no response.
    Prepare = 0x03,
    /// Releases a handle. Has no response.
    Forget = 0x04,
    /// Begins, commits or rolls back a transaction, or handles a savepoint.
    Control = 0x05,
    /// One row to write.
    Write = 0x06,
    /// An update or delete by a condition.
    Change = 0x07,
    /// A batch, or a part of one.
    Batch = 0x08,
    /// Reads a row by its key.
    Get = 0x09,
    /// Runs a query; the server sends all rows.
    Query = 0x0a,
    /// Opens a cursor.
    Open = 0x0b,
    /// Fetches the next rows of a cursor.
    Fetch = 0x0c,
    /// Closes a cursor. Has no response.
    Close = 0x0d,
    /// Lists the tables.
    Tables = 0x0e,
    /// Changes the schema.
    Alter = 0x0f,
    /// Runs an SQL statement that returns no rows.
    Execute = 0x10,
    /// Makes all committed changes durable.
    Flush = 0x11,
    /// Does nothing, and has a response.
    Ping = 0x12,
    /// Cancels a running request. Has no response of its own.
    Cancel = 0x13,
    /// Lets a query send more rows. Has no response.
    Credit = 0x14,
    /// Lists what the table schemas do not express.
    Losses = 0x15,
    /// Reads a part of one value.
    ReadPart = 0x16,
    /// Replaces one value, in parts.
    WriteValue = 0x17,
    /// Returns the plan of a query, which does not run.
    Explain = 0x18,
    /// Success without a result.
    Ok = 0x81,
    /// The request failed.
    Error = 0x82,
    /// The response to `Hello`.
    Welcome = 0x83,
    /// A number of rows.
    Count = 0x84,
    /// The outcome of each written row.
    Outcomes = 0x85,
    /// Rows.
    Rows = 0x86,
    /// A cursor's number and its columns.
    Columns = 0x87,
    /// Table schemas.
    Schemas = 0x88,
    /// Rows, column by column.
    Block = 0x89,
    /// The server does not run this join.
    Declined = 0x8a,
}

impl FrameKind {
    /// Whether it is a request without a response.
    #[must_use]
    pub const fn has_no_response(self) -> bool {
        matches!(
            self,
            Self::Define | Self::Prepare | Self::Forget | Self::Close | Self::Cancel | Self::Credit
        )
    }
}

impl FrameHeader {
    /// Decodes a header.
    ///
    /// # Errors
    /// `Corrupt` for an unknown kind or flag.
    pub fn decode(bytes: [u8; HEADER_LENGTH]) -> Result<Self> {
        let [a, b, c, d, kind, flags, x, y, e, f, g, h] = bytes;
        let known = FrameKind::from_number(kind).filter(|_| flags <= MORE && x == 0 && y == 0);
        let Some(kind) = known else {
            let message = format!("invalid frame header (kind {kind:#04x})");
            return Err(Error::new(ErrorKind::Corrupt, message));
        };
        let (length, id) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        Ok(Self { length, kind, more: flags == MORE, id })
    }

    /// Encodes the header.
    #[must_use]
    pub const fn encode(self) -> [u8; HEADER_LENGTH] {
        let [a, b, c, d] = self.length.to_le_bytes();
        let [e, f, g, h] = self.id.to_le_bytes();
        [a, b, c, d, self.kind as u8, self.more as u8, 0, 0, e, f, g, h]
    }
}

/// Appends a frame; `fill` appends its body.
///
/// # Errors
/// Those of `fill`, and `OutOfRange` for a body of 4 GiB or more. `out` is unchanged then.
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
            .map_err(|_| Error::new(ErrorKind::OutOfRange, "the message is larger than 4 GiB"))
    });
    match filled {
        Ok(length) => {
            if let Some(field) = out.get_mut(start..start + 4) {
                field.copy_from_slice(&length.to_le_bytes());
            }
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

/// As [`encode`], for a small body that always can be encoded.
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
    fn headers_round_trip() {
        for &kind in FrameKind::ALL {
            let header = FrameHeader { length: 0x0102_0304, kind, more: true, id: u32::MAX };
            assert_eq!(FrameHeader::decode(header.encode()).unwrap(), header);
        }
        assert!(FrameHeader::decode(*b"GET / HTTP/1").is_err());
    }
}
