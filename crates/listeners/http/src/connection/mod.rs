//! Connections: from the accepted socket to HTTP requests.

pub(crate) mod http1;
pub(crate) mod listener;
pub(crate) mod write_timeout;
