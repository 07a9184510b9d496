//! The log of one table, and which tables have one.

use crate::change::{Change, integer};
use bobak_core::change_log::{
    AT, SEQ, TableMoves, is_captured, is_captured_as_now, layout, layout_schema, log_schema,
    tracked_schema, untracked_text,
};
use bobak_core::{
    Comparison, Condition, Engine, Error, ErrorKind, Expr, Result, ResultColumn, Row, Select,
    Session, Source, TableSchema, Timestamp, Value, ValueRef,
};
use std::sync::Arc;

/// Whether a row of a log is selected.
pub(crate) type Keeps<'a> = &'a dyn Fn(&dyn Row) -> bool;

/// The log of a tracked table.
#[derive(Clone, Debug)]
pub struct ChangeLog {
    /// The tracked table.
    pub table: Arc<TableSchema>,
    /// The log's own schema.
    pub schema: Arc<TableSchema>,
    /// The layouts that the table had since it was tracked, the last one being in force; empty if an earlier version of
    /// Bobak tracked it.
    pub layouts: Vec<TableLayout>,
    columns: Arc<Vec<ResultColumn>>,
}

/// An entry of the list of tracked tables.
#[derive(Clone, Debug)]
pub struct TrackedTable {
    /// The table's name.
    pub name: String,
    /// The largest number of a change that was removed from its log; 0 if none was.
    pub pruned: u64,
}

/// A layout of a tracked table: see [`layout_schema`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLayout {
    /// The table's name.
    pub table: String,
    /// Changes with larger numbers were captured with it.
    pub since: u64,
    /// The columns, as [`layout`] writes them.
    pub layout: String,
}

impl TableLayout {
    /// Whether it has a column with this name.
    #[must_use]
    pub fn has_column(&self, name: &str) -> bool {
        let begins = format!("{name:?} ");
        // A quote in a name has a backslash before it.
        self.layout.starts_with(&begins) || self.layout.contains(&format!("; {begins}"))
    }
}

impl ChangeLog {
    /// The log of a table, whether it exists or not.
    ///
    /// # Errors
    /// As [`log_schema`].
    pub fn new(table: Arc<TableSchema>) -> Result<Self> {
        let schema = Arc::new(log_schema(&table, false)?);
        let columns = Arc::new(ResultColumn::of_table(&table));
        Ok(Self { table, schema, layouts: Vec::new(), columns })
    }

    /// The changes that match a condition over the log, by number.
    ///
    /// # Errors
    /// `Schema` if the table has no log, or its log does not match the table; those of the engine.
    pub fn list(
        &self,
        session: &dyn Session,
        condition: Condition,
        limit: Option<u64>,
    ) -> Result<Vec<Change>> {
        self.list_within(session, condition, limit, usize::MAX).map(|(changes, _)| changes)
    }

    /// As [`list`](Self::list), but stops after about `bytes` bytes of rows and at least one change. Also
    /// returns whether there are more.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn list_within(
        &self,
        session: &dyn Session,
        condition: Condition,
        limit: Option<u64>,
        bytes: usize,
    ) -> Result<(Vec<Change>, bool)> {
        self.list_kept(session, condition, None, limit, bytes)
    }

    /// As [`list_within`](Self::list_within), of the rows that `keeps` accepts.
    pub(crate) fn list_kept(
        &self,
        session: &dyn Session,
        condition: Condition,
        keeps: Option<Keeps<'_>>,
        limit: Option<u64>,
        bytes: usize,
    ) -> Result<(Vec<Change>, bool)> {
        let select = Select {
            condition: Some(condition.resolve(&self.schema)?),
            limit: limit.filter(|_| keeps.is_none()),
            ..Select::all(&self.schema)
        };
        let most = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let (mut changes, mut taken, mut more) = (Vec::new(), 0_usize, false);
        let read = session.query(&Source::Select(&select), &mut |row| {
            if keeps.is_some_and(|keeps| !keeps(row)) {
                return Ok(true);
            }
            if taken >= bytes {
                more = true;
                return Ok(false);
            }
            taken += bytes_of(row);
            changes.push(Change::from_log(&self.table, &self.columns, row)?);
            Ok(changes.len() < most)
        });
        match read {
            Err(error) if error.kind() == ErrorKind::Schema => Err(self.mismatch_error(error)),
            // A value that cannot be read, which only an UPDATE of the log removes.
            Err(error) if error.kind() == ErrorKind::OutOfRange => {
                Err(error.in_table(self.schema.name()))
            }
            read => read.map(|()| (changes, more)),
        }
    }

    /// Whether it has a change later than a moment.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn is_after(&self, session: &dyn Session, moment: Timestamp) -> Result<bool> {
        let value = moment.as_microsecond().into();
        let later = Condition::Compare { column: AT, comparison: Comparison::Greater, value };
        Ok(self.last(session, Some(later))? > 0)
    }

    #[cold]
    fn mismatch_error(&self, error: Error) -> Error {
        let message = "the table is not tracked, or was altered past Bobak, so that its log does \
                       not fit any more: track it again; in a scope it has no log";
        let mismatch_error = Error::new(ErrorKind::Schema, message).in_table(self.table.name());
        mismatch_error.with_source(error)
    }

    /// The largest number of the changes that match a condition over the log; 0 if there are none.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn last(&self, session: &dyn Session, condition: Option<Condition>) -> Result<u64> {
        let select = Select {
            columns: vec![Expr::Max(SEQ)],
            condition: condition.map(|condition| condition.resolve(&self.schema)).transpose()?,
            order: Vec::new(),
            ..Select::all(&self.schema)
        };
        let mut last = 0;
        session.query(&Source::Select(&select), &mut |row| {
            last = match row.get(0) {
                ValueRef::Null => 0,
                _ => integer(row, 0)?.unsigned_abs(),
            };
            Ok(true)
        })?;
        Ok(last)
    }
}

/// The tracked tables; empty if change capture was never used.
///
/// # Errors
/// Those of the engine.
pub fn tracked(session: &dyn Session) -> Result<Vec<TrackedTable>> {
    let mut tracked = Vec::new();
    let select = Select::all(tracked_schema());
    let read = session.query(&Source::Select(&select), &mut |row| {
        if let ValueRef::Text(name) = row.get(1) {
            let (name, pruned) = (name.to_owned(), integer(row, 2)?.unsigned_abs());
            tracked.push(TrackedTable { name, pruned });
        }
        Ok(true)
    });
    match read {
        Err(error) if error.kind() == ErrorKind::Schema => Ok(Vec::new()),
        read => read.map(|()| tracked),
    }
}

/// The layouts of all tracked tables, in the order in which they were recorded.
///
/// # Errors
/// Those of the engine.
pub fn layouts(session: &dyn Session) -> Result<Vec<TableLayout>> {
    let mut layouts = Vec::new();
    let read = session.query(&Source::Select(&Select::all(layout_schema())), &mut |row| {
        if let (ValueRef::Text(table), ValueRef::Text(layout)) = (row.get(1), row.get(3))
            && !table.is_empty()
        {
            let (table, layout) = (table.to_owned(), layout.to_owned());
            layouts.push(TableLayout { table, since: integer(row, 2)?.unsigned_abs(), layout });
        }
        Ok(true)
    });
    match read {
        // An earlier version of Bobak tracked the tables.
        Err(error) if error.kind() == ErrorKind::Schema => Ok(Vec::new()),
        read => read.map(|()| layouts),
    }
}

/// How tracked tables were renamed, dropped, or lost columns, each with its number, in order.
///
/// # Errors
/// Those of the engine.
pub fn table_moves(session: &dyn Session) -> Result<Vec<(u64, TableMoves)>> {
    let mut all = Vec::new();
    each_move(session, &mut |row| {
        if let ValueRef::Text(text) = row.get(3) {
            let id = integer(row, 0)?.unsigned_abs();
            all.extend(TableMoves::parse(text).map(|moves| (id, moves)));
        }
        Ok(())
    })?;
    Ok(all)
}

/// The largest number of a change before a table was renamed, dropped or untracked.
pub(crate) fn last_move(session: &dyn Session) -> Result<u64> {
    let mut last = 0;
    each_move(session, &mut |row| {
        last = last.max(integer(row, 2)?.unsigned_abs());
        Ok(())
    })?;
    Ok(last)
}

/// The number from which a table is tracked again that was not for a while; 0 if there is none.
pub(crate) fn tracked_again(session: &dyn Session, table: &TableSchema) -> Result<u64> {
    let (mut last, text) = (0, untracked_text(table));
    each_move(session, &mut |row| {
        if row.get(3) == ValueRef::Text(&text) {
            last = last.max(integer(row, 2)?.unsigned_abs());
        }
        Ok(())
    })?;
    Ok(last)
}

fn each_move(session: &dyn Session, each: &mut dyn FnMut(&dyn Row) -> Result<()>) -> Result<()> {
    let (comparison, value) = (Comparison::Equal, Value::from(""));
    let condition = Some(Condition::Compare { column: 1, comparison, value });
    let select = Select { condition, ..Select::all(layout_schema()) };
    let read = session.query(&Source::Select(&select), &mut |row| each(row).map(|()| true));
    match read {
        // An earlier version of Bobak tracked the tables, or none is.
        Err(error) if error.kind() == ErrorKind::Schema => Ok(()),
        read => read,
    }
}

/// Whether changes of a table are captured with its current schema. `false` also if SQL altered the
/// table, or dropped and recreated it.
///
/// # Errors
/// `Schema` if the table does not exist; those of the engine.
pub fn is_tracked(session: &dyn Session, table: &str) -> Result<bool> {
    let same = |name: &str| name.eq_ignore_ascii_case(table);
    if !tracked(session)?.iter().any(|tracked| same(&tracked.name)) {
        return Ok(false);
    }
    if session.triggers()?.is_some_and(|triggers| !is_captured(&triggers, table)) {
        return Ok(false);
    }
    let found = session.tables()?.into_iter().find(|found| same(found.name()));
    let found = found.ok_or_else(|| {
        let message = "the table does not exist: create it first";
        Error::new(ErrorKind::Schema, message).in_table(table)
    })?;
    let layouts = layouts(session)?;
    let last = layouts.iter().rfind(|layout| same(&layout.table));
    if last.is_none_or(|last| last.layout != layout(&found)) {
        return Ok(false);
    }
    let none = compare_number(SEQ, Comparison::Less, 0);
    match ChangeLog::new(Arc::new(found))?.list(session, none, Some(1)) {
        Err(error) if error.kind() == ErrorKind::Schema => Ok(false),
        listed => listed.map(|_| true),
    }
}

/// As [`is_tracked`], and by the triggers that this version of Bobak creates. If not, the table should be tracked, or tracked
/// again; if only its triggers are of an earlier version, that leaves no gap in its changes.
///
/// # Errors
/// As [`is_tracked`].
pub fn is_tracked_as_now(session: &dyn Session, table: &str) -> Result<bool> {
    let triggers = session.triggers()?;
    let is_outdated = triggers.is_some_and(|triggers| !is_captured_as_now(&triggers, table));
    Ok(!is_outdated && is_tracked(session, table)?)
}

/// The logs of all tracked tables, sorted by table name.
///
/// # Errors
/// As [`logs_in`].
pub fn logs(engine: &dyn Engine) -> Result<Vec<ChangeLog>> {
    logs_in(&*engine.session()?)
}

/// As [`logs`], in a session.
///
/// # Errors
/// `Schema` if a tracked table's changes are no longer captured, because SQL altered, recreated or dropped it; those of the
/// engine.
pub fn logs_in(session: &dyn Session) -> Result<Vec<ChangeLog>> {
    match checked_logs(session) {
        // A server that commits each step of a schema change may have been in the middle of one. The layouts are read
        // first, and wait for its end.
        Err(error) if error.kind() == ErrorKind::Schema => checked_logs(session),
        logs => logs,
    }
}

fn checked_logs(session: &dyn Session) -> Result<Vec<ChangeLog>> {
    let layouts = layouts(session)?;
    let tables = tracked_schemas(session)?;
    let mut logs = Vec::with_capacity(tables.len());
    let mut found = Vec::with_capacity(tables.len());
    for (name, table) in tables {
        found.push(table.ok_or_else(|| {
            let message = "the table is tracked, but does not exist any more: untrack it, and \
                           recreate replicas and archives; if SQL renamed it, track it by its \
                           new name";
            Error::new(ErrorKind::Schema, message).in_table(name)
        })?);
    }
    check_capture(session, &found)?;
    for table in found {
        let mut log = ChangeLog::new(Arc::new(table))?;
        let is_own = |layout: &&TableLayout| layout.table.eq_ignore_ascii_case(log.table.name());
        log.layouts = layouts.iter().filter(is_own).cloned().collect();
        if log.layouts.last().is_some_and(|last| last.layout != layout(&log.table)) {
            let message = "the table is tracked, and SQL altered it since: the values of its columns \
                           are not all in the change log. Track it again, and recreate replicas and \
                           archives";
            return Err(Error::new(ErrorKind::Schema, message).in_table(log.table.name()));
        }
        logs.push(log);
    }
    Ok(logs)
}

/// The logs of the tracked tables that are there, whether they fit or not.
///
/// # Errors
/// Those of the engine.
pub fn unchecked_logs(session: &dyn Session) -> Result<Vec<ChangeLog>> {
    let tables = tracked_schemas(session)?.into_iter().filter_map(|(_, table)| table);
    tables.map(|table| ChangeLog::new(Arc::new(table))).collect()
}

/// The names of the tracked tables, in order, and their schemas.
fn tracked_schemas(session: &dyn Session) -> Result<Vec<(String, Option<TableSchema>)>> {
    let mut tracked = tracked(session)?;
    if tracked.is_empty() {
        return Ok(Vec::new());
    }
    tracked.sort_by(|a, b| a.name.cmp(&b.name));
    let mut tables = session.tables()?;
    let mut take = |tracked: TrackedTable| {
        let is = |table: &TableSchema| table.name().eq_ignore_ascii_case(&tracked.name);
        let table = tables.iter().position(is).map(|place| tables.swap_remove(place));
        (tracked.name, table)
    };
    Ok(tracked.into_iter().map(&mut take).collect())
}

/// Checks that the changes of tracked tables are captured.
///
/// # Errors
/// `Schema` if the capture triggers of a table are gone; those of the engine.
pub fn check_capture<'t>(
    session: &dyn Session,
    tables: impl IntoIterator<Item = &'t TableSchema>,
) -> Result<()> {
    let Some(triggers) = session.triggers()? else { return Ok(()) };
    let mut tables = tables.into_iter();
    let Some(table) = tables.find(|table| !is_captured(&triggers, table.name())) else {
        return Ok(());
    };
    let message = "the table is tracked, but its triggers are missing, as after SQL drops and \
                   recreates a table: changes since then were not captured. Track it again, and \
                   recreate \
                   replicas and archives";
    Err(Error::new(ErrorKind::Schema, message).in_table(table.name()))
}

/// The number and the time (in microseconds since 1970) of the last change up to a number; `None` if
/// none is left. The pair identifies a change log: a log with another pair is not the one read before.
///
/// # Errors
/// Those of the engine.
pub fn last_up_to(
    session: &dyn Session,
    logs: &[ChangeLog],
    number: u64,
) -> Result<Option<(u64, i64)>> {
    let up_to = compare_number(SEQ, Comparison::LessOrEqual, number);
    let mut last: Option<(u64, &ChangeLog)> = None;
    for log in logs {
        let found = log.last(session, Some(up_to.clone()))?;
        if found > last.map_or(0, |(number, _)| number) {
            last = Some((found, log));
        }
    }
    let Some((number, log)) = last else { return Ok(None) };
    let select = Select {
        columns: vec![Expr::Column(AT)],
        condition: Some(compare_number(SEQ, Comparison::Equal, number).resolve(&log.schema)?),
        ..Select::all(&log.schema)
    };
    let mut at = None;
    session.query(&Source::Select(&select), &mut |row| {
        at = Some(integer(row, 0)?);
        Ok(false)
    })?;
    Ok(at.map(|at| (number, at)))
}

fn bytes_of(row: &dyn Row) -> usize {
    let bytes = |place| match row.get(place) {
        ValueRef::Text(text) => text.len(),
        ValueRef::Bytes(bytes) => bytes.len(),
        _ => size_of::<i64>(),
    };
    (0..row.len()).map(bytes).sum()
}

/// A condition over a column with numbers of changes.
#[must_use]
pub fn compare_number(column: usize, comparison: Comparison, number: u64) -> Condition {
    let value = i64::try_from(number).unwrap_or(i64::MAX).into();
    Condition::Compare { column, comparison, value }
}
