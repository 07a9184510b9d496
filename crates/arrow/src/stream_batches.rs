//! Reads streams in Arrow IPC that anyone may have sent.

use crate::arrow_error;
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{MessageHeader, root_as_message};
use arrow_schema::{DataType, Schema};
use bobak_core::{Error, ErrorKind, Result};
use std::io::Read;

/// What may stand before the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The record batches of a stream in Arrow IPC, whose bytes may be wrong. One message at a time is in memory.
pub struct StreamBatches<R> {
    source: R,
    decoder: StreamDecoder,
    /// Known from the first message on; the decoder knows it only at the second.
    schema: Option<Schema>,
    max_message: usize,
}

impl<R: Read> StreamBatches<R> {
    /// Reads a stream whose messages, which are record batches and what they need, have at most so many bytes.
    #[must_use]
    pub fn new(source: R, max_message: usize) -> Self {
        Self { source, decoder: StreamDecoder::new(), schema: None, max_message }
    }

    /// The next record batch; `None` after the last one.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are no such stream; `TooLong` for a message that is too long; `Io` of the source.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(message) = self.read_message()? {
            let mut message = Buffer::from_vec(message);
            if let Some(batch) = self.decoder.decode(&mut message).map_err(arrow_error)? {
                return Ok(Some(batch));
            }
        }
        match self.schema {
            Some(_) => Ok(None),
            None => Err(corrupt("it has no schema")),
        }
    }

    /// The bytes of the next message, checked; `None` at the end of the stream.
    fn read_message(&mut self) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        self.append(&mut bytes, 4)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes == CONTINUATION {
            self.append(&mut bytes, 4)?;
        }
        let length = bytes.last_chunk().copied().map_or(0, u32::from_le_bytes) as usize;
        if bytes.len() % 4 != 0 || bytes == CONTINUATION {
            return Err(truncated());
        }
        if length == 0 {
            return Ok(None);
        }
        if length > self.max_message {
            return Err(corrupt("it does not begin with a message"));
        }
        let start = bytes.len();
        self.append(&mut bytes, length)?;
        let metadata = bytes.get(start..).unwrap_or_default();
        if metadata.len() < length {
            return Err(truncated());
        }
        let body = check(metadata, &mut self.schema, self.max_message)?;
        let end = bytes.len() + body;
        self.append(&mut bytes, body)?;
        if bytes.len() < end { Err(truncated()) } else { Ok(Some(bytes)) }
    }

    /// Appends as many bytes, or fewer at the end of the source.
    fn append(&mut self, bytes: &mut Vec<u8>, count: usize) -> Result<()> {
        if bytes.len().saturating_add(count) > self.max_message {
            let most = self.max_message;
            let message = format!("a record batch has more than {most} bytes: send smaller ones");
            return Err(Error::new(ErrorKind::TooLong, message));
        }
        let read = (&mut self.source).take(count as u64).read_to_end(bytes);
        read.map(drop).map_err(|error| Error::io("read the Arrow stream", error))
    }
}

/// Checks what a message says about its body, since the library does not. Returns the body's length.
fn check(metadata: &[u8], schema: &mut Option<Schema>, max_message: usize) -> Result<usize> {
    let message = root_as_message(metadata).map_err(|error| corrupt(&error.to_string()))?;
    let length = usize::try_from(message.bodyLength());
    let length = length.map_err(|_| corrupt("a message has a negative length"))?;
    let mut widths = Vec::new();
    let batch = match message.header_type() {
        MessageHeader::Schema => {
            let found = message.header_as_schema().ok_or_else(|| corrupt("it has no schema"))?;
            *schema = Some(try_fb_to_schema(found).map_err(arrow_error)?);
            return Ok(length);
        }
        MessageHeader::RecordBatch => {
            let batch = message.header_as_record_batch();
            let views = batch.and_then(|batch| batch.variadicBufferCounts());
            let mut views = views.into_iter().flatten();
            for field in schema.iter().flat_map(|schema| schema.fields()) {
                push_widths(field.data_type(), &mut views, &mut widths)
                    .map_err(|error| error.in_column(field.name().as_str()))?;
            }
            batch
        }
        MessageHeader::DictionaryBatch => {
            let values = message.header_as_dictionary_batch();
            let values = values.and_then(|dictionary| dictionary.data());
            // Texts and bytes have offsets; of numbers the reader takes any number of bytes.
            if values.and_then(|values| values.buffers()).is_some_and(|all| all.len() == 3) {
                widths.extend([1, 4, 1]);
            }
            values
        }
        _ => None,
    };
    let batch = batch.ok_or_else(|| corrupt("a message is no record batch"))?;
    let is_count = |count: i64| usize::try_from(count).is_ok_and(|count| count <= max_message);
    let mut nodes = batch.nodes().into_iter().flatten();
    let mut buffers = batch.buffers().into_iter().flatten();
    let counted = is_count(batch.length())
        && nodes.all(|node| {
            is_count(node.length()) && (0..=node.length()).contains(&node.null_count())
        });
    let mut widths = widths.into_iter();
    let inside = buffers.all(|buffer| {
        let width = widths.next().unwrap_or(1);
        let end = buffer.offset().checked_add(buffer.length());
        buffer.offset() >= 0
            && buffer.length() >= 0
            && buffer.length() % width == 0
            && end.and_then(|end| usize::try_from(end).ok()).is_some_and(|end| end <= length)
    });
    if counted && inside {
        return Ok(length);
    }
    Err(corrupt("a record batch has other lengths than its body"))
}

/// Adds the number of bytes of a value in each buffer of a column, of which the buffer has whole ones.
fn push_widths(
    ty: &DataType,
    views: &mut impl Iterator<Item = i64>,
    widths: &mut Vec<i64>,
) -> Result<()> {
    let of = |ty: &DataType| ty.primitive_width().unwrap_or(1) as i64;
    match ty {
        DataType::Null => {}
        DataType::Boolean | DataType::FixedSizeBinary(_) => widths.extend([1, 1]),
        DataType::Utf8 | DataType::Binary => widths.extend([1, 4, 1]),
        DataType::LargeUtf8 | DataType::LargeBinary => widths.extend([1, 8, 1]),
        DataType::Utf8View | DataType::BinaryView => {
            widths.extend([1, 16]);
            let more = views.next().and_then(|count| u16::try_from(count).ok());
            let more = more.ok_or_else(|| corrupt("a column of views has no number of buffers"))?;
            widths.extend((0..more).map(|_| 1));
        }
        DataType::List(item) | DataType::LargeList(item) => {
            let offset = if matches!(ty, DataType::List(_)) { 4 } else { 8 };
            widths.extend([1, offset]);
            push_widths(item.data_type(), views, widths)?;
        }
        DataType::FixedSizeList(item, _) => {
            widths.push(1);
            push_widths(item.data_type(), views, widths)?;
        }
        DataType::Dictionary(keys, _) => widths.extend([1, of(keys)]),
        ty if ty.is_primitive() => widths.extend([1, of(ty)]),
        ty => {
            let message = format!("no column takes values of Arrow's type {ty}");
            return Err(Error::new(ErrorKind::Mismatch, message));
        }
    }
    Ok(())
}

fn truncated() -> Error {
    corrupt("it ends in the middle of a message")
}

#[cold]
fn corrupt(why: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the Arrow stream is damaged: {why}"))
}
