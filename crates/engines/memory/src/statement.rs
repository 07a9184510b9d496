//! A statement over several rows: all of it, or nothing.

use crate::log;
use crate::rows::RowBytes;
use crate::state::DatabaseState;
use bobak_core::Result;
use std::sync::Arc;

/// Changes to a state that can be undone until the statement ends.
pub(super) struct AtomicStatement<'a> {
    state: &'a mut DatabaseState,
    done: Vec<UndoStep>,
}

/// One change that was made.
pub(super) enum UndoStep {
    /// A row was added.
    Added { position: usize, slot: u32 },
    /// A row was removed. Its slot stays unused as long as it may be put back.
    Removed { position: usize, slot: u32, row: RowBytes },
    /// A row took another's place.
    Replaced { position: usize, slot: u32, old: RowBytes },
}

impl<'a> AtomicStatement<'a> {
    /// Runs a statement: keeps its changes if it returns `Ok`, and undoes them if not.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn run<R>(
        state: &'a mut DatabaseState,
        run: impl FnOnce(&mut AtomicStatement<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut statement = AtomicStatement { state, done: Vec::new() };
        let result = run(&mut statement);
        let result = result.and_then(|given| log::append_changes(&mut statement).map(|()| given));
        match result {
            Ok(_) => statement.keep(),
            Err(_) => statement.undo(),
        }
        result
    }

    /// The state, with the changes so far.
    pub fn state(&self) -> &DatabaseState {
        self.state
    }

    /// The changes so far, in order.
    pub fn done(&self) -> &[UndoStep] {
        &self.done
    }

    /// Adds a row that was checked.
    ///
    /// # Errors
    /// `Full`.
    pub fn add(&mut self, position: usize, row: RowBytes) -> Result<u32> {
        let slot = self.state.table_mut(position).add(row)?;
        self.done.push(UndoStep::Added { position, slot });
        Ok(slot)
    }

    /// Removes a row and returns it; `None` if it was removed already.
    pub fn remove(&mut self, position: usize, slot: u32) -> Option<RowBytes> {
        let row = self.state.table_mut(position).remove(slot)?;
        self.done.push(UndoStep::Removed { position, slot, row: Arc::clone(&row) });
        Some(row)
    }

    /// Replaces a row by one that was checked.
    pub fn replace(&mut self, position: usize, slot: u32, row: &RowBytes) {
        if let Some(old) = self.state.table_mut(position).replace(slot, row) {
            self.done.push(UndoStep::Replaced { position, slot, old });
        }
    }

    fn keep(self) {
        for done in self.done {
            if let UndoStep::Removed { position, slot, .. } = done {
                self.state.table_mut(position).free(slot);
            }
        }
    }

    fn undo(self) {
        for done in self.done.into_iter().rev() {
            match done {
                UndoStep::Added { position, slot } => {
                    let table = self.state.table_mut(position);
                    table.remove(slot);
                    table.free(slot);
                }
                UndoStep::Removed { position, slot, row } => {
                    self.state.table_mut(position).put_back(slot, &row);
                }
                UndoStep::Replaced { position, slot, old } => {
                    self.state.table_mut(position).replace(slot, &old);
                }
            }
        }
    }
}
