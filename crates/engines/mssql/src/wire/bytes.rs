//! Numbers and texts in the bytes of a response, which arrive packet by packet.

use super::status::invalid;
use std::io;

/// Bytes that arrive in parts.
pub(crate) trait ByteSource {
    /// What has arrived and was not consumed: at least one byte.
    fn fill(&mut self) -> io::Result<&[u8]>;

    fn consume(&mut self, count: usize);

    /// Adds so many bytes to others. Memory grows with what arrives, whatever length was announced.
    fn append(&mut self, mut count: usize, to: &mut Vec<u8>) -> io::Result<()> {
        while count > 0 {
            let there = self.fill()?;
            let taken = there.len().min(count);
            to.extend_from_slice(there.get(..taken).unwrap_or_default());
            self.consume(taken);
            count -= taken;
        }
        Ok(())
    }

    fn skip(&mut self, mut count: usize) -> io::Result<()> {
        while count > 0 {
            let taken = self.fill()?.len().min(count);
            self.consume(taken);
            count -= taken;
        }
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut array = [0; N];
        if let Some(whole) = self.fill()?.first_chunk::<N>() {
            array = *whole;
            self.consume(N);
            return Ok(array);
        }
        for byte in &mut array {
            *byte = self.fill()?.first().copied().unwrap_or(0);
            self.consume(1);
        }
        Ok(array)
    }

    fn u8(&mut self) -> io::Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> io::Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> io::Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn i32(&mut self) -> io::Result<i32> {
        self.array().map(i32::from_le_bytes)
    }

    fn u64(&mut self) -> io::Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// An unsigned number of at most 16 bytes.
    fn number(&mut self, bytes: usize) -> io::Result<u128> {
        let mut whole = [0; 16];
        for byte in whole.get_mut(..bytes).ok_or_else(|| invalid("a number is too long"))? {
            *byte = self.u8()?;
        }
        Ok(u128::from_le_bytes(whole))
    }

    /// A text of so many units of UTF-16.
    fn text(&mut self, units: usize) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.append(units * 2, &mut bytes)?;
        let (pairs, _) = bytes.as_chunks::<2>();
        let units = pairs.iter().map(|pair| u16::from_le_bytes(*pair));
        Ok(char::decode_utf16(units).map(|one| one.unwrap_or('\u{fffd}')).collect())
    }

    /// A text after its length in one byte.
    fn short_text(&mut self) -> io::Result<String> {
        let units = self.u8()?;
        self.text(units.into())
    }

    /// A text after its length in two bytes.
    fn long_text(&mut self) -> io::Result<String> {
        let units = self.u16()?;
        self.text(units.into())
    }
}

/// Bytes that are all there.
#[derive(Debug)]
pub struct SliceSource<'b>(&'b [u8]);

impl<'b> SliceSource<'b> {
    /// Reads these bytes.
    #[must_use]
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }
}

impl ByteSource for SliceSource<'_> {
    fn fill(&mut self) -> io::Result<&[u8]> {
        if self.0.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(self.0) }
    }

    fn consume(&mut self, count: usize) {
        self.0 = self.0.get(count..).unwrap_or_default();
    }
}

/// A text in UTF-16.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
    text.encode_utf16().for_each(|unit| out.extend_from_slice(&unit.to_le_bytes()));
}
