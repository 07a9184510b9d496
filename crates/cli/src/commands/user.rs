//! `bobak user`: a line for the users' file of a server.

use crate::error::{Error, Result};
use crate::output::Screen;
use clap::Args;
use std::io::{BufRead, Write};

/// Make a line for the users' file of `bobak serve`, with the hash of a password.
///
/// The password is the first line of standard input. It can't be found out from the line.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct User {
    /// The user's name
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
}

const EXAMPLES: &str = "\
Examples:
  bobak user ada < password.txt >> users.txt
  bobak serve app.db --users-file users.txt";

fn name(text: &str) -> Result<String, String> {
    let plain = !text.is_empty() && !text.contains([':', '\n']) && !text.starts_with('#');
    if plain { Ok(text.to_owned()) } else { Err("expected a name without `:`".to_owned()) }
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
        writeln!(std::io::stdout(), "{}:{hash}", self.name).map_err(|error| Error::output(&error))
    }
}
