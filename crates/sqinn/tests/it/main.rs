//! The program and its parts, against the protocol.

#![allow(clippy::unwrap_used)]

mod support;

mod differential; // random conversations, against the slow server
mod fuzz; // requests that are not as they should be
mod go; // Sqinn's own Go client
mod process; // the program: command line, beginning, end, signs of life
mod protocol; // each request and value, byte by byte
mod slow; // a server as simple as it can be
mod streams; // frames, splits, large answers and values
