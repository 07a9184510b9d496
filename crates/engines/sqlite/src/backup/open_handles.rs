//! Finds out whether a database's file is open elsewhere.
//! SQLite's locks show every reader and writer, and every connection to a database with a
//! write-ahead log. An idle connection to a database without one holds no lock; the operating
//! system knows its handle.

use std::path::Path;

/// Whether a file has more open handles than this process's `own`. Works on Linux only, and sees
/// the processes whose handles this one may inspect.
#[cfg(target_os = "linux")]
pub(super) fn is_open_elsewhere(file: &Path, own: usize) -> bool {
    handles(file).is_some_and(|handles| handles > own)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_open_elsewhere(_: &Path, _: usize) -> bool {
    false
}

/// The number of open handles of a file.
#[cfg(target_os = "linux")]
fn handles(file: &Path) -> Option<usize> {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    let (name, wanted) = (file.file_name()?, fs::metadata(file).ok()?);
    let may_have_other_names = wanted.nlink() > 1;
    let is_it = |handle: &Path| {
        // Compare names first: querying a file on an unresponsive disk blocks.
        fs::read_link(handle)
            .is_ok_and(|target| may_have_other_names || target.file_name() == Some(name))
            && fs::metadata(handle)
                .is_ok_and(|it| (it.dev(), it.ino()) == (wanted.dev(), wanted.ino()))
    };
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let is_process =
        |name: &std::ffi::OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    let processes = entries(Path::new("/proc")).filter(|entry| is_process(&entry.file_name()));
    let folders = processes.map(|process| process.path().join("fd"));
    Some(folders.map(|fd| entries(&fd).filter(|handle| is_it(&handle.path())).count()).sum())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn open_files_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let first = File::create(&path).unwrap();
        assert_eq!(handles(&path), Some(1));
        let second = File::open(&path).unwrap();
        std::os::unix::fs::symlink(&path, folder.path().join("b.db")).unwrap();
        std::fs::hard_link(&path, folder.path().join("c.db")).unwrap();
        let others = File::create(folder.path().join("d.db")).unwrap();
        assert!(is_open_elsewhere(&path, 1) && !is_open_elsewhere(&path, 2));
        let linked = File::open(folder.path().join("c.db")).unwrap();
        assert!(is_open_elsewhere(&path, 2) && !is_open_elsewhere(&path, 3));
        drop((first, others, linked));
        assert!(is_open_elsewhere(&path, 0) && !is_open_elsewhere(&path, 1));
        drop(second);
        assert_eq!(handles(&path), Some(0));
        assert!(!is_open_elsewhere(&folder.path().join("missing.db"), 0));
    }
}
