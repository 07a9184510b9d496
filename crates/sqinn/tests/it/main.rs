//! The program and its parts, tested against the protocol.

#![allow(clippy::unwrap_used)]

mod support;

mod differential; // random sessions, compared with the reference
mod fuzz; // malformed requests
mod go; // Sqinn's own Go client
mod process; // the program as a process
mod protocol; // requests and values, byte by byte
mod reference; // the simplest possible implementation
mod streams; // frame boundaries, long replies, large values
