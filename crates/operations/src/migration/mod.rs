//! Migrations: files of steps that bring a database from one form of its tables to the next.
//!
//! * [`plan`] compares a model with a database and returns the steps between them.
//! * [`Migrations`] are the files of a folder, or texts in the program, in order.
//! * [`up`], [`down`], [`baseline`], [`status`], [`verify`] and [`check`] carry them out and report them.
//!
//! A step is data, which each engine carries out in its own way. The table `bobak_migrations` has the names and
//! checksums of the migrations that a database has.
//!
//! ```
//! use bobak_core::{ColumnSchema, Engine, TableSchema};
//! use bobak_memory::Memory;
//! use bobak_operations::migration::{self, Drops, Migrations};
//! use std::sync::Arc;
//!
//! let engine = Memory::new();
//! let table = |name| {
//!     let table = TableSchema::builder("person").column(ColumnSchema::of::<i64>("id")).key(["id"]);
//!     table.column(ColumnSchema::of::<String>(name)).column_renamed_from(name, "bio").build()
//! };
//! let folder = tempfile::tempdir().unwrap();
//! let model = [Arc::new(table("bio")?)];
//! let plan = migration::plan(&model, &engine.tables()?, Drops::Nothing)?;
//! Migrations::default().write(folder.path(), "start", &plan)?;
//! assert_eq!(migration::up(&engine, &Migrations::read(folder.path())?)?, ["0001_start"]);
//!
//! let model = [Arc::new(table("about")?)];
//! let plan = migration::plan(&model, &engine.tables()?, Drops::Nothing)?;
//! assert_eq!(plan.to_string(), "rename column person.bio to about\n");
//! # Ok::<(), bobak_core::Error>(())
//! ```

mod action;
mod check;
mod conversions;
mod convert;
mod files;
mod ledger;
mod next;
mod online;
mod plan;
mod plan_options;
mod run;
mod simulate;
mod sql;
mod sql_steps;
mod statements;
mod status;
mod step;
mod table_parts;
mod text;
mod tracked;
mod words;

pub use bobak_engine_common::table_to_json;
pub use check::check;
pub use files::{Migration, Migrations};
pub use ledger::LEDGER;
pub use next::{NextMigration, done};
pub use plan::{MigrationPlan, plan};
pub use plan_options::{Drops, PlanOptions, PossibleRename};
pub(crate) use run::change_tables;
pub use run::{baseline, down, up};
pub use status::{MigrationState, MigrationStatus, status, verify};
pub use step::MigrationStep;
