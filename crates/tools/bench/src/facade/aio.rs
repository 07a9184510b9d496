//! The async face: what it costs to hand work to a thread and be woken, and what many writes in flight share.
//!
//! One task on one thread asks; nothing but the standard library runs it.

use std::collections::VecDeque;
use std::future::Future;
use std::hint::black_box;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use bobak::aio::{AsyncDb, AsyncTable};
use bobak::{BatchOptions, Query};

use super::contender::{BobakContender, generated_keys};
use super::engine::{BobakEngine, ENGINES};
use super::person::Person;
use crate::contender::{Contender, Engine, Failure, TaskResult};
use crate::workload::{Expectation, Row, Rows, Task};

/// The engines, in the order of the report's rows; each is compared with the one that it calls.
pub static ASYNC: [AsyncEngine; 2] = [
    AsyncEngine {
        name: "async sqlite memory",
        tasks: &[Task::Direct, Task::BatchTrans, Task::ByOne, Task::AllDirect],
    },
    AsyncEngine {
        name: "async sqlite file wal full",
        tasks: &[Task::Direct, Task::Direct4, Task::Direct16, Task::Direct64],
    },
];

/// An engine that is called from async code.
pub struct AsyncEngine {
    name: &'static str,
    tasks: &'static [Task],
}

struct AsyncContender {
    db: AsyncDb,
    people: Vec<Person>,
    plain: BobakContender,
}

impl AsyncEngine {
    fn engine(&self) -> Option<&'static BobakEngine> {
        let name = self.name.strip_prefix("async ")?;
        ENGINES.iter().find(|engine| engine.name() == name)
    }
}

impl Engine for AsyncEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tasks(&self) -> &'static [Task] {
        self.tasks
    }

    fn syncs_each_row(&self, task: Task) -> bool {
        self.engine().is_some_and(|engine| engine.syncs_each_row(task))
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        self.engine().map(|engine| engine as &dyn Engine)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        let engine = self.engine().ok_or_else(|| Failure::new("there is no such engine"))?;
        let db = engine.db(folder)?;
        let plain = BobakContender::new(db.clone(), "main", &[]);
        Ok(Box::new(AsyncContender { db: AsyncDb::new(db)?, people: Vec::new(), plain }))
    }
}

impl Contender for AsyncContender {
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        self.plain.fill(rows)
    }

    fn load(&mut self, rows: &[Row]) -> Result<(), Failure> {
        self.people = rows.iter().map(Person::from_row).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn run(&mut self, task: Task, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
        let table = self.db.table::<Person>();
        let people = std::mem::take(&mut self.people);
        match task {
            Task::Direct | Task::Direct4 | Task::Direct16 | Task::Direct64 => {
                Ok(TaskResult::Keys(block_on(insert_each(&table, people, task.threads()))?))
            }
            Task::BatchTrans => {
                let report = block_on(table.insert_all(people, BatchOptions::new()))?;
                Ok(TaskResult::Keys(generated_keys(&report)?))
            }
            Task::ByOne => block_on(get_each(&table, expected)),
            Task::AllDirect => {
                let by_key = Query::all().order_by(Person::ID.asc());
                Ok(TaskResult::Rows(Box::new(block_on(table.list(by_key))?)))
            }
            _ => Err(Failure::new("this is not measured from async code")),
        }
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        self.plain.dump()
    }
}

/// Inserts each record by itself, with so many in flight; keys in the order of the records.
async fn insert_each(
    table: &AsyncTable<Person>,
    people: Vec<Person>,
    in_flight: usize,
) -> bobak::Result<Vec<i64>> {
    let mut keys = Vec::with_capacity(people.len());
    let mut begun = VecDeque::with_capacity(in_flight);
    for person in people {
        if begun.len() == in_flight
            && let Some(first) = begun.pop_front()
        {
            keys.push(StartedFuture::end(first).await?);
        }
        begun.push_back(StartedFuture::new(Box::pin(table.insert(person))).await);
    }
    for future in begun {
        keys.push(future.end().await?);
    }
    Ok(keys)
}

async fn get_each(
    table: &AsyncTable<Person>,
    expected: &Expectation<'_>,
) -> Result<TaskResult, Failure> {
    for (index, &key) in expected.keys.iter().enumerate() {
        let person = black_box(table.require(key).await?);
        expected.check(index, person.seen())?;
    }
    Ok(TaskResult::Count(expected.keys.len()))
}

/// A future that was polled once, so that its work is in line.
enum StartedFuture<F: Future> {
    Waits(Pin<Box<F>>),
    Done(F::Output),
}

impl<F: Future> StartedFuture<F> {
    async fn new(mut future: Pin<Box<F>>) -> Self {
        let first = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
        match first.await {
            Poll::Ready(output) => Self::Done(output),
            Poll::Pending => Self::Waits(future),
        }
    }

    async fn end(self) -> F::Output {
        match self {
            Self::Waits(future) => future.await,
            Self::Done(output) => output,
        }
    }
}

/// Unparks the thread that runs the future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
