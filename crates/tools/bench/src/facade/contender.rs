//! Each task through the facade.

use std::hint::black_box;

use bobak::batch::{BatchReport, GeneratedKey, Outcome};
use bobak::{Batch, BatchOptions, Db, DynRow, Query, Table, Value, ValueRef};

use super::person::Person;
use super::remote::Server;
use crate::contender::{Contender, Failure, TaskResult};
use crate::server::Home;
use crate::workload::{CheckedFields, Expectation, Row, Rows, Task, View};

/// A database with a table of persons.
pub struct BobakContender {
    db: Db,
    /// The engine that keeps them.
    engine: &'static str,
    people: Vec<Person>,
    settings: &'static [&'static str],
    /// The process that serves the database, if there is one. It ends after the database is closed.
    _server: Option<Server>,
    /// After the database: on a server it goes when nobody is in it.
    _home: Option<Home>,
}

impl BobakContender {
    /// Works on `db`, one of whose engines has an empty table of persons. `settings` names the pragmas that it
    /// has, where it is SQLite.
    pub const fn new(db: Db, engine: &'static str, settings: &'static [&'static str]) -> Self {
        Self { db, engine, people: Vec::new(), settings, _server: None, _home: None }
    }

    /// Keeps the process that serves the database.
    pub fn with_server(mut self, server: Option<Server>) -> Self {
        self._server = server;
        self
    }

    /// The same, with a database on a server that is to go with it.
    pub fn at(self, home: Home) -> Self {
        Self { _home: Some(home), ..self }
    }

    fn table(&self) -> Result<Table<'static, Person>, Failure> {
        Ok(self.db.table::<Person>()?)
    }

    /// One batch of all persons, outside a transaction.
    fn batch(
        &self,
        add: impl Fn(&mut Batch<'_>, &Person) -> bobak::Result<()>,
    ) -> Result<BatchReport, Failure> {
        let mut batch = self.db.batch(BatchOptions::new());
        self.people.iter().try_for_each(|person| add(&mut batch, person))?;
        Ok(batch.finish()?)
    }

    fn insert_in_transaction(&self) -> Result<Vec<i64>, Failure> {
        let transaction = self.db.begin_on(self.engine)?;
        let keys = insert_each(&transaction.table::<Person>()?, &self.people)?;
        transaction.commit()?;
        Ok(keys)
    }

    fn batch_in_transaction(&self) -> Result<Vec<i64>, Failure> {
        let transaction = self.db.begin_on(self.engine)?;
        let mut batch = transaction.batch(BatchOptions::new());
        self.people.iter().try_for_each(|person| batch.insert(person))?;
        let report = batch.finish()?;
        transaction.commit()?;
        generated_keys(&report)
    }

    fn list(&self) -> Result<Vec<Person>, Failure> {
        Ok(self.table()?.list(by_key())?)
    }

    fn get_each(&self, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
        let people = self.table()?;
        for (index, &key) in expected.keys.iter().enumerate() {
            let person = black_box(people.require(key)?);
            expected.check(index, person.seen())?;
        }
        Ok(TaskResult::Count(expected.keys.len()))
    }

    fn touch_all(&self, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
        let mut index = 0;
        let mut checked = Ok(());
        self.table()?.for_each_row(by_key(), |row| {
            black_box((row.get(2), row.get(4), row.get(6)));
            checked = seen(row).and_then(|seen| expected.check(index, seen));
            index += 1;
            Ok(checked.is_ok())
        })?;
        checked.map(|()| TaskResult::Count(index))
    }
}

impl Contender for BobakContender {
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        self.load(rows)?;
        self.batch_in_transaction()
    }

    fn load(&mut self, rows: &[Row]) -> Result<(), Failure> {
        self.people = rows.iter().map(Person::from_row).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn run(&mut self, task: Task, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
        match task {
            Task::Direct => Ok(TaskResult::Keys(insert_each(&self.table()?, &self.people)?)),
            Task::Direct4 | Task::Direct16 | Task::Direct64 => {
                Ok(TaskResult::Keys(insert_by_threads(&self.db, &self.people, task.threads())?))
            }
            Task::Batch => generated_keys(&self.batch(|batch, person| batch.insert(person))?)
                .map(TaskResult::Keys),
            Task::Trans => self.insert_in_transaction().map(TaskResult::Keys),
            Task::BatchTrans => self.batch_in_transaction().map(TaskResult::Keys),
            Task::ByOne => self.get_each(expected),
            Task::AllDirect => Ok(TaskResult::Rows(Box::new(self.list()?))),
            Task::AllBorrowed => self.touch_all(expected),
            Task::Update => Ok(written(&self.batch(|batch, person| batch.update(person))?)),
            Task::Delete => {
                Ok(written(&self.batch(|batch, person| batch.delete::<Person>(person.id))?))
            }
            Task::Upsert => Ok(written(&self.batch(|batch, person| batch.upsert(person))?)),
            Task::ByOne2 => Err(Failure::new("lookups by threads are measured with a cache")),
            Task::ByOneConnections | Task::DirectConnections | Task::Import => {
                Err(Failure::new("connections are measured over HTTP"))
            }
            Task::AllVirtual => {
                let rows = self.db.sql::<Person>("SELECT * FROM person ORDER BY id", ())?;
                Ok(TaskResult::Rows(Box::new(rows)))
            }
            _ => Err(Failure::new("it is measured over other records")),
        }
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        Ok(Box::new(self.list()?))
    }

    fn write_endless(&mut self, rows: &mut dyn Iterator<Item = Row>) -> Result<(), Failure> {
        let mut batch = self.db.batch(BatchOptions::new().keep_outcomes(false));
        for row in rows {
            batch.insert(&Person::from_row(&row)?)?;
        }
        batch.finish()?;
        Ok(())
    }

    fn read_endless(
        &mut self,
        visit: &mut dyn FnMut(View<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for person in self.table()?.iter(by_key())? {
            visit(person?.view())?;
        }
        Ok(())
    }

    /// Of the connection that writes, then of one that reads, which may be the same.
    fn settings(&mut self) -> Result<Vec<(String, String)>, Failure> {
        let mut settings = Vec::with_capacity(2 * self.settings.len());
        if self.settings.is_empty() {
            return Ok(settings);
        }
        let writer = self.db.begin_on(self.engine)?;
        for name in self.settings {
            let rows = writer.sql::<DynRow>(&format!("PRAGMA {name}"), ())?;
            settings.push(((*name).to_owned(), first_text(&rows)));
        }
        writer.commit()?;
        // Of an attached engine only the transaction can be asked.
        for name in self.settings.iter().filter(|_| self.engine == "main") {
            let rows = self.db.sql::<DynRow>(&format!("PRAGMA {name}"), ())?;
            settings.push(((*name).to_owned(), first_text(&rows)));
        }
        Ok(settings)
    }
}

fn by_key() -> Query<Person> {
    Query::all().order_by(Person::ID.asc())
}

fn insert_each(table: &Table<'_, Person>, people: &[Person]) -> bobak::Result<Vec<i64>> {
    let mut keys = Vec::with_capacity(people.len());
    for person in people {
        keys.push(table.insert(person)?);
    }
    Ok(keys)
}

/// Each thread inserts a part of the rows, one at a time; keys in the order of the rows.
fn insert_by_threads(db: &Db, people: &[Person], threads: usize) -> Result<Vec<i64>, Failure> {
    let part = people.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let insert = |people| move || insert_each(&db.table::<Person>()?, people);
        let running: Vec<_> =
            people.chunks(part).map(|people| scope.spawn(insert(people))).collect();
        let mut keys = Vec::with_capacity(people.len());
        for thread in running {
            let done = thread.join().map_err(|_| Failure::new("a thread panicked"))?;
            keys.extend(done?);
        }
        Ok(keys)
    })
}

/// The keys of rows that a batch has inserted.
pub(super) fn generated_keys(report: &BatchReport) -> Result<Vec<i64>, Failure> {
    let mut keys = Vec::with_capacity(report.rows as usize);
    for outcome in report.outcomes() {
        let Ok(Outcome::Inserted(Some(GeneratedKey::Int(key)))) = outcome else {
            return Err(Failure::new("it was given no key").at_row(keys.len()));
        };
        keys.push(key);
    }
    Ok(keys)
}

/// How many rows an update, delete or upsert has written.
fn written(report: &BatchReport) -> TaskResult {
    TaskResult::Count(usize::try_from(report.inserted + report.changed).unwrap_or(usize::MAX))
}

#[inline]
fn seen(row: &dyn bobak::Row) -> Result<CheckedFields<'_>, Failure> {
    match (row.get(0), row.get(1), row.get(3), row.get(5)) {
        (
            ValueRef::Int(id),
            ValueRef::Text(first_name),
            ValueRef::Int(amount),
            ValueRef::Int(last_change),
        ) => Ok(CheckedFields { id, first_name, amount, last_change }),
        _ => Err(Failure::new("a column is not of its type")),
    }
}

/// The first value as SQLite prints it; empty if there is none.
fn first_text(rows: &[DynRow]) -> String {
    match rows.first().and_then(|row| row.values().first()) {
        Some(Value::Text(text)) => text.clone().into_owned(),
        Some(Value::Int(integer)) => integer.to_string(),
        _ => String::new(),
    }
}
