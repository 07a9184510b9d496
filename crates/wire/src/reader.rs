//! Decodes numbers and texts. Every read is checked against the bytes received.

use bobak_core::{Error, ErrorKind, Result};

/// The rest of a message.
#[derive(Clone, Debug)]
pub(crate) struct MessageReader<'a> {
    rest: &'a [u8],
}

impl<'a> MessageReader<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    #[inline]
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(short)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(short)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub fn bytes16(&mut self) -> Result<[u8; 16]> {
        self.array()
    }

    pub fn bool(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(wrong("a boolean", other)),
        }
    }

    pub fn position(&mut self) -> Result<usize> {
        self.u16().map(usize::from)
    }

    /// The number of items that follow, each of at least `size` bytes.
    pub fn count(&mut self, size: usize) -> Result<usize> {
        let count = self.u32()? as usize;
        if count.saturating_mul(size) > self.rest.len() { Err(short()) } else { Ok(count) }
    }

    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    pub fn text(&mut self) -> Result<&'a str> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| corrupt("a text is not valid UTF-8"))
    }

    pub fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }

    /// Takes the rest.
    pub const fn rest(&mut self) -> &'a [u8] {
        let rest = self.rest;
        self.rest = &[];
        rest
    }

    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Checks that the message ends here.
    pub fn finish(self) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(corrupt(format!("{} unexpected bytes at the end of the message", self.rest.len())))
    }
}

#[cold]
pub(crate) fn corrupt(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}

/// The error for a byte without a meaning.
#[cold]
pub(crate) fn wrong(what: &str, byte: u8) -> Error {
    corrupt(format!("{byte} is not a valid code for {what}"))
}

#[cold]
fn short() -> Error {
    corrupt("the message is truncated")
}
