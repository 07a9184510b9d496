//! What a database has that [`TableSchema`]s do not express: all that a copy would lose.

use crate::connection::Connection;
use crate::values::decode::DecodedValue;
use bobak_core::change_log::{is_capture_trigger, is_change_log_table};
use bobak_core::{
    Collation, ColumnSchema, InvalidDates, Result, SchemaDetails, Storage, TableSchema,
};
use bobak_sql::server::TableWithChecks;
use bobak_sql::server::mysql_catalog::{facts, part, with_checks};
use bobak_sql::{FOLDED, SEARCH_COLUMN, declared_type, quote};

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

/// Lists it.
pub(crate) fn read(connection: &mut Connection) -> Result<SchemaDetails> {
    let tables = with_checks(connection)?;
    let with_checks = |name: &str| {
        let mut tables = tables.iter();
        tables.find(|table| table.schema.name() == name && !is_change_log_table(name))
    };
    let find = |name: &str| with_checks(name).map(|table| &table.schema);
    let mut details = SchemaDetails::default();
    for row in facts(connection, RELATIONS)? {
        let (name, kind) = (part(&row, 0), part(&row, 1));
        match kind {
            "VIEW" => details.lose(name, "view"),
            "SEQUENCE" => details.lose(name, "sequence"),
            "SYSTEM VERSIONED" if find(name).is_some() => {
                details.lose(name, "WITH SYSTEM VERSIONING: the history of its rows");
            }
            "BASE TABLE" if is_change_log_table(name) => {}
            "BASE TABLE" | "SYSTEM VERSIONED" if find(name).is_none() => {
                details.lose(name, "the table: it has no key");
            }
            "BASE TABLE" if part(&row, 2) != "0" => details.lose(name, "partitions"),
            _ => {}
        }
    }
    let dialect = connection.flavour.dialect;
    let columns = facts(connection, COLUMNS)?;
    for row in &columns {
        if let Some(table) = find(part(row, 0)) {
            column(row, table, |column| declared_type(dialect, column), &mut details);
        }
    }
    for rows in columns.chunk_by(|a, b| part(a, 0) == part(b, 0)) {
        if let Some(table) = rows.first().and_then(|row| find(part(row, 0))) {
            invalid_dates(connection, table, rows, &mut details)?;
        }
    }
    checks(connection, &with_checks, &mut details)?;
    let mut last = String::new();
    for row in facts(connection, INDEXES)? {
        let name = format!("{}.{}", part(&row, 0), part(&row, 1));
        if name != last && find(part(&row, 0)).is_some() && index(&row, &mut details) {
            last = name;
        }
    }
    for row in facts(connection, bobak_sql::list_triggers(dialect))? {
        if !is_capture_trigger(part(&row, 1)) {
            details.lose(part(&row, 0), format!("trigger {}", part(&row, 1)));
        }
    }
    Ok(details)
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

/// Counts dates that do not exist, in the columns of other programs: Bobak writes none.
fn invalid_dates(
    connection: &mut Connection,
    table: &TableSchema,
    columns: &[Vec<String>],
    details: &mut SchemaDetails,
) -> Result<()> {
    let has_dates = |row: &&Vec<String>| {
        let sql_type = part(row, 2).to_ascii_lowercase();
        let is_date = ["date", "timestamp"].iter().any(|start| sql_type.starts_with(start));
        is_date && !part(row, 6).starts_with("bobak:") && table.column(part(row, 1)).is_ok()
    };
    let columns: Vec<&str> = columns.iter().filter(has_dates).map(|row| part(row, 1)).collect();
    if columns.is_empty() {
        return Ok(());
    }
    let dialect = connection.flavour.dialect;
    let sums = columns.iter().map(|column| {
        let name = quote(dialect, column);
        // LAST_DAY of some such dates is NULL, and of others the last day of a month.
        format!(
            "SUM(MONTH({name}) = 0 OR DAYOFMONTH({name}) = 0 \
             OR DAYOFMONTH({name}) > COALESCE(DAYOFMONTH(LAST_DAY({name})), 0))"
        )
    });
    let sums: Vec<String> = sums.collect();
    let sql = format!("SELECT {} FROM {}", sums.join(", "), quote(dialect, table.name()));
    // Of a table, so that the server's warnings about such dates are no errors.
    for row in connection.rows(Some(table), &sql, Vec::new())? {
        for (column, rows) in columns.iter().zip(row) {
            let DecodedValue::Int(rows @ 1..) = rows else { continue };
            let (table, column) = (table.name().to_owned(), (*column).to_owned());
            details.invalid_dates.push(InvalidDates { table, column, rows: rows.unsigned_abs() });
        }
    }
    Ok(())
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
    connection: &mut Connection,
    find: &dyn Fn(&str) -> Option<&'t TableWithChecks>,
    details: &mut SchemaDetails,
) -> Result<()> {
    let is_maria = connection.flavour.dialect == bobak_sql::Dialect::MariaDb;
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
    for row in facts(connection, sql)? {
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
