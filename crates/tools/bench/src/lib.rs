//! The benchmark of Bobak: the workloads, the raw lanes they are held against, and the reports.
//!
//! A figure alone says little on a shared machine, so every cell on SQLite is measured against
//! the same work in plain C-API calls, in the same process, in turns with it. The ratio of the
//! two is what a reader can rely on; [`Report`] holds both.
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
//! Files in the order a reader meets them: [`workload`] (the record, what is done with it, how
//! each row is checked), [`lane`] (what an engine implements to be measured), `facade` (Bobak),
//! `raw` (the C API), `http` (who asks a server), `join` (one statement over several engines), `server` (where servers are,
//! and their raw lanes), `slow` (a disk whose syncs take their time), [`engines`] (the list), `runner` (who runs when, and the
//! clock), [`report`]. Two stand beside them: [`crash`], what is
//! left when something goes wrong, and [`backup`], what writers notice of one.

pub mod backup;
pub mod crash;
mod endless;
pub mod engines;
mod facade;
mod http;
mod join;
pub mod lane;
mod options;
mod progress;
mod raw;
pub mod report;
mod runner;
mod server;
mod slow;
pub mod workload;

pub use endless::{Endless, endless};
pub use lane::{Engine, Failure, Lane};
pub use options::Options;
pub use progress::{Progress, Silent, Step};
pub use report::{Cell, Machine, Report};
pub use runner::run;
pub use workload::Task;
