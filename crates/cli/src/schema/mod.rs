//! Tables in print: in words, and as the Rust structs that would keep their rows.

mod describe;
mod names;
mod rust;

pub use self::describe::describe;
pub use self::rust::rust_module;
