//! Permissions, and sets of them.

use bobak_core::{Error, ErrorKind, Result};

/// What a caller may do with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Get, query and count rows.
    Read,
    /// Insert rows.
    Insert,
    /// Update rows.
    Update,
    /// Delete rows.
    Delete,
    /// Name the table in SQL text, to do there what the other permissions allow.
    Sql,
    /// Create the table, and add columns and indexes to it.
    Schema,
}

/// A set of permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PermissionSet(u8);

impl Permission {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Insert, Self::Update, Self::Delete, Self::Sql, Self::Schema];

    /// Its word in the access file: `read`, `insert`, `update`, `delete`, `sql`, `schema`.
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

    /// The error for a caller without it.
    pub(crate) fn denied(self, table: &str) -> Error {
        let what = match self {
            Self::Read => "read from this table",
            Self::Insert => "insert into this table",
            Self::Update => "update rows of this table",
            Self::Delete => "delete from this table",
            Self::Sql => "use this table in SQL",
            Self::Schema => "change the schema of this table",
        };
        Error::new(ErrorKind::Denied, format!("permission denied: you may not {what}"))
            .in_table(table)
    }
}

impl PermissionSet {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(0b11_1111);

    /// The permissions that a word stands for: `write` is insert, update and delete; `all` is all.
    ///
    /// # Errors
    /// `Config` for an unknown word.
    pub fn from_word(word: &str) -> Result<Self> {
        let lower = word.to_ascii_lowercase();
        let mut all = Permission::ALL.into_iter();
        if let Some(permission) = all.find(|permission| permission.word() == lower) {
            return Ok(Self::NONE.with(permission));
        }
        match lower.as_str() {
            "all" => Ok(Self::ALL),
            "write" => Ok(Self::NONE
                .with(Permission::Insert)
                .with(Permission::Update)
                .with(Permission::Delete)),
            _ => {
                let known = Permission::ALL.map(Permission::word).join(", ");
                let message =
                    format!("unknown permission '{word}': expected one of {known}, write, all");
                Err(Error::new(ErrorKind::Config, message))
            }
        }
    }

    #[must_use]
    pub const fn with(self, permission: Permission) -> Self {
        Self(self.0 | 1 << permission as u8)
    }

    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub const fn has(self, permission: Permission) -> bool {
        self.0 & 1 << permission as u8 != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}
