//! Whole databases in the forms in which well-known programs create them, copied from SQLite to PostgreSQL, on to
//! MariaDB, and back to SQLite: every rule and value is kept, or was listed beforehand as lost.

use crate::sample_databases::{Sample, samples};
use bobak::copy::CopyOptions;
use bobak::prelude::*;
use bobak::schema::TableSchema;
#[cfg(all(feature = "mysql", feature = "postgres"))]
use bobak_servers::TestDatabase;

fn open(sample: &Sample) -> Db {
    let db = Db::open("sqlite::memory:").unwrap();
    db.transaction(|db| {
        db.execute("PRAGMA defer_foreign_keys = on", ())?;
        sample.statements.iter().try_for_each(|sql| db.execute(sql, ()).map(drop))
    })
    .unwrap_or_else(|error| panic!("{}: {error}", sample.name));
    db
}

fn sorted_tables(db: &Db) -> Vec<TableSchema> {
    let mut tables = db.tables().unwrap();
    tables.sort_by(|a, b| a.name().cmp(b.name()));
    tables
}

fn rows(db: &Db, table: &str) -> Vec<Vec<Value<'static>>> {
    let rows = db.dynamic(table).unwrap().list(Query::all()).unwrap();
    rows.iter().map(|row| row.values().to_vec()).collect()
}

/// Copies everything; returns what is lost.
fn copy(from: &Db, to: &Db) -> Vec<String> {
    let losses = from.copy_losses(to, &[]).unwrap().iter().map(ToString::to_string).collect();
    let options = CopyOptions::new().checksum(true).allow_loss(true);
    from.copy_to(to, &[], &options, |_| {}).unwrap();
    losses
}

/// Whether the losses are those expected, which may be given by their beginning.
fn check_losses(what: &str, losses: &[String], expected: &[&str]) {
    let fits = losses.len() == expected.len()
        && losses.iter().zip(expected).all(|(loss, expected)| loss.starts_with(expected));
    assert!(fits, "{what}: {losses:#?} where {expected:#?} were expected");
}

#[test]
fn samples_are_copied_to_sqlite_as_they_are() {
    for sample in samples() {
        let from = open(&sample);
        let to = Db::open("sqlite::memory:").unwrap();
        let expected: Vec<&str> =
            sample.losses.iter().copied().filter(|loss| !loss.contains("CHECK")).collect();
        check_losses(sample.name, &copy(&from, &to), &expected);
        for (a, b) in sorted_tables(&from).iter().zip(&sorted_tables(&to)) {
            let name = a.name();
            if !expected.iter().any(|loss| loss.starts_with(&format!("{name}: "))) {
                assert!(a.same_as(b), "{}: {a:#?}\n{b:#?}", sample.name);
                assert_eq!(rows(&from, name), rows(&to, name), "{}: {name}", sample.name);
            }
        }
    }
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn samples_go_round() {
    for sample in samples() {
        // Each has its own databases, so that names do not meet.
        let databases = (TestDatabase::on_postgres().unwrap(), TestDatabase::on_mariadb().unwrap());
        let (Some(postgres), Some(mariadb)) = databases else { return };
        let mut from = open(&sample);
        let mut before: Option<Vec<TableSchema>> = None;
        let mut contents: Option<Vec<Vec<Vec<Value<'static>>>>> = None;
        for url in [postgres.url(), mariadb.url(), "sqlite::memory:"] {
            let to = Db::open(url).unwrap();
            let losses = copy(&from, &to);
            let expected: Vec<&str> = match &before {
                None => sample.losses.clone(),
                Some(_) => Vec::new(),
            };
            let losses: Vec<String> =
                losses.into_iter().filter(|loss| !loss.contains("INITIALLY DEFERRED")).collect();
            check_losses(&format!("{} to {url}", sample.name), &losses, &expected);
            let tables = sorted_tables(&to);
            let found: Vec<_> = tables.iter().map(|table| rows(&to, table.name())).collect();
            if let Some(before) = &before {
                assert_eq!(before.len(), tables.len(), "{}", sample.name);
                for (a, b) in before.iter().zip(&tables) {
                    assert!(
                        not_deferred(a).same_as(&not_deferred(b)),
                        "{}: {a:#?}\n{b:#?}",
                        sample.name
                    );
                }
            }
            if let Some(contents) = &contents {
                assert!(*contents == found, "{} in {url}: the values differ", sample.name);
            }
            (before, contents, from) = (Some(tables), Some(found), to);
        }
    }
}

/// The table without the deferral of its foreign keys, which MariaDB does not have and a copy lists.
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn not_deferred(table: &TableSchema) -> TableSchema {
    let builder = table.clone().into_builder().map_columns(|mut column| {
        if let Some(reference) = &mut column.reference {
            reference.deferred = false;
        }
        column
    });
    builder.build().unwrap()
}
