//! Requests, as a server reads them.

use crate::encode_request::{
    COMMIT, CONTINUE, RELEASE, ROLLBACK, ROLLBACK_TO, SAVEPOINT, SELECT, STATEMENT, TEXT, VERBS,
};
use crate::reader::{Reader, corrupt, wrong};
use crate::schema::of_number;
use crate::{FrameHeader, FrameKind, Handles, Hello, condition, schema, select, value};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Assign, Batch, Condition, FieldSet, OnError, Result, SchemaChange, Select, Source, TableSchema,
    TransactionControl, Value, Verb,
};
use std::sync::Arc;

/// A request, its tables found by their numbers. Values and places were checked against them.
#[derive(Debug)]
#[non_exhaustive]
pub enum Request<'a> {
    /// Who the client is.
    Hello(Box<Hello>),
    /// Gives a table a number.
    Define {
        /// The number.
        handle: u32,
        /// For [`read_schema`](crate::read_schema).
        schema: &'a [u8],
    },
    /// Gives a text a number.
    Prepare {
        /// The number.
        handle: u32,
        /// The SQL.
        text: &'a str,
    },
    /// Gives a number back.
    Forget {
        /// A table's, or else a text's.
        table: bool,
        /// The number.
        handle: u32,
    },
    /// A step of a transaction.
    Control(TransactionControl<'a>),
    /// One row to write.
    Write {
        /// The table.
        table: Arc<TableSchema>,
        /// What happens.
        verb: Verb,
        /// What is set.
        fields: FieldSet,
        /// The row, checked.
        row: EncodedRow<'a>,
    },
    /// An update or delete by a condition.
    Change {
        /// The table.
        table: Arc<TableSchema>,
        /// Which rows.
        condition: Option<Condition>,
        /// What is set; `None` deletes.
        assign: Option<Vec<Assign>>,
    },
    /// A part of a batch.
    Batch(BatchPart<'a>),
    /// A row by its key.
    Get {
        /// The table.
        table: Arc<TableSchema>,
        /// The key, checked.
        key: EncodedRow<'a>,
    },
    /// A query whose rows are sent.
    Query {
        /// Bytes that may be sent before the client asks for more; 0 for any number.
        window: u32,
        /// Whether the columns are told first.
        columns: bool,
        /// What is asked.
        asked: OwnedSource,
    },
    /// A query whose rows are fetched.
    Open(OwnedSource),
    /// The next rows of an open query.
    Fetch(u64),
    /// Closes an open query.
    Close(u64),
    /// The tables that are there.
    Tables,
    /// Changes of the schema.
    Alter(Vec<SchemaChange>),
    /// An SQL statement without rows.
    Execute(OwnedSource),
    /// Makes all durable.
    Flush,
    /// Nothing.
    Ping,
    /// Ends the request with this frame's number.
    Cancel,
    /// Lets the query with this frame's number send so many bytes more.
    Credit(u32),
}

/// What is asked, owned: it outlives the frame.
#[derive(Clone, Debug)]
pub enum OwnedSource {
    /// A query over one table.
    Select(Select),
    /// SQL.
    Sql {
        /// The text.
        text: Arc<str>,
        /// The parameters.
        parameters: Vec<Value<'static>>,
    },
}

/// A part of a batch.
#[derive(Clone, Debug)]
pub struct BatchPart<'a> {
    /// What happens after a row's error.
    pub on_error: OnError,
    runs: Reader<'a>,
}

impl OwnedSource {
    /// What engines take.
    #[must_use]
    pub fn as_source(&self) -> Source<'_> {
        match self {
            Self::Select(select) => Source::Select(select),
            Self::Sql { text, parameters } => Source::Sql { text, parameters },
        }
    }
}

impl BatchPart<'_> {
    /// Adds its rows to a batch, each checked.
    ///
    /// # Errors
    /// As [`Batch::push_run`]; `Misuse` for a table without a number.
    pub fn read_into(mut self, batch: &mut Batch, handles: &Handles) -> Result<()> {
        while !self.runs.is_empty() {
            let table = handles.table(self.runs.u32()?)?;
            let verb = of_number(VERBS, self.runs.u8()?, "a verb")?;
            let fields = value::read_fields(&mut self.runs)?;
            batch.push_run(table, verb, fields, self.runs.bytes()?)?;
        }
        Ok(())
    }
}

impl<'a> Request<'a> {
    /// Reads the body of a client's frame.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are no request; `Misuse` for a number that stands for nothing;
    /// `Schema`, `Mismatch`, `TooLong`, `OutOfRange` for what does not fit its table.
    #[inline]
    pub fn decode(head: FrameHeader, body: &'a [u8], handles: &Handles) -> Result<Self> {
        let mut reader = Reader::new(body);
        let request = Self::read(head, &mut reader, handles)?;
        reader.finish()?;
        Ok(request)
    }

    fn read(head: FrameHeader, reader: &mut Reader<'a>, handles: &Handles) -> Result<Self> {
        if head.more && head.kind != FrameKind::Batch {
            return Err(corrupt("only a batch comes in several frames"));
        }
        Ok(match head.kind {
            FrameKind::Write => {
                let table = Arc::clone(handles.table(reader.u32()?)?);
                let verb = of_number(VERBS, reader.u8()?, "a verb")?;
                let fields = value::read_fields(reader)?;
                let row = table.check_encoded(verb == Verb::Delete, reader.bytes()?)?;
                Self::Write { table, verb, fields, row }
            }
            FrameKind::Get => {
                let table = Arc::clone(handles.table(reader.u32()?)?);
                let key = table.check_encoded(true, reader.bytes()?)?;
                Self::Get { table, key }
            }
            FrameKind::Control => Self::Control(control(reader)?),
            FrameKind::Batch => {
                let on_error = match reader.u8()? {
                    0 => OnError::Stop,
                    CONTINUE => OnError::Continue,
                    other => return Err(wrong("what happens after an error", other)),
                };
                Self::Batch(BatchPart { on_error, runs: Reader::new(reader.rest()) })
            }
            FrameKind::Query => Self::Query {
                window: reader.u32()?,
                columns: reader.bool()?,
                asked: asked(reader, handles)?,
            },
            FrameKind::Open => Self::Open(asked(reader, handles)?),
            FrameKind::Fetch => Self::Fetch(reader.u64()?),
            FrameKind::Close => Self::Close(reader.u64()?),
            FrameKind::Change => {
                let table = Arc::clone(handles.table(reader.u32()?)?);
                let condition = reader.option(|reader| condition::read(reader, &table))?;
                let assign = reader.option(|reader| assignments(reader, &table))?;
                Self::Change { table, condition, assign }
            }
            FrameKind::Execute => match asked(reader, handles)? {
                OwnedSource::Select(_) => {
                    return Err(corrupt("a query where a statement is wanted"));
                }
                sql => Self::Execute(sql),
            },
            _ => Self::read_rare(head, reader)?,
        })
    }

    fn read_rare(head: FrameHeader, reader: &mut Reader<'a>) -> Result<Self> {
        Ok(match head.kind {
            FrameKind::Hello => Self::Hello(Box::new(Hello::read(reader)?)),
            FrameKind::Define => Self::Define { handle: reader.u32()?, schema: reader.rest() },
            FrameKind::Prepare => Self::Prepare { handle: reader.u32()?, text: reader.text()? },
            FrameKind::Forget => Self::Forget { table: reader.bool()?, handle: reader.u32()? },
            FrameKind::Tables => Self::Tables,
            FrameKind::Alter => Self::Alter(
                (0..reader.u16()?).map(|_| schema::read_change(reader)).collect::<Result<_>>()?,
            ),
            FrameKind::Flush => Self::Flush,
            FrameKind::Ping => Self::Ping,
            FrameKind::Cancel => Self::Cancel,
            FrameKind::Credit => Self::Credit(reader.u32()?),
            other => return Err(corrupt(format!("{other:?} is no request"))),
        })
    }
}

fn control<'a>(reader: &mut Reader<'a>) -> Result<TransactionControl<'a>> {
    Ok(match reader.u8()? {
        0 => TransactionControl::Begin,
        COMMIT => TransactionControl::Commit,
        ROLLBACK => TransactionControl::Rollback,
        SAVEPOINT => TransactionControl::Savepoint(reader.text()?),
        RELEASE => TransactionControl::Release(reader.text()?),
        ROLLBACK_TO => TransactionControl::RollbackTo(reader.text()?),
        other => return Err(wrong("a step of a transaction", other)),
    })
}

fn asked(reader: &mut Reader<'_>, handles: &Handles) -> Result<OwnedSource> {
    let text: Arc<str> = match reader.u8()? {
        SELECT => {
            let table = Arc::clone(handles.table(reader.u32()?)?);
            return select::read(reader, table).map(OwnedSource::Select);
        }
        TEXT => reader.text()?.into(),
        STATEMENT => Arc::clone(handles.statement(reader.u32()?)?),
        other => return Err(wrong("a query", other)),
    };
    let row = value::read_row(reader)?;
    let parameters = value::values_of(&row).into_iter().map(Value::into_owned).collect();
    Ok(OwnedSource::Sql { text, parameters })
}

fn assignments(reader: &mut Reader<'_>, table: &TableSchema) -> Result<Vec<Assign>> {
    (0..reader.u16()?).map(|_| condition::read_assign(reader, table)).collect()
}
