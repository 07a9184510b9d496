//! The names of the backups of a server's databases: `NAME-20261122T043000Z.db`, perhaps compressed.

use super::Compression;
use bobak_core::Timestamp;

/// The endings of backups.
const EXTENSIONS: [&str; 6] = ["db", "db.zst", "db.gz", "bobak", "bobak.zst", "bobak.gz"];

/// The name of a backup of a database that was made at this moment, by its name and the
/// [extension](bobak_core::BackupFormat) of its engine's backups.
///
/// ```
/// use bobak_operations::backup::{Compression, backup_file_name, is_backup_of};
/// let at = "2026-11-22T04:30:00.5Z".parse().unwrap();
/// let name = backup_file_name("app", "db", at, Compression::Zstd);
/// assert_eq!(name, "app-20261122T043000Z.db.zst");
/// assert!(is_backup_of("app", &name));
/// ```
#[must_use]
pub fn backup_file_name(
    database: &str,
    extension: &str,
    at: Timestamp,
    compression: Compression,
) -> String {
    let stamp: String = at.to_string().chars().take(19).filter(|c| !"-:".contains(*c)).collect();
    let suffix = match compression {
        Compression::Zstd => ".zst",
        Compression::Gzip => ".gz",
        _ => "",
    };
    format!("{database}-{stamp}Z.{extension}{suffix}")
}

/// Whether a file name is that of a backup of this database.
#[must_use]
pub fn is_backup_of(database: &str, file: &str) -> bool {
    let parts = || {
        let rest = file.strip_prefix(database)?.strip_prefix('-')?;
        rest.split_once('.')
    };
    parts().is_some_and(|(stamp, extension)| {
        let digit = |c: char| if c.is_ascii_digit() { '0' } else { c };
        let shape: String = stamp.chars().map(digit).collect();
        shape == "00000000T000000Z" && EXTENSIONS.contains(&extension)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_are_no_backups() {
        assert!(is_backup_of("app", "app-20261122T043000Z.db"));
        assert!(is_backup_of("app", "app-20261122T043000Z.db.zst"));
        for other in [
            "app-2-20261122T043000Z.db",
            "app-20261122T043000Z.db.1.2.new",
            "app-20261122T043000Z.txt",
            "app-2026.db",
            "app.db",
            "other-20261122T043000Z.db",
        ] {
            assert!(!is_backup_of("app", other), "{other}");
        }
    }
}
