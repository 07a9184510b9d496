//! From a CSV file to the rows of a table, in two passes: [`Survey`] learns the types from the
//! whole file and finds bad lines before anything is written; the second pass stores the rows.
//!
//! In the order of the path: [`Source`] opens and unpacks, [`Layout`] finds delimiter and header,
//! `lines` cuts, `guess` finds the types, `bobak_text` reads values, [`Plan`] says which column goes
//! where, [`Load`] stores the rows, [`Rejects`] keeps the bad lines.

pub mod guess;
mod layout;
pub mod lines;
mod load;
mod plan;
mod rejects;
mod source;
mod survey;

pub use layout::Layout;
pub use load::Load;
pub use plan::Plan;
pub use rejects::Rejects;
pub use source::Source;
pub use survey::Survey;
