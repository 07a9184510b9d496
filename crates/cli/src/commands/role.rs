//! `bobak role`: the roles of a server's access file.

use super::user::name;
use crate::error::{Error, Result};
use crate::output::Screen;
use bobak_permissions::AccessText;
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::PathBuf;

/// Show the roles of the access file of `bobak serve`, and give or take what they may do.
///
/// A server that runs reads the file again within a second. What would make the file wrong is refused, and nothing is
/// changed; comments and all other lines stay as they are.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Role {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show the roles: what each may do, and who has it
    List {
        /// The access file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Give a role a grant; a role, or a file, that is not there is made
    Grant {
        /// The access file
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// The role
        #[arg(value_name = "ROLE", value_parser = name)]
        role: String,

        /// What it may do: read, insert, update, delete, write, sql, schema, all; `on` tables; perhaps `where` a rule
        #[arg(value_name = "GRANT", required = true)]
        grant: Vec<String>,
    },
    /// Take a grant from a role, or, where none is named, the whole role away
    Revoke {
        /// The access file
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// The role
        #[arg(value_name = "ROLE", value_parser = name)]
        role: String,

        /// The grant, word for word as the list shows it
        #[arg(value_name = "GRANT")]
        grant: Vec<String>,
    },
}

const EXAMPLES: &str = "\
Examples:
  bobak role list access.txt
  bobak role grant access.txt clerk \"read, insert on orders where clerk = :user\"
  bobak role revoke access.txt clerk read on products
  bobak role revoke access.txt clerk

Who has a role is in the lines that `bobak user` and `bobak token` make.";

impl Role {
    /// Runs the command.
    ///
    /// # Errors
    /// A file that can't be read or written, what is no grant, a role or a grant that is not there.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        match &self.what {
            What::List { file } => list(&AccessText::read(file)?),
            What::Grant { file, role, grant } => {
                let grant = grant.join(" ");
                if !AccessText::edit(file, true, |text| text.grant(role, &grant))? {
                    screen.note(format_args!("The role {role} has that grant already."));
                }
                Ok(())
            }
            What::Revoke { file, role, grant } => {
                let grant = grant.join(" ");
                let grant = (!grant.is_empty()).then_some(&*grant);
                AccessText::edit(file, false, |text| text.revoke(role, grant).map(|()| true))?;
                Ok(())
            }
        }
    }
}

fn list(text: &AccessText) -> Result<()> {
    let mut output = std::io::stdout().lock();
    let policy = text.policy();
    for role in policy.roles().chain(["admin"]) {
        let mut shown = format!("{role}\n");
        let grants = text.grants(role);
        for grant in &grants {
            shown += &format!("    {grant}\n");
        }
        if role == "admin" {
            shown += "    all on * (built in)\n";
        } else if grants.is_empty() {
            shown += "    nothing\n";
        }
        let holders: Vec<_> = policy.holders(role).collect();
        let holders = if holders.is_empty() { "nobody".to_owned() } else { holders.join(", ") };
        shown += &format!("  had by {holders}\n");
        output.write_all(shown.as_bytes()).map_err(|error| Error::output(&error))?;
    }
    Ok(())
}
