//! What a plan may drop, and what it cannot know from the model.

use bobak_core::{Error, ErrorKind, Result};
use std::fmt;

/// What a [plan](super::MigrationPlan) may drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Drops {
    /// Nothing. What the model does not have is listed in
    /// [`MigrationPlan::kept`](super::MigrationPlan::kept).
    #[default]
    Nothing,
    /// Columns and indexes of the model's tables.
    Columns,
    /// Also the tables that the model does not have.
    Tables,
}

/// What a [plan](super::plan) may drop, and which tables and columns have new names. By default it drops nothing,
/// and only the attributes of the model rename.
///
/// A table is given by its name, a column as `table.column`, with the table's new name. Case does not matter.
///
/// ```
/// use bobak_operations::migration::{Drops, PlanOptions};
/// let options = PlanOptions::new().drops(Drops::Columns).rename("member.bio", "about");
/// let options = options.drop("old_log").keep("member.fax");
/// # drop(options);
/// ```
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    pub(super) drops: Drops,
    renamed: Vec<(String, String)>,
    dropped: Vec<String>,
    kept: Vec<String>,
    /// The names that the database has and the model has not, as far as the plan met them.
    met: Vec<String>,
}

impl From<Drops> for PlanOptions {
    fn from(drops: Drops) -> Self {
        Self::new().drops(drops)
    }
}

impl PlanOptions {
    /// The options of a plan that drops nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What the plan drops of that which the model does not have.
    #[must_use]
    pub const fn drops(mut self, drops: Drops) -> Self {
        self.drops = drops;
        self
    }

    /// Renames a table, or a column `table.column`, of the database to this name of the model.
    #[must_use]
    pub fn rename(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.renamed.push((from.into(), to.into()));
        self
    }

    /// Drops this table, or this column `table.column`, whatever [`drops`](Self::drops) says.
    #[must_use]
    pub fn drop(mut self, name: impl Into<String>) -> Self {
        self.dropped.push(name.into());
        self
    }

    /// Keeps this table, or this column `table.column`, whatever [`drops`](Self::drops) says; it is not renamed.
    #[must_use]
    pub fn keep(mut self, name: impl Into<String>) -> Self {
        self.kept.push(name.into());
        self
    }

    /// The former name of a table of the model.
    pub(super) fn former_table(&self, to: &str) -> Option<&str> {
        let mut renamed = self.renamed.iter();
        let found = renamed.find(|(from, new)| new.eq_ignore_ascii_case(to) && !from.contains('.'));
        found.map(|(from, _)| from.as_str())
    }

    /// The former name of a column of the model.
    pub(super) fn former_column(&self, table: &str, to: &str) -> Option<&str> {
        self.renamed.iter().filter(|(_, new)| new.eq_ignore_ascii_case(to)).find_map(|(from, _)| {
            let (start, column) = from.split_at_checked(table.len())?;
            column.strip_prefix('.').filter(|_| start.eq_ignore_ascii_case(table))
        })
    }

    /// Whether a table or column that the model does not have is dropped.
    pub(super) fn drops_name(&mut self, name: &str, by_default: bool) -> bool {
        self.met.push(name.to_owned());
        has(&self.dropped, name) || (by_default && !has(&self.kept, name))
    }

    /// Whether it is said that a table or column that the model does not have is not renamed.
    pub(super) fn is_settled(&self, name: &str) -> bool {
        has(&self.dropped, name) || has(&self.kept, name)
    }

    /// Rejects names that the plan did not meet. `is_done` has what it renamed.
    pub(super) fn check(&self, is_done: impl Fn(&str, &str) -> bool) -> Result<()> {
        let schema = |message| Err(Error::new(ErrorKind::Schema, message));
        if let Some((from, to)) = self.renamed.iter().find(|(from, to)| !is_done(from, to)) {
            return schema(format!(
                "'{from}' cannot be renamed to '{to}': the first one must be in the database and not in the \
                 model, the second one in the model and not in the database, and a column is TABLE.COLUMN"
            ));
        }
        let mut given = self.dropped.iter().chain(&self.kept);
        match given.find(|name| !has(&self.met, name)) {
            None => Ok(()),
            Some(name) => schema(format!(
                "'{name}' cannot be dropped or kept: it must be in the database and not in the model, and \
                 a column is TABLE.COLUMN"
            )),
        }
    }
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

/// A table or column that only the database has, and one that only the model has, which may be the same one under
/// a new name: columns of the same type, or tables that share more than half of the smaller one's columns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PossibleRename {
    /// The table of a column, under its name in the model; `None` for a table.
    pub table: Option<String>,
    /// The name in the database.
    pub from: String,
    /// The name in the model.
    pub to: String,
}

impl PossibleRename {
    /// What [`PlanOptions::rename`], [`drop`](PlanOptions::drop) and [`keep`](PlanOptions::keep) take: a table's
    /// name, or `table.column`.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.table {
            Some(table) => format!("{table}.{}", self.from),
            None => self.from.clone(),
        }
    }
}

/// The question: `is column about of member the renamed bio`.
impl fmt::Display for PossibleRename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, from, to } = self;
        match table {
            Some(table) => write!(f, "is column {to} of {table} the renamed {from}"),
            None => write!(f, "is table {to} the renamed {from}"),
        }
    }
}
