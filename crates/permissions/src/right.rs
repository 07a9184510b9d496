//! The rights that there are, and sets of them.

use bobak_core::{Error, ErrorKind, Result};

/// What somebody may do with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Right {
    /// Get rows, list them, count them.
    Read,
    /// Add rows.
    Insert,
    /// Change rows.
    Update,
    /// Delete rows.
    Delete,
    /// Name the table in SQL, there to do what the other rights allow.
    Sql,
    /// Create the table, and add columns and indexes to it.
    Schema,
}

/// Some of the rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PermissionSet(u8);

impl Right {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Insert, Self::Update, Self::Delete, Self::Sql, Self::Schema];

    /// Its word in the file: `read`, `insert`, `update`, `delete`, `sql`, `schema`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Sql => "sql",
            Self::Schema => "schema",
        }
    }

    /// What somebody is told who has not got it.
    pub(crate) fn refusal(self, table: &str) -> Error {
        let what = match self {
            Self::Read => "read from this table",
            Self::Insert => "insert into this table",
            Self::Update => "update rows of this table",
            Self::Delete => "delete from this table",
            Self::Sql => "use this table in SQL",
            Self::Schema => "change the schema of this table",
        };
        Error::new(ErrorKind::Denied, format!("you may not {what}")).in_table(table)
    }
}

impl PermissionSet {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(0b11_1111);

    /// Those that words name; `write` is `insert`, `update` and `delete`, `all` is everything.
    ///
    /// # Errors
    /// `Config`.
    pub fn of_word(word: &str) -> Result<Self> {
        let lower = word.to_ascii_lowercase();
        if let Some(right) = Right::ALL.into_iter().find(|right| right.word() == lower) {
            return Ok(Self::NONE.with(right));
        }
        match lower.as_str() {
            "all" => Ok(Self::ALL),
            "write" => Ok(Self::NONE.with(Right::Insert).with(Right::Update).with(Right::Delete)),
            _ => {
                let known = Right::ALL.map(Right::word).join(", ");
                let message = format!("there is no right '{word}'; there are: {known}, write, all");
                Err(Error::new(ErrorKind::Config, message))
            }
        }
    }

    #[must_use]
    pub const fn with(self, right: Right) -> Self {
        Self(self.0 | 1 << right as u8)
    }

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub const fn has(self, right: Right) -> bool {
        self.0 & 1 << right as u8 != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}
