//! Encrypted fields: the database stores only ciphertext of them.
//!
//! A field with `#[record(encrypted)]` is a plain Rust value in the program, and bytes in the database: in its files, backups,
//! copies, replicas and change log. The [keys](FieldKeys) belong to the program, which gives them to
//! [`DbBuilder::field_keys`](crate::DbBuilder::field_keys).
//!
//! ```
//! use bobak::field_encryption::FieldKeys;
//! use bobak::prelude::*;
//!
//! #[derive(Record)]
//! struct Patient {
//!     id: Uuid,
//!     #[record(encrypted(searchable), unique)]
//!     insurance_number: String,
//!     #[record(encrypted)]
//!     diagnosis: Option<String>,
//! }
//!
//! let keys = FieldKeys::new(1, [7; 32]); // in a program: FieldKeys::from_file("field.keys")?
//! let db = Db::builder().record::<Patient>().field_keys(keys).open("sqlite::memory:")?;
//! db.create_missing_tables()?;
//! let patients = db.table::<Patient>()?;
//! patients.insert(&Patient {
//!     id: Uuid::nil(),
//!     insurance_number: "756.1234.5678.97".into(),
//!     diagnosis: Some("a cold".into()),
//! })?;
//! let found = patients.list(Patient::INSURANCE_NUMBER.eq("756.1234.5678.97"))?;
//! assert_eq!(found[0].diagnosis.as_deref(), Some("a cold"));
//! let stored: Vec<(Vec<u8>,)> = db.sql("SELECT diagnosis FROM patient", ())?;
//! assert!(!stored[0].0.windows(4).any(|part| part == b"cold"));
//! # Ok::<(), Error>(())
//! ```
//!
//! The page [Encryption of fields](https://github.com/bobak-db/bobak/blob/main/docs/field-encryption.md) says what is encrypted
//! how, what a searchable field reveals, and how keys are changed.

// A layer in front of an engine: `encrypting_engine` and `encrypting_session` see every operation, `table_cipher` knows a
// table's encrypted columns, `sealed_value` encrypts values, `select` translates queries.

mod encrypting_engine;
mod encrypting_session;
mod engine_ciphers;
mod keys;
mod reencrypt;
mod sealed_value;
mod select;
mod table_cipher;

pub(crate) use encrypting_engine::EncryptingEngine;
pub(crate) use engine_ciphers::EngineCiphers;
pub use keys::FieldKeys;
pub(crate) use reencrypt::reencrypt_batch;
