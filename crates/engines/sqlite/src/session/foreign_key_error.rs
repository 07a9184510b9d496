//! Which foreign key rejected a write. SQLite does not say: after it has undone the statement, the rows
//! that the write concerned are looked up.

use crate::connection::Connection;
use crate::error::SqliteError;
use crate::session::write::WriteValues;
use bobak_core::{
    Assign, BulkChange, Error, Expr, FieldSet, Result, Select, TableSchema, Value, ValueRef, Verb,
};
use bobak_sql::{Dialect, quote};

/// All foreign keys of the database. One without columns references the key.
const FOREIGN_KEYS: &str = "SELECT s.name, f.id, f.\"table\", f.on_delete, f.on_update, f.\"from\", \
    coalesce(f.\"to\", (SELECT name FROM pragma_table_info(f.\"table\") WHERE pk = f.seq + 1)) \
    FROM main.sqlite_schema AS s, pragma_foreign_key_list(s.name) AS f WHERE s.type = 'table' \
    ORDER BY s.name, f.id, f.seq";

/// The maximum number of cascades that are followed.
const MOST_CASCADES: usize = 8;

/// A foreign key, by names.
#[derive(Debug)]
struct ForeignKey {
    table: String,
    /// Its number in the table.
    id: i64,
    parent: String,
    on_delete: String,
    on_update: String,
    /// Each column, and the one that it references.
    columns: Vec<(String, String)>,
}

impl ForeignKey {
    /// Its columns, for a message: `shop, number`.
    fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(own, _)| own.as_str()).collect();
        names.join(", ")
    }
}

/// What a write does to rows that others may reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Insert,
    Update,
    Delete,
}

/// The error of a write of one row; it names the foreign key if one failed.
#[cold]
pub(crate) fn of_write<'v>(
    connection: &mut Connection,
    error: Error,
    table: &TableSchema,
    verb: Verb,
    fields: FieldSet,
    values: impl WriteValues<'v>,
) -> Error {
    if !is_foreign_key(&error) {
        return error;
    }
    let writes = |place: usize| match verb {
        Verb::Delete => false,
        Verb::Update => fields.iter().any(|field| field == place),
        _ => true,
    };
    let written = |place: usize| match writes(place) {
        true => values.value(place),
        false => ValueRef::Null,
    };
    // A delete has the key's values only.
    let is_delete = verb == Verb::Delete;
    let mut last = if is_delete { table.key().len() } else { 0 };
    let mut number = |at: usize, place: usize| {
        let number = if is_delete { at } else { place } + 1;
        last = last.max(number);
        number
    };
    let mut rows = equals(table, verb.conflict_columns(table), &mut number);
    if verb == Verb::InsertOrReplace {
        for index in table.indexes().iter().filter(|index| index.unique) {
            rows.push_str(" OR ");
            rows.push_str(&equals(table, &index.columns, &mut number));
        }
    }
    // SQLite takes as many parameters as the highest number says.
    let parameters: Vec<Value<'_>> = (0..last).map(|at| Value::from(values.value(at))).collect();
    let operation = match verb {
        Verb::Update | Verb::Upsert | Verb::UpsertOn(_) => Operation::Update,
        Verb::InsertOrReplace | Verb::Delete => Operation::Delete,
        Verb::Insert | Verb::InsertOrIgnore => Operation::Insert,
    };
    match find(connection, table, &written, operation, &rows, &parameters) {
        Ok(Some(found)) => keep_cause(found, &error),
        _ => error,
    }
}

/// The error of a change of many rows, in its table.
#[cold]
pub(crate) fn of_change(
    connection: &mut Connection,
    error: Error,
    change: &BulkChange<'_>,
) -> Error {
    let table: &TableSchema = change.table;
    if is_foreign_key(&error) {
        let written = |place: usize| {
            let assigned =
                change.assign.unwrap_or_default().iter().find_map(|assign| match assign {
                    Assign::Set { column, value } if *column == place => Some(value.as_ref()),
                    _ => None,
                });
            assigned.unwrap_or(ValueRef::Null)
        };
        let operation = if change.assign.is_some() { Operation::Update } else { Operation::Delete };
        let keys = Select {
            columns: table.key().iter().copied().map(Expr::Column).collect(),
            condition: change.condition.cloned(),
            ..Select::all(change.table)
        };
        let changed = bobak_sql::select(Dialect::Sqlite, &keys);
        let key = table.key().iter().filter_map(|&place| table.columns().get(place));
        let own: Vec<String> = key.map(|column| name(&column.name)).collect();
        let rows = format!("({}) IN ({})", own.join(", "), changed.text);
        let found = find(connection, table, &written, operation, &rows, &changed.parameters);
        if let Ok(Some(found)) = found {
            return keep_cause(found, &error);
        }
    }
    error.in_table(table.name().to_owned())
}

impl Connection {
    /// Commits, or releases a savepoint; the error names a deferred foreign key that rejects it.
    pub(crate) fn end_with(&mut self, sql: &'static str) -> Result<()> {
        self.run(sql).map_err(|error| of_commit(self, error))
    }
}

/// The error of a commit, whose transaction is still open; it names the deferred foreign key that failed.
#[cold]
pub(crate) fn of_commit(connection: &mut Connection, error: Error) -> Error {
    if !is_foreign_key(&error) {
        return error;
    }
    match violated(connection) {
        Ok(Some(key)) => {
            keep_cause(Error::missing_parent(&key.table, &key.names(), &key.parent), &error)
        }
        _ => error,
    }
}

/// A foreign key with a row that refers to none, of the tables with deferred ones.
fn violated(connection: &mut Connection) -> Result<Option<ForeignKey>> {
    const VIOLATED: &str = "SELECT DISTINCT s.name, f.fkid FROM main.sqlite_schema AS s, \
        pragma_foreign_key_check(s.name) AS f WHERE s.type = 'table' AND s.sql LIKE '%deferred%'";
    let violated = connection.all_rows(VIOLATED, &[])?;
    let is_violated = |key: &ForeignKey| {
        violated.iter().any(|row| {
            let (table, id) = (row.first(), row.get(1));
            table == Some(&Value::from(key.table.as_str())) && id == Some(&Value::Int(key.id))
        })
    };
    Ok(foreign_keys(connection)?.into_iter().find(is_violated))
}

fn is_foreign_key(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|e| e.downcast_ref::<SqliteError>());
    source.is_some_and(|source| source.message() == "FOREIGN KEY constraint failed")
}

fn keep_cause(found: Error, error: &Error) -> Error {
    let source = std::error::Error::source(error).and_then(|e| e.downcast_ref::<SqliteError>());
    match source {
        Some(source) => found.with_code(source.code()).with_source(source.clone()),
        None => found,
    }
}

/// The condition that columns have the values of the parameters with these numbers.
fn equals(
    table: &TableSchema,
    columns: &[usize],
    number: &mut impl FnMut(usize, usize) -> usize,
) -> String {
    let parts = columns.iter().enumerate().filter_map(|(at, &place)| {
        let column = table.columns().get(place)?;
        Some(format!("{} = ?{}", name(&column.name), number(at, place)))
    });
    format!("({})", parts.collect::<Vec<_>>().join(" AND "))
}

/// The foreign key that rejects the written values, or the removal of the rows that fulfil the condition
/// `rows`.
fn find<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    written: &dyn Fn(usize) -> ValueRef<'v>,
    operation: Operation,
    rows: &str,
    parameters: &[Value<'_>],
) -> Result<Option<Error>> {
    let keys = foreign_keys(connection)?;
    // What is replaced is deleted first.
    if operation == Operation::Delete
        && let Some(found) =
            referring(connection, &keys, table.name(), operation, rows, parameters, 0)?
    {
        return Ok(Some(found));
    }
    for key in keys.iter().filter(|key| key.table.eq_ignore_ascii_case(table.name())) {
        let value = |name: &str| table.column(name).map_or(ValueRef::Null, written);
        let is_itself = key.parent.eq_ignore_ascii_case(table.name())
            && key.columns.iter().all(|(column, to)| value(column) == value(to));
        let values: Vec<Value<'_>> = key.columns.iter().map(|(own, _)| value(own).into()).collect();
        if values.contains(&Value::Null) || is_itself {
            continue;
        }
        let equal = key.columns.iter().enumerate();
        let equal = equal.map(|(at, (_, to))| format!("{} = ?{}", name(to), at + 1));
        let (parent, equal) = (name(&key.parent), equal.collect::<Vec<_>>().join(" AND "));
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {parent} WHERE {equal})");
        if !exists(connection, &sql, &values)? {
            return Ok(Some(Error::missing_parent(table.name(), &key.names(), &key.parent)));
        }
    }
    match operation {
        Operation::Update => {
            referring(connection, &keys, table.name(), operation, rows, parameters, 0)
        }
        Operation::Insert | Operation::Delete => Ok(None),
    }
}

/// The foreign key that keeps rows of `parent`.
fn referring(
    connection: &mut Connection,
    keys: &[ForeignKey],
    parent: &str,
    operation: Operation,
    rows: &str,
    parameters: &[Value<'_>],
    depth: usize,
) -> Result<Option<Error>> {
    let mut referring_keys: Vec<&ForeignKey> =
        keys.iter().filter(|key| key.parent.eq_ignore_ascii_case(parent)).collect();
    // Rows that refer to others of their table may be deleted with them.
    let is_own = |key: &ForeignKey| key.table.eq_ignore_ascii_case(parent);
    referring_keys.sort_by_key(|key| (is_own(key), key.on_delete == "CASCADE"));
    for key in referring_keys {
        let list = |part: fn(&(String, String)) -> &str| {
            key.columns.iter().map(|pair| name(part(pair))).collect::<Vec<_>>().join(", ")
        };
        let (own, referenced) = (list(|(own, _)| own), list(|(_, to)| to));
        let children =
            format!("({own}) IN (SELECT {referenced} FROM {} WHERE {rows})", name(parent));
        let table = name(&key.table);
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {children})");
        if !exists(connection, &sql, parameters)? {
            continue;
        }
        let action = match operation {
            Operation::Update => &key.on_update,
            Operation::Insert | Operation::Delete => &key.on_delete,
        };
        match action.as_str() {
            "SET NULL" | "SET DEFAULT" => {}
            "CASCADE" => {
                let next = depth + 1;
                if next <= MOST_CASCADES
                    && let Some(found) = referring(
                        connection, keys, &key.table, operation, &children, parameters, next,
                    )?
                {
                    return Ok(Some(found));
                }
            }
            _ => return Ok(Some(Error::still_referenced(&key.table, &key.names(), parent))),
        }
    }
    Ok(None)
}

fn foreign_keys(connection: &mut Connection) -> Result<Vec<ForeignKey>> {
    let mut keys: Vec<ForeignKey> = Vec::new();
    for row in connection.all_rows(FOREIGN_KEYS, &[])? {
        let id = match row.get(1) {
            Some(Value::Int(id)) => *id,
            _ => 0,
        };
        let mut cells = row.into_iter().map(|cell| match cell {
            Value::Text(text) => text.into_owned(),
            _ => String::new(),
        });
        let mut next = || cells.next().unwrap_or_default();
        let (table, _) = (next(), next());
        let (parent, on_delete, on_update) = (next(), next(), next());
        let pair = (next(), next());
        match keys.last_mut().filter(|key| key.id == id && key.table == table) {
            Some(key) => key.columns.push(pair),
            None => {
                let columns = vec![pair];
                keys.push(ForeignKey { table, id, parent, on_delete, on_update, columns });
            }
        }
    }
    Ok(keys)
}

fn exists(connection: &mut Connection, sql: &str, parameters: &[Value<'_>]) -> Result<bool> {
    let rows = connection.all_rows(sql, parameters)?;
    Ok(rows.first().and_then(|row| row.first()) == Some(&Value::Int(1)))
}

fn name(name: &str) -> String {
    quote(Dialect::Sqlite, name)
}
