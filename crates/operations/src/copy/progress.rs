//! The progress of a copy.

/// The progress of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress<'a> {
    /// The table.
    pub table: &'a str,
    /// Whether the rows are being read again for the checksum, first in one database, then in the other.
    pub checking: bool,
    /// The number of rows done, including those that existed before.
    pub rows: u64,
    /// The number of rows to do.
    pub of: u64,
}
