//! Reads what only the text of a CREATE TABLE statement contains: checks, and when foreign keys are
//! checked.

use bobak_core::ColumnSchema;
use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};

/// The CHECK constraints, without parentheses, each with the name of the column that declares it, or
/// `None` if the table does.
pub(super) fn checks(sql: &str) -> Vec<(Option<String>, String)> {
    let mut checks = Vec::new();
    for part in definitions(sql) {
        let column = name_of_column(part);
        let mut tokens = tokens(part);
        if column.is_some() {
            tokens.next();
        }
        while let Some(text) = next_in_parentheses(part, &mut tokens, "CHECK") {
            checks.push((column.clone(), text.to_owned()));
        }
    }
    checks
}

/// The expressions of generated columns, without parentheses, with the names of the columns.
pub(super) fn generated(sql: &str) -> Vec<(String, String)> {
    let expression = |part: &str| {
        let mut tokens = tokens(part);
        tokens.next();
        let text = next_in_parentheses(part, &mut tokens, "AS")?;
        Some((name_of_column(part)?, text.to_owned()))
    };
    definitions(sql).into_iter().filter_map(expression).collect()
}

/// The name of the column that this part of a CREATE TABLE statement defines; `None` if it is a rule of the
/// table.
pub(super) fn name_of_column(part: &str) -> Option<String> {
    match tokens(part).next() {
        // A quoted name is a column, even if it is a keyword.
        Some(token) if token.kind == SqlTokenKind::QuotedName => {
            Some(token.unquoted().into_owned())
        }
        Some(token) if token.kind == SqlTokenKind::Word && !begins_table_rule(&token) => {
            Some(token.text.to_owned())
        }
        _ => None,
    }
}

/// Whether the text has this keyword outside parentheses.
pub(super) fn has_word(sql: &str, keyword: &str) -> bool {
    let mut depth = 0;
    tokens(sql).any(|token| {
        depth += i32::from(token.is_operator("(")) - i32::from(token.is_operator(")"));
        depth == 0 && token.is_word(keyword)
    })
}

/// Adds a CHECK to those that the column has.
pub(super) fn add_check(column: &mut ColumnSchema, check: &str) {
    column.check = Some(match &column.check {
        Some(before) => format!("({before}) AND ({check})").into(),
        None => check.to_owned().into(),
    });
}

/// The expression, with single quotes around the texts that it has in double quotes: what old schemas have in double quotes
/// is a text to SQLite if no column has the name.
pub(super) fn with_texts(expression: &str, columns: &[String]) -> String {
    let is_column = |name: &str| {
        let own = ["rowid", "oid", "_rowid_"].into_iter();
        columns.iter().map(String::as_str).chain(own).any(|other| other.eq_ignore_ascii_case(name))
    };
    let (mut changed, mut end) = (String::new(), 0);
    let tokens: Vec<_> = tokens(expression).collect();
    for (place, token) in tokens.iter().enumerate() {
        let next = tokens.get(place + 1);
        let is_value = !next.is_some_and(|next| next.is_operator("(") || next.is_operator("."));
        if is_value && token.text.starts_with('"') && !is_column(&token.unquoted()) {
            changed += expression.get(end..token.start).unwrap_or_default();
            changed += &format!("'{}'", token.unquoted().replace('\'', "''"));
            end = token.end();
        }
    }
    changed + expression.get(end..).unwrap_or_default()
}

/// The words and quoted names of an expression, in order.
pub(super) fn names(expression: &str) -> Vec<String> {
    let is_name =
        |token: &SqlToken<'_>| matches!(token.kind, SqlTokenKind::Word | SqlTokenKind::QuotedName);
    tokens(expression).filter(is_name).map(|token| token.unquoted().into_owned()).collect()
}

/// The names in the columns, expressions and condition of a CREATE INDEX statement, without those of functions.
pub(super) fn indexed_names(sql: &str) -> Vec<String> {
    let is_open = |token: &SqlToken<'_>| token.is_operator("(");
    let tokens: Vec<_> = tokens(sql).skip_while(|token| !is_open(token)).collect();
    let is_column = |place: &usize| !tokens.get(place + 1).is_some_and(is_open);
    let named = tokens.iter().enumerate().filter(|(place, _)| is_column(place));
    named.filter_map(|(_, token)| Some(token.name()?.into_owned())).collect()
}

/// Whether the statement contains this keyword outside parentheses of the second level, in which
/// expressions and column lists stand.
pub(super) fn has_keyword(sql: &str, keyword: &str) -> bool {
    definitions(sql).iter().any(|part| has_word(part, keyword))
}

/// For each REFERENCES clause, whether it is DEFERRABLE INITIALLY DEFERRED.
pub(super) fn deferred_references(sql: &str) -> Vec<bool> {
    let mut deferred = Vec::new();
    for part in definitions(sql) {
        let (mut depth, mut before, mut deferrable) = (0, "", false);
        for token in tokens(part) {
            depth += i32::from(token.is_operator("(")) - i32::from(token.is_operator(")"));
            if depth > 0 || token.kind != SqlTokenKind::Word {
                continue;
            }
            if token.is_word("REFERENCES") {
                deferred.push(false);
            } else if token.is_word("DEFERRABLE") {
                deferrable = !before.eq_ignore_ascii_case("NOT");
            } else if token.is_word("DEFERRED")
                && before.eq_ignore_ascii_case("INITIALLY")
                && let Some(last) = deferred.last_mut()
            {
                *last = deferrable;
            }
            before = token.text;
        }
    }
    deferred
}

/// The comma-separated parts inside the outermost parentheses.
pub(super) fn definitions(sql: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for token in tokens(sql) {
        match token.text {
            _ if token.kind != SqlTokenKind::Operator => {}
            "(" => {
                depth += 1;
                if depth == 1 {
                    start = token.end();
                }
            }
            "," | ")" if depth == 1 => {
                parts.extend(sql.get(start..token.start));
                start = token.end();
                if token.text == ")" {
                    return parts;
                }
            }
            ")" => depth -= 1,
            _ => {}
        }
    }
    parts
}

fn begins_table_rule(token: &SqlToken<'_>) -> bool {
    ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
        .iter()
        .any(|keyword| token.is_word(keyword))
}

/// The content of the next parentheses after this keyword that are not nested in others.
fn next_in_parentheses<'a>(
    part: &'a str,
    tokens: &mut impl Iterator<Item = SqlToken<'a>>,
    keyword: &str,
) -> Option<&'a str> {
    let (mut depth, mut is_next, mut start) = (0, false, None);
    for token in tokens {
        if token.kind == SqlTokenKind::Word && depth == 0 {
            is_next = token.is_word(keyword);
        } else if token.is_operator("(") {
            if depth == 0 && is_next {
                start = Some(token.end());
            }
            depth += 1;
        } else if token.is_operator(")") {
            depth -= 1;
            if let (0, Some(start)) = (depth, start) {
                return part.get(start..token.start).map(str::trim);
            }
        }
    }
    None
}

fn tokens(sql: &str) -> impl Iterator<Item = SqlToken<'_>> {
    SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_found_with_their_columns() {
        let sql = r#"CREATE TABLE "t(" ( -- CHECK (no)
            a INT CHECK (a > (1 + 2)) NOT NULL CONSTRAINT c CHECK(a<9),
            "b,""(" TEXT DEFAULT (') CHECK (') CHECK ("b,""(" <> ')'), /* , */
            [c d] REFERENCES x(y) COLLATE NOCASE,
            "check" CHECK ("check" IN (1, 2)),
            CHECK (a <> 5), PRIMARY KEY (a), e DECIMAL(10,2) CHECK (e > -1.5e-3)
        ) WITHOUT ROWID"#;
        let found = checks(sql);
        let expected = [
            (Some("a"), "a > (1 + 2)"),
            (Some("a"), "a<9"),
            (Some("b,\"("), r#""b,""(" <> ')'"#),
            (Some("check"), r#""check" IN (1, 2)"#),
            (None, "a <> 5"),
            (Some("e"), "e > -1.5e-3"),
        ];
        let found: Vec<_> = found.iter().map(|(a, b)| (a.as_deref(), b.as_str())).collect();
        assert_eq!(found, expected);
        for cut in 0..sql.len() {
            // Parsing ends for every text.
            checks(sql.get(..cut).unwrap_or_default());
        }
    }

    #[test]
    fn expressions_of_generated_columns_are_found() {
        let sql = r#"CREATE TABLE t (a INT CHECK (a > 1), "b c" INT NOT NULL AS (a * (2 + 1)) STORED,
            d TEXT GENERATED ALWAYS AS ('(' || x) CHECK (d <> ''), CHECK (a AS (b)))"#;
        let found = generated(sql);
        let found: Vec<_> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found, [("b c", "a * (2 + 1)"), ("d", "'(' || x")]);
    }

    #[test]
    fn deferred_foreign_keys_are_found_in_order() {
        let sql = r#"CREATE TABLE t (a INT REFERENCES x(y) DEFERRABLE INITIALLY DEFERRED,
            b INT REFERENCES x NOT DEFERRABLE INITIALLY DEFERRED REFERENCES z DEFERRABLE,
            "references" INT DEFAULT (1 /* REFERENCES */),
            FOREIGN KEY (a, b) REFERENCES x (y, z) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED)"#;
        assert_eq!(deferred_references(sql), [true, false, false, true]);
        assert!(has_keyword(sql, "foreign") && !has_keyword(sql, "autoincrement"));
    }
}
