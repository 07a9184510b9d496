//! The server's protocol: messages, rows and the binary form of values.

pub(crate) mod message;
pub(crate) mod numeric;
pub(crate) mod row;
pub(crate) mod value;
