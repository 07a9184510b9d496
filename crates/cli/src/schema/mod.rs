//! Describes tables as text and as Rust structs.

mod describe;
mod names;
mod rust;

pub use self::describe::describe;
pub use self::rust::rust_module;
