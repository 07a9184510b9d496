//! Documents by hand: FTS5 through the C API.

use std::path::{Path, PathBuf};

use super::contender::{DocumentsContender, DocumentsTarget, TASKS, open};
use super::data::{Document, FOUND, store};
use crate::contender::{Contender, Engine, Failure};
use crate::raw::Connection;
use crate::workload::Task;

pub(crate) static RAW_SQLITE: RawSqlite = RawSqlite;

/// The query in which FTS5 sorts by itself.
const SEARCH: &str = "SELECT d.id, d.title, d.body FROM bobak_search_document s \
    JOIN document d ON d.id = s.rowid WHERE bobak_search_document MATCH ?1 ORDER BY s.rank LIMIT ?2";

/// See [`RAW_SQLITE`].
pub(crate) struct RawSqlite;

/// The folder of the file, and the connection to it once it is filled.
type Target = (PathBuf, Option<Connection>);

impl Engine for RawSqlite {
    fn name(&self) -> &'static str {
        "raw documents sqlite"
    }

    fn tasks(&self) -> &'static [Task] {
        TASKS
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(&RAW_SQLITE)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        let target: Target = (folder.to_owned(), None);
        Ok(Box::new(DocumentsContender::new(target)))
    }
}

impl DocumentsTarget for Target {
    /// Through Bobak, so that the table and the index are the same.
    fn store(&mut self, documents: usize) -> Result<(), Failure> {
        store(&open(&self.0)?, documents)?;
        self.1 = Some(Connection::open(Some(&self.0.join("documents.db")), None)?);
        Ok(())
    }

    fn search(&mut self, words: &[String; 2]) -> Result<Vec<Document>, Failure> {
        let connection = self.1.as_ref().ok_or_else(|| Failure::new("the file is empty"))?;
        let text = words.join(" ");
        let mut search = connection.prepare(SEARCH)?;
        search.bind_text(1, &text)?;
        search.bind_i64(2, FOUND.cast_signed())?;
        let mut found = Vec::new();
        while search.step()? {
            let (title, body) = (search.text(1)?.to_owned(), search.text(2)?.to_owned());
            found.push(Document { id: search.i64(0), title, body });
        }
        Ok(found)
    }
}
