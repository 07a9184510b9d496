//! What went wrong in a step, and what to do about it. Every failure has both halves.

use std::fmt;

/// The result of a step.
pub type Outcome<T = ()> = Result<T, Failure>;

/// A step's failure: a sentence for the mistake and one for the cure.
#[derive(Debug)]
pub struct Failure {
    what: String,
    cure: String,
}

impl Failure {
    /// Both sentences, in lower case and without a full stop.
    pub fn new(what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { what: what.into(), cure: cure.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}\n  do: {}", self.what, self.cure)
    }
}
