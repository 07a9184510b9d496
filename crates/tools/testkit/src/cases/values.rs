//! Values are read back bit for bit, through every way to write and to read.

use super::with;
use crate::{
    Check, Entry, Fixture, Harness, NULL, Probe, Values, fails, fails_in, holds, row, same, tables,
};
use bobak_core::{Capabilities, ErrorKind, OnError, Select, Source, Storage, Type, Value, Verb};

/// Texts that stores have lost before.
const TEXTS: &[&str] = &[
    "",
    " ",
    "\0",
    "a\0b",
    "\0\0",
    "it's \"quoted\" `so` [and] so",
    "%_\\",
    "line\r\nline\n",
    "123",
    "1.0",
    "NULL",
    "ünïcödé ß İ \u{10ffff} 🦫",
    "e\u{301}",
    "\u{feff}begins with a mark",
];

/// The [`extremes`] that the engine accepts: some reject NUL in texts, or infinities.
fn possible(ty: Type, capabilities: Capabilities) -> Values {
    let nul = |value: &Value<'_>| matches!(value, Value::Text(text) if text.contains('\0'));
    let mut values = extremes(ty);
    values.retain(|value| capabilities.nul_in_text || !nul(value));
    values.retain(|value| !capabilities.finite_floats || !super::is_infinite(value));
    values.retain(|value| !capabilities.limited_values || is_plain(ty, value));
    values
}

/// Whether each engine stores a value, even one with limited values: times to the microsecond from 1723 to 2079.
fn is_plain(ty: Type, value: &Value<'_>) -> bool {
    let is_time = matches!(ty, Type::DateTime | Type::Timestamp);
    !is_time || !matches!(value, Value::Int(at) if !(-90_000 * DAY..39_000 * DAY).contains(at))
}

/// The days of 1000-01-01 and 9999-12-31. Every engine stores the dates between them. An engine may reject
/// others with `OutOfRange`.
const DAYS: (i64, i64) = (-354_285, 2_932_896);

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// The range that every engine stores of a type whose values are integers.
fn common_range(ty: Type) -> Option<(i64, i64)> {
    let (low, high) = ty.integer_range()?;
    let (least, most) = match ty {
        Type::Date => DAYS,
        Type::DateTime | Type::Timestamp => (DAYS.0 * DAY, (DAYS.1 + 1) * DAY - 1),
        _ => (low, high),
    };
    Some((low.max(least), high.min(most)))
}

/// Extreme and awkward values of a type, in its stored form. JSON is a value, not any text.
fn extremes(ty: Type) -> Values {
    if let Some((low, high)) = common_range(ty) {
        let near = [0, 1, -1, low + 1, high - 1];
        let mut all: Vec<i64> = near.into_iter().filter(|i| (low..=high).contains(i)).collect();
        all.extend([low, high]);
        return all.into_iter().map(Value::Int).collect();
    }
    let texts = || TEXTS.iter().map(|text| Value::from(*text));
    let bytes = || {
        [&[][..], &[0], &[0, 0, 255], &[0xff, 0xfe], b"text", &[0x80; 16]]
            .map(|bytes| Value::from(bytes.to_vec()))
    };
    let floats = || {
        [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.1,
            1e15,
            9_007_199_254_740_993.0,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            5e-324,
            f64::EPSILON,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ]
        .map(Value::Float)
    };
    match ty.storage() {
        Storage::Float if ty == Type::F32 => {
            let wide = |float: f32| Value::Float(f64::from(float));
            [0.1, f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, 1.5].map(wide).to_vec()
        }
        Storage::Float => floats().to_vec(),
        Storage::Text if ty == Type::Json => {
            let texts = ["null", "{}", "[1, 2.50,3]", r#"{"b":1, "a":"\u00e9","b" : 2 }"#, " 7 "];
            texts.map(Value::from).to_vec()
        }
        Storage::Text => texts().collect(),
        Storage::Bytes if ty == Type::Uuid => {
            [[0_u8; 16], [255; 16], [7; 16]].map(|uuid| Value::from(uuid.to_vec())).to_vec()
        }
        Storage::Bytes => bytes().to_vec(),
        _ => texts()
            .chain(bytes())
            .chain(floats())
            .chain([i64::MIN, -1, 0, 1, i64::MAX].map(Value::Int))
            .collect(),
    }
}

/// The same class and the same bits; only the sign of a zero may be lost.
#[track_caller]
fn identical(what: &str, found: &Value<'_>, expected: &Value<'_>) -> Check {
    if let (Value::Float(found), Value::Float(expected)) = (found, expected) {
        let zeros = *found == 0.0 && *expected == 0.0;
        return holds(
            &format!("{what}: {found:e} is {expected:e}"),
            zeros || found.to_bits() == expected.to_bits(),
        );
    }
    same(what, found, expected)
}

fn all_identical(what: &str, found: &[Values], expected: &[Value<'static>]) -> Check {
    same(what, found.len(), expected.len())?;
    for (row, expected) in found.iter().zip(expected) {
        let found = row.get(1).unwrap_or(&NULL);
        identical(&format!("{what}, {expected:?}"), found, expected)?;
    }
    Ok(())
}

/// Every value of every type, written by insert, update, upsert and batch, read by get, query and cursor.
pub fn every_type_keeps_its_extremes(harness: &dyn Harness) -> Check {
    for ty in tables::possible_types(harness.fresh()?.engine().capabilities()) {
        let table = tables::of_type(ty)?;
        with(harness, &[&table], |probe| {
            let mut values = possible(ty, probe.capabilities);
            values.push(NULL);
            round_trip(probe, &table, ty.name(), &values)?;
            if ty == Type::F64 && probe.capabilities.finite_floats {
                let rejected = probe.insert(&table, row![NULL, f64::INFINITY]);
                fails_in("an infinity", rejected, ErrorKind::OutOfRange, "blank")?;
            }
            beyond_the_common_range(probe, &table, ty)
        })?;
    }
    Ok(())
}

/// Dates that some engines cannot store: they are read back unchanged, or rejected.
fn beyond_the_common_range(probe: &Probe<'_>, table: &crate::Table, ty: Type) -> Check {
    let (Some(common), Some(whole)) = (common_range(ty), ty.integer_range()) else {
        return Ok(());
    };
    if common == whole {
        return Ok(());
    }
    probe.delete_where(table, None)?;
    let mut values = vec![whole.0, common.0 - 1, common.1 + 1, whole.1];
    values.retain(|value| (whole.0..=whole.1).contains(value));
    for (id, value) in (1..).zip(values) {
        let entry = Entry::insert(table, row![id, Value::Int(value)]);
        let sent = probe.batch(std::slice::from_ref(&entry), OnError::Continue);
        sent.whole?;
        if let Some(Err(error)) = sent.rows.first() {
            same("kind", error.kind(), ErrorKind::OutOfRange)?;
            fails_in("alone", probe.send(&entry), ErrorKind::OutOfRange, table.name())?;
            continue;
        }
        let found = probe.get(table, row![id])?;
        same(&format!("{} {value}", ty.name()), found, Some(row![id, Value::Int(value)]))?;
    }
    Ok(())
}

/// A table with a column of any class is rejected.
pub(super) fn any_columns_are_rejected(store: &Fixture) -> Check {
    let table = tables::of_type(Type::Any)?;
    let made = crate::create(store.engine(), &[&table]);
    fails("a column of any class", made, ErrorKind::Unsupported)?;
    same("tables", store.engine().tables()?.len(), 0)
}

fn round_trip(
    probe: &Probe<'_>,
    table: &crate::Table,
    name: &str,
    values: &[Value<'static>],
) -> Check {
    for (id, value) in (1_i64..).zip(values) {
        probe.insert(table, vec![Value::Int(id), value.clone()])?;
    }
    all_identical(&format!("{name} by insert"), &probe.all(table)?, values)?;
    for (id, value) in (1_i64..).zip(values) {
        let found = probe.get(table, vec![Value::Int(id)])?;
        all_identical(
            &format!("{name} by get"),
            &found.into_iter().collect::<Vec<_>>(),
            std::slice::from_ref(value),
        )?;
    }
    let mut cursor = probe.session.open(&Source::Select(&Select::all(table)))?;
    all_identical(&format!("{name} by cursor"), &probe.drain(&mut cursor)?, values)?;
    let turned: Values = values.iter().rev().cloned().collect();
    for (id, value) in (1_i64..).zip(&turned) {
        probe.update(table, vec![Value::Int(id), value.clone()])?;
    }
    all_identical(&format!("{name} by update"), &probe.all(table)?, &turned)?;
    for (id, value) in (1_i64..).zip(values) {
        probe.write(table, Verb::Upsert, vec![Value::Int(id), value.clone()])?;
    }
    all_identical(&format!("{name} by upsert"), &probe.all(table)?, values)?;
    probe.delete_where(table, None)?;
    let inserts: Vec<_> = (1_i64..)
        .zip(&turned)
        .map(|(id, v)| Entry::insert(table, vec![Value::Int(id), v.clone()]))
        .collect();
    probe.batch(&inserts, OnError::Stop).outcomes()?;
    all_identical(&format!("{name} by batch"), &probe.all(table)?, &turned)?;
    let updates: Vec<_> = (1_i64..)
        .zip(values)
        .map(|(id, v)| Entry::new(table, Verb::Update, vec![Value::Int(id), v.clone()]))
        .collect();
    probe.batch(&updates, OnError::Stop).outcomes()?;
    all_identical(&format!("{name} by a batch's updates"), &probe.all(table)?, values)
}

/// One row of all types, the extremes side by side.
pub fn all_types_in_one_row(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let capabilities = store.engine().capabilities();
    let types = tables::possible_types(capabilities);
    let table = tables::every_type(capabilities)?;
    let probe = Probe::with_tables(store.engine(), &[&table])?;
    {
        let column = |at: usize| {
            move |&ty: &Type| {
                let values = possible(ty, capabilities);
                values.get(at % values.len().max(1)).cloned().unwrap_or_default()
            }
        };
        let rows: Vec<Values> = (0..20_usize)
            .map(|at| {
                let id = Value::Int(at as i64 + 1);
                std::iter::once(id).chain(types.iter().map(column(at))).collect()
            })
            .collect();
        let entries: Vec<_> = rows.iter().map(|row| Entry::insert(&table, row.clone())).collect();
        probe.batch(&entries, OnError::Stop).outcomes()?;
        same("rows", probe.all(&table)?, rows)
    }
}

/// NULL is not 0, not the empty text, not no bytes.
pub fn null_is_a_value_of_its_own(harness: &dyn Harness) -> Check {
    for (ty, empty) in [
        (Type::I64, Value::Int(0)),
        (Type::F64, Value::Float(0.0)),
        (Type::Text, "".into()),
        (Type::Bytes, Vec::new().into()),
        (Type::Any, "".into()),
    ] {
        if ty == Type::Any && !harness.fresh()?.engine().capabilities().untyped_columns {
            continue;
        }
        let table = tables::of_type(ty)?;
        with(harness, &[&table], |probe| {
            probe.insert_all(&table, [row![1, NULL], row![2, empty.clone()]])?;
            let kept = probe.filter(&table, super::equal(1, empty.clone()))?;
            same("equal to empty", super::ids(&kept), vec![2])?;
            let null = bobak_core::Condition::IsNull { column: 1 };
            same("is null", super::ids(&probe.filter(&table, null)?), vec![1])?;
            probe.update(&table, row![2, NULL])?;
            probe.update(&table, row![1, empty.clone()])?;
            same("changed places", probe.all(&table)?, vec![row![1, empty.clone()], row![2, NULL]])
        })?;
    }
    Ok(())
}

/// Texts and bytes of a megabyte, alone and in batches.
pub fn values_of_a_megabyte(harness: &dyn Harness) -> Check {
    let (text, bytes) = (tables::of_type(Type::Text)?, tables::of_type(Type::Bytes)?);
    for table in [&text, &bytes] {
        let is_text = table.columns().get(1).is_some_and(|c| c.ty == Type::Text);
        let big = |seed: u8| -> Value<'static> {
            let length = (1 << 20) + usize::from(seed);
            let letters = (0..length).map(|n| b'a' + (n % 23) as u8 + seed % 3);
            if is_text {
                letters.map(char::from).collect::<String>().into()
            } else {
                letters.map(|b| b ^ 0x80).collect::<Vec<u8>>().into()
            }
        };
        with(harness, &[table], |probe| {
            probe.insert(table, row![1, big(1)])?;
            let batch: Vec<_> = (2..5).map(|n| Entry::insert(table, row![n, big(n)])).collect();
            probe.batch(&batch, OnError::Stop).outcomes()?;
            probe.update(table, row![2, big(9)])?;
            let expected = vec![row![1, big(1)], row![2, big(9)], row![3, big(3)], row![4, big(4)]];
            same("rows", probe.all(table)?, expected.clone())?;
            let mut cursor = probe.session.open(&Source::Select(&Select::all(table)))?;
            same("by cursor", probe.drain(&mut cursor)?, expected)?;
            let found = probe.filter(table, super::equal(1, big(3)))?;
            same("by value", super::ids(&found), vec![3])
        })?;
    }
    Ok(())
}

/// A batch whose rows go from small to large and back, so that nothing is sized by the first.
pub fn sizes_that_jump_in_a_batch(harness: &dyn Harness) -> Check {
    let table = tables::of_type(Type::Text)?;
    with(harness, &[&table], |probe| {
        let nul = if probe.capabilities.nul_in_text { "\0" } else { "" };
        let value = |n: i64| match n % 5 {
            0 => NULL,
            1 => "".into(),
            2 => "x".repeat(100_000).into(),
            3 => "short".into(),
            _ => format!("{nul}{n}").into(),
        };
        let rows: Vec<Values> = (1..=40).map(|n| vec![Value::Int(n), value(n)]).collect();
        let entries: Vec<_> = rows.iter().map(|row| Entry::insert(&table, row.clone())).collect();
        probe.batch(&entries, OnError::Stop).outcomes()?;
        same("rows", probe.all(&table)?, rows)
    })
}

/// Column `Any` keeps the class of each value: '1', 1 and 1.0 are three values.
pub fn an_any_column_keeps_classes(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().untyped_columns {
        return any_columns_are_rejected(&store);
    }
    let table = tables::of_type(Type::Any)?;
    let probe = Probe::with_tables(store.engine(), &[&table])?;
    {
        let rows = vec![
            row![1, "1"],
            row![2, 1],
            row![3, 1.0],
            row![4, vec![b'1']],
            row![5, "1.0"],
            row![6, NULL],
        ];
        probe.insert_all(&table, rows.clone())?;
        let found = probe.all(&table)?;
        same("rows", found.clone(), rows)?;
        let float = found.get(2).and_then(|row| row.get(1));
        holds("1.0 stays a float", matches!(float, Some(Value::Float(_))))?;
        let text = probe.filter(&table, super::equal(1, "1"))?;
        same("equal to the text", super::ids(&text), vec![1])?;
        let number = probe.filter(&table, super::equal(1, 1))?;
        same("equal to the number", super::ids(&number), vec![2, 3])
    }
}
