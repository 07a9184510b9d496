//! Reads what only the text of a CREATE TABLE statement contains: checks of columns.

use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};

/// The CHECK constraints of columns, by column name, without parentheses. Several constraints of one
/// column are joined by AND.
pub(super) fn checks(sql: &str) -> Vec<(String, String)> {
    let mut checks: Vec<(String, String)> = Vec::new();
    for part in definitions(sql) {
        let mut tokens = tokens(part);
        let column = match tokens.next() {
            // A quoted name is a column, even if it is a keyword.
            Some(token) if token.kind == SqlTokenKind::QuotedName => token.unquoted().into_owned(),
            Some(token) if token.kind == SqlTokenKind::Word && !begins_table_rule(&token) => {
                token.text.to_owned()
            }
            _ => continue,
        };
        while let Some(text) = next_check(part, &mut tokens) {
            match checks.iter_mut().find(|(name, _)| *name == column) {
                Some((_, before)) => *before = format!("({before}) AND ({text})"),
                None => checks.push((column.clone(), text.to_owned())),
            }
        }
    }
    checks
}

/// The comma-separated parts inside the outermost parentheses.
fn definitions(sql: &str) -> Vec<&str> {
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

/// The content of the next `CHECK (…)` that is not nested in parentheses.
fn next_check<'a>(
    part: &'a str,
    tokens: &mut impl Iterator<Item = SqlToken<'a>>,
) -> Option<&'a str> {
    let (mut depth, mut check, mut start) = (0, false, None);
    for token in tokens {
        if token.kind == SqlTokenKind::Word && depth == 0 {
            check = token.is_word("CHECK");
        } else if token.is_operator("(") {
            if depth == 0 && check {
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
            ("a", "(a > (1 + 2)) AND (a<9)"),
            ("b,\"(", r#""b,""(" <> ')'"#),
            ("check", r#""check" IN (1, 2)"#),
            ("e", "e > -1.5e-3"),
        ];
        let found: Vec<_> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found, expected);
        for cut in 0..sql.len() {
            // Parsing ends for every text.
            checks(sql.get(..cut).unwrap_or_default());
        }
    }
}
