//! What is searched for, as each engine takes it.

use crate::Dialect;
use crate::search::SEARCH_COLUMN;
use crate::writer::Writer;
use bobak_core::ValueRef;
use bobak_core::search::SearchQuery;

/// What words of fewer than three letters end with on MariaDB, which does not index shorter ones. No query has it.
pub(crate) const SHORT_END: &str = "__";

/// The query as each engine takes it; on MariaDB one that [`push_boolean`] need not split.
pub(crate) fn rendered(dialect: Dialect, query: &SearchQuery) -> String {
    let mut out = String::new();
    match dialect {
        Dialect::Sqlite => FTS5.push(query, &mut out),
        Dialect::Postgres => TSQUERY.push(query, &mut out),
        Dialect::MariaDb | Dialect::MySql => boolean(query, "", &mut out),
    }
    out
}

/// How an engine writes a query.
struct QueryForm {
    /// Before and after a word.
    quote: char,
    /// After the quoted start of words.
    prefix: &'static str,
    /// Before the words of a phrase, between them and after them.
    phrase: [&'static str; 3],
    and: &'static str,
    or: &'static str,
    not: &'static str,
}

const FTS5: QueryForm = QueryForm {
    quote: '"',
    prefix: " *",
    phrase: ["\"", " ", "\""],
    and: " AND ",
    or: " OR ",
    not: " NOT ",
};

const TSQUERY: QueryForm = QueryForm {
    quote: '\'',
    prefix: ":*",
    phrase: ["('", "' <-> '", "')"],
    and: " & ",
    or: " | ",
    not: " & !",
};

impl QueryForm {
    fn push(&self, query: &SearchQuery, out: &mut String) {
        let quote = self.quote;
        match query {
            SearchQuery::Word(word) => out.push_str(&format!("{quote}{word}{quote}")),
            SearchQuery::Prefix(word) => {
                out.push_str(&format!("{quote}{word}{quote}{}", self.prefix));
            }
            SearchQuery::Phrase(words) => {
                let [begin, between, end] = self.phrase;
                out.push_str(&format!("{begin}{}{end}", words.join(between)));
            }
            SearchQuery::And(parts) => self.push_list(parts, self.and, out),
            SearchQuery::Or(parts) => self.push_list(parts, self.or, out),
            SearchQuery::Without(found, excluded) => {
                out.push('(');
                self.push(found, out);
                out.push_str(self.not);
                self.push(excluded, out);
                out.push(')');
            }
            _ => {}
        }
    }

    fn push_list(&self, parts: &[SearchQuery], between: &str, out: &mut String) {
        for (at, part) in parts.iter().enumerate() {
            out.push_str(if at == 0 { "(" } else { between });
            self.push(part, out);
        }
        out.push(')');
    }
}

/// The query in MariaDB's boolean mode. `sign` says whether rows must have it.
fn boolean(query: &SearchQuery, sign: &str, out: &mut String) {
    out.push_str(sign);
    let list = |parts: &[SearchQuery], sign: &str, out: &mut String| {
        for (at, part) in parts.iter().enumerate() {
            out.push_str(if at == 0 { "(" } else { " " });
            boolean(part, sign, out);
        }
        out.push(')');
    };
    match query {
        SearchQuery::Word(word) => out.push_str(&indexed(word)),
        SearchQuery::Prefix(word) => out.push_str(&format!("{word}*")),
        SearchQuery::Phrase(words) => {
            let words: Vec<_> = words.iter().map(indexed).collect();
            out.push_str(&format!("\"{}\"", words.join(" ")));
        }
        SearchQuery::And(parts) => list(parts, "+", out),
        SearchQuery::Or(parts) => list(parts, "", out),
        SearchQuery::Without(found, excluded) => {
            out.push('(');
            boolean(found, "+", out);
            out.push(' ');
            boolean(excluded, "-", out);
            out.push(')');
        }
        _ => {}
    }
}

/// A word as MariaDB indexes it.
fn indexed(word: &String) -> String {
    match word.chars().count() {
        1 | 2 => format!("{word}{SHORT_END}"),
        _ => word.clone(),
    }
}

/// The condition of MariaDB, or the rank. The server does not find prefixes after a phrase in the same text: a query that
/// has both is split into several.
pub(crate) fn push_boolean(writer: &mut Writer<'_>, query: &SearchQuery, is_rank: bool) {
    let (parts, between) = match query {
        SearchQuery::And(parts) if is_split(query) => (parts, " AND "),
        SearchQuery::Or(parts) if is_split(query) => (parts, " OR "),
        SearchQuery::Without(found, excluded) if is_split(query) => {
            writer.raw("(");
            push_boolean(writer, found, is_rank);
            if !is_rank {
                writer.raw(" AND NOT ");
                push_boolean(writer, excluded, false);
            }
            writer.raw(")");
            return;
        }
        _ => return push_against(writer, query),
    };
    for (at, part) in parts.iter().enumerate() {
        writer.raw(match (at, is_rank) {
            (0, _) => "(",
            (_, true) => " + ",
            (_, false) => between,
        });
        push_boolean(writer, part, is_rank);
    }
    writer.raw(")");
}

/// Whether a query has both a phrase and a prefix.
fn is_split(query: &SearchQuery) -> bool {
    fn has(query: &SearchQuery, is_wanted: fn(&SearchQuery) -> bool) -> bool {
        match query {
            SearchQuery::And(parts) | SearchQuery::Or(parts) => {
                parts.iter().any(|part| has(part, is_wanted))
            }
            SearchQuery::Without(found, excluded) => {
                has(found, is_wanted) || has(excluded, is_wanted)
            }
            leaf => is_wanted(leaf),
        }
    }
    has(query, |leaf| matches!(leaf, SearchQuery::Phrase(_)))
        && has(query, |leaf| matches!(leaf, SearchQuery::Prefix(_)))
}

/// The text is a literal, by which the server sees that the rank is that of the condition.
fn push_against(writer: &mut Writer<'_>, query: &SearchQuery) {
    let text = rendered(writer.dialect, query);
    writer.raw("MATCH (").name(SEARCH_COLUMN).raw(") AGAINST (");
    writer.literal(ValueRef::Text(&text)).raw(" IN BOOLEAN MODE)");
}
