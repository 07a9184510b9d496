//! `bobak token`: a token, and a line for a server's access file.

use super::user::{expiry, name, rest};
use crate::error::{Error, Result};
use crate::output::Screen;
use clap::Args;
use std::io::Write;

/// Make a token, and a line for the access file of `bobak serve` with its hash.
///
/// The line goes to standard output, the token itself to standard error: it is shown this once, and kept nowhere.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Token {
    /// The token's name: who it is in rules, and in the log
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,

    /// A role of the access file, or `admin`, which may do everything; may be repeated
    #[arg(short, long, value_name = "ROLE", value_parser = name)]
    role: Vec<String>,

    /// When it ends: a date, or a time such as 2027-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = expiry)]
    expires: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  bobak token till-1 --role clerk --expires 2027-01-31 >> access.txt
  bobak serve app.db --access-file access.txt";

impl Token {
    /// Runs the command.
    ///
    /// # Errors
    /// Where the system has no random bytes, or nobody takes the output.
    pub fn run(&self, _: &Screen) -> Result<()> {
        let (token, hash) = bobak_permissions::new_token()?;
        let rest = rest(&self.role, self.expires.as_deref());
        writeln!(std::io::stdout(), "token {} {hash}{rest}", self.name)
            .map_err(|error| Error::output(&error))?;
        // Also where nothing else is to be said: it can't be had again.
        writeln!(std::io::stderr(), "{token}").map_err(|error| Error::output(&error))
    }
}
