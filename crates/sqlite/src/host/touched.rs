//! What a statement touches, so that one of a single engine can go straight there.

use super::Host;
use crate::ffi::Action;
use bobak_core::Result;

/// What a statement touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// The tables that it reads or writes: the engine's name, `None` for the host's own tables, and
    /// the table's.
    pub tables: Vec<(Option<String>, String)>,
    /// Whether it writes, or does anything else than reading.
    pub writes: bool,
    /// The functions that it calls, as the statement names them.
    pub functions: Vec<String>,
    /// The names of its rows' columns; none where it gives no rows.
    pub columns: Vec<String>,
}

impl Host {
    /// What a statement touches; it is prepared, not run.
    ///
    /// # Errors
    /// Those of a wrong statement.
    pub fn touched(&self, text: &str) -> Result<Touched> {
        let inner = self.sqlite.inner();
        let ask = || {
            let mut lease = inner.read()?;
            if lease.db.is_autocommit() {
                lease.join(&self.guests, inner.is_private())?;
            }
            let id = lease.text_statement(text)?;
            let read_only = lease.db.is_read_only_statement(id);
            let columns = lease.db.column_names(id);
            Ok((lease.db.actions(id).to_vec(), read_only, columns))
        };
        let (actions, read_only, columns) = inner.with_fresh_tables(ask)?;
        let mut touched = Touched { writes: !read_only, columns, ..Touched::default() };
        for action in actions {
            match action {
                Action::Read { database, table } | Action::Write { database, table } => {
                    // SQLite names what is not a table of a database, a subquery say, like that.
                    if database.is_empty() {
                        continue;
                    }
                    let place = match self.guests.place(&database) {
                        None if database == "main" && inner.is_private() => Some(0),
                        place => place,
                    };
                    let guest = place.and_then(|place| self.guests.all().get(place));
                    let entry = (guest.map(|guest| guest.name.clone()), table);
                    if !touched.tables.contains(&entry) {
                        touched.tables.push(entry);
                    }
                }
                Action::Function(name) => touched.functions.push(name),
                Action::Schema(_) | Action::Attach | Action::Detach(_) | Action::Other => {
                    touched.writes = true;
                }
            }
        }
        Ok(touched)
    }
}
