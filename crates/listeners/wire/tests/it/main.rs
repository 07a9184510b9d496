//! The doors, from outside: the conformance suite through each, and clients that do not behave.
#![allow(clippy::unwrap_used, reason = "helpers of tests may stop at what they did not expect")]

mod bad_clients; // clients that do not behave: they harm nobody
mod conformance; // the suite through each door, on the memory engine and on SQLite
mod crowds; // one caller, or one address, that wants all there is; passwords that are guessed
mod doors; // how a server and a client of it are made
mod idle; // ten thousand clients that say nothing
mod interrupts; // requests that run for ever: taken back, too late, of a client that is gone
mod log; // what the log hears of clients
mod model; // random programs through the doors, held against the engine itself
mod proxy; // a line that can be cut
mod raw; // a client without manners
mod remote; // the engine at the other end: what it does where a server is slow, silent or full
mod rights; // users and tokens with roles, over real sockets
mod streams; // many requests under way, large batches and queries, a server that stops
