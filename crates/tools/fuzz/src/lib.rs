//! What Bobak's fuzzers run: for each decoder a function that must hold for any bytes, and seeds.
//!
//! `cargo xtask fuzz` runs them under libFuzzer, by the program in the folder `fuzz`; the tests of this crate run them
//! over the seeds and some thousand mutations of them, the same each time. A [`Target`] fails by a panic: its own
//! assertions check round trips, and results that must not depend on how the bytes were split.
//!
//! Each finding of a fuzzer becomes an ordinary test next to the decoder.
#![allow(clippy::panic, clippy::expect_used, reason = "a panic is how a target reports a finding")]

mod meter;
mod sample;
mod seeds;
mod target;
mod targets;

pub use target::Target;
pub use targets::{TARGETS, find, independent_schemas};
