//! Joins as one statement against joins in this process: random ones, on each engine with SQL.

use crate::engines::on_each;
use bobak::engine::{Engine, EngineLayer, Join, Session, SessionLayer};
use bobak::prelude::*;
use bobak::query::{AnyOf, PageRequest, whole};
use bobak::relation::ToMany;
use bobak::{Row, ValueRef};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Record, Debug, Clone, PartialEq)]
pub(crate) struct Area {
    #[record(key)]
    pub(crate) code: String,
    #[record(collation = "nocase", max = 20)]
    pub(crate) name: Option<String>,
    pub(crate) founded: Date,
}

#[derive(Record, Debug, Clone, PartialEq)]
pub(crate) struct Person {
    pub(crate) id: i64,
    #[record(references = Area)]
    pub(crate) area_id: Option<String>,
    #[record(collation = "unicode_nocase")]
    pub(crate) name: String,
    pub(crate) pay: Option<Currency>,
    pub(crate) active: bool,
    pub(crate) score: Option<f64>,
    pub(crate) born: Option<DateTime>,
}

#[derive(Record, Debug, Clone, PartialEq)]
pub(crate) struct Task {
    pub(crate) id: Uuid,
    #[record(references = Person, index)]
    pub(crate) person_id: Option<i64>,
    pub(crate) hours: i32,
    pub(crate) count: u32,
    pub(crate) rate: Currency,
    pub(crate) big: i64,
    pub(crate) start: Option<Time>,
    pub(crate) done: Option<Timestamp>,
    #[record(max = 30)]
    pub(crate) label: Option<String>,
}

impl Area {
    pub(crate) const PEOPLE: ToMany<Area, Person> = Person::AREA.inverse();
    const TASKS: ToMany<Area, Task> = Area::PEOPLE.then_many(Person::TASKS);
}

impl Person {
    pub(crate) const TASKS: ToMany<Person, Task> = Task::PERSON.inverse();
}

fn model() -> bobak::DbBuilder {
    Db::builder().record::<Area>().record::<Person>().record::<Task>()
}

/// An engine that runs joins and counts them, or that runs none.
struct Joining {
    inner: Arc<dyn Engine>,
    runs: bool,
    joins: Arc<AtomicU64>,
}

struct JoiningSession<'a> {
    inner: Box<dyn Session + 'a>,
    engine: &'a Joining,
}

impl EngineLayer for Joining {
    fn inner(&self) -> &dyn Engine {
        &*self.inner
    }

    fn session(&self) -> bobak::Result<Box<dyn Session + '_>> {
        Ok(Box::new(JoiningSession { inner: self.inner.session()?, engine: self }))
    }
}

impl SessionLayer for JoiningSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn join(
        &self,
        join: &Join,
        row: &mut dyn FnMut(&dyn Row) -> bobak::Result<bool>,
    ) -> bobak::Result<bool> {
        #[cfg(feature = "remote")]
        crate::remote_joins::check_message(join);
        let ran = self.engine.runs && self.inner.join(join, row)?;
        self.engine.joins.fetch_add(ran.into(), Ordering::Relaxed);
        Ok(ran)
    }
}

/// A random number generator with a seed.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % limit
    }

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(4) > 0).then(|| value(self))
    }

    pub(crate) fn text(&mut self) -> String {
        ["", "a", "A", "b", "ä", "Ä", "B", "ab", "Ab", " a  "][self.below(10) as usize].to_owned()
    }

    pub(crate) fn money(&mut self) -> Currency {
        Currency::from_scaled(self.below(90_001) as i64 - 45_000)
    }
}

/// A value from the integer that is stored.
fn stored<V: Field>(integer: i64) -> V {
    V::from_value(ValueRef::Int(integer)).unwrap()
}

fn fill(db: &Db, random: &mut Random) {
    let micros = |n: u64| n as i64 * 3_600_000_017 - 4_000_000_000;
    for code in ["", "a", "A", "ä", "b"] {
        let name = random.maybe(Random::text);
        db.table()
            .unwrap()
            .insert(&Area {
                code: code.into(),
                name,
                founded: stored(random.below(4) as i64 * 100 - 200),
            })
            .unwrap();
    }
    for id in 1..=12 {
        let person = Person {
            id,
            area_id: random.maybe(|r| ["", "a", "A", "ä", "b"][r.below(5) as usize].to_owned()),
            name: random.text(),
            pay: random.maybe(Random::money),
            active: random.below(2) == 0,
            score: random.maybe(|r| r.below(9) as f64 / 4.0),
            born: random.maybe(|r| stored(micros(r.below(5)))),
        };
        db.table().unwrap().insert(&person).unwrap();
    }
    for number in 1..=40_u128 {
        let task = Task {
            id: Uuid::from_value(ValueRef::Bytes(&(number * 7 % 41).to_be_bytes())).unwrap(),
            person_id: random.maybe(|r| r.below(12) as i64 + 1),
            hours: random.below(9) as i32 - 4,
            count: random.below(5) as u32,
            rate: random.money(),
            big: [1, -1, i64::MAX, i64::MIN, 1 << 40][random.below(5) as usize],
            start: random.maybe(|r| stored(r.below(5) as i64 * 61_000_001)),
            done: random.maybe(|r| stored(micros(r.below(5)))),
            label: random.maybe(Random::text),
        };
        db.table().unwrap().insert(&task).unwrap();
    }
}

/// The same tables, with joins as statements and without.
pub(crate) struct Paths {
    fast: Db,
    slow: Db,
    joins: Arc<AtomicU64>,
}

impl Paths {
    pub(crate) fn open(url: &str) -> Self {
        let paths = Self::of(url, model);
        fill(&paths.fast, &mut Random(5));
        paths
    }

    /// Two databases of a model, of which one runs joins in the engine.
    pub(crate) fn of(url: &str, model: fn() -> bobak::DbBuilder) -> Self {
        let inner = bobak::engine::open(url).unwrap();
        let joins = Arc::new(AtomicU64::new(0));
        let open = |runs| {
            let (inner, joins) = (Arc::clone(&inner), Arc::clone(&joins));
            model().open_engine(Joining { inner, runs, joins }).unwrap()
        };
        let paths = Self { fast: open(true), slow: open(false), joins };
        paths.fast.create_missing_tables().unwrap();
        paths
    }

    /// The database whose engine runs joins.
    pub(crate) const fn db(&self) -> &Db {
        &self.fast
    }

    pub(crate) fn compare<L, R: Debug>(&self, query: &bobak::query::JoinQuery<L, R>) {
        let rows = |db: &Db| db.list(query).map_err(|error| error.kind());
        assert_eq!(format!("{:?}", rows(&self.fast)), format!("{:?}", rows(&self.slow)));
    }

    /// The pages of a query are its rows, on both ways.
    pub(crate) fn check_pages<L, R: Debug + PartialEq>(
        &self,
        query: &bobak::query::JoinQuery<L, R>,
        random: &mut Random,
    ) {
        let rows = self.fast.list(query).unwrap();
        for db in [&self.fast, &self.slow] {
            let (mut read, mut next) = (Vec::new(), None);
            loop {
                let size = random.below(9) + 1;
                let request = PageRequest::size(size).after(next).with_total();
                let page = db.page(query, request).unwrap();
                assert_eq!(page.total, Some(rows.len() as u64));
                read.extend(page.items);
                match page.next {
                    Some(token) => next = Some(token),
                    None => break,
                }
            }
            assert_eq!(read, rows);
        }
    }

    /// How many joins the engine has run since the last call.
    pub(crate) fn joined(&self) -> u64 {
        self.joins.swap(0, Ordering::Relaxed)
    }
}

/// A query with some of the filters and orders, and perhaps a limit.
macro_rules! vary {
    ($random:ident, $query:expr, [$($filter:expr),* $(,)?], [$($order:expr),* $(,)?]) => {{
        let mut query = $query;
        $(if $random.below(6) == 0 { query = query.and($filter); })*
        $(if $random.below(4) == 0 { query = query.order_by($order); })*
        if $random.below(3) == 0 {
            query = query.limit($random.below(9));
        }
        if $random.below(4) == 0 {
            query = query.offset($random.below(4));
        }
        query
    }};
}

pub(crate) use vary;

fn random_rows(paths: &Paths, random: &mut Random) {
    let (text, money, hours) = (random.text(), random.money(), random.below(5) as i32 - 2);
    let amount = Task::RATE * Task::HOURS;
    let joined = Query::<Task>::filter(Task::COUNT.le(random.below(5) as u32 + 1))
        .left_join(Task::PERSON)
        .left_join_where(Person::AREA, Area::CODE.lt(text.clone()));
    let query = vary!(
        random,
        joined,
        [
            Person::NAME.eq(text.clone()),
            Area::NAME.ge(text.clone()),
            Task::LABEL.contains("a").not(),
            AnyOf((Task::HOURS.gt(hours), Person::ACTIVE.eq(true), amount.le(money))),
            (Task::HOURS - Task::COUNT).lt(i64::from(hours)),
            Person::TASKS.any(Task::HOURS.gt(hours)),
            AnyOf((Area::PEOPLE.none(Person::ACTIVE.eq(true)), Task::START.is_null())),
            Area::CODE.is_null(),
            Person::NAME.like("%a%"),
            Person::PAY.gt(money),
        ],
        [
            Person::NAME.desc(),
            Area::NAME.asc(),
            amount.asc(),
            Task::DONE.desc(),
            Person::SCORE.asc(),
            (Task::HOURS * 2 + 1).desc(),
            Task::LABEL.asc(),
        ]
    );
    match random.below(3) {
        0 => paths.compare(&query),
        1 => paths.compare(&query.select((amount, Person::NAME, Area::NAME, Task::START, 7_i64))),
        _ => paths.compare(&query.select((whole::<Person>(), amount + money, Task::COUNT * 3))),
    }
}

fn random_groups(paths: &Paths, random: &mut Random) {
    let (text, money, hours) = (random.text(), random.money(), random.below(5) as i32 - 2);
    let amount = Task::RATE * Task::HOURS;
    let joined = Query::<Area>::all().left_join(Area::PEOPLE).left_join(Person::TASKS);
    let query = vary!(
        random,
        joined,
        [
            Area::FOUNDED.gt(stored::<Date>(0)),
            Task::HOURS.gt(hours),
            AnyOf((Person::NAME.starts_with("a"), Task::RATE.lt(money))),
            amount.sum().gt(money),
            amount.avg().lt(2.5),
            AnyOf((Task::LABEL.max().ge(Some(text)), bobak::count::<Task>().lt(3))),
            Task::HOURS.avg().gt(0.25),
        ],
        [amount.sum().desc(), bobak::count::<Person>().asc(), Task::LABEL.min().desc()]
    );
    let totals = (amount.sum(), amount.avg(), Task::HOURS.avg(), bobak::count::<Task>());
    let extremes = (Task::DONE.max(), Task::LABEL.min(), Task::START.min(), amount.max());
    match random.below(4) {
        0 => {
            let by_area = query.group_by(Area::CODE).order_by(Area::NAME.desc());
            paths.compare(&by_area.select((Area::CODE, Area::NAME, totals, extremes)));
        }
        1 => {
            let by_person = query.group_by(Person::ID).group_by(Area::FOUNDED);
            let columns = (Person::NAME, Person::BORN, Area::FOUNDED, totals);
            paths.compare(&by_person.order_by(Person::NAME.asc()).select(columns));
        }
        2 => {
            let by_values = query.group_by(Task::COUNT).group_by(Person::ACTIVE);
            let sums =
                (Task::COUNT.sum(), Person::SCORE.max(), Person::PAY.min(), Task::HOURS.max());
            paths.compare(&by_values.select((Task::COUNT * 2, Person::ACTIVE, sums)));
        }
        _ => paths.compare(&query.select((totals, extremes))),
    }
}

/// What engines calculate otherwise, and numbers beyond 64 bits.
fn limits(paths: &Paths) {
    let joined = || Query::<Person>::all().join(Person::TASKS);
    for factor in [1, 2, i64::MAX] {
        paths.compare(&joined().select((Task::BIG * factor).max()));
        paths.compare(&joined().select(Task::BIG * factor - 1));
        paths.compare(
            &joined().group_by(Person::ID).select((Person::ID, (Task::BIG * factor).sum())),
        );
        paths.compare(&joined().and((Task::BIG + factor).gt(0)).select(Task::ID));
    }
    assert!(paths.joined() > 0, "errors are those of the engine");
    paths.compare(&joined().select((Person::SCORE.sum(), Person::SCORE.avg())));
    paths.compare(&joined().group_by(Person::NAME).select((Person::NAME, bobak::count::<Task>())));
    paths.compare(&Query::<Area>::all().join(Area::TASKS).group_by(Area::NAME).select(Area::NAME));
    assert_eq!(paths.joined(), 0, "the engine would calculate otherwise");
    paths.compare(&joined().select((Person::SCORE * Task::HOURS, Person::SCORE * 0.1)));
}

/// The pages of a query are its rows.
fn random_pages(paths: &Paths, random: &mut Random) {
    let (text, hours) = (random.text(), random.below(5) as i32 - 2);
    let mut query = Query::<Task>::all().left_join(Task::PERSON).left_join(Person::AREA);
    if random.below(2) == 0 {
        query = query.and(AnyOf((Person::NAME.lt(text), Task::HOURS.gt(hours))));
    }
    match random.below(4) {
        0 => query = query.order_by(Person::NAME.desc()).order_by(Task::LABEL.asc()),
        1 => query = query.order_by((Person::PAY * Task::HOURS).desc()),
        2 => query = query.order_by(Area::NAME.desc()).order_by(Task::START.desc()),
        _ => query = query.order_by(Person::SCORE.asc()).order_by(Person::ACTIVE.desc()),
    }
    let query = query.select((Task::ID, Person::NAME, Area::CODE));
    paths.check_pages(&query, random);
}

pub(crate) fn check(url: &str) {
    let paths = Paths::open(url);
    limits(&paths);
    paths.joined();
    let mut random = Random(11);
    for _ in 0..150 {
        random_rows(&paths, &mut random);
        random_groups(&paths, &mut random);
    }
    assert_eq!(paths.joined(), 300, "{url}");
    for _ in 0..30 {
        random_pages(&paths, &mut random);
    }
}

#[test]
fn joins_as_statements_have_the_same_rows() {
    on_each(|place| {
        if !place.is_memory_engine() {
            check(&place.url);
        }
    });
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn joins_as_statements_of_servers_have_the_same_rows() {
    crate::engines::on_servers(check);
}
