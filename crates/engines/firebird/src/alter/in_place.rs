//! A change of a table that keeps its name.

use super::kept_column::{ColumnStep, KeptColumn};
use super::table_change::TableChange;
use super::{completion, row_checks};
use crate::comment;
use crate::connection::{Connection, SchemaTexts};
use crate::firebird_table::own_number;
use crate::mode::Mode;
use crate::names::{Names, quoted};
use crate::schema::add_column;
use crate::table_rules::{RuleKind, TableRule, rules};
use bobak_core::{Result, TableSchema};
use bobak_engine_common::{CheckDialect, StatementDialect, find_table};
use bobak_sql::rename_order;

/// Makes the change.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(super) fn run(connection: &mut Connection, change: &TableChange) -> Result<()> {
    let number = connection.in_mode(Mode::Read, own_number)?;
    let plan = Plan::of(change, number)?;
    let to = &**change.alteration.to();
    if !plan.first.is_empty() {
        connection.in_mode(Mode::Read, |connection| row_checks::run(connection, change))?;
        connection.change_schema(&[], Some(to), |connection| connection.commands(&plan.first))?;
    }
    let reserved = [change.stored_name()];
    let done = connection.change_schema(&reserved, Some(to), |connection| {
        row_checks::run(connection, change)?;
        connection.commands(&plan.second)
    });
    if let Err(error) = done {
        if !plan.first.is_empty() && !connection.is_broken() {
            // The error that it is for matters more than its own, after which the next connection does it.
            let _ = bobak_core::Interrupt::hold_off(|| completion::complete_own(connection));
        }
        return Err(error);
    }
    if plan.is_unfinished { completion::complete_own(connection) } else { Ok(()) }
}

/// The statements of the first two transactions.
#[derive(Default)]
struct Plan {
    first: SchemaTexts,
    second: SchemaTexts,
    /// Whether the third one has something to do.
    is_unfinished: bool,
}

impl Plan {
    fn of(change: &TableChange, number: i64) -> Result<Self> {
        let rules = RuleChanges::of(change)?;
        let mut plan = Self::default();
        let moves_columns = !change.alteration.dropped().is_empty()
            || change.kept.iter().any(|column| change.is_renamed(column));
        let own = |texts: Vec<String>| -> SchemaTexts {
            let to = change.alteration.to();
            texts.into_iter().map(|text| (TableSchema::clone(to), text)).collect()
        };
        if moves_columns && !rules.dropped.is_empty() {
            plan.first = [rules.dropped.clone(), rules.marks(change, number)?].concat();
        } else {
            plan.second.extend(rules.dropped.iter().cloned());
        }
        let (columns, is_unfinished) = columns(change)?;
        plan.second.extend(own(columns));
        let fresh = fresh_columns(change);
        for (table, rule) in &rules.added {
            let is_late = rule.needs_committed_columns() && rule.mentions(&fresh);
            plan.is_unfinished |= is_late;
            if !is_late {
                plan.second.push((table.clone(), rule.text.clone()));
            }
        }
        plan.is_unfinished |= is_unfinished;
        plan.second.extend(rules.comments(change, number, plan.is_unfinished)?);
        Ok(plan)
    }
}

/// The rules that are dropped and added, of other tables too.
struct RuleChanges {
    dropped: SchemaTexts,
    added: Vec<(TableSchema, TableRule)>,
    /// The positions of the other tables whose foreign keys change.
    others: Vec<usize>,
}

impl RuleChanges {
    fn of(change: &TableChange) -> Result<Self> {
        let (from, to) = (change.alteration.from(), change.alteration.to());
        let stays = |rule: &TableRule| stays(change, rule);
        // Foreign keys hold what they reference.
        let drops_referenced =
            change.old_rules.iter().any(|rule| rule.can_be_referenced() && !stays(rule));
        let is_freed = |rule: &TableRule| drops_referenced && rule.references(from.name());
        let stays = |rule: &TableRule| stays(rule) && !is_freed(rule);
        let is_kept =
            |rule: &TableRule| change.old_rules.iter().any(|old| old.is_same(rule) && stays(old));
        let dropped = change.old_rules.iter().rev().filter(|rule| !stays(rule));
        let dropped = dropped.filter_map(|rule| {
            let text = change.stored.drop_rule(change.names, from, &rule.name)?;
            Some((TableSchema::clone(from), text))
        });
        let added = change.new_rules.iter().filter(|rule| !is_kept(rule));
        let added = added.map(|rule| (TableSchema::clone(to), rule.clone()));
        let mut all =
            Self { dropped: dropped.collect(), added: added.collect(), others: Vec::new() };
        all.add_others(change, is_freed)?;
        Ok(all)
    }

    /// Adds the foreign keys of other tables that get new names, or are dropped for a while.
    fn add_others(
        &mut self,
        change: &TableChange,
        is_freed: impl Fn(&TableRule) -> bool,
    ) -> Result<()> {
        let own = find_table(&change.before, change.alteration.from());
        for (place, (before, after)) in change.before.iter().zip(&change.after).enumerate() {
            let (old, new) = (
                references(change.names, before, &change.before)?,
                references(change.names, after, &change.after)?,
            );
            let leaves = |rule: &&TableRule| !rule.is_one_of(&new) || is_freed(rule);
            let is_new = |rule: &&TableRule| !rule.is_one_of(&old) || is_freed(rule);
            let gone: Vec<_> = old.iter().filter(leaves).collect();
            if Some(place) == own || gone.is_empty() {
                continue;
            }
            let alter = format!("ALTER TABLE {}", change.names.quoted(before.name()));
            for rule in gone {
                let text = format!("{alter} DROP CONSTRAINT {}", rule.name);
                self.dropped.insert(0, (before.clone(), text));
            }
            self.added.extend(new.iter().filter(is_new).map(|rule| (after.clone(), rule.clone())));
            self.others.push(place);
        }
        Ok(())
    }

    /// The comments between the first two transactions: the tables as they are.
    fn marks(&self, change: &TableChange, number: i64) -> Result<SchemaTexts> {
        let others = self.others.iter().filter_map(|place| change.before.get(*place));
        let tables = others.chain([&**change.alteration.from()]);
        let mark = |table: &TableSchema| {
            Ok((table.clone(), comment::changed(change.names, table, number)?))
        };
        tables.map(mark).collect()
    }

    /// The comments after the second one.
    fn comments(
        &self,
        change: &TableChange,
        number: i64,
        is_unfinished: bool,
    ) -> Result<SchemaTexts> {
        let (names, to) = (change.names, &**change.alteration.to());
        let own = match is_unfinished {
            true => comment::changed(names, to, number)?,
            false => comment::whole(names, to)?,
        };
        let mut comments = vec![(to.clone(), own)];
        for table in self.others.iter().filter_map(|place| change.after.get(*place)) {
            comments.push((table.clone(), comment::whole(names, table)?));
        }
        Ok(comments)
    }
}

/// Whether a rule of the table stays as it is.
fn stays(change: &TableChange, rule: &TableRule) -> bool {
    let mut moved = change.dropped();
    moved.extend(change.old_names(|column| change.is_renamed(column)));
    let widened = change.old_names(|column| column.step == ColumnStep::Widen);
    let is_index = matches!(rule.kind, RuleKind::Index(_));
    rule.is_one_of(&change.new_rules)
        && !rule.mentions(&moved)
        && !(is_index && rule.mentions(&widened))
}

/// The foreign keys of a table.
fn references(names: Names, table: &TableSchema, tables: &[TableSchema]) -> Result<Vec<TableRule>> {
    let mut rules = rules(names, table, tables)?;
    rules.retain(|rule| matches!(rule.kind, RuleKind::Reference(_)));
    Ok(rules)
}

/// The new names of the columns that the second transaction makes, in quotes.
fn fresh_columns(change: &TableChange) -> Vec<String> {
    let to = change.alteration.to();
    let is_fresh =
        |column: &&KeptColumn| change.is_renamed(column) || column.step != ColumnStep::Keep;
    let kept = change.kept.iter().filter(is_fresh).map(|column| change.new_name(column));
    kept.chain(change.alteration.added().map(|place| change.names.column(to, place))).collect()
}

fn alter(change: &TableChange) -> String {
    format!("ALTER TABLE {}", change.names.quoted(change.alteration.to().name()))
}

fn default_of(change: &TableChange, kept: &KeptColumn) -> Result<Option<String>> {
    let column = change.alteration.to().column_at(kept.new)?;
    let value =
        column.default.as_ref().map(|value| change.names.value_literal(column.ty, value.as_ref()));
    value.transpose()
}

/// The statements that change columns, and whether new ones need more when they are committed.
fn columns(change: &TableChange) -> Result<(Vec<String>, bool)> {
    let (alter, mut texts, mut is_unfinished) = (alter(change), Vec::new(), false);
    texts.extend(change.dropped().into_iter().map(|name| format!("{alter} DROP {name}")));
    let renames = renames(change).into_iter();
    texts.extend(renames.map(|(old, new)| format!("{alter} ALTER {old} TO {new}")));
    for column in &change.kept {
        texts.extend(column_rules(change, column)?);
    }
    for place in change.alteration.added() {
        let (text, needs_more) = add_column(change.names, change.alteration.to(), place)?;
        texts.push(text);
        is_unfinished |= needs_more;
    }
    Ok((texts, is_unfinished))
}

/// The new names, in an order in which none exists twice.
fn renames(change: &TableChange) -> Vec<(String, String)> {
    let pair = |column: &KeptColumn| (quoted(&column.name), change.new_name(column));
    let pairs = change.kept.iter().map(pair).filter(|(old, new)| old != new);
    rename_order(pairs.collect(), |number| quoted(&format!("BOBAK_RENAMED_{number}")))
}

/// The type, NOT NULL and the default of a column that stays.
fn column_rules(change: &TableChange, kept: &KeptColumn) -> Result<Vec<String>> {
    let (from, to) = (change.alteration.from(), change.alteration.to());
    let (before, after) = (from.column_at(kept.old)?, to.column_at(kept.new)?);
    let alter = format!("{} ALTER {}", alter(change), change.new_name(kept));
    let mut texts = Vec::new();
    if kept.step == ColumnStep::Widen {
        texts.push(format!("{alter} TYPE {}", kept.wanted));
    }
    if before.default != after.default {
        texts.push(match default_of(change, kept)? {
            Some(value) => format!("{alter} SET DEFAULT {value}"),
            None => format!("{alter} DROP DEFAULT"),
        });
    }
    let is_required = !after.nullable || to.key().contains(&kept.new);
    match (kept.is_required, is_required) {
        (true, false) => texts.push(format!("{alter} DROP NOT NULL")),
        (false, true) => texts.push(format!("{alter} SET NOT NULL")),
        _ => {}
    }
    Ok(texts)
}
