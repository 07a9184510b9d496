//! The way from a database to its feed.

use super::Changes;
use crate::Db;
use bobak_core::Result;

impl Db {
    /// The changes of the main engine's tracked tables.
    ///
    /// ```
    /// use bobak::prelude::*;
    /// use bobak::changes::TrackOptions;
    /// use std::time::Duration;
    /// #[derive(Record)]
    /// struct City { id: i64, name: String }
    ///
    /// let db = Db::builder().track::<City>(TrackOptions::new()).open("sqlite::memory:")?;
    /// db.create_missing_tables()?;
    /// db.table()?.insert(&City { id: 0, name: "Bern".into() })?;
    /// db.execute("UPDATE city SET name = 'Thun'", ())?;
    ///
    /// let mut names = Vec::new();
    /// for change in db.changes()?.table::<City>().iter() {
    ///     names.push(change?.after_as::<City>()?.unwrap().name);
    /// }
    /// assert_eq!(names, ["Bern", "Thun"]);
    ///
    /// // Whoever follows remembers where the page ended, and waits for more from there.
    /// let page = db.changes()?.since(1).wait(Duration::from_secs(60))?;
    /// assert_eq!((page.changes.len(), page.next), (1, 2));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the engine.
    pub fn changes(&self) -> Result<Changes> {
        Ok(Changes::of(self.main_engine()?))
    }

    /// As [`changes`](Self::changes), of an attached engine. Each engine numbers its own.
    ///
    /// # Errors
    /// `Config` where there is no engine of this name.
    pub fn changes_on(&self, engine: &str) -> Result<Changes> {
        Ok(Changes::of(self.engine_of(engine)?))
    }
}
