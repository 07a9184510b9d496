//! Runs that are long enough for the fast paths: many rows in one statement, bound in bulk,
//! appended in order. An invalid row at any position must have the same effect as alone.

use super::{ids, keys_of, made, with};
use crate::{
    Check, Entry, Harness, NULL, Probe, Table, Values, fails_in, holds, row, same, tables,
};
use bobak_core::{ErrorKind, OnError, Outcome, TransactionControl, Value, Verb};

const ROWS: i64 = 2_500;

fn people(person: &Table) -> Vec<Entry> {
    let values = |n: i64| row![NULL, format!("n{n}"), format!("{n}@x"), (n % 90) as i32];
    (1..=ROWS).map(|n| Entry::insert(person, values(n))).collect()
}

/// The generated key of each row is returned, without gaps.
pub fn keys_of_a_long_run(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.insert(&person, row![40, "x", NULL, 1])?;
        let outcomes = probe.batch(&people(&person), OnError::Stop).outcomes()?;
        let keys = keys_of("keys", outcomes)?;
        let rows = probe.all(&person)?;
        let names = rows.iter().filter(|row| row.first() != Some(&Value::Int(40)));
        let names = names.filter_map(|row| row.get(1).cloned());
        same(
            "names",
            names.collect(),
            (1..=ROWS).map(|n| format!("n{n}").into()).collect::<Values>(),
        )?;
        let mut found = ids(&rows);
        found.retain(|id| *id != 40);
        holds("each row has the key that came back", found == keys)?;
        if probe.capabilities.sequential_keys {
            same("without a gap", keys, (41..41 + ROWS).collect())?;
        }
        Ok(())
    })
}

/// Explicit and generated keys mixed in one run: each generated key follows the largest so far.
pub fn given_keys_in_a_long_run(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        let dense = probe.capabilities.sequential_keys;
        // If any free key may be generated, the explicit keys are far away from them.
        let far = if dense { 0 } else { -1_000_000 };
        let mut largest = 0;
        let mut expected = Vec::new();
        let entries: Vec<_> = (1..=ROWS)
            .map(|n| {
                let key = match n % 50 {
                    0 => Some(largest + 10),
                    // Below the largest, in gaps that the line above leaves.
                    25 if n > 50 => Some(largest - 25),
                    _ => None,
                };
                expected.push(key.map_or(made(largest + 1), |_| Outcome::Inserted(None)));
                largest = largest.max(key.unwrap_or(largest + 1));
                let key = key.map_or(NULL, |key| Value::Int(key + far));
                Entry::insert(&person, vec![key, "x".into(), NULL, NULL])
            })
            .collect();
        let outcomes = probe.batch(&entries, OnError::Stop).outcomes()?;
        let keys = keys_of("made", outcomes.iter().copied())?;
        if dense {
            same("outcomes", outcomes, expected)?;
        } else {
            let made = expected.iter().filter(|outcome| **outcome != Outcome::Inserted(None));
            same("so many are made", keys.len(), made.count())?;
        }
        let found = ids(&probe.all(&person)?);
        same("rows", found.len() as i64, ROWS)?;
        holds("those that were made are there", keys.iter().all(|key| found.contains(key)))?;
        holds("ascending", found.is_sorted_by(|a, b| a < b))
    })
}

/// Positions of the invalid row: the first, the last, and on both sides of likely block sizes.
const PLACES: [usize; 9] = [0, 1, 63, 64, 127, 500, 1_250, 2_498, 2_499];

/// A duplicate key or unique value in the first, a middle or the last row.
pub fn a_duplicate_in_a_long_run(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.insert(&person, row![1_000_000, "old", "old@x", 1])?;
        for (place, wrong) in PLACES.into_iter().zip(
            [row![1_000_000, "x", NULL, 1], row![NULL, "x", "old@x", 1], row![NULL, NULL, NULL, 1]]
                .into_iter()
                .cycle(),
        ) {
            let kind = if wrong.get(1) == Some(&NULL) {
                ErrorKind::Constraint
            } else {
                ErrorKind::Duplicate
            };
            let mut entries = people(&person);
            if let Some(entry) = entries.get_mut(place) {
                entry.values = wrong;
            }
            stop_and_go_on(probe, &person, &entries, place, kind)?;
        }
        Ok(())
    })
}

/// With `Stop` the batch leaves nothing; with `Continue` it omits only that row.
fn stop_and_go_on(
    probe: &Probe<'_>,
    person: &Table,
    entries: &[Entry],
    place: usize,
    kind: ErrorKind,
) -> Check {
    let what = format!("a wrong row at {place}");
    let sent = probe.batch(entries, OnError::Stop);
    let error = fails_in(&what, sent.whole, kind, "person")?;
    same(&what, error.row(), Some(place as u64))?;
    same(&what, probe.count(person)?, 1)?;
    probe.control(TransactionControl::Begin)?;
    let sent = probe.batch(entries, OnError::Continue);
    sent.whole?;
    let wrong: Vec<_> =
        (0..).zip(&sent.rows).filter(|(_, row)| row.is_err()).map(|(at, _)| at).collect();
    same(&what, wrong, vec![place])?;
    same(&what, sent.rows.len(), entries.len())?;
    let keys = keys_of("made", sent.rows.iter().flatten().copied())?;
    same("made", keys.len() as i64, ROWS - 1)?;
    if probe.capabilities.sequential_keys {
        same("keys", keys.clone(), (1_000_001..1_000_000 + ROWS).collect())?;
    }
    let mut rows = probe.all(person)?;
    rows.retain(|row| row.first() != Some(&Value::Int(1_000_000)));
    same("rows have their keys", ids(&rows), keys)?;
    let ages: Vec<_> = rows.into_iter().filter_map(|mut row| row.pop()).collect();
    let expected = entries.iter().enumerate().filter(|(at, _)| *at != place);
    same("rows", ages, expected.filter_map(|(_, e)| e.values.last().cloned()).collect())?;
    probe.control(TransactionControl::Rollback)?;
    same("undone", probe.count(person)?, 1)
}

/// Two rows of one batch that are duplicates of each other, adjacent and far apart.
pub fn duplicates_inside_a_long_run(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        for (first, second) in [(0, 1), (0, 2_499), (63, 64), (700, 1_900), (2_498, 2_499)] {
            let mut entries = people(&person);
            let mail = format!("{}@x", first + 1);
            if let Some(value) = entries.get_mut(second).and_then(|e| e.values.get_mut(2)) {
                *value = mail.into();
            }
            let sent = probe.batch(&entries, OnError::Stop);
            let error = fails_in("stop", sent.whole, ErrorKind::Duplicate, "person")?;
            same("row", error.row(), Some(second as u64))?;
            same("column", error.column(), Some("email"))?;
            same("rows", probe.count(&person)?, 0)?;
        }
        Ok(())
    })
}

/// Ignored and replaced rows between new ones.
pub fn ignored_and_replaced_rows(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        probe.insert_all(
            &person,
            [row![-3, "a", "300@x", 1], row![-2, "b", "301@x", 1], row![-1, "c", "2400@x", 1]],
        )?;
        let as_verb = |verb| -> Vec<Entry> {
            people(&person).into_iter().map(|entry| Entry { verb, ..entry }).collect()
        };
        probe.control(TransactionControl::Begin)?;
        let outcomes = probe.batch(&as_verb(Verb::InsertOrIgnore), OnError::Stop).outcomes()?;
        let ignored: Vec<_> =
            (1..).zip(&outcomes).filter(|(_, o)| **o == Outcome::Ignored).map(|(n, _)| n).collect();
        same("ignored", ignored, vec![300, 301, 2_400])?;
        same("keys", keys_of("made", outcomes)?.len() as i64, ROWS - 3)?;
        same("rows", probe.count(&person)? as i64, ROWS)?;
        probe.control(TransactionControl::Rollback)?;
        let outcomes = probe.batch(&as_verb(Verb::InsertOrReplace), OnError::Stop).outcomes()?;
        let keys = keys_of("replaced", outcomes)?;
        same("replaced", keys.len() as i64, ROWS)?;
        same("rows", ids(&probe.all(&person)?), keys)
    })
}

/// Updates, upserts and deletes by key: each row its own.
pub fn long_runs_of_the_other_verbs(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    with(harness, &[&person], |probe| {
        let with_keys = (1..).zip(people(&person)).map(|(n, mut entry)| {
            if let Some(key) = entry.values.first_mut() {
                *key = Value::Int(n);
            }
            entry
        });
        probe.batch(&with_keys.collect::<Vec<_>>(), OnError::Stop).outcomes()?;
        // Keys in a different order than the table's.
        let keys: Vec<i64> = (0..ROWS).map(|n| n * 7 % ROWS + 1).collect();
        let with_age = |key: i64| row![Value::Int(key), "u", NULL, Value::Int(-key)];
        let entries = |verb: Verb, keys: &[i64]| -> Vec<Entry> {
            keys.iter().map(|key| Entry::new(&person, verb, with_age(*key)).fields(&[3])).collect()
        };
        let outcomes = probe.batch(&entries(Verb::Update, &keys), OnError::Stop).outcomes()?;
        same("updated", outcomes, vec![super::ONE; keys.len()])?;
        let rows: Vec<Values> = (1..=ROWS)
            .map(|n| row![Value::Int(n), format!("n{n}"), format!("{n}@x"), Value::Int(-n)])
            .collect();
        holds("each row has its value", probe.all(&person)? == rows)?;
        let more: Vec<i64> = keys.iter().map(|key| key + 100).collect();
        let outcomes = probe.batch(&entries(Verb::Upsert, &more), OnError::Stop).outcomes()?;
        let expected = more.iter().map(|key| if *key > ROWS { super::NEW } else { super::ONE });
        same("upserted", outcomes, expected.collect())?;
        same("rows", probe.count(&person)? as i64, ROWS + 100)?;
        let deletes: Vec<_> = keys
            .iter()
            .chain([&0, &5])
            .map(|key| Entry::new(&person, Verb::Delete, vec![Value::Int(*key)]))
            .collect();
        let outcomes = probe.batch(&deletes, OnError::Stop).outcomes()?;
        let found = outcomes.iter().filter(|o| **o == super::ONE).count() as i64;
        same("deleted", (found, outcomes.len() as i64), (ROWS, ROWS + 2))?;
        same("rest", ids(&probe.all(&person)?), (ROWS + 1..=ROWS + 100).collect())
    })
}

/// Texts, pairs and UUIDs as keys, in a different order than the table's.
pub fn long_runs_of_other_keys(harness: &dyn Harness) -> Check {
    let (tag, seat, device) = (tables::tag()?, tables::seat()?, tables::device()?);
    with(harness, &[&tag, &seat, &device], |probe| {
        let order = (0..ROWS).map(|n| n * 11 % ROWS);
        let mut entries: Vec<_> = order
            .clone()
            .map(|n| Entry::insert(&tag, row![format!("t{n:05}"), n as f64]))
            .collect();
        entries.extend(
            order.clone().map(|n| {
                Entry::insert(&seat, row![NULL, format!("{:02}", n % 50), (n / 50) as i32])
            }),
        );
        let uuid = |n: i64| [&n.to_be_bytes()[..], &[9; 8]].concat();
        entries.extend(order.map(|n| Entry::insert(&device, row![uuid(n), "d"])));
        let outcomes = probe.batch(&entries, OnError::Stop).outcomes()?;
        holds("all are new", outcomes.iter().all(|outcome| *outcome == super::NEW))?;
        let tags: Vec<_> = (0..ROWS).map(|n| row![format!("t{n:05}"), n as f64]).collect();
        holds("tags", probe.all(&tag)? == tags)?;
        let seats: Vec<_> =
            (0..ROWS).map(|n| row![NULL, format!("{:02}", n % 50), (n / 50) as i32]).collect();
        holds("seats", probe.all(&seat)? == seats)?;
        let devices: Vec<_> = (0..ROWS).map(|n| row![uuid(n), "d"]).collect();
        holds("devices", probe.all(&device)? == devices)?;
        let again = probe.batch(&entries, OnError::Continue);
        again.whole?;
        holds(
            "all are duplicates",
            again
                .rows
                .iter()
                .all(|row| row.as_ref().is_err_and(|e| e.kind() == ErrorKind::Duplicate)),
        )
    })
}

/// Rows of many widths with NULLs at changing positions, so that no value of the previous
/// before.
pub fn nothing_is_left_of_the_row_before(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let table = tables::every_type(store.engine().capabilities())?;
    let probe = Probe::with_tables(store.engine(), &[&table])?;
    {
        let mut state = 7_u64;
        let mut coin = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 60 < 8
        };
        let value = |ty: bobak_core::Type, n: i64| -> Value<'static> {
            use bobak_core::Storage;
            match ty.storage() {
                Storage::Int => Value::Int(n % 2),
                Storage::Float => Value::Float(n as f64),
                Storage::Bytes if ty == bobak_core::Type::Uuid => vec![n as u8; 16].into(),
                Storage::Bytes => vec![n as u8; (n % 40) as usize].into(),
                _ if ty == bobak_core::Type::Json => {
                    format!("[{}]", " ".repeat(n as usize % 40)).into()
                }
                _ => "x".repeat((n % 40) as usize).into(),
            }
        };
        let rows: Vec<Values> = (1..=500)
            .map(|n| {
                let cell = |column: &bobak_core::ColumnSchema| {
                    if coin() { NULL } else { value(column.ty, n) }
                };
                let rest: Values = table.columns().iter().skip(1).map(cell).collect();
                std::iter::once(Value::Int(n)).chain(rest).collect()
            })
            .collect();
        let entries: Vec<_> = rows.iter().map(|row| Entry::insert(&table, row.clone())).collect();
        probe.batch(&entries, OnError::Stop).outcomes()?;
        holds("rows", probe.all(&table)? == rows)
    }
}
