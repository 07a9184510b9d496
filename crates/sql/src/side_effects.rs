//! Which tables' writes change other rows without a trigger, asked of the database.

use crate::Dialect;

/// A statement whose rows are a table's name and `written`, `deleted` or `updated`, where such
/// writes to it change other rows: by foreign keys, and by other rules than triggers.
#[must_use]
pub const fn side_effects(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => SQLITE,
        Dialect::Postgres => POSTGRES,
        Dialect::MariaDb | Dialect::MySql => MYSQL,
    }
}

/// A unique rule may say that the row in the way goes.
const SQLITE: &str = "SELECT name, 'written' FROM main.sqlite_schema \
     WHERE type = 'table' AND sql LIKE '%conflict%replace%' \
     UNION SELECT f.\"table\", 'deleted' FROM main.sqlite_schema AS s, \
     pragma_foreign_key_list(s.name, 'main') AS f \
     WHERE s.type = 'table' AND f.on_delete IN ('CASCADE', 'SET NULL', 'SET DEFAULT') \
     UNION SELECT f.\"table\", 'updated' FROM main.sqlite_schema AS s, \
     pragma_foreign_key_list(s.name, 'main') AS f \
     WHERE s.type = 'table' AND f.on_update IN ('CASCADE', 'SET NULL', 'SET DEFAULT')";

/// Rules do what triggers do, and a table has the rows of those that inherit from it. A write to a key may be one to the row
/// of another key that is equal to it, as texts in any case may be.
const POSTGRES: &str = "SELECT tablename::text, 'written'::text FROM pg_rules WHERE schemaname <> 'pg_catalog' \
     UNION SELECT c.relname::text, 'written' FROM pg_inherits i \
     JOIN pg_class c ON c.oid IN (i.inhparent, i.inhrelid) \
     UNION SELECT c.relname::text, 'deleted' FROM pg_constraint k \
     JOIN pg_class c ON c.oid = k.confrelid \
     WHERE k.contype = 'f' AND k.confdeltype IN ('c', 'n', 'd') \
     UNION SELECT c.relname::text, 'updated' FROM pg_constraint k \
     JOIN pg_class c ON c.oid = k.confrelid \
     WHERE k.contype = 'f' AND k.confupdtype IN ('c', 'n', 'd') \
     UNION SELECT c.relname::text, w.what FROM pg_index i \
     JOIN pg_class c ON c.oid = i.indrelid \
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey) \
     JOIN pg_type t ON t.oid = a.atttypid \
     LEFT JOIN pg_collation l ON l.oid = a.attcollation \
     CROSS JOIN (VALUES ('updated'), ('deleted')) AS w(what) \
     WHERE i.indisprimary AND (t.typname IN ('citext', 'numeric', 'bpchar') \
     OR to_jsonb(l) ->> 'collisdeterministic' = 'false')";

/// As for PostgreSQL: the usual collations ignore case, and blanks at the end.
const MYSQL: &str = "SELECT referenced_table_name, 'deleted' FROM information_schema.referential_constraints \
     WHERE unique_constraint_schema = DATABASE() AND delete_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT') \
     UNION SELECT referenced_table_name, 'updated' FROM information_schema.referential_constraints \
     WHERE unique_constraint_schema = DATABASE() AND update_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT') \
     UNION SELECT c.table_name, w.what FROM information_schema.columns c \
     CROSS JOIN (SELECT 'updated' AS what UNION SELECT 'deleted') w \
     WHERE c.table_schema = DATABASE() AND c.column_key = 'PRI' AND (c.data_type = 'decimal' \
     OR c.collation_name NOT LIKE '%\\_nopad\\_bin' AND c.collation_name <> 'utf8mb4_0900_bin')";
