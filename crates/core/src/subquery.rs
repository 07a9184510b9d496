//! Queries inside conditions.

use crate::{
    ColumnPair, Condition, Error, ErrorKind, Result, Row, TableSchema, Value, compare_values,
};
use std::cmp::Ordering;
use std::sync::Arc;

/// One or several columns of the rows of a table that match a condition. Rows with NULL in one of them are left out.
#[derive(Clone, Debug)]
pub struct SubQuery {
    /// The table.
    pub table: Arc<TableSchema>,
    /// The index of the column whose values are compared.
    pub column: usize,
    /// Other columns that are compared together with it: of the table that is queried around, and of this one. With NULL in
    /// one of several columns, a row of the former equals none: that is false, not unknown.
    pub more: Vec<ColumnPair>,
    /// Which rows; all if `None`.
    pub condition: Option<Condition>,
}

impl PartialEq for SubQuery {
    fn eq(&self, other: &Self) -> bool {
        let same_table =
            self.table.name() == other.table.name() && self.table.same_as(&other.table);
        let same_columns = self.column == other.column && self.more == other.more;
        same_table && same_columns && self.condition == other.condition
    }
}

impl SubQuery {
    /// The columns that are compared, of which `compared` is the first one of the table around.
    pub fn pairs(&self, compared: usize) -> impl Iterator<Item = ColumnPair> + Clone {
        let first = ColumnPair { from: compared, to: self.column };
        [first].into_iter().chain(self.more.iter().copied())
    }

    /// Checks that columns of `outer`, of which `compared` is the first, can be compared with the values.
    ///
    /// # Errors
    /// `Schema` if there is no such column; `Mismatch` if the columns are stored in different forms.
    pub fn check_compared(&self, outer: &TableSchema, compared: usize) -> Result<()> {
        self.pairs(compared).try_for_each(|pair| self.check_pair(outer, pair))
    }

    fn check_pair(&self, outer: &TableSchema, pair: ColumnPair) -> Result<()> {
        let compared = outer.column_at(pair.from)?;
        let selected = self.table.column_at(pair.to)?;
        if compared.storage != selected.storage {
            let message = format!(
                "the column cannot be compared with '{}' of {}: their types differ",
                selected.name,
                self.table.name()
            );
            return Err(Error::new(ErrorKind::Mismatch, message)
                .in_table(outer.name())
                .in_column(compared.name.clone()));
        }
        Ok(())
    }

    /// As [`Condition::resolve`], for a subquery whose values a column of `outer` is compared with.
    pub(crate) fn resolve_against(self, outer: &TableSchema, compared: usize) -> Result<Self> {
        self.check_compared(outer, compared)?;
        let condition = self.condition.map(|part| part.resolve(&self.table)).transpose()?;
        Ok(Self { condition, ..self })
    }
}

/// The rows that a [subquery](SubQuery) has found, for engines that do not run it: the condition that a row has the values of
/// one of them.
pub struct SubQueryRows {
    columns: Vec<usize>,
    rows: Vec<Vec<Value<'static>>>,
}

impl SubQueryRows {
    /// No rows yet. `compared` is the first column that is compared with the query.
    #[must_use]
    pub fn new(query: &SubQuery, compared: usize) -> Self {
        Self { columns: query.pairs(compared).map(|pair| pair.from).collect(), rows: Vec::new() }
    }

    /// Adds a row of [`SubQuery::to_select`], unless it has NULL.
    pub fn push(&mut self, row: &dyn Row) {
        let values = (0..self.columns.len()).map(|column| row.get(column));
        if values.clone().all(|value| !value.is_null()) {
            self.rows.push(values.map(|value| value.to_owned()).collect());
        }
    }

    /// The condition.
    #[must_use]
    pub fn into_condition(self) -> Condition {
        if let &[column] = &*self.columns {
            let values = self.rows.into_iter().flatten().collect();
            return Condition::In { column, values };
        }
        let is_null = |&column: &usize| Condition::IsNull { column };
        let not_null = self.columns.iter().map(|column| Condition::Not(Box::new(is_null(column))));
        let (mut parts, mut rows): (Vec<_>, _) = (not_null.collect(), self.rows);
        rows.sort_unstable_by(|a, b| {
            let orders = a.iter().zip(b).map(|(a, b)| order(a, b));
            orders.fold(Ordering::Equal, Ordering::then)
        });
        rows.dedup();
        add_equal_to_any(&mut parts, &self.columns, rows);
        Condition::And(parts)
    }
}

/// Adds conditions that columns equal those of one of some rows, no two of which are the same: that each column has one of
/// its values, and if that is not enough, for each value of the column with the fewest what the others have with it.
fn add_equal_to_any(
    parts: &mut Vec<Condition>,
    columns: &[usize],
    mut rows: Vec<Vec<Value<'static>>>,
) {
    let mut combinations = 1_usize;
    let mut fewest = (usize::MAX, 0);
    for (place, &column) in columns.iter().enumerate() {
        let mut values: Vec<_> = rows.iter().filter_map(|row| row.get(place)).cloned().collect();
        values.sort_unstable_by(order);
        values.dedup();
        combinations = combinations.saturating_mul(values.len());
        fewest = fewest.min((values.len(), place));
        parts.push(Condition::In { column, values });
    }
    if combinations == rows.len() {
        return;
    }
    let (_, place) = fewest;
    let mut others = columns.to_vec();
    let column = others.remove(place);
    let mut groups: Vec<(Value<'static>, Vec<Vec<Value<'static>>>)> = Vec::new();
    rows.sort_by(|a, b| match (a.get(place), b.get(place)) {
        (Some(a), Some(b)) => order(a, b),
        _ => Ordering::Equal,
    });
    for mut row in rows {
        let value = row.remove(place);
        match groups.last_mut() {
            Some((other, group)) if *other == value => group.push(row),
            _ => groups.push((value, vec![row])),
        }
    }
    let group = |(value, rows): (Value<'static>, Vec<Vec<Value<'static>>>)| {
        let mut parts = vec![Condition::In { column, values: vec![value] }];
        add_equal_to_any(&mut parts, &others, rows);
        Condition::And(parts)
    };
    parts.push(Condition::Or(groups.into_iter().map(group).collect()));
}

fn order(a: &Value<'static>, b: &Value<'static>) -> Ordering {
    compare_values(a.as_ref(), b.as_ref())
}
