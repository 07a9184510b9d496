//! SQLite over stdin and stdout, in the protocol of Sqinn 2: the parts of the program `bobak-sqinn`.
//! `docs/sqinn.md` is the user documentation.
//!
//! Reading order: `options` and `log` configure; `serve` handles requests; `spinning_pipe`, `input` and
//! `parameters` read them; `output` and `background_writer` write replies; `database` runs statements.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod background_writer;
mod database;
mod input;
mod log;
mod options;
mod output;
mod parameters;
mod selftest;
mod serve;
#[cfg(unix)]
mod spinning_pipe;
mod tag;

pub use database::Database;
pub use input::ProtocolError;
pub use log::{Log, LogLevel};
pub use options::{Command, HELP, RunOptions, parse};
pub use output::FRAME_LENGTH;
pub use selftest::selftest;
pub use serve::serve;
#[cfg(unix)]
pub use spinning_pipe::SpinningPipe;
