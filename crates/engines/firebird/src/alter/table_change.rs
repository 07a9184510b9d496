//! A change of a table into another form, with what the catalog has of it.

use super::kept_column::{ColumnStep, KeptColumn};
use crate::comment::TableComment;
use crate::connection::Connection;
use crate::firebird_table::FirebirdTable;
use crate::mode::Mode;
use crate::names::{Names, quoted};
use crate::table_rules::{TableRule, rules};
use bobak_core::{Error, ErrorKind, Result, TableAlteration, TableSchema};
use bobak_engine_common::{StatementDialect, find_table, missing_table, table_exists};

/// A change of a table.
pub(super) struct TableChange {
    pub names: Names,
    pub alteration: TableAlteration,
    pub stored: FirebirdTable,
    /// All tables, as they are and as they will be.
    pub before: Vec<TableSchema>,
    pub after: Vec<TableSchema>,
    pub kept: Vec<KeptColumn>,
    /// The table's rules before and after.
    pub old_rules: Vec<TableRule>,
    pub new_rules: Vec<TableRule>,
}

impl TableChange {
    /// Reads what the catalog has, and checks that the change can be made.
    ///
    /// # Errors
    /// `Schema` if the table is another one, or the new name is taken; `Unsupported`.
    pub(super) fn read(
        connection: &mut Connection,
        alteration: &TableAlteration,
        before: Vec<TableSchema>,
    ) -> Result<Self> {
        let names = connection.names;
        let place = find_table(&before, alteration.from());
        let stored = place.and_then(|place| before.get(place));
        let stored = stored.ok_or_else(|| missing_table(alteration.from()))?;
        let alteration = alteration.for_stored(stored)?;
        if find_table(&before, alteration.to()).is_some_and(|other| Some(other) != place) {
            return Err(table_exists(alteration.to()));
        }
        let follow = |(at, table): (usize, &TableSchema)| match Some(at) == place {
            true => Ok(TableSchema::clone(alteration.to())),
            false => alteration.follow(table),
        };
        let after = before.iter().enumerate().map(follow).collect::<Result<Vec<_>>>()?;
        let name = names.stored(alteration.from().name()).into_owned();
        let stored =
            connection.in_mode(Mode::Read, |connection| FirebirdTable::read(connection, &name))?;
        let kept = KeptColumn::all(names, &alteration, &stored)?;
        let (old_rules, new_rules) =
            (rules(names, alteration.from(), &before)?, rules(names, alteration.to(), &after)?);
        let change = Self { names, alteration, stored, before, after, kept, old_rules, new_rules };
        change.check_owner()?;
        Ok(change)
    }

    /// The table's name in the catalog.
    pub(super) fn stored_name(&self) -> String {
        self.names.stored(self.alteration.from().name()).into_owned()
    }

    /// The names of columns in quotes, as they are in the catalog before the change.
    pub(super) fn old_names(&self, is_it: impl Fn(&KeptColumn) -> bool) -> Vec<String> {
        self.kept.iter().filter(|column| is_it(column)).map(|column| quoted(&column.name)).collect()
    }

    /// The new name of a kept column, in quotes.
    pub(super) fn new_name(&self, column: &KeptColumn) -> String {
        self.names.column(self.alteration.to(), column.new)
    }

    pub(super) fn is_renamed(&self, column: &KeptColumn) -> bool {
        quoted(&column.name) != self.new_name(column)
    }

    /// The columns that are dropped, in quotes.
    pub(super) fn dropped(&self) -> Vec<String> {
        let dropped = self.alteration.dropped().iter();
        dropped.map(|place| self.names.column(self.alteration.from(), *place)).collect()
    }

    /// Whether the rows are copied: if values need another type, or a column gets the name of one that is dropped. A
    /// statement that another connection has prepared before would write what it has for a column into the dropped one; only
    /// the drop of the table makes sure that there is none.
    pub(super) fn copies_rows(&self) -> bool {
        let (to, dropped) = (self.alteration.to(), self.dropped());
        let is_new = |column: &&KeptColumn| self.is_renamed(column);
        let mut names = self.kept.iter().filter(is_new).map(|column| self.new_name(column));
        self.alteration.renames_table()
            || self.kept.iter().any(|column| column.step == ColumnStep::Copy)
            || names.any(|name| dropped.contains(&name))
            || self.alteration.added().any(|at| dropped.contains(&self.names.column(to, at)))
    }

    #[cold]
    pub(super) fn unsupported(&self, message: &str) -> Error {
        let table = self.alteration.from().name().to_owned();
        Error::new(ErrorKind::Unsupported, message).in_table(table)
    }

    /// Rejects a table that Bobak has not made, or that another program has changed.
    fn check_owner(&self) -> Result<()> {
        let from = self.alteration.from();
        let is_there =
            |rule: &TableRule| self.stored.drop_rule(self.names, from, &rule.name).is_some();
        let is_own = matches!(self.stored.comment, Some(TableComment::Whole(_)));
        if is_own && self.old_rules.iter().all(is_there) {
            return Ok(());
        }
        Err(self
            .unsupported("another program has made this table, or changed it: change it in SQL"))
    }

    /// Rejects what a copy of the rows would start or lose.
    ///
    /// # Errors
    /// `Unsupported`.
    pub(super) fn check_copied(&self) -> Result<()> {
        if !self.copies_rows() {
            return Ok(());
        }
        let trigger = self.stored.triggers.first().map(|name| format!("the trigger {name}"));
        let rule = || {
            let rule = self.stored.unknown_rule(&self.old_rules)?;
            Some(format!("{rule}, which Bobak does not know"))
        };
        let grant = || self.stored.grantees.first().map(|user| format!("permissions of {user}"));
        match trigger.or_else(rule).or_else(grant) {
            None => Ok(()),
            Some(what) => Err(self.unsupported(&format!(
                "Firebird makes this change by a copy of the rows, and the table has {what}: drop \
                 that before the change, and create it again afterwards"
            ))),
        }
    }
}
