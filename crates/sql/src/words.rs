//! What the words of a statement tell before it runs.

/// Words that a statement begins with when it changes something.
const CHANGES: [&str; 10] = [
    "insert", "update", "delete", "replace", "create", "drop", "alter", "reindex", "analyze",
    "vacuum",
];

/// Whether the statement may give rows; otherwise it changes something.
#[must_use]
pub fn gives_rows(sql: &str) -> bool {
    let mut words = Words::new(sql);
    !words.next().is_some_and(changes) || words.any(|word| word.eq_ignore_ascii_case("returning"))
}

/// Whether a word stands in the statement, outside quotes and comments.
#[must_use]
pub fn has_word(sql: &str, word: &str) -> bool {
    Words::new(sql).any(|other| other.eq_ignore_ascii_case(word))
}

/// Whether the statement can only read. Where it can't be told, it is taken to change something.
#[must_use]
pub fn only_reads(sql: &str) -> bool {
    let mut words = Words::new(sql);
    match words.next().map(str::to_ascii_lowercase).as_deref() {
        // SELECT INTO makes a table, or writes a file.
        Some("select") => !words.any(|word| word.eq_ignore_ascii_case("into")),
        Some("values") => true,
        // WITH may lead to an INSERT as well as to a SELECT.
        Some("with") => !words.any(changes),
        // EXPLAIN ANALYZE does what it explains.
        Some("explain") => {
            !words.any(|word| changes(word) && !word.eq_ignore_ascii_case("analyze"))
        }
        _ => false,
    }
}

/// Whether the statement may write rows: not the schema, nor a setting, which some databases change
/// outside transactions only.
#[must_use]
pub fn changes_rows(sql: &str) -> bool {
    const WRITES: [&str; 6] = ["insert", "update", "delete", "replace", "merge", "with"];
    let first = Words::new(sql).next().unwrap_or_default();
    WRITES.iter().any(|word| first.eq_ignore_ascii_case(word)) && !only_reads(sql)
}

fn changes(word: &str) -> bool {
    CHANGES.iter().any(|change| word.eq_ignore_ascii_case(change))
}

/// The words of a statement outside quotes and comments.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    const fn new(sql: &'a str) -> Self {
        Self { rest: sql }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        loop {
            let first = self.rest.chars().next()?;
            if is_part(first) {
                let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at_checked(end)?;
                self.rest = rest;
                return Some(word);
            }
            let length = skip_length(self.rest).max(first.len_utf8());
            self.rest = self.rest.get(length..)?;
        }
    }
}

/// How many bytes the quoted text or comment has that `sql` begins with; 0 where it begins with none.
#[must_use]
pub fn skip_length(sql: &str) -> usize {
    let to = |end: &str, from: usize| {
        let found = sql.get(from..).and_then(|rest| rest.find(end));
        found.map_or(sql.len(), |place| from + place + end.len())
    };
    match sql.as_bytes() {
        // A doubled quote inside ends one text and begins the next: the same characters are skipped.
        [b'\'', ..] => to("'", 1),
        [b'"', ..] => to("\"", 1),
        [b'`', ..] => to("`", 1),
        [b'[', ..] => to("]", 1),
        [b'-', b'-', ..] => to("\n", 2),
        [b'/', b'*', ..] => to("*/", 2),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_change_are_told_from_those_that_read() {
        for sql in [
            "SELECT 1",
            " with a as (select 1) select * from a",
            "-- drop\nvalues (1)",
            "pragma user_version",
            "INSERT INTO t VALUES (1) RETURNING id",
            "(select 1)",
            "explain delete from t",
            "",
        ] {
            assert!(gives_rows(sql), "{sql}");
        }
        for sql in [
            "insert into t values ('returning')",
            "/* select */ DELETE FROM t",
            "Create Table t(a)",
            "update t set a = \"returning\" -- returning",
        ] {
            assert!(!gives_rows(sql), "{sql}");
        }
    }

    #[test]
    fn statements_that_write_rows() {
        for sql in
            ["insert into t values (1)", "with a as (select 1) delete from t", "Merge into t"]
        {
            assert!(changes_rows(sql), "{sql}");
        }
        for sql in
            ["create table t(a)", "vacuum", "with a as (select 1) select * from a", "", "select 1"]
        {
            assert!(!changes_rows(sql), "{sql}");
        }
    }

    #[test]
    fn words_are_found_outside_quotes_and_comments() {
        assert!(has_word("vacuum main Into 'x'", "into"));
        assert!(!has_word("vacuum \"into\" -- into", "into"));
    }

    #[test]
    fn statements_that_only_read() {
        for sql in [
            "SELECT replace(a, 'x', 'y') FROM t",
            "with a as (select 1) select 'insert'",
            "values (1)",
            "explain query plan select 1",
            "EXPLAIN ANALYZE SELECT 1",
            "  SELECT\n'into'",
        ] {
            assert!(only_reads(sql), "{sql}");
        }
        for sql in [
            "with a as (select 1) insert into t select * from a",
            "pragma journal_mode = wal",
            "insert into t values (1) returning id",
            "explain analyze delete from t",
            "select * into u from t",
            "-- select\ndelete from b",
            "",
        ] {
            assert!(!only_reads(sql), "{sql}");
        }
    }
}
