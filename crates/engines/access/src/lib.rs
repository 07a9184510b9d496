//! The Access engine: the tables of `.mdb` and `.accdb` files. It reads those from Access 97 to Microsoft 365, and writes
//! those from Access 2000 on.
//!
//! A file is read once, when it is opened, into the memory engine, which then runs the queries and transactions. So queries
//! are those of the reference, joins with other engines find rows by key, and no program that writes the file later changes
//! what a reader sees. `jetdb` reads the pages. Before a commit becomes visible, `write` puts a new file in the old one's
//! place: the changed tables are in new pages, and all else is as it was.
//!
//! The path of a file: `engine` (settings, the file's neighbours) → `file` (pages, errors) → `loader` (tables, rows,
//! foreign keys) → `columns` (types) and `values`. `session` rejects changes that Access has no counterpart of.

mod columns;
mod dates;
mod description;
mod engine;
mod file;
mod loader;
mod session;
mod values;
mod write;

pub use engine::{MsAccess, MsAccessBuilder};

/// The engine's name in messages.
const NAME: &str = "access";
