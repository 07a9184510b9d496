//! The wire listener from outside: the conformance suite over each transport, and misbehaving clients.
#![allow(clippy::unwrap_used, reason = "helpers of tests may stop at what they did not expect")]

mod bad_clients; // misbehaving clients do not affect others
mod blocks; // rows sent column by column
mod conformance; // the suite over each transport, on the memory engine and on SQLite
mod hidden_data; // random requests to two databases that differ in what is hidden
mod idle; // ten thousand idle clients
mod interrupts; // endless requests: cancelled, timed out, of disconnected clients
mod joins; // queries over several tables: streamed, interrupted, under permissions
mod log; // the audit log
mod model; // random operations over each transport, compared with the engine itself
mod permissions; // users and tokens with roles, over real sockets
mod proxy; // a proxy that can disconnect
mod quotas; // one client or address that requests everything; guessed passwords
mod raw; // a client that sends arbitrary bytes
mod remote; // the remote engine with slow, silent and full servers
mod streams; // pipelined requests, large batches and queries, shutdown
mod transports; // servers for tests, and engines connected to them // random requests to two databases that differ in what is hidden
