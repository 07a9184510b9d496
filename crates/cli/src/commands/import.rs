//! `bobak import`: a CSV file becomes a table.

use crate::commands::parse::{column_type, database_url, delimiter};
use crate::database;
use crate::error::{Error, Result};
use crate::import::guess::{ColumnGuess, Nulls};
use crate::import::{Layout, Load, Plan, Rejects, Source, Survey};
use crate::output::{Output, Progress, Screen, count, rate};
use crate::schema::describe;
use bobak::Db;
use bobak::schema::Type;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Store a CSV file as a table.
///
/// The file is read twice: first to guess the type of each column from all its values and to find
/// bad lines, then to store the rows, all in one transaction.
///
/// A column gets the first of these types that holds all its values and gives them back: i64, f64,
/// bool (true, false), date (2013-01-31), datetime (2013-01-31T23:59:59), timestamp (the same with a
/// Z behind), and text otherwise. Numbers come back by their value, texts byte for byte: so 007, +5,
/// -0, 1e400, or a number of more than 17 digits, make their column text.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Import {
    /// The CSV file: plain, gzip or zip, told apart by their content; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The table to make, or with --append to add to
    #[arg(short, long, value_name = "NAME")]
    table: String,

    /// The database, a URL or an SQLite file, such as flights.db
    #[arg(long, value_name = "URL", value_parser = database_url)]
    to: String,

    /// The table's key: one column, or several separated by commas. Without it a column `id` is
    /// added, numbered by the database
    #[arg(short, long, value_name = "COLUMNS", value_delimiter = ',')]
    key: Vec<String>,

    /// Add the rows to a table that is there, matching columns by their names
    #[arg(short, long, conflicts_with = "key")]
    append: bool,

    /// The type of a column, which is then not guessed: bool, i8 to i64, u8 to u64, f32, f64, text,
    /// date, time, datetime, timestamp, currency, uuid, json, bytes (in base64). May be repeated
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = column_type)]
    types: Vec<(String, Type)>,

    /// A text that means NULL; may be repeated [default: the empty text, and NA]
    #[arg(long, value_name = "TEXT")]
    null: Vec<String>,

    /// The character between two fields [default: the one of , ; tab | that the header has most of]
    #[arg(short, long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,

    /// The names of the columns, for a file that has no header
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Option<Vec<String>>,

    /// The file to read in a zip archive that holds several
    #[arg(long, value_name = "NAME")]
    member: Option<String>,

    /// Write bad lines to this file and go on. Without it the first bad line stops the import, and
    /// nothing of it is kept
    #[arg(long, value_name = "FILE")]
    set_aside: Option<PathBuf>,

    /// Show the table that would be made, and change nothing
    #[arg(long)]
    dry_run: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak import airlines.csv --table airlines --key carrier --to sqlite:flights.db
  bobak import weather.csv --table weather --key origin,time_hour --to sqlite:flights.db
  bobak import flights.csv.zip --table flights --to sqlite:flights.db --set-aside bad.csv
  bobak import codes.csv --table codes --type zip=text --null '' --to sqlite:app.db
  curl -s https://example.org/prices.csv.gz | bobak import - --table prices --to sqlite:app.db";

impl Import {
    /// Runs the command.
    ///
    /// # Errors
    /// Input that can't be read, a bad line, a database that refuses.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        let begun = Instant::now();
        let source = Source::open(&self.file, self.member.as_deref())?;
        let layout = Layout::look(&source, self.delimiter, self.columns.as_deref())?;
        // A new file is not made before the whole input is known to be good.
        let db =
            if database::is_missing(&self.to) { None } else { Some(database::open(&self.to)?) };
        let found = self.existing(db.as_ref(), &layout)?;
        let nulls = self.nulls();
        let progress = Progress::new(*screen, source.len() * 2);
        let known = match &found {
            Some(plan) => plan.columns(),
            None => self.known_columns(&layout)?,
        };
        let stop = self.set_aside.is_none();
        let survey = Survey::make(&source, &layout, known, &nulls, stop, |lines| {
            progress.set_rows(source.position(), "read", lines);
        })?;
        let made = found.is_none();
        let plan = match found {
            Some(plan) => plan,
            None => Plan::new_table(&self.table, &layout, &survey.columns, &self.key)?,
        };
        if self.dry_run {
            return show(&plan, &survey, screen);
        }
        let db = db.map_or_else(|| database::open(&self.to), Ok)?;
        let mut rejects =
            self.set_aside.as_deref().map(|path| Rejects::new(path, &layout, *screen));
        let (source, plan) = (&source, &plan);
        let load = Load { source, layout: &layout, nulls: &nulls, plan, makes_table: made };
        let rows = load.run(&db, rejects.as_mut(), |rows| {
            progress.set_rows(source.len() + source.position(), "stored", rows);
        })?;
        db.flush()?;
        rejects.as_mut().map_or(Ok(()), Rejects::finish)?;
        drop(progress);
        screen.note(format_args!("{}: {}", plan.schema().name(), rate(rows, begun.elapsed())));
        if let Some(rejects) = rejects.filter(|rejects| rejects.count() > 0) {
            let (bad, file) = (count(rejects.count()), rejects.path().display());
            screen.note(format_args!("bad lines set aside in {file}: {bad}"));
        }
        Ok(())
    }

    /// The way into the table that is there, if there is one and it is to be added to.
    fn existing(&self, db: Option<&Db>, layout: &Layout) -> Result<Option<Plan>> {
        let tables = db.map_or_else(|| Ok(Vec::new()), Db::tables)?;
        let found = tables.into_iter().find(|table| table.name().eq_ignore_ascii_case(&self.table));
        match (found, self.append) {
            (None, false) => Ok(None),
            (Some(table), true) if self.types.is_empty() => Plan::existing(table, layout).map(Some),
            (Some(_), true) => {
                Err(Error::usage("--type is for a new table: this one has its types"))
            }
            (Some(table), false) => Err(Error::failed(format!(
                "table {} is there already: add to it with --append, or choose another name",
                table.name()
            ))),
            (None, true) => Err(Error::failed(format!(
                "there is no table {} to add to: leave out --append",
                self.table
            ))),
        }
    }

    fn nulls(&self) -> Nulls {
        if self.null.is_empty() {
            Nulls::new(["", "NA"])
        } else {
            Nulls::new(self.null.iter().map(String::as_str))
        }
    }

    /// What the flags say of the columns, in the order of the file.
    fn known_columns(&self, layout: &Layout) -> Result<Vec<ColumnGuess>> {
        let columns = &layout.columns;
        if let Some((name, _)) = self.types.iter().find(|(name, _)| !columns.contains(name)) {
            return Err(Error::usage(format!(
                "--type names the column {name:?}, and the file has {}",
                columns.join(", ")
            )));
        }
        let known = |column: &String| {
            let given = self.types.iter().rev().find(|(name, _)| name == column);
            let in_key = self.key.iter().any(|name| name.eq_ignore_ascii_case(column));
            ColumnGuess::new(given.map(|(_, ty)| *ty), in_key)
        };
        Ok(columns.iter().map(known).collect())
    }
}

fn show(plan: &Plan, survey: &Survey, screen: &Screen) -> Result<()> {
    let mut output = Output::open(None)?;
    let text = describe(plan.schema());
    output.write_all(text.as_bytes()).map_err(|error| Error::output(&error))?;
    output.finish()?;
    screen.note(format_args!("{} good lines, {} bad ones", count(survey.good), count(survey.bad)));
    Ok(())
}
