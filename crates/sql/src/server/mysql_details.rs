//! What a database has that [`TableSchema`]s do not express: all that a copy would lose.

use super::mysql_catalog::{facts, part, with_checks};
use super::{SqlServer, TableWithChecks};
use crate::{Dialect, FOLDED, SEARCH_COLUMN, declared_type};
use bobak_core::change_log::{is_capture_trigger, is_change_log_table};
use bobak_core::{Collation, ColumnSchema, Result, SchemaDetails, Storage, TableSchema};

const RELATIONS: &str = "SELECT TABLE_NAME, TABLE_TYPE, \
    INSTR(COALESCE(CREATE_OPTIONS, ''), 'partitioned') \
    FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME";

const COLUMNS: &str = "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, EXTRA, COLUMN_DEFAULT, \
    COALESCE(COLLATION_NAME, ''), COLUMN_COMMENT, CHARACTER_SET_NAME \
    FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() \
    ORDER BY TABLE_NAME, ORDINAL_POSITION";

const INDEXES: &str = "SELECT TABLE_NAME, INDEX_NAME, INDEX_TYPE, COLLATION, \
    COALESCE(SUB_PART, 0), COALESCE(COLUMN_NAME, ''), NON_UNIQUE, INDEX_COMMENT \
    FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
    ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX";

/// A table of another program, and which of its columns may have dates that do not exist: Bobak writes none.
pub type DateColumns = (TableSchema, Vec<String>);

/// Lists it, without those dates.
///
/// # Errors
/// Those of the server and the connection.
pub fn read(server: &mut dyn SqlServer) -> Result<(SchemaDetails, Vec<DateColumns>)> {
    let tables = with_checks(server)?;
    let with_checks = |name: &str| {
        let mut tables = tables.iter();
        tables.find(|table| table.schema.name() == name && !is_change_log_table(name))
    };
    let find = |name: &str| with_checks(name).map(|table| &table.schema);
    let (mut details, mut dates) = (SchemaDetails::default(), Vec::new());
    let (dialect, columns) = (server.dialect(), facts(server, COLUMNS)?);
    for row in facts(server, RELATIONS)? {
        relation(&row, find(part(&row, 0)), &columns, &mut details);
    }
    for rows in columns.chunk_by(|a, b| part(a, 0) == part(b, 0)) {
        let Some(table) = rows.first().and_then(|row| find(part(row, 0))) else { continue };
        for row in rows {
            column(row, table, |column| declared_type(dialect, column), &mut details);
        }
        dates.push((table.clone(), date_columns(table, rows)));
    }
    checks(server, &with_checks, &mut details)?;
    let mut last = String::new();
    for row in facts(server, INDEXES)? {
        let name = format!("{}.{}", part(&row, 0), part(&row, 1));
        if name != last && find(part(&row, 0)).is_some() && index(&row, &mut details) {
            last = name;
        }
    }
    for row in facts(server, crate::list_triggers(dialect))? {
        if !is_capture_trigger(part(&row, 1)) {
            details.lose(part(&row, 0), format!("trigger {}", part(&row, 1)));
        }
    }
    dates.retain(|(_, columns)| !columns.is_empty());
    Ok((details, dates))
}

fn relation(
    row: &[String],
    table: Option<&TableSchema>,
    columns: &[Vec<String>],
    details: &mut SchemaDetails,
) {
    let (name, kind) = (part(row, 0), part(row, 1));
    match kind {
        "VIEW" => details.lose(name, "view"),
        "SEQUENCE" => details.lose(name, "sequence"),
        "SYSTEM VERSIONED" if table.is_some() => {
            details.lose(name, "WITH SYSTEM VERSIONING: the history of its rows");
        }
        "BASE TABLE" if is_change_log_table(name) => {}
        "BASE TABLE" | "SYSTEM VERSIONED" if table.is_none() => {
            let own = columns.iter().filter(|column| part(column, 0) == name);
            details.lose_table(name, own.map(|column| part(column, 1)));
        }
        "BASE TABLE" if part(row, 2) != "0" => details.lose(name, "partitions"),
        _ => {}
    }
}

fn column(
    row: &[String],
    table: &TableSchema,
    declare: impl Fn(&ColumnSchema) -> String,
    details: &mut SchemaDetails,
) {
    let (name, sql_type, extra) = (part(row, 1), part(row, 2), part(row, 3));
    if name.starts_with(FOLDED) || table.search().is_some() && name == SEARCH_COLUMN {
        return;
    }
    let Some(column) = table.column(name).ok().and_then(|at| table.columns().get(at)) else {
        details.lose(table.name(), format!("generated column {name}"));
        return;
    };
    let (default, collation) = (part(row, 4), part(row, 5));
    if extra.to_ascii_uppercase().contains("ON UPDATE") {
        details.lose(table.name(), format!("ON UPDATE of column {name}"));
    }
    if part(row, 6).starts_with("bobak:") {
        return;
    }
    let kept = declare(column);
    let is_wider_key = extra.contains("auto_increment") && kept == "BIGINT";
    if plain_type(sql_type) != plain_type(&kept) && !is_wider_key {
        let what =
            format!("type {sql_type} of column {name}, which becomes {}", kept.to_lowercase());
        details.lose(table.name(), what);
    }
    if column.default.is_none() && !default.is_empty() && default != "NULL" {
        details.lose(table.name(), format!("default {default} of column {name}"));
    }
    let differs = column.storage == Storage::Text
        && column.collation == Collation::Binary
        && !collation.is_empty()
        && !collation.ends_with("_bin");
    if differs {
        details.lose(table.name(), format!("collation {collation} of column {name}"));
    }
}

fn date_columns(table: &TableSchema, columns: &[Vec<String>]) -> Vec<String> {
    let has_dates = |row: &&Vec<String>| {
        let sql_type = part(row, 2).to_ascii_lowercase();
        let is_date = ["date", "timestamp"].iter().any(|start| sql_type.starts_with(start));
        is_date && !part(row, 6).starts_with("bobak:") && table.column(part(row, 1)).is_ok()
    };
    columns.iter().filter(has_dates).map(|row| part(row, 1).to_owned()).collect()
}

/// In lower case, without the width that integers are shown with.
fn plain_type(sql_type: &str) -> String {
    let sql_type = sql_type.to_ascii_lowercase();
    let is_integer = ["tinyint(", "smallint(", "mediumint(", "int(", "bigint("]
        .iter()
        .any(|start| sql_type.starts_with(start));
    match (sql_type.split_once('('), sql_type.split_once(')')) {
        (Some((name, _)), Some((_, rest))) if is_integer && sql_type != "tinyint(1)" => {
            format!("{name}{rest}")
        }
        _ => sql_type,
    }
}

fn checks<'t>(
    server: &mut dyn SqlServer,
    find: &dyn Fn(&str) -> Option<&'t TableWithChecks>,
    details: &mut SchemaDetails,
) -> Result<()> {
    let is_maria = server.dialect() == Dialect::MariaDb;
    let sql = if is_maria {
        "SELECT TABLE_NAME, CONSTRAINT_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS \
         WHERE CONSTRAINT_SCHEMA = DATABASE() ORDER BY 1, 2"
    } else {
        "SELECT t.TABLE_NAME, c.CONSTRAINT_NAME, c.CHECK_CLAUSE \
         FROM information_schema.CHECK_CONSTRAINTS AS c \
         JOIN information_schema.TABLE_CONSTRAINTS AS t \
         ON t.CONSTRAINT_SCHEMA = c.CONSTRAINT_SCHEMA AND t.CONSTRAINT_NAME = c.CONSTRAINT_NAME \
         WHERE c.CONSTRAINT_SCHEMA = DATABASE() ORDER BY 1, 2"
    };
    for row in facts(server, sql)? {
        let Some(table) = find(part(&row, 0)) else { continue };
        let (name, clause) = (part(&row, 1), part(&row, 2));
        let schema = &table.schema;
        // MySQL numbers the CHECKs, so that they cannot be told apart.
        let is_kept = table.checks.iter().any(|kept| kept == name)
            || (!is_maria && schema.columns().iter().any(|column| column.check.is_some()));
        if !is_kept {
            details.lose(schema.name(), format!("CHECK ({clause})"));
        }
    }
    Ok(())
}

/// Whether the index has something that a schema lacks.
fn index(row: &[String], details: &mut SchemaDetails) -> bool {
    let (table, name, method) = (part(row, 0), part(row, 1), part(row, 2));
    // Bobak limits the lengths in indexes that are not unique.
    let is_own = part(row, 7).starts_with("bobak:");
    let what = match () {
        () if method == "FULLTEXT" && part(row, 5) == SEARCH_COLUMN => return false,
        () if method != "BTREE" => format!("{method} index {name}"),
        () if part(row, 3) == "D" => format!("descending order of index {name}"),
        () if part(row, 5).is_empty() => format!("index {name} over an expression"),
        () if part(row, 4) != "0" && !is_own => format!("length of a column in index {name}"),
        () => return false,
    };
    details.lose(table, what);
    true
}
