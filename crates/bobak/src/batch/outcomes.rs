//! The outcomes of a batch's rows, in compact form.

use bobak_core::{Error, GeneratedKey, Outcome, Result, Uuid};

/// An outcome for each row. Consecutive rows with the same outcome and consecutive keys are one span, so a successful
/// batch of any length takes almost no memory.
#[derive(Debug, Default)]
pub(super) struct BatchOutcomes {
    rows: u64,
    spans: Vec<OutcomeSpan>,
    /// The key that would extend the last span.
    next: Option<i64>,
}

/// Consecutive rows, up to the next span.
#[derive(Debug)]
struct OutcomeSpan {
    first: u64,
    outcome: SpanOutcome,
}

#[derive(Debug)]
enum SpanOutcome {
    /// Inserted; the key of the first row, if the engine generated it.
    Inserted(Option<i64>),
    /// One inserted row, whose key Bobak generated.
    Uuid(Uuid),
    Changed(u64),
    Ignored,
    /// One row.
    Updated(GeneratedKey),
    /// One row.
    Failed(Error),
}

impl BatchOutcomes {
    #[inline]
    pub(super) fn push(&mut self, outcome: Result<Outcome>) {
        if let Ok(Outcome::Inserted(Some(GeneratedKey::Int(key)))) = outcome {
            if self.next != Some(key) {
                self.begin(Ok(Outcome::Inserted(Some(GeneratedKey::Int(key)))));
            }
            self.next = key.checked_add(1);
        } else {
            self.next = None;
            let joins = self.spans.last().is_some_and(|span| match (&span.outcome, &outcome) {
                (SpanOutcome::Inserted(None), Ok(Outcome::Inserted(None)))
                | (SpanOutcome::Ignored, Ok(Outcome::Ignored)) => true,
                (SpanOutcome::Changed(rows), Ok(Outcome::Changed(next))) => rows == next,
                _ => false,
            });
            if !joins {
                self.begin(outcome);
            }
        }
        self.rows += 1;
    }

    fn begin(&mut self, outcome: Result<Outcome>) {
        self.spans.push(OutcomeSpan { first: self.rows, outcome: outcome.into() });
    }

    pub(super) fn get(&self, row: u64) -> Option<Result<Outcome, &Error>> {
        if row >= self.rows {
            return None;
        }
        let after = self.spans.partition_point(|span| span.first <= row);
        self.spans.get(after.checked_sub(1)?).map(|span| span.get(row))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Result<Outcome, &Error>> {
        self.spans.iter().enumerate().flat_map(|(at, span)| {
            let end = self.spans.get(at + 1).map_or(self.rows, |next| next.first);
            (span.first..end).map(|row| span.get(row))
        })
    }
}

impl OutcomeSpan {
    fn get(&self, row: u64) -> Result<Outcome, &Error> {
        Ok(match &self.outcome {
            SpanOutcome::Inserted(key) => Outcome::Inserted(key.map(|key| {
                // Keys within a span are consecutive.
                GeneratedKey::Int(key.wrapping_add_unsigned(row - self.first))
            })),
            SpanOutcome::Uuid(key) => Outcome::Inserted(Some(GeneratedKey::Uuid(*key))),
            SpanOutcome::Changed(rows) => Outcome::Changed(*rows),
            SpanOutcome::Ignored => Outcome::Ignored,
            SpanOutcome::Updated(key) => Outcome::Updated(*key),
            SpanOutcome::Failed(error) => return Err(error),
        })
    }
}

impl From<Result<Outcome>> for SpanOutcome {
    fn from(outcome: Result<Outcome>) -> Self {
        match outcome {
            Ok(Outcome::Inserted(None)) => Self::Inserted(None),
            Ok(Outcome::Inserted(Some(GeneratedKey::Int(key)))) => Self::Inserted(Some(key)),
            Ok(Outcome::Inserted(Some(GeneratedKey::Uuid(key)))) => Self::Uuid(key),
            Ok(Outcome::Changed(rows)) => Self::Changed(rows),
            Ok(Outcome::Updated(key)) => Self::Updated(key),
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
    fn every_row_keeps_its_outcome() {
        let key = |key| Outcome::Inserted(Some(GeneratedKey::Int(key)));
        let uuid = Outcome::Inserted(Some(GeneratedKey::Uuid(Uuid::nil())));
        let (plain, one, none) =
            (Outcome::Inserted(None), Outcome::Changed(1), Outcome::Changed(0));
        let expected = [
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
        let mut outcomes = BatchOutcomes::default();
        for (row, outcome) in expected.into_iter().enumerate() {
            let failed = || Error::new(ErrorKind::Duplicate, "there").at_row(row as u64);
            outcomes.push(outcome.ok_or_else(failed));
        }
        let kept: Vec<_> = outcomes.iter().map(Result::ok).collect();
        assert_eq!(kept, expected);
        for (row, wanted) in (0..).zip(expected) {
            let outcome = outcomes.get(row).expect("a row");
            assert_eq!(outcome.as_ref().ok(), wanted.as_ref());
            assert!(outcome.err().is_none_or(|error| error.row() == Some(row)));
        }
        assert!(outcomes.get(expected.len() as u64).is_none());
        let spans = outcomes.spans.len();
        (0..1_000).for_each(|number| outcomes.push(Ok(key(number))));
        assert_eq!(outcomes.spans.len(), spans + 1);
    }
}
