//! Decodes joins.

use super::{
    AGGREGATES, FUNCTIONS, LINK_OF_COLUMNS, NestingLimit, OPERATORS, PART, SET_OPERATORS, START_OF,
    SUBSTRING, check_tables, condition, expr, rows, text_test, window,
};
use crate::condition::{COMPARISONS, read as read_condition, read_escape, read_pairs};
use crate::reader::{MessageReader, corrupt, wrong};
use crate::schema::{of_number, read_column_of, read_type};
use crate::{Handles, value};
use bobak_core::join::{
    JoinColumn, JoinCondition, JoinExpr, JoinFunction, JoinLink, JoinOrder, JoinSubquery,
    JoinTable, JoinWindow, TextTest, WindowFunction,
};
use bobak_core::{DatePart, DateUnit, Join, Result};
use std::sync::Arc;

/// Decodes a join.
pub(crate) fn read(reader: &mut MessageReader<'_>, handles: &Handles) -> Result<Join> {
    JoinDecoder { reader, handles, limit: NestingLimit::WHOLE }.join(&[])
}

struct JoinDecoder<'r, 'a> {
    reader: &'r mut MessageReader<'a>,
    handles: &'r Handles,
    limit: NestingLimit,
}

impl JoinDecoder<'_, '_> {
    /// A query inside of one with these tables.
    fn join(&mut self, around: &[JoinTable]) -> Result<Join> {
        self.limit.enter_query()?;
        let mut tables = JoinTable::around(around);
        tables.push(self.first_table()?);
        for _ in 0..self.reader.u16()? {
            let table = self.linked_table(&tables, around.len())?;
            tables.push(table);
            check_tables(tables.len())?;
        }
        check_tables(tables.len())?;
        let filters = self.conditions(&tables)?;
        let columns = self.exprs(&tables)?;
        if columns.is_empty() {
            return Err(corrupt("a query selects nothing"));
        }
        let group = self.exprs(&tables)?;
        let (having, qualify) = (self.conditions(&tables)?, self.conditions(&tables)?);
        let order = self.order(&tables)?;
        let limit = self.reader.option(MessageReader::u64)?;
        let offset = self.reader.u64()?;
        self.limit.leave();
        let outer = around.len();
        Ok(Join { tables, outer, filters, columns, group, having, qualify, order, limit, offset })
    }

    fn subquery(&mut self, around: &[JoinTable]) -> Result<Box<JoinSubquery>> {
        self.join(around).map(|join| Box::new(JoinSubquery::of_join(join)))
    }

    fn first_table(&mut self) -> Result<JoinTable> {
        match self.reader.u8()? {
            rows::OF_TABLE => {
                let table = Arc::clone(self.handles.table(self.reader.u32()?)?);
                Ok(JoinTable { table, link: None, rows: None })
            }
            rows::OF_QUERIES => {
                let operator = of_number(SET_OPERATORS, self.reader.u8()?, "a set operator")?;
                let queries = (0..self.reader.u16()?).map(|_| self.join(&[]));
                let queries = queries.collect::<Result<Vec<_>>>()?;
                if queries.is_empty() {
                    return Err(corrupt("no query has the rows of a table"));
                }
                JoinTable::of_queries(operator, queries)
            }
            other => Err(wrong("the rows of a table", other)),
        }
    }

    /// A table that is linked to one of those before it, but for the first `outer` ones.
    fn linked_table(&mut self, before: &[JoinTable], outer: usize) -> Result<JoinTable> {
        let table = Arc::clone(self.handles.table(self.reader.u32()?)?);
        let from = self.column(before)?;
        if from.table < outer {
            return Err(corrupt("a table is linked to one of another query"));
        }
        let to = read_column_of(self.reader, &table)?;
        let kind = self.reader.u8()?;
        if kind > 1 | LINK_OF_COLUMNS {
            return Err(wrong("a link", kind));
        }
        let is_left = kind & 1 != 0;
        let more = match before.get(from.table) {
            Some(joined) if kind & LINK_OF_COLUMNS != 0 => {
                read_pairs(self.reader, &joined.table, &table)?
            }
            _ => Vec::new(),
        };
        let handles = self.handles;
        let condition = self.reader.option(|reader| read_condition(reader, &table, handles))?;
        let link = Some(JoinLink { from, to, more, is_left, condition });
        Ok(JoinTable { table, link, rows: None })
    }

    fn table_index(&mut self, tables: &[JoinTable]) -> Result<usize> {
        let index = usize::from(self.reader.u8()?);
        if index < tables.len() {
            return Ok(index);
        }
        Err(corrupt(format!("the table {index} of a query with {} tables", tables.len())))
    }

    fn column(&mut self, tables: &[JoinTable]) -> Result<JoinColumn> {
        let table = self.table_index(tables)?;
        let schema = tables.get(table).map(|joined| &joined.table);
        let schema = schema.ok_or_else(|| corrupt("a query without tables"))?;
        Ok(JoinColumn { table, column: read_column_of(self.reader, schema)? })
    }

    fn exprs(&mut self, tables: &[JoinTable]) -> Result<Vec<JoinExpr>> {
        (0..self.reader.u16()?).map(|_| self.expr(tables)).collect()
    }

    fn conditions(&mut self, tables: &[JoinTable]) -> Result<Vec<JoinCondition>> {
        // The smallest one is of no parts: 5 bytes.
        let count = self.reader.count(5)?;
        (0..count).map(|_| self.condition(tables)).collect()
    }

    fn order(&mut self, tables: &[JoinTable]) -> Result<Vec<JoinOrder>> {
        let mut order = Vec::new();
        for _ in 0..self.reader.u16()? {
            let expr = self.expr(tables)?;
            let (descending, nulls_first) = (self.reader.bool()?, self.reader.bool()?);
            order.push(JoinOrder { expr, descending, nulls_first });
        }
        Ok(order)
    }

    fn expr(&mut self, tables: &[JoinTable]) -> Result<JoinExpr> {
        self.limit.enter()?;
        let read = match self.reader.u8()? {
            expr::COLUMN => JoinExpr::Column(self.column(tables)?),
            expr::VALUE => JoinExpr::Value(value::read(self.reader)?, read_type(self.reader)?),
            expr::CALCULATION => {
                let operator = of_number(OPERATORS, self.reader.u8()?, "an operator")?;
                let parts = (self.expr(tables)?, self.expr(tables)?);
                JoinExpr::Calculation(operator, Box::new(parts))
            }
            expr::AGGREGATE => {
                let function = of_number(AGGREGATES, self.reader.u8()?, "an aggregate")?;
                JoinExpr::Aggregate(function, Box::new(self.expr(tables)?))
            }
            expr::FUNCTION => {
                let (function, arguments) = (self.function()?, self.exprs(tables)?);
                function.check(&arguments)?;
                JoinExpr::Function(function, arguments)
            }
            expr::CASE => self.case(tables)?,
            expr::QUERY => JoinExpr::Query(self.subquery(tables)?),
            expr::WINDOW => JoinExpr::Window(Box::new(self.window(tables)?)),
            other => return Err(wrong("an expression", other)),
        };
        self.limit.leave();
        Ok(read)
    }

    fn case(&mut self, tables: &[JoinTable]) -> Result<JoinExpr> {
        let mut branches = Vec::new();
        for _ in 0..self.reader.u16()? {
            branches.push((self.condition(tables)?, self.expr(tables)?));
        }
        Ok(JoinExpr::Case(branches, Box::new(self.expr(tables)?)))
    }

    fn function(&mut self) -> Result<JoinFunction> {
        Ok(match self.reader.u8()? {
            SUBSTRING => JoinFunction::Substring(self.reader.u32()?, self.reader.u32()?),
            PART => JoinFunction::Part(DatePart::named(self.reader.text()?)?),
            START_OF => JoinFunction::StartOf(DateUnit::named(self.reader.text()?)?),
            plain => of_number(FUNCTIONS, plain, "a function")?,
        })
    }

    fn window(&mut self, tables: &[JoinTable]) -> Result<JoinWindow> {
        let function = self.window_function()?;
        let argument = if self.reader.bool()? { Some(self.expr(tables)?) } else { None };
        let (partition, order) = (self.exprs(tables)?, self.order(tables)?);
        Ok(JoinWindow { function, argument, partition, order })
    }

    fn window_function(&mut self) -> Result<WindowFunction> {
        Ok(match self.reader.u8()? {
            window::ROW_NUMBER => WindowFunction::RowNumber,
            window::RANK => WindowFunction::Rank,
            window::DENSE_RANK => WindowFunction::DenseRank,
            window::LAG => WindowFunction::Lag(self.reader.u32()?),
            window::LEAD => WindowFunction::Lead(self.reader.u32()?),
            window::FIRST => WindowFunction::First,
            window::LAST => WindowFunction::Last,
            window::AGGREGATE => {
                let function = of_number(AGGREGATES, self.reader.u8()?, "an aggregate")?;
                WindowFunction::Aggregate(function, self.reader.option(MessageReader::u32)?)
            }
            other => return Err(wrong("a window function", other)),
        })
    }

    fn condition(&mut self, tables: &[JoinTable]) -> Result<JoinCondition> {
        self.limit.enter()?;
        let read = match self.reader.u8()? {
            condition::ROW => self.row_condition(tables)?,
            condition::COMPARE => {
                let left = self.expr(tables)?;
                let comparison = of_number(COMPARISONS, self.reader.u8()?, "a comparison")?;
                JoinCondition::Compare(left, comparison, self.expr(tables)?)
            }
            condition::IS_NULL => {
                let wanted = self.reader.bool()?;
                JoinCondition::IsNull(self.expr(tables)?, wanted)
            }
            condition::TEXT => {
                let test = self.text_test()?;
                JoinCondition::Text(self.expr(tables)?, test)
            }
            condition::EXISTS => JoinCondition::Exists(self.subquery(tables)?),
            condition::IN_QUERY => {
                JoinCondition::InQuery(self.expr(tables)?, self.subquery(tables)?)
            }
            condition::ANY_OF => JoinCondition::AnyOf(self.conditions(tables)?),
            condition::ALL_OF => JoinCondition::AllOf(self.conditions(tables)?),
            condition::NOT => JoinCondition::Not(Box::new(self.condition(tables)?)),
            other => return Err(wrong("a condition of a query", other)),
        };
        self.limit.leave();
        Ok(read)
    }

    fn row_condition(&mut self, tables: &[JoinTable]) -> Result<JoinCondition> {
        let index = self.table_index(tables)?;
        let table = tables.get(index).ok_or_else(|| corrupt("a query without tables"))?;
        let row = read_condition(self.reader, &table.table, self.handles)?;
        Ok(JoinCondition::Row(index, row))
    }

    fn text_test(&mut self) -> Result<TextTest> {
        let tag = self.reader.u8()?;
        let text = self.reader.text()?.to_owned();
        let test = match tag {
            text_test::LIKE => TextTest::Like(text, self.reader.option(read_escape)?),
            text_test::CONTAINS => TextTest::Contains(text),
            text_test::STARTS_WITH => TextTest::StartsWith(text),
            text_test::ENDS_WITH => TextTest::EndsWith(text),
            other => return Err(wrong("a test of a text", other)),
        };
        test.check().map(|()| test)
    }
}
