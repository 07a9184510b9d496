//! What `bobak-sqinn test` does: a conversation with a database in memory, and its exact answers.

use crate::database::Database;
use crate::log::Log;
use crate::serve::serve;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};

/// The frames of the conversation's requests.
const REQUESTS: &[&[u8]] = &[
    b"\x01\0\0\0\x15CREATE TABLE t(a, b)\0\0\0\0\x01\0\0\0\0",
    b"\x01\0\0\0\x1aINSERT INTO t VALUES(?,?)\0\0\0\0\x02\0\0\0\x02\
        \x01\0\0\0\x07\x04\0\0\0\x03a\0\0\x00\x05\0\0\0\0",
    b"\x02\0\0\0\x12SELECT a,b FROM t\0\0\0\0\0\0\0\0\x02\x02\x05",
    b"\x01\0\0\0\x04NIL\0\0\0\0\x01\0\0\0\0",
    b"\x09",
];

/// The frames of its answers.
const ANSWERS: &[&[u8]] = &[
    b"\x01",
    b"\x01",
    b"\x01\x02\0\0\0\0\0\0\0\x07\x05\0\0\0\x02a\0\x01\0\x05\0\0\0\0\0\x01",
    b"\0\0\0\0\x19near \"NIL\": syntax error\0",
    b"\x01",
];

/// Tests the program as it is built.
///
/// # Errors
/// What is wrong with it.
pub fn selftest(log: &Log) -> Result<(), String> {
    log.info(|| "test begins");
    let (sender, answers) = channel();
    let database = Database::open(OsStr::new(":memory:"))?;
    let requests = framed(REQUESTS);
    serve(requests.as_slice(), Sink(sender), Ok(database), log)
        .map_err(|error| error.to_string())?;
    let answers: Vec<u8> = answers.into_iter().flatten().collect();
    if answers != framed(ANSWERS) {
        return Err(format!("the answers are not as they should be: {answers:?}"));
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

struct Sink(Sender<Vec<u8>>);

impl Write for Sink {
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
    fn the_program_is_well() {
        super::selftest(&crate::Log::default()).unwrap();
    }
}
