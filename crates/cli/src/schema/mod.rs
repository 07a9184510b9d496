//! Describes tables as text, as Rust structs, and as the records of the clients for other languages.

mod client_table;
mod describe;
mod go;
mod names;
mod python;
mod relations;
mod rust;
mod typescript;

pub use self::describe::describe;
pub use self::go::go_file;
pub use self::python::python_module;
pub use self::rust::rust_module;
pub use self::typescript::typescript_module;
