//! The one error type, with a kind to match on and a sentence to read.

use crate::ValueRef;
use std::fmt;

/// What every fallible call of Bobak returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. Match on this; show the [`Error`] itself to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No row has this key.
    NotFound,
    /// A row with this key, or with this value of a unique field, is already there.
    Duplicate,
    /// The row was changed since it was read: its version field differs.
    Conflict,
    /// A NOT NULL, CHECK or foreign key rule refused the row.
    Constraint,
    /// A text has more characters than its column allows.
    TooLong,
    /// A value does not fit: a number out of its type's range, a NaN, an overflow.
    OutOfRange,
    /// A value is of another type than its column or field.
    Mismatch,
    /// The engine cannot do this; nothing was sent.
    Unsupported,
    /// A table, column or index is missing, or differs from the record.
    Schema,
    /// The text of an SQL statement or of a filter is wrong.
    Syntax,
    /// Another writer held the database for the whole busy time-out. May be retried.
    Busy,
    /// The transaction clashed with another one (a deadlock, a serialization failure) and was
    /// rolled back: it may be run again from its beginning.
    Serialization,
    /// An answer did not come in time.
    Timeout,
    /// A server could not be reached, or the connection to it broke. Nothing was committed.
    Unreachable,
    /// The connection broke, the time was over, or the disk failed at a sync, while a commit was
    /// under way: what was written is there wholly or not at all, and nobody can say which. Never
    /// retried by Bobak.
    Unknown,
    /// The server refused the user: a wrong password, a missing right.
    Denied,
    /// The disk, or the database's size limit, is full.
    Full,
    /// The database, or its file, may only be read.
    ReadOnly,
    /// The file is not a database or snapshot, or is damaged.
    Corrupt,
    /// The operating system refused a read or a write.
    Io,
    /// A URL, setting or option is malformed or unknown.
    Config,
    /// A call in the wrong state: a transaction that has ended, a commit without a begin.
    Misuse,
    /// The engine was interrupted.
    Interrupted,
    /// Anything else that an engine reports.
    Engine,
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
    ];

    /// Whether the same call may succeed when it is simply made again; inside a transaction, when
    /// the transaction is run again from its beginning.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Busy | Self::Serialization | Self::Timeout | Self::Unreachable)
    }
}

/// An error: its [kind](Error::kind), one sentence, and where it happened.
///
/// `Display` is one line in lower case, without a closing full stop. The engine's own error, where
/// there is one, is the [`source`](std::error::Error::source).
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
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    table: Option<String>,
    column: Option<String>,
    row: Option<u64>,
    code: Option<i32>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Makes an error of `kind` with one lower-case sentence.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            table: None,
            column: None,
            row: None,
            code: None,
            source: None,
        }))
    }

    /// An error about a number of values that is not that of what they are for, whose name, in the singular, takes an s
    /// in the plural.
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

    /// The error of a call that an engine cannot serve: `the memory engine has no SQL`.
    #[cold]
    pub fn unsupported(engine: &str, feature: &str) -> Self {
        Self::new(ErrorKind::Unsupported, format!("the {engine} engine has no {feature}"))
    }

    /// The error for a value of another type than expected: `expected integer, found NULL`.
    #[cold]
    pub fn mismatch(expected: &str, found: ValueRef<'_>) -> Self {
        let found = match found {
            ValueRef::Null => "NULL; make the field an Option to allow it".to_owned(),
            ValueRef::Int(i) => format!("the integer {i}"),
            ValueRef::Float(f) => format!("the float {f}"),
            ValueRef::Text(t) => format!("the text '{}'", t.chars().take(40).collect::<String>()),
            ValueRef::Bytes(b) => format!("{} bytes", b.len()),
        };
        Self::new(ErrorKind::Mismatch, format!("expected {expected}, found {found}"))
    }

    /// What kind of error it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The sentence alone, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The table concerned, where one is.
    #[must_use]
    pub fn table(&self) -> Option<&str> {
        self.0.table.as_deref()
    }

    /// The column concerned, where one is.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// The row concerned: its number in the batch, import or result, counted from 0.
    #[must_use]
    pub fn row(&self) -> Option<u64> {
        self.0.row
    }

    /// The engine's own number of the error, where it has one: SQLite's extended result code, such
    /// as 2067 for a unique value that is there already.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.0.code
    }

    /// Whether the same call may succeed when it is made again. See [`ErrorKind::is_retryable`].
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.kind.is_retryable()
    }

    /// Names the table, unless one is named already.
    #[must_use]
    pub fn in_table(mut self, table: impl Into<String>) -> Self {
        self.0.table.get_or_insert_with(|| table.into());
        self
    }

    /// Names the column, unless one is named already.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.0.column.get_or_insert_with(|| column.into());
        self
    }

    /// Names the row, counted from 0, whatever was named before: the outer count is the user's.
    #[must_use]
    pub fn at_row(mut self, row: u64) -> Self {
        self.0.row = Some(row);
        self
    }

    /// The same kind and sentence without place, code and source: for another whom it concerns too.
    #[must_use]
    pub fn to_bare(&self) -> Self {
        Self::new(self.kind(), self.message())
    }

    /// Says another name wherever the sentence says this one: of a file that the caller knows, for one that he does not.
    #[must_use]
    pub fn renaming(mut self, name: &str, other: &str) -> Self {
        self.0.message = self.0.message.replace(name, other);
        self
    }

    /// Forgets the row: for who wrote one record, which then went with others.
    #[must_use]
    pub fn without_row(mut self) -> Self {
        self.0.row = None;
        self
    }

    /// Attaches the engine's own number of the error.
    #[must_use]
    pub fn with_code(mut self, code: i32) -> Self {
        self.0.code = Some(code);
        self
    }

    /// Attaches the engine's own error.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// An error of the operating system, with what was being done (`"open app.db"`).
    ///
    /// A full disk becomes [`ErrorKind::Full`], a refused write [`ErrorKind::ReadOnly`].
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
        // What `fn main() -> Result<()>` prints: the sentence, not a struct.
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|e| &**e as _)
    }
}
