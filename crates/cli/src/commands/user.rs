//! `bobak user`: a line for a server's access file.

use crate::error::{Error, Result};
use crate::output::Screen;
use crate::password::new_password;
use clap::Args;
use std::io::Write;

/// Make a line for the access file of `bobak serve`: a user, with the hash of a password.
///
/// At a terminal the password is asked for twice, and not shown; else it is the first line of standard input. It can't be
/// found out from the line that is made. Without a role the user may come in, and do nothing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct User {
    /// The user's name
    #[arg(value_name = "NAME", value_parser = user_name)]
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
  bobak user ada --role admin >> access.txt
  bobak user ada --role admin < password.txt >> access.txt
  bobak serve app.db --access-file access.txt";

/// A word that stands for itself in the file.
pub(super) fn name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '+' | ':');
    let is_plain = !text.is_empty() && text.chars().all(plain);
    if is_plain {
        Ok(text.to_owned())
    } else {
        Err("expected letters, digits, _ - . : @ +".to_owned())
    }
}

/// A user's name: over HTTP a colon parts it from the password.
fn user_name(text: &str) -> Result<String, String> {
    match name(text) {
        Ok(name) if !name.contains(':') => Ok(name),
        _ => Err("expected letters, digits, _ - . @ +".to_owned()),
    }
}

/// A date or a time that the file may have.
pub(super) fn expiry(text: &str) -> Result<String, String> {
    let checked = bobak_permissions::check_expiry(text);
    checked.map_err(|error| error.message().to_owned())?;
    // With a blank it is one word in quotes only.
    Ok(text.replacen(' ', "T", 1))
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
    /// An empty password, two that differ, input that can't be read.
    pub fn run(&self, _: &Screen) -> Result<()> {
        let hash = bobak_permissions::hash_password(&new_password(&self.name)?)?;
        let rest = rest(&self.role, self.expires.as_deref());
        writeln!(std::io::stdout(), "user {} {hash}{rest}", self.name)
            .map_err(|error| Error::output(&error))
    }
}
