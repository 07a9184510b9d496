//! The benchmark's record as a user of Bobak declares it.

use bobak::Record;
use bobak::types::{Currency, DateTime, Timestamp};
use jiff::tz::Offset;

use crate::contender::Failure;
use crate::workload::{CheckedFields, Row, Rows, View};

/// One person. See [`Row`] for what the fields hold.
#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "person")]
pub struct Person {
    pub id: i64,
    #[record(max = 40)]
    pub first_name: String,
    #[record(max = 40)]
    pub last_name: String,
    pub amount: Currency,
    pub birth_date: DateTime,
    #[record(modified_at)]
    pub last_change: Timestamp,
    #[record(created_at)]
    pub created_at: Timestamp,
}

impl Person {
    /// The same person in Bobak's types; made before the clock starts.
    pub fn from_row(row: &Row) -> Result<Self, Failure> {
        Ok(Self {
            id: row.id,
            first_name: row.first_name.clone(),
            last_name: row.last_name.clone(),
            amount: Currency::from_scaled(row.amount),
            birth_date: Offset::UTC.to_datetime(instant(row.birth_date)?),
            last_change: instant(row.last_change)?,
            created_at: instant(row.created_at)?,
        })
    }

    /// The fields that are checked while the clock runs.
    #[inline]
    pub fn seen(&self) -> CheckedFields<'_> {
        CheckedFields {
            id: self.id,
            first_name: &self.first_name,
            amount: self.amount.scaled(),
            last_change: self.last_change.as_microsecond(),
        }
    }

    /// All fields, in plain numbers.
    pub fn view(&self) -> View<'_> {
        // A date that no instant has gets one that no row has: the check then fails.
        let birth_date = Offset::UTC.to_timestamp(self.birth_date);
        View {
            id: self.id,
            first_name: &self.first_name,
            last_name: &self.last_name,
            amount: self.amount.scaled(),
            birth_date: birth_date.map_or(i64::MIN, Timestamp::as_microsecond),
            last_change: self.last_change.as_microsecond(),
            created_at: self.created_at.as_microsecond(),
        }
    }
}

impl Rows for Vec<Person> {
    fn count(&self) -> usize {
        self.len()
    }

    fn view(&self, index: usize) -> Option<View<'_>> {
        self.get(index).map(Person::view)
    }
}

fn instant(microseconds: i64) -> Result<Timestamp, Failure> {
    Timestamp::from_microsecond(microseconds).map_err(|error| Failure::new(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_its_row_in_other_types() {
        let mut row = Row::nth(12_345);
        (row.id, row.last_change, row.created_at) = (7, 1_700_000_000_123_456, 1);
        let person = Person::from_row(&row).expect("every value fits");
        assert_eq!(person.amount.to_string(), "123.45");
        assert_eq!(person.birth_date.to_string(), "1933-10-20T00:00:00");
        let View { id, first_name, last_name, amount, birth_date, last_change, created_at } =
            person.view();
        let (first_name, last_name) = (first_name.to_owned(), last_name.to_owned());
        let back = Row { id, first_name, last_name, amount, birth_date, last_change, created_at };
        assert_eq!(back, row);
    }
}
