//! How a connection comes to know the guests' tables.

use super::guests::{Catalog, Guests};
use super::link::{Link, Writer};
use super::table::{GuestModule, MODULE};
use crate::connection::Connection;
use crate::error::{misuse, translate};
use crate::ffi::{Action, StatementId};
use bobak_core::{Error, ErrorKind, Result, TableSchema};
use bobak_sql::{Dialect, quote};
use std::sync::Arc;

/// What a connection knows of the guests.
#[derive(Debug)]
pub(crate) struct Joined {
    link: Arc<Link>,
    /// The catalog's version.
    version: u64,
    /// The guests whose schemas are there.
    attached: usize,
    /// The virtual tables that are there.
    tables: Vec<(usize, Arc<TableSchema>)>,
}

impl Connection {
    /// Makes the guests' tables known, as they are now. Not inside a transaction.
    pub(crate) fn join(&mut self, guests: &Arc<Guests>, private: bool) -> Result<()> {
        if self.joined.as_ref().is_some_and(|joined| joined.version == guests.version()) {
            return Ok(());
        }
        self.spill_cursors();
        let mut joined = match self.joined.take() {
            Some(joined) => joined,
            None => self.introduce(guests)?,
        };
        self.db.watch().set_refusal(None, Vec::new());
        let query_only = self.query_only;
        if query_only {
            self.set_query_only(false)?;
        }
        let mut done = self.update(&mut joined, guests, private);
        if query_only {
            done = done.and(self.set_query_only(true));
        }
        let owned = guests.all().iter().map(|guest| guest.name.clone());
        let own: &[&str] = if private { &["main", "temp"] } else { &[] };
        let owned = own.iter().map(|name| (*name).to_owned()).chain(owned).collect();
        self.db.watch().set_refusal(Some(refuse), owned);
        self.joined = Some(joined);
        done
    }

    /// The link to the guests.
    pub(crate) fn link(&self) -> Result<Arc<Link>> {
        let joined = self.joined.as_ref().map(|joined| Arc::clone(&joined.link));
        joined.ok_or_else(|| misuse("the connection has no guests"))
    }

    fn introduce(&mut self, guests: &Arc<Guests>) -> Result<Joined> {
        let link = Arc::new(Link::new(guests));
        self.db
            .register_module(MODULE, GuestModule(Arc::clone(&link)))
            .map_err(|failure| translate(failure, None))?;
        guests.functions().iter().try_for_each(|function| function.register(self))?;
        Ok(Joined { link, version: 0, attached: 0, tables: Vec::new() })
    }

    fn update(&mut self, joined: &mut Joined, guests: &Guests, private: bool) -> Result<()> {
        let version = guests.version();
        let catalog = guests.catalog();
        let schema = |place: usize| match guests.all().get(place) {
            _ if private && place == 0 => "main".to_owned(),
            Some(guest) => quote(Dialect::Sqlite, &guest.name),
            None => String::new(),
        };
        for place in joined.attached..guests.all().len() {
            if !(private && place == 0) {
                // In memory whatever the connection's own flags are: also that of a file which may
                // only be read may write here.
                self.run_owned(&format!(
                    "ATTACH 'file::memory:?mode=memory' AS {}",
                    schema(place)
                ))?;
            }
            joined.attached = place + 1;
        }
        let is_gone = |(place, table): &(usize, Arc<TableSchema>)| {
            let now = catalog.table(*place, table.name());
            !now.is_some_and(|now| Arc::ptr_eq(now, table))
        };
        while let Some(at) = joined.tables.iter().position(is_gone) {
            let (place, table) = joined.tables.swap_remove(at);
            let name = quote(Dialect::Sqlite, table.name());
            self.run_owned(&format!("DROP TABLE {}.{name}", schema(place)))?;
        }
        for (place, table) in new_tables(&catalog, &joined.tables) {
            let name = quote(Dialect::Sqlite, table.name());
            let schema = schema(place);
            self.run_owned(&format!(
                "CREATE VIRTUAL TABLE {schema}.{name} USING {MODULE}({place})"
            ))?;
            joined.tables.push((place, table));
        }
        joined.version = version;
        Ok(())
    }

    /// Refuses a statement that writes to two engines, or to another than the one given.
    pub(crate) fn check_writers(&self, id: StatementId, only: Option<usize>) -> Result<()> {
        let Some(joined) = &self.joined else {
            return Ok(());
        };
        let guests = joined.link.guests();
        let mut seen = only.map(Writer::Guest);
        for action in self.db.actions(id) {
            let Some(writer) = writer(guests, action) else {
                continue;
            };
            match seen {
                Some(other) if other != writer => {
                    let (other, writer) = (guests.writer_name(other), guests.writer_name(writer));
                    let message = format!(
                        "a statement or transaction writes to one engine, not to {other} and \
                         {writer}"
                    );
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
                _ => seen = Some(writer),
            }
        }
        Ok(())
    }

    /// Notes that the open transaction writes to the host's own tables, where a statement does.
    pub(crate) fn claim_for(&self, id: StatementId, in_transaction: bool) -> Result<()> {
        let Some(joined) = &self.joined else {
            return Ok(());
        };
        self.check_writers(id, None)?;
        let guests = joined.link.guests();
        let writes = |action: &Action| writer(guests, action) == Some(Writer::Host);
        if in_transaction && self.db.actions(id).iter().any(writes) {
            joined.link.claim(Writer::Host)?;
        }
        Ok(())
    }
}

/// Tables that are not there yet.
fn new_tables(
    catalog: &Catalog,
    there: &[(usize, Arc<TableSchema>)],
) -> Vec<(usize, Arc<TableSchema>)> {
    let all = catalog.tables.iter().enumerate();
    all.flat_map(|(place, tables)| tables.iter().map(move |table| (place, Arc::clone(table))))
        .filter(|(place, table)| {
            there.iter().all(|(other, known)| other != place || !Arc::ptr_eq(known, table))
        })
        .collect()
}

/// Who an action writes to.
pub(super) fn writer(guests: &Guests, action: &Action) -> Option<Writer> {
    match action {
        Action::Write { database, .. } if database == "temp" => None,
        Action::Write { database, .. } => {
            Some(guests.place(database).map_or(Writer::Host, Writer::Guest))
        }
        Action::Schema(database) if database != "temp" => Some(Writer::Host),
        _ => None,
    }
}

/// What SQL may not do to the schemas that belong to the host.
fn refuse(action: &Action, owned: &[String]) -> bool {
    let is_owned = |name: &String| owned.iter().any(|owned| owned.eq_ignore_ascii_case(name));
    match action {
        Action::Schema(database) => is_owned(database),
        Action::Detach(name) => is_owned(name),
        Action::Attach => is_owned(&"main".to_owned()),
        _ => false,
    }
}
