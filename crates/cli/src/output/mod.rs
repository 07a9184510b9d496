//! Notes and progress on standard error, and output files.

mod database_file;
mod progress;
mod terminal;

pub use database_file::check_target;
pub use progress::Progress;
pub use terminal::{OutputTarget, Terminal, count, rate};
