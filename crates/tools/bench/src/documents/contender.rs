//! Documents through Bobak.

use std::path::Path;

use bobak::Db;

use super::RAW_SQLITE;
use super::data::{Document, FOUND, SEARCHES, check, store, words};
use crate::contender::{Contender, Engine, Failure, TaskResult};
use crate::workload::{Expectation, Row, Rows, Task};

/// Documents in an SQLite file.
pub(crate) static SQLITE: DocumentsEngine = DocumentsEngine;

/// What these engines are measured by.
pub(super) const TASKS: &[Task] = &[Task::Search];

/// See [`SQLITE`].
pub(crate) struct DocumentsEngine;

/// A database with documents.
pub(super) trait DocumentsTarget {
    /// Stores so many documents.
    fn store(&mut self, documents: usize) -> Result<(), Failure>;
    /// The best documents that have both words.
    fn search(&mut self, words: &[String; 2]) -> Result<Vec<Document>, Failure>;
}

/// Measures a database with documents.
pub(super) struct DocumentsContender<T> {
    target: T,
    documents: usize,
}

impl<T> DocumentsContender<T> {
    pub(super) const fn new(target: T) -> Self {
        Self { target, documents: 0 }
    }
}

/// A Bobak database for the documents.
pub(super) fn open(folder: &Path) -> Result<Db, Failure> {
    let url = format!("sqlite:{}", folder.join("documents.db").display());
    Ok(Db::builder().record::<Document>().open(&url)?)
}

impl Engine for DocumentsEngine {
    fn name(&self) -> &'static str {
        "documents sqlite"
    }

    fn tasks(&self) -> &'static [Task] {
        TASKS
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(&RAW_SQLITE)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        Ok(Box::new(DocumentsContender::new(open(folder)?)))
    }
}

impl DocumentsTarget for Db {
    fn store(&mut self, documents: usize) -> Result<(), Failure> {
        store(self, documents)
    }

    fn search(&mut self, words: &[String; 2]) -> Result<Vec<Document>, Failure> {
        let query = Document::search(words.join(" ")).limit(FOUND);
        Ok(self.table::<Document>()?.list(query)?)
    }
}

impl<T: DocumentsTarget> Contender for DocumentsContender<T> {
    /// Stores as many documents as there are rows, which say nothing else here.
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        self.target.store(rows.len())?;
        self.documents = rows.len();
        Ok(rows.iter().map(|row| row.id).collect())
    }

    fn load(&mut self, _: &[Row]) -> Result<(), Failure> {
        Ok(())
    }

    fn run(&mut self, _: Task, _: &Expectation<'_>) -> Result<TaskResult, Failure> {
        for search in 0..SEARCHES {
            let words = words(search);
            check(&self.target.search(&words)?, &words)?;
        }
        Ok(TaskResult::Count(self.documents))
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        Err(Failure::new("there are no persons"))
    }
}
