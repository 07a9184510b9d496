//! Random programs of a small application: authors who stay when they are deleted, books with an author, an editor and tags,
//! tenants, rules, and migrations in between. After each step the database has what a model in memory has.
//!
//! `BOBAK_SEED=7` runs one seed, `BOBAK_SEEDS=100` so many, `BOBAK_STEPS=1000` longer programs.

mod migrations;
mod reads;
mod scopes;
mod state;
mod writes;

use crate::engines::on_each;
use crate::rules_model::Random;
use bobak::engine::{Engine, SchemaChange};
use bobak::prelude::*;
use bobak::relation::ToMany;
use bobak::schema::TableSchema;
use bobak::{Result, Table, Transaction};
use migrations::History;
use state::State;
use std::sync::Arc;

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "am_author")]
pub struct Author {
    #[record(key = "given")]
    pub id: i64,
    pub tenant: i64,
    #[record(trim, lowercase, length = 1..=6)]
    pub name: String,
    #[record(deleted_at)]
    pub deleted_at: Option<Timestamp>,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "am_book")]
pub struct Book {
    #[record(key = "given")]
    pub id: i64,
    pub tenant: i64,
    #[record(references = Author, on_delete = "cascade", index)]
    pub author_id: i64,
    #[record(references = Author, on_delete = "set_null", index)]
    pub editor_id: Option<i64>,
    #[record(trim, length = 1..=6)]
    pub title: String,
    #[record(range = 0..=99)]
    pub pages: i64,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "am_tag")]
pub struct Tag {
    #[record(key = "given")]
    pub id: i64,
    #[record(max = 20, unique)]
    pub label: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "am_book_tag", index(tag_id))]
pub struct BookTag {
    #[record(key, references = Book, on_delete = "cascade")]
    pub book_id: i64,
    #[record(key, references = Tag)]
    pub tag_id: i64,
}

impl Author {
    pub const BOOKS: ToMany<Author, Book> = Book::AUTHOR.inverse();
}

impl Book {
    pub const TAG_LINKS: ToMany<Book, BookTag> = BookTag::BOOK.inverse();
    pub const TAGS: ToMany<Book, Tag> = Book::TAG_LINKS.then(BookTag::TAG);
}

/// A database, or a transaction on it.
pub enum Place<'a, 'db> {
    Database(&'a Db),
    Transaction(&'a Transaction<'db>),
}

impl Place<'_, '_> {
    fn table<T: Record>(&self) -> Result<Table<'_, T>> {
        match self {
            Self::Database(db) => db.table(),
            Self::Transaction(transaction) => transaction.table(),
        }
    }
}

/// What a step did, its result, and those that the model allows, separated by `|`.
pub struct Step {
    what: String,
    found: String,
    wanted: String,
}

impl Step {
    fn new(what: impl Into<String>, found: String, wanted: impl Into<String>) -> Self {
        Self { what: what.into(), found, wanted: wanted.into() }
    }

    fn is_right(&self) -> bool {
        self.wanted.split('|').any(|wanted| wanted == self.found)
    }
}

/// The result of a call in words.
pub fn reported<R: std::fmt::Debug>(result: Result<R>) -> String {
    match result {
        Ok(done) => format!("{done:?}"),
        Err(error) if error.kind() == ErrorKind::Invalid => {
            format!("Invalid {}", error.violations().len())
        }
        Err(error) => format!("{:?}", error.kind()),
    }
}

/// One seed's program on one database.
struct Program<'a> {
    /// What the program writes to.
    db: &'a Db,
    /// What migrations change: behind the server if `db` is one.
    engine: Arc<dyn Engine>,
    scoped: Vec<Db>,
    state: State,
    history: History,
    random: Random,
}

impl Program<'_> {
    fn step(&mut self) -> Result<Step> {
        match self.random.below(20) {
            0 | 1 => self.migrate(),
            2 => self.transaction(),
            3 => writes::batch(self.db, &mut self.state, &mut self.random),
            4..=6 => {
                let tenant = self.random.below(scopes::TENANTS) as usize;
                scopes::step(&self.scoped[tenant], tenant, &mut self.state, &mut self.random)
            }
            7 | 8 => writes::added_column(self.db, &mut self.state, &mut self.random),
            9 => writes::note(self.db, &mut self.state, &mut self.random),
            _ => writes::step(&Place::Database(self.db), &mut self.state, &mut self.random),
        }
    }

    fn migrate(&mut self) -> Result<Step> {
        let history = &mut self.history;
        let step = migrations::step(&*self.engine, &mut self.state, history, &mut self.random)?;
        // The handle reads the tables again.
        self.db.create_missing_tables()?;
        Ok(step)
    }

    /// Some steps that are committed or undone together.
    fn transaction(&mut self) -> Result<Step> {
        let transaction = self.db.begin()?;
        let mut inside = self.state.clone();
        let mut what = "in a transaction:".to_owned();
        for _ in 0..=self.random.below(3) {
            let place = Place::Transaction(&transaction);
            let step = writes::step(&place, &mut inside, &mut self.random)?;
            what = format!("{what} {};", step.what);
            if !step.is_right() {
                return Ok(Step { what, ..step });
            }
        }
        if self.random.below(2) == 0 {
            transaction.rollback()?;
            return Ok(Step::new(format!("{what} rollback"), String::new(), ""));
        }
        transaction.commit()?;
        self.state = inside;
        Ok(Step::new(format!("{what} commit"), String::new(), ""))
    }

    fn run(&mut self, steps: u64, place: &str) {
        let mut log = Vec::new();
        for number in 0..steps {
            let step = self.step().unwrap_or_else(|error| {
                panic!("{place}, step {number}: {error}\n{}", log.join("\n"))
            });
            log.push(format!("{number:4}. {} → {}", step.what, step.found));
            let log = || log.join("\n");
            assert!(step.is_right(), "{place}: wanted {}\n{}", step.wanted, log());
            if let Err(what) = reads::compare(self.db, &self.state) {
                panic!("{place}: {what}\n{}", log());
            }
        }
    }
}

fn drop_tables(engine: &dyn Engine) {
    let mut tables = engine.tables().unwrap();
    let rank = |name: &str| match name {
        "am_author" => 3,
        "am_book" | "am_tag" => 2,
        _ => 1,
    };
    tables.retain(|table| {
        table.name().starts_with("am_") || table.name() == bobak::migration::LEDGER
    });
    tables.sort_by_key(|table: &TableSchema| rank(table.name()));
    for table in tables {
        engine.alter(&[SchemaChange::DropTable(Arc::new(table))]).unwrap();
    }
}

/// Runs programs on a database and, if it is that of a server, on the engine behind it.
fn play(url: &str, engine: Option<&Arc<dyn Engine>>) {
    let setting = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let seeds =
        setting("BOBAK_SEED").map_or(0..setting("BOBAK_SEEDS").unwrap_or(2), |seed| seed..seed + 1);
    for seed in seeds {
        if let Some(engine) = engine {
            drop_tables(&**engine);
        }
        let builder = Db::builder().record::<Author>().record::<Book>().record::<Tag>();
        let db = builder.record::<BookTag>().open(url).unwrap();
        let engine = engine.cloned().unwrap_or_else(|| db.engine().unwrap());
        drop_tables(&*engine);
        db.create_missing_tables().unwrap();
        let scoped = (0..scopes::TENANTS).map(|tenant| scopes::of(&db, tenant)).collect();
        let (mut state, history, random) = (State::default(), History::default(), Random(seed));
        writes::fill(&db, &mut state);
        let mut program = Program { db: &db, engine, scoped, state, history, random };
        program.run(setting("BOBAK_STEPS").unwrap_or(120), &format!("{url}, seed {seed}"));
    }
}

#[test]
fn random_applications_have_what_the_model_has_on_embedded_engines() {
    on_each(|place| play(&place.url, None));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn random_applications_have_what_the_model_has_on_servers() {
    crate::engines::on_servers(|url| play(url, None));
}
