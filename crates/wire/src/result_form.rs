//! The form of a query's result.

use crate::reader::{MessageReader, wrong};
use bobak_core::Result;

/// The form in which a query's result is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultForm {
    /// Whether the columns' names and types come first.
    pub columns: bool,
    /// Whether the rows come as [blocks](crate::ColumnBlock): only from a server that
    /// [sends them](crate::Welcome::column_blocks).
    pub blocks: bool,
}

impl ResultForm {
    /// Rows, after their columns.
    pub const NAMED: Self = Self { columns: true, blocks: false };

    pub(crate) fn read(reader: &mut MessageReader<'_>) -> Result<Self> {
        match reader.u8()? {
            form @ 0..4 => Ok(Self { columns: form & 1 != 0, blocks: form & 2 != 0 }),
            other => Err(wrong("the form of a result", other)),
        }
    }

    pub(crate) fn number(self) -> u8 {
        u8::from(self.columns) | u8::from(self.blocks) << 1
    }
}
