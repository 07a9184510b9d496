//! Outcomes of written rows. Consecutive rows with the same outcome are one entry.

use crate::error;
use crate::reader::{MessageReader, corrupt, wrong};
use crate::writer::Encode;
use crate::{FrameKind, frame};
use bobak_core::{Error, GeneratedKey, Outcome, Result, Uuid};

/// Inserted, with consecutive keys.
const INTEGER_KEYS: u8 = 0;
/// Inserted, with the keys given by the caller.
const INSERTED: u8 = 1;
/// Inserted, with a key of 16 bytes.
const UUID_KEY: u8 = 2;
/// Updated or deleted; followed by the number of rows.
const CHANGED: u8 = 3;
const IGNORED: u8 = 4;
const FAILED: u8 = 5;
/// Updated by an upsert on a unique index; followed by the row's integer key.
const UPDATED_INTEGER: u8 = 6;
/// The same with a key of 16 bytes.
const UPDATED_UUID: u8 = 7;

/// The outcome of consecutive rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutcomeGroup {
    IntegerKeys(i64),
    Inserted,
    UuidKey(Uuid),
    Changed(u64),
    Ignored,
    Updated(GeneratedKey),
}

/// Collects outcomes for a response.
#[derive(Debug, Default)]
pub struct OutcomeWriter {
    open: Option<(OutcomeGroup, u32)>,
    bytes: Vec<u8>,
}

impl OutcomeWriter {
    /// Adds the outcome of the next row.
    ///
    /// # Errors
    /// None in practice: long error texts are truncated.
    #[inline]
    pub fn push(&mut self, outcome: Result<Outcome, &Error>) -> Result<()> {
        let group = match outcome {
            Ok(Outcome::Inserted(Some(GeneratedKey::Int(key)))) => OutcomeGroup::IntegerKeys(key),
            Ok(Outcome::Inserted(Some(GeneratedKey::Uuid(key)))) => OutcomeGroup::UuidKey(key),
            Ok(Outcome::Inserted(None)) => OutcomeGroup::Inserted,
            Ok(Outcome::Changed(rows)) => OutcomeGroup::Changed(rows),
            Ok(Outcome::Ignored) => OutcomeGroup::Ignored,
            Ok(Outcome::Updated(key)) => OutcomeGroup::Updated(key),
            Err(error) => {
                self.close();
                self.bytes.encode_u8(FAILED);
                self.bytes.encode_u32(1);
                return error::encode(&mut self.bytes, error);
            }
        };
        match &mut self.open {
            Some((open, count)) if follows(*open, *count, group) => *count += 1,
            _ => {
                self.close();
                self.open = Some((group, 1));
            }
        }
        Ok(())
    }

    /// The approximate number of bytes collected.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing is collected.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.open.is_none()
    }

    /// Appends the collected outcomes as a frame, and starts over.
    ///
    /// # Errors
    /// `OutOfRange` for 4 GiB or more.
    pub fn write_frame(&mut self, out: &mut Vec<u8>, id: u32, more: bool) -> Result<()> {
        self.close();
        frame::encode(out, FrameKind::Outcomes, more, id, |out| {
            out.extend_from_slice(&self.bytes);
            Ok(())
        })?;
        self.bytes.clear();
        Ok(())
    }

    /// Discards the collected outcomes.
    pub fn clear(&mut self) {
        self.open = None;
        self.bytes.clear();
    }

    fn close(&mut self) {
        let Some((group, count)) = self.open.take() else { return };
        let bytes = &mut self.bytes;
        let mut start = |tag: u8| {
            bytes.encode_u8(tag);
            bytes.encode_u32(count);
        };
        match group {
            OutcomeGroup::IntegerKeys(first) => {
                start(INTEGER_KEYS);
                bytes.encode_u64(first.cast_unsigned());
            }
            OutcomeGroup::Inserted => start(INSERTED),
            OutcomeGroup::UuidKey(key) => {
                start(UUID_KEY);
                bytes.extend_from_slice(key.as_bytes());
            }
            OutcomeGroup::Changed(rows) => {
                start(CHANGED);
                bytes.encode_u64(rows);
            }
            OutcomeGroup::Ignored => start(IGNORED),
            OutcomeGroup::Updated(key) => encode_updated(bytes, key),
        }
    }
}

/// One row that an upsert on a unique index has updated.
fn encode_updated(bytes: &mut Vec<u8>, key: GeneratedKey) {
    bytes.encode_u8(if matches!(key, GeneratedKey::Int(_)) {
        UPDATED_INTEGER
    } else {
        UPDATED_UUID
    });
    bytes.encode_u32(1);
    match key {
        GeneratedKey::Int(key) => bytes.encode_u64(key.cast_unsigned()),
        GeneratedKey::Uuid(key) => bytes.extend_from_slice(key.as_bytes()),
    }
}

#[inline]
fn follows(open: OutcomeGroup, count: u32, next: OutcomeGroup) -> bool {
    if count == u32::MAX {
        return false;
    }
    match (open, next) {
        (OutcomeGroup::IntegerKeys(first), OutcomeGroup::IntegerKeys(key)) => {
            first.checked_add(count.into()) == Some(key)
        }
        (OutcomeGroup::UuidKey(_) | OutcomeGroup::Updated(_), _) => false,
        (open, next) => open == next,
    }
}

/// The outcomes in a response.
#[derive(Clone, Debug)]
pub struct OutcomeList<'a> {
    reader: MessageReader<'a>,
    open: Option<(OutcomeGroup, u32)>,
}

impl<'a> OutcomeList<'a> {
    pub(crate) const fn new(body: &'a [u8]) -> Self {
        Self { reader: MessageReader::new(body), open: None }
    }

    fn read(&mut self) -> Result<Result<Outcome>> {
        let tag = self.reader.u8()?;
        let count = self.reader.u32()?;
        let is_single = matches!(tag, UUID_KEY | FAILED | UPDATED_INTEGER | UPDATED_UUID);
        if count == 0 || (count > 1 && is_single) {
            return Err(corrupt(format!("an outcome for {count} rows")));
        }
        let group = match tag {
            INTEGER_KEYS => {
                let first = self.reader.i64()?;
                if first.checked_add((count - 1).into()).is_none() {
                    return Err(corrupt("keys exceed the largest integer"));
                }
                OutcomeGroup::IntegerKeys(first)
            }
            INSERTED => OutcomeGroup::Inserted,
            UUID_KEY => OutcomeGroup::UuidKey(Uuid::from_bytes(self.reader.bytes16()?)),
            CHANGED => OutcomeGroup::Changed(self.reader.u64()?),
            IGNORED => OutcomeGroup::Ignored,
            UPDATED_INTEGER => OutcomeGroup::Updated(GeneratedKey::Int(self.reader.i64()?)),
            UPDATED_UUID => {
                let key = Uuid::from_bytes(self.reader.bytes16()?);
                OutcomeGroup::Updated(GeneratedKey::Uuid(key))
            }
            FAILED => return error::read(&mut self.reader).map(Err),
            other => return Err(wrong("an outcome", other)),
        };
        self.open = Some((group, count));
        self.take().map_or_else(|| Err(corrupt("an outcome for no row")), |outcome| Ok(Ok(outcome)))
    }

    #[inline]
    fn take(&mut self) -> Option<Outcome> {
        let (group, count) = self.open.as_mut()?;
        *count = count.checked_sub(1)?;
        Some(match group {
            OutcomeGroup::IntegerKeys(key) => {
                let outcome = Outcome::Inserted(Some(GeneratedKey::Int(*key)));
                *key = key.wrapping_add(1);
                outcome
            }
            OutcomeGroup::Inserted => Outcome::Inserted(None),
            OutcomeGroup::UuidKey(key) => Outcome::Inserted(Some(GeneratedKey::Uuid(*key))),
            OutcomeGroup::Changed(rows) => Outcome::Changed(*rows),
            OutcomeGroup::Ignored => Outcome::Ignored,
            OutcomeGroup::Updated(key) => Outcome::Updated(*key),
        })
    }
}

/// The outer error is for invalid bytes; the iterator ends after it.
impl Iterator for OutcomeList<'_> {
    type Item = Result<Result<Outcome>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(outcome) = self.take() {
            return Some(Ok(Ok(outcome)));
        }
        if self.reader.is_empty() {
            return None;
        }
        let outcome = self.read();
        if outcome.is_err() {
            self.reader.rest();
        }
        Some(outcome)
    }
}
