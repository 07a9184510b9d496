//! The one error type, with a kind to match on and a sentence to read.

use crate::ValueRef;
use crate::rule_violation::Violation;
use std::fmt;

/// The result of every fallible call of Bobak.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. Programs match on the kind; people read the [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No row has this key.
    NotFound,
    /// A row with this key, or with this value of a unique field, exists already.
    Duplicate,
    /// The row was changed since it was read: its version differs.
    Conflict,
    /// A NOT NULL, CHECK or foreign key rule rejects the row.
    Constraint,
    /// A text has more characters than its column allows.
    TooLong,
    /// A value does not fit: a number outside its type's range, a NaN, an overflow.
    OutOfRange,
    /// A value has another type than its column or field.
    Mismatch,
    /// The engine cannot do this; it sent nothing.
    Unsupported,
    /// A table, column or index is missing, or differs from the record.
    Schema,
    /// The text of an SQL statement or of a condition is malformed.
    Syntax,
    /// Another writer held the database for the whole busy timeout. May be retried.
    Busy,
    /// The transaction conflicted with another one (a deadlock, a serialization failure) and was rolled
    /// back. May be retried from its beginning.
    Serialization,
    /// A server did not respond in time, or a call ran past its [`Deadline`](crate::Deadline).
    Timeout,
    /// A server could not be reached, or the connection to it broke. Nothing was committed.
    Unreachable,
    /// The connection broke, the time ran out, or the disk failed to sync during a commit. The transaction
    /// was committed completely or not at all, but it is unknown which. Bobak never retries it.
    Unknown,
    /// The server rejected the user: a wrong password, a missing permission.
    Denied,
    /// The disk is full, or the database has reached its size limit.
    Full,
    /// The database or its file is read-only.
    ReadOnly,
    /// The file is not a database or snapshot, or it is damaged.
    Corrupt,
    /// The operating system reported an error when reading or writing.
    Io,
    /// A URL, setting or option is malformed or unknown.
    Config,
    /// A call in the wrong state: a transaction that has ended, a commit without a begin.
    Misuse,
    /// The call was interrupted.
    Interrupted,
    /// Any other error of an engine; and a validator or hook of the program that panicked.
    Engine,
    /// The record's rules reject the row: [`Error::violations`] lists what is wrong with it.
    Invalid,
}

impl ErrorKind {
    /// Every kind, in the order of the enum.
    pub const ALL: &'static [Self] = &[
        Self::NotFound,
        Self::Duplicate,
        Self::Conflict,
        Self::Constraint,
        Self::TooLong,
        Self::OutOfRange,
        Self::Mismatch,
        Self::Unsupported,
        Self::Schema,
        Self::Syntax,
        Self::Busy,
        Self::Serialization,
        Self::Timeout,
        Self::Unreachable,
        Self::Unknown,
        Self::Denied,
        Self::Full,
        Self::ReadOnly,
        Self::Corrupt,
        Self::Io,
        Self::Config,
        Self::Misuse,
        Self::Interrupted,
        Self::Engine,
        Self::Invalid,
    ];

    /// Whether the same call may succeed if it is repeated; inside a transaction, if the whole transaction
    /// is repeated.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Busy | Self::Serialization | Self::Timeout | Self::Unreachable)
    }
}

/// An error: its [kind](Error::kind), one sentence, and where it happened.
///
/// `Display` is one line in lower case without a full stop. The engine's own error, if there is one, is
/// the [`source`](std::error::Error::source).
///
/// ```
/// use bobak_core::{Error, ErrorKind};
/// let error = Error::new(ErrorKind::TooLong, "41 characters where 40 are allowed")
///     .in_table("person").in_column("first_name").at_row(7);
/// assert_eq!(error.kind(), ErrorKind::TooLong);
/// assert_eq!(
///     error.to_string(),
///     "41 characters where 40 are allowed (table person, column first_name, row 7)",
/// );
/// ```
pub struct Error(Box<ErrorData>);

#[derive(Debug)]
struct ErrorData {
    kind: ErrorKind,
    message: String,
    table: Option<String>,
    column: Option<String>,
    row: Option<u64>,
    code: Option<i32>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    violations: Vec<Violation>,
}

impl Error {
    /// An error of `kind` with a sentence in lower case.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorData {
            kind,
            message: message.into(),
            table: None,
            column: None,
            row: None,
            code: None,
            source: None,
            violations: Vec::new(),
        }))
    }

    /// Count mismatch: `given` values for `wanted` `noun`s. The noun's plural has an s.
    ///
    /// ```
    /// use bobak_core::{Error, ErrorKind};
    /// let error = Error::wrong_number(ErrorKind::Mismatch, 1, 2, "column");
    /// assert_eq!(error.to_string(), "1 value was given for 2 columns");
    /// let error = Error::wrong_number(ErrorKind::Mismatch, 0, 1, "parameter");
    /// assert_eq!(error.to_string(), "0 values were given for 1 parameter");
    /// ```
    #[cold]
    pub fn wrong_number(kind: ErrorKind, given: usize, wanted: usize, noun: &str) -> Self {
        let values = if given == 1 { "value was" } else { "values were" };
        let plural = if wanted == 1 { "" } else { "s" };
        Self::new(kind, format!("{given} {values} given for {wanted} {noun}{plural}"))
    }

    /// The error for a feature that an engine lacks: `the memory engine has no SQL`.
    #[cold]
    pub fn unsupported(engine: &str, feature: &str) -> Self {
        Self::new(ErrorKind::Unsupported, format!("the {engine} engine has no {feature}"))
    }

    /// The error for a value of the wrong type: `expected integer, found NULL`.
    #[cold]
    pub fn mismatch(expected: &str, found: ValueRef<'_>) -> Self {
        let found = match found {
            ValueRef::Null => "NULL; make the field an Option to allow it".to_owned(),
            ValueRef::Int(_) => format!("the integer {}", shown(found)),
            ValueRef::Float(_) => format!("the float {}", shown(found)),
            ValueRef::Text(_) => format!("the text {}", shown(found)),
            ValueRef::Bytes(_) => shown(found),
        };
        Self::new(ErrorKind::Mismatch, format!("expected {expected}, found {found}"))
    }

    /// Checks that a value is not NaN, which also stands for values without a stored form.
    ///
    /// # Errors
    /// `OutOfRange` if it is.
    pub(crate) fn check_storable(value: ValueRef<'_>) -> Result<()> {
        match value {
            ValueRef::Float(float) if float.is_nan() => Err(Self::unstorable()),
            _ => Ok(()),
        }
    }

    #[cold]
    pub(crate) fn unstorable() -> Self {
        let message = "the value cannot be stored: it is NaN, an integer beyond 64 bits, or a document without a JSON form";
        Self::new(ErrorKind::OutOfRange, message)
    }

    /// The error's kind.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The sentence alone, without table, column and row.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The table, if known.
    #[must_use]
    pub fn table(&self) -> Option<&str> {
        self.0.table.as_deref()
    }

    /// The column, if known. If a rule concerns several columns, all of them, as `"a, b"`: those of a key or
    /// unique index in its order, those of a CHECK in the order of the table.
    ///
    /// The column of a foreign key is the one that refers, of the [`table`](Self::table) that refers, also if
    /// the rejected write was to the referenced table.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// The number of the row in the batch, import or result, counted from 0; `None` if unknown.
    #[must_use]
    pub fn row(&self) -> Option<u64> {
        self.0.row
    }

    /// The engine's own error code, if it has one: SQLite's extended result code, such as 2067 for a
    /// duplicate unique value.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.0.code
    }

    /// What is wrong with the row, in the order of its columns; empty unless the kind is
    /// [`Invalid`](ErrorKind::Invalid).
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.0.violations
    }

    /// Whether the same call may succeed if it is repeated. See [`ErrorKind::is_retryable`].
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.kind.is_retryable()
    }

    /// Adds the table, unless the error has one.
    #[must_use]
    pub fn in_table(mut self, table: impl Into<String>) -> Self {
        self.0.table.get_or_insert_with(|| table.into());
        self
    }

    /// Adds the column, unless the error has one.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.0.column.get_or_insert_with(|| column.into());
        self
    }

    /// Sets the row, counted from 0. Replaces an existing number: the outer count is the caller's.
    #[must_use]
    pub fn at_row(mut self, row: u64) -> Self {
        self.0.row = Some(row);
        self
    }

    /// Adds the row to the sentence, by the names and values of its key: `… (in the row with id 7)`. Adds nothing if there
    /// are none.
    ///
    /// ```
    /// use bobak_core::{Error, ErrorKind, ValueRef};
    /// let error = Error::new(ErrorKind::Mismatch, "the server sent no date");
    /// let error = error.in_row([("shop", ValueRef::Text("a")), ("id", ValueRef::Int(7))]);
    /// assert_eq!(error.to_string(), "the server sent no date (in the row with shop 'a', id 7)");
    /// ```
    #[must_use]
    #[cold]
    pub fn in_row<'v>(mut self, key: impl IntoIterator<Item = (&'v str, ValueRef<'v>)>) -> Self {
        let mut before = " (in the row with ";
        for (name, value) in key {
            self.0.message.push_str(&format!("{before}{name} {}", shown(value)));
            before = ", ";
        }
        if before == ", " {
            self.0.message.push(')');
        }
        self
    }

    /// The same kind, sentence and violations, without table, column, row, code and source: for other callers affected
    /// by the same error.
    #[must_use]
    pub fn to_bare(&self) -> Self {
        Self::new(self.kind(), self.message()).with_violations(self.violations().to_vec())
    }

    /// Replaces a name in the sentence by another one: such as a temporary path by the path that the caller
    /// knows.
    #[must_use]
    pub fn renaming(mut self, name: &str, other: &str) -> Self {
        self.0.message = self.0.message.replace(name, other);
        self
    }

    /// Removes the row number, if the caller wrote a single record that was batched with others.
    #[must_use]
    pub fn without_row(mut self) -> Self {
        self.0.row = None;
        self
    }

    /// Sets what is wrong with the row. [`Error::invalid`] does so.
    #[must_use]
    pub fn with_violations(mut self, violations: Vec<Violation>) -> Self {
        self.0.violations = violations;
        self
    }

    /// Adds the engine's own error code.
    #[must_use]
    pub fn with_code(mut self, code: i32) -> Self {
        self.0.code = Some(code);
        self
    }

    /// Adds the engine's own error as the source.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// An error of the operating system, during the given action (`"open app.db"`).
    ///
    /// A full disk becomes [`ErrorKind::Full`], a write to a read-only file [`ErrorKind::ReadOnly`].
    #[must_use]
    pub fn io(doing: &str, error: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => ErrorKind::Full,
            Io::ReadOnlyFilesystem | Io::PermissionDenied => ErrorKind::ReadOnly,
            _ => ErrorKind::Io,
        };
        Self::new(kind, format!("could not {doing}: {error}")).with_source(error)
    }
}

/// A value as messages show it.
fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Int(integer) => integer.to_string(),
        ValueRef::Float(float) => float.to_string(),
        ValueRef::Text(text) => format!("'{}'", text.chars().take(40).collect::<String>()),
        ValueRef::Bytes(bytes) => format!("{} bytes", bytes.len()),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        let mut open = " (";
        if let Some(table) = &self.0.table {
            write!(f, "{open}table {table}")?;
            open = ", ";
        }
        if let Some(column) = &self.0.column {
            write!(f, "{open}column {column}")?;
            open = ", ";
        }
        if let Some(row) = self.0.row {
            write!(f, "{open}row {row}")?;
            open = ", ";
        }
        if open == ", " { f.write_str(")") } else { Ok(()) }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `fn main() -> Result<()>` prints this: the sentence instead of a struct.
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|e| &**e as _)
    }
}
