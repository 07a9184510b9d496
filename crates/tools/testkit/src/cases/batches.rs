//! Batches: every verb, several tables, errors in every place.

use super::{NEW, NONE, ONE, keys_of, made, with};
use crate::{
    BatchResult, Check, Entry, Failure, Harness, NULL, Probe, fails_in, holds, row, same, tables,
};
use bobak_core::{ErrorKind, OnError, Outcome, TransactionControl, Verb};

/// The rows' outcomes, and the kinds of their errors.
fn results(sent: &BatchResult) -> Vec<Result<Outcome, ErrorKind>> {
    sent.rows.iter().map(|row| row.as_ref().copied().map_err(|e| e.kind())).collect()
}

/// A batch of nothing is right.
pub fn an_empty_batch(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        for on_error in [OnError::Stop, OnError::Continue] {
            same("results", probe.batch(&[], on_error).outcomes()?, vec![])?;
        }
        probe.control(TransactionControl::Begin)?;
        same("inside", probe.batch(&[], OnError::Stop).outcomes()?, vec![])?;
        probe.control(TransactionControl::Commit)?;
        same("rows", probe.count(&person)?, 0)
    })
}

/// What is expected, with the keys that the engine made in their places, where it need not make
/// those very ones.
fn made_as(
    probe: &Probe<'_>,
    expected: impl IntoIterator<Item = Outcome>,
    keys: &[i64],
) -> Vec<Outcome> {
    let mut keys = keys.iter();
    let as_made = |outcome: Outcome| match outcome {
        Outcome::Inserted(Some(_)) if !probe.capabilities.sequential_keys => {
            keys.next().map_or(outcome, |key| made(*key))
        }
        other => other,
    };
    expected.into_iter().map(as_made).collect()
}

/// All verbs over several tables in one batch: one result for each row, in order.
pub fn verbs_and_tables_mix(harness: &dyn Harness) -> Check {
    let (person, tag, document) = (tables::person()?, tables::tag()?, tables::document()?);
    with(harness, &[&person, &tag, &document], |probe| {
        for on_error in [OnError::Stop, OnError::Continue] {
            for table in [&person, &tag, &document] {
                probe.delete_where(table, None)?;
            }
            let steps = [
                (&person, Verb::Insert, row![100, "Ada", "a@x", 1], NEW),
                (&tag, Verb::Insert, row!["t", 1.0], NEW),
                (&person, Verb::Insert, row![102, "Bob", "b@x", 2], NEW),
                (&person, Verb::Insert, row![107, "Eve", NULL, 3], NEW),
                (&person, Verb::Insert, row![NULL, "Joe", NULL, 4], made(108)),
                (&document, Verb::Insert, row![1, "d", 0, 0], NEW),
                (&document, Verb::Update, row![1, "e", 1, 0], ONE),
                (&document, Verb::Update, row![1, "f", 2, 1], ONE),
                (&tag, Verb::Upsert, row!["t", 2.0], ONE),
                (&tag, Verb::Upsert, row!["u", 3.0], NEW),
                (&person, Verb::Delete, row![102], ONE),
                (&person, Verb::Delete, row![102], NONE),
                (&person, Verb::InsertOrIgnore, row![NULL, "x", "a@x", 5], Outcome::Ignored),
                (&person, Verb::InsertOrIgnore, row![NULL, "Una", "u@x", 5], made(109)),
                (&person, Verb::InsertOrReplace, row![NULL, "New", "a@x", 6], made(110)),
                (&tag, Verb::Delete, row!["t"], ONE),
                (&tag, Verb::InsertOrReplace, row!["u", 4.0], NEW),
            ];
            let entries: Vec<_> = steps
                .iter()
                .map(|(t, verb, values, _)| Entry::new(t, *verb, values.clone()))
                .collect();
            let outcomes = probe.batch(&entries, on_error).outcomes()?;
            let keys = keys_of("made", outcomes.iter().copied())?;
            let expected = steps.iter().map(|(_, _, _, outcome)| *outcome);
            same("results", outcomes, made_as(probe, expected, &keys))?;
            let [joe, una, new] = keys[..] else {
                return Err(Failure::new(format!("keys {keys:?} where three were made")));
            };
            let mut people = vec![
                row![107, "Eve", NULL, 3],
                row![joe, "Joe", NULL, 4],
                row![una, "Una", "u@x", 5],
                row![new, "New", "a@x", 6],
            ];
            people.sort_by_key(|row| super::ids(std::slice::from_ref(row)));
            same("people", probe.all(&person)?, people)?;
            same("tags", probe.all(&tag)?, vec![row!["u", 4.0]])?;
            same("documents", probe.all(&document)?, vec![row![1, "f", 2, 2]])?;
        }
        Ok(())
    })
}

/// Runs of one table, verb and field set that alternate: no value gets into another's column.
pub fn field_sets_alternate(harness: &dyn Harness) -> Check {
    let (person, slot) = (tables::person()?, tables::slot()?);
    with(harness, &[&person, &slot], |probe| {
        probe.insert_all(&person, (1..=4).map(|id| row![id, "n", NULL, 0]))?;
        probe.insert_all(&slot, (1..=4).map(|id| row![id, "r", id, "n"]))?;
        let update = |table, id: i32, fields: &[usize]| {
            Entry::new(table, Verb::Update, row![id, format!("v{id}"), NULL, NULL]).fields(fields)
        };
        let entries = [
            update(&person, 1, &[1]),
            update(&slot, 1, &[1]),
            update(&person, 2, &[3]),
            update(&slot, 2, &[3]),
            update(&person, 3, &[1, 3]),
            update(&slot, 3, &[1, 2, 3]),
            update(&person, 4, &[]),
            update(&slot, 4, &[]),
        ];
        same("results", probe.batch(&entries, OnError::Stop).outcomes()?, vec![ONE; 8])?;
        let people = vec![
            row![1, "v1", NULL, 0],
            row![2, "n", NULL, NULL],
            row![3, "v3", NULL, NULL],
            row![4, "n", NULL, 0],
        ];
        same("people", probe.all(&person)?, people)?;
        let slots = vec![
            row![1, "v1", 1, "n"],
            row![2, "r", 2, NULL],
            row![3, "v3", NULL, NULL],
            row![4, "r", 4, "n"],
        ];
        same("slots", probe.all(&slot)?, slots)
    })
}

/// Stop: the first error undoes all, and comes back with its row's number.
pub fn the_first_error_stops_the_batch(harness: &dyn Harness) -> Check {
    let (person, tag) = (tables::person()?, tables::tag()?);
    with(harness, &[&person, &tag], |probe| {
        probe.insert(&person, row![1, "Ada", "a@x", 1])?;
        let before = probe.all(&person)?;
        let wrong = [
            (Verb::Insert, row![1, "x", NULL, 1], ErrorKind::Duplicate),
            (Verb::Insert, row![NULL, "x", "a@x", 1], ErrorKind::Duplicate),
            (Verb::Insert, row![NULL, NULL, NULL, 1], ErrorKind::Constraint),
            (Verb::Update, row![9, "x", NULL, 1], ErrorKind::NotFound),
            (Verb::Update, row![1, NULL, NULL, 1], ErrorKind::Constraint),
            (Verb::Upsert, row![NULL, "x", "a@x", 1], ErrorKind::Duplicate),
            (Verb::InsertOrIgnore, row![NULL, NULL, "z@x", 1], ErrorKind::Constraint),
        ];
        for (verb, values, kind) in wrong {
            for at in [0, 2, 4] {
                let mut entries = vec![
                    Entry::insert(&person, row![NULL, "b", "b@x", 2]),
                    Entry::insert(&tag, row!["t", 1.0]),
                    Entry::new(&person, Verb::Update, row![1, "c", NULL, 3]).fields(&[1]),
                    Entry::new(&person, Verb::Delete, row![9]),
                ];
                entries.insert(at, Entry::new(&person, verb, values.clone()));
                let what = format!("{verb:?} of {values:?} at {at}");
                let sent = probe.batch(&entries, OnError::Stop);
                let good = sent.rows.iter().all(Result::is_ok);
                holds(&format!("{what}: rows before it are right"), good && sent.rows.len() <= at)?;
                let error = fails_in(&what, sent.whole, kind, "person")?;
                same(&what, error.row(), Some(at as u64))?;
                same(&what, probe.all(&person)?, before.clone())?;
                same(&what, probe.count(&tag)?, 0)?;
            }
        }
        Ok(())
    })
}

/// Continue: the wrong rows fail, with their numbers, and the others are there.
pub fn the_others_go_on(harness: &dyn Harness) -> Check {
    let (person, tag) = (tables::person()?, tables::tag()?);
    with(harness, &[&person, &tag], |probe| {
        let entries = [
            Entry::insert(&person, row![NULL, NULL, NULL, 1]),
            Entry::insert(&person, row![1, "a", "a@x", 1]),
            Entry::insert(&person, row![NULL, "b", "a@x", 1]),
            Entry::insert(&person, row![2, "c", "c@x", 1]),
            Entry::insert(&tag, row!["t", 1.0]),
            Entry::insert(&tag, row!["t", 2.0]),
            Entry::new(&person, Verb::Update, row![2, "d", "a@x", 1]),
            Entry::new(&person, Verb::Update, row![8, "d", NULL, 1]),
            Entry::new(&person, Verb::Update, row![2, "e", "e@x", 1]),
            Entry::new(&person, Verb::Delete, row![1]),
            Entry::insert(&person, row![2, "f", NULL, 1]),
        ];
        let sent = probe.batch(&entries, OnError::Continue);
        let found = results(&sent);
        for (at, row) in (0_u64..).zip(&sent.rows) {
            if let Err(error) = row {
                same("its number", error.row(), Some(at))?;
                holds("a table is named", error.table().is_some())?;
            }
        }
        sent.whole?;
        let expected = vec![
            Err(ErrorKind::Constraint),
            Ok(NEW),
            Err(ErrorKind::Duplicate),
            Ok(NEW),
            Ok(NEW),
            Err(ErrorKind::Duplicate),
            Err(ErrorKind::Duplicate),
            Err(ErrorKind::NotFound),
            Ok(ONE),
            Ok(ONE),
            Err(ErrorKind::Duplicate),
        ];
        same("results", found, expected)?;
        same("people", probe.all(&person)?, vec![row![2, "e", "e@x", 1]])?;
        same("tags", probe.all(&tag)?, vec![row!["t", 1.0]])
    })
}

/// A batch whose rows all fail is an empty success where it goes on.
pub fn all_rows_may_fail(harness: &dyn Harness) -> Check {
    let tag = tables::tag()?;
    with(harness, &[&tag], |probe| {
        probe.insert(&tag, row!["t", 1.0])?;
        let entries = vec![Entry::insert(&tag, row!["t", 2.0]); 100];
        let sent = probe.batch(&entries, OnError::Continue);
        same("results", results(&sent), vec![Err(ErrorKind::Duplicate); 100])?;
        sent.whole?;
        same("rows", probe.all(&tag)?, vec![row!["t", 1.0]])
    })
}

/// Inside a transaction a batch is one operation of it.
pub fn a_batch_inside_a_transaction(harness: &dyn Harness) -> Check {
    let tag = tables::tag()?;
    with(harness, &[&tag], |probe| {
        let good = [row!["b", 1.0], row!["c", 1.0]].map(|v| Entry::insert(&tag, v));
        let bad = [row!["d", 1.0], row!["a", 1.0], row!["e", 1.0]].map(|v| Entry::insert(&tag, v));
        probe.control(TransactionControl::Begin)?;
        probe.insert(&tag, row!["a", 1.0])?;
        probe.batch(&good, OnError::Stop).outcomes()?;
        let error =
            fails_in("stop", probe.batch(&bad, OnError::Stop).whole, ErrorKind::Duplicate, "tag")?;
        same("row", error.row(), Some(1))?;
        let names = |probe: &crate::Probe<'_>| -> Check<Vec<_>> {
            Ok(probe.all(&tag)?.into_iter().filter_map(|row| row.into_iter().next()).collect())
        };
        same("what was before stays", names(probe)?, row!["a", "b", "c"])?;
        let sent = probe.batch(&bad, OnError::Continue);
        same("go on", results(&sent), vec![Ok(NEW), Err(ErrorKind::Duplicate), Ok(NEW)])?;
        sent.whole?;
        probe.control(TransactionControl::Savepoint("s"))?;
        probe.batch(&[Entry::insert(&tag, row!["z", 1.0])], OnError::Stop).outcomes()?;
        probe.control(TransactionControl::RollbackTo("s"))?;
        probe.control(TransactionControl::Commit)?;
        same("after", names(probe)?, row!["a", "b", "c", "d", "e"])?;
        probe.control(TransactionControl::Begin)?;
        probe.batch(&[Entry::insert(&tag, row!["z", 1.0])], OnError::Stop).outcomes()?;
        probe.control(TransactionControl::Rollback)?;
        same("rolled back", names(probe)?, row!["a", "b", "c", "d", "e"])
    })
}

/// Rows later in a batch see those before.
pub fn rows_see_those_before(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        let entries = [
            Entry::insert(&person, row![1, "a", "a@x", 1]),
            Entry::new(&person, Verb::Update, row![1, "a", "b@x", 1]),
            Entry::insert(&person, row![2, "b", "a@x", 1]),
            Entry::new(&person, Verb::Delete, row![1]),
            Entry::insert(&person, row![1, "c", "b@x", 1]),
            Entry::new(&person, Verb::InsertOrReplace, row![3, "d", "b@x", 1]),
            Entry::new(&person, Verb::Upsert, row![3, "e", "e@x", 1]),
            Entry::insert(&person, row![NULL, "f", "b@x", 1]),
        ];
        let outcomes = probe.batch(&entries, OnError::Stop).outcomes()?;
        let keys = keys_of("made", outcomes.iter().copied())?;
        let last = keys.first().copied().unwrap_or_default();
        let expected = made_as(probe, [NEW, ONE, NEW, ONE, NEW, NEW, ONE, made(4)], &keys);
        same("results", outcomes, expected)?;
        let mut rows =
            vec![row![2, "b", "a@x", 1], row![3, "e", "e@x", 1], row![last, "f", "b@x", 1]];
        rows.sort_by_key(|row| super::ids(std::slice::from_ref(row)));
        same("rows", probe.all(&person)?, rows)
    })
}

/// A table that is not there is the row's error, like others.
pub fn a_missing_table_in_a_batch(harness: &dyn Harness) -> Check {
    let (tag, mark) = (tables::tag()?, tables::mark()?);
    with(harness, &[&tag], |probe| {
        let entries = [
            Entry::insert(&tag, row!["a", 1.0]),
            Entry::insert(&mark, row![1, 2]),
            Entry::insert(&tag, row!["b", 1.0]),
        ];
        let sent = probe.batch(&entries, OnError::Stop);
        fails_in("stop", sent.whole, ErrorKind::Schema, "mark")?;
        same("rows", probe.count(&tag)?, 0)?;
        probe.insert(&tag, row!["c", 1.0])?;
        same("the session goes on", probe.count(&tag)?, 1)
    })
}
