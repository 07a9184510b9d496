//! What a file has that [`TableSchema`](bobak_core::TableSchema)s do not express: all that a copy
//! would lose.

use super::column::{flag, known_collation, text};
use super::computed_index;
use super::search::is_search_trigger;
use super::text::{definitions, generated, has_keyword, name_of_column};
use super::{foreign_key, tables};
use crate::connection::Connection;
use bobak_core::change_log::{is_capture_trigger, is_change_log_table};
use bobak_core::{BrokenForeignKey, ErrorKind, Result, SchemaDetails, TableSchema, Value};
use bobak_sql::DefaultExpression;

/// Reads one state of the schema.
pub(crate) fn read(connection: &mut Connection) -> Result<SchemaDetails> {
    connection.run("SAVEPOINT bobak_details")?;
    let details = read_all(connection);
    connection.run("RELEASE bobak_details")?;
    details
}

fn read_all(connection: &mut Connection) -> Result<SchemaDetails> {
    let mut details = SchemaDetails::default();
    let rows = connection.all_rows(
        "SELECT s.type, s.name, s.tbl_name, s.sql, l.wr, l.strict, l.type \
         FROM main.sqlite_schema AS s \
         LEFT JOIN pragma_table_list AS l ON l.schema = 'main' AND l.name = s.name \
         WHERE s.type IN ('table', 'view', 'trigger') AND substr(s.name, 1, 7) <> 'sqlite_' \
         ORDER BY s.rowid",
        &[],
    )?;
    for row in rows {
        let mut row = row.into_iter();
        let (object, name, table) = (text(row.next()), text(row.next()), text(row.next()));
        let (sql, without_rowid, strict) = (text(row.next()), flag(row.next()), flag(row.next()));
        let kind = text(row.next());
        match (object.as_str(), kind.as_str()) {
            ("trigger", _) if is_search_trigger(&sql) => {}
            ("table", "virtual") if bobak_sql::parse_search_table(&sql).is_some() => {}
            ("trigger", _) if !is_capture_trigger(&name) => {
                details.lose(&table, format!("trigger {name}"));
            }
            ("view", _) => details.lose(&name, "view"),
            ("table", "virtual") => details.lose(&name, "virtual table"),
            ("table", "table") if !is_change_log_table(&name) => {
                if strict {
                    details.lose(&name, "STRICT");
                }
                let found = tables::read_table(connection, &name, without_rowid, &sql);
                let table = TableSource { name: &name, sql: &sql };
                match found {
                    Ok(Some(schema)) => table.read(connection, &schema, &mut details)?,
                    Ok(None) => details.lose(
                        &name,
                        "the table: it has no key, and columns named rowid, _rowid_ and oid",
                    ),
                    Err(error) if error.kind() == ErrorKind::Schema => {
                        details.lose(&name, format!("the table: {}", error.message()));
                    }
                    Err(error) => return Err(error),
                }
            }
            _ => {}
        }
    }
    details.broken_keys = broken_keys(connection)?;
    Ok(details)
}

/// The foreign keys that rows break: their tables, columns and parents, and how many rows.
const BROKEN_KEYS: &str = "SELECT k.\"table\", (SELECT group_concat(c, ', ') FROM (SELECT \"from\" AS c \
    FROM pragma_foreign_key_list(k.\"table\") WHERE id = k.fkid ORDER BY \
    (SELECT cid FROM pragma_table_info(k.\"table\") WHERE name = c COLLATE NOCASE))), \
    k.parent, count(*) FROM pragma_foreign_key_check AS k GROUP BY 1, k.fkid";

fn broken_keys(connection: &mut Connection) -> Result<Vec<BrokenForeignKey>> {
    use ErrorKind::{Engine, Schema, Syntax};
    let rows = match connection.all_rows(BROKEN_KEYS, &[]) {
        // A foreign key to columns that are not unique cannot be checked, and is in no schema.
        Err(error) if matches!(error.kind(), Schema | Engine | Syntax) => Vec::new(),
        found => found?,
    };
    let key = |row: Vec<Value<'static>>| {
        let mut row = row.into_iter();
        let (table, columns, parent) = (text(row.next()), text(row.next()), text(row.next()));
        let rows = match row.next() {
            Some(Value::Int(rows)) => rows.unsigned_abs(),
            _ => 0,
        };
        BrokenForeignKey { table, columns, parent, rows }
    };
    Ok(rows.into_iter().map(key).collect())
}

/// A table and its CREATE statement.
struct TableSource<'a> {
    name: &'a str,
    sql: &'a str,
}

impl TableSource<'_> {
    fn read(
        &self,
        connection: &mut Connection,
        schema: &TableSchema,
        details: &mut SchemaDetails,
    ) -> Result<()> {
        if has_keyword(self.sql, "CONFLICT") {
            details.lose(self.name, "ON CONFLICT clause");
        }
        self.read_columns(connection, schema, details)?;
        self.read_foreign_keys(connection, schema, details)?;
        self.read_indexes(connection, schema, details)
    }

    fn read_columns(
        &self,
        connection: &mut Connection,
        schema: &TableSchema,
        details: &mut SchemaDetails,
    ) -> Result<()> {
        let rows = connection.all_rows(
            "SELECT name, dflt_value, hidden FROM pragma_table_xinfo(?) ORDER BY cid",
            &[Value::from(self.name)],
        )?;
        for row in rows {
            let mut row = row.into_iter();
            let (name, default) = (text(row.next()), text(row.next()));
            let Ok(position) = schema.column(&name) else {
                if flag(row.next()) {
                    details.lose(self.name, self.describe_generated(&name));
                }
                continue;
            };
            let Ok(column) = schema.column_at(position) else { continue };
            if column.default.is_none() && !default.is_empty() && !is_null(connection, &default) {
                details.lose(self.name, format!("default {default} of column {name}"));
            }
            let collation = connection.db.column_collation(self.name, &name);
            if known_collation(&collation).is_none() {
                details.lose(self.name, format!("collation {collation} of column {name}"));
            }
        }
        Ok(())
    }

    fn describe_generated(&self, name: &str) -> String {
        let found = generated(self.sql).into_iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        let expression = found.map(|(_, expression)| format!(" AS ({expression})"));
        format!("generated column {name}{}", expression.unwrap_or_default())
    }

    fn read_foreign_keys(
        &self,
        connection: &mut Connection,
        schema: &TableSchema,
        details: &mut SchemaDetails,
    ) -> Result<()> {
        let kept = schema.all_foreign_keys();
        for key in foreign_key::read(connection, self.name, self.sql)? {
            for (action, event) in [(&key.on_delete, "DELETE"), (&key.on_update, "UPDATE")] {
                if action == "SET DEFAULT" {
                    let what = format!("ON {event} SET DEFAULT of the {}", key.describe());
                    details.lose(self.name, what);
                }
            }
            let position = |name: &String| schema.column(name).ok();
            let columns: Option<Vec<usize>> = key.columns.iter().map(position).collect();
            let is_kept = columns
                .zip(key.schema())
                .is_some_and(|(columns, found)| kept.contains(&found.of_columns(columns)));
            if !is_kept {
                details.lose(self.name, key.describe());
            }
        }
        Ok(())
    }

    fn read_indexes(
        &self,
        connection: &mut Connection,
        schema: &TableSchema,
        details: &mut SchemaDetails,
    ) -> Result<()> {
        let rows = connection.all_rows(
            "SELECT l.name, l.partial, x.name, x.\"desc\", x.coll FROM pragma_index_list(?) AS l, \
             pragma_index_xinfo(l.name) AS x WHERE x.key = 1 ORDER BY l.seq, x.seqno",
            &[Value::from(self.name)],
        )?;
        let mut last = (String::new(), false);
        for row in rows {
            let mut row = row.into_iter();
            let (index, partial, column) = (text(row.next()), flag(row.next()), row.next());
            let (descending, collation) = (flag(row.next()), text(row.next()));
            if index != last.0 {
                last = (index.clone(), false);
            }
            let column = match column {
                Some(Value::Text(column)) => Some(column),
                _ => None,
            };
            let own = column.as_deref().and_then(|column| {
                let position = schema.column(column).ok()?;
                schema.columns().get(position).map(|column| column.collation)
            });
            let what = match (&column, own) {
                _ if partial => format!("partial index {index}"),
                (None, _) => format!("index {index} over an expression"),
                (Some(column), None) => {
                    format!("index {index} over the generated column {column}")
                }
                _ if descending => format!("descending order of index {index}"),
                (Some(column), own) if own != known_collation(&collation) => {
                    format!("collation {collation} of column {column} in index {index}")
                }
                _ => continue,
            };
            if !std::mem::replace(&mut last.1, true) {
                details.lose(self.name, what);
                if partial || column.is_none() {
                    let lost = details.losses.last().cloned();
                    let columns: Vec<_> =
                        definitions(self.sql).into_iter().filter_map(name_of_column).collect();
                    let read = |loss| computed_index::read(connection, &index, loss, &columns);
                    let found = lost.map(read);
                    details.computed_indexes.extend(found.transpose()?.flatten());
                }
            }
        }
        Ok(())
    }
}

/// Whether a constant default is NULL, as if there were none.
fn is_null(connection: &mut Connection, default: &str) -> bool {
    DefaultExpression::parse(default).is_some_and(|parsed| parsed.is_constant())
        && connection
            .all_rows(&format!("SELECT {default}"), &[])
            .is_ok_and(|rows| rows.into_iter().flatten().next() == Some(Value::Null))
}
