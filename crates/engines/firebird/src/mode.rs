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
}
