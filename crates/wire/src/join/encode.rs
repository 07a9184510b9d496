//! Encodes joins.

use super::{
    AGGREGATES, FUNCTIONS, LINK_OF_COLUMNS, NestingLimit, OPERATORS, PART, SET_OPERATORS, START_OF,
    SUBSTRING, check_tables, condition, expr, rows, text_test, window,
};
use crate::OtherTables;
use crate::condition::{COMPARISONS, encode as encode_condition, encode_pairs, handle_of};
use crate::schema::encode_type;
use crate::value;
use crate::writer::Encode;
use bobak_core::join::{
    JoinColumn, JoinCondition, JoinExpr, JoinFunction, JoinLink, JoinOrder, JoinRows, JoinTable,
    JoinWindow, TextTest, WindowFunction,
};
use bobak_core::{Error, ErrorKind, Join, Result};

/// Encodes a join, whose tables have these handles.
pub(crate) fn encode(out: &mut Vec<u8>, join: &Join, tables: OtherTables<'_>) -> Result<()> {
    if join.outer > 0 {
        return Err(inexpressible());
    }
    JoinEncoder { out, tables, limit: NestingLimit::WHOLE }.join(join)
}

struct JoinEncoder<'o> {
    out: &'o mut Vec<u8>,
    tables: OtherTables<'o>,
    limit: NestingLimit,
}

impl JoinEncoder<'_> {
    fn join(&mut self, join: &Join) -> Result<()> {
        check_tables(join.tables.len())?;
        self.limit.enter_query()?;
        let own = join.tables.get(join.outer..).unwrap_or_default();
        let (first, others) = own.split_first().ok_or_else(inexpressible)?;
        self.first_table(first)?;
        self.out.encode_position(others.len())?;
        others.iter().try_for_each(|table| self.linked_table(table))?;
        self.conditions(&join.filters)?;
        self.exprs(&join.columns)?;
        self.exprs(&join.group)?;
        self.conditions(&join.having)?;
        self.conditions(&join.qualify)?;
        self.order(&join.order)?;
        self.out.encode_option(join.limit, |out, limit| {
            out.encode_u64(limit);
            Ok(())
        })?;
        self.out.encode_u64(join.offset);
        self.limit.leave();
        Ok(())
    }

    fn first_table(&mut self, table: &JoinTable) -> Result<()> {
        match (&table.link, &table.rows) {
            (None, None) => self.tag(rows::OF_TABLE).handle(table),
            (None, Some(rows)) => self.rows(rows),
            (Some(_), _) => Err(inexpressible()),
        }
    }

    fn rows(&mut self, rows: &JoinRows) -> Result<()> {
        self.tag(rows::OF_QUERIES).tag(listed(SET_OPERATORS, &rows.operator)?);
        self.out.encode_position(rows.queries.len())?;
        rows.queries.iter().try_for_each(|query| match query.join.outer {
            0 => self.join(&query.join),
            _ => Err(inexpressible()),
        })
    }

    fn linked_table(&mut self, table: &JoinTable) -> Result<()> {
        let (Some(link), None) = (&table.link, &table.rows) else { return Err(inexpressible()) };
        self.handle(table)?;
        let JoinLink { from, to, more, is_left, condition } = link;
        self.column(*from)?;
        self.out.encode_position(*to)?;
        let of_columns = if more.is_empty() { 0 } else { LINK_OF_COLUMNS };
        let tables = self.tag(u8::from(*is_left) | of_columns).tables;
        if !more.is_empty() {
            encode_pairs(self.out, more)?;
        }
        self.out.encode_option(condition.as_ref(), |out, condition| {
            encode_condition(out, condition, tables)
        })
    }

    fn handle(&mut self, table: &JoinTable) -> Result<()> {
        self.out.encode_u32(handle_of(self.tables, &table.table)?);
        Ok(())
    }

    fn column(&mut self, column: JoinColumn) -> Result<()> {
        self.table_index(column.table)?;
        self.out.encode_position(column.column)
    }

    fn table_index(&mut self, table: usize) -> Result<()> {
        self.out.encode_u8(u8::try_from(table).map_err(|_| inexpressible())?);
        Ok(())
    }

    fn exprs(&mut self, exprs: &[JoinExpr]) -> Result<()> {
        self.out.encode_position(exprs.len())?;
        exprs.iter().try_for_each(|expr| self.expr(expr))
    }

    fn conditions(&mut self, conditions: &[JoinCondition]) -> Result<()> {
        self.out.encode_count(conditions.len())?;
        conditions.iter().try_for_each(|condition| self.condition(condition))
    }

    fn order(&mut self, order: &[JoinOrder]) -> Result<()> {
        self.out.encode_position(order.len())?;
        order.iter().try_for_each(|step| {
            self.expr(&step.expr)?;
            self.tag(step.descending.into()).tag(step.nulls_first.into());
            Ok(())
        })
    }

    /// Appends a byte that says what follows.
    fn tag(&mut self, tag: u8) -> &mut Self {
        self.out.encode_u8(tag);
        self
    }

    fn expr(&mut self, expr: &JoinExpr) -> Result<()> {
        self.limit.enter()?;
        match expr {
            JoinExpr::Column(column) => self.tag(expr::COLUMN).column(*column)?,
            JoinExpr::Value(value, ty) => {
                value::encode(self.tag(expr::VALUE).out, value.as_ref())?;
                encode_type(self.out, *ty);
            }
            JoinExpr::Calculation(operator, parts) => {
                let operator = listed(OPERATORS, operator)?;
                self.tag(expr::CALCULATION).tag(operator).expr(&parts.0)?;
                self.expr(&parts.1)?;
            }
            JoinExpr::Aggregate(function, argument) => {
                let function = listed(AGGREGATES, function)?;
                self.tag(expr::AGGREGATE).tag(function).expr(argument)?;
            }
            JoinExpr::Function(function, arguments) => self.function(*function, arguments)?,
            JoinExpr::Case(branches, otherwise) => self.case(branches, otherwise)?,
            JoinExpr::Query(query) => self.tag(expr::QUERY).join(&query.join)?,
            JoinExpr::Window(window) => self.window(window)?,
        }
        self.limit.leave();
        Ok(())
    }

    fn function(&mut self, function: JoinFunction, arguments: &[JoinExpr]) -> Result<()> {
        self.tag(expr::FUNCTION);
        match function {
            JoinFunction::Substring(start, length) => {
                self.tag(SUBSTRING).out.encode_u32(start);
                self.out.encode_u32(length);
            }
            JoinFunction::Part(part) => self.tag(PART).out.encode_text(part.name())?,
            JoinFunction::StartOf(unit) => self.tag(START_OF).out.encode_text(unit.name())?,
            plain => self.out.encode_u8(listed(FUNCTIONS, &plain)?),
        }
        self.exprs(arguments)
    }

    fn case(&mut self, branches: &[(JoinCondition, JoinExpr)], otherwise: &JoinExpr) -> Result<()> {
        self.tag(expr::CASE).out.encode_position(branches.len())?;
        for (condition, value) in branches {
            self.condition(condition)?;
            self.expr(value)?;
        }
        self.expr(otherwise)
    }

    fn window(&mut self, window: &JoinWindow) -> Result<()> {
        self.tag(expr::WINDOW).window_function(window.function)?;
        self.tag(window.argument.is_some().into());
        window.argument.iter().try_for_each(|argument| self.expr(argument))?;
        self.exprs(&window.partition)?;
        self.order(&window.order)
    }

    fn window_function(&mut self, function: WindowFunction) -> Result<()> {
        match function {
            WindowFunction::RowNumber => self.out.encode_u8(window::ROW_NUMBER),
            WindowFunction::Rank => self.out.encode_u8(window::RANK),
            WindowFunction::DenseRank => self.out.encode_u8(window::DENSE_RANK),
            WindowFunction::Lag(rows) => self.tag(window::LAG).out.encode_u32(rows),
            WindowFunction::Lead(rows) => self.tag(window::LEAD).out.encode_u32(rows),
            WindowFunction::First => self.out.encode_u8(window::FIRST),
            WindowFunction::Last => self.out.encode_u8(window::LAST),
            WindowFunction::Aggregate(function, last) => {
                self.tag(window::AGGREGATE).tag(listed(AGGREGATES, &function)?);
                self.out.encode_option(last, |out, last| {
                    out.encode_u32(last);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    fn condition(&mut self, condition: &JoinCondition) -> Result<()> {
        self.limit.enter()?;
        match condition {
            JoinCondition::Row(table, row) => {
                self.tag(condition::ROW).table_index(*table)?;
                encode_condition(self.out, row, self.tables)?;
            }
            JoinCondition::Compare(left, comparison, right) => {
                self.tag(condition::COMPARE).expr(left)?;
                self.tag(listed(COMPARISONS, comparison)?).expr(right)?;
            }
            JoinCondition::IsNull(expr, wanted) => {
                self.tag(condition::IS_NULL).tag((*wanted).into()).expr(expr)?;
            }
            JoinCondition::Text(expr, test) => {
                self.tag(condition::TEXT).text_test(test)?;
                self.expr(expr)?;
            }
            JoinCondition::Exists(query) => self.tag(condition::EXISTS).join(&query.join)?,
            JoinCondition::InQuery(expr, query) => {
                self.tag(condition::IN_QUERY).expr(expr)?;
                self.join(&query.join)?;
            }
            JoinCondition::AnyOf(parts) => self.tag(condition::ANY_OF).conditions(parts)?,
            JoinCondition::AllOf(parts) => self.tag(condition::ALL_OF).conditions(parts)?,
            JoinCondition::Not(part) => self.tag(condition::NOT).condition(part)?,
        }
        self.limit.leave();
        Ok(())
    }

    fn text_test(&mut self, test: &TextTest) -> Result<()> {
        let (tag, text) = match test {
            TextTest::Like(pattern, _) => (text_test::LIKE, pattern),
            TextTest::Contains(part) => (text_test::CONTAINS, part),
            TextTest::StartsWith(prefix) => (text_test::STARTS_WITH, prefix),
            TextTest::EndsWith(suffix) => (text_test::ENDS_WITH, suffix),
        };
        self.tag(tag).out.encode_text(text)?;
        if let TextTest::Like(_, escape) = test {
            self.out.encode_option(*escape, |out, escape| {
                out.encode_text(escape.encode_utf8(&mut [0; 4]))
            })?;
        }
        Ok(())
    }
}

/// The number of something: its position in the list of all that the protocol expresses.
fn listed<T: PartialEq>(list: &[T], item: &T) -> Result<u8> {
    let position = list.iter().position(|other| other == item);
    position.and_then(|position| u8::try_from(position).ok()).ok_or_else(inexpressible)
}

/// The error of what the protocol lacks, and of a join that the facade does not make.
#[cold]
fn inexpressible() -> Error {
    Error::new(ErrorKind::Unsupported, "the protocol cannot express this query")
}
