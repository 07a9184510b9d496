//! Who may come to a server, and what they may do there.
//!
//! * An [`Access`] knows users, tokens and roles, from a file that people can read and change; its
//!   [`check`](Access::check) turns what somebody shows into a [`Caller`].
//! * A [`Guarded`] is a database with a caller before it: an engine that does what the caller may
//!   do, and refuses the rest. [`Protected::engine_for`] makes it; every door uses it, so that none
//!   has rules of its own.
//!
//! Nothing is allowed until it is granted, but to the operator. What somebody has no right to at
//! all looks as if it were not there. `docs/permissions.md` has the file's form.
//!
//! ```
//! use bobak_core::Engine;
//! use bobak_memory::Memory;
//! use bobak_permissions::{Access, Protected, new_token};
//! use bobak_wire::Credentials;
//! use std::sync::Arc;
//!
//! let (token, hash) = new_token()?;
//! let access = Access::from_text(&format!("
//!     role clerk
//!         read, insert on orders where clerk = :user
//!     token till-1 {hash} roles clerk
//! "))?;
//! let shop = Protected::new("shop", Arc::new(Memory::new()));
//! let caller = access.check(&Credentials::Token(token), false)?;
//! let engine = shop.engine_for(&caller);
//! assert!(engine.tables()?.is_empty());
//! # Ok::<(), bobak_core::Error>(())
//! ```

mod access;
mod caller;
#[doc(hidden)]
pub mod decoders;
mod expiry;
mod guard;
mod policy;
mod right;
mod rule;
mod secret;
mod text;
mod tokens;

pub use access::Access;
pub use bobak_wire::Credentials;
pub use caller::Caller;
pub use expiry::check_expiry;
pub use guard::{Guarded, Protected, reads_only};
pub use policy::Policy;
pub use right::Right;
pub use secret::{hash_password, hash_token, new_token};
pub use text::AccessText;
