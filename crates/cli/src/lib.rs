//! The program `bobak`: import, export, query, copy, back up, replicate, serve and benchmark databases.
//!
//! [`main`] parses the arguments and runs one command. A command is one file in `commands`: its
//! flags, documented where they are defined, and its work. `import` turns text into values,
//! `export` turns values into text, and `output` writes notes and progress to the terminal.
//!
//! Exit codes: 0 success, 1 failure, 2 wrong usage. Errors go to standard error in one sentence;
//! standard output holds only results. There is no colour.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod commands;
mod database;

mod error;
pub mod export;
pub mod import;
mod key_flags;
mod output;
mod password;
mod result_columns;
pub mod schema;
#[cfg(feature = "xlsx")]
mod workbook;

pub use error::{Error, Result};

use clap::{Parser, Subcommand};
use key_flags::WithKey;
use std::ffi::OsString;
use std::process::ExitCode;

/// Import, query, export, copy, migrate, back up, replicate and serve databases.
///
/// DATABASE is the name of an SQLite file, such as flights.db, or a URL, such as postgres://me@localhost/flights.
/// Settings follow a question mark: flights.db?synchronous=off.
#[derive(Debug, Parser)]
#[command(name = "bobak", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    /// Print results and errors only: no progress, no counts
    #[arg(short, long, global = true)]
    quiet: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Import(WithKey<commands::ImportCommand>),
    Query(WithKey<commands::QueryCommand>),
    Check(WithKey<commands::CheckCommand>),
    Schema(WithKey<commands::SchemaCommand>),
    Export(WithKey<commands::ExportCommand>),
    Copy(WithKey<commands::CopyCommand>),
    Migrate(WithKey<commands::MigrateCommand>),
    Sample(WithKey<commands::SampleCommand>),
    Backup(WithKey<commands::BackupCommand>),
    Restore(WithKey<commands::RestoreCommand>),
    #[cfg(feature = "encryption")]
    Rekey(WithKey<commands::RekeyCommand>),
    Archive(WithKey<commands::ArchiveCommand>),
    Replicate(WithKey<commands::ReplicateCommand>),
    #[cfg(unix)]
    Serve(Box<WithKey<commands::ServeCommand>>),
    #[cfg(unix)]
    Studio(Box<WithKey<commands::StudioCommand>>),
    #[cfg(unix)]
    Mcp(WithKey<commands::McpCommand>),
    #[cfg(unix)]
    Top(commands::TopCommand),
    #[cfg(unix)]
    Advise(WithKey<commands::AdviseCommand>),
    #[cfg(unix)]
    User(commands::UserCommand),
    #[cfg(unix)]
    Token(commands::TokenCommand),
    #[cfg(unix)]
    Permissions(commands::PermissionsCommand),
    Settings(commands::SettingsCommand),
    Bench(commands::BenchCommand),
    #[command(hide = true)]
    CrashWriter(commands::CrashWriterCommand),
}

const EXAMPLES: &str = "\
Examples:
  bobak import flights.db flights.csv.zip
  bobak query flights.db \"SELECT carrier, count(*) FROM flights GROUP BY carrier\"
  bobak schema flights.db --rust
  bobak export flights.db --table flights --output flights.ndjson
  bobak copy flights.db postgres://me@localhost/flights --checksum
  bobak migrate up app.db
  bobak sample app.db --rows orders=1000000
  bobak backup flights.db flights-backup.db.zst
  bobak replicate app.db replica.db --track
  bobak studio app.db
  bobak mcp app.db
  bobak serve app.db --unix /run/app.socket
  bobak bench --rows 100000 --engines \"sqlite memory\"

Exit codes: 0 success, 1 failure, 2 wrong usage.";

/// Runs the program with these arguments, the first being its own name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help goes to standard output with code 0, a mistake to standard error with code 2.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            return match error.print() {
                Ok(()) => ExitCode::from(code),
                Err(error) => ExitCode::from(Error::output(&error).exit_code()),
            };
        }
    };
    let screen = output::Terminal::new(cli.quiet);
    let done = match cli.command {
        Command::Import(command) => command.set_key().run(&screen),
        Command::Query(command) => command.set_key().run(&screen),
        Command::Check(command) => command.set_key().run(&screen),
        Command::Schema(command) => command.set_key().run(&screen),
        Command::Export(command) => command.set_key().run(&screen),
        Command::Copy(command) => command.set_key().run(&screen),
        Command::Migrate(command) => command.set_key().run(&screen),
        Command::Sample(command) => command.set_key().run(&screen),
        Command::Backup(command) => command.set_key().run(&screen),
        Command::Restore(command) => command.set_key().run(&screen),
        #[cfg(feature = "encryption")]
        Command::Rekey(command) => command.set_key().run(&screen),
        Command::Archive(command) => command.set_key().run(&screen),
        Command::Replicate(command) => command.set_key().run(&screen),
        #[cfg(unix)]
        Command::Serve(command) => command.set_key().run(&screen),
        #[cfg(unix)]
        Command::Studio(command) => command.set_key().run(&screen),
        #[cfg(unix)]
        Command::Mcp(command) => command.set_key().run(&screen),
        #[cfg(unix)]
        Command::Top(command) => command.run(&screen),
        #[cfg(unix)]
        Command::Advise(command) => command.set_key().run(&screen),
        #[cfg(unix)]
        Command::User(command) => command.run(&screen),
        #[cfg(unix)]
        Command::Token(command) => command.run(&screen),
        #[cfg(unix)]
        Command::Permissions(command) => command.run(&screen),
        Command::Settings(command) => command.run(),
        Command::Bench(command) => command.run(&screen),
        Command::CrashWriter(command) => command.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error, Error::OutputClosed) {
                eprintln!("bobak: {error}");
            }
            ExitCode::from(error.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_and_flag_is_documented() {
        let command = Cli::command();
        command.clone().debug_assert();
        for command in command.get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            assert!(command.get_after_help().is_some(), "{} has examples", command.get_name());
            for argument in command.get_arguments() {
                let name = argument.get_id();
                assert!(argument.get_help().is_some(), "{} {name}", command.get_name());
            }
        }
    }

    #[test]
    fn the_reference_has_every_command() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/reference/cli.md");
        let page = std::fs::read_to_string(page).expect("reads the page");
        let commands = Cli::command();
        let commands = commands.get_subcommands().filter(|command| !command.is_hide_set());
        let is_missing = |name: &&str| {
            !page.contains(&format!("`bobak {name} ")) && !page.contains(&format!("`bobak {name}`"))
        };
        let missing: Vec<_> = commands.map(clap::Command::get_name).filter(is_missing).collect();
        assert_eq!(missing, [""; 0], "commands that book/src/reference/cli.md lacks");
    }

    #[test]
    fn commands_without_a_database_have_no_flags_for_its_key() {
        let mut root = Cli::command();
        root.build();
        let without: Vec<&str> = root
            .get_subcommands()
            .filter(|command| command.get_arguments().all(|flag| flag.get_id() != "key_file"))
            .map(clap::Command::get_name)
            .collect();
        let mut expected = vec!["settings", "bench", "crash-writer", "help"];
        if cfg!(unix) {
            expected.splice(0..0, ["top", "user", "token", "permissions"]);
        }
        assert_eq!(without, expected);
        let import = root.find_subcommand("import").and_then(clap::Command::get_about);
        assert!(import.is_some_and(|about| about.to_string().starts_with("Import")), "{import:?}");
    }
}
