//! The check of every row: a rate is shown only when all rows came back as they were written.

use super::row::{CheckedFields, Row, Rows, View, now};
use crate::contender::Failure;

/// The time within which the stamps of a row must lie; microseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// Earliest, included.
    pub from: i64,
    /// Latest, included.
    pub to: i64,
}

/// What a task must find or leave: rows and their keys.
#[derive(Clone, Debug)]
pub struct Expectation<'a> {
    /// The expected rows, in the order of their keys.
    pub rows: &'a [Row],
    /// Their keys, where they are known before the work starts; else empty.
    pub keys: &'a [i64],
    /// When the rows were last written.
    pub changed: Stamps,
    /// When the rows were made.
    pub created: Stamps,
}

impl Stamps {
    /// From now on, without an end.
    #[must_use]
    pub fn open() -> Self {
        Self { from: now(), to: i64::MAX }
    }

    /// The same, ended now.
    #[must_use]
    pub fn closed(self) -> Self {
        Self { to: now(), ..self }
    }

    /// Whether `stamp` lies within.
    #[inline]
    #[must_use]
    pub const fn holds(self, stamp: i64) -> bool {
        self.from <= stamp && stamp <= self.to
    }
}

impl Expectation<'_> {
    /// Checks the row at `index` while the clock runs: key, first name, amount, last change.
    ///
    /// # Errors
    /// The first field that differs.
    #[inline]
    pub fn check(&self, index: usize, seen: CheckedFields<'_>) -> Result<(), Failure> {
        if let (Some(row), Some(&key)) = (self.rows.get(index), self.keys.get(index))
            && seen.id == key
            && seen.amount == row.amount
            && seen.first_name == row.first_name
            && self.changed.holds(seen.last_change)
        {
            return Ok(());
        }
        Err(self.differs(index, seen))
    }

    /// Checks that as many rows were seen as there must be.
    ///
    /// # Errors
    /// A row too few or too many.
    pub fn check_count(&self, seen: usize) -> Result<(), Failure> {
        expect("rows", seen, self.rows.len())
    }

    /// Checks rows that were kept: every field of every row.
    ///
    /// # Errors
    /// The first row and field that differs, or the number of rows.
    pub fn check_all(&self, kept: &dyn Rows) -> Result<(), Failure> {
        self.check_count(kept.count())?;
        for index in 0..kept.count() {
            if let Some(view) = kept.view(index) {
                self.check_view(index, view).map_err(|failure| failure.at_row(index))?;
            }
        }
        Ok(())
    }

    /// Checks the keys that an engine has given: one for each row, rising.
    ///
    /// # Errors
    /// The first key that does not follow on the one before it, or the number of keys.
    pub fn check_keys(&self, keys: &[i64]) -> Result<(), Failure> {
        expect("keys", keys.len(), self.rows.len())?;
        match keys.windows(2).position(|pair| matches!(pair, [a, b] if a >= b)) {
            Some(index) => Err(Failure::new("its key does not rise").at_row(index + 1)),
            None => Ok(()),
        }
    }

    fn check_view(&self, index: usize, view: View<'_>) -> Result<(), Failure> {
        let Some(row) = self.rows.get(index) else {
            return Err(Failure::new("it should not be there"));
        };
        if let Some(key) = self.keys.get(index) {
            expect("id", view.id, *key)?;
        }
        expect("first_name", view.first_name, &row.first_name)?;
        expect("last_name", view.last_name, &row.last_name)?;
        expect("amount", view.amount, row.amount)?;
        expect("birth_date", view.birth_date, row.birth_date)?;
        within("last_change", view.last_change, self.changed)?;
        within("created_at", view.created_at, self.created)
    }

    /// Says what differs; apart, so that the loop that checks stays small.
    #[cold]
    fn differs(&self, index: usize, seen: CheckedFields<'_>) -> Failure {
        let found = match (self.rows.get(index), self.keys.get(index)) {
            (Some(row), Some(key)) => expect("id", seen.id, *key)
                .and_then(|()| expect("first_name", seen.first_name, &row.first_name))
                .and_then(|()| expect("amount", seen.amount, row.amount))
                .and_then(|()| within("last_change", seen.last_change, self.changed)),
            _ => Err(Failure::new("it should not be there")),
        };
        match found {
            Ok(()) => Failure::new("it differs"),
            Err(failure) => failure,
        }
        .at_row(index)
    }
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), Failure> {
    if found == wanted {
        return Ok(());
    }
    Err(Failure::new(format!("{what} is {found:?}, not {wanted:?}")))
}

fn within(what: &str, found: i64, wanted: Stamps) -> Result<(), Failure> {
    if wanted.holds(found) {
        return Ok(());
    }
    let Stamps { from, to } = wanted;
    Err(Failure::new(format!("{what} is {found}, not from {from} to {to}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamped(count: usize) -> Vec<Row> {
        let mut rows = Row::range(1, count);
        for (row, key) in rows.iter_mut().zip(1..) {
            (row.id, row.last_change, row.created_at) = (key, 50, 50);
        }
        rows
    }

    fn expected<'a>(rows: &'a [Row], keys: &'a [i64]) -> Expectation<'a> {
        let stamps = Stamps { from: 40, to: 60 };
        Expectation { rows, keys, changed: stamps, created: stamps }
    }

    #[test]
    fn right_rows_pass() {
        let rows = stamped(3);
        let expected = expected(&rows, &[1, 2, 3]);
        assert_eq!(expected.check_all(&rows.clone()), Ok(()));
        assert_eq!(expected.check_keys(&[1, 2, 3]), Ok(()));
    }

    #[test]
    fn each_wrong_field_is_named_with_its_row() {
        type Spoil = fn(&mut Row);
        let cases: [(&str, Spoil); 7] = [
            ("id", |row| row.id = 9),
            ("first_name", |row| row.first_name.push('x')),
            ("last_name", |row| row.last_name.clear()),
            ("amount", |row| row.amount += 1),
            ("birth_date", |row| row.birth_date = 0),
            ("last_change", |row| row.last_change = 61),
            ("created_at", |row| row.created_at = 39),
        ];
        let rows = stamped(3);
        for (field, spoil) in cases {
            let mut kept = rows.clone();
            spoil(&mut kept[1]);
            let failure = expected(&rows, &[1, 2, 3]).check_all(&kept).expect_err(field);
            assert!(failure.to_string().starts_with(&format!("row 2: {field} is ")), "{failure}");
        }
    }

    #[test]
    fn the_quick_check_names_the_field_too() {
        let rows = stamped(2);
        let seen = CheckedFields { id: 2, first_name: "Namé 2", amount: 201, last_change: 50 };
        let failure = expected(&rows, &[1, 2]).check(1, seen).expect_err("the amount is wrong");
        assert_eq!(failure.to_string(), "row 2: amount is 201, not 200");
    }

    #[test]
    fn keys_that_are_missing_or_do_not_rise_fail() {
        let rows = stamped(2);
        assert!(expected(&rows, &[]).check_keys(&[1]).is_err());
        assert!(expected(&rows, &[]).check_keys(&[2, 2]).is_err());
    }
}
