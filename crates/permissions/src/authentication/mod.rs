//! Authentication: who a client is. What it may do is in [`policy`](crate::policy).
//!
//! What happens with a wrong password: [`Access::authenticate`] fails with `Denied` and the same
//! message as for a wrong token or an unknown user, after the same time. The listeners pass that
//! error on, count it (`LoginQueue` in `bobak-serving`) and log it (`AuditLog`).

mod access;
mod administration;
mod caller;
mod schema_access;
mod sign_in;

pub use access::Access;
pub use administration::AccessDescription;
pub use caller::Caller;
pub use schema_access::SchemaAccess;
