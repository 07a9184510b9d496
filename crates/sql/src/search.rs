//! Full-text search: what a table needs for it, and queries.
//!
//! SQLite: an FTS5 table over the table's own rows, which triggers keep up to date. PostgreSQL: a generated `tsvector` with
//! a GIN index. MariaDB: a generated text with a FULLTEXT index. The generated columns and the FTS5 table say in a comment
//! what they are for.
//!
//! The texts of all columns are one index on the servers, with a word between that no query can name: a phrase does not
//! cross columns. On each engine the index has the words of [`bobak_core::search::words`]: what separates words there is
//! replaced by spaces, or named as a separator.

use crate::Dialect;
use crate::fts5_separators::push_separators;
use crate::search_query::{SHORT_END, push_boolean, rendered};
use crate::select::push_limit;
use crate::writer::Writer;
use bobak_core::search::{MARKS, SAME_LETTERS, SEARCH_PREFIX, SearchLanguage};
use bobak_core::{Error, ErrorKind, Result, Select, TableSchema, Value, ValueRef};

/// The generated column of PostgreSQL and MariaDB; the FULLTEXT index has this name too.
pub const SEARCH_COLUMN: &str = "bobak_search";
/// How the comment of what Bobak made for a search begins; the version and the language follow.
pub const SEARCH_COMMENT: &str = "bobak: search ";
/// What follows [`SEARCH_COMMENT`]: it changes if the words of the same text change. A table with another one has no search,
/// until it is added again.
const VERSION: &str = "2 ";

/// The rank's name in a query.
const RANK: &str = "bobak_rank";
/// The row number's name in a query on SQLite.
const ROW: &str = "bobak_row";
/// The parsed query's name on PostgreSQL.
const QUERY: &str = "bobak_query";
/// The vector between those of two columns on PostgreSQL: no query can name its word, or how it begins.
const COLUMN_VECTOR: &str = "'''|'':1'::tsvector";
/// The word between the texts of two columns on MariaDB: no query has this character.
const COLUMN_WORD: &str = "___";
/// A private character that stands for İ while a text becomes lower case on the servers.
const KEPT: &str = "\u{e130}";
/// What separates words on MariaDB.
const MARIADB_SEPARATORS: &str = r"(?:[\x{fe00}-\x{fe0f}]|[^\p{L}\p{Nd}\p{Nl}\p{Mn}\p{Mc}])+";
/// The letter numbers of the basic plane, as PostgreSQL's regular expressions have them in brackets.
const LETTER_NUMBERS: &str = r"\u16ee-\u16f0\u2160-\u2188\u3007\u3021-\u3029\u3038-\u303a";

/// The name of a table's FTS5 table.
#[must_use]
pub fn search_table(table: &str) -> String {
    format!("{SEARCH_PREFIX}{table}")
}

/// The names of the triggers of a table that is searched on SQLite.
fn trigger(table: &TableSchema, verb: &str) -> String {
    format!("{SEARCH_PREFIX}{verb}_{}", table.name())
}

/// The statements that make a table searchable; none if it is not searched. On MariaDB they are parts of the table's own.
///
/// # Errors
/// `Unsupported` for a column whose name SQLite's FTS5 has itself, and on MySQL.
pub fn create_search(dialect: Dialect, table: &TableSchema) -> Result<Vec<String>> {
    let Some(search) = table.search() else { return Ok(Vec::new()) };
    match dialect {
        Dialect::Sqlite => create_fts5(table, &search.columns, search.language),
        Dialect::Postgres => Ok(create_tsvector(table)),
        Dialect::MariaDb => Ok(Vec::new()),
        Dialect::MySql => {
            let message = "MySQL's full-text search finds other words: use MariaDB or PostgreSQL";
            Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
        }
    }
}

/// The statements that remove what [`create_search`] made, also that of an earlier version.
#[must_use]
pub fn drop_search(dialect: Dialect, table: &TableSchema) -> Vec<String> {
    let statement = |write: &dyn Fn(&mut Writer<'_>)| {
        let mut writer = Writer::new(dialect);
        write(&mut writer);
        writer.into_text()
    };
    match dialect {
        Dialect::Sqlite => {
            let drop = |verb: &&str| {
                statement(&|writer| {
                    writer.raw("DROP TRIGGER IF EXISTS ").name(&trigger(table, verb));
                })
            };
            let mut texts: Vec<_> = ["insert", "update", "delete"].iter().map(drop).collect();
            texts.push(statement(&|writer| {
                writer.raw("DROP TABLE IF EXISTS ").name(&search_table(table.name()));
            }));
            texts
        }
        Dialect::Postgres => vec![statement(&|writer| {
            writer
                .raw("ALTER TABLE ")
                .name(table.name())
                .raw(" DROP COLUMN IF EXISTS ")
                .name(SEARCH_COLUMN);
        })],
        Dialect::MariaDb | Dialect::MySql => Vec::new(),
    }
}

fn create_fts5(
    table: &TableSchema,
    columns: &[usize],
    language: SearchLanguage,
) -> Result<Vec<String>> {
    check_names(table, columns)?;
    let search = search_table(table.name());
    let row = row_name(table);
    let mut writer = Writer::new(Dialect::Sqlite);
    writer.raw("CREATE VIRTUAL TABLE ").name(&search).raw(" /* ").raw(SEARCH_COMMENT);
    writer.raw(VERSION).raw(language.name()).raw(" */ USING fts5(");
    writer.columns(table, columns.iter().copied());
    writer.raw(", content=").literal(ValueRef::Text(table.name()));
    writer.raw(", content_rowid=").literal(ValueRef::Text(row));
    let stemmer = if language == SearchLanguage::English { "porter " } else { "" };
    writer.raw(&format!(", tokenize='{stemmer}unicode61 remove_diacritics 0"));
    writer.raw(" categories ''L* Nd Nl Mn Mc'' separators ''");
    push_separators(&mut writer);
    writer.raw("''')");
    let mut texts = vec![writer.into_text()];
    for (verb, event) in [("insert", "INSERT"), ("update", "UPDATE"), ("delete", "DELETE")] {
        texts.push(fts5_trigger(table, columns, verb, event));
    }
    let mut writer = Writer::new(Dialect::Sqlite);
    writer.raw("INSERT INTO ").name(&search).raw(" (").name(&search).raw(") VALUES ('rebuild')");
    texts.push(writer.into_text());
    Ok(texts)
}

/// Rejects names that FTS5 has itself.
fn check_names(table: &TableSchema, columns: &[usize]) -> Result<()> {
    let search = search_table(table.name());
    let name = |place: &usize| table.columns().get(*place).map_or("", |column| &column.name);
    let is_reserved = |name: &&str| {
        ["rank", "rowid", &search].iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
    };
    if let Some(name) = columns.iter().map(name).find(is_reserved) {
        let message = "SQLite cannot search a column of this name: rename it";
        let error = Error::new(ErrorKind::Unsupported, message);
        return Err(error.in_table(table.name().to_owned()).in_column(name.to_owned()));
    }
    Ok(())
}

fn fts5_trigger(table: &TableSchema, columns: &[usize], verb: &str, event: &str) -> String {
    let search = search_table(table.name());
    let mut writer = Writer::new(Dialect::Sqlite);
    writer.raw("CREATE TRIGGER ").name(&trigger(table, verb)).raw(" AFTER ").raw(event);
    if event == "UPDATE" {
        let mut watched = columns.to_vec();
        watched.extend(table.key().iter().filter(|key| !columns.contains(key)));
        writer.raw(" OF ");
        writer.columns(table, watched);
    }
    writer.raw(" ON ").name(table.name()).raw(" BEGIN /* ").raw(SEARCH_COMMENT).raw("*/ ");
    if event != "INSERT" {
        writer.raw("INSERT INTO ").name(&search).raw(" (").name(&search).raw(", rowid, ");
        writer.columns(table, columns.iter().copied());
        writer.raw(") VALUES ('delete', ");
        push_values(&mut writer, table, columns, "old.");
        writer.raw("); ");
    }
    if event != "DELETE" {
        writer.raw("INSERT INTO ").name(&search).raw(" (rowid, ");
        writer.columns(table, columns.iter().copied());
        writer.raw(") VALUES (");
        push_values(&mut writer, table, columns, "new.");
        writer.raw("); ");
    }
    writer.raw("END");
    writer.into_text()
}

/// The row number and the texts of a trigger's old or new row.
fn push_values(writer: &mut Writer<'_>, table: &TableSchema, columns: &[usize], of: &str) {
    writer.raw(of).name(row_name(table));
    for &place in columns {
        writer.raw(", ").raw(of).column(table, place);
    }
}

/// The name of a table's row number on SQLite.
fn row_name(table: &TableSchema) -> &str {
    if let (true, Some(key)) = (table.has_integer_key(), table.key().first()) {
        return table.columns().get(*key).map_or("rowid", |column| &column.name);
    }
    let is_free = |name: &&str| table.column(name).is_err();
    ["rowid", "_rowid_", "oid"].into_iter().find(is_free).unwrap_or("rowid")
}

fn create_tsvector(table: &TableSchema) -> Vec<String> {
    let language = table.search().map_or("simple", |search| search.language.name());
    let mut writer = Writer::new(Dialect::Postgres);
    writer.raw("ALTER TABLE ").name(table.name()).raw(" ADD COLUMN ").name(SEARCH_COLUMN);
    writer.raw(" tsvector GENERATED ALWAYS AS (");
    for (at, &place) in table.search().iter().flat_map(|search| &search.columns).enumerate() {
        if at > 0 {
            writer.raw(" || ").raw(COLUMN_VECTOR).raw(" || ");
        }
        writer.raw("to_tsvector('").raw(language).raw("'::regconfig, ");
        push_postgres_words(&mut writer, table, place);
        writer.raw(")");
    }
    writer.raw(") STORED");
    let mut index = Writer::new(Dialect::Postgres);
    index.raw("CREATE INDEX ON ").name(table.name()).raw(" USING gin (").name(SEARCH_COLUMN);
    index.raw(")");
    let mut comment = Writer::new(Dialect::Postgres);
    comment.raw("COMMENT ON COLUMN ").name(table.name()).raw(".").name(SEARCH_COLUMN);
    comment.raw(" IS ").literal(ValueRef::Text(&search_comment(table)));
    vec![writer.into_text(), index.into_text(), comment.into_text()]
}

/// The words of a column in lower case, with spaces between. By ICU: the server's own locale may know ASCII only.
fn push_postgres_words(writer: &mut Writer<'_>, table: &TableSchema, place: usize) {
    writer.raw("regexp_replace(translate(lower(translate(coalesce(").column(table, place);
    writer.raw("::text, ''), 'İ', '").raw(KEPT).raw("') COLLATE \"und-x-icu\"), '").raw(KEPT);
    let (letters, same): (String, String) = SAME_LETTERS.into_iter().unzip();
    writer.raw(&letters).raw("', 'İ").raw(&same).raw("'), '[^[:alnum:]").raw(LETTER_NUMBERS);
    for (first, last) in MARKS {
        writer.raw(&format!("\\u{:04x}-\\u{:04x}", u32::from(*first), u32::from(*last)));
    }
    writer.raw("]+', ' ', 'g')");
}

/// The generated column of MariaDB.
pub(crate) fn push_mariadb_column(writer: &mut Writer<'_>, table: &TableSchema) {
    writer.name(SEARCH_COLUMN).raw(" LONGTEXT CHARACTER SET utf8mb4");
    writer.raw(writer.dialect.collate(bobak_core::Collation::Binary));
    writer.raw(" GENERATED ALWAYS AS (REGEXP_REPLACE(CONCAT(");
    for (at, &place) in table.search().iter().flat_map(|search| &search.columns).enumerate() {
        if at > 0 {
            writer.raw(&format!(", ' {COLUMN_WORD} ', "));
        }
        push_mariadb_words(writer, table, place);
    }
    writer.raw("), '(?<![^ ])([^ ]{1,2})(?![^ ])', '\\1").raw(SHORT_END);
    writer.raw("')) STORED INVISIBLE COMMENT ").literal(ValueRef::Text(&search_comment(table)));
}

/// The words of a column in lower case, with spaces between.
fn push_mariadb_words(writer: &mut Writer<'_>, table: &TableSchema, place: usize) {
    writer.raw("REGEXP_REPLACE(").raw(&"REPLACE(".repeat(SAME_LETTERS.len() + 1));
    writer.raw("LOWER(REPLACE(IFNULL(").column(table, place);
    writer.raw(&format!(", ''), 'İ', '{KEPT}')), '{KEPT}', 'İ')"));
    for (letter, same) in SAME_LETTERS {
        writer.raw(&format!(", '{letter}', '{same}')"));
    }
    writer.raw(&format!(", '{MARIADB_SEPARATORS}', ' ')"));
}

/// The FULLTEXT index of MariaDB.
pub(crate) fn push_mariadb_index(writer: &mut Writer<'_>) {
    writer.raw("FULLTEXT KEY ").name(SEARCH_COLUMN).raw(" (").name(SEARCH_COLUMN).raw(")");
}

/// What a generated column is for: the language, and the columns' names after bars.
fn search_comment(table: &TableSchema) -> String {
    let Some(search) = table.search() else { return String::new() };
    let mut comment = format!("{SEARCH_COMMENT}{VERSION}{}", search.language.name());
    for column in search.columns.iter().filter_map(|place| table.columns().get(*place)) {
        comment.push('|');
        comment.push_str(&column.name.replace('%', "%25").replace('|', "%7C"));
    }
    comment
}

/// The language and the columns' names of a comment, if Bobak made it for a search, and its index has the words of today.
#[must_use]
pub fn parse_search_comment(comment: &str) -> Option<(SearchLanguage, Vec<String>)> {
    let mut parts = comment.strip_prefix(SEARCH_COMMENT)?.strip_prefix(VERSION)?.split('|');
    let language = SearchLanguage::from_name(parts.next()?.trim()).ok()?;
    let name = |part: &str| part.replace("%7C", "|").replace("%25", "%");
    Some((language, parts.map(name).collect()))
}

/// The language in the text of an FTS5 table, if Bobak made it, and it has the words of today.
#[must_use]
pub fn parse_search_table(sql: &str) -> Option<SearchLanguage> {
    let (_, comment) = sql.split_once(&format!("/* {SEARCH_COMMENT}{VERSION}"))?;
    SearchLanguage::from_name(comment.split_once(" */")?.0).ok()
}

/// ` FROM table`, with what the query searches for.
pub(crate) fn push_from<'a>(writer: &mut Writer<'a>, select: &'a Select) {
    writer.raw(" FROM ");
    let table = select.table.name();
    let (Some(search), Some(schema)) = (&select.search, select.table.search()) else {
        writer.name(table);
        return;
    };
    let query = rendered(writer.dialect, &search.query);
    match writer.dialect {
        Dialect::Sqlite => {
            // FTS5 first, whatever the planner thinks of the table's own indexes.
            let fts = search_table(table);
            writer.raw("(SELECT rowid AS ").raw(ROW).raw(", -rank AS ").raw(RANK).raw(" FROM ");
            writer.name(&fts).raw(" WHERE ").name(&fts).raw(" MATCH ");
            writer.owned_value(Value::from(query));
            push_best(writer, select);
            writer.raw(") CROSS JOIN ").name(table).raw(" ON ");
            writer.name(table).raw(".").name(row_name(&select.table)).raw(" = ").raw(ROW);
        }
        Dialect::Postgres => {
            writer.name(table).raw(", to_tsquery('").raw(schema.language.name()).raw("', ");
            writer.owned_value(Value::from(query)).raw("::text) AS ").raw(QUERY);
        }
        Dialect::MariaDb | Dialect::MySql => {
            writer.name(table);
        }
    }
}

/// Limits SQLite's subquery to the best rows, if nothing but their rank decides which ones a query returns: then no other
/// row of the table is read. Equal ranks are in the order of the key, which is the row's number.
fn push_best(writer: &mut Writer<'_>, select: &Select) {
    let ranked = select.search.as_ref().is_some_and(|search| search.ranked);
    let is_by_key = select.table.has_integer_key()
        && matches!(select.order[..], [step] if !step.descending && select.table.key() == [step.column]);
    if let (true, true, None, Some(limit)) = (ranked, is_by_key, &select.condition, select.limit)
        && !select.is_grouped()
    {
        writer.raw(" ORDER BY ").raw(RANK).raw(" DESC, rowid");
        push_limit(writer, Some(limit.saturating_add(select.offset)), 0);
    }
}

/// The condition that a row has what the query searches for, after ` WHERE ` or what is given; `false` if there is none,
/// or the FROM has it.
pub(crate) fn push_match(writer: &mut Writer<'_>, select: &Select, before: &str) -> bool {
    let Some(search) = select.search.as_ref().filter(|_| writer.dialect != Dialect::Sqlite) else {
        return false;
    };
    writer.raw(before);
    if writer.dialect == Dialect::Postgres {
        writer.name(SEARCH_COLUMN).raw(" @@ ").raw(QUERY);
    } else {
        push_boolean(writer, &search.query, false);
    }
    true
}

/// The row's rank.
pub(crate) fn push_rank(writer: &mut Writer<'_>, select: &Select) {
    let Some(search) = &select.search else {
        writer.raw("NULL");
        return;
    };
    match writer.dialect {
        Dialect::Sqlite => {
            writer.raw(RANK);
        }
        Dialect::Postgres => {
            writer.raw("ts_rank(").name(SEARCH_COLUMN).raw(", ").raw(QUERY).raw(")::float8");
        }
        Dialect::MariaDb | Dialect::MySql => push_boolean(writer, &search.query, true),
    }
}
