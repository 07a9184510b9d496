//! The Rust sources of the workspace, as the checks of structure and vocabulary read them.
//!
//! ```text
//! source    one module: its imports, paths, types and functions, without test code
//! imports   `use` trees, flattened
//! modules   the module tree of a crate, and which module a path leads to
//! signatures  public items as text
//! members   the crates of the workspace, in the order of Cargo.toml
//! ```
//!
//! The sources are read as tokens, not as a syntax tree: a path in a macro's arguments is a dependency too, and the
//! lexer of proc-macro2 alone builds in a fifth of the time that a full parser takes.

mod imports;
pub mod members;
pub mod modules;
mod signatures;
pub mod source;
