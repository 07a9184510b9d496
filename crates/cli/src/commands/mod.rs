//! The commands: one file each, with its flags and what it does.

mod archive;
mod arguments;
mod backup;
mod bench;
#[cfg(unix)]
mod continuous_archive;
mod copy;
mod crash_writer;
mod export;
mod format;
#[cfg(unix)]
mod http;
mod import;
#[cfg(unix)]
mod limits;
#[cfg(unix)]
mod listeners;
#[cfg(unix)]
mod permissions;
mod query;
#[cfg(feature = "encryption")]
mod rekey;
mod replicate;
mod restore;
#[cfg(unix)]
mod scheduled_backup;
mod schema;
#[cfg(unix)]
mod serve;
mod settings;
#[cfg(unix)]
mod shutdown;
#[cfg(unix)]
mod token;
#[cfg(unix)]
mod user;

pub use archive::ArchiveChanges;
pub use backup::Backup;
pub use bench::Bench;
pub use copy::Copy;
pub use crash_writer::CrashWriter;
pub use export::Export;
pub use import::Import;
#[cfg(unix)]
pub use permissions::Permissions;
pub use query::Query;
#[cfg(feature = "encryption")]
pub use rekey::Rekey;
pub use replicate::Replicate;
pub use restore::Restore;
pub use schema::Schema;
#[cfg(unix)]
pub use serve::Serve;
pub use settings::ListSettings;
#[cfg(unix)]
pub use token::Token;
#[cfg(unix)]
pub use user::User;
