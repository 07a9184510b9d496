//! Operations on whole databases: backup, restore, archives of changes, replication, copying and migrations.
//!
//! * [`backup`] writes a database to one verified file, and checks such files.
//! * [`archive`] writes the changes of tracked tables to a folder as they commit.
//! * [`restore`] puts a backup back, and replays an archive's changes to a point in time.
//! * [`replication`] keeps a second database up to date with the first.
//! * [`copy`] copies tables to a database of any engine.
//! * [`migration`] changes the tables of a database by files of steps.
//! * [`stored_types`] finds the types of the values in files of other programs.
//! * [`retention`] removes old changes from the change log.
//!
//! All of them work on [`Engine`](bobak_core::Engine)s. The crate `bobak` wraps them in methods of its `Db`.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod archive;
pub mod backup;
mod backup_key;
pub mod copy;
mod database_file;
pub mod migration;
pub mod replication;
pub mod restore;
pub mod retention;
pub mod stored_types;
mod temp_dir;

pub use database_file::DatabaseFile;
