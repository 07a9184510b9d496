//! What the types of a server's columns say of their values, beyond the schema.

use super::limits::ValueLimits;
use bobak::schema::{TableSchema, Type};
use bobak::{Result, Transaction, Value};

/// The words of the columns' types, and whether their collations ignore case, by engine.
const QUERIES: [(&str, &str); 2] = [
    (
        "mysql",
        "SELECT column_name, column_type, coalesce(collation_name, 'bin') NOT LIKE '%bin' \
         FROM information_schema.columns \
         WHERE table_schema = DATABASE() AND table_name = ?",
    ),
    (
        "postgres",
        "SELECT a.attname::text, coalesce((SELECT 'enum(' || string_agg(quote_literal(e.enumlabel), ',') || ')' \
         FROM pg_enum e WHERE e.enumtypid = a.atttypid), format_type(a.atttypid, a.atttypmod)), false \
         FROM pg_attribute a WHERE a.attrelid = to_regclass(quote_ident(?)) AND a.attnum > 0 \
         AND NOT a.attisdropped",
    ),
];

/// Narrows the limits of each column to what its type on the server takes.
///
/// # Errors
/// Those of the engine.
pub fn narrow(
    transaction: &Transaction<'_>,
    engine: &str,
    table: &TableSchema,
    limits: &mut [ValueLimits],
) -> Result<()> {
    let Some((_, query)) = QUERIES.iter().find(|(name, _)| *name == engine) else { return Ok(()) };
    let rows = transaction.sql::<(String, String, bool)>(query, (table.name(),))?;
    for (name, words, ignores_case) in rows {
        let Ok(place) = table.column(&name) else { continue };
        if let Some((column, limits)) = table.columns().get(place).zip(limits.get_mut(place)) {
            limits.ignores_case = ignores_case;
            narrow_one(&words, column.ty, limits);
        }
    }
    Ok(())
}

fn narrow_one(words: &str, ty: Type, limits: &mut ValueLimits) {
    let (name, arguments) = words.split_once('(').unwrap_or((words, ""));
    let numbers: Vec<u32> = arguments
        .trim_end_matches(|c: char| !c.is_ascii_digit())
        .split(',')
        .filter_map(|number| number.trim().parse().ok())
        .collect();
    match (name, ty, &numbers[..]) {
        ("enum" | "set", ..) if limits.choices.is_empty() => limits.choices = labels(arguments),
        ("decimal" | "numeric", Type::Currency, [digits, rest @ ..]) => {
            let decimals = rest.first().copied().unwrap_or(0).min(4);
            let step = 10_i64.pow(4 - decimals);
            let most = 10_i64.checked_pow(digits.saturating_sub(decimals) + 4);
            if let Some(most) = most.map(|most| (most - step) as f64) {
                limits.clamp(-most, most);
            }
            limits.step = step;
        }
        ("bit", _, [bits @ 1..=62]) => limits.clamp(0.0, (2_i64.pow(*bits) - 1) as f64),
        ("bit", ..) => limits.clamp(0.0, 1.0),
        ("year", ..) => limits.clamp(1970.0, 2155.0),
        ("uuid", Type::Text, _) => limits.is_uuid = true,
        _ => {}
    }
}

/// The texts of a list such as `'a','it''s')`.
fn labels(list: &str) -> Vec<Value<'static>> {
    let (mut labels, mut rest) = (Vec::new(), list);
    while let Some(start) = rest.find('\'') {
        let mut label = String::new();
        rest = &rest[start + 1..];
        while let Some(end) = rest.find('\'') {
            label.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            let Some(more) = rest.strip_prefix('\'') else { break };
            label.push('\'');
            rest = more;
        }
        labels.push(Value::from(label));
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_servers_narrow_the_values() {
        let narrowed = |words: &str, ty| {
            let mut limits = ValueLimits::default();
            narrow_one(words, ty, &mut limits);
            limits
        };
        let choices = narrowed("enum('a','it''s',',)')", Type::Text).choices;
        assert_eq!(choices, ["a", "it's", ",)"].map(Value::from));
        let amount = narrowed("decimal(4,1) unsigned", Type::Currency);
        assert_eq!((amount.high, amount.step), (Some(9_999_000.0), 1_000));
        let amount = narrowed("numeric(3)", Type::Currency);
        assert_eq!((amount.high, amount.step), (Some(9_990_000.0), 10_000));
        assert_eq!(narrowed("bit(3)", Type::U64).high, Some(7.0));
        assert_eq!(narrowed("bit", Type::U64).high, Some(1.0));
    }
}
