//! What went wrong, as RFC 9457 has it.

use crate::answer::Answer;
use bobak_core::{Error, ErrorKind};
use bobak_text::json::write_string;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};

/// An answer that tells of an error.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    error: Error,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Members of the document besides the usual ones, each with its comma before it.
    more: String,
    /// What the log hears in place of the error.
    note: Option<String>,
}

impl Problem {
    pub fn new(status: StatusCode, kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::with(status, Error::new(kind, message))
    }

    pub const fn with(status: StatusCode, error: Error) -> Self {
        Self { status, error, headers: Vec::new(), more: String::new(), note: None }
    }

    /// There is no such thing, or it may not be known that there is: always in the same words.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, ErrorKind::NotFound, "there is nothing here")
    }

    /// The same for a table, with its name for the log.
    pub fn no_table(name: &str) -> Self {
        let note = format!("there is no table '{name}', or none that they may see");
        Self { note: Some(note), ..Self::not_found() }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorKind::Syntax, message)
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorKind::OutOfRange, message)
    }

    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds a member to the document; `json` is its value.
    pub fn member(mut self, name: &str, json: &str) -> Self {
        self.more.push(',');
        write_string(&mut self.more, name);
        self.more.push(':');
        self.more.push_str(json);
        self
    }

    /// Says at which row it was, unless the error does.
    pub fn near_row(mut self, row: u64) -> Self {
        if self.error.row().is_none() {
            self.error = self.error.at_row(row);
        }
        self
    }

    pub const fn status(&self) -> StatusCode {
        self.status
    }

    pub const fn error(&self) -> &Error {
        &self.error
    }

    /// What the log is to hear of it, where it is worth a line. What happens every day, a row that
    /// is not there or breaks a rule, is not.
    pub fn for_log(&self) -> Option<String> {
        let status = self.status.as_u16();
        match &self.note {
            Some(note) => Some(note.clone()),
            None if self.is_internal() => Some(format!("{:?}", self.error)),
            None if matches!(status, 400 | 401 | 403 | 408 | 413 | 414 | 429 | 431 | 502..) => {
                Some(self.error.to_string())
            }
            None => None,
        }
    }

    /// Whether it is the server's fault: its inner matters then are for the log.
    pub fn is_internal(&self) -> bool {
        self.status == StatusCode::INTERNAL_SERVER_ERROR
    }

    pub fn into_answer(self) -> Answer {
        let mut body = String::with_capacity(256);
        write_problem(&mut body, self.status, &self.error, &self.more);
        body.push('\n');
        let mut answer = Answer::text(self.status, "application/problem+json", body);
        let headers = answer.headers_mut();
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        if matches!(self.error.kind(), ErrorKind::Busy | ErrorKind::Serialization) {
            headers.entry(hyper::header::RETRY_AFTER).or_insert(HeaderValue::from_static("1"));
        }
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        answer
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::with(status_of(error.kind()), error)
    }
}

/// The document: `type`, `title`, `status`, `detail`, and where it happened.
pub(crate) fn write_problem(out: &mut String, status: StatusCode, error: &Error, more: &str) {
    let kind = format!("{:?}", error.kind());
    out.push_str("{\"type\":\"urn:bobak:error:");
    out.push_str(&kind);
    out.push_str("\",\"title\":");
    write_string(out, status.canonical_reason().unwrap_or("Error"));
    out.push_str(",\"status\":");
    out.push_str(status.as_str());
    out.push_str(",\"kind\":\"");
    out.push_str(&kind);
    out.push_str("\",\"detail\":");
    // Whether a write is there, its sender must know to be unknown.
    let internal =
        status == StatusCode::INTERNAL_SERVER_ERROR && error.kind() != ErrorKind::Unknown;
    let detail = if internal { "the database failed; its log says more" } else { error.message() };
    write_string(out, detail);
    for (name, value) in [("table", error.table()), ("column", error.column())] {
        if let Some(value) = value {
            out.push_str(",\"");
            out.push_str(name);
            out.push_str("\":");
            write_string(out, value);
        }
    }
    if let Some(row) = error.row() {
        out.push_str(",\"row\":");
        out.push_str(itoa::Buffer::new().format(row));
    }
    out.push_str(more);
    out.push('}');
}

/// The status of an error's kind.
pub(crate) const fn status_of(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Duplicate | ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::Constraint
        | ErrorKind::TooLong
        | ErrorKind::OutOfRange
        | ErrorKind::Mismatch => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::Schema | ErrorKind::Syntax | ErrorKind::Misuse => StatusCode::BAD_REQUEST,
        ErrorKind::Unsupported => StatusCode::NOT_IMPLEMENTED,
        ErrorKind::Busy | ErrorKind::Serialization | ErrorKind::Interrupted => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Unreachable => StatusCode::BAD_GATEWAY,
        ErrorKind::Denied | ErrorKind::ReadOnly => StatusCode::FORBIDDEN,
        ErrorKind::Full => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
