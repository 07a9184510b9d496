//! The doors, from outside: the conformance suite through each, and clients that do not behave.

mod conformance; // the suite through each door, on the memory engine and on SQLite
mod doors; // how a server and a client of it are made
mod model; // random programs through the doors, held against the engine itself
