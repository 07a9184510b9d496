//! The command line.

use crate::log::LogLevel;
use std::ffi::{OsStr, OsString};

/// What `help` prints.
pub const HELP: &str = "\
SQLite over stdin and stdout, in the protocol of Sqinn.

usage: bobak-sqinn COMMAND [OPTIONS]

  run       serve requests from standard input, with replies on standard output
  test      test this program, and print `test ok`
  version   print this program's version
  sqlite    print the version of SQLite
  help      print this help

options of `run` and `test`:

  -db NAME          the database: a file, created if missing, or `:memory:` (the default)
  -loglevel LEVEL   0: nothing (the default), 1: errors, 2: all requests
  -logfile FILE     append the log to this file
  -logstderr        write the log to standard error
";

/// A command of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Serve requests.
    Run(RunOptions),
    /// Test the program.
    Test(RunOptions),
    /// Print the program's version.
    Version,
    /// Print SQLite's version.
    Sqlite,
    /// Print the help.
    Help,
}

/// The options of `run` and `test`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// The database's name.
    pub db: OsString,
    /// How much is logged.
    pub level: LogLevel,
    /// The log file.
    pub logfile: Option<OsString>,
    /// Whether to log to standard error.
    pub logstderr: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { db: ":memory:".into(), level: LogLevel::Off, logfile: None, logstderr: false }
    }
}

/// Parses the command line, without the program's name.
///
/// # Errors
/// One line about the first invalid word.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let Some(command) = arguments.next() else {
        return Ok(Command::Help);
    };
    match command.to_str() {
        Some("run") => options(arguments).map(Command::Run),
        Some("test") => options(arguments).map(Command::Test),
        Some("version" | "-version" | "--version") => Ok(Command::Version),
        Some("sqlite") => Ok(Command::Sqlite),
        Some("help" | "-help" | "--help" | "-h") => Ok(Command::Help),
        _ => Err(format!("unknown command {}", command.display())),
    }
}

fn options(mut arguments: impl Iterator<Item = OsString>) -> Result<RunOptions, String> {
    let mut run = RunOptions::default();
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{} requires a value", option.display()));
        match option.to_str() {
            Some("-db") => run.db = value()?,
            Some("-loglevel") => run.level = level(&value()?)?,
            Some("-logfile") => run.logfile = Some(value()?).filter(|name| !name.is_empty()),
            Some("-logstderr") => run.logstderr = true,
            _ => return Err(format!("unknown option {}", option.display())),
        }
    }
    Ok(run)
}

fn level(word: &OsStr) -> Result<LogLevel, String> {
    match word.to_str() {
        Some("0") => Ok(LogLevel::Off),
        Some("1") => Ok(LogLevel::Info),
        Some("2") => Ok(LogLevel::Debug),
        _ => Err(format!("invalid log level {}: expected 0, 1 or 2", word.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn commands_and_options_are_parsed() {
        assert_eq!(words("run"), Ok(Command::Run(RunOptions::default())));
        let all = words("run -db a.db -loglevel 2 -logfile x.log -logstderr").unwrap();
        let logfile = Some("x.log".into());
        let run =
            RunOptions { db: "a.db".into(), level: LogLevel::Debug, logfile, logstderr: true };
        assert_eq!(all, Command::Run(run));
        assert_eq!(words("version"), Ok(Command::Version));
        assert_eq!(words("sqlite"), Ok(Command::Sqlite));
        assert_eq!(words(""), Ok(Command::Help));
    }

    #[test]
    fn errors_name_the_invalid_word() {
        for (line, part) in [
            ("start", "start"),
            ("run -dv a.db", "-dv"),
            ("run -db", "-db requires"),
            ("run -loglevel 3", "3"),
        ] {
            let error = words(line).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn help_lists_all_commands_and_options() {
        for word in
            ["run", "test", "version", "sqlite", "-db", "-loglevel", "-logfile", "-logstderr"]
        {
            assert!(HELP.contains(word), "{word}");
        }
    }
}
