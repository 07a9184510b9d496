//! Reads the rows of a portal, a limited number at a time.

use crate::connection::Connection;
use crate::protocol::message::Message;
use crate::session::outcome::is_utility;
use bobak_core::Result;

/// The most rows of one fetch.
const MAX_ROWS: usize = 200_000;

/// The size of a fetch.
#[derive(Default)]
pub(crate) struct FetchStats {
    pub rows: usize,
    pub bytes: usize,
}

impl FetchStats {
    /// How many rows to fetch next, for about so many bytes.
    pub fn next_rows(&self, bytes: usize) -> u32 {
        let each = (self.bytes / self.rows.max(1)).max(1);
        (bytes / each).clamp(1, MAX_ROWS) as u32
    }
}

/// Why a fetch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchEnd {
    /// There are more rows.
    More,
    /// The caller wants no more rows.
    Enough,
    /// There are no more rows.
    All,
}

/// Reads the rows of one fetch. If `row` returns `false` or an error, the remaining rows are skipped.
///
/// # Errors
/// Those of the server, the connection and `row`.
pub(crate) fn read_rows(
    connection: &mut Connection,
    part: &mut FetchStats,
    mut row: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<FetchEnd> {
    let _stoppable = connection.interruptible();
    let mut is_wanted = true;
    let mut failed = None;
    loop {
        let ended = match connection.next() {
            Ok(Message::Row(body)) => {
                part.rows += 1;
                part.bytes += body.len();
                if is_wanted {
                    match row(body) {
                        Ok(more) => is_wanted = more,
                        Err(error) => {
                            failed = Some(error);
                            is_wanted = false;
                        }
                    }
                }
                continue;
            }
            Ok(Message::More) => FetchEnd::More,
            Ok(Message::Done(tag)) if is_utility(tag) => continue,
            Ok(Message::Done(_)) => FetchEnd::All,
            Ok(Message::Error(body)) => {
                return Err(crate::error::ServerError::parse(body).into_error());
            }
            Ok(_) => continue,
            // The connection is broken: what the server still sends cannot be told from later replies.
            Err(error) => return Err(error.error),
        };
        return match failed {
            Some(error) => Err(error),
            None if !is_wanted => Ok(FetchEnd::Enough),
            None => Ok(ended),
        };
    }
}
