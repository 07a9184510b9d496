//! What a database has that [`TableSchema`]s do not express: all that a copy would lose.

use super::postgres_catalog::{integer, text, with_checks};
use super::{SqlServer, TableWithChecks};
use crate::{Dialect, SEARCH_COLUMN, declared_type};
use bobak_core::change_log::{is_capture_trigger, is_change_log_table};
use bobak_core::{ColumnSchema, Result, Row, SchemaDetails, TableSchema};

const SQL: Dialect = Dialect::Postgres;

const RELATIONS: &str = "SELECT n.nspname::text, c.relname::text, c.relkind::text, \
    n.nspname = current_schema() FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND NOT c.relispartition \
    AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' ORDER BY c.oid";

const COLUMNS: &str = "SELECT c.relname::text, a.attname::text, \
    format_type(a.atttypid, a.atttypmod), a.attgenerated <> '', \
    CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END, \
    CASE WHEN l.collname <> 'C' THEN l.collname::text END, a.attidentity <> '' \
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum \
    LEFT JOIN pg_collation l ON l.oid = a.attcollation AND l.collname <> 'default' \
    WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
    AND c.relkind IN ('r', 'p', 'f') AND NOT c.relispartition \
    AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.oid, a.attnum";

const CONSTRAINTS: &str = "SELECT r.relname::text, k.conname::text, k.contype::text, \
    pg_get_constraintdef(k.oid), k.condeferrable AND NOT k.condeferred, \
    ARRAY['d'] && ARRAY[k.confdeltype::text, k.confupdtype::text], \
    k.confrelid <> 0 AND (SELECT relnamespace FROM pg_class WHERE oid = k.confrelid) <> r.relnamespace, \
    k.condeferrable \
    FROM pg_constraint k JOIN pg_class r ON r.oid = k.conrelid \
    WHERE r.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
    AND NOT r.relispartition ORDER BY k.oid";

const INDEXES: &str = "SELECT r.relname::text, n.relname::text, i.indpred IS NOT NULL, \
    i.indexprs IS NOT NULL AND coalesce(obj_description(i.indexrelid, 'pg_class'), '') NOT LIKE 'bobak: %', \
    m.amname::text, i.indnatts > i.indnkeyatts, \
    EXISTS (SELECT 1 FROM unnest(i.indoption::int2[]) AS o WHERE o & 1 = 1), \
    coalesce(col_description(i.indrelid, i.indkey[0]), '') LIKE 'bobak: search %', \
    pg_get_indexdef(i.indexrelid) LIKE '% NULLS NOT DISTINCT%' \
    FROM pg_index i JOIN pg_class n ON n.oid = i.indexrelid JOIN pg_am m ON m.oid = n.relam \
    JOIN pg_class r ON r.oid = i.indrelid \
    WHERE n.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
    AND NOT r.relispartition ORDER BY i.indexrelid";

/// Sequences of no column, too: those of columns come with these.
const OTHERS: &str = "SELECT tablename::text, 'rule ' || rulename FROM pg_rules \
    WHERE schemaname = current_schema() \
    UNION ALL SELECT tablename::text, 'row security policy ' || policyname FROM pg_policies \
    WHERE schemaname = current_schema() \
    UNION ALL SELECT c.relname::text, 'sequence' FROM pg_class c \
    WHERE c.relkind = 'S' AND c.relname !~ '^bobak_feed_' \
    AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass \
    AND d.objid = c.oid AND d.deptype IN ('a', 'i'))";

/// Lists it.
///
/// # Errors
/// Those of the server and the connection.
pub fn read(server: &mut dyn SqlServer) -> Result<SchemaDetails> {
    let tables = with_checks(server)?;
    let with_checks = |name: &str| tables.iter().find(|table| table.schema.name() == name);
    let find = |name: &str| with_checks(name).map(|table| &table.schema);
    let (mut details, mut columns) = (SchemaDetails::default(), SchemaDetails::default());
    let mut names = Vec::new();
    server.ask(COLUMNS, &[], &mut |row| {
        names.push((text(row, 0), text(row, 1)));
        if let Some(table) = find(&text(row, 0)).filter(|table| !is_change_log_table(table.name()))
        {
            column(row, table, &mut columns);
        }
    })?;
    let columns_of = |table: &str| -> Vec<&str> {
        names.iter().filter(|(of, _)| of == table).map(|(_, name)| name.as_str()).collect()
    };
    server.ask(RELATIONS, &[], &mut |row| relation(row, &find, &columns_of, &mut details))?;
    details.losses.append(&mut columns.losses);
    server.ask(CONSTRAINTS, &[], &mut |row| {
        if let Some(table) = with_checks(&text(row, 0)) {
            constraint(row, table, &mut details);
        }
    })?;
    server.ask(INDEXES, &[], &mut |row| {
        if find(&text(row, 0)).is_some() {
            index(row, &mut details);
        }
    })?;
    server.ask(crate::list_triggers(SQL), &[], &mut |row| {
        let name = text(row, 1);
        if !is_capture_trigger(&name) {
            details.lose(&text(row, 0), format!("trigger {name}"));
        }
    })?;
    server.ask(OTHERS, &[], &mut |row| details.lose(&text(row, 0), text(row, 1)))?;
    Ok(details)
}

fn relation<'t>(
    row: &dyn Row,
    find: &dyn Fn(&str) -> Option<&'t TableSchema>,
    columns: &dyn Fn(&str) -> Vec<&'t str>,
    details: &mut SchemaDetails,
) {
    let (schema, name) = (text(row, 0), text(row, 1));
    match (text(row, 2).as_str(), integer(row, 3) != 0) {
        (_, false) => {
            details.lose(
                &format!("{schema}.{name}"),
                format!("it is in another schema: open it with schema={schema}"),
            );
        }
        ("v", _) => details.lose(&name, "view"),
        ("m", _) => details.lose(&name, "materialized view"),
        _ if is_change_log_table(&name) => {}
        _ if find(&name).is_none() => details.lose_table(&name, columns(&name)),
        ("p", _) => details.lose(&name, "partitions"),
        _ => {}
    }
}

fn column(row: &dyn Row, table: &TableSchema, details: &mut SchemaDetails) {
    let name = text(row, 1);
    let Some(column) = table.column(&name).ok().and_then(|at| table.columns().get(at)) else {
        if integer(row, 3) != 0 && name != SEARCH_COLUMN {
            details.lose(table.name(), format!("generated column {name}"));
        }
        return;
    };
    let (sql_type, default, collation) = (text(row, 2), text(row, 4), text(row, 5));
    let kept = declared_type(SQL, column);
    let is_wider_key = is_key_sequence(table, column, &default) || integer(row, 6) != 0;
    let is_wider_key =
        is_wider_key && matches!(&*sql_type, "smallint" | "integer") && kept == "bigint";
    if short_name(&sql_type) != kept && !is_wider_key {
        let what = format!("type {sql_type} of column {name}, which becomes {kept}");
        details.lose(table.name(), what);
    }
    let is_kept = column.default.is_some() || default.is_empty() || default.starts_with("NULL");
    if !is_kept && !is_key_sequence(table, column, &default) {
        details.lose(table.name(), format!("default {default} of column {name}"));
    }
    if !collation.is_empty() {
        details.lose(table.name(), format!("collation {collation} of column {name}"));
    }
}

/// Whether the default makes the table's keys.
fn is_key_sequence(table: &TableSchema, column: &ColumnSchema, default: &str) -> bool {
    let is_key = matches!(table.key(), [at] if table.columns().get(*at) == Some(column));
    is_key && default.starts_with("nextval(")
}

/// A type by the name that Bobak declares it with.
fn short_name(sql_type: &str) -> String {
    match sql_type {
        "timestamp without time zone" => "timestamp".to_owned(),
        "timestamp with time zone" => "timestamptz".to_owned(),
        "time without time zone" => "time".to_owned(),
        other => other.replace("character varying", "varchar"),
    }
}

fn constraint(row: &dyn Row, table: &TableWithChecks, details: &mut SchemaDetails) {
    let TableWithChecks { schema: table, checks } = table;
    let (name, kind, definition) = (text(row, 1), text(row, 2), text(row, 3));
    let is = |position: usize| integer(row, position) != 0;
    match kind.as_str() {
        "f" if is(6) => details.lose(table.name(), definition),
        "f" => {
            if is(4) || is(5) {
                let what = format!("DEFERRABLE or SET DEFAULT of the {definition}");
                details.lose(table.name(), what);
            }
            for rule in ["MATCH FULL", "SET NULL (", "NOT VALID"] {
                if definition.contains(rule) {
                    let rule = rule.trim_end_matches(" (");
                    details.lose(table.name(), format!("{rule} of the {definition}"));
                }
            }
        }
        "c" if !checks.contains(&name) => {
            details.lose(table.name(), format!("{definition} ({name})"))
        }
        "x" => details.lose(table.name(), definition),
        "u" | "p" if is(7) => details.lose(table.name(), format!("DEFERRABLE of the {definition}")),
        _ => {}
    }
}

fn index(row: &dyn Row, details: &mut SchemaDetails) {
    let (table, name, method) = (text(row, 0), text(row, 1), text(row, 4));
    let is = |position: usize| integer(row, position) != 0;
    if is(8) {
        details.lose(&table, format!("NULLS NOT DISTINCT of index {name}"));
    }
    let what = match () {
        () if is(2) => format!("partial index {name}"),
        () if is(3) => format!("index {name} over an expression"),
        () if method == "gin" && integer(row, 7) != 0 => return,
        () if method != "btree" => format!("method {method} of index {name}"),
        () if is(5) => format!("included columns of index {name}"),
        () if is(6) => format!("descending order of index {name}"),
        () => return,
    };
    details.lose(&table, what);
}
