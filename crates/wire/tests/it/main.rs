//! The protocol from outside: the vectors that all implementations share, and bytes that are wrong.
#![allow(clippy::unwrap_used, reason = "helpers of tests may stop at what they did not expect")]

mod blocks;
mod codec; // rows in the row codec, and types' forms, against the files in `vectors/`
mod joins; // samples of queries over several tables
mod more; // further samples: every type, verb, comparison, expression and error
mod nearest; // samples of vectors, and of queries for the nearest rows
mod parts; // samples of values in parts, and of plans
mod random_joins; // queries that come back, and wrong ones
mod samples; // one frame of each kind, and what it says
mod search; // samples of searched tables
mod vectors; // the samples against the file in `vectors/`
mod wrong; // random and damaged bytes: rejected, and never a panic
