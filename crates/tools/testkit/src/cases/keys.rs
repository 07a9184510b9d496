//! Every kind of key, explicit or generated.

use super::{NEW, NONE, ONE, key_of, made, with};
use crate::{Check, Harness, NULL, Probe, fails_in, holds, row, same, tables};
use bobak_core::{ErrorKind, LengthLimit, Outcome, Value, ValueRef, Verb};

/// Generated keys count from 1 and continue after the largest; for engines whose keys are not
/// dense see the next case.
pub fn the_engine_gives_one_more_than_the_largest(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        if !probe.capabilities.sequential_keys {
            return Ok(());
        }
        let insert = |id: Value<'static>| probe.insert(&person, row![id, "x", NULL, 1]);
        same("first", insert(NULL)?, made(1))?;
        same("second", insert(NULL)?, made(2))?;
        same("given", insert(10.into())?, NEW)?;
        same("after the largest", insert(NULL)?, made(11))?;
        probe.delete(&person, row![2])?;
        same("no gap is filled", insert(NULL)?, made(12))?;
        probe.delete(&person, row![12])?;
        same("the largest that is there", insert(NULL)?, made(12))?;
        same("all of them go", probe.delete_where(&person, None)?, 4)?;
        same("of an empty table", insert(NULL)?, made(1))
    })
}

/// Generated keys ascend within a session, and never equal the key of a row, including keys that any
/// session inserted explicitly.
pub fn the_engine_gives_keys_that_no_row_has(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let person = tables::person()?;
    let probe = Probe::with_tables(store.engine(), &[&person])?;
    let other = Probe::new(store.engine())?;
    let insert = |probe: &Probe<'_>, key: Value<'static>| -> Check<Outcome> {
        Ok(probe.insert(&person, row![key, "x", NULL, 1])?)
    };
    let mut made = Vec::new();
    for given in [3, 4, 20, 21, 22, 1_000] {
        made.push(insert(&probe, NULL)?);
        // A key that the engine has generated meanwhile is a duplicate.
        match probe.insert(&person, row![Value::Int(given), "x", NULL, 1]) {
            Err(error) if error.kind() == ErrorKind::Duplicate => {}
            other => same("given", other?, NEW)?,
        }
        let batch = [NULL, Value::Int(given * 100), NULL, NULL]
            .map(|key| crate::Entry::insert(&person, row![key, "x", NULL, 1]));
        made.extend(probe.batch(&batch, bobak_core::OnError::Stop).outcomes()?);
    }
    insert(&other, Value::Int(200_000))?;
    for _ in 0..5 {
        made.push(insert(&probe, NULL)?);
        insert(&other, NULL)?;
    }
    let keys = super::keys_of("made", made)?;
    same("made", keys.len(), 6 * 4 + 5)?;
    let largest = keys.last().copied().unwrap_or_default();
    insert(&other, Value::Int(largest + 50))?;
    for _ in 0..60 {
        insert(&probe, NULL)?;
        insert(&other, NULL)?;
    }
    Ok(())
}

/// The key of a failed or rolled back insert is free again if keys are dense.
pub fn a_failed_insert_takes_no_key(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.insert(&person, row![NULL, "a", "a@x", 1])?;
        let twice = probe.insert(&person, row![NULL, "b", "a@x", 1]);
        fails_in("a duplicate", twice, ErrorKind::Duplicate, "person")?;
        let next = probe.insert(&person, row![NULL, "c", NULL, 1])?;
        let next = key_of(probe, "next", next, 2)?;
        probe.control(bobak_core::TransactionControl::Begin)?;
        let inside = probe.insert(&person, row![NULL, "d", NULL, 1])?;
        let inside = key_of(probe, "inside", inside, 3)?;
        probe.control(bobak_core::TransactionControl::Rollback)?;
        let after = probe.insert(&person, row![NULL, "e", NULL, 1])?;
        let after = key_of(probe, "after", after, 3)?;
        holds("they ascend", next < inside && next < after)?;
        same("rows", probe.count(&person)?, 3)
    })
}

/// Keys are any 64-bit integer.
pub fn integer_keys_have_their_whole_range(harness: &dyn Harness) -> Check {
    let document = tables::document()?;
    with(harness, &[&document], |probe| {
        let keys = [i64::MAX, 0, -1, i64::MIN, 1 << 53, (1 << 53) + 1];
        for key in keys {
            let value = Value::Int(key);
            same("outcome", probe.insert(&document, row![value, "t", NULL, 0])?, NEW)?;
        }
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        same("order", super::ids(&probe.all(&document)?), sorted)?;
        let key = Value::Int((1 << 53) + 1);
        let found = probe.get(&document, vec![key.clone()])?;
        same("exact", found.map(|row| super::ids(&[row])), Some(vec![(1 << 53) + 1]))?;
        same("deleted", probe.delete(&document, vec![key])?, ONE)?;
        same("rows", probe.count(&document)?, 5)
    })
}

/// After the largest integer there is no next key.
pub fn keys_end_at_the_largest_integer(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        let second = probe.insert(&person, row![Value::Int(i64::MAX - 1), "x", NULL, 1]);
        if probe.capabilities.limited_values {
            return fails_in("a large key", second, ErrorKind::OutOfRange, "person").map(drop);
        }
        second?;
        let insert = || probe.insert(&person, row![NULL, "x", NULL, 1]);
        if !probe.capabilities.sequential_keys {
            // It may find a free key or fail, but never uses a key twice.
            for _ in 0..5 {
                match insert() {
                    Err(error) if error.kind() == ErrorKind::Full => {}
                    other => key_of(probe, "another", other?, 0).map(drop)?,
                }
            }
            return Ok(());
        }
        same("the last one", insert()?, made(i64::MAX))?;
        fails_in("none", insert(), ErrorKind::Full, "person")?;
        same("rows", probe.count(&person)?, 2)?;
        probe.delete(&person, row![Value::Int(i64::MAX)])?;
        same("free again", insert()?, made(i64::MAX))
    })
}

/// After negative keys the next one is one larger, too.
pub fn a_negative_largest_key_counts(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.insert(&person, row![-5, "x", NULL, 1])?;
        let next = probe.insert(&person, row![NULL, "x", NULL, 1])?;
        key_of(probe, "next", next, -4).map(drop)
    })
}

/// An insert with an existing key fails and names the key.
pub fn a_key_is_there_once(harness: &dyn Harness) -> Check {
    let (person, tag, seat) = (tables::person()?, tables::tag()?, tables::seat()?);
    with(harness, &[&person, &tag, &seat], |probe| {
        probe.insert(&person, row![7, "a", NULL, 1])?;
        let twice = probe.insert(&person, row![7, "b", NULL, 1]);
        let error = fails_in("an integer", twice, ErrorKind::Duplicate, "person")?;
        same("column", error.column(), Some("id"))?;
        probe.insert(&tag, row!["a", 1.0])?;
        let twice = probe.insert(&tag, row!["a", 2.0]);
        let error = fails_in("a text", twice, ErrorKind::Duplicate, "tag")?;
        same("column", error.column(), Some("name"))?;
        probe.insert(&seat, row!["Ada", "A", 1])?;
        probe.insert(&seat, row!["Ada", "B", 1])?;
        probe.insert(&seat, row!["Ada", "A", 2])?;
        let twice = probe.insert(&seat, row!["Bob", "A", 1]);
        fails_in("a pair", twice, ErrorKind::Duplicate, "seat")?;
        same("person", probe.all(&person)?, vec![row![7, "a", NULL, 1]])?;
        same("tag", probe.all(&tag)?, vec![row!["a", 1.0]])?;
        same("seat", probe.count(&seat)?, 3)
    })
}

/// Text keys are compared with case and beyond a NUL; the empty text is a key.
pub fn text_keys_are_compared_by_their_bytes(harness: &dyn Harness) -> Check {
    let tag = tables::tag()?;
    let store = harness.fresh()?;
    let keys = ["", "A", "a", "a\0", "a\0b", "a\0c", "ab", "é", "\u{10ffff}", "'", "%"];
    let keys = super::possible(&store, &keys);
    let probe = Probe::with_tables(store.engine(), &[&tag])?;
    {
        if probe.capabilities.limited_values {
            probe.insert(&tag, row!["a", 1.0])?;
            let same_for_it = probe.insert(&tag, row!["A", 1.0]);
            return fails_in("the other case", same_for_it, ErrorKind::Duplicate, "tag").map(drop);
        }
        for (weight, key) in keys.iter().enumerate() {
            probe.insert(&tag, row![*key, weight as f64])?;
        }
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        let names: Vec<_> =
            probe.all(&tag)?.into_iter().map(|mut row| row.swap_remove(0)).collect();
        same("order", names, sorted.into_iter().map(Value::from).collect())?;
        for (weight, key) in keys.iter().enumerate() {
            same("by key", probe.get(&tag, row![*key])?, Some(row![*key, weight as f64]))?;
        }
        if probe.capabilities.nul_in_text {
            same("deleted", probe.delete(&tag, row!["a\0b"])?, ONE)?;
            same("its neighbour stays", probe.get(&tag, row!["a\0c"])?.is_some(), true)?;
        }
        same("updated", probe.update(&tag, row!["A", -1.0])?, ONE)?;
        let small = keys.iter().position(|key| *key == "a").unwrap_or_default() as f64;
        same("the other case", probe.get(&tag, row!["a"])?, Some(row!["a", small]))
    }
}

/// A text of a key or a unique index may be as long as the engine says, and no longer.
pub fn texts_have_the_length_that_the_engine_says(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let (tag, word) = (tables::tag()?, tables::word()?);
    let probe = Probe::with_tables(store.engine(), &[&tag, &word])?;
    for (table, place, column) in [(&tag, 0, "name"), (&word, 2, "nocase"), (&word, 3, "unicode")] {
        same("its column", table.column_at(place)?.name.as_ref(), column)?;
        let Some(limit) = store.engine().length_limit(table, place) else { continue };
        let most = match limit {
            LengthLimit::Characters(most) | LengthLimit::Utf16Units(most) => most,
            LengthLimit::Bytes(most) => most,
            _ => continue,
        };
        let longest = "x".repeat(usize::try_from(most).unwrap_or(usize::MAX));
        let row = |text: &str| {
            let mut row =
                if table.name() == tag.name() { row!["", 1.0] } else { row![1, NULL, NULL, NULL] };
            row.iter_mut().skip(place).take(1).for_each(|value| *value = text.to_owned().into());
            row
        };
        holds("the limit admits it", limit.admits(ValueRef::Text(&longest)))?;
        let longer = row(&format!("{longest}x"));
        fails_in("longer", probe.insert(table, longer), ErrorKind::TooLong, table.name())?;
        probe.insert(table, row(&longest))?;
        same("rows", probe.all(table)?.len(), 1)?;
        probe.delete_where(table, None)?;
    }
    Ok(())
}

/// UUIDs are stored as their 16 bytes and sorted by them.
pub fn uuid_keys_are_bytes(harness: &dyn Harness) -> Check {
    let device = tables::device()?;
    with(harness, &[&device], |probe| {
        let key = |first: u8| [&[first], &[0; 14][..], &[7]].concat();
        for first in [255, 0, 128] {
            same("outcome", probe.insert(&device, row![key(first), "x"])?, NEW)?;
        }
        let rows = vec![row![key(0), "x"], row![key(128), "x"], row![key(255), "x"]];
        same("order", probe.all(&device)?, rows)?;
        let twice = probe.insert(&device, row![key(128), "y"]);
        fails_in("a second one", twice, ErrorKind::Duplicate, "device")?;
        same("updated", probe.update(&device, row![key(128), "z"])?, ONE)?;
        same("by key", probe.get(&device, row![key(128)])?, Some(row![key(128), "z"]))?;
        same("deleted", probe.delete(&device, row![key(0)])?, ONE)?;
        same("none", probe.get(&device, row![key(0)])?, None)
    })
}

/// Values of composite keys are in key order, which may differ from the order of columns.
pub fn composite_keys_are_taken_in_key_order(harness: &dyn Harness) -> Check {
    let seat = tables::seat()?;
    with(harness, &[&seat], |probe| {
        probe.insert_all(
            &seat,
            [row!["c", "A", 2], row!["b", "B", 1], row!["a", "A", 1], row![NULL, "A", 10]],
        )?;
        let sorted =
            vec![row!["a", "A", 1], row!["b", "B", 1], row!["c", "A", 2], row![NULL, "A", 10]];
        same("order", probe.all(&seat)?, sorted)?;
        same("by key", probe.get(&seat, row![1, "B"])?, Some(row!["b", "B", 1]))?;
        let twice = probe.insert(&seat, row!["d", "B", 1]);
        let error = fails_in("the same key", twice, ErrorKind::Duplicate, "seat")?;
        same("all columns", error.column(), Some("row, letter"))?;
        same("half of two keys", probe.get(&seat, row![2, "B"])?, None)?;
        same("updated", probe.update(&seat, row!["x", "A", 10])?, ONE)?;
        same("upserted", probe.write(&seat, Verb::Upsert, row!["y", "A", 2])?, ONE)?;
        same("deleted", probe.delete(&seat, row![1, "A"])?, ONE)?;
        same("not there", probe.delete(&seat, row![1, "A"])?, NONE)?;
        let rest = vec![row!["b", "B", 1], row!["y", "A", 2], row!["x", "A", 10]];
        same("rest", probe.all(&seat)?, rest)
    })
}

/// A table may consist of its key alone.
pub fn a_table_may_be_all_key(harness: &dyn Harness) -> Check {
    let mark = tables::mark()?;
    with(harness, &[&mark], |probe| {
        same("inserted", probe.insert(&mark, row![1, 2])?, NEW)?;
        same(
            "ignored",
            probe.write(&mark, Verb::InsertOrIgnore, row![1, 2])?,
            bobak_core::Outcome::Ignored,
        )?;
        same("replaced", probe.write(&mark, Verb::InsertOrReplace, row![1, 2])?, NEW)?;
        same("upserted", probe.write(&mark, Verb::Upsert, row![1, 2])?, ONE)?;
        same("upserted again", probe.write(&mark, Verb::Upsert, row![2, 2])?, NEW)?;
        same("updated", probe.update(&mark, row![1, 2])?, ONE)?;
        let missing = probe.update(&mark, row![3, 2]);
        fails_in("not there", missing, ErrorKind::NotFound, "mark")?;
        same("rows", probe.all(&mark)?, vec![row![1, 2], row![2, 2]])?;
        holds("found", probe.get(&mark, row![2, 2])?.is_some())
    })
}

/// An engine that promises it never makes the key of a deleted row again, and finds that in the table.
pub fn keys_of_deleted_rows_are_not_used_again(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let ticket = tables::ticket()?;
    let probe = match Probe::with_tables(store.engine(), &[&ticket]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            return holds("it says so", !store.engine().capabilities().unreused_keys);
        }
        probe => probe?,
    };
    holds("it says so", probe.capabilities.unreused_keys)?;
    let found = store.engine().tables()?;
    holds("the description is the same", found.iter().any(|table| table.same_as(&ticket)))?;
    let batch = [NULL, NULL].map(|key| crate::Entry::insert(&ticket, row![key, "x"]));
    let made = probe.batch(&batch, bobak_core::OnError::Stop).outcomes()?;
    let last = super::keys_of("made", made)?.last().copied().unwrap_or_default();
    probe.delete(&ticket, row![last])?;
    let insert = || -> Check<i64> {
        let made = super::keys_of("made", [probe.insert(&ticket, row![NULL, "y"])?])?;
        Ok(made.last().copied().unwrap_or_default())
    };
    let next = insert()?;
    holds("a new key", next > last)?;
    probe.insert(&ticket, row![next + 10, "given"])?;
    probe.delete_where(&ticket, None)?;
    holds("after the given one", insert()? > next + 10)
}
