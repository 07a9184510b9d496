//! The engines whose tables a host shows, and what those tables are.

use super::link::Writer;
use crate::Function;
use bobak_core::{Engine, Error, Result, TableSchema};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// An engine whose tables appear beside the host's own.
pub(crate) struct Guest {
    /// The name that qualifies its tables.
    pub name: String,
    /// The engine.
    pub engine: Arc<dyn Engine>,
}

/// The engines of a host.
pub(crate) struct Guests {
    all: Vec<Guest>,
    functions: Vec<Function>,
    catalog: Mutex<Option<Arc<Catalog>>>,
    /// Raised whenever the catalog changes.
    version: AtomicU64,
}

/// The tables of all guests, at one moment.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// By the guest's place.
    pub tables: Vec<Vec<Arc<TableSchema>>>,
    /// Why a guest's tables are not known.
    pub errors: Vec<Option<Error>>,
}

impl Guests {
    pub(crate) fn new(all: Vec<(String, Arc<dyn Engine>)>, functions: Vec<Function>) -> Self {
        let all = all.into_iter().map(|(name, engine)| Guest { name, engine }).collect();
        Self { all, functions, catalog: Mutex::new(None), version: AtomicU64::new(1) }
    }

    pub(crate) fn all(&self) -> &[Guest] {
        &self.all
    }

    /// Functions for the host's connections.
    pub(crate) fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The place of the guest with this name.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|guest| guest.name.eq_ignore_ascii_case(name))
    }

    /// A number that changes when the guests' tables do.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The tables; asked for where they are not known yet.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        let mut known = self.catalog.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.get_or_insert_with(|| Arc::new(self.ask(None))))
    }

    /// Asks for the tables anew; `true` where there are others.
    pub(crate) fn refresh(&self) -> bool {
        let mut known = self.catalog.lock().unwrap_or_else(PoisonError::into_inner);
        let old = known.take();
        let new = self.ask(old.as_deref());
        let changed = old.as_ref().is_none_or(|old| !old.is_same(&new));
        *known = Some(if changed { Arc::new(new) } else { old.unwrap_or_default() });
        drop(known);
        if changed {
            self.version.fetch_add(1, Ordering::AcqRel);
        }
        changed
    }

    /// Has the tables asked for anew at the next statement.
    pub(crate) fn forget(&self) {
        *self.catalog.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// A writer in words.
    pub(crate) fn writer_name(&self, writer: Writer) -> String {
        match writer {
            Writer::Host => "'main'".to_owned(),
            Writer::Guest(place) => {
                self.all.get(place).map_or(String::new(), |guest| format!("'{}'", guest.name))
            }
        }
    }

    /// Tables that are as before keep their schema, whose id is part of statement caches.
    fn ask(&self, old: Option<&Catalog>) -> Catalog {
        let mut catalog = Catalog::default();
        for (place, guest) in self.all.iter().enumerate() {
            let before = old.and_then(|old| old.tables.get(place));
            let keep = |table: TableSchema| {
                let same = before.and_then(|old| old.iter().find(|old| old.same_as(&table)));
                same.map_or_else(|| Arc::new(table), Arc::clone)
            };
            let (tables, error) = match guest.engine.tables() {
                Ok(tables) => (tables.into_iter().map(keep).collect(), None),
                Err(error) => (Vec::new(), Some(error)),
            };
            catalog.tables.push(tables);
            catalog.errors.push(error);
        }
        catalog
    }
}

impl Catalog {
    /// A guest's table.
    pub(crate) fn table(&self, guest: usize, name: &str) -> Option<&Arc<TableSchema>> {
        let tables = self.tables.get(guest)?;
        tables.iter().find(|table| table.name().eq_ignore_ascii_case(name))
    }

    /// Why some guest's tables are not known.
    pub(crate) fn first_error(&self, guests: &Guests) -> Option<Error> {
        let (guest, error) = guests
            .all()
            .iter()
            .zip(&self.errors)
            .find_map(|(guest, error)| Some((guest, error.as_ref()?)))?;
        let message = format!("the tables of '{}' are not known: {error}", guest.name);
        Some(Error::new(error.kind(), message))
    }

    fn is_same(&self, other: &Self) -> bool {
        let same = |a: &Vec<Arc<TableSchema>>, b: &Vec<Arc<TableSchema>>| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_as(b))
        };
        self.tables.len() == other.tables.len()
            && self.tables.iter().zip(&other.tables).all(|(a, b)| same(a, b))
            && self.errors.iter().map(Option::is_some).eq(other.errors.iter().map(Option::is_some))
    }
}

impl std::fmt::Debug for Guests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.all.iter().map(|guest| guest.name.as_str()).collect();
        f.debug_struct("Guests").field("names", &names).finish()
    }
}

/// The guest's table that a module's arguments name: the guest's place, the table's, the table.
pub(crate) fn table_of(
    guests: &Guests,
    name: &str,
    arguments: &[String],
) -> Result<(usize, usize, Arc<TableSchema>)> {
    let guest = arguments.first().and_then(|number| number.trim().parse().ok());
    let found = guest.and_then(|guest: usize| {
        let catalog = guests.catalog();
        let mut tables = catalog.tables.get(guest)?.iter().enumerate();
        let (place, table) = tables.find(|(_, table)| table.name().eq_ignore_ascii_case(name))?;
        Some((guest, place, Arc::clone(table)))
    });
    found.ok_or_else(|| {
        Error::new(bobak_core::ErrorKind::Schema, "there is no such table").in_table(name)
    })
}
