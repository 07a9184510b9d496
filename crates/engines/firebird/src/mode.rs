//! The kinds of transactions.

use std::time::Duration;

/// What a transaction may do and see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Reads, all of one moment.
    Read,
    /// Reads and writes, all of one moment: SNAPSHOT.
    Snapshot,
    /// Reads and writes what is committed: for single statements, and for schemas.
    Committed,
    /// The same, without waiting for other transactions.
    Probe,
}

impl Mode {
    /// As the server takes it. It counts whole seconds of waiting.
    pub(crate) fn parameters(self, busy_timeout: Duration) -> Vec<u8> {
        let (isolation, access): (&[u8], u8) = match self {
            Self::Read => (&[2], 8),
            Self::Snapshot => (&[2], 9),
            Self::Committed | Self::Probe => (&[15, 17], 9),
        };
        let seconds = busy_timeout.as_secs_f64().ceil().min(32_000.0) as u32;
        let mut parameters = [&[3], isolation, &[access]].concat();
        if seconds == 0 || matches!(self, Self::Read | Self::Probe) {
            parameters.push(7);
        } else {
            parameters.extend([6, 21, 4]);
            parameters.extend(seconds.to_le_bytes());
        }
        parameters
    }

    /// The same, and that no other transaction writes to these tables meanwhile.
    pub(crate) fn reserving(self, busy_timeout: Duration, tables: &[String]) -> Vec<u8> {
        let mut parameters = self.parameters(busy_timeout);
        for table in tables {
            // A name of the catalog has 252 bytes at most.
            let length = u8::try_from(table.len()).unwrap_or(u8::MAX);
            parameters.extend([11, length]);
            parameters.extend(table.bytes().take(length.into()));
            parameters.push(4);
        }
        parameters
    }
}
