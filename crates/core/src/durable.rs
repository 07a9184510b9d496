//! The steps by which what was written reaches the disk, each in one place: so that tests can cut
//! the power, or let the disk fail, between any two of them.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Result;
use std::path::Path;

/// One of the steps.
#[derive(Clone, Copy, Debug)]
pub enum DurableStep<'a> {
    /// The content of the file at this path reaches the disk.
    Sync(&'a Path),
    /// A file takes another name, and the place of the file that has it.
    Rename(&'a Path, &'a Path),
    /// The names in the folder of the file at this path reach the disk.
    SyncFolder(&'a Path),
}

/// What is told of each step and does it, or fails. See [`watch_durable`].
pub type DurableWatch =
    Box<dyn FnMut(DurableStep<'_>, &mut dyn FnMut() -> Result<()>) -> Result<()>>;

thread_local! {
    static WATCH: RefCell<Option<DurableWatch>> = const { RefCell::new(None) };
}

/// Has the content of a file reach the disk.
///
/// # Errors
/// Of the system's.
pub fn sync_file(file: &File, path: &Path) -> Result<()> {
    step(DurableStep::Sync(path), &mut || file.sync_all())
}

/// As [`sync_file`], without what only says when it was changed.
///
/// # Errors
/// Of the system's.
pub fn sync_content(file: &File, path: &Path) -> Result<()> {
    step(DurableStep::Sync(path), &mut || file.sync_data())
}

/// Gives a file another name; what had it is gone.
///
/// # Errors
/// Of the system's.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    step(DurableStep::Rename(from, to), &mut || fs::rename(from, to))
}

/// Makes a change of the names in a file's folder durable.
///
/// # Errors
/// Of the system's.
pub fn sync_folder(path: &Path) -> Result<()> {
    step(DurableStep::SyncFolder(path), &mut || {
        if cfg!(unix) {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(())
    })
}

/// Whether an open file has this name still: not where it was removed or moved, or another is in its
/// place. Where the system does not tell, whether there is a file of this name.
#[must_use]
pub fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |data: fs::Metadata| (data.dev(), data.ino());
        let (own, there) = (file.metadata().map(place), fs::metadata(path).map(place));
        own.is_ok_and(|own| there.is_ok_and(|there| own == there))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// Runs `work` with something that does the steps of this thread: for tests.
pub fn watch_durable<R>(watch: DurableWatch, work: impl FnOnce() -> R) -> R {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            WATCH.take();
        }
    }
    let _reset = Reset;
    WATCH.set(Some(watch));
    work()
}

fn step(step: DurableStep<'_>, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    // Away while it runs: what it does itself is its own matter.
    let Some(mut watch) = WATCH.take() else {
        return work();
    };
    let done = watch(step, work);
    WATCH.set(Some(watch));
    done
}
