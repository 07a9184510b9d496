//! What an alteration of a tracked table changes in its change log: names, and columns that are gone.
//!
//! The log goes with its table: its columns get the new names, those of dropped columns are dropped, and the
//! layouts that were recorded before are rewritten, as if the table had always had its new names. A row of
//! [`layout_schema`](super::layout_schema) without a table's name records the moves, so that replicas can follow.

use super::{LOG_PREFIX, layout};
use crate::{KeyGeneration, Result, TableAlteration, TableSchema};
use std::sync::Arc;

/// The columns of a log that get other names, and those that are dropped.
struct LogImages {
    renamed: Vec<(String, String)>,
    dropped: Vec<String>,
}

impl LogImages {
    fn alter(&self, log: &TableSchema, to: TableSchema) -> Result<TableAlteration> {
        let renamed: Vec<_> = self.renamed.iter().map(|(old, new)| (&**old, &**new)).collect();
        let dropped: Vec<_> = self.dropped.iter().map(String::as_str).collect();
        TableAlteration::new(Arc::new(log.clone()), Arc::new(to), &renamed, &dropped)
    }

    fn moved_log(&self, log: &TableSchema, name: String) -> Result<TableSchema> {
        let new_name = |column: &str| -> Option<String> {
            if self.dropped.iter().any(|dropped| dropped == column) {
                return None;
            }
            let renamed = self.renamed.iter().find(|(old, _)| old == column);
            Some(renamed.map_or_else(|| column.to_owned(), |(_, new)| new.clone()))
        };
        let mut table = TableSchema::builder(name.clone());
        for column in log.columns() {
            if let Some(name) = new_name(&column.name) {
                let name = name.into();
                table = table.column(crate::ColumnSchema { name, ..column.clone() });
            }
        }
        table = table.key(["seq"]);
        if log.key_generation() == KeyGeneration::Given {
            table = table.given_key();
        }
        for index in log.indexes() {
            let columns = index.columns.iter().filter_map(|place| log.columns().get(*place));
            let columns: Vec<_> = columns.filter_map(|column| new_name(&column.name)).collect();
            table = table.index(index.name.replacen(log.name(), &name, 1), columns);
        }
        table.build()
    }
}

/// The names that an alteration of a tracked table changes, and the columns that it drops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMoves {
    /// The table's name before.
    pub from: String,
    /// The table's name after; empty if it was dropped.
    pub to: String,
    /// The columns' names before and after.
    pub renamed: Vec<(String, String)>,
    /// The dropped columns.
    pub dropped: Vec<String>,
}

impl TableMoves {
    /// Those of an alteration; `None` if it changes no names and drops nothing.
    #[must_use]
    pub fn of(alteration: &TableAlteration) -> Option<Self> {
        let (from, to) = (alteration.from(), alteration.to());
        let name = |table: &TableSchema, place: usize| {
            table.columns().get(place).map_or_else(String::new, |column| column.name.to_string())
        };
        let pairs = alteration.kept().map(|(old, new)| (name(from, old), name(to, new)));
        let renamed: Vec<_> = pairs.filter(|(old, new)| old != new).collect();
        let dropped: Vec<_> = alteration.dropped().iter().map(|old| name(from, *old)).collect();
        if renamed.is_empty() && dropped.is_empty() && !alteration.renames_table() {
            return None;
        }
        let (from, to) = (from.name().to_owned(), to.name().to_owned());
        Some(Self { from, to, renamed, dropped })
    }

    /// Those of a dropped table.
    #[must_use]
    pub fn of_dropped(table: &str) -> Self {
        let (renamed, dropped) = (Vec::new(), Vec::new());
        Self { from: table.to_owned(), to: String::new(), renamed, dropped }
    }

    /// Whether the table gets another name.
    #[must_use]
    pub fn renames_table(&self) -> bool {
        self.from != self.to
    }

    /// The text that records the moves.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("table\t{}\t{}\n", escaped(&self.from), escaped(&self.to));
        for (old, new) in &self.renamed {
            text.push_str(&format!("rename\t{}\t{}\n", escaped(old), escaped(new)));
        }
        for name in &self.dropped {
            text.push_str(&format!("drop\t{}\n", escaped(name)));
        }
        text
    }

    /// Reads what [`to_text`](Self::to_text) wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut moves: Option<Self> = None;
        for line in text.lines() {
            let words: Vec<String> = line.split('\t').map(unescaped).collect();
            match (&words[..], moves.as_mut()) {
                ([word, from, to], None) if word == "table" => {
                    moves = Some(Self { to: to.clone(), ..Self::of_dropped(from) });
                }
                ([word, old, new], Some(moves)) if word == "rename" => {
                    moves.renamed.push((old.clone(), new.clone()));
                }
                ([word, name], Some(moves)) if word == "drop" => moves.dropped.push(name.clone()),
                _ => return None,
            }
        }
        moves
    }

    /// How the log becomes that of the altered table, without columns that are added; `None` if it is that already. A killed
    /// process may have moved some of its columns: the others remain.
    ///
    /// # Errors
    /// As [`TableAlteration::new`].
    pub fn alter_log(&self, log: &TableSchema) -> Result<Option<TableAlteration>> {
        let name = format!("{LOG_PREFIX}{}", self.to);
        let images = self.images(log);
        let is_moved = images.renamed.is_empty() && images.dropped.is_empty();
        if is_moved && log.name().eq_ignore_ascii_case(&name) {
            return Ok(None);
        }
        let to = images.moved_log(log, name)?;
        images.alter(log, to).map(Some)
    }

    /// How the log becomes this one, which may have more columns.
    ///
    /// # Errors
    /// As [`TableAlteration::new`].
    pub fn alter_log_to(&self, log: &TableSchema, to: TableSchema) -> Result<TableAlteration> {
        self.images(log).alter(log, to)
    }

    /// The columns of the log that still have their former names, or will be dropped.
    fn images(&self, log: &TableSchema) -> LogImages {
        let (mut renamed, mut dropped) = (Vec::new(), Vec::new());
        for when in ["old_", "new_"] {
            let image = |name: &String| format!("{when}{name}");
            let has = |name: &String| log.column(&image(name)).is_ok();
            let is_there = |name: &String| self.is_there(&has, name, self.renamed.len());
            let pairs = self.renamed.iter().filter(|(old, _)| is_there(old));
            renamed.extend(pairs.map(|(old, new)| (image(old), image(new))));
            dropped.extend(self.dropped.iter().filter(|name| is_there(name)).map(image));
        }
        LogImages { renamed, dropped }
    }

    /// Whether the log has the column of this name, and not another one that has taken its name: then that one's former name is gone.
    /// `steps` ends the search if names go in a circle.
    fn is_there(&self, has: &impl Fn(&String) -> bool, name: &String, steps: usize) -> bool {
        let before = self.renamed.iter().find(|(_, new)| new == name);
        match before {
            Some((source, _)) if steps > 0 => has(name) && self.is_there(has, source, steps - 1),
            _ => has(name),
        }
    }

    /// The parts of recorded layouts that change, in the order in which they are replaced: in a text that begins with
    /// another `; `. `from` is the table before.
    #[must_use]
    pub fn layout_replacements(&self, from: &TableSchema) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for name in &self.dropped {
            let Some(column) = from.column(name).ok().and_then(|at| from.columns().get(at)) else {
                continue;
            };
            for nullable in [true, false] {
                let part = layout::part(column, nullable);
                all.push((format!("; {part}; "), "; ".to_owned()));
            }
        }
        let part = |name: &str| format!("; {name:?} ");
        let is_taken =
            |new: &String| self.renamed.iter().any(|(old, _)| old.eq_ignore_ascii_case(new));
        let mut last = Vec::new();
        for (number, (old, new)) in self.renamed.iter().enumerate() {
            if is_taken(new) {
                let between = part(&format!("bobak_renamed_{number}"));
                all.push((part(old), between.clone()));
                last.push((between, part(new)));
            } else {
                last.push((part(old), part(new)));
            }
        }
        all.append(&mut last);
        all
    }

    /// A recorded layout with the new names, without the dropped columns.
    #[must_use]
    pub fn moved_layout(&self, layout: &str, from: &TableSchema) -> String {
        let replacements = self.layout_replacements(from);
        let moved = replacements
            .iter()
            .fold(format!("; {layout}"), |text, (part, new)| text.replace(part, new));
        moved.get(2..).unwrap_or_default().to_owned()
    }
}

/// Without the characters that separate names.
fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace('\t', "%09").replace('\n', "%0A").replace('\r', "%0D")
}

fn unescaped(name: &str) -> String {
    name.replace("%0D", "\r").replace("%0A", "\n").replace("%09", "\t").replace("%25", "%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change_log::log_schema;
    use crate::{ColumnSchema, Type};
    use std::collections::HashSet;

    fn table(name: &'static str, columns: &[&'static str]) -> Arc<TableSchema> {
        let table = TableSchema::builder(name).column(ColumnSchema::new("id", Type::I64));
        let columns = columns.iter().map(|name| ColumnSchema::of::<Option<String>>(*name));
        let table = columns.fold(table, crate::TableSchemaBuilder::column);
        Arc::new(table.key(["id"]).build().unwrap())
    }

    #[test]
    fn a_log_and_its_layouts_get_the_new_names() {
        let (from, to) = (table("t", &["a", "b", "c; \" x"]), table("u", &["b", "a"]));
        let swap = [("a", "b"), ("b", "a")];
        let change = TableAlteration::new(Arc::clone(&from), to, &swap, &["c; \" x"]).unwrap();
        let moves = TableMoves::of(&change).unwrap();
        assert_eq!(TableMoves::parse(&moves.to_text()), Some(moves.clone()));
        let wanted = r#""id" I64 key 0; "b" Text null; "a" Text null; "#;
        assert_eq!(moves.moved_layout(&layout::layout(&from), &from), wanted);
        let log = log_schema(&from, true).unwrap();
        let altered = moves.alter_log(&log).unwrap().unwrap();
        let names: Vec<_> = altered.to().columns().iter().skip(4).map(|c| &*c.name).collect();
        assert_eq!(names, ["old_id", "new_id", "old_b", "new_b", "old_a", "new_a"]);
        assert_eq!(altered.to().name(), "bobak_log_u");
        assert_eq!(altered.to().indexes()[1].name, "bobak_log_u_new");
    }

    #[test]
    fn a_chain_of_names_is_moved_once() {
        let (from, to) = (table("t", &["a", "b"]), table("t", &["b", "c"]));
        let change = TableAlteration::new(from, to, &[("a", "b"), ("b", "c")], &[]).unwrap();
        let moves = TableMoves::of(&change).unwrap();
        let log = log_schema(change.from(), false).unwrap();
        let altered = moves.alter_log(&log).unwrap().unwrap();
        assert!(moves.alter_log(altered.to()).unwrap().is_none());
    }

    #[test]
    fn a_log_is_moved_once() {
        let (from, to) = (table("t", &["a", "new"]), table("t", &["a"]));
        let change = TableAlteration::new(from, to, &[("new", "a")], &["a"]).unwrap();
        let moves = TableMoves::of(&change).unwrap();
        let log = log_schema(change.from(), false).unwrap();
        let altered = moves.alter_log(&log).unwrap().unwrap();
        assert!(moves.alter_log(altered.to()).unwrap().is_none());
        // A process was killed after half of the columns.
        for (gone, kept) in [("old_a", "old_new"), ("new_a", "new_new")] {
            let half = TableSchema::clone(&log).map_columns(|mut column| {
                if column.name == gone {
                    column.name = "gone".into();
                } else if column.name == kept {
                    column.name = gone.into();
                }
                column
            });
            let half = half.unwrap();
            let rest = moves.alter_log(&half).unwrap().unwrap();
            let names = |table: &TableSchema| {
                let names = table.columns().iter().map(|column| column.name.to_string());
                names.filter(|name| name != "gone").collect::<HashSet<_>>()
            };
            assert_eq!(names(rest.to()), names(altered.to()));
        }
        assert_eq!(TableMoves::parse("\"id\" I64 key 0; "), None);
    }
}
