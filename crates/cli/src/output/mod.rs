//! What people see meanwhile: notes and progress, on standard error.

mod progress;
mod screen;

pub use progress::Progress;
pub use screen::{Output, Screen, count, rate};
