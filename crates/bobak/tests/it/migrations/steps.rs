//! Plans and files, forth and back.

use super::{content, fill, model, on_each, write_both};
use bobak::engine::Engine;
use bobak::migration::{self, Drops, MigrationState, Migrations};
use bobak::prelude::*;
use bobak::schema::{ColumnSchema, OnDelete, TableSchema};
use bobak_testkit::Probe;
use std::sync::Arc;

#[test]
fn migrations_run_forth_and_back_on_every_engine() {
    on_each(|folder, open, links| {
        let (all, one) = write_both(folder, links);
        let engine = open();
        assert_eq!(migration::up(&*engine, &one).unwrap(), ["0001_start"]);
        fill(&*engine);
        let before = content(&*engine);
        let error = migration::verify(&*engine, &all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert!(error.to_string().contains("older than the program"), "{error}");
        assert_eq!(migration::up(&*engine, &all).unwrap(), ["0002_club"]);
        assert!(migration::up(&*engine, &all).unwrap().is_empty());
        migration::verify(&*engine, &all).unwrap();
        // The model has what it wants: nothing is left to do.
        let left = migration::plan(&model(true, links), &engine.tables().unwrap(), Drops::Columns);
        assert_eq!(left.unwrap().to_string(), "");
        let member = TableSchema::find_in(engine.tables().unwrap(), "member").unwrap();
        let (id, age) = (member.column("id").unwrap(), member.column("age").unwrap());
        let rows = Probe::new(&*engine).unwrap().all(&Arc::new(member)).unwrap();
        assert_eq!(rows.len(), 1_100);
        assert!(rows.iter().all(|row| row[id] == row[age]), "ages are numbers now");
        let error = migration::verify(&*engine, &one).unwrap_err();
        assert!(error.to_string().contains("newer than the migrations"), "{error}");
        let error = migration::down(&*engine, &all, 1, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
        assert_eq!(migration::down(&*engine, &all, 1, true).unwrap(), ["0002_club"]);
        // All but the dropped fax numbers are back.
        let lost: Vec<_> = before.iter().map(|row| row.replace("Text(\"x\")", "Null")).collect();
        let sorted = |rows: Vec<String>| -> Vec<String> {
            let rows = rows.iter().map(|row| {
                let mut row: Vec<_> = row.split(',').map(str::to_owned).collect();
                row.sort();
                row.join(",")
            });
            rows.collect()
        };
        assert_eq!(sorted(content(&*engine)), sorted(lost));
        let states = migration::status(&*engine, &all).unwrap();
        assert!(matches!(states[0].state, MigrationState::Done(_)));
        assert_eq!(states[1].state, MigrationState::Pending);
    });
}

#[test]
fn migrations_are_part_of_the_program() {
    #[derive(Record)]
    struct Note {
        id: i64,
        #[record(max = 80)]
        text: String,
        pinned: bool,
    }
    on_each(|_, open, _| {
        let engine = open();
        let migrations = bobak::migrations!("tests/migrations").unwrap();
        assert_eq!(migration::up(&*engine, &migrations).unwrap(), ["0001_note", "0002_pinned"]);
        let wanted = [Arc::clone(Note::schema())];
        let plan = migration::plan(&wanted, &engine.tables().unwrap(), Drops::Columns).unwrap();
        assert_eq!(plan.to_string(), "");
        assert_eq!(migration::down(&*engine, &migrations, 2, false).unwrap().len(), 2);
    });
}

#[test]
fn files_that_do_not_fit_are_rejected() {
    let start = "bobak migration 1\nfirst\nup\ncreate table {\"name\":\"t\",\"key\":[\"id\"],\
                 \"columns\":[{\"name\":\"id\",\"type\":\"i64\"}],\"indexes\":[]}\n";
    let next = |verb: &str| format!("bobak migration 1\nafter a\nup\n{verb} t.id\n");
    let engine = bobak::engine::memory::Memory::new();
    let one = Migrations::new([("a", start)]).unwrap();
    migration::up(&engine, &one).unwrap();
    let edited = start.replace("\"indexes\"", " \"indexes\"");
    let edited = Migrations::new([("a", edited.as_str())]).unwrap();
    let error = migration::up(&engine, &edited).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("edited after it ran"), "{error}");
    // Line ends do not count.
    let windows = start.replace('\n', "\r\n");
    assert!(migration::up(&engine, &Migrations::new([("a", windows.as_str())]).unwrap()).is_ok());
    let (b, c) = (next("drop index"), next("drop column"));
    let heads = Migrations::new([("a", start), ("b", b.as_str()), ("c", c.as_str())]);
    let error = heads.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("several migrations follow a: b, c"), "{error}");
    let lost = Migrations::new([("b", b.as_str())]).unwrap_err();
    assert!(lost.to_string().contains("no migration follows none"), "{lost}");
    for (text, what) in [
        ("", "the first line"),
        ("bobak migration 1\nsecond\n", "'after NAME' or 'first'"),
        (
            "bobak migration 1\nfirst\nup\ndrop column t\n",
            "line 4: expected a table and its column",
        ),
        ("bobak migration 1\nfirst\nup\nfly table t\n", "'fly table'"),
        ("bobak migration 1\nfirst\nup\ncreate table {\n", "which is JSON: EOF"),
        (
            "bobak migration 1\nfirst\nup\ncreate table t {}\n",
            "line 4: expected a table {\"name\":\"t\",\"columns\":[…],\"key\":[\"id\"]",
        ),
        (
            "bobak migration 1\nfirst\nup\nadd column t {\"name\":\"a\",\"type\":\"i64\",\"uniqe\":true}\n",
            "line 4: expected no 'uniqe' in a column, which has name, type, ",
        ),
        ("bobak migration 1\nfirst\nup\nsql\nSELECT 1;\n", "expected 'end'"),
        ("bobak migration 1\nfirst\nup\nrename table a b\n", "expected 'to'"),
    ] {
        let error = Migrations::new([("x", text)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(what), "{text}: {error}");
    }
    let again = start.replace("first\n", "after a\n");
    let again = Migrations::new([("a", start), ("b", again.as_str())]).unwrap();
    let error = migration::up(&engine, &again).unwrap_err().to_string();
    assert!(error.contains("migration b, step 1 (create table t): the table already"), "{error}");
    let step = next("drop index");
    let two = Migrations::new([("a", start), ("b", step.as_str())]).unwrap();
    let error = migration::up(&engine, &two).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.to_string().contains("migration b, step 1 (drop index t.id)"), "{error}");
    let error = migration::down(&engine, &one, 1, true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(migration::baseline(&engine, &two, "b").unwrap(), ["b"]);
    migration::verify(&engine, &two).unwrap();
}

#[test]
fn steps_in_sql_and_rust_run_in_the_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("a.db").display());
    let engine = bobak::engine::open(&url).unwrap();
    let text = "bobak migration 1\nfirst\nup\n\
        create table {\"name\":\"t\",\"key\":[\"id\"],\"columns\":[{\"name\":\"id\",\"type\":\"i64\"}],\"indexes\":[]}\n\
        sql sqlite\nINSERT INTO t VALUES (1);\nINSERT INTO t\n  VALUES (2);\nend\n\
        sql postgres mysql\nthis is not SQL of SQLite;\nend\n\
        add column t {\"name\":\"note\",\"type\":\"text\",\"nullable\":false} fill \"none\"\n\
        rust fail # and a comment\n";
    let all = Migrations::new([("a", text)]).unwrap();
    let error = migration::up(&*engine, &all).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("migrate by that program"), "{error}");
    let failing = all.clone().with_function("fail", |_| Err(Error::new(ErrorKind::Misuse, "no")));
    let error = migration::up(&*engine, &failing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misuse);
    assert_eq!(engine.tables().unwrap().len(), 1, "only the ledger is there");
    let right = all.with_function("fail", |session| {
        session.execute("UPDATE t SET note = note || id WHERE id = 2", &[]).map(drop)
    });
    let db = Db::open(&url).unwrap();
    assert_eq!(db.check_migrations(&right).unwrap(), ["a"]);
    assert_eq!(engine.tables().unwrap().len(), 1, "the check left the database as it was");
    migration::up(&*engine, &right).unwrap();
    let notes = db.sql::<String>("SELECT note FROM t ORDER BY id", ()).unwrap();
    assert_eq!(notes, ["none", "none2"]);
    let table = TableSchema::find_in(engine.tables().unwrap(), "t").unwrap();
    assert_eq!(table.columns()[1].default, None);
    // SQL that breaks a foreign key is undone, though migrations do not enforce them.
    let broken = "bobak migration 1\nafter a\nup\nsql\n\
        CREATE TABLE child (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t (id));\n\
        INSERT INTO child VALUES (1, 99);\nend\n";
    let two = Migrations::new([("a", text), ("b", broken)]).unwrap();
    let error = migration::up(&*engine, &two).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
    assert!(TableSchema::find_in(engine.tables().unwrap(), "child").is_err());
}

#[test]
fn a_plan_drops_only_what_it_may_and_shows_its_sql() {
    let engine = bobak::engine::memory::Memory::new();
    let table = |name: &str, columns: &[&str]| {
        let table = TableSchema::builder(name.to_owned()).column(ColumnSchema::of::<i64>("id"));
        let columns = columns.iter().map(|name| ColumnSchema::of::<Option<i64>>(name.to_string()));
        Arc::new(
            columns.fold(table.key(["id"]), |table, column| table.column(column)).build().unwrap(),
        )
    };
    let stored = [table("kept", &["a", "b"]), table("extra", &[])];
    let create = stored.iter().map(|t| bobak::engine::SchemaChange::CreateTable(Arc::clone(t)));
    engine.alter(&create.collect::<Vec<_>>()).unwrap();
    let model = [table("kept", &["a"])];
    let plan = |drops| migration::plan(&model, &engine.tables().unwrap(), drops).unwrap();
    let nothing = plan(Drops::Nothing);
    assert!(nothing.steps.is_empty());
    assert_eq!(
        nothing.kept,
        ["column kept.b is not in the model", "table extra is not in the model"]
    );
    assert_eq!(plan(Drops::Columns).to_string(), "drop column kept.b\n");
    let all = plan(Drops::Tables);
    assert_eq!(all.to_string(), "drop column kept.b\ndrop table extra\n");
    let sql = all.to_sql("postgres", &engine.tables().unwrap()).unwrap();
    assert_eq!(sql, ["ALTER TABLE \"kept\" DROP COLUMN \"b\"", "DROP TABLE \"extra\""]);
    let sql = all.to_sql("mysql", &engine.tables().unwrap()).unwrap();
    assert_eq!(sql[0], "ALTER TABLE `kept` DROP COLUMN `b`, RENAME TO `kept`");
    assert_eq!(
        all.to_sql("kv", &stored.map(|t| (*t).clone())).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
}

/// The process that is killed: it says when it has reached its pause, and waits there.
#[test]
fn a_tracked_table_is_migrated_with_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("a.db").display());
    let engine = bobak::engine::open(&url).unwrap();
    let text = "bobak migration 1\nfirst\nup\ncreate table {\"name\":\"t\",\"key\":[\"id\"],\
        \"columns\":[{\"name\":\"id\",\"type\":\"i64\"}],\"indexes\":[]}\n";
    let rename = "bobak migration 1\nafter a\nup\n\
        add column t {\"name\":\"note\",\"type\":\"text\",\"nullable\":true}\n\
        rename column t.note to text\n";
    migration::up(&*engine, &Migrations::new([("a", text)]).unwrap()).unwrap();
    let table = Arc::new(TableSchema::find_in(engine.tables().unwrap(), "t").unwrap());
    engine.alter(&[bobak::engine::SchemaChange::Track { table, history: false }]).unwrap();
    let two = Migrations::new([("a", text), ("b", rename)]).unwrap();
    assert_eq!(migration::up(&*engine, &two).unwrap(), ["b"]);
    let table = TableSchema::find_in(engine.tables().unwrap(), "t").unwrap();
    assert_eq!(table.columns()[1].name, "text");
    let logs = bobak_changes::logs(&*engine).unwrap();
    assert_eq!(logs[0].schema.columns()[6].name, "old_text");
}

/// What is left out of a column is as in a record.
#[test]
fn references_need_no_action() {
    let text = |references: &str| {
        let key = r#"{"name":"id","type":"i64"}"#;
        format!(
            "bobak migration 1\nfirst\nup\n\
             create table {{\"name\":\"country\",\"columns\":[{key}],\"key\":[\"id\"],\"indexes\":[]}}\n\
             create table {{\"name\":\"city\",\"columns\":[{key},\
             {{\"name\":\"country\",\"type\":\"i64\",\"references\":{references}}}],\
             \"key\":[\"id\"],\"indexes\":[]}}\n"
        )
    };
    let all = |references| Migrations::new([("0001_start", text(references).as_str())]);
    let engine = bobak::engine::open("memory:").unwrap();
    let plain = all(r#"{"table":"country","column":"id"}"#).unwrap();
    assert_eq!(migration::up(&*engine, &plain).unwrap(), ["0001_start"]);
    let city = TableSchema::find_in(engine.tables().unwrap(), "city").unwrap();
    let country = &city.columns()[city.column("country").unwrap()];
    assert_eq!(country.reference.as_ref().unwrap().on_delete, OnDelete::Restrict);
    let error = all(r#"{"table":"country"}"#).unwrap_err();
    assert!(error.to_string().contains("column country: there is no 'column'"), "{error}");
}
