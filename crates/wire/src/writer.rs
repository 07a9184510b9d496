//! Encodes numbers, in little-endian order, and texts, after their length.

use bobak_core::{Error, ErrorKind, Result};

/// Encoders of the parts of a message.
pub(crate) trait Encode {
    fn encode_u8(&mut self, number: u8);
    fn encode_u16(&mut self, number: u16);
    fn encode_u32(&mut self, number: u32);
    fn encode_u64(&mut self, number: u64);
    fn encode_bytes(&mut self, bytes: &[u8]) -> Result<()>;
    fn encode_text(&mut self, text: &str) -> Result<()>;
    fn encode_option<T>(
        &mut self,
        option: Option<T>,
        encode: impl FnOnce(&mut Self, T) -> Result<()>,
    ) -> Result<()>;
    fn encode_count(&mut self, count: usize) -> Result<()>;
    fn encode_position(&mut self, position: usize) -> Result<()>;
}

impl Encode for Vec<u8> {
    #[inline]
    fn encode_u8(&mut self, number: u8) {
        self.push(number);
    }

    #[inline]
    fn encode_u16(&mut self, number: u16) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    #[inline]
    fn encode_u32(&mut self, number: u32) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    #[inline]
    fn encode_u64(&mut self, number: u64) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    fn encode_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.encode_count(bytes.len())?;
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn encode_text(&mut self, text: &str) -> Result<()> {
        self.encode_bytes(text.as_bytes())
    }

    fn encode_option<T>(
        &mut self,
        option: Option<T>,
        encode: impl FnOnce(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        self.encode_u8(option.is_some().into());
        option.map_or(Ok(()), |value| encode(self, value))
    }

    fn encode_count(&mut self, count: usize) -> Result<()> {
        self.encode_u32(u32::try_from(count).map_err(|_| too_many(count))?);
        Ok(())
    }

    fn encode_position(&mut self, position: usize) -> Result<()> {
        self.encode_u16(u16::try_from(position).map_err(|_| too_many(position))?);
        Ok(())
    }
}

#[cold]
fn too_many(count: usize) -> Error {
    Error::new(ErrorKind::OutOfRange, format!("{count} exceeds what a message can represent"))
}
