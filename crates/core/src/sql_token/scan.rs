//! One token at the start of a text, by the rules of a database.

use super::{SqlSyntax, SqlTokenKind, operator};

/// The kind and length of a token.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScannedToken {
    pub kind: SqlTokenKind,
    pub length: usize,
    pub is_terminated: bool,
}

impl ScannedToken {
    pub const fn new(kind: SqlTokenKind, length: usize) -> Self {
        Self { kind, length, is_terminated: true }
    }

    /// A token that needs an end mark; `length` is `None` if that is missing from the text.
    fn delimited(kind: SqlTokenKind, length: Option<usize>, rest: &[u8]) -> Self {
        Self { kind, length: length.unwrap_or(rest.len()), is_terminated: length.is_some() }
    }

    /// The same token with a prefix before it.
    const fn after_prefix(self, prefix: usize) -> Self {
        Self { length: self.length + prefix, ..self }
    }
}

/// The token that `rest`, which is not empty, starts with.
pub(super) fn token(syntax: SqlSyntax, rest: &[u8]) -> ScannedToken {
    let first = rest.first().copied().unwrap_or_default();
    let blanks = whitespace(syntax, rest);
    if blanks > 0 {
        return ScannedToken::new(SqlTokenKind::Whitespace, blanks);
    }
    let special = match first {
        b'-' | b'/' | b'#' => comment(syntax, rest),
        b'\'' | b'"' | b'`' | b'[' => quoted(syntax, rest),
        b'x' | b'X' | b'b' | b'B' | b'e' | b'E' | b'n' | b'N' | b'u' | b'U' => {
            prefixed_string(syntax, rest)
        }
        b'0'..=b'9' | b'.' => number(syntax, rest),
        _ => None,
    };
    special.or_else(|| parameter(syntax, rest)).unwrap_or_else(|| {
        if is_word_start(syntax, first) {
            ScannedToken::new(SqlTokenKind::Word, count(rest, is_word_byte))
        } else {
            ScannedToken::new(SqlTokenKind::Operator, operator::length(rest))
        }
    })
}

/// How many blanks the text starts with. SQLite takes a byte order mark for one.
fn whitespace(syntax: SqlSyntax, rest: &[u8]) -> usize {
    match rest {
        [0xef, 0xbb, 0xbf, ..] if syntax == SqlSyntax::Sqlite => 3,
        _ => count(rest, is_blank),
    }
}

fn comment(syntax: SqlSyntax, rest: &[u8]) -> Option<ScannedToken> {
    let is_mysql = matches!(syntax, SqlSyntax::MySql { .. });
    let line = match rest {
        [b'#', ..] => is_mysql,
        // In MySQL `5--3` is a subtraction.
        [b'-', b'-', next, ..] if is_mysql => next.is_ascii_whitespace() || next.is_ascii_control(),
        [b'-', b'-', ..] => true,
        _ => false,
    };
    if line {
        // PostgreSQL ends the comment at a carriage return, too.
        let ends = |byte: u8| byte == b'\n' || byte == b'\r' && syntax == SqlSyntax::Postgres;
        return Some(ScannedToken::new(SqlTokenKind::Comment, count(rest, |byte| !ends(byte))));
    }
    if !rest.starts_with(b"/*") {
        return None;
    }
    let length = if syntax == SqlSyntax::Postgres {
        nested_comment(rest)
    } else {
        // The star that opens the comment does not close it.
        find(rest, 2, b"*/").map(|end| end + 2)
    };
    Some(ScannedToken::delimited(SqlTokenKind::Comment, length, rest))
}

fn nested_comment(rest: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        match rest.get(at..at + 2)? {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// A string or a name in quotes.
fn quoted(syntax: SqlSyntax, rest: &[u8]) -> Option<ScannedToken> {
    let escapes = syntax == SqlSyntax::MySql { backslash_escapes: true };
    let (kind, length) = match (rest.first()?, syntax) {
        (b'\'', _) => (SqlTokenKind::Text, to_quote(rest, b'\'', escapes)),
        (b'"', SqlSyntax::MySql { .. }) => (SqlTokenKind::Text, to_quote(rest, b'"', escapes)),
        (b'"', _) => (SqlTokenKind::QuotedName, to_quote(rest, b'"', false)),
        (b'`', SqlSyntax::Sqlite | SqlSyntax::MySql { .. }) => {
            (SqlTokenKind::QuotedName, to_quote(rest, b'`', false))
        }
        (b'[', SqlSyntax::Sqlite) => {
            (SqlTokenKind::QuotedName, find(rest, 1, b"]").map(|end| end + 1))
        }
        _ => return None,
    };
    Some(ScannedToken::delimited(kind, length, rest))
}

/// A string after letters that say how it is written: `x'00'`, `E'\n'`, `N'a'`, `U&'a'`, `U&"a"`.
fn prefixed_string(syntax: SqlSyntax, rest: &[u8]) -> Option<ScannedToken> {
    let is_postgres = syntax == SqlSyntax::Postgres;
    let text = match rest {
        [b'u' | b'U', b'&', quote @ (b'\'' | b'"'), ..] if is_postgres => {
            let text = rest.get(2..)?;
            let is_name = *quote == b'"';
            let kind = if is_name { SqlTokenKind::QuotedName } else { SqlTokenKind::Text };
            return Some(
                ScannedToken::delimited(kind, to_quote(text, *quote, false), text).after_prefix(2),
            );
        }
        [_, b'\'', ..] => rest.get(1..)?,
        _ => return None,
    };
    let escapes = syntax == SqlSyntax::MySql { backslash_escapes: true };
    let (kind, escapes) = match rest.first()?.to_ascii_lowercase() {
        b'x' => (SqlTokenKind::Blob, false),
        b'b' if syntax != SqlSyntax::Sqlite => (SqlTokenKind::Blob, false),
        b'n' if syntax != SqlSyntax::Sqlite => (SqlTokenKind::Text, escapes),
        b'e' if is_postgres => (SqlTokenKind::Text, true),
        _ => return None,
    };
    Some(ScannedToken::delimited(kind, to_quote(text, b'\'', escapes), text).after_prefix(1))
}

fn number(syntax: SqlSyntax, rest: &[u8]) -> Option<ScannedToken> {
    let digits = |from: usize| {
        let digits = rest.get(from..).unwrap_or_default();
        from + count(digits, |byte| byte.is_ascii_digit() || byte == b'_')
    };
    let is_digit = |at: usize| rest.get(at).is_some_and(u8::is_ascii_digit);
    if !is_digit(0) && !is_digit(1) {
        return None;
    }
    let mut end = digits(0);
    if rest.get(end) == Some(&b'.')
        && !(syntax == SqlSyntax::Postgres && rest.get(end + 1) == Some(&b'.'))
    {
        end = digits(end + 1);
    }
    if let Some(b'e' | b'E') = rest.get(end) {
        let exponent = end + 1 + usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
        if is_digit(exponent) {
            end = digits(exponent);
        }
    }
    // The digits of `0x1f`; else what makes the number malformed, or a name for MySQL.
    let letters = count(rest.get(end..).unwrap_or_default(), is_word_byte);
    let is_name = matches!(syntax, SqlSyntax::MySql { .. })
        && letters > 0
        && !matches!(rest, [b'0', b'x' | b'X' | b'b' | b'B', ..]);
    let kind = if is_name { SqlTokenKind::Word } else { SqlTokenKind::Number };
    Some(ScannedToken::new(kind, end + letters))
}

fn parameter(syntax: SqlSyntax, rest: &[u8]) -> Option<ScannedToken> {
    let found = |length| Some(ScannedToken::new(SqlTokenKind::Parameter, length));
    let digits = || count(rest.get(1..).unwrap_or_default(), |byte| byte.is_ascii_digit());
    match (syntax, rest.first()?) {
        (SqlSyntax::Sqlite, b'?') => found(1 + digits()),
        (SqlSyntax::Postgres | SqlSyntax::MySql { .. }, b'?') => found(1),
        (SqlSyntax::Sqlite, b'$' | b':' | b'@' | b'#') => Some(sqlite_variable(rest)),
        (SqlSyntax::Postgres, b'$') => match digits() {
            0 => dollar_quoted(rest),
            digits => found(1 + digits),
        },
        (SqlSyntax::MySql { .. }, b'@') => {
            let at_signs = 1 + usize::from(rest.get(1) == Some(&b'@'));
            let name = rest.get(at_signs..).unwrap_or_default();
            match count(name, |byte| is_word_byte(byte) || byte == b'.') {
                0 => None,
                name => found(at_signs + name),
            }
        }
        _ => None,
    }
}

/// `:a`, and Tcl's `$a::b(any 'thing)`, whose brackets contain what elsewhere are quotes.
fn sqlite_variable(rest: &[u8]) -> ScannedToken {
    let (mut at, mut is_named) = (1, false);
    while let Some(&byte) = rest.get(at) {
        match byte {
            _ if is_word_byte(byte) => is_named = true,
            b':' if rest.get(at + 1) == Some(&b':') => at += 1,
            b'(' if is_named => {
                let inside = rest.get(at + 1..).unwrap_or_default();
                let end = count(inside, |byte| byte != b')' && !is_blank(byte));
                at += 1 + end + usize::from(inside.get(end) == Some(&b')'));
                break;
            }
            _ => break,
        }
        at += 1;
    }
    ScannedToken::new(if is_named { SqlTokenKind::Parameter } else { SqlTokenKind::Operator }, at)
}

/// `$$a$$` or `$tag$a$tag$`.
fn dollar_quoted(rest: &[u8]) -> Option<ScannedToken> {
    let tag = count(rest.get(1..)?, |byte| is_word_byte(byte) && byte != b'$');
    if rest.get(tag + 1) != Some(&b'$') {
        return None;
    }
    let mark = rest.get(..tag + 2)?;
    let length = find(rest, mark.len(), mark).map(|end| end + mark.len());
    Some(ScannedToken::delimited(SqlTokenKind::Text, length, rest))
}

/// The length up to and with the closing quote; a doubled quote stands for itself.
fn to_quote(rest: &[u8], quote: u8, backslash_escapes: bool) -> Option<usize> {
    let mut at = 1;
    loop {
        let byte = *rest.get(at)?;
        at += 1;
        if byte == b'\\' && backslash_escapes {
            at += 1;
        } else if byte == quote {
            if rest.get(at) != Some(&quote) {
                return Some(at);
            }
            at += 1;
        }
    }
}

fn is_word_start(syntax: SqlSyntax, byte: u8) -> bool {
    byte.is_ascii_alphabetic()
        || matches!(byte, b'_' | 0x80..)
        || byte == b'$' && matches!(syntax, SqlSyntax::MySql { .. })
}

/// Whether a byte continues a name: all databases take every character beyond ASCII for a letter.
const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// How many bytes at the start satisfy the predicate.
fn count(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !is_part(*byte)).unwrap_or(bytes.len())
}

fn find(bytes: &[u8], from: usize, mark: &[u8]) -> Option<usize> {
    let found = bytes.get(from..)?.windows(mark.len()).position(|window| window == mark);
    found.map(|at| from + at)
}
