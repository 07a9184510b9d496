//! What became of a batch's rows, kept compactly.

use bobak_core::{Error, GivenKey, Outcome, Result, Uuid};

/// An outcome for each row. Successive rows of the same kind, whose keys follow each other, take
/// the place of one: a batch of any length that goes well takes next to nothing.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    rows: u64,
    spans: Vec<Span>,
    /// The key that would lengthen the last span.
    next: Option<i64>,
}

/// Successive rows; as many as there are up to the next span.
#[derive(Debug)]
struct Span {
    first: u64,
    told: Told,
}

#[derive(Debug)]
enum Told {
    /// Inserted; the first one's key, where the engine made it.
    Inserted(Option<i64>),
    /// Inserted; one row, whose key Bobak made.
    Uuid(Uuid),
    Changed(u64),
    Ignored,
    /// One row.
    Failed(Error),
}

impl Outcomes {
    #[inline]
    pub(crate) fn push(&mut self, outcome: Result<Outcome>) {
        if let Ok(Outcome::Inserted(Some(GivenKey::Int(key)))) = outcome {
            if self.next != Some(key) {
                self.begin(Ok(Outcome::Inserted(Some(GivenKey::Int(key)))));
            }
            self.next = key.checked_add(1);
        } else {
            self.next = None;
            let joins = self.spans.last().is_some_and(|span| match (&span.told, &outcome) {
                (Told::Inserted(None), Ok(Outcome::Inserted(None)))
                | (Told::Ignored, Ok(Outcome::Ignored)) => true,
                (Told::Changed(rows), Ok(Outcome::Changed(next))) => rows == next,
                _ => false,
            });
            if !joins {
                self.begin(outcome);
            }
        }
        self.rows += 1;
    }

    fn begin(&mut self, outcome: Result<Outcome>) {
        self.spans.push(Span { first: self.rows, told: outcome.into() });
    }

    pub(crate) fn get(&self, row: u64) -> Option<Result<Outcome, &Error>> {
        if row >= self.rows {
            return None;
        }
        let after = self.spans.partition_point(|span| span.first <= row);
        self.spans.get(after.checked_sub(1)?).map(|span| span.outcome(row))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<Outcome, &Error>> {
        self.spans.iter().enumerate().flat_map(|(at, span)| {
            let end = self.spans.get(at + 1).map_or(self.rows, |next| next.first);
            (span.first..end).map(|row| span.outcome(row))
        })
    }
}

impl Span {
    fn outcome(&self, row: u64) -> Result<Outcome, &Error> {
        Ok(match &self.told {
            Told::Inserted(key) => Outcome::Inserted(key.map(|key| {
                // Within its span: the key was told so.
                GivenKey::Int(key.wrapping_add_unsigned(row - self.first))
            })),
            Told::Uuid(key) => Outcome::Inserted(Some(GivenKey::Uuid(*key))),
            Told::Changed(rows) => Outcome::Changed(*rows),
            Told::Ignored => Outcome::Ignored,
            Told::Failed(error) => return Err(error),
        })
    }
}

impl From<Result<Outcome>> for Told {
    fn from(outcome: Result<Outcome>) -> Self {
        match outcome {
            Ok(Outcome::Inserted(None)) => Self::Inserted(None),
            Ok(Outcome::Inserted(Some(GivenKey::Int(key)))) => Self::Inserted(Some(key)),
            Ok(Outcome::Inserted(Some(GivenKey::Uuid(key)))) => Self::Uuid(key),
            Ok(Outcome::Changed(rows)) => Self::Changed(rows),
            Ok(Outcome::Ignored) => Self::Ignored,
            Err(error) => Self::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::ErrorKind;

    #[test]
    fn each_row_has_its_own() {
        let key = |key| Outcome::Inserted(Some(GivenKey::Int(key)));
        let uuid = Outcome::Inserted(Some(GivenKey::Uuid(Uuid::nil())));
        let (plain, one, none) =
            (Outcome::Inserted(None), Outcome::Changed(1), Outcome::Changed(0));
        let told = [
            Some(key(5)),
            Some(key(6)),
            Some(key(7)),
            Some(key(9)),
            Some(key(8)),
            None,
            Some(key(9)),
            Some(plain),
            Some(plain),
            Some(uuid),
            Some(uuid),
            Some(one),
            Some(one),
            Some(none),
            Some(Outcome::Ignored),
            Some(Outcome::Ignored),
            None,
            None,
            Some(key(i64::MAX)),
            Some(key(i64::MIN)),
        ];
        let mut outcomes = Outcomes::default();
        for (row, outcome) in told.into_iter().enumerate() {
            let failed = || Error::new(ErrorKind::Duplicate, "there").at_row(row as u64);
            outcomes.push(outcome.ok_or_else(failed));
        }
        let kept: Vec<_> = outcomes.iter().map(Result::ok).collect();
        assert_eq!(kept, told);
        for (row, expected) in (0..).zip(told) {
            let outcome = outcomes.get(row).expect("a row");
            assert_eq!(outcome.as_ref().ok(), expected.as_ref());
            assert!(outcome.err().is_none_or(|error| error.row() == Some(row)));
        }
        assert!(outcomes.get(told.len() as u64).is_none());
        let spans = outcomes.spans.len();
        (0..1_000).for_each(|number| outcomes.push(Ok(key(number))));
        assert_eq!(outcomes.spans.len(), spans + 1);
    }
}
