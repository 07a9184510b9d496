//! The access file: roles with their grants, users and tokens.

mod access_file;
mod access_policy;
mod account;
mod account_edits;
mod expiry;
mod grant;
mod line_parser;
mod permission;
mod row_rule;

pub use access_file::AccessFile;
pub use access_policy::Policy;
pub(crate) use account::Account;
pub use account_edits::AccountDescription;
pub use expiry::check_expiry;
pub(crate) use grant::{CallerPermissions, Grant};
pub use permission::Permission;
pub(crate) use permission::PermissionSet;
pub(crate) use row_rule::RowRule;
