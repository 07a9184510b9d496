//! `bobak permissions`: lists, grants and revokes permissions in a server's access file.

use super::user::name;
use crate::error::{Error, Result};
use crate::output::Terminal;
use bobak_permissions::AccessFile;
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::PathBuf;

/// List, grant and revoke the permissions of roles in the access file of `bobak serve`.
///
/// A running server reloads the file within a second. Edits that would make the file invalid are rejected. Comments and
/// other lines stay unchanged.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PermissionsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List roles with their permissions and members
    List {
        /// Access file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Grant a permission to a role; creates the role and the file if they do not exist
    Grant {
        /// Access file
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// Role
        #[arg(value_name = "ROLE", value_parser = name)]
        role: String,

        /// Permissions (read, insert, update, delete, write, sql, schema, all), `on` and tables, optionally `where` and a
        /// row rule
        #[arg(value_name = "GRANT", required = true)]
        grant: Vec<String>,
    },
    /// Revoke a grant from a role; without a grant, remove the role
    Revoke {
        /// Access file
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// Role
        #[arg(value_name = "ROLE", value_parser = name)]
        role: String,

        /// Grant, exactly as `list` shows it
        #[arg(value_name = "GRANT")]
        grant: Vec<String>,
    },
}

const EXAMPLES: &str = "\
Examples:
  bobak permissions list access.txt
  bobak permissions grant access.txt clerk \"read, insert on orders where clerk = :user\"
  bobak permissions revoke access.txt clerk read on products
  bobak permissions revoke access.txt clerk

`bobak user` and `bobak token` create the lines that assign roles.";

impl PermissionsCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the file can't be read or written, the grant is malformed, or the role or grant does not exist.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        match &self.action {
            Action::List { file } => list(&AccessFile::read(file)?),
            Action::Grant { file, role, grant } => {
                let grant = grant.join(" ");
                if !AccessFile::edit(file, true, |text| text.grant(role, &grant))? {
                    screen.note(format_args!("role {role} already has this grant"));
                }
                Ok(())
            }
            Action::Revoke { file, role, grant } => {
                let grant = grant.join(" ");
                let grant = (!grant.is_empty()).then_some(&*grant);
                AccessFile::edit(file, false, |text| text.revoke(role, grant).map(|()| true))?;
                Ok(())
            }
        }
    }
}

fn list(text: &AccessFile) -> Result<()> {
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
            shown += "    no permissions\n";
        }
        let members: Vec<_> = policy.accounts_with(role).collect();
        let members = if members.is_empty() { "none".to_owned() } else { members.join(", ") };
        shown += &format!("  members: {members}\n");
        output.write_all(shown.as_bytes()).map_err(|error| Error::output(&error))?;
    }
    Ok(())
}
