//! The Access engine: the tables of `.mdb` and `.accdb` files, from Access 97 to Microsoft 365, to be read.
//!
//! A file is read once, when it is opened, into the memory engine, which then runs the queries. So queries are those of
//! the reference, joins with other engines find rows by key, and no program that writes the file later changes what a
//! reader sees. `jetdb` reads the pages.
//!
//! The path of a file: `engine` (settings, the file's neighbours) → `file` (pages, errors) → `loader` (tables, rows,
//! foreign keys) → `columns` (types) and `values`. `session` rejects writes.

mod columns;
mod engine;
mod file;
mod loader;
mod session;
mod values;

pub use engine::{MsAccess, MsAccessBuilder};

/// The engine's name in messages.
const NAME: &str = "access";
