//! Files of SQL statements.

use bobak_sql::token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};

/// A statement of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStatement {
    /// The line on which it begins.
    pub line: usize,
    pub text: String,
}

/// The statements of a text, which semicolons part.
pub fn statements(sql: &str) -> Vec<FileStatement> {
    let mut found = Vec::new();
    let (mut start, mut end) = (None, 0);
    let mut add = |start: Option<usize>, end: usize| {
        if let Some(text) = start.and_then(|start| sql.get(start..end)) {
            let before = sql.get(..start.unwrap_or_default()).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            found.push(FileStatement { line, text: text.to_owned() });
        }
    };
    for token in SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant() {
        if token.is_operator(";") {
            add(start.take(), end);
        } else {
            start.get_or_insert(token.start);
            end = token.end();
        }
    }
    add(start, end);
    found
}

/// The tokens of a statement without blanks and comments.
pub fn tokens(sql: &str) -> Vec<SqlToken<'_>> {
    SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant().collect()
}

/// How many values a statement takes: its question marks, or the largest number of `?1`, `$2`.
pub fn parameters(sql: &str) -> usize {
    let (mut marks, mut largest) = (0, 0);
    for token in tokens(sql).iter().filter(|token| token.kind == SqlTokenKind::Parameter) {
        match token.text.get(1..).unwrap_or_default().parse::<usize>() {
            Ok(number) => largest = largest.max(number),
            Err(_) => marks += 1,
        }
    }
    marks.max(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_parted_by_semicolons_outside_of_strings() {
        let sql = "-- first\nSELECT ';' AS a;;\n\nSELECT ?,\n  ? -- ;\n;";
        let found = statements(sql);
        let shown: Vec<_> = found.iter().map(|one| (one.line, one.text.as_str())).collect();
        assert_eq!(shown, [(2, "SELECT ';' AS a"), (4, "SELECT ?,\n  ?")]);
        assert_eq!(parameters(shown[1].1), 2);
        assert_eq!(parameters("SELECT $2, $1, '?'"), 2);
    }
}
