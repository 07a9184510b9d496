//! Numbers and texts as bytes: little-endian, texts with their length before them.

use bobak_core::{Error, ErrorKind, Result};

/// What messages are made of.
pub(crate) trait Put {
    fn put_u8(&mut self, number: u8);
    fn put_u16(&mut self, number: u16);
    fn put_u32(&mut self, number: u32);
    fn put_u64(&mut self, number: u64);
    fn put_bytes(&mut self, bytes: &[u8]) -> Result<()>;
    fn put_text(&mut self, text: &str) -> Result<()>;
    fn put_option<T>(
        &mut self,
        option: Option<T>,
        put: impl FnOnce(&mut Self, T) -> Result<()>,
    ) -> Result<()>;
    fn put_count(&mut self, count: usize) -> Result<()>;
    fn put_place(&mut self, place: usize) -> Result<()>;
}

impl Put for Vec<u8> {
    #[inline]
    fn put_u8(&mut self, number: u8) {
        self.push(number);
    }

    #[inline]
    fn put_u16(&mut self, number: u16) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    #[inline]
    fn put_u32(&mut self, number: u32) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    #[inline]
    fn put_u64(&mut self, number: u64) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    fn put_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.put_count(bytes.len())?;
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn put_text(&mut self, text: &str) -> Result<()> {
        self.put_bytes(text.as_bytes())
    }

    fn put_option<T>(
        &mut self,
        option: Option<T>,
        put: impl FnOnce(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        self.put_u8(option.is_some().into());
        option.map_or(Ok(()), |value| put(self, value))
    }

    fn put_count(&mut self, count: usize) -> Result<()> {
        self.put_u32(u32::try_from(count).map_err(|_| too_many(count))?);
        Ok(())
    }

    fn put_place(&mut self, place: usize) -> Result<()> {
        self.put_u16(u16::try_from(place).map_err(|_| too_many(place))?);
        Ok(())
    }
}

#[cold]
fn too_many(count: usize) -> Error {
    Error::new(ErrorKind::OutOfRange, format!("{count} is more than a message can hold"))
}
