//! Orders through Bobak.

use std::path::Path;

use bobak::{Db, Query};

use super::data::{Customer, Item, Purchase, check_lines, check_pages, store};
use super::raw::{RAW_POSTGRES, RAW_SQLITE};
use super::{JoinedLine, PurchasePage};
use crate::contender::{Contender, Engine, Failure, KeepAlive, TaskResult};
use crate::server::{Home, ServerKind};
use crate::workload::{Expectation, Row, Rows, Task};

/// The engines, in the order of the report's rows.
pub(crate) static ENGINES: [OrdersEngine; 2] = [
    OrdersEngine { name: "orders sqlite", on_server: false },
    OrdersEngine { name: "orders postgres", on_server: true },
];

/// What each of these engines is measured by.
pub(super) const TASKS: &[Task] = &[Task::Related, Task::TypedJoin];

/// Orders in an SQLite file, or on PostgreSQL.
pub(crate) struct OrdersEngine {
    name: &'static str,
    on_server: bool,
}

impl OrdersEngine {
    /// Whether it needs PostgreSQL.
    pub(crate) const fn needs_server(&self) -> bool {
        self.on_server
    }
}

/// A database with orders.
pub(super) trait OrdersTarget {
    /// Stores so many orders.
    fn store(&mut self, purchases: usize) -> Result<(), Failure>;
    /// All orders with their customers and lines.
    fn related(&mut self) -> Result<Vec<PurchasePage>, Failure>;
    /// All lines with their orders and customers.
    fn joined(&mut self) -> Result<Vec<JoinedLine>, Failure>;
}

/// Measures a database with orders.
pub(super) struct OrdersContender<T> {
    target: T,
    purchases: usize,
    /// After the database: a server removes a database when nobody is connected to it.
    _home: Option<Home>,
}

impl<T> OrdersContender<T> {
    pub(super) const fn new(target: T, home: Option<Home>) -> Self {
        Self { target, purchases: 0, _home: home }
    }
}

/// A Bobak database for the records.
pub(super) fn open(url: &str) -> Result<Db, Failure> {
    let builder = Db::builder().record::<Customer>().record::<Purchase>().record::<Item>();
    Ok(builder.open(url)?)
}

pub(super) fn file(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("orders.db").display())
}

impl Engine for OrdersEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tasks(&self) -> &'static [Task] {
        TASKS
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(if self.on_server { &RAW_POSTGRES } else { &RAW_SQLITE })
    }

    fn hold(&self) -> Option<Result<KeepAlive, Failure>> {
        self.on_server.then(|| ServerKind::Postgres.hold())
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        let home = self.on_server.then(|| Home::new(ServerKind::Postgres)).transpose()?;
        let url = home.as_ref().map_or_else(|| file(folder), Home::url);
        Ok(Box::new(OrdersContender::new(open(&url)?, home)))
    }
}

impl OrdersTarget for Db {
    fn store(&mut self, purchases: usize) -> Result<(), Failure> {
        store(self, purchases)
    }

    fn related(&mut self) -> Result<Vec<PurchasePage>, Failure> {
        Ok(self.table::<Purchase>()?.load(Query::all().order_by(Purchase::ID.asc()), &())?)
    }

    fn joined(&mut self) -> Result<Vec<JoinedLine>, Failure> {
        let lines = Query::<Item>::all().join(Item::PURCHASE).join(Purchase::CUSTOMER);
        let columns = (Purchase::ID, Customer::NAME, Item::PRODUCT, Item::QUANTITY, Item::PRICE);
        Ok(self.list(&lines.order_by(Item::ID.asc()).select(columns))?)
    }
}

impl<T: OrdersTarget> Contender for OrdersContender<T> {
    /// Stores as many orders as there are rows, which say nothing else here.
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        self.target.store(rows.len())?;
        self.purchases = rows.len();
        Ok(rows.iter().map(|row| row.id).collect())
    }

    fn load(&mut self, _: &[Row]) -> Result<(), Failure> {
        Ok(())
    }

    fn run(&mut self, task: Task, _: &Expectation<'_>) -> Result<TaskResult, Failure> {
        match task {
            Task::Related => check_pages(&self.target.related()?, self.purchases)?,
            _ => check_lines(&self.target.joined()?, self.purchases)?,
        }
        Ok(TaskResult::Count(self.purchases))
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        Err(Failure::new("there are no persons"))
    }
}
