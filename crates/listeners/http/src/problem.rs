//! Problem details (RFC 9457): errors as clients and the log see them.

use bobak_core::rules::Violation;
use bobak_core::{Error, ErrorKind};
use bobak_serving::with_cause;
use bobak_text::json::write_string;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};

/// A failed request.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    error: Error,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Additional members of the document as JSON, each with a leading comma.
    members: String,
    /// What to log in place of the error.
    log_note: Option<String>,
}

impl Problem {
    pub fn new(status: StatusCode, kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::with_status(status, Error::new(kind, message))
    }

    /// An error with another status than that of its kind.
    pub const fn with_status(status: StatusCode, error: Error) -> Self {
        Self { status, error, headers: Vec::new(), members: String::new(), log_note: None }
    }

    /// Status 404. The message never varies, so that it does not reveal what exists to clients that may
    /// not see it.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, ErrorKind::NotFound, "not found")
    }

    /// As [`not_found`](Self::not_found), for a table: the name is the client's. It is logged.
    pub fn no_table(name: &str) -> Self {
        let message = format!("the table '{name}' does not exist, or the client may not see it");
        let note = Some(message.clone());
        Self { log_note: note, ..Self::new(StatusCode::NOT_FOUND, ErrorKind::NotFound, message) }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorKind::Syntax, message)
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorKind::OutOfRange, message)
    }

    /// Logs this line in place of the error.
    pub fn logged_as(mut self, note: &str) -> Self {
        self.log_note = Some(note.to_owned());
        self
    }

    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds a member to the document. `json` is its value.
    pub fn member(mut self, name: &str, json: &str) -> Self {
        self.members.push(',');
        write_string(&mut self.members, name);
        self.members.push(':');
        self.members.push_str(json);
        self
    }

    /// Sets the row number, unless the error has one.
    pub fn at_row(mut self, row: u64) -> Self {
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

    pub fn into_error(self) -> Error {
        self.error
    }

    pub fn into_headers(self) -> Vec<(HeaderName, HeaderValue)> {
        self.headers
    }

    /// What to log, if the problem is worth a line. Everyday errors, such as a missing row or a
    /// violated constraint, are not.
    pub fn log_message(&self) -> Option<String> {
        let status = self.status.as_u16();
        match &self.log_note {
            Some(note) => Some(note.clone()),
            None if self.status == StatusCode::INTERNAL_SERVER_ERROR => {
                Some(format!("{:?}", self.error))
            }
            None if matches!(status, 400 | 401 | 403 | 408 | 413 | 414 | 429 | 431 | 502..) => {
                Some(with_cause(&self.error))
            }
            None => None,
        }
    }

    /// Appends the document.
    pub fn write(&self, out: &mut String) {
        write_problem(out, self.status, &self.error, &self.members);
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::with_status(status_of(&error), error)
    }
}

/// Appends a problem document: `type`, `title`, `status`, `kind`, `detail`, and where the error
/// occurred. `members` are additional members, each with a leading comma.
pub(crate) fn write_problem(out: &mut String, status: StatusCode, error: &Error, members: &str) {
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
    // Internal errors may reveal file names and the like, so only the log has their message. But
    // the client must learn that the outcome of a write is unknown.
    let is_internal =
        status == StatusCode::INTERNAL_SERVER_ERROR && error.kind() != ErrorKind::Unknown;
    let detail = if is_internal { internal_detail(error) } else { error.message() };
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
    write_violations(out, error.violations());
    out.push_str(members);
    out.push('}');
}

/// What clients learn of an internal error: whether the database failed, or a function of the program that serves it.
fn internal_detail(error: &Error) -> &'static str {
    match error.message().split_once(" panicked: ") {
        Some(("a validator", _)) => "a validator of the program panicked; see the server's log",
        Some(("a normalizer", _)) => "a normalizer of the program panicked; see the server's log",
        Some(("a hook", _)) => "a hook of the program panicked; see the server's log",
        _ => "the database failed; see the server's log",
    }
}

/// Appends what is wrong with a row; nothing for other errors.
fn write_violations(out: &mut String, violations: &[Violation]) {
    let mut before = ",\"violations\":[{";
    for violation in violations {
        out.push_str(before);
        if let Some(column) = violation.column() {
            out.push_str("\"column\":");
            write_string(out, column);
            out.push(',');
        }
        out.push_str("\"message\":");
        write_string(out, violation.message());
        before = "},{";
    }
    if !violations.is_empty() {
        out.push_str("}]");
    }
}

/// The status of an error. A column that is full has had its largest key: the client can give another one.
pub(crate) fn status_of(error: &Error) -> StatusCode {
    match (error.kind(), error.column()) {
        (ErrorKind::Full, Some(_)) => StatusCode::CONFLICT,
        (kind, _) => status_of_kind(kind),
    }
}

/// The status of an error kind.
const fn status_of_kind(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Duplicate | ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::Constraint
        | ErrorKind::Invalid
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
