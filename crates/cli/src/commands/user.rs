//! `bobak user`: creates a user line for a server's access file.

use crate::error::{Error, Result};
use crate::output::Terminal;
use crate::password::new_password;
use clap::Args;
use std::io::Write;

/// Create a user line, with a password hash, for the access file of `bobak serve`.
///
/// Prompts twice for the password at a terminal; otherwise reads the first line of standard input. The password can't be
/// recovered from the line. A user without a role can connect but has no permissions.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct UserCommand {
    /// User name
    #[arg(value_name = "NAME", value_parser = user_name)]
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
  bobak user ada --role admin >> access.txt
  bobak user ada --role admin < password.txt >> access.txt
  bobak serve app.db --access-file access.txt";

/// Parses a name that needs no quotes in the access file.
pub(super) fn name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '+' | ':');
    let is_plain = !text.is_empty() && text.chars().all(plain);
    if is_plain {
        Ok(text.to_owned())
    } else {
        Err("expected letters, digits, _ - . : @ +".to_owned())
    }
}

/// Parses a user name. It may not contain a colon, which separates it from the password in HTTP.
fn user_name(text: &str) -> Result<String, String> {
    match name(text) {
        Ok(name) if !name.contains(':') => Ok(name),
        _ => Err("expected letters, digits, _ - . @ +".to_owned()),
    }
}

/// Parses an expiry date or time.
pub(super) fn expiry(text: &str) -> Result<String, String> {
    let checked = bobak_permissions::check_expiry(text);
    checked.map_err(|error| error.message().to_owned())?;
    // With a space it would need quotes in the file.
    Ok(text.replacen(' ', "T", 1))
}

/// The roles and the expiry at the end of the line.
pub(super) fn suffix(roles: &[String], expires: Option<&str>) -> String {
    let roles =
        if roles.is_empty() { String::new() } else { format!(" roles {}", roles.join(", ")) };
    let expires = expires.map(|time| format!(" expires {time}")).unwrap_or_default();
    roles + &expires
}

impl UserCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the password is empty, the entries differ, or the input can't be read.
    pub fn run(&self, _: &Terminal) -> Result<()> {
        let hash = bobak_permissions::hash_password(&new_password(&self.name)?)?;
        let suffix = suffix(&self.role, self.expires.as_deref());
        writeln!(std::io::stdout(), "user {} {hash}{suffix}", self.name)
            .map_err(|error| Error::output(&error))
    }
}
