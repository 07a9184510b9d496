//! The command `bobak-sqinn test`: sends requests to a database in memory, and compares the replies byte by
//! byte.

use crate::database::Database;
use crate::log::Log;
use crate::serve::serve;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};

/// The frames of the requests.
const REQUESTS: &[&[u8]] = &[
    b"\x01\0\0\0\x15CREATE TABLE t(a, b)\0\0\0\0\x01\0\0\0\0",
    b"\x01\0\0\0\x1aINSERT INTO t VALUES(?,?)\0\0\0\0\x02\0\0\0\x02\
        \x01\0\0\0\x07\x04\0\0\0\x03a\0\0\x00\x05\0\0\0\0",
    b"\x02\0\0\0\x12SELECT a,b FROM t\0\0\0\0\0\0\0\0\x02\x02\x05",
    b"\x01\0\0\0\x04NIL\0\0\0\0\x01\0\0\0\0",
    b"\x09",
];

/// The frames of the replies.
const REPLIES: &[&[u8]] = &[
    b"\x01",
    b"\x01",
    b"\x01\x02\0\0\0\0\0\0\0\x07\x05\0\0\0\x02a\0\x01\0\x05\0\0\0\0\0\x01",
    b"\0\0\0\0\x19near \"NIL\": syntax error\0",
    b"\x01",
];

/// Tests this build of the program.
///
/// # Errors
/// What differs.
pub fn selftest(log: &Log) -> Result<(), String> {
    log.info(|| "test starts");
    let (sender, replies) = channel();
    let database = Database::open(OsStr::new(":memory:"))?;
    let requests = framed(REQUESTS);
    serve(requests.as_slice(), ChannelWriter(sender), Ok(database), log)
        .map_err(|error| error.to_string())?;
    let replies: Vec<u8> = replies.into_iter().flatten().collect();
    if replies != framed(REPLIES) {
        return Err(format!("unexpected replies: {replies:?}"));
    }
    log.info(|| "test ends");
    Ok(())
}

fn framed(payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for payload in payloads {
        bytes.extend_from_slice(&(payload.len() as u32).to_be_bytes());
        bytes.extend_from_slice(payload);
    }
    bytes
}

struct ChannelWriter(Sender<Vec<u8>>);

impl Write for ChannelWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn selftest_succeeds() {
        super::selftest(&crate::Log::default()).unwrap();
    }
}
