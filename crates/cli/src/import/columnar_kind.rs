//! What a file in columns is.

/// What a file in columns is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnarKind {
    /// The file format of Arrow IPC.
    ArrowFile,
    /// The stream format of Arrow IPC.
    ArrowStream,
    /// Parquet.
    Parquet,
}

impl ColumnarKind {
    /// What the first bytes of a file say; `None` if it is not in columns.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [b'P', b'A', b'R', b'1', ..] => Some(Self::Parquet),
            [0xff, 0xff, 0xff, 0xff, ..] => Some(Self::ArrowStream),
            _ => bytes.starts_with(b"ARROW1").then_some(Self::ArrowFile),
        }
    }
}
