//! Every kind of condition, compared with [`Condition::evaluate`], which defines their meaning.
//!
//! Each is evaluated alone, negated, and combined with others, on a table with indexes and on one without.

use crate::{Check, Failure, Harness, NULL, Probe, Table, Values, holds, row};
use bobak_core::{
    Capabilities, Collation, ColumnSchema, Comparison, Condition, Select, TableSchema,
    TableSchemaBuilder, Type, Value,
};
use std::sync::Arc;

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

pub(super) const INT: usize = 1;
pub(super) const INT2: usize = 2;
pub(super) const FLOAT: usize = 3;
const FLOAT2: usize = 4;
pub(super) const PLAIN: usize = 5;
pub(super) const PLAIN2: usize = 6;
pub(super) const NOCASE: usize = 7;
pub(super) const NOCASE2: usize = 8;
pub(super) const UNICODE: usize = 9;
pub(super) const BYTES: usize = 10;
pub(super) const ANY: usize = 11;

/// `thing(id, int, int2, float, float2, plain, plain2, nocase, nocase2, unicode, bytes, any)`. Where
/// no column may be of any class, the last is a text, and NULL.
pub(super) fn thing(indexed: bool, capabilities: Capabilities) -> Check<Table> {
    let any = if capabilities.untyped_columns { Type::Any } else { Type::Text };
    let text = |name| ColumnSchema::of::<Option<String>>(name);
    let mut builder = TableSchema::builder("thing")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<i64>>("int"))
        .column(ColumnSchema::of::<Option<i64>>("int2"))
        .column(ColumnSchema::of::<Option<f64>>("float"))
        .column(ColumnSchema::of::<Option<f64>>("float2"))
        .column(text("plain"))
        .column(text("plain2"))
        .column(text("nocase").collation(Collation::NoCase))
        .column(text("nocase2").collation(Collation::NoCase))
        .column(text("unicode").collation(Collation::UnicodeNoCase))
        .column(ColumnSchema::of::<Option<Vec<u8>>>("bytes"))
        .column(ColumnSchema::new("any", any).nullable(true))
        .key(["id"]);
    if indexed {
        let indexes = ["int", "float", "plain", "nocase", "unicode", "bytes", "any"];
        let add =
            |b: TableSchemaBuilder, name: &'static str| b.index(format!("thing_{name}"), [name]);
        builder = indexes.into_iter().fold(builder, add);
        builder = builder.index("thing_two", ["int", "plain"]);
    }
    Ok(Arc::new(builder.build()?))
}

fn ints() -> Values {
    row![NULL, 0, 1, -1, 5, Value::Int(i64::MAX), Value::Int(i64::MIN), Value::Int((1 << 53) + 1)]
}

fn floats() -> Values {
    row![NULL, 0.0, -0.0, 1.0, 0.5, -2.5, 1e300, f64::INFINITY, f64::NEG_INFINITY]
}

fn texts() -> Values {
    row![
        NULL,
        "",
        "a",
        "A",
        "b",
        "ab",
        "AB",
        "a\0b",
        "a\0c",
        "é",
        "É",
        "ß",
        "SS",
        "a%b",
        "a_b",
        "İ",
        "\u{10ffff}",
        "\u{10ffff}x",
        "10",
        "9"
    ]
}

fn bytes() -> Values {
    row![NULL, vec![], vec![0_u8], vec![0_u8, 0], vec![255_u8], vec![97_u8]]
}

fn anything() -> Values {
    row![
        NULL,
        0,
        1,
        1.0,
        1.5,
        "1",
        "",
        "a",
        vec![],
        vec![49_u8],
        Value::Int((1 << 53) + 1),
        9_007_199_254_740_992.0
    ]
}

/// The pools step through each other, so that all kinds meet, NULLs in every place.
pub(super) fn rows(capabilities: Capabilities) -> Vec<Values> {
    let pick =
        |pool: &Values, at: usize| pool.get(at % pool.len().max(1)).cloned().unwrap_or_default();
    let (ints, mut floats, bytes) = (ints(), floats(), bytes());
    floats.retain(|float| !capabilities.finite_floats || !super::is_infinite(float));
    let mut texts = texts();
    texts.retain(|text| capabilities.nul_in_text || !has_nul(text));
    let any = if capabilities.untyped_columns { anything() } else { vec![NULL] };
    (0..120_usize)
        .map(|n| {
            vec![
                Value::Int(n as i64 + 1),
                pick(&ints, n),
                pick(&ints, n / 3),
                pick(&floats, n),
                pick(&floats, n / 2),
                pick(&texts, n),
                pick(&texts, n / 5),
                pick(&texts, n * 7),
                pick(&texts, n / 4),
                pick(&texts, n * 3 + 1),
                pick(&bytes, n),
                pick(&any, n),
            ]
        })
        .collect()
}

/// Asks each condition of the table with indexes and of the one without.
pub(super) fn ask(harness: &dyn Harness, conditions: &[Condition]) -> Check {
    for indexed in [false, true] {
        let store = harness.fresh()?;
        let capabilities = store.engine().capabilities();
        let table = thing(indexed, capabilities)?;
        let probe = Probe::with_tables(store.engine(), &[&table])?;
        let rows = rows(capabilities);
        let entries: Vec<_> =
            rows.iter().map(|row| crate::Entry::insert(&table, row.clone())).collect();
        probe.batch(&entries, bobak_core::OnError::Stop).outcomes()?;
        for condition in conditions.iter().filter_map(|c| possible(c, capabilities)) {
            agrees(&probe, &table, &rows, &condition, true)?;
            agrees(&probe, &table, &rows, &Condition::Not(Box::new(condition)), false)?;
        }
    }
    Ok(())
}

fn has_nul(value: &Value<'_>) -> bool {
    matches!(value, Value::Text(text) if text.contains('\0'))
}

/// The part of a condition that the engine supports: without the column of any type if it has none, and without NUL
/// characters if it does not store them.
fn possible(condition: &Condition, capabilities: Capabilities) -> Option<Condition> {
    let text = |text: &String| capabilities.nul_in_text || !text.contains('\0');
    let value = |value: &Value<'_>| capabilities.nul_in_text || !has_nul(value);
    let there = |column: usize| capabilities.untyped_columns || column != ANY;
    let whole = match condition {
        Condition::Compare { column, value: v, .. } => there(*column) && value(v),
        Condition::In { column, values } => {
            let values: Values = values.iter().filter(|v| value(v)).cloned().collect();
            let holds = there(*column) || values.is_empty();
            return holds.then_some(Condition::In { column: *column, values });
        }
        Condition::Like { pattern, .. } | Condition::LikeEscape { pattern, .. } => text(pattern),
        Condition::Contains { part: found, .. } | Condition::EndsWith { suffix: found, .. } => {
            text(found)
        }
        Condition::StartsWith { prefix, .. } => text(prefix),
        _ => true,
    };
    whole.then(|| condition.clone())
}

/// Whether the query keeps the right rows: whole ones, or, which is cheaper, their keys.
#[track_caller]
fn agrees(
    probe: &Probe<'_>,
    table: &Table,
    rows: &[Values],
    condition: &Condition,
    whole: bool,
) -> Check {
    let shown = if whole { table.columns().len() } else { 1 };
    let kept = |row: &&Values| condition.evaluate(table, &row.as_slice()) == Some(true);
    let expected = rows.iter().filter(kept).map(|row| row.iter().take(shown).cloned().collect());
    let expected: Vec<Values> = expected.collect();
    let mut select = Select { condition: Some(condition.clone()), ..Select::all(table) };
    select.columns.truncate(shown);
    let found = probe
        .select(&select)
        .map_err(|error| Failure::new(format!("{condition:?} failed with {error:?}")))?;
    if found == expected {
        return Ok(());
    }
    let (found, expected) = (super::ids(&found), super::ids(&expected));
    Err(Failure::new(format!("{condition:?} keeps rows {found:?} where {expected:?} are right")))
}

fn compared(columns: &[(usize, Values)]) -> Vec<Condition> {
    let mut all = Vec::new();
    for (column, values) in columns {
        for value in values.iter().filter(|value| !value.is_null()) {
            all.extend(COMPARISONS.map(|c| super::compare(*column, c, value.clone())));
        }
    }
    all
}

/// Integers, floats and bytes against a value, the key too.
pub fn compare_numbers_and_bytes(harness: &dyn Harness) -> Check {
    let keys = row![0, 1, 60, 120, 121, Value::Int(i64::MAX), Value::Int(i64::MIN)];
    ask(harness, &compared(&[(0, keys), (INT, ints()), (FLOAT, floats()), (BYTES, bytes())]))
}

/// Texts against a value, in each collation.
pub fn compare_texts(harness: &dyn Harness) -> Check {
    ask(harness, &compared(&[(PLAIN, texts()), (NOCASE, texts()), (UNICODE, texts())]))
}

/// A column of any class: numbers come before texts, and those before bytes.
pub fn compare_any(harness: &dyn Harness) -> Check {
    ask(harness, &compared(&[(ANY, anything())]))
}

/// A column against a column of the row.
pub fn compare_columns(harness: &dyn Harness) -> Check {
    let pairs = [(INT, INT2), (FLOAT, FLOAT2), (PLAIN, PLAIN2), (NOCASE, NOCASE2), (INT, INT)];
    let both = pairs.into_iter().flat_map(|(left, right)| {
        COMPARISONS.map(|comparison| Condition::CompareColumns { left, comparison, right })
    });
    ask(harness, &both.collect::<Vec<_>>())
}

/// One of a list: of none, of one, of many.
pub fn one_of_a_list(harness: &dyn Harness) -> Check {
    let not_null = |values: Values| values.into_iter().filter(|v| !v.is_null()).collect::<Values>();
    let within = |column, values| Condition::In { column, values };
    let mut all = vec![
        within(0, row![3, 1, 2, 2, 500]),
        within(INT, row![5]),
        within(FLOAT, row![0.5, 0.0]),
        within(NOCASE, row!["AB", "x"]),
        within(UNICODE, row!["É"]),
        within(ANY, row!["1", 1]),
    ];
    for column in [INT, FLOAT, PLAIN, NOCASE, UNICODE, BYTES, ANY] {
        all.push(within(column, Vec::new()));
    }
    for (column, values) in [(INT, ints()), (PLAIN, texts()), (BYTES, bytes()), (ANY, anything())] {
        all.push(within(column, not_null(values)));
    }
    // More than engines allow parameters for.
    all.push(within(0, (0..40_000_i64).map(|n| Value::Int(n * 2)).collect()));
    ask(harness, &all)
}

/// Patterns: wildcards, letters of either case, NULs, what is no text.
pub fn like_patterns(harness: &dyn Harness) -> Check {
    let patterns = [
        "",
        "%",
        "_",
        "__",
        "a",
        "A%",
        "%b",
        "%B%",
        "a_b",
        "a\0b",
        "a\0%",
        "%c",
        "É",
        "_\0_",
        "%%",
        "%_%",
        "a%b%",
        "\u{10ffff}%",
        "ss",
        "%%_",
        "1%",
    ];
    let like =
        |(column, pattern): (usize, &str)| Condition::Like { column, pattern: pattern.to_owned() };
    let columns = [PLAIN, NOCASE, UNICODE, ANY];
    let all = patterns.iter().flat_map(|pattern| columns.map(|column| like((column, pattern))));
    ask(harness, &all.collect::<Vec<_>>())
}

/// A pattern over numbers or bytes is neither true nor false.
pub fn like_is_for_texts(harness: &dyn Harness) -> Check {
    let like = |column| Condition::Like { column, pattern: "%".to_owned() };
    let prefix = |column| Condition::StartsWith { column, prefix: String::new() };
    let part = |column| Condition::Contains { column, part: String::new() };
    let suffix = |column| Condition::EndsWith { column, suffix: String::new() };
    let all = [like(INT), like(BYTES), prefix(FLOAT), prefix(BYTES), part(INT), suffix(BYTES)];
    ask(harness, &all)
}

/// Prefixes are compared byte for byte, whatever the column's collation; nothing in them is a
/// wildcard.
pub fn prefixes(harness: &dyn Harness) -> Check {
    let prefixes = [
        "",
        "a",
        "A",
        "a\0",
        "a\0b",
        "a%",
        "a_",
        "%",
        "é",
        "\u{10ffff}",
        "ab",
        "abc",
        "\u{d7ff}",
        "\u{7f}",
    ];
    let starts = |(column, prefix): (usize, &str)| Condition::StartsWith {
        column,
        prefix: prefix.to_owned(),
    };
    let columns = [PLAIN, NOCASE, UNICODE, ANY];
    let all = prefixes.iter().flat_map(|prefix| columns.map(|column| starts((column, prefix))));
    ask(harness, &all.collect::<Vec<_>>())
}

/// NULL or not, of every column.
pub fn is_null(harness: &dyn Harness) -> Check {
    let all: Vec<_> = (0..=ANY).map(|column| Condition::IsNull { column }).collect();
    ask(harness, &all)
}

/// And, or, not: three-valued, of none, of one, nested.
pub fn logic(harness: &dyn Harness) -> Check {
    let parts = [
        super::equal(INT, 5),
        super::compare(INT, Comparison::Less, 1),
        Condition::IsNull { column: PLAIN },
        super::compare(FLOAT, Comparison::Greater, 0.0),
        super::equal(NOCASE, "AB"),
        Condition::Not(Box::new(super::equal(INT2, 5))),
        Condition::And(Vec::new()),
        Condition::Or(Vec::new()),
    ];
    let mut all = Vec::new();
    for a in &parts {
        all.push(Condition::And(vec![a.clone()]));
        all.push(Condition::Or(vec![a.clone()]));
        for b in &parts {
            all.push(Condition::And(vec![a.clone(), b.clone()]));
            all.push(Condition::Or(vec![a.clone(), b.clone()]));
            let not_b = Condition::Not(Box::new(b.clone()));
            let either = Condition::Or(vec![not_b, a.clone()]);
            all.push(Condition::And(vec![
                either,
                b.clone(),
                super::compare(0, Comparison::Less, 100),
            ]));
        }
    }
    ask(harness, &all)
}

/// Ranges over one column and over an index of two.
pub fn ranges(harness: &dyn Harness) -> Check {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    let between = |column, low: Value<'static>, high: Value<'static>| {
        Condition::And(vec![
            super::compare(column, GreaterOrEqual, low),
            super::compare(column, LessOrEqual, high),
        ])
    };
    let mut all = vec![
        between(0, 10.into(), 20.into()),
        between(0, 20.into(), 10.into()),
        between(0, 1.into(), 1.into()),
        between(INT, (-1).into(), 5.into()),
        between(PLAIN, "a".into(), "b".into()),
        between(NOCASE, "A".into(), "B".into()),
        between(UNICODE, "E".into(), "ß".into()),
        between(FLOAT, (-1.0).into(), 1.0.into()),
        between(BYTES, vec![0_u8].into(), vec![97_u8].into()),
    ];
    all.extend(COMPARISONS.map(|comparison| {
        let text = super::compare(PLAIN, comparison, "a");
        Condition::And(vec![super::compare(INT, Equal, 5), text])
    }));
    all.push(Condition::And(vec![
        super::compare(0, Greater, Value::Int(i64::MAX)),
        super::compare(0, Less, 10),
    ]));
    ask(harness, &all)
}

/// A condition nested deeply, and one of very many parts, as generated filters are.
pub fn large_conditions(harness: &dyn Harness) -> Check {
    let deep = (0..40).fold(super::equal(INT, 5), |inner, n| {
        let part = super::compare(0, Comparison::NotEqual, n * 3);
        if n % 2 == 0 {
            Condition::And(vec![inner, part])
        } else {
            Condition::Not(Box::new(Condition::Or(vec![
                Condition::Not(Box::new(inner)),
                Condition::Not(Box::new(part)),
            ])))
        }
    });
    let wide = Condition::Or((0..400).map(|n| super::equal(0, n * 2)).collect());
    let both =
        Condition::And((0..400).map(|n| super::compare(0, Comparison::NotEqual, n * 2)).collect());
    ask(harness, &[deep, wide, both])
}

/// Changes keep the same rows as queries do.
pub fn changes_take_the_same_rows(harness: &dyn Harness) -> Check {
    let conditions = [
        Condition::Like { column: PLAIN, pattern: "a%".to_owned() },
        Condition::StartsWith { column: NOCASE, prefix: "A".to_owned() },
        Condition::In { column: INT, values: row![0, 5] },
        Condition::In { column: INT, values: Vec::new() },
        Condition::Not(Box::new(super::equal(PLAIN, "a"))),
        Condition::IsNull { column: UNICODE },
        Condition::CompareColumns { left: INT, comparison: Comparison::Less, right: INT2 },
        super::compare(FLOAT, Comparison::LessOrEqual, 0.5),
        Condition::And(Vec::new()),
        Condition::Or(Vec::new()),
    ];
    for condition in conditions {
        let store = harness.fresh()?;
        let capabilities = store.engine().capabilities();
        let table = thing(true, capabilities)?;
        let probe = Probe::with_tables(store.engine(), &[&table])?;
        let rows = rows(capabilities);
        probe.insert_all(&table, rows.clone())?;
        let kept = |row: &Values| condition.evaluate(&table, &row.as_slice()) == Some(true);
        let expected: Vec<Values> = rows.into_iter().filter(|row| !kept(row)).collect();
        let deleted = probe.delete_where(&table, Some(condition.clone()))?;
        let what = format!("those that {condition:?} keeps go");
        holds(&what, deleted as usize + expected.len() == 120)?;
        holds(&what, probe.all(&table)? == expected)?;
    }
    Ok(())
}
