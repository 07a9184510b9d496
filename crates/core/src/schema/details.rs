//! What a database has that table schemas do not express.

use std::borrow::Cow;
use std::fmt;

/// What a database has that its [`TableSchema`](crate::TableSchema)s do not express. An engine reports it with
/// [`Session::schema_details`](crate::Session::schema_details).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaDetails {
    /// The rules and objects that the schemas lack: a copy of the tables would lose them.
    pub losses: Vec<SchemaLoss>,
    /// The foreign keys that stored rows break, on an engine that may have such rows: SQLite checks foreign keys only
    /// if the program that writes turns that on. Finding them reads all rows of tables with foreign keys.
    pub broken_keys: Vec<BrokenForeignKey>,
    /// The columns with dates that do not exist, on an engine that may store such dates: MariaDB has 0000-00-00. Finding
    /// them reads all rows of other programs' tables with dates.
    pub invalid_dates: Vec<InvalidDates>,
    /// Indexes that are among the losses, and that a target with SQL may keep.
    pub computed_indexes: Vec<ComputedIndex>,
}

/// An index over expressions, or of the rows that match a condition only: a [`TableSchema`](crate::TableSchema) has neither.
/// Its texts are those of an SQLite file, with stored values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputedIndex {
    /// The index, as the losses list it.
    pub loss: SchemaLoss,
    /// Its name.
    pub name: String,
    /// Whether no two of its rows have the same values.
    pub unique: bool,
    /// Its columns and expressions, in order.
    pub parts: Vec<String>,
    /// Which rows it has; `None` for all.
    pub condition: Option<String>,
}

/// A column with dates that do not exist, such as 0000-00-00: reading one is a `Mismatch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDates {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
    /// How many rows have one.
    pub rows: u64,
}

/// A foreign key that rows break: they refer to rows that do not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenForeignKey {
    /// The table whose rows break it.
    pub table: String,
    /// Its columns, in the order of the table: `number, shop`.
    pub columns: String,
    /// The table that it references.
    pub parent: String,
    /// How many rows break it.
    pub rows: u64,
}

/// A rule or an object of a database that a copy would lose.
///
/// ```
/// let loss = bobak_core::SchemaLoss::new("orders", "trigger orders_audit");
/// assert_eq!(loss.to_string(), "orders: trigger orders_audit");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaLoss {
    /// The table or view that has it.
    pub table: Cow<'static, str>,
    /// What it is, in words: `trigger orders_audit`.
    pub what: Cow<'static, str>,
}

impl SchemaLoss {
    /// A loss of this table or view.
    #[must_use]
    pub fn new(table: impl Into<Cow<'static, str>>, what: impl Into<Cow<'static, str>>) -> Self {
        Self { table: table.into(), what: what.into() }
    }
}

impl fmt::Display for SchemaLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.table, self.what)
    }
}

impl SchemaDetails {
    /// Adds a loss.
    pub fn lose(&mut self, table: &str, what: impl Into<Cow<'static, str>>) {
        self.losses.push(SchemaLoss::new(table.to_owned(), what));
    }

    /// Adds a table that has no schema, with what it lacks. These are its columns.
    pub fn lose_table<'a>(&mut self, table: &str, columns: impl IntoIterator<Item = &'a str>) {
        let mut names: Vec<_> = columns.into_iter().map(str::to_ascii_lowercase).collect();
        names.sort_unstable();
        let what = match names.windows(2).any(|pair| pair.first() == pair.last()) {
            true => "the table: it has columns whose names differ only in case",
            false => "the table: it has no key",
        };
        self.lose(table, what);
    }
}
