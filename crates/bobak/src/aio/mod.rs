//! The async face: the same database, called from async code on any runtime.
//!
//! Bobak's core is synchronous: SQLite is, and a driver is quickest on a blocking socket. Async code
//! must not block, so an [`AsyncDb`] has a few threads of its own that do: each unit of work (an
//! insert, a list of records, a transaction with all that happens in it) is handed to one of them
//! whole, and its [`Answer`] wakes the task that awaits it, once. Nothing crosses threads row by row.
//! No runtime is needed or preferred: futures and wakers are those of the standard library.
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
//! # What a future does when
//!
//! * Nothing before it is polled first; then its work gets in line.
//! * Dropped before a thread has begun with it, it is cancelled: nothing happens.
//! * Dropped later, by a `select` or a time-out, the statement under way is ended, and the work is refused
//!   the next one: a transaction is rolled back, a query stops, on this machine or on a server. What
//!   was about to be committed may be committed; and the write of a single record comes to its end.
//! * A panic in a closure comes out where its future is awaited.
//!
//! Work in line is kept by the futures that wait for it, and a stream reads one part ahead of its
//! reader: so a task that waits for its answers before it asks for more is held back as it should
//! be, and memory grows with the futures that are under way, with nothing else.
//!
//! # Writes meet
//!
//! Inserts, updates and deletes of single records that wait in line for the same engine are written
//! in one transaction, with one sync for all of them; each has its own result, and gets it when its
//! record is on disk. Many durable writes in flight (`join_all`, or many tasks of a server) cost
//! about as much as a batch; a lone one waits for nobody.
//!
//! # Transactions
//!
//! They are closures, run by one thread from beginning to end. There is none that is held across an
//! `await`: other writers would wait for whatever the task waits for.

mod answer;
mod db;
mod group;
mod lane;
mod row_writer;
mod stream;
mod table;
mod workers;
mod write;

pub use answer::Answer;
pub use db::AsyncDb;
pub use row_writer::RowWriter;
pub use stream::AsyncRows;
pub use table::AsyncTable;
pub use workers::Workers;
