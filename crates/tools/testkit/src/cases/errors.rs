//! Each mistake has its kind, and says where it was made.

use super::with;
use crate::{Check, Entry, Harness, NULL, Probe, fails, fails_in, holds, row, same, tables};
use bobak_core::{ErrorKind, OnError, Result, Select, Source, Value, Verb};

/// A table that is not there is `Schema`, by every call, and is named.
pub fn a_missing_table(harness: &dyn Harness) -> Check {
    let tag = tables::tag()?;
    with(harness, &[], |probe| {
        let calls: [(&str, Result<()>); 8] = [
            ("insert", probe.insert(&tag, row!["a", 1.0]).map(drop)),
            ("update", probe.update(&tag, row!["a", 1.0]).map(drop)),
            ("upsert", probe.write(&tag, Verb::Upsert, row!["a", 1.0]).map(drop)),
            ("delete", probe.delete(&tag, row!["a"]).map(drop)),
            ("get", probe.get(&tag, row!["a"]).map(drop)),
            ("query", probe.all(&tag).map(drop)),
            ("change", probe.delete_where(&tag, None).map(drop)),
            ("batch", probe.batch(&[Entry::insert(&tag, row!["a", 1.0])], OnError::Stop).whole),
        ];
        for (what, result) in calls {
            fails_in(what, result, ErrorKind::Schema, "tag")?;
        }
        let sent = probe.batch(&[Entry::insert(&tag, row!["a", 1.0])], OnError::Continue);
        sent.whole?;
        let row = sent.rows.into_iter().next().unwrap_or(Ok(super::NEW));
        fails_in("a batch that goes on", row, ErrorKind::Schema, "tag")?;
        Ok(())
    })
}

/// Table and column are named, by their names in the schema.
pub fn places_are_named(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.insert(&person, row![1, "a", "a@x", 1])?;
        let cases = [
            (Verb::Insert, row![1, "b", NULL, 1], ErrorKind::Duplicate, "id"),
            (Verb::Insert, row![9, "b", "a@x", 1], ErrorKind::Duplicate, "email"),
            (Verb::Insert, row![9, NULL, NULL, 1], ErrorKind::Constraint, "name"),
            (Verb::Update, row![1, NULL, NULL, 1], ErrorKind::Constraint, "name"),
            (Verb::Upsert, row![1, NULL, NULL, 1], ErrorKind::Constraint, "name"),
            (Verb::Upsert, row![9, "b", "a@x", 1], ErrorKind::Duplicate, "email"),
        ];
        for (verb, values, kind, column) in cases {
            let what = format!("{verb:?} of {values:?}");
            let alone =
                fails_in(&what, probe.write(&person, verb, values.clone()), kind, "person")?;
            same(&what, alone.column(), Some(column))?;
            same(&what, alone.row(), None)?;
            let good = Entry::insert(&person, row![NULL, "x", NULL, 1]);
            let entries = [good.clone(), good, Entry::new(&person, verb, values)];
            let sent = probe.batch(&entries, OnError::Stop);
            let batch = fails_in(&what, sent.whole, kind, "person")?;
            same(&what, (batch.column(), batch.row()), (Some(column), Some(2)))?;
        }
        Ok(())
    })
}

/// Messages are one line in lower case without a closing full stop.
pub fn messages_are_one_line(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.insert(&person, row![1, "a", "a@x", 1])?;
        let results: [Result<()>; 6] = [
            probe.insert(&person, row![1, "b", NULL, 1]).map(drop),
            probe.insert(&person, row![2, NULL, NULL, 1]).map(drop),
            probe.update(&person, row![3, "x", NULL, 1]).map(drop),
            probe.insert(&tables::tag()?, row!["a", 1.0]).map(drop),
            probe.control(bobak_core::TransactionControl::Commit),
            probe.control(bobak_core::TransactionControl::Release("x")),
        ];
        for error in results.into_iter().filter_map(Result::err) {
            let message = error.message();
            let first = message.chars().next();
            let right = first.is_some_and(|c| !c.is_uppercase() || message.starts_with("NULL"))
                && !message.ends_with('.')
                && !message.contains('\n');
            holds(&format!("one sentence: {message:?}"), right)?;
        }
        Ok(())
    })
}

/// An engine without SQL says so, before anything else.
pub fn sql_where_there_is_none(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if store.engine().capabilities().sql {
        return Ok(());
    }
    let probe = Probe::new(store.engine())?;
    let source = Source::Sql { text: "not even SQL", parameters: &[] };
    fails("execute", probe.session.execute("select 1", &[]), ErrorKind::Unsupported)?;
    fails("query", probe.query(&source), ErrorKind::Unsupported)?;
    fails("open", probe.session.open(&source), ErrorKind::Unsupported)?;
    Ok(())
}

/// A failed query leaves the session as it was.
pub fn the_session_goes_on(harness: &dyn Harness) -> Check {
    let tag = tables::tag()?;
    with(harness, &[&tag], |probe| {
        for n in 0..50_i64 {
            let missing = probe.select(&Select::all(&tables::mark()?));
            fails("no such table", missing, ErrorKind::Schema)?;
            probe.insert(&tag, row![format!("{n:02}"), n as f64])?;
            let twice = probe.insert(&tag, row!["00", NULL]);
            fails("a duplicate", twice, ErrorKind::Duplicate)?;
        }
        let last = probe.all(&tag)?.pop();
        same("the last row", last, Some(row!["49", Value::Float(49.0)]))
    })
}
