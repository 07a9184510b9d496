//! Blocks: rows as one vector of values for each column, in the memory layout of Arrow.
//!
//! docs/wire.md describes every byte. A client uses the buffers of a block as they are: none is converted.

mod decode;
mod encode;
mod layout;

pub use decode::{BlockColumn, ColumnBlock};
pub use encode::ColumnBlockEncoder;

/// Each buffer begins at a multiple of this many bytes.
const ALIGNMENT: usize = 8;
/// The most bytes of a heap, so that offsets are positive 32-bit numbers.
const HEAP: usize = i32::MAX as usize;
/// The flag of a column with NULLs.
const HAS_NULLS: u8 = 1;
/// The bytes of a column's description.
const DESCRIPTION: usize = 8;
