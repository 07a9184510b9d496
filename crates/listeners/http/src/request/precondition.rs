//! Preconditions of writes: `If-Match` and `If-None-Match` (RFC 9110, section 13).

use crate::problem::Problem;
use crate::response::etag::Etag;
use bobak_core::{Error, ErrorKind};
use hyper::StatusCode;
use hyper::header::{HeaderMap, IF_MATCH, IF_NONE_MATCH};

/// The preconditions of a request.
pub(crate) struct Precondition {
    headers: HeaderMap,
}

impl Precondition {
    pub fn new(headers: &HeaderMap) -> Self {
        Self { headers: headers.clone() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        !self.headers.contains_key(IF_MATCH) && !self.headers.contains_key(IF_NONE_MATCH)
    }

    /// Checks the preconditions against the row's tag, `None` if the row does not exist.
    ///
    /// # Errors
    /// 412.
    pub fn check(&self, current: Option<&Etag>) -> Result<(), Problem> {
        let holds = match current {
            None => !self.headers.contains_key(IF_MATCH),
            Some(etag) => {
                etag.matches(&self.headers, &IF_MATCH).unwrap_or(true)
                    && !etag.matches(&self.headers, &IF_NONE_MATCH).unwrap_or(false)
            }
        };
        if holds {
            return Ok(());
        }
        let message = "the row's state does not match the precondition: read it again";
        let error = Error::new(ErrorKind::Conflict, message);
        Err(Problem::with_status(StatusCode::PRECONDITION_FAILED, error))
    }
}
