//! Unique values, collations, NOT NULL and CHECK.

use super::{ONE, with};
use crate::{
    Check, Entry, Harness, NULL, Probe, Table, create, fails, fails_in, holds, row, same, tables,
};
use bobak_core::{Assign, ErrorKind, OnError, TransactionControl, Verb};

/// A unique value occurs once; NULL any number of times.
pub fn a_unique_value_is_there_once(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.insert(&person, row![1, "a", "a@x", 1])?;
        let twice = probe.insert(&person, row![NULL, "b", "a@x", 1]);
        let error = fails_in("insert", twice, ErrorKind::Duplicate, "person")?;
        same("column", error.column(), Some("email"))?;
        for key in 2..5 {
            probe.insert(&person, row![key, "n", NULL, 1])?;
        }
        let twice = probe.update(&person, row![2, "n", "a@x", 1]);
        fails_in("update", twice, ErrorKind::Duplicate, "person")?;
        same("to itself", probe.update(&person, row![1, "c", "a@x", 2])?, ONE)?;
        same("away", probe.update(&person, row![1, "c", NULL, 2])?, ONE)?;
        same("it is free", probe.update(&person, row![2, "n", "a@x", 1])?, ONE)?;
        probe.delete(&person, row![2])?;
        probe.insert(&person, row![NULL, "d", "a@x", 1])?;
        same("rows", probe.count(&person)?, 4)
    })
}

/// Several columns together: rows with a NULL among them are never duplicates.
pub fn a_unique_pair_is_there_once(harness: &dyn Harness) -> Check {
    let slot = tables::slot()?;
    with(harness, &[&slot], |probe| {
        let key = std::cell::Cell::new(0);
        let insert = |room: bobak_core::Value<'static>, hour: bobak_core::Value<'static>| {
            let added = probe.insert(&slot, row![key.get() + 1, room, hour, NULL]);
            key.set(key.get() + i64::from(added.is_ok()));
            added
        };
        insert("A".into(), 9.into())?;
        insert("A".into(), 10.into())?;
        insert("B".into(), 9.into())?;
        let twice = insert("A".into(), 9.into());
        let error = fails_in("the same pair", twice, ErrorKind::Duplicate, "slot")?;
        same("all columns", error.column(), Some("room, hour"))?;
        for _ in 0..2 {
            insert("A".into(), NULL)?;
            insert(NULL, 9.into())?;
            insert(NULL, NULL)?;
        }
        same("rows", probe.count(&slot)?, 9)?;
        let twice = probe.update(&slot, row![2, "A", 9, "x"]);
        let error = fails_in("by update", twice, ErrorKind::Duplicate, "slot")?;
        same("all columns", error.column(), Some("room, hour"))?;
        let note = crate::Entry::new(&slot, Verb::Update, row![2, "A", 9, "x"]).fields(&[3]);
        same("of another field", probe.send(&note)?, ONE)?;
        let replaced = probe.write(&slot, Verb::InsertOrReplace, row![NULL, "A", 9, "y"])?;
        super::key_of(probe, "replaced", replaced, 10)?;
        same("its row went", probe.get(&slot, row![1])?, None)
    })
}

/// A unique value that one update removes and adds, in the same row or in two.
pub fn unique_values_change_hands(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.insert_all(&person, [row![1, "a", "a@x", 1], row![2, "b", "b@x", 1]])?;
        probe.update(&person, row![1, "a", "c@x", 1])?;
        probe.update(&person, row![2, "b", "a@x", 1])?;
        probe.update(&person, row![1, "a", "b@x", 1])?;
        let rows = vec![row![1, "a", "b@x", 1], row![2, "b", "a@x", 1]];
        same("rows", probe.all(&person)?, rows)
    })
}

/// Values that a collation treats as equal are duplicates.
pub fn collations_decide_what_is_a_duplicate(harness: &dyn Harness) -> Check {
    let word = tables::word()?;
    with(harness, &[&word], |probe| {
        let insert = |nocase: Option<&'static str>, unicode: Option<&'static str>| {
            probe.insert(&word, row![NULL, "x", nocase, unicode])
        };
        let first = super::key_of(probe, "made", insert(Some("Straße"), None)?, 1)?;
        let twice = insert(Some("sTRAßE"), None);
        let error = fails_in("ASCII letters", twice, ErrorKind::Duplicate, "word")?;
        same("column", error.column(), Some("nocase"))?;
        insert(Some("É"), None)?;
        let other_case = insert(Some("é"), None);
        if probe.capabilities.limited_values {
            return fails_in("the other case", other_case, ErrorKind::Duplicate, "word").map(drop);
        }
        other_case?;
        insert(None, Some("Éclair Ω"))?;
        let twice = insert(None, Some("éCLAIR ω"));
        let error = fails_in("all letters", twice, ErrorKind::Duplicate, "word")?;
        same("column", error.column(), Some("unicode"))?;
        insert(None, Some("straße"))?;
        insert(None, Some("STRASSE"))?;
        same(
            "the text is kept as given",
            probe.get(&word, row![first])?,
            Some(row![first, "x", "Straße", NULL]),
        )?;
        same("its case may change", probe.update(&word, row![first, "x", "STRAßE", NULL])?, ONE)?;
        same("rows", probe.count(&word)?, 6)
    })
}

/// Every collation compares text beyond a NUL; an engine that does not store NUL rejects it through every
/// kind of write.
pub fn collations_look_behind_a_nul(harness: &dyn Harness) -> Check {
    let word = tables::word()?;
    with(harness, &[&word], |probe| {
        if !probe.capabilities.nul_in_text {
            return nuls_are_rejected(probe, &word);
        }
        if probe.capabilities.limited_values {
            probe.insert(&word, row![NULL, "a", "a", "a"])?;
            let same_for_it = probe.insert(&word, row![NULL, "b", "a\0", "b"]);
            return fails_in("a NUL at the end", same_for_it, ErrorKind::Duplicate, "word")
                .map(drop);
        }
        for text in ["a\0b", "a\0c", "a", "a\0"] {
            probe.insert(&word, row![NULL, text, text, text])?;
        }
        let twice = probe.insert(&word, row![NULL, NULL, "A\0B", NULL]);
        fails_in("ASCII letters", twice, ErrorKind::Duplicate, "word")?;
        let twice = probe.insert(&word, row![NULL, NULL, NULL, "A\0C"]);
        fails_in("all letters", twice, ErrorKind::Duplicate, "word")?;
        for column in [1, 2, 3] {
            let found = probe.filter(&word, super::equal(column, "a\0c"))?;
            same("equal", super::ids(&found), vec![2])?;
        }
        Ok(())
    })
}

fn nuls_are_rejected(probe: &Probe<'_>, word: &Table) -> Check {
    let kind = ErrorKind::Unsupported;
    probe.control(TransactionControl::Begin)?;
    probe.insert(word, row![1, "a", "a", "a"])?;
    for verb in [Verb::Insert, Verb::InsertOrIgnore, Verb::InsertOrReplace, Verb::Upsert] {
        let entry = Entry::new(word, verb, row![1, "a\0b", NULL, NULL]);
        let error = fails_in(&format!("{verb:?}"), probe.send(&entry), kind, "word")?;
        same("column", error.column(), Some("plain"))?;
        let entries = [Entry::insert(word, row![2, "b", NULL, NULL]), entry];
        let error = fails_in("a batch", probe.batch(&entries, OnError::Stop).whole, kind, "word")?;
        same("row", error.row(), Some(1))?;
        let sent = probe.batch(&entries, OnError::Continue);
        sent.whole?;
        let kinds = sent.rows.into_iter().map(|row| row.err().map(|error| error.kind()));
        same("a batch that goes on", kinds.collect(), vec![None, Some(kind)])?;
        probe.delete(word, row![2])?;
    }
    fails_in("an update", probe.update(word, row![1, NULL, "\0", NULL]), kind, "word")?;
    let set = Assign::Set { column: 1, value: "\0".into() };
    fails_in("a change", probe.change(word, None, &[set]), kind, "word")?;
    fails("a condition", probe.filter(word, super::equal(1, "a\0")), kind)?;
    probe.control(TransactionControl::Commit)?;
    same("rows", probe.all(word)?, vec![row![1, "a", "a", "a"]])
}

/// NULL in a NOT NULL column, with each verb, in each column.
pub fn not_null_is_kept(harness: &dyn Harness) -> Check {
    let (person, tag, seat) = (tables::person()?, tables::tag()?, tables::seat()?);
    with(harness, &[&person, &tag, &seat], |probe| {
        probe.insert(&person, row![1, "a", NULL, NULL])?;
        for verb in [Verb::Insert, Verb::InsertOrIgnore, Verb::InsertOrReplace, Verb::Upsert] {
            let null = probe.write(&person, verb, row![2, NULL, NULL, NULL]);
            let error = fails_in(&format!("{verb:?}"), null, ErrorKind::Constraint, "person")?;
            same("column", error.column(), Some("name"))?;
        }
        let null = probe.update(&person, row![1, NULL, NULL, NULL]);
        fails_in("update", null, ErrorKind::Constraint, "person")?;
        let null = probe.insert(&tag, row![NULL, 1.0]);
        fails_in("a text key", null, ErrorKind::Constraint, "tag")?;
        let null = probe.insert(&seat, row![NULL, NULL, 1]);
        fails_in("half a key", null, ErrorKind::Constraint, "seat")?;
        same("rows", probe.all(&person)?, vec![row![1, "a", NULL, NULL]])?;
        same("rows", probe.count(&tag)? + probe.count(&seat)?, 0)
    })
}

/// A default applies to rows that do not name the column; it does not replace NULL.
pub fn a_default_does_not_stand_for_null(harness: &dyn Harness) -> Check {
    let text = |name: &'static str| bobak_core::ColumnSchema::of::<String>(name);
    let table = std::sync::Arc::new(
        bobak_core::TableSchema::builder("option")
            .column(text("name"))
            .column(text("value").default("none"))
            .column(bobak_core::ColumnSchema::of::<Option<i64>>("number").default(7))
            .key(["name"])
            .build()?,
    );
    with(harness, &[&table], |probe| {
        probe.insert(&table, row!["a", "x", NULL])?;
        for verb in
            [Verb::Insert, Verb::InsertOrIgnore, Verb::InsertOrReplace, Verb::Upsert, Verb::Update]
        {
            for key in ["a", "b"] {
                let what = format!("{verb:?} of {key}");
                let null = probe.write(&table, verb, row![key, NULL, 1]);
                let missing = verb == Verb::Update && key == "b";
                let kind = if missing { ErrorKind::NotFound } else { ErrorKind::Constraint };
                fails_in(&what, null, kind, "option")?;
                let entry = crate::Entry::new(&table, verb, row![key, NULL, 1]);
                let sent = probe.batch(&[entry], bobak_core::OnError::Stop);
                fails_in(&what, sent.whole, kind, "option")?;
            }
        }
        same("rows", probe.all(&table)?, vec![row!["a", "x", NULL]])
    })
}

/// NOT NULL is checked before keys, so that a row that violates both fails in the same way on every
/// engine.
pub fn not_null_comes_before_duplicates(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.insert(&person, row![1, "a", "a@x", NULL])?;
        for verb in [Verb::Insert, Verb::InsertOrIgnore] {
            let both = probe.write(&person, verb, row![1, NULL, "a@x", NULL]);
            fails_in(&format!("{verb:?}"), both, ErrorKind::Constraint, "person")?;
        }
        Ok(())
    })
}

/// Every write obeys a CHECK, or the engine rejects the table.
pub fn checks_are_kept(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let bill = tables::bill()?;
    match create(store.engine(), &[&bill]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            return holds("nothing was made", store.engine().tables()?.is_empty());
        }
        other => other?,
    }
    let probe = crate::Probe::new(store.engine())?;
    probe.insert(&bill, row![1, 0])?;
    for verb in [Verb::Insert, Verb::InsertOrIgnore, Verb::InsertOrReplace, Verb::Upsert] {
        let wrong = probe.write(&bill, verb, row![2, -1]);
        let error = fails_in(&format!("{verb:?}"), wrong, ErrorKind::Constraint, "bill")?;
        same("column", error.column(), Some("cents"))?;
        same("message", error.message(), "the check 'cents >= 0' rejects the row")?;
    }
    let wrong = probe.update(&bill, row![1, -1]);
    fails_in("update", wrong, ErrorKind::Constraint, "bill")?;
    let less = bobak_core::Assign::Add { column: 1, value: (-1).into() };
    let wrong = probe.change(&bill, None, &[less]);
    fails_in("change", wrong, ErrorKind::Constraint, "bill")?;
    let wrong = [row![2, 5], row![3, -5], row![4, 6]].map(|v| crate::Entry::insert(&bill, v));
    let sent = probe.batch(&wrong, bobak_core::OnError::Continue);
    sent.whole?;
    let kinds: Vec<_> = sent.rows.into_iter().map(|r| r.err().map(|e| e.kind())).collect();
    same("batch", kinds, vec![None, Some(ErrorKind::Constraint), None])?;
    same("rows", probe.all(&bill)?, vec![row![1, 0], row![2, 5], row![4, 6]])
}

/// A check over several columns names all of them, in the order of the table.
pub fn a_check_names_its_columns(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let column = || bobak_core::ColumnSchema::of::<i64>("id");
    let int = |name| bobak_core::ColumnSchema::of::<i32>(name);
    let span = bobak_core::TableSchema::builder("span")
        .column(column())
        .column(int("first").check("last>first"))
        .column(int("last").check("last - first < 100"))
        .column(int("weight").check("weight<>13"))
        .key(["id"])
        .build()
        .map(std::sync::Arc::new)?;
    match create(store.engine(), &[&span]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        other => other?,
    }
    let probe = crate::Probe::new(store.engine())?;
    probe.insert(&span, row![1, 1, 2, 3])?;
    for (values, columns, message) in [
        (row![2, 5, 4, 1], "first, last", "the check 'last > first' rejects the row"),
        (row![2, 1, 400, 1], "first, last", "the check 'last - first < 100' rejects the row"),
        (row![2, 1, 4, 13], "weight", "the check 'weight <> 13' rejects the row"),
    ] {
        let wrong = probe.insert(&span, values);
        let error = fails_in(message, wrong, ErrorKind::Constraint, "span")?;
        same(message, (error.column(), error.message()), (Some(columns), message))?;
    }
    Ok(())
}
