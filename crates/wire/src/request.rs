//! Decodes requests, for servers.

use crate::encode_request::{
    COMMIT, CONTINUE, JOIN, LOCKING_SELECT, NEAREST, RELEASE, ROLLBACK, ROLLBACK_TO, SAVEPOINT,
    SEARCH, SELECT, STATEMENT, TEXT, UPSERT_ON, VERBS,
};
use crate::reader::{MessageReader, corrupt, wrong};
use crate::schema::of_number;
use crate::{
    FrameHeader, FrameKind, Handles, Hello, ResultForm, condition, join, schema, select, value,
};
use bobak_core::codec::EncodedRow;
use bobak_core::plan::ExplainedQuery;
use bobak_core::{
    Assign, Condition, Error, ErrorKind, FieldSet, Join, OnError, Parameter, Result, SchemaChange,
    Select, Source, Storage, TableSchema, TransactionControl, Type, Value, ValueRange, ValueRef,
    Verb, WriteBatch,
};
use std::sync::Arc;

/// A request. Handles are resolved, and values and column indexes are checked against their tables.
#[derive(Debug)]
#[non_exhaustive]
pub enum Request<'a> {
    /// The client introduces itself.
    Hello(Box<Hello>),
    /// Assigns a handle to a table.
    Define {
        /// The handle.
        handle: u32,
        /// The encoded schema, for [`read_schema`](crate::read_schema).
        schema: &'a [u8],
    },
    /// Assigns a handle to an SQL text.
    Prepare {
        /// The handle.
        handle: u32,
        /// The SQL.
        text: &'a str,
    },
    /// Releases a handle.
    Forget {
        /// Whether it is a table's handle; else an SQL text's.
        table: bool,
        /// The handle.
        handle: u32,
    },
    /// Begins, commits or rolls back a transaction, or handles a savepoint.
    Control(TransactionControl<'a>),
    /// One row to write.
    Write {
        /// The table.
        table: Arc<TableSchema>,
        /// The operation.
        verb: Verb,
        /// The columns to set.
        fields: FieldSet,
        /// The row, checked.
        row: EncodedRow<'a>,
    },
    /// An update or delete by a condition.
    Change {
        /// The table.
        table: Arc<TableSchema>,
        /// The rows to change; `None` for all.
        condition: Option<Condition>,
        /// The assignments; `None` deletes the rows.
        assign: Option<Vec<Assign>>,
    },
    /// A part of a batch.
    Batch(BatchPart<'a>),
    /// Reads a row by its key.
    Get {
        /// The table.
        table: Arc<TableSchema>,
        /// The key, checked.
        key: EncodedRow<'a>,
    },
    /// Runs a query.
    Query {
        /// How many bytes of rows may be sent before the client grants more; 0 for no limit.
        window: u32,
        /// The form of the result.
        form: ResultForm,
        /// The query.
        source: OwnedSource,
    },
    /// Opens a cursor.
    Open(OwnedSource),
    /// Fetches the next rows of a cursor.
    Fetch(u64),
    /// Closes a cursor.
    Close(u64),
    /// Lists the tables.
    Tables,
    /// Lists what the table schemas do not express.
    Losses,
    /// Changes the schema.
    Alter(Vec<SchemaChange>),
    /// Runs an SQL statement that returns no rows.
    Execute(OwnedSource),
    /// Reads a part of one value.
    ReadPart {
        /// The table.
        table: Arc<TableSchema>,
        /// The column of the value.
        column: usize,
        /// The key, checked.
        key: EncodedRow<'a>,
        /// Which bytes.
        range: ValueRange,
    },
    /// Replaces one value, or is a part of that.
    WriteValue {
        /// The table.
        table: Arc<TableSchema>,
        /// The column of the value.
        column: usize,
        /// The key, checked.
        key: EncodedRow<'a>,
        /// The number of bytes of the whole value.
        length: u64,
        /// The bytes of this part.
        bytes: &'a [u8],
    },
    /// Returns the plan of a query.
    Explain(OwnedSource),
    /// Makes all committed changes durable.
    Flush,
    /// Does nothing.
    Ping,
    /// Cancels the request with this frame's number.
    Cancel,
    /// Lets the query with this frame's number send so many more bytes.
    Credit(u32),
}

/// A query or a statement. It owns its content, so it can outlive the frame.
#[derive(Clone, Debug)]
pub enum OwnedSource {
    /// A query over one table.
    Select(Select),
    /// A query over several tables.
    Join(Box<Join>),
    /// SQL.
    Sql {
        /// The text.
        text: Arc<str>,
        /// The parameters.
        parameters: Vec<Parameter<'static>>,
    },
}

/// A part of a batch.
#[derive(Clone, Debug)]
pub struct BatchPart<'a> {
    /// Whether the batch goes on after a row's error.
    pub on_error: OnError,
    runs: MessageReader<'a>,
}

impl OwnedSource {
    /// The query, in the form in which a session explains it.
    #[must_use]
    pub fn as_query(&self) -> ExplainedQuery<'_> {
        match self {
            Self::Select(select) => ExplainedQuery::Source(Source::Select(select)),
            Self::Join(join) => ExplainedQuery::Join(join),
            Self::Sql { text, parameters } => {
                ExplainedQuery::Source(Source::Sql { text, parameters })
            }
        }
    }
}

impl BatchPart<'_> {
    /// Checks its rows and adds them to a batch.
    ///
    /// # Errors
    /// As [`WriteBatch::push_run`]; `Misuse` for an unknown handle.
    pub fn read_into(mut self, batch: &mut WriteBatch, handles: &Handles) -> Result<()> {
        while !self.runs.is_empty() {
            let table = handles.table(self.runs.u32()?)?;
            let (verb, fields) = read_verb(&mut self.runs, table)?;
            batch.push_run(table, verb, fields, self.runs.bytes()?)?;
        }
        Ok(())
    }
}

impl<'a> Request<'a> {
    /// Decodes the body of a client's frame.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not a valid request; `Misuse` for an unknown handle; `Schema`, `Mismatch`,
    /// `TooLong`, `OutOfRange` for values that do not fit their table.
    #[inline]
    pub fn decode(header: FrameHeader, body: &'a [u8], handles: &Handles) -> Result<Self> {
        let mut reader = MessageReader::new(body);
        let request = Self::read(header, &mut reader, handles)?;
        reader.finish()?;
        Ok(request)
    }

    fn read(
        header: FrameHeader,
        reader: &mut MessageReader<'a>,
        handles: &Handles,
    ) -> Result<Self> {
        if header.more && !matches!(header.kind, FrameKind::Batch | FrameKind::WriteValue) {
            return Err(corrupt("only a batch and a value can have several frames"));
        }
        Ok(match header.kind {
            FrameKind::Write => {
                let table = Arc::clone(handles.table(reader.u32()?)?);
                let (verb, fields) = read_verb(reader, &table)?;
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
                    other => return Err(wrong("an error mode", other)),
                };
                Self::Batch(BatchPart { on_error, runs: MessageReader::new(reader.rest()) })
            }
            FrameKind::Query => Self::Query {
                window: reader.u32()?,
                form: ResultForm::read(reader)?,
                source: source(reader, handles)?,
            },
            FrameKind::Open => Self::Open(source(reader, handles)?),
            FrameKind::Fetch => Self::Fetch(reader.u64()?),
            FrameKind::Close => Self::Close(reader.u64()?),
            FrameKind::Change => {
                let table = Arc::clone(handles.table(reader.u32()?)?);
                let condition = reader.option(|reader| condition::read(reader, &table, handles))?;
                let assign = reader.option(|reader| assignments(reader, &table))?;
                Self::Change { table, condition, assign }
            }
            FrameKind::Execute => match source(reader, handles)? {
                OwnedSource::Select(_) | OwnedSource::Join(_) => {
                    return Err(corrupt("expected an SQL statement, found a query"));
                }
                sql => Self::Execute(sql),
            },
            FrameKind::ReadPart | FrameKind::WriteValue => {
                Self::read_value(header.kind, reader, handles)?
            }
            FrameKind::Explain => Self::Explain(source(reader, handles)?),
            _ => Self::read_rare(header, reader)?,
        })
    }

    /// A request about parts of one value.
    fn read_value(
        kind: FrameKind,
        reader: &mut MessageReader<'a>,
        handles: &Handles,
    ) -> Result<Self> {
        let table = Arc::clone(handles.table(reader.u32()?)?);
        let column = reader.position()?;
        table.column_at(column)?;
        let key = table.check_encoded(true, reader.bytes()?)?;
        let number = reader.u64()?;
        if kind == FrameKind::WriteValue {
            return Ok(Self::WriteValue {
                table,
                column,
                key,
                length: number,
                bytes: reader.rest(),
            });
        }
        let range = ValueRange { offset: number, limit: reader.u32()? as usize };
        Ok(Self::ReadPart { table, column, key, range })
    }

    fn read_rare(header: FrameHeader, reader: &mut MessageReader<'a>) -> Result<Self> {
        Ok(match header.kind {
            FrameKind::Hello => Self::Hello(Box::new(Hello::read(reader)?)),
            FrameKind::Define => Self::Define { handle: reader.u32()?, schema: reader.rest() },
            FrameKind::Prepare => Self::Prepare { handle: reader.u32()?, text: reader.text()? },
            FrameKind::Forget => Self::Forget { table: reader.bool()?, handle: reader.u32()? },
            FrameKind::Tables => Self::Tables,
            FrameKind::Losses => Self::Losses,
            FrameKind::Alter => Self::Alter(
                (0..reader.u16()?).map(|_| schema::read_change(reader)).collect::<Result<_>>()?,
            ),
            FrameKind::Flush => Self::Flush,
            FrameKind::Ping => Self::Ping,
            FrameKind::Cancel => Self::Cancel,
            FrameKind::Credit => Self::Credit(reader.u32()?),
            other => return Err(corrupt(format!("{other:?} is not a request"))),
        })
    }
}

/// A verb, and the columns that it sets.
fn read_verb(reader: &mut MessageReader<'_>, table: &TableSchema) -> Result<(Verb, FieldSet)> {
    let verb = match reader.u8()? {
        UPSERT_ON => {
            let columns: Vec<usize> = value::read_fields(reader)?.iter().collect();
            Verb::upsert_by(table, &columns)?
        }
        number => of_number(VERBS, number, "a verb")?,
    };
    let mut fields = value::read_fields(reader)?;
    // A client may set whole rows; engines compute these columns.
    table.generated_columns().for_each(|column| fields.remove(column));
    Ok((verb, fields))
}

fn control<'a>(reader: &mut MessageReader<'a>) -> Result<TransactionControl<'a>> {
    Ok(match reader.u8()? {
        0 => TransactionControl::Begin,
        COMMIT => TransactionControl::Commit,
        ROLLBACK => TransactionControl::Rollback,
        SAVEPOINT => TransactionControl::Savepoint(reader.text()?),
        RELEASE => TransactionControl::Release(reader.text()?),
        ROLLBACK_TO => TransactionControl::RollbackTo(reader.text()?),
        other => return Err(wrong("a transaction control", other)),
    })
}

fn source(reader: &mut MessageReader<'_>, handles: &Handles) -> Result<OwnedSource> {
    let text: Arc<str> = match reader.u8()? {
        JOIN => return join::read(reader, handles).map(|join| OwnedSource::Join(Box::new(join))),
        kind @ (SELECT | LOCKING_SELECT | SEARCH | NEAREST) => {
            let table = Arc::clone(handles.table(reader.u32()?)?);
            let mut query = select::read(reader, table, handles)?;
            if kind == LOCKING_SELECT {
                query.lock = Some(select::read_lock(reader)?);
            } else if kind == NEAREST {
                query.nearest = Some(Box::new(select::read_nearest(reader)?));
            } else if kind == SEARCH {
                query.search = Some(select::read_search(reader)?);
                query.lock = reader.option(select::read_lock)?;
            }
            query.check_nearest()?;
            return Ok(OwnedSource::Select(query));
        }
        TEXT => reader.text()?.into(),
        STATEMENT => Arc::clone(handles.statement(reader.u32()?)?),
        other => return Err(wrong("a query", other)),
    };
    let parameters = read_parameters(reader)?;
    Ok(OwnedSource::Sql { text, parameters })
}

/// Parameters: a row of their values, and the types.
fn read_parameters(reader: &mut MessageReader<'_>) -> Result<Vec<Parameter<'static>>> {
    let row = value::read_row(reader)?;
    let read = |value: Value<'_>| {
        let ty = schema::read_type(reader)?;
        if !has_stored_form(value.as_ref(), ty) {
            return Err(corrupt(format!("a parameter of type {} with another value", ty.name())));
        }
        Ok(Parameter::new(value.into_owned(), ty))
    };
    value::values_of(&row).into_iter().map(read).collect()
}

/// Whether a value is in the stored form of a parameter's type.
fn has_stored_form(value: ValueRef<'_>, ty: Type) -> bool {
    match (ty.storage(), value) {
        (_, ValueRef::Null) => true,
        (Storage::Int, ValueRef::Int(integer)) => {
            ty.integer_range().is_none_or(|(least, most)| (least..=most).contains(&integer))
        }
        (Storage::Bytes, ValueRef::Bytes(bytes)) => match ty {
            Type::Uuid => bytes.len() == 16,
            Type::Vector(numbers) => bytes.len() == usize::from(numbers) * 4,
            _ => true,
        },
        (Storage::Float, ValueRef::Float(_)) | (Storage::Text, ValueRef::Text(_)) => true,
        (Storage::Any, _) => ty == Type::Any || is_decimal(value),
        _ => false,
    }
}

/// Whether a value is an integer, or text of decimal digits such as `-12.5`.
fn is_decimal(value: ValueRef<'_>) -> bool {
    let ValueRef::Text(text) = value else { return matches!(value, ValueRef::Int(_)) };
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    all_digits(whole) && all_digits(decimals)
}

fn assignments(reader: &mut MessageReader<'_>, table: &TableSchema) -> Result<Vec<Assign>> {
    let mut assignments: Vec<Assign> = Vec::new();
    for _ in 0..reader.u16()? {
        let assign = condition::read_assign(reader, table)?;
        table.check_assigned(assign.column())?;
        if assignments.iter().any(|other| other.column() == assign.column()) {
            // Engines differ in which one counts.
            let error = Error::new(ErrorKind::Misuse, "the column is assigned twice");
            let name = table.columns().get(assign.column()).map_or("", |column| &column.name);
            return Err(error.in_table(table.name().to_owned()).in_column(name.to_owned()));
        }
        assignments.push(assign);
    }
    Ok(assignments)
}
