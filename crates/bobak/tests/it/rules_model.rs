//! The layer of rules and hooks behaves like the engine behind it, and random programs leave what a model in memory says.

use bobak::Result;
use bobak::batch::OnError;
use bobak::engine::memory::Memory;
use bobak::engine::{Engine, EngineLayer, Session};
use bobak::prelude::*;
use bobak::rules::Violations;
use bobak_testkit::Fixture;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The tables of the conformance suite and of its random programs that most cases write to.
#[derive(Record)]
#[record(table = "person", validate = anything)]
struct Person {
    id: i64,
    #[record(normalize = same, validate = accept)]
    name: String,
    email: Option<String>,
    #[record(range = ..)]
    age: Option<i32>,
}

#[derive(Record)]
struct Document {
    #[record(key = "given")]
    id: i64,
    #[record(normalize = same)]
    title: String,
    hits: Option<i64>,
    #[record(version)]
    version: i64,
}

fn anything(_: &Person, _: &mut Violations) {}

fn same(text: String) -> String {
    text
}

fn accept(_: &str) -> std::result::Result<(), String> {
    Ok(())
}

/// An engine that a test passes on.
pub struct Passed(pub Arc<dyn Engine>);

impl EngineLayer for Passed {
    fn inner(&self) -> &dyn Engine {
        &*self.0
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        self.0.session()
    }
}

fn behind(engine: Box<dyn Engine>, hooks: bool) -> Box<dyn Engine> {
    let mut builder = Db::builder().record::<Person>().record::<Document>();
    if hooks {
        builder = builder
            .before_insert(|_, _: &mut Person| Ok(()))
            .after_insert(|_, _: &Person| Ok(()))
            .before_update(|_, _: &Person, _| Ok(()))
            .after_update(|_, _: &Person, _| Ok(()))
            .before_delete(|_, _: &Person| Ok(()))
            .after_delete(|_, _: &Person| Ok(()))
            .before_insert(|_, _: &mut Document| Ok(()))
            .before_update(|_, _: &Document, _| Ok(()))
            .after_delete(|_, _: &Document| Ok(()));
    }
    let db = builder.open_engine(Passed(Arc::from(engine))).unwrap();
    Box::new(Passed(db.engine().unwrap()))
}

fn memory() -> Result<Fixture> {
    Ok(Fixture::volatile(Memory::builder().busy_timeout(Duration::from_millis(100)).open()?))
}

fn sqlite() -> Result<Fixture> {
    let engine = bobak::engine::sqlite::Sqlite::builder().busy_timeout(Duration::from_millis(100));
    Ok(Fixture::volatile(engine.open_memory()?))
}

#[test]
fn the_conformance_suite_passes_behind_rules_and_hooks() {
    for hooks in [false, true] {
        for inner in [memory, sqlite] {
            let fresh = || inner()?.wrapped(move |engine| behind(engine, hooks));
            let failed = bobak_testkit::run(&fresh);
            // Without a required column of the record, its hooks cannot run.
            let dropped = "alterations::columns_are_dropped_and_added";
            let failed: Vec<_> = failed
                .iter()
                .filter(|(name, _)| !(hooks && *name == dropped))
                .map(|(name, failure)| format!("{name}: {failure}"))
                .collect();
            assert!(failed.is_empty(), "hooks {hooks}:\n{}", failed.join("\n"));
        }
    }
}

#[test]
fn random_programs_behave_the_same_behind_rules_and_hooks() {
    for hooks in [false, true] {
        let fresh = || memory()?.wrapped(move |engine| behind(engine, hooks));
        for seed in 0..8 {
            bobak_testkit::model::compare(seed, 150, &memory, &fresh).unwrap();
        }
    }
}

/// What random programs write.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "ruled_part", validate = check_part)]
struct Part {
    #[record(key = "given")]
    id: i64,
    #[record(trim, lowercase, length = 1..=4)]
    name: String,
    #[record(range = 0..=9)]
    low: i64,
    #[record(range = ..20)]
    high: Option<i64>,
}

fn check_part(part: &Part, violations: &mut Violations) {
    if part.high.is_some_and(|high| high < part.low) {
        violations.add(Part::HIGH, "must not be below low");
    }
}

type Model = BTreeMap<i64, Part>;

/// The same numbers for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// The part as it would be stored, or how many rules reject it.
fn ruled(mut part: Part) -> std::result::Result<Part, usize> {
    part.name = part.name.trim().to_lowercase();
    let wrong = [
        !(1..=4).contains(&part.name.chars().count()),
        !(0..=9).contains(&part.low),
        part.high.is_some_and(|high| high >= 20),
        part.high.is_some_and(|high| high < part.low),
    ];
    let count = wrong.iter().filter(|wrong| **wrong).count();
    if count == 0 { Ok(part) } else { Err(count) }
}

fn random_part(random: &mut Random) -> Part {
    let names = ["a", " B ", "", "  ", "Äöü", "toolong", "x\t", "ABCD"];
    let number = |random: &mut Random| random.below(14) as i64 - 2;
    Part {
        id: random.below(6) as i64,
        name: names[random.below(8) as usize].to_owned(),
        low: number(random),
        high: (random.below(3) > 0).then(|| number(random) * 2),
    }
}

/// Inserts or replaces a part in the model. `None`: its key exists.
fn put(model: &mut Model, part: Part, replace: bool) -> Option<()> {
    if !replace && model.contains_key(&part.id) {
        return None;
    }
    model.insert(part.id, part);
    Some(())
}

/// What a write did, in words that the model and the database share.
fn reported<R>(result: &Result<R>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(error) if error.kind() == ErrorKind::Invalid => {
            format!("Invalid {}", error.violations().len())
        }
        Err(error) => format!("{:?}", error.kind()),
    }
}

fn reported_set(result: Result<bool>) -> String {
    if matches!(result, Ok(false)) { "NotFound".to_owned() } else { reported(&result) }
}

fn expected(model: &mut Model, part: Part, replace: bool) -> String {
    match ruled(part) {
        Err(count) => format!("Invalid {count}"),
        Ok(part) => put(model, part, replace).map_or("Duplicate".into(), |()| "ok".into()),
    }
}

fn step(db: &Db, model: &mut Model, random: &mut Random) -> Result<(String, String)> {
    let parts = db.table::<Part>()?;
    let part = random_part(random);
    let (id, stored) = (part.id, model.get(&part.id).cloned());
    let updated = |model: &mut Model, change: &dyn Fn(&mut Part)| match stored.clone() {
        None => "NotFound".to_owned(),
        Some(mut stored) => {
            change(&mut stored);
            expected(model, stored, true)
        }
    };
    Ok(match random.below(6) {
        0 => (reported(&parts.insert(&part)), expected(model, part, false)),
        1 => (reported(&parts.upsert(&part)), expected(model, part, true)),
        2 => {
            let assigned = [Part::LOW.set(part.low), Part::NAME.set(&part.name)];
            let found = reported_set(parts.set(id, assigned));
            let change =
                |stored: &mut Part| (stored.low, stored.name) = (part.low, part.name.clone());
            (found, updated(model, &change))
        }
        3 => {
            let found = reported_set(parts.set(id, [Part::LOW.add(part.low)]));
            (found, updated(model, &|stored: &mut Part| stored.low += part.low))
        }
        4 => (format!("{}", parts.delete(id)?), format!("{}", model.remove(&id).is_some())),
        _ => {
            let mut batch = db.batch(BatchOptions::new().on_error(OnError::Continue));
            let rows: Vec<_> = (0..1 + random.below(5)).map(|_| random_part(random)).collect();
            rows.iter().try_for_each(|row| batch.insert(row))?;
            let report = batch.finish()?;
            let outcomes: Vec<_> = report
                .outcomes()
                .map(|outcome| reported(&outcome.map_err(Error::to_bare)))
                .collect();
            let rows = rows.into_iter().map(|row| expected(model, row, false));
            (outcomes.join(", "), rows.collect::<Vec<_>>().join(", "))
        }
    })
}

/// Runs random programs on an engine, with and without hooks.
fn play(url: &str) {
    for hooks in [false, true] {
        for seed in 0..8 {
            let mut builder = Db::builder().record::<Part>();
            if hooks {
                builder = builder
                    .before_update(|_, _: &Part, _| Ok(()))
                    .after_insert(|_, _: &Part| Ok(()));
            }
            let db = builder.open(url).unwrap();
            db.create_missing_tables().unwrap();
            let parts = db.table::<Part>().unwrap();
            parts.delete_where(Part::ID.ge(0)).unwrap();
            let (mut model, mut random) = (Model::new(), Random(seed));
            for number in 0..60 {
                let (found, wanted) = step(&db, &mut model, &mut random).unwrap();
                assert_eq!(found, wanted, "{url}, hooks {hooks}, seed {seed}, step {number}");
                let stored = parts.list(Query::all()).unwrap();
                assert!(stored.iter().eq(model.values()), "seed {seed}, step {number}: {stored:?}");
            }
        }
    }
}

#[test]
fn random_programs_keep_the_rules_on_memory_and_sqlite() {
    play("memory:");
    play("sqlite::memory:");
}

#[test]
#[cfg(feature = "kv")]
fn random_programs_keep_the_rules_in_a_key_value_file() {
    let folder = tempfile::tempdir().unwrap();
    play(&format!("kv:{}", folder.path().join("parts.kv").display()));
}

#[test]
#[cfg(feature = "postgres")]
fn random_programs_keep_the_rules_on_postgres() {
    crate::engines::on_postgres(play);
}

#[test]
#[cfg(feature = "mysql")]
fn random_programs_keep_the_rules_on_mariadb() {
    crate::engines::on_mariadb(play);
}
