//! `bobak query`: runs one SQL statement.

use crate::commands::arguments::{column_type, database_url, named_database};
use crate::commands::format::{CsvOptions, OutputFileFormat, OutputFormat};
use crate::database;
use crate::error::{Error, Result};
use crate::export::OutputColumn;
use crate::output::{OutputTarget, Terminal, check_target, count, rate};
use crate::result_columns::result_columns;
use bobak::schema::Type;
use bobak::{Db, DynRow, Parameter, Row, SqlArgument, SqlArguments, Value, ValueRef};
use bobak_sql::{only_reads, returns_rows};
use bobak_text::read;
use clap::Args;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Instant;

/// Run one SQL statement and show its rows.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct QueryCommand {
    /// Database: an SQLite file, such as flights.db, or a URL
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// SQL statement, with ? or :NAME for each parameter; - reads it from standard input
    #[arg(value_name = "SQL")]
    sql: String,

    /// Another database, whose tables the statement names as NAME.table; may be repeated
    #[arg(long = "attach", value_name = "NAME=DATABASE", value_parser = named_database)]
    attached: Vec<(String, String)>,

    /// Value of the next ? in the statement, a number if it looks like one, or NAME=VALUE for :NAME; may be repeated. A name
    /// given several times is a list, for IN (:NAME). NAME:TYPE=VALUE is a value of the type, as zip:text=10, and NAME:null
    /// is NULL
    #[arg(short, long = "param", value_name = "VALUE", allow_hyphen_values = true)]
    parameters: Vec<String>,

    /// Output format [default: by the output file's extension, otherwise table]
    #[arg(short, long, value_enum)]
    format: Option<OutputFormat>,

    /// Type of a result column, such as day=date for a number of days. Columns of tables, amounts, dates and times need
    /// none. May be repeated
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = column_type)]
    types: Vec<(String, Type)>,

    /// Show how the database would run the statement, and the indexes that would help; the statement does not run
    #[arg(long, conflicts_with_all = ["format", "types"])]
    explain: bool,

    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    csv: CsvOptions,
}

const EXAMPLES: &str = "\
Examples:
  bobak query sqlite:flights.db \"SELECT * FROM airlines\"
  bobak query sqlite:flights.db \"SELECT count(*) FROM flights WHERE origin = ?\" --param JFK
  bobak query sqlite:flights.db \"SELECT name FROM airlines WHERE carrier IN (:of)\" --param of=UA --param of=DL
  bobak query sqlite:flights.db --explain \"SELECT * FROM flights WHERE carrier = ?\" --param UA
  bobak query sqlite:flights.db --format csv --output late.csv - < late.sql
  bobak query sqlite:flights.db \"SELECT strftime('%Y-%m', time_hour) AS month, max(time_hour) FROM flights GROUP BY 1\"
  bobak query flights.db --attach s=stock.db \"SELECT f.id, s.item.price FROM flights f JOIN s.item ON s.item.id = f.item\"";

impl QueryCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the database can't be read, the statement is wrong, or the output can't be written.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        self.run_statement(screen).map_err(naming_flag)
    }

    fn run_statement(&self, screen: &Terminal) -> Result<()> {
        let begun = Instant::now();
        let sql = self.text()?;
        let attached = self.attached.iter().map(|(_, url)| url.as_str());
        check_target(self.output.as_deref(), attached.chain([self.database.as_str()]), &[])?;
        let db = database::open_for_sql(&self.database, &self.attached, only_reads(&sql))?;
        let parameters = self.arguments(&sql)?;
        if self.explain {
            return self.write_plan(&db, &sql, parameters);
        }
        if !returns_rows(&sql) {
            let changed = db.execute(&sql, parameters)?;
            db.flush()?;
            let noun = if changed == 1 { "row" } else { "rows" };
            let seconds = begun.elapsed().as_secs_f64();
            screen.note(format_args!("{} {noun} changed in {seconds:.2} s", count(changed)));
            return Ok(());
        }
        let path = self.output.as_deref();
        let default = path.map_or(OutputFormat::Table, |_| OutputFormat::Csv);
        let file = OutputFileFormat::new(path, self.format, &self.csv, default)?;
        let mut output = OutputTarget::open(path)?.compressed(file.is_gzip);
        let mut rows = 0;
        {
            let mut writer = file.writer(&mut output, &self.csv, screen)?;
            let known = result_columns(&db, &sql);
            let scan = |each: &mut dyn FnMut(&dyn Row) -> bobak::Result<bool>| {
                db.sql_for_each(&sql, parameters, |row: DynRow| each(&NamedRow(row)))
            };
            database::for_each(scan, |row| {
                if rows == 0 {
                    writer.begin(&self.columns(known.as_deref(), row)?)?;
                }
                rows += 1;
                writer.row(row)
            })?;
            if rows == 0 {
                writer.begin(&known.unwrap_or_default())?;
            }
            writer.finish()?;
        }
        output.finish()?;
        screen.note(rate(rows, begun.elapsed()));
        Ok(())
    }

    /// The values of the statement's parameters. A name that is given several times has a list.
    fn arguments(&self, sql: &str) -> Result<SqlArguments<'static>> {
        if SqlArguments::names(sql).unwrap_or_default().is_empty() {
            let values = self.parameters.iter().map(|text| untyped_parameter(text));
            return Ok(SqlArguments::of(values.collect()));
        }
        let mut lists: BTreeMap<String, Vec<Parameter<'static>>> = BTreeMap::new();
        for given in &self.parameters {
            let (name, value) = named_parameter(given)?;
            lists.entry(name.to_owned()).or_default().push(value);
        }
        let argument = |(name, list): (String, Vec<_>)| match <[_; 1]>::try_from(list) {
            Ok([one]) => (name.into(), SqlArgument::Value(one)),
            Err(list) => (name.into(), SqlArgument::List(list)),
        };
        Ok(SqlArguments::Named(lists.into_iter().map(argument).collect()))
    }

    fn write_plan(&self, db: &Db, sql: &str, parameters: SqlArguments<'static>) -> Result<()> {
        let plan = db.explain(sql, parameters)?;
        let mut output = OutputTarget::open(self.output.as_deref())?;
        output.write_all(plan.to_string().as_bytes()).map_err(|error| Error::output(&error))?;
        output.finish()
    }

    /// The result's columns: names and types from the engine, other types from the schema or from `--type`.
    fn columns(&self, known: Option<&[OutputColumn]>, row: &dyn Row) -> Result<Vec<OutputColumn>> {
        let known = known.filter(|columns| columns.len() == row.len());
        let mut columns: Vec<_> = (0..row.len())
            .map(|place| OutputColumn {
                name: row.name(place).unwrap_or_default().to_owned(),
                ty: match (row.ty(place), known.and_then(|columns| columns.get(place))) {
                    (Type::Any, Some(column)) => column.ty,
                    (ty, _) => ty,
                },
            })
            .collect();
        for (name, ty) in &self.types {
            let Some(column) = columns.iter_mut().find(|column| column.name == *name) else {
                let message =
                    format!("--type names the column {name:?}, which the result does not have");
                return Err(Error::usage(message));
            };
            column.ty = *ty;
        }
        Ok(columns)
    }

    fn text(&self) -> Result<String> {
        if self.sql != "-" {
            return Ok(self.sql.clone());
        }
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| Error::io("read the statement from standard input", &error))?;
        Ok(text)
    }
}

/// A number if the text looks like one.
fn untyped_parameter(text: &str) -> Parameter<'static> {
    read::any(text).into_owned().into()
}

/// Reads `NAME=VALUE`, `NAME:TYPE=VALUE` or `NAME:null`.
fn named_parameter(given: &str) -> Result<(&str, Parameter<'static>)> {
    if let Some(name) = given.strip_suffix(":null").filter(|name| !name.contains('=')) {
        return Ok((name, Value::Null.into()));
    }
    let (name, text) = given.split_once('=').ok_or_else(|| {
        Error::usage("the parameters of the statement have names: write --param NAME=VALUE")
    })?;
    let Some((name, ty)) = name.split_once(':') else {
        return Ok((name, untyped_parameter(text)));
    };
    let (_, ty) = column_type(&format!("{name}={ty}")).map_err(Error::usage)?;
    let value = read::parse(ty, text.as_bytes())
        .map_err(|problem| Error::usage(format!("--param {name}: {problem}")))?;
    Ok((name, Parameter::new(value.into_owned(), ty)))
}

/// Adds the flag to an error about the number of values.
fn naming_flag(error: Error) -> Error {
    match error {
        Error::Failed(sentence)
            if sentence.contains(" given for ") && sentence.contains(" parameter") =>
        {
            Error::Failed(format!("{sentence}: pass the value of each with --param"))
        }
        error => error,
    }
}

/// A row that knows the names of its columns.
struct NamedRow(DynRow);

impl Row for NamedRow {
    fn len(&self) -> usize {
        self.0.values().len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        self.0.values().get(column).map_or(ValueRef::Null, Value::as_ref)
    }

    fn name(&self, column: usize) -> Option<&str> {
        Row::name(&self.0, column)
    }

    fn ty(&self, column: usize) -> Type {
        self.0.columns().get(column).map_or(Type::Any, |column| column.ty)
    }
}
