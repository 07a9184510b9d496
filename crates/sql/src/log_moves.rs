//! Statements for the change log of a table that is renamed, or whose columns are renamed or dropped: see [`TableMoves`].

use crate::capture_triggers::LOCK;
use crate::dialect::quote;
use crate::feed::{drop_triggers, gap, push_counter, push_last_change, shared, track};
use crate::writer::Writer;
use crate::{Dialect, TrackReason};
use bobak_core::change_log::{
    COUNTER_TABLE, LAYOUT_TABLE, LOG_PREFIX, TRACKED_TABLE, TableMoves, layout,
    layout_before_alteration, untracked_text,
};
use bobak_core::{Result, TableAlteration, TableSchema, ValueRef};

/// The statements before the log of a tracked table moves: see [`TableMoves`]. `table` is as it was. Where an alteration is a
/// transaction, this drops the triggers of change capture. On MariaDB and MySQL they stay, and writes fail until [`track_altered`] has
/// replaced them, so that no change is lost.
#[must_use]
pub fn begin_moves(dialect: Dialect, table: &TableSchema) -> Vec<String> {
    let mut texts = gap(dialect, table, &[layout(table)]);
    if dialect == Dialect::Postgres {
        // Before the lock under which numbers are given out, as writers do.
        let name = quote(dialect, table.name());
        texts.insert(0, format!("LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE"));
    }
    if !dialect.is_mysql() {
        texts.extend(drop_triggers(dialect, table));
    }
    texts
}

/// What records the moves of a tracked table, once its log has moved. `table` is as it was.
#[must_use]
pub fn note_moves(dialect: Dialect, table: &TableSchema, moves: &TableMoves) -> Vec<String> {
    let new = ValueRef::Text(&moves.to);
    let mut texts = Vec::new();
    let mut update = |list: &str, layout: Option<&str>| {
        let mut out = Writer::new(dialect);
        out.raw("UPDATE ").name(list).raw(" SET ").name("name").raw(" = ").literal(new);
        if let Some(layout) = layout {
            out.raw(", ").name("layout").raw(" = ").raw(layout);
        }
        out.raw(" WHERE ").name("name").raw(" = ").literal(ValueRef::Text(table.name()));
        texts.push(out.into_text());
    };
    update(TRACKED_TABLE, None);
    update(LAYOUT_TABLE, Some(&moved_layout(dialect, table, moves)));
    texts.push(note_text(dialect, &moves.to_text()));
    texts
}

/// The statement that records a text next to the layouts.
pub(crate) fn note_text(dialect: Dialect, text: &str) -> String {
    let mut note = Writer::new(dialect);
    note.raw("INSERT INTO ").name(LAYOUT_TABLE).raw(" (").name("name").raw(", ").name("seq");
    note.raw(", ").name("layout").raw(") SELECT ").literal(ValueRef::Text("")).raw(", ");
    push_last_change(&mut note);
    note.raw(", ").literal(ValueRef::Text(text)).raw(" FROM ");
    push_counter(&mut note);
    note.into_text()
}

/// The expression for a recorded layout after the moves.
fn moved_layout(dialect: Dialect, table: &TableSchema, moves: &TableMoves) -> String {
    let column = quote(dialect, "layout");
    let start = match dialect.is_mysql() {
        true => format!("CONCAT('; ', {column})"),
        false => format!("'; ' || {column}"),
    };
    let replace = |inner: String, (part, new): (String, String)| {
        let mut out = Writer::new(dialect);
        out.raw("replace(").raw(&inner).raw(", ").literal(ValueRef::Text(&part)).raw(", ");
        out.literal(ValueRef::Text(&new)).raw(")");
        out.into_text()
    };
    let moved = moves.layout_replacements(table).into_iter().fold(start, replace);
    format!("substr({moved}, 3)")
}

/// As [`track`], of a tracked table that was just altered; nothing if its log and layout stay as they are.
///
/// # Errors
/// As [`track`].
pub fn track_altered(
    dialect: Dialect,
    table: &TableSchema,
    log: &TableSchema,
    alteration: &TableAlteration,
) -> Result<Vec<String>> {
    let is_same = layout(table) == layout_before_alteration(table, alteration);
    if is_same && TableMoves::of(alteration).is_none() {
        return Ok(Vec::new());
    }
    track(dialect, table, Some(log), TrackReason::Altered(alteration))
}

/// What ends change capture, the log included.
///
/// # Errors
/// None for a table that is tracked.
pub fn untrack(dialect: Dialect, table: &TableSchema) -> Result<Vec<String>> {
    let own = |name: &str| quote(dialect, name);
    let log = own(&format!("{LOG_PREFIX}{}", table.name()));
    let mut texts = shared(dialect)?;
    texts.extend(drop_triggers(dialect, table));
    texts.push(format!("DROP TABLE IF EXISTS {log}"));
    // So that a later layout has another number, even if nothing is captured in between.
    if dialect == Dialect::Postgres {
        texts.push(format!("SELECT pg_advisory_xact_lock({LOCK})"));
        texts.push("SELECT nextval('bobak_feed_seq')".to_owned());
    } else {
        let (feed, seq) = (own(COUNTER_TABLE), own("seq"));
        texts.push(format!("UPDATE {feed} SET {seq} = {seq} + 1"));
    }
    let of_table = |list: &str| {
        let mut own = Writer::new(dialect);
        own.raw(" FROM ").name(list).raw(" WHERE ").name("name").raw(" = ");
        own.literal(ValueRef::Text(table.name()));
        own.into_text()
    };
    // The program that tracks it again finds this, and notes that its changes in between are unknown.
    let note = note_text(dialect, &untracked_text(table));
    texts.push(format!("{note} WHERE EXISTS (SELECT 1{})", of_table(TRACKED_TABLE)));
    texts.extend([TRACKED_TABLE, LAYOUT_TABLE].map(|list| format!("DELETE{}", of_table(list))));
    Ok(texts)
}
