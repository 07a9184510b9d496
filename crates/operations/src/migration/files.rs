//! A program's migrations, in their order.

use super::ledger::MigrationProgress;
use super::plan::MigrationPlan;
use super::step::MigrationStep;
use super::text::MigrationText;
use bobak_core::{AtomicFile, Error, ErrorKind, Result, Session};
use std::collections::HashMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A step in Rust.
pub(super) type StepFunction = Arc<dyn Fn(&dyn Session) -> Result<()> + Send + Sync>;

/// The extension of migrations' files.
const EXTENSION: &str = "migration";

/// One migration.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Migration {
    /// The name: the file's, without its extension.
    pub name: String,
    /// The CRC-32 of the text, in which line ends are `\n`: eight hexadecimal digits.
    pub checksum: String,
    /// The name of the migration before it; `None` for the first.
    pub after: Option<String>,
    /// The steps.
    pub up: Vec<MigrationStep>,
    /// The steps that undo it; `None` if it cannot be undone.
    pub down: Option<Vec<MigrationStep>>,
}

/// The migrations of a program, each after the one that it names. See [`read`](Self::read).
#[derive(Clone, Default)]
pub struct Migrations {
    pub(super) all: Vec<Migration>,
    pub(super) functions: HashMap<String, StepFunction>,
}

impl fmt::Debug for Migrations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all.iter().map(|migration| &migration.name)).finish()
    }
}

impl Migrations {
    /// Migrations that are part of the program: names and texts, as with `include_str!`, in any order.
    ///
    /// ```
    /// use bobak_operations::migration::Migrations;
    /// let first = "bobak migration 1\nfirst\nup\ndrop table old\n";
    /// let migrations = Migrations::new([("0001_start", first)])?;
    /// assert_eq!(migrations.iter().count(), 1);
    /// # Ok::<(), bobak_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Corrupt` for a text that is no migration; `Conflict` if two migrations follow the same one, or one
    /// follows none of the others.
    pub fn new<'t>(texts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Result<Self> {
        let all = texts.into_iter().map(|(name, text)| Migration::parse(name, text));
        Ok(Self { all: in_order(all.collect::<Result<_>>()?)?, functions: HashMap::new() })
    }

    /// The files `*.migration` of a folder.
    ///
    /// # Errors
    /// `Io`; as [`new`](Self::new).
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let failed = |error| Error::io(&format!("read {}", folder.display()), error);
        let mut texts = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                let text = std::fs::read_to_string(&path);
                let text =
                    text.map_err(|error| Error::io(&format!("read {}", path.display()), error))?;
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                texts.push((name, text));
            }
        }
        Self::new(texts.iter().map(|(name, text)| (name.as_str(), text.as_str())))
    }

    /// Adds a function that a step `rust NAME` runs.
    #[must_use]
    pub fn with_function(
        mut self,
        name: impl Into<String>,
        run: impl Fn(&dyn Session) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.functions.insert(name.into(), Arc::new(run));
        self
    }

    /// The migrations in order.
    pub fn iter(&self) -> impl Iterator<Item = &Migration> {
        self.all.iter()
    }

    /// Writes a plan as the next migration to a folder, under a number and `name`; returns the file.
    ///
    /// # Errors
    /// `Misuse` for a name with other characters than letters, digits, `_` and `-`; `Io`, `Full`.
    pub fn write(
        &self,
        folder: impl AsRef<Path>,
        name: &str,
        plan: &MigrationPlan,
    ) -> Result<PathBuf> {
        let (name, text) = self.text_of_next(name, plan)?;
        let name = format!("{name}.{EXTENSION}");
        let folder = folder.as_ref();
        let path = folder.join(name);
        let failed = |error| Error::io(&format!("write {}", path.display()), error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let file = AtomicFile::create(&path)?;
        let mut output = std::fs::File::create(file.path()).map_err(failed)?;
        output.write_all(text.as_bytes()).map_err(failed)?;
        output.sync_all().map_err(failed)?;
        file.commit().map_err(failed)?;
        Ok(path)
    }

    /// The name and the text of a plan as the next migration.
    ///
    /// # Errors
    /// `Misuse` for a name with other characters than letters, digits, `_` and `-`.
    pub(super) fn text_of_next(
        &self,
        name: &str,
        plan: &MigrationPlan,
    ) -> Result<(String, String)> {
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 150 || !name.chars().all(plain) {
            let message =
                format!("'{name}' is not a valid migration name: use letters, digits, _ and -");
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let after = self.all.last().map(|last| last.name.clone());
        let name = format!("{:04}_{name}", self.all.len() + 1);
        let (up, down) = (plan.steps.clone(), plan.undo.clone());
        Ok((name, MigrationText { after, up, down }.to_string()))
    }
}

impl Migration {
    /// The checksum, and that of the steps that are done: the others of an interrupted migration may change.
    pub(super) fn checksum_after(&self, progress: MigrationProgress) -> String {
        let steps = match progress {
            MigrationProgress::Up(done) => self.up.get(..done),
            MigrationProgress::Down(done) => self.down.as_ref().and_then(|steps| steps.get(..done)),
            MigrationProgress::Done => None,
        };
        let Some(steps) = steps else { return self.checksum.clone() };
        let text: String = steps.iter().map(|step| format!("{step}\n")).collect();
        format!("{}{:08x}", self.checksum, crc32fast::hash(text.as_bytes()))
    }

    pub(super) fn parse(name: &str, text: &str) -> Result<Self> {
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let parsed = MigrationText::parse(&text).map_err(|error| {
            let message = format!("migration {name}, {}", error.message());
            Error::new(error.kind(), message)
        })?;
        Ok(Self {
            name: name.to_owned(),
            checksum: format!("{:08x}", crc32fast::hash(text.as_bytes())),
            after: parsed.after,
            up: parsed.up,
            down: parsed.down,
        })
    }
}

/// The migrations, each after the one that it names.
fn in_order(mut waiting: Vec<Migration>) -> Result<Vec<Migration>> {
    let mut ordered: Vec<Migration> = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let last = ordered.last().map(|last| last.name.as_str());
        let next = |migration: &&Migration| migration.after.as_deref() == last;
        let names: Vec<_> = waiting.iter().filter(next).map(|next| next.name.clone()).collect();
        let after = last.map_or_else(|| "none".to_owned(), str::to_owned);
        let message = match &names[..] {
            [name] => {
                let place = waiting.iter().position(|migration| migration.name == *name);
                ordered.push(waiting.remove(place.unwrap_or(0)));
                continue;
            }
            [] => {
                let lost: Vec<_> = waiting.iter().map(|migration| &*migration.name).collect();
                let lost = lost.join(", ");
                format!("no migration follows {after}, and these follow a missing one: {lost}")
            }
            several => {
                let names = several.join(", ");
                format!(
                    "several migrations follow {after}: {names}; change the line 'after' of one"
                )
            }
        };
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    Ok(ordered)
}
