//! Encodes and decodes conditions and assignments.

use crate::reader::{MessageReader, corrupt, wrong};
use crate::schema::{check_value, number_of, of_number, read_column_of};
use crate::writer::Encode;
use crate::{Handles, Limits, OtherTables, value};
use bobak_core::{
    Assign, ColumnPair, Comparison, Condition, Error, ErrorKind, Result, SubQuery, TableSchema,
};
use std::sync::Arc;

pub(crate) const COMPARISONS: &[Comparison] = &[
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

const COMPARE: u8 = 0;
const COMPARE_COLUMNS: u8 = 1;
const IN: u8 = 2;
const LIKE: u8 = 3;
const STARTS_WITH: u8 = 4;
const IS_NULL: u8 = 5;
const AND: u8 = 6;
const OR: u8 = 7;
const NOT: u8 = 8;
const LIKE_ESCAPE: u8 = 9;
const CONTAINS: u8 = 10;
const ENDS_WITH: u8 = 11;
const IN_QUERY: u8 = 12;
const IN_QUERY_OF_COLUMNS: u8 = 13;

const SET: u8 = 0;
const ADD: u8 = 1;

pub(crate) fn encode(
    out: &mut Vec<u8>,
    condition: &Condition,
    others: OtherTables<'_>,
) -> Result<()> {
    encode_at(out, condition, others, Limits::DEPTH)
}

fn encode_at(
    out: &mut Vec<u8>,
    condition: &Condition,
    others: OtherTables<'_>,
    depth: u32,
) -> Result<()> {
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    let comparison = |comparison: &Comparison| number_of(COMPARISONS, comparison);
    let parts = |out: &mut Vec<u8>, tag: u8, parts: &[Condition]| {
        out.encode_u8(tag);
        out.encode_count(parts.len())?;
        parts.iter().try_for_each(|part| encode_at(out, part, others, depth))
    };
    let text = |out: &mut Vec<u8>, tag: u8, column: usize, text: &str| {
        out.encode_u8(tag);
        out.encode_position(column)?;
        out.encode_text(text)
    };
    match condition {
        Condition::Compare { column, comparison: how, value } => {
            out.encode_u8(COMPARE);
            out.encode_position(*column)?;
            out.encode_u8(comparison(how));
            value::encode(out, value.as_ref())
        }
        Condition::CompareColumns { left, comparison: how, right } => {
            out.encode_u8(COMPARE_COLUMNS);
            out.encode_position(*left)?;
            out.encode_u8(comparison(how));
            out.encode_position(*right)
        }
        Condition::In { column, values } => {
            out.encode_u8(IN);
            out.encode_position(*column)?;
            out.encode_count(values.len())?;
            values.iter().try_for_each(|v| value::encode(out, v.as_ref()))
        }
        Condition::Like { column, pattern } => text(out, LIKE, *column, pattern),
        Condition::StartsWith { column, prefix } => text(out, STARTS_WITH, *column, prefix),
        Condition::LikeEscape { column, pattern, escape } => {
            text(out, LIKE_ESCAPE, *column, pattern)?;
            out.encode_text(escape.encode_utf8(&mut [0; 4]))
        }
        Condition::Contains { column, part } => text(out, CONTAINS, *column, part),
        Condition::EndsWith { column, suffix } => text(out, ENDS_WITH, *column, suffix),
        Condition::IsNull { column } => {
            out.encode_u8(IS_NULL);
            out.encode_position(*column)
        }
        Condition::And(list) => parts(out, AND, list),
        Condition::Or(list) => parts(out, OR, list),
        Condition::Not(part) => {
            out.encode_u8(NOT);
            encode_at(out, part, others, depth)
        }
        Condition::InQuery { column, query } => {
            out.encode_u8(if query.more.is_empty() { IN_QUERY } else { IN_QUERY_OF_COLUMNS });
            out.encode_position(*column)?;
            encode_query(out, query, others, depth)
        }
        _ => Err(Error::new(ErrorKind::Unsupported, "the protocol cannot express this condition")),
    }
}

fn encode_query(
    out: &mut Vec<u8>,
    query: &SubQuery,
    others: OtherTables<'_>,
    depth: u32,
) -> Result<()> {
    out.encode_u32(handle_of(others, &query.table)?);
    out.encode_position(query.column)?;
    if !query.more.is_empty() {
        encode_pairs(out, &query.more)?;
    }
    out.encode_option(query.condition.as_ref(), |out, part| encode_at(out, part, others, depth))
}

/// Pairs of columns after the first one.
pub(crate) fn encode_pairs(out: &mut Vec<u8>, more: &[ColumnPair]) -> Result<()> {
    out.encode_position(more.len())?;
    more.iter().try_for_each(|pair| {
        out.encode_position(pair.from)?;
        out.encode_position(pair.to)
    })
}

/// Pairs of columns of two tables.
pub(crate) fn read_pairs(
    reader: &mut MessageReader<'_>,
    from: &TableSchema,
    to: &TableSchema,
) -> Result<Vec<ColumnPair>> {
    let count = reader.u16()?;
    if count == 0 {
        return Err(corrupt("several columns, of which there is one"));
    }
    let mut pair = |_| {
        let (from, to) = (read_column_of(reader, from)?, read_column_of(reader, to)?);
        Ok(ColumnPair { from, to })
    };
    (0..count).map(&mut pair).collect()
}

/// The handle of a table.
pub(crate) fn handle_of(tables: OtherTables<'_>, table: &TableSchema) -> Result<u32> {
    let found = tables.iter().find(|(id, _)| *id == table.id());
    found.map(|(_, handle)| *handle).ok_or_else(|| {
        Error::new(ErrorKind::Misuse, "the table has no handle").in_table(table.name())
    })
}

pub(crate) fn read(
    reader: &mut MessageReader<'_>,
    table: &TableSchema,
    handles: &Handles,
) -> Result<Condition> {
    read_at(reader, (table, handles), Limits::DEPTH)
}

fn read_at(
    reader: &mut MessageReader<'_>,
    (table, handles): (&TableSchema, &Handles),
    depth: u32,
) -> Result<Condition> {
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    let tag = reader.u8()?;
    Ok(match tag {
        COMPARE => Condition::Compare {
            column: read_column_of(reader, table)?,
            comparison: of_number(COMPARISONS, reader.u8()?, "a comparison")?,
            value: read_value(reader)?,
        },
        COMPARE_COLUMNS => Condition::CompareColumns {
            left: read_column_of(reader, table)?,
            comparison: of_number(COMPARISONS, reader.u8()?, "a comparison")?,
            right: read_column_of(reader, table)?,
        },
        IN => {
            let column = read_column_of(reader, table)?;
            let count = reader.count(5)?;
            let values = (0..count).map(|_| read_value(reader)).collect::<Result<_>>()?;
            Condition::In { column, values }
        }
        LIKE => Condition::Like {
            column: read_column_of(reader, table)?,
            pattern: read_pattern(reader)?,
        },
        STARTS_WITH => Condition::StartsWith {
            column: read_column_of(reader, table)?,
            prefix: reader.text()?.to_owned(),
        },
        LIKE_ESCAPE => Condition::LikeEscape {
            column: read_column_of(reader, table)?,
            pattern: read_pattern(reader)?,
            escape: read_escape(reader)?,
        },
        CONTAINS => Condition::Contains {
            column: read_column_of(reader, table)?,
            part: reader.text()?.to_owned(),
        },
        ENDS_WITH => Condition::EndsWith {
            column: read_column_of(reader, table)?,
            suffix: reader.text()?.to_owned(),
        },
        IS_NULL => Condition::IsNull { column: read_column_of(reader, table)? },
        AND | OR => {
            // The smallest part is an empty AND or OR: 3 bytes.
            let count = reader.count(3)?;
            let parts = (0..count)
                .map(|_| read_at(reader, (table, handles), depth))
                .collect::<Result<_>>()?;
            if tag == AND { Condition::And(parts) } else { Condition::Or(parts) }
        }
        NOT => Condition::Not(Box::new(read_at(reader, (table, handles), depth)?)),
        IN_QUERY | IN_QUERY_OF_COLUMNS => {
            let column = read_column_of(reader, table)?;
            let outer = (tag == IN_QUERY_OF_COLUMNS).then_some(table);
            let query = read_query(reader, outer, handles, depth)?;
            query.check_compared(table, column)?;
            Condition::InQuery { column, query: Box::new(query) }
        }
        other => return Err(wrong("a condition", other)),
    })
}

/// `outer` is the table around, if several columns are compared.
fn read_query(
    reader: &mut MessageReader<'_>,
    outer: Option<&TableSchema>,
    handles: &Handles,
    depth: u32,
) -> Result<SubQuery> {
    let table = Arc::clone(handles.table(reader.u32()?)?);
    let column = read_column_of(reader, &table)?;
    let more = outer.map(|outer| read_pairs(reader, outer, &table)).transpose()?;
    let condition = reader.option(|reader| read_at(reader, (&table, handles), depth))?;
    Ok(SubQuery { table, column, more: more.unwrap_or_default(), condition })
}

fn read_pattern(reader: &mut MessageReader<'_>) -> Result<String> {
    let pattern = reader.text()?;
    bobak_core::check_pattern(pattern).map(|()| pattern.to_owned())
}

pub(crate) fn read_escape(reader: &mut MessageReader<'_>) -> Result<char> {
    let mut characters = reader.text()?.chars();
    match (characters.next(), characters.next()) {
        (Some(escape), None) => bobak_core::check_escape(escape).map(|()| escape),
        _ => Err(Error::new(ErrorKind::Syntax, "an escape character must be one character")),
    }
}

/// A comparison never has NULL: `IS NULL` is a condition of its own.
fn read_value(reader: &mut MessageReader<'_>) -> Result<bobak_core::Value<'static>> {
    match value::read(reader)? {
        value if value.is_null() => {
            let message = "nothing is equal to NULL: ask whether the column is NULL";
            Err(Error::new(ErrorKind::Misuse, message))
        }
        value => Ok(value),
    }
}

pub(crate) fn encode_assign(out: &mut Vec<u8>, assign: &Assign) -> Result<()> {
    let (tag, column, value) = match assign {
        Assign::Set { column, value } => (SET, column, value),
        Assign::Add { column, value } => (ADD, column, value),
    };
    out.encode_u8(tag);
    out.encode_position(*column)?;
    value::encode(out, value.as_ref())
}

pub(crate) fn read_assign(reader: &mut MessageReader<'_>, table: &TableSchema) -> Result<Assign> {
    let tag = reader.u8()?;
    let column = reader.position()?;
    let value = value::read(reader)?;
    check_value(table, column, &value)?;
    match tag {
        SET => Ok(Assign::Set { column, value }),
        ADD => Ok(Assign::Add { column, value }),
        other => Err(wrong("an assignment", other)),
    }
}

#[cold]
fn too_deep() -> Error {
    let message = format!("the condition is nested deeper than {} levels", Limits::DEPTH);
    Error::new(ErrorKind::OutOfRange, message)
}
