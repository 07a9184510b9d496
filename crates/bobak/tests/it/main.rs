//! The facade, on every engine that it opens.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests: what fails says where")]

#[cfg(feature = "async")]
mod aio;
mod archive; // changes behind a backup
mod archive_damage; // and what is wrong with them
mod backup;
mod bad_input;
mod batches;
mod borders; // replays end between transactions
#[cfg(feature = "cache")]
mod cache;
mod copy;
mod dynamic;
#[cfg(feature = "encryption")]
mod encryption; // run by themselves: SQLCipher takes the place of SQLite
mod engines;
mod examples;
mod feed; // every change of tracked tables
mod fields;
mod follow; // databases that follow others
mod foreign; // what only other programs have: collations, functions
mod front_page;
mod full_disk; // and what is said then
#[cfg(feature = "mysql")]
mod galera; // three MariaDB nodes, one of them killed
mod host;
mod pipelines;
#[cfg(feature = "sqlite")]
mod power; // power cuts under pipelines, backups and archives
mod processes;
mod queries;
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod reach; // tables of servers, of memory and of files in one SQL
mod rebuilt; // tracked tables that SQL makes anew
mod replaced; // files in whose place others are put
mod replay; // what acts by itself, where changes are made again
mod retries;
mod schema;
#[cfg(feature = "postgres")]
mod sharded; // three PostgreSQL shards, one of them killed
mod sql;
mod tables;
mod transactions;
