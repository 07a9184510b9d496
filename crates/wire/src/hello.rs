//! The handshake: the first frame of each end.

use crate::reader::{MessageReader, corrupt, wrong};
use crate::writer::Encode;
use crate::{FrameKind, Limits, VERSION, frame};
use bobak_core::{Capabilities, Error, ErrorKind, Result};

/// The first bytes of the first request's body.
const MAGIC: [u8; 4] = *b"BOBK";

const NONE: u8 = 0;
const TOKEN: u8 = 1;
const USER: u8 = 2;

const SQL: u32 = 1;
const PERSISTENT: u32 = 2;
const CONCURRENT_READERS: u32 = 4;
const CONCURRENT_WRITERS: u32 = 8;
const DENSE_KEYS: u32 = 16;
const NUL_IN_TEXTS: u32 = 32;
const ANY_COLUMNS: u32 = 64;
const SCHEMA_COMMITS_ALONE: u32 = 128;
const FINITE_FLOATS: u32 = 256;
const SHORT_KEYS: u32 = 512;
const UPDATE_ACTIONS: u32 = 1024;
const DEFERRED_REFERENCES: u32 = 2048;
const ANY_CHECK: u32 = 4096;
const ADD_REFERENCE: u32 = 8192;
const UNREUSED_KEYS: u32 = 16384;
const WEAK_TYPES: u32 = 32768;
const GENERATED_COLUMNS: u32 = 65536;
const SEARCH: u32 = 131_072;
const SEARCH_IN_TRANSACTION: u32 = 262_144;
const SUBQUERIES: u32 = 524_288;
const FOREIGN_KEYS: u32 = 1_048_576;
const VECTORS: u32 = 2_097_152;
const LIMITED_VALUES: u32 = 4_194_304;
/// The server takes requests about parts of values.
const VALUE_PARTS: u32 = 8_388_608;
const EXPLAIN: u32 = 16_777_216;
/// The server sends rows as blocks to clients that request them.
const COLUMN_BLOCKS: u32 = 33_554_432;
/// The server takes queries over several tables.
const JOINS: u32 = 67_108_864;

/// The client's first request: its identity and the database to open.
#[derive(Clone, Debug)]
pub struct Hello {
    /// The lowest protocol version that the client supports.
    pub lowest: u16,
    /// The highest protocol version that the client supports.
    pub highest: u16,
    /// The database's name; empty for the server's first database.
    pub database: String,
    /// The program's name, for the server's log.
    pub client: String,
    /// How the client authenticates.
    pub credentials: Credentials,
}

/// How a client authenticates.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Credentials {
    /// Not at all: the operating system has, on a Unix socket or a pipe.
    #[default]
    None,
    /// An access token.
    Token(String),
    /// A user with a password.
    User {
        /// The user's name.
        name: String,
        /// The password.
        password: String,
    },
}

// Secrets must not appear in logs and messages.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Token(_) => f.write_str("Token(…)"),
            Self::User { name, .. } => write!(f, "User({name:?}, …)"),
        }
    }
}

/// The server's response to a client that it accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The protocol version of the connection.
    pub version: u16,
    /// What the server accepts.
    pub limits: Limits,
    /// The capabilities of the database's engine.
    pub capabilities: Capabilities,
    /// Whether the server sends rows as [blocks](crate::ColumnBlock) to clients that request them.
    pub column_blocks: bool,
    /// Whether the server takes queries over several tables. It may decline single ones.
    pub joins: bool,
    /// The engine's name.
    pub engine: String,
    /// The server's name and version, for the client's log.
    pub server: String,
}

impl Hello {
    /// A hello with the version of this crate.
    #[must_use]
    pub fn new(database: &str, client: &str, credentials: Credentials) -> Self {
        let (database, client) = (database.to_owned(), client.to_owned());
        Self { lowest: VERSION, highest: VERSION, database, client, credentials }
    }

    /// Encodes it as a frame.
    ///
    /// # Errors
    /// `OutOfRange` for a text larger than 4 GiB.
    pub fn encode(&self, out: &mut Vec<u8>, id: u32) -> Result<()> {
        frame::encode(out, FrameKind::Hello, false, id, |out| {
            out.extend_from_slice(&MAGIC);
            out.encode_u16(self.lowest);
            out.encode_u16(self.highest);
            out.encode_text(&self.database)?;
            out.encode_text(&self.client)?;
            match &self.credentials {
                Credentials::None => out.encode_u8(NONE),
                Credentials::Token(token) => {
                    out.encode_u8(TOKEN);
                    out.encode_text(token)?;
                }
                Credentials::User { name, password } => {
                    out.encode_u8(USER);
                    out.encode_text(name)?;
                    out.encode_text(password)?;
                }
            }
            Ok(())
        })
    }

    pub(crate) fn read(reader: &mut MessageReader<'_>) -> Result<Self> {
        let magic = [reader.u8()?, reader.u8()?, reader.u8()?, reader.u8()?];
        if magic != MAGIC {
            return Err(corrupt("the first frame is not a hello"));
        }
        let (lowest, highest) = (reader.u16()?, reader.u16()?);
        if !(lowest..=highest).contains(&VERSION) {
            // The rest of the frame may have another meaning in that version.
            reader.rest();
            let (database, client) = Default::default();
            return Ok(Self { lowest, highest, database, client, credentials: Credentials::None });
        }
        let database = reader.text()?.to_owned();
        let client = reader.text()?.to_owned();
        let credentials = match reader.u8()? {
            NONE => Credentials::None,
            TOKEN => Credentials::Token(reader.text()?.to_owned()),
            USER => Credentials::User {
                name: reader.text()?.to_owned(),
                password: reader.text()?.to_owned(),
            },
            other => return Err(wrong("an authentication method", other)),
        };
        Ok(Self { lowest, highest, database, client, credentials })
    }

    /// The version that both ends support.
    ///
    /// # Errors
    /// `Unsupported` if there is none.
    pub fn version(&self) -> Result<u16> {
        if (self.lowest..=self.highest).contains(&VERSION) {
            return Ok(VERSION);
        }
        let (low, high) = (self.lowest, self.highest);
        let message = format!(
            "the server supports protocol version {VERSION}, the client {low} to {high}: \
             update the older of the two"
        );
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

impl Welcome {
    pub(crate) fn encode_body(&self, out: &mut Vec<u8>) -> Result<()> {
        let Limits { frame, row, requests, handles, window } = self.limits;
        out.encode_u16(self.version);
        [frame, row, requests, handles, window].into_iter().for_each(|limit| out.encode_u32(limit));
        let Capabilities {
            sql,
            persistent,
            concurrent_readers,
            concurrent_writers,
            sequential_keys,
            nul_in_text,
            untyped_columns,
            implicit_ddl_commit,
            finite_floats,
            limited_key_length,
            update_actions,
            deferred_references,
            any_check,
            add_reference,
            unreused_keys,
            weak_types,
            generated_columns,
            search,
            search_in_transaction,
            subqueries,
            foreign_keys,
            vectors,
            limited_values,
            explain,
            ..
        } = self.capabilities;
        let bits = [
            (sql, SQL),
            (persistent, PERSISTENT),
            (concurrent_readers, CONCURRENT_READERS),
            (concurrent_writers, CONCURRENT_WRITERS),
            (sequential_keys, DENSE_KEYS),
            (nul_in_text, NUL_IN_TEXTS),
            (untyped_columns, ANY_COLUMNS),
            (implicit_ddl_commit, SCHEMA_COMMITS_ALONE),
            (finite_floats, FINITE_FLOATS),
            (limited_key_length, SHORT_KEYS),
            (update_actions, UPDATE_ACTIONS),
            (deferred_references, DEFERRED_REFERENCES),
            (any_check, ANY_CHECK),
            (add_reference, ADD_REFERENCE),
            (unreused_keys, UNREUSED_KEYS),
            (weak_types, WEAK_TYPES),
            (generated_columns, GENERATED_COLUMNS),
            (search, SEARCH),
            (search_in_transaction, SEARCH_IN_TRANSACTION),
            (subqueries, SUBQUERIES),
            (foreign_keys, FOREIGN_KEYS),
            (vectors, VECTORS),
            (limited_values, LIMITED_VALUES),
            (true, VALUE_PARTS),
            (explain, EXPLAIN),
            (self.column_blocks, COLUMN_BLOCKS),
            (self.joins, JOINS),
        ];
        out.encode_u32(bits.into_iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum());
        out.encode_text(&self.engine)?;
        out.encode_text(&self.server)
    }

    pub(crate) fn read(reader: &mut MessageReader<'_>) -> Result<Self> {
        let version = reader.u16()?;
        let limits = Limits {
            frame: reader.u32()?,
            row: reader.u32()?,
            requests: reader.u32()?,
            handles: reader.u32()?,
            window: reader.u32()?,
        };
        let bits = reader.u32()?;
        let mut capabilities = Capabilities::NONE;
        capabilities.sql = bits & SQL != 0;
        capabilities.persistent = bits & PERSISTENT != 0;
        capabilities.concurrent_readers = bits & CONCURRENT_READERS != 0;
        capabilities.concurrent_writers = bits & CONCURRENT_WRITERS != 0;
        capabilities.sequential_keys = bits & DENSE_KEYS != 0;
        capabilities.nul_in_text = bits & NUL_IN_TEXTS != 0;
        capabilities.untyped_columns = bits & ANY_COLUMNS != 0;
        capabilities.implicit_ddl_commit = bits & SCHEMA_COMMITS_ALONE != 0;
        capabilities.finite_floats = bits & FINITE_FLOATS != 0;
        capabilities.limited_key_length = bits & SHORT_KEYS != 0;
        capabilities.limited_values = bits & LIMITED_VALUES != 0;
        capabilities.update_actions = bits & UPDATE_ACTIONS != 0;
        capabilities.deferred_references = bits & DEFERRED_REFERENCES != 0;
        capabilities.any_check = bits & ANY_CHECK != 0;
        capabilities.add_reference = bits & ADD_REFERENCE != 0;
        capabilities.unreused_keys = bits & UNREUSED_KEYS != 0;
        capabilities.search = bits & SEARCH != 0;
        capabilities.search_in_transaction = bits & SEARCH_IN_TRANSACTION != 0;
        capabilities.subqueries = bits & SUBQUERIES != 0;
        capabilities.foreign_keys = bits & FOREIGN_KEYS != 0;
        capabilities.vectors = bits & VECTORS != 0;
        capabilities.value_parts = bits & VALUE_PARTS != 0;
        capabilities.explain = bits & EXPLAIN != 0;
        let column_blocks = bits & COLUMN_BLOCKS != 0;
        let joins = bits & JOINS != 0;
        capabilities.weak_types = bits & WEAK_TYPES != 0;
        capabilities.generated_columns = bits & GENERATED_COLUMNS != 0;
        let (engine, server) = (reader.text()?.to_owned(), reader.text()?.to_owned());
        Ok(Self { version, limits, capabilities, column_blocks, joins, engine, server })
    }
}
