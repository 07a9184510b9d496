//! The key-value engine's work in plain calls of redb, with which the engine is compared.
//!
//! Persons are kept by their integer key, as a tuple of redb's own types.

use std::hint::black_box;
use std::path::Path;

use redb::{
    AccessGuard, Database, ReadableDatabase, ReadableTable, Table, TableDefinition,
    WriteTransaction,
};

use crate::contender::{Contender, Engine, Failure, TaskResult as Output};
use crate::workload::{
    CheckedFields, Expectation as Request, ROWS_PER_COMMIT, Row, Rows, Task, now,
};

type PersonTuple = (&'static str, &'static str, i64, i64, i64, i64);
type People<'t> = Table<'t, i64, PersonTuple>;

const PEOPLE: TableDefinition<'static, i64, PersonTuple> = TableDefinition::new("person");

const TASKS: [Task; 10] = [
    Task::Direct,
    Task::Batch,
    Task::Trans,
    Task::BatchTrans,
    Task::ByOne,
    Task::AllDirect,
    Task::AllBorrowed,
    Task::Update,
    Task::Delete,
    Task::Upsert,
];

/// redb, with a commit as durable as the engine's.
pub(crate) static KEY_VALUE: RawKeyValue = RawKeyValue;

/// See [`KEY_VALUE`].
pub(crate) struct RawKeyValue;

struct RawPeople {
    redb: Database,
    rows: Vec<Row>,
}

impl Engine for RawKeyValue {
    fn name(&self) -> &'static str {
        "raw kv"
    }

    fn tasks(&self) -> &'static [Task] {
        &TASKS
    }

    fn syncs_each_row(&self, task: Task) -> bool {
        task.is_direct()
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(&KEY_VALUE)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        let redb = Database::create(folder.join("raw.redb")).map_err(failure)?;
        let opened = RawPeople { redb, rows: Vec::new() };
        opened.commit(|_| Ok(()))?;
        Ok(Box::new(opened))
    }
}

impl RawPeople {
    /// Writes in one transaction.
    fn commit<R>(
        &self,
        write: impl FnOnce(&mut People<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let begun: WriteTransaction = self.redb.begin_write().map_err(failure)?;
        let written = write(&mut begun.open_table(PEOPLE).map_err(failure)?)?;
        begun.commit().map_err(failure)?;
        Ok(written)
    }

    /// Writes each row of the task, with a commit each [`ROWS_PER_COMMIT`].
    fn commit_parts(
        &self,
        write: impl Fn(&mut People<'_>, &Row) -> Result<i64, Failure>,
    ) -> Result<Vec<i64>, Failure> {
        let mut keys = Vec::with_capacity(self.rows.len());
        for part in self.rows.chunks(ROWS_PER_COMMIT) {
            self.commit(|people| {
                for row in part {
                    keys.push(write(people, row)?);
                }
                Ok(())
            })?;
        }
        Ok(keys)
    }

    /// Passes all rows on, by key.
    fn each(
        &self,
        mut row: impl FnMut(i64, AccessGuard<'_, PersonTuple>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let begun = self.redb.begin_read().map_err(failure)?;
        let people = begun.open_table(PEOPLE).map_err(failure)?;
        for entry in people.iter().map_err(failure)? {
            let (key, value) = entry.map_err(failure)?;
            row(key.value(), value)?;
        }
        Ok(())
    }

    fn get_each(&self, request: &Request<'_>) -> Result<Output, Failure> {
        for (index, &key) in request.keys.iter().enumerate() {
            let begun = self.redb.begin_read().map_err(failure)?;
            let people = begun.open_table(PEOPLE).map_err(failure)?;
            let missing = || Failure::new(format!("no row has the key {key}")).at_row(index);
            let found = ReadableTable::get(&people, key).map_err(failure)?;
            let row = black_box(owned(key, found.ok_or_else(missing)?.value()));
            let Row { id, ref first_name, amount, last_change, .. } = row;
            request.check(index, CheckedFields { id, first_name, amount, last_change })?;
        }
        Ok(Output::Count(request.keys.len()))
    }

    fn all(&self) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        self.each(|key, row| {
            rows.push(owned(key, row.value()));
            Ok(())
        })?;
        Ok(rows)
    }

    fn touch_all(&self, request: &Request<'_>) -> Result<Output, Failure> {
        let mut index = 0;
        self.each(|id, row| {
            let (first_name, last_name, amount, birth_date, last_change, created) = row.value();
            black_box((last_name, birth_date, created));
            request.check(index, CheckedFields { id, first_name, amount, last_change })?;
            index += 1;
            Ok(())
        })?;
        Ok(Output::Count(index))
    }
}

impl Contender for RawPeople {
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        self.commit(|people| rows.iter().map(|row| insert(people, row)).collect())
    }

    fn load(&mut self, rows: &[Row]) -> Result<(), Failure> {
        self.rows = rows.to_vec();
        Ok(())
    }

    fn run(&mut self, task: Task, request: &Request<'_>) -> Result<Output, Failure> {
        match task {
            Task::Direct => {
                let each = self.rows.iter().map(|row| self.commit(|people| insert(people, row)));
                Ok(Output::Keys(each.collect::<Result<_, _>>()?))
            }
            Task::Trans | Task::BatchTrans => {
                let rows = &self.rows;
                let insert_all = |people: &mut People<'_>| {
                    rows.iter().map(|row| insert(people, row)).collect::<Result<_, _>>()
                };
                self.commit(insert_all).map(Output::Keys)
            }
            Task::Batch => self.commit_parts(insert).map(Output::Keys),
            Task::ByOne => self.get_each(request),
            Task::AllDirect => Ok(Output::Rows(Box::new(self.all()?))),
            Task::AllBorrowed => self.touch_all(request),
            Task::Update | Task::Upsert => Ok(Output::Count(self.commit_parts(upsert)?.len())),
            Task::Delete => Ok(Output::Count(self.commit_parts(delete)?.len())),
            _ => Err(Failure::new("redb does not do this here")),
        }
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        Ok(Box::new(self.all()?))
    }
}

fn insert(people: &mut People<'_>, row: &Row) -> Result<i64, Failure> {
    let last = people.last().map_err(failure)?.map_or(0, |(key, _)| key.value());
    let stamp = now();
    put(people, last + 1, row, stamp, stamp)
}

/// Writes a row with a key; one that is there keeps the time when it was made.
fn upsert(people: &mut People<'_>, row: &Row) -> Result<i64, Failure> {
    let stamp = now();
    let old = people.get(row.id).map_err(failure)?.map(|old| old.value().5);
    put(people, row.id, row, stamp, old.unwrap_or(stamp))
}

fn delete(people: &mut People<'_>, row: &Row) -> Result<i64, Failure> {
    people.remove(row.id).map_err(failure)?;
    Ok(row.id)
}

fn put(
    people: &mut People<'_>,
    key: i64,
    row: &Row,
    stamp: i64,
    created: i64,
) -> Result<i64, Failure> {
    let (first_name, last_name) = (row.first_name.as_str(), row.last_name.as_str());
    let person = (first_name, last_name, row.amount, row.birth_date, stamp, created);
    people.insert(key, person).map_err(failure)?;
    Ok(key)
}

fn owned(id: i64, person: (&str, &str, i64, i64, i64, i64)) -> Row {
    let (first_name, last_name, amount, birth_date, last_change, created_at) = person;
    let (first_name, last_name) = (first_name.to_owned(), last_name.to_owned());
    Row { id, first_name, last_name, amount, birth_date, last_change, created_at }
}

fn failure(error: impl Into<redb::Error>) -> Failure {
    Failure::new(error.into().to_string())
}
