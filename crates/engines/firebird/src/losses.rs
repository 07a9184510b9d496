//! What a database has that the schemas of its tables do not express: all that a copy would lose.

use crate::comment::TableComment;
use crate::connection::Connection;
use crate::names::{is_substitute, swap_case};
use bobak_core::{Result, SchemaDetails};
use bobak_engine_common::{StatementConnection, catalog_text as text};

/// Tables with their comments.
const TABLES: &str = "SELECT TRIM(RDB$RELATION_NAME), RDB$DESCRIPTION FROM RDB$RELATIONS \
    WHERE COALESCE(RDB$SYSTEM_FLAG, 0) = 0 AND RDB$VIEW_BLR IS NULL";

/// What is there: the table, what it is, its name, and more of it.
const OBJECTS: [&str; 4] = [
    "SELECT TRIM(RDB$RELATION_NAME), 'view', '', '' FROM RDB$RELATIONS \
     WHERE COALESCE(RDB$SYSTEM_FLAG, 0) = 0 AND RDB$VIEW_BLR IS NOT NULL ORDER BY RDB$RELATION_ID",
    "SELECT TRIM(R.RDB$RELATION_NAME), 'generated column', TRIM(R.RDB$FIELD_NAME), '' \
     FROM RDB$RELATION_FIELDS R JOIN RDB$FIELDS F ON F.RDB$FIELD_NAME = R.RDB$FIELD_SOURCE \
     JOIN RDB$RELATIONS T ON T.RDB$RELATION_NAME = R.RDB$RELATION_NAME AND T.RDB$VIEW_BLR IS NULL \
     WHERE COALESCE(R.RDB$SYSTEM_FLAG, 0) = 0 AND F.RDB$COMPUTED_SOURCE IS NOT NULL \
     ORDER BY R.RDB$RELATION_NAME, R.RDB$FIELD_POSITION",
    "SELECT TRIM(RDB$RELATION_NAME), 'trigger', TRIM(RDB$TRIGGER_NAME), '' FROM RDB$TRIGGERS \
     WHERE COALESCE(RDB$SYSTEM_FLAG, 0) = 0 AND RDB$RELATION_NAME IS NOT NULL ORDER BY 1, 3",
    "SELECT TRIM(RDB$GENERATOR_NAME), 'sequence', '', '' FROM RDB$GENERATORS \
     WHERE COALESCE(RDB$SYSTEM_FLAG, 0) = 0 ORDER BY 1",
];

/// The same of tables that another program made: of its own, Bobak has the rules.
const RULES: [&str; 4] = [
    "SELECT TRIM(R.RDB$RELATION_NAME), 'default of column', TRIM(R.RDB$FIELD_NAME), '' \
     FROM RDB$RELATION_FIELDS R JOIN RDB$FIELDS F ON F.RDB$FIELD_NAME = R.RDB$FIELD_SOURCE \
     JOIN RDB$RELATIONS T ON T.RDB$RELATION_NAME = R.RDB$RELATION_NAME AND T.RDB$VIEW_BLR IS NULL \
     WHERE COALESCE(R.RDB$SYSTEM_FLAG, 0) = 0 \
     AND COALESCE(R.RDB$DEFAULT_SOURCE, F.RDB$DEFAULT_SOURCE) IS NOT NULL ORDER BY 1, R.RDB$FIELD_POSITION",
    "SELECT TRIM(R.RDB$RELATION_NAME), 'CHECK of the domain of column', TRIM(R.RDB$FIELD_NAME), '' \
     FROM RDB$RELATION_FIELDS R JOIN RDB$FIELDS F ON F.RDB$FIELD_NAME = R.RDB$FIELD_SOURCE \
     JOIN RDB$RELATIONS T ON T.RDB$RELATION_NAME = R.RDB$RELATION_NAME AND T.RDB$VIEW_BLR IS NULL \
     WHERE COALESCE(R.RDB$SYSTEM_FLAG, 0) = 0 AND F.RDB$VALIDATION_SOURCE IS NOT NULL \
     ORDER BY 1, R.RDB$FIELD_POSITION",
    "SELECT DISTINCT TRIM(C.RDB$RELATION_NAME), 'constraint', TRIM(C.RDB$CONSTRAINT_NAME), ': CHECK' \
     FROM RDB$RELATION_CONSTRAINTS C WHERE C.RDB$CONSTRAINT_TYPE = 'CHECK' ORDER BY 1, 3",
    "SELECT TRIM(RDB$RELATION_NAME), CASE WHEN RDB$EXPRESSION_SOURCE IS NULL THEN 'descending order of index' \
     ELSE 'index over an expression:' END, TRIM(RDB$INDEX_NAME), '' FROM RDB$INDICES \
     WHERE COALESCE(RDB$SYSTEM_FLAG, 0) = 0 \
     AND (RDB$EXPRESSION_SOURCE IS NOT NULL OR COALESCE(RDB$INDEX_TYPE, 0) = 1) ORDER BY RDB$INDEX_ID",
];

/// Adds it, but for the tables that have no schema.
///
/// # Errors
/// Those of the server and the connection.
pub(crate) fn add(connection: &mut Connection, details: &mut SchemaDetails) -> Result<()> {
    let mut own = Vec::new();
    connection.each(None, TABLES, &[], &mut |row| {
        if TableComment::read(&text(row, 1)).is_some() {
            own.push(text(row, 0));
        }
        Ok(true)
    })?;
    let queries = OBJECTS.iter().map(|sql| (sql, true));
    for (sql, of_own) in queries.chain(RULES.iter().map(|sql| (sql, false))) {
        connection.each(None, sql, &[], &mut |row| {
            let (table, name) = (text(row, 0), text(row, 2));
            let is_own = !of_own && own.contains(&table);
            if !is_own && !is_substitute(&name) && !is_substitute(&table) {
                let what = format!("{} {}{}", text(row, 1), swap_case(&name), text(row, 3));
                details.lose(&swap_case(&table), what.trim_end().to_owned());
            }
            Ok(true)
        })?;
    }
    Ok(())
}
