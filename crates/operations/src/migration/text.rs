//! Migrations as text: a line for each step.

use super::step::MigrationStep;
use bobak_core::search::SearchLanguage;
use bobak_core::{ColumnSchema, Error, ErrorKind, Result};
use bobak_engine_common::{
    column_from_json, column_to_json, foreign_key_from_json, foreign_key_to_json, index_parts,
    table_from_json, table_to_json, value_from_json, value_to_json,
};
use serde_json::{Value as Json, json};
use std::fmt;
use std::sync::Arc;

/// What a file says.
pub(super) struct MigrationText {
    /// The migration that comes before it.
    pub after: Option<String>,
    pub up: Vec<MigrationStep>,
    /// `None` if the file has no `down`.
    pub down: Option<Vec<MigrationStep>>,
}

impl fmt::Display for MigrationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateTable(table) => {
                let column = |column| format!("\n    {}", column_to_json(column));
                let columns: Vec<_> = table.columns().iter().map(column).collect();
                let mut json = table_to_json(table);
                let rest = json.as_object_mut().map_or_else(String::new, |parts| {
                    parts.remove("columns");
                    json!(parts).to_string()
                });
                let rest = rest.trim_start_matches('{');
                write!(f, "create table {{\"columns\":[{}],\n  {rest}", columns.join(","))
            }
            Self::DropTable(table) => write!(f, "drop table {}", Name(table)),
            Self::RenameTable { from, to } => {
                write!(f, "rename table {} to {}", Name(from), Name(to))
            }
            Self::AddColumn { table, column, after, fill } => {
                write!(f, "add column {} {}", Name(table), column_to_json(column))?;
                if let Some(after) = after {
                    write!(f, " after {}", Name(after))?;
                }
                match fill {
                    Some(fill) => write!(f, " fill {}", value_to_json(fill.as_ref())),
                    None => Ok(()),
                }
            }
            Self::DropColumn { table, column } => {
                write!(f, "drop column {}.{}", Name(table), Name(column))
            }
            Self::RenameColumn { table, from, to } => {
                write!(f, "rename column {}.{} to {}", Name(table), Name(from), Name(to))
            }
            Self::ChangeColumn { table, column } => {
                write!(f, "change column {} {}", Name(table), column_to_json(column))
            }
            Self::AddIndex { table, name, columns, unique } => {
                let json = json!({ "name": name, "columns": columns, "unique": unique });
                write!(f, "add index {} {json}", Name(table))
            }
            Self::DropIndex { table, name } => {
                write!(f, "drop index {}.{}", Name(table), Name(name))
            }
            Self::AddForeignKey { table, columns, key } => {
                let json = foreign_key_to_json(columns.iter().map(String::as_str), key);
                write!(f, "add foreign key {} {json}", Name(table))
            }
            Self::DropForeignKey { table, columns } => {
                write!(f, "drop foreign key {} {}", Name(table), json!(columns))
            }
            Self::ChangeKeyReuse { table, never } => {
                let never = if *never { "never " } else { "" };
                write!(f, "change keys {} {never}reused", Name(table))
            }
            Self::AddSearch { table, columns, language } => {
                let json = json!({ "columns": columns, "language": language.name() });
                write!(f, "add search {} {json}", Name(table))
            }
            Self::DropSearch { table } => write!(f, "drop search {}", Name(table)),
            Self::Sql { engines, text } => {
                write!(f, "sql")?;
                engines.iter().try_for_each(|engine| write!(f, " {}", Name(engine)))?;
                write!(f, "\n{}\nend", text.trim_end())
            }
            Self::Rust(name) => write!(f, "rust {}", Name(name)),
        }
    }
}

/// A name as a word, or as a JSON text if it has other characters.
struct Name<'n>(&'n str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        if !self.0.is_empty() && self.0.chars().all(plain) {
            f.write_str(self.0)
        } else {
            write!(f, "{}", Json::from(self.0))
        }
    }
}

impl MigrationText {
    /// Reads a file's text.
    ///
    /// # Errors
    /// `Corrupt`, with the line.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { text, at: 0 };
        parser.parse().map_err(|error| {
            let read = text.get(..parser.at).unwrap_or(text);
            let message = format!("line {}: {}", read.matches('\n').count() + 1, error.message());
            Error::new(ErrorKind::Corrupt, message)
        })
    }
}

impl fmt::Display for MigrationText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "bobak migration 1")?;
        match &self.after {
            Some(after) => writeln!(f, "after {}", Name(after))?,
            None => writeln!(f, "first")?,
        }
        writeln!(f, "\nup")?;
        self.up.iter().try_for_each(|step| writeln!(f, "{step}"))?;
        let Some(down) = &self.down else { return Ok(()) };
        writeln!(f, "\ndown")?;
        down.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

/// Reads steps without the head of a file.
///
/// # Errors
/// `Corrupt`, with the line.
pub(super) fn parse_steps(text: &str) -> Result<Vec<MigrationStep>> {
    let text = text.replace("\r\n", "\n") + "\n";
    let mut parser = Parser { text: &text, at: 0 };
    let mut steps = Vec::new();
    while !parser.is_at_end() {
        let step = parser.word().and_then(|verb| parser.step(&verb)).map_err(|error| {
            let read = text.get(..parser.at).unwrap_or_default();
            let line = read.matches('\n').count() + 1;
            Error::new(ErrorKind::Corrupt, format!("line {line}: {}", error.message()))
        });
        steps.push(step?);
    }
    Ok(steps)
}

/// What follows a step's words, with its form.
const TABLE: &str = r#"a table {"name":"t","columns":[…],"key":["id"],"indexes":[]}"#;
const COLUMN: &str = r#"a column {"name":"c","type":"i64","nullable":false}"#;
const COLUMNS: &str = r#"the names of columns ["a","b"]"#;
const FOREIGN_KEY: &str = r#"a foreign key {"columns":["a"],"table":"t","referenced":["id"]}"#;
const INDEX: &str = r#"an index {"name":"i","columns":["a"],"unique":false}"#;
const SEARCH: &str = r#"a search {"columns":["a"]}"#;

const TABLE_PARTS: &[&str] = &[
    "name",
    "columns",
    "key",
    "given_key",
    "indexes",
    "never_reuse_keys",
    "search",
    "foreign_keys",
];
const COLUMN_PARTS: &[&str] = &[
    "name",
    "type",
    "storage",
    "nullable",
    "max_chars",
    "unique",
    "collation",
    "default",
    "check",
    "generated",
    "references",
    "role",
];

/// The values of a JSON array.
fn parts(json: &Json) -> impl Iterator<Item = &Json> {
    json.as_array().into_iter().flatten()
}

/// Rejects names that a column does not have: a typing error would be a rule that is not there.
fn check_column(json: &Json) -> Result<()> {
    check_names(json, "column", COLUMN_PARTS)?;
    let known: &[&str] = &["table", "column", "on_delete", "on_update", "deferred"];
    json.get("references").map_or(Ok(()), |json| check_names(json, "reference", known))
}

fn check_names(json: &Json, what: &str, known: &[&str]) -> Result<()> {
    let names = json.as_object().into_iter().flat_map(|object| object.keys());
    match names.into_iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            Err(expected(&format!("no '{name}' in a {what}, which has {}", known.join(", "))))
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn parse(&mut self) -> Result<MigrationText> {
        if self.line() != "bobak migration 1" {
            return Err(expected("the first line 'bobak migration 1'"));
        }
        let after = match self.word()?.as_str() {
            "after" => Some(self.name()?),
            "first" => None,
            _ => return Err(expected("'after NAME' or 'first'")),
        };
        if self.word()? != "up" {
            return Err(expected("'up'"));
        }
        let (mut up, mut down) = (Vec::new(), None::<Vec<MigrationStep>>);
        while !self.is_at_end() {
            let word = self.word()?;
            if word == "down" && down.is_none() {
                down = Some(Vec::new());
                continue;
            }
            let step = self.step(&word)?;
            down.as_mut().unwrap_or(&mut up).push(step);
        }
        Ok(MigrationText { after, up, down })
    }

    fn step(&mut self, verb: &str) -> Result<MigrationStep> {
        match verb {
            "sql" => return self.sql(),
            "rust" => return self.name().map(MigrationStep::Rust),
            _ => {}
        }
        let noun = self.word()?;
        Ok(match (verb, noun.as_str()) {
            ("create", "table") => {
                let json = self.json(TABLE)?;
                check_names(&json, "table", TABLE_PARTS)?;
                json.get("columns").into_iter().flat_map(parts).try_for_each(check_column)?;
                MigrationStep::CreateTable(Arc::new(table_from_json(&json)?))
            }
            ("drop", "table") => MigrationStep::DropTable(self.name()?),
            ("rename", "table") => {
                let from = self.name()?;
                self.keyword("to")?;
                MigrationStep::RenameTable { from, to: self.name()? }
            }
            ("add", "column") => {
                let table = self.name()?;
                let column = self.column()?;
                let after = if self.has("after") { Some(self.name()?) } else { None };
                let fill = if self.has("fill") {
                    Some(value_from_json(&self.json("a value")?)?)
                } else {
                    None
                };
                MigrationStep::AddColumn { table, column, after, fill }
            }
            ("drop", "column") => {
                let (table, column) = self.pair()?;
                MigrationStep::DropColumn { table, column }
            }
            ("rename", "column") => {
                let (table, from) = self.pair()?;
                self.keyword("to")?;
                MigrationStep::RenameColumn { table, from, to: self.name()? }
            }
            ("change", "column") => {
                let (table, column) = (self.name()?, self.column()?);
                MigrationStep::ChangeColumn { table, column }
            }
            ("add", "foreign") => {
                self.keyword("key")?;
                let table = self.name()?;
                let (columns, key) = foreign_key_from_json(&self.json(FOREIGN_KEY)?)?;
                MigrationStep::AddForeignKey { table, columns, key }
            }
            ("drop", "foreign") => {
                self.keyword("key")?;
                let (table, json) = (self.name()?, self.json(COLUMNS)?);
                let columns = json.as_array().into_iter().flatten();
                let columns = columns.filter_map(|name| Some(name.as_str()?.to_owned()));
                MigrationStep::DropForeignKey { table, columns: columns.collect() }
            }
            ("change", "keys") => {
                let (table, never) = (self.name()?, self.has("never"));
                self.keyword("reused")?;
                MigrationStep::ChangeKeyReuse { table, never }
            }
            ("add", "index") => self.index()?,
            ("add", "search") => self.search()?,
            ("drop", "search") => MigrationStep::DropSearch { table: self.name()? },
            ("drop", "index") => {
                let (table, name) = self.pair()?;
                MigrationStep::DropIndex { table, name }
            }
            _ => return Err(expected(&format!("a step instead of '{verb} {noun}'"))),
        })
    }

    fn column(&mut self) -> Result<ColumnSchema> {
        let json = self.json(COLUMN)?;
        check_column(&json)?;
        column_from_json(&json)
    }

    fn index(&mut self) -> Result<MigrationStep> {
        let (table, json) = (self.name()?, self.json(INDEX)?);
        check_names(&json, "index", &["name", "columns", "unique"])?;
        let text = |json: &Json| json.as_str().map(str::to_owned);
        let name = json.get("name").and_then(text);
        let columns = json.get("columns").and_then(Json::as_array);
        let columns = columns.map(|columns| columns.iter().filter_map(text).collect::<Vec<_>>());
        let unique = json.get("unique").and_then(Json::as_bool).unwrap_or(false);
        match (name, columns) {
            (Some(name), Some(columns)) if !columns.is_empty() => {
                Ok(MigrationStep::AddIndex { table, name, columns, unique })
            }
            _ => Err(expected("an index's name and columns")),
        }
    }

    fn search(&mut self) -> Result<MigrationStep> {
        let (table, json) = (self.name()?, self.json(SEARCH)?);
        let columns = json.get("columns").and_then(Json::as_array);
        let columns = columns.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned);
        let columns: Vec<String> = columns.collect();
        let language = json.get("language").and_then(Json::as_str).unwrap_or("simple");
        if columns.is_empty() {
            return Err(expected("the columns of a search"));
        }
        let language = SearchLanguage::from_name(language)?;
        Ok(MigrationStep::AddSearch { table, columns, language })
    }

    fn sql(&mut self) -> Result<MigrationStep> {
        let mut engines = Vec::new();
        while !self.rest().trim_start_matches([' ', '\t', '\r']).starts_with('\n') {
            engines.push(self.name()?);
        }
        self.line();
        let mut text = String::new();
        loop {
            if self.at >= self.text.len() {
                return Err(expected("'end' after the SQL"));
            }
            match self.line() {
                "end" => return Ok(MigrationStep::Sql { engines, text }),
                line => text.extend([line, "\n"]),
            }
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The rest of the line.
    fn line(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.find('\n').unwrap_or(rest.len());
        self.at = (self.at + end + 1).min(self.text.len());
        rest.get(..end).unwrap_or_default().trim_end()
    }

    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if !self.rest().starts_with('#') {
                return;
            }
            self.line();
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.skip();
        self.rest().is_empty()
    }

    fn word(&mut self) -> Result<String> {
        self.skip();
        let rest = self.rest();
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let end = rest.find(|c| !plain(c)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        if word.is_empty() {
            return Err(expected("a word"));
        }
        self.at += end;
        Ok(word.to_owned())
    }

    fn name(&mut self) -> Result<String> {
        self.skip();
        if !self.rest().starts_with('"') {
            return self.word();
        }
        self.json("a name")?.as_str().map(str::to_owned).ok_or_else(|| expected("a name"))
    }

    /// `table.column`.
    fn pair(&mut self) -> Result<(String, String)> {
        let first = self.name()?;
        if !self.rest().starts_with('.') {
            return Err(expected("a table and its column, parted by a point"));
        }
        self.at += 1;
        Ok((first, self.name()?))
    }

    /// Reads `what`, with its form.
    fn json(&mut self, what: &str) -> Result<Json> {
        self.skip();
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<Json>();
        let value = values.next();
        let read = values.byte_offset();
        match value {
            Some(Ok(value)) => {
                self.at += read;
                Ok(value)
            }
            Some(Err(error)) if self.rest().starts_with(['{', '[', '"']) => {
                Err(expected(&format!("{what}, which is JSON: {error}")))
            }
            _ => Err(expected(&format!("{what}, which is JSON"))),
        }
    }

    fn keyword(&mut self, keyword: &str) -> Result<()> {
        if self.word()? == keyword { Ok(()) } else { Err(expected(&format!("'{keyword}'"))) }
    }

    /// Reads a word on the same line if it is the next one.
    fn has(&mut self, keyword: &str) -> bool {
        let before = self.at;
        let is_same_line = !self.rest().trim_start_matches([' ', '\t', '\r']).starts_with('\n');
        if is_same_line && self.word().is_ok_and(|word| word == keyword) {
            return true;
        }
        self.at = before;
        false
    }
}

fn expected(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("expected {what}"))
}

/// An index of a table as a step.
pub(super) fn index_step(
    table: &bobak_core::TableSchema,
    index: &bobak_core::IndexSchema,
) -> MigrationStep {
    let (name, columns, unique) = index_parts(table, index);
    MigrationStep::AddIndex { table: table.name().to_owned(), name, columns, unique }
}
