//! What a driver does for the engine. `OracleNet` is the one that reaches servers; tests have others.

mod net;

pub(crate) use net::OracleNet;

use std::borrow::Cow;
use std::fmt::Debug;
use std::time::Duration;

/// The type that a value is bound as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindKind {
    /// NUMBER.
    Number,
    /// BINARY_DOUBLE.
    Double,
    /// VARCHAR2, or a long text for a CLOB.
    Text,
    /// RAW, or long bytes for a BLOB.
    Bytes,
    /// TIMESTAMP, in microseconds since 1970.
    Moment,
    /// INTERVAL DAY TO SECOND, in microseconds.
    Span,
}

/// A value as it is sent.
#[derive(Clone, Debug, PartialEq)]
pub enum OracleValue<'v> {
    /// NULL.
    Null,
    /// An integer, or microseconds.
    Int(i64),
    /// An amount in ten-thousandths.
    Amount(i64),
    /// A float.
    Float(f64),
    /// A text.
    Text(Cow<'v, str>),
    /// Bytes.
    Bytes(Cow<'v, [u8]>),
}

/// A value and what it is bound as. All rows of an array have the same kinds.
pub type OracleBind<'v> = (BindKind, OracleValue<'v>);

/// A value that has arrived.
#[derive(Clone, Debug, PartialEq)]
pub enum OracleCell {
    /// NULL.
    Null,
    /// A NUMBER in decimal digits, so that nothing is rounded.
    Number(String),
    /// A float.
    Float(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A DATE or a TIMESTAMP, in microseconds since 1970, and the nanoseconds after them.
    Moment(i64, u32),
    /// An INTERVAL DAY TO SECOND, in microseconds.
    Span(i64),
    /// A value of this type, which Bobak cannot read.
    Foreign(&'static str),
}

/// The class of types that a column of a result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// NUMBER with this precision and scale, as the server describes it.
    Number(u8, i8),
    /// BINARY_DOUBLE and BINARY_FLOAT.
    Float,
    /// Texts.
    Text,
    /// RAW of this length.
    Raw(u32),
    /// BLOB and LONG RAW.
    Bytes,
    /// DATE, which has a time of the day, too.
    Date,
    /// TIMESTAMP.
    Moment,
    /// TIMESTAMP with a time zone.
    Instant,
    /// INTERVAL DAY TO SECOND.
    Span,
    /// BOOLEAN, of version 23.
    Bool,
    /// Another.
    Foreign,
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OracleColumn {
    /// Its name.
    pub name: String,
    /// What it has.
    pub kind: CellKind,
}

/// What a statement did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OracleDone {
    /// The rows that it wrote, of all executions together.
    pub count: u64,
    /// What RETURNING returned: for each execution, the values of the rows that it wrote.
    pub returned: Vec<Vec<OracleCell>>,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OracleFailure {
    /// The server rejected it, with the number after `ORA-`.
    Server(u32, String),
    /// The connection is lost.
    Lost(String),
    /// The server did not answer within the limit, and the call was cancelled. The connection goes on.
    TimedOut,
    /// The host or the service could not be reached.
    Unreachable(String),
    /// TLS could not be agreed on.
    Tls(String),
    /// What the settings say is not possible.
    Settings(String),
    /// Anything else in the driver.
    Driver(String),
}

/// Whether a call takes a row of a result: `false` ends the call.
pub type EachCells<'e> = dyn FnMut(&[OracleColumn], &[OracleCell]) -> bool + 'e;

/// A connection. Nothing is committed but by [`commit`](OracleDriver::commit), or by a statement that changes the schema.
///
/// Each call ends with [`OracleFailure::TimedOut`] if the server is silent for longer than `limit`.
pub trait OracleDriver: Send + Debug {
    /// Runs a statement once for each row of binds, which are `:1`, `:2` and so on in the text. If one row fails, what the
    /// rows before it did stays. With `returned`, the last parameter is what RETURNING puts the values in.
    ///
    /// # Errors
    /// Why it failed.
    fn execute(
        &mut self,
        sql: &str,
        rows: &[Vec<OracleBind<'_>>],
        returned: Option<BindKind>,
        limit: Option<Duration>,
    ) -> Result<OracleDone, OracleFailure>;

    /// Runs a query; returns its columns.
    ///
    /// # Errors
    /// Why it failed.
    fn query(
        &mut self,
        sql: &str,
        binds: &[OracleBind<'_>],
        limit: Option<Duration>,
        each: &mut EachCells<'_>,
    ) -> Result<Vec<OracleColumn>, OracleFailure>;

    /// Commits.
    ///
    /// # Errors
    /// Why it failed.
    fn commit(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure>;

    /// Undoes what was not committed.
    ///
    /// # Errors
    /// Why it failed.
    fn rollback(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure>;

    /// Asks the server for an answer.
    ///
    /// # Errors
    /// Why it failed.
    fn ping(&mut self, limit: Option<Duration>) -> Result<(), OracleFailure>;
}

/// Where a connection goes.
#[derive(Clone, PartialEq, Eq)]
pub struct OraclePlace {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The service.
    pub service: String,
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// The folder of a wallet, with the certificates to trust.
    pub wallet: Option<String>,
    /// The name that the server shows.
    pub program: String,
    /// How long to try.
    pub timeout: Duration,
}

impl Debug for OraclePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}/{}", self.host, self.port, self.service)
    }
}

/// Opens connections.
pub trait OracleConnect: Send + Sync + Debug {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Why it failed.
    fn connect(&self, place: &OraclePlace) -> Result<Box<dyn OracleDriver>, OracleFailure>;
}
