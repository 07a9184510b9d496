//! Migrations between the writes: columns that are added, renamed, retyped and dropped, and tables that refer to books.

use super::state::{Added, AddedColumn, State};
use super::writes::nth;
use super::{Step, reported};
use crate::rules_model::Random;
use bobak::Result;
use bobak::engine::Engine;
use bobak::migration::{self, Migrations, NextMigration};
use std::collections::{BTreeMap, BTreeSet};

/// The files of the migrations that have run: names and texts.
#[derive(Default)]
pub struct History(Vec<(String, String)>);

impl History {
    fn files(&self) -> Result<Migrations> {
        Migrations::new(self.0.iter().map(|(name, text)| (name.as_str(), text.as_str())))
    }
}

/// Runs a migration: of one step that may fail, or of some that cannot. Undoes some at once.
pub fn step(
    engine: &dyn Engine,
    state: &mut State,
    history: &mut History,
    random: &mut Random,
) -> Result<Step> {
    let mut after = state.clone();
    let (steps, wanted) = match risky(&mut after, random) {
        Some((step, wanted)) => (step, wanted),
        None => {
            let steps: Vec<_> = (0..=random.below(3)).map(|_| change(&mut after, random)).collect();
            (steps.join("\n"), "()")
        }
    };
    let next = NextMigration::prepare(engine, engine.tables()?, "step", &steps)?;
    let found = reported(next.run(engine));
    let mut what = format!("migrate: {}", steps.replace('\n', "; "));
    if found != "()" {
        return Ok(Step::new(what, found, wanted));
    }
    history.0.push((next.name.clone(), next.text.clone()));
    if steps.contains("drop ") || random.below(4) > 0 {
        *state = after;
        return Ok(Step::new(what, found, wanted));
    }
    migration::down(engine, &history.files()?, 1, true)?;
    history.0.pop();
    what.push_str("; down");
    // The names are not used again.
    state.names = after.names;
    Ok(Step::new(what, found, wanted))
}

fn new_name(state: &mut State, start: &str) -> String {
    state.names += 1;
    format!("{start}{}", state.names)
}

/// A column as the steps of a migration have it.
fn json(name: &str, column: AddedColumn) -> String {
    let ty = if column.is_text { "\"text\",\"max_chars\":20" } else { "\"i64\"" };
    let default = match (column.default, column.is_text) {
        (None, _) => String::new(),
        (Some(value), false) => format!(",\"default\":{value}"),
        (Some(value), true) => format!(",\"default\":\"{value}\""),
    };
    let nullable = column.is_nullable;
    format!("{{\"name\":\"{name}\",\"type\":{ty},\"nullable\":{nullable}{default}}}")
}

/// A change that the rows may not allow, as a migration alone; its result.
fn risky(state: &mut State, random: &mut Random) -> Option<(String, &'static str)> {
    let choice = random.below(6);
    let name = nth(state.columns.keys(), random)?;
    let column = state.columns[&name];
    let values: Vec<Added> = state.books.values().map(|row| row.added[&name].clone()).collect();
    let mut given = values.iter().flatten();
    let (changed, works, error) = match choice {
        0 if column.is_text => {
            let works = given.all(|value| value.parse::<i64>().is_ok());
            (AddedColumn { is_text: false, ..column }, works, "Mismatch")
        }
        1 if column.is_nullable && !column.is_unique => {
            let changed = AddedColumn { is_nullable: false, default: Some(7), ..column };
            (changed, values.iter().all(Option::is_some), "Constraint")
        }
        2 if !column.is_unique && column.default.is_none() => {
            let mut seen = BTreeSet::new();
            let step = format!(
                "add index am_book {{\"name\":\"am_book_{name}_i\",\"columns\":[\"{name}\"],\"unique\":true}}"
            );
            let works = given.all(|value| seen.insert(value));
            if works {
                state.columns.insert(name, AddedColumn { is_unique: true, ..column });
            }
            return Some((step, if works { "()" } else { "Duplicate" }));
        }
        _ => return None,
    };
    let step = format!("change column am_book {}", json(&name, changed));
    state.columns.insert(name, changed);
    Some((step, if works { "()" } else { error }))
}

/// A change that works with any rows.
fn change(state: &mut State, random: &mut Random) -> String {
    let column = nth(state.columns.keys(), random);
    let notes = nth(state.notes.keys(), random);
    match (random.below(12), column, notes) {
        (0, Some(name), _) => {
            let new = new_name(state, "x");
            rename(state, &name, &new);
            format!("rename column am_book.{name} to {new}")
        }
        (1, Some(name), _) => {
            state.columns.remove(&name);
            for row in state.books.values_mut() {
                row.added.remove(&name);
            }
            format!("drop column am_book.{name}")
        }
        (2 | 3, Some(name), _) => {
            let column = AddedColumn { is_text: true, ..state.columns[&name] };
            state.columns.insert(name.clone(), column);
            format!("change column am_book {}", json(&name, column))
        }
        (4, _, Some(name)) => {
            let new = new_name(state, "am_note");
            let rows = state.notes.remove(&name).unwrap_or_default();
            state.notes.insert(new.clone(), rows);
            format!("rename table {name} to {new}")
        }
        (5, _, Some(name)) => {
            state.notes.remove(&name);
            format!("drop table {name}")
        }
        (6, ..) => "rename column am_book.title to heading\nrename column am_book.heading to title".into(),
        (7, ..) => "rename table am_tag to am_label\nrename table am_label to am_tag".into(),
        (8, ..) => "change column am_book {\"name\":\"pages\",\"type\":\"text\",\"max_chars\":20,\"nullable\":false}\n\
                    change column am_book {\"name\":\"pages\",\"type\":\"i64\",\"nullable\":false}"
            .into(),
        (9, ..) => create_notes(state),
        _ => add_column(state, random),
    }
}

fn rename(state: &mut State, old: &str, new: &str) {
    if let Some(column) = state.columns.remove(old) {
        state.columns.insert(new.to_owned(), column);
    }
    for row in state.books.values_mut() {
        let value = row.added.remove(old).flatten();
        row.added.insert(new.to_owned(), value);
    }
}

fn create_notes(state: &mut State) -> String {
    let name = new_name(state, "am_note");
    state.notes.insert(name.clone(), BTreeMap::new());
    format!(
        "create table {{\"name\":\"{name}\",\"key\":[\"id\"],\"given_key\":true,\"indexes\":[],\"columns\":[\
         {{\"name\":\"id\",\"type\":\"i64\",\"nullable\":false}},\
         {{\"name\":\"book_id\",\"type\":\"i64\",\"nullable\":false,\
         \"references\":{{\"table\":\"am_book\",\"column\":\"id\",\"on_delete\":\"cascade\"}}}},\
         {{\"name\":\"text\",\"type\":\"text\",\"nullable\":true}}]}}"
    )
}

fn add_column(state: &mut State, random: &mut Random) -> String {
    let name = new_name(state, "x");
    let is_text = random.below(2) == 0;
    let (is_nullable, default, fill) = match random.below(3) {
        0 => (true, None, None),
        1 => (false, Some(7), None),
        _ => (true, None, Some(3)),
    };
    let column = AddedColumn { is_text, is_unique: false, is_nullable, default };
    let value = fill.or(default).map(|value: i64| value.to_string());
    for row in state.books.values_mut() {
        row.added.insert(name.clone(), value.clone());
    }
    state.columns.insert(name.clone(), column);
    let fill = match (fill, is_text) {
        (None, _) => String::new(),
        (Some(fill), false) => format!(" fill {fill}"),
        (Some(fill), true) => format!(" fill \"{fill}\""),
    };
    format!("add column am_book {}{fill}", json(&name, column))
}
