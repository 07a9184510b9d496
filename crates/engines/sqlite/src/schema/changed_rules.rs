//! The rules of a table that are changed in the text of its CREATE TABLE statement.

use super::text::has_word;
use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenizer};
use bobak_core::{Error, ErrorKind, Result, TableAlteration};
use bobak_sql::sqlite_foreign_key;

/// A column, and the one that has its values in its new type and is gone after.
pub(super) struct Conversion {
    pub column: String,
    values: String,
}

impl Conversion {
    /// Those that an alteration ends.
    pub fn all_of(alteration: &TableAlteration) -> Vec<Self> {
        let columns = alteration.from().columns();
        let conversion = |(old, by): (usize, usize)| {
            let name = |place: usize| columns.get(place).map(|column| column.name.to_string());
            Some(Self { column: name(old)?, values: name(by)? })
        };
        alteration.converted().into_iter().filter_map(conversion).collect()
    }
}

/// What is different in the statement.
pub(super) struct ChangedRules {
    /// The columns with other definitions, as places in the new form.
    pub columns: Vec<usize>,
    /// The key, if whether it is reused changes.
    pub key: Option<usize>,
    /// The columns of each dropped foreign key of several columns, in the order of their names.
    dropped: Vec<Vec<String>>,
    /// The definitions of new foreign keys.
    pub added: Vec<String>,
    conversions: Vec<Conversion>,
}

impl ChangedRules {
    pub fn of(
        alteration: &TableAlteration,
        columns: &[usize],
        conversions: Vec<Conversion>,
    ) -> Self {
        let (renamed, to) = (alteration.renamed(), alteration.to());
        let (dropped, added) = alteration.changed_foreign_keys();
        let names = |number: &usize| {
            let key = renamed.foreign_keys().get(*number)?;
            let columns = key.columns.iter().filter_map(|place| renamed.columns().get(*place));
            let mut names: Vec<_> = columns.map(|column| column.name.to_lowercase()).collect();
            names.sort();
            Some(names)
        };
        let key = alteration.changes_key_reuse().then(|| to.key().first().copied()).flatten();
        Self {
            columns: columns.to_vec(),
            key,
            dropped: dropped.iter().filter_map(names).collect(),
            added: added.iter().map(|number| sqlite_foreign_key(to, *number)).collect(),
            conversions,
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.in_text() == 0 && self.added.is_empty()
    }

    /// How many definitions of the text change.
    pub const fn in_text(&self) -> usize {
        self.columns.len()
            + self.key.is_some() as usize
            + self.dropped.len()
            + self.conversions.len()
    }

    /// Whether a stored column has the values of another one, and is gone after.
    pub fn takes_values(&self, column: &str) -> bool {
        self.conversions.iter().any(|made| made.values.eq_ignore_ascii_case(column))
    }

    /// The stored column with the values of a column.
    pub fn values_of<'n>(&'n self, column: &'n str) -> &'n str {
        let made = self.conversions.iter().find(|made| made.column.eq_ignore_ascii_case(column));
        made.map_or(column, |made| &made.values)
    }

    /// Whether this part of the statement is a foreign key that is dropped.
    pub fn drops(&self, part: &str) -> bool {
        let mut tokens = SqlTokenizer::new(SqlSyntax::Sqlite, part)
            .significant()
            .skip_while(|token| !token.is_word("FOREIGN"));
        let begins = tokens.next().is_some() && tokens.next().is_some_and(|t| t.is_word("KEY"));
        if !begins {
            return false;
        }
        let columns = tokens.skip(1).take_while(|token| !token.is_operator(")"));
        let columns = columns.filter(|token| !token.is_operator(","));
        let name = |token: SqlToken<'_>| token.unquoted().to_lowercase();
        let mut names: Vec<String> = columns.map(name).collect();
        names.sort();
        self.dropped.contains(&names)
    }
}

/// The definition of an integer key, with AUTOINCREMENT or without it.
pub(super) fn redefined_key(part: &str, never_reused: bool) -> Result<String> {
    let tokens = SqlTokenizer::new(SqlSyntax::Sqlite, part).significant();
    if !never_reused {
        let word = tokens.clone().find(|token| token.is_word("AUTOINCREMENT"));
        return Ok(word.map_or_else(
            || part.to_owned(),
            |word| {
                let (before, after) = (part.get(..word.start), part.get(word.end()..));
                format!("{}{}", before.unwrap_or_default().trim_end(), after.unwrap_or_default())
            },
        ));
    }
    let mut rest = tokens.skip_while(|token| !token.is_word("KEY"));
    let mut end = rest.next().map(|key| key.end());
    if let Some(order) = rest.next().filter(|word| word.is_word("ASC")) {
        end = Some(order.end());
    }
    let is_simple = !has_word(part, "CONFLICT") && !has_word(part, "DESC");
    let Some((before, after)) =
        end.filter(|_| is_simple).and_then(|end| part.split_at_checked(end))
    else {
        let message = "the key is not declared by its column alone: change it in SQL";
        return Err(Error::new(ErrorKind::Unsupported, message));
    };
    Ok(format!("{before} AUTOINCREMENT{after}"))
}
