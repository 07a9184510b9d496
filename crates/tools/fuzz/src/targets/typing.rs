//! The parser of SQLite's SQL, and the types of its expressions.

use crate::{Target, seeds};
use bobak_core::{Result, Type};
use bobak_sql_typing::{Relation, Relations, TableColumn, analyze};

/// One table, for every name that begins with `t`.
struct Amounts;

impl Relations for Amounts {
    fn relation(&self, _: Option<&str>, name: &str) -> Result<Option<Relation>> {
        let column = |name: &str, ty| TableColumn {
            name: name.to_owned(),
            ty: Some(ty),
            hidden: false,
            generated: false,
        };
        let columns = || vec![column("a", Type::Currency), column("d", Type::Date)];
        Ok(name.starts_with('t').then(|| Relation::Table(columns())))
    }
}

/// Statements over a table with an amount and a date.
pub(crate) const TYPING: Target = Target {
    name: "sql-typing",
    about: "statements of SQLite over amounts and dates: a rewritten one can be parsed again",
    longest: 16 << 10,
    factor: 2_000,
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let rewritten = analyze(text, &Amounts, &[]).ok().and_then(|analysis| analysis.sql);
        if let Some(sql) = rewritten {
            // Its types may be wrong now, but not its syntax.
            let again = analyze(&sql, &Amounts, &[]).err().map(|error| error.to_string());
            let is_unread = again.is_some_and(|error| error.contains("cannot analyze"));
            assert!(!is_unread, "{text} becomes {sql}");
        }
    },
    seeds: || {
        seeds::of(&[
            "SELECT a + 1, d FROM t WHERE a > 5 AND d BETWEEN '2013-01-31' AND ? ORDER BY a DESC NULLS LAST LIMIT 5",
            "WITH c(x) AS MATERIALIZED (VALUES (1), (2.5)) SELECT * FROM t LEFT JOIN c ON a = c.x GROUP BY a HAVING a > 2",
            "INSERT OR IGNORE INTO t (a) VALUES (-1) ON CONFLICT (a) DO UPDATE SET a = excluded.a * 2 WHERE a < 3 RETURNING a",
            "UPDATE t SET (a, d) = (SELECT 5, d FROM t) WHERE NOT a IN (1, 2)",
            "DELETE FROM main.t AS x WHERE EXISTS (SELECT 1 FROM json_each('[1]', a))",
            "SELECT avg(a) FILTER (WHERE d) OVER (PARTITION BY d ORDER BY a RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
            "SELECT CASE a WHEN 1 THEN CAST(d AS TEXT) ELSE strftime('%f', d) END COLLATE nocase LIKE 'x' ESCAPE '!' FROM t",
            "CREATE TRIGGER x AFTER UPDATE OF a ON t WHEN new.a > 1 BEGIN DELETE FROM t WHERE a = old.a / 2; END",
            "CREATE VIEW v AS SELECT a -> 'b', ~a, -d FROM t UNION ALL SELECT 1, x'00', 0x1F",
        ])
    },
};
