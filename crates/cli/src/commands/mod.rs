//! The commands: one file each, with its flags and what it does.

mod archive;
mod backup;
mod bench;
mod copy;
mod crash;
#[cfg(unix)]
mod doors;
mod export;
mod format;
#[cfg(unix)]
mod http;
mod import;
#[cfg(unix)]
mod limits;
mod parse;
mod query;
#[cfg(feature = "encryption")]
mod rekey;
mod replicate;
mod restore;
#[cfg(unix)]
mod role;
#[cfg(unix)]
mod schedule;
mod schema;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod shipping;
#[cfg(unix)]
mod stop;
#[cfg(unix)]
mod token;
#[cfg(unix)]
mod user;

pub use archive::ArchiveChanges;
pub use backup::Backup;
pub use bench::Bench;
pub use copy::Copy;
pub use crash::CrashWriter;
pub use export::Export;
pub use import::Import;
pub use query::Query;
#[cfg(feature = "encryption")]
pub use rekey::Rekey;
pub use replicate::Replicate;
pub use restore::Restore;
#[cfg(unix)]
pub use role::Role;
pub use schema::Schema;
#[cfg(unix)]
pub use serve::Serve;
#[cfg(unix)]
pub use token::Token;
#[cfg(unix)]
pub use user::User;
