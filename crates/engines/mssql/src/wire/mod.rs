//! A client of SQL Server's protocol, TDS 7.4, as `[MS-TDS]` describes it.
//!
//! A request is one message: SQL text, a call of `sp_executesql` with parameters, or rows of a bulk load. The response is a
//! stream of tokens that ends with a DONE. Another thread may send an attention meanwhile, which cancels the request; the
//! server acknowledges it in a DONE of its own.

mod bytes;
mod channel;
mod collation;
mod login;
mod request;
mod status;
mod stream;
mod tls;
mod tokens;
mod types;
mod values;

pub use bytes::SliceSource;
pub(crate) use channel::TdsChannel;
pub(crate) use login::TdsLogin;
pub(crate) use request::{
    BulkColumn, TransactionStep, push_bulk_end, push_bulk_head, push_bulk_row, push_call,
};
pub(crate) use status::{MssqlError, TdsError};
pub(crate) use tls::TlsSettings;
pub(crate) use tokens::TokenReader;
pub(crate) use types::{SentKind, TdsColumn};
pub(crate) use values::{TdsCell, TdsValue};

/// Reads tokens until the bytes end or are none; for fuzzing. Returns how many tokens there were.
#[doc(hidden)]
pub fn decode_all(bytes: &[u8]) -> usize {
    let (mut source, mut reader, mut count) = (SliceSource::new(bytes), TokenReader::default(), 0);
    while reader.next(&mut source).is_ok() {
        count += 1;
    }
    count
}
