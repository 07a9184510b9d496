//! Which tables an SQL text may mean: without SQLite, since what SQLite says of a text depends on
//! what is there.

/// The names that stand where a table's may, in order: also names that the text
/// itself defines, and some of columns.
pub(super) fn tables(sql: &str) -> Vec<String> {
    let pieces = pieces(sql);
    let mut names: Vec<String> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| pieces.get(before));
        if let Piece::Name(name, is_quoted) = piece
            && (*is_quoted || !is_reserved(name))
            && before.is_some_and(Piece::leads_to_table)
            && !names.iter().any(|other| other.eq_ignore_ascii_case(name))
        {
            names.push(name.clone());
        }
    }
    names
}

/// The first words of a text, in lower case.
pub(super) fn first_words(sql: &str) -> impl Iterator<Item = String> {
    let words = pieces(sql).into_iter().skip_while(|piece| matches!(piece, Piece::Sign(';')));
    words.map_while(|piece| match piece {
        Piece::Name(word, false) => Some(word.to_ascii_lowercase()),
        _ => None,
    })
}

/// Whether the word can be a name in quotes only.
fn is_reserved(word: &str) -> bool {
    const WORDS: [&str; 10] =
        ["select", "values", "into", "or", "not", "case", "distinct", "exists", "null", "set"];
    WORDS.iter().any(|reserved| reserved.eq_ignore_ascii_case(word))
}

enum Piece {
    /// A word, or a name in quotes of any kind.
    Name(String, bool),
    Sign(char),
}

impl Piece {
    fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Name(name, false) if name.eq_ignore_ascii_case(word))
    }

    /// Whether a table's name may stand behind it.
    fn leads_to_table(&self) -> bool {
        const WORDS: [&str; 11] = [
            "from", "join", "into", "update", "table", "ignore", "replace", "abort", "fail",
            "rollback", "in",
        ];
        match self {
            Self::Name(..) => WORDS.iter().any(|word| self.is_word(word)),
            Self::Sign(sign) => matches!(sign, ',' | '.' | '('),
        }
    }
}

fn pieces(sql: &str) -> Vec<Piece> {
    let (mut pieces, mut rest) = (Vec::new(), sql.trim_start());
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
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
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    pieces
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
            ("SELECT a FROM x JOIN \"y\"\"z\" ON 'q' = x.b -- FROM no", vec!["x", "y\"z", "b"]),
            ("INSERT OR IGNORE INTO [t u] SELECT * FROM main.`v`", vec!["t u", "main", "v"]),
            ("update OR replace t set b = (select c from d), e = 1", vec!["t", "d", "e"]),
            ("WITH c AS (SELECT 1 FROM s /* x */) SELECT * FROM c, 'd'", vec!["s", "c", "d"]),
            ("DELETE FROM \"open", vec!["open"]),
        ] {
            assert_eq!(tables(sql), expected, "{sql}");
        }
        let first: Vec<_> = first_words(" ;; /* a */ Explain\nQUERY plan (1)").collect();
        assert_eq!(first, ["explain", "query", "plan"]);
    }
}
