//! The next migration of a database whose files are not at hand: that of a server whose clients change its tables.

use super::files::{Migration, Migrations};
use super::ledger::{self, MigrationProgress};
use super::plan::MigrationPlan;
use super::run::up;
use super::simulate::simulate;
use super::step::MigrationStep;
use super::text::parse_steps;
use bobak_core::{Engine, Error, ErrorKind, Field, Result, TableSchema, Timestamp, ValueRef};

/// A migration that follows the last one of a database. It is shown before it runs, and its
/// [`text`](Self::text) is the content of its file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NextMigration {
    /// Its name, and that of its file without the extension: a number and the given name.
    pub name: String,
    /// The content of its file.
    pub text: String,
    /// Its steps, and those that undo it.
    pub plan: MigrationPlan,
    /// The tables before it.
    pub before: Vec<TableSchema>,
    /// The tables after it. What steps in SQL change is not known before.
    pub after: Vec<TableSchema>,
    /// The migrations of the database, without their steps, and this one.
    all: Migrations,
}

/// The migrations that a database has, by time, with the moment of each.
///
/// # Errors
/// Those of the engine.
pub fn done(engine: &dyn Engine) -> Result<Vec<(String, Timestamp)>> {
    let mut entries = ledger::read(&*engine.session()?)?;
    entries.retain(|entry| entry.progress == MigrationProgress::Done);
    entries.sort_by(|a, b| (a.at, &a.name).cmp(&(b.at, &b.name)));
    let time = |at| Timestamp::from_value(ValueRef::Int(at));
    entries.into_iter().map(|entry| Ok((entry.name, time(entry.at)?))).collect()
}

impl NextMigration {
    /// Reads `steps`, one per line as in a migration's file, and finds what they do to `tables`, those of the database that
    /// may be changed. Nothing changes yet. `name` is of letters, digits, `_` and `-`.
    ///
    /// # Errors
    /// `Corrupt` for a step that is none, with its line; `Misuse` for another name, or no step; `Schema` for a table
    /// or column that is missing; `Unsupported` for a step in Rust; `Conflict` if another migration was interrupted.
    pub fn prepare(
        engine: &dyn Engine,
        tables: Vec<TableSchema>,
        name: &str,
        steps: &str,
    ) -> Result<Self> {
        let steps = parse_steps(steps)?;
        if steps.is_empty() {
            return Err(Error::new(ErrorKind::Misuse, "a migration needs a step"));
        }
        if let Some(step) = steps.iter().find(|step| matches!(step, MigrationStep::Rust(_))) {
            let message = format!("'{step}' is a function of a program, which is not here");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let before = tables;
        let (mut tables, mut undo) = (before.clone(), Some(Vec::new()));
        for step in &steps {
            let after = simulate(&tables, step)?;
            // The last step is undone first.
            undo = undo.zip(step.inverse(&tables)).map(|(mut all, inverse)| {
                all.insert(0, inverse);
                all
            });
            tables = after;
        }
        let plan = MigrationPlan { steps, undo, ..MigrationPlan::default() };
        let mut all = stored(engine)?;
        let (name, text) = all.text_of_next(name, &plan)?;
        all.all.push(Migration::parse(&name, &text)?);
        Ok(Self { name, text, plan, before, after: tables, all })
    }

    /// Carries it out.
    ///
    /// # Errors
    /// As [`up`]; `Conflict` if the database got another migration since it was prepared.
    pub fn run(&self, engine: &dyn Engine) -> Result<()> {
        let done = up(engine, &self.all)?;
        if done.contains(&self.name) {
            return Ok(());
        }
        let message = format!("another process has carried {} out", self.name);
        Err(Error::new(ErrorKind::Conflict, message))
    }
}

/// The migrations that a database has. Their steps are unknown, and are not needed, because they are done.
fn stored(engine: &dyn Engine) -> Result<Migrations> {
    let mut entries = ledger::read(&*engine.session()?)?;
    entries.sort_by(|a, b| (a.at, &a.name).cmp(&(b.at, &b.name)));
    let mut migrations = Migrations::default();
    for entry in entries {
        if entry.progress != MigrationProgress::Done {
            let message = format!(
                "migration {} was interrupted: finish it first, by `bobak migrate` with its file",
                entry.name
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        let after = migrations.all.last().map(|last| last.name.clone());
        let (name, checksum) = (entry.name, entry.checksum);
        migrations.all.push(Migration { name, checksum, after, up: Vec::new(), down: None });
    }
    Ok(migrations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_memory::Memory;

    const FIRST: &str = r#"create table {"name":"member","columns":[{"name":"id","type":"i64","nullable":false},{"name":"bio","type":"text","nullable":true}],"key":["id"],"indexes":[]}"#;

    fn run(engine: &dyn Engine, name: &str, steps: &str) -> Result<NextMigration> {
        let next = NextMigration::prepare(engine, engine.tables()?, name, steps)?;
        next.run(engine)?;
        Ok(next)
    }

    #[test]
    fn migrations_follow_those_of_the_database() {
        let engine = Memory::new();
        let first = run(&engine, "start", FIRST).unwrap();
        assert_eq!((&*first.name, first.before.len(), first.after.len()), ("0001_start", 0, 1));
        let steps = "# more\nrename column member.bio to about\nadd column member {\"name\":\"rank\",\"type\":\"i64\",\"nullable\":false} fill 7\n";
        let second = run(&engine, "more", steps).unwrap();
        assert!(
            second.text.starts_with("bobak migration 1\nafter 0001_start\n"),
            "{}",
            second.text
        );
        assert!(
            second
                .text
                .ends_with("down\ndrop column member.rank\nrename column member.about to bio\n")
        );
        let names: Vec<_> = done(&engine).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["0001_start", "0002_more"]);
        // The files that a client saved are those that `bobak migrate` knows.
        let files = [(&*first.name, &*first.text), (&*second.name, &*second.text)];
        super::super::verify(&engine, &Migrations::new(files).unwrap()).unwrap();
    }

    #[test]
    fn wrong_migrations_change_nothing() {
        let engine = Memory::new();
        run(&engine, "start", FIRST).unwrap();
        for (name, steps, kind) in [
            ("a b", "drop table member", ErrorKind::Misuse),
            ("a", "", ErrorKind::Misuse),
            ("a", "# nothing", ErrorKind::Misuse),
            ("a", "drop table nosuch", ErrorKind::Schema),
            ("a", "drop column member.nosuch", ErrorKind::Schema),
            ("a", "drop tabel member", ErrorKind::Corrupt),
            ("a", "drop table member\ndown\n", ErrorKind::Corrupt),
            ("a", "rust f", ErrorKind::Unsupported),
        ] {
            let error = run(&engine, name, steps).unwrap_err();
            assert_eq!(error.kind(), kind, "{steps}: {error}");
        }
        let tables = engine.tables().unwrap();
        let late =
            NextMigration::prepare(&engine, tables, "late", "drop column member.bio").unwrap();
        run(&engine, "early", "rename column member.bio to about").unwrap();
        assert_eq!(late.run(&engine).unwrap_err().kind(), ErrorKind::Conflict);
        let tables = engine.tables().unwrap();
        let member = tables.iter().find(|table| table.name() == "member").unwrap();
        assert!(member.column("about").is_ok(), "{:?}", member.columns());
    }
}
