//! Sets of the values of an enum, on each engine, against all rows tested here.

use crate::engines::on_each;
#[cfg(all(feature = "mysql", feature = "postgres"))]
use crate::engines::{on_firebird, on_servers};
use bobak::prelude::*;
use bobak::query::{from, not};

#[derive(Field, Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[field(store = "integer")]
enum Label {
    Urgent,
    Secret,
    #[allow(dead_code, reason = "members need not have adjacent numbers")]
    Unused = 7,
    Last = 62,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Task {
    id: i64,
    labels: EnumSet<Label>,
    former: Option<EnumSet<Label>>,
}

const USED: [Label; 3] = [Label::Urgent, Label::Secret, Label::Last];

/// Each set of the used labels, and NULL for some of the others.
fn tasks() -> Vec<Task> {
    let set = |number: usize| -> EnumSet<Label> {
        let labels = USED.into_iter().enumerate();
        labels.filter(|(bit, _)| number >> bit & 1 == 1).map(|(_, label)| label).collect()
    };
    let task = |number: usize| {
        let former = (!number.is_multiple_of(3)).then(|| set(7 - number));
        Task { id: number as i64 + 1, labels: set(number), former }
    };
    (0..8).map(task).collect()
}

#[test]
fn sets_are_stored_and_compared_on_each_engine() {
    on_each(|place| check(&place.url));
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn sets_are_stored_and_compared_on_servers() {
    on_servers(check);
    on_firebird(check);
}

fn check(url: &str) {
    let db = Db::builder().record::<Task>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    let table = db.table::<Task>().unwrap();
    for task in tasks() {
        assert_eq!(table.insert(&task).unwrap(), task.id);
    }
    assert_eq!(table.list(Query::all()).unwrap(), tasks());
    assert_eq!(table.list(Task::LABELS.eq(EnumSet::from(USED))).unwrap().len(), 1);
    check_conditions(&db);
    table.set(1, [Task::LABELS.set(EnumSet::from([Label::Last]))]).unwrap();
    let stored = db.list(&from::<Task>().and(Task::ID.eq(1)).select(Task::LABELS)).unwrap();
    assert_eq!(stored, [EnumSet::from([Label::Last])]);
    let stored = db.sql::<i64>("SELECT labels FROM task WHERE id = 8", ()).unwrap();
    assert_eq!(stored, [3 + (1 << 62)]);
}

fn check_conditions(db: &Db) {
    let ids = |found: Vec<Task>| found.into_iter().map(|task| task.id).collect::<Vec<_>>();
    let expected = |matches: &dyn Fn(&Task) -> bool| {
        ids(tasks().into_iter().filter(|task| matches(task)).collect())
    };
    let all = from::<Task>;
    for label in USED {
        let found = db.list(&all().and(Task::LABELS.has(label))).unwrap();
        assert_eq!(ids(found), expected(&|task| task.labels.contains(&label)));
        let found = db.list(&all().and(not(Task::FORMER.has(label)))).unwrap();
        let without = |task: &Task| task.former.is_some_and(|former| !former.contains(&label));
        assert_eq!(ids(found), expected(&without));
    }
    let pair = [Label::Urgent, Label::Last];
    let set = EnumSet::from(pair);
    let found = db.list(&all().and(Task::LABELS.has_any(pair))).unwrap();
    assert_eq!(ids(found), expected(&|task| task.labels.intersects(&set)));
    let found = db.list(&all().and(Task::LABELS.has_all(pair))).unwrap();
    assert_eq!(ids(found), expected(&|task| task.labels.is_superset(&set)));
    assert_eq!(db.list(&all().and(Task::LABELS.has_any([]))).unwrap().len(), 0);
    assert_eq!(db.list(&all().and(Task::LABELS.has_all([]))).unwrap().len(), 8);
}

#[test]
fn other_bits_are_rejected() {
    let db = Db::builder().record::<Task>().open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    db.execute("INSERT INTO task (id, labels) VALUES (1, 12)", ()).unwrap();
    let error = db.table::<Task>().unwrap().require(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.message().contains("the set 12 has bits that no value of its enum has: 12"));
}

#[test]
fn sets_have_members() {
    let mut set = EnumSet::<Label>::new();
    assert!(set.is_empty() && !set.contains(&Label::Urgent));
    set.insert(Label::Last);
    set.insert(Label::Secret);
    assert_eq!((set.len(), format!("{set:?}")), (2, "{Secret, Last}".to_owned()));
    assert_eq!(set.iter().collect::<Vec<_>>(), [&Label::Secret, &Label::Last]);
    let json = serde_json::to_string(&set).unwrap();
    assert_eq!(json, r#"["Secret","Last"]"#);
    assert_eq!(serde_json::from_str::<EnumSet<Label>>(&json).unwrap(), set);
    set.remove(&Label::Last);
    assert_eq!(set, EnumSet::from([Label::Secret]));
    assert_eq!(EnumSet::<Label>::all().len(), 4);
}
