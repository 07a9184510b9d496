//! Bobak is an ORM and database library: plain structs in SQLite, in memory or on a server, through one API.
//!
//! ```no_run
#![doc = include_str!("../tests/it/first_program.rs")]
//! ```
//!
//! * [`Db`] is a database. Open it by a URL with [`Db::open`], or describe it with [`Db::builder`].
//! * [`Table`] is the typed handle on one record type; [`Record`](derive@Record) makes a struct a record.
//! * [`Query`] selects records with the typed [`Column`]s that the derive generates; module [`query`] has its parts.
//! * [`Transaction`] commits several operations together or not at all.
//! * [`Batch`] sends many writes at once; a [`Pipeline`] accepts single writes whose results are fetched later.
//! * [`DynTable`] and [`DynRow`] are for tables that no struct describes.
//! * Every call fails with one [`Error`], whose [`ErrorKind`] classifies the failure.
//!
//! By subject:
//!
//! * [`types`] and [`schema`]: the types of fields, and descriptions of tables.
//! * [`blob`]: fields of bytes that are too long for memory.
//! * [`backup`], [`archive`], [`restore`]: backups of a running database, and point-in-time restore.
//! * [`changes`]: every change of tracked tables, for history, live views and replicas.
//! * [`replication`] and [`copy`]: other databases, of any engine, with the same tables.
//! * [`migration`]: changes of tables that exist, as files of steps.
//! * [`engine`]: the engines with their settings, and the contract for new ones.
//! * `aio` (feature `async`): the same API for async code, on any runtime.
//! * `arrow` (feature `arrow`): results as Arrow record batches, and record batches as rows to insert.
//! * `field_encryption` (feature `field-encryption`): fields that the database stores encrypted.
//! * `cache` (feature `cache`): records kept in memory by their keys.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod access;
#[cfg(feature = "async")]
pub mod aio;
#[cfg(feature = "arrow")]
pub mod arrow;
pub mod batch;
pub mod blob;
#[cfg(feature = "cache")]
pub mod cache;
mod catalog;
pub mod changes;
mod db;
mod dynamic;
mod engine_joins;
mod explain;
#[cfg(feature = "field-encryption")]
pub mod field_encryption;
mod get_many;
mod handle;
mod insert_from;
mod join;
mod join_conditions;
mod links;
mod load_field;
pub mod nearest;
mod nested;
mod on_request;
mod parameters;
pub mod pipeline;
mod prepared;
mod record_arg;
mod retry;
mod returning_table;
mod router;
mod row_changes;
#[cfg(feature = "scopes")]
mod row_scope;
mod rows;
pub mod rules;
pub mod schema;
pub mod search;
mod selections;
mod shape;
mod soft_delete;
mod sql;
mod subqueries;
mod table;
mod transaction;
mod url;
mod workers;
mod write_queue;

pub use batch::{Batch, BatchOptions};
pub use bobak_core::{
    Column, Deadline, DynRow, Error, ErrorKind, Field, Filter, FromRow, Interrupt, Parameter,
    Query, Record, Result, Row, RowLock, SoftDelete, SqlArgument, SqlArguments, Value, ValueRef,
    count, statements,
};
pub use bobak_derive::{Field, FromRow, Record, Shape, migrations};
#[doc(inline)]
pub use bobak_operations::{archive, backup, copy, migration, replication, restore, stored_types};
pub use db::{Db, DbBuilder};
pub use dynamic::DynTable;
pub use nearest::NearestRecord;
pub use parameters::{IntoArgument, NamedParameters, Parameters, SqlList};
pub use pipeline::Pipeline;
pub use returning_table::ReturningTable;
#[cfg(feature = "scopes")]
pub use row_scope::RowScope;
pub use search::FoundRecord;
pub use shape::Shape;
pub use table::Table;
pub use transaction::{Savepoint, Transaction};

/// The parts of a [`Query`] and the iterators over its rows.
pub mod query {
    pub use crate::dynamic::DynRows;
    pub use crate::join::EngineQueries;
    pub use crate::prepared::{Preparable, PreparedQuery, Queryable};
    pub use crate::rows::Rows;
    pub use crate::shape::{Page, PageRequest, PageToken};
    /// The parts of a [`JoinQuery`]: of expressions, and over several records.
    pub use bobak_core::join;
    pub use bobak_core::join::{
        Alias, AllOf, AnyOf, ExpressionMethods, JoinQuery, JsonMethods, Location, SetMethods,
        WindowMethods, dense_rank, exists, from, location, not, nth, rank, row_number, when, whole,
        window,
    };
    pub use bobak_core::plan::{IndexAdvice, PlanAccess, PlanStep, QueryPlan};
    pub use bobak_core::{
        AnyColumn, AssignedValue, Assignment, Column, DatePart, DateUnit, EncryptedColumn,
        Expression, Filter, Operand, Order, OrderBy, Placeholder, Placeholders, Query,
        SearchableColumn, Selection, SelectionPart, Summable, TextQuery, count,
    };
}

/// Relations between records. A field with `references` makes a [`ToOne`](relation::ToOne); write the others next to it. They
/// are used in filters and in [shapes](trait@Shape), and to write: [`Table::insert_nested`] inserts a record with new records
/// that refer to it, and [`Table::links`] adds, removes and replaces links.
///
/// ```
/// use bobak::prelude::*;
/// use bobak::Filter;
/// use bobak::relation::ToMany;
///
/// #[derive(Record)]
/// struct Customer {
///     id: i64,
///     city: String,
/// }
///
/// #[derive(Record)]
/// struct Order {
///     id: i64,
///     #[record(references = Customer, index)]
///     customer_id: i64,
/// }
///
/// impl Customer {
///     const ORDERS: ToMany<Customer, Order> = Order::CUSTOMER.inverse();
/// }
///
/// let from_bern: Filter<Order> = Order::CUSTOMER.has(Customer::CITY.eq("Bern"));
/// let without_orders: Filter<Customer> = Customer::ORDERS.is_empty();
/// ```
pub mod relation {
    pub use crate::links::{RecordLinks, ReplacedLinks};
    pub use crate::nested::NestedRecord;
    pub use bobak_core::{
        AnyReference, AnyReferenceColumns, ColumnPair, FieldReference, RecordRelation, RefersTo,
        RelationStep, ToMany, ToOne,
    };
    pub use bobak_derive::AnyReference;
}

/// The types of fields and keys, besides those of the standard library.
pub mod types {
    pub use crate::record_arg::RecordArg;
    pub use bobak_core::{
        Currency, Date, DateTime, EnumSet, Field, IntoStored, Json, Key, OnRequest, SetMember,
        Time, Timestamp, Uuid, Vector,
    };
}

/// The engines with their settings, and the contract for new ones.
///
/// Each engine's builder has all of its settings. Open a database on it with
/// [`DbBuilder::open_engine`](crate::DbBuilder::open_engine), or attach it with
/// [`DbBuilder::attach_engine`](crate::DbBuilder::attach_engine):
///
/// ```
/// use bobak::engine::memory::Memory;
/// use bobak::prelude::*;
/// use std::time::Duration;
///
/// let memory = Memory::builder().busy_timeout(Duration::from_secs(2)).open()?;
/// let db = Db::builder().open_engine(memory)?;
/// # Ok::<(), Error>(())
/// ```
///
/// | engine | builder | feature |
/// |---|---|---|
/// | SQLite | [`sqlite::Sqlite::builder`](bobak_sqlite::Sqlite::builder) | `sqlite` (default) |
/// | memory | [`memory::Memory::builder`](bobak_memory::Memory::builder) | |
/// | key-value file | `kv::Kv::builder` | `kv` |
/// | PostgreSQL | `postgres::Postgres::builder` | `postgres` |
/// | MariaDB and MySQL | `mysql::MySql::builder` | `mysql` |
/// | Firebird | `firebird::Firebird::builder` | `firebird` |
/// | SQL Server | `mssql::Mssql::builder` | `mssql` |
/// | Oracle | `oracle::Oracle::builder` | `oracle` |
/// | Access file | `access::MsAccess::builder` | `access` |
/// | any database with an ODBC driver | `odbc::Odbc::builder` | `odbc` |
/// | Bobak server | `remote::Remote::builder` | `remote` |
pub mod engine {
    #[cfg(feature = "access")]
    pub use bobak_access as access;
    pub use bobak_core::{
        Assign, AtomicFile, BackupContent, BackupFormat, BackupJob, BulkChange, Capabilities,
        Comparison, Condition, Cursor, CursorId, Engine, EngineLayer, Estimate, Expr, FieldSet,
        Join, MonitoredEngine, RowBuffer, Run, SchemaChange, Select, Session, SessionLayer, Source,
        TransactionControl, Verb, Write, WriteBatch, choices, codec, prepare_batched,
        prepare_insert, prepare_update, settings,
    };
    #[cfg(feature = "firebird")]
    pub use bobak_firebird as firebird;
    #[cfg(feature = "kv")]
    pub use bobak_kv as kv;
    pub use bobak_memory as memory;
    #[cfg(feature = "mssql")]
    pub use bobak_mssql as mssql;
    #[cfg(feature = "mysql")]
    pub use bobak_mysql as mysql;
    #[cfg(feature = "odbc")]
    pub use bobak_odbc as odbc;
    #[cfg(feature = "oracle")]
    pub use bobak_oracle as oracle;
    #[cfg(feature = "postgres")]
    pub use bobak_postgres as postgres;
    #[cfg(feature = "remote")]
    pub use bobak_remote as remote;
    #[cfg(feature = "sqlite")]
    pub use bobak_sqlite as sqlite;

    pub use crate::url::{all_settings, file_of_url, open, without_secrets};
    #[cfg(feature = "encryption")]
    pub use bobak_encryption::EncryptionKey;
    #[cfg(feature = "sqlite")]
    pub use bobak_federation::FederatedEngine;
}

/// Everything that most programs need, in one `use`.
pub mod prelude {
    pub use crate::query::{ExpressionMethods, JsonMethods, SetMethods, WindowMethods};
    pub use crate::types::{
        Currency, Date, DateTime, EnumSet, Json, OnRequest, Time, Timestamp, Uuid, Vector,
    };
    pub use crate::{
        Batch, BatchOptions, Db, DynRow, Error, ErrorKind, Field, FromRow, Query, Record,
        SoftDelete, Table, Transaction, Value, count,
    };
}

/// What the derives' expansions name. Not part of the API.
#[doc(hidden)]
pub mod __private {
    pub use crate::shape::{
        RelatedCounts, RelatedRecords, RelatedValues, Shape, ShapeColumns, ShapeJoins, ShapeLevel,
        read_shape_field,
    };
    pub use bobak_core::*;
    pub use std::sync::Arc;
}
