//! The commands: one file each, with its flags and what it does.

#[cfg(unix)]
mod advise;
mod archive;
mod arguments;
mod backup;
mod bench;
#[cfg(unix)]
mod caching;
mod check;
#[cfg(unix)]
mod continuous_archive;
mod copy;
mod crash_writer;
mod export;
mod format;
mod given_types;
#[cfg(unix)]
mod http;
mod import;
#[cfg(unix)]
mod limits;
#[cfg(unix)]
mod listeners;
#[cfg(unix)]
mod mcp;
mod migrate;
mod migrate_diff;
#[cfg(unix)]
mod monitoring;
#[cfg(unix)]
mod permissions;
mod query;
mod reconnection;
#[cfg(feature = "encryption")]
mod rekey;
mod replicate;
mod restore;
mod sample;
#[cfg(unix)]
mod scheduled_backup;
mod schema;
#[cfg(unix)]
mod serve;
mod setting_flags;
mod settings;
#[cfg(unix)]
mod shutdown;
#[cfg(unix)]
mod sign_in;
mod sql_files;
#[cfg(unix)]
mod statement_source;
#[cfg(unix)]
mod studio;
#[cfg(unix)]
mod tls;
#[cfg(unix)]
mod token;
#[cfg(unix)]
mod top;
#[cfg(unix)]
mod user;

#[cfg(unix)]
pub use advise::AdviseCommand;
pub use archive::ArchiveCommand;
pub use backup::BackupCommand;
pub use bench::BenchCommand;
pub use check::CheckCommand;
pub use copy::CopyCommand;
pub use crash_writer::CrashWriterCommand;
pub use export::ExportCommand;
pub use import::ImportCommand;
#[cfg(unix)]
pub use mcp::McpCommand;
pub use migrate::MigrateCommand;
#[cfg(unix)]
pub use permissions::PermissionsCommand;
pub use query::QueryCommand;
#[cfg(feature = "encryption")]
pub use rekey::RekeyCommand;
pub use replicate::ReplicateCommand;
pub use restore::RestoreCommand;
pub use sample::SampleCommand;
pub use schema::SchemaCommand;
#[cfg(unix)]
pub use serve::ServeCommand;
pub use settings::SettingsCommand;
#[cfg(unix)]
pub use studio::StudioCommand;
#[cfg(unix)]
pub use token::TokenCommand;
#[cfg(unix)]
pub use top::TopCommand;
#[cfg(unix)]
pub use user::UserCommand;
