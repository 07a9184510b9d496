//! The power is cut between the steps by which files get into their place: what could be in a folder
//! then, and steps that fail.
//!
//! What Bobak does with files itself (snapshots, backups, archives) goes by the steps of
//! [`durable`](bobak_core::durable). Before each, and at the end, a power cut may leave: only what
//! was synced; all names, but of what was not synced nothing, zeros or torn halves; or everything, as
//! after a kill. A name is durable when its folder was synced, and not before.

use bobak_core::durable::{DurableStep, watch_durable};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Result};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The files of a folder: name and content.
type Files = BTreeMap<String, Vec<u8>>;

/// A possible state of a folder after a power cut.
#[derive(Clone, Debug)]
pub struct CrashImage {
    /// Whether the work had finished: its result must then be complete.
    pub done: bool,
    /// Which step was next and what was lost, for messages.
    pub what: String,
    files: Files,
}

/// The contents of the disk that are known to be durable.
#[derive(Debug, Default)]
struct DurableFiles {
    /// The files that have a durable name.
    names: BTreeMap<String, Inode>,
    /// The synced content of each file.
    contents: BTreeMap<Inode, Vec<u8>>,
}

type Inode = u64;

impl CrashImage {
    /// Writes the files into an empty folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn lay_out(&self, folder: &Path) -> Result<()> {
        self.files.iter().try_for_each(|(name, content)| fs::write(folder.join(name), content))
    }
}

/// Does some work on the files of a folder, whose content is on the disk at first, and gives what
/// may be left by a power cut at each of its steps. The folder has no folders in it.
///
/// # Errors
/// Of the system's.
pub fn cut_at_each_step(folder: &Path, work: impl FnOnce()) -> Result<Vec<CrashImage>> {
    let synced = Rc::new(RefCell::new(DurableFiles::all_of(folder)?));
    let left = Rc::new(RefCell::new(Vec::new()));
    let (disk, all, place) = (Rc::clone(&synced), Rc::clone(&left), folder.to_owned());
    let watch = move |step: DurableStep<'_>, run: &mut dyn FnMut() -> Result<()>| {
        let what = format!("before {step:?}");
        all.borrow_mut().extend(disk.borrow().after_cut(&place, &what, false)?);
        run()?;
        disk.borrow_mut().note(&place, step)
    };
    watch_durable(Box::new(watch), work);
    let mut left = left.take();
    left.extend(synced.borrow().after_cut(folder, "at the end", true)?);
    Ok(left)
}

/// Does some work whose `nth` step, counted from 0, fails; gives whether there were so many.
pub fn fail_step(nth: usize, kind: io::ErrorKind, work: impl FnOnce()) -> bool {
    let number = Rc::new(RefCell::new(0));
    let count = Rc::clone(&number);
    let watch = move |_: DurableStep<'_>, run: &mut dyn FnMut() -> Result<()>| {
        let now = count.replace_with(|count| *count + 1);
        if now == nth { Err(kind.into()) } else { run() }
    };
    watch_durable(Box::new(watch), work);
    let steps = *number.borrow();
    steps > nth
}

impl DurableFiles {
    fn all_of(folder: &Path) -> Result<Self> {
        let mut synced = Self::default();
        for (name, inode, content) in list(folder)? {
            synced.names.insert(name, inode);
            synced.contents.insert(inode, content);
        }
        Ok(synced)
    }

    fn note(&mut self, folder: &Path, step: DurableStep<'_>) -> Result<()> {
        match step {
            DurableStep::Sync(path) => {
                self.contents.insert(inode_of(path)?, fs::read(path)?);
            }
            // RecoveryTarget the folder is synced either name may be there.
            DurableStep::Rename(..) => {}
            DurableStep::SyncFolder(path) if path.parent() == Some(folder) => {
                let names = list(folder)?;
                self.names = names.into_iter().map(|(name, inode, _)| (name, inode)).collect();
            }
            DurableStep::SyncFolder(_) => {}
        }
        Ok(())
    }

    /// What may be there after a cut now.
    fn after_cut(&self, folder: &Path, when: &str, done: bool) -> Result<Vec<CrashImage>> {
        let now = list(folder)?;
        let kept = |inode: &Inode| self.contents.get(inode).cloned().unwrap_or_default();
        let synced_alone =
            self.names.iter().map(|(name, inode)| (name.clone(), kept(inode))).collect();
        let each = |content: &dyn Fn(Inode, &[u8]) -> Vec<u8>| -> Files {
            let file = |(name, inode, now): &(String, Inode, Vec<u8>)| {
                (name.clone(), content(*inode, now))
            };
            now.iter().map(file).collect()
        };
        let cases: [(&str, Files); 5] = [
            ("what was not synced is lost", synced_alone),
            ("the names are there", each(&|inode, _| kept(&inode))),
            ("what was not synced is torn", each(&|inode, now| torn(&kept(&inode), now, 0xee))),
            ("what was not synced is zeros", each(&|inode, now| torn(&kept(&inode), now, 0))),
            ("nothing is lost", each(&|_, now| now.to_vec())),
        ];
        let left = |(lost, files): (&str, Files)| CrashImage {
            done,
            what: format!("{when}: {lost}"),
            files,
        };
        Ok(cases.into_iter().map(left).collect())
    }
}

/// What is synced, and behind it a half of the rest, then garbage; or zeros alone.
fn torn(synced: &[u8], now: &[u8], garbage: u8) -> Vec<u8> {
    let same = synced.iter().zip(now).take_while(|(a, b)| a == b).count();
    if same == now.len() {
        return now.to_vec();
    }
    let whole = if garbage == 0 { same } else { same + (now.len() - same) / 2 };
    let mut torn = now.to_vec();
    torn.iter_mut().skip(whole).for_each(|byte| *byte = garbage);
    torn
}

/// The files of a folder: name, what is behind the name, content.
fn list(folder: &Path) -> Result<Vec<(String, Inode, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        files.push((name.unwrap_or_default(), inode_of(&path)?, fs::read(&path)?));
    }
    Ok(files)
}

#[cfg(unix)]
fn inode_of(path: &Path) -> Result<Inode> {
    use std::os::unix::fs::MetadataExt;
    Ok(fs::metadata(path)?.ino())
}

/// Where files have no numbers nothing is known of renamed ones: nothing then holds.
#[cfg(not(unix))]
fn inode_of(_: &Path) -> Result<Inode> {
    Err(io::ErrorKind::Unsupported.into())
}
