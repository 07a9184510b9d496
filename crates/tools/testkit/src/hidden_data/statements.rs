//! Random SQL over visible and hidden tables.

use crate::model::Random;

/// Statements with `T` for a table, and `C` for a column.
const STATEMENTS: &[&str] = &[
    "SELECT * FROM T",
    "SELECT count(*) FROM T",
    "SELECT C FROM T WHERE C > 2 ORDER BY C LIMIT 3",
    "SELECT rowid, * FROM T",
    "SELECT * FROM T JOIN T AS u ON u.id = 1",
    "SELECT (SELECT count(C) FROM T)",
    "SELECT * FROM T WHERE C IN (SELECT C FROM T)",
    "SELECT * FROM stock WHERE n IN T",
    "SELECT * FROM T WHERE EXISTS (SELECT 1 FROM T WHERE C = 1)",
    "SELECT * FROM T WHERE C LIKE '%a%b%'",
    "SELECT C || 1, C + 1 FROM T",
    "SELECT sum(C), max(C), typeof(C) FROM T GROUP BY C HAVING count(*) > 0",
    "SELECT row_number() OVER (ORDER BY C) FROM T",
    "SELECT * FROM T WHERE day = 'x'",
    "SELECT * FROM T WHERE day > '2000-01-01' AND amount > 1.5",
    "SELECT strftime('%Y', day), amount * 2 FROM T",
    "SELECT * FROM T UNION SELECT * FROM T",
    "SELECT name FROM stock UNION ALL SELECT C FROM T",
    "SELECT * FROM stock NATURAL JOIN T",
    "SELECT * FROM stock LEFT JOIN T USING (id)",
    "SELECT * FROM stock, T AS u WHERE u.id = stock.id",
    "SELECT T.C FROM stock",
    "SELECT C FROM stock ORDER BY (SELECT C FROM T)",
    "WITH x AS (SELECT * FROM T) SELECT C FROM x",
    "WITH x AS (SELECT * FROM T) SELECT count(*) FROM x",
    "WITH RECURSIVE x(n) AS (SELECT 1 UNION SELECT n + 1 FROM x WHERE n < 5) SELECT n, C FROM x, T",
    "WITH T AS (SELECT 1 AS id) SELECT id FROM T",
    "INSERT INTO T (id, name) VALUES (3, 'x')",
    "INSERT INTO T (name) VALUES ('x') RETURNING id",
    "INSERT OR REPLACE INTO T (id, name) VALUES (3, 'x')",
    "INSERT OR IGNORE INTO T (id, C) VALUES (3, 'x')",
    "INSERT INTO T SELECT * FROM T",
    "INSERT INTO T (id, name) VALUES (3, 'x') ON CONFLICT (id) DO UPDATE SET name = C",
    "INSERT INTO T (id, name) VALUES (4, 'x') ON CONFLICT DO NOTHING",
    "REPLACE INTO T (id, name) VALUES (3, 'x')",
    "UPDATE T SET C = 2 WHERE id < 4",
    "UPDATE T SET C = (SELECT max(C) FROM T)",
    "UPDATE T SET C = 1 FROM T AS u WHERE u.id = T.id",
    "DELETE FROM T WHERE C = 3",
    "DELETE FROM T WHERE id = (SELECT max(id) FROM T)",
    "DELETE FROM T RETURNING *",
    "EXPLAIN SELECT * FROM T",
    "EXPLAIN QUERY PLAN SELECT * FROM T WHERE C = 1",
    "EXPLAIN QUERY PLAN DELETE FROM T",
    "EXPLAIN QUERY PLAN SELECT * FROM stock, prices, T",
    "PRAGMA table_info(T)",
    "PRAGMA index_list(T)",
    "PRAGMA foreign_key_list(T)",
    "PRAGMA foreign_key_check",
    "PRAGMA integrity_check(T)",
    "PRAGMA database_list",
    "PRAGMA page_count",
    "PRAGMA data_version",
    "SELECT * FROM pragma_table_info('T')",
    "SELECT * FROM pragma_table_list",
    "SELECT * FROM pragma_page_count",
    "SELECT name, sql FROM sqlite_schema",
    "SELECT * FROM sqlite_master WHERE tbl_name = 'T'",
    "SELECT * FROM sqlite_stat1",
    "SELECT * FROM sqlite_stat4",
    "SELECT * FROM dbstat",
    "SELECT * FROM dbstat('main')",
    "SELECT * FROM sqlite_dbpage",
    "SELECT * FROM sqlite_stmt",
    "SELECT * FROM bobak_feed",
    "SELECT * FROM bobak_log_T",
    "SELECT last_insert_rowid(), changes(), total_changes()",
    "SELECT rtreecheck('T')",
    "SELECT rtreecheck('main', 'T')",
    "SELECT fts5_source_id(), sqlite_version()",
    "SELECT load_extension('T')",
    "SELECT json_extract('{\"T\":1}', '$.T'), value FROM json_each('[1,2]')",
    "SELECT * FROM json_each((SELECT C FROM T))",
    "SELECT * FROM fts5vocab",
    "SELECT sqlite_offset(C) FROM T",
    "CREATE TABLE T (id INTEGER PRIMARY KEY)",
    "CREATE TABLE extra AS SELECT * FROM T",
    "CREATE TEMP VIEW v AS SELECT * FROM T",
    "CREATE INDEX T ON notes (text)",
    "CREATE VIRTUAL TABLE v USING fts5vocab(T, row)",
    "ALTER TABLE notes RENAME TO T",
    "ALTER TABLE T ADD COLUMN x",
    "DROP TABLE T",
    "DROP TABLE IF EXISTS T",
    "ANALYZE T",
    "REINDEX T",
    "ATTACH 'T' AS x",
    "BEGIN",
    "SAVEPOINT T",
    "VALUES (1), (2)",
    "VALUES ((SELECT C FROM T))",
    "SELECT T FROM C",
    "SELECT * FROM main.T",
    "SELECT * FROM temp.T",
    "SELECT * FROM nosuch.T",
    "SELECT * FROM \"T\" WHERE \"C\" = 1",
    "SELECT * FROM [T], 'T'",
    "SELECT * FROM T INDEXED BY vault_code WHERE C = 1",
    "SELECT * FROM stock INDEXED BY T WHERE n = 1",
    "SELECT * FROM stock WHERE name COLLATE T = 'x'",
    "SELECT T(1)",
    "SELECT nosuch(C) FROM T",
    "SELECT * FROM T WHERE",
    "SELECT ' FROM T",
    "SELECT 1; SELECT * FROM T",
    "SELECT 9223372036854775807 + n FROM stock",
    "SELECT abs(-9223372036854775807 - 1) FROM T",
];

/// Columns that some of the tables have, and one that none has.
const COLUMNS: [&str; 8] = ["id", "name", "owner", "n", "day", "amount", "rowid", "nosuch"];

/// A random statement that names a table, or something else.
#[must_use]
pub fn statement(random: &mut Random, table: &str) -> String {
    let statement = random.pick(STATEMENTS).copied().unwrap_or("SELECT 1");
    let column = random.pick(&COLUMNS).copied().unwrap_or("id");
    with_names(statement, table, column)
}

/// A statement with a table for `T` and a column for `C`.
fn with_names(statement: &str, table: &str, column: &str) -> String {
    let mut out = String::new();
    let is_name = |c: char| c.is_ascii_alphanumeric();
    let mut rest = statement;
    while let Some(first) = rest.chars().next() {
        let end = match is_name(first) {
            true => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        out.push_str(match word {
            "T" => table,
            "C" => column,
            word => word,
        });
        rest = after;
    }
    out
}
