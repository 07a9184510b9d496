//! What only the text of a CREATE TABLE tells: the checks of columns.

/// A piece of SQL text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    /// A keyword or plain name.
    Word(&'a str),
    /// A name in quotes, still in them.
    Quoted(&'a str),
    /// A text, number or blob.
    Literal,
    /// Anything else, one character.
    Sign(char),
}

/// The checks that stand at columns, by the column's name, without their parentheses. Several of
/// one column are joined by AND.
pub(super) fn checks(sql: &str) -> Vec<(String, String)> {
    let mut checks: Vec<(String, String)> = Vec::new();
    for part in definitions(sql) {
        let mut tokens = tokens(part);
        let column = match tokens.next() {
            // A quoted name is a column's even where it is a keyword.
            Some((_, Token::Quoted(name))) => unquote(name),
            Some((_, Token::Word(word))) if !begins_table_rule(word) => word.to_owned(),
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

/// Whether an expression is made of literals alone, so that it has the same value at all times.
pub(super) fn is_constant(expression: &str) -> bool {
    // CAST(x'…' AS TEXT) is how a text with a NUL in it is written.
    const WORDS: [&str; 6] = ["null", "true", "false", "cast", "as", "text"];
    tokens(expression).all(|(_, token)| match token {
        Token::Word(word) => WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)),
        Token::Quoted(_) => false,
        Token::Literal => true,
        Token::Sign(sign) => matches!(sign, '+' | '-' | '(' | ')'),
    })
}

/// The parts of the outermost parentheses, between their commas.
fn definitions(sql: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, token) in tokens(sql) {
        match token {
            Token::Sign('(') => {
                depth += 1;
                if depth == 1 {
                    start = at + 1;
                }
            }
            Token::Sign(sign @ (',' | ')')) if depth == 1 => {
                parts.extend(sql.get(start..at));
                start = at + 1;
                if sign == ')' {
                    return parts;
                }
            }
            Token::Sign(')') => depth -= 1,
            _ => {}
        }
    }
    parts
}

fn begins_table_rule(word: &str) -> bool {
    ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
        .iter()
        .any(|keyword| word.eq_ignore_ascii_case(keyword))
}

/// What is in the parentheses of the next `CHECK (…)` outside others.
fn next_check<'a>(
    part: &'a str,
    tokens: &mut impl Iterator<Item = (usize, Token<'a>)>,
) -> Option<&'a str> {
    let (mut depth, mut check, mut start) = (0, false, None);
    for (at, token) in tokens {
        match token {
            Token::Word(word) if depth == 0 => check = word.eq_ignore_ascii_case("CHECK"),
            Token::Sign('(') => {
                if depth == 0 && check {
                    start = Some(at + 1);
                }
                depth += 1;
            }
            Token::Sign(')') => {
                depth -= 1;
                if let (0, Some(start)) = (depth, start) {
                    return part.get(start..at).map(str::trim);
                }
            }
            _ => {}
        }
    }
    None
}

/// The tokens with their places in bytes; white space and comments are passed over.
fn tokens(sql: &str) -> impl Iterator<Item = (usize, Token<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = sql.get(at..)?;
            let first = rest.chars().next()?;
            let (length, token) = token(rest, first);
            let here = at;
            at += length;
            if let Some(token) = token {
                return Some((here, token));
            }
        }
    })
}

/// The length in bytes of what `rest` begins with, and the token that it is, if it is one.
fn token(rest: &str, first: char) -> (usize, Option<Token<'_>>) {
    let until = |mark: &str| rest.find(mark).map_or(rest.len(), |at| at + mark.len());
    // The star that opens a comment does not close it.
    let comment = || rest.get(2..).and_then(|inside| inside.find("*/"));
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
    let length = |keep: &dyn Fn(char) -> bool| rest.find(|c| !keep(c)).unwrap_or(rest.len());
    let blob = matches!(rest.as_bytes(), [b'x' | b'X', b'\'', ..]);
    match first {
        _ if blob => (1 + quoted(rest.get(1..).unwrap_or_default(), '\''), Some(Token::Literal)),
        c if c.is_whitespace() => (length(&char::is_whitespace), None),
        '-' if rest.starts_with("--") => (until("\n"), None),
        '/' if rest.starts_with("/*") => (comment().map_or(rest.len(), |at| at + 4), None),
        '\'' => (quoted(rest, '\''), Some(Token::Literal)),
        '"' | '`' => {
            let length = quoted(rest, first);
            (length, rest.get(..length).map(Token::Quoted))
        }
        '[' => (until("]"), rest.get(..until("]")).map(Token::Quoted)),
        c if c.is_ascii_digit() => (number(rest), Some(Token::Literal)),
        c if word(c) => (length(&word), rest.get(..length(&word)).map(Token::Word)),
        c => (c.len_utf8(), Some(Token::Sign(c))),
    }
}

/// The length of a text in quotes, in which a quote stands twice.
fn quoted(rest: &str, quote: char) -> usize {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return at + c.len_utf8();
        }
    }
    rest.len()
}

/// The length of a number: digits, letters, points, and a sign after an exponent's `e`.
fn number(rest: &str) -> usize {
    let mut before = ' ';
    let hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
    let belongs = |c: char, before: char| {
        let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !hexadecimal;
        c.is_ascii_alphanumeric() || c == '.' || c == '_' || sign
    };
    for (at, c) in rest.char_indices() {
        if !belongs(c, before) {
            return at;
        }
        before = c;
    }
    rest.len()
}

fn unquote(name: &str) -> String {
    let mut inner = name.chars();
    let (first, _) = (inner.next(), inner.next_back());
    let inner = inner.as_str();
    match first {
        Some(quote @ ('"' | '`')) => inner.replace(&format!("{quote}{quote}"), &quote.to_string()),
        _ => inner.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_found_at_their_columns() {
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
            // Whatever the text is, it ends.
            checks(sql.get(..cut).unwrap_or_default());
        }
    }

    #[test]
    fn constants_are_told_from_what_changes() {
        for text in ["1", "-1.5e+3", "'it''s'", "x'00ff'", "CAST(x'00' AS TEXT)", "(true)", "9e999"]
        {
            assert!(is_constant(text), "{text}");
        }
        for text in ["CURRENT_TIMESTAMP", "random()", "\"a\"", "1 + a", "1 || 2"] {
            assert!(!is_constant(text), "{text}");
        }
    }
}
