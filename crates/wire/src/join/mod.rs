//! Encodes and decodes queries over several tables, and their expressions.
//!
//! A decoder trusts nothing: indexes of tables and columns are checked, what is nested has a limit of levels, and a message has
//! a limit of queries.

mod decode;
mod encode;

pub(crate) use decode::read;
pub(crate) use encode::encode;

use crate::Limits;
use bobak_core::join::{CalculationOperator, JoinAggregate, JoinFunction, SetOperator};
use bobak_core::{Error, ErrorKind, Result};

/// The bit of a link by several columns, next to that of a left join.
const LINK_OF_COLUMNS: u8 = 2;

/// Where a join's first table has its rows.
mod rows {
    pub const OF_TABLE: u8 = 0;
    pub const OF_QUERIES: u8 = 1;
}

mod expr {
    pub const COLUMN: u8 = 0;
    pub const VALUE: u8 = 1;
    pub const CALCULATION: u8 = 2;
    pub const AGGREGATE: u8 = 3;
    pub const FUNCTION: u8 = 4;
    pub const CASE: u8 = 5;
    pub const QUERY: u8 = 6;
    pub const WINDOW: u8 = 7;
}

mod condition {
    pub const ROW: u8 = 0;
    pub const COMPARE: u8 = 1;
    pub const IS_NULL: u8 = 2;
    pub const TEXT: u8 = 3;
    pub const EXISTS: u8 = 4;
    pub const IN_QUERY: u8 = 5;
    pub const ANY_OF: u8 = 6;
    pub const ALL_OF: u8 = 7;
    pub const NOT: u8 = 8;
}

mod text_test {
    pub const LIKE: u8 = 0;
    pub const CONTAINS: u8 = 1;
    pub const STARTS_WITH: u8 = 2;
    pub const ENDS_WITH: u8 = 3;
}

mod window {
    pub const ROW_NUMBER: u8 = 0;
    pub const RANK: u8 = 1;
    pub const DENSE_RANK: u8 = 2;
    pub const LAG: u8 = 3;
    pub const LEAD: u8 = 4;
    pub const FIRST: u8 = 5;
    pub const LAST: u8 = 6;
    pub const AGGREGATE: u8 = 7;
}

const SET_OPERATORS: &[SetOperator] =
    &[SetOperator::UnionAll, SetOperator::Union, SetOperator::Intersect, SetOperator::Except];

const OPERATORS: &[CalculationOperator] = &[
    CalculationOperator::Plus,
    CalculationOperator::Minus,
    CalculationOperator::Times,
    CalculationOperator::Divide,
    CalculationOperator::Remainder,
];

const AGGREGATES: &[JoinAggregate] = &[
    JoinAggregate::Count,
    JoinAggregate::CountDistinct,
    JoinAggregate::Sum,
    JoinAggregate::Min,
    JoinAggregate::Max,
    JoinAggregate::Avg,
];

/// The number of a function is its position in this list, except those with something of their own.
const FUNCTIONS: &[JoinFunction] = &[
    JoinFunction::Lower,
    JoinFunction::Upper,
    JoinFunction::Trim,
    JoinFunction::Length,
    JoinFunction::Concat,
    JoinFunction::Coalesce,
    JoinFunction::ToFloat,
    JoinFunction::ToInteger,
    JoinFunction::ToText,
    JoinFunction::JsonText,
    JoinFunction::JsonInteger,
    JoinFunction::JsonFloat,
    JoinFunction::JsonTruth,
    JoinFunction::JsonLength,
    JoinFunction::JsonHas,
    JoinFunction::JsonWith,
    JoinFunction::Distance,
];
/// A position and a length follow.
const SUBSTRING: u8 = 17;
/// The name of the part follows.
const PART: u8 = 18;
/// The name of the unit follows.
const START_OF: u8 = 19;

/// How much of what can be nested is left, while a join is encoded or decoded.
#[derive(Clone, Copy, Debug)]
struct NestingLimit {
    levels: u32,
    parts: u32,
    queries: u32,
}

impl NestingLimit {
    const WHOLE: Self = Self {
        levels: Limits::JOIN_DEPTH,
        parts: Limits::JOIN_PARTS,
        queries: Limits::JOIN_QUERIES,
    };

    /// Goes one level down, into an expression, a condition or a query.
    fn enter(&mut self) -> Result<()> {
        let too_many = |message| Error::new(ErrorKind::OutOfRange, message);
        self.levels = self.levels.checked_sub(1).ok_or_else(|| {
            too_many(format!("the query is nested deeper than {} levels", Limits::JOIN_DEPTH))
        })?;
        self.parts = self.parts.checked_sub(1).ok_or_else(|| {
            too_many(format!("the query has more than {} parts", Limits::JOIN_PARTS))
        })?;
        Ok(())
    }

    fn leave(&mut self) {
        self.levels += 1;
    }

    /// Goes down into a query.
    fn enter_query(&mut self) -> Result<()> {
        self.queries = self.queries.checked_sub(1).ok_or_else(|| {
            let message =
                format!("the query has more than {} queries inside", Limits::JOIN_QUERIES);
            Error::new(ErrorKind::OutOfRange, message)
        })?;
        self.enter()
    }
}

/// Checks the number of a query's tables, with those of the queries around it.
fn check_tables(count: usize) -> Result<()> {
    if count <= Limits::JOIN_TABLES {
        return Ok(());
    }
    let message = format!("the query has {count} tables, and can have {}", Limits::JOIN_TABLES);
    Err(Error::new(ErrorKind::OutOfRange, message))
}
