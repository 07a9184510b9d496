//! Limits of the operating system on this process.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises this process's limit on open files and sockets to the most that the system allows, and
/// returns it. Many systems start processes with 1,024. For programs that are servers and nothing
/// else.
pub fn raise_file_limit() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If the system rejects, the server accepts fewer clients.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
