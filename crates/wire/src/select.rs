//! Encodes and decodes queries over one table.

use crate::condition;
use crate::reader::{MessageReader, wrong};
use crate::schema::{number_of, of_number, read_column_of};
use crate::writer::Encode;
use crate::{Handles, OtherTables};
use bobak_core::nearest::{Metric, Nearest};
use bobak_core::search::{Search, SearchQuery};
use bobak_core::{Error, ErrorKind, Expr, Order, Result, RowLock, Select, TableSchema};
use std::sync::Arc;
use std::time::Duration;

const COLUMN: u8 = 0;
const COUNT: u8 = 1;
const COUNT_OF: u8 = 2;
const SUM: u8 = 3;
const MIN: u8 = 4;
const MAX: u8 = 5;
const AVG: u8 = 6;
const RANK: u8 = 7;
const DISTANCE: u8 = 8;

const WAIT: u8 = 0;
const NO_WAIT: u8 = 1;
const SKIP_LOCKED: u8 = 2;
const WAIT_AT_MOST: u8 = 3;

/// Encodes a query without its table, whose handle precedes it.
pub(crate) fn encode(out: &mut Vec<u8>, select: &Select, others: OtherTables<'_>) -> Result<()> {
    out.encode_position(select.columns.len())?;
    select.columns.iter().try_for_each(|expr| encode_expr(out, *expr))?;
    out.encode_option(select.condition.as_ref(), |out, condition| {
        condition::encode(out, condition, others)
    })?;
    out.encode_position(select.group.len())?;
    select.group.iter().try_for_each(|column| out.encode_position(*column))?;
    out.encode_position(select.order.len())?;
    for step in &select.order {
        out.encode_position(step.column)?;
        out.encode_u8(step.descending.into());
    }
    out.encode_option(select.limit, |out, limit| {
        out.encode_u64(limit);
        Ok(())
    })?;
    out.encode_u64(select.offset);
    Ok(())
}

fn encode_expr(out: &mut Vec<u8>, expr: Expr) -> Result<()> {
    let (tag, column) = match expr {
        Expr::Column(column) => (COLUMN, column),
        Expr::Count => (COUNT, 0),
        Expr::CountOf(column) => (COUNT_OF, column),
        Expr::Sum(column) => (SUM, column),
        Expr::Min(column) => (MIN, column),
        Expr::Max(column) => (MAX, column),
        Expr::Avg(column) => (AVG, column),
        Expr::Rank => (RANK, 0),
        Expr::Distance => (DISTANCE, 0),
        _ => {
            let message = "the protocol cannot express this expression";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    };
    out.encode_u8(tag);
    out.encode_position(column)
}

pub(crate) fn read(
    reader: &mut MessageReader<'_>,
    table: Arc<TableSchema>,
    handles: &Handles,
) -> Result<Select> {
    let columns =
        (0..reader.u16()?).map(|_| read_expr(reader, &table)).collect::<Result<Vec<_>>>()?;
    let condition = reader.option(|reader| condition::read(reader, &table, handles))?;
    let group =
        (0..reader.u16()?).map(|_| read_column_of(reader, &table)).collect::<Result<Vec<_>>>()?;
    let order = (0..reader.u16()?)
        .map(|_| {
            let column = read_column_of(reader, &table)?;
            Ok(Order { column, descending: reader.bool()? })
        })
        .collect::<Result<Vec<_>>>()?;
    let limit = reader.option(MessageReader::u64)?;
    let offset = reader.u64()?;
    let (search, nearest, lock) = (None, None, None);
    let select =
        Select { table, columns, search, nearest, condition, group, order, limit, offset, lock };
    check(&select)?;
    Ok(select)
}

/// Encodes what a query searches for.
pub(crate) fn encode_search(out: &mut Vec<u8>, search: &Search) -> Result<()> {
    out.encode_text(&search.query.to_string())?;
    out.encode_u8(search.ranked.into());
    Ok(())
}

pub(crate) fn read_search(reader: &mut MessageReader<'_>) -> Result<Search> {
    let query = Arc::new(SearchQuery::parse(reader.text()?)?);
    Ok(Search { query, ranked: reader.bool()? })
}

/// Encodes from which vector a query measures distances.
pub(crate) fn encode_nearest(out: &mut Vec<u8>, nearest: &Nearest) -> Result<()> {
    out.encode_position(nearest.column)?;
    out.encode_u8(number_of(Metric::ALL, &nearest.metric));
    out.encode_position(nearest.to.len())?;
    nearest.to.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    Ok(())
}

pub(crate) fn read_nearest(reader: &mut MessageReader<'_>) -> Result<Nearest> {
    let column = reader.position()?;
    let metric = of_number(Metric::ALL, reader.u8()?, "a metric")?;
    let numbers = (0..reader.u16()?).map(|_| reader.u32().map(f32::from_bits));
    Ok(Nearest { column, metric, to: numbers.collect::<Result<_>>()? })
}

/// Encodes how a query locks rows.
pub(crate) fn encode_lock(out: &mut Vec<u8>, lock: RowLock) {
    out.encode_u8(match lock {
        RowLock::Wait => WAIT,
        RowLock::NoWait => NO_WAIT,
        RowLock::SkipLocked => SKIP_LOCKED,
        RowLock::WaitAtMost(_) => WAIT_AT_MOST,
    });
    if let Some(millis) = lock.wait_millis() {
        out.encode_u32(millis);
    }
}

pub(crate) fn read_lock(reader: &mut MessageReader<'_>) -> Result<RowLock> {
    Ok(match reader.u8()? {
        WAIT => RowLock::Wait,
        NO_WAIT => RowLock::NoWait,
        SKIP_LOCKED => RowLock::SkipLocked,
        WAIT_AT_MOST => RowLock::WaitAtMost(Duration::from_millis(reader.u32()?.into())),
        other => return Err(wrong("a row lock", other)),
    })
}

/// Checks what the query builder guarantees and engines rely on: that a grouped query uses only grouped columns.
fn check(select: &Select) -> Result<()> {
    let table = select.table.name();
    if select.columns.is_empty() {
        return Err(Error::new(ErrorKind::Schema, "no column is selected").in_table(table));
    }
    let alone = |expr: &Expr| matches!(expr, Expr::Column(c) if !select.group.contains(c));
    let outside = |step: &Order| !select.group.contains(&step.column);
    if select.is_grouped() && (select.columns.iter().any(alone) || select.order.iter().any(outside))
    {
        let message = "a column next to an aggregate or in the order must be grouped by";
        return Err(Error::new(ErrorKind::Schema, message).in_table(table));
    }
    Ok(())
}

fn read_expr(reader: &mut MessageReader<'_>, table: &TableSchema) -> Result<Expr> {
    let tag = reader.u8()?;
    let of_no_column = match tag {
        COUNT => Some(Expr::Count),
        RANK => Some(Expr::Rank),
        DISTANCE => Some(Expr::Distance),
        _ => None,
    };
    if let Some(expr) = of_no_column {
        return reader.position().map(|_| expr);
    }
    let column = read_column_of(reader, table)?;
    Ok(match tag {
        COLUMN => Expr::Column(column),
        COUNT_OF => Expr::CountOf(column),
        SUM => Expr::Sum(column),
        MIN => Expr::Min(column),
        MAX => Expr::Max(column),
        AVG => Expr::Avg(column),
        other => return Err(wrong("an expression", other)),
    })
}
