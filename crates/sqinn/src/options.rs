//! The command line.

use crate::log::Level;
use std::ffi::{OsStr, OsString};

/// What `help` prints.
pub const HELP: &str = "\
SQLite over stdin and stdout, in Sqinn's protocol.

usage: bobak-sqinn COMMAND [OPTIONS]

  run       answer requests from standard input on standard output
  test      test this program, and say `test ok`
  version   print this program's version
  sqlite    print the version of SQLite
  help      print this

options of `run` and `test`:

  -db NAME          the database: a file, made if it is not there, or `:memory:`, the default
  -loglevel LEVEL   0 nothing (the default), 1 what went wrong, 2 every request too
  -logfile FILE     write the log to the end of this file
  -logstderr        write the log to standard error
";

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Answer requests.
    Run(Run),
    /// Test the program.
    Test(Run),
    /// Print the program's version.
    Version,
    /// Print SQLite's version.
    Sqlite,
    /// Explain.
    Help,
}

/// How to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The database's name.
    pub db: OsString,
    /// How much is logged.
    pub level: Level,
    /// To which file.
    pub logfile: Option<OsString>,
    /// Whether to standard error.
    pub logstderr: bool,
}

impl Default for Run {
    fn default() -> Self {
        Self { db: ":memory:".into(), level: Level::Off, logfile: None, logstderr: false }
    }
}

/// Reads the command line, without the program's name.
///
/// # Errors
/// One line about the first word that is wrong.
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
        _ => Err(format!("there is no command {}", command.display())),
    }
}

fn options(mut arguments: impl Iterator<Item = OsString>) -> Result<Run, String> {
    let mut run = Run::default();
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{} needs a value", option.display()));
        match option.to_str() {
            Some("-db") => run.db = value()?,
            Some("-loglevel") => run.level = level(&value()?)?,
            Some("-logfile") => run.logfile = Some(value()?).filter(|name| !name.is_empty()),
            Some("-logstderr") => run.logstderr = true,
            _ => return Err(format!("there is no option {}", option.display())),
        }
    }
    Ok(run)
}

fn level(word: &OsStr) -> Result<Level, String> {
    match word.to_str() {
        Some("0") => Ok(Level::Off),
        Some("1") => Ok(Level::Info),
        Some("2") => Ok(Level::Debug),
        _ => Err(format!("the log level is 0, 1 or 2, not {}", word.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn what_clients_say_is_understood() {
        assert_eq!(words("run"), Ok(Command::Run(Run::default())));
        let all = words("run -db a.db -loglevel 2 -logfile x.log -logstderr").unwrap();
        let logfile = Some("x.log".into());
        let run = Run { db: "a.db".into(), level: Level::Debug, logfile, logstderr: true };
        assert_eq!(all, Command::Run(run));
        assert_eq!(words("version"), Ok(Command::Version));
        assert_eq!(words("sqlite"), Ok(Command::Sqlite));
        assert_eq!(words(""), Ok(Command::Help));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, part) in [
            ("start", "start"),
            ("run -dv a.db", "-dv"),
            ("run -db", "-db needs"),
            ("run -loglevel 3", "3"),
        ] {
            let error = words(line).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn help_names_every_option() {
        for word in
            ["run", "test", "version", "sqlite", "-db", "-loglevel", "-logfile", "-logstderr"]
        {
            assert!(HELP.contains(word), "{word}");
        }
    }
}
