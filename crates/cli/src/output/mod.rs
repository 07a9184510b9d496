//! Notes and progress on standard error, and output files.

mod progress;
mod terminal;

pub use progress::Progress;
pub use terminal::{OutputTarget, Terminal, count, rate};
