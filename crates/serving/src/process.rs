//! Limits of the operating system on this process, and what it uses.

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

/// The bytes of memory that this process occupies; `None` where the system does not say.
#[must_use]
pub fn memory_in_use() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(u64::try_from(rustix::param::page_size()).ok()?)
}
