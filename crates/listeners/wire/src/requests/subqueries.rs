//! Conditions on rows of other tables, replaced by the values of these rows for engines that do not run subqueries. With
//! permissions no engine does: then each table's grants and row rules apply to its rows.

use super::client_session::ClientSession;
use bobak_core::{Condition, Error, ErrorKind, Result, Source, SubQuery, SubQueryRows, ValueRef};

impl ClientSession<'_> {
    /// The condition as the engine takes it.
    pub fn with_values(&self, condition: Option<Condition>) -> Result<Option<Condition>> {
        match condition {
            Some(condition) if self.must_replace(&condition) => condition
                .replace_subqueries(&mut |column, query| self.values(column, &query))
                .map(Some),
            condition => Ok(condition),
        }
    }

    fn must_replace(&self, condition: &Condition) -> bool {
        condition.has_subquery() && !self.client.engine.capabilities().subqueries
    }

    fn values(&self, column: usize, query: &SubQuery) -> Result<Condition> {
        let limit = self.shared.settings.max_frame as usize;
        let (mut rows, mut bytes) = (SubQueryRows::new(query, column), 0);
        self.session.query(&Source::Select(&query.to_select()), &mut |row| {
            bytes += (0..row.len()).map(|place| size(row.get(place))).sum::<usize>();
            rows.push(row);
            Ok(bytes <= limit)
        })?;
        if bytes > limit {
            let message = format!(
                "the condition compares with values of more than {limit} bytes: use a narrower one"
            );
            return Err(Error::new(ErrorKind::OutOfRange, message).in_table(query.table.name()));
        }
        Ok(rows.into_condition())
    }
}

/// The size of a value in a request.
fn size(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Null => 0,
        ValueRef::Text(text) => 5 + text.len(),
        ValueRef::Bytes(bytes) => 5 + bytes.len(),
        _ => 9,
    }
}
