//! SQLite over stdin and stdout, in the protocol of Sqinn 2: what the program `bobak-sqinn` is made
//! of. `docs/sqinn.md` describes it for those who use it.
//!
//! Reading order: options and log → serve, the requests → eager, input and parameters, what comes in
//! → output, what goes out → database, the statements.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod background;
mod database;
#[cfg(unix)]
mod eager;
mod input;
mod log;
mod options;
mod output;
mod parameters;
mod selftest;
mod serve;
mod tag;

pub use database::Database;
#[cfg(unix)]
pub use eager::Eager;
pub use input::Broken;
pub use log::{Level, Log};
pub use options::{Command, HELP, Run, parse};
pub use output::FRAME;
pub use selftest::selftest;
pub use serve::serve;
