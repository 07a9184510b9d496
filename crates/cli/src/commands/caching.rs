//! How `bobak serve` keeps rows in memory.

use super::arguments::short_duration;
use crate::error::{Error, Result};
use bobak::cache::{CacheOptions, cache_tables};
use bobak::engine::Engine;
use clap::Args;
use std::sync::Arc;
use std::time::Duration;

/// How long a row is kept unless the flag says it.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// The flags for caches.
#[derive(Debug, Args)]
#[command(next_help_heading = "Caches")]
pub struct CachingOptions {
    /// Keep rows of this table that are read by key in memory for TIME, such as 500ms or 1h, and so answer further reads without
    /// the database; may be repeated. Writes through this server are visible at once, those of other programs after TIME, or
    /// after a tenth of a second if changes of the table are captured [default of TIME: 10s]
    #[arg(long = "cache", value_name = "TABLE[=TIME]", value_parser = cached_table)]
    tables: Vec<(String, Duration)>,

    /// The most rows of each cached table in memory
    #[arg(long, value_name = "N", default_value = "10000", requires = "tables", value_parser = clap::value_parser!(u64).range(1..))]
    cache_rows: u64,

    /// The most bytes of each cached table's rows in memory
    #[arg(long, value_name = "BYTES", default_value = "16777216", requires = "tables", value_parser = clap::value_parser!(u64).range(1..))]
    cache_bytes: u64,
}

impl CachingOptions {
    /// The databases, with caches in front of those that have one of the tables.
    ///
    /// # Errors
    /// If none has a table, or it is a view.
    pub fn cached(
        &self,
        databases: Vec<(String, Arc<dyn Engine>)>,
    ) -> Result<Vec<(String, Arc<dyn Engine>)>> {
        let mut missing: Vec<&str> = self.tables.iter().map(|(name, _)| name.as_str()).collect();
        let mut cached = |(name, engine)| Ok((name, self.cached_engine(engine, &mut missing)?));
        let databases = databases.into_iter().map(&mut cached).collect::<Result<_>>()?;
        match missing.first() {
            Some(table) => Err(Error::failed(format!("there is no table '{table}' to cache"))),
            None => Ok(databases),
        }
    }

    fn cached_engine(
        &self,
        engine: Arc<dyn Engine>,
        missing: &mut Vec<&str>,
    ) -> Result<Arc<dyn Engine>> {
        if self.tables.is_empty() {
            return Ok(engine);
        }
        let options = CacheOptions::new().entries(self.cache_rows).bytes(self.cache_bytes);
        let mut tables = Vec::new();
        for table in engine.session()?.tables_and_views()? {
            let is_own = |name: &str| name.eq_ignore_ascii_case(table.name());
            // Of a table that is given twice, the last time counts.
            let given = self.tables.iter().rfind(|(name, _)| is_own(name));
            missing.retain(|name| !is_own(name));
            if let Some((_, time)) = given {
                tables.push((Arc::new(table), options.clone().time_to_live(*time)));
            }
        }
        Ok(cache_tables(engine, tables)?)
    }
}

/// Parses `TABLE` and `TABLE=TIME`.
fn cached_table(text: &str) -> std::result::Result<(String, Duration), String> {
    match text.rsplit_once('=') {
        Some((table, time)) if !table.is_empty() => Ok((table.to_owned(), short_duration(time)?)),
        None if !text.is_empty() => Ok((text.to_owned(), DEFAULT_TIME)),
        _ => Err("expected TABLE or TABLE=TIME, as in person=30s".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_times() {
        let parsed = |name: &str, time| Ok((name.to_owned(), time));
        assert_eq!(cached_table("person"), parsed("person", DEFAULT_TIME));
        assert_eq!(cached_table("a=b=5ms"), parsed("a=b", Duration::from_millis(5)));
        for wrong in ["", "=1s", "person=", "person=5"] {
            assert!(cached_table(wrong).is_err(), "{wrong}");
        }
    }
}
