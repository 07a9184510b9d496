//! Orders by hand: SQLite through the C API, PostgreSQL through the usual driver.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use postgres::Client;

use super::contender::{OrdersContender, OrdersTarget, TASKS, file, open};
use super::data::store;
use super::{CustomerName, ItemPage, JoinedLine, PurchasePage};
use crate::contender::{Contender, Engine, Failure, KeepAlive};
use crate::raw::Connection;
use crate::server::{Home, ServerKind, connect};
use crate::workload::Task;

/// Both engines.
pub(crate) static ENGINES: [&dyn Engine; 2] = [&RAW_SQLITE, &RAW_POSTGRES];

pub(super) static RAW_SQLITE: RawSqlite = RawSqlite;
pub(super) static RAW_POSTGRES: RawPostgres = RawPostgres;

const PURCHASES: &str = "SELECT p.id, p.placed, c.name FROM purchase p \
    JOIN customer c ON c.id = p.customer_id ORDER BY p.id";
const LINES: &str = "SELECT purchase_id, product, quantity, price FROM item ORDER BY id";
const JOINED: &str = "SELECT p.id, c.name, l.product, l.quantity, l.price FROM item l \
    JOIN purchase p ON p.id = l.purchase_id JOIN customer c ON c.id = p.customer_id ORDER BY l.id";

/// See [`RAW_SQLITE`].
pub(super) struct RawSqlite;
/// See [`RAW_POSTGRES`].
pub(super) struct RawPostgres;

/// The file, and the connection to it once it is filled.
type SqliteTarget = (PathBuf, Option<Connection>);
/// The URL of the database, and the connection to it.
type PostgresTarget = (String, Client);

impl Engine for RawSqlite {
    fn name(&self) -> &'static str {
        "raw orders sqlite"
    }

    fn tasks(&self) -> &'static [Task] {
        TASKS
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(&RAW_SQLITE)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        let target: SqliteTarget = (folder.to_owned(), None);
        Ok(Box::new(OrdersContender::new(target, None)))
    }
}

impl Engine for RawPostgres {
    fn name(&self) -> &'static str {
        "raw orders postgres"
    }

    fn tasks(&self) -> &'static [Task] {
        TASKS
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(&RAW_POSTGRES)
    }

    fn hold(&self) -> Option<Result<KeepAlive, Failure>> {
        Some(ServerKind::Postgres.hold())
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Contender>, Failure> {
        let home = Home::new(ServerKind::Postgres)?;
        let target: PostgresTarget = (home.url(), connect(&home.plain_url())?);
        Ok(Box::new(OrdersContender::new(target, Some(home))))
    }
}

/// Puts lines into the orders that they belong to.
struct PageBuilder {
    pages: Vec<PurchasePage>,
    places: HashMap<i64, usize>,
}

impl PageBuilder {
    fn new() -> Self {
        Self { pages: Vec::new(), places: HashMap::new() }
    }

    fn add(&mut self, id: i64, placed: i64, name: String) {
        self.places.insert(id, self.pages.len());
        let customer = CustomerName { name };
        self.pages.push(PurchasePage { id, placed, customer, lines: Vec::new() });
    }

    fn add_line(&mut self, purchase: i64, line: ItemPage) {
        let place = self.places.get(&purchase).copied();
        if let Some(page) = place.and_then(|place| self.pages.get_mut(place)) {
            page.lines.push(line);
        }
    }
}

impl OrdersTarget for SqliteTarget {
    /// Through Bobak, so that tables and indexes are the same.
    fn store(&mut self, purchases: usize) -> Result<(), Failure> {
        store(&open(&file(&self.0))?, purchases)?;
        self.1 = Some(Connection::open(Some(&self.0.join("orders.db")), None)?);
        Ok(())
    }

    fn related(&mut self) -> Result<Vec<PurchasePage>, Failure> {
        let connection = self.1.as_ref().ok_or_else(|| Failure::new("the file is empty"))?;
        let mut builder = PageBuilder::new();
        let mut purchases = connection.prepare(PURCHASES)?;
        while purchases.step()? {
            builder.add(purchases.i64(0), purchases.i64(1), purchases.text(2)?.to_owned());
        }
        let mut lines = connection.prepare(LINES)?;
        while lines.step()? {
            let (quantity, price) = (lines.i64(2), lines.i64(3));
            let line = ItemPage { product: lines.text(1)?.to_owned(), quantity, price };
            builder.add_line(lines.i64(0), line);
        }
        Ok(builder.pages)
    }

    fn joined(&mut self) -> Result<Vec<JoinedLine>, Failure> {
        let connection = self.1.as_ref().ok_or_else(|| Failure::new("the file is empty"))?;
        let mut statement = connection.prepare(JOINED)?;
        let mut rows = Vec::new();
        while statement.step()? {
            let (name, product) = (statement.text(1)?.to_owned(), statement.text(2)?.to_owned());
            rows.push((statement.i64(0), name, product, statement.i64(3), statement.i64(4)));
        }
        Ok(rows)
    }
}

impl OrdersTarget for PostgresTarget {
    fn store(&mut self, purchases: usize) -> Result<(), Failure> {
        store(&open(&self.0)?, purchases)
    }

    fn related(&mut self) -> Result<Vec<PurchasePage>, Failure> {
        let mut builder = PageBuilder::new();
        for row in self.1.query(PURCHASES, &[])? {
            builder.add(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        }
        for row in self.1.query(LINES, &[])? {
            let (product, quantity) = (row.try_get(1)?, row.try_get(2)?);
            builder
                .add_line(row.try_get(0)?, ItemPage { product, quantity, price: row.try_get(3)? });
        }
        Ok(builder.pages)
    }

    fn joined(&mut self) -> Result<Vec<JoinedLine>, Failure> {
        let rows = self.1.query(JOINED, &[])?;
        let row = |row: postgres::Row| -> Result<JoinedLine, Failure> {
            let (id, name, product) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            Ok((id, name, product, row.try_get(3)?, row.try_get(4)?))
        };
        rows.into_iter().map(row).collect()
    }
}
