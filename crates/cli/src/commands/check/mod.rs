//! `bobak check`: whether the SQL in files fits the tables of a database, without running it.

mod rust_source;

use super::arguments::database_url;
use super::sql_files;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{Terminal, count};
use crate::result_columns::result_columns;
use bobak::{Db, ErrorKind, Parameter, SqlArguments, Value};
use bobak_sql::returns_rows;
use clap::Args;
use rust_source::{GivenParameters, RowType, RustSource, SqlCall};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Check the SQL in files against the tables of a database, without running it.
///
/// Reads statements of `.sql` files, and the texts in calls of `sql`, `sql_for_each`, `execute` and `explain` in `.rs` files. A
/// statement must be one that the database understands, with its tables and columns. A call must have as many parameters as
/// its text, and the result the columns of the tuple or struct that it is read into. Texts that a program makes while it runs
/// are not seen.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckCommand {
    /// Database with the tables: an SQLite file, such as app.db, or a URL
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// Files to check, and folders of such files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  bobak check app.db src
  bobak check postgres://localhost/app reports.sql src/reports.rs";

/// What was checked, and what is wrong.
#[derive(Default)]
struct Findings {
    checked: u64,
    /// Texts that are made while the program runs, and statements that can't be checked without running them.
    unseen: u64,
    problems: Vec<String>,
}

impl CheckCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If a statement does not fit; if a file or the database can't be read.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let db = database::open_to_read(&self.database)?;
        let mut files = Vec::new();
        for file in &self.files {
            add_files(file, &mut files)?;
        }
        // Without plans no statement can be checked.
        db.explain("SELECT 1", ())?;
        let (mut findings, mut sources) = (Findings::default(), Vec::new());
        for file in &files {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Error::io(format_args!("read {}", file.display()), &error))?;
            if file.extension().is_some_and(|extension| extension == "rs") {
                let source = RustSource::parse(&text)
                    .map_err(|error| Error::failed(format!("{}: {error}", file.display())))?;
                sources.push((file, source));
                continue;
            }
            for statement in sql_files::statements(&text) {
                findings.check_text(&db, (file, statement.line), &statement.text)?;
            }
        }
        findings.check_sources(&db, &sources)?;
        findings.report(screen)
    }
}

/// Adds a file, or the `.sql` and `.rs` files of a folder and the folders in it.
fn add_files(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |error| Error::io(format_args!("read {}", path.display()), &error);
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(failed)?;
    let mut entries: Vec<PathBuf> =
        entries.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>().map_err(failed)?;
    entries.sort();
    for entry in entries {
        let is_source = entry.extension().is_some_and(|e| e == "rs" || e == "sql");
        let is_hidden = entry.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
        let is_target = entry.file_name().is_some_and(|name| name == "target");
        if is_source || (entry.is_dir() && !is_hidden && !is_target) {
            add_files(&entry, files)?;
        }
    }
    Ok(())
}

/// Whether a statement changes tables, settings or transactions.
fn is_about_no_rows(text: &str) -> bool {
    const WORDS: [&str; 22] = [
        "alter",
        "analyze",
        "attach",
        "begin",
        "comment",
        "commit",
        "create",
        "detach",
        "drop",
        "end",
        "explain",
        "grant",
        "pragma",
        "reindex",
        "release",
        "revoke",
        "rollback",
        "savepoint",
        "set",
        "start",
        "truncate",
        "vacuum",
    ];
    begins_with(text, &WORDS)
}

/// Whether a statement reads or writes rows.
fn is_about_rows(text: &str) -> bool {
    begins_with(text, &["select", "with", "values", "insert", "replace", "update", "delete"])
}

fn begins_with(text: &str, words: &[&str]) -> bool {
    let tokens = sql_files::tokens(text);
    tokens.first().is_some_and(|first| words.iter().any(|word| first.is_word(word)))
}

/// NULL for each parameter of a text.
fn nulls(text: &str) -> SqlArguments<'static> {
    match SqlArguments::names(text) {
        Ok(names) if !names.is_empty() => {
            let null = |name: &str| (name.to_owned().into(), Parameter::from(Value::Null).into());
            SqlArguments::Named(names.into_iter().map(null).collect())
        }
        _ => {
            let nulls = vec![Parameter::from(Value::Null); sql_files::parameters(text)];
            SqlArguments::of(nulls)
        }
    }
}

/// A number of things.
fn of(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

/// "1 column is read", "2 columns are read".
fn are(number: usize, thing: &str, what: &str) -> String {
    let verb = if number == 1 { "is" } else { "are" };
    format!("{} {verb} {what}", of(number as u64, thing))
}

impl Findings {
    fn add(&mut self, (file, line): (&Path, usize), problem: impl std::fmt::Display) {
        self.problems.push(format!("{}:{line}: {problem}", file.display()));
    }

    /// Whether the database understands a statement.
    fn check_text(&mut self, db: &Db, at: (&Path, usize), text: &str) -> Result<bool> {
        match db.explain(text, nulls(text)) {
            Ok(_) => {
                self.checked += 1;
                return Ok(true);
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::Misuse | ErrorKind::Unsupported)
                    && is_about_no_rows(text) =>
            {
                self.unseen += 1;
            }
            Err(error) if error.kind() == ErrorKind::Misuse && !is_about_rows(text) => {
                self.checked += 1;
                let word = text.split_whitespace().next().unwrap_or_default();
                self.add(at, format_args!("no SQL statement begins with {word}"));
            }
            Err(error) => match error.kind() {
                ErrorKind::Unreachable | ErrorKind::Io | ErrorKind::Timeout => {
                    return Err(error.into());
                }
                _ => {
                    self.checked += 1;
                    self.add(at, error);
                }
            },
        }
        Ok(false)
    }

    fn check_sources(&mut self, db: &Db, sources: &[(&PathBuf, RustSource)]) -> Result<()> {
        let mut structs: HashMap<&str, Option<&[String]>> = HashMap::new();
        for (name, columns) in sources.iter().flat_map(|(_, source)| &source.structs) {
            // Two structs of one name are not told apart.
            let is_new = structs.insert(name, Some(columns)).is_none();
            if !is_new {
                structs.insert(name, None);
            }
        }
        for (file, source) in sources {
            self.unseen += source.unseen.len() as u64;
            for call in &source.calls {
                let at = (file.as_path(), call.line);
                self.check_parameters(at, call);
                if self.check_text(db, at, &call.text)? && returns_rows(&call.text) {
                    self.check_columns(db, at, call, &structs);
                }
            }
        }
        Ok(())
    }

    /// Whether a call has the parameters of its text.
    fn check_parameters(&mut self, at: (&Path, usize), call: &SqlCall) {
        match &call.parameters {
            GivenParameters::Unknown => {}
            GivenParameters::Tuple(given) => {
                let wanted = sql_files::parameters(&call.text);
                if *given != wanted {
                    let are = are(*given, "parameter", "given");
                    self.add(at, format_args!("{are}, and the text has {wanted}"));
                }
            }
            GivenParameters::Names(given) => {
                let Ok(wanted) = SqlArguments::names(&call.text) else { return };
                for name in wanted.iter().filter(|name| !given.iter().any(|other| other == *name)) {
                    self.add(at, format_args!("the parameter :{name} of the text has no value"));
                }
                for name in given.iter().filter(|name| !wanted.contains(&name.as_str())) {
                    self.add(at, format_args!("the text has no parameter :{name}"));
                }
            }
        }
    }

    /// Whether the result has the columns that a call reads.
    fn check_columns(
        &mut self,
        db: &Db,
        at: (&Path, usize),
        call: &SqlCall,
        structs: &HashMap<&str, Option<&[String]>>,
    ) {
        let Some(columns) = result_columns(db, &call.text) else { return };
        match &call.rows {
            RowType::Tuple(wanted) if *wanted != columns.len() => {
                let found = columns.len();
                let read = are(*wanted, "column", "read");
                self.add(at, format_args!("{read}, and the result has {found}"));
            }
            RowType::Struct(name) => {
                let fields = structs.get(name.as_str()).copied().flatten().unwrap_or_default();
                for field in fields {
                    if !columns.iter().any(|column| column.name.eq_ignore_ascii_case(field)) {
                        self.add(
                            at,
                            format_args!(
                                "{name} reads the column {field}, which the result does not have"
                            ),
                        );
                    }
                }
            }
            _ => {}
        }
    }

    fn report(&self, screen: &Terminal) -> Result<()> {
        let unseen = match self.unseen {
            0 => String::new(),
            number => format!("; {} could not be checked", count(number)),
        };
        if self.problems.is_empty() {
            screen.note(format_args!("checked {}{unseen}", of(self.checked, "statement")));
            return Ok(());
        }
        // Each begins with its place, which editors find.
        let lines: String = self.problems.iter().map(|problem| format!("{problem}\n")).collect();
        std::io::stdout().write_all(lines.as_bytes()).map_err(|error| Error::output(&error))?;
        let problems = of(self.problems.len() as u64, "problem");
        Err(Error::failed(format!("{problems} in {}{unseen}", of(self.checked, "statement"))))
    }
}
