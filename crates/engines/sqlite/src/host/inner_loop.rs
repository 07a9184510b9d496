//! A cursor that is asked for rows by their values over and over, as in the inner loop of a join:
//! it answers from rows that were read ahead, where that is cheaper. What is best is decided in
//! [`lookup`](super::lookup), what is known of keys to come is in [`ahead`](super::ahead).

use super::ahead::{Block, Noted, key_of};
use super::cursor::{Asked, GuestCursor, Rows};
use super::lookup::{Advice, Loaded, Lookups, Wanted, equal_columns, wanted};
use crate::ffi::{Arguments, Running, VirtualCursor};
use bobak_core::{Condition, Error, ErrorKind, Result, RowBuffer, Source, ValueRef};
use std::sync::Arc;

impl GuestCursor {
    /// Answers from rows that were read ahead, where that is best; `false` where the engine must
    /// be asked.
    pub(super) fn look_up(
        &mut self,
        arguments: Arguments<'_>,
        running: Running<'_>,
    ) -> Result<bool> {
        if !self.plan.is_lookup() {
            return Ok(false);
        }
        let values = match wanted(&self.table, &self.plan, |place| arguments.get(place)) {
            Wanted::Values(values) => values,
            Wanted::Nothing => {
                self.at_end = true;
                return Ok(true);
            }
            Wanted::Unknown => return Ok(false),
        };
        if !self.read_ahead(&values, running)? {
            return Ok(false);
        }
        let Some(found) = self.lookups.loaded().map(|rows| rows.find(&self.table, &values)) else {
            return Ok(false);
        };
        let Asked::Conditions(conditions, blocks) = self.asked(arguments) else {
            self.at_end = true;
            return Ok(true);
        };
        if !blocks.is_empty() {
            return Ok(false);
        }
        self.rows = Rows::Loaded { found, row: (0, 0), conditions };
        self.next()?;
        Ok(true)
    }

    /// Whether the rows with these values are here; has them read where that is best.
    fn read_ahead(
        &mut self,
        values: &[(usize, ValueRef<'_>)],
        running: Running<'_>,
    ) -> Result<bool> {
        if self.lookups.has_all() || self.turn_to_block(values)? {
            return Ok(true);
        }
        let (link, guest, table) = (&self.link, self.guest, &self.table);
        match self.lookups.advise(|| link.estimate(guest, table)) {
            Advice::Ask => return Ok(false),
            Advice::LookAhead => {
                return Ok(self.look_ahead(running) && self.turn_to_block(values)?);
            }
            Advice::ReadAll => {
                let loaded = self.load(Vec::new())?;
                self.forget_ahead();
                self.lookups.keep(loaded);
            }
        }
        Ok(self.lookups.has_all())
    }

    /// Finds out which keys the statement will ask for; `false` where that fails, or is no use.
    fn look_ahead(&mut self, running: Running<'_>) -> bool {
        let Some(keys) = self.link.scout(&self.place, || running.run_again()) else {
            return false;
        };
        let estimate = self.link.estimate(self.guest, &self.table);
        let better = Lookups::is_better_ahead(keys.len(), estimate);
        if better {
            self.link.aheads().put(&self.place, keys);
            self.lookups.turn_to(None);
        }
        better
    }

    /// Turns to the block of keys that these values are in; `false` where nobody has seen them.
    fn turn_to_block(&mut self, values: &[(usize, ValueRef<'_>)]) -> Result<bool> {
        if !self.lookups.is_ahead() {
            if !(self.link.is_scouting() && self.link.aheads().join(&self.place)) {
                return Ok(false);
            }
            self.lookups.turn_to(None);
        }
        let columns: Vec<usize> = equal_columns(&self.plan).collect();
        let found = self.link.aheads().find(&self.place, &columns, &key_of(values));
        let block = match found {
            None => return Ok(false),
            Some(Block::Here(block)) => block,
            Some(Block::Away(spot, conditions)) => {
                let Some(loaded) = self.load(conditions)? else {
                    return Ok(false);
                };
                let loaded = Arc::new(loaded);
                self.link.aheads().keep(&self.place, spot, &loaded);
                loaded
            }
        };
        self.lookups.turn_to(Some(block));
        Ok(true)
    }

    /// Leaves what is known of keys to come to others.
    pub(super) fn forget_ahead(&mut self) {
        if self.lookups.is_ahead() {
            self.link.aheads().leave(&self.place);
            self.lookups = Lookups::default();
        }
    }

    /// All rows of the plan's columns that keep the conditions; `None` where there are too many.
    fn load(&self, conditions: Vec<Condition>) -> Result<Option<Loaded>> {
        let select = self.select(conditions);
        let cursor = self.link.open(self.guest, &Source::Select(&select))?.id;
        let fetch = |part: &mut RowBuffer| self.link.fetch(self.guest, cursor, part);
        let loaded = Loaded::read(&self.table, &self.plan, fetch);
        self.link.close(self.guest, cursor);
        loaded
    }

    /// Whether this run is a scout's, which only wants to know the key.
    pub(super) fn is_noted(&self, arguments: Arguments<'_>) -> Result<bool> {
        if !(self.plan.is_lookup() && self.link.is_scouting()) {
            return Ok(false);
        }
        let key = || match wanted(&self.table, &self.plan, |place| arguments.get(place)) {
            Wanted::Values(values) => Some(key_of(&values)),
            Wanted::Nothing | Wanted::Unknown => None,
        };
        match self.link.aheads().note(&self.place, key) {
            Noted::Yes => Ok(true),
            Noted::NotWanted => Ok(false),
            // It ends the scout's run; what it has noted is used.
            Noted::Full => Err(Error::new(ErrorKind::Full, "there are too many keys")),
        }
    }
}
