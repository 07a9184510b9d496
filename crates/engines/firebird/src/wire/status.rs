//! What the server says when a call fails.

use super::stream::Receiver;
use std::fmt;
use std::io;

/// One statement of the server: its number, and what it is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Complaint {
    pub code: i32,
    pub arguments: Vec<String>,
}

/// A status vector.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    pub complaints: Vec<Complaint>,
}

/// A call that failed.
#[derive(Debug)]
pub(crate) enum WireError {
    /// The connection broke, or has a word of another protocol.
    Io(io::Error),
    /// The server rejected the call.
    Server(Status),
}

pub(crate) type WireResult<T> = Result<T, WireError>;

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The tags of a status vector.
const END: i32 = 0;
const CODE: i32 = 1;
const TEXTS: [i32; 3] = [2, 3, 5];
const NUMBER: i32 = 4;
const WARNING: i32 = 18;
const STATE: i32 = 19;

impl Status {
    /// Reads one; `None` if the call succeeded.
    pub(super) fn read(receiver: &mut Receiver) -> io::Result<Option<Self>> {
        let mut status = Self::default();
        let (mut failed, mut is_warning) = (false, false);
        loop {
            match receiver.int()? {
                END => return Ok(failed.then_some(status)),
                CODE => {
                    let code = receiver.int()?;
                    is_warning = false;
                    // Zero says that all went well.
                    if code != 0 {
                        failed = true;
                        status.complaints.push(Complaint { code, arguments: Vec::new() });
                    }
                }
                WARNING => {
                    receiver.int()?;
                    is_warning = true;
                }
                STATE => drop(receiver.counted()?),
                tag => {
                    let text = argument(receiver, tag)?;
                    if let Some(last) = status.complaints.last_mut().filter(|_| !is_warning) {
                        last.arguments.extend(text);
                    }
                }
            }
        }
    }

    /// Whether one of the complaints has this number.
    pub fn has(&self, code: i32) -> bool {
        self.find(code).is_some()
    }

    /// The complaint with this number.
    pub fn find(&self, code: i32) -> Option<&Complaint> {
        self.complaints.iter().find(|complaint| complaint.code == code)
    }
}

/// What a complaint is about; `None` for what only a computer reads.
fn argument(receiver: &mut Receiver, tag: i32) -> io::Result<Option<String>> {
    Ok(match tag {
        _ if TEXTS.contains(&tag) => {
            Some(String::from_utf8_lossy(&receiver.counted()?).into_owned())
        }
        NUMBER => Some(receiver.int()?.to_string()),
        _ => {
            receiver.int()?;
            None
        }
    })
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Server(status) => {
                write!(f, "Firebird")?;
                for complaint in &status.complaints {
                    write!(f, " {} {:?}", complaint.code, complaint.arguments)?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for WireError {}
