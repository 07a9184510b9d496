//! The database for async code, on any runtime.
//!
//! Bobak's core is synchronous: SQLite is, and drivers are fastest on blocking sockets. Async code must not block, so an
//! [`AsyncDb`] has a few threads that do. Each unit of work (an insert, a list of records, a whole transaction) runs on one
//! of them, and its [`DbFuture`] wakes the awaiting task once. No row crosses threads by itself, and no runtime is needed:
//! futures and wakers are those of the standard library.
//!
//! ```
//! use bobak::{aio::AsyncDb, prelude::*};
//!
//! #[derive(Record)]
//! struct City {
//!     id: i64,
//!     name: String,
//! }
//!
//! async fn program() -> Result<(), Error> {
//!     let db = AsyncDb::new(Db::builder().record::<City>().open("memory:")?)?;
//!     db.create_missing_tables().await?;
//!     let cities = db.table::<City>();
//!     let id = cities.insert(City { id: 0, name: "Bern".into() }).await?;
//!     assert_eq!(cities.require(id).await?.name, "Bern");
//!     Ok(())
//! }
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(program())?;
//! # Ok::<(), Error>(())
//! ```
//!
//! # Cancellation
//!
//! * The first poll of a future queues its work.
//! * Dropping the future while its work is queued cancels the work.
//! * Dropping it later, for example by a `select` or a timeout, interrupts the running statement and rejects later ones: a
//!   transaction is rolled back, a query stops, on this machine or on a server. A commit that has started may succeed, and
//!   a started write of a single record completes.
//! * A panic in a closure is raised where its future is awaited.
//!
//! Futures own their queued work, and a stream reads one chunk ahead. Memory therefore grows only with the number of
//! pending futures, and a task that awaits its results before it asks for more is subject to backpressure.
//!
//! # Group commit
//!
//! Inserts, updates and deletes of single records that are queued for the same engine are written in one transaction, with
//! one sync for all. Each has its own result, and gets it when its record is on disk. Many concurrent durable writes
//! (`join_all`, or many tasks of a server) cost about as much as a batch; a single one does not wait for others.
//!
//! # Transactions
//!
//! A transaction is a closure that one thread runs from beginning to end. No transaction can be held across an `await`:
//! other writers would wait for whatever the task waits for.

mod db;
mod future;
mod row_writer;
mod stream;
mod table;

pub use crate::workers::Workers;
pub use db::AsyncDb;
pub use future::DbFuture;
pub use row_writer::RowWriter;
pub use stream::AsyncRows;
pub use table::AsyncTable;
