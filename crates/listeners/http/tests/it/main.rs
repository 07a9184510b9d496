//! The HTTP door over real sockets, asked by a real client.
#![allow(clippy::unwrap_used, reason = "helpers of tests may stop at what they did not expect")]

mod admission; // secrets that are guessed or changed, and SQL that nobody may send
mod bad_input; // bombs, clients that drip, and what refusals could give away
mod client; // a server with a few tables, and a client of it
mod described; // a client made of nothing but the document
mod document; // the OpenAPI document: valid, and true for every operation
mod doors; // doors, limits, clients that do not behave
mod events; // live changes
mod exactly; // numbers and odd values, which come back as they were or are refused
mod freshness; // tables that change while they are used
mod heads; // heads that are wrong, and bytes behind a request
mod idle; // ten thousand clients that say nothing
mod interrupts; // requests that run for ever: too late, of a client that is gone
mod journal; // what the log hears of clients
mod keys; // keys that are given, 0 too, and those that are made
mod loads; // what imports and batches promise where they stop
mod memory; // what a client may make the server keep
mod rights; // what somebody may not see
mod rows; // rows, one by one and as lists
mod shares; // workers: no caller has all of them
mod streams; // imports, exports, batches, sums
#[cfg(feature = "tls")]
mod tls; // the same door under TLS
