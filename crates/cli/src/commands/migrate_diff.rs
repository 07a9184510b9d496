//! `bobak migrate diff`: writes a migration, and asks about renames.

use super::migrate::{MigrationPlace, failed, print};
use crate::commands::arguments::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::Terminal;
use bobak::Db;
use bobak::migration::{Drops, MigrationPlan, Migrations, PlanOptions, PossibleRename};
use clap::Args;
use std::io::{IsTerminal, Write, stderr, stdin};

#[derive(Debug, Args)]
pub struct DiffArguments {
    #[command(flatten)]
    place: MigrationPlace,

    /// Database that has the wanted tables
    #[arg(value_name = "MODEL", value_parser = database_url)]
    model: String,

    /// What the migration does: letters, digits, _ and -
    #[arg(value_name = "NAME")]
    name: String,

    /// Rename a table, or a column TABLE.COLUMN, with the table's new name
    #[arg(long, value_name = "OLD=NEW", value_parser = renamed)]
    rename: Vec<(String, String)>,

    /// Drop this table, or this column TABLE.COLUMN
    #[arg(long, value_name = "TABLE")]
    drop: Vec<String>,

    /// Keep this table, or this column TABLE.COLUMN, under its name
    #[arg(long, value_name = "TABLE")]
    keep: Vec<String>,

    /// Drop columns and indexes that the model does not have
    #[arg(long)]
    drop_columns: bool,

    /// Drop tables, columns and indexes that the model does not have
    #[arg(long)]
    drop_tables: bool,

    /// Print the steps and their SQL, and write no file
    #[arg(long)]
    print: bool,
}

impl DiffArguments {
    /// Runs the command.
    ///
    /// # Errors
    /// If the databases can't be compared, a rename is possible and nobody can be asked, or the file can't be
    /// written.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let db = if database::is_missing(&self.place.database) {
            bobak::Db::open("memory:")?
        } else {
            database::open_to_read(&self.place.database)?
        };
        let model = database::open_to_read(&self.model)?;
        let plan = with_replies(self.options(), ask, |options| {
            db.migration_plan_to(&model, options.clone()).map_err(failed)
        })?;
        plan.kept.iter().for_each(|kept| screen.note(kept));
        note_losses(&db, &model, screen)?;
        if plan.steps.is_empty() {
            screen.note("nothing to migrate");
            return Ok(());
        }
        if self.print {
            let sql = db.migration_sql(&plan).unwrap_or_default();
            let sql: String = sql.iter().map(|text| format!("# {text}\n")).collect();
            return print(&format!("{plan}{sql}"));
        }
        let is_first = !self.place.folder.exists();
        let migrations = if is_first { Migrations::default() } else { self.place.read()? };
        let file = migrations.write(&self.place.folder, &self.name, &plan).map_err(failed)?;
        print(&format!("{}\n", file.display()))
    }

    fn options(&self) -> PlanOptions {
        let drops = match (self.drop_columns, self.drop_tables) {
            (_, true) => Drops::Tables,
            (true, false) => Drops::Columns,
            (false, false) => Drops::Nothing,
        };
        let options = self
            .rename
            .iter()
            .fold(drops.into(), |options: PlanOptions, (from, to)| options.rename(from, to));
        let options = self.drop.iter().fold(options, PlanOptions::drop);
        self.keep.iter().fold(options, PlanOptions::keep)
    }
}

/// Notes what the wanted tables have and no step can make.
fn note_losses(db: &Db, model: &Db, screen: &Terminal) -> Result<()> {
    let wanted = model.schema_details().map_err(failed)?.losses;
    if wanted.is_empty() {
        return Ok(());
    }
    let stored = db.schema_details().map_err(failed)?.losses;
    for loss in wanted.iter().filter(|loss| !stored.contains(loss)) {
        screen.note(format_args!("not in the migration, so add it as SQL: {loss}"));
    }
    Ok(())
}

fn renamed(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => {
            Ok((old.to_owned(), new.to_owned()))
        }
        _ => Err("expected OLD=NEW, such as member.bio=about or person=member".to_owned()),
    }
}

/// The plan, after a question about each possible rename. A reply may settle others too.
fn with_replies(
    mut options: PlanOptions,
    mut ask: impl FnMut(&PossibleRename) -> Result<bool>,
    plan: impl Fn(&PlanOptions) -> Result<MigrationPlan>,
) -> Result<MigrationPlan> {
    let mut denied: Vec<PossibleRename> = Vec::new();
    loop {
        let planned = plan(&options)?;
        let mut open = planned.possible_renames.iter();
        let Some(rename) = open.find(|rename| !denied.contains(rename)) else {
            return Ok(planned);
        };
        if ask(rename)? {
            options = options.rename(rename.name(), &rename.to);
        } else {
            denied.push(rename.clone());
        }
    }
}

/// Asks at the terminal. Standard output is for the result, so the question goes to standard error.
fn ask(rename: &PossibleRename) -> Result<bool> {
    let (name, to) = (rename.name(), &rename.to);
    if !stdin().is_terminal() {
        return Err(Error::failed(format!(
            "{rename}? There is no terminal to ask: pass --rename {name}={to}, or --drop {name} or --keep {name}"
        )));
    }
    let unreadable = |error| Error::io("read the reply", &error);
    loop {
        // If standard error is closed, the question is not seen, and the reply is still read.
        let _ = write!(stderr(), "{rename}? [y/N] ");
        let mut reply = String::new();
        if stdin().read_line(&mut reply).map_err(unreadable)? == 0 {
            return Err(Error::failed(format!("{rename}? There was no reply")));
        }
        match reply.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "" | "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak::schema::{ColumnSchema, TableSchema};

    fn database(columns: &[&'static str]) -> Db {
        let table = TableSchema::builder("person").column(ColumnSchema::of::<i64>("id"));
        let columns = columns.iter().map(|name| ColumnSchema::of::<String>(*name));
        let table = columns.fold(table.key(["id"]), |table, column| table.column(column));
        let db = Db::open("memory:").expect("opens");
        let table = std::sync::Arc::new(table.build().expect("is valid"));
        let create = bobak::engine::SchemaChange::CreateTable(table);
        db.engine().expect("has an engine").alter(&[create]).expect("creates");
        db
    }

    /// The questions, and the plan after these replies.
    fn replied(replies: &[bool], options: PlanOptions) -> (Vec<String>, String) {
        let (db, model) = (database(&["bio", "fax"]), database(&["about", "mail"]));
        let mut questions = Vec::new();
        let mut replies = replies.iter();
        let ask = |rename: &PossibleRename| {
            questions.push(rename.to_string());
            Ok(*replies.next().expect("no further question"))
        };
        let plan = with_replies(options, ask, |options| {
            db.migration_plan_to(&model, options.clone()).map_err(failed)
        });
        let plan = plan.expect("plans").to_string();
        assert_eq!(replies.next(), None, "{questions:?}");
        let line = |line: &str| line.split(" {").next().unwrap_or_default().to_owned();
        (questions, plan.lines().map(line).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn each_possible_rename_is_a_question_until_nothing_is_open() {
        let (questions, plan) = replied(&[true, true], PlanOptions::new());
        let wanted = [
            "is column about of person the renamed bio",
            "is column mail of person the renamed fax",
        ];
        assert_eq!(questions, wanted);
        assert_eq!(plan, "rename column person.bio to about\nrename column person.fax to mail");
        let (questions, plan) = replied(&[false, true, false], Drops::Columns.into());
        assert_eq!(questions[1], "is column about of person the renamed fax");
        assert_eq!(questions[2], "is column mail of person the renamed bio");
        assert_eq!(
            plan,
            "rename column person.fax to about\ndrop column person.bio\nadd column person"
        );
        let (questions, plan) =
            replied(&[], PlanOptions::new().drop("Person.Bio").keep("person.fax"));
        assert!(questions.is_empty());
        assert_eq!(plan, "drop column person.bio\nadd column person\nadd column person");
    }
}
