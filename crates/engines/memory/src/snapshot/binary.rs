//! The binary format: compressed blocks, each with its checksum.

use super::loading::{LoadingState, corrupt, describe};
use crate::state::DatabaseState;
use bobak_core::codec::{self, EncodedRow};
use bobak_core::{Error, ErrorKind, Result};
use std::io::{Read, Write};
use std::sync::Arc;

/// The first bytes of a file.
pub(super) const MAGIC: &[u8] = b"BOBAKMEM";
const VERSION: u32 = 1;

/// The size up to which rows are collected in a block.
const BLOCK: usize = 256 * 1024;
/// The size of a block header: kind, length, compressed length, checksum.
const HEAD: usize = 13;

/// The maximum number of bytes that one compressed byte of LZ4 expands to.
const LARGEST: usize = 255;

const TABLE: u8 = 1;
const ROWS: u8 = 2;
const END: u8 = 3;

/// Writes a snapshot.
///
/// # Errors
/// Those of the file.
pub(super) fn write(file: &mut impl Write, state: &DatabaseState) -> std::io::Result<()> {
    let mut start = [MAGIC, &VERSION.to_le_bytes()].concat();
    let sum = crc32fast::hash(&start);
    start.extend_from_slice(&sum.to_le_bytes());
    file.write_all(&start)?;
    let mut end = (state.tables.len() as u32).to_le_bytes().to_vec();
    let mut rows = Vec::with_capacity(BLOCK);
    for table in &state.tables {
        let text = describe(table).to_string();
        write_block(file, TABLE, text.as_bytes())?;
        let mut at = table.key().order.start();
        while let Some(slot) = table.key().order.next(&mut at) {
            if let Some(row) = table.row(slot) {
                codec::frame(&mut rows, row);
            }
            if rows.len() >= BLOCK {
                write_block(file, ROWS, &rows)?;
                rows.clear();
            }
        }
        if !rows.is_empty() {
            write_block(file, ROWS, &rows)?;
            rows.clear();
        }
        end.extend_from_slice(&(table.len() as u64).to_le_bytes());
    }
    write_block(file, END, &end)
}

/// Reads a snapshot after its magic bytes.
///
/// # Errors
/// `Corrupt`, `Unsupported`, `Io`.
pub(super) fn read(file: &mut impl Read) -> Result<DatabaseState> {
    let [version, sum] = [read_number(file)?, read_number(file)?];
    let start = [MAGIC, &version.to_le_bytes()].concat();
    if crc32fast::hash(&start) != sum {
        return Err(corrupt("its header is damaged"));
    }
    if version != VERSION {
        let message = format!("it has version {version} of the format; this program knows 1");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let mut reading = LoadingState::new();
    let mut counts = Vec::new();
    loop {
        let (kind, bytes) = read_block(file)?;
        match kind {
            TABLE => {
                if !reading.state.tables.is_empty() {
                    counts.push(reading.rows);
                }
                let json = serde_json::from_slice(&bytes)
                    .map_err(|error| corrupt(format!("a table's description: {error}")))?;
                reading.begin_table(&json)?;
            }
            ROWS => read_rows(&mut reading, &bytes)?,
            END => {
                if !reading.state.tables.is_empty() {
                    counts.push(reading.rows);
                }
                check_end(file, &bytes, &counts)?;
                return reading.finish();
            }
            other => return Err(corrupt(format!("a block of the unknown kind {other}"))),
        }
    }
}

fn read_rows(reading: &mut LoadingState, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        let (row, used) = codec::split_first(bytes)?;
        let row = EncodedRow::check(row.as_bytes())?;
        reading.add(Arc::from(row.as_bytes()))?;
        bytes = bytes.get(used..).unwrap_or_default();
    }
    Ok(())
}

fn check_end(file: &mut impl Read, bytes: &[u8], counts: &[u64]) -> Result<()> {
    let mut expected = (counts.len() as u32).to_le_bytes().to_vec();
    counts.iter().for_each(|count| expected.extend_from_slice(&count.to_le_bytes()));
    if bytes != expected {
        return Err(corrupt("the number of tables or rows differs from the end block"));
    }
    match read_up_to(file, 1)?.is_empty() {
        true => Ok(()),
        false => Err(corrupt("something follows its end")),
    }
}

fn write_block(file: &mut impl Write, kind: u8, bytes: &[u8]) -> std::io::Result<()> {
    let compressed = lz4_flex::block::compress(bytes);
    // Equal lengths mean that the block is not compressed.
    let stored = if compressed.len() < bytes.len() { &compressed } else { bytes };
    let length = |bytes: &[u8]| {
        u32::try_from(bytes.len()).map_err(|_| {
            std::io::Error::other("a row or a description is larger than a block may be")
        })
    };
    let mut head = vec![kind];
    head.extend_from_slice(&length(bytes)?.to_le_bytes());
    head.extend_from_slice(&length(stored)?.to_le_bytes());
    let sum = sum_of(&head, stored);
    head.extend_from_slice(&sum.to_le_bytes());
    file.write_all(&head)?;
    file.write_all(stored)
}

fn read_block(file: &mut impl Read) -> Result<(u8, Vec<u8>)> {
    let head = read_up_to(file, HEAD as u64)?;
    let &[kind, a, b, c, d, e, f, g, h, s, t, u, v] = head.as_slice() else {
        return Err(corrupt("it is truncated"));
    };
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let stored_length = u32::from_le_bytes([e, f, g, h]);
    let stored = read_up_to(file, u64::from(stored_length))?;
    let whole = stored.len() == stored_length as usize;
    let head = head.get(..HEAD - 4).unwrap_or_default();
    if !whole || sum_of(head, &stored) != u32::from_le_bytes([s, t, u, v]) {
        return Err(corrupt(if whole { "a block is damaged" } else { "it is truncated" }));
    }
    if stored.len() == length {
        return Ok((kind, stored));
    }
    // A checksum can be forged: a length is accepted only if LZ4 can expand to it.
    if length / LARGEST > stored.len() {
        return Err(corrupt("the length in a block's header exceeds the maximum"));
    }
    let bytes = lz4_flex::block::decompress(&stored, length)
        .map_err(|error| corrupt(format!("a block can't be decompressed: {error}")))?;
    if bytes.len() == length {
        Ok((kind, bytes))
    } else {
        Err(corrupt("the length of a block differs from its header"))
    }
}

fn sum_of(head: &[u8], stored: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(stored);
    hasher.finalize()
}

fn read_number(file: &mut impl Read) -> Result<u32> {
    match read_up_to(file, 4)?.as_slice() {
        &[a, b, c, d] => Ok(u32::from_le_bytes([a, b, c, d])),
        _ => Err(corrupt("it is truncated")),
    }
}

/// Reads so many bytes, or fewer if the file ends. Memory is allocated only for bytes that exist.
fn read_up_to(file: &mut impl Read, bytes: u64) -> Result<Vec<u8>> {
    let mut read = Vec::new();
    file.take(bytes).read_to_end(&mut read).map_err(|error| Error::io("read it", error))?;
    Ok(read)
}
