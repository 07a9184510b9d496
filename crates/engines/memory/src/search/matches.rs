//! The rows that match a whole query, and their ranks: BM25 with the constants of SQLite's FTS5.

use super::SearchIndex;
use super::leaf::RowCounts;
use crate::table::{TableState, compare_slots};
use bobak_core::search::{Search, SearchLanguage, SearchQuery};
use bobak_core::{Error, ErrorKind, Expr, Interrupt, Result, Row, Select, Value};
use bobak_engine_common::PreparedCondition;
use std::cmp::Ordering;
use std::sync::Arc;

/// How much repeated words count.
const K1: f64 = 1.2;
/// How much the length of a text counts.
const B: f64 = 0.75;
/// The weight of a word that more than half of the rows have.
const SMALLEST_WEIGHT: f64 = 1e-6;

/// Slots and ranks, in ascending order of the slots.
type Ranks = Vec<(u32, f64)>;

struct Matcher<'i> {
    index: &'i SearchIndex,
    language: SearchLanguage,
    /// The mean number of a row's words.
    mean: f64,
}

/// The slots of the rows that match what is searched for, in any order.
///
/// # Errors
/// `Schema` if the table is not searched; `Interrupted`.
pub(crate) fn matching_slots(table: &TableState, search: &Search) -> Result<Vec<u32>> {
    Ok(ranks(table, &search.query)?.into_iter().map(|(slot, _)| slot).collect())
}

/// The rows of a query that searches and has no groups, from its offset to its limit.
///
/// # Errors
/// As [`matching_slots`].
pub(crate) fn matching_rows(
    table: &Arc<TableState>,
    select: &Select,
    search: &Search,
) -> Result<Vec<Vec<Value<'static>>>> {
    let mut found = ranks(table, &search.query)?;
    if let Some(condition) = &select.condition {
        let condition = PreparedCondition::new(condition, &table.schema);
        let matches =
            |slot| table.row(slot).is_some_and(|row| condition.matches(&table.schema, row));
        found.retain(|(slot, _)| matches(*slot));
    }
    Interrupt::check()?;
    let compare = |a: &(u32, f64), b: &(u32, f64)| {
        let by_rank = if search.ranked { b.1.total_cmp(&a.1) } else { Ordering::Equal };
        by_rank.then_with(|| compare_slots(table, &select.order, a.0, b.0))
    };
    let end = select.limit.map_or(u64::MAX, |limit| limit.saturating_add(select.offset));
    if let Ok(end) = usize::try_from(end)
        && end < found.len()
    {
        found.select_nth_unstable_by(end, compare);
        found.truncate(end);
    }
    found.sort_unstable_by(compare);
    Ok(values(table, select, found))
}

/// The columns of a query for rows in their order, from its offset on.
fn values(table: &TableState, select: &Select, found: Ranks) -> Vec<Vec<Value<'static>>> {
    let offset = usize::try_from(select.offset).unwrap_or(usize::MAX);
    let row = |(slot, rank): (u32, f64)| {
        let row = table.row(slot)?;
        let value = |expr: &Expr| match expr {
            Expr::Rank => Value::Float(rank),
            expr => expr.column().map_or(Value::Null, |column| row.get(column).to_owned()),
        };
        Some(select.columns.iter().map(value).collect())
    };
    found.into_iter().skip(offset).filter_map(row).collect()
}

fn ranks(table: &TableState, query: &SearchQuery) -> Result<Ranks> {
    let (Some(schema), Some(cache)) = (table.schema.search(), table.search()) else {
        let message = "the table is not searched";
        return Err(Error::new(ErrorKind::Schema, message).in_table(table.schema.name().to_owned()));
    };
    let index = cache.index(table, schema)?;
    let mean = index.words as f64 / table.len().max(1) as f64;
    let matcher = Matcher { index: &index, language: schema.language, mean };
    Ok(matcher.ranks(query))
}

impl Matcher<'_> {
    fn ranks(&self, query: &SearchQuery) -> Ranks {
        match query {
            SearchQuery::And(parts) => {
                parts.iter().map(|part| self.ranks(part)).reduce(both).unwrap_or_default()
            }
            SearchQuery::Or(parts) => {
                parts.iter().map(|part| self.ranks(part)).reduce(either).unwrap_or_default()
            }
            SearchQuery::Without(found, excluded) => {
                let (mut found, excluded) = (self.ranks(found), self.ranks(excluded));
                let is_excluded = |slot| excluded.binary_search_by_key(&slot, |row| row.0).is_ok();
                found.retain(|(slot, _)| !is_excluded(*slot));
                found
            }
            leaf => self.weighted(self.index.counts(self.language, leaf)),
        }
    }

    fn weighted(&self, counts: RowCounts) -> Ranks {
        let (all, having) = (self.index.rows.len() as f64, counts.len() as f64);
        let weight = ((all - having + 0.5) / (having + 0.5)).ln();
        let weight = if weight > 0.0 { weight } else { SMALLEST_WEIGHT };
        let rank = |(slot, count): (u32, u32)| {
            let length = f64::from(self.index.length(slot)) / self.mean;
            let count = f64::from(count);
            (slot, weight * (count * (K1 + 1.0)) / (count + K1 * (1.0 - B + B * length)))
        };
        counts.into_iter().map(rank).collect()
    }
}

fn both(a: Ranks, b: Ranks) -> Ranks {
    let mut b = b.into_iter().peekable();
    let mut found = Vec::new();
    for (slot, rank) in a {
        while b.next_if(|other| other.0 < slot).is_some() {}
        if let Some((_, other)) = b.next_if(|other| other.0 == slot) {
            found.push((slot, rank + other));
        }
    }
    found
}

fn either(a: Ranks, b: Ranks) -> Ranks {
    let mut found = Vec::with_capacity(a.len() + b.len());
    let mut b = b.into_iter().peekable();
    for (slot, rank) in a {
        while let Some(other) = b.next_if(|other| other.0 < slot) {
            found.push(other);
        }
        let other = b.next_if(|other| other.0 == slot).map_or(0.0, |other| other.1);
        found.push((slot, rank + other));
    }
    found.extend(b);
    found
}
