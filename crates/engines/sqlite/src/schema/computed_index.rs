//! Indexes over expressions, and of the rows that match a condition: their parts, from the text of CREATE INDEX.

use super::column::text;
use super::text::with_texts;
use crate::connection::Connection;
use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenizer};
use bobak_core::{ComputedIndex, Result, SchemaLoss, Value};

/// The parts of an index of a table with these columns; `None` if one has an order or a collation of its own.
pub(super) fn read(
    connection: &mut Connection,
    name: &str,
    loss: SchemaLoss,
    columns: &[String],
) -> Result<Option<ComputedIndex>> {
    let rows = connection.all_rows(
        "SELECT sql FROM main.sqlite_schema WHERE type = 'index' AND name = ?",
        &[Value::from(name)],
    )?;
    let sql = rows.into_iter().flatten().next();
    let index = sql.and_then(|sql| parse(&text(Some(sql)), name, loss));
    Ok(index.map(|index| ComputedIndex {
        parts: index.parts.iter().map(|part| with_texts(part, columns)).collect(),
        condition: index.condition.map(|condition| with_texts(&condition, columns)),
        ..index
    }))
}

fn parse(sql: &str, name: &str, loss: SchemaLoss) -> Option<ComputedIndex> {
    let mut tokens = SqlTokenizer::new(SqlSyntax::Sqlite, sql).significant();
    let unique = tokens.clone().nth(1)?.is_word("unique");
    tokens.find(|token| token.is_word("on"))?;
    let open = tokens.find(|token| token.is_operator("("))?;
    let (mut parts, mut start, mut depth) = (Vec::new(), open.end(), 1_usize);
    for token in tokens.by_ref() {
        let is_plain = !["collate", "asc", "desc"].iter().any(|word| token.is_word(word));
        if !is_plain {
            return None;
        }
        depth = match token.text {
            "(" => depth + 1,
            ")" => depth - 1,
            _ => depth,
        };
        if depth == 0 || (depth == 1 && token.is_operator(",")) {
            parts.push(sql.get(start..token.start)?.trim().to_owned());
            start = token.end();
        }
        if depth == 0 {
            break;
        }
    }
    let condition = match tokens.next() {
        Some(word) if word.is_word("where") => Some(sql.get(word.end()..)?.trim().to_owned()),
        Some(_) => return None,
        None => None,
    };
    let has_comment = SqlTokenizer::new(SqlSyntax::Sqlite, sql)
        .any(|token: SqlToken<'_>| token.is_trivia() && !token.text.trim().is_empty());
    let index = ComputedIndex { loss, name: name.to_owned(), unique, parts, condition };
    (!has_comment).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(sql: &str) -> Option<(bool, Vec<String>, Option<String>)> {
        let index = parse(sql, "i", SchemaLoss::new("t", "index i"))?;
        Some((index.unique, index.parts, index.condition))
    }

    #[test]
    fn parts_and_conditions_are_found() {
        let found =
            parts("CREATE UNIQUE INDEX \"on\" ON [t (] (a, lower(b || ','), \"c)\") WHERE d > 1");
        let wanted = ["a", "lower(b || ',')", "\"c)\""].map(str::to_owned).to_vec();
        assert_eq!(found, Some((true, wanted, Some("d > 1".to_owned()))));
        let plain = parts("CREATE INDEX IF NOT EXISTS i ON t ((a + 1) * 2)");
        assert_eq!(plain, Some((false, vec!["(a + 1) * 2".to_owned()], None)));
        for sql in [
            "CREATE INDEX i ON t (a COLLATE nocase) WHERE b",
            "CREATE INDEX i ON t (a DESC, b + 1)",
            "CREATE INDEX i ON t (a /* why */ + 1)",
        ] {
            assert_eq!(parts(sql), None, "{sql}");
        }
    }
}
