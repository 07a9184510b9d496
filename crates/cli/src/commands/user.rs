//! `bobak user`: a line for a server's access file.

use crate::error::{Error, Result};
use crate::output::Screen;
use clap::Args;
use std::io::{BufRead, Write};

/// Make a line for the access file of `bobak serve`: a user, with the hash of a password.
///
/// The password is the first line of standard input. It can't be found out from the line. Without a role the user may
/// come in, and do nothing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct User {
    /// The user's name
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,

    /// A role of the access file, or `admin`, which may do everything; may be repeated
    #[arg(short, long, value_name = "ROLE", value_parser = name)]
    role: Vec<String>,

    /// When it ends: a date, or a time such as 2027-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = name)]
    expires: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  bobak user ada --role admin < password.txt >> access.txt
  bobak serve app.db --access-file access.txt";

/// A word that stands for itself in the file.
pub(super) fn name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '+' | ':');
    let is_plain = !text.is_empty() && text.chars().all(plain);
    if is_plain {
        Ok(text.to_owned())
    } else {
        Err("expected letters, digits, _ - . @ +".to_owned())
    }
}

/// What stands behind the hash.
pub(super) fn rest(roles: &[String], expires: Option<&str>) -> String {
    let roles =
        if roles.is_empty() { String::new() } else { format!(" roles {}", roles.join(", ")) };
    let expires = expires.map(|time| format!(" expires {time}")).unwrap_or_default();
    roles + &expires
}

impl User {
    /// Runs the command.
    ///
    /// # Errors
    /// An empty password, input that can't be read.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        screen.note(format_args!("The password of {}:", self.name));
        let mut password = String::new();
        std::io::stdin()
            .lock()
            .read_line(&mut password)
            .map_err(|error| Error::io("read the password", &error))?;
        let hash = bobak_server::hash_password(password.trim_end_matches(['\n', '\r']))?;
        let rest = rest(&self.role, self.expires.as_deref());
        writeln!(std::io::stdout(), "user {} {hash}{rest}", self.name)
            .map_err(|error| Error::output(&error))
    }
}
