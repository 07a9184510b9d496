//! `bobak token`: creates a token, and a line for a server's access file.

use super::user::{expiry, name, suffix};
use crate::error::{Error, Result};
use crate::output::Terminal;
use clap::Args;
use std::io::Write;

/// Create a token, and the line with its hash for the access file of `bobak serve`.
///
/// The line goes to standard output. The token goes to standard error; it is shown only this once and stored nowhere.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TokenCommand {
    /// Name of the token, for row rules and the audit log
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,

    /// Role in the access file, or `admin` for all permissions; may be repeated
    #[arg(short, long, value_name = "ROLE", value_parser = name)]
    role: Vec<String>,

    /// Expiry: a date, or a time such as 2027-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = expiry)]
    expires: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  bobak token till-1 --role clerk --expires 2027-01-31 >> access.txt
  bobak serve app.db --access-file access.txt";

impl TokenCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the system has no random bytes, or the output can't be written.
    pub fn run(&self, _: &Terminal) -> Result<()> {
        let (token, hash) = bobak_permissions::new_token()?;
        let suffix = suffix(&self.role, self.expires.as_deref());
        writeln!(std::io::stdout(), "token {} {hash}{suffix}", self.name)
            .map_err(|error| Error::output(&error))?;
        // Printed even with --quiet: the token can't be recovered later.
        writeln!(std::io::stderr(), "{token}").map_err(|error| Error::output(&error))
    }
}
