//! The benchmark's record in plain numbers, as a C programmer would store it.
//!
//! Contenders under test convert it to their own record type before the clock starts. The raw contender uses it directly.

use std::time::{SystemTime, UNIX_EPOCH};

const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;
/// 1900-01-01, in days since 1970-01-01.
const FIRST_BIRTH_DATE: i64 = -25_567;
/// Birth dates start again after so many days, so that every calendar library can hold them.
const BIRTH_DATES: i64 = 1_000_000;
/// One cent of a currency that is scaled by 10,000.
const CENT: i64 = 100;

/// One person; the table's columns in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Key; 0 until the engine has given one.
    pub id: i64,
    /// At most 40 characters, one of them outside ASCII.
    pub first_name: String,
    /// At most 40 characters.
    pub last_name: String,
    /// Currency, scaled by 10,000.
    pub amount: i64,
    /// Microseconds since 1970-01-01T00:00, without a time zone.
    pub birth_date: i64,
    /// Microseconds since the epoch; taken from the clock at each write.
    pub last_change: i64,
    /// Microseconds since the epoch; taken from the clock when the row is made.
    pub created_at: i64,
}

/// One row, borrowed from whatever record type holds it; the fields of [`Row`].
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The key.
    pub id: i64,
    /// The first name.
    pub first_name: &'a str,
    /// The last name.
    pub last_name: &'a str,
    /// The amount, scaled by 10,000.
    pub amount: i64,
    /// The birth date, in microseconds.
    pub birth_date: i64,
    /// The modified-at stamp, in microseconds since the epoch.
    pub last_change: i64,
    /// The created-at stamp, in microseconds since the epoch.
    pub created_at: i64,
}

/// The fields that are checked while the clock runs: few, so that the check costs little.
#[derive(Clone, Copy, Debug)]
pub struct CheckedFields<'a> {
    /// The key.
    pub id: i64,
    /// The first name.
    pub first_name: &'a str,
    /// The amount, scaled by 10,000.
    pub amount: i64,
    /// The modified-at stamp, in microseconds since the epoch.
    pub last_change: i64,
}

/// Rows that a contender has read, to be checked after the clock has stopped.
pub trait Rows {
    /// How many there are.
    fn count(&self) -> usize;
    /// The row at `index`, from 0; nothing past the end.
    fn view(&self, index: usize) -> Option<View<'_>>;
}

impl Row {
    /// The `i`-th person, counted from 1; without key and stamps.
    ///
    /// ```
    /// let row = bobak_bench::workload::Row::nth(123);
    /// assert_eq!((row.first_name.as_str(), row.last_name.as_str()), ("Namé 123", "123"));
    /// assert_eq!(row.amount, 12_300); // 1.23
    /// ```
    #[must_use]
    pub fn nth(i: usize) -> Self {
        let number = i64::try_from(i).unwrap_or(i64::MAX);
        Self {
            id: 0,
            first_name: format!("Namé {i}"),
            last_name: i.to_string(),
            amount: number.saturating_mul(CENT),
            birth_date: (FIRST_BIRTH_DATE + number % BIRTH_DATES) * MICROSECONDS_PER_DAY,
            last_change: 0,
            created_at: 0,
        }
    }

    /// The persons `first` to `first + count - 1`.
    #[must_use]
    pub fn range(first: usize, count: usize) -> Vec<Self> {
        (first..first + count).map(Self::nth).collect()
    }

    /// The same row, borrowed.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View {
            id: self.id,
            first_name: &self.first_name,
            last_name: &self.last_name,
            amount: self.amount,
            birth_date: self.birth_date,
            last_change: self.last_change,
            created_at: self.created_at,
        }
    }
}

impl Rows for Vec<Row> {
    fn count(&self) -> usize {
        self.len()
    }

    fn view(&self, index: usize) -> Option<View<'_>> {
        self.get(index).map(Row::view)
    }
}

/// The clock that stamps rows: microseconds since the epoch.
#[inline]
#[must_use]
pub fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_is_born_on_the_second_of_january_1900() {
        let row = Row::nth(1);
        assert_eq!(row.birth_date, -25_566 * MICROSECONDS_PER_DAY);
        assert_eq!(row.amount, 100);
        assert!(row.first_name.chars().count() <= 40);
    }

    #[test]
    fn a_range_starts_at_the_given_number() {
        let rows = Row::range(3, 2);
        assert_eq!(rows, [Row::nth(3), Row::nth(4)]);
        assert_eq!(rows.count(), 2);
        assert!(Rows::view(&rows, 2).is_none());
    }
}
