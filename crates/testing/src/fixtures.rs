//! Rows of files, for tests.

use crate::fixture_file::{self, FixtureRow};
use bobak::copy::by_reference;
use bobak::schema::Type;
use bobak::types::Timestamp;
use bobak::{Db, DynRow, DynTable, Error, ErrorKind, Result, Transaction, Value};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The extensions of fixture files.
const EXTENSIONS: [&str; 3] = ["csv", "json", "ndjson"];

/// Inserts the rows of a folder's files into the tables of the main engine; returns their number.
///
/// A file `TABLE.csv`, `TABLE.json` (an array of objects) or `TABLE.ndjson` has rows of the table. Tables that
/// others refer to come first. Values are written as `bobak export` writes them; an empty field of CSV is NULL, or an
/// empty text in a column that is not nullable. All rows are inserted, or none.
///
/// A row may have a name, as the member or column `_name`, which no other row of its table has. In a column that references
/// its table, `@name` then stands for its key. The rows of a file are inserted in their order, so a row refers to those before
/// it:
///
/// ```
/// use bobak::prelude::*;
///
/// #[derive(Record)]
/// struct Customer { id: i64, name: String }
/// #[derive(Record)]
/// struct Order { id: i64, #[record(references = Customer)] customer_id: i64, total: Currency }
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path();
/// std::fs::write(folder.join("customer.json"), r#"[{"_name": "ada", "name": "Ada"}]"#)?;
/// std::fs::write(folder.join("order.csv"), "customer_id,total\n@ada,12.50\n")?;
///
/// let db = Db::builder().record::<Customer>().record::<Order>().open("memory:")?;
/// db.create_missing_tables()?;
/// assert_eq!(bobak_testing::load_fixtures(&db, folder)?, 2);
/// let customer = db.table::<Customer>()?.first(Query::all())?.unwrap();
/// assert_eq!(db.table::<Order>()?.first(Query::all())?.unwrap().customer_id, customer.id);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// `Io` for a file that cannot be read; `Schema` if there is no table or column of its name; `Mismatch`, `NotFound` and those of an insert; `Duplicate` for a
/// name that another row has; `Unsupported` for a deleted row: an insert makes it live, so delete it in the test.
/// The message names the file and the row.
pub fn load_fixtures(db: &Db, folder: impl AsRef<Path>) -> Result<u64> {
    let files = files_of(folder.as_ref())?;
    let tables = db.tables()?;
    for (name, file) in &files {
        if !tables.iter().any(|table| table.name() == name) {
            let message = format!("{}: there is no table '{name}'", file.display());
            return Err(Error::new(ErrorKind::Schema, message));
        }
    }
    let transaction = db.begin()?;
    let in_place = |file: &Path, at: &str| format!("{}{at}", file.display());
    let (mut named, mut places) = (HashMap::new(), HashMap::new());
    let mut count = 0;
    for table in by_reference(tables) {
        for (_, file) in files.iter().filter(|(name, _)| name == table.name()) {
            let in_file = |error: Error, place: &str| {
                let message = format!("{}{place}: {error}", file.display());
                Error::new(error.kind(), message)
            };
            let rows = fixture_file::read(file).map_err(|error| in_file(error, ""))?;
            for row in rows {
                let at = format!(", {}", row.place);
                let inserted = insert(&transaction, table.name(), &row, &mut named);
                let name = inserted.map_err(|error| in_file(error, &at))?;
                if let Some(first) = name.and_then(|name| places.insert(name, in_place(file, &at)))
                {
                    let message = format!("{first} has this name already");
                    return Err(in_file(Error::new(ErrorKind::Duplicate, message), &at));
                }
                count += 1;
            }
        }
    }
    transaction.commit()?;
    Ok(count)
}

/// The files, with the names of their tables, ordered by name.
fn files_of(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let failed = |error: std::io::Error| {
        let message = format!("{} cannot be read: {error}", folder.display());
        Error::new(ErrorKind::Io, message)
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let text =
            |part: Option<&std::ffi::OsStr>| part.and_then(|p| p.to_str()).map(str::to_owned);
        let (name, extension) = (text(file.file_stem()), text(file.extension()));
        if let (Some(name), Some(extension)) = (name, extension)
            && EXTENSIONS.contains(&extension.as_str())
        {
            files.push((name, file));
        }
    }
    files.sort();
    Ok(files)
}

/// A table and the name of one of its rows.
type RowName = (String, String);
type KeysByName = HashMap<RowName, Value<'static>>;

/// Inserts a row; returns its name.
fn insert(
    transaction: &Transaction<'_>,
    table: &str,
    row: &FixtureRow,
    named: &mut KeysByName,
) -> Result<Option<RowName>> {
    let table = transaction.dynamic(table)?;
    let schema = table.schema();
    let find = |table: &str, name: &str| {
        named.get(&(table.to_ascii_lowercase(), name.to_owned())).cloned()
    };
    let values = row.to_row(schema, find)?;
    let key = table.insert(&values)?;
    check_live(&table, &values, &key)?;
    let [key] = &key[..] else { return Ok(None) };
    let Some(name) = &row.name else { return Ok(None) };
    let name = (schema.name().to_ascii_lowercase(), name.clone());
    named.insert(name.clone(), key.clone());
    Ok(Some(name))
}

/// Rejects a row with the time of its deletion, which an insert does not store.
fn check_live(table: &DynTable<'_>, given: &DynRow, key: &[Value<'static>]) -> Result<()> {
    let schema = table.schema();
    let is_set = |row: &DynRow, name: &str| {
        row.get::<Option<Timestamp>>(name).is_ok_and(|time| time.is_some())
    };
    let times = schema.columns().iter().filter(|column| {
        column.nullable && column.ty == Type::Timestamp && is_set(given, &column.name)
    });
    let times: Vec<_> = times.collect();
    if times.is_empty() {
        return Ok(());
    }
    let stored = table.get(key.to_vec())?.unwrap_or_default();
    let Some(lost) = times.into_iter().find(|column| !is_set(&stored, &column.name)) else {
        return Ok(());
    };
    let message =
        "an insert makes the row live: leave the value out, and delete the row in the test";
    let error = Error::new(ErrorKind::Unsupported, message).in_table(schema.name());
    Err(error.in_column(lost.name.to_string()))
}
