//! Responses: status, headers and a body that is complete or streamed.

#[cfg(feature = "arrow")]
pub(crate) mod arrow_stream;
pub(crate) mod builder;
pub(crate) mod compression;
pub(crate) mod conditional;
pub(crate) mod cors;
pub(crate) mod etag;
pub(crate) mod stream;
