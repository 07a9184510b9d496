//! The files of the repository: what a commit of the work tree would hold.
//!
//! The list comes from git, not from the disk: build output and databases are in the same folders and no link target, and
//! on a disk that ignores case a link with the wrong case would pass here and fail everywhere else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::failure::{Failure, Outcome};

/// The files of one repository, by their paths from its root, with `/` between folders.
pub struct Tree {
    root: PathBuf,
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl Tree {
    /// The repository that this program belongs to.
    pub fn of_workspace() -> Outcome<Self> {
        Self::at(&cargo::root())
    }

    /// The repository whose root is `root`: files that are tracked, and new ones that are not ignored.
    ///
    /// # Errors
    /// When `root` is not a git work tree, or git is not installed.
    pub fn at(root: &Path) -> Outcome<Self> {
        let output = Command::new("git")
            // CI often clones as one user and builds as another, which git rejects to read by default.
            .args([
                "-c",
                "safe.directory=*",
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .current_dir(root)
            .output()
            .map_err(|error| {
                Failure::new(format!("git cannot be started: {error}"), "install git")
            })?;
        if !output.status.success() {
            return Err(Failure::new(
                format!(
                    "git cannot list the files: {}",
                    String::from_utf8_lossy(&output.stderr).trim_end()
                ),
                "run this in a clone of the repository, not in an unpacked archive",
            ));
        }
        let names = String::from_utf8_lossy(&output.stdout);
        // A file that was deleted but not yet committed is still in git's index.
        let files: BTreeSet<String> =
            names.split('\0').filter(|name| root.join(name).is_file()).map(String::from).collect();
        let folders = files.iter().flat_map(|file| folders_above(file)).map(String::from).collect();
        Ok(Self { root: root.to_path_buf(), files, folders })
    }

    /// The files whose names end in `.{extension}`, in order.
    pub fn with_extension<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = &'a str> {
        self.files
            .iter()
            .map(String::as_str)
            .filter(move |file| Path::new(file).extension().is_some_and(|found| found == extension))
    }

    /// All files, in order.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Whether `path` is a file.
    pub fn has_file(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// Whether `path` is a file, a folder, or the root itself (an empty path).
    pub fn has(&self, path: &str) -> bool {
        path.is_empty() || self.has_file(path) || self.folders.contains(path)
    }

    /// Whether `name` is a folder directly under the root.
    pub fn has_top_folder(&self, name: &str) -> bool {
        !name.contains('/') && self.folders.contains(name)
    }

    /// The text of a file. Bytes that are not UTF-8 become replacement characters.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, path: &str) -> Outcome<String> {
        match fs::read(self.root.join(path)) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => {
                Err(Failure::new(format!("{path} cannot be read: {error}"), "see that it exists"))
            }
        }
    }
}

/// `a/b/c.rs` lies in `a` and in `a/b`.
fn folders_above(file: &str) -> impl Iterator<Item = &str> {
    file.match_indices('/').map(|(at, _)| &file[..at])
}

#[cfg(test)]
pub mod fixture {
    //! A real git work tree in a temporary folder.

    use super::*;

    /// Writes `files` (path, text) into a new work tree. The folder lives as long as the first value.
    pub fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Tree) {
        let folder = tempfile::tempdir().unwrap();
        let status = Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(folder.path())
            .status()
            .unwrap();
        assert!(status.success());
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tree = Tree::at(folder.path()).unwrap();
        (folder, tree)
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::tree;
    use super::*;

    #[test]
    fn ignored_files_are_not_part_of_it() {
        let (_folder, tree) =
            tree(&[(".gitignore", "/target\n"), ("target/x.rs", ""), ("src/a/b.rs", "")]);
        assert!(tree.has_file("src/a/b.rs") && !tree.has_file("src/a"));
        assert!(tree.has("src/a") && tree.has_top_folder("src") && !tree.has_top_folder("src/a"));
        assert!(!tree.has("target") && !tree.has("target/x.rs"));
        assert_eq!(tree.with_extension("rs").collect::<Vec<_>>(), ["src/a/b.rs"]);
    }

    #[test]
    fn a_folder_without_git_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let failure = Tree::at(folder.path()).err().unwrap().to_string();
        assert!(failure.contains("clone"), "{failure}");
    }
}
