//! The Model Context Protocol: tools with which a language model reads databases, and changes them if the server allows
//! it.
//!
//! A tool is a request of the HTTP API that the server makes in the client's name. So permissions, limits, quotas and
//! timeouts are those of the API, and a tool cannot forget a check. `message` reads and writes JSON-RPC 2.0, `revision`
//! knows the protocol's revisions, `tools` describes the tools, `calls` turns a call of one into a request, `endpoint` replies
//! messages, and `stdio` serves a parent process.
//!
//! The subset of the protocol that tools need is five methods without state, so that it is written here and not taken
//! from the library `rmcp`.

mod arguments;
mod calls;
pub(crate) mod endpoint;
mod message;
mod revision;
pub(crate) mod stdio;
mod tools;
