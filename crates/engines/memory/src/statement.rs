//! A statement over several rows: all of it, or nothing.

use crate::log;
use crate::rows::RowBytes;
use crate::state::State;
use bobak_core::Result;
use std::sync::Arc;

/// Changes to a state that can be undone until the statement ends.
pub(super) struct Statement<'a> {
    state: &'a mut State,
    done: Vec<Done>,
}

/// One change that was made.
pub(super) enum Done {
    /// A row was added.
    Added { place: usize, slot: u32 },
    /// A row was removed. Its slot stays unused as long as it may be put back.
    Removed { place: usize, slot: u32, row: RowBytes },
    /// A row took another's place.
    Replaced { place: usize, slot: u32, old: RowBytes },
}

impl<'a> Statement<'a> {
    /// Runs a statement: what it did stays where it gives `Ok`, and is undone where not.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn run<R>(
        state: &'a mut State,
        run: impl FnOnce(&mut Statement<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut statement = Statement { state, done: Vec::new() };
        let result = run(&mut statement);
        let result = result.and_then(|given| log::write_down(&mut statement).map(|()| given));
        match result {
            Ok(_) => statement.keep(),
            Err(_) => statement.undo(),
        }
        result
    }

    /// The state, with what was done so far.
    pub fn state(&self) -> &State {
        self.state
    }

    /// What was done so far, in order.
    pub fn done(&self) -> &[Done] {
        &self.done
    }

    /// Adds a row that was checked.
    ///
    /// # Errors
    /// `Full`.
    pub fn add(&mut self, place: usize, row: RowBytes) -> Result<u32> {
        let slot = self.state.table_mut(place).add(row)?;
        self.done.push(Done::Added { place, slot });
        Ok(slot)
    }

    /// Removes a row, and gives it; `None` where it is gone already.
    pub fn remove(&mut self, place: usize, slot: u32) -> Option<RowBytes> {
        let row = self.state.table_mut(place).remove(slot)?;
        self.done.push(Done::Removed { place, slot, row: Arc::clone(&row) });
        Some(row)
    }

    /// Puts a row that was checked in another's place.
    pub fn replace(&mut self, place: usize, slot: u32, row: &RowBytes) {
        if let Some(old) = self.state.table_mut(place).replace(slot, row) {
            self.done.push(Done::Replaced { place, slot, old });
        }
    }

    fn keep(self) {
        for done in self.done {
            if let Done::Removed { place, slot, .. } = done {
                self.state.table_mut(place).free(slot);
            }
        }
    }

    fn undo(self) {
        for done in self.done.into_iter().rev() {
            match done {
                Done::Added { place, slot } => {
                    let table = self.state.table_mut(place);
                    table.remove(slot);
                    table.free(slot);
                }
                Done::Removed { place, slot, row } => {
                    self.state.table_mut(place).put_back(slot, &row);
                }
                Done::Replaced { place, slot, old } => {
                    self.state.table_mut(place).replace(slot, &old);
                }
            }
        }
    }
}
