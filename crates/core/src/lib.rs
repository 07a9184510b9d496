//! The core of Bobak: values, schemas, records, queries, batches, errors and the engine contract.
//!
//! It has no async runtime, and no I/O except atomic files. Programs depend on the facade crate `bobak`,
//! which re-exports what they need; engines depend on this crate.
//!
//! Reading order: [`Value`] → [`Field`] → [`TableSchema`] → [`Record`] → [`Query`] → [`WriteBatch`] →
//! [`Engine`] and [`Session`].

mod alteration;
mod any_reference;
mod assign;
mod atomic_file;
mod backup;
mod batch;
pub mod change_log;
pub mod check;
pub mod codec;
mod column;
mod column_buffer;
mod condition;
mod condition_columns;
mod deadline;
pub mod durable;
mod dynamic;
mod encrypted_column;
pub mod engine;
mod error;
mod estimates;
mod expression;
mod field;
mod field_reference;
mod fieldset;
mod folded_value;
mod generated_columns;
mod interrupt;
pub mod join;
mod json_path;
mod map_columns;
mod mark;
pub mod nearest;
mod nearest_select;
mod on_request;
mod parameter;
mod parse;
pub use parse::{RelatedStep, TextQuery};
mod pattern;
mod placeholder;
mod prepare;
mod query;
mod query_after;
mod record;
mod record_rules;
mod relation;
mod result_column;
mod row;
mod row_buffer;
mod row_lock;
mod rule_violation;
pub mod rules;
mod schema;
pub mod search;
mod search_select;
pub mod settings;
mod soft_delete;
mod sql_arguments;
pub mod sql_expression;
pub mod sql_token;
pub mod statements;
mod subquery;
mod sum;
mod template;
mod types;
mod value;
mod violation;
mod word_hasher;

pub mod url;

pub use alteration::{CONVERTED, TableAlteration};
pub use any_reference::{AnyReference, AnyReferenceColumns, RefersTo};
#[doc(hidden)]
pub use any_reference::{read_any_reference, unknown_table};
pub use assign::{Assign, AssignedValue, Assignment};
pub use atomic_file::AtomicFile;
pub use backup::{
    BackupContent, BackupFormat, BackupJob, BackupPhase, BackupProgress, MissingExtension,
    UnverifiedTable,
};
pub use batch::{GeneratedKey, OnError, Outcome, Run, WriteBatch};
pub use column::{AnyColumn, Column, Operand};
pub use column_buffer::{ByteValues, ColumnBuffer, ColumnValues};
pub use condition::{Comparison, Condition, Filter, compare_in_column, compare_values};
pub use deadline::Deadline;
pub use dynamic::DynRow;
pub use encrypted_column::{EncryptedColumn, SearchableColumn};
pub use engine::plan;
pub use engine::{
    BulkChange, Capabilities, Cursor, CursorId, Engine, EngineLayer, Estimate, LengthLimit,
    MonitoredEngine, SchemaChange, Session, SessionLayer, SideEffects, Source, SqlAction,
    SqlAuthorizer, SqlHost, TransactionControl, ValueAddress, ValueInput, ValueRange, ValueState,
    Verb, Write, atomically,
};
pub use error::{Error, ErrorKind, Result};
pub use estimates::RowEstimates;
pub use expression::{Expr, Expression, Selection, SelectionPart, Summable, count};
pub use field::Field;
pub use field_reference::{ColumnPair, FieldReference};
pub use fieldset::FieldSet;
pub use folded_value::FoldedValue;
pub use generated_columns::check_generated_columns;
pub use interrupt::{Interrupt, Interruptible};
pub use join::{Join, JoinQuery};
pub use json_path::{JsonPath, JsonPathStep};
#[doc(hidden)]
pub use on_request::read_on_request;
pub use on_request::{OnRequest, PartialRow, check_loaded};
pub use parameter::{IntoStored, Parameter};
pub use pattern::{
    MAX_PATTERN_BYTES, check_escape, check_pattern, glob, like, like_with_escape, replace_escape,
};
pub use placeholder::{Placeholder, Placeholders, with_placeholder_values};
pub use prepare::{
    now, prepare_batched, prepare_batched_dynamic, prepare_dynamic_insert, prepare_insert,
    prepare_update, stamp_assignments,
};
pub use query::{Order, OrderBy, Query, Select};
#[doc(hidden)]
pub use query_after::no_place;
pub use record::{FromRow, Key, Record, SchemaCell, read_field, read_field_into};
#[doc(hidden)]
pub use record::{check_width, named, read_result, read_result_record};
#[doc(hidden)]
pub use record_rules::check_record;
pub use relation::{RecordRelation, RelationStep, ToMany, ToOne};
pub use result_column::{ResultColumn, convert};
pub use row::Row;
pub use row_buffer::RowBuffer;
pub use row_lock::RowLock;
pub use schema::{
    BrokenForeignKey, Collation, ColumnRole, ColumnSchema, ComputedIndex, ForeignKey, IndexSchema,
    InvalidDates, KeyGeneration, OnDelete, OnUpdate, PartialInsert, Reference, SchemaDetails,
    SchemaLoss, TableSchema, TableSchemaBuilder, TextOrder,
};
pub use soft_delete::SoftDelete;
pub use sql_arguments::{SqlArgument, SqlArguments};
pub use subquery::{SubQuery, SubQueryRows};
pub use sum::Sum;
pub use template::{QueryTemplate, SlotValues, TemplateParameter, TemplateQuery};
pub use types::{
    Currency, Date, DatePart, DateTime, DateUnit, EnumSet, Json, SetMember, Storage, Time,
    Timestamp, Type, Uuid, Vector, is_json, stored_literal, vector_bytes, vector_numbers,
};
pub use value::{Value, ValueRef};
pub use word_hasher::WordHasher;
