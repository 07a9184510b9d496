//! Databases whose tables use collations and functions that only another program has.

use bobak::backup::{BackupOptions, Compression, MissingExtension, UnverifiedTable};
use bobak::prelude::*;
use bobak::restore::RestoreOptions;
use std::path::Path;

/// How many rows each table has.
const ROWS: u64 = 400;

/// One table for each use of them, and one without.
const TABLES: [(&str, &str); 7] = [
    ("checked", "CREATE TABLE checked (x TEXT CHECK (length(x) > 0))"),
    ("computed", "CREATE TABLE computed (x TEXT, z TEXT NOT NULL AS (length(x))) STRICT"),
    ("indexed", "CREATE TABLE indexed (x TEXT COLLATE NOCASE UNIQUE)"),
    ("keyed", "CREATE TABLE keyed (x TEXT COLLATE NOCASE PRIMARY KEY) WITHOUT ROWID"),
    ("lowered", "CREATE TABLE lowered (x TEXT); CREATE INDEX lowered_x ON lowered (lower(x))"),
    ("plain", "CREATE TABLE plain (x TEXT UNIQUE)"),
    ("unused", "CREATE TABLE unused (x TEXT COLLATE NOCASE)"),
];

/// A database as another program created it.
fn foreign(path: &Path, settings: &str) -> Db {
    let url = format!("sqlite:{}{settings}", path.display());
    let db = Db::open(&url).unwrap();
    for (name, sql) in TABLES {
        for sql in sql.split("; ") {
            db.execute(sql, ()).unwrap();
        }
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)";
        let sql = format!("{rows} INSERT INTO {name} (x) SELECT 'Text ' || i FROM n");
        // The last row has the letter case of none before it.
        db.execute(&sql, (ROWS as i64,)).unwrap();
    }
    rewrite(&db, "NOCASE", "THEIR_ORDER");
    rewrite(&db, "length(", "their_length(");
    rewrite(&db, "lower(", "their_lower(");
    drop(db);
    Db::open(&url).unwrap()
}

/// Replaces a word in the definitions.
fn rewrite(db: &Db, word: &str, other: &str) {
    db.execute("PRAGMA writable_schema = on", ()).unwrap();
    let change = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?)";
    db.execute(change, (word, other)).unwrap();
    db.execute("PRAGMA writable_schema = reset", ()).unwrap();
}

/// The tables that are reported as unverified. CHECK constraints are never verified.
fn unverified() -> Vec<UnverifiedTable> {
    let collation = || MissingExtension::Collation("THEIR_ORDER".into());
    let function = |name: &str| MissingExtension::Function(name.into());
    [
        ("computed", function("their_length")),
        ("indexed", collation()),
        ("keyed", collation()),
        ("lowered", function("their_lower")),
    ]
    .map(|(table, needs)| UnverifiedTable { table: table.to_owned(), needs })
    .into()
}

#[test]
fn databases_with_unknown_functions_are_backed_up_and_restored() {
    for settings in ["", "?journal_mode=delete", "?journal_mode=delete&locking=exclusive"] {
        let folder = tempfile::tempdir().unwrap();
        let db = foreign(&folder.path().join("app.db"), settings);
        let all: Vec<_> = TABLES.map(|(name, _)| (name.to_owned(), ROWS)).into();
        for compression in [Compression::None, Compression::Zstd] {
            if compression != Compression::None && !cfg!(feature = "compress") {
                continue;
            }
            let file = folder.path().join(format!("{compression:?}"));
            let options = BackupOptions::new().compression(compression);
            let report = db.backup(&file, &options, |_| Ok(())).unwrap();
            assert_eq!((&report.tables, &report.unverified), (&all, &unverified()));
            // If the writing connection counts rows, it needs every collation of the indexes it uses.
            assert_eq!(report.compared, settings.is_empty());
            let said = report.unverified[1].to_string();
            assert!(said.contains("indexed") && said.contains("collation THEIR_ORDER"), "{said}");
            let checked = Db::check_backup(&file).unwrap();
            assert_eq!((checked.tables, checked.unverified), (all.clone(), unverified()));
            let place = folder.path().join(format!("{compression:?}.db"));
            let url = format!("sqlite:{}", place.display());
            let restored = Db::restore(&file, &url, &RestoreOptions::new()).unwrap();
            assert_eq!(restored.unverified, unverified());
            let texts = Db::open(&url).unwrap().sql::<String>("SELECT x FROM indexed", ()).unwrap();
            assert_eq!(texts.len() as u64, ROWS);
        }
    }
}

/// The tables without unknown functions are verified as usual.
#[test]
fn damage_in_the_other_tables_is_found() {
    let changes = [
        // An index that has the rows of another table with the same number of rows.
        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = \
         'sqlite_autoindex_plain_1') WHERE name = 'sqlite_autoindex_indexed_1'",
        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = \
         'lowered_x') WHERE name = 'sqlite_autoindex_plain_1'",
        "DELETE FROM sqlite_schema WHERE name = 'unused'",
    ];
    for change in changes {
        let folder = tempfile::tempdir().unwrap();
        let db = foreign(&folder.path().join("app.db"), "");
        db.execute("PRAGMA writable_schema = on", ()).unwrap();
        db.execute(change, ()).unwrap();
        let error = db.backup(folder.path().join("b"), &BackupOptions::new(), |_| Ok(()));
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{change}: {error}");
        assert!(!error.to_string().contains(".new"), "{error}");
    }
}
