//! The history of one row.

use crate::change::{Change, Projection};
use crate::log::{ChangeLog, compare_number};
use bobak_core::change_log::{SEQ, new_column, old_column};
use bobak_core::{Collation, Comparison, Condition, Result, Row, Session, Value};

impl ChangeLog {
    /// The changes of one row with numbers above `since`. The key may be that before or after the change.
    /// Otherwise as [`list_within`](Self::list_within).
    ///
    /// Keys compare as in the table's columns. A log stores texts without a collation, so if a key column
    /// ignores case, the whole log is read.
    ///
    /// # Errors
    /// As [`list`](Self::list); as [`Condition::resolve`] for a key of the wrong type.
    pub fn list_row(
        &self,
        session: &dyn Session,
        key: &[Value<'_>],
        since: u64,
        limit: Option<u64>,
        bytes: usize,
    ) -> Result<(Vec<Change>, bool)> {
        let exact = |column: &usize| !self.is_folded(*column);
        let sides = [old_column, new_column].map(|place| self.equals(key, exact, place));
        let mut condition = Vec::new();
        if since > 0 || sides.iter().any(Vec::is_empty) {
            condition.push(compare_number(SEQ, Comparison::Greater, since));
        }
        if !sides.iter().any(Vec::is_empty) {
            condition.push(Condition::Or(sides.map(Condition::And).into()));
        }
        let condition = Condition::And(condition);
        if self.table.key().iter().all(exact) {
            return self.list_within(session, condition, limit, bytes);
        }
        let own = self.own(key)?;
        let columns = 0..self.table.columns().len();
        let places =
            [old_column, new_column].map(|place| columns.clone().map(place).collect::<Vec<_>>());
        let keeps = |row: &dyn Row| {
            let is_same_row =
                |places| own.evaluate(&self.table, &Projection { row, places }) == Some(true);
            places.iter().any(|places| is_same_row(places))
        };
        self.list_kept(session, condition, Some(&keeps), limit, bytes)
    }

    /// Whether a row of the table has this key, by the collations of its columns.
    ///
    /// # Errors
    /// As [`Condition::resolve`] for a key of the wrong type.
    pub fn is_row(&self, key: &[Value<'_>], row: &dyn Row) -> Result<bool> {
        Ok(self.own(key)?.evaluate(&self.table, row) == Some(true))
    }

    fn own(&self, key: &[Value<'_>]) -> Result<Condition> {
        Condition::And(self.equals(key, |_| true, |column| column)).resolve(&self.table)
    }

    /// Equality of those key columns that `takes` selects, at the log's columns that `place` returns.
    fn equals(
        &self,
        key: &[Value<'_>],
        takes: impl Fn(&usize) -> bool,
        place: impl Fn(usize) -> usize,
    ) -> Vec<Condition> {
        let columns = self.table.key().iter().zip(key).filter(|(column, _)| takes(column));
        let equal = |(&column, value): (&usize, &Value<'_>)| Condition::Compare {
            column: place(column),
            comparison: Comparison::Equal,
            value: value.clone().into_owned(),
        };
        columns.map(equal).collect()
    }

    /// Whether a column's collation treats different texts as equal.
    fn is_folded(&self, column: usize) -> bool {
        let column = self.table.columns().get(column);
        column.is_some_and(|column| column.collation != Collation::Binary)
    }
}
