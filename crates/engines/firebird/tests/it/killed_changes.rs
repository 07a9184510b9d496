//! Connections that end at packets of a change of a table: the old form or the new one is left, whole, with all rows.
//! `BOBAK_KILL_EVERY=1` ends them at each packet.

use crate::relay::Relay;
use crate::stores::{has_server, new_url};
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, OnDelete, SchemaChange, TableAlteration, TableSchema,
    TableSchemaBuilder, Value,
};
use bobak_firebird::{Firebird, FirebirdBuilder};
use bobak_testkit::crash::kill_interval;
use bobak_testkit::{NULL, Probe, row};
use std::sync::Arc;

type Table = Arc<TableSchema>;

fn table(name: &str, build: impl Fn(TableSchemaBuilder) -> TableSchemaBuilder) -> Table {
    let table = TableSchema::builder(name.to_owned()).column(ColumnSchema::of::<i64>("id"));
    Arc::new(build(table.key(["id"])).build().unwrap())
}

/// A team, and people whose foreign key has an action.
fn old_tables() -> [Table; 2] {
    let team =
        table("team", |t| t.column(ColumnSchema::of::<String>("name").max_chars(20).unique()));
    let staff = table("staff", |t| {
        t.column(ColumnSchema::of::<Option<String>>("name"))
            .column(ColumnSchema::of::<i16>("age").check("age >= 18"))
            .column(ColumnSchema::of::<Option<String>>("fax").max_chars(20))
            .column(ColumnSchema::of::<Option<i64>>("team").references(
                "team",
                "id",
                OnDelete::Cascade,
            ))
            .index("staff_by_age", ["age", "fax"])
    });
    [team, staff]
}

/// A change, and how the tables differ after it.
struct Scenario {
    change: TableAlteration,
    /// The tables afterwards, with their rows.
    after: Vec<(Table, Vec<Vec<Value<'static>>>)>,
    before: Vec<(Table, Vec<Vec<Value<'static>>>)>,
    /// Rows of the old and the new form that break rules: the number of the table, and why.
    broken: [Vec<(usize, Vec<Value<'static>>, ErrorKind)>; 2],
}

fn old_rows() -> Vec<(Table, Vec<Vec<Value<'static>>>)> {
    let [team, staff] = old_tables();
    let people = vec![row![1, "Zoé", 36, "1", 1], row![2, NULL, 40, NULL, NULL]];
    vec![(team, vec![row![1, "red"], row![2, "blue"]]), (staff, people)]
}

fn broken_before() -> Vec<(usize, Vec<Value<'static>>, ErrorKind)> {
    vec![
        (0, row![3, "red"], ErrorKind::Duplicate),
        (1, row![3, "tim", 17, NULL, NULL], ErrorKind::Constraint),
        (1, row![3, "tim", 18, NULL, 9], ErrorKind::Constraint),
    ]
}

/// Names, a dropped and a new column, rules and indexes, with another type of a text or without.
fn new_rules(
    title: ColumnSchema,
    broken: Vec<(usize, Vec<Value<'static>>, ErrorKind)>,
) -> Scenario {
    let [team, staff] = old_tables();
    let to = table("staff", |t| {
        t.column(title.clone().check("title <> 'x'"))
            .column(ColumnSchema::of::<i64>("years").check("years >= 21 AND rank > 0"))
            .column(ColumnSchema::of::<Option<i64>>("team").references(
                "team",
                "id",
                OnDelete::SetNull,
            ))
            .column(ColumnSchema::of::<i64>("rank").default(7))
            .index("staff_by_years", ["years"])
            .unique_index("staff_once", ["team", "years"])
    });
    let renamed = [("name", "title"), ("age", "years")];
    let people = vec![row![1, "Zoé", 36, 1, 7], row![2, NULL, 40, NULL, 7]];
    let change = TableAlteration::new(staff, Arc::clone(&to), &renamed, &["fax"]).unwrap();
    let mut all = vec![
        (1, row![3, "x", 30, NULL, 1], ErrorKind::Constraint),
        (1, row![3, "a", 20, NULL, 1], ErrorKind::Constraint),
        (1, row![3, "a", 30, 9, 1], ErrorKind::Constraint),
        (1, row![3, "a", 30, NULL, NULL], ErrorKind::Constraint),
        (1, row![3, "a", 36, 1, 1], ErrorKind::Duplicate),
    ];
    all.extend(broken);
    Scenario {
        change,
        before: old_rows(),
        after: vec![(team, old_rows().remove(0).1), (to, people)],
        broken: [broken_before(), all],
    }
}

/// A change that needs no copy of the rows.
fn in_place() -> Scenario {
    new_rules(ColumnSchema::of::<Option<String>>("title"), Vec::new())
}

/// The same with a text of another type, for which the rows are copied.
fn copied() -> Scenario {
    let title = ColumnSchema::of::<Option<String>>("title").max_chars(40).unique();
    new_rules(title, vec![(1, row![3, "Zoé", 30, NULL, 1], ErrorKind::Duplicate)])
}

/// A table and its key get other names; a foreign key follows.
fn renamed_table() -> Scenario {
    let [team, staff] = old_tables();
    let names = [("id", "number"), ("name", "title")];
    let new = |name: &str| names.iter().find(|pair| pair.0 == name).map(|pair| pair.1);
    let club = Arc::new(team.rename("club", new).unwrap());
    let change = TableAlteration::new(team, Arc::clone(&club), &names, &[]).unwrap();
    let staff = Arc::new(change.follow(&staff).unwrap());
    let mut rows = old_rows().into_iter().map(|(_, rows)| rows);
    Scenario {
        before: old_rows(),
        after: vec![(club, rows.next().unwrap()), (staff, rows.next().unwrap())],
        broken: [broken_before(), broken_before()],
        change,
    }
}

/// The key of a referenced table gets another name, in place.
fn renamed_key() -> Scenario {
    let [team, staff] = old_tables();
    let names = [("id", "number")];
    let new = |name: &str| (name == "id").then_some("number");
    let to = Arc::new(team.rename("team", new).unwrap());
    let change = TableAlteration::new(team, Arc::clone(&to), &names, &[]).unwrap();
    let staff = Arc::new(change.follow(&staff).unwrap());
    let mut rows = old_rows().into_iter().map(|(_, rows)| rows);
    Scenario {
        before: old_rows(),
        after: vec![(to, rows.next().unwrap()), (staff, rows.next().unwrap())],
        broken: [broken_before(), broken_before()],
        change,
    }
}

fn open(url: &str) -> Firebird {
    FirebirdBuilder::from_url(url).unwrap().connect().unwrap()
}

fn count(engine: &Firebird, sql: &str) -> i64 {
    let probe = Probe::new(engine).unwrap();
    let source = bobak_core::Source::Sql { text: sql, parameters: &[] };
    match probe.query(&source).unwrap().remove(0).remove(0) {
        Value::Int(count) => count,
        other => panic!("{other:?}"),
    }
}

/// Checks the tables, their rows and their rules, and that nothing else is left.
fn is_whole(engine: &Firebird, scenario: &Scenario, is_new: bool, at: &str) {
    let tables = if is_new { &scenario.after } else { &scenario.before };
    let left = "SELECT COUNT(*) FROM RDB$RELATIONS WHERE RDB$DESCRIPTION STARTING WITH 'bobak '";
    assert_eq!(count(engine, left), 0, "{at}");
    let left =
        "SELECT COUNT(*) FROM RDB$RELATION_FIELDS WHERE RDB$FIELD_NAME STARTING WITH 'BOBAK_'";
    assert_eq!(count(engine, left), 0, "{at}");
    let probe = Probe::new(engine).unwrap();
    let found = engine.tables().unwrap();
    assert_eq!(found.len(), tables.len(), "{at}");
    for (table, rows) in tables {
        let found = found.iter().find(|other| other.name() == table.name()).unwrap();
        let sorted = |table: &TableSchema| {
            let mut columns = table.columns().to_vec();
            columns.sort_by(|a, b| a.name.cmp(&b.name));
            columns
        };
        assert_eq!(sorted(found), sorted(table), "{at}");
        assert_eq!(found.indexes().len(), table.indexes().len(), "{at}");
        assert_eq!(probe.all(table).unwrap(), *rows, "{at}");
    }
    for (table, row, kind) in &scenario.broken[usize::from(is_new)] {
        let error = probe.insert(&tables[*table].0, row.clone()).unwrap_err();
        assert_eq!(error.kind(), *kind, "{at}: {error}");
    }
}

/// Waits until the server has noticed that the other connections are gone.
fn wait_alone(url: &str) {
    let engine = open(url);
    let others = "SELECT COUNT(*) FROM MON$ATTACHMENTS WHERE MON$USER = CURRENT_USER \
                  AND MON$ATTACHMENT_ID <> CURRENT_CONNECTION";
    while count(&engine, others) > 0 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Cuts the connection at a packet, which the server gets if `sends_last`; returns whether the change was acknowledged, and
/// whether the new form was left.
fn cut_at(scenario: &Scenario, packet: u64, sends_last: bool) -> (bool, bool) {
    let (url, at) = (new_url(), format!("packet {packet}, sent: {sends_last}"));
    {
        let engine = open(&url);
        let tables: Vec<&Table> = scenario.before.iter().map(|(table, _)| table).collect();
        let probe = Probe::with_tables(&engine, &tables).unwrap();
        for (table, rows) in &scenario.before {
            probe.insert_all(table, rows.clone()).unwrap();
        }
    }
    let (relay, through) = Relay::start(&url);
    let engine = open(&through);
    relay.cut_at(packet, sends_last);
    let change = SchemaChange::AlterTable(Arc::new(scenario.change.clone()));
    let done = engine.alter(std::slice::from_ref(&change));
    drop(engine);
    if let Err(error) = &done {
        let expected = [ErrorKind::Unreachable, ErrorKind::Unknown];
        assert!(expected.contains(&error.kind()), "{at}: {error}");
    }
    wait_alone(&url);
    let engine = open(&url);
    let is_new = engine.tables().unwrap().iter().all(|found| {
        scenario.after.iter().any(|(table, _)| {
            table.name() == found.name()
                && table.columns().iter().all(|column| found.column(&column.name).is_ok())
        })
    });
    assert!(is_new || done.is_err(), "{at}: done, and lost");
    is_whole(&engine, scenario, is_new, &at);
    if !is_new {
        engine.alter(&[change]).unwrap_or_else(|error| panic!("{at}: {error}"));
        is_whole(&engine, scenario, true, &at);
    }
    (done.is_ok(), is_new)
}

/// Cuts the connection at every third packet, or at each, and at each of the last ones, with the commit among them; returns
/// how often the old and the new form was left.
fn cut_at_packets(scenario: &Scenario, is_sent: impl Fn(u64) -> bool) -> [u32; 2] {
    let mut left = [0; 2];
    let mut cut = |packet| {
        let (is_done, is_new) = cut_at(scenario, packet, is_sent(packet));
        left[usize::from(is_new)] += 1;
        is_done
    };
    let mut packet = 1;
    while !cut(packet) {
        packet += kill_interval(3);
    }
    for last in packet.saturating_sub(8).max(1)..packet {
        cut(last);
    }
    left
}

fn check(scenario: &Scenario, is_sent: impl Fn(u64) -> bool) {
    if !has_server() {
        return;
    }
    let [old, new] = cut_at_packets(scenario, is_sent);
    println!("{old} times the old form, {new} times the new one");
    assert!(old > 10 && new > 0, "{old} {new}");
}

#[test]
fn a_change_in_place_is_made_or_not() {
    check(&in_place(), |packet| packet % 2 == 0);
}

#[test]
fn a_change_by_a_copy_is_made_or_not() {
    check(&copied(), |_| false);
}

#[test]
fn a_change_by_a_copy_is_made_or_not_without_a_response() {
    check(&copied(), |_| true);
}

#[test]
fn another_name_of_a_table_is_given_or_not() {
    check(&renamed_table(), |packet| packet % 2 == 0);
}

#[test]
fn another_name_of_a_key_is_given_or_not() {
    check(&renamed_key(), |packet| packet % 2 == 0);
}
