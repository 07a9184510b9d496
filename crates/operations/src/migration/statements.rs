//! SQL texts of several statements.

use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};

/// The statements of an SQL text: each ends with a semicolon at the end of a line, outside of texts and comments, and
/// outside of the body of a trigger, function or procedure.
pub(super) fn statements(syntax: SqlSyntax, text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut statement = String::new();
    for line in text.lines() {
        statement.push_str(line);
        statement.push('\n');
        if line.contains(';')
            && let Some(end) = end_of(syntax, &statement)
        {
            let whole = std::mem::take(&mut statement);
            all.push(whole.get(..end).unwrap_or_default().trim().to_owned());
        }
    }
    all.push(statement.trim().to_owned());
    all.retain(|text| SqlTokenizer::new(syntax, text).significant().next().is_some());
    all
}

/// Where the semicolon is that ends this text, if it has one after a whole statement.
fn end_of(syntax: SqlSyntax, text: &str) -> Option<usize> {
    let tokens: Vec<_> = SqlTokenizer::new(syntax, text).collect();
    if tokens.iter().any(|token| !token.is_terminated) {
        return None;
    }
    let tokens: Vec<_> = tokens.into_iter().filter(|token| !token.is_trivia()).collect();
    let (last, before) = tokens.split_last()?;
    (last.is_operator(";") && !is_in_body(before)).then_some(last.start)
}

/// Whether the text ends inside of the body of a trigger, function or procedure: `BEGIN` without its `END`.
fn is_in_body(tokens: &[SqlToken<'_>]) -> bool {
    const OWNERS: [&str; 4] = ["trigger", "function", "procedure", "event"];
    let is = |token: &SqlToken<'_>, words: &[&str]| words.iter().any(|word| token.is_word(word));
    let mut words = tokens.iter().filter(|token| token.kind == SqlTokenKind::Word);
    if !words.next().is_some_and(|first| first.is_word("create"))
        || !words.take(8).any(|word| is(word, &OWNERS))
    {
        return false;
    }
    let mut depth = 0_i32;
    for (at, token) in tokens.iter().enumerate() {
        let is_after_end =
            at.checked_sub(1).and_then(|at| tokens.get(at)).is_some_and(|t| t.is_word("end"));
        // The beginning of `END IF` has no END of its own here.
        let ends_other = tokens
            .get(at + 1)
            .is_some_and(|next| is(next, &["if", "loop", "while", "repeat", "for"]));
        depth += i32::from(is(token, &["begin", "case"]) && !is_after_end);
        depth -= i32::from(token.is_word("end") && !ends_other);
    }
    depth > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_inside_of_bodies_texts_and_comments_end_nothing() {
        let trigger = "CREATE TRIGGER a AFTER INSERT ON t BEGIN\nUPDATE t SET n = CASE WHEN 1 THEN 2 END;\nDELETE FROM u;\nEND";
        let routine = "CREATE OR REPLACE PROCEDURE p()\nBEGIN\nIF 1 THEN\nSELECT 1;\nEND IF;\nCASE 1 WHEN 1 THEN SELECT 2;\nEND CASE;\nEND";
        let function = "CREATE FUNCTION f() RETURNS trigger AS $$\nBEGIN\nRETURN NEW;\nEND;\n$$ LANGUAGE plpgsql";
        let plain = "CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()";
        let mysql = SqlSyntax::MySql { backslash_escapes: true };
        for (syntax, texts) in [
            (SqlSyntax::Sqlite, &[trigger, "INSERT INTO t VALUES ('a;\nb')", "SELECT 1"][..]),
            (mysql, &[routine, trigger, "INSERT INTO t VALUES ('it\\'s;\n')"]),
            (SqlSyntax::Postgres, &[function, plain, "/* a;\n b; */ SELECT 1"]),
        ] {
            let text: String =
                texts.iter().map(|text| format!("{text}; -- one\n-- two;\n")).collect();
            let found = statements(syntax, &text);
            let without = |text: &String| text.trim_start_matches("-- two;\n").to_owned();
            assert_eq!(found.iter().map(without).collect::<Vec<_>>(), texts);
        }
        assert_eq!(
            statements(SqlSyntax::Sqlite, "-- nothing;\n\nSELECT 1\n"),
            ["-- nothing;\n\nSELECT 1"]
        );
        assert!(statements(SqlSyntax::Sqlite, "-- nothing;\n").is_empty());
    }
}
