//! The pages of the book.

use std::path::{Path, PathBuf};

/// A page of the book.
pub struct Page {
    /// The path of its text relative to `book/src`; that of the included page if it includes one.
    pub name: String,
    /// Its path in the table of contents.
    pub link: String,
    pub text: String,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The folder with the book's pages.
pub fn source() -> PathBuf {
    root().join("book/src")
}

/// All files with this extension in a folder and its subfolders, without those of builds.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("reads a folder") {
            let path = entry.expect("reads an entry").path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
    }
    files
}

/// All pages of the book but the table of contents. A page that begins with another file has that file's text.
pub fn pages() -> Vec<Page> {
    let of = |path: PathBuf| {
        let link = path.strip_prefix(source()).expect("is inside").display().to_string();
        let text = std::fs::read_to_string(&path).expect("reads a page");
        match text.strip_prefix("{{#include ").and_then(|rest| rest.split_once("}}")) {
            Some((included, _)) => {
                let name = format!("../../{}", included.trim_start_matches("../"));
                let included = path.parent().expect("has a folder").join(included);
                let text = std::fs::read_to_string(&included).expect("reads an included page");
                Page { name, link, text }
            }
            None => Page { name: link.clone(), link, text },
        }
    };
    files(&source(), "md").into_iter().map(of).filter(|page| page.link != "SUMMARY.md").collect()
}
