//! Parses simple queries: one table, columns and aggregates of it, conditions between its columns
//! and values, an order, a limit. A text with anything else is not a simple query.

use super::{BoundOperand, ParsedQuery, Predicate};
use bobak_core::sql_expression::{SqlExpression, SqlLiteral, SqlOperator, SqlParser};
use bobak_core::{Comparison, Expr, Order, TableSchema, Value};

/// Keywords that can follow a table name, and so are not its alias.
const KEYWORDS: [&str; 20] = [
    "where",
    "order",
    "group",
    "limit",
    "join",
    "left",
    "inner",
    "cross",
    "natural",
    "full",
    "right",
    "union",
    "except",
    "intersect",
    "having",
    "window",
    "indexed",
    "not",
    "on",
    "using",
];

/// A selected expression and its alias.
type SelectItem<'t> = (SqlExpression<'t>, Option<String>);

/// Parses a query; `None` if it is not simple.
pub(super) fn parse(text: &str, table: &TableSchema) -> Option<ParsedQuery> {
    let text = text.trim();
    let mut parser = SqlParser::new(text.strip_suffix(';').unwrap_or(text));
    take(parser.word("select") && !parser.is_word("distinct") && !parser.is_word("all"))?;
    let items = if parser.operator("*") { None } else { Some(list(&mut parser, item)?) };
    // A parameter among the columns is not counted, and no column.
    take(parser.word("from"))?;
    let lowering = ExpressionConverter { table, alias: alias(&mut parser, table)? };
    let mut parsed = ParsedQuery {
        columns: match &items {
            Some(items) => {
                items.iter().map(|(item, _)| lowering.item(item)).collect::<Option<_>>()?
            }
            None => (0..table.columns().len()).map(Expr::Column).collect(),
        },
        ..ParsedQuery::default()
    };
    if parser.word("where") {
        parsed.condition = Some(lowering.predicate(&parser.expression().ok()?)?);
    }
    if parser.word("group") {
        take(parser.word("by"))?;
        parsed.group = list(&mut parser, |parser| lowering.column(&parser.expression().ok()?))?;
    }
    if parser.word("order") {
        take(parser.word("by"))?;
        let aliases = items.as_deref().unwrap_or_default();
        parsed.order =
            list(&mut parser, |parser| lowering.order(parser, aliases, &parsed.columns))?;
    }
    if parser.word("limit") {
        parsed.limit = Some(operand(&parser.expression().ok()?)?);
        if parser.word("offset") {
            parsed.offset = Some(operand(&parser.expression().ok()?)?);
        }
    }
    parsed.parameters = parser.parameters();
    parser.is_at_end().then_some(parsed)
}

/// `expression AS alias`
fn item<'t>(parser: &mut SqlParser<'t>) -> Option<SelectItem<'t>> {
    let expression = parser.expression().ok()?;
    let has_alias = parser.word("as") || !parser.is_operator(",") && !parser.is_word("from");
    let alias = if has_alias { Some(parser.name()?.into_owned()) } else { None };
    Some((expression, alias))
}

/// Reads the table, and the name that may qualify its columns.
fn alias(parser: &mut SqlParser<'_>, table: &TableSchema) -> Option<String> {
    let mut name = parser.name()?;
    if parser.operator(".") {
        name = parser.name()?;
    }
    take(name.eq_ignore_ascii_case(table.name()))?;
    let is_alias = parser.word("as") || !KEYWORDS.iter().any(|keyword| parser.is_word(keyword));
    let alias = if is_alias { parser.name() } else { None };
    Some(alias.unwrap_or(name).into_owned())
}

fn list<'t, R>(
    parser: &mut SqlParser<'t>,
    mut each: impl FnMut(&mut SqlParser<'t>) -> Option<R>,
) -> Option<Vec<R>> {
    let mut all = vec![each(parser)?];
    while parser.operator(",") {
        all.push(each(parser)?);
    }
    Some(all)
}

fn take(is_there: bool) -> Option<()> {
    is_there.then_some(())
}

/// Converts expressions over a table.
struct ExpressionConverter<'t> {
    table: &'t TableSchema,
    /// The name that may qualify a column.
    alias: String,
}

impl ExpressionConverter<'_> {
    fn column(&self, expression: &SqlExpression<'_>) -> Option<usize> {
        let SqlExpression::Name { qualifier, name } = expression else { return None };
        let is_own = |qualifier: &str| qualifier.eq_ignore_ascii_case(&self.alias);
        take(qualifier.as_deref().is_none_or(is_own))?;
        self.table.column(name).ok()
    }

    fn item(&self, expression: &SqlExpression<'_>) -> Option<Expr> {
        let (function, argument) = match expression {
            SqlExpression::CallAll(function) => {
                return function.eq_ignore_ascii_case("count").then_some(Expr::Count);
            }
            SqlExpression::Call(function, arguments) => match &arguments[..] {
                [argument] => (function, self.column(argument)?),
                _ => return None,
            },
            _ => return self.column(expression).map(Expr::Column),
        };
        match function.to_ascii_lowercase().as_str() {
            "count" => Some(Expr::CountOf(argument)),
            "sum" => Some(Expr::Sum(argument)),
            "min" => Some(Expr::Min(argument)),
            "max" => Some(Expr::Max(argument)),
            "avg" => Some(Expr::Avg(argument)),
            _ => None,
        }
    }

    fn order(
        &self,
        parser: &mut SqlParser<'_>,
        aliases: &[SelectItem<'_>],
        columns: &[Expr],
    ) -> Option<Order> {
        let expression = parser.expression().ok()?;
        let selected = match &expression {
            SqlExpression::Name { qualifier: None, name } => {
                aliases.iter().position(|(_, alias)| {
                    alias.as_ref().is_some_and(|alias| alias.eq_ignore_ascii_case(name))
                })
            }
            SqlExpression::Literal(SqlLiteral::Number(number)) => {
                Some(number.parse::<usize>().ok()?.checked_sub(1)?)
            }
            _ => None,
        };
        let column = match selected {
            Some(position) => match columns.get(position)? {
                Expr::Column(column) => *column,
                _ => return None,
            },
            None => self.column(&expression)?,
        };
        let descending = parser.word("desc");
        let _ascending = !descending && parser.word("asc");
        Some(Order { column, descending })
    }

    fn predicate(&self, expression: &SqlExpression<'_>) -> Option<Predicate> {
        let all = |parts: &[SqlExpression<'_>]| {
            parts.iter().map(|part| self.predicate(part)).collect::<Option<_>>()
        };
        match expression {
            SqlExpression::And(parts) => all(parts).map(Predicate::And),
            SqlExpression::Or(parts) => all(parts).map(Predicate::Or),
            SqlExpression::Not(inner) => Some(Predicate::Not(Box::new(self.predicate(inner)?))),
            SqlExpression::Binary(SqlOperator::Compare(comparison), left, right) => {
                let (column, comparison, value) = match self.column(left) {
                    Some(column) => (column, *comparison, right),
                    None => (self.column(right)?, mirrored(*comparison), left),
                };
                Some(Predicate::Compare(column, comparison, operand(value)?))
            }
            SqlExpression::Binary(SqlOperator::Is, left, right) => {
                take(**right == SqlExpression::Literal(SqlLiteral::Null))?;
                Some(Predicate::IsNull(self.column(left)?))
            }
            SqlExpression::Binary(SqlOperator::Like, left, right) => {
                Some(Predicate::Like(self.column(left)?, operand(right)?))
            }
            SqlExpression::Between(operands) => {
                let [value, low, high] = &**operands;
                let column = self.column(value)?;
                let part = |comparison, value| {
                    Some(Predicate::Compare(column, comparison, operand(value)?))
                };
                Some(Predicate::And(vec![
                    part(Comparison::GreaterOrEqual, low)?,
                    part(Comparison::LessOrEqual, high)?,
                ]))
            }
            SqlExpression::In(value, members) => {
                take(!members.is_empty())?;
                let members = members.iter().map(operand).collect::<Option<_>>()?;
                Some(Predicate::In(self.column(value)?, members))
            }
            _ => None,
        }
    }
}

/// A literal or a parameter.
fn operand(expression: &SqlExpression<'_>) -> Option<BoundOperand> {
    if let Some(number) = expression.as_number() {
        return decimal(&number).map(BoundOperand::Value);
    }
    match expression {
        SqlExpression::Literal(SqlLiteral::Text(text)) => {
            Some(BoundOperand::Value(text.clone().into_owned().into()))
        }
        SqlExpression::Parameter("?", position) => Some(BoundOperand::Parameter(*position)),
        _ => None,
    }
}

/// A decimal number; `None` for hexadecimal numbers, and for integers that do not fit.
fn decimal(text: &str) -> Option<Value<'static>> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().map(Value::Int);
    }
    let is_decimal = digits.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    if is_decimal { text.parse().ok().map(Value::Float) } else { None }
}

/// The comparison with its sides swapped.
const fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}
