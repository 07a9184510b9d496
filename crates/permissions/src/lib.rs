//! Users, tokens and roles, and what each may do: an engine in front of an engine.
//!
//! * [`Access`] reads users, tokens and roles from a text file, the access file.
//!   [`Access::authenticate`] turns a token, or a user name and password, into a [`Caller`].
//! * [`PermissionEngine`] is a database as one caller may use it: an engine that does what the
//!   caller's permissions allow and rejects the rest. [`ProtectedDatabase::engine_for`] makes it.
//!   All listeners use it, so none of them has rules of its own, and none can forget to check: every
//!   call of the engine contract goes through it.
//!
//! Nothing is allowed until it is granted, except to the operator. A table without any permission
//! looks as if it did not exist. `docs/permissions.md` describes the access file.
//!
//! ```
//! use bobak_core::Engine;
//! use bobak_memory::Memory;
//! use bobak_permissions::{Access, Credentials, ProtectedDatabase, new_token};
//! use std::sync::Arc;
//!
//! let (token, hash) = new_token()?;
//! let access = Access::from_text(&format!("
//!     role clerk
//!         read, insert on orders where clerk = :user
//!     token till-1 {hash} roles clerk
//! "))?;
//! let shop = ProtectedDatabase::new("shop", Arc::new(Memory::new()));
//! let caller = access.authenticate(&Credentials::Token(token), false)?;
//! let engine = shop.engine_for(&caller);
//! assert!(engine.tables()?.is_empty());
//! # Ok::<(), bobak_core::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod authentication;
#[doc(hidden)]
pub mod decoders;
mod engine;
mod policy;
mod secret;

pub use authentication::{Access, AccessDescription, Caller, SchemaAccess};
pub use bobak_wire::Credentials;
pub use engine::{PermissionEngine, ProtectedDatabase, ReadableRows, read_only_policy};
pub use policy::{AccessFile, AccountDescription, Permission, Policy, check_expiry};
pub use secret::{hash_password, hash_token, new_token};
