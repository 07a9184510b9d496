//! The machine, as far as a reader needs it to judge the figures.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

/// Where a run took place. What the system does not tell is `unknown`.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Cores that this process may use.
    pub cores: usize,
    /// Model of the processor.
    pub cpu: String,
    /// Main memory, in MiB; 0 if unknown.
    pub memory_mib: u64,
    /// Operating system and kernel.
    pub kernel: String,
    /// File system of the folder for databases, such as `ext4`.
    pub file_system: String,
    /// Commit of the source tree that the program was started in, with `-dirty` where files
    /// were changed since; none outside of one.
    pub commit: Option<String>,
    /// `release`, or `debug`, whose figures mean nothing.
    pub build: &'static str,
    /// Compile-time options of the SQLite library.
    pub sqlite_options: Vec<String>,
}

impl Machine {
    /// Describes this machine, with the file system under `folder`.
    #[must_use]
    pub fn here(folder: &Path) -> Self {
        let release = read("/proc/sys/kernel/osrelease");
        let release = release.as_deref().map_or("", str::trim);
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            cpu: read("/proc/cpuinfo")
                .and_then(|text| field(&text, "model name").map(str::to_owned))
                .unwrap_or_else(unknown),
            memory_mib: read("/proc/meminfo").and_then(|text| memory_mib(&text)).unwrap_or(0),
            kernel: format!("{} {release}", std::env::consts::OS).trim_end().to_owned(),
            file_system: read("/proc/mounts")
                .zip(folder.canonicalize().ok())
                .and_then(|(mounts, folder)| file_system(&mounts, &folder))
                .unwrap_or_else(unknown),
            commit: commit(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
            sqlite_options: crate::raw::library().1,
        }
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The value of `name : value` in a table of the kernel's.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn memory_mib(meminfo: &str) -> Option<u64> {
    let kib = field(meminfo, "MemTotal")?.strip_suffix("kB")?;
    Some(kib.trim().parse::<u64>().ok()? / 1024)
}

/// The type of the mount that is deepest above `folder`; of equals the last, which hides others.
fn file_system(mounts: &str, folder: &Path) -> Option<String> {
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (point, kind) = (words.next()?, words.next()?);
        folder.starts_with(point).then_some((point.len(), kind))
    });
    mounts.max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind.to_owned())
}

/// The commit, if the working folder is in this project's own tree.
fn commit() -> Option<String> {
    let root = git(&["rev-parse", "--show-toplevel"])?;
    let manifest = Path::new(&root).join("crates/tools/bench/Cargo.toml");
    if !fs::read_to_string(manifest).ok()?.contains(env!("CARGO_PKG_NAME")) {
        return None;
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { commit } else { commit + "-dirty" })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_tables_are_read() {
        assert_eq!(field("processor\t: 0\nmodel name\t: A B\n", "model name"), Some("A B"));
        assert_eq!(memory_mib("MemTotal:       24683524 kB\n"), Some(24_105));
        assert_eq!(memory_mib("MemTotal: many\n"), None);
    }

    #[test]
    fn the_deepest_mount_counts() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tm xfs rw 0 0\n";
        assert_eq!(file_system(mounts, Path::new("/tmp/x")).as_deref(), Some("tmpfs"));
        assert_eq!(file_system(mounts, Path::new("/home")).as_deref(), Some("ext4"));
    }

    #[test]
    fn this_machine_has_cores() {
        assert!(Machine::here(Path::new(".")).cores > 0);
    }
}
