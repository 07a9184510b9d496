//! The benchmark of Bobak: the workloads, the raw contenders that Bobak is compared with, and the reports.
//!
//! A rate alone says little on a shared machine, so every cell on SQLite is measured against the same work in plain C-API
//! calls, in the same process, interleaved with it. The ratio of the two is what a reader can rely on; [`Report`] has both.
//!
//! ```
//! use bobak_bench::{Options, Silent, Task, engines};
//!
//! let options = Options {
//!     engines: engines::parse("raw sqlite memory")?,
//!     tasks: vec![Task::BatchTrans, Task::AllDirect],
//!     rows: Some(100),
//!     repeat: 1,
//!     ..Options::default()
//! };
//! let report = bobak_bench::run(&options, &mut Silent);
//! assert!(report.cells.iter().all(|cell| cell.verified));
//! println!("{}", report.to_text());
//! # Ok::<(), bobak_bench::Failure>(())
//! ```
//!
//! Files in the order in which a reader needs them: [`workload`] (the record, the tasks, how each row is checked),
//! [`contender`] (what a measured engine implements), `facade` (Bobak), `raw` (the C API), `http` (the client that loads a
//! server), `join` (one statement over several engines), `orders` (related records), `documents` (full-text search), `typed` (operations with random keys), `server` (the
//! servers and their raw contenders), `slow` (a disk with
//! slow syncs), [`engines`] (the list), `runner` (the order of runs, and the clock), [`report`]. In addition, [`crash`] checks
//! what remains after failures, and [`backup`] how much a backup slows down writers.

pub mod backup;
pub mod contender;
pub mod crash;
mod documents;
mod endless;
pub mod engines;
mod facade;
mod http;
mod join;
mod options;
mod orders;
mod progress;
mod raw;
pub mod report;
mod runner;
mod server;
mod slow;
mod typed;
pub mod workload;

pub use contender::{Contender, Engine, Failure};
pub use endless::{Endless, endless};
pub use options::Options;
pub use progress::{Progress, Silent, Step};
pub use report::{Cell, Machine, Report};
pub use runner::run;
pub use workload::Task;
