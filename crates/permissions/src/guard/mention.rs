//! Which tables an SQL text may mean: without SQLite, since what SQLite says of a text depends on
//! what is there.

use std::collections::HashSet;

/// The names that stand where a table's may, in order: also names that the text itself defines.
pub(crate) fn tables(sql: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    // For each open bracket: whether a comma there is followed by a table.
    let mut lists = vec![false];
    let mut before = Before::Other;
    for piece in pieces(sql) {
        let in_list = lists.last().copied().unwrap_or_default();
        before = match piece {
            Piece::Name(word, false) if leads_to_table(&word) => {
                if !word.eq_ignore_ascii_case("in")
                    && let Some(list) = lists.last_mut()
                {
                    *list = true;
                }
                Before::Lead
            }
            Piece::Name(word, false) if ends_list(&word) => {
                if let Some(list) = lists.last_mut() {
                    *list = false;
                }
                Before::Other
            }
            Piece::Name(word, false) if is_reserved(&word) => Before::Other,
            Piece::Name(name, _) if before == Before::Lead => {
                if seen.insert(name.to_ascii_lowercase()) {
                    names.push(name);
                }
                Before::Table
            }
            Piece::Sign('.') if before == Before::Table => Before::Lead,
            Piece::Sign(',') if in_list => Before::Lead,
            Piece::Sign('(') => {
                // A list of columns, or of arguments, follows a name.
                let is_list = in_list && before == Before::Lead;
                lists.push(is_list);
                if is_list { Before::Lead } else { Before::Other }
            }
            Piece::Sign(')') => {
                lists.pop();
                Before::Other
            }
            _ => Before::Other,
        };
    }
    names
}

/// What stood before a piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// What a table's name follows.
    Lead,
    /// Such a name.
    Table,
    Other,
}

/// Whether a table's name may stand behind the word.
fn leads_to_table(word: &str) -> bool {
    const WORDS: [&str; 10] =
        ["from", "join", "into", "update", "ignore", "replace", "abort", "fail", "rollback", "in"];
    WORDS.iter().any(|lead| lead.eq_ignore_ascii_case(word))
}

/// Whether the word ends a list of tables.
fn ends_list(word: &str) -> bool {
    const WORDS: [&str; 10] = [
        "select",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "set",
        "values",
        "returning",
        "window",
    ];
    WORDS.iter().any(|end| end.eq_ignore_ascii_case(word))
}

/// The first words of a text, in lower case.
pub(super) fn first_words(sql: &str) -> impl Iterator<Item = String> {
    let words = pieces(sql).into_iter().skip_while(|piece| matches!(piece, Piece::Sign(';')));
    words.map_while(|piece| match piece {
        Piece::Name(word, false) => Some(word.to_ascii_lowercase()),
        _ => None,
    })
}

/// Whether rows may go because new ones clash with them: `REPLACE INTO`, `OR REPLACE`. A column of
/// that name looks the same; not so the function, behind which a bracket opens.
pub(super) fn replaces(sql: &str) -> bool {
    let pieces = pieces(sql);
    let mut pairs = pieces.iter().zip(pieces.iter().skip(1));
    pairs.any(|(word, next)| {
        matches!(word, Piece::Name(word, false) if word.eq_ignore_ascii_case("replace"))
            && !matches!(next, Piece::Sign('('))
    })
}

/// Whether the word can be a name in quotes only.
fn is_reserved(word: &str) -> bool {
    const WORDS: [&str; 7] = ["or", "not", "case", "distinct", "exists", "null", "default"];
    WORDS.iter().any(|reserved| reserved.eq_ignore_ascii_case(word))
}

enum Piece {
    /// A word, or a name in quotes of any kind.
    Name(String, bool),
    Sign(char),
}

fn pieces(sql: &str) -> Vec<Piece> {
    let (mut pieces, mut rest) = (Vec::new(), skip_blanks(sql));
    while let Some(first) = rest.chars().next() {
        let comment = skip_comment(rest);
        let length = if comment > 0 {
            comment
        } else if matches!(first, '$' | '@' | '#' | ':') {
            pieces.push(Piece::Sign(first));
            parameter(rest)
        } else if matches!(first, '\'' | '"' | '`' | '[') {
            let (name, length) = quoted(rest, if first == '[' { ']' } else { first });
            pieces.push(Piece::Name(name, true));
            length
        } else {
            let is_word =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii();
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            if length > 0 {
                pieces.push(Piece::Name(rest.split_at(length).0.to_owned(), false));
                length
            } else {
                pieces.push(Piece::Sign(first));
                first.len_utf8()
            }
        };
        rest = skip_blanks(rest.get(length..).unwrap_or_default());
    }
    pieces
}

/// What SQLite takes for blanks, and nothing else: a byte order mark is one, wherever it stands.
fn skip_blanks(sql: &str) -> &str {
    sql.trim_start_matches(|c| matches!(c, '\t'..='\r' | ' ' | '\u{feff}'))
}

/// How long the comment is that a text begins with; 0 where it begins with none.
fn skip_comment(sql: &str) -> usize {
    let (end, mark) = match sql.as_bytes() {
        [b'-', b'-', ..] => ("\n", 0),
        // The star that opens it does not close it.
        [b'/', b'*', ..] => ("*/", 2),
        _ => return 0,
    };
    let found = sql.get(2..).and_then(|inside| inside.find(end));
    found.map_or(sql.len(), |place| 2 + place + mark)
}

/// How long the parameter is that a text begins with: `:a`, and Tcl's `$a::b(any 'thing)`, whose brackets hold what
/// looks like quotes elsewhere.
fn parameter(sql: &str) -> usize {
    let (mut at, mut named) = (1, false);
    let bytes = sql.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => named = true,
            b':' if bytes.get(at + 1) == Some(&b':') => at += 1,
            b'(' if named => {
                let ends = |byte: &u8| matches!(byte, b')' | b'\t'..=b'\r' | b' ');
                let inside = bytes.get(at + 1..).unwrap_or_default();
                let end = inside.iter().position(ends).unwrap_or(inside.len());
                return at + 1 + end + usize::from(inside.get(end) == Some(&b')'));
            }
            _ => break,
        }
        at += 1;
    }
    at
}

/// What stands in quotes, which stand for themselves where they are doubled; and its length.
fn quoted(text: &str, quote: char) -> (String, usize) {
    let mut inside = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        let doubled = quote != ']' && characters.peek().is_some_and(|(_, next)| *next == quote);
        match c {
            _ if c != quote => inside.push(c),
            _ if doubled => {
                inside.push(quote);
                characters.next();
            }
            _ => return (inside, at + 1),
        }
    }
    (inside, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tables_are_found() {
        for (sql, expected) in [
            (
                "SELECT a, b FROM x JOIN \"y\"\"z\" ON 'q' = x.b, c -- FROM no",
                vec!["x", "y\"z", "c"],
            ),
            ("INSERT OR IGNORE INTO [t u] (a, b) SELECT * FROM main.`v`", vec!["t u", "main", "v"]),
            ("update OR replace t set b = (select c from d, f), e = 1", vec!["t", "d", "f"]),
            ("WITH c AS (SELECT 1 FROM s /* x */) SELECT * FROM c, 'd'", vec!["s", "c", "d"]),
            ("SELECT 1 FROM (a, b AS x) WHERE y IN z AND q IN (1, r)", vec!["a", "b", "z"]),
            ("SELECT 1 FROM ((SELECT 2 FROM g, h) AS i, j) ORDER BY k, l", vec!["g", "h", "j"]),
            ("DELETE FROM \"open", vec!["open"]),
            ("SELECT 1 /*/ ' */ FROM a -- '", vec!["a"]),
            ("SELECT 1 \u{feff}FROM\u{b}a", vec!["a"]),
            ("SELECT $x(') FROM a -- '", vec!["a"]),
            ("SELECT $x::y(') , :z, @é FROM a -- '", vec!["a"]),
            ("SELECT $(') FROM a -- '", vec![]),
            ("DELETE FROM a WHERE (b, c) = (1, 2) RETURNING d, e", vec!["a"]),
        ] {
            assert_eq!(tables(sql), expected, "{sql}");
        }
        let first: Vec<_> = first_words(" ;; /* a */ Explain\nQUERY plan (1)").collect();
        assert_eq!(first, ["explain", "query", "plan"]);
    }
}
