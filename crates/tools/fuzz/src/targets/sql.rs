//! What is read in SQL: what a statement does, which tables it names, what a declaration says.

use crate::{Target, seeds};
use bobak_core::Engine;
use bobak_core::sql_token::{SqlSyntax, SqlTokenKind as Kind, SqlTokenizer};
use bobak_sql::{
    Dialect, first_word, has_word, only_reads, parse_comment, parse_declared,
    parse_metadata_comment, returns_rows,
};
use bobak_sqlite::Sqlite;

/// Statements and declared types, as text alone.
pub(crate) const SQL: Target = Target {
    name: "sql",
    about: "what SQL texts do, the tables that they name, declared types and comments",
    longest: 64 << 10,
    factor: 200,
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let _ = (returns_rows(text), only_reads(text), has_word(text, "into"));
        let _ = bobak_permissions::decoders::table_references(text);
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MariaDb, Dialect::MySql] {
            let _ = parse_declared(dialect, text);
        }
        let _ = (parse_comment("c", text), parse_metadata_comment(text));
    },
    seeds: || {
        seeds::of(&[
            "WITH a AS (SELECT 1 FROM b, c) SELECT * FROM a JOIN \"d\" USING (x) -- no\n",
            "INSERT OR REPLACE INTO main.t(a, b) SELECT x, 'from y' FROM [z] WHERE q IN (SELECT 1)",
            "/* update */ UPDATE t SET a = 1 FROM u RETURNING *; DELETE FROM v",
            "EXPLAIN QUERY PLAN SELECT * FROM a, b, (SELECT * FROM c), d",
            "PRAGMA foreign_keys",
            "CURRENCY_E4",
            "TIMESTAMP_MICROS_CREATED",
            "VARCHAR(40)",
            "numeric(19,4)",
            "decimal(19, 4) unsigned",
            "bobak: i32 created nullable",
            "timestamp(6) with time zone",
        ])
    },
};

/// The SQL tokenizer, in the syntax of each database.
pub(crate) const TOKENS: Target = Target {
    name: "sql-tokens",
    about: "the tokens of SQL texts: they cover the text, and their names and values can be decoded",
    longest: 64 << 10,
    factor: 50,
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        for syntax in SqlSyntax::ALL {
            let mut end = 0;
            for token in SqlTokenizer::new(syntax, text) {
                assert!(!token.text.is_empty() && token.start == end, "a gap before {token:?}");
                assert_eq!(text.get(token.span()), Some(token.text), "{token:?}");
                let _ = (token.unquoted(), token.name(), token.bytes(), token.number());
                end = token.end();
                let may_be_open = matches!(
                    token.kind,
                    Kind::Comment | Kind::QuotedName | Kind::Text | Kind::Blob
                );
                let is_last = end == text.len();
                assert!(token.is_terminated || may_be_open && is_last, "{token:?}");
            }
            assert_eq!(end, text.len(), "the tokens end before the text");
            assert!(text.contains(first_word(syntax, text)));
        }
    },
    seeds: || {
        seeds::of(&[
            "SELECT 'it''s', \"a\"\"b\", `c``d`, [e] FROM t -- comment\nWHERE a<=1.5e+3",
            r"SELECT E'it\'s', N'a', U&'b', x'00ff', b'01', 'c\' FROM `t`",
            "/* a /* b */ c */ /*!50100 d */ # e\n f--1 /*M! g",
            "$$ a $$ $tag$ b $$ $tag$ $1 a$b$ ?12 :c @d #e $f::g(h 'i')",
            "0x1f 1_000 .5 1. 1..2 1e 1a ->> <=> :: || \u{feff} \u{b} é",
        ])
    },
};

/// Tables as SQLite describes them.
pub(crate) const TABLES: Target = Target {
    name: "sqlite-tables",
    about: "the schema of an SQLite file that another program made",
    longest: 8 << 10,
    factor: 2_000,
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let engine = Sqlite::open_memory().expect("a database in memory");
        let session = engine.session().expect("SQLite gives sessions");
        // Nothing but this: what follows it in the text is not run.
        if session.execute(&format!("CREATE TABLE made({text}"), &[]).is_err() {
            return;
        }
        let tables = engine.tables().expect("what SQLite took can be described, or is left out");
        for table in tables {
            let mut rows = 0;
            let select = bobak_core::Query::<bobak_core::DynRow>::all();
            let table = std::sync::Arc::new(table);
            let all = (0..table.columns().len()).map(bobak_core::Expr::Column).collect();
            let select = select.to_select(&table, all).expect("all columns can be selected");
            let source = bobak_core::Source::Select(&select);
            let read = session.query(&source, &mut |_| {
                rows += 1;
                Ok(true)
            });
            assert!(read.is_ok() && rows == 0, "a table that is there can't be read: {read:?}");
        }
    },
    seeds: || {
        seeds::of(&[
            "id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'x' CHECK (length(name) > 0))",
            "a, b INT UNIQUE, \"c d\" VARCHAR(10) COLLATE NOCASE, PRIMARY KEY (a, b)) WITHOUT ROWID",
            "k BLOB PRIMARY KEY, m CURRENCY_E4 DEFAULT 12, at TIMESTAMP_MICROS_CREATED NOT NULL) STRICT",
            "x REAL DEFAULT -1.5e3, y INT DEFAULT (1+1), z TEXT DEFAULT CURRENT_TIMESTAMP)",
            "[p q] INT REFERENCES made(`r`) ON DELETE CASCADE, `r` INT UNIQUE, CHECK (r > 0))",
            "g INT GENERATED ALWAYS AS (h + 1) STORED, h INT)",
        ])
    },
};
