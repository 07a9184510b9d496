//! The facade, on every engine that it opens.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests: a failure names its line")]

mod access; // an Access file: records, joins, copies
#[cfg(feature = "async")]
mod aio;
mod altered_tables; // tracked tables that are altered while they are archived or replicated
mod any_references;
#[cfg(feature = "scopes")]
mod application_model; // random programs of records, relations, rules, tenants and migrations
mod archive; // changes replayed on a backup
mod archive_damage; // damaged and mixed up archives
#[cfg(feature = "arrow")]
mod arrow; // record batches
#[cfg(feature = "arrow")]
mod arrow_empty; // record batches of results without rows
#[cfg(feature = "arrow")]
mod arrow_joins;
#[cfg(feature = "arrow")]
mod arrow_threads; // record batches that several threads read
mod backup;
mod bad_input;
mod batches;
mod blobs; // values read and written in parts
#[cfg(feature = "cache")]
mod cache;
#[cfg(feature = "cache")]
mod cache_outdated; // records that another program has written
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod callers_of_servers; // callers with few permissions, on servers with tables of other programs
mod capture_triggers; // other triggers, roles, schemas and partitions
mod change_capture;
mod combined_queries; // unions, and queries of rows
mod composite_relations; // over foreign keys of several fields
mod conduit; // the page of the example
mod consumers; // of changes, by name, and killed
mod copy;
#[cfg(all(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod copy_between_servers; // what one has and the other lacks
mod copy_foreign;
mod copy_samples;
mod created_tables; // after the backup, while an archive runs
mod dynamic;
#[cfg(feature = "encryption")]
mod encryption; // a separate run: SQLCipher replaces SQLite
mod engines;
mod enum_sets; // in fields, and conditions of them
mod examples;
mod explain;
mod expressions; // in queries of rows and groups
mod federated_orders; // texts of attached tables that others sort by rules of their own
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod federated_servers; // tables of servers, of memory and of files in one SQL
mod federation;
mod field_encryption;
mod fields;
mod firebird; // records and copies there and back
#[cfg(all(feature = "postgres", feature = "mysql"))]
mod foreign_rules; // defaults and CHECKs of servers' tables that other programs created
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod foreign_servers; // types of servers that other programs use
mod front_page;
mod full_disk;
#[cfg(feature = "mysql")]
mod galera; // three MariaDB nodes, one of them killed
mod generated_fields;
mod hidden_tables;
mod hooks; // before and after writes
mod join_paths; // joins as statements, and in this process
mod joins; // typed
mod json_parts;
mod link_writes;
mod locations; // added, removed and replaced
#[cfg(all(feature = "postgres", feature = "mysql"))]
mod long_decimals; // decimal numbers of servers that money cannot hold
mod migrations; // plans, files, and failures at every step
mod nearest; // vectors, and the records nearest to one
mod nested_queries; // as statements, and in this process
mod nested_writes;
mod on_request; // fields that are read only then
mod on_request_queries;
mod on_request_rules; // with all that a record can have
mod pages;
mod pipelines;
#[cfg(feature = "sqlite")]
mod power_cuts; // during pipelines, backups and archives
mod prepared; // queries that run with different values
mod processes;
mod queries;
mod questions; // often asked, against SQL by hand
mod recreated_tables; // tracked tables that SQL drops and creates again
mod references; // deferred, and when the referenced value changes
mod relations; // filters through them, and shapes
#[cfg(feature = "remote")]
mod remote_joins; // run by the server
mod replaced_files;
mod replay; // triggers, keys and end points
mod replication;
mod retries;
mod returning;
mod row_locks; // queues, and what cannot be locked
mod rules; // normalizers and validators
mod rules_model; // the layer behaves like the engine behind it
mod sample_databases; // as well-known programs create them
mod schema;
#[cfg(feature = "scopes")]
mod scopes; // the rows of one tenant
#[cfg(feature = "scopes")]
mod scopes_model;
mod search;
mod self_references;
#[cfg(feature = "scopes")]
mod shape_joins; // records that one statement reads, against those that are read by themselves
mod shapes; // many rows, depths and statements
#[cfg(feature = "postgres")]
mod sharded; // three PostgreSQL shards, one of them killed
mod soft_delete; // rows that stay when they are deleted
mod soft_delete_model; // random programs delete, restore and purge
mod sql;
mod sql_compare; // random SQL on every engine
mod sql_types; // amounts, dates and times in SQL
mod sql_vocabulary; // one spelling for what dialects spell differently
mod statements; // counted, and ended in time
mod storage_checks; // what SQL stores in columns of amounts, dates and times
mod tables;
mod transaction_boundaries; // replays end between transactions
mod transactions;
mod unknown_functions; // collations and functions that only other programs have
mod unstorable_values; // values that no column takes, in queries and updates
mod views; // read through records, by name and by clients
mod windows; // functions of other rows of the result
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod write_behind; // tables in memory that another database gets a moment later
