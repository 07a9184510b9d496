//! Version columns: each update checks and raises them.

use super::{NEW, ONE, equal, with};
use crate::{Check, Entry, Harness, NULL, Probe, Table, fails_in, row, same, tables};
use bobak_core::{Assign, ErrorKind, OnError, Verb};

fn document(harness: &dyn Harness, case: impl FnOnce(&Probe<'_>, &Table) -> Check) -> Check {
    let document = tables::document()?;
    with(harness, &[&document], |probe| {
        probe.insert_all(&document, [row![1, "one", 0, 0], row![2, "two", NULL, 7]])?;
        case(probe, &document)
    })
}

/// An update that knows the version raises it by one; one that does not is a conflict.
pub fn an_update_needs_the_version(harness: &dyn Harness) -> Check {
    document(harness, |probe, document| {
        same("known", probe.update(document, row![1, "a", 1, 0])?, ONE)?;
        let stale = probe.update(document, row![1, "b", 2, 0]);
        fails_in("stale", stale, ErrorKind::Conflict, "document")?;
        let ahead = probe.update(document, row![1, "b", 2, 2]);
        fails_in("ahead", ahead, ErrorKind::Conflict, "document")?;
        let missing = probe.update(document, row![3, "b", 2, 0]);
        fails_in("missing", missing, ErrorKind::NotFound, "document")?;
        let rows = vec![row![1, "a", 1, 1], row![2, "two", NULL, 7]];
        same("rows", probe.all(document)?, rows)?;
        same("again", probe.update(document, row![1, "c", 3, 1])?, ONE)?;
        same("row", probe.get(document, row![1])?, Some(row![1, "c", 3, 2]))
    })
}

/// One field, or none, raises it as well.
pub fn every_update_raises_it(harness: &dyn Harness) -> Check {
    document(harness, |probe, document| {
        let entry = Entry::new(document, Verb::Update, row![1, "no", 5, 0]);
        same("one field", probe.send(&entry.fields(&[2]))?, ONE)?;
        let entry = Entry::new(document, Verb::Update, row![1, "no", 9, 1]);
        same("none", probe.send(&entry.fields(&[]))?, ONE)?;
        same("row", probe.get(document, row![1])?, Some(row![1, "one", 5, 2]))?;
        let stale = Entry::new(document, Verb::Update, row![1, "no", 9, 1]).fields(&[]);
        fails_in("stale", probe.send(&stale), ErrorKind::Conflict, "document")?;
        Ok(())
    })
}

/// An insert keeps the given version; upsert raises that of the row without looking.
pub fn upserts_raise_it_unchecked(harness: &dyn Harness) -> Check {
    document(harness, |probe, document| {
        same("there", probe.write(document, Verb::Upsert, row![2, "x", 1, 0])?, ONE)?;
        same("new", probe.write(document, Verb::Upsert, row![3, "y", 1, 4])?, NEW)?;
        same("replaced", probe.write(document, Verb::InsertOrReplace, row![1, "z", 1, 9])?, NEW)?;
        let rows = vec![row![1, "z", 1, 9], row![2, "x", 1, 8], row![3, "y", 1, 4]];
        same("rows", probe.all(document)?, rows)
    })
}

/// So do changes by a condition, of the rows that they concern.
pub fn changes_raise_it(harness: &dyn Harness) -> Check {
    document(harness, |probe, document| {
        let add = Assign::Add { column: 2, value: 5.into() };
        same("one", probe.change(document, Some(equal(0, 1)), std::slice::from_ref(&add))?, 1)?;
        same("all", probe.change(document, None, &[add])?, 2)?;
        let rows = vec![row![1, "one", 10, 2], row![2, "two", NULL, 8]];
        same("rows", probe.all(document)?, rows)
    })
}

/// Batches check and raise it as single writes do.
pub fn batches_check_and_raise_it(harness: &dyn Harness) -> Check {
    document(harness, |probe, document| {
        let update = |id: i32, title: &'static str, version: i32| {
            Entry::new(document, Verb::Update, row![id, title, 1, version])
        };
        let entries = [
            update(1, "a", 0),
            update(1, "b", 1),
            update(1, "c", 1),
            update(2, "d", 7),
            update(3, "e", 0),
            Entry::new(document, Verb::Upsert, row![2, "f", 1, 0]),
        ];
        let sent = probe.batch(&entries, OnError::Continue);
        sent.whole?;
        let kinds: Vec<_> =
            sent.rows.iter().map(|r| r.as_ref().map_err(|e| e.kind()).copied()).collect();
        let expected = vec![
            Ok(ONE),
            Ok(ONE),
            Err(ErrorKind::Conflict),
            Ok(ONE),
            Err(ErrorKind::NotFound),
            Ok(ONE),
        ];
        same("results", kinds, expected)?;
        let rows = vec![row![1, "b", 1, 2], row![2, "f", 1, 9]];
        same("rows", probe.all(document)?, rows.clone())?;
        let sent = probe.batch(&[update(2, "g", 9), update(1, "g", 0)], OnError::Stop);
        let error = fails_in("stop", sent.whole, ErrorKind::Conflict, "document")?;
        same("row", error.row(), Some(1))?;
        same("rows", probe.all(document)?, rows)
    })
}

/// A version that can't be raised is `OutOfRange`: it does not begin again, nor become a float.
pub fn versions_end_at_the_largest_integer(harness: &dyn Harness) -> Check {
    document(harness, |probe, document| {
        let last = || bobak_core::Value::Int(i64::MAX);
        probe.insert(document, row![9, "x", 1, last()])?;
        let over = probe.update(document, row![9, "y", 1, last()]);
        fails_in("update", over, ErrorKind::OutOfRange, "document")?;
        let over = probe.write(document, Verb::Upsert, row![9, "y", 1, 0]);
        fails_in("upsert", over, ErrorKind::OutOfRange, "document")?;
        let set = Assign::Set { column: 1, value: "y".into() };
        let over = probe.change(document, None, &[set]);
        fails_in("change", over, ErrorKind::OutOfRange, "document")?;
        same("row", probe.get(document, row![9])?, Some(row![9, "x", 1, last()]))?;
        same("the others", probe.get(document, row![1])?, Some(row![1, "one", 0, 0]))
    })
}

/// A failed update leaves the version; a rolled back one gives it back.
pub fn what_is_undone_does_not_count(harness: &dyn Harness) -> Check {
    document(harness, |probe, document| {
        let null = probe.update(document, row![1, NULL, 1, 0]);
        fails_in("NULL", null, ErrorKind::Constraint, "document")?;
        probe.control(bobak_core::TransactionControl::Begin)?;
        probe.update(document, row![1, "a", 1, 0])?;
        probe.control(bobak_core::TransactionControl::Rollback)?;
        same("row", probe.get(document, row![1])?, Some(row![1, "one", 0, 0]))?;
        same("still known", probe.update(document, row![1, "a", 1, 0])?, ONE)
    })
}
