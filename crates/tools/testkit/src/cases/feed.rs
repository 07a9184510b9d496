//! Change capture: what the log contains of each change to a tracked table, and what it does not.
//!
//! Almost every case ends with the same check: replaying the log from its beginning must produce the
//! current table, and each logged old row must equal the row at that time.

use super::{equal, ids};
use crate::{
    Check, Entry, Failure, Harness, NULL, Probe, Table, Values, create, fails, fails_in, holds,
    row, same, tables,
};
use bobak_core::change_log::{self, ACTOR, AT, LOG_COLUMNS, SEQ, VERB};
use bobak_core::{
    Assign, ColumnSchema, ErrorKind, OnDelete, OnError, SchemaChange, Select, TableSchema,
    TransactionControl, Value, Verb,
};
use std::collections::HashSet;
use std::sync::Arc;

/// Every verb, with rows that are replaced by their unique values.
pub fn every_verb_is_written_down(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    tracked(harness, &[&person], |probe| {
        probe.insert_all(&person, [row![NULL, "Ada", "a@x", 1], row![7, "Bob", NULL, NULL]])?;
        probe.write(&person, Verb::InsertOrIgnore, row![7, "no", NULL, 1])?;
        probe.write(&person, Verb::Upsert, row![7, "Bea", "b@x", 2])?;
        probe.write(&person, Verb::Upsert, row![8, "Cid", "c@x", 3])?;
        same("so far", verbs(probe, &person)?, vec![1, 1, 2, 1])?;
        // It replaces two rows.
        probe.write(&person, Verb::InsertOrReplace, row![8, "Dan", "b@x", 4])?;
        probe.update(&person, row![8, "Dot", NULL, NULL])?;
        probe.delete(&person, row![99])?;
        probe.insert(&person, row![NULL, "Eve", "e@x", 5])?;
        probe.delete(&person, row![8])?;
        let twice = probe.insert(&person, row![NULL, "Fay", "e@x", 5]);
        fails_in("a duplicate", twice, ErrorKind::Duplicate, "person")?;
        same("at the end", verbs(probe, &person)?.split_off(4), vec![3, 3, 1, 2, 1, 3])
    })
}

/// Changes by a condition, and batches with rows that fail.
pub fn changes_and_batches_are_written_down(harness: &dyn Harness) -> Check {
    let (document, tag, seat) = (tables::document()?, tables::tag()?, tables::seat()?);
    tracked(harness, &[&document, &tag, &seat], |probe| {
        let documents = (0..700).map(|n| Entry::insert(&document, row![n, "t", n, 0]));
        probe.batch(&documents.collect::<Vec<_>>(), OnError::Stop).outcomes()?;
        let mixed = [
            Entry::insert(&tag, row!["a", 1.5]),
            Entry::insert(&tag, row!["a", 2.5]),
            Entry::new(&document, Verb::Update, row![1, "u", 1, 0]),
            Entry::new(&document, Verb::Update, row![2, "u", 1, 5]),
            Entry::new(&document, Verb::Delete, row![3]),
            Entry::insert(&seat, row![NULL, "B", 3]),
            Entry::insert(&tag, row!["c", NULL]),
        ];
        let sent = probe.batch(&mixed, OnError::Continue);
        same("failed", sent.rows.iter().filter(|row| row.is_err()).count(), 2)?;
        let stopped = probe.batch(&mixed, OnError::Stop);
        holds("it stops", stopped.whole.is_err())?;
        let add = Assign::Add { column: 2, value: 5.into() };
        let few = super::compare(0, bobak_core::Comparison::Less, 20);
        same("changed", probe.change(&document, Some(few.clone()), &[add])?, 19)?;
        same("deleted", probe.delete_where(&document, Some(few))?, 19)?;
        same("verbs of tag", verbs(probe, &tag)?, vec![1, 1])
    })
}

/// Changes that a rollback, a savepoint or a failed statement undid are not in the log.
pub fn what_is_undone_is_not_written_down(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    tracked(harness, &[&person], |probe| {
        probe.control(TransactionControl::Begin)?;
        probe.insert(&person, row![1, "Ada", "a@x", 1])?;
        same("inside", verbs(probe, &person)?, vec![1])?;
        probe.control(TransactionControl::Rollback)?;
        same("rolled back", verbs(probe, &person)?, vec![])?;
        probe.control(TransactionControl::Begin)?;
        probe.insert(&person, row![1, "Ada", "a@x", 1])?;
        probe.control(TransactionControl::Savepoint("mark"))?;
        probe.delete(&person, row![1])?;
        probe.insert(&person, row![2, "Bob", NULL, 1])?;
        probe.control(TransactionControl::RollbackTo("mark"))?;
        probe.update(&person, row![1, "Ada", "b@x", 1])?;
        probe.control(TransactionControl::Commit)?;
        same("committed", verbs(probe, &person)?, vec![1, 2])
    })
}

/// Rows that foreign key actions delete or change.
pub fn what_foreign_keys_do_is_written_down(harness: &dyn Harness) -> Check {
    for on_delete in [OnDelete::Cascade, OnDelete::SetNull] {
        let (team, player) = (tables::team()?, tables::player(on_delete)?);
        tracked(harness, &[&team, &player], |probe| {
            probe.insert_all(&team, [row![1, "red"], row![2, "blue"], row![3, "green"]])?;
            let players = [row![1, "Ada", 1], row![2, "Bob", 1], row![3, "Eve", 2]];
            probe.insert_all(&player, players)?;
            probe.delete(&team, row![1])?;
            let verb = if on_delete == OnDelete::Cascade { 3 } else { 2 };
            same("players", verbs(probe, &player)?, vec![1, 1, 1, verb, verb])?;
            probe.write(&team, Verb::InsertOrReplace, row![9, "blue"])?;
            probe.delete_where(&team, None)?;
            Ok(())
        })?;
    }
    Ok(())
}

/// Names are quoted wherever they are part of SQL, such as in the body of a trigger's function.
pub fn names_are_no_sql(harness: &dyn Harness) -> Check {
    let hostile = TableSchema::builder("t\"'`$bobak$;--\\")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("x$bobak$; create table pwned(a int); --"))
        .column(ColumnSchema::of::<Option<i32>>("a\"b'c`d\\e]f").unique())
        .key(["id"])
        .index("i\"'`$bobak$;--\\", ["x$bobak$; create table pwned(a int); --"]);
    let hostile = Arc::new(hostile.build()?);
    tracked(harness, &[&hostile], |probe| {
        probe.insert_all(&hostile, [row![1, "a", 5], row![2, "b", NULL]])?;
        probe.update(&hostile, row![1, "c", NULL])?;
        probe.delete(&hostile, row![2])?;
        same("verbs", verbs(probe, &hostile)?, vec![1, 1, 2, 3])?;
        let names = probe.session.tables()?;
        let names: Vec<_> = names.iter().map(|table| table.name().to_owned()).collect();
        same("tables", names, vec![hostile.name().to_owned()])
    })
}

/// Values of every type, before and after, as they are in the table.
pub fn every_type_is_written_down(harness: &dyn Harness) -> Check {
    let capabilities = harness.fresh()?.engine().capabilities();
    let every = tables::every_type(capabilities)?;
    tracked(harness, &[&every], |probe| {
        let values = |id: i64| {
            let value = |column: &ColumnSchema| column.clone().nullable(false).added_value();
            let mut values: Values = every.columns().iter().map(value).collect();
            values.splice(..1, [Value::Int(id)]);
            values
        };
        let nulls = || {
            let mut row = vec![NULL; every.columns().len()];
            row.splice(..1, [Value::Int(2)]);
            row
        };
        probe.insert_all(&every, [values(1), nulls()])?;
        probe.update(&every, values(2))?;
        probe.update(&every, nulls())?;
        probe.delete(&every, row![1])?;
        Ok(())
    })
}

/// The time of a change is never earlier than that of the previous change, whatever the clock says.
pub fn times_never_go_back(harness: &dyn Harness) -> Check {
    let tag = tables::tag()?;
    tracked(harness, &[&tag], |probe| {
        probe.insert(&tag, row!["a", NULL])?;
        // In 2100, as if the clock had been set back since.
        let future = 4_102_444_800_000_000_i64;
        let at = Assign::Set { column: AT, value: future.into() };
        probe.change(&log(&tag)?, None, std::slice::from_ref(&at))?;
        let at = Assign::Set { column: 2, value: future.into() };
        probe.change(change_log::counter_schema(), None, &[at])?;
        if probe.capabilities.sql {
            // If the engine keeps the time in a sequence instead of the counter's row.
            let text = format!("SELECT setval('bobak_feed_at', {future})");
            let _ = probe.query(&bobak_core::Source::Sql { text: &text, parameters: &[] });
        }
        probe.insert(&tag, row!["b", NULL])?;
        let rows = probe.all(&log(&tag)?)?;
        same("the second", rows.last().and_then(|row| row.get(AT)), Some(&Value::Int(future)))
    })
}

/// The actor is recorded with the transaction. If the engine records an actor by default,
/// the default is restored afterwards.
pub fn callers_are_written_down(harness: &dyn Harness) -> Check {
    let tag = tables::tag()?;
    tracked(harness, &[&tag], |probe| {
        probe.insert(&tag, row!["0", NULL])?;
        probe.control(TransactionControl::Begin)?;
        probe.session.set_actor(Some("Ann O'Neill"))?;
        probe.insert(&tag, row!["a", NULL])?;
        probe.session.set_actor(None)?;
        probe.control(TransactionControl::Commit)?;
        probe.insert(&tag, row!["b", NULL])?;
        probe.control(TransactionControl::Begin)?;
        probe.session.set_actor(Some("Bob"))?;
        probe.control(TransactionControl::Rollback)?;
        probe.insert(&tag, row!["c", NULL])?;
        let rows = probe.all(&log(&tag)?)?;
        let actors = rows.iter().map(|row| row.get(ACTOR).cloned()).collect::<Vec<_>>();
        let unset = actors.first().cloned().flatten();
        let expected = vec![unset.clone(), Some("Ann O'Neill".into()), unset.clone(), unset];
        same("actors", actors, expected)
    })
}

/// A column that is added to a tracked table is in the log from then on.
pub fn added_columns_are_written_down(harness: &dyn Harness) -> Check {
    let tag = tables::tag()?;
    let wider = TableSchema::builder("tag")
        .column(ColumnSchema::of::<String>("name"))
        .column(ColumnSchema::of::<Option<f64>>("weight"))
        .column(ColumnSchema::of::<Option<String>>("colour"))
        .key(["name"])
        .build()?;
    let wider = Arc::new(wider);
    let store = harness.fresh()?;
    let probe = Probe::with_tables(store.engine(), &[&tag])?;
    if !track(&probe, &tag)? {
        return Ok(());
    }
    probe.insert(&tag, row!["a", 1.5])?;
    probe.session.alter(&[SchemaChange::AddColumn { table: Arc::clone(&wider), column: 2 }])?;
    probe.insert(&wider, row!["b", 2.5, "red"])?;
    probe.update(&wider, row!["a", 3.5, "blue"])?;
    probe.delete(&wider, row!["b"])?;
    agrees(&probe, &wider)
}

/// The log's own tables are internal: they are not listed, and cannot be tracked.
pub fn the_feed_keeps_to_itself(harness: &dyn Harness) -> Check {
    let (person, tag) = (tables::person()?, tables::tag()?);
    let store = harness.fresh()?;
    let probe = Probe::with_tables(store.engine(), &[&person])?;
    if !track(&probe, &person)? {
        return Ok(());
    }
    let names = |probe: &Probe<'_>| -> Check<Vec<String>> {
        let tables = probe.session.tables()?;
        Ok(tables.iter().map(|table| table.name().to_owned()).collect())
    };
    same("tables", names(&probe)?, vec!["person".to_owned()])?;
    let missing = probe.session.alter(&[change(&tag)]);
    fails_in("a table that is not there", missing, ErrorKind::Schema, "tag")?;
    probe.insert(&person, row![1, "Ada", "a@x", 1])?;
    // Again: nothing is lost.
    holds("again", track(&probe, &person)?)?;
    same("verbs", verbs(&probe, &person)?, vec![1])?;
    let name = |probe: &Probe<'_>| probe.all(change_log::tracked_schema());
    same("tracked", name(&probe)?.len(), 1)?;
    probe.session.alter(&[SchemaChange::Untrack(Arc::clone(&person))])?;
    probe.insert(&person, row![2, "Bob", NULL, 1])?;
    same("not tracked", name(&probe)?.len(), 0)?;
    fails_in("no log", probe.all(&log(&person)?), ErrorKind::Schema, "bobak_log_person")?;
    holds("once more", track(&probe, &person)?)?;
    probe.delete(&person, row![2])?;
    same("tracked again", verbs(&probe, &person)?, vec![3])
}

/// If the triggers of a tracked table are missing, for example because SQL recreated it, reading the log fails;
/// after it is tracked again, the log reports a gap.
pub fn a_table_whose_triggers_are_gone_is_rejected(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    let store = harness.fresh()?;
    let probe = Probe::with_tables(store.engine(), &[&person])?;
    let session = &*probe.session;
    if !track(&probe, &person)? {
        return Ok(());
    }
    let Some(triggers) = session.triggers()? else { return Ok(()) };
    same(
        "they are the feed's",
        triggers.iter().all(|t| change_log::is_capture_trigger(&t.name)),
        true,
    )?;
    probe.insert(&person, row![1, "Ada", "a@x", 1])?;
    let before = bobak_changes::last_id(session, &bobak_changes::logs_in(session)?)?;
    let dropped = triggers.iter().find(|t| t.name != "bobak_lock" && t.name != "bobak_whole");
    let name = dropped.map_or("", |trigger| trigger.name.as_str());
    let drop = match name {
        "!bobak_log" => format!("DROP TRIGGER \"{name}\" ON person"),
        _ => format!("DROP TRIGGER {name}"),
    };
    session.execute(&drop, &[])?;
    same("is tracked", bobak_changes::is_tracked(session, "person")?, false)?;
    let logs = bobak_changes::logs_in(session).map(|logs| logs.len());
    fails_in("without a trigger", logs, ErrorKind::Schema, "person")?;
    holds("again", track(&probe, &person)?)?;
    same("is tracked again", bobak_changes::is_tracked(session, "person")?, true)?;
    let logs = bobak_changes::logs_in(session)?;
    let page = |since: u64| bobak_changes::page(session, &logs, &logs, since, 10);
    let old = page(before).map(|page| page.changes.len());
    fails("what went unseen", old, ErrorKind::NotFound)?;
    let since = bobak_changes::last_id(session, &logs)?;
    probe.insert(&person, row![2, "Bob", "b@x", 1])?;
    probe.delete(&person, row![2])?;
    same("from then on", page(since)?.changes.len(), 2)
}

/// Changes by SQL are captured, too.
pub fn sql_is_written_down(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    tracked(harness, &[&person], |probe| {
        if !probe.capabilities.sql {
            return Ok(());
        }
        probe.insert_all(&person, [row![1, "Ada", "a@x", 1], row![2, "Bob", NULL, 7]])?;
        probe.session.execute("UPDATE person SET age = age + ?", &[1.into()])?;
        probe.session.execute("UPDATE person SET id = 5 WHERE id = 2", &[])?;
        probe.session.execute(
            "INSERT INTO person (id, name) SELECT 9, name FROM person WHERE id = 1",
            &[],
        )?;
        probe.session.execute("DELETE FROM person WHERE id < 3", &[])?;
        same("verbs", verbs(probe, &person)?, vec![1, 1, 2, 2, 2, 1, 3])
    })
}

/// A page contains the number at which the last transaction ends, over all logs; an open transaction has
/// none yet.
pub fn a_page_knows_where_the_last_transaction_ends(harness: &dyn Harness) -> Check {
    let (person, tag) = (tables::person()?, tables::tag()?);
    let store = harness.fresh()?;
    create(store.engine(), &[&person, &tag])?;
    let probe = Probe::new(store.engine())?;
    if !track(&probe, &person)? || !track(&probe, &tag)? {
        return Ok(());
    }
    let reader = store.engine().session()?;
    let logs = bobak_changes::logs_in(&*reader)?;
    let page = |since: u64, limit: usize| bobak_changes::page(&*reader, &logs, &logs, since, limit);
    let none = page(0, 10)?;
    same("at first", (none.next, none.is_whole()), (0, true))?;
    let mut ends = Vec::new();
    for round in 0..3 {
        probe.session.control(TransactionControl::Begin)?;
        probe.insert(&person, row![round, "Ada", NULL, 1])?;
        probe.insert(&tag, row![format!("{round}"), 1.5])?;
        probe.insert(&person, row![round + 10, "Bob", NULL, 1])?;
        if probe.capabilities.concurrent_readers {
            let before = page(0, 100)?;
            let seen = before.boundary.map(|boundary| boundary.id);
            same("while it is under way", seen, Some(ends.last().copied().unwrap_or(0)))?;
        }
        probe.session.control(TransactionControl::Commit)?;
        ends.push(page(0, 100)?.next);
    }
    let all = page(0, 100)?;
    same("changes", (all.changes.len(), all.is_whole()), (9, true))?;
    let part = page(0, 4)?;
    let seen = part.boundary.map(|boundary| boundary.id);
    same("a part", (part.changes.len(), part.is_whole(), seen), (4, false, ends.last().copied()))?;
    let third = all.changes.get(2).map(|change| change.id);
    same("where the first transaction ends", third, ends.first().copied())
}

/// The log continues after the store is reopened.
pub fn it_goes_on_after_reopening(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    let mut store = harness.fresh()?;
    let probe = Probe::with_tables(store.engine(), &[&person])?;
    if !track(&probe, &person)? {
        return Ok(());
    }
    probe.insert_all(&person, [row![1, "Ada", "a@x", 1], row![2, "Bob", "b@x", 7]])?;
    drop(probe);
    if !store.reopen()? {
        return Ok(());
    }
    let probe = Probe::new(store.engine())?;
    probe.write(&person, Verb::InsertOrReplace, row![3, "Cid", "a@x", 1])?;
    probe.delete_where(&person, Some(equal(0, 2)))?;
    same("verbs", verbs(&probe, &person)?, vec![1, 1, 3, 1, 3])?;
    agrees(&probe, &person)
}

fn change(table: &Table) -> SchemaChange {
    SchemaChange::Track { table: Arc::clone(table), history: true }
}

/// Starts tracking a table; `false` if the engine does not support it.
fn track(probe: &Probe<'_>, table: &Table) -> Check<bool> {
    match probe.session.alter(&[change(table)]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(false),
        other => Ok(other.map(|()| true)?),
    }
}

/// Runs a case on tracked tables, and checks their logs at the end; unless the engine has no change
/// capture, or not the rules of these tables.
fn tracked(
    harness: &dyn Harness,
    tables: &[&Table],
    case: impl FnOnce(&Probe<'_>) -> Check,
) -> Check {
    let store = harness.fresh()?;
    match create(store.engine(), tables) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        other => other?,
    }
    let probe = Probe::new(store.engine())?;
    for table in tables {
        if !track(&probe, table)? {
            return Ok(());
        }
    }
    case(&probe)?;
    tables.iter().try_for_each(|table| agrees(&probe, table))
}

fn log(table: &TableSchema) -> Check<Table> {
    Ok(Arc::new(change_log::log_schema(table, false)?))
}

/// The verbs of a table's log, in order.
fn verbs(probe: &Probe<'_>, table: &Table) -> Check<Vec<i64>> {
    let log = log(table)?;
    let select = Select { columns: vec![bobak_core::Expr::Column(VERB)], ..Select::all(&log) };
    Ok(ids(&probe.select(&select)?))
}

/// Checks that replaying the log of a table from its beginning produces the table.
///
/// # Errors
/// If it does not, or if a step does not fit the rows at that point.
pub fn agrees(probe: &Probe<'_>, table: &Table) -> Check {
    // Compares the rows as text: a table may be long.
    let mut rows: HashSet<String> = HashSet::new();
    let (mut seq, mut at) = (0, 0);
    for step in probe.all(&log(table)?)? {
        let integer = |place: usize| match step.get(place) {
            Some(Value::Int(integer)) => *integer,
            _ => 0,
        };
        holds("numbers ascend", seq < integer(SEQ))?;
        holds("times do not go back", at <= integer(AT))?;
        (seq, at) = (integer(SEQ), integer(AT));
        let side = |side: usize| -> Values {
            step.get(LOG_COLUMNS + side..).unwrap_or_default().iter().step_by(2).cloned().collect()
        };
        let (old, new) = (side(0), side(1));
        let (old, new) = (format!("{old:?}"), format!("{new:?}"));
        let verb = integer(VERB);
        let fits = (verb == 1 || rows.remove(&old)) && (verb == 3 || rows.insert(new));
        if !fits || !(1..=3).contains(&verb) {
            let message = format!("change {seq} ({verb}) does not fit what was there: {old}");
            return Err(Failure::new(message));
        }
    }
    let found: HashSet<String> = probe.all(table)?.iter().map(|row| format!("{row:?}")).collect();
    let lost: Vec<_> = found.difference(&rows).take(3).collect();
    let left: Vec<_> = rows.difference(&found).take(3).collect();
    same("the log, played, lacks and has too much", (lost, left), (vec![], vec![]))
}
