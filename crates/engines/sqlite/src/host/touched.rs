//! What a statement touches, so that one of a single engine can go straight there.

use super::Host;
use crate::connection::Connection;
use crate::ffi::Action;
use bobak_core::{Result, Value};

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
            let mut actions = lease.db.actions(id).to_vec();
            for action in &mut actions {
                if let Action::Read { database, table } = action
                    && database.is_empty()
                {
                    *database = self.database_of(&mut lease, table)?;
                }
            }
            Ok((actions, read_only, columns))
        };
        let (actions, read_only, columns) = inner.with_fresh_tables(ask)?;
        let mut touched = Touched { writes: !read_only, columns, ..Touched::default() };
        for action in actions {
            match action {
                Action::Read { database, table } | Action::Write { database, table, .. } => {
                    // What is no table: a subquery.
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
                Action::Schema(_)
                | Action::Attach
                | Action::Detach(_)
                | Action::Pragma(..)
                | Action::Other => {
                    touched.writes = true;
                }
            }
        }
        Ok(touched)
    }

    /// The database that an unqualified name means: SQLite does not tell where no column of the
    /// table is read. Empty where there is no such table.
    fn database_of(&self, connection: &mut Connection, table: &str) -> Result<String> {
        let sql = "SELECT count(*) FROM main.sqlite_schema WHERE lower(name) = lower(?)";
        let own = connection.all_rows(sql, &[Value::from(table)])?;
        if !matches!(own.first().and_then(|row| row.first()), Some(Value::Int(0))) {
            return Ok("main".to_owned());
        }
        let catalog = self.guests.catalog();
        let mut guests = self.guests.all().iter().enumerate();
        let found = guests.find(|(place, _)| catalog.table(*place, table).is_some());
        Ok(found.map_or(String::new(), |(_, guest)| guest.name.clone()))
    }
}
