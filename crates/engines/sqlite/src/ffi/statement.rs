//! Prepared statements: preparing, binding, stepping and resetting them.

use super::actions::StatementAction;
use super::bind::Binder;
use super::connection::{Connection, Failure, copy_text};
use super::row::RowRef;
use bobak_core::ValueRef;
use bobak_core::codec::RawValue;
use libsqlite3_sys as sys;
use std::ffi::{c_int, c_uint};
use std::ptr;

/// Identifies a statement of one connection. Invalid after the statement is finalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementId {
    index: u32,
    generation: u32,
}

/// A slot for a statement; `raw` is null if it is free.
#[derive(Debug)]
pub(super) struct Slot {
    pub raw: *mut sys::sqlite3_stmt,
    generation: u32,
    parameters: usize,
    read_only: bool,
    state: StatementState,
    /// The distance between the values of a row: see [`RowRef::find_stride`].
    stride: Stride,
    /// What it does, if the connection collects that.
    actions: Option<Vec<StatementAction>>,
}

/// The layout of a statement's rows, found in an earlier run. Valid until SQLite prepares the
/// statement again, which it counts.
#[derive(Clone, Copy, Debug, Default)]
struct Stride {
    bytes: usize,
    columns: usize,
    prepared: c_int,
}

/// Whether a statement may be stepped, and may point to a caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatementState {
    /// Reset: must be bound first.
    Reset,
    /// Started with borrowed values: only its [`StatementRows`] may step it.
    Lent,
    /// Started with copied values: may be stepped at any time.
    Begun,
}

/// A running statement with borrowed values; dropping it resets the statement.
#[derive(Debug)]
pub(crate) struct StatementRows<'a> {
    connection: &'a mut Connection,
    index: usize,
    raw: *mut sys::sqlite3_stmt,
    /// The layout of the rows, known from the first one on.
    columns: usize,
    stride: usize,
    begun: bool,
    ended: bool,
}

impl Connection {
    /// Prepares the first statement of a text, for repeated use; `None` if there is only white
    /// space. Also returns the number of bytes read.
    pub(crate) fn prepare(
        &mut self,
        sql: impl AsRef<[u8]>,
    ) -> Result<(Option<StatementId>, usize), Failure> {
        let sql = sql.as_ref();
        let length = c_int::try_from(sql.len())
            .map_err(|_| Failure::own(sys::SQLITE_TOOBIG, "the SQL text is too long"))?;
        if sql.contains(&0) {
            let message = "syntax error: a NUL in the SQL text";
            return Err(Failure::own(sys::SQLITE_ERROR, message));
        }
        drop(self.take_pending());
        if let Some(watch) = &self.watch {
            watch.clear();
        }
        let (mut raw, mut tail) = (ptr::null_mut(), ptr::null());
        let start = sql.as_ptr().cast();
        let flags = sys::SQLITE_PREPARE_PERSISTENT as c_uint;
        // SAFETY: the handle is open, the text has `length` bytes.
        let code = unsafe {
            sys::sqlite3_prepare_v3(self.raw.as_ptr(), start, length, flags, &mut raw, &mut tail)
        };
        self.check(code)?;
        let used = (tail as usize).saturating_sub(start as usize).min(sql.len());
        Ok(((!raw.is_null()).then(|| self.keep(raw)), used))
    }

    /// Frees a statement; does nothing if it is already freed.
    pub(crate) fn finalize(&mut self, id: StatementId) {
        if let Ok(index) = self.find(id)
            && let Some(slot) = self.slots.get_mut(index)
        {
            // SAFETY: a slot's statement is valid; it is forgotten here.
            unsafe { sys::sqlite3_finalize(slot.raw) };
            slot.raw = ptr::null_mut();
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(id.index);
        }
    }

    /// Runs a statement to its end with borrowed values, discarding its rows, and resets it.
    #[inline]
    pub(crate) fn execute<'v>(
        &mut self,
        id: StatementId,
        values: impl Iterator<Item = impl Into<RawValue<'v>>>,
    ) -> Result<(), Failure> {
        self.execute_with(id, |binder| values.for_each(|value| binder.push(value.into())))
    }

    /// As [`execute`](Self::execute), with the values that `bind` pushes.
    #[inline]
    pub(crate) fn execute_with<'v>(
        &mut self,
        id: StatementId,
        bind: impl FnOnce(&mut Binder<'v>),
    ) -> Result<(), Failure> {
        let (_, raw) = self.bind_all::<false>(id, bind)?;
        // SAFETY: all parameters have just been bound, and the values live until this call ends.
        unsafe {
            let mut code = sys::sqlite3_step(raw);
            while code == sys::SQLITE_ROW {
                code = sys::sqlite3_step(raw);
            }
            let result = if code == sys::SQLITE_DONE { Ok(()) } else { Err(self.failure(code)) };
            sys::sqlite3_reset(raw);
            result
        }
    }

    /// Starts a statement with borrowed values and returns its rows.
    #[inline]
    pub(crate) fn rows<'a, 'v: 'a>(
        &'a mut self,
        id: StatementId,
        values: impl Iterator<Item = impl Into<RawValue<'v>>>,
    ) -> Result<StatementRows<'a>, Failure> {
        self.rows_with(id, |binder| values.for_each(|value| binder.push(value.into())))
    }

    /// As [`rows`](Self::rows), with the values that `bind` pushes.
    #[inline]
    pub(crate) fn rows_with<'a, 'v: 'a>(
        &'a mut self,
        id: StatementId,
        bind: impl FnOnce(&mut Binder<'v>),
    ) -> Result<StatementRows<'a>, Failure> {
        let (index, raw) = self.bind_all::<false>(id, bind)?;
        self.set_state(index, StatementState::Lent);
        let (columns, stride) = (0, 0);
        Ok(StatementRows {
            connection: self,
            index,
            raw,
            columns,
            stride,
            begun: false,
            ended: false,
        })
    }

    /// Starts a statement with copies of the values, so that it can be stepped later.
    pub(crate) fn begin<'v>(
        &mut self,
        id: StatementId,
        values: impl Iterator<Item = ValueRef<'v>>,
    ) -> Result<(), Failure> {
        let (index, _) =
            self.bind_all::<true>(id, |binder| values.for_each(|v| binder.push(v.into())))?;
        self.set_state(index, StatementState::Begun);
        Ok(())
    }

    /// The next row of a statement started by [`begin`](Self::begin). Resets it at the end and
    /// after an error.
    pub(crate) fn step(&mut self, id: StatementId) -> Result<Option<RowRef<'_>>, Failure> {
        let index = self.find(id)?;
        let slot = self.slots.get(index).filter(|slot| slot.state == StatementState::Begun);
        let Some(raw) = slot.map(|slot| slot.raw) else {
            return Err(misuse("the statement was not begun"));
        };
        // SAFETY: the statement is valid and its parameters are copies.
        let code = unsafe { sys::sqlite3_step(raw) };
        if code == sys::SQLITE_ROW {
            // SAFETY: it stands on a row, and the result borrows the connection.
            return Ok(Some(unsafe { RowRef::new(raw, column_count(raw)) }));
        }
        let result = if code == sys::SQLITE_DONE { Ok(None) } else { Err(self.failure(code)) };
        self.reset(id);
        result
    }

    /// Resets a statement.
    pub(crate) fn reset(&mut self, id: StatementId) {
        if let Ok(index) = self.find(id) {
            self.reset_index(index);
        }
    }

    /// Whether the statement does not change the database.
    pub(crate) fn is_read_only_statement(&self, id: StatementId) -> bool {
        self.slot(id).is_some_and(|slot| slot.read_only)
    }

    /// What the statement does, if the connection collects that.
    pub(crate) fn actions(&self, id: StatementId) -> &[StatementAction] {
        self.slot(id).and_then(|slot| slot.actions.as_deref()).unwrap_or_default()
    }

    /// Whether the connection collected actions when the statement was prepared.
    pub(crate) fn was_watched(&self, id: StatementId) -> bool {
        self.slot(id).is_some_and(|slot| slot.actions.is_some())
    }

    /// The number of parameters of the statement.
    pub(crate) fn parameters(&self, id: StatementId) -> usize {
        self.slot(id).map_or(0, |slot| slot.parameters)
    }

    /// The names of the result columns.
    pub(crate) fn column_names(&self, id: StatementId) -> Vec<String> {
        let Some(slot) = self.slot(id) else {
            return Vec::new();
        };
        // SAFETY: the statement is valid; each name is copied at once.
        unsafe {
            (0..sys::sqlite3_column_count(slot.raw))
                .map(|column| copy_text(sys::sqlite3_column_name(slot.raw, column)))
                .collect()
        }
    }

    fn keep(&mut self, raw: *mut sys::sqlite3_stmt) -> StatementId {
        // SAFETY: the statement was prepared just now.
        let (parameters, read_only) = unsafe {
            (sys::sqlite3_bind_parameter_count(raw) as usize, sys::sqlite3_stmt_readonly(raw) != 0)
        };
        let actions = self.watch.as_ref().map(|watch| watch.take());
        let (state, stride) = (StatementState::Reset, Stride::default());
        let mut slot = Slot { raw, generation: 0, parameters, read_only, state, stride, actions };
        while let Some(index) = self.free.pop() {
            if let Some(place) = self.slots.get_mut(index as usize) {
                slot.generation = place.generation;
                *place = slot;
                return StatementId { index, generation: place.generation };
            }
        }
        self.slots.push(slot);
        // SQLite's own limits are far below 2³² statements.
        StatementId { index: (self.slots.len() - 1) as u32, generation: 0 }
    }

    #[inline]
    fn find(&self, id: StatementId) -> Result<usize, Failure> {
        let index = id.index as usize;
        match self.slots.get(index) {
            Some(slot) if slot.generation == id.generation && !slot.raw.is_null() => Ok(index),
            _ => Err(misuse("the statement is gone")),
        }
    }

    fn slot(&self, id: StatementId) -> Option<&Slot> {
        self.slots.get(self.find(id).ok()?)
    }

    fn set_state(&mut self, index: usize, state: StatementState) {
        if let Some(slot) = self.slots.get_mut(index) {
            slot.state = state;
        }
    }

    /// Resets the statement and binds every parameter: on success it holds no value of an earlier
    /// run.
    #[inline]
    fn bind_all<'v, const COPY: bool>(
        &mut self,
        id: StatementId,
        bind: impl FnOnce(&mut Binder<'v, COPY>),
    ) -> Result<(usize, *mut sys::sqlite3_stmt), Failure> {
        // Discard an error that a previous statement ignored.
        drop(self.take_pending());
        let index = self.find(id)?;
        if self.slots.get(index).is_some_and(|slot| slot.state != StatementState::Reset) {
            self.reset_index(index);
        }
        let Some(&Slot { raw, parameters, .. }) = self.slots.get(index) else {
            return Err(misuse("the statement is gone"));
        };
        // SAFETY: the statement is valid and reset; callers without `COPY` step it only while the
        // values live, and only after this function has bound every parameter.
        let mut binder = unsafe { Binder::<COPY>::new(raw) };
        bind(&mut binder);
        match binder.finish() {
            Ok(bound) if bound == parameters => Ok((index, raw)),
            Ok(_) => Err(misuse("a statement has more parameters than values")),
            Err(code) => Err(self.failure(code)),
        }
    }

    fn reset_index(&mut self, index: usize) {
        if let Some(slot) = self.slots.get_mut(index) {
            // SAFETY: the statement is valid, or null, which does nothing.
            unsafe { sys::sqlite3_reset(slot.raw) };
            slot.state = StatementState::Reset;
        }
    }
}

impl StatementRows<'_> {
    /// The next row; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<RowRef<'_>>, Failure> {
        if self.ended {
            return Ok(None);
        }
        // SAFETY: the statement is valid and its values are borrowed for as long as `self` lives.
        let code = unsafe { sys::sqlite3_step(self.raw) };
        if code == sys::SQLITE_ROW {
            if !self.begun {
                self.look_at_row();
            }
            // SAFETY: it stands on a row, and the result borrows `self`.
            return Ok(Some(unsafe { RowRef::with_stride(self.raw, self.columns, self.stride) }));
        }
        self.ended = true;
        if code == sys::SQLITE_DONE { Ok(None) } else { Err(self.connection.failure(code)) }
    }
}

impl StatementRows<'_> {
    /// Reads the layout from the first row: a changed schema can change the number of columns
    /// only at the first step.
    #[inline]
    fn look_at_row(&mut self) {
        self.begun = true;
        // SAFETY: the statement stands on a row.
        let columns = unsafe { column_count(self.raw) };
        self.columns = columns;
        if columns < 2 {
            return;
        }
        let Some(slot) = self.connection.slots.get_mut(self.index) else {
            return;
        };
        // SAFETY: the statement is valid; asking leaves its counters as they are.
        let prepared =
            unsafe { sys::sqlite3_stmt_status(self.raw, sys::SQLITE_STMTSTATUS_REPREPARE, 0) };
        if slot.stride.columns != columns || slot.stride.prepared != prepared {
            // SAFETY: it stands on a row.
            let bytes = unsafe { RowRef::new(self.raw, columns) }.find_stride();
            slot.stride = Stride { bytes, columns, prepared };
        }
        self.stride = slot.stride.bytes;
    }
}

impl Drop for StatementRows<'_> {
    fn drop(&mut self) {
        self.connection.reset_index(self.index);
    }
}

/// # Safety
/// The statement stands on a row.
#[inline]
unsafe fn column_count(statement: *mut sys::sqlite3_stmt) -> usize {
    // SAFETY: the caller says so.
    unsafe { sys::sqlite3_data_count(statement) as usize }
}

#[cold]
fn misuse(message: &str) -> Failure {
    Failure::own(sys::SQLITE_MISUSE, message)
}
