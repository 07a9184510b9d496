//! Which row of a level belongs to which row of the level above.

use bobak_core::{Collation, Comparison, Condition, FoldedValue, TableSchema, Value, ValueRef};
use std::collections::HashMap;

/// The number of a row without a value, and of a value that no row has.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// From so many integers on, those without large gaps are read as a range: no list is sent, and an index is read in one go.
const LONG_LIST: usize = 500;

/// The distinct values of a link column, numbered.
pub(crate) struct LinkValues {
    numbers: Numbers,
    collation: Collation,
}

enum Numbers {
    /// Integers, in their order; the number is the place.
    Ints(Vec<i64>),
    Others {
        numbers: HashMap<FoldedValue, u32>,
        values: Vec<Value<'static>>,
    },
}

/// Which rows a condition may match besides those that have one of the values.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Gaps {
    /// None.
    Exact,
    /// Those whose value lies between two of the values, unless these are far apart.
    Included,
}

impl LinkValues {
    /// The values of a column of a table that so many rows have, and the number of each row's value; `NO_ROW` for NULL.
    pub fn collect<'v>(
        table: &TableSchema,
        column: usize,
        rows: usize,
        value: impl Fn(usize) -> ValueRef<'v>,
    ) -> (Self, Vec<u32>) {
        let collation = table.columns().get(column).map(|column| column.collation);
        let mut ints = Vec::with_capacity(rows);
        let is_int = |row| match value(row) {
            ValueRef::Int(int) => {
                ints.push(int);
                true
            }
            other => other.is_null(),
        };
        let numbers = if (0..rows).all(is_int) {
            ints.sort_unstable();
            ints.dedup();
            Numbers::Ints(ints)
        } else {
            let (mut numbers, mut values) = (HashMap::new(), Vec::new());
            for value in (0..rows).map(&value) {
                if let Some(key) = FoldedValue::new(value, collation.unwrap_or_default()) {
                    numbers.entry(key).or_insert_with(|| {
                        values.push(value.to_owned());
                        values.len() as u32 - 1
                    });
                }
            }
            Numbers::Others { numbers, values }
        };
        let values = Self { numbers, collation: collation.unwrap_or_default() };
        let numbers = (0..rows).map(|row| values.number(value(row))).collect();
        (values, numbers)
    }

    /// The number of a value; `NO_ROW` if no row has it.
    #[inline]
    pub fn number(&self, value: ValueRef<'_>) -> u32 {
        match (&self.numbers, value) {
            (Numbers::Ints(ints), ValueRef::Int(int)) => place_of(ints, int).unwrap_or(NO_ROW),
            (Numbers::Ints(_), _) => NO_ROW,
            (Numbers::Others { numbers, .. }, value) => {
                let key = FoldedValue::new(value, self.collation);
                key.and_then(|key| numbers.get(&key)).copied().unwrap_or(NO_ROW)
            }
        }
    }

    pub fn len(&self) -> usize {
        match &self.numbers {
            Numbers::Ints(ints) => ints.len(),
            Numbers::Others { values, .. } => values.len(),
        }
    }

    pub fn values(&self) -> Vec<Value<'static>> {
        match &self.numbers {
            Numbers::Ints(ints) => ints.iter().copied().map(Value::Int).collect(),
            Numbers::Others { values, .. } => values.clone(),
        }
    }

    /// The condition that a column has one of the values.
    pub fn condition(&self, column: usize, gaps: Gaps) -> Condition {
        match &self.numbers {
            Numbers::Ints(ints) => range_of(ints, column, gaps),
            Numbers::Others { .. } => None,
        }
        .unwrap_or_else(|| Condition::In { column, values: self.values() })
    }
}

/// The distinct values of the columns that link rows, numbered: groups of rows.
pub(crate) struct LinkGroups {
    first: LinkValues,
    /// The values of the other columns.
    more: Vec<LinkValues>,
    /// With several columns, the groups by the numbers of their values.
    groups: HashMap<Vec<u32>, u32>,
}

impl LinkGroups {
    /// The groups of so many rows by columns of their table, and the group of each row; `NO_ROW` if one of its values is
    /// NULL. `value` is the value of a row in the column with a place among these.
    pub fn collect<'v>(
        table: &TableSchema,
        columns: &[usize],
        rows: usize,
        value: impl Fn(usize, usize) -> ValueRef<'v>,
    ) -> (Self, Vec<u32>) {
        let mut all = columns.iter().enumerate().map(|(place, &column)| {
            LinkValues::collect(table, column, rows, |row| value(row, place))
        });
        let none = || LinkValues::collect(table, usize::MAX, 0, |_| ValueRef::Null);
        let (first, numbers) = all.next().unwrap_or_else(none);
        let (more, more_numbers): (Vec<_>, Vec<_>) = all.unzip();
        let mut groups = HashMap::new();
        if more.is_empty() {
            return (Self { first, more, groups }, numbers);
        }
        let group = |row: usize| {
            let number = |numbers: &Vec<u32>| numbers.get(row).copied().unwrap_or(NO_ROW);
            let of_row = [&numbers].into_iter().chain(&more_numbers).map(number);
            let of_row: Vec<u32> = of_row.collect();
            if of_row.contains(&NO_ROW) {
                return NO_ROW;
            }
            let next = groups.len() as u32;
            *groups.entry(of_row).or_insert(next)
        };
        let numbers = (0..rows).map(group).collect();
        (Self { first, more, groups }, numbers)
    }

    /// The group of a row with these values, by the places of the columns; `NO_ROW` if there is none.
    #[inline]
    pub fn number<'v>(&self, value: impl Fn(usize) -> ValueRef<'v>) -> u32 {
        let first = self.first.number(value(0));
        if self.more.is_empty() {
            return first;
        }
        let more = self.more.iter().enumerate();
        let more = more.map(|(place, values)| values.number(value(place + 1)));
        let numbers: Vec<u32> = [first].into_iter().chain(more).collect();
        self.groups.get(&numbers).copied().unwrap_or(NO_ROW)
    }

    pub fn len(&self) -> usize {
        if self.more.is_empty() { self.first.len() } else { self.groups.len() }
    }

    /// The condition that each of these columns has one of its values: with several columns, rows that belong to no group
    /// match, too.
    pub fn condition(&self, columns: impl IntoIterator<Item = usize>, gaps: Gaps) -> Condition {
        let values = [&self.first].into_iter().chain(&self.more);
        let mut parts: Vec<_> =
            columns.into_iter().zip(values).map(|(column, v)| v.condition(column, gaps)).collect();
        match (parts.len(), parts.pop()) {
            (1, Some(only)) => only,
            (_, last) => Condition::And(parts.into_iter().chain(last).collect()),
        }
    }
}

/// The place of an integer among ascending ones.
#[inline]
fn place_of(ints: &[i64], int: i64) -> Option<u32> {
    // Its place if there are no gaps; with gaps it is further ahead.
    let place = int.checked_sub(*ints.first()?)?;
    let place = usize::try_from(place).ok()?;
    if ints.get(place) == Some(&int) {
        return Some(place as u32);
    }
    let ahead = ints.get(..place).unwrap_or(ints);
    ahead.binary_search(&int).ok().map(|place| place as u32)
}

/// The condition that a column has a value between the first and the last of many integers.
fn range_of(ints: &[i64], column: usize, gaps: Gaps) -> Option<Condition> {
    let (&[first, .., last], count) = (ints, ints.len()) else { return None };
    let most = if gaps == Gaps::Included { count.saturating_mul(2) } else { count };
    let values = usize::try_from(last.checked_sub(first)?).ok()?.checked_add(1)?;
    (count >= LONG_LIST && values <= most).then(|| {
        let compare =
            |comparison, value| Condition::Compare { column, comparison, value: Value::Int(value) };
        let bounds = [(Comparison::GreaterOrEqual, first), (Comparison::LessOrEqual, last)];
        Condition::And(bounds.map(|(comparison, value)| compare(comparison, value)).into())
    })
}

/// For each group of rows above, the numbers of its rows in the level, in their order.
#[derive(Debug, Default)]
pub(crate) struct RowLinks {
    /// The group of each row above; `NO_ROW` if it has no value.
    groups: Vec<u32>,
    /// Where the rows of each group begin in `rows`; one more at the end.
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl RowLinks {
    /// From pairs of a group and a row, whose rows ascend.
    pub fn new(groups: Vec<u32>, count: usize, pairs: &[(u32, u32)]) -> Self {
        let mut starts = vec![0u32; count + 1];
        for &(group, _) in pairs {
            if let Some(next) = starts.get_mut(group as usize + 1) {
                *next += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut rows = vec![0; pairs.len()];
        for &(group, row) in pairs {
            if let Some(place) = next.get_mut(group as usize) {
                if let Some(slot) = rows.get_mut(*place as usize) {
                    *slot = row;
                }
                *place += 1;
            }
        }
        Self { groups, starts, rows }
    }

    /// The rows that belong to the row above with this number.
    pub fn of(&self, above: usize) -> &[u32] {
        let group = self.groups.get(above).copied().unwrap_or(NO_ROW) as usize;
        let start = |group: usize| self.starts.get(group).map(|start| *start as usize);
        match (start(group), start(group.wrapping_add(1))) {
            (Some(from), Some(to)) => self.rows.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }
}
