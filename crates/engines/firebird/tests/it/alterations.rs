//! Changes of tables: other types in the catalog, what is rejected, and other connections that are in the way.

use crate::stores::{has_server, settings};
use bobak_core::{
    Collation, ColumnSchema, Engine, ErrorKind, OnDelete, Result, SchemaChange, TableAlteration,
    TableSchema, TableSchemaBuilder, TransactionControl, Value,
};
use bobak_firebird::Firebird;
use bobak_testkit::{NULL, Probe, row};
use std::sync::Arc;
use std::time::Duration;

type Table = Arc<TableSchema>;

fn note(build: impl Fn(TableSchemaBuilder) -> TableSchemaBuilder) -> Table {
    let table = TableSchema::builder("note").column(ColumnSchema::of::<i64>("id"));
    Arc::new(build(table.key(["id"])).build().unwrap())
}

fn text() -> ColumnSchema {
    ColumnSchema::of::<Option<String>>("body")
}

fn alter(engine: &Firebird, to: &Table, renamed: &[(&str, &str)], dropped: &[&str]) -> Result<()> {
    let from = Arc::new(TableSchema::find_in(engine.tables()?, "note")?);
    let change = TableAlteration::new(from, Arc::clone(to), renamed, dropped)?;
    engine.alter(&[SchemaChange::AlterTable(Arc::new(change))])
}

/// A new database; none without a server.
fn connected() -> Option<Firebird> {
    has_server().then(|| settings().connect().unwrap())
}

fn run(engine: &Firebird, sql: &str) {
    engine.session().unwrap().execute(sql, &[]).unwrap();
}

fn number(engine: &Firebird, sql: &str) -> Value<'static> {
    let source = bobak_core::Source::Sql { text: sql, parameters: &[] };
    Probe::new(engine).unwrap().query(&source).unwrap().remove(0).remove(0)
}

/// The type of the column in Firebird, and its character set: 14 fixed, 37 varying, 261 BLOB; 1 OCTETS, 4 UTF8.
fn stored_type(engine: &Firebird) -> (Value<'static>, Value<'static>) {
    let of = |field: &str| {
        number(
            engine,
            &format!(
                "SELECT F.{field} FROM RDB$RELATION_FIELDS R JOIN RDB$FIELDS F ON F.RDB$FIELD_NAME = R.RDB$FIELD_SOURCE \
                 WHERE R.RDB$RELATION_NAME = 'NOTE' AND R.RDB$FIELD_NAME = 'BODY'"
            ),
        )
    };
    (of("RDB$FIELD_TYPE"), of("RDB$CHARACTER_SET_ID"))
}

#[test]
fn texts_get_each_type_that_firebird_has_for_them() {
    let Some(engine) = connected() else { return };
    let long = note(|table| table.column(text()));
    let probe = Probe::with_tables(&engine, &[&long]).unwrap();
    let rows = vec![row![1, "Zoé ß€ 'x'"], row![2, NULL], row![3, "zoé "], row![4, ""]];
    probe.insert_all(&long, rows.clone()).unwrap();
    let forms: [(Table, (i64, i64)); 9] = [
        (note(|t| t.column(text().unique())), (37, 1)),
        (note(|t| t.column(text().max_chars(30).check("body <> 'no'"))), (37, 4)),
        (note(|t| t.column(text().max_chars(40).unique().check("body <> 'no'"))), (37, 1)),
        (note(|t| t.column(text().check("body <> 'no'"))), (261, 4)),
        (note(|t| t.column(text().check("body <> 'no'")).index("by_body", ["body"])), (37, 4)),
        (note(|t| t.column(text().collation(Collation::NoCase).unique())), (37, 4)),
        (note(|t| t.column(text().max_chars(20).unique())), (37, 1)),
        (note(|t| t.column(text().unique())), (37, 1)),
        (note(|t| t.column(text())), (261, 4)),
    ];
    for (form, (ty, set)) in forms {
        alter(&engine, &form, &[], &[]).unwrap();
        assert_eq!(stored_type(&engine), (Value::Int(ty), Value::Int(set)), "{form:?}");
        assert_eq!(probe.all(&form).unwrap(), rows, "{form:?}");
        let twice = probe.insert(&form, row![5, "Zoé ß€ 'x'"]);
        match form.columns()[1].unique {
            true => assert_eq!(twice.unwrap_err().kind(), ErrorKind::Duplicate),
            false => assert!(probe.delete(&form, row![5]).is_ok() && twice.is_ok()),
        }
        if form.columns()[1].check.is_some() {
            let broken = probe.insert(&form, row![5, "no"]).unwrap_err();
            assert_eq!(broken.kind(), ErrorKind::Constraint);
        }
    }
    // What is longer than an index takes.
    probe.insert(&long, row![6, "x".repeat(2_000)]).unwrap();
    let indexed = note(|table| table.column(text()).index("by_body", ["body"]));
    assert_eq!(alter(&engine, &indexed, &[], &[]).unwrap_err().kind(), ErrorKind::TooLong);
    assert_eq!(probe.count(&long).unwrap(), 5);
}

#[test]
fn a_foreign_key_of_texts_is_added() {
    let Some(engine) = connected() else { return };
    let name = ColumnSchema::of::<String>("name").max_chars(10);
    let tag = Arc::new(TableSchema::builder("tag").column(name).key(["name"]).build().unwrap());
    let plain = note(|table| table.column(text().max_chars(10).check("body <> 'no'")));
    let probe = Probe::with_tables(&engine, &[&tag, &plain]).unwrap();
    probe.insert(&tag, row!["é"]).unwrap();
    probe.insert_all(&plain, [row![1, "é"], row![2, "none"]]).unwrap();
    let linked = note(|table| {
        let text = text().max_chars(10).check("body <> 'no'");
        table.column(text.references("tag", "name", OnDelete::SetNull))
    });
    assert_eq!(alter(&engine, &linked, &[], &[]).unwrap_err().kind(), ErrorKind::Constraint);
    // The rule is there again, though it was dropped for the column to get another type.
    assert_eq!(probe.insert(&plain, row![3, "no"]).unwrap_err().kind(), ErrorKind::Constraint);
    probe.delete(&plain, row![2]).unwrap();
    alter(&engine, &linked, &[], &[]).unwrap();
    let orphan = probe.insert(&linked, row![3, "none"]).unwrap_err();
    assert_eq!(orphan.kind(), ErrorKind::Constraint);
    probe.delete(&tag, row!["é"]).unwrap();
    assert_eq!(probe.all(&linked).unwrap(), [row![1, NULL]]);
}

#[test]
fn foreign_keys_hold_after_a_copy_of_what_they_reference() {
    let Some(engine) = connected() else { return };
    let boss =
        || ColumnSchema::of::<Option<i64>>("boss").references("note", "id", OnDelete::SetNull);
    let plain = note(|table| table.column(text()).column(boss()));
    let link = ColumnSchema::of::<i64>("note").references("note", "id", OnDelete::Cascade);
    let link = TableSchema::builder("link").column(ColumnSchema::of::<i64>("id")).column(link);
    let link = Arc::new(link.key(["id"]).build().unwrap());
    let probe = Probe::with_tables(&engine, &[&plain, &link]).unwrap();
    probe.insert_all(&plain, [row![1, "a", NULL], row![2, "b", 1]]).unwrap();
    probe.insert(&link, row![1, 1]).unwrap();
    let unique = note(|table| table.column(text().unique()).column(boss()));
    for form in [&unique, &plain] {
        alter(&engine, form, &[], &[]).unwrap();
        for (table, row) in [(&link, row![2, 9]), (form, row![3, "c", 9])] {
            let orphan = probe.insert(table, row).unwrap_err();
            assert_eq!(orphan.kind(), ErrorKind::Constraint, "{orphan}");
        }
        assert_eq!(probe.count(&link).unwrap(), 1);
    }
    probe.delete(&plain, row![1]).unwrap();
    assert_eq!(probe.count(&link).unwrap(), 0);
    assert_eq!(probe.all(&plain).unwrap(), [row![2, "b", NULL]]);
}

#[test]
fn a_session_has_no_statements_from_before_a_change() {
    let Some(engine) = connected() else { return };
    let plain = note(|table| table.column(text()));
    let probe = Probe::with_tables(&engine, &[&plain]).unwrap();
    probe.insert(&plain, row![1, "a"]).unwrap();
    // The connection with the statement comes back to the pool after the change.
    probe.control(TransactionControl::Begin).unwrap();
    assert_eq!(probe.count(&plain).unwrap(), 1);
    let checked = note(|table| table.column(text().check("body <> 'no'")));
    alter(&engine, &checked, &[], &[]).unwrap();
    probe.control(TransactionControl::Commit).unwrap();
    let broken = probe.insert(&checked, row![2, "no"]).unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::Constraint);
}

#[test]
fn bytes_are_indexed_and_no_longer() {
    let Some(engine) = connected() else { return };
    let body = || ColumnSchema::of::<Option<Vec<u8>>>("body");
    let plain = note(|table| table.column(body()));
    let unique = note(|table| table.column(body().unique()));
    let probe = Probe::with_tables(&engine, &[&plain]).unwrap();
    let rows = vec![row![1, vec![0_u8, 255, 0]], row![2, vec![0_u8, 255]], row![3, NULL]];
    probe.insert_all(&plain, rows.clone()).unwrap();
    alter(&engine, &unique, &[], &[]).unwrap();
    assert_eq!(probe.all(&unique).unwrap(), rows);
    let twice = probe.insert(&unique, row![4, vec![0_u8, 255]]).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Duplicate);
    alter(&engine, &plain, &[], &[]).unwrap();
    assert_eq!(probe.all(&plain).unwrap(), rows);
}

#[test]
fn a_renamed_table_continues_its_generator() {
    let Some(engine) = connected() else { return };
    // Names that Firebird has in small letters, in both, and that it has a substitute for.
    let long = "a_name_that_is_longer_than_31_characters";
    for (from, to) in [("NOTE", "Memo"), ("Memo", long), (long, "NOTE")] {
        let table = |name: &str| {
            let table = TableSchema::builder(name.to_owned()).column(ColumnSchema::of::<i64>("ID"));
            let long =
                ColumnSchema::of::<String>("Another name of more than 31 characters").unique();
            Arc::new(table.key(["ID"]).column(long).build().unwrap())
        };
        let (from, to) = (table(from), table(to));
        if engine.tables().unwrap().is_empty() {
            Probe::with_tables(&engine, &[&from]).unwrap();
        }
        let probe = Probe::new(&engine).unwrap();
        let made = |table: &Table, text: String| {
            probe.insert(table, row![NULL, text]).unwrap();
            let keys = probe.all(table).unwrap().into_iter().map(|row| row[0].clone());
            keys.filter_map(|key| if let Value::Int(key) = key { Some(key) } else { None }).max()
        };
        let before = made(&from, format!("before {}", to.name())).unwrap();
        probe.delete(&from, row![before]).unwrap();
        let change = TableAlteration::new(from, Arc::clone(&to), &[], &[]).unwrap();
        engine.alter(&[SchemaChange::AlterTable(Arc::new(change))]).unwrap();
        assert_eq!(made(&to, format!("after {}", to.name())), Some(before + 1));
    }
}

#[test]
fn what_a_copy_would_lose_is_rejected() {
    let Some(engine) = connected() else { return };
    let plain = note(|table| table.column(text().max_chars(30)));
    let probe = Probe::with_tables(&engine, &[&plain]).unwrap();
    probe.insert(&plain, row![1, "a"]).unwrap();
    let memo = Arc::new(plain.rename("memo", |_| None).unwrap());
    let unique = note(|table| table.column(text().max_chars(30).unique()));
    let renamed =
        Arc::new(plain.rename("note", |name| (name == "body").then_some("title")).unwrap());
    for (make, unmake, text) in [
        ("CREATE TRIGGER seen FOR note AFTER UPDATE AS BEGIN END", "DROP TRIGGER seen", "SEEN"),
        ("CREATE INDEX own_index ON note (id)", "DROP INDEX own_index", "OWN_INDEX"),
        (
            "ALTER TABLE note ADD CONSTRAINT own_check CHECK (id > 0)",
            "ALTER TABLE note DROP CONSTRAINT own_check",
            "OWN_CHECK",
        ),
        ("GRANT UPDATE (body) ON note TO ada", "REVOKE UPDATE (body) ON note FROM ada", "ADA"),
    ] {
        run(&engine, make);
        for to in [&memo, &unique] {
            let error = alter(&engine, to, &[], &[]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.to_string().contains(text), "{error}");
        }
        // Without a copy of the rows it stays.
        alter(&engine, &renamed, &[("body", "title")], &[]).unwrap();
        alter(&engine, &plain, &[("title", "body")], &[]).unwrap();
        run(&engine, unmake);
        assert_eq!(probe.all(&plain).unwrap(), [row![1, "a"]], "{make}");
    }
    // A view makes the server reject it.
    run(&engine, "CREATE VIEW shown AS SELECT id, body FROM note");
    for (to, names) in [(&memo, &[][..]), (&unique, &[]), (&renamed, &[("body", "title")])] {
        let error = alter(&engine, to, names, &[]).unwrap_err();
        assert!(error.to_string().to_uppercase().contains("NOTE"), "{error}");
        assert_eq!(engine.tables().unwrap().len(), 1);
        assert_eq!(probe.all(&plain).unwrap(), [row![1, "a"]]);
    }
    run(&engine, "DROP VIEW shown");
    alter(&engine, &renamed, &[("body", "title")], &[]).unwrap();
}

#[test]
fn tables_of_other_programs_are_dropped_only() {
    let Some(engine) = connected() else { return };
    run(&engine, "CREATE TABLE note (id BIGINT NOT NULL PRIMARY KEY, body VARCHAR(30))");
    let found = Arc::new(engine.tables().unwrap().remove(0));
    let renamed =
        Arc::new(found.rename("note", |name| (name == "body").then_some("title")).unwrap());
    let error = alter(&engine, &renamed, &[("body", "title")], &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    engine.alter(&[SchemaChange::DropTable(found)]).unwrap();
    assert!(engine.tables().unwrap().is_empty());
}

#[test]
fn an_added_column_that_breaks_its_check_changes_nothing() {
    let Some(engine) = connected() else { return };
    let plain = note(|table| table.column(text()));
    let probe = Probe::with_tables(&engine, &[&plain]).unwrap();
    probe.insert(&plain, row![1, "a"]).unwrap();
    let wide = note(|table| {
        table.column(text()).column(ColumnSchema::of::<i64>("rank").check("rank > 0"))
    });
    let add = [SchemaChange::AddColumn { table: Arc::clone(&wide), column: 2 }];
    assert_eq!(engine.alter(&add).unwrap_err().kind(), ErrorKind::Constraint);
    assert_eq!(probe.all(&plain).unwrap(), [row![1, "a"]]);
    probe.delete(&plain, row![1]).unwrap();
    engine.alter(&add).unwrap();
    let broken = probe.insert(&wide, row![1, "a", 0]).unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::Constraint);
}

#[test]
fn a_change_of_a_living_connection_is_waited_for() {
    if !has_server() {
        return;
    }
    let settings = settings();
    let (engine, other) =
        (settings.clone().connect().unwrap(), settings.clone().connect().unwrap());
    let plain = note(|table| table.column(text()));
    let checked = note(|table| table.column(text().check("body <> 'no'")));
    let probe = Probe::with_tables(&engine, &[&checked]).unwrap();
    probe.insert(&checked, row![1, "a"]).unwrap();
    // As a change leaves it after its second transaction.
    let living = number(&other, "SELECT CURRENT_CONNECTION FROM RDB$DATABASE");
    let Value::Int(living) = living else { panic!("{living:?}") };
    let check = "SELECT TRIM(RDB$CONSTRAINT_NAME) FROM RDB$RELATION_CONSTRAINTS WHERE RDB$CONSTRAINT_TYPE = 'CHECK'";
    let Value::Text(name) = number(&engine, check) else { panic!("no check") };
    let description = "SELECT RDB$DESCRIPTION FROM RDB$RELATIONS WHERE RDB$RELATION_NAME = 'NOTE'";
    let Value::Text(comment) = number(&engine, description) else { panic!("no comment") };
    let comment =
        comment.replace("bobak: ", &format!("bobak change {living}: ")).replace('\'', "''");
    run(&engine, &format!("ALTER TABLE note DROP CONSTRAINT {name}"));
    run(&engine, &format!("COMMENT ON TABLE note IS '{comment}'"));
    let busy = alter(&engine, &plain, &[], &[]).unwrap_err();
    assert_eq!((busy.kind(), busy.table()), (ErrorKind::Busy, Some("note")), "{busy}");
    // A program that opens the database leaves it, too.
    drop(settings.clone().connect().unwrap());
    probe.insert(&checked, row![2, "no"]).unwrap();
    drop(other);
    // Nobody can add the rule that a row breaks.
    let mut error = alter(&engine, &plain, &[], &[]).unwrap_err();
    while error.kind() == ErrorKind::Busy {
        std::thread::sleep(Duration::from_millis(5));
        error = alter(&engine, &plain, &[], &[]).unwrap_err();
    }
    assert_eq!((error.kind(), error.table()), (ErrorKind::Constraint, Some("note")), "{error}");
    assert!(error.to_string().contains("has not ended"), "{error}");
    probe.delete(&checked, row![2]).unwrap();
    drop(settings.connect().unwrap());
    let broken = probe.insert(&checked, row![2, "no"]).unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::Constraint);
    alter(&engine, &plain, &[], &[]).unwrap();
}

#[test]
fn a_table_that_others_hold_is_changed_without_a_copy_only() {
    if !has_server() {
        return;
    }
    let settings = settings();
    let (engine, other) = (settings.clone().connect().unwrap(), settings.connect().unwrap());
    let plain = note(|table| table.column(text()).column(ColumnSchema::of::<Option<i64>>("num")));
    Probe::with_tables(&engine, &[&plain]).unwrap();
    let idle = Probe::new(&other).unwrap();
    idle.insert(&plain, row![1, "a", 1]).unwrap();
    idle.all(&plain).unwrap();
    // A statement that was prepared before would write the text into the column that is dropped.
    let unique =
        note(|table| table.column(text().unique()).column(ColumnSchema::of::<Option<i64>>("num")));
    let reused = note(|table| table.column(text()));
    let memo = Arc::new(plain.rename("memo", |_| None).unwrap());
    for (to, renamed, dropped) in [
        (&unique, &[][..], &[][..]),
        (&memo, &[], &[]),
        (
            &note(|t| t.column(ColumnSchema::of::<Option<i64>>("body"))),
            &[("num", "body")],
            &["body"],
        ),
    ] {
        let error = alter(&engine, to, renamed, dropped).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert_eq!(engine.tables().unwrap().len(), 1);
    }
    idle.insert(&plain, row![2, "b", 2]).unwrap();
    let indexed =
        note(|table| table.column(text()).column(ColumnSchema::of::<Option<i64>>("num").unique()));
    alter(&engine, &indexed, &[], &[]).unwrap();
    assert_eq!(idle.insert(&plain, row![3, "c", 2]).unwrap_err().kind(), ErrorKind::Duplicate);
    assert_eq!(idle.all(&plain).unwrap(), [row![1, "a", 1], row![2, "b", 2]]);
    drop(idle);
    drop(other);
    alter(&engine, &reused, &[], &["num"]).unwrap();
    let unique = note(|table| table.column(text().unique()));
    alter(&engine, &unique, &[], &[]).unwrap();
    assert_eq!(Probe::new(&engine).unwrap().all(&unique).unwrap(), [row![1, "a"], row![2, "b"]]);
}
