//! A cursor in the inner loop of a join: it answers repeated lookups from rows in memory if that is
//! cheaper. [`lookup`](crate::lookup) chooses the strategy; [`lookahead`](crate::lookahead) knows the
//! keys of later lookups.

use crate::cursor::{CursorRows, Pushdown, TableCursor};
use crate::lookahead::{Collection, KeyBlock, encode_key};
use crate::lookup::{
    LoadedRows, LookupHistory, LookupKey, LookupStrategy, equal_columns, lookup_key,
};
use bobak_core::{Condition, Error, ErrorKind, Result, RowBuffer, Source, ValueRef};
use bobak_sqlite::virtual_table::{Arguments, RunningStatement, VirtualCursor};
use std::sync::Arc;

impl TableCursor {
    /// Answers from rows in memory if that is best; `false` if the engine must be queried.
    pub(super) fn look_up(
        &mut self,
        arguments: Arguments<'_>,
        statement: RunningStatement<'_>,
    ) -> Result<bool> {
        if !self.plan.is_lookup() {
            return Ok(false);
        }
        let values = match lookup_key(&self.table, &self.plan, |position| arguments.get(position)) {
            LookupKey::Values(values) => values,
            LookupKey::NoRows => {
                self.at_end = true;
                return Ok(true);
            }
            LookupKey::Undecided => return Ok(false),
        };
        if !self.read_ahead(&values, statement)? {
            return Ok(false);
        }
        let Some(found) = self.history.loaded().map(|rows| rows.find(&self.table, &values)) else {
            return Ok(false);
        };
        let Pushdown::Conditions(conditions, blocks) = self.pushdown(arguments) else {
            self.at_end = true;
            return Ok(true);
        };
        if !blocks.is_empty() {
            return Ok(false);
        }
        self.rows = CursorRows::Loaded { found, row: (0, 0), conditions };
        self.next()?;
        Ok(true)
    }

    /// Whether the rows with these values are in memory; reads them if that is best.
    fn read_ahead(
        &mut self,
        values: &[(usize, ValueRef<'_>)],
        statement: RunningStatement<'_>,
    ) -> Result<bool> {
        if self.history.has_all() || self.load_block(values)? {
            return Ok(true);
        }
        let (sessions, engine, table) = (&self.sessions, self.engine, &self.table);
        match self.history.advise(|| sessions.estimate(engine, table)) {
            LookupStrategy::Query => return Ok(false),
            LookupStrategy::LookAhead => {
                return Ok(self.look_ahead(statement) && self.load_block(values)?);
            }
            LookupStrategy::ReadAll => {
                let loaded = self.load(Vec::new())?;
                self.leave_site();
                self.history.store_all(loaded);
            }
        }
        Ok(self.history.has_all())
    }

    /// Finds out the keys of the statement's later lookups; `false` if that fails or does not help.
    fn look_ahead(&mut self, statement: RunningStatement<'_>) -> bool {
        let Some(keys) = self.sessions.scout(&self.site, || statement.run_again()) else {
            return false;
        };
        let estimate = self.sessions.estimate(self.engine, &self.table);
        let better = LookupHistory::is_better_ahead(keys.len(), estimate);
        if better {
            self.sessions.lookups().store_keys(&self.site, keys);
            self.history.use_block(None);
        }
        better
    }

    /// Loads the block that contains these values; `false` if no scout has seen them.
    fn load_block(&mut self, values: &[(usize, ValueRef<'_>)]) -> Result<bool> {
        if !self.history.is_ahead() {
            if !(self.sessions.is_scouting() && self.sessions.lookups().join(&self.site)) {
                return Ok(false);
            }
            self.history.use_block(None);
        }
        let columns: Vec<usize> = equal_columns(&self.plan).collect();
        let found = self.sessions.lookups().find(&self.site, &columns, &encode_key(values));
        let block = match found {
            None => return Ok(false),
            Some(KeyBlock::Loaded(block)) => block,
            Some(KeyBlock::NotLoaded(address, conditions)) => {
                let Some(loaded) = self.load(conditions)? else {
                    return Ok(false);
                };
                let loaded = Arc::new(loaded);
                self.sessions.lookups().store_block(&self.site, address, &loaded);
                loaded
            }
        };
        self.history.use_block(Some(block));
        Ok(true)
    }

    /// Stops using the keys of the site.
    pub(super) fn leave_site(&mut self) {
        if self.history.is_ahead() {
            self.sessions.lookups().leave(&self.site);
            self.history = LookupHistory::default();
        }
    }

    /// Reads all rows that satisfy the conditions; `None` if they are too large.
    fn load(&self, conditions: Vec<Condition>) -> Result<Option<LoadedRows>> {
        let select = self.select(conditions);
        let mut cursor = self.sessions.open(self.engine, &Source::Select(&select))?;
        let fetch = |part: &mut RowBuffer| self.sessions.fetch(self.engine, &mut cursor, part);
        let loaded = LoadedRows::read(&self.table, &self.plan, fetch);
        self.sessions.close(self.engine, &mut cursor);
        loaded
    }

    /// Whether a scout is running that collects this key instead of its rows.
    pub(super) fn collects_key(&self, arguments: Arguments<'_>) -> Result<bool> {
        if !(self.plan.is_lookup() && self.sessions.is_scouting()) {
            return Ok(false);
        }
        let key = || match lookup_key(&self.table, &self.plan, |position| arguments.get(position)) {
            LookupKey::Values(values) => Some(encode_key(&values)),
            LookupKey::NoRows | LookupKey::Undecided => None,
        };
        match self.sessions.lookups().collect(&self.site, key) {
            Collection::Collected => Ok(true),
            Collection::NotCollecting => Ok(false),
            // The error ends the scout's run; the keys collected so far are used.
            Collection::Full => {
                Err(Error::new(ErrorKind::Full, "the scout has collected too many keys"))
            }
        }
    }
}
