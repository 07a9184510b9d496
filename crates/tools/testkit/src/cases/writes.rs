//! Every verb, on existing and on missing rows.

use super::{NEW, NONE, ONE, key_of, with};
use crate::{Check, Entry, Harness, NULL, Probe, fails, fails_in, row, same, tables};
use bobak_core::{
    ColumnRole, ColumnSchema, ErrorKind, FieldSet, GeneratedKey, OnError, Outcome, TableSchema,
    Uuid, Value, Verb,
};
use std::sync::Arc;

/// Two people: 1 Ada a@x 36, 2 Bob b@x NULL.
fn two(probe: &Probe<'_>, person: &crate::Table) -> Check {
    probe.insert(person, row![1, "Ada", "a@x", 36])?;
    probe.insert(person, row![2, "Bob", "b@x", NULL])?;
    Ok(())
}

/// Insert, get, update, delete.
pub fn a_row_lives_and_dies(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        let made = probe.insert(&person, row![NULL, "Ada", "a@x", NULL])?;
        let ada = key_of(probe, "made", made, 1)?;
        same("found", probe.get(&person, row![ada])?, Some(row![ada, "Ada", "a@x", NULL]))?;
        same("updated", probe.update(&person, row![ada, "Eve", NULL, 36])?, ONE)?;
        same("found", probe.get(&person, row![ada])?, Some(row![ada, "Eve", NULL, 36]))?;
        same("updated to the same", probe.update(&person, row![ada, "Eve", NULL, 36])?, ONE)?;
        same("deleted", probe.delete(&person, row![ada])?, ONE)?;
        same("gone", probe.get(&person, row![ada])?, None)?;
        same("deleted again", probe.delete(&person, row![ada])?, NONE)?;
        same("rows", probe.count(&person)?, 0)
    })
}

/// An update sets its fields and no others.
pub fn an_update_sets_its_fields_only(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        two(probe, &person)?;
        let entry = Entry::new(&person, Verb::Update, row![2, "no", "no", 44]);
        same("one field", probe.send(&entry.clone().fields(&[3]))?, ONE)?;
        let rows = vec![row![1, "Ada", "a@x", 36], row![2, "Bob", "b@x", 44]];
        same("rows", probe.all(&person)?, rows)?;
        let entry = Entry::new(&person, Verb::Update, row![2, "Eve", NULL, 5]);
        same("two fields", probe.send(&entry.fields(&[1, 2]))?, ONE)?;
        let rows = vec![row![1, "Ada", "a@x", 36], row![2, "Eve", NULL, 44]];
        same("rows", probe.all(&person)?, rows.clone())?;
        let entry = Entry::new(&person, Verb::Update, row![2, "no", "no", 5]);
        same("no field", probe.send(&entry.fields(&[]))?, ONE)?;
        same("rows", probe.all(&person)?, rows)
    })
}

/// An update does not look at the fields that it does not set, which may lack values that the row needs: as of a record with
/// fields that were not read.
pub fn an_update_needs_its_fields_only(harness: &dyn Harness) -> Check {
    let (person, document) = (tables::person()?, tables::document()?);
    with(harness, &[&person, &document], |probe| {
        two(probe, &person)?;
        probe.insert(&document, row![1, "d", 5, 0])?;
        let entry =
            |values, fields: &[usize]| Entry::new(&person, Verb::Update, values).fields(fields);
        same("one row", probe.send(&entry(row![2, NULL, NULL, 44], &[3]))?, ONE)?;
        let versioned = Entry::new(&document, Verb::Update, row![1, NULL, 6, 0]).fields(&[2]);
        same("a version", probe.send(&versioned)?, ONE)?;
        let later = Entry::new(&document, Verb::Update, row![1, NULL, 7, 1]).fields(&[2]);
        let entries = [
            entry(row![1, NULL, "e@x", NULL], &[2]),
            entry(row![2, NULL, "f@x", NULL], &[2]),
            entry(row![1, "Eve", NULL, NULL], &[1]),
            later,
        ];
        let outcomes = probe.batch(&entries, OnError::Stop).outcomes()?;
        same("a batch", outcomes, vec![ONE; 4])?;
        let rows = vec![row![1, "Eve", "e@x", 36], row![2, "Bob", "f@x", 44]];
        same("rows", probe.all(&person)?, rows)?;
        let version = Value::Int(2);
        same("document", probe.all(&document)?, vec![row![1, "d", 7, version]])
    })
}

/// Consecutive statements with different fields are different statements: mORMot once wrote values
/// into the columns of the previous one.
pub fn field_sets_are_not_mixed_up(harness: &dyn Harness) -> Check {
    let (person, document) = (tables::person()?, tables::document()?);
    with(harness, &[&person, &document], |probe| {
        two(probe, &person)?;
        probe.insert(&document, row![1, "d", 5, 0])?;
        for round in 0..4_i64 {
            let age = Entry::new(&person, Verb::Update, row![1, "no", "no", round as i32]);
            probe.send(&age.fields(&[3]))?;
            let name = Entry::new(&person, Verb::Update, row![2, format!("n{round}"), "no", 0]);
            probe.send(&name.fields(&[1]))?;
            let title = Entry::new(
                &document,
                Verb::Update,
                row![1, format!("t{round}"), 0, bobak_core::Value::Int(round)],
            );
            probe.send(&title.fields(&[1]))?;
            let rows = vec![
                row![1, "Ada", "a@x", round as i32],
                row![2, format!("n{round}"), "b@x", NULL],
            ];
            same("people", probe.all(&person)?, rows)?;
            let version = bobak_core::Value::Int(round + 1);
            let rows = vec![row![1, format!("t{round}"), 5, version]];
            same("document", probe.all(&document)?, rows)?;
        }
        Ok(())
    })
}

/// An update of a missing key is `NotFound`, and nothing changes.
pub fn an_update_needs_its_row(harness: &dyn Harness) -> Check {
    let (person, tag) = (tables::person()?, tables::tag()?);
    with(harness, &[&person, &tag], |probe| {
        two(probe, &person)?;
        let missing = probe.update(&person, row![3, "x", NULL, 1]);
        fails_in("of a missing row", missing, ErrorKind::NotFound, "person")?;
        let missing = probe.update(&tag, row!["x", 1.0]);
        fails_in("of an empty table", missing, ErrorKind::NotFound, "tag")?;
        same("rows", probe.count(&person)? + probe.count(&tag)?, 2)
    })
}

/// Insert-or-ignore keeps the existing row.
pub fn insert_or_ignore(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        two(probe, &person)?;
        let ignore = |values| probe.write(&person, Verb::InsertOrIgnore, values);
        same("its key is there", ignore(row![1, "x", "x@x", 1])?, Outcome::Ignored)?;
        same("its e-mail is there", ignore(row![NULL, "x", "a@x", 1])?, Outcome::Ignored)?;
        same("both are", ignore(row![2, "x", "a@x", 1])?, Outcome::Ignored)?;
        same("rows", probe.count(&person)?, 2)?;
        key_of(probe, "a new key", ignore(row![NULL, "Eve", NULL, 1])?, 3)?;
        same("a given key", ignore(row![99, "Eve", NULL, 1])?, NEW)?;
        let after = ignore(row![NULL, "Eve", "e@x", 1])?;
        let after = key_of(probe, "after it", after, 100)?;
        same("it", probe.get(&person, row![after])?, Some(row![after, "Eve", "e@x", 1]))?;
        same("the first", probe.get(&person, row![1])?, Some(row![1, "Ada", "a@x", 36]))
    })
}

/// It ignores duplicates, but no other violations.
pub fn insert_or_ignore_keeps_other_rules(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        two(probe, &person)?;
        let null = probe.write(&person, Verb::InsertOrIgnore, row![NULL, NULL, "n@x", 1]);
        let error = fails_in("NULL", null, ErrorKind::Constraint, "person")?;
        same("column", error.column(), Some("name"))?;
        same("rows", probe.count(&person)?, 2)
    })
}

/// Insert-or-replace deletes every conflicting row.
pub fn insert_or_replace(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        two(probe, &person)?;
        let replace = |values| probe.write(&person, Verb::InsertOrReplace, values);
        same("by key", replace(row![1, "Eve", NULL, 3])?, NEW)?;
        let rows = vec![row![1, "Eve", NULL, 3], row![2, "Bob", "b@x", NULL]];
        same("rows", probe.all(&person)?, rows)?;
        same("by e-mail", replace(row![7, "Joe", "b@x", 4])?, NEW)?;
        let rows = vec![row![1, "Eve", NULL, 3], row![7, "Joe", "b@x", 4]];
        same("rows", probe.all(&person)?, rows)?;
        same("by both", replace(row![1, "Una", "b@x", 5])?, NEW)?;
        same("rows", probe.all(&person)?, vec![row![1, "Una", "b@x", 5]])?;
        let new = key_of(probe, "nothing in its way", replace(row![NULL, "New", NULL, 6])?, 2)?;
        let two = replace(row![NULL, "Two", "b@x", 7])?;
        let two = key_of(probe, "a made key and an e-mail", two, 3)?;
        let rows = vec![row![new, "New", NULL, 6], row![two, "Two", "b@x", 7]];
        same("rows", probe.all(&person)?, rows.clone())?;
        let null = replace(row![new, NULL, "b@x", 7]);
        fails_in("NULL", null, ErrorKind::Constraint, "person")?;
        same("nothing was deleted", probe.all(&person)?, rows)
    })
}

/// Upsert inserts the row, or updates its fields in the row with the same key.
pub fn upsert(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        two(probe, &person)?;
        let upsert = |values| probe.write(&person, Verb::Upsert, values);
        let eve = key_of(probe, "a new key", upsert(row![NULL, "Eve", NULL, 1])?, 3)?;
        same("a given key", upsert(row![99, "Joe", "j@x", 2])?, NEW)?;
        same("there", upsert(row![2, "Rob", NULL, 3])?, ONE)?;
        same("the same", upsert(row![2, "Rob", NULL, 3])?, ONE)?;
        let entry = Entry::new(&person, Verb::Upsert, row![1, "no", "no", 99]);
        same("one field", probe.send(&entry.fields(&[3]))?, ONE)?;
        let entry = Entry::new(&person, Verb::Upsert, row![100, "yes", "y@x", 99]);
        same("a new row has all", probe.send(&entry.fields(&[3]))?, NEW)?;
        let rows = vec![
            row![1, "Ada", "a@x", 99],
            row![2, "Rob", NULL, 3],
            row![eve, "Eve", NULL, 1],
            row![99, "Joe", "j@x", 2],
            row![100, "yes", "y@x", 99],
        ];
        same("rows", probe.all(&person)?, rows)
    })
}

/// If another row has a unique value of the upserted row, that is a duplicate, whether the key exists
/// or not; unless the update does not set that value.
pub fn upsert_updates_by_its_key_only(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        two(probe, &person)?;
        let new = probe.write(&person, Verb::Upsert, row![NULL, "x", "a@x", 1]);
        fails_in("of a new row", new, ErrorKind::Duplicate, "person")?;
        let new = probe.write(&person, Verb::Upsert, row![5, "x", "a@x", 1]);
        fails_in("of a given key", new, ErrorKind::Duplicate, "person")?;
        let old = probe.write(&person, Verb::Upsert, row![2, "x", "a@x", 1]);
        let error = fails_in("of an old row", old, ErrorKind::Duplicate, "person")?;
        same("column", error.column(), Some("email"))?;
        let entry = Entry::new(&person, Verb::Upsert, row![2, "Rob", "a@x", 1]);
        same("not set", probe.send(&entry.fields(&[1]))?, ONE)?;
        let rows = vec![row![1, "Ada", "a@x", 36], row![2, "Rob", "b@x", NULL]];
        same("rows", probe.all(&person)?, rows)
    })
}

/// `fields` is empty for an upsert that only ensures that the row exists.
pub fn upsert_of_no_field(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        two(probe, &person)?;
        let mut entry = Entry::new(&person, Verb::Upsert, row![1, "no", "no", 0]);
        entry.fields = FieldSet::EMPTY;
        same("there", probe.send(&entry)?, ONE)?;
        entry.values = row![3, "Eve", NULL, 0];
        same("not there", probe.send(&entry)?, NEW)?;
        same("the first", probe.get(&person, row![1])?, Some(row![1, "Ada", "a@x", 36]))
    })
}

/// Upserts by the unique e-mail.
const ON_EMAIL: Verb = Verb::UpsertOn(0);

/// An upsert on a unique index updates the row with the same value, whatever the key, and tells that
/// row's key. NULL equals nothing.
pub fn upsert_on_a_unique_column(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        two(probe, &person)?;
        let upsert = |values| probe.write(&person, ON_EMAIL, values);
        same("there", upsert(row![NULL, "Eve", "a@x", 1])?, updated(1))?;
        same("of another key", upsert(row![2, "Una", "a@x", 2])?, updated(1))?;
        same("of a new key", upsert(row![77, "Una", "a@x", 2])?, updated(1))?;
        let new = key_of(probe, "a new key", upsert(row![NULL, "Joe", "j@x", 3])?, 3)?;
        same("a given key", upsert(row![99, "Kim", "k@x", 4])?, NEW)?;
        let null = key_of(probe, "NULL", upsert(row![NULL, "Lu", NULL, 5])?, 100)?;
        let taken = upsert(row![2, "x", "new@x", 1]);
        fails_in("the key is taken", taken, ErrorKind::Duplicate, "person")?;
        let taken = upsert(row![2, "x", NULL, 1]);
        fails_in("the key is taken, and NULL", taken, ErrorKind::Duplicate, "person")?;
        let missing = fails_in(
            "NULL in a required column",
            upsert(row![NULL, NULL, "a@x", 1]),
            ErrorKind::Constraint,
            "person",
        )?;
        same("column", missing.column(), Some("name"))?;
        let entry = Entry::new(&person, ON_EMAIL, row![NULL, "no", "b@x", 9]);
        same("one field", probe.send(&entry.clone().fields(&[3]))?, updated(2))?;
        same("no field", probe.send(&entry.fields(&[]))?, updated(2))?;
        let rows = vec![
            row![1, "Una", "a@x", 2],
            row![2, "Bob", "b@x", 9],
            row![new, "Joe", "j@x", 3],
            row![99, "Kim", "k@x", 4],
            row![null, "Lu", NULL, 5],
        ];
        same("rows", probe.all(&person)?, rows)
    })
}

/// The same by two columns, and under a collation.
pub fn upsert_on_several_columns_and_collations(harness: &dyn Harness) -> Check {
    let (slot, word) = (tables::slot()?, tables::word()?);
    with(harness, &[&slot, &word], |probe| {
        probe.insert(&slot, row![1, "A", Value::Int(9), "x"])?;
        let on = Verb::UpsertOn(0);
        let upsert = |values| probe.write(&slot, on, values);
        same("both equal", upsert(row![NULL, "A", Value::Int(9), "y"])?, updated(1))?;
        key_of(probe, "one differs", upsert(row![NULL, "A", Value::Int(10), "z"])?, 2)?;
        key_of(probe, "one is NULL", upsert(row![NULL, "A", NULL, "z"])?, 3)?;
        same("note", probe.get(&slot, row![1])?, Some(row![1, "A", Value::Int(9), "y"]))?;

        probe.insert(&word, row![1, "p", "Straße", "Ärger"])?;
        let nocase = probe.write(&word, on, row![NULL, "q", "STRAße", "x"])?;
        same("nocase", nocase, updated(1))?;
        let unicode = probe.write(&word, Verb::UpsertOn(1), row![NULL, "r", "y", "X"])?;
        same("unicode", unicode, updated(1))?;
        same("stored", probe.all(&word)?, vec![row![1, "r", "y", "X"]])
    })
}

/// The same where keys are UUIDs or texts: a text is not in the outcome.
pub fn upsert_on_a_unique_column_keeps_every_kind_of_key(harness: &dyn Harness) -> Check {
    let uuid = keyed("thing_uuid", ColumnSchema::of::<Uuid>("key"))?;
    let text = keyed("thing_text", ColumnSchema::of::<String>("key"))?;
    with(harness, &[&uuid, &text], |probe| {
        let on = Verb::UpsertOn(0);
        let (first, second) = (Uuid::from_bytes([1; 16]), Uuid::from_bytes([2; 16]));
        let bytes = |key: Uuid| Value::from(key.as_bytes().to_vec());
        same("new", probe.write(&uuid, on, row![bytes(first), "n", 1])?, NEW)?;
        let again = probe.write(&uuid, on, row![bytes(second), "n", 2])?;
        same("its UUID", again, Outcome::Updated(GeneratedKey::Uuid(first)))?;
        same("rows", probe.all(&uuid)?, vec![row![bytes(first), "n", 2]])?;

        same("new", probe.write(&text, on, row!["k", "n", 1])?, NEW)?;
        same("changed", probe.write(&text, on, row!["l", "n", 2])?, ONE)?;
        same("rows", probe.all(&text)?, vec![row!["k", "n", 2]])
    })
}

/// The same where the key has two columns, and the table a version.
pub fn upsert_on_a_unique_column_raises_the_version(harness: &dyn Harness) -> Check {
    let pair = TableSchema::builder("thing_pair")
        .column(ColumnSchema::of::<i64>("a"))
        .column(ColumnSchema::of::<String>("b"))
        .column(ColumnSchema::of::<String>("name").unique())
        .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
        .key(["a", "b"]);
    let pair = Arc::new(pair.build()?);
    with(harness, &[&pair], |probe| {
        let on = Verb::UpsertOn(0);
        same("new", probe.write(&pair, on, row![Value::Int(1), "b", "n", Value::Int(0)])?, NEW)?;
        same("again", probe.write(&pair, on, row![Value::Int(2), "c", "n", Value::Int(7)])?, ONE)?;
        same("rows", probe.all(&pair)?, vec![row![Value::Int(1), "b", "n", Value::Int(1)]])
    })
}

/// A table with this key and a unique name.
fn keyed(name: &'static str, key: ColumnSchema) -> Check<crate::Table> {
    let table = TableSchema::builder(name)
        .column(key)
        .column(ColumnSchema::of::<String>("name").unique())
        .column(ColumnSchema::of::<i32>("value"))
        .key(["key"]);
    Ok(Arc::new(table.build()?))
}

/// In a batch each row sees those before it, also the same value twice.
pub fn upsert_on_a_unique_column_in_a_batch(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        two(probe, &person)?;
        let mut entries = Vec::new();
        for number in 0..100_i32 {
            let email = if number == 1 { "b@x".to_owned() } else { format!("e{}", number / 2) };
            let values =
                row![Value::Int(1_000 + i64::from(number)), format!("n{number}"), email, number];
            entries.push(Entry::new(&person, ON_EMAIL, values));
        }
        let outcomes = probe.batch(&entries, OnError::Stop).outcomes()?;
        for (number, outcome) in (0..100_i64).zip(outcomes) {
            let wanted = match number {
                1 => updated(2),
                _ if number % 2 == 0 => NEW,
                _ => updated(1_000 + number - 1),
            };
            same(&format!("row {number}"), outcome, wanted)?;
        }
        let mut expected = vec![row![1, "Ada", "a@x", 36], row![2, "n1", "b@x", 1]];
        expected.push(row![Value::Int(1_000), "n0", "e0", 0]);
        for number in 1..50_i32 {
            let (key, last) = (Value::Int(1_000 + i64::from(number) * 2), number * 2 + 1);
            expected.push(row![key, format!("n{last}"), format!("e{number}"), last]);
        }
        same("rows", probe.all(&person)?, expected)
    })
}

/// The outcome of an upsert on a unique index that has updated the row with this key.
const fn updated(key: i64) -> Outcome {
    Outcome::Updated(GeneratedKey::Int(key))
}

/// A failed write does not change the table.
pub fn a_failed_write_changes_nothing(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        two(probe, &person)?;
        let before = probe.all(&person)?;
        let attempts = [
            (Verb::Insert, row![1, "x", NULL, 1], ErrorKind::Duplicate),
            (Verb::Insert, row![NULL, "x", "b@x", 1], ErrorKind::Duplicate),
            (Verb::Insert, row![NULL, NULL, NULL, 1], ErrorKind::Constraint),
            (Verb::Update, row![1, "x", "b@x", 1], ErrorKind::Duplicate),
            (Verb::Update, row![1, NULL, "c@x", 1], ErrorKind::Constraint),
            (Verb::Update, row![5, "x", NULL, 1], ErrorKind::NotFound),
            (Verb::Upsert, row![1, NULL, "c@x", 1], ErrorKind::Constraint),
            (Verb::InsertOrReplace, row![1, NULL, "b@x", 1], ErrorKind::Constraint),
        ];
        for (verb, values, kind) in attempts {
            let what = format!("{verb:?} of {values:?}");
            fails(&what, probe.write(&person, verb, values), kind)?;
            same(&what, probe.all(&person)?, before.clone())?;
        }
        Ok(())
    })
}
