//! Prepared statements of a connection.

use std::collections::HashMap;

/// Prepared statements by their texts. If there are too many, the one that was not used for the longest time makes room.
#[derive(Debug)]
pub struct PreparedStatementCache<S> {
    statements: HashMap<Box<str>, (S, u64)>,
    clock: u64,
    most: usize,
}

impl<S> PreparedStatementCache<S> {
    /// No statements, of which there will be so many at most.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { statements: HashMap::new(), clock: 0, most }
    }

    /// The statement of a text.
    pub fn get(&mut self, sql: &str) -> Option<&S> {
        self.clock += 1;
        let (statement, used) = self.statements.get_mut(sql)?;
        *used = self.clock;
        Some(statement)
    }

    /// Removes the statement of a text.
    pub fn remove(&mut self, sql: &str) -> Option<S> {
        self.statements.remove(sql).map(|(statement, _)| statement)
    }

    /// Adds a statement; returns the one that makes room for it, which the caller closes.
    pub fn insert(&mut self, sql: &str, statement: S) -> Option<S> {
        let oldest = match self.statements.len() >= self.most {
            true => self.statements.iter().min_by_key(|(_, (_, used))| *used),
            false => None,
        };
        let oldest = oldest.map(|(text, _)| text.clone());
        self.clock += 1;
        self.statements.insert(sql.into(), (statement, self.clock));
        oldest.and_then(|text| self.remove(&text))
    }

    /// Removes all statements.
    pub fn take_all(&mut self) -> impl Iterator<Item = S> + use<S> {
        std::mem::take(&mut self.statements).into_values().map(|(statement, _)| statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_that_was_not_used_makes_room() {
        let mut cache = PreparedStatementCache::new(2);
        assert_eq!((cache.insert("a", 1), cache.insert("b", 2)), (None, None));
        assert_eq!(cache.get("a"), Some(&1));
        assert_eq!(cache.insert("c", 3), Some(2));
        assert_eq!(cache.get("b"), None);
        assert_eq!(cache.remove("a"), Some(1));
        assert_eq!(cache.take_all().collect::<Vec<_>>(), [3]);
    }
}
